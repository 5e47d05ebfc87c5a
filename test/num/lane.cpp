// test/num/lane.cpp — the lane functions against <cmath>, on one number and on four.
// SPDX-License-Identifier: BSL-1.0
// covers: lane.hpp base/instruction.hpp
#include "../catch.hpp"
#include "oracle.hpp"

namespace lane = ebb::lane;
using test::same;

namespace {

template <class T, class F, class G>
void check(const char* name, F f, G oracle) {
  const std::vector<T> at = test::arguments<T>();
  int wrong = 0;
  T where{};
  for (T x : at)
    if (!same<T>(f(x), oracle(x))) ++wrong, where = x;
  INFO(name << " of " << sizeof(T) << " bytes, among others at " << where);
  CHECK(wrong == 0);
  CHECK(test::differences(f, at) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("lane functions of one number are those of <cmath>", "", float, double) {
  using T = TestType;
  check<T>("abs", [](auto x) { return lane::abs(x); }, [](T x) { return std::fabs(x); });
  check<T>("rint", [](auto x) { return lane::rint(x); }, [](T x) { return std::nearbyint(x); });
  check<T>("floor", [](auto x) { return lane::floor(x); }, [](T x) { return std::floor(x); });
  check<T>("ceil", [](auto x) { return lane::ceil(x); }, [](T x) { return std::ceil(x); });
  check<T>("trunc", [](auto x) { return lane::trunc(x); }, [](T x) { return std::trunc(x); });
  check<T>("sqrt", [](auto x) { return lane::sqrt(x); }, [](T x) { return std::sqrt(x); });
  check<T>("isnan", [](auto x) { return lane::select(lane::isnan(x), -x, x); }, [](T x) { return x; });
}

TEMPLATE_TEST_CASE("maximum and minimum propagate NaN and return the second of two equal numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T nan = L::quiet_NaN(), zero = 0, minus_zero = -zero;
  for (T x : {T(1), zero, -L::infinity(), L::infinity(), nan})
    for (T y : {lane::maximum(x, nan), lane::maximum(nan, x), lane::minimum(x, nan), lane::minimum(nan, x)}) CHECK(std::isnan(y));
  CHECK((same(lane::maximum(zero, minus_zero), minus_zero) && same(lane::maximum(minus_zero, zero), zero)));
  CHECK((same(lane::minimum(zero, minus_zero), minus_zero) && same(lane::minimum(minus_zero, zero), zero)));
  CHECK((lane::maximum(T(2), T(3)) == 3 && lane::maximum(T(3), T(-L::infinity())) == 3 && lane::minimum(T(2), T(-3)) == -3));
  CHECK((std::isnan(lane::at_least(nan, T(1))) && std::isnan(lane::at_most(nan, T(1)))));
  CHECK((lane::at_least(T(0), T(1)) == 1 && lane::at_most(T(0), T(1)) == 0));
  CHECK((same(lane::copysign(nan, T(1)), nan) && lane::copysign(T(3), minus_zero) == -3 && lane::copysign(T(-3), T(1)) == 3));

  const test::four<T> a{{1, nan, 2, zero}}, b{{nan, 1, 3, minus_zero}}, larger = lane::maximum(a, b), smaller = lane::minimum(a, b);
  for (int i = 0; i < 4; ++i) {
    CHECK(same(larger.v[i], lane::maximum(a.v[i], b.v[i])));
    CHECK(same(smaller.v[i], lane::minimum(a.v[i], b.v[i])));
  }
}

TEST_CASE("maximum, minimum and abs work on integers") {
  CHECK((lane::maximum(2, -3) == 2 && lane::minimum(std::int64_t{2}, std::int64_t{-3}) == -3 && lane::abs(-7) == 7));
  CHECK(lane::abs(std::numeric_limits<int>::min()) == std::numeric_limits<int>::min());
  CHECK((lane::maximum(false, true) && !lane::minimum(false, true)));
}

TEMPLATE_TEST_CASE("split separates the exponent", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const std::vector<T> at = test::arguments<T>();
  int wrong = 0;
  for (T x : at) {
    const auto [significand, exponent] = lane::split(x);
    if (std::isnan(x)) wrong += !std::isnan(significand) && !std::isnan(exponent);
    else if (x == 0 || std::isinf(x)) wrong += significand != 1 || exponent != (x == 0 ? -L::infinity() : L::infinity());
    else wrong += !(significand >= T(0.75) && significand < T(1.5) && std::ldexp(significand, static_cast<int>(exponent)) == std::fabs(x));
  }
  CHECK(wrong == 0);
  CHECK(test::differences([](auto x) { return lane::split(x).exponent; }, at) == 0);
  CHECK(test::differences([](auto x) { return lane::select(lane::isnan(x), x, lane::split(x).significand); }, at) == 0);
}

TEMPLATE_TEST_CASE("scale rounds once", "", float, double) {
  using T = TestType;
  const int greatest = 2 * lane::format<T>::bias - 2;
  std::mt19937_64 next(1);
  int wrong = 0;
  for (int n = -greatest; n <= greatest; ++n) {
    const T a = lane::copysign(T(1) + static_cast<T>(next() >> 11) * T(0x1p-53), n % 2 ? T(1) : T(-1));
    wrong += !same(lane::scale(a, static_cast<T>(n)), std::ldexp(a, n));
    if (n >= 1 - lane::format<T>::bias && n <= lane::format<T>::bias) wrong += lane::power_of_two(static_cast<T>(n)) != std::ldexp(T(1), n);
  }
  CHECK(wrong == 0);
}

TEST_CASE("fma is rounded once if the target has it") {
  const double a = 1 + 0x1p-30, rounded = a * a;
  const volatile double once = std::fma(a, a, -rounded);
  CHECK(lane::fma(a, a, -rounded) == (lane::fused ? once : 0));
  const float b = 1 + 0x1p-20f, short_square = b * b;
  CHECK(lane::fma(b, b, -short_square) == (lane::fused ? 0x1p-40f : 0));
}
