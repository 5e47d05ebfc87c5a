// test/pass/random_loop.hpp — random loops: the steps of a random graph, what they carry, and the same run step by step.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "random_graph.hpp"

#include <ebb/graph/loop.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/scan.hpp>

namespace test {

/// A loop as a graph: its arguments are the loop's operands, its results are the carries and then the rows.
struct random_loop {
  graph body, g;
  ebb::loop_parts parts;
  int given() const { return body.out.size(); }
};

/// A loop with this body. Steps: how many; -1: an extent that only the call decides.
inline random_loop loop_around(const graph& body, const ebb::loop_parts& parts, int steps) {
  random_loop l;
  l.parts = parts;
  l.body = ebb::prune(body);
  ebb::vec<int> in;
  for (int j = 0; j < body.inputs; ++j) {
    const int x = l.body.input(j);
    ebb::shape s;
    if (parts.is_row(j)) s.push(steps < 0 ? l.g.syms.fresh({ebb::extent_rule::argument, j, 0}) : steps);
    for (int axis = 0; axis < l.body.shape_of(x).rank; ++axis) {
      const int e = l.body.syms.find(l.body.shape_of(x).e[axis]);
      s.push(e < 0 ? l.g.syms.fresh({ebb::extent_rule::argument, j, s.rank}) : e);
    }
    in.push(l.body.op(x).kit->input(l.g, l.g.intern(s), l.g.inputs++));
  }
  l.g.out = ebb::detail::add_loop(l.g, l.body, parts, in);
  l.g = ebb::canonical_shapes(l.g);
  return l;
}

inline random_loop make_random_loop(std::uint64_t seed, int steps) {
  random r{seed * 31 + 7};
  graph b = random_graph(seed);
  ebb::vec<int> of[3];  // arguments by what they are: carry, row, whole
  for (int i = 0; i < b.inputs; ++i) of[i == b.inputs - 1 && of[1].empty() ? 1 : r.below(3)].push(i);
  const ebb::loop_parts parts{of[0].size(), of[1].size(), r.chance(2)};
  ebb::vec<int> number(b.inputs, -1), out;
  int next = 0;
  for (const ebb::vec<int>& list : of)
    for (int i : list) number[i] = next++;
  for (int i : of[0]) {
    ebb::vec<int> alike;
    for (int k = 0; k < b.size(); ++k)
      if (b.op(k).result == b.op(b.input(i)).result && b.eq[k].shape == b.eq[b.input(i)].shape) alike.push(k);
    out.push(alike[r.below(alike.size())]);
  }
  for (int o : b.out)
    if (b.shape_of(o).rank < ebb::max_rank) out.push(o);
  b.out = out;
  ebb::renumber_arguments(b, number, b.inputs);
  return loop_around(b, parts, steps);
}

/// Row t of an array of so many rows.
inline ebb::cell_array row_of(const ebb::cell_array& all, int t, int rows) {
  const int length = rows > 0 ? all.size() / rows : 0;
  ebb::cell_array r;
  for (int i = 0; i < length; ++i) r.push(all[t * length + i]);
  return r;
}
inline void put_row(ebb::cell_array& all, int t, int rows, const ebb::cell_array& row) {
  if (all.empty()) all = ebb::cell_array(rows * row.size(), 0);
  for (int i = 0; i < row.size(); ++i) all[t * row.size() + i] = row[i];
}

/// The same step by step: results, and the gradients at seeds, added up in the order that [note: a loop pulled back] states.
class by_steps {
 public:
  by_steps(const random_loop& l, const ebb::vec<ebb::cell_array>& arguments, int steps, std::size_t length)
      : l_(l), arguments_(arguments), steps_(steps) {
    ebb::vec<ebb::extent_list> extents;
    ebb::vec<std::size_t> lengths(l.body.syms.count(), length);
    for (int j = 0; j < l.body.inputs; ++j)
      extents.push(ebb::extents_at(l.body.syms.find(l.body.shape_of(l.body.input(j))), lengths.data()));
    extents_ = extents;
    ebb::vec<ebb::cell_array> carry;
    for (int j = 0; j < l.parts.carries; ++j) carry.push(arguments[j]);
    results = ebb::vec<ebb::cell_array>(l.given(), ebb::cell_array{});
    for (int i = 0; i < steps; ++i) {
      const int t = l.parts.reversed ? steps - 1 - i : i;
      before_.push(carry);
      const auto out = ebb::evaluate(l.body, step_arguments(carry, t), ebb::symbol_values(l.body, extents_));
      for (int j = 0; j < l.parts.carries; ++j) carry[j] = out[j];
      for (int j = l.parts.carries; j < l.given(); ++j) put_row(results[j], t, steps, out[j]);
    }
    for (int j = 0; j < l.parts.carries; ++j) results[j] = carry[j];
  }

