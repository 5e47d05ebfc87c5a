// ebb/capture/group.hpp — the arguments and results of a group of nodes: found in memory, and put where the engine would put them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a group in a backward]
// A group looks each time whether it may run: the gradients that were expected have come, and only those; arrays are as long as they must
// be. If not, its nodes run one by one, with the same results. Nothing has changed until its kernels start, and they cannot throw. Leaves
// that several threads add to are locked from the first read to the last write.
#pragma once

#include "chain_sink.hpp"

#include "../kernel/workspace.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

/// The memory of an argument of a group: an array, or a value that is bound to a hook.
class group_source {
 public:
  group_source() = default;
  explicit group_source(storage* array) : array_(array) {}
  explicit group_source(const void* bound) : bound_(bound) {}

  void* data() const { return array_ ? array_->data() : const_cast<void*>(bound_); }
  bool is_bound() const { return bound_ != nullptr; }
  std::size_t bytes() const { return array_ ? array_->bytes() : 0; }
  storage& array() const { return *array_; }

 private:
  storage* array_ = nullptr;
  const void* bound_ = nullptr;
};

/// Memory of the group that runs: a group calls no code of users, so one for each thread is enough.
struct group_scratch {
  vec<storage> held, results;
  vec<group_source> from;
  vec<leaf*> locked;
  workspace arena;

  static group_scratch& of_thread() {
    static thread_local group_scratch s;
    return s;
  }
  /// Drops all arrays.
  EBB_ONCE_APART void forget() {
    for (storage& x : held) x = {};
    for (storage& x : results) x = {};
    held.shrink(0);
    results.shrink(0);
  }
};

class merged_group {
 public:
  EBB_ONCE_CTOR merged_group(const recording& r, const capture_progress& at, int first, int last, group_interface interface)
      : r_(r), first_(first), last_(last), interface_(std::move(interface)) {
    for (const group_interface::result& x : interface_.results) {
      if (x.to.is == capture_place::kind::leaf_gradient) leaves_.push(x.to.at);
      if (x.to.is == capture_place::kind::retained) retained_.push({x.to.at, x.to.number});
      shares_ = shares_ || x.shared >= 0;
    }
    for (int l : interface_.cleared) leaves_.push(l);
    are_arrays_ = interface_.updates.empty();
    for (const capture_place& p : interface_.arguments) add_source(p);
    vec<int> seen;
    const auto expect = [&](int v) {
      if (at.is_certain() || is_among(seen, seen.size(), v)) return;
      seen.push(v);
      for (int o = 0; o < r.visit_at(v).outputs; ++o) expected_.push({v, o, at.defined(v, o)});
    };
    for (int l : leaves_) expect(l);
    for (int i = first; i < last; ++i) {
      expect(i);
      for (int o = 0; o < r.visit_at(i).outputs; ++o)
        if (at.defined(i, o)) slots_.push(r.visit_at(i).first + o);
    }
    vec<int> earlier;
    for (int i = last; i-- > first;) {
      const int completed = arrivals_.size();  // by later nodes
      for (int j = 0; j < r.node_at(i).program->edges; ++j)
        if (const int to = r.edge_at(i, j).to; to >= last) {
          expect(to);
          if (!r.is_leaf(to) || is_among(leaves_, leaves_.size(), to)) continue;
          (is_among(arrivals_, completed, to) ? earlier : arrivals_).push(to);
        }
      std::reverse(arrivals_.begin() + completed, arrivals_.end());
    }
    std::reverse(arrivals_.begin(), arrivals_.end());
    for (int l : earlier) arrivals_.push(l);
  }

  const group_interface& interface() const { return interface_; }

 protected:
  const recording& r_;
  int first_, last_;
  group_interface interface_;

  bool shares_ = false;  // whether some result is an argument, or another result

