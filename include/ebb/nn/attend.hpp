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
// A mask is added to the scores of a block when they are there. Dropout draws its random numbers for a block again whenever it needs them:
// number i of the key belongs to score i, in row-major order. A row whose scores are all -infinity sees nothing, and gives 0.
// See T. Dao, D. Fu, S. Ermon, A. Rudra, C. Re, FlashAttention (2022).
#pragma once

#include "../kernel/product.hpp"
#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"
#include "../random/philox.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::kernel {

/// q [rows, depth], k [columns, depth], v [columns, width]. Causal: row i sees columns up to i. The steps are those of the mask, 0 along
/// an axis that it does not have.
struct attention_extents {
  std::ptrdiff_t rows = 0, columns = 0, depth = 0, width = 0;
  bool causal = false;
  double scale = 1;
  std::ptrdiff_t mask_row = 0, mask_column = 0;

  static constexpr std::ptrdiff_t block = 64;
  /// One past the last column that the rows before `end` see.
  constexpr std::ptrdiff_t seen(std::ptrdiff_t end) const { return causal ? std::min(end, columns) : columns; }
  /// Elements of scratch.
  constexpr std::ptrdiff_t scratch() const { return block * (2 * block + std::max(depth, width) + width + 2) + 64; }
};

/// Which elements of an array dropout keeps: those whose random number is not below p.
struct dropping {
  random_key key = 0;
  double p = 0;

  /// x[i] = 0 if element first + i is dropped, else x[i] / (1 - p), for i < count.
  template <class T>
  constexpr void apply(T* x, std::uint64_t first, std::ptrdiff_t count) const {
    const double limit = p * 0x1p32;
    const T kept = static_cast<T>(p < 0 ? 1 : 1 / (1 - p));
    std::array<std::uint32_t, 4> words{};
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const std::uint64_t n = first + static_cast<std::uint64_t>(i);
      if (i == 0 || n % 4 == 0) words = key.block(n / 4);
      x[i] = static_cast<double>(words[n % 4]) < limit ? T(0) : x[i] * kept;
    }
  }
};

/// The changes of the scores of one array of the batch, beside scaling them. Score [0, 0] has the random number `first`.
template <class T>
struct attention_changes {
  const T* mask = nullptr;
  bool drops = false;
  dropping dropped{};
  std::uint64_t first = 0;

  /// Scales n scores of row i and adds the mask, if there is one. Returns the factor by which they have to be scaled later.
  constexpr T add_mask(const attention_extents& a, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n, T* row) const {
    const auto scale = static_cast<T>(a.scale);
    if (!mask) return scale;
    const T* const from = mask + i * a.mask_row + j * a.mask_column;
    for (std::ptrdiff_t c = 0; c < n; ++c) row[c] = row[c] * scale + from[c * a.mask_column];
    return T(1);
  }
  constexpr void drop(const attention_extents& a, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n, T* row) const {
    if (drops) dropped.apply(row, first + static_cast<std::uint64_t>(i * a.columns + j), n);
  }
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

/// The number that is subtracted from the scores of a row with this logarithm or largest score: 0 for -infinity, which would give NaN.
template <class T>
constexpr T subtracted(T x) {
  return x == -std::numeric_limits<T>::infinity() ? T(0) : x;
}

/// out [rows, width + 1] = softmax(scale q k^T) v, and the logarithm of each row's sum of exponentials. A row that sees nothing gives 0.
template <class T>
inline void attend(const attention_extents& a, const attention_changes<T>& changes, const T* q, const T* k, const T* v, T* out,
                   T* scratch) {
  constexpr std::ptrdiff_t block = attention_extents::block;
  T* const scores = scratch;
  T* const panel = scores + 2 * block * block;
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
        const T scale = changes.add_mask(a, i + r, j, count, row);
        T most = top[r];
        for (std::ptrdiff_t c = 0; c < count; ++c) most = row[c] * scale > most ? row[c] * scale : most;
        const T base = subtracted(most), less = lane::exp(top[r] - base);
        if (top[r] != base)
          for (std::ptrdiff_t c = 0; c < to; ++c) out[(i + r) * to + c] *= less;
        attention_parts::exponentials(row, count, n, scale, base);
        top[r] = most;
      }
      tile::block(m, n, matrix<T>{scores, block, 1}, &one, 0, out + i * to + a.width, to, 1, true);
      for (std::ptrdiff_t r = 0; r < m; ++r) changes.drop(a, i + r, j, n, scores + r * block);
      tile::block(m, n, matrix<T>{scores, block, 1}, v + j * a.width, a.width, out + i * to, to, a.width, true);
    }
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      T* const row = out + (i + r) * to;
      const T sum = row[a.width];
      for (std::ptrdiff_t c = 0; c < a.width; ++c) row[c] = sum == T(0) ? T(0) : row[c] / sum;
      row[a.width] = sum == T(0) ? -std::numeric_limits<T>::infinity() : top[r] + lane::log(sum);
    }
  }
}

