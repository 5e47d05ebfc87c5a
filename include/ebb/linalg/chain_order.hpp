// ebb/linalg/chain_order.hpp — the order in which multi_dot multiplies three or more factors.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/operand.hpp"
#include "../op/product_cost.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The places where the product of neighbours among N factors is cut in two.
///
/// [note: order of a chain of products]
/// If all extents are known while tracing, the cheapest of all orders that multiply neighbours is taken, see [note: cost of a product]; of
/// those that cost the same, the one that is nearest to left to right. Batches count, as they are broadcast. If all factors have the same
/// batch, its extents may be known only at the call. If another extent is known only at the call, the order is from left to right: with
/// other extents the other order would be the cheaper one. It is the order too of more than 55 factors, and if a factor between others is a
/// vector, or if the first or last one is and another has a batch: matmul takes a vector for a row on the left and for a column on the
/// right.
template <int N>
class chain_order : product_cost {
 public:
  template <class T>
  constexpr explicit chain_order(const operand<T>* x) {
    for (int first = 0; first < N; ++first)
      for (int end = first + 2; end <= N; ++end) cut_[first][end] = static_cast<std::int16_t>(end - 1);
    if constexpr (N > 2 && N < most)
      if (has_letters(x)) choose();
  }

  /// The factors from `first` to this one are the left part of the product of those from `first` to `end`.
  constexpr int cut_of(int first, int end) const { return cut_[first][end]; }

 private:
  static constexpr int most = most_letters - max_rank;

  constexpr void choose() {
    std::uint64_t kept[N][N + 1] = {};
    double best[N][N + 1] = {};
    for (int first = 0; first < N; ++first) kept[first][first + 1] = letters_[first];
    for (int count = 2; count <= N; ++count)
      for (int first = 0, end = count; end <= N; ++first, ++end) {
        // Neighbours share the letter that they contract.
        const std::uint64_t inner = std::uint64_t{1} << (end - 1);
        kept[first][end] = (kept[first][end - 1] | letters_[end - 1]) & ~inner;
        const auto cost = [&](int cut) {
          return best[first][cut] + best[cut][end] + price(kept[first][cut], kept[cut][end], kept[first][end], extent_);
        };
        best[first][end] = cost(end - 1);
        for (int cut = end - 2; cut > first; --cut)
          if (const double other = cost(cut); other < best[first][end]) {
            best[first][end] = other;
            cut_[first][end] = static_cast<std::int16_t>(cut);
          }
      }
  }
  /// Gives the axes of the matrices the letters 0 to N, and those of the batch, from the last one on, the letters after them. False if the
  /// order is from left to right.
  template <class T>
  constexpr bool has_letters(const operand<T>* x) {
    const symbols& s = x[0].g->syms;
    bool has_vector = false, has_batch = false, same_batch = true;
    for (int i = 0; i < N; ++i) {
      const int rank = x[i].rank();
      if (rank == 0 || (rank == 1 && i > 0 && i < N - 1)) return false;
      has_vector = has_vector || rank == 1;
      has_batch = has_batch || rank > 2;
      same_batch = same_batch && rank == x[0].rank();
      for (int b = 0; b < rank - 2 && same_batch; ++b) same_batch = s.find(x[i].extent(b)) == s.find(x[0].extent(b));
    }
    if (has_vector && has_batch) return false;
    std::uint64_t all = 0;
    for (int i = 0; i < N; ++i) {
      const int rank = x[i].rank();
      const auto put = [&](int letter, std::int64_t e) {  // an extent that one operand knows is that of all: the call checks it
        const std::uint64_t bit = std::uint64_t{1} << letter;
        letters_[i] |= bit;
        if (e >= 0 || !(all & bit)) extent_[letter] = e;
        all |= bit;
      };
      if (rank > 1 || i > 0) put(i, x[i].extent(rank > 1 ? rank - 2 : 0));
      if (rank > 1 || i == 0) put(i + 1, x[i].extent(rank - 1));
      for (int b = 0; b < rank - 2 && !same_batch; ++b)
        if (x[i].extent(rank - 3 - b) != 1) put(N + 1 + b, x[i].extent(rank - 3 - b));
    }
    return volume(all, extent_) >= 0;
  }

  std::int16_t cut_[N][N + 1] = {};
  std::uint64_t letters_[N] = {};
  std::int64_t extent_[most_letters] = {};
};

}  // namespace ebb::inline EBB_ABI::detail
