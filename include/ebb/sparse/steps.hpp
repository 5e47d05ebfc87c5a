// ebb/sparse/steps.hpp — the dependence of loops and custom functions on their arguments: their sub-graphs run on sets.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dependence.hpp"
#include "pattern.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Rows of steps one after another, from the last step on if it ran first.
constexpr element_sets joined_rows(const std::vector<element_sets>& rows, bool reversed) {
  element_sets r;
  for (std::size_t step = 0; step < rows.size(); ++step) r.append(rows[reversed ? rows.size() - 1 - step : step]);
  return r;
}

constexpr std::vector<element_sets> dependence_finder::results_of_loop(int k) {
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
  if (inside_[at(k)].empty()) inside_[at(k)].emplace_back(body, ebb::symbol_values(body, sizes, cells), known_.in_loop(k));
  dependence_finder* const inside = inside_[at(k)].data();
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
  for (std::size_t i = carries; i < given + carries; ++i) r.push_back(joined_rows(rows[i], p.reversed));
  return r;
}

/// The pull's arguments are the saved values and the cotangents of all values, whose elements are numbered one after another.
constexpr std::vector<element_sets> dependence_finder::results_of_custom(int k) {
  const equation& e = g_.eq[k];
  const custom_parts p = custom_parts::of(e);
  const graph& pull = g_.subs[e.sub];
  vec<extent_list> sizes;
  vec<cell_array> cells;
  std::vector<element_sets> given;
  std::vector<char> known;
  const auto push = [&](int x, bool is_known) {
    sizes.push(extents(x));
    given.push_back(empty_sets(sizes.back().volume()));
    const cell_array& value = known_.value(x);
    known.push_back(is_known && !value.empty());
    cells.push(known.back() ? value : cell_array(static_cast<int>(given.back().size()), 0));
  };
  for (int j = p.first_saved(); j < e.count; ++j) push(g_.operand(k, j), true);
  std::uint32_t next = 0;
  std::vector<std::uint32_t> first;  // by value: the number of its first element
  for (int i = 0; i < p.values; ++i) {
    push(g_.operand(k, p.arguments + i), false);
    first.push_back(next);
    element_sets& s = given.back();
    s.number.assign(s.size(), 0);
    for (std::size_t x = 0; x < s.size(); ++x) {
      s.number[x] = next++;
      s.starts[x + 1] = x + 1;
    }
  }
  first.push_back(next);
  dependence_finder inside(pull, ebb::symbol_values(pull, sizes, cells), known);
  std::vector<const element_sets*> pointers;
  pointers.reserve(given.size());
  for (const element_sets& s : given) pointers.push_back(&s);
  inside.run(pointers, cells);
  std::vector<std::vector<std::pair<int, std::size_t>>> reached(next);  // by cotangent: arguments and their elements
  for (int j = 0; j < p.arguments; ++j) {
    if (pull.out[j] < 0) continue;
    const element_sets& s = inside.output(j);
    for (std::size_t x = 0; x < s.size(); ++x)
      for (const std::uint32_t* c = s.begin(x); c != s.end(x); ++c) reached[*c].emplace_back(j, x);
  }
  std::vector<element_sets> r;
  for (std::size_t i = 0; i < at(p.values); ++i)
    r.push_back(one_by_one(first[i + 1] - first[i], [&](std::size_t x) {
      for (const auto& [j, from] : reached[first[i] + x]) set_.add(in(k, j), from);
    }));
  return r;
}

/// The places of a Jacobian without their colors: rows are the elements of all outputs.
constexpr sparse_pattern pattern_of_sets(const dependence_finder& found, int outputs, std::size_t columns) {
  sparse_pattern p;
  element_sets all;
  for (int i = 0; i < outputs; ++i) all.append(found.output(i));
  p.columns = columns;
  p.rows = all.size();
  p.starts = std::move(all.starts);
  p.column.assign(all.number.begin(), all.number.end());
  return p;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
