// ebb/kernel/batch.hpp — one SIMD register of the target: memory, masks, signs. The only header that includes xsimd.
// SPDX-License-Identifier: BSL-1.0
//
// xsimd knows the instruction set and the width of its registers, and has functions for which C++ has no operator: sqrt, floor, select,
// comparisons into mask registers. Sums and products are written with the compilers' vector operators: that is one call less to inline, and
// a fused program has thousands of them.
//
// Repaired here, all seen in xsimd 8.1: != is false for NaN on AVX2 and AVX-512; ^ of masks is wrong on AVX-512 and != of masks on SSE2;
// unary minus of +0 gives +0 on AVX-512. Arithmetic is in instructions.hpp.
#pragma once

#include "../base/config.hpp"
#include "../num/lane.hpp"

#include <xsimd/xsimd.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The number of elements that a program handles at a time: that of floats in a register. It is the same for every element type.
inline constexpr int lane_count = static_cast<int>(xsimd::batch<float>::size);

namespace simd {

inline constexpr std::size_t register_bytes = sizeof(xsimd::batch<float>);

template <class T, std::size_t Bytes>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, std::size_t Bytes = register_bytes>
using vector = typename vector_of<T, Bytes>::type;

/// The integer of the same size.
template <class T>
using int_of = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <class T>
inline constexpr int count_of = static_cast<int>(register_bytes / sizeof(T));

template <class T>
EBB_INLINE xsimd::batch<T> to_xsimd(vector<T> x) { return reinterpret_cast<typename xsimd::batch<T>::register_type>(x); }
template <class T>
EBB_INLINE vector<T> from_xsimd(xsimd::batch<T> x) { return reinterpret_cast<vector<T>>(x.data); }

template <class T>
EBB_INLINE vector<T> load(const T* p) { return from_xsimd<T>(xsimd::batch<T>::load_unaligned(p)); }
/// The same for Bytes bytes: a register or less.
template <class T, std::size_t Bytes>
EBB_INLINE vector<T, Bytes> load_bytes(const T* p) {
  vector<T, Bytes> x;
  std::memcpy(&x, p, Bytes);
  return x;
}
template <class T>
EBB_INLINE void store(T* p, vector<T> x) { to_xsimd<T>(x).store_unaligned(p); }
template <class T>
EBB_INLINE vector<T> all(T x) { return from_xsimd<T>(xsimd::batch<T>(x)); }

/// The sign bit in every lane.
template <class T>
EBB_INLINE vector<T> sign_bits() { return reinterpret_cast<vector<T>>(all(std::numeric_limits<int_of<T>>::min())); }
template <class T>
EBB_INLINE vector<int_of<T>> as_int(vector<T> x) { return reinterpret_cast<vector<int_of<T>>>(x); }

/// 0, 1, 2, ...
template <class T>
EBB_INLINE vector<T> count_up() {
  return []<std::size_t... I>(std::index_sequence<I...>) EBB_LAMBDA { return vector<T>{static_cast<T>(I)...}; }
  (std::make_index_sequence<static_cast<std::size_t>(count_of<T>)>{});
}

/// Lane i is lane i + Shift of x, counted modulo the number of lanes.
template <int Shift, class V, int... I>
EBB_INLINE V rotated(V x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, ((I + Shift) % static_cast<int>(sizeof...(I)))...);
}
/// Lane i is lane i + Shift of x, for i < Shift; the other lanes are arbitrary. Shift is half of the lanes, a quarter, ... 1. It stays
/// within 16 bytes where it can: to cross them takes several times as long.
template <int Shift, class T>
EBB_INLINE vector<T> shifted_down(vector<T> x) {
#if defined(__AVX__) && !defined(__AVX512F__)
  if constexpr (Shift == count_of<T> / 2)
    return reinterpret_cast<vector<T>>(_mm256_castsi128_si256(_mm256_extractf128_si256(reinterpret_cast<__m256i>(x), 1)));
  else
#endif
  {
    constexpr int within = 16 / static_cast<int>(sizeof(T)), turn = Shift < within ? within : count_of<T>;
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      return __builtin_shufflevector(x, x, (I / turn * turn + (I + Shift) % turn)...);
    }(std::make_integer_sequence<int, count_of<T>>{});
  }
}
/// The lanes in the opposite order.
template <class T>
EBB_INLINE vector<T> reversed(vector<T> x) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x, x, (count_of<T> - 1 - I)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}

