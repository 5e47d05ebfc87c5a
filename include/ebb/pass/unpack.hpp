// ebb/pass/unpack.hpp — arrays with a short static axis become components: a loop over points of 3 numbers is one loop over 3 arrays.
// SPDX-License-Identifier: BSL-1.0
//
// [note: components]
// Lanes run along the last axis. An array [n, 3] fills 3 of 16 lanes, and slices, concats and selects along that axis are copies. So this
// pass splits values along their short axes: each *component* is an equation over the leading axes, moves among components are renamings,
// and lanes run along n.
//   form       the leading axes, and the number of components: the longest run of last axes that are static with a volume of at most 32.
//              [n, 3] has the leading axes [n] and 3 components, [4] and [2, 2] have none and 4, [n] and [n, 100] have one component.
//   by parts   how an equation is computed on components, by kind: literal, index, elementwise, broadcast, reshape, reduce, move,
//              argmax and argmin, and products of small matrices, of which each element is its chain or its lanes: see
//              [note: order of a product]. Every other equation reads and gives whole arrays.
//   cluster    by-parts equations that hand values with several components to each other. A cluster is split or stays as it is.
//   turning    a whole array that a cluster reads, [n, C], is turned to [C, n], in which each component is a slice. If a value of a cluster
//              is read as a whole array, its components are joined along the last axis, which one loop does if there are few, see
//              [note: joined stores]; else they are joined along the first axis and turned back. Rows by index are turned while they are
//              taken or added.
// Bits stay the same: elements are computed by the same operations, and sums keep their order. A sum over the last axes of at most 32
// elements is the folds of [note: logical reduction tree]: pairs of lanes that have elements are added, then 0. Adding the 0 of a lane
// without elements changes nothing but -0, and the 0 at the end makes that +0, as the tree does. Other sums are chains from 0. Extrema and
// products are folded alike: with its identity, a lane stays what it is (but NaN, which op::peak skips: it begins with the identity). A
// reduction of leading axes is a chain for each element of the result, so it is computed for each component, if the last leading axis
// stays: a component without it would be summed as a tree.
#pragma once

#include "components.hpp"
#include "prune.hpp"
#include "zeros.hpp"

namespace ebb::inline EBB_ABI::rewriting {

// A sign flips without rounding, so a sum takes it from a factor of its term. Only here: a product that others read as well is then two.
inline constexpr auto component_rules = exact_rules + rule_list({
    rule(-x * y + z, z - x * y),
    rule(x * -y + z, z - x * y),
    rule(z + -x * y, z - x * y),
    rule(z + x * -y, z - x * y),
    rule(z - -x * y, z + x * y),
    rule(z - x * -y, z + x * y),
});

}  // namespace ebb::inline EBB_ABI::rewriting

namespace ebb::inline EBB_ABI {

namespace detail {

class unpacker {
 public:
  EBB_COLD_CTOR constexpr unpacker(const graph& g, const component_clusters& clusters)
      : g_(g), clusters_(clusters), r_(shell_of(g)), whole_(g.size(), -1), parts_(g.size(), vec<int>{}) {
    for (int k = 0; k < g.size(); ++k) {
      if (clusters.is_split(k)) split(k);
      else keep(k);
    }
    for (int o : g.out) r_.out.push(o < 0 ? o : whole(o));
  }
  constexpr graph take() { return static_cast<graph&&>(r_); }

 private:
  constexpr const shape& shape_of(int k) const { return clusters_.shape_of(k); }
  constexpr int lead(int k) const { return clusters_.form(k).lead; }
  constexpr int count(int k) const { return clusters_.form(k).count; }
  /// The number of the shape of an axis of extent `front`, the leading axes of k, and an axis of extent `after`; 0: no such axis.
  constexpr int shape_with(int k, int front, int after) {
    shape s;
    if (front > 0) s.push(front);
    for (int a = 0; a < lead(k); ++a) s.push(shape_of(k).e[a]);
    if (after > 0) s.push(after);
    return r_.intern(s);
  }
  constexpr int rows(int k) { return shape_with(k, 0, 0); }
  constexpr int reshape(int k, int x, int shape) { return r_.eq[x].shape == shape ? x : g_.op(k).kit->reshape(r_, x, shape); }

