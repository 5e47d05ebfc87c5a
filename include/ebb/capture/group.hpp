// ebb/capture/group.hpp — nodes that run as one program: what it reads is gathered, what it gives is put where the engine would.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a group in a backward]
// Whether it may run is looked at each time: that the gradients have come which were expected, and only those; that arrays are as long as
// they must be. If not, its nodes run one by one, with the same results. Until its kernels start nothing has changed, and they cannot
// throw. Leaves that several threads add to are held from the first read to the last write.
#pragma once

#include "chain.hpp"

#include "../exec/blocks.hpp"

namespace ebb::inline EBB_ABI {

/// What a thread's groups need while they run: they call nobody, so one is enough.
struct group_scratch {
  std::vector<storage> held, results;
  std::vector<storage*> from;
  std::vector<const void*> bound;
  std::vector<chain_place> places;
  std::vector<leaf*> locked;
  workspace arena;

  static group_scratch& of_thread() {
    static thread_local group_scratch s;
    return s;
  }
};

class merged_group {
 public:
  merged_group(const recording& r, const capture_progress& at, int first, int last, group_interface interface)
      : r_(r), first_(first), last_(last), interface_(std::move(interface)) {
    capture_progress now = at;
    std::vector<char> seen(static_cast<std::size_t>(r.nodes() + r.leaves()), 0);
    const auto expect = [&](int v) {
      if (now.is_certain() || std::exchange(seen[static_cast<std::size_t>(v)], 1)) return;
      for (int o = 0; o < r.visit_at(v).outputs; ++o) expected_.push_back({v, o, now.defined(v, o) != 0});
    };
    for (int i = first; i < last; ++i)
      for (int o = 0; o < r.visit_at(i).outputs; ++o) slots_.push_back(r.visit_at(i).first + o);
    for (int i = first; i < last; ++i) expect(i);
    for (int i = first; i < last; ++i)
      for (int j = 0; j < r.node_at(i).program->edges; ++j)
        if (const int to = r.edge_at(i, j).to; to >= last) {
          expect(to);
          arrivals_.push_back(to);
        }
    for (const group_interface::result& x : interface_.results)
      if (x.to.is == capture_place::kind::leaf_gradient) leaves_.push_back(x.to.at);
  }
  virtual ~merged_group() = default;

  int first() const { return first_; }
  int last() const { return last_; }

  /// False if it is not the time for it: nothing has been done then.
  bool run(backward_pass& pass) {
    walk& w = pass.vertices();
    for (const expectation& e : expected_)
      if (w.gradients_of(w.at(e.at))[e.output].defined != e.defined) return false;
    group_scratch& s = group_scratch::of_thread();
    const leaf_locks locks(*this, w, s);
    for (int l : leaves_)
      if (leaf_at(w, l).grad.defined != r_.leaf_at(l).has_gradient) return false;
    if (!gather(w, s)) return false;
    if (!run_program(w, s)) {
      s.held.clear();
      return false;
    }
    publish(pass, w, s);
    return true;
  }
  /// Leaves that wait for nothing more run as the engine runs them: called when the group's locks are gone.
  void finish(backward_pass& pass) {
    walk& w = pass.vertices();
    for (int v : arrivals_)
      if (visit& to = w.at(v); to.at->is_leaf && to.waiting == 0) pass.run_leaf(to);
  }

 protected:
  const recording& r_;
  int first_, last_;
  group_interface interface_;

  /// Fills s.results; what may be written over its argument takes its array.
  virtual bool run_program(walk& w, group_scratch& s) = 0;

  storage result_array(group_scratch& s, const group_interface::result& x, std::size_t bytes) const {
    if (x.over >= 0)
      if (storage* const old = s.from[static_cast<std::size_t>(x.over)]; old->use_count() == 1 && old->bytes() == bytes) return *old;
    return storage(bytes);
  }

 private:
  struct expectation {
    int at, output;
    bool defined;
  };
  static leaf& leaf_at(walk& w, int l) { return static_cast<leaf&>(*w.at(l).at); }

  /// In the order of their addresses, so that two threads never wait for each other.
  class leaf_locks {
   public:
    leaf_locks(const merged_group& g, walk& w, group_scratch& s) : locked_(s.locked) {
      locked_.clear();
      if (is_single_threaded()) return;
      for (int l : g.leaves_) locked_.push_back(&leaf_at(w, l));
      std::sort(locked_.begin(), locked_.end());
      for (leaf* l : locked_) exclusive::lock(*l);
    }
    leaf_locks(const leaf_locks&) = delete;
    leaf_locks& operator=(const leaf_locks&) = delete;
    ~leaf_locks() {
      for (leaf* l : locked_) exclusive::unlock(*l);
      locked_.clear();
    }

   private:
    std::vector<leaf*>& locked_;
  };

