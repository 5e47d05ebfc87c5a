// ebb/sparse/boxes.hpp — the dependence of boxes that begin at operands on their arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dependence.hpp"

#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI::detail {

/// Boxes at known places are some elements; others may be anywhere, but box_put keeps the elements of operand 0 where they are.
constexpr element_sets dependence_finder::boxes(int k, std::size_t n) {
  const equation& e = g_.eq[k];
  const box_form f = box_form::of(e.attr);
  const extent_list whole = extents(whole_of_box(g_, k)), part = extents(part_of_box(g_, k));
  bool known = true;
  for (int j = f.first(); j < e.count; ++j) known = known && known_.is_known(g_.operand(k, j));
  if (!known) {
    const std::size_t batches = whole.volume(0, f.own);
    if (f.what != box_form::puts || batches == 0) return by_blocks(k, n, batches, 1);
    return one_by_one(n, [&](std::size_t i) {
      const std::size_t each = in(k, 1).size() / batches, first = i / (n / batches) * each;
      set_.add(in(k, 0), i);
      for (std::size_t q = 0; q < each; ++q) set_.add(in(k, 1), first + q);
      return false;
    });
  }
  // The elements of operands that each element of the result is, or is the sum of.
  std::vector<std::vector<std::pair<int, std::size_t>>> from(n);
  for (std::size_t i = 0; f.what == box_form::puts && i < n; ++i) from[i] = {{0, i}};
  const box_call c(e.attr, whole, part);
  const auto number = [&](int j, std::size_t i) {
    const int x = g_.operand(k, f.first() + j);
    const cell at = known_.value(x)[static_cast<int>(i)];
    return g_.op(x).result == dtype::i32 ? std::int64_t{from_cell<std::int32_t>(at)} : from_cell<std::int64_t>(at);
  };
  c.each_box(number, [&](std::ptrdiff_t in_whole, std::ptrdiff_t in_part) {
    each_element(c.box, [&](std::ptrdiff_t x, std::ptrdiff_t y) {
      const auto w = static_cast<std::size_t>(in_whole + x), p = static_cast<std::size_t>(in_part + y);
      if (w >= whole.volume()) raise("ebb::sparse_jacobian, sparse_hessian: a box leaves its array");
      if (f.what == box_form::reads) from[p] = {{0, w}};
      else if (f.what == box_form::puts) from[w] = {{1, p}};
      else from[w].push_back({0, p});
    });
  });
  return one_by_one(n, [&](std::size_t i) {
    bool zero = true;
    for (const auto& [j, x] : from[i]) {
      zero = zero && in(k, j).is_zero(x);
      set_.add(in(k, j), x);
    }
    return zero;
  });
}

}  // namespace ebb::inline EBB_ABI::detail
