// ebb/sparse/pattern.hpp — sparse_pattern: the elements of a matrix that may differ from zero, and the columns that are found at once.
// SPDX-License-Identifier: BSL-1.0
//
// [note: colors of columns]
// Columns that have no row in common get one color: one derivative, along the sum of their directions, has the elements of all of them.
// Colors are given greedily, columns with many elements first; the result depends on the pattern alone. The same is done for rows, whose
// derivatives are pulled, and the way with fewer colors is taken; a pull counts as two pushes.
// Curtis, Powell and Reid, J. Inst. Math. Appl. 13 (1974); Coleman and More, SIAM J. Numer. Anal. 20 (1983).
//
// [note: colors of a symmetric matrix]
// An element of a Hessian is known if its mirror image is. So two columns with a row in common may have one color, if each of their
// elements, or its mirror image, is alone in its row of the derivative of its color. That holds if columns i and j with an element (i, j)
// have different colors, and each path of four columns along such elements has three (a star coloring): an arrow needs two colors, not n.
// Coleman and More, Math. Program. 28 (1984); Gebremedhin, Manne and Pothen, SIAM Rev. 47 (2005).
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
  // By element, if the matrix is symmetric and that saves colors: whether the element is read as its mirror image, from the derivative of
  // its row's color. Else empty.
  std::vector<char> mirrored;
  bool by_rows = false;  // one program writes all elements row by row, without colors: see [note: rows of blocks]

  constexpr std::size_t size() const { return column.size(); }
  /// The row of each element: with `column`, the coordinates of all elements (COO).
  constexpr std::vector<std::size_t> row() const {
    std::vector<std::size_t> r(size(), 0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = starts[i]; k < starts[i + 1]; ++k) r[k] = i;
    return r;
  }
};