  /// Whether the gradients have come that were expected, and only those.
  EBB_INLINE bool is_time(walk& w) const {
    for (const expectation& e : expected_)
      if (w.gradients_of(w.at(e.at))[e.output].defined != e.defined) return false;
    return true;
  }
  /// The same for leaves and retained gradients, which change until they are locked.
  EBB_INLINE bool is_still_time(walk& w) const {
    for (int l : leaves_)
      if (leaf_at(w, l).grad.defined != r_.leaf_at(l).has_gradient) return false;
    for (const auto& [v, o] : retained_)
      if (is_retained(*w.at(v).at, o)) return false;  // it would be added to
    return true;
  }
  EBB_ONCE_APART void share(walk& w, group_scratch& s) const {
    for (int r = 0; r < s.results.size(); ++r)
      if (const group_interface::result& x = interface_.results[r]; x.shared >= 0)
        s.results[r] = x.is_argument ? argument(w, s, x.shared) : s.results[x.shared];
  }
  /// Results go where the engine would have put them.
  EBB_ONCE_APART void publish(backward_pass& pass, group_scratch& s) const {
    walk& w = pass.vertices();
    vec<storage>& out = s.results;
    gradient* const slots = w.gradients();
    for (int g : slots_)
      if (slots[g].defined) slots[g] = {};
    for (int v : arrivals_) --w.at(v).waiting;
    for (int r = 0; r < out.size(); ++r) {
      const capture_place& to = interface_.results[r].to;
      const bool stays = interface_.results[r].over >= 0 && !out[r].data();
      visit& v = w.at(to.at);
      switch (to.is) {
        case capture_place::kind::state: put(hook_of(*v.at, to.number)->states()[to.value], out[r], stays); break;
        case capture_place::kind::leaf_value: put(static_cast<leaf&>(*v.at).value, out[r], stays); break;
        case capture_place::kind::slot: put(slots[v.first + to.number], out[r], false); break;
        case capture_place::kind::requested: put(w.wishes()[to.number].value, out[r], false); break;
        case capture_place::kind::retained:  // another thread may have come first
          detail::retain_arrived(*v.at, static_cast<std::uint32_t>(to.number), {std::move(out[r]), nullptr, 0, true}, nullptr);
          break;
        default:
          put(static_cast<leaf&>(*v.at).grad, out[r], stays);
          if (slots[v.first].defined) slots[v.first] = {};
          v.waiting = -1;
      }
    }
    for (int l : interface_.cleared) {
      visit& v = w.at(l);
      leaf_at(w, l).grad = slots[v.first] = {};
      v.waiting = -1;
    }
    for (const group_interface::update& u : interface_.updates) {
      leaf& l = leaf_at(w, u.leaf);
      l.version.fetch_add(u.writes_value, std::memory_order_relaxed);
      hook_of(l, u.hook)->note_update();
    }
    if (!pass.options().retain_graph)
      for (const visit *v = &w.at(first_), *end = v + (last_ - first_); v != end; ++v) release_saved(static_cast<node&>(*v->at));
  }
  /// Runs leaves that wait for nothing more and that the group does not add to.
  EBB_INLINE void complete(backward_pass& pass) const {
    walk& w = pass.vertices();
    for (int v : arrivals_)
      if (visit& to = w.at(v); to.waiting == 0) pass.run_leaf(to);
  }

  EBB_ONCE static bool is_retained(vertex& v, int output) {
    const exclusive alone(v);
    return v.hooks->retained[static_cast<std::size_t>(output)].value.defined;
  }
  static bool is_among(const vec<int>& list, int count, int x) {
    return std::find(list.begin(), list.begin() + count, x) != list.begin() + count;
  }
  static leaf& leaf_at(walk& w, int l) { return static_cast<leaf&>(*w.at(l).at); }

