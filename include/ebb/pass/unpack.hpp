// ebb/pass/unpack.hpp — arrays with a short static axis become components: a loop over points of 3 numbers is one loop over 3 arrays.
// SPDX-License-Identifier: BSL-1.0
//
// [note: components]
// Lanes run along the last axis. An array [n, 3] fills 3 of 16 lanes, and slices, concats and selects along that axis are copies. So this
// pass splits values along their short axes: each *component* is an equation over the leading axes, moves among components are renamings,
// and lanes run along n.
//   form       the leading axes, and the number of components: the longest run of last axes that are static with a volume of at most 32.
//              [n, 3] has the leading axes [n] and 3 components, [4] and [2, 2] have none and 4, [n] and [n, 100] have one component.
//   by parts   how an equation is computed on components, by kind: literal, index, elementwise, broadcast, reshape, sum, move.
//              Every other equation reads and gives whole arrays.
//   region     by-parts equations that hand values with several components to each other. A region is split or stays as it is.
//   turning    a whole array that a region reads, [n, C], is turned to [C, n], of which each component is a slice. A region's value that is
//              read as a whole array is turned back.
// Bits stay the same: elements are computed by the same operations, and sums keep their order. A sum over the last axes of at most 32
// elements is the folds of [note: logical reduction tree]: pairs of lanes that have elements are added, then 0. Adding the 0 of a lane
// without elements changes nothing but -0, and the 0 at the end makes that +0, as the tree does. Other sums are chains from 0.
//
// [note: regions that are split]
// A region is split if that costs less by these counts; nothing is measured. For each row, in steps of 16 lanes:
//   saved   an elementwise equation: the lanes left empty, if something cuts the short axes (a sum, a broadcast, an index); 8 times as many
//           for a heavy op.  A move: 3.  A sum along a short axis: 4.
//   spent   0.6 for each component of an array that is turned
// Arrays with fewer leading axes than others of their region count 1/32: [n, 3] beside [n, k, 3].
// A region without leading axes runs once. It is split only if it has moves. Saved: 4 for each move or sum. Spent: 0.7 for each further
// component of an elementwise equation, 6 for a heavy op, and 3 for each component of an array that is taken apart or put together.
// No region is split into more than 1,500 equations and four times its own number.
#pragma once

#include "prune.hpp"
#include "simplify.hpp"

#include "../op/kit.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The components of values of one shape.
struct component_form {
  static constexpr int most = 32;
  int lead = 0;   // number of leading axes
  int count = 0;  // number of components; 0: an empty axis

  EBB_ONCE static constexpr component_form of(const shape& s) {
    component_form f{s.rank, 1};
    while (f.lead > 0 && s.e[f.lead - 1] >= 0 && f.count * s.e[f.lead - 1] <= most) f.count *= s.e[--f.lead];
    return f;
  }
  constexpr bool operator==(const component_form&) const = default;
};

/// Which equations run by parts, and in which regions. Plain pointers, as in graph::add: every program is looked through.
class component_regions {
 public:
  EBB_COLD_CTOR constexpr component_regions(const graph& g, bool all) : g_(g), region_(g.size(), -1) {
    for (const shape& s : g.shapes) {
      shapes_.push(g.syms.find(s));
      forms_.push(component_form::of(shapes_.back()));
    }
    if (!all && !may_pay()) return;
    const equation* const eq = g.eq.data();
    for (int k = 0; k < g.size(); ++k)
      if (eq[k].op->what == kind::elementwise ? forms_.data()[eq[k].shape].count > 1 : runs_by_parts(k)) join(k);
    count();
    decide(all);
  }

  constexpr const shape& shape_of(int k) const { return shapes_.data()[g_.eq.data()[k].shape]; }
  constexpr component_form form(int k) const { return forms_.data()[g_.eq.data()[k].shape]; }
  /// Whether k is computed by components.
  constexpr bool is_split(int k) const { return region_[k] >= 0 && accounts_[region_[k]].split; }
  constexpr bool any() const { return any_; }
  /// Literals and indices, whose components are made where they are needed.
  constexpr bool is_spread(int k) const { return g_.op(k).what == kind::literal || g_.op(k).what == kind::index; }