  /// Moves the axis after k's leading axes before them, or, with `back`, the first axis after them.
  constexpr int turn(int k, int x, bool back) {
    int axes[max_rank] = {};
    const int n = lead(k);
    for (int a = 0; a < n; ++a) axes[back ? a : a + 1] = back ? a + 1 : a;
    axes[back ? n : 0] = back ? 0 : n;
    return n == 0 ? x : g_.op(k).kit->permute(r_, x, axes);
  }
  EBB_COLD constexpr int whole(int k) {
    if (whole_[k] >= 0) return whole_[k];
    const int n = count(k);
    if (n == 1) return whole_[k] = reshape(k, parts_[k][0], g_.eq[k].shape);
    const bool last = may_store_joined(g_.op(k).result, n);
    return whole_[k] = reshape(k, last ? joined(k, 0, 1) : turn(k, joined(k, 1, 0), true), g_.eq[k].shape);
  }
  /// The components of k as one array, their axis first, or last.
  EBB_COLD constexpr int joined(int k, int front, int after) {
    const int n = count(k);
    int in[component_form::most];
    for (int c = 0; c < n; ++c) in[c] = reshape(k, parts_[k][c], shape_with(k, front, after));
    return g_.op(k).kit->concat(r_, {in, n}, front ? 0 : lead(k), shape_with(k, front * n, after * n));
  }
  EBB_COLD constexpr int part(int k, int c) {
    if (parts_[k].empty()) parts_[k] = vec<int>(count(k), -1);
    int& p = parts_[k][c];
    if (p < 0) p = clusters_.is_spread(k) ? spread(k, c) : count(k) == 1 ? reshape(k, whole_[k], rows(k)) : cut(k, c);
    return p;
  }
  constexpr int cut(int k, int c) {
    const int turned = takes_rows(k) ? gather_turned(k) : turn(k, reshape(k, whole_[k], shape_with(k, 0, count(k))), false);
    return reshape(k, g_.op(k).kit->slice(r_, turned, 0, c, shape_with(k, 1, 0)), rows(k));
  }
  /// Whether k takes rows by index, and the elements of a row are its components.
  constexpr bool takes_rows(int k) const {
    return g_.op(k).what == kind::gather && g_.eq[k].attr[0] == 0 && lead(k) > 0 && lead(k) == shape_of(g_.operand(k, 1)).rank;
  }
  EBB_COLD constexpr int gather_turned(int k) {
    const shape& s = shape_of(k);
    shape own;
    for (int a = lead(k); a < s.rank; ++a) own.push(s.e[a]);
    for (int a = 0; a < lead(k); ++a) own.push(s.e[a]);
    equation e = g_.eq[k];
    e.shape = r_.intern(own);
    e.attr[1] = 1;
    const int in[] = {whole(g_.operand(k, 0)), whole(g_.operand(k, 1))};
    return reshape(k, r_.add(e, {in, 2}), shape_with(k, count(k), 0));
  }
  constexpr int spread(int k, int c) {
    equation e = g_.eq[k];
    e.shape = rows(k);
    const int axis = static_cast<int>(e.attr[0]);
    if (e.op->what == kind::literal || axis < lead(k)) return r_.add(e, {});
    int inner = 1;
    for (int a = axis + 1; a < shape_of(k).rank; ++a) inner *= shape_of(k).e[a];
    return e.op->kit->literal(r_, e.shape, c / inner % shape_of(k).e[axis]);
  }

