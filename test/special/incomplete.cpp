// test/special/incomplete.cpp — gammainc, gammaincc and betainc and their derivatives against series in long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;

/// P(a, x) by a series of positive terms.
long double lower(long double a, long double x) {
  long double sum = 0, term = 1;
  for (int i = 1; i < 3000 && term > sum * 1e-22L; ++i) {
    sum += term;
    term *= x / (a + i);
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a + 1));
}
/// I_x(a, b), likewise.
long double inside(long double a, long double b, long double x) {
  long double sum = 0, term = 1;
  for (int i = 1; i < 20000 && term > sum * 1e-22L; ++i) {
    sum += term;
    term *= (a + b + i - 1) / (a + i) * x;
  }
  const long double both = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return sum * std::exp(a * std::log(x) + b * std::log1p(-x) - both) / a;
}
long double slope_by_a(auto f, long double a) {
  const long double h = a * 1e-5L;
  return (8 * (f(a + h) - f(a - h)) - (f(a + 2 * h) - f(a - 2 * h))) / (12 * h);
}

TEMPLATE_TEST_CASE("the incomplete gamma functions and their derivatives keep their documented errors", "", float, double) {
  using T = TestType;
  constexpr double unit = std::numeric_limits<T>::epsilon();
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> exponent(-3, 6.6), ratio(0.05, 2.5);
  double worst = 0, by_a = 0, density = 0;
  for (int i = 0; i < 4000; ++i) {
    const T a = static_cast<T>(std::exp2(exponent(next))), x = static_cast<T>(static_cast<double>(a) * ratio(next));
    const long double p = lower(a, x), q = 1 - p, size = x > a + 1 ? 1.0L : p, rest = x > a + 1 ? std::max(q, 0.1L) : 1.0L;
    const auto error = [&](T got, long double want, long double of) {
      const long double normal = std::max<long double>(of, std::numeric_limits<T>::min());
      return static_cast<double>(std::fabs(got - want) / (normal * unit * (32 + 2 * std::fabs(std::log(std::max(want, 1e-300L))))));
    };
    worst = std::max({worst, error(lane::gammainc(a, x), p, size), error(lane::gammaincc(a, x), q, rest)});
    const long double want = std::exp((a - 1) * std::log(static_cast<long double>(x)) - x - std::lgamma(static_cast<long double>(a)));
    density = std::max(density, error(ebb::op::gamma_density::value(a, x), want, want));
    if (i % 8 == 0) {
      const long double slope = slope_by_a([&](long double b) { return lower(b, x); }, a);
      by_a = std::max(by_a, static_cast<double>(std::fabs(ebb::op::gammainc_by_a::value(a, x) - slope) / (64 * unit + 1e-11)));
    }
  }
  CHECK(worst < 1);
  CHECK(density < 1);
  // Of whole a the upper function is e^-x times the sum of x^k / k! for k < a: relative, however small.
  for (int a = 1; a <= 60; a += 7)
    for (const T x : {static_cast<T>(a) * T(1.25) + 1, static_cast<T>(a) * T(1.5) + 1}) {
      long double sum = 0, term = std::exp(-static_cast<long double>(x));
      for (int k = 0; k < a; ++k) {
        sum += term;
        term *= x / static_cast<long double>(k + 1);
      }
      CHECK(std::fabs(lane::gammaincc(static_cast<T>(a), x) / sum - 1) < (32 + 2 * std::fabs(std::log(sum))) * unit);
    }
  CHECK(by_a < 1);
}

TEMPLATE_TEST_CASE("the incomplete beta function and its derivatives keep their documented errors", "", float, double) {
  using T = TestType;
  constexpr double unit = std::numeric_limits<T>::epsilon();
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> exponent(-3, 4.6), place(0.01, 0.95);
  double worst = 0, by_a = 0;
  for (int i = 0; i < 2000; ++i) {
    const T a = static_cast<T>(std::exp2(exponent(next))), b = static_cast<T>(std::exp2(exponent(next))), x = static_cast<T>(place(next));
    const long double want = inside(a, b, x), size = x > (a + 1) / (a + b + 2) ? 1.0L : std::max<long double>(want, 1e-30L);
    worst = std::max(worst, static_cast<double>(std::fabs(lane::betainc(a, b, x) - want) / (64 * unit * size)));
    if (i % 8) continue;
    const long double slope = slope_by_a([&](long double c) { return inside(c, b, x); }, a);
    by_a = std::max(by_a, static_cast<double>(std::fabs(ebb::op::betainc_by_a::value(a, b, x) - slope) / (128 * unit + 1e-11)));
  }
  CHECK(worst < 1);
  CHECK(by_a < 1);
}