 private:
  /// Whether there are rows of several components, or moves: most programs have neither.
  constexpr bool may_pay() const {
    for (const component_form& f : forms_)
      if (f.lead > 0 && f.count > 1) return true;
    const equation* const eq = g_.eq.data();
    for (int k = 0; k < g_.size(); ++k)
      if (eq[k].op->what == kind::move) return true;
    return false;
  }
  /// Whether the leading axes of i and k have the same extents.
  constexpr bool same_lead(int i, int k) const {
    if (form(i).lead != form(k).lead) return false;
    for (int a = 0; a < form(k).lead; ++a)
      if (shape_of(i).e[a] != shape_of(k).e[a]) return false;
    return true;
  }
  /// Whether k, which is not elementwise, has a rule for components, and some of its arrays have several.
  EBB_COLD constexpr bool runs_by_parts(int k) const {
    const equation& e = g_.eq.data()[k];
    if (e.count == 0 || form(k).count == 0) return false;
    const int lead = form(k).lead, x = g_.operand(k, 0);
    switch (e.op->what) {
      case kind::broadcast: {
        if (e.op->names_places || form(k).count == 1) return false;
        int kept = 0;
        for (int a = 0; a < lead; ++a) kept += !(e.attr[0] >> a & 1);
        return form(x).lead == kept;
      }
      case kind::reshape: return form(k).count > 1 && form(x).count == form(k).count && same_lead(x, k);
      case kind::reduce:
        return form(x).count > 1 && e.attr[0] >= lead && e.op->family == family_of<op::sum> && size_of(e.op->result) >= 4 &&
               same_lead(x, k);
      case kind::move: {
        bool several = form(k).count > 1;
        for (int i : g_.operands(k)) {
          if (form(i).count == 0 || !same_lead(i, k)) return false;
          several = several || form(i).count > 1;
        }
        if (!several || e.op->family != family_of<op::permute>) return several && (e.attr[0] & 15) >= lead;
        for (int a = 0; a < lead; ++a)
          if (packed_axis(e.attr[0], a) != a) return false;
        return true;
      }
      default: return false;
    }
  }

  /// Joins k's region with those of its operands with several components.
  constexpr void join(int k) {
    int* const region = region_.data();
    region[k] = k;
    const equation& e = g_.eq.data()[k];
    const int* const in = g_.pool.data() + e.first;
    int own = k;
    for (int j = 0; j < e.count; ++j) {
      int other = region[in[j]];
      if (other < 0 || other == own || form(in[j]).count == 1) continue;
      while (region[other] != other) other = region[other];
      if (other == own) continue;
      if (other < own) std::swap(other, own);
      region[other] = own;
      region[k] = own;
    }
  }

  /// What splitting a region saves and costs, in hundredths of a step.
  struct account {
    int saved = 0, spent = 0, lanes = 0, equations = 0, parts = 0, lead = 0;
    bool cut = false, moves = false, split = false;
    constexpr int weighed(component_form f, int steps) const { return f.lead < lead ? steps / 32 : steps; }
    constexpr void turn(component_form f) { spent += weighed(f, f.lead > 0 ? 60 * f.count : 300 * f.count); }
  };
  EBB_COLD constexpr void count() {
    const equation* const eq = g_.eq.data();
    int* const region = region_.data();
    // From here on a region is the number of its account.
    for (int k = 0; k < g_.size(); ++k) {
      if (region[k] < 0) continue;
      region[k] = region[k] == k ? accounts_.push({}) : region[region[k]];
      account& a = accounts_.data()[region[k]];
      if (form(k).lead > a.lead) a.lead = form(k).lead;
    }
    if (accounts_.empty()) return;
    vec<char> whole(g_.size(), 0), taken(g_.size(), 0);
    for (int o : g_.out)
      if (o >= 0) whole[o] = 1;
    for (int k = g_.size(); k-- > 0;) {
      const int* const in = g_.pool.data() + eq[k].first;
      if (region[k] < 0) {
        for (int j = 0; j < eq[k].count; ++j) whole.data()[in[j]] = 1;
        continue;
      }
      account& a = accounts_.data()[region[k]];
      for (int j = 0; j < eq[k].count; ++j) {
        const int i = in[j];
        if (region[i] >= 0 || taken.data()[i] || form(i).count == 1 || is_spread(i)) continue;
        taken.data()[i] = 1;
        a.turn(form(i));
      }
      add(a, k, whole.data()[k]);
    }
  }
  EBB_COLD constexpr void add(account& a, int k, bool whole) const {
    const equation& e = g_.eq.data()[k];
    const component_form f = form(k);
    ++a.equations;
    a.parts += f.count;
    whole = whole && f.count > 1;
    if (whole) a.turn(f);
    switch (e.op->what) {
      case kind::elementwise:
        if (f.lead > 0) a.lanes += a.weighed(f, f.count % 16 == 0 ? 0 : (e.op->heavy ? 800 : 100) * (16 - f.count % 16) / 16);
        else a.spent += a.weighed(f, (f.count - 1) * (e.op->heavy ? 600 : 70));
        break;
      case kind::broadcast: a.cut = true; break;
      case kind::reduce:
        a.cut = true;
        a.saved += a.weighed(f, 400);
        break;
      case kind::move:
        a.moves = true;
        if (!whole) a.saved += a.weighed(f, f.lead > 0 ? 300 : 400);
        break;
      default: break;
    }
  }
  constexpr void decide(bool all) {
    for (account& a : accounts_) {
      const int most = a.equations * 4 > 1500 ? a.equations * 4 : 1500;
      a.split = all || ((a.lead > 0 || a.moves) && a.saved + (a.cut ? a.lanes : 0) > a.spent && a.parts <= most);
      any_ = any_ || a.split;
    }
  }

  const graph& g_;
  vec<shape> shapes_;
  vec<component_form> forms_;  // by shape
  vec<int> region_;            // by equation: the number of its region's account; -1: whole arrays
  vec<account> accounts_;
  bool any_ = false;
};

