// ebb/stats/portable.hpp — e^x and log(n!) with the same bits on every machine, and the random numbers of one element.
// SPDX-License-Identifier: BSL-1.0
//
// As in random/quantile.hpp, only + - * / and sqrt are used, each rounded once.
#pragma once

#include "../random/random.hpp"

#include <cmath>
#include <limits>

namespace ebb::inline EBB_ABI {

/// e^x, by the Taylor series of what is left of x after a multiple of log 2. Error: 2 ulp; 0 below -745, infinite from 709.78 on.
constexpr double portable_exp(double x) {
  if (!(x < 709.78)) return x != x ? x : std::numeric_limits<double>::infinity();
  if (x < -745) return 0;
  const auto n = static_cast<int>(x * 1.44269504088896340736 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
  double series = 1;
  for (int k = 14; k > 0; --k) series = series * (r / k) + 1;
  // 2^n in two factors: the result may be below the least normal number, where it is rounded once more.
  const auto power = [](int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + e) << 52); };
  return series * power(n / 2) * power(n - n / 2);
}

/// log(n!) for a whole number n >= 0, by products up to 15 and Stirling's series beyond.   Error: 4 ulp.
constexpr double portable_log_factorial(double n) {
  double product = 1;
  if (n < 16) {
    for (int k = 2; k <= n; ++k) product *= k;
    return portable_log(product);
  }
  const double x = n + 1, s = 1 / (x * x);
  const double rest = (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / x;
  return (x - 0.5) * portable_log(x) - x + 0.91893853320467274178 + rest;
}

/// The random numbers of element `place` of an array: they depend on the key and the place alone. The counter has 64 bits, so that a
/// loop that rejects numbers never comes to its end.
class random_source {
 public:
  constexpr random_source(random_key key, std::size_t place) : key_(key.fold_in(place)) {}

  constexpr std::uint64_t bits() {
    const auto words = key_.block(count_ / 2);
    const bool second = count_++ % 2 != 0;
    return std::uint64_t{words[second ? 3 : 1]} << 32 | words[second ? 2 : 0];
  }
  constexpr double uniform() { return between_0_and_1(bits()); }
  constexpr double normal() { return standard_normal(bits()); }

 private:
  random_key key_;
  std::uint64_t count_ = 0;
};

}  // namespace ebb::inline EBB_ABI