// Masks. AVX-512 has registers of bits for them. Elsewhere they are registers of integers, all ones or zero, as wide as the compared
// elements. The mask of a program has the width of float: join makes it of two masks of wide elements, part_of splits it into these.
#if defined(__AVX512F__)

template <class T>
using mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;

EBB_INLINE mask<float> join(mask<double> low, mask<double> high) { return _mm512_kunpackb(high, low); }
template <int Part>
EBB_INLINE mask<double> part_of(mask<float> m) { return static_cast<mask<double>>(m >> (count_of<double> * Part)); }

template <class T>
EBB_INLINE mask<T> less(vector<T> x, vector<T> y) { return (to_xsimd<T>(x) < to_xsimd<T>(y)).data; }
template <class T>
EBB_INLINE mask<T> less_equal(vector<T> x, vector<T> y) { return (to_xsimd<T>(x) <= to_xsimd<T>(y)).data; }
template <class T>
EBB_INLINE mask<T> equal(vector<T> x, vector<T> y) { return (to_xsimd<T>(x) == to_xsimd<T>(y)).data; }
template <class T>
EBB_INLINE vector<T> select(mask<T> m, vector<T> x, vector<T> y) {
  // Integers are selected as real numbers of their size: xsimd 8.1's select of integers does not compile with g++ -O0, where the intrinsics
  // it uses are macros.
  using R = std::conditional_t<sizeof(T) == 4, float, double>;
  const auto a = reinterpret_cast<vector<R>>(x), b = reinterpret_cast<vector<R>>(y);
  return reinterpret_cast<vector<T>>(from_xsimd<R>(xsimd::select(xsimd::batch_bool<R>(m), to_xsimd<R>(a), to_xsimd<R>(b))));
}

EBB_INLINE mask<float> first_lanes(int count) { return static_cast<mask<float>>((1u << count) - 1u); }
template <int Shift>
EBB_INLINE mask<float> lanes_after(mask<float> m) { return static_cast<mask<float>>(m >> Shift); }
EBB_INLINE std::uint32_t to_bits(mask<float> m) { return m; }
EBB_INLINE mask<float> from_bits(std::uint32_t bits) { return static_cast<mask<float>>(bits); }
EBB_INLINE mask<float> load_mask(const bool* p) {
  __m128i bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  const __m512i wide = _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
  return _mm512_test_epi32_mask(wide, wide);
}
EBB_INLINE void store_mask(bool* p, mask<float> m) {
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, _mm512_maskz_set1_epi32(m, 1));
  std::memcpy(p, &bytes, sizeof bytes);
}

#else

template <class T>
using mask = vector<int_of<T>>;

EBB_INLINE mask<float> join(mask<double> low, mask<double> high) {
  return []<int... I>(mask<float> x, mask<float> y, std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x, y, 2 * I...);
  }(reinterpret_cast<mask<float>>(low), reinterpret_cast<mask<float>>(high), std::make_integer_sequence<int, lane_count>{});
}
template <int Part>
EBB_INLINE mask<double> part_of(mask<float> m) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return reinterpret_cast<mask<double>>(__builtin_shufflevector(m, m, (Part * lane_count + I) / 2 ...));
  }(std::make_integer_sequence<int, lane_count>{});
}

template <class T>
EBB_INLINE mask<T> less(vector<T> x, vector<T> y) { return reinterpret_cast<mask<T>>(x < y); }
template <class T>
EBB_INLINE mask<T> less_equal(vector<T> x, vector<T> y) { return reinterpret_cast<mask<T>>(x <= y); }
template <class T>
EBB_INLINE mask<T> equal(vector<T> x, vector<T> y) { return reinterpret_cast<mask<T>>(x == y); }
template <class T>
EBB_INLINE vector<T> select(mask<T> m, vector<T> x, vector<T> y) {
  using bool_register = typename xsimd::batch_bool<T>::register_type;
  return from_xsimd<T>(xsimd::select(xsimd::batch_bool<T>(reinterpret_cast<bool_register>(m)), to_xsimd<T>(x), to_xsimd<T>(y)));
}

