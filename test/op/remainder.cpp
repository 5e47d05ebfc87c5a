// test/op/remainder.cpp — fmod, remainder, floor_divide, frac, round_to: values, derivatives, integers, decimals.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

const auto divided = [](const char* name, auto f, golden::bounds b) {
  golden::check<golden::any_vector, golden::any_vector>("remainder", name, f, b);
};
const auto at_kinks = [](const char* name, auto f) { golden::check_wide<golden::any_vector>("remainder", name, f, {.grad = 0}); };
const auto whole_numbers = [](const char* name, auto f) {
  using integers = golden::of<std::int64_t, ebb::dyn>;
  golden::check_wide<integers, integers>("remainder", name, f);
};

// If fmod has no value, its gradients are NaN; PyTorch's are infinite, and its vector kernels have no value for 1 and the least number.
TEST_CASE("remainders, quotients rounded down and fractions give PyTorch's recorded values") {
  divided("fmod", [](auto x, auto y) { return ebb::fmod(x, y); },
          {.grad = 1, .second = 0, .sign_is_open = true, .nan_is_open = "derivatives", .open_at = {4, 6, 35, 36, 37, 46}});
  divided("remainder", [](auto x, auto y) { return ebb::remainder(x, y); },
          {.value = 1, .grad = 1, .second = 0, .sign_is_open = true, .nan_is_open = "derivatives", .open_at = {35}});
  divided("floor_divide", [](auto x, auto y) { return ebb::floor_divide(x, y); }, {.value = 1, .grad = 0});
  golden::check<golden::any_vector>("remainder", "frac", [](auto x) { return ebb::frac(x); }, {.grad = 0});
  at_kinks("kinks_frac", [](auto x) { return ebb::frac(x); });
  at_kinks("kinks_round_decimals_1", [](auto x) { return ebb::round_to<1>(x); });
  at_kinks("kinks_fmod_1.5", [](auto x) { return ebb::fmod(x, 1.5); });
  at_kinks("kinks_remainder_1.5", [](auto x) { return ebb::remainder(x, 1.5); });
  at_kinks("kinks_remainder_-1.5", [](auto x) { return ebb::remainder(x, -1.5); });
}

TEST_CASE("remainders and quotients of integers stay integers") {
  whole_numbers("integer_fmod", [](auto x, auto y) { return ebb::fmod(x, y); });
  whole_numbers("integer_remainder", [](auto x, auto y) { return ebb::remainder(x, y); });
  whole_numbers("integer_floor_divide", [](auto x, auto y) { return ebb::floor_divide(x, y); });
  const ebb::tensor<int, 5> x{-7, 7, 5, std::numeric_limits<int>::min(), -1}, y{2, -2, 0, -1, 3};
  CHECK(ebb::all_equal(ebb::fmod(x, y), ebb::tensor<int, 5>{-1, 1, 0, 0, -1}));
  CHECK(ebb::all_equal(ebb::remainder(x, y), ebb::tensor<int, 5>{1, -1, 0, 0, 2}));
  CHECK(ebb::all_equal(ebb::floor_divide(x, y), ebb::tensor<int, 5>{-4, -4, 0, std::numeric_limits<int>::min(), -1}));
}

TEMPLATE_TEST_CASE("an integer divided by 0 gives quotient and remainder 0, in lanes and left over from lanes", "", int,
                   std::int64_t) {
  // 19 elements: registers full of them, and some left over.
  ebb::tensor<TestType, ebb::dyn> x(19), y(19);
  for (std::size_t i = 0; i < 19; ++i) x.at(i) = static_cast<TestType>(i) - 9, y.at(i) = i % 2 ? 4 : 0;
  const auto all = ebb::compile([](auto a, auto b) {
    return ebb::fmod(a, b) * 100 + ebb::remainder(a, b) * 10 + ebb::floor_divide(a, b);
  })(x, y);
  for (std::size_t i = 0; i < 19; ++i) {
    const TestType a = x(i), floored = (a - (a % 4 + 4) % 4) / 4;
    CHECK(all(i) == (i % 2 ? a % 4 * 100 + (a % 4 + 4) % 4 * 10 + floored : 0));
  }
  static_assert(ebb::fmod(TestType(5), TestType(0)) == 0 && ebb::remainder(TestType(5), TestType(0)) == 0);
  static_assert(ebb::floor_divide(TestType(-5), TestType(0)) == 0);
}

