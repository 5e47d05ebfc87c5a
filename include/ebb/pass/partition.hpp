// ebb/pass/partition.hpp — splits a joint graph into two halves, and decides which values the first one saves for the second.
// SPDX-License-Identifier: BSL-1.0
//
// [note: saved or recomputed]
//   early   does not depend on a seed
//   late    depends on a seed; belongs to the backward half
//   kept    early, heavy, and computed by the forward half in any case: transcendental functions, contractions, reductions
// Late equations read early ones:
//   An argument is free: the caller holds it. Literals and indices are never saved.
//   A kept value is saved.
//   Any other value is computed again in the loop that uses it, from saved and free values: that takes no memory and almost no time.
// If that needs further values, bytes decide: the size of all values that would have to be saved for it, against the size of the value
// itself. So a cast to double is repeated and its float is saved, a comparison of two sums is saved as one byte an element, and a product
// of two functions that nothing else reads is saved itself. Heavy equations that only the backward half reads (the logarithm in the
// derivative of a power) are computed there. Results of a loop are kept if the loop runs in the forward half: so the history of its
// carries is saved where the backward half reads it.
#pragma once

#include "prune.hpp"

namespace ebb::inline EBB_ABI {

/// forward: arguments -> the user's outputs, then the saved values. backward: arguments, saved values, seeds -> gradients.
struct halves {
  graph forward, backward;
  int saved = 0;
};

namespace detail {

class partition_of {
 public:
  constexpr partition_of(const graph& joint, int arguments, int outputs, bool saves)
      : g_(joint), arguments_(arguments), outputs_(outputs), saves_(saves), late_(g_.size(), 0), primal_(g_.size(), 0),
        at_hand_(g_.size(), 0), seen_(g_.size(), -1), saved_(g_.size(), -1) {
    find_late();
    find_primal();
    if (saves_) choose();
  }

  constexpr halves result() const { return {forward(), backward(), order_.size()}; }

 private:
  constexpr bool is_late(int k) const { return late_.data()[k]; }
  /// Computed by the forward half in any case, and too expensive to compute twice.
  constexpr bool is_kept(int k) const {
    return g_.op(k).what == kind::result ? primal_.data()[g_.operand(k, 0)] != 0 : primal_.data()[k] && g_.op(k).heavy;
  }

  constexpr void find_late() {
    for (int k = 0; k < g_.size(); ++k) {
      const equation& e = g_.eq.data()[k];
      char late = e.op->what == kind::input && e.attr[0] >= arguments_;
      for (int j = 0; j < e.count; ++j) late = late || late_.data()[g_.pool.data()[e.first + j]];
      late_.data()[k] = late;
      at_hand_.data()[k] = !late && e.count == 0;  // arguments, literals, indices
    }
  }
  constexpr void find_primal() {
    for (int i = 0; i < outputs_; ++i) primal_[g_.out[i]] = 1;
    for (int k = g_.size() - 1; k >= 0; --k) {
      const equation& e = g_.eq.data()[k];
      if (primal_.data()[k])
        for (int j = 0; j < e.count; ++j) primal_.data()[g_.pool.data()[e.first + j]] = 1;
    }
  }

  /// Early equations that late ones read, or that are gradients.
  constexpr vec<char> find_crossing() const {
    vec<char> crosses(g_.size(), 0);
    for (int i = outputs_; i < g_.out.size(); ++i)
      if (!is_late(g_.out[i])) crosses[g_.out[i]] = 1;
    for (int k = 0; k < g_.size(); ++k) {
      if (!is_late(k)) continue;
      for (int i : g_.operands(k))
        if (!is_late(i)) crosses.data()[i] = 1;
    }
    return crosses;
  }

  constexpr void choose() {
    const vec<char> crosses = find_crossing();
    for (int k = 0; k < g_.size(); ++k)
      if (crosses.data()[k] && is_kept(k)) save(k);
    for (int k = 0; k < g_.size(); ++k) {
      if (!crosses.data()[k] || at_hand_.data()[k]) continue;
      const vec<int> needed = would_need(k);
      std::int64_t cost = 0;
      for (int i : needed) cost += bytes(i);
      if (needed.size() <= most_needed && cost <= bytes(k)) {
        for (int i : needed) save(i);
        at_hand_.data()[k] = 1;
      } else save(k);
    }
  }

  constexpr void save(int k) {
    saved_[k] = order_.push(k);
    at_hand_[k] = 1;
  }

  /// The values that would have to be saved so that k can be computed again; more than `most_needed` if the search gives up.
  constexpr vec<int> would_need(int k) {
    vec<int> needed, open{k};
    for (int visited = 0; !open.empty() && needed.size() <= most_needed; ++visited) {
      if (visited == most_visited) return vec<int>(most_needed + 1, k);
      const equation& e = g_.eq.data()[open.pop()];
      for (int j = 0; j < e.count; ++j) {
        const int i = g_.pool.data()[e.first + j];
        if (at_hand_.data()[i] || seen_.data()[i] == k) continue;
        seen_.data()[i] = k;
        if (is_kept(i)) needed.push(i);
        else open.push(i);
      }
    }
    return needed;
  }

  /// The size of a value. An extent that is not known yet counts as 256.
  constexpr std::int64_t bytes(int k) const {
    auto n = static_cast<std::int64_t>(size_of(g_.op(k).result));
    const shape& s = g_.shape_of(k);
    for (int i = 0; i < s.rank; ++i) n *= g_.syms.find(s.e[i]) >= 0 ? g_.syms.find(s.e[i]) : 256;
    return n;
  }

  constexpr graph forward() const {
    graph f = shell_of(g_);
    f.inputs = arguments_;
    vec<int> to(g_.size(), -1);
    copy_equations(f, g_, to, [&](int k) { return !is_late(k); }, as_they_are);
    for (int i = 0; i < outputs_; ++i) f.out.push(to[g_.out[i]]);
    for (int k : order_) f.out.push(to[k]);
    return prune(f);
  }

  /// Arguments keep their numbers. Seeds come after the saved values.
  constexpr graph backward() const {
    graph b = shell_of(g_);
    b.inputs = g_.inputs + order_.size();
    vec<int> to(g_.size(), -1);
    copy_equations(b, g_, to, [&](int k) { return g_.op(k).what == kind::input && !is_late(k); }, as_they_are);
    for (int i = 0; i < order_.size(); ++i) to[order_[i]] = g_.op(order_[i]).kit->input(b, g_.eq[order_[i]].shape, arguments_ + i);
    copy_equations(b, g_, to, [&](int k) { return has_operands(g_, k, to); }, [&](int, equation& e) {
      if (e.op->what == kind::input && e.attr[0] >= arguments_) e.attr[0] += order_.size();
    });
    for (int i = outputs_; i < g_.out.size(); ++i) b.out.push(to[g_.out[i]]);
    return prune(b);
  }

  static constexpr int most_visited = 64, most_needed = 8;

  const graph& g_;
  int arguments_, outputs_;
  bool saves_;
  vec<char> late_, primal_, at_hand_;
  vec<int> seen_, saved_, order_;
};

}  // namespace detail

/// The halves of a joint graph: `arguments` come before its seeds, `outputs` before its gradients. With saves = false nothing is saved: the
/// backward half computes everything again.
constexpr halves partition(const graph& joint, int arguments, int outputs, bool saves = true) {
  return detail::partition_of(joint, arguments, outputs, saves).result();
}

}  // namespace ebb::inline EBB_ABI
