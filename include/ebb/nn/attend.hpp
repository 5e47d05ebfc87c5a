// ebb/nn/attend.hpp — the kernels of attention: they compute scores in blocks of 64 x 64 and keep the largest one so far of each row.
// SPDX-License-Identifier: BSL-1.0
//
// [note: attention by blocks]
// The kernel computes the scores of 64 rows of q and 64 rows of k at a time. For each row it keeps the largest score so far, and the sums
// of e^(score - largest). If a block has a larger score, these sums are multiplied by exp(before - after). So the scratch memory is a few
// blocks, and the result is a chain of fma over the rows of k in rising order, with these scalings between blocks of fixed size.
// attend gives the result and, as one more column, the logarithm of each row's sum of e^score. From it attend_back computes the
// probabilities again, block by block. The pull of attend_back, a second derivative, is that of the composed form, which has matrices of
// all scores.
// See T. Dao, D. Fu, S. Ermon, A. Rudra, C. Re, FlashAttention (2022).
#pragma once

#include "../kernel/product.hpp"
#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::kernel {

/// q [rows, depth], k [columns, depth], v [columns, width]. Causal: row i sees columns up to i.
struct attention_extents {
  std::ptrdiff_t rows = 0, columns = 0, depth = 0, width = 0;
  bool causal = false;
  double scale = 1;

  static constexpr std::ptrdiff_t block = 64;
  /// One past the last column that the rows before `end` see.
  constexpr std::ptrdiff_t seen(std::ptrdiff_t end) const { return causal ? std::min(end, columns) : columns; }
  /// Elements of scratch.
  constexpr std::ptrdiff_t scratch() const { return block * (2 * block + std::max(depth, width) + width + 2) + 64; }
};

namespace attention_parts {

/// to[m x n] = a[m x depth] b[n x depth]^T; the rows of `to` are attention_extents::block elements apart.
template <class T>
inline void multiply(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t depth, const T* a, std::ptrdiff_t a_row, const T* b,
                     std::ptrdiff_t b_row, T* to, T* panel) {
  constexpr int width = tile::width<T>;
  for (std::ptrdiff_t j = 0; j < n; j += width) {
    const std::ptrdiff_t columns = std::min<std::ptrdiff_t>(width, n - j);
    tile::pack(panel, depth, matrix<T>{b + j * b_row, 1, b_row}, columns);
    tile::block(m, depth, matrix<T>{a, a_row, 1}, panel, width, to + j, attention_extents::block, columns, false);
  }
}
/// row[i] = exp(row[i] * scale - less) for i < count, and 0 up to n.
template <class T>
inline void exponentials(T* row, std::ptrdiff_t count, std::ptrdiff_t n, T scale, T less) {
  for (std::ptrdiff_t i = 0; i < count; i += lane_count) {
    const int some = static_cast<int>(std::min<std::ptrdiff_t>(lane_count, count - i));
    const lanes<T> x = some == lane_count ? lanes<T>::load(row + i) : lanes<T>::load(row + i, some);
    const lanes<T> e = lane::exp(x * lanes<T>::all(scale) - lanes<T>::all(less));
    if (some == lane_count) e.store(row + i);
    else e.store(row + i, some);
  }
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(count, 0); i < n; ++i) row[i] = T(0);
}

}  // namespace attention_parts

