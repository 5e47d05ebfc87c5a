// test/num/remainder.cpp — remainders and rounded quotients: every bit against the C library, lanes against scalars.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include <ebb/num/remainder.hpp>

#include <array>

namespace {

namespace lane = ebb::lane;

/// Pairs whose quotients have from 1 to 2000 digits, multiples and their neighbours, and special values.
template <class T>
std::vector<std::array<T, 2>> pairs_to_divide() {
  std::vector<std::array<T, 2>> out;
  const std::vector<T> special = test::special_values<T>();
  for (const T x : special)
    for (const T y : special) out.push_back({x, y});
  std::mt19937_64 next(23);
  const int range = std::numeric_limits<T>::max_exponent - 2;
  std::uniform_real_distribution<double> significand(-2, 2);
  std::uniform_int_distribution<int> near(-4, 60), far(-range, range), few(1, 1000);
  for (int i = 0; i < 20000; ++i) {
    const T y = std::ldexp(static_cast<T>(significand(next)), i % 3 ? 0 : far(next));
    out.push_back({std::ldexp(static_cast<T>(significand(next)), i % 2 ? near(next) : far(next)), y});
    const T multiple = y * static_cast<T>(few(next));
    out.push_back({multiple, y}), out.push_back({std::nextafter(multiple, T(0)), y}),
        out.push_back({std::nextafter(multiple, 2 * multiple), y});
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("fmod has the bits of the C library's", "", float, double) {
  using T = TestType;
  int wrong = 0, different = 0;
  const auto at = pairs_to_divide<T>();
  for (const auto& [x, y] : at) wrong += !test::same(lane::fmod(x, y), std::fmod(x, y));
  CHECK(wrong == 0);
  for (std::size_t i = 0; i + 4 <= at.size(); i += 4) {
    test::four<T> x{}, y{};
    for (std::size_t k = 0; k < 4; ++k) x.v[k] = at[i + k][0], y.v[k] = at[i + k][1];
    const auto z = lane::fmod(x, y), r = lane::floor_remainder(x, y), q = lane::floor_quotient(x, y),
               n = lane::whole_quotient(x, y);
    for (std::size_t k = 0; k < 4; ++k)
      different += !test::same(z.v[k], lane::fmod(x.v[k], y.v[k])) || !test::same(r.v[k], lane::floor_remainder(x.v[k], y.v[k])) ||
                   !test::same(q.v[k], lane::floor_quotient(x.v[k], y.v[k])) || !test::same(n.v[k], lane::whole_quotient(x.v[k], y.v[k]));
  }
  CHECK(different == 0);
}

TEMPLATE_TEST_CASE("the remainder has the sign of the divisor, and the quotient is rounded down", "", float, double) {
  using T = TestType;
  int wrong = 0;
  for (const auto& [x, y] : pairs_to_divide<T>()) {
    const T r = std::fmod(x, y), want = r != 0 && (r < 0) != (y < 0) ? r + y : r;
    wrong += !test::same(lane::floor_remainder(x, y), want);
    // The exact quotient fits into long double if it is small; (x - want) / y is exact then, too.
    const long double exact = std::floor(static_cast<long double>(x) / static_cast<long double>(y));
    const bool known =
        std::isfinite(x) && std::isfinite(y) && y != 0 && std::fabs(exact) < 1e6L && std::fabs(x) > 1e-30f && std::fabs(y) > 1e-30f;
    if (known) wrong += static_cast<long double>(lane::floor_quotient(x, y)) != exact;
    const T whole = lane::whole_quotient(x, y);
    if (known) wrong += static_cast<long double>(whole) != std::trunc(static_cast<long double>(x) / static_cast<long double>(y));
    wrong += std::isnan(whole) != std::isnan(r) || (!std::isnan(r) && std::signbit(whole) != (std::signbit(x) != std::signbit(y)));
  }
  CHECK(wrong == 0);
  CHECK((lane::floor_quotient(T(-1), T(0)) == -std::numeric_limits<T>::infinity() && std::isnan(lane::floor_quotient(T(0), T(0)))));
  CHECK(lane::floor_quotient(T(-1), std::numeric_limits<T>::infinity()) == -1);
  CHECK((std::signbit(lane::floor_quotient(T(-0.0), T(2))) && !std::signbit(lane::floor_quotient(T(1), T(2)))));
}

TEMPLATE_TEST_CASE("whole quotients that the format holds are exact, next to integers too", "", float, double) {
  using T = TestType;
  constexpr bool wide = sizeof(T) == 8;
  std::mt19937_64 next(29);
  std::uniform_int_distribution<std::int64_t> divisor(wide ? 512 : 1 << 23, wide ? 1023 : (1 << 24) - 1);
  std::uniform_int_distribution<std::int64_t> quotient(std::int64_t{1} << (wide ? 50 : 20), (std::int64_t{1} << (wide ? 53 : 24)) - 8);
  int wrong = 0, rounded_up = 0;
  for (int i = 0; i < 20000; ++i) {
    const T y = static_cast<T>(divisor(next)), near = y * static_cast<T>(quotient(next));
    const T x = i % 3 == 0 ? near : std::nextafter(near, i % 3 == 1 ? T(0) : 2 * near);
    const auto a = static_cast<std::int64_t>(x), b = static_cast<std::int64_t>(y), down = a / b, up = down + (a % b != 0);
    if (lane::fused) {
      wrong += lane::floor_quotient(x, y) != static_cast<T>(down) || lane::floor_quotient(-x, -y) != static_cast<T>(down);
      wrong += lane::floor_quotient(-x, y) != -static_cast<T>(up) || lane::floor_quotient(x, -y) != -static_cast<T>(up);
      wrong += lane::whole_quotient(x, y) != static_cast<T>(down) || lane::whole_quotient(-x, y) != -static_cast<T>(down);
    }
    wrong += lane::floor_remainder(-x, y) != static_cast<T>(up * b - a);
    rounded_up += std::floor(x / y) != static_cast<T>(down);
  }
  CHECK(wrong == 0);
  CHECK(rounded_up > 0);
}

TEMPLATE_TEST_CASE("remainders and quotients of integers, by 0 and by -1 too", "", std::int32_t, std::int64_t) {
  using T = TestType;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  static_assert(lane::fmod(T(-7), T(2)) == -1 && lane::floor_remainder(T(-7), T(2)) == 1 && lane::floor_quotient(T(-7), T(2)) == -4);
  static_assert(lane::floor_remainder(T(7), T(-2)) == -1 && lane::floor_quotient(T(7), T(-2)) == -4);
  static_assert(lane::fmod(T(5), T(0)) == 0 && lane::floor_remainder(T(5), T(0)) == 0 && lane::floor_quotient(T(5), T(0)) == 0);
  static_assert(lane::fmod(least, T(-1)) == 0 && lane::floor_quotient(least, T(-1)) == least);
  static_assert(lane::floor_quotient(least, most) == -2 && lane::floor_remainder(least, most) == most - 1);
  CHECK(lane::fmod(most, least) == most);
}

TEST_CASE("remainders in constant expressions have the bits of run time") {
  constexpr double folded = lane::fmod(1e300, 0.7), rounded = lane::floor_remainder(-5.5, 2.);
  volatile double x = 1e300, y = 0.7;
  CHECK((test::same(folded, lane::fmod(double(x), double(y))) && rounded == 0.5));
  // By steps of digits this quotient would be a unit too large.
  constexpr float whole = lane::floor_quotient(0x1.31d3e8p+24f, 0x1.3c2dfp+0f), none = lane::fmod(1.f, 0x1p-140f);
  volatile float of = 0x1.31d3e8p+24f, by = 0x1.3c2dfp+0f;
  CHECK(whole == lane::floor_quotient(float(of), float(by)));
  CHECK((none == 0 && std::isnan(lane::fmod(1.f, 0.f))));
}
