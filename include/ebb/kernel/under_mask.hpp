// ebb/kernel/under_mask.hpp — loads and stores of some lanes of a register: memory of the others is not accessed.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "batch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::simd {

// Elements under a mask, zeros in the other lanes. Memory there is not accessed: masked instructions do not fault.
#if defined(__AVX__)
template <class T>
EBB_INLINE vector<T> load_where(const T* p, auto m) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) return _mm512_maskz_loadu_ps(m, p);
  else if constexpr (std::is_same_v<T, double>) return _mm512_maskz_loadu_pd(m, p);
  else if constexpr (sizeof(T) == 4) return reinterpret_cast<vector<T>>(_mm512_maskz_loadu_epi32(m, p));
  else return reinterpret_cast<vector<T>>(_mm512_maskz_loadu_epi64(m, p));
#else
  const auto bits = reinterpret_cast<__m256i>(m);
  if constexpr (sizeof(T) == 4) return reinterpret_cast<vector<T>>(_mm256_maskload_ps(reinterpret_cast<const float*>(p), bits));
  else return reinterpret_cast<vector<T>>(_mm256_maskload_pd(reinterpret_cast<const double*>(p), bits));
#endif
}
#endif
/// The elements whose bits are set, zeros in the other lanes.
template <class T>
EBB_INLINE vector<T> load_bits(const T* p, std::uint64_t bits) {
#if defined(__AVX512F__)
  return load_where(p, static_cast<mask<T>>(bits));
#elif defined(__AVX__)
  using Index = int_of<T>;
  constexpr Index top = 8 * static_cast<int>(sizeof(T)) - 1;  // a mask is the highest bit of each lane
  return load_where(p, all(static_cast<Index>(bits)) << (all(top) - count_up<Index>()));
#else
  T buffer[count_of<T>] = {};
  for (int i = 0; i < count_of<T>; ++i)
    if (bits >> i & 1) buffer[i] = p[i];
  return load(buffer);
#endif
}
/// The elements [from, to), zeros around them.
template <class T>
EBB_INLINE vector<T> load_between(const T* p, std::ptrdiff_t from, std::ptrdiff_t to) {
  const auto number = [](std::ptrdiff_t i) EBB_LAMBDA { return static_cast<int>(i < 0 ? 0 : i < count_of<T> ? i : count_of<T>); };
  const int m = number(from), n = number(to);
#if defined(__AVX512F__)
  return load_where(p, static_cast<mask<T>>(((1u << n) - 1u) & ~((1u << m) - 1u)));
#elif defined(__AVX__)
  const auto lane = count_up<int_of<T>>();
  return load_where(p, (lane >= static_cast<int_of<T>>(m)) & (lane < static_cast<int_of<T>>(n)));
#else
  T buffer[count_of<T>] = {};
  for (int i = m; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
#endif
}
/// The first count elements, zeros after them.
template <class T>
EBB_INLINE vector<T> load_first(const T* p, int count) {
#if defined(__AVX__) && !defined(__AVX512F__)
  return load_where(p, count_up<int_of<T>>() < static_cast<int_of<T>>(count < count_of<T> ? count : count_of<T>));
#else
  return load_between(p, 0, count);
#endif
}
/// The same for at most 16 bytes. A whole register under a mask would access the next cache line too.
template <class T>
EBB_INLINE vector<T> load_first_lane(const T* p, int count) {
#if defined(__AVX512VL__)
  const auto m = static_cast<__mmask8>((1u << count) - 1u);
  if constexpr (sizeof(T) == 4) return reinterpret_cast<vector<T>>(_mm512_zextps128_ps512(_mm_maskz_loadu_ps(m, p)));
  else return reinterpret_cast<vector<T>>(_mm512_zextpd128_pd512(_mm_maskz_loadu_pd(m, p)));
#elif defined(__AVX__) && !defined(__AVX512F__)
  const auto m = _mm256_castsi256_si128(reinterpret_cast<__m256i>(count_up<int_of<T>>() < static_cast<int_of<T>>(count)));
  if constexpr (sizeof(T) == 4)
    return reinterpret_cast<vector<T>>(_mm256_zextps128_ps256(_mm_maskload_ps(reinterpret_cast<const float*>(p), m)));
  else return reinterpret_cast<vector<T>>(_mm256_zextpd128_pd256(_mm_maskload_pd(reinterpret_cast<const double*>(p), m)));
#else
  return load_first(p, count);
#endif
}
/// Stores the elements whose bits are set.
template <class T>
EBB_INLINE void store_bits(T* p, vector<T> x, std::uint64_t bits) {
#if defined(__AVX512F__)
  const auto m = static_cast<mask<T>>(bits);
  if constexpr (std::is_same_v<T, float>) _mm512_mask_storeu_ps(p, m, x);
  else if constexpr (std::is_same_v<T, double>) _mm512_mask_storeu_pd(p, m, x);
  else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, m, reinterpret_cast<__m512i>(x));
  else _mm512_mask_storeu_epi64(p, m, reinterpret_cast<__m512i>(x));
#else
  constexpr std::uint64_t all = (1u << count_of<T>) - 1u;
  if ((bits & all) == all) return store(p, x);
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    const auto store_lane = [&]<int Lane>(std::integral_constant<int, Lane>) EBB_LAMBDA {
      if (bits >> Lane & 1) p[Lane] = x[Lane];
    };
    (store_lane(std::integral_constant<int, I>()), ...);
  }(std::make_integer_sequence<int, count_of<T>>{});
#endif
}
template <class T>
EBB_INLINE void store_first(T* p, vector<T> x, int count) {
  [[maybe_unused]] const int n = count < 0 ? 0 : count < count_of<T> ? count : count_of<T>;
#if defined(__AVX512F__)
  store_bits(p, x, (1u << n) - 1u);
#elif defined(__AVX__)
  // In parts: on a Zen 1 that takes a third of the time of a masked store.
  if (n == count_of<T>) return store(p, x);
  __m128i part = _mm256_castsi256_si128(reinterpret_cast<__m256i>(x));
  constexpr int in_part = 16 / static_cast<int>(sizeof(T));
  if (n >= in_part) {
    std::memcpy(p, &part, 16);
    p += in_part;
    part = _mm256_extractf128_si256(reinterpret_cast<__m256i>(x), 1);
  }
  if constexpr (sizeof(T) == 4)
    if (n & 2) {
      std::memcpy(p, &part, 8);
      p += 2;
      part = _mm_unpackhi_epi64(part, part);
    }
  if (n & 1) std::memcpy(p, &part, sizeof(T));
#else
  for (int i = 0; i < n; ++i) p[i] = x[i];
#endif
}

}  // namespace ebb::inline EBB_ABI::simd
