// ebb/num/lane.hpp — the vocabulary of numeric code written once, for one element and for a batch of elements.
// SPDX-License-Identifier: BSL-1.0
//
// A lane value V is a scalar or a batch. A batch is a class that holds several elements of one type and applies each operation to all of
// them, as a scalar applies it to one. Branch-free code in this vocabulary gives the same bits for both: `lane::exp` is such code.
//
// [note: lane values are not const]
// g++ 12 searches for redundant stores before it splits const variables of class type into registers, and the time of this search grows
// with the square of their number. So local lane values are not const.
//
// The required members of a batch V of float or double (T is its element; functions are static members):
//
//   types       V::element = T, V::mask, V::bits
//   constants   V::all(T) -> V
//   operators   a + b, a - b, a * b, a / b, each rounded once; -a flips the sign, of 0 and NaN too
//               a < b, a <= b, a > b, a >= b, a == b, a != b -> mask; with a NaN all are false except !=, which is true
//   functions   V::fma(a, b, c)         a * b + c: rounded once if lane::fused, else twice; never a mixture
//               V::select(m, a, b)      a where m, else b
//               V::sqrt(a)              correctly rounded
//               V::to_bits(a) -> bits, V::from_bits(bits) -> V
//   mask        m && n, m || n, !m: lane by lane, all operands evaluated
//   bits        a batch of std::uint32_t or std::uint64_t (bits::element) with bits::all(x), a + b, a - b (both wrap), a & b, a | b,
//               a ^ b, a << count, a >> count (zeros are shifted in; count is an int, the same for all lanes)
//
// The optional members, where the instruction set is faster; this header has a form of each in the required ones, with the same bits:
//
//               V::abs(a), V::copysign(magnitude, sign), V::floor(a), V::trunc(a), V::rint(a), V::isnan(a) -> mask
//               V::at_least(a, bound)   a < bound ? bound : a, so that a NaN in a stays: x86 maxps(bound, a)
//               V::at_most(a, bound)    bound < a ? bound : a: x86 minps(bound, a)
//               V::scale(a, n)          a * 2^n rounded once, for any a and integers n: AVX-512 scalef
//               V::split(a)             significand and exponent of |a| (see below): AVX-512 getmant(0.75 to 1.5, no sign) and getexp
//               V::quotient_down(a, b), V::quotient_to_zero(a, b)   a / b rounded in that direction: AVX-512
//               V::any(m) -> bool       whether m holds in some lane, so that rare work can be skipped
//               V::every(m) -> bool     whether m holds in all lanes
//
// A batch of integers has all, select, any, + - * (wrapping), unary -, / (by 0: 0), & | ^ ~, << and >> (keeps the sign) by a count or by a
// batch of counts, and the comparisons. It may have abs, at_least and at_most.
#pragma once

#include "../base/config.hpp"
#include "../base/instruction.hpp"
#include "../base/target.hpp"
#include "exact.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::lane {

/// Whether fma rounds once. If not, fma(a, b, c) is a * b + c: a batch and its scalar tail must agree.
inline constexpr bool fused = target_has::fma;

template <class V>
concept scalar = std::is_arithmetic_v<V>;

namespace detail {
template <class V>
struct element { using type = typename V::element; };
template <scalar T>
struct element<T> { using type = T; };
template <class V>
struct mask { using type = typename V::mask; };
template <scalar T>
struct mask<T> { using type = bool; };
template <class V>
struct bits { using type = typename V::bits; };
template <scalar T>
struct bits<T> { using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>; };
}  // namespace detail

template <class V>
using element_of = typename detail::element<V>::type;
template <class V>
using mask_of = typename detail::mask<V>::type;
/// The unsigned integers as wide as the elements of V.
template <class V>
using bits_of = typename detail::bits<V>::type;

