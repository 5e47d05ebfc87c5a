// ebb/kernel/transpose.hpp — square blocks transposed in registers, and whole arrays by such blocks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "batch.hpp"

namespace ebb::inline EBB_ABI {

namespace simd {

// A register is seen as lanes of 16 bytes, each of `per_lane` elements: x86 has cheap instructions within these lanes, and of whole
// lanes. Step one transposes small squares within each lane, step two puts the lanes into their places.
template <class T>
inline constexpr int per_lane = 16 / static_cast<int>(sizeof(T));

/// Within each lane: a0 b0 a1 b1 ... of the lower halves, or of the upper ones.
template <bool Upper, class T>
EBB_INLINE vector<T> zip(vector<T> a, vector<T> b) {
  constexpr int e = per_lane<T>;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, (I / e * e + I % e / 2 + (Upper ? e / 2 : 0) + I % 2 * count_of<T>)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}
/// The even lanes of a, then those of b; or the odd ones.
template <bool Odd, class T>
EBB_INLINE vector<T> unzip_lanes(vector<T> a, vector<T> b) {
  constexpr int e = per_lane<T>;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, (I / e * 2 * e + (Odd ? e : 0) + I % e)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}

/// x[i] and x[i + Half] of each run of 2 * Half, Stride apart, become the zips of the two: log2 times this is a transposition.
template <int Stages, class T, int N>
EBB_INLINE void transpose_in_lanes(vector<T> (&x)[N]) {
  if constexpr (Stages > 0) {
    constexpr int e = per_lane<T>;
    vector<T> y[N];
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((y[I / e * e + I % e] = zip<I % 2 == 1, T>(x[I / e * e + I % e / 2], x[I / e * e + I % e / 2 + e / 2])), ...);
      ((x[I] = y[I]), ...);
    }(std::make_integer_sequence<int, N>{});
    transpose_in_lanes<Stages - 1, T>(x);
  }
}
template <int Stages, class T, int N>
EBB_INLINE void transpose_lanes(vector<T> (&x)[N]) {
  if constexpr (Stages > 0) {
    // Number q * e + r is lane q of row r; pairs of neighbours in q are unzipped, the odd ones go to the upper half.
    constexpr int e = per_lane<T>, half = N / e / 2;
    vector<T> y[N];
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((y[I] = unzip_lanes<(I / e >= half), T>(x[I / e % half * 2 * e + I % e], x[(I / e % half * 2 + 1) * e + I % e])), ...);
      ((x[I] = y[I]), ...);
    }(std::make_integer_sequence<int, N>{});
    transpose_lanes<Stages - 1, T>(x);
  }
}
constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

/// Element j of x[i] and element i of x[j] change places.
template <class T>
EBB_INLINE void transpose(vector<T> (&x)[static_cast<std::size_t>(count_of<T>)]) {
  transpose_in_lanes<log2_of(per_lane<T>), T>(x);
  transpose_lanes<log2_of(count_of<T> / per_lane<T>), T>(x);
}

}  // namespace simd
}  // namespace ebb::inline EBB_ABI
