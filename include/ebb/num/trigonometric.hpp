// ebb/num/trigonometric.hpp — sin and cos for arguments of any size, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// Both write |x| = n pi/2 + r with an integer n and |r| <= pi/4; the last two bits of n select the sine or cosine of r and the sign.
// With fma, pi/2 has three parts. The first has two digits less than the format: x minus n times it is exact. The rounding error of the
// second step is kept and has the third subtracted, so that r has more than its own precision even if x is next to a multiple of pi/2.
// Without fma, n pi/2 is subtracted in pieces so short that their products with n are exact, then the rest of pi/2.
// Larger arguments are rare: for them, lane by lane, |x| 2/pi is computed from the bits of 2/pi that matter for the exponent of x.
// Source: W. J. Cody, W. Waite, Software Manual for the Elementary Functions (1980), chapter 8; S. Boldo, M. Daumas, R.-C. Li, Formally
// verified argument reduction with a fused multiply-add (2009); M. H. Payne, R. N. Hanek, Radian reduction for trigonometric functions
// (1983). The polynomials are minimax, by Remez's algorithm, of coefficients rounded one after the other.
#pragma once

#include "exact.hpp"
#include "lane.hpp"
#include "polynomial.hpp"
#include "twofold.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct trigonometric;

/// sin r = r + r^3 sine(r^2), cos r = 1 + r^2 cosine(r^2).
template <>
struct trigonometric<float> {
  static constexpr float greatest = 0x1p+13f;  // up to here n has at most 13 bits, and each piece has 11
  static constexpr float two_over_pi = 0x1.45f306p-1f;
  static constexpr float parts[] = {0x1.921fb8p+0f, -0x1.5dde98p-23f, 0x1.84698ap-48f};
  static constexpr float pieces[] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.444p-24f, 0x1.68cp-39f, 0x1.1a6264p-54f};
  static constexpr float sine[] = {-0x1.555546p-3f, 0x1.110778p-7f, -0x1.9953f6p-13f};
  static constexpr float cosine[] = {-0.5f, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0eap-16f};
};
template <>
struct trigonometric<double> {
  static constexpr double greatest = 0x1p+20;  // up to here n has at most 20 bits, and each piece has 33
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  static constexpr double parts[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
  static constexpr double pieces[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104};
  static constexpr double sine[] = {-0x1.5555555555548p-3, 0x1.111111110f731p-7,  -0x1.a01a019be9688p-13,
                                    0x1.71de3555a9ce3p-19, -0x1.ae5e4c3c67719p-26, 0x1.5d8babdd3066fp-33};
  static constexpr double cosine[] = {-0.5, 0x1.555555555554cp-5, -0x1.6c16c16c1521cp-10, 0x1.a01a019cbedffp-16,
                                      -0x1.27e4f812383d4p-22, 0x1.1ee9f0eb1a0c6p-29, -0x1.8fb0f3b67009bp-37};
};

/// r = high + low, and n, of which only the last two bits matter.
template <class V>
struct angle {
  V high, low;
  bits_of<V> quadrant;
};

/// For 0 <= x <= greatest, or NaN.
template <class V>
EBB_INLINE constexpr angle<V> angle_of(V x) {
  using T = element_of<V>;
  using C = trigonometric<T>;
  const V shifted = fma(x, all<V>(C::two_over_pi), all<V>(format<T>::rounder)), n = shifted - all<V>(format<T>::rounder);
  if constexpr (fused) {
    const V a = fma(n, all<V>(-C::parts[0]), x), high = a - n * all<V>(C::parts[1]);  // exact, and rounded
    return {high, fma(n, all<V>(-C::parts[2]), fma(n, all<V>(-C::parts[1]), a - high)), to_bits(shifted)};
  } else {
    V high = x - n * all<V>(C::pieces[0]), low = all<V>(0);  // exact
    const auto subtract = [&](T piece) EBB_LAMBDA {
      const V b = n * all<V>(-piece), sum = high + b, rounded = sum - high;
      low = low + ((high - (sum - rounded)) + (b - rounded));
      high = sum;
    };
    constexpr int last = static_cast<int>(sizeof(C::pieces) / sizeof(T)) - 1;
    subtract(C::pieces[1]);
    subtract(C::pieces[2]);
    if constexpr (last == 4) subtract(C::pieces[3]);
    const auto r = quick_sum(high, fma(n, all<V>(-C::pieces[last]), low));
    return {r.high, r.low, to_bits(shifted)};
  }
}

/// 64 zeros, and the first 1216 bits of 2/pi.
inline constexpr std::uint64_t bits_of_two_over_pi[] = {
    0,
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu,
    0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u,
    0x56033046fc7b6babu,
};

/// angle_of for greatest < x < infinity: x = m 2^e, and m times 192 bits of 2/pi is x 2/pi modulo 4, to 190 bits after the point.
constexpr angle<double> angle_of_huge(double x) {
  const std::uint64_t b = to_bits(x), m = (b & format<double>::fraction) | (std::uint64_t{1} << 52);
  const int first = static_cast<int>(b >> 52) - 1075 - 2 + 64, shift = first % 64;
  const auto word = [&](int k) {
    const std::uint64_t *at = bits_of_two_over_pi + first / 64 + k;
    return shift ? at[0] << shift | at[1] >> (64 - shift) : at[0];
  };
  const exact::wide p1 = exact::wide::product(m, word(1)), p2 = exact::wide::product(m, word(2));
  std::uint64_t low = p2.low, middle = p1.low + p2.high, high = m * word(0) + p1.high + (middle < p2.high);
  std::uint64_t quadrant = high >> 62;

  // The fraction as 192 bits; if it is a half or more, its distance to the next integer instead.
  high = high << 2 | middle >> 62;
  middle = middle << 2 | low >> 62;
  low <<= 2;
  const bool above = high >> 63;
  if (above) {
    ++quadrant;
    low = -low;
    middle = ~middle + (low == 0);
    high = ~high + (low == 0 && middle == 0);
  }
  int zeros = std::countl_zero(high);
  if (zeros == 64) {
    high = middle, middle = low, low = 0;
    zeros += std::countl_zero(high);
  }
  if (const int by = zeros % 64; by != 0) {
    high = high << by | middle >> (64 - by);
    middle = middle << by | low >> (64 - by);
  }
  const double unit = power_of_two(static_cast<double>(-53 - zeros)) * (above ? -1 : 1);
  const std::uint64_t rest = high << 53 | middle >> 11;
  const twofold<double> fraction{static_cast<double>(high >> 11) * unit, static_cast<double>(rest >> 11) * unit * 0x1p-53};
  const twofold<double> half_pi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  const auto r = product(fraction, half_pi), sum = quick_sum(r.high, r.low);
  return {sum.high, sum.low, quadrant};
}

template <class V>
EBB_INLINE constexpr mask_of<V> is_even(bits_of<V> n) {
  using T = element_of<V>;
  using B = bits_of<V>;
  if constexpr (requires { mask_of<V>(n == n); }) return (n & all<B>(1)) == all<B>(0);
  else return from_bits<V>(((n & all<B>(1)) << (format<T>::fraction_bits - 1)) | all<B>(format<T>::one)) == all<V>(1);  // 1, or 1.5
}

/// sin(|x| + Turn pi/2), with the sign of x if Turn is 0.
template <int Turn, class V>
EBB_INLINE constexpr V circular_at(const angle<V>& a, V x) {
  using T = element_of<V>;
  using B = bits_of<V>;
  using C = trigonometric<T>;
  // The polynomials need r in plain precision, and need not wait for its low part.
  const V r = a.high, rough = r * r, square = fma(r, r, (r + r) * a.low);
  const V sine = r + fma(rough * r, horner(rough, C::sine), a.low), cosine = fma(square, horner(rough, C::cosine), all<V>(1));
  const B n = a.quadrant + all<B>(Turn);
  B sign = n << (8 * static_cast<int>(sizeof(T)) - 2);
  if constexpr (Turn == 0) sign = sign ^ to_bits(x);
  return from_bits<V>(to_bits(select(is_even<V>(n), sine, cosine)) ^ (sign & all<B>(format<T>::sign)));
}

/// The function that `circular` computes of an angle: sine, turned by Turn quarters.
template <int Turn>
struct sine_of {
  template <class V>
  EBB_INLINE static constexpr V at(const angle<V>& a, V x) { return circular_at<Turn>(a, x); }
};

template <class Of, scalar T>
constexpr T circular_of_huge(T x) {
  if (abs(x) > std::numeric_limits<T>::max()) return std::numeric_limits<T>::quiet_NaN();
  const double wide = x, magnitude = abs(wide);
  const bool huge = magnitude > trigonometric<double>::greatest;
  return static_cast<T>(Of::at(huge ? angle_of_huge(magnitude) : angle_of(magnitude), wide));
}
template <class Of, class V>
[[gnu::noinline]] V with_huge_lanes(V x, V result) {
  using T = element_of<V>;
  using array = std::array<T, sizeof(V) / sizeof(T)>;
  auto out = std::bit_cast<array>(result);
  int i = 0;
  for (const T each : std::bit_cast<array>(x)) {
    if (abs(each) > trigonometric<T>::greatest) out[static_cast<std::size_t>(i)] = circular_of_huge<Of>(each);
    ++i;
  }
  return std::bit_cast<V>(out);
}

template <class Of, class V>
EBB_INLINE constexpr V circular(V x) {
  const V magnitude = abs(x), greatest = all<V>(trigonometric<element_of<V>>::greatest);
  if constexpr (scalar<V>) {
    if (magnitude > greatest) return circular_of_huge<Of>(x);
    return Of::at(angle_of(magnitude), x);
  } else {
    const V result = Of::at(angle_of(magnitude), x);
    if constexpr (requires { V::any(magnitude > greatest); })
      if (!V::any(magnitude > greatest)) [[likely]] return result;
    return with_huge_lanes<Of>(x, result);
  }
}

}  // namespace detail

/// Sine; keeps the sign of zero, and is NaN at infinity.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V sin(V x) {
  return detail::circular<detail::sine_of<0>>(x);
}
/// Cosine; NaN at infinity.   Error: 1 ulp.
template <class V>
EBB_INLINE constexpr V cos(V x) {
  return detail::circular<detail::sine_of<1>>(x);
}

}  // namespace ebb::inline EBB_ABI::lane