/// The bit layout of a binary floating-point format.
template <class T>
struct format {
  static constexpr int fraction_bits = std::numeric_limits<T>::digits - 1;
  static constexpr int bias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr bits_of<T> one = static_cast<bits_of<T>>(bias) << fraction_bits;
  static constexpr bits_of<T> sign = bits_of<T>{1} << (8 * sizeof(T) - 1);
  static constexpr bits_of<T> fraction = (bits_of<T>{1} << fraction_bits) - 1;
  static constexpr T ulp_one = static_cast<T>(bits_of<T>{1} << fraction_bits);   // 2^23 or 2^52: from here on all numbers are integers
  static constexpr T rounder = ulp_one + ulp_one / 2;                            // x + rounder has rint(x) in its low bits
};

/// A lane value with x in every lane.
template <class V>
EBB_INLINE constexpr V all(element_of<V> x) {
  if constexpr (scalar<V>) return x;
  else return V::all(x);
}

template <class V>
EBB_INLINE constexpr V select(mask_of<V> m, V a, V b) {
  if constexpr (scalar<V>) return m ? a : b;
  else return V::select(m, a, b);
}

/// select(m, a(), b()), for sides that cost more than a branch: one element computes only the side that it needs.
template <class V, class A, class B>
EBB_INLINE constexpr V choose(mask_of<V> m, const A& a, const B& b) {
  if constexpr (scalar<V>) return m ? a() : b();
  else return select(m, a(), b());
}

/// a * b + c, rounded once where `fused`.
template <class V>
EBB_INLINE constexpr V fma(V a, V b, V c) {
  if constexpr (!scalar<V>) return V::fma(a, b, c);
  else if constexpr (!fused || !std::floating_point<V>) return static_cast<V>(a * b + c);
  else if (__builtin_is_constant_evaluated()) return exact::fma(a, b, c);
  else if constexpr (std::same_as<V, float>) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
}

template <class V>
EBB_INLINE constexpr V sqrt(V a) {
  if constexpr (!scalar<V>) return V::sqrt(a);
  else if (__builtin_is_constant_evaluated()) return exact::sqrt(a);
  else return instruction::sqrt(a);
}

template <class V>
EBB_INLINE constexpr bits_of<V> to_bits(V a) {
  if constexpr (scalar<V>) return std::bit_cast<bits_of<V>>(a);
  else return V::to_bits(a);
}
template <class V>
EBB_INLINE constexpr V from_bits(bits_of<V> b) {
  if constexpr (scalar<V>) return std::bit_cast<V>(b);
  else return V::from_bits(b);
}

template <class V>
EBB_INLINE constexpr V at_least(V a, V bound) {
  if constexpr (requires { V::at_least(a, bound); }) return V::at_least(a, bound);
  else return select(a < bound, bound, a);
}
template <class V>
EBB_INLINE constexpr V at_most(V a, V bound) {
  if constexpr (requires { V::at_most(a, bound); }) return V::at_most(a, bound);
  else return select(bound < a, bound, a);
}

template <class V>
EBB_INLINE constexpr mask_of<V> isnan(V a) {
  if constexpr (requires { V::isnan(a); }) return V::isnan(a);
  else return !(a == a);
}

/// The magnitude. Clears the sign of 0 and NaN too; the smallest integer is unchanged.
template <class V>
EBB_INLINE constexpr V abs(V a) {
  using T = element_of<V>;
  if constexpr (requires { V::abs(a); }) return V::abs(a);
  else if constexpr (std::same_as<V, float>) return __builtin_fabsf(a);
  else if constexpr (std::same_as<V, double>) return __builtin_fabs(a);
  else if constexpr (std::floating_point<T>) return from_bits<V>(to_bits(a) & all<bits_of<V>>(~format<T>::sign));
  else if constexpr (!scalar<V>) return select(a < all<V>(0), -a, a);
  else if constexpr (std::unsigned_integral<V>) return a;
  else return a < 0 ? static_cast<V>(-static_cast<std::make_unsigned_t<V>>(a)) : a;
}

