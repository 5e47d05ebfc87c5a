// ebb/autograd/sum.hpp — two gradients that meet become one.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vertex.hpp"

#include "../exec/vectorized.hpp"
#include "../op/arithmetic.hpp"

namespace ebb::inline EBB_ABI::detail {

/// to = a + b, element by element; `to` may be either.
inline void add_elements(dtype type, const void* a, const void* b, void* to, std::size_t bytes) {
  with_dtype(type, [&]<class T>(T) {
    if constexpr (real_element<T>) {
      const void* const in[] = {a, b};
      info<op::add, T>.kernels.block(in, to, bytes / sizeof(T));
    }
  });
}

/// a + b, into whichever of the two nobody else holds.
inline storage sum_of(dtype type, storage a, storage b) {
  const std::size_t bytes = a.bytes();
  if (a.use_count() == 1 || bytes == 0) {
    add_elements(type, a.data(), b.data(), a.data(), bytes);
    return a;
  }
  if (b.use_count() == 1) {
    add_elements(type, a.data(), b.data(), b.data(), bytes);
    return b;
  }
  storage r(bytes);
  add_elements(type, a.data(), b.data(), r.data(), bytes);
  return r;
}

}  // namespace ebb::inline EBB_ABI::detail