  /// Of all real arguments, in order. seeds: one for each real result.
  ebb::vec<ebb::cell_array> gradients(const ebb::vec<ebb::cell_array>& seeds) const {
    const ebb::loop_parts& p = l_.parts;
    ebb::vec<char> reached;
    const graph pulled = pulled_step(reached);
    ebb::vec<ebb::cell_array> r(l_.body.inputs, ebb::cell_array{});
    for (int j = 0; j < l_.body.inputs; ++j) {
      if (p.is_carry(j)) r[j] = seeds[j];
      else if (!p.is_row(j)) r[j] = ebb::cell_array(arguments_[j].size(), minus_zero(type(j)));
    }
    for (int i = steps_ - 1; i >= 0; --i) {
      const int t = p.reversed ? steps_ - 1 - i : i;
      ebb::vec<ebb::cell_array> in = step_arguments(before_[i], t);
      for (int o = 0, s = 0; o < l_.given(); ++o) {
        if (!ebb::is_real(l_.body.op(l_.body.out[o]).result)) continue;
        in.push(o < p.carries ? r[o] : row_of(seeds[s], t, steps_));
        ++s;
      }
      for (int j = p.carries + p.rows; j < l_.body.inputs; ++j) in.push(r[j]);
      const auto out = ebb::evaluate(pulled, in, ebb::symbol_values(pulled, extents_));
      for (int j = 0; j < l_.body.inputs; ++j) {
        if (p.is_row(j)) put_row(r[j], t, steps_, out[j]);
        else r[j] = out[j];
      }
    }
    for (int j = p.carries + p.rows; j < l_.body.inputs; ++j)
      if (!reached[j]) r[j] = ebb::cell_array(r[j].size(), 0);
    return r;
  }

  ebb::vec<ebb::cell_array> results;

 private:
  /// Arguments: those of the step, cotangents of its real results, sums of the wholes' gradients. Results: cotangents, and the new sums.
  graph pulled_step(ebb::vec<char>& reached) const {
    graph g = l_.body;
    ebb::vec<int> wrt, outs, seeds;
    const auto seed = [&](int k) {
      outs.push(k);
      seeds.push(g.op(k).kit->input(g, g.eq[k].shape, g.inputs++));
    };
    for (int j = 0; j < l_.body.inputs; ++j) wrt.push(g.input(j));
    for (int o : l_.body.out)
      if (ebb::is_real(g.op(o).result)) seed(o);
    for (int j = l_.parts.carries + l_.parts.rows; j < l_.body.inputs; ++j) seed(wrt[j]);
    g.out = ebb::pull_back(g, wrt, outs, seeds);
    for (int j = 0; j < l_.body.inputs; ++j) {
      bool same = false;
      for (int s : seeds) same = same || s == g.out[j];
      reached.push(!same);
      g.out[j] = ebb::or_zeros(g, g.out[j], wrt[j]);
    }
    return g;
  }
  ebb::dtype type(int j) const { return l_.body.op(l_.body.input(j)).result; }
  ebb::vec<ebb::cell_array> step_arguments(const ebb::vec<ebb::cell_array>& carry, int t) const {
    ebb::vec<ebb::cell_array> in = carry;
    for (int j = l_.parts.carries; j < l_.body.inputs; ++j)
      in.push(l_.parts.is_row(j) ? row_of(arguments_[j], t, steps_) : arguments_[j]);
    return in;
  }
  static ebb::cell minus_zero(ebb::dtype d) { return d == ebb::dtype::f64 ? ebb::to_cell(-0.0) : ebb::to_cell(-0.0f); }

  const random_loop& l_;
  const ebb::vec<ebb::cell_array>& arguments_;
  int steps_;
  ebb::vec<ebb::extent_list> extents_;
  ebb::vec<ebb::vec<ebb::cell_array>> before_;
};

}  // namespace test
