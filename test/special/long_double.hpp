// test/special/long_double.hpp — scaled error functions and inverse error functions in long double.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>

namespace test {

inline constexpr long double root_pi = 1.772453850905516027298167483341145183L;

/// e^(x^2), with x^2 in two parts of which the first is exact.
inline long double grown(long double x) {
  if (!(std::fabs(x) < 1e3L)) return std::isnan(x) ? x : INFINITY;
  const long double high = std::ldexp(std::rint(std::ldexp(x, 20)), -20), low = x - high;
  return std::exp(high * high) * std::exp((high + x) * low);
}
/// sqrt(pi) e^(x^2) erfc(x) = 1 / (x + 1/2 / (x + 2/2 / (x + ..))): the quotient that begins with `first`.
inline long double fraction(long double x, int first) {
  long double rest = 0;
  for (int i = 600; i >= first; --i) rest = i / 2.0L / (x + rest);
  return rest;
}
inline long double erfcx(long double x) {
  if (x < 0) return 2 * grown(x) - erfcx(-x);
  return x < 3 ? grown(x) * std::erfc(x) : 1 / (root_pi * (x + fraction(x, 1)));
}
inline long double erfcx_slope(long double x) {
  if (x < 3) return 2 * x * erfcx(x) - 2 / root_pi;
  const long double rest = fraction(x, 1);
  return -2 / root_pi * (rest / (x + rest));
}
inline long double erfcx_bend(long double x) {
  if (x < 3) return 2 * erfcx(x) + 2 * x * erfcx_slope(x);
  const long double rest = fraction(x, 2);
  return 2 / root_pi * (rest / (x + rest) / (x + fraction(x, 1)));
}

/// y with erf(y) = u and erfc(|y|) = s = 1 - |u|, by Newton's method on the one of the two that is well conditioned.
inline long double inverse_error(long double u, long double s) {
  if (!(s >= 0)) return NAN;
  if (s == 0) return std::copysign(INFINITY, u);
  if (u == 0) return u;
  long double y = std::fabs(u) < 0.5L ? u * root_pi / 2 : std::sqrt(-std::log(s));
  if (std::fabs(u) < 0.5L) {
    for (int i = 0; i < 8; ++i) y -= (std::erf(y) - u) * (root_pi / 2) * grown(y);
    return y;
  }
  // log erfc is concave and the start is above the root: the steps go down.
  for (int i = 0; i < 40; ++i) {
    const long double scaled = erfcx(y);
    y += (std::log(scaled) - y * y - std::log(s)) * scaled * (root_pi / 2);
  }
  return std::copysign(y, u);
}

}  // namespace test