EBB_INLINE mask<float> first_lanes(int count) { return count_up<std::int32_t>() < count; }
/// Lane i is lane i + Shift of m, for i < lane_count - Shift.
template <int Shift>
EBB_INLINE mask<float> lanes_after(mask<float> m) { return rotated<Shift>(m, std::make_integer_sequence<int, lane_count>{}); }
EBB_INLINE std::uint32_t to_bits(mask<float> m) {
#if defined(__AVX__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
#elif defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(m)));
#else
  std::uint32_t bits = 0;
  for (int i = 0; i < lane_count; ++i) bits |= static_cast<std::uint32_t>(m[i] & 1) << i;
  return bits;
#endif
}
EBB_INLINE mask<float> from_bits(std::uint32_t bits) {
  const mask<float> bit = all(1) << count_up<std::int32_t>();
  return (all(static_cast<std::int32_t>(bits)) & bit) != 0;
}
// g++ 12 converts between bytes and lanes one by one.
#if defined(__SSE2__)
EBB_INLINE mask<float> load_mask(const bool* p) {
  __m128i bytes = _mm_setzero_si128();
  std::memcpy(&bytes, p, static_cast<std::size_t>(lane_count));
#if defined(__AVX2__)
  const auto wide = reinterpret_cast<mask<float>>(_mm256_cvtepu8_epi32(bytes));
#else
  const __m128i zero = _mm_setzero_si128(), halves = _mm_unpacklo_epi8(bytes, zero), low = _mm_unpacklo_epi16(halves, zero);
#if defined(__AVX__)
  const __m128i high = _mm_unpackhi_epi16(halves, zero);
  const auto wide = reinterpret_cast<mask<float>>(_mm256_insertf128_si256(_mm256_castsi128_si256(low), high, 1));
#else
  const auto wide = reinterpret_cast<mask<float>>(low);
#endif
#endif
  return wide > 0;
}
EBB_INLINE void store_mask(bool* p, mask<float> m) {
#if defined(__AVX__)
  const auto wide = reinterpret_cast<__m256i>(m);
  const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extractf128_si256(wide, 1));
#else
  const __m128i halves = _mm_packs_epi32(reinterpret_cast<__m128i>(m), _mm_setzero_si128());
#endif
  const __m128i bytes = _mm_and_si128(_mm_packs_epi16(halves, halves), _mm_set1_epi8(1));
  std::memcpy(p, &bytes, static_cast<std::size_t>(lane_count));
}
#else
EBB_INLINE mask<float> load_mask(const bool* p) {
  vector<std::uint8_t, static_cast<std::size_t>(lane_count)> bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, mask<float>) != 0;
}
EBB_INLINE void store_mask(bool* p, mask<float> m) {
  const auto bytes = __builtin_convertvector(m & 1, vector<std::uint8_t, static_cast<std::size_t>(lane_count)>);
  std::memcpy(p, &bytes, sizeof bytes);
}
#endif

#endif

template <class T>
EBB_INLINE vector<T> abs(vector<T> x) { return reinterpret_cast<vector<T>>(as_int<T>(x) & ~as_int<T>(sign_bits<T>())); }
template <class T>
EBB_INLINE vector<T> flip_sign(vector<T> x) { return reinterpret_cast<vector<T>>(as_int<T>(x) ^ as_int<T>(sign_bits<T>())); }
template <class T>
EBB_INLINE vector<T> copysign(vector<T> x, vector<T> sign) {
  return reinterpret_cast<vector<T>>(as_int<T>(abs<T>(x)) | (as_int<T>(sign) & as_int<T>(sign_bits<T>())));
}

/// The bits of lane_count narrow elements, in their order in memory.
using narrow_bits = vector<std::uint16_t, register_bytes / 2>;
using float_bits = vector<std::uint32_t>;

EBB_INLINE narrow_bits load_narrow(const void* p) {
  narrow_bits x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

EBB_INLINE void store_narrow(void* p, narrow_bits x) { std::memcpy(p, &x, sizeof x); }

// The first count elements, zeros after them. Memory after them is not accessed.
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

/// A register of two-byte elements from p on, as pairs: the first count elements, zeros after them.
template <class T>
  requires(sizeof(T) == 2)
EBB_INLINE vector<std::uint32_t> load_pairs(const T* p, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t most = 2 * lane_count;
#if defined(__AVX512BW__)
  if (count < most)
    return reinterpret_cast<vector<std::uint32_t>>(_mm512_maskz_loadu_epi16(count > 0 ? (1u << count) - 1u : 0u, p));
#else
  T buffer[most];
  if (count < most) {
    for (std::ptrdiff_t i = 0; i < count; ++i) buffer[i] = p[i];
    p = buffer;
  }
#endif
  vector<std::uint32_t> x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

}  // namespace simd
}  // namespace ebb::inline EBB_ABI
