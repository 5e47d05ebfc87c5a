// ebb/pass/components.hpp — the clusters of equations that are split into components.
// SPDX-License-Identifier: BSL-1.0
//
// [note: clusters that are split]
// A cluster is split if these counts say that this costs less; nothing is measured. For each row, in steps of 16 lanes:
//   saved   an elementwise equation: its empty lanes, if something cuts the short axes (a sum, a broadcast, an index); 8 times that for a
//           heavy op.  A move: 3.  A reduction along a short axis: 4.  An argmax saves the same, and 0.6 for each component of an operand
//           of the cluster, which it would turn itself.  A product: 75, or 13 for 4 x 4 by 4 x 4; with one matrix for all rows 4.5 (a
//           vector), 10 (fewer than 4 links), or 6.
//   spent   0.6 for each component of an array that is turned.  1/16 for each link of a product
// If several clusters read an array, one pays for turning it. A cluster with a maximum or the like always pays: it is often alone.
// An array with fewer leading axes than others of its cluster counts 1/32, such as [n, 3] beside [n, k, 3].
// A cluster without leading axes runs once. It is split only if it has moves. Saved: 4 for each move or sum. Spent: for each further
// component of an elementwise equation 0.7, or 6 for a heavy op; and 3 for each component of an array that is taken apart or put together.
// A cluster is not split into more than 1,500 equations, or more than four times its own equations if that is more.
#pragma once

#include "../op/kit.hpp"

namespace ebb::inline EBB_ABI::detail {

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

/// A product by components: each row has its own matrices, or its row of operand 0 and one matrix for all rows, operand 1.
struct product_form {
  static constexpr int most = 64;  // links for each row
  int m = 1, k = 0, n = 0;
  bool tx = false, ty = false, lanes = false, shared = false;

  EBB_COLD_CTOR constexpr product_form(const graph& g, int y, int lead) {
    const equation& e = g.eq.data()[y];
    const shape r = g.syms.find(g.shape_of(y)), x = g.syms.find(g.shape_of(g.operand(y, 0)));
    tx = e.attr[0] & left_transposed, ty = e.attr[0] & right_transposed, lanes = e.attr[0] & in_lanes;
    shared = lead == r.rank - 1;
    if (!shared) m = r.e[r.rank - 2];
    k = x.e[summed_axis(e.attr[0], 0, r.rank)];
    n = r.e[r.rank - 1];
  }
  /// The steps that the kernel of products takes for a row, in hundredths.
  constexpr int steps() const {
    if (shared) return lanes ? 450 : k < 4 ? 1000 : 600;
    return m == 4 && k == 4 && n == 4 ? 1300 : 7500;
  }
  /// The element of operand 0, and of operand 1, that is factor p of element c of the result.
  constexpr int left(int c, int p) const {
    const int batch = c / (m * n), i = c / n % m;
    return tx ? (batch * k + p) * m + i : (batch * m + i) * k + p;
  }
  constexpr int right(int c, int p) const {
    const int batch = c / (m * n), j = c % n;
    return ty ? (batch * n + j) * k + p : (batch * k + p) * n + j;
  }
};

/// The components along the axes that an equation drops.
struct run_of_components {
  int length = 1, inner = 1;
  bool ends = false;  // at the last axis

  constexpr run_of_components(const shape& s, part axes) : ends(axes.first + axes.count == s.rank) {
    for (int a = axes.first; a < s.rank; ++a) (a < axes.first + axes.count ? length : inner) *= s.e[a];
  }
  /// The component that is element i of component c of the result.
  constexpr int at(int c, int i) const { return (c / inner * length + i) * inner + c % inner; }
};

/// Finds the equations that run by parts, and their clusters. It uses plain pointers, as graph::add does, since it runs for every program.
class component_clusters {
 public:
  EBB_COLD_CTOR constexpr component_clusters(const graph& g, bool all) : g_(g), cluster_(g.size(), -1) {
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
  constexpr bool is_split(int k) const { return cluster_[k] >= 0 && accounts_[cluster_[k]].split; }
  constexpr bool any() const { return any_; }
  /// Whether k reduces leading axes, but not the last of them: then a component is reduced in the same order as the whole array.
  constexpr bool is_of_lead(int k) const { return g_.op(k).what == kind::reduce && g_.eq[k].attr[1] < form(g_.operand(k, 0)).lead; }
  /// Whether k is a literal or an index: its components are made where they are needed.
  constexpr bool is_spread(int k) const { return g_.op(k).what == kind::literal || g_.op(k).what == kind::index; }

 private:
  /// Whether there are rows with several components, or moves: most programs have neither.
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
        if (form(x).count == 1) return false;
        if (is_of_lead(k)) return form(k).count == form(x).count && lead == form(x).lead - (e.attr[1] - e.attr[0]);
        return e.attr[0] >= lead && (e.op->computes == arithmetic::sum || e.op->pairs) && size_of(e.op->result) >= 4 && same_lead(x, k);
      case kind::own: {
        if (!e.op->pairs || form(x).count == 1) return false;
        return axes_dropped(e.op->what, e.attr, shape_of(x).rank).first >= lead && same_lead(x, k);
      }
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
      case kind::contract: return is_small_product(k);
      default: return false;
    }
  }
  /// Whether all matrices of product k are components of rows, or operand 1 is one matrix for all rows, and few links make an element.
  EBB_COLD constexpr bool is_small_product(int k) const {
    const int lead = form(k).lead, rank = shape_of(k).rank, x = g_.operand(k, 0), y = g_.operand(k, 1);
    if (!g_.op(k).links || lead == 0 || !same_lead(x, k) || form(x).count == 0) return false;
    const bool own = lead <= rank - 2 && same_lead(y, k), shared = lead == 1 && rank == 2 && form(y).lead == 0;
    return (own || shared) && form(k).count * product_form(g_, k, lead).k <= product_form::most;
  }