  /// An array at this offset in bytes from its vertex, or, if it has none, from the gradients under way.
  struct source {
    int at = -1, offset = 0;
  };
  EBB_INLINE static storage& array_at(walk& w, const source& x) {
    char* const base = x.at < 0 ? reinterpret_cast<char*>(w.gradients()) : reinterpret_cast<char*>(w.at(x.at).at);
    return *std::launder(reinterpret_cast<storage*>(base + x.offset));
  }
  const source& source_of(int argument) const { return sources_[argument]; }
  /// Whether each argument is where its source says.
  EBB_INLINE bool finds_arrays() const { return are_arrays_ && is_single_threaded(); }
  /// Otherwise this puts them into s.from. False if an update is not ready.
  EBB_ONCE_APART bool find_arguments(walk& w, group_scratch& s) const {
    const int count = sources_.size();
    const bool alone = is_single_threaded();
    if (!alone) s.held.reserve(count);  // their addresses are kept: other threads may release nodes
    s.from.shrink(0);
    group_source* const to = s.from.extend(count);
    for (const group_interface::update& u : interface_.updates)
      if (!hook_of(leaf_at(w, u.leaf), u.hook)->is_ready()) return false;
    const capture_place* last = nullptr;  // whose hook has these values
    const void* values[max_bound];
    for (int a = 0; a < count; ++a) {
      const capture_place& p = interface_.arguments[a];
      vertex& v = *w.at(p.at).at;
      switch (p.is) {
        case capture_place::kind::slot:
        case capture_place::kind::leaf_gradient:
        case capture_place::kind::leaf_value: to[a] = group_source(&array_at(w, sources_[a])); break;
        case capture_place::kind::state: to[a] = group_source(hook_of(v, p.number)->states() + p.value); break;
        case capture_place::kind::saved:
          if (alone) to[a] = group_source(&array_at(w, sources_[a]));
          else to[a] = group_source(&s.held[s.held.push(detail::saved_value(static_cast<node&>(v), p.number))]);
          break;
        default:
          if (!last || last->at != p.at || last->number != p.number) hook_of(v, p.number)->values(values);
          last = &p;
          to[a] = group_source(values[p.value]);
      }
    }
    return true;
  }
  EBB_INLINE storage& argument(walk& w, const group_scratch& s, int number) const {
    return finds_arrays() ? array_at(w, sources_[number]) : s.from[number].array();
  }

  /// Whether a result of so many bytes may be written over `old`, the argument in the place where the result belongs.
  EBB_INLINE bool fits_over(backward_pass& pass, const group_scratch& s, int result, const storage& old, std::size_t bytes) const {
    return old.bytes() == bytes && (old.use_count() == 1 || is_free(pass, s, interface_.results[result], old));
  }
  EBB_ONCE_APART storage result_array(backward_pass& pass, const group_scratch& s, int result, std::size_t bytes) const {
    if (const int over = interface_.results[result].over; over >= 0)
      if (const storage& old = argument(pass.vertices(), s, over); fits_over(pass, s, result, old, bytes)) return old;
    return storage(bytes);
  }

  /// At its end, all arrays of a run are dropped.
  struct forgetting {
    explicit forgetting(group_scratch& scratch) : s(scratch) {}
    forgetting(const forgetting&) = delete;
    forgetting& operator=(const forgetting&) = delete;
    EBB_INLINE ~forgetting() {
      if (!s.results.empty() || !s.held.empty()) [[unlikely]] s.forget();
    }
    group_scratch& s;
  };
  /// In the order of their addresses, so that two threads never wait for each other.
  class leaf_locks {
   public:
    EBB_INLINE leaf_locks(const merged_group& g, walk& w, group_scratch& s) : locked_(s.locked) {
      if (!is_single_threaded()) lock(g, w);
    }
    leaf_locks(const leaf_locks&) = delete;
    leaf_locks& operator=(const leaf_locks&) = delete;
    EBB_INLINE ~leaf_locks() {
      if (!locked_.empty()) [[unlikely]] unlock();
    }