TEMPLATE_TEST_CASE("a long, infinite or missing quotient changes no other element", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(), huge = std::numeric_limits<T>::max();
  const T odd[][2] = {{huge, T(0.7)}, {inf, 2}, {-3, 0}, {nan, 1}, {1, nan}, {-5, inf}, {5, -inf}, {T(-0.0), 3}, {-6, 3}, {6, -3}};
  const std::size_t n = 211;  // registers with and without one of them
  ebb::tensor<T, ebb::dyn> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_odd = i >= 64 && i % 7 == 0;
    x.at(i) = is_odd ? odd[i / 7 % 10][0] : static_cast<T>(i) * T(0.37) - 30, y.at(i) = is_odd ? odd[i / 7 % 10][1] : T(i % 2 ? 1.3 : -0.7);
  }
  const auto [rest, floored, quotient] = ebb::compile([](auto a, auto b) {
    return std::tuple(ebb::fmod(a, b), ebb::remainder(a, b), ebb::floor_divide(a, b));
  })(x, y);
  const auto same = [](T a, T b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); };
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T r = std::fmod(x(i), y(i));
    wrong += !same(rest(i), r) || !same(floored(i), r != 0 && (r < 0) != (y(i) < 0) ? r + y(i) : r);
    wrong += !same(quotient(i), ebb::floor_divide(x(i), y(i)));
    if (std::fabs(x(i)) < 100 && std::fabs(y(i)) < 2 && y(i) != 0)
      wrong += quotient(i) != std::floor(static_cast<long double>(x(i)) / static_cast<long double>(y(i)));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("quotients next to 2^24 and 2^53 have the same bits in registers and alone, up to there the exact ones", "", float,
                   double) {
  using T = TestType;
  constexpr bool wide = sizeof(T) == 8;
  constexpr std::int64_t bound = std::int64_t{1} << (wide ? 53 : 24);
  constexpr std::int64_t divisor = wide ? 511 : (1 << 24) - 3;  // products fit into 63 bits
  const std::size_t n = 1024;
  ebb::tensor<T, ebb::dyn> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    // The product is rounded: some quotients are whole, others between two whole numbers.
    const T magnitude = static_cast<T>(divisor * (bound - 8) + divisor * static_cast<std::int64_t>(i / 4) / 16);
    x.at(i) = i % 2 ? -magnitude : magnitude, y.at(i) = static_cast<T>(i % 4 < 2 ? divisor : -divisor);
  }
  const ebb::tensor<T, ebb::dyn> down = ebb::compile([](auto a, auto b) { return ebb::floor_divide(a, b); })(x, y);
  const auto of_divisor = ebb::grad<1>([](auto a, auto b) { return ebb::sum(ebb::fmod(a, b)); });
  const ebb::tensor<T, ebb::dyn> minus_whole = of_divisor(x, y);
  int wrong = 0, longer = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wrong += down(i) != ebb::floor_divide(x(i), y(i));
    wrong += minus_whole(i) != of_divisor(ebb::tensor<T, ebb::dyn>{x(i)}, ebb::tensor<T, ebb::dyn>{y(i)})(0);
    const auto a = static_cast<std::int64_t>(x(i)), b = static_cast<std::int64_t>(y(i)), whole = a / b;
    if (whole >= bound || whole <= -bound) ++longer;
    else if (ebb::lane::fused)
      wrong += down(i) != static_cast<T>(whole - (a % b != 0 && (a < 0) != (b < 0))) || minus_whole(i) != -static_cast<T>(whole);
  }
  CHECK(wrong == 0);
  CHECK((longer > 100 && longer < 900));
}

