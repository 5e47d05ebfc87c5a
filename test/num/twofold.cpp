// test/num/twofold.cpp — exact sums and products as pairs of numbers.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/twofold.hpp>

namespace lane = ebb::lane;

TEMPLATE_TEST_CASE("twofold products and sums are exact", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(5);
  const auto any = [&] {
    const T digits = static_cast<T>(static_cast<std::int64_t>(next()));
    return std::ldexp(digits, static_cast<int>(next() % 40) - 80);
  };
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    const T a = any(), b = any();
    const auto [high, low] = lane::product(a, b);
    wrong += high != a * b || low != std::fma(a, b, -high);
    const T large = std::fabs(a) >= std::fabs(b) ? a : b, small = std::fabs(a) >= std::fabs(b) ? b : a;
    const auto [sum, rest] = lane::quick_sum(large, small);
    // The error of a sum is a number of the same type, so subtracting in another order finds it too.
    const T part = sum - small, error = (large - part) + (small - (sum - part));
    wrong += sum != a + b || rest != error;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a twofold product has twice the digits") {
  const float third_low = static_cast<float>(1 / 3.0 - static_cast<double>(1 / 3.f));
  const lane::twofold<float> third{1 / 3.f, third_low}, ninth = lane::product(third, third);
  CHECK(std::fabs(static_cast<double>(ninth.high) + ninth.low - 1 / 9.0) < 0x1p-48);
}
