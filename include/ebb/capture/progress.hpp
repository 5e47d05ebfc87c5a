// ebb/capture/progress.hpp — the state of a captured backward at each point: defined gradients, and those that vertices wait for.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "recording.hpp"

#include "../autograd/derivation.hpp"
#include "../base/owned.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// A segment's backward, ready to be copied.
struct backward_piece {
  graph g;
  vec<int> kept;                 // the first arguments are saved values; their numbers at the node are 0, 1, ...
  vec<int> seeds;                // for each argument after them the node's output, or -1
  vec<std::uint64_t> depends;    // of each result on those
};

EBB_ONCE backward_piece piece_of(const segment_graphs& s) {
  backward_piece p{used_arguments(s.backward.thaw()).g, {}, {}, {}};
  for (int number : s.read)
    if (number < s.arguments + s.saves) p.kept.push(number);
    else p.seeds.push(s.outputs[number - s.arguments - s.saves]);
  p.depends = dependences(p.g, p.kept.size(), p.seeds.size());
  return p;
}

}  // namespace detail

/// The gradient of each output, as a walk knows it: its value, -1 at first, and whether it has changed. One table serves all walks through
/// a recording, one after the other: each begins with an empty table.
class slot_table {
 public:
  struct slot {
    int value = -1;
    bool changed = false;
  };

  explicit slot_table(int slots) : slots_(slots, entry{}) {}
  void begin() { ++now_; }
  EBB_ONCE slot& operator[](int number) {
    entry& e = slots_[number];
    if (e.begun != now_) e = {now_, {}};
    return e.of;
  }

 private:
  struct entry {
    int begun = 0;
    slot of = {};
  };
  vec<entry> slots_;
  int now_ = 0;
};

/// Which gradients are defined, and how many parts of its gradient each vertex still waits for. An opaque function is assumed to give all.
class capture_progress {
 public:
  EBB_ONCE_CTOR explicit capture_progress(const recording& r) : r_(&r), slots_(r.slots()) {
    for (int i = 0; i < r.nodes() + r.leaves(); ++i) waiting_.push(r.visit_at(i).waiting);
    defined_ = vec<int>(r.slots(), 0);
    for (const edge_key& k : r.roots())
      if (r.visit_at(k.to).is_reached()) set(k.to, static_cast<int>(k.output), true);
  }
  capture_progress(const capture_progress&) = delete;
  capture_progress& operator=(const capture_progress&) = delete;

  /// At its end, everything that ran while it lived is undone.
  class trial {
   public:
    explicit trial(capture_progress& p) : p_(p), was_certain_(p.is_certain_) { p_.is_trial_ = true; }
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;
    EBB_ONCE_CTOR ~trial() {
      while (!p_.undo_.empty()) {
        const step_back b = p_.undo_.pop();
        (b.slot >= 0 ? p_.defined_[b.slot] : p_.waiting_[~b.slot]) = b.was;
      }
      p_.is_certain_ = was_certain_;
      p_.is_trial_ = false;
    }

   private:
    capture_progress& p_;
    bool was_certain_;
  };
  /// For one walk at a time.
  slot_table& slots() { return slots_; }
  bool defined(int at, int output) const { return defined_[r_->visit_at(at).first + output] != 0; }
  /// Whether this is the state in each run: nothing that ran so far may leave a gradient undefined.
  bool is_certain() const { return is_certain_; }

  /// f(leaf) for each leaf that node i, which has run, completes.
  void each_completed_leaf(int i, auto&& f) const {
    for (int j = 0; j < r_->node_at(i).program->edges; ++j) {
      const int to = r_->edge_at(i, j).to;
      bool again = false;
      for (int k = 0; k < j; ++k) again = again || r_->edge_at(i, k).to == to;
      if (to >= 0 && !again && r_->is_leaf(to) && waiting_[to] == 0) f(to);
    }
  }

  /// Node i has run.
  EBB_ONCE void run(int i, const detail::backward_piece* piece) {
    const std::uint64_t arrived = piece ? seeds_of(i, *piece) : ~std::uint64_t{0};
    for (int o = 0; o < r_->visit_at(i).outputs; ++o) set(i, o, false);
    if (!r_->visit_at(i).needed) return;
    is_certain_ = is_certain_ && piece && (r_->node_at(i).hook_count == 0 || keeps_defined(i));
    for (int j = 0; j < r_->node_at(i).program->edges; ++j) {
      const edge_key& e = r_->edge_at(i, j);
      if (e.to < 0) continue;
      if (is_trial_) undo_.push({~e.to, waiting_[e.to]});
      --waiting_[e.to];
      if (r_->visit_at(e.to).is_reached() && (!piece || piece->depends[j] & arrived)) set(e.to, static_cast<int>(e.output), true);
    }
  }
  /// Whether hooks of a node leave gradients defined.
  EBB_ONCE bool keeps_defined(int i) const {
    for (const hook_key& h : r_->hooks_of(i))
      if (!h.program && !h.retains) return false;
    return true;
  }
  EBB_ONCE std::uint64_t seeds_of(int i, const detail::backward_piece& piece) const {
    std::uint64_t arrived = 0;
    for (int s = 0; s < piece.seeds.size(); ++s)
      if (piece.seeds[s] >= 0 && defined(i, piece.seeds[s])) arrived |= std::uint64_t{1} << (s < 63 ? s : 63);
    return arrived;
  }

 private:
  /// An old value: of a slot, or of ~ a vertex that waits.
  struct step_back {
    int slot = 0, was = 0;
  };
  EBB_ONCE void set(int at, int output, bool is_defined) {
    const int slot = r_->visit_at(at).first + output;
    if (is_trial_) undo_.push({slot, defined_[slot]});
    defined_[slot] = is_defined;
  }

  const recording* r_;
  vec<int> defined_, waiting_;
  bool is_certain_ = true, is_trial_ = false;
  vec<step_back> undo_;
  slot_table slots_;
};

/// The pieces of a recording's programs, each made once.
class piece_table {
 public:
  explicit piece_table(const pass_key& k) : key_(k) {}

  /// Null if the program's backward has no graph here.
  EBB_ONCE const detail::backward_piece* find(const node_program* p) {
    if (!key_.has_graph(*p)) return nullptr;
    for (const entry& e : pieces_)
      if (e.program == p) return e.piece.get();
    pieces_.push({p, make_owned<detail::backward_piece>(detail::piece_of(*p->graphs))});
    const graph& g = pieces_.back().piece->g;
    for (int k = 0; k < g.size(); ++k) kits_[static_cast<int>(g.op(k).result)] = g.op(k).kit;
    return pieces_.back().piece.get();
  }
  /// The functions that emit equations of a dtype; null if no piece has that dtype.
  const dtype_kit* kit(dtype type) const { return kits_[static_cast<int>(type)]; }

 private:
  struct entry {
    const node_program* program;
    owned<const detail::backward_piece> piece;
  };
  const pass_key& key_;
  vec<entry> pieces_;
  const dtype_kit* kits_[8] = {};
};

}  // namespace ebb::inline EBB_ABI