template <class V>
EBB_INLINE constexpr V copysign(V magnitude, V signed_one) {
  using T = element_of<V>;
  using B = bits_of<V>;
  if constexpr (requires { V::copysign(magnitude, signed_one); }) return V::copysign(magnitude, signed_one);
  else if constexpr (std::same_as<V, float>) return __builtin_copysignf(magnitude, signed_one);
  else if constexpr (std::same_as<V, double>) return __builtin_copysign(magnitude, signed_one);
  else return from_bits<V>((to_bits(magnitude) & all<B>(~format<T>::sign)) | (to_bits(signed_one) & all<B>(format<T>::sign)));
}

/// The nearest integer; a tie goes to the even one. Keeps the sign of zero.
template <class V>
EBB_INLINE constexpr V rint(V a) {
  if constexpr (requires { V::rint(a); }) return V::rint(a);
  else {
    V integral = all<V>(format<element_of<V>>::ulp_one), magnitude = abs(a);
    return select(magnitude < integral, copysign((magnitude + integral) - integral, a), a);
  }
}
template <class V>
EBB_INLINE constexpr V floor(V a) {
  if constexpr (requires { V::floor(a); }) return V::floor(a);
  else {
    V near = rint(a);
    return copysign(select(near > a, near - all<V>(1), near), a);
  }
}
template <class V>
EBB_INLINE constexpr V ceil(V a) {
  return -floor(-a);
}
template <class V>
EBB_INLINE constexpr V trunc(V a) {
  if constexpr (requires { V::trunc(a); }) return V::trunc(a);
  else return copysign(floor(abs(a)), a);
}

/// The larger of two, as PyTorch's maximum: a NaN in either is the result; of two equal operands (+0 and -0) the second is.
template <class V>
EBB_INLINE constexpr V maximum(V a, V b) {
  if constexpr (std::floating_point<element_of<V>>) return select(isnan(a), a, at_least(b, a));
  else return at_least(b, a);
}
/// The smaller of two, with the same rules.
template <class V>
EBB_INLINE constexpr V minimum(V a, V b) {
  if constexpr (std::floating_point<element_of<V>>) return select(isnan(a), a, at_most(b, a));
  else return at_most(b, a);
}

/// 2^n for integers n from 1 - bias to bias; 1 lower gives 0, 1 higher gives infinity.
template <class V>
EBB_INLINE constexpr V power_of_two(V n) {
  using F = format<element_of<V>>;
  return from_bits<V>(to_bits(n + all<V>(F::rounder + F::bias)) << F::fraction_bits);
}

/// a * 2^n, rounded once, for integers n with |n| <= 2 * bias - 2 and an a not far from 1 (or n is 0, or a is NaN).
template <class V>
EBB_INLINE constexpr V scale(V a, V n) {
  if constexpr (requires { V::scale(a, n); }) return V::scale(a, n);
  else {
    // In two steps, because 2^n itself may be out of range; the first step is exact.
    if constexpr (scalar<V>) {
      if (__builtin_is_constant_evaluated()) return exact::scale(a, n);
      if constexpr (target_has::scaling) return instruction::scale(a, n);
    }
    using F = format<element_of<V>>;
    V half = fma(n, all<V>(element_of<V>(0.5)), all<V>(F::rounder)) - all<V>(F::rounder);
    return a * power_of_two(half) * power_of_two(n - half);
  }
}

template <class V>
struct parts {
  V significand, exponent;
};

