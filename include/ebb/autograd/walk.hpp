// ebb/autograd/walk.hpp — the vertices of a backward, their order, and which of them are needed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the order of a backward]
// Nodes run in the order of falling sequence numbers: the latest first. A leaf receives its gradient as soon as it is complete, right
// after the node that returned the last part of it. Gradients that meet are added in the order of arrival. This order is part of the
// contract, on branching graphs too.
//
// [note: two passes in one graph]
// A pass claims the vertices that it walks, and stores its number for each in the vertex. A second pass over the same vertices, in another
// thread or in a hook, finds them claimed and uses a table.
#pragma once

#include "thread.hpp"
#include "vertex.hpp"

#include "../base/owned.hpp"
#include "../base/vec.hpp"

#include <algorithm>
#include <unordered_map>

namespace ebb::inline EBB_ABI {

/// One vertex in one pass.
struct visit {
  vertex* at = nullptr;
  int first = 0;    // index of its first gradient
  int edges = 0;    // index of its first edge: see walk::target
  int waiting = 0;  // parts of its gradients that have not arrived
  std::uint16_t outputs = 0;  // the number when the walk visited it
  bool needed = true, wanted = false;
  bool widens = false;  // see [note: gradients of another dtype]

  bool is_reached() const { return needed || wanted; }
};

/// A root with its seed, or a request with its gradient.
struct endpoint {
  counted<vertex> at;
  std::uint32_t output = 0;
  gradient value;
  int number = -1;  // of the visit; of a request: -1 if no path leads there
};

/// A finished walk without its vertices: nodes in order, then leaves.
struct known_walk {
  vec<visit> visits;
  vec<int> targets;
  int gradients = 0;
};

/// Memory of a walk, reused by the next walk of its thread: empty lists and undefined gradients.
struct walk_lists {
  vec<endpoint> roots, wishes;
  vec<visit> visits;
  vec<gradient> gradients, results;
  vec<int> targets, order, heap;
  walk_lists* next = nullptr;  // spare lists are linked: keeping one cannot fail

  /// May destroy vertices.
  EBB_INLINE static void clear(vec<endpoint>& list) {
    for (endpoint& e : list) {
      if (e.value.defined) e.value = {};
      e.at = nullptr;
      e.number = -1;
    }
    list.shrink(0);
  }
};

/// The vertices that can be reached from a few, and the order of the nodes among them.
class walk {
 public:
  walk(backward_pass& owner, tape_state& t) : owner_(owner), tape_(t), own_(t.spare ? t.spare : new_lists(t)) { t.spare = own_->next; }
  walk(const walk&) = delete;
  walk& operator=(const walk&) = delete;
  EBB_INLINE ~walk() {
    let_go();
    if (!finished_) forget_gradients();
    own_->visits.shrink(0);
    own_->targets.shrink(0);
    own_->order.shrink(0);
    own_->heap.shrink(0);
    walk_lists::clear(own_->roots);
    if (!own_->wishes.empty()) walk_lists::clear(own_->wishes);
    if (tape_.keeps_lists) {
      own_->next = tape_.spare;
      tape_.spare = own_;
    } else delete own_;
  }
  /// All gradients have been delivered.
  void finish() { finished_ = true; }

  vec<endpoint>& roots() { return own_->roots; }
  vec<endpoint>& wishes() { return own_->wishes; }
  const vec<endpoint>& wishes() const { return own_->wishes; }
  /// Numbers of visits of nodes, the latest node first.
  const vec<int>& order() const { return own_->order; }
  /// The number of the target of edge j, or -1.
  int target(const visit& v, int j) const { return targets_[v.edges + j]; }
  const int* targets(const visit& v) const { return targets_ + v.edges; }
  int size() const { return own_->visits.size(); }
  visit& at(int number) { return visits_[number]; }
  const visit& at(int number) const { return visits_[number]; }
  node& node_at(int number) const { return static_cast<node&>(*at(number).at); }
  gradient* gradients_of(const visit& v) { return gradients_ + v.first; }
  gradient* gradients() { return gradients_; }
  /// Room for the results of one node.
  EBB_ONCE gradient* results(int count) {
    if (own_->results.size() < count) own_->results.extend(count - own_->results.size());
    return own_->results.data();
  }

  /// The number of v, or -1.
  EBB_ONCE int find(const vertex& v) const {
    if (v.pass.load(std::memory_order_relaxed) == &owner_) return v.place;
    return elsewhere_ ? find_elsewhere(v) : known_ ? find_among_all(v) : -1;
  }
  /// Takes over a finished walk; the caller fills in the vertices of the returned visits. Claims nothing: other passes may walk here.
  EBB_ONCE visit* adopt(const known_walk& w) {
    known_ = &w;
    own_->visits.shrink(0);
    own_->visits.append(w.visits.data(), w.visits.size());
    visits_ = own_->visits.data();
    targets_ = w.targets.data();
    used_ = w.gradients;
    make_room();
    return visits_;
  }
  /// Empties the walk; roots and requests stay.
  EBB_ONCE void abandon() {
    let_go();
    known_ = nullptr;
    own_->visits.shrink(0);
    own_->targets.shrink(0);
    own_->order.shrink(0);
    used_ = 0;
  }
  EBB_INLINE int enter(vertex& v) {
    if (v.pass.load(std::memory_order_relaxed) == &owner_) return v.place;
    if (elsewhere_) [[unlikely]]
      if (const int known = find_elsewhere(v); known >= 0) return known;
    return add(v);
  }
  /// Follows all edges from the entered vertices.
  EBB_ONCE void collect() {
    for (int number; (number = pop()) >= 0;) {
      own_->order.push(number);
      const node& n = node_at(number);
      n.fetch_ahead();
      const int edges = n.program->edges;
      at(number).edges = own_->targets.size();
      int* to = own_->targets.extend(edges);
      for (const edge *e = n.edges(), *end = e + edges; e != end; ++e, ++to) {
        *to = e->to ? enter(*e->to) : -1;
        if (e->to) ++at(*to).waiting;
      }
    }
    targets_ = own_->targets.data();
    make_room();
  }
  /// Keeps the nodes that lead to wanted vertices: from the earliest to the latest, a node is needed if one of its operands is reached.
  EBB_ONCE void keep_what_is_wanted() {
    for (visit& v : own_->visits) {
      v.needed = v.at->is_leaf && v.wanted;
      v.waiting = 0;
    }
    for (int i = order().size(); i-- > 0;) {
      visit& v = at(order()[i]);
      for (int j = 0; j < node_at(order()[i]).program->edges; ++j)
        if (const int to = target(v, j); to >= 0) v.needed |= at(to).is_reached();
    }
    for (int number : order()) {
      if (!at(number).needed) continue;
      for (int j = 0; j < node_at(number).program->edges; ++j)
        if (const int to = target(at(number), j); to >= 0) ++at(to).waiting;
    }
  }