namespace detail {

/// The lists of the other side: of the rows of each column.
constexpr std::pair<std::vector<std::size_t>, std::vector<std::size_t>> transposed_lists(const std::vector<std::size_t>& starts,
                                                                                       const std::vector<std::size_t>& item,
                                                                                       std::size_t count) {
  std::vector<std::size_t> first(count + 1, 0), r(item.size(), 0);
  for (const std::size_t j : item) ++first[j + 1];
  for (std::size_t j = 0; j < count; ++j) first[j + 1] += first[j];
  std::vector<std::size_t> next = first;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    for (std::size_t k = starts[i]; k < starts[i + 1]; ++k) r[next[item[k]]++] = i;
  return {first, r};
}
/// The length of the longest list: a lower bound for the number of colors of the items.
constexpr std::size_t longest_list(const std::vector<std::size_t>& starts) {
  std::size_t r = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) r = std::max(r, starts[j + 1] - starts[j]);
  return r;
}
/// The numbers of the lists, longer ones first.
constexpr std::vector<std::size_t> longest_first(const std::vector<std::size_t>& starts) {
  const std::size_t n = starts.size() - 1, longest = longest_list(starts);
  std::vector<std::size_t> next(longest + 2, 0), order(n, 0);  // next: by how much shorter a list is than the longest one
  const auto shorter = [&](std::size_t j) { return longest - (starts[j + 1] - starts[j]); };
  for (std::size_t j = 0; j < n; ++j) ++next[shorter(j) + 1];
  for (std::size_t d = 0; d < longest; ++d) next[d + 1] += next[d];
  for (std::size_t j = 0; j < n; ++j) order[next[shorter(j)]++] = j;
  return order;
}
/// Colors for lists of items: two lists with an item in common have different ones. Returns their number.
constexpr int color_lists(const std::vector<std::size_t>& starts, const std::vector<std::size_t>& item, std::size_t items,
                          std::vector<int>& color) {
  const std::size_t n = starts.size() - 1;
  const auto [first, of_item] = transposed_lists(starts, item, items);
  const std::vector<std::size_t> order = longest_first(starts);
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
/// Gives p its colors, of columns if they are not more than twice those of rows. A side whose least number of colors decides that it is
/// not taken is not colored: long lists of the other side would cost the square of their length.
constexpr void color_pattern(sparse_pattern& p) {
  const auto [first, row] = transposed_lists(p.starts, p.column, p.columns);
  const std::size_t of_columns = longest_list(p.starts), of_rows = longest_list(first);  // at least
  std::vector<int> by_row;
  int rows = -1;
  if (of_columns > 2 && of_columns > 2 * of_rows) {
    rows = color_lists(p.starts, p.column, p.columns, by_row);
    p.pulled = 2 * static_cast<std::size_t>(rows) < of_columns;
  }
  if (!p.pulled) {
    p.colors = color_lists(first, row, p.rows, p.color);
    if (p.colors <= 2 || 2 * of_rows >= static_cast<std::size_t>(p.colors)) return;
    if (rows < 0) rows = color_lists(p.starts, p.column, p.columns, by_row);
    if (2 * rows >= p.colors) return;
    p.pulled = true;
  }
  p.color = std::move(by_row);
  p.colors = rows;
}

/// A star coloring of the columns of a matrix whose places are symmetric: columns with many elements first. Returns the number of colors.
constexpr int star_coloring(const sparse_pattern& p, std::vector<int>& color) {
  const auto& s = p.starts;
  const std::vector<std::size_t> order = longest_first(s);
  const auto each_neighbor = [&](std::size_t v, auto f) {
    for (std::size_t k = s[v]; k < s[v + 1]; ++k)
      if (p.column[k] != v) f(p.column[k]);
  };
  color.assign(p.rows, -1);
  std::vector<std::size_t> forbidden_for;  // by color: the last column that may not have it, plus one
  for (const std::size_t v : order) {
    if (s[v] == s[v + 1]) continue;
    const auto forbid = [&](int c) { forbidden_for[static_cast<std::size_t>(c)] = v + 1; };
    const auto is_forbidden = [&](int c) { return forbidden_for[static_cast<std::size_t>(c)] == v + 1; };
    each_neighbor(v, [&](std::size_t w) {
      if (color[w] >= 0) forbid(color[w]);
    });
    each_neighbor(v, [&](std::size_t w) {
      each_neighbor(w, [&](std::size_t x) {
        if (x == v || color[x] < 0 || is_forbidden(color[x])) return;
        bool meets = color[w] < 0;  // w may get any color later
        if (!meets)
          each_neighbor(x, [&](std::size_t y) { meets = meets || (y != w && color[y] == color[w]); });
        if (meets) forbid(color[x]);
      });
    });
    std::size_t c = 0;
    while (c < forbidden_for.size() && forbidden_for[c] == v + 1) ++c;
    if (c == forbidden_for.size()) forbidden_for.push_back(0);
    color[v] = static_cast<int>(c);
  }
  return static_cast<int>(forbidden_for.size());
}
/// Gives p, the places of a symmetric matrix, its colors: see [note: colors of a symmetric matrix].
constexpr void color_symmetric_pattern(sparse_pattern& p) {
  color_pattern(p);
  const auto [first, row] = transposed_lists(p.starts, p.column, p.columns);
  if (p.rows != p.columns || first != p.starts || row != p.column) return;
  std::vector<int> star;
  const int colors = star_coloring(p, star);
  if (colors >= (p.pulled ? 2 * p.colors : p.colors)) return;
  p.color = std::move(star);
  p.colors = colors;
  p.pulled = false;
  p.mirrored.assign(p.size(), 0);
  std::vector<std::size_t> count(static_cast<std::size_t>(colors), 0);
  for (std::size_t i = 0; i < p.rows; ++i) {
    const auto of = [&](std::size_t k) -> std::size_t& { return count[static_cast<std::size_t>(p.color[p.column[k]])]; };
    for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) ++of(k);
    for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) p.mirrored[k] = of(k) > 1;
    for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) of(k) = 0;
  }
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
