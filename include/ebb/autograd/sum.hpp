// ebb/autograd/sum.hpp — adds two gradients, and converts a gradient to the dtype of the sum.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vertex.hpp"

#include "../kernel/lanes.hpp"
#include "../kernel/narrow.hpp"

namespace ebb::inline EBB_ABI::detail {

template <class T>
void add_elements_of(const T* a, const T* b, T* to, std::size_t n) {
  constexpr std::size_t step = lanes<T>::size;
  std::size_t i = 0;
  for (; i + step <= n; i += step) (lanes<T>::load(a + i) + lanes<T>::load(b + i)).store(to + i);
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  (lanes<T>::load(a + i, rest) + lanes<T>::load(b + i, rest)).store(to + i, rest);
}

/// to = a + b, element by element; `to` may be either.
EBB_ONCE void add_elements(dtype type, const void* a, const void* b, void* to, std::size_t bytes) {
  const auto as = [&]<class T>(T) {
    add_elements_of(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(to), bytes / sizeof(T));
  };
  switch (type) {
    case dtype::f32: return as(float{});
    case dtype::f64: return as(double{});
    case dtype::bf16: return as(bfloat16{});
    default: return as(float16{});
  }
}

/// a = a + b, in place if one of the two arrays has no other owner. If it throws, both are unchanged.
EBB_ONCE void add_to(dtype type, storage& a, storage& b) {
  const std::size_t bytes = a.bytes();
  if (a.use_count() == 1 || bytes == 0) return add_elements(type, a.data(), b.data(), a.data(), bytes);
  if (b.use_count() == 1) {
    add_elements(type, a.data(), b.data(), b.data(), bytes);
    return std::swap(a, b);
  }
  storage r(bytes);
  add_elements(type, a.data(), b.data(), r.data(), bytes);
  a = std::move(r);
}

template <half_width T>
storage widened_elements(const storage& from) {
  const std::size_t n = from.bytes() / sizeof(T);
  storage to(n * sizeof(float));
  const T* const x = reinterpret_cast<const T*>(from.data());
  float* const r = reinterpret_cast<float*>(to.data());
  constexpr std::size_t step = lanes<T>::size;
  std::size_t i = 0;
  for (; i + step <= n; i += step) lanes<T>::load(x + i).wide.store(r + i);
  if (const int rest = static_cast<int>(n - i)) lanes<T>::load(x + i, rest).wide.store(r + i, rest);
  return to;
}
template <half_width T>
storage narrowed_elements(const storage& from) {
  const std::size_t n = from.bytes() / sizeof(float);
  storage to(n * sizeof(T));
  const float* const x = reinterpret_cast<const float*>(from.data());
  T* const r = reinterpret_cast<T*>(to.data());
  constexpr std::size_t step = lanes<T>::size;
  std::size_t i = 0;
  for (; i + step <= n; i += step) lanes<T>::store_rounded(lanes<float>::load(x + i), r + i);
  if (const int rest = static_cast<int>(n - i)) lanes<T>::store_rounded(lanes<float>::load(x + i, rest), r + i, rest);
  return to;
}
/// The elements in another dtype: one dtype has 16 bits, the other is float.
EBB_ONCE storage converted_elements(dtype from, dtype to, const storage& x) {
  if (from == dtype::bf16) return widened_elements<bfloat16>(x);
  if (from == dtype::f16) return widened_elements<float16>(x);
  return to == dtype::bf16 ? narrowed_elements<bfloat16>(x) : narrowed_elements<float16>(x);
}

}  // namespace ebb::inline EBB_ABI::detail