TEST_CASE("% of arrays is that of C++: the remainder has the sign of the dividend") {
  constexpr auto last_digit = [](auto a, auto b) { return a % b; };
  static_assert(last_digit(-17, 10) == -7);
  const ebb::tensor<int, 2> x{-17, 29};
  CHECK(ebb::all_equal(ebb::compile(last_digit)(x, 10), ebb::tensor<int, 2>{-7, 9}));
  CHECK(ebb::all_equal(x % 10, ebb::tensor<int, 2>{-7, 9}));
  CHECK(ebb::all_equal(ebb::tensor<double, 1>{-5.5} % 2.0, ebb::tensor<double, 1>{-1.5}));
}

TEST_CASE("the gradient of a divisor is minus the exact whole quotient") {
  // 1 - 2^-53 divided by 1/3 rounded up... is 2.99..; x / y rounds to 3.
  const double y = 1. / 3, x = std::nextafter(3 * y, 0.);
  const auto by_divisor = [](auto f, double a, double b) {
    return ebb::grad<1>([](auto u, auto v) { return ebb::sum(decltype(f){}(u, v)); })(ebb::tensor<double, 1>{a},
                                                                                      ebb::tensor<double, 1>{b})(0);
  };
  const auto fmod = [](auto u, auto v) { return ebb::fmod(u, v); };
  const auto remainder = [](auto u, auto v) { return ebb::remainder(u, v); };
  CHECK((std::fmod(x, y) > 0.3 && by_divisor(fmod, x, y) == -2 && by_divisor(remainder, x, y) == -2));
  CHECK((by_divisor(fmod, -7, 2) == 3 && by_divisor(remainder, -7, 2) == 4));
  const double inf = std::numeric_limits<double>::infinity();
  CHECK((by_divisor(fmod, -7, inf) == 0 && by_divisor(remainder, -7, inf) == 1));
}

TEST_CASE("round_to rounds to decimals and to powers of ten, in all widths, huge numbers too") {
  const ebb::tensor<double, 6> x{2.675, -2.675, 0.125, 1e300, -std::numeric_limits<double>::infinity(), 1234567.5};
  const ebb::tensor<double, 6> two = ebb::round_to<2>(x), hundreds = ebb::round_to<-2>(x);
  CHECK((two(0) == 2.68 && two(1) == -2.68 && two(2) == 0.12 && two(3) == 1e300 && two(4) == x(4) && two(5) == 1234567.5));
  CHECK((hundreds(0) == 0 && std::signbit(double(hundreds(1))) && hundreds(4) == x(4) && hundreds(5) == 1234600));
  CHECK(std::isnan(ebb::round_to<3>(std::numeric_limits<double>::quiet_NaN())));
  const ebb::tensor<ebb::float16, 1> h{ebb::float16(0.12347f)};
  CHECK(static_cast<float>(ebb::round_to<6>(h)(0)) == static_cast<float>(h(0)));
  static_assert(ebb::round_to<1>(0.25f) == 0.2f && ebb::round_to<-1>(25) == 20. && ebb::round_to<0>(2.5) == 2);
  CHECK(ebb::grad([](auto a) { return ebb::sum(ebb::round_to<1>(a) * a); })(ebb::tensor<double, 1>{0.26})(0) == 0.3);
}

TEMPLATE_TEST_CASE("remainders have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), -3, T(-0.8), T(-0.3), T(0.1),   T(0.4),  T(0.9), 2, 7,  T(-1.1),
                         T(1e20),  5,  -5,      1,       T(1e-20), T(0.75), 9,      3, 100};
  test::check_everywhere<T>([](auto a) { return ebb::fmod(a, 0.7) * a + ebb::remainder(a * a, a - 0.35); }, x);
  test::check_everywhere<T>([](auto a) { return ebb::frac(a) * a * ebb::round_to<1>(a) + ebb::floor_divide(a, 0.3) * a * a; }, x);
}

}  // namespace
