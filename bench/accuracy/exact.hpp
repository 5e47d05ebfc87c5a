// bench/accuracy/exact.hpp — functions in long double that the C library does not have.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../../test/special/long_double.hpp"

#include <algorithm>
#include <cmath>

namespace exact {

using real = long double;

inline constexpr real pi = 3.14159265358979323846264338327950288L, ln2 = 0.693147180559945309417232121458176568L;
inline constexpr real ln10 = 2.30258509299404568401799145468436421L, root_half = 0.707106781186547524400844362104849039L;

inline real exp10(real x) {
  const real n = std::rint(x);  // 10^x = 10^n 10^f
  return std::fabs(x) < 5000 ? std::pow(10.0L, n) * std::exp((x - n) * ln10) : std::pow(10.0L, x);
}
inline real sigmoid(real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
inline real softplus(real x) { return std::isnan(x) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); }
inline real rsqrt(real x) { return 1 / std::sqrt(x); }

/// sin(pi x) by an exact reduction: |x - 2 n| <= 1, then to a quarter of a turn.
inline real sinpi(real x) {
  real r = x - 2 * std::rint(x / 2);
  if (r > 0.5L) r = 1 - r;
  if (r < -0.5L) r = -1 - r;
  return std::fabs(r) <= 0.25L ? std::sin(pi * r) : std::copysign(std::cos(pi * (0.5L - std::fabs(r))), r);
}
inline real cospi(real x) {
  const real r = std::fabs(x - 2 * std::rint(x / 2));  // from 0 to 1
  if (std::fabs(r - 0.5L) < 0.25L) return r == 0.5L ? 0.0L : std::sin(pi * (0.5L - r));
  return std::cos(pi * r);
}
inline real tanpi(real x) { return sinpi(x) / cospi(x); }
inline real sinc(real x) {
  if (x == 0) return 1;
  return std::isinf(x) ? 0 : sinpi(x) / (pi * x);
}

/// x/sqrt(2) rounded would cost digits in the tail: e^(-x^2/2) is a factor of its own there.
inline real ndtr(real x) {
  if (std::isinf(x)) return x > 0;
  if (x > -2) return x < 0 ? std::erfc(-x * root_half) / 2 : 1 - std::erfc(x * root_half) / 2;
  const real high = std::ldexp(std::rint(std::ldexp(x, 20)), -20), low = x - high;
  return std::exp(-high * high / 2) * std::exp(-(high + x) * low / 2) * test::erfcx(-x * root_half) / 2;
}
inline real log_ndtr(real x) {
  return x > -1 ? std::log1p(-std::erfc(x * root_half) / 2) : std::log(test::erfcx(-x * root_half) / 2) - x * x / 2;
}
inline real gelu(real x) { return std::isinf(x) ? std::max(x, -0.0L) : x * ndtr(x); }
inline real silu(real x) { return std::isinf(x) && x < 0 ? -0.0L : x * sigmoid(x); }
inline real mish(real x) {
  if (std::isinf(x)) return std::max(x, -0.0L);
  if (x > 60) return x;
  const real e = std::exp(x), n = e * (e + 2);
  return x * (n / (n + 2));
}
inline real elu(real x) { return x > 0 ? x : std::expm1(x); }
inline real softsign(real x) { return std::isinf(x) ? std::copysign(1.0L, x) : x / (1 + std::fabs(x)); }
inline real tanhshrink(real x) {
  if (std::fabs(x) > 0.125L) return x - std::tanh(x);
  const real t = x * x;  // the series of x - tanh x
  return x * t * (1 / 3.0L - t * (2 / 15.0L - t * (17 / 315.0L - t * (62 / 2835.0L - t * (1382 / 155925.0L - t * (21844 / 6081075.0L -
         t * (929569 / 638512875.0L - t * (6404582 / 10854718875.0L))))))));
}
inline real squareplus(real x) {
  if (x < 0) return 2 / (std::hypot(x, 2.0L) - x);
  return (x + std::hypot(x, 2.0L)) / 2;
}
inline real entr(real x) { return x == 0 ? 0 : -x * std::log(x); }
inline real log1mexp(real x) { return x > -ln2 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }
inline real logit(real x) { return std::fabs(x - 0.5L) < 0.2L ? std::log1p((2 * x - 1) / (1 - x)) : std::log(x / (1 - x)); }
inline real logcosh(real x) {
  const real a = std::fabs(x), s = std::sinh(std::min(a, 1.0L) / 2);
  return a < 1 ? std::log1p(2 * s * s) : a + std::log1p(std::exp(-2 * a)) - ln2;
}
inline real erfinv(real u) { return test::inverse_error(u, 1 - std::fabs(u)); }
inline real erfcinv(real s) { return s > 1 ? -test::inverse_error(1 - (2 - s), 2 - s) : test::inverse_error(1 - s, s); }
inline real ndtri(real p) {
  return std::sqrt(2.0L) * (p > 0.5L ? test::inverse_error(2 * p - 1, 2 * (1 - p)) : -test::inverse_error(1 - 2 * p, 2 * p));
}

/// By the asymptotic series from 40 on.
inline real digamma(real x) {
  real sum = 0;
  for (; x < 40; x += 1) sum -= 1 / x;
  const real r = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x -
         r * (1 / 12.0L - r * (1 / 120.0L - r * (1 / 252.0L - r * (1 / 240.0L - r * (1 / 132.0L - r * (691 / 32760.0L))))));
}

/// e^-a I_n(a): the series for a <= 40, else the asymptotic one.
inline real scaled_bessel(int n, real a) {
  if (std::isnan(a)) return a;
  if (std::isinf(a)) return 0;
  real sum = 0, term = 1;
  if (a <= 40) {
    for (int i = 1; i <= n; ++i) term *= a / 2 / i;
    for (int k = 1; k < 200; ++k) {
      sum += term;
      term *= a * a / 4 / (static_cast<real>(k) * (n + k));
    }
    return sum * std::exp(-a);
  }
  for (int k = 1; k < 40; ++k) {
    sum += term;
    const real next = -term * (4 * n * n - (2 * k - 1) * (2 * k - 1)) / (8 * k * a);
    if (std::fabs(next) > std::fabs(term)) break;
    term = next;
  }
  return sum / std::sqrt(2 * pi * a);
}
inline real bessel(int n, real a) { return std::isinf(a) ? a : scaled_bessel(n, a) * std::exp(a); }
inline real i0e(real x) { return scaled_bessel(0, std::fabs(x)); }
inline real i1e(real x) { return std::copysign(scaled_bessel(1, std::fabs(x)), x); }
inline real i0(real x) { return bessel(0, std::fabs(x)); }
inline real i1(real x) { return std::copysign(bessel(1, std::fabs(x)), x); }

}  // namespace exact