TEST_CASE("the incomplete gamma functions give the recorded values and gradients, and gradients by all operands") {
  using golden::any_vector;
  // PyTorch's gradients by x are 1e-12 off: the first test has exact ones.
  const golden::bounds allowed{.value = 32, .grad = -1, .value_floor = 1};
  golden::check_wide<any_vector, any_vector>("special", "gammainc", [](auto a, auto x) { return ebb::gammainc(a, x); }, allowed);
  golden::check_wide<any_vector, any_vector>("special", "gammaincc", [](auto a, auto x) { return ebb::gammaincc(a, x); }, allowed);
  const ebb::tensor<double, 2> a{2.5, 7}, b{3.5, 0.5}, x{0.25, 0.875};
  const auto [by_a, by_b, by_x] = ebb::grad<0, 1, 2>([](auto p, auto q, auto z) { return ebb::sum(ebb::betainc(p, q, z)); })(a, b, x);
  const auto second = ebb::grad<2>([](auto p, auto q, auto z) {
    return ebb::sum(ebb::grad<2>([](auto r, auto s, auto t) { return ebb::sum(ebb::betainc(r, s, t)); })(p, q, z));
  })(a, b, x);
  const auto bend = ebb::grad<1>([](auto p, auto z) {
    return ebb::sum(ebb::grad<1>([](auto r, auto t) { return ebb::sum(ebb::gammainc(r, t)); })(p, z));
  })(a, x);
  for (std::size_t i = 0; i < 2; ++i) {
    const long double p = a(i), q = b(i), z = x(i);
    const auto density = [&](long double t) { return slope_by_a([&](long double u) { return inside(p, q, u); }, t); };
    CHECK(by_a(i) == Approx(static_cast<double>(slope_by_a([&](long double c) { return inside(c, q, z); }, p))).epsilon(1e-10));
    CHECK(by_b(i) == Approx(static_cast<double>(slope_by_a([&](long double c) { return inside(p, c, z); }, q))).epsilon(1e-10));
    CHECK(by_x(i) == Approx(static_cast<double>(density(z))).epsilon(1e-10));
    CHECK(second(i) == Approx(static_cast<double>(slope_by_a(density, z))).epsilon(1e-7));
    const auto gamma_density = [&](long double t) { return std::exp((p - 1) * std::log(t) - t - std::lgamma(p)); };
    CHECK(bend(i) == Approx(static_cast<double>(slope_by_a(gamma_density, z))).epsilon(1e-10));
  }
}

TEST_CASE("the incomplete functions are right at the ends of their domains, and NaN outside") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK((lane::gammainc(2.0, 0.0) == 0 && lane::gammaincc(2.0, 0.0) == 1));
  CHECK((lane::gammainc(2.0, inf) == 1 && lane::gammaincc(2.0, inf) == 0));
  CHECK((lane::betainc(2.0, 3.0, 0.0) == 0 && lane::betainc(2.0, 3.0, 1.0) == 1 && lane::gammainc(0.0, 1.0) == 1));
  for (double y : {lane::gammainc(-1.0, 1.0), lane::gammainc(1.0, -1.0), lane::gammainc(2e6, 2e6), lane::gammainc(double(NAN), 1.0),
                   lane::betainc(1.0, 1.0, 1.5), lane::betainc(-1.0, 1.0, 0.5), lane::betainc(1.0, 1.0, double(NAN))})
    CHECK(std::isnan(y));
  // Computed with 30 digits.
  CHECK(lane::gammainc(1e5, 1.001e5) == Approx(0.624445130704405495).epsilon(1e-12));
  static_assert(lane::gammainc(1.0, 1.0) > 0.6321205 && lane::gammainc(1.0, 1.0) < 0.6321206 && ebb::betainc(1.0, 1.0, 0.25) > 0.2499);
  CHECK(ebb::gammainc(ebb::tensor<int, 1>{1}, 2)(0) == Approx(-std::expm1(-2.f)).epsilon(1e-6));
}

TEST_CASE("the incomplete functions have the same bits in loops, map, on the tape and captured") {
  const std::vector<double> x{0.1, 0.5, 0.9, 0.25, 0.75, 0.33, 0.66, 0.01, 0.99};
  test::check_everywhere<double>([](auto a) { return ebb::gammainc(1.5, a * 3) * ebb::betainc(2.0, 3.5, a); }, x);
}

}  // namespace