/// out [rows, width + 1] = softmax(scale q k^T) v, and the logarithm of each row's sum of exponentials. A row that sees nothing gives 0.
template <class T>
inline void attend(const attention_extents& a, const T* q, const T* k, const T* v, T* out, T* scratch) {
  constexpr std::ptrdiff_t block = attention_extents::block;
  T* const scores = scratch;
  T* const panel = scores + 2 * block * block;
  const auto scale = static_cast<T>(a.scale);
  const T one = 1;
  const std::ptrdiff_t to = a.width + 1;
  for (std::ptrdiff_t i = 0; i < a.rows; i += block) {
    const std::ptrdiff_t m = std::min(block, a.rows - i);
    T top[block];
    std::fill_n(top, block, -std::numeric_limits<T>::infinity());
    std::fill_n(out + i * to, m * to, T(0));
    for (std::ptrdiff_t j = 0; j < a.seen(i + m); j += block) {
      const std::ptrdiff_t n = std::min(block, a.columns - j);
      attention_parts::multiply(m, n, a.depth, q + i * a.depth, a.depth, k + j * a.depth, a.depth, scores, panel);
      for (std::ptrdiff_t r = 0; r < m; ++r) {
        T* const row = scores + r * block;
        const std::ptrdiff_t count = std::min(n, a.seen(i + r + 1) - j);
        T most = top[r];
        for (std::ptrdiff_t c = 0; c < count; ++c) most = row[c] * scale > most ? row[c] * scale : most;
        if (most == -std::numeric_limits<T>::infinity()) most = T(0);  // e^-infinity, not NaN
        const T less = lane::exp(top[r] - most);
        if (top[r] != most)
          for (std::ptrdiff_t c = 0; c < to; ++c) out[(i + r) * to + c] *= less;
        attention_parts::exponentials(row, count, n, scale, most);
        if (count > 0) top[r] = most;
      }
      tile::block(m, n, matrix<T>{scores, block, 1}, v + j * a.width, a.width, out + i * to, to, a.width, true);
      tile::block(m, n, matrix<T>{scores, block, 1}, &one, 0, out + i * to + a.width, to, 1, true);
    }
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      T* const row = out + (i + r) * to;
      const T sum = row[a.width];
      for (std::ptrdiff_t c = 0; c < a.width; ++c) row[c] = sum == T(0) ? T(0) : row[c] / sum;
      row[a.width] = sum == T(0) ? -std::numeric_limits<T>::infinity() : top[r] + lane::log(sum);
    }
  }
}

/// The gradient by q, k or v, for `by` = 0, 1 or 2. The columns of g [rows, width + 2] are the gradient of the result; the logarithm of the
/// sum of exponentials; and the sum over the result's columns of gradient times result, minus the gradient of the logarithm.
template <class T>
inline void attend_back(const attention_extents& a, int by, const T* q, const T* k, const T* v, const T* g, T* out, T* scratch) {
  constexpr std::ptrdiff_t block = attention_extents::block;
  T* const scores = scratch;
  T* const slopes = scores + block * block;
  T* const panel = slopes + block * block;
  const auto scale = static_cast<T>(a.scale);
  const std::ptrdiff_t g_row = a.width + 2, out_row = by == 2 ? a.width : a.depth, size = (by == 0 ? a.rows : a.columns) * out_row;
  std::fill_n(out, size, T(0));
  const auto add_block = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const std::ptrdiff_t m = std::min(block, a.rows - i), n = std::min(block, a.columns - j);
    attention_parts::multiply(m, n, a.depth, q + i * a.depth, a.depth, k + j * a.depth, a.depth, scores, panel);
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      const std::ptrdiff_t count = std::min(n, a.seen(i + r + 1) - j);
      attention_parts::exponentials(scores + r * block, count, n, scale, g[(i + r) * g_row + a.width]);
    }
    if (by == 2) return tile::block(n, m, matrix<T>{scores, 1, block}, g + i * g_row, g_row, out + j * out_row, out_row, out_row, true);
    attention_parts::multiply(m, n, a.width, g + i * g_row, g_row, v + j * a.width, a.width, slopes, panel);
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      const T less = g[(i + r) * g_row + a.width + 1];
      for (std::ptrdiff_t c = 0; c < n; ++c) slopes[r * block + c] = scores[r * block + c] * (slopes[r * block + c] - less);
    }
    if (by == 0) tile::block(m, n, matrix<T>{slopes, block, 1}, k + j * a.depth, a.depth, out + i * out_row, out_row, out_row, true);
    else tile::block(n, m, matrix<T>{slopes, 1, block}, q + i * a.depth, a.depth, out + j * out_row, out_row, out_row, true);
  };
  if (by == 0)
    for (std::ptrdiff_t i = 0; i < a.rows; i += block)
      for (std::ptrdiff_t j = 0; j < a.seen(std::min(i + block, a.rows)); j += block) add_block(i, j);
  else
    for (std::ptrdiff_t j = 0; j < a.columns; j += block)
      for (std::ptrdiff_t i = a.causal ? j : 0; i < a.rows; i += block) add_block(i, j);
  if (by != 2)
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] *= scale;
}

}  // namespace ebb::inline EBB_ABI::kernel