  /// Joins k's cluster with those of its operands with several components.
  constexpr void join(int k) {
    int* const cluster = cluster_.data();
    cluster[k] = k;
    const equation& e = g_.eq.data()[k];
    const int* const in = g_.pool.data() + e.first;
    int own = k;
    for (int j = 0; j < e.count; ++j) {
      int other = cluster[in[j]];
      if (other < 0 || other == own || form(in[j]).count == 1) continue;
      while (cluster[other] != other) other = cluster[other];
      if (other == own) continue;
      if (other < own) std::swap(other, own);
      cluster[other] = own;
      cluster[k] = own;
    }
  }

  /// The steps that splitting a cluster saves and costs, in hundredths.
  struct account {
    int saved = 0, spent = 0, lanes = 0, equations = 0, parts = 0, lead = 0;
    bool cut = false, moves = false, split = false;
    bool alone = false;  // has a maximum or the like, which often is a cluster of its own: what it reads is turned for it
    constexpr int weighed(component_form f, int steps) const { return f.lead < lead ? steps / 32 : steps; }
    constexpr void turn(component_form f) { spent += weighed(f, f.lead > 0 ? 60 * f.count : 300 * f.count); }
  };
  EBB_COLD constexpr void count() {
    const equation* const eq = g_.eq.data();
    int* const cluster = cluster_.data();
    // From here on a cluster is the number of its account.
    for (int k = 0; k < g_.size(); ++k) {
      if (cluster[k] < 0) continue;
      cluster[k] = cluster[k] == k ? accounts_.push({}) : cluster[cluster[k]];
      account& a = accounts_.data()[cluster[k]];
      if (form(k).lead > a.lead) a.lead = form(k).lead;
      a.alone = a.alone || eq[k].op->pairs;
    }
    if (accounts_.empty()) return;
    vec<char> whole(g_.size(), 0);
    vec<int> taken(g_.size(), -1);  // the last cluster that pays for turning an array: one of several that read it
    for (int o : g_.out)
      if (o >= 0) whole[o] = 1;
    for (int k = g_.size(); k-- > 0;) {
      const int* const in = g_.pool.data() + eq[k].first;
      if (cluster[k] < 0) {
        for (int j = 0; j < eq[k].count; ++j) whole.data()[in[j]] = 1;
        continue;
      }
      account& a = accounts_.data()[cluster[k]];
      for (int j = 0; j < eq[k].count; ++j) {
        const int i = in[j];
        if (cluster[i] >= 0 || form(i).count == 1 || is_spread(i)) continue;
        if (taken.data()[i] >= 0 && (!a.alone || taken.data()[i] == cluster[k])) continue;
        taken.data()[i] = cluster[k];
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
    if (whole && f.count > 1) a.turn(f);
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
      case kind::own: {
        const int x = g_.operand(k, 0);
        a.cut = true;
        a.saved += a.weighed(f, 400 + (cluster_[x] >= 0 ? 60 * form(x).count : 0));
        break;
      }
      case kind::contract: {
        const product_form p(g_, k, f.lead);
        a.cut = true;
        a.parts += f.count * (p.k - 1);
        a.saved += a.weighed(f, p.steps());
        a.spent += a.weighed(f, 6 * f.count * p.k);
        break;
      }
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
    if (any_) split_columns();
  }
  /// A column, such as p[0], is split if the array that it is taken from is turned anyway.
  EBB_COLD constexpr void split_columns() {
    vec<char> turned(g_.size(), 0);
    for (int k = 0; k < g_.size(); ++k)
      if (is_split(k))
        for (int i : g_.operands(k)) turned[i] = 1;
    for (int k = 0; k < g_.size(); ++k)
      if (cluster_[k] >= 0 && g_.op(k).what == kind::move && form(k).count == 1 && turned[g_.operand(k, 0)])
        if (account& a = accounts_[cluster_[k]]; a.equations == 1) a.split = true;
  }

  const graph& g_;
  vec<shape> shapes_;
  vec<component_form> forms_;  // by shape
  vec<int> cluster_;           // by equation: the number of its cluster's account; -1: whole arrays
  vec<account> accounts_;
  bool any_ = false;
};

}  // namespace ebb::inline EBB_ABI::detail
