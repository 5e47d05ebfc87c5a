// test/special/elementary.cpp — cbrt, exp10, sinpi, cospi, tanpi, sinc and nextafter against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr long double pi_of_circle = 3.14159265358979323846264338327950288L;

/// sin(pi x) by an exact reduction: |x - 2 n| <= 1, then to a quarter of a turn.
long double sine_of_turn(long double x) {
  long double r = x - 2 * std::rint(x / 2);
  if (r > 0.5L) r = 1 - r;
  if (r < -0.5L) r = -1 - r;
  return r == 0 ? std::copysign(0.0L, x) : std::fabs(r) <= 0.25L ? std::sin(pi_of_circle * r)
                                                                 : std::copysign(std::cos(pi_of_circle * (0.5L - std::fabs(r))), r);
}
long double cosine_of_turn(long double x) {
  const long double r = std::fabs(x - 2 * std::rint(x / 2));  // from 0 to 1
  if (std::fabs(r - 0.5L) < 0.25L) return r == 0.5L ? 0.0L : std::sin(pi_of_circle * (0.5L - r));
  return std::cos(pi_of_circle * r);
}
long double sinc_of(long double x) {
  if (x == 0) return 1;
  return std::isinf(x) ? 0 : std::fabs(sine_of_turn(x)) == 0 ? 0.0L : sine_of_turn(x) / (pi_of_circle * x);
}
/// The first (order 1) or second derivative of sinc, by its series for |x| < 1/2.
long double sinc_derivative(long double x, int order) {
  if (std::isinf(x)) return 0;
  if (std::fabs(x) < 0.5L) {
    long double sum = 0, term = 1;
    const long double t = pi_of_circle * pi_of_circle;
    // sinc x = the sum of (-t x^2)^k / (2 k + 1)!
    for (int k = 1; k < 20; ++k) {
      term *= -t / (2 * k * (2 * k + 1));
      sum += order == 1 ? term * 2 * k * std::pow(x, 2 * k - 1) : term * 2 * k * (2 * k - 1) * std::pow(x, 2 * k - 2);
    }
    return sum;
  }
  const long double first = (cosine_of_turn(x) - sinc_of(x)) / x;
  return order == 1 ? first : -(pi_of_circle * sine_of_turn(x) + 2 * first) / x;
}

constexpr auto root3 = [](auto x) { return lane::cbrt(x); };
constexpr auto ten_to = [](auto x) { return lane::exp10(x); };
constexpr auto sine = [](auto x) { return lane::sinpi(x); };
constexpr auto cosine = [](auto x) { return lane::cospi(x); };
constexpr auto tangent = [](auto x) { return lane::tanpi(x); };
constexpr auto cardinal = [](auto x) { return lane::sinc(x); };
constexpr auto cardinal_slope = [](auto x) { return lane::sinc_slope(x); };
constexpr auto cardinal_bend = [](auto x) { return lane::sinc_bend(x); };

TEMPLATE_TEST_CASE("cube roots, powers of ten and functions of pi x keep their documented errors", "", float, double) {
  using T = TestType;
  auto at = test::places_around<T>(4, {0.25, 0.5, 0.75, 1, 1.5, 2, 2.5});
  const auto many = test::arguments<T>();
  test::check("cbrt", root3, [](long double x) { return std::cbrt(x); }, 1, many);
  std::vector<T> exponents = at;
  for (T x : at) exponents.push_back(x * T(sizeof(T) == 4 ? 11 : 80));
  // exp10 of the C library would be less exact: 10^x = 10^n 10^f.
  test::check("exp10", ten_to, [](long double x) {
    const long double n = std::rint(x), ln10 = 2.30258509299404568401799145468436421L;
    return std::fabs(x) < 5000 ? std::pow(10.0L, n) * std::exp((x - n) * ln10) : std::pow(10.0L, x);
  }, 1.5, exponents);
  test::check("sinpi", sine, sine_of_turn, 2, at);
  test::check("cospi", cosine, cosine_of_turn, 2, at);
  test::check("sinc", cardinal, sinc_of, 3, at);
  CHECK(test::differences(tangent, at) == 0);
  CHECK(test::differences(cardinal_slope, at) == 0);
  CHECK(test::differences(cardinal_bend, at) == 0);
  std::erase_if(at, [](T x) { return std::isinf(x) || cosine(x) == 0 || sine(x) == 0; });
  test::check_ulps("tanpi", tangent, [](long double x) { return sine_of_turn(x) / cosine_of_turn(x); }, 3, at);
  double slope = 0, bend = 0;
  for (T x : at) {
    const long double size = std::fabs(x) < T(0.5) ? 0 : 1 / std::fabs(static_cast<long double>(x)), e = std::numeric_limits<T>::epsilon();
    const long double first = sinc_derivative(x, 1), second = sinc_derivative(x, 2);
    if (std::isnan(x) || std::fabs(x) < std::numeric_limits<T>::min()) continue;
    slope = std::max(slope, static_cast<double>(std::fabs(cardinal_slope(x) - first) / (std::max(std::fabs(first), size) * e)));
    bend = std::max(bend, static_cast<double>(std::fabs(cardinal_bend(x) - second) / (std::max(std::fabs(second), 10 * size) * e)));
  }
  CHECK(slope < 4);
  CHECK(bend < 4);
}