   private:
    EBB_ONCE_APART void lock(const merged_group& g, walk& w) {
      locked_.shrink(0);
      for (int l : g.leaves_) locked_.push(&leaf_at(w, l));
      for (int i = 1; i < locked_.size(); ++i)  // few
        for (int j = i; j > 0 && locked_[j] < locked_[j - 1]; --j) std::swap(locked_[j], locked_[j - 1]);
      for (leaf* l : locked_) exclusive::lock(*l);
    }
    EBB_ONCE_APART void unlock() {
      for (leaf* l : locked_) exclusive::unlock(*l);
      locked_.shrink(0);
    }

    vec<leaf*>& locked_;
  };

 private:
  struct expectation {
    int at, output;
    bool defined;
  };
  EBB_ONCE void add_source(const capture_place& p) {
    const leaf any;
    const auto place_in_leaf = [&](const storage& x) {
      return static_cast<int>(reinterpret_cast<const char*>(&x) - reinterpret_cast<const char*>(static_cast<const vertex*>(&any)));
    };
    source s;
    switch (p.is) {
      case capture_place::kind::slot:
        s.offset = (r_.visit_at(p.at).first + p.number) * static_cast<int>(sizeof(gradient)) + static_cast<int>(offsetof(gradient, value));
        break;
      case capture_place::kind::saved:  // as node::saved
        s.offset = static_cast<int>(sizeof(node) + r_.node_at(p.at).edges * sizeof(edge)) + p.number * static_cast<int>(sizeof(storage));
        break;
      case capture_place::kind::leaf_gradient: s.offset = place_in_leaf(any.grad.value); break;
      case capture_place::kind::leaf_value: s.offset = place_in_leaf(any.value); break;
      default: are_arrays_ = false;
    }
    if (p.is != capture_place::kind::slot) s.at = p.at;
    sources_.push(s);
  }

  /// Whether nobody else owns the array when it is written. Nodes that run before a leaf's value is updated have released it by then.
  EBB_ONCE_APART bool is_free(backward_pass& pass, const group_scratch& s, const group_interface::result& x, const storage& old) const {
    auto others = static_cast<std::ptrdiff_t>(old.use_count()) - 1;
    if (others == 0 || x.to.is != capture_place::kind::leaf_value || pass.options().retain_graph) return others == 0;
    const auto is_old = [&](const storage& one) { return one.data() == old.data(); };
    for (const group_interface::result& r : interface_.results)
      if (r.shared >= 0 && r.is_argument && argument(pass.vertices(), s, r.shared).data() == old.data()) return false;
    int last = -1;
    for (const group_interface::update& u : interface_.updates)
      if (u.leaf == x.to.at) last = u.last;
    for (int i = first_; i <= last; ++i) {
      node& n = static_cast<node&>(*pass.vertices().at(i).at);
      others -= std::count_if(n.saved(), n.saved() + n.program->saved, is_old);
    }
    return others == std::count_if(s.held.begin(), s.held.end(), is_old);
  }
  EBB_ONCE static hook* hook_of(const vertex& v, int number) {
    for (const hook_list::entry& e : v.hooks->entries)
      if (e.call && number-- == 0) return e.call.get();
    return nullptr;
  }

  /// A value that stays was written in its place.
  EBB_INLINE static void put(storage& to, storage& value, bool stays) {
    if (!stays) to = std::move(value);
  }
  EBB_INLINE static void put(gradient& g, storage& value, bool stays) {
    put(g.value, value, stays);
    if (g.from) g.from = nullptr, g.output = 0;
    g.defined = true;
  }

  vec<expectation> expected_;
  vec<source> sources_;  // of the arguments
  bool are_arrays_;
  vec<int> slots_;     // of its nodes, with gradients that have come
  vec<int> arrivals_;  // leaves that it does not add to, once for each edge; first in the order in which they are completed
  vec<int> leaves_;    // that it adds to
  vec<std::pair<int, int>> retained_;  // vertices and outputs
};

}  // namespace ebb::inline EBB_ABI