  constexpr void keep(int k) {
    vec<int> in;
    equation e = g_.eq[k];
    const int rows = e.op->what == kind::scatter && e.attr[0] == 0 ? g_.operand(k, 0) : -1;
    if (rows >= 0 && whole_[rows] < 0 && count(rows) > 1 && lead(rows) > 0 && lead(rows) == shape_of(g_.operand(k, 1)).rank) e.attr[1] = 1;
    for (int i : g_.operands(k)) in.push(in.empty() && i == rows && e.attr[1] ? joined(i, 1, 0) : whole(i));
    whole_[k] = r_.add(e, range_of(in));
  }
  EBB_COLD constexpr void split(int k) {
    const equation& e = g_.eq[k];
    vec<int> parts;
    switch (e.op->what) {
      case kind::elementwise: parts = split_by_component(k); break;
      case kind::broadcast: parts = split_broadcast(k); break;
      case kind::reshape:
        for (int c = 0; c < count(k); ++c) parts.push(part(g_.operand(k, 0), c));
        break;
      case kind::reduce:
        // Not `?:`: g++ 12 frees in constant expressions what the chosen call returns.
        if (clusters_.is_of_lead(k)) parts = split_by_component(k);
        else parts = split_reduction(k);
        break;
      case kind::contract: parts = split_product(k); break;
      case kind::own: parts = split_places(k); break;
      default: parts = split_move(k);
    }
    parts_[k] = static_cast<vec<int>&&>(parts);
  }
  /// Component c of the result is the same operation on component c of each operand.
  constexpr vec<int> split_by_component(int k) {
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      vec<int> in;
      for (int i : g_.operands(k)) in.push(part(i, c));
      equation y = g_.eq[k];
      y.shape = rows(k);
      parts.push(r_.add(y, range_of(in)));
    }
    return parts;
  }
  constexpr vec<int> split_broadcast(int k) {
    const std::int64_t mask = g_.eq[k].attr[0], of_lead = mask & axis_run(0, lead(k));
    const int x = g_.operand(k, 0), shape = rows(k);
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      int from = 0, rest = c, step = 1;
      for (int a = shape_of(k).rank - 1; a >= lead(k); --a) {
        const int extent = shape_of(k).e[a];
        if (!(mask >> a & 1)) {
          from += rest % extent * step;
          step *= extent;
        }
        rest /= extent;
      }
      const int y = part(x, from);
      parts.push(of_lead ? g_.op(k).kit->broadcast(r_, y, shape, of_lead) : y);
    }
    return parts;
  }
  /// The lanes of [note: logical reduction tree] in their order, as far as they have elements; then 0, if there is one.
  constexpr int fold(vec<int>& lane, int zero, auto&& combine) {
    const int length = lane.size();
    for (int half = logical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half && l + half < length; ++l) lane[l] = combine(lane[l], lane[l + half]);
    return zero < 0 ? lane[0] : combine(lane[0], zero);
  }
  /// Each element is its chain, or its lanes: see [note: order of a product].
  EBB_COLD constexpr vec<int> split_product(int k) {
    const equation& e = g_.eq[k];
    const product_form f(g_, k, lead(k));
    const int zero = e.op->kit->literal(r_, rows(k), 0);
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      vec<int> lane;
      int sum = zero;
      for (int p = 0; p < f.k; ++p) {
        const int x = part(g_.operand(k, 0), f.left(c, p)), y = right_part(k, f.right(c, p));
        sum = e.op->link(r_, x, y, f.lanes ? zero : sum);
        if (f.lanes) lane.push(sum);
      }
      parts.push(f.lanes ? fold(lane, zero, [&](int a, int b) { return e.op->kit->add(r_, a, b); }) : sum);
    }
    return parts;
  }
  /// Element i of operand 1 of product k: of each row, or of the one matrix that all rows share.
  constexpr int right_part(int k, int i) {
    const int y = g_.operand(k, 1), shape = rows(k);
    return lead(y) == lead(k) ? part(y, i) : g_.op(k).kit->broadcast(r_, part(y, i), shape, axis_run(0, lead(k)));
  }
  /// See [note: components] for the order.
  constexpr vec<int> split_reduction(int k) {
    const equation& e = g_.eq[k];
    const int x = g_.operand(k, 0);
    const run_of_components run(shape_of(x), axes_dropped(kind::reduce, e.attr, shape_of(x).rank));
    const bool sums = e.op->computes == arithmetic::sum;
    const int zero = sums ? e.op->kit->literal(r_, rows(k), 0) : -1;
    const auto combine = [&](int a, int b) { return sums ? e.op->kit->add(r_, a, b) : e.op->combine(r_, a, b); };
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      const auto element = [&](int i) { return part(x, run.at(c, i)); };
      int all = zero;
      if (!run.ends) {
        for (int i = 0; i < run.length; ++i) all = combine(all, element(i));
      } else if (run.length > 0) {
        vec<int> lane;
        for (int i = 0; i < run.length; ++i) lane.push(sums ? element(i) : combine(-1, element(i)));
        all = fold(lane, zero, combine);
      }
      parts.push(all < 0 ? e.op->kit->constant(r_, rows(k), e.op->identity) : all);
    }
    return parts;
  }
  /// An op along one axis that gives its result from the components along it.
  constexpr vec<int> split_places(int k) {
    const int x = g_.operand(k, 0);
    const run_of_components run(shape_of(x), axes_dropped(kind::own, g_.eq[k].attr, shape_of(x).rank));
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      vec<int> in;
      for (int i = 0; i < run.length; ++i) in.push(part(x, run.at(c, i)));
      parts.push(g_.op(k).of_parts(r_, range_of(in)));
    }
    return parts;
  }
  /// The extents of one row.
  constexpr extent_list extents(int k) const {
    extent_list x;
    x.rank = shape_of(k).rank;
    for (int a = 0; a < x.rank; ++a) x.e[a] = a < lead(k) ? 1 : static_cast<std::size_t>(shape_of(k).e[a]);
    return x;
  }
  constexpr vec<int> split_move(int k) {
    const equation& e = g_.eq[k];
    vec<extent_list> in;
    for (int i : g_.operands(k)) in.push(extents(i));
    const move_call call{in.data(), extents(k), e.attr};
    vec<int> parts(count(k), -1);
    for (int j = 0; j < e.count; ++j)
      each_element(e.op->copy(call, j), [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        parts[static_cast<int>(to)] = part(g_.operand(k, j), static_cast<int>(from));
      });
    for (int& p : parts)
      if (p < 0) p = e.op->kit->literal(r_, rows(k), 0);
    return parts;
  }

  const graph& g_;
  const component_clusters& clusters_;
  graph r_;
  vec<int> whole_;        // the number of the whole array of each equation, or -1
  vec<vec<int>> parts_;   // the numbers of its components, or nothing
};

}  // namespace detail

/// g with short static axes as components, in the clusters where that pays, or in all: see [note: components].
constexpr graph unpack(graph g, bool all = false) {
  const detail::component_clusters clusters(g, all);
  if (!clusters.any()) return g;
  const graph parts = without_added_zeros(simplify(detail::unpacker(g, clusters).take()));
  return prune(rewriting::rewrite(parts, rewriting::component_rules));
}

}  // namespace ebb::inline EBB_ABI
