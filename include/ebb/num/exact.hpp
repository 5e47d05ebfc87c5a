// ebb/num/exact.hpp — correctly rounded fma and sqrt in integer arithmetic, for constant expressions.
// SPDX-License-Identifier: BSL-1.0
//
// Clang's builtins for fma and sqrt are not constant expressions. No function of this header is called at run time.
#pragma once

#include "../base/config.hpp"

#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI::lane::exact {

/// An unsigned integer of 128 bits. A right shift is sticky: the last bit is set if any bit shifted out was.
struct wide {
  std::uint64_t high = 0, low = 0;

  static constexpr wide product(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t half = 0xffffffffu;
    const std::uint64_t ll = (a & half) * (b & half), lh = (a & half) * (b >> 32), hl = (a >> 32) * (b & half);
    const std::uint64_t middle = (ll >> 32) + (lh & half) + (hl & half);
    return {(a >> 32) * (b >> 32) + (lh >> 32) + (hl >> 32) + (middle >> 32), (middle << 32) | (ll & half)};
  }
  constexpr wide operator<<(int n) const {
    if (n == 0) return *this;
    if (n >= 64) return {low << (n - 64), 0};
    return {(high << n) | (low >> (64 - n)), low << n};
  }
  constexpr wide operator>>(int n) const {
    if (n == 0) return *this;
    if (n >= 128) return {0, high || low};
    if (n > 64) return {0, (high >> (n - 64)) | ((high << (128 - n)) || low)};
    if (n == 64) return {0, high | (low != 0)};
    return {high >> n, (high << (64 - n)) | (low >> n) | ((low << (64 - n)) != 0)};
  }
  constexpr wide operator+(wide o) const { return {high + o.high + (low + o.low < low), low + o.low}; }
  constexpr wide operator-(wide o) const { return {high - o.high - (low < o.low), low - o.low}; }
  constexpr bool operator<(wide o) const { return high != o.high ? high < o.high : low < o.low; }
  constexpr int width() const { return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low); }
};

/// A finite double that is not zero: significand * 2^exponent with 2^52 <= significand < 2^53.
struct integral {
  std::uint64_t significand;
  int exponent;

  constexpr explicit integral(double x) {
    const std::uint64_t b = std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu;
    const int shift = (b >> 52) ? 0 : std::countl_zero(b) - 11;
    significand = (b >> 52) ? (b & 0xfffffffffffffu) | 0x10000000000000u : b << shift;
    exponent = ((b >> 52) ? static_cast<int>(b >> 52) : 1) - 1075 - shift;
  }
};

/// sign * m * 2^exponent as a double, to nearest even. m is not zero.
constexpr double rounded(bool negative, wide m, int exponent) {
  int unit = exponent + m.width() - 53;
  if (unit < -1074) unit = -1074;
  // Keep two more bits than needed: half a unit, and whether any bit below it is set.
  const int shift = unit - 2 - exponent;
  const std::uint64_t kept = (shift >= 0 ? m >> shift : m << -shift).low;
  const std::uint64_t significand = (kept >> 2) + ((kept & 3) == 3 || (kept & 7) == 6);
  const std::uint64_t biased = static_cast<std::uint64_t>(unit + 1074);
  const std::uint64_t infinity = 0x7ff0000000000000u;
  const std::uint64_t bits = biased > 2046 ? infinity : (biased << 52) + significand;
  return std::bit_cast<double>((bits > infinity ? infinity : bits) | (static_cast<std::uint64_t>(negative) << 63));
}

constexpr bool is_finite(double x) { return (std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }
constexpr bool is_negative(double x) { return std::bit_cast<std::uint64_t>(x) >> 63; }

/// Converts to float, to nearest even. A cast that overflows is not a constant expression; on g++ neither is a product that overflows.
constexpr float narrowed(double x) {
  const float infinity = std::bit_cast<float>(0x7f800000u);
  if (x >= 0x1.ffffffp+127) return infinity;
  return x <= -0x1.ffffffp+127 ? -infinity : static_cast<float>(x);
}

/// a * b + c, rounded once.
constexpr double fma(double a, double b, double c) {
  if (!is_finite(a) || !is_finite(b) || !is_finite(c)) {
    // The product of two finite numbers is finite here, even where a * b overflows.
    return is_finite(a) && is_finite(b) ? c : a * b + c;
  }
  if (a == 0 || b == 0) return a * b + c;
  const bool negative = is_negative(a) != is_negative(b);
  const integral x(a), y(b);
  wide p = wide::product(x.significand, y.significand) << 20;  // two bits stay free for the sum
  int exponent = x.exponent + y.exponent - 20;
  if (c == 0) return rounded(negative, p, exponent);

  // Bring both to one exponent. If bits are shifted out of one, the other is so much larger that the sticky bit decides the rounding.
  const integral z(c);
  wide q = wide{0, z.significand} << 73;
  const int lead = z.exponent - 73 - exponent;
  if (lead > 0) {
    p = p >> lead;
    exponent += lead;
  } else {
    q = q >> -lead;
  }
  if (negative == is_negative(c)) return rounded(negative, p + q, exponent);
  if (p < q) return rounded(!negative, q - p, exponent);
  if (q < p) return rounded(negative, p - q, exponent);
  return 0;
}

/// Computed in double, where the sum is rounded to odd: then the second rounding, to float, is the only one that counts.
/// Source: S. Boldo, G. Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd (2008).
constexpr float fma(float a, float b, float c) {
  const double p = static_cast<double>(a) * static_cast<double>(b), s = p + static_cast<double>(c);
  const double t = s - p, e = (p - (s - t)) + (static_cast<double>(c) - t);
  if (!is_finite(s) || e == 0) return narrowed(s);
  const std::uint64_t b64 = std::bit_cast<std::uint64_t>(s);
  if (b64 & 1) return narrowed(s);
  return narrowed(std::bit_cast<double>((e > 0) == (s > 0) ? b64 + 1 : b64 - 1));
}

/// a * 2^n, rounded once.
constexpr double scale(double a, double n) {
  if (!is_finite(a) || a == 0) return a;
  const integral x(a);
  return rounded(is_negative(a), wide{0, x.significand}, x.exponent + static_cast<int>(n));
}
constexpr float scale(float a, float n) { return narrowed(scale(static_cast<double>(a), static_cast<double>(n))); }

/// The square root, digit by digit, correctly rounded.
constexpr double sqrt(double x) {
  if (x == 0 || x != x || x == std::bit_cast<double>(std::uint64_t{0x7ff0000000000000u})) return x;
  if (x < 0) return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000u});
  integral a(x);
  if (a.exponent & 1) {
    a.significand *= 2;
    --a.exponent;
  }
  // 54 digits of the root: significand * 2^54 = root^2 + rest.
  std::uint64_t root = 0, rest = 0;
  for (int i = 0; i < 54; ++i) {
    const int place = 52 - 2 * i;
    rest = (rest << 2) | (place >= 0 ? (a.significand >> place) & 3 : 0);
    const std::uint64_t trial = (root << 2) | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  return rounded(false, wide{0, (root << 1) | (rest != 0)}, a.exponent / 2 - 28);
}
constexpr float sqrt(float x) { return static_cast<float>(sqrt(static_cast<double>(x))); }

}  // namespace ebb::inline EBB_ABI::lane::exact
