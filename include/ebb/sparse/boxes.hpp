// ebb/sparse/boxes.hpp — the elements of operands that a box has, if it begins at known places.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "known.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI::detail {

/// For each element of the result of equation k, a box: the elements of operands that it copies or adds. known: holds the places at
/// which boxes begin.
constexpr std::vector<std::vector<std::pair<int, std::size_t>>> elements_of_box(const graph& g, int k, const extent_list& whole,
                                                                                const extent_list& part, const known_values& known) {
  const equation& e = g.eq[k];
  const box_form f = box_form::of(e.attr);
  std::vector<std::vector<std::pair<int, std::size_t>>> from(f.what == box_form::reads ? part.volume() : whole.volume());
  for (std::size_t i = 0; f.what == box_form::puts && i < from.size(); ++i) from[i] = {{0, i}};
  const box_call c(e.attr, whole, part);
  const auto start = [&](int j, std::size_t i) {
    const int x = g.operand(k, f.first() + j);
    const cell at = known.value(x)[static_cast<int>(i)];
    return g.op(x).result == dtype::i32 ? std::int64_t{from_cell<std::int32_t>(at)} : from_cell<std::int64_t>(at);
  };
  c.each_box(start, [&](std::ptrdiff_t in_whole, std::ptrdiff_t in_part) {
    each_element(c.box, [&](std::ptrdiff_t x, std::ptrdiff_t y) {
      const auto w = static_cast<std::size_t>(in_whole + x), p = static_cast<std::size_t>(in_part + y);
      if (w >= whole.volume()) raise("ebb::sparse_jacobian, sparse_hessian: a box leaves its array");
      if (f.what == box_form::reads) from[p] = {{0, w}};
      else if (f.what == box_form::puts) from[w] = {{1, p}};
      else from[w].push_back({0, p});
    });
  });
  return from;
}

}  // namespace ebb::inline EBB_ABI::detail