/// |a| = significand * 2^exponent with 0.75 <= significand < 1.5, subnormal numbers included.
/// 0 and infinity have significand 1 and exponent -infinity and infinity; for a NaN at least one of the two is NaN.
template <class V>
EBB_INLINE constexpr parts<V> split(V a) {
  if constexpr (requires { V::split(a); }) return V::split(a);
  else {
    if constexpr (scalar<V> && target_has::scaling)
      if (!__builtin_is_constant_evaluated()) {
        V significand = instruction::significand(a);
        return {significand, instruction::exponent(a) - instruction::exponent(significand)};
      }
    using T = element_of<V>;
    using F = format<T>;
    using B = bits_of<V>;
    constexpr bits_of<T> least = std::bit_cast<bits_of<T>>(T(0.75));
    V infinity = all<V>(std::numeric_limits<T>::infinity()), magnitude = abs(a);
    mask_of<V> subnormal = magnitude < all<V>(std::numeric_limits<T>::min());
    B b = to_bits(magnitude * select(subnormal, all<V>(F::ulp_one), all<V>(1))) + all<B>(F::one - least);
    V biased = from_bits<V>((b >> F::fraction_bits) | all<B>(std::bit_cast<bits_of<T>>(F::ulp_one)));
    V offset = select(subnormal, all<V>(F::ulp_one + F::bias + F::fraction_bits), all<V>(F::ulp_one + F::bias));
    V exponent = select(magnitude == all<V>(0), -infinity, biased - offset);
    return {from_bits<V>((b & all<B>(F::fraction)) + all<B>(least)), select(magnitude < infinity, exponent, magnitude)};
  }
}

namespace detail {
/// Whether m is false in all lanes. Always false for a batch without `any`.
template <class V>
EBB_INLINE constexpr bool in_no_lane([[maybe_unused]] mask_of<V> m) {
  if constexpr (scalar<V>) return !m;
  else if constexpr (requires { V::any(m); }) return !V::any(m);
  else return false;
}

/// Whether m is true in all lanes. Always false for a batch without `any`.
template <class V>
EBB_INLINE constexpr bool in_every_lane([[maybe_unused]] mask_of<V> m) {
  if constexpr (scalar<V>) return m;
  else if constexpr (requires { V::every(m); }) return V::every(m);
  else return in_no_lane<V>(!m);
}

}  // namespace detail

/// The requirements of this namespace's functions on their arguments.
template <class V>
concept lane_type = std::same_as<V, float> || std::same_as<V, double> ||
                    requires(V a, typename V::mask m, typename V::bits b, element_of<V> x) {
  requires std::same_as<element_of<V>, float> || std::same_as<element_of<V>, double>;
  { V::all(x) } -> std::same_as<V>;
  { a + a } -> std::same_as<V>;
  { a - a } -> std::same_as<V>;
  { a * a } -> std::same_as<V>;
  { a / a } -> std::same_as<V>;
  { -a } -> std::same_as<V>;
  { a < a } -> std::same_as<typename V::mask>;
  { a <= a } -> std::same_as<typename V::mask>;
  { a > a } -> std::same_as<typename V::mask>;
  { a >= a } -> std::same_as<typename V::mask>;
  { a == a } -> std::same_as<typename V::mask>;
  { a != a } -> std::same_as<typename V::mask>;
  { m && m } -> std::same_as<typename V::mask>;
  { m || m } -> std::same_as<typename V::mask>;
  { !m } -> std::same_as<typename V::mask>;
  { V::fma(a, a, a) } -> std::same_as<V>;
  { V::select(m, a, a) } -> std::same_as<V>;
  { V::sqrt(a) } -> std::same_as<V>;
  { V::to_bits(a) } -> std::same_as<typename V::bits>;
  { V::from_bits(b) } -> std::same_as<V>;
  { V::bits::all(bits_of<element_of<V>>{}) } -> std::same_as<typename V::bits>;
  { b + b } -> std::same_as<typename V::bits>;
  { b - b } -> std::same_as<typename V::bits>;
  { b & b } -> std::same_as<typename V::bits>;
  { b | b } -> std::same_as<typename V::bits>;
  { b ^ b } -> std::same_as<typename V::bits>;
  { b << 1 } -> std::same_as<typename V::bits>;
  { b >> 1 } -> std::same_as<typename V::bits>;
};

}  // namespace ebb::inline EBB_ABI::lane
