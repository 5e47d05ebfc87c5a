// ebb/capture/plan.hpp — a captured backward as steps in eager order: groups that run as one, and nodes that run by themselves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what is merged]
// Nodes in a row are one group as long as nobody could tell: each is a segment, hooks between them are traced, and no leaf on the way has
// a hook that sees more than its gradient. Gradients that are retained or asked for are given on the way. A node that is none of this runs
// as the plain engine runs it, at its place; but what happens at a leaf that it completes, hooks, the sum with a gradient that there is,
// updates, is a chain of its own, if that is more than one link.
// Passes work on two levels. Each node's backward has been through all of them when it was compiled. Across nodes only what is dear is left
// out: gradients that nobody needs are not stored, products that nobody needs not computed. There is not more to be found: sharing and
// simplifying whole captured graphs takes away 13 of a thousand equations of random programs, which test/capture/random_graphs.cpp counts;
// and an equation that runs as a block takes several times as long as one in a link.
#pragma once

#include "graph_group.hpp"
#include "recorded_group.hpp"

#include "../base/owned.hpp"

namespace ebb::inline EBB_ABI {

class backward_plan {
 public:
  EBB_ONCE explicit backward_plan(const recording& r, bool merges = true) : r_(r) {
    piece_table pieces(r.options());
    capture_progress at(r);
    stretch ahead(r, pieces);
    for (int i = 0; i < r.nodes();) {
      const int end = merges ? ahead.end_from(i) : i;
      const int next = end > i ? merge(i, end, at, pieces) : i;
      if (next == i) add_single(i);
      for (const int last = std::max(next, i + 1); i < last; ++i) at.run(i, pieces.find(r.node_at(i).program));
      if (merges && next < i) add_leaves(next, at, pieces);
    }
  }

  EBB_ONCE void run(backward_pass& pass) {
    const tape_state& t = this_tape();
    const std::uint64_t changes = t.hook_changes;  // from then on a group may know less than its nodes
    pass.start();
    const auto run_as_one = [&](merged_group* g) { return g && t.hook_changes == changes && g->run(pass); };
    for (const step& s : steps_) {
      if (run_as_one(s.group.get())) {
        s.group->finish(pass);
        continue;
      }
      for (const completion& c : s.leaves) ++pass.vertices().at(c.leaf).waiting;  // for their turn, below
      for (int i = s.first; i < s.last; ++i) pass.run_if_reached(i);
      for (const completion& c : s.leaves)
        if (visit& v = pass.vertices().at(c.leaf); --v.waiting == 0 && !run_as_one(c.group.get())) pass.run_leaf(v);
    }
  }
  /// f(first, last, group) for each step: the vertices, nodes in a row or one leaf, and what runs them as one, or null.
  void each_step(auto&& f) const {
    for (const step& s : steps_) {
      f(s.first, s.last, s.group.get());
      for (const completion& c : s.leaves)
        if (c.group) f(c.leaf, c.leaf + 1, c.group.get());
    }
  }
  /// How many groups there are.
  EBB_ONCE int groups() const {
    int n = 0;
    each_step([&](int, int, const merged_group* g) { n += g != nullptr; });
    return n;
  }

 private:
  /// A leaf, and what runs all that happens there as one, or null.
  struct completion {
    int leaf;
    owned<merged_group> group;
  };
  struct step {
    int first, last;
    owned<merged_group> group;
    vec<completion> leaves = {};  // that its last node completes, in order, if one of them has a group
  };

  EBB_ONCE void add_single(int i) {
    if (!steps_.empty() && !steps_.back().group && steps_.back().leaves.empty() && steps_.back().last == i) ++steps_.back().last;
    else steps_.push({i, i + 1, nullptr});
  }
  /// Node i, which runs by itself, has run.
  EBB_ONCE void add_leaves(int i, capture_progress& at, piece_table& pieces) {
    if (!r_.visit_at(i).needed || r_.options().graph) return;
    vec<completion> leaves;
    bool is_group = false;
    at.each_completed_leaf(i, [&](int l) {
      leaves.push({l, nullptr});
      chain_builder b(r_, at, pieces);
      if (!at.defined(l, 0) || !b.take_leaf(l, i) || b.length() < 2) return;
      leaves.back().group = make_owned<chain_group>(r_, at, i + 1, i + 1, b);
      is_group = true;
    });
    if (is_group) steps_.back().leaves = std::move(leaves);
  }
  /// Nodes in a row that nothing keeps apart, found ahead of those that are taken.
  class stretch {
   public:
    stretch(const recording& r, piece_table& pieces) : r_(r), pieces_(pieces), at_(r) {}

    /// The first node behind i that cannot be in one group with it, or one that is too far away; i if it can be in none.
    EBB_ONCE int end_from(int i) {
      while (end_ < i) run(end_++);
      if (end_ == i) is_closed_ = false;
      for (const int limit = std::min(r_.nodes(), i + 2 * chain_builder::longest); end_ < limit && !is_closed_;) {
        if (!composer::is_chainable(r_, end_, pieces_)) break;
        run(end_);
        at_.each_completed_leaf(end_++, [&](int l) { is_closed_ = is_closed_ || composer::is_observed(r_, l); });
      }
      return end_;
    }

   private:
    void run(int i) { at_.run(i, pieces_.find(r_.node_at(i).program)); }

    const recording& r_;
    piece_table& pieces_;
    capture_progress at_;
    int end_ = 0;
    bool is_closed_ = false;  // behind it comes another one
  };

  /// Makes a group of nodes from `first` on. Returns the first that is not in it.
  EBB_ONCE int merge(int first, int end, capture_progress& at, piece_table& pieces) {
    chain_builder all(r_, at, pieces);
    const int last = all.take(first, end);
    if (last == end) return add_chain(all, at, first, end);
    if (last == first) return add_graph(at, first, pieces);
    chain_builder some(r_, at, pieces);
    return some.take(first, last) == last ? add_chain(some, at, first, last) : first;
  }
  /// A node that is no chain runs its compiled kernels, which blocks do not beat; but not where they would compute a product that nobody
  /// wants.
  EBB_ONCE int add_graph(capture_progress& at, int node, piece_table& pieces) {
    if (r_.options().graph || !composer::is_mergeable(r_, node, pieces)) return node;
    const graph& whole = pieces.find(r_.node_at(node).program)->g;
    if (graph_group::products(whole) == 0 || !graph_group::fits(whole)) return node;
    composer c(r_, at, pieces);
    c.run(node, node + 1);
    if (graph_group::products(prune(c.g)) == graph_group::products(whole)) return node;
    steps_.push({node, node + 1, make_owned<graph_group>(r_, at, node, node + 1, c)});
    return node + 1;
  }
  EBB_ONCE int add_chain(chain_builder& b, const capture_progress& at, int first, int last) {
    if (b.length() >= 2 && !r_.options().graph) steps_.push({first, last, make_owned<chain_group>(r_, at, first, last, b)});
    else if (b.length() >= 2) steps_.push({first, last, make_owned<recorded_group>(r_, at, first, last, b)});
    else
      for (int i = first; i < last; ++i) add_single(i);
    return last;
  }

  const recording& r_;
  vec<step> steps_;
};

}  // namespace ebb::inline EBB_ABI
