// test/special/bessel.cpp — i0, i1, i0e, i1e and their derivatives against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;

/// e^-a I_n(a): the series for a <= 40, else the asymptotic one.
long double scaled_order(int n, long double a) {
  if (std::isnan(a)) return a;
  if (std::isinf(a)) return 0;
  long double sum = 0, term = 1;
  if (a <= 40) {
    for (int i = 1; i <= n; ++i) term *= a / 2 / i;
    for (int k = 1; k < 200; ++k) {
      sum += term;
      term *= a * a / 4 / (static_cast<long double>(k) * (n + k));
    }
    return sum * std::exp(-a);
  }
  for (int k = 1; k < 40; ++k) {
    sum += term;
    const long double next = -term * (4 * n * n - (2 * k - 1) * (2 * k - 1)) / (8 * k * a);
    if (std::fabs(next) > std::fabs(term)) break;
    term = next;
  }
  return sum / std::sqrt(2 * 3.14159265358979323846264338327950288L * a);
}
long double order(int n, long double x) {
  const long double a = std::fabs(x);
  return std::isinf(a) ? a : scaled_order(n, a) * std::exp(a);
}
long double with_sign(long double y, long double x) { return std::copysign(y, x); }

template <class T>
void check_all() {
  auto at = test::places_around<T>(sizeof(T) == 4 ? 80 : 650, {8, 7.5, 1}, 2000);
  for (int i = 0; i < 4000; ++i) at.push_back(static_cast<T>(i * 0.005)), at.push_back(static_cast<T>(-i * 0.003));
  const auto both = [&](const char* name, auto f, auto exact, double bound) { test::check(name, f, exact, bound, at); };
  both("i0e", [](auto x) { return lane::i0e(x); }, [](long double x) { return scaled_order(0, std::fabs(x)); }, 4);
  both("i1e", [](auto x) { return lane::i1e(x); }, [](long double x) { return with_sign(scaled_order(1, std::fabs(x)), x); }, 5);
  both("i0", [](auto x) { return lane::i0(x); }, [](long double x) { return order(0, x); }, 4);
  both("i1", [](auto x) { return lane::i1(x); }, [](long double x) { return with_sign(order(1, x), x); }, 4);
  both("i1_slope", [](auto x) { return lane::i1_slope(x); }, [](long double x) { return (order(0, x) + order(2, x)) / 2; }, 4);
  both("i1_bend", [](auto x) { return lane::i1_bend(x); },
       [](long double x) { return with_sign((3 * order(1, x) + order(3, x)) / 4, x); }, 5);

  // Errors in units of i0e.
  const auto of_i0e = [&](const char* name, auto f, auto exact) {
    double worst = 0;
    for (T x : at) {
      if (!(std::fabs(x) < std::numeric_limits<T>::max()) || x == 0) continue;
      const long double a = std::fabs(static_cast<long double>(x));
      const long double unit = scaled_order(0, a) * std::numeric_limits<T>::epsilon();
      worst = std::max(worst, static_cast<double>(std::fabs(f(x) - exact(x, a)) / unit));
    }
    INFO(name);
    CHECK(worst < 8);
    CHECK(test::differences(f, at) == 0);
  };
  const auto e = scaled_order;
  of_i0e("i0e_slope", [](auto x) { return lane::i0e_slope(x); }, [e](long double x, long double a) {
    return with_sign(e(0, a) - e(1, a), -x);
  });
  of_i0e("i0e_bend", [](auto x) { return lane::i0e_bend(x); }, [e](long double, long double a) {
    return (3 * e(0, a) - 4 * e(1, a) + e(2, a)) / 2;
  });
  of_i0e("i1e_slope", [](auto x) { return lane::i1e_slope(x); }, [e](long double, long double a) {
    return (e(0, a) + e(2, a)) / 2 - e(1, a);
  });
  of_i0e("i1e_bend", [](auto x) { return lane::i1e_bend(x); }, [e](long double x, long double a) {
    return std::copysign(1.0L, x) * ((7 * e(1, a) + e(3, a)) / 4 - e(0, a) - e(2, a));
  });
}

TEMPLATE_TEST_CASE("modified Bessel functions keep their documented errors, for lanes and scalars", "", float, double) {
  check_all<TestType>();
}

TEST_CASE("the slope of i0e keeps its digits for large x") {
  for (double x : {1e5, 1e8, 1e15}) {
    const long double r = 1 / static_cast<long double>(x);
    const long double root = std::sqrt(r / (2 * 3.14159265358979323846264338327950288L));
    const long double want = -r * root * (0.5L + r * 3 / 16 + r * r * 45 / 256 + r * r * r * 525 / 2048);
    CHECK(std::fabs(lane::i0e_slope(x) / want - 1) < 5 * std::numeric_limits<double>::epsilon());
  }
}

TEST_CASE("modified Bessel functions give the recorded values and exact derivatives") {
  const auto check = [](const char* name, auto f) {
    golden::check_wide<golden::any_vector>(
        "special", name, f, {.value = 5, .grad = 5, .second = -1, .grad_floor = 1, .sign_is_open = true});
  };
  // PyTorch's second derivatives cancel near 0: they are compared with those in long double, through the ops that pulls mention.
  check("i0", [](auto x) { return ebb::i0(x); });
  check("i1", [](auto x) { return ebb::i1(x); });
  check("i0e", [](auto x) { return ebb::i0e(x); });
  check("i1e", [](auto x) { return ebb::i1e(x); });
}

TEST_CASE("second derivatives of modified Bessel functions are the ops of their documented errors") {
  const ebb::tensor<double, 4> x{-3, 0.25, 5, 12};
  const auto second = []<class F>(F) {
    return ebb::grad([](auto a) { return ebb::sum(ebb::grad([](auto b) { return ebb::sum(F{}(b)); })(a)); });
  };
  const auto zeroth = second([](auto a) { return ebb::i0(a); })(x), first = second([](auto a) { return ebb::i1(a); })(x);
  const auto scaled0 = second([](auto a) { return ebb::i0e(a); })(x), scaled1 = second([](auto a) { return ebb::i1e(a); })(x);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK((zeroth(i) == lane::i1_slope(x(i)) && first(i) == lane::i1_bend(x(i))));
    CHECK((scaled0(i) == lane::i0e_bend(x(i)) && scaled1(i) == lane::i1e_bend(x(i))));
  }
}

TEMPLATE_TEST_CASE("modified Bessel functions are right at zeros, infinities and NaN", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  static_assert(ebb::i0(T(0)) == 1 && ebb::i1(T(0)) == 0 && ebb::i0e(T(0)) == 1 && ebb::i1e(inf) == 0 && ebb::i0(-inf) == inf);
  CHECK((lane::i1(-inf) == -inf && lane::i0e(-inf) == 0 && test::same(lane::i1(T(-0.0)), T(-0.0)) && lane::i0e_slope(T(0)) == 0));
  CHECK((lane::i1_slope(T(0)) == T(0.5) && lane::i1e_slope(T(0)) == T(0.5)));
  for (T y : {lane::i0(T(NAN)), lane::i1(T(NAN)), lane::i0e(T(NAN)), lane::i1e(T(NAN))}) CHECK(std::isnan(y));
}

TEMPLATE_TEST_CASE("modified Bessel functions have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-2.5), -1, T(-0.3), T(1e-9), T(0.4), T(0.5), 2, 7, 10, 8, T(8.5), 30, -30};
  test::check_everywhere<T>([](auto a) { return ebb::i0(a) * ebb::i1e(a) + ebb::i1(a) * ebb::i0e(a); }, x);
}

}  // namespace