 private:
  EBB_INLINE void let_go() {
    if (known_) return;
    for (const visit& v : own_->visits)
      if (v.at->pass.load(std::memory_order_relaxed) == &owner_) v.at->pass.store(nullptr, std::memory_order_release);
    elsewhere_ = nullptr;
  }
  EBB_INLINE int add(vertex& v) {
    const int number = size();
    const std::uint16_t outputs = v.outputs.load(std::memory_order_relaxed);
    // Made in its place: a temporary is copied by a load that waits for the stores of single bytes.
    ::new (own_->visits.extend(1)) visit{.at = &v, .first = used_, .outputs = outputs, .widens = v.widens};
    visits_ = own_->visits.data();
    used_ += outputs;
    if (claim(v)) v.place = number;
    else enter_elsewhere(v, number);
    if (!v.is_leaf) push(number);
    return number;
  }
  EBB_ONCE void make_room() {
    if (own_->gradients.size() < used_) own_->gradients.extend(used_ - own_->gradients.size());
    gradients_ = own_->gradients.data();
  }
  EBB_ONCE_APART void forget_gradients() {
    for (gradient& g : own_->gradients) g = {};
    for (gradient& g : own_->results) g = {};
  }
  EBB_ONCE bool claim(vertex& v) {
    backward_pass* nobody = nullptr;
    if (!is_single_threaded()) return v.pass.compare_exchange_strong(nobody, &owner_, std::memory_order_acquire);
    if (v.pass.load(std::memory_order_relaxed)) return false;
    v.pass.store(&owner_, std::memory_order_relaxed);
    return true;
  }

  EBB_ONCE_APART int find_elsewhere(const vertex& v) const {
    const auto there = elsewhere_->find(&v);
    return there == elsewhere_->end() ? -1 : there->second;
  }
  EBB_ONCE_APART int find_among_all(const vertex& v) const {
    for (int i = 0; i < size(); ++i)
      if (at(i).at == &v) return i;
    return -1;
  }
  EBB_ONCE_APART void enter_elsewhere(const vertex& v, int number) {
    if (!elsewhere_) elsewhere_ = make_owned<std::unordered_map<const vertex*, int>>();
    elsewhere_->emplace(&v, number);
  }

  // thread_local objects without a destructor are accessed without a guard; the reaper frees the lists when the thread ends.
  struct reaper {
    tape_state& t;
    explicit reaper(tape_state& of) : t(of) { t.keeps_lists = true; }
    reaper(const reaper&) = delete;
    reaper& operator=(const reaper&) = delete;
    EBB_ONCE_CTOR ~reaper() {
      t.keeps_lists = false;
      while (walk_lists* const l = t.spare) {
        t.spare = l->next;
        delete l;
      }
    }
  };
  [[gnu::noinline]] static walk_lists* new_lists(tape_state& t) {
    static thread_local reaper at_the_end(t);
    return new walk_lists;
  }

  // Nodes to visit. The latest one stays outside of the heap: a chain never uses the heap.
  bool is_earlier(int a, int b) const { return at(a).at->sequence < at(b).at->sequence; }
  auto by_sequence() const {
    return [this](int a, int b) { return is_earlier(a, b); };
  }
  EBB_INLINE void push(int number) {
    if (latest_ < 0) latest_ = number;
    else push_on_heap(number);
  }
  EBB_ONCE_APART void push_on_heap(int number) {
    if (is_earlier(latest_, number)) std::swap(latest_, number);
    own_->heap.push(number);
    std::push_heap(own_->heap.begin(), own_->heap.end(), by_sequence());
  }
  EBB_INLINE int pop() {
    if (own_->heap.empty() || (latest_ >= 0 && is_earlier(own_->heap[0], latest_))) return std::exchange(latest_, -1);
    return pop_from_heap();
  }
  EBB_ONCE_APART int pop_from_heap() {
    vec<int>& heap = own_->heap;
    std::pop_heap(heap.begin(), heap.end(), by_sequence());
    return heap.pop();
  }

  backward_pass& owner_;
  tape_state& tape_;
  walk_lists* own_;
  const known_walk* known_ = nullptr;
  visit* visits_ = nullptr;       // the lists' data
  gradient* gradients_ = nullptr;
  const int* targets_ = nullptr;
  int latest_ = -1;
  int used_ = 0;  // gradients
  bool finished_ = false;
  owned<std::unordered_map<const vertex*, int>> elsewhere_;
};

}  // namespace ebb::inline EBB_ABI