/// The places where gradients are added, and how far the rows of each are apart; null: that one is not wanted.
template <class T>
struct attention_gradients {
  T *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  std::ptrdiff_t row = 0;
};

/// Adds the gradients by q / scale, k / scale, v and the mask. The columns of g [rows, width + 2] are the gradient of the result; the
/// logarithm of the sum of exponentials; and the sum over the result's columns of gradient times result, minus the gradient of the
/// logarithm. Each sum goes over rising rows, or columns, whichever gradients are wanted.
template <class T>
inline void attend_back(const attention_extents& a, const attention_changes<T>& changes, const T* q, const T* k, const T* v, const T* g,
                        const attention_gradients<T>& to, T* scratch) {
  constexpr std::ptrdiff_t block = attention_extents::block;
  T* const scores = scratch;
  T* const slopes = scores + block * block;
  T* const panel = slopes + block * block;
  const std::ptrdiff_t g_row = a.width + 2;
  const auto add_block = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const std::ptrdiff_t m = std::min(block, a.rows - i), n = std::min(block, a.columns - j);
    attention_parts::multiply(m, n, a.depth, q + i * a.depth, a.depth, k + j * a.depth, a.depth, scores, panel);
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      T* const row = scores + r * block;
      const std::ptrdiff_t count = std::min(n, a.seen(i + r + 1) - j);
      const T scale = changes.add_mask(a, i + r, j, count, row);
      attention_parts::exponentials(row, count, n, scale, subtracted(g[(i + r) * g_row + a.width]));
    }
    if (to.q || to.k || to.mask) {
      attention_parts::multiply(m, n, a.width, g + i * g_row, g_row, v + j * a.width, a.width, slopes, panel);
      for (std::ptrdiff_t r = 0; r < m; ++r) {
        const T less = g[(i + r) * g_row + a.width + 1];
        T* const row = slopes + r * block;
        changes.drop(a, i + r, j, n, row);
        for (std::ptrdiff_t c = 0; c < n; ++c) row[c] = scores[r * block + c] * (row[c] - less);
        for (std::ptrdiff_t c = 0; to.mask && c < n; ++c) to.mask[(i + r) * a.mask_row + (j + c) * a.mask_column] += row[c];
      }
    }
    if (to.q) tile::block(m, n, matrix<T>{slopes, block, 1}, k + j * a.depth, a.depth, to.q + i * to.row, to.row, a.depth, true);
    if (to.k) tile::block(n, m, matrix<T>{slopes, 1, block}, q + i * a.depth, a.depth, to.k + j * to.row, to.row, a.depth, true);
    if (!to.v) return;
    for (std::ptrdiff_t r = 0; r < m; ++r) changes.drop(a, i + r, j, n, scores + r * block);
    tile::block(n, m, matrix<T>{scores, 1, block}, g + i * g_row, g_row, to.v + j * to.row, to.row, a.width, true);
  };
  if (to.k || to.v)
    for (std::ptrdiff_t j = 0; j < a.columns; j += block)
      for (std::ptrdiff_t i = a.causal ? j : 0; i < a.rows; i += block) add_block(i, j);
  else
    for (std::ptrdiff_t i = 0; i < a.rows; i += block)
      for (std::ptrdiff_t j = 0; j < a.seen(std::min(i + block, a.rows)); j += block) add_block(i, j);
}

}  // namespace ebb::inline EBB_ABI::kernel
