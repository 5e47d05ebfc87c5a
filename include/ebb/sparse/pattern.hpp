// ebb/sparse/pattern.hpp — sparse_pattern: where a matrix may have elements other than zero, and which of its columns are found at once.
// SPDX-License-Identifier: BSL-1.0
//
// [note: colors of columns]
// Columns that have no row in common get one color: one derivative, along the sum of their directions, has the elements of all of them.
// Colors are given greedily, columns with many elements first; the result depends on the pattern alone. The same is done for rows, whose
// derivatives are pulled, and the way with fewer colors is taken; a pull counts as two pushes.
// Curtis, Powell and Reid, J. Inst. Math. Appl. 13 (1974); Coleman and More, SIAM J. Numer. Anal. 20 (1983).
#pragma once

#include "../base/config.hpp"
#include "../base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI {

/// The places of a matrix's elements, by rows (CSR): row i has the columns column[starts[i]] to column[starts[i + 1] - 1], in rising order.
/// color[j] is the color of column j, or of row j if the matrix is pulled; -1: no elements. See [note: colors of columns].
struct sparse_pattern {
  std::size_t rows = 0, columns = 0;
  std::vector<std::size_t> starts{0};
  std::vector<std::size_t> column;
  std::vector<int> color;
  int colors = 0;       // the number of derivatives that find all elements
  bool pulled = false;  // colors are those of rows

  std::size_t size() const { return column.size(); }
  /// The row of each element: with `column`, the coordinates of all elements (COO).
  std::vector<std::size_t> row() const {
    std::vector<std::size_t> r(size());
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = starts[i]; k < starts[i + 1]; ++k) r[k] = i;
    return r;
  }
};

namespace detail {

/// The lists of the other side: of the rows of each column.
inline std::pair<std::vector<std::size_t>, std::vector<std::size_t>> transposed_lists(const std::vector<std::size_t>& starts,
                                                                                    const std::vector<std::size_t>& item,
                                                                                    std::size_t count) {
  std::vector<std::size_t> first(count + 1, 0), r(item.size());
  for (const std::size_t j : item) ++first[j + 1];
  for (std::size_t j = 0; j < count; ++j) first[j + 1] += first[j];
  std::vector<std::size_t> next = first;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    for (std::size_t k = starts[i]; k < starts[i + 1]; ++k) r[next[item[k]]++] = i;
  return {first, r};
}
/// Colors for lists of items: two lists with an item in common have different ones. Returns their number.
inline int color_lists(const std::vector<std::size_t>& starts, const std::vector<std::size_t>& item, std::size_t items,
                     std::vector<int>& color) {
  const std::size_t n = starts.size() - 1;
  const auto [first, of_item] = transposed_lists(starts, item, items);
  std::vector<std::size_t> order(n);
  for (std::size_t j = 0; j < n; ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(), [&s = starts](std::size_t a, std::size_t b) { return s[a + 1] - s[a] > s[b + 1] - s[b]; });
  color.assign(n, -1);
  std::vector<std::size_t> taken_by;  // by color: the last list that met it, plus one
  for (const std::size_t j : order) {
    if (starts[j] == starts[j + 1]) continue;
    for (std::size_t k = starts[j]; k < starts[j + 1]; ++k)
      for (std::size_t q = first[item[k]]; q < first[item[k] + 1]; ++q)
        if (const int c = color[of_item[q]]; c >= 0) taken_by[static_cast<std::size_t>(c)] = j + 1;
    std::size_t c = 0;
    while (c < taken_by.size() && taken_by[c] == j + 1) ++c;
    if (c == taken_by.size()) taken_by.push_back(0);
    color[j] = static_cast<int>(c);
  }
  return static_cast<int>(taken_by.size());
}
/// Gives p its colors, of columns if they are not more than twice those of rows.
inline void color_pattern(sparse_pattern& p) {
  const auto [first, row] = transposed_lists(p.starts, p.column, p.columns);
  p.colors = color_lists(first, row, p.rows, p.color);
  p.pulled = false;
  if (p.colors <= 2) return;
  std::vector<int> by_row;
  const int colors = color_lists(p.starts, p.column, p.columns, by_row);
  if (2 * colors >= p.colors) return;
  p.color = std::move(by_row);
  p.colors = colors;
  p.pulled = true;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
