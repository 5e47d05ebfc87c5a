// ebb/random/quantile.hpp — the inverse of the normal distribution function, with the same bits on every machine.
// SPDX-License-Identifier: BSL-1.0
//
// lane::log is not used: its last bits depend on whether the machine has fma. This header uses only + - * / and sqrt, each rounded once.
#pragma once

#include "../base/config.hpp"
#include "../num/lane.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// log x for a positive normal x. Error: 2 ulp.
/// With x = 2^n m, m about 1 and s = (m - 1) / (m + 1): log x = n log 2 + 2 artanh s, by the Taylor series of artanh.
constexpr double portable_log(double x) {
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;
  const auto bits = std::bit_cast<std::uint64_t>(x) - sqrt_half;
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(bits) >> 52);
  const auto m = std::bit_cast<double>((bits & 0xfffffffffffffu) + sqrt_half);
  const double s = (m - 1) / (m + 1), ss = s * s;
  double series = 0;
  for (int k = 23; k > 1; k -= 2) series = (series + 1.0 / k) * ss;
  return exponent * 0x1.62e42fefa39efp-1 + (2 * s + 2 * s * series);
}

/// x with normal_distribution(x) = 1/2 + q, for |q| < 1/2. Relative error about 1e-15.
/// M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988), PPND16.
EBB_ONCE constexpr double normal_quantile(double q) {
  struct ratio {
    double above[8], below[8];
    constexpr double operator()(double x) const {
      double a = above[7], b = below[7];
      for (std::size_t k = 7; k-- > 0;) {
        a = a * x + above[k];
        b = b * x + below[k];
      }
      return a / b;
    }
  };
  constexpr ratio centre{{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                          4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                         {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
                          3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
  constexpr ratio shoulder{{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
                            1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
                           {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
                            1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
  constexpr ratio tail{{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
                        2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
                       {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
                        1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};
  const double distance = q < 0 ? -q : q;
  if (distance <= 0.425) return q * centre(0.180625 - q * q);
  const double r = lane::sqrt(-portable_log(0.5 - distance));
  const double x = r <= 5 ? shoulder(r - 1.6) : tail(r - 5);
  return q < 0 ? -x : x;
}

}  // namespace ebb::inline EBB_ABI