  bool gather(walk& w, group_scratch& s) const {
    const std::size_t count = interface_.arguments.size();
    s.from.assign(count, nullptr);
    s.bound.assign(count, nullptr);
    s.held.clear();
    s.held.reserve(count);
    const bool alone = is_single_threaded();
    for (std::size_t a = 0; a < count; ++a) {
      const capture_place& p = interface_.arguments[a];
      visit& v = w.at(p.at);
      if (p.is == capture_place::kind::slot) s.from[a] = &w.gradients_of(v)[p.number].value;
      else if (p.is == capture_place::kind::leaf_gradient) s.from[a] = &leaf_at(w, p.at).grad.value;
      else if (p.is == capture_place::kind::saved) {
        node& n = static_cast<node&>(*v.at);
        if (alone) s.from[a] = &n.saved()[p.number];
        else {
          s.held.push_back(detail::saved_value(n, p.number));
          s.from[a] = &s.held.back();
        }
      } else if (!(s.bound[a] = bound_value(*v.at, p))) return false;
    }
    return true;
  }
  /// The number-th hook that is there, and the value bound to it.
  const void* bound_value(const vertex& v, const capture_place& p) const {
    const void* values[max_bound];
    int number = p.number;
    for (const hook_list::entry& e : v.hooks->entries) {
      if (!e.call || number-- > 0) continue;
      if (const hook_program* const h = e.call->traced(); !h || h->values > max_bound) return nullptr;
      e.call->values(values);
      return values[p.value];
    }
    return nullptr;
  }
  static constexpr int max_bound = 16;

  void publish(backward_pass& pass, walk& w, group_scratch& s) {
    std::vector<storage>& out = s.results;
    for (std::size_t r = 0; r < out.size(); ++r)
      if (const group_interface::result& x = interface_.results[r]; x.shared >= 0)
        out[r] = x.is_argument ? *s.from[static_cast<std::size_t>(x.shared)] : out[static_cast<std::size_t>(x.shared)];
    gradient* const slots = w.gradients();
    for (int g : slots_)
      if (slots[g].defined) slots[g] = {};
    for (int v : arrivals_) --w.at(v).waiting;
    for (std::size_t r = 0; r < out.size(); ++r) {
      const capture_place& to = interface_.results[r].to;
      visit& v = w.at(to.at);
      gradient made(std::move(out[r]), nullptr, 0, true);
      if (to.is == capture_place::kind::slot) w.gradients_of(v)[to.number] = std::move(made);
      else {
        static_cast<leaf&>(*v.at).grad = std::move(made);
        *w.gradients_of(v) = {};
        v.waiting = -1;
      }
    }
    out.clear();
    s.held.clear();
    if (!pass.options().retain_graph)
      for (int i = first_; i < last_; ++i) release_saved(static_cast<node&>(*w.at(i).at));
  }

  std::vector<expectation> expected_;
  std::vector<int> slots_;     // of its nodes
  std::vector<int> arrivals_;  // vertices behind the group, once for each edge that leads there
  std::vector<int> leaves_;    // that it adds to
};

/// A group as a chain.
class chain_group final : public merged_group {
 public:
  chain_group(const recording& r, const capture_progress& at, int first, int last, chain_builder& b)
      : merged_group(r, at, first, last, b.interface()), p_(std::move(b).code()) {
    arena_ = chain_arena_bytes(static_cast<int>(p_.places.size()));
  }

 private:
  using place_kind = chain_program::place::kind;

  bool run_program(walk& w, group_scratch& s) override {
    const std::size_t size = size_of(p_.type);
    std::size_t bytes = 0;
    bool known = false;
    const auto agree = [&](std::size_t n) { return std::exchange(known, true) ? n == bytes : (bytes = n, true); };
    for (const chain_program::place& p : p_.places) {
      if (p.is == place_kind::argument && !agree(bytes_of(s, p.number))) return false;
      if (p.is == place_kind::element && !s.bound[static_cast<std::size_t>(p.number)] && bytes_of(s, p.number) != size) return false;
    }
    for (const auto& [v, o] : p_.extents)
      if (!agree(extents_of(*w.at(v).at, static_cast<std::uint32_t>(o)).volume() * size)) return false;
    char* const arena = s.arena.take(arena_ + static_cast<std::size_t>(p_.blocks) * chain_bytes);
    s.results.clear();
    for (const group_interface::result& x : interface_.results) s.results.push_back(x.shared >= 0 ? storage() : result_array(s, x, bytes));
    s.places.clear();
    for (const chain_program::place& p : p_.places) s.places.push_back(place_of(p, s, arena + arena_));
    const auto run = [&]<class T>(T) {
      run_chain<T>(p_.code.data(), s.places.data(), p_.use.data(), static_cast<int>(s.places.size()), bytes / size, arena);
    };
    if (p_.type == dtype::f64) run(double{});
    else run(float{});
    return true;
  }
  static std::size_t bytes_of(const group_scratch& s, int argument) { return s.from[static_cast<std::size_t>(argument)]->bytes(); }
  static chain_place place_of(const chain_program::place& p, const group_scratch& s, char* blocks) {
    const auto n = static_cast<std::size_t>(p.number);
    switch (p.is) {
      case place_kind::argument: return chain_place::array(s.from[n]->data());
      case place_kind::element: return chain_place::element(s.bound[n] ? s.bound[n] : s.from[n]->data());
      case place_kind::result: return chain_place::array(s.results[n].data());
      default: return chain_place::block(blocks + n * chain_bytes);
    }
  }

  chain_program p_;
  std::size_t arena_;
};

}  // namespace ebb::inline EBB_ABI
