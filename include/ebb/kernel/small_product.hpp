// ebb/kernel/small_product.hpp — one product of small matrices, without the cost of a call of many or of large ones.
// SPDX-License-Identifier: BSL-1.0
//
// The order of sums is that of [note: order of a product], and the tiles are those of all products. A small product does without a
// description of batches and strides, without blocks, and without memory of the thread.
#pragma once

#include "fours.hpp"
#include "known.hpp"
#include "product.hpp"
#include "thin.hpp"

namespace ebb::inline EBB_ABI::kernel {

namespace small {

/// The elements of a right operand, with its last columns filled up, up to which a product is small. One panel of it is on the stack.
template <class T>
inline constexpr std::ptrdiff_t room_of_product = 8 * 1024 / static_cast<std::ptrdiff_t>(sizeof(T));

}  // namespace small

/// c = op(a) op(b), compact, for op(a) of m x k and op(b) of k x n. False: they are not small, or other kernels compute them in less time;
/// nothing is written then.
template <class T>
EBB_TEMPLATE bool multiply_small(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, bool left_transposed, bool right_transposed,
                                 const T* a, const T* b, T* c) {
  constexpr std::ptrdiff_t w = tile::width<T>, room = small::room_of_product<T>;
  if (m == 0 || n == 0) return true;  // the kernels below have a row and a column
  if (m == n && k == n && n <= 4) {
    if (n == 4 && fours::serves<T>(left_transposed, right_transposed)) {
      fours::multiply_one(left_transposed, right_transposed, a, b, c);
      return true;
    }
    if (n == 1 || n == 2) {
      n == 1 ? small::multiply_known<1>(left_transposed, right_transposed, a, b, c)
             : small::multiply_known<2>(left_transposed, right_transposed, a, b, c);
      return true;
    }
  }
  const matrix<T> left{a, left_transposed ? 1 : k, left_transposed ? m : 1}, right{b, right_transposed ? 1 : n, right_transposed ? k : 1};
  if (tile::multiply_thin(m, k, n, left, right, c, n)) return true;
  if (!right_transposed || n == 1) {
    if (tile::is_read_by_panels<T>(m, k, n)) return false;
    tile::block(m, k, left, b, n, c, n, n, false);
    return true;
  }
  if (k > room || n > room || k * ((n + w - 1) / w * w) > room) return false;
  alignas(64) T panels[static_cast<std::size_t>(room)];
  for (std::ptrdiff_t j = 0; j < n; j += w) {
    const std::ptrdiff_t columns = std::min(w, n - j);
    tile::pack(panels, k, matrix<T>{b + j * k, 1, k}, columns);
    tile::block(m, k, left, panels, w, c + j, n, columns, false);
  }
  return true;
}

EBB_ONCE_FOR_ALL(bool multiply_small<float>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, bool, bool, const float*, const float*,
                                            float*))
EBB_ONCE_FOR_ALL(bool multiply_small<double>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, bool, bool, const double*, const double*,
                                             double*))

}  // namespace ebb::inline EBB_ABI::kernel
