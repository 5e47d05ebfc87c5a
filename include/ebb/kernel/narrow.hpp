// ebb/kernel/narrow.hpp — lanes of bfloat16 and float16: computed as float, rounded after each operation.
// SPDX-License-Identifier: BSL-1.0
//
// A lane holds a float that the narrow type can represent. float has more than twice the digits of either plus two, so that
// + - * / and sqrt are rounded as if once. Everything rounds to nearest even and keeps subnormals; NaN stays NaN (quiet).
// AVX-512's own conversion to bfloat16 flushes subnormals, and is used for whole rows only, where a look says that there are none: within
// a register integers are as fast.
#pragma once

#include "../num/bfloat16.hpp"
#include "../num/float16.hpp"
#include "lanes.hpp"

#include <concepts>

namespace ebb::inline EBB_ABI {

template <class T>
concept half_width = std::same_as<T, bfloat16> || std::same_as<T, float16>;

namespace simd {

/// The bits of lane_count narrow elements, as they lie in memory.
using narrow_bits = vector<std::uint16_t, register_bytes / 2>;
using float_bits = vector<std::uint32_t>;

EBB_INLINE narrow_bits load_narrow(const void* p) {
  narrow_bits x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

EBB_INLINE void store_narrow(void* p, narrow_bits x) { std::memcpy(p, &x, sizeof x); }

// The first count elements, zeros after them; no memory behind them is touched.
#if defined(__AVX512BW__) && defined(__AVX512VL__)

EBB_INLINE narrow_bits load_narrow(const void* p, int count) {
  return reinterpret_cast<narrow_bits>(_mm256_maskz_loadu_epi16(first_lanes(count), p));
}
EBB_INLINE void store_narrow(void* p, narrow_bits x, int count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), reinterpret_cast<__m256i>(x));
}

#else

EBB_INLINE narrow_bits load_narrow(const void* p, int count) {
  narrow_bits x = {};
  for (int i = 0; i < count; ++i) {
    std::uint16_t one;
    std::memcpy(&one, static_cast<const char*>(p) + 2 * i, sizeof one);
    x[i] = one;
  }
  return x;
}
EBB_INLINE void store_narrow(void* p, narrow_bits x, int count) {
  for (int i = 0; i < count; ++i) {
    const std::uint16_t one = x[i];
    std::memcpy(static_cast<char*>(p) + 2 * i, &one, sizeof one);
  }
}

#endif

template <class T>
vector<float> widen(narrow_bits x);
template <class T>
narrow_bits narrow(vector<float> x);

template <>
EBB_INLINE vector<float> widen<bfloat16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(__builtin_convertvector(x, float_bits) << 16);
}
/// The bfloat16 nearest to x, as a float.
EBB_INLINE vector<float> nearest_bfloat16(vector<float> x) {
  const auto u = reinterpret_cast<float_bits>(x);
  const auto rounded = reinterpret_cast<vector<float>>(u + 0x7fffu + ((u >> 16) & 1u));
  const auto quiet = reinterpret_cast<vector<float>>(u | 0x400000u);
  return reinterpret_cast<vector<float>>(reinterpret_cast<float_bits>(select<float>(equal<float>(x, x), rounded, quiet)) & 0xffff0000u);
}
/// The bits of x, which is a bfloat16.
EBB_INLINE narrow_bits upper_halves(vector<float> x) { return __builtin_convertvector(reinterpret_cast<float_bits>(x) >> 16, narrow_bits); }
template <>
EBB_INLINE narrow_bits narrow<bfloat16>(vector<float> x) {
#if defined(__AVX512BF16__) && defined(__AVX512F__)
  constexpr int subnormal = 0x20;
  const auto bits = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
  if (_mm512_fpclass_ps_mask(reinterpret_cast<__m512>(x), subnormal) == 0) [[likely]] return reinterpret_cast<narrow_bits>(bits);
#endif
  return upper_halves(nearest_bfloat16(x));
}

#if defined(__AVX512F__)
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x)));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  return reinterpret_cast<narrow_bits>(_mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__AVX__) && defined(__F16C__)
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(x)));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  return reinterpret_cast<narrow_bits>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
}
#else
// As float16 itself does it, see num/float16.hpp. Widening: the exponent is corrected by a product, which is exact, also for subnormals.
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  const float_bits u = __builtin_convertvector(x, float_bits);
  const auto magnitude = reinterpret_cast<vector<float>>((u & 0x7fffu) << 13) * 0x1p112f;
  const float_bits special = reinterpret_cast<float_bits>((u & 0x7c00u) == 0x7c00u) & 0x7f800000u;
  return reinterpret_cast<vector<float>>(reinterpret_cast<float_bits>(magnitude) | special | ((u & 0x8000u) << 16));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  const auto u = reinterpret_cast<float_bits>(x);
  const float_bits magnitude = u & 0x7fffffffu;
  const auto choose = [](auto condition, float_bits a, float_bits b) EBB_LAMBDA {
    const auto m = reinterpret_cast<float_bits>(condition);
    return (m & a) | (~m & b);
  };
  const float_bits normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const auto small = reinterpret_cast<float_bits>(reinterpret_cast<vector<float>>(magnitude) + 0.5f) - 0x3f000000u;
  const float_bits infinite = float_bits{} + 0x7c00u, nan = ((magnitude >> 13) & 0x3ffu) | 0x7e00u;
  const float_bits h = choose(magnitude > 0x7f800000u, nan, choose(magnitude >= 0x477ff000u, infinite,
                       choose(magnitude >= 0x38800000u, normal, small)));
  return __builtin_convertvector(h | ((u >> 16) & 0x8000u), narrow_bits);
}
#endif

}  // namespace simd

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
