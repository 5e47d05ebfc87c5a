// ebb/sparse/steps.hpp — what the results of a loop depend on: its body runs on sets, step by step.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dependence.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

inline std::vector<element_sets> dependence_finder::results_of_loop(int k) {
  const equation& e = g_.eq[k];
  const loop_parts p = loop_parts::of(e);
  const graph& body = g_.subs[e.sub];
  const std::size_t all = extents(k).e[0], carries = at(p.carries), given = at(body.out.size());
  vec<extent_list> sizes;
  vec<cell_array> cells;
  for (int j = 0; j < e.count; ++j) {
    const int x = g_.operand(k, j);
    sizes.push(extents_at(p.is_row(j) ? row_of_shape(g_.shape_of(x)) : g_.shape_of(x), symbols_.data()));
    const cell_array& value = known_.value(x);
    cells.push(p.is_row(j) || value.empty() ? cell_array(static_cast<int>(sizes[j].volume()), 0) : value);
  }
  std::unique_ptr<dependence_finder>& inside = inside_[at(k)];
  if (!inside) inside = std::make_unique<dependence_finder>(body, ebb::symbol_values(body, sizes, cells), known_.in_loop(k));
  const cell_array* const guard = p.guarded ? &known_.value(g_.operand(k, e.count - 1)) : nullptr;
  const bool may_stay = guard && guard->empty();  // perhaps no step runs
  const bool stays = guard && !may_stay && !from_cell<bool>((*guard)[0]);

  bool steps_differ = false;
  for (int j = 0; j < p.carries + p.rows; ++j)
    steps_differ = steps_differ || (p.is_row(j) && !in(k, j).says_nothing()) || (known_.in_loop(k)[at(j)] && inside->reads_values());
  std::vector<element_sets> carry, piece(at(e.count));
  for (int j = 0; j < p.carries; ++j) carry.push_back(in(k, j));
  std::vector<std::vector<element_sets>> rows(given + carries);  // by result and step: rows and histories that are read
  std::vector<char> read(given + carries, 0);
  each_result(g_, k, [&](int i) { read[at(number_of_loop_result(g_, i))] = 1; });
  if (stays) {
    const vec<std::size_t> values = ebb::symbol_values(body, sizes, cells);
    for (std::size_t i = carries; i < given; ++i) {
      const std::size_t length = extents_at(body.shape_of(body.out[static_cast<int>(i)]), values.data()).volume();
      rows[i].assign(all, empty_sets(length, is_real_dtype(body.op(body.out[static_cast<int>(i)]).result)));
    }
    for (std::size_t j = 0; j < carries; ++j) rows[given + j].assign(all, empty_sets(carry[j].size()));
  }
  for (std::size_t step = 0; p.open || (!stays && step < all); ++step) {
    const std::size_t row = p.reversed ? all - 1 - step : step;
    std::vector<const element_sets*> arguments;
    for (int j = 0; j < e.count; ++j) {
      if (p.is_row(j)) {
        const std::size_t length = sizes[j].volume();
        piece[at(j)] = {};
        piece[at(j)].append(in(k, j), row * length, length);
        const cell_array& value = known_.value(g_.operand(k, j));
        for (int i = 0; !value.empty() && i < cells[j].size(); ++i) cells[j][i] = value[static_cast<int>(row * length) + i];
      }
      arguments.push_back(p.is_carry(j) ? &carry[at(j)] : p.is_row(j) ? &piece[at(j)] : &in(k, j));
    }
    inside->run(arguments, cells);
    bool same = true;
    for (std::size_t j = 0; j < carries; ++j) {
      const int i = static_cast<int>(j);
      element_sets next = p.open || may_stay ? united(inside->output(i), carry[j]) : inside->output(i);
      same = same && next == carry[j];
      if (read[given + j]) rows[given + j].push_back(std::move(carry[j]));
      carry[j] = std::move(next);
      if (known_.in_loop(k)[j]) cells[i] = inside->value_of_output(i);
    }
    for (std::size_t i = carries; i < given; ++i)
      if (read[i]) rows[i].push_back(inside->output(static_cast<int>(i)));
    if (!same || (!p.open && steps_differ)) continue;
    for (std::vector<element_sets>& r : rows)
      if (!r.empty()) r.resize(all, r.back());
    break;
  }
  std::vector<element_sets> r = std::move(carry);
  for (std::size_t i = carries; i < given + carries; ++i) {
    element_sets joined;
    for (std::size_t step = 0; step < rows[i].size(); ++step) joined.append(rows[i][p.reversed ? rows[i].size() - 1 - step : step]);
    r.push_back(std::move(joined));
  }
  return r;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
