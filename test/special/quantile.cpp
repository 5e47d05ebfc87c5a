// test/special/quantile.cpp — ndtri, erfinv and erfcinv and their derivatives against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr auto quantile = [](auto p) { return lane::ndtri(p); };
constexpr auto inverse_erf = [](auto x) { return lane::erfinv(x); };
constexpr auto inverse_erfc = [](auto x) { return lane::erfcinv(x); };

constexpr long double root_two = 1.41421356237309504880168872420969808L;
long double quantile_of(long double p) { return root_two * test::inverse_error(2 * p - 1, 2 * std::min(p, 1 - p)); }
long double erfinv_of(long double x) { return test::inverse_error(x, 1 - std::fabs(x)); }
long double erfcinv_of(long double x) { return test::inverse_error(1 - x, std::min(x, 2 - x)); }

/// Numbers of an interval, half of them next to its ends and its middle.
template <class T>
std::vector<T> places(double low, double high) {
  std::vector<T> out = test::special_values<T>();
  std::mt19937_64 next(5);
  const double width = high - low, middle = (low + high) / 2;
  std::uniform_real_distribution<double> inside(low, high), exponent(sizeof(T) == 4 ? -148 : -1070, -1), small(-25, -1);
  for (int i = 0; i < 3000; ++i)
    for (double x : {inside(next), low + std::exp2(exponent(next)) * width, high - std::exp2(small(next)) * width,
                     middle + std::exp2(small(next)) * width, low + std::exp2(small(next)) * width})
      out.push_back(static_cast<T>(x));
  for (double edge : {0.85, 0.15, 0.075, 0.925, -0.85, 1.85, 1e-11, 2.6e-11, 1.3e-11}) {
    T up = static_cast<T>(edge), down = up;
    for (int i = 0; i < 50; ++i, up = std::nextafter(up, T(3)), down = std::nextafter(down, T(-3))) out.push_back(up), out.push_back(down);
  }
  return out;
}

/// The largest error of a slope, given the argument and the rounded result as `pull` has them.
template <class T, class Op>
void check_slope(const char* name, auto f, auto exact, auto slope, const std::vector<T>& at) {
  const auto given = [&](T x) { return Op::value(x, f(x)); };
  const auto want = [&](long double x) { return slope(x, exact(x)); };
  std::vector<T> usable = at;
  // The exact derivative may leave the range.
  std::erase_if(usable, [&](T x) { return !(std::fabs(want(x)) < std::numeric_limits<T>::max() / 2) && std::isfinite(want(x)); });
  test::check_ulps(name, given, want, 7, usable);
}

TEMPLATE_TEST_CASE("quantiles and inverse error functions keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  const auto p = places<T>(0, 1), u = places<T>(-1, 1), s = places<T>(0, 2);
  test::check("ndtri", quantile, quantile_of, 4, p);
  test::check("erfinv", inverse_erf, erfinv_of, 4, u);
  test::check("erfcinv", inverse_erfc, erfcinv_of, 4, s);
}

TEMPLATE_TEST_CASE("derivatives of quantiles do not lose digits in the tails", "", float, double) {
  using T = TestType;
  const long double h = test::root_pi / 2;
  const auto to_end = [](long double x, long double end) { return std::min(x, end - x); };
  check_slope<T, ebb::op::ndtri_slope>("ndtri_slope", quantile, quantile_of, [&](long double x, long double y) {
    return to_end(x, 1) == 0 ? INFINITY : h * root_two * test::erfcx(std::fabs(y) / root_two) / to_end(x, 1);
  }, places<T>(0, 1));
  check_slope<T, ebb::op::erfinv_slope>("erfinv_slope", inverse_erf, erfinv_of, [&](long double x, long double y) {
    return std::fabs(x) == 1 ? INFINITY : h * test::erfcx(std::fabs(y)) / (1 - std::fabs(x));
  }, places<T>(-1, 1));
  check_slope<T, ebb::op::erfcinv_slope>("erfcinv_slope", inverse_erfc, erfcinv_of, [&](long double x, long double y) {
    return to_end(x, 2) == 0 ? -INFINITY : -h * test::erfcx(std::fabs(y)) / to_end(x, 2);
  }, places<T>(0, 2));
}

TEST_CASE("ndtri and erfinv give the recorded values and exact derivatives") {
  const golden::bounds allowed{.value = 4, .grad = 7, .second = 16, .sign_is_open = true};
  golden::check_wide<golden::any_vector>("special", "ndtri", [](auto x) { return ebb::ndtri(x); }, allowed);
  golden::check_wide<golden::any_vector>("special", "erfinv", [](auto x) { return ebb::erfinv(x); }, allowed);
  // erfcinv(x) = erfinv(1 - x), where 1 - x is exact.
  const auto second = []<class F>(F) {
    return ebb::grad([](auto a) { return ebb::sum(ebb::grad([](auto b) { return ebb::sum(F{}(b)); })(a)); });
  };
  const ebb::tensor<double, 4> x{0.25, 0.5, 1.5, 1.75}, u{0.75, 0.5, -0.5, -0.75};
  const ebb::tensor<double, 4> y = second([](auto a) { return ebb::erfcinv(a); })(x), z = second([](auto a) { return ebb::erfinv(a); })(u);
  for (std::size_t i = 0; i < 4; ++i) CHECK(y(i) == Approx(z(i)).epsilon(1e-14));
}

TEMPLATE_TEST_CASE("quantiles are right at the ends of their domain, beyond them and at NaN", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK((quantile(T(0)) == -inf && quantile(T(1)) == inf && test::same(quantile(T(0.5)), T(0))));
  CHECK((inverse_erf(T(-1)) == -inf && inverse_erf(T(1)) == inf && test::same(inverse_erf(T(-0.0)), T(-0.0))));
  CHECK((inverse_erfc(T(0)) == inf && inverse_erfc(T(2)) == -inf && test::same(inverse_erfc(T(1)), T(0))));
  for (T x : {T(-2), T(-0.5), T(2.5), inf, -inf, T(NAN)}) {
    CHECK((std::isnan(quantile(x)) && std::isnan(inverse_erfc(x))));
    CHECK(std::isnan(inverse_erf(x)) == !(std::fabs(x) < 1));
  }
  static_assert(ebb::ndtri(T(0.5)) == 0 && ebb::ndtri(T(0)) == -inf && ebb::erfinv(T(0)) == 0 && ebb::erfcinv(T(1)) == 0);
  static_assert(ebb::ndtri(T(0.975)) > T(1.95996) && ebb::ndtri(T(0.975)) < T(1.95997));
  const ebb::tensor<T, 2> ends{0, 1}, slopes = ebb::grad([](auto x) { return ebb::sum(ebb::ndtri(x)); })(ends);
  CHECK((slopes(0) == inf && slopes(1) == inf));
}

TEMPLATE_TEST_CASE("quantiles have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(1e-30), T(0.01), T(0.07), T(0.08), T(0.3), T(0.5), T(0.6), T(0.92), T(0.93), T(0.999), T(1e-5)};
  test::check_everywhere<T>([](auto a) { return ebb::ndtri(a) + ebb::erfinv(a) * ebb::erfcinv(a); }, x);
}

}  // namespace
