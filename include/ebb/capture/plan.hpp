// ebb/capture/plan.hpp — a captured backward as steps in eager order: groups that run as one, and nodes that run by themselves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what is merged]
// Nodes in a row are one group if the user's code cannot notice: each is a segment, the hooks between them are traced, and no code of the
// user runs at a leaf that they complete (recording.hpp: is_chainable, is_observed). Gradients that are retained or asked for are given on
// the way. Any other node runs as the plain engine runs it, at its place. The work at a leaf that it completes (hooks, the sum with the old
// gradient, updates) is a chain, if that has more than one link. Such a node also leaves out products for gradients that are not needed.
// Passes work on two levels. Each node's backward has been through all of them when it was compiled. Across nodes only the expensive part
// is left out: gradients that are not needed are not stored, their products are not computed. More would not pay: sharing
// and simplifying whole captured graphs takes away 13 of a thousand equations of random programs, which test/capture/random_graphs.cpp
// counts; and an equation that runs as a block takes several times as long as one in a link.
#pragma once

#include "chain_group.hpp"
#include "pruned_backward.hpp"

namespace ebb::inline EBB_ABI {

class backward_plan {
 public:
  EBB_ONCE_CTOR explicit backward_plan(const recording& r, bool merges = true) : r_(r) {
    piece_table pieces(r.options());
    capture_progress at(r);
    stretch ahead(r, pieces);
    for (int i = 0; i < r.nodes();) {
      const int end = merges ? ahead.end_from(i) : i;
      const int next = end > i ? merge(i, end, at, pieces) : i;
      if (next == i) add_single(i, merges ? pruned_backward::of(r, i, at, pieces) : nullptr);
      for (const int last = std::max(next, i + 1); i < last; ++i) at.run(i, pieces.find(r.node_at(i).program));
      if (merges && next < i) add_leaves(next, at, pieces);
    }
  }
  backward_plan(const backward_plan&) = delete;
  backward_plan& operator=(const backward_plan&) = delete;

  EBB_ONCE void run(backward_pass& pass) {
    const tape_state& t = this_tape();
    const std::uint64_t changes = t.hook_changes;  // after a change a group may know less than its nodes
    pass.start();
    const auto run_as_one = [&](chain_group* g) { return g && t.hook_changes == changes && g->run(pass); };
    for (const step& s : steps_) {
      if (run_as_one(s.group.get())) {
        s.group->finish(pass);
        continue;
      }
      for (const completion& c : s.leaves) ++pass.vertices().at(c.leaf).waiting;  // for their turn, below
      if (s.pruned) pass.run_if_reached(s.first, *s.pruned);
      else
        for (int i = s.first; i < s.last; ++i) pass.run_if_reached(i);
      for (const completion& c : s.leaves)
        if (visit& v = pass.vertices().at(c.leaf); --v.waiting == 0 && !run_as_one(c.group.get())) pass.run_leaf(v);
    }
  }
  /// f(first, last, kind, interface) for each step: the vertices, nodes in a row or one leaf, and what runs them if that is not the engine
  /// alone; else both are null. A node without some products has a kind only.
  void each_step(auto&& f) const {
    const auto show = [&](int first, int last, const chain_group* g) { f(first, last, g->kind(), &g->interface()); };
    for (const step& s : steps_) {
      if (s.group) show(s.first, s.last, s.group.get());
      else f(s.first, s.last, s.pruned ? "node by node, without products that nobody wants" : nullptr, nullptr);
      for (const completion& c : s.leaves)
        if (c.group) show(c.leaf, c.leaf + 1, c.group.get());
    }
  }
  /// How many steps are not the plain engine's.
  EBB_ONCE int groups() const {
    int n = 0;
    each_step([&](int, int, const char* kind, const group_interface*) { n += kind != nullptr; });
    return n;
  }

 private:
  using pruned_node = owned<pruned_backward>;
  /// A leaf, and the group that runs all that happens there, or null.
  struct completion {
    int leaf;
    owned<chain_group> group;
  };
  struct step {
    int first, last;
    owned<chain_group> group;
    pruned_node pruned;
    vec<completion> leaves = {};  // that its last node completes, in order, if one of them has a group
  };

  EBB_ONCE void add_single(int i, pruned_node pruned) {
    const bool is_plain = !pruned && !steps_.empty() && !steps_.back().group && !steps_.back().pruned && steps_.back().leaves.empty();
    if (is_plain && steps_.back().last == i) ++steps_.back().last;
    else steps_.push({i, i + 1, nullptr, std::move(pruned)});
  }
  /// Leaves that node i, which runs by itself and has run, completes.
  EBB_ONCE void add_leaves(int i, capture_progress& at, piece_table& pieces) {
    if (!r_.visit_at(i).needed || r_.options().graph) return;
    vec<completion> leaves;
    bool is_group = false;
    at.each_completed_leaf(i, [&](int l) {
      leaves.push({l, nullptr});
      chain_sink chain(r_);
      if (!at.defined(l, 0) || !captured_walk(r_, at, pieces, chain).run_one_leaf(l, i) || chain.length() < 2) return;
      leaves.back().group = make_owned<chain_group>(r_, at, i + 1, i + 1, chain);
      is_group = true;
    });
    if (is_group) steps_.back().leaves = std::move(leaves);
  }
  /// Nodes in a row that may be one group, found ahead of those that have been taken.
  class stretch {
   public:
    stretch(const recording& r, piece_table& pieces) : r_(r), pieces_(pieces), at_(r) {}

    /// The first node after i that cannot be in one group with it, or one that is too far away; i if it can be in none.
    EBB_ONCE int end_from(int i) {
      while (end_ < i) run(end_++);
      if (end_ == i) is_closed_ = false;
      for (const int limit = std::min(r_.nodes(), i + 2 * chain_sink::longest); end_ < limit && !is_closed_;) {
        if (!r_.is_chainable(end_)) break;
        run(end_);
        at_.each_completed_leaf(end_++, [&](int l) { is_closed_ = is_closed_ || r_.is_observed(l); });
      }
      return end_;
    }

   private:
    void run(int i) { at_.run(i, pieces_.find(r_.node_at(i).program)); }

    const recording& r_;
    piece_table& pieces_;
    capture_progress at_;
    int end_ = 0;
    bool is_closed_ = false;  // what follows is another one
  };

  /// Makes a group of nodes from `first` on. Returns the first that is not in it.
  EBB_ONCE int merge(int first, int end, capture_progress& at, piece_table& pieces) {
    chain_sink all(r_);
    const int last = captured_walk(r_, at, pieces, all).run(first, end);
    if (last == end) return add_chain(all, at, first, end);
    if (last == first) return first;
    chain_sink some(r_);
    return captured_walk(r_, at, pieces, some).run(first, last) == last ? add_chain(some, at, first, last) : first;
  }
  EBB_ONCE int add_chain(chain_sink& chain, const capture_progress& at, int first, int last) {
    if (chain.length() >= 2) steps_.push({first, last, make_owned<chain_group>(r_, at, first, last, chain), nullptr});
    else
      for (int i = first; i < last; ++i) add_single(i, nullptr);
    return last;
  }

  const recording& r_;
  vec<step> steps_;
};

}  // namespace ebb::inline EBB_ABI
