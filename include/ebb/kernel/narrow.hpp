// ebb/kernel/narrow.hpp — lanes of bfloat16 and float16: computed as float, rounded after each operation.
// SPDX-License-Identifier: BSL-1.0
//
// A lane holds a float that the narrow type can represent. float has more than twice the digits of either plus two, so that
// + - * / and sqrt are rounded as if once. Everything rounds to nearest even and keeps subnormals; NaN stays NaN (quiet).
#pragma once

#include "lanes.hpp"

#include <concepts>

namespace ebb::inline EBB_ABI {

template <class T>
concept half_width = std::same_as<T, bfloat16> || std::same_as<T, float16>;

template <half_width T>
struct lanes<T> {
  using element = T;
  using mask = lanes<bool>;
  using bits = lanes<float>::bits;
  static constexpr int size = lane_count;

  lanes<float> wide;

  /// x, rounded to the narrow type.
  static EBB_INLINE lanes rounded(lanes<float> x) {
    if constexpr (std::same_as<T, bfloat16>) return {{{simd::nearest_bfloat16(x.part[0])}}};
    else return {{{simd::widen<T>(simd::narrow<T>(x.part[0]))}}};
  }
  static EBB_INLINE lanes load(const T* p) { return {{{simd::widen<T>(simd::load_narrow(p))}}}; }
  static EBB_INLINE lanes load(const T* p, int count) { return {{{simd::widen<T>(simd::load_narrow(p, count))}}}; }
  static EBB_INLINE lanes all(T x) { return {lanes<float>::all(static_cast<float>(x))}; }
  EBB_INLINE void store(T* p) const { simd::store_narrow(p, memory()); }
  EBB_INLINE void store(T* p, int count) const { simd::store_narrow(p, memory(), count); }
  /// rounded(x).store(p, count...), faster.
  static EBB_INLINE void store_rounded(lanes<float> x, T* p, auto... count) { simd::store_narrow(p, simd::narrow<T>(x.part[0]), count...); }
  T operator[](int i) const { return T(wide[i]); }

  static EBB_INLINE lanes select(mask m, lanes a, lanes b) { return {lanes<float>::select(m, a.wide, b.wide)}; }
  static EBB_INLINE lanes at_least(lanes a, lanes bound) { return {lanes<float>::at_least(a.wide, bound.wide)}; }
  static EBB_INLINE lanes at_most(lanes a, lanes bound) { return {lanes<float>::at_most(a.wide, bound.wide)}; }
  static EBB_INLINE lanes abs(lanes a) { return {lanes<float>::abs(a.wide)}; }
  static EBB_INLINE lanes copysign(lanes magnitude, lanes signs) { return {lanes<float>::copysign(magnitude.wide, signs.wide)}; }
  static EBB_INLINE lanes floor(lanes a) { return rounded(lane::floor(a.wide)); }
  static EBB_INLINE lanes rint(lanes a) { return rounded(lane::rint(a.wide)); }
  static EBB_INLINE mask isnan(lanes a) { return a.wide != a.wide; }
  static EBB_INLINE lanes sqrt(lanes a) { return rounded(lanes<float>::sqrt(a.wide)); }
  /// a * b is exact in float; the sum is rounded to float, then to the narrow type.
  static EBB_INLINE lanes fma(lanes a, lanes b, lanes c) { return rounded(a.wide * b.wide + c.wide); }

  friend EBB_INLINE lanes operator+(lanes a, lanes b) { return rounded(a.wide + b.wide); }
  friend EBB_INLINE lanes operator-(lanes a, lanes b) { return rounded(a.wide - b.wide); }
  friend EBB_INLINE lanes operator*(lanes a, lanes b) { return rounded(a.wide * b.wide); }
  friend EBB_INLINE lanes operator/(lanes a, lanes b) { return rounded(a.wide / b.wide); }
  friend EBB_INLINE lanes operator-(lanes a) { return {-a.wide}; }
  friend EBB_INLINE mask operator<(lanes a, lanes b) { return a.wide < b.wide; }
  friend EBB_INLINE mask operator<=(lanes a, lanes b) { return a.wide <= b.wide; }
  friend EBB_INLINE mask operator>(lanes a, lanes b) { return a.wide > b.wide; }
  friend EBB_INLINE mask operator>=(lanes a, lanes b) { return a.wide >= b.wide; }
  friend EBB_INLINE mask operator==(lanes a, lanes b) { return a.wide == b.wide; }
  friend EBB_INLINE mask operator!=(lanes a, lanes b) { return a.wide != b.wide; }

 private:
  EBB_INLINE simd::narrow_bits memory() const {
    if constexpr (std::same_as<T, bfloat16>) return simd::upper_halves(wide.part[0]);
    else return simd::narrow<T>(wide.part[0]);
  }
};

}  // namespace ebb::inline EBB_ABI
