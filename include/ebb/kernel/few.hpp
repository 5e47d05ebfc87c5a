// ebb/kernel/few.hpp — loads and stores of so few elements that a part of a register holds them, and as many as the program says.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "under_mask.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::simd {

// The intrinsics that resize registers make g++ 12 warn of an uninitialized value, and it resizes by more than two in memory.
/// x, zeros after it.
template <class T, std::size_t Bytes>
EBB_INLINE vector<T> widened(vector<T, Bytes> x) {
  if constexpr (Bytes == register_bytes) return x;
  else {
    constexpr int count = static_cast<int>(Bytes / sizeof(T));
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      return widened<T, 2 * Bytes>(__builtin_shufflevector(x, vector<T, Bytes>{}, (I < count ? I : count)...));
    }(std::make_integer_sequence<int, 2 * count>{});
  }
}
/// The beginning of x, which has Bytes bytes.
template <class T, std::size_t Bytes, std::size_t From = register_bytes>
EBB_INLINE vector<T, Bytes> shortened(vector<T, From> x) {
  if constexpr (Bytes == From) return x;
  else
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      return shortened<T, Bytes, From / 2>(__builtin_shufflevector(x, x, I...));
    }(std::make_integer_sequence<int, static_cast<int>(From / 2 / sizeof(T))>{});
}
/// Count elements, zeros after them. Memory after them is not accessed.
template <int Count, class T>
EBB_INLINE vector<T> load_few(const T* p) {
  constexpr std::size_t bytes = Count * sizeof(T);
  if constexpr (Count == count_of<T>) return load(p);
  else if constexpr (bytes == 4 || bytes == 8) {
    std::conditional_t<bytes == 4, float, double> x;
    std::memcpy(&x, p, sizeof x);
    return reinterpret_cast<vector<T>>(vector<decltype(x)>{x});
  } else if constexpr (bytes == 16 || bytes == 32) {
    vector<T, bytes> x;
    std::memcpy(&x, p, sizeof x);
    return widened<T, bytes>(x);
  } else if constexpr (bytes == 12) {
    double first;
    std::memcpy(&first, p, sizeof first);
    auto x = reinterpret_cast<vector<T, 16>>(vector<double, 16>{first});
    x[2] = p[2];
    return widened<T, 16>(x);
  } else return load_first(p, Count);
}
/// The first Count lanes.
template <int Count, class T>
EBB_INLINE void store_few(T* p, vector<T> x) {
  constexpr std::size_t bytes = Count * sizeof(T);
  if constexpr (Count == count_of<T>) store(p, x);
  else if constexpr (bytes <= 12) {
    if constexpr (bytes >= 8) {
      const double first = reinterpret_cast<vector<double>>(x)[0];
      std::memcpy(p, &first, 8);
    }
    if constexpr (bytes % 8 == 4) p[Count - 1] = x[Count - 1];
  } else if constexpr (bytes == 16 || bytes == 32) {
    const auto first = shortened<T, bytes>(x);
    std::memcpy(p, &first, bytes);
  } else store_first(p, x, Count);
}

}  // namespace ebb::inline EBB_ABI::simd