class unpacker {
 public:
  EBB_COLD_CTOR constexpr unpacker(const graph& g, const component_regions& regions)
      : g_(g), regions_(regions), r_(shell_of(g)), whole_(g.size(), -1), parts_(g.size(), vec<int>{}) {
    for (int k = 0; k < g.size(); ++k) {
      if (regions.is_split(k)) split(k);
      else keep(k);
    }
    for (int o : g.out) r_.out.push(o < 0 ? o : whole(o));
  }
  constexpr graph take() { return static_cast<graph&&>(r_); }

 private:
  constexpr const shape& shape_of(int k) const { return regions_.shape_of(k); }
  constexpr int lead(int k) const { return regions_.form(k).lead; }
  constexpr int count(int k) const { return regions_.form(k).count; }
  /// The number of the shape of k's leading axes, with an axis of extent `front` before them and one of extent `behind` after; 0: none.
  constexpr int shape_with(int k, int front, int behind) {
    shape s;
    if (front > 0) s.push(front);
    for (int a = 0; a < lead(k); ++a) s.push(shape_of(k).e[a]);
    if (behind > 0) s.push(behind);
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
    vec<int> in;
    for (int c = 0; c < n; ++c) in.push(reshape(k, parts_[k][c], shape_with(k, 1, 0)));
    const int x = n == 1 ? parts_[k][0] : turn(k, g_.op(k).kit->concat(r_, range_of(in), 0, shape_with(k, n, 0)), true);
    return whole_[k] = reshape(k, x, g_.eq[k].shape);
  }
  EBB_COLD constexpr int part(int k, int c) {
    if (parts_[k].empty()) parts_[k] = vec<int>(count(k), -1);
    int& p = parts_[k][c];
    if (p < 0) p = regions_.is_spread(k) ? spread(k, c) : count(k) == 1 ? reshape(k, whole_[k], rows(k)) : cut(k, c);
    return p;
  }
  constexpr int cut(int k, int c) {
    const int turned = turn(k, reshape(k, whole_[k], shape_with(k, 0, count(k))), false);
    return reshape(k, g_.op(k).kit->slice(r_, turned, 0, c, shape_with(k, 1, 0)), rows(k));
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
    for (int i : g_.operands(k)) in.push(whole(i));
    whole_[k] = r_.add(g_.eq[k], range_of(in));
  }
  EBB_COLD constexpr void split(int k) {
    const equation& e = g_.eq[k];
    vec<int> parts;
    switch (e.op->what) {
      case kind::elementwise:
        for (int c = 0; c < count(k); ++c) {
          vec<int> in;
          for (int i : g_.operands(k)) in.push(part(i, c));
          equation y = e;
          y.shape = rows(k);
          parts.push(r_.add(y, range_of(in)));
        }
        break;
      case kind::broadcast: parts = split_broadcast(k); break;
      case kind::reshape:
        for (int c = 0; c < count(k); ++c) parts.push(part(g_.operand(k, 0), c));
        break;
      case kind::reduce: parts = split_sum(k); break;
      default: parts = split_move(k);
    }
    parts_[k] = static_cast<vec<int>&&>(parts);
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
  /// See [note: components] for the order.
  constexpr vec<int> split_sum(int k) {
    const equation& e = g_.eq[k];
    const int x = g_.operand(k, 0), rank = shape_of(x).rank;
    const int first = static_cast<int>(e.attr[0]), last = static_cast<int>(e.attr[1]);
    int length = 1, inner = 1;
    for (int a = first; a < last; ++a) length *= shape_of(x).e[a];
    for (int a = last; a < rank; ++a) inner *= shape_of(x).e[a];
    const dtype_kit& kit = *e.op->kit;
    const int zero = kit.literal(r_, rows(k), 0);
    vec<int> parts;
    for (int c = 0; c < count(k); ++c) {
      const auto element = [&](int i) { return part(x, (c / inner * length + i) * inner + c % inner); };
      if (last < rank) {
        int sum = zero;
        for (int i = 0; i < length; ++i) sum = kit.add(r_, sum, element(i));
        parts.push(sum);
        continue;
      }
      vec<int> lane;
      for (int i = 0; i < length; ++i) lane.push(element(i));
      for (int half = logical_lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half && l + half < length; ++l) lane[l] = kit.add(r_, lane[l], lane[l + half]);
      parts.push(length == 0 ? zero : kit.add(r_, lane[0], zero));
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
  const component_regions& regions_;
  graph r_;
  vec<int> whole_;        // the number of the whole array of each equation, or -1
  vec<vec<int>> parts_;   // the numbers of its components, or nothing
};

}  // namespace detail

/// g with short static axes as components, in the regions where that pays, or in all: see [note: components].
constexpr graph unpack(graph g, bool all = false) {
  const detail::component_regions regions(g, all);
  if (!regions.any()) return g;
  return prune(simplify(detail::unpacker(g, regions).take()));
}

}  // namespace ebb::inline EBB_ABI
