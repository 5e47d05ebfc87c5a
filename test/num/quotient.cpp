// test/num/quotient.cpp — quotients from a reciprocal in two parts: every bit is that of a division.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include <ebb/num/quotient.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace {

namespace lane = ebb::lane;

template <class T>
bool is_division(T x, T y) {
  const auto n = lane::negative_reciprocal_of(y);
  return test::same(lane::quotient(x, y, n.high, n.low), x / y);
}

/// x for which x / y lies next to the middle of two floats, or next to a float.
template <class T>
std::vector<T> hard_cases(T y, auto& next) {
  constexpr int digits = std::numeric_limits<T>::digits;
  std::vector<T> out;
  for (int i = 0; i < 50; ++i) {
    const long double q = static_cast<long double>(next() >> (63 - digits) | 1) * (std::int64_t{1} << 2);  // one digit more than T has
    const T x = static_cast<T>(q * static_cast<long double>(y));
    out.insert(out.end(), {x, std::nextafter(x, T(0)), std::nextafter(x, 2 * x), -x});
    const T whole = static_cast<T>(next() >> (64 - digits)) * y;
    out.insert(out.end(), {whole, std::nextafter(whole, T(0)), std::nextafter(whole, 2 * whole)});
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("quotients by one number have the bits of divisions, also where the reciprocal is of no use", "", float, double) {
  using T = TestType;
  const std::vector<T> special = test::special_values<T>();
  std::mt19937_64 next(29);
  std::uniform_real_distribution<double> significand(1, 2);
  const int range = std::numeric_limits<T>::max_exponent - 2;
  std::uniform_int_distribution<int> near(-30, 30), far(-range, range), sign(0, 1);
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    const T size = std::ldexp(static_cast<T>(significand(next)), i % 4 ? near(next) : far(next));
    T y = sign(next) ? size : -size;
    if (i < static_cast<int>(special.size())) y = special[static_cast<std::size_t>(i)];
    if (i % 10 == 9) y = std::nextafter(std::ldexp(T(1), near(next) + 1), T(0));  // all digits are ones
    for (const T x : special) wrong += !is_division(x, y);
    for (int j = 0; j < 100; ++j) wrong += !is_division(std::ldexp(static_cast<T>(significand(next)), j % 2 ? near(next) : far(next)), y);
    for (const T x : hard_cases(y, next)) wrong += !is_division(x, y);
  }
  CHECK(wrong == 0);
}