TEST_CASE("cbrt and sinc give the recorded values and exact derivatives") {
  golden::check_wide<golden::any_vector>("special", "cbrt", [](auto x) { return ebb::cbrt(x); }, {.value = 1, .grad = 4, .second = 8});
  golden::check_wide<golden::any_vector>("special", "sinc", [](auto x) { return ebb::sinc(x); },
                                         {.value = 3, .grad = 4, .second = 8, .grad_floor = 1, .second_floor = 4, .sign_is_open = true});
}

TEMPLATE_TEST_CASE("cube roots are exact for cubes, and the functions of pi x at integers and halves", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  for (int i = -200; i <= 200; ++i) {
    const T n = static_cast<T>(i), half = n + T(0.5);
    CHECK(root3(n * n * n) == n);
    CHECK(test::same(sine(n), std::copysign(T(0), i == 0 ? T(0) : n)));
    CHECK((cosine(n) == (i % 2 ? -1 : 1) && test::same(cosine(half), T(0)) && sine(half) == (i % 2 ? -1 : 1)));
    CHECK((tangent(half) == (i % 2 ? -inf : inf) && cardinal(n) == (i == 0)));
  }
  CHECK((test::same(root3(T(-0.0)), T(-0.0)) && root3(-inf) == -inf && std::isnan(root3(T(NAN)))));
  CHECK((test::same(sine(T(-0.0)), T(-0.0)) && test::same(tangent(T(-0.0)), T(-0.0)) && std::isnan(sine(inf)) && std::isnan(cosine(-inf))));
  CHECK((cardinal(inf) == 0 && cardinal_slope(-inf) == 0 && cardinal_bend(inf) == 0 && std::isnan(cardinal(T(NAN)))));
  CHECK((ten_to(inf) == inf && ten_to(-inf) == 0 && std::isnan(ten_to(T(NAN))) && ten_to(T(0)) == 1));
  static_assert(ebb::cbrt(T(27)) == 3 && ebb::sinpi(T(0.5)) == 1 && ebb::cospi(T(2.5)) == 0);
  static_assert(ebb::tanpi(T(1)) == 0 && ebb::sinc(T(0)) == 1);
}

TEMPLATE_TEST_CASE("nextafter gives the next number, as in C", "", float, double) {
  using T = TestType;
  constexpr auto next = [](auto x, auto y) { return lane::nextafter(x, y); };
  const std::vector<T> at = test::special_values<T>();
  for (T x : at)
    for (T y : at) CHECK(test::same(next(x, y), std::nextafter(x, y)));
  static_assert(next(T(1), T(2)) == T(1) + std::numeric_limits<T>::epsilon());
  const ebb::tensor<T, 4> x{1, 0, -1, 2}, y{2, -1, 0, 2}, z = ebb::nextafter(x, y);
  for (std::size_t i = 0; i < 4; ++i) CHECK(z(i) == std::nextafter(x(i), y(i)));
}

TEST_CASE("functions of pi x, powers of ten and cube roots of integers are computed in float") {
  CHECK(ebb::all_equal(ebb::cbrt(ebb::tensor<int, 2>{8, -27}), ebb::tensor<float, 2>{2, -3}));
  CHECK(ebb::all_equal(ebb::sinpi(ebb::tensor<int, 2>{8, 3}), ebb::tensor<float, 2>{0, 0}));
  const ebb::tensor<double, 3> x{0.3, 1.25, -0.4};
  const auto slope = [](auto f) { return ebb::grad(test::total_of<decltype(f)>{}); };
  const auto tens = slope([](auto a) { return ebb::exp10(a); })(x), sines = slope([](auto a) { return ebb::sinpi(a); })(x);
  const auto cosines = slope([](auto a) { return ebb::cospi(a); })(x), tangents = slope([](auto a) { return ebb::tanpi(a); })(x);
  for (std::size_t i = 0; i < 3; ++i) {
    const long double angle = pi_of_circle * x(i), c = std::cos(angle);
    CHECK(tens(i) == Approx(static_cast<double>(std::log(10.0L) * std::pow(10.0L, static_cast<long double>(x(i))))).epsilon(1e-14));
    CHECK(sines(i) == Approx(static_cast<double>(pi_of_circle * c)).epsilon(1e-14));
    CHECK(cosines(i) == Approx(static_cast<double>(-pi_of_circle * std::sin(angle))).epsilon(1e-14));
    CHECK(tangents(i) == Approx(static_cast<double>(pi_of_circle / (c * c))).epsilon(1e-14));
  }
}

TEMPLATE_TEST_CASE("functions of pi x have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-2.3), -1, T(-0.3), T(0.01), T(0.4), T(0.9), 2, 7, 1000, T(1.3), 3};
  test::check_everywhere<T>([](auto a) { return ebb::sinc(a) * ebb::tanpi(a) + ebb::cbrt(a) * ebb::exp10(ebb::sinpi(a)); }, x);
}

TEST_CASE("nextafter counts as a constant in first and second derivatives") {
  const ebb::tensor<double, 4> x{1, 0.5, -1, 2}, v{1, -2, 0.5, 3}, y{2, -1, 0, 2};
  constexpr auto f = [](auto a, auto b) { return ebb::sum(ebb::nextafter(a, b) * a * a); };
  const auto slope = ebb::grad<0>(f)(x, y), by_target = ebb::grad<1>(f)(x, y), bend = ebb::hvp<0>(f)(x, y, v);
  for (std::size_t i = 0; i < 4; ++i) {
    const double next = std::nextafter(x(i), y(i));
    CHECK(slope(i) == 2 * (next * x(i)));
    CHECK(bend(i) == 2 * (next * v(i)));
    CHECK(by_target(i) == 0);
  }
}

}  // namespace
