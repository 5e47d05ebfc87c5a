// ebb/autograd/walk.hpp — which vertices a backward meets, in which order, and which of them are needed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the order of a backward]
// Nodes run by falling sequence number: those that were made later first. A leaf takes its gradient as soon as that is complete, right
// after the node that gave the last part of it. Gradients that meet are added in the order in which they arrive. This order is part of
// the contract, on branching graphs too.
//
// [note: two passes in one graph]
// A pass claims the vertices that it walks, and keeps its number for each in the vertex itself. A second pass over the same vertices,
// in another thread or from within a hook, finds them claimed and looks them up in a table of its own.
#pragma once

#include "thread.hpp"
#include "vertex.hpp"

#include "../base/vec.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ebb::inline EBB_ABI {

/// One vertex in one pass.
struct visit {
  vertex* at;
  int first;        // of its gradients
  int outputs;      // how many there were when the walk came here
  int edges = 0;    // the first of them among all: see walk::target
  int waiting = 0;  // parts of its gradients that are still to come
  bool needed = true, wanted = false;

  bool is_reached() const { return needed || wanted; }
};

/// Where a gradient begins, or is asked for, and that gradient.
struct endpoint {
  counted<vertex> at;
  std::uint32_t output;
  gradient value;
  int number = -1;  // of the visit; of a wish: -1 if nothing leads there
};

/// A walk that has been made before, without its vertices: nodes in their order, then leaves.
struct known_walk {
  vec<visit> visits;
  vec<int> targets;
  int gradients = 0;
};

/// The vertices that can be reached from a few, and the order of the nodes among them. Memory is kept for the thread's next pass, and in
/// it gradients that are undefined: those of a pass that has come to its end.
class walk {
 public:
  explicit walk(backward_pass& owner) : owner_(owner), own_(take_lists()) {}
  walk(const walk&) = delete;
  walk& operator=(const walk&) = delete;
  ~walk() {
    let_go();
    own_->roots.clear();  // from here on vertices may end
    own_->wishes.clear();
    own_->visits.clear();
    if (!finished_) own_->forget_gradients();
    own_->targets.clear();
    own_->order.clear();
    own_->heap.clear();
    std::unique_ptr<lists>& spare = spare_lists();
    own_->next = std::move(spare);
    spare = std::move(own_);
  }
  /// No gradient is under way any more.
  void finish() { finished_ = true; }

  std::vector<endpoint>& roots() { return own_->roots; }
  std::vector<endpoint>& wishes() { return own_->wishes; }
  const std::vector<endpoint>& wishes() const { return own_->wishes; }
  /// Numbers of visits, the nodes that were made last first.
  const std::vector<int>& order() const { return own_->order; }
  /// The number of the vertex that edge j of a node leads to, or -1.
  int target(const visit& v, int j) const { return targets_[v.edges + j]; }
  int size() const { return static_cast<int>(own_->visits.size()); }
  visit& at(int number) { return visits_[number]; }
  const visit& at(int number) const { return visits_[number]; }
  node& node_at(int number) const { return static_cast<node&>(*at(number).at); }
  gradient* gradients_of(const visit& v) { return gradients_ + v.first; }
  gradient* gradients() { return gradients_; }
  /// Room for the results of one node.
  gradient* results(int count) {
    if (own_->results.size() < static_cast<std::size_t>(count)) own_->results.resize(static_cast<std::size_t>(count));
    return own_->results.data();
  }

  /// The number of v, or -1.
  int find(const vertex& v) const {
    if (v.pass.load(std::memory_order_relaxed) == &owner_) return v.place;
    return elsewhere_ ? find_elsewhere(v) : known_ ? find_among_all(v) : -1;
  }
  /// Takes over a walk; who knows it fills in the vertices, from what is returned. Nothing is claimed, so other passes may walk here.
  visit* adopt(const known_walk& w) {
    known_ = &w;
    own_->visits.assign(w.visits.begin(), w.visits.end());
    visits_ = own_->visits.data();
    targets_ = w.targets.data();
    used_ = w.gradients;
    make_room();
    return visits_;
  }
  /// The walk is none; roots and wishes stay.
  void abandon() {
    let_go();
    known_ = nullptr;
    own_->visits.clear();
    own_->targets.clear();
    own_->order.clear();
    used_ = 0;
  }
  EBB_INLINE int enter(vertex& v) {
    const int known = find(v);
    return known >= 0 ? known : add(v);
  }
  /// Follows all edges from what has been entered.
  void collect() {
    for (int number; (number = pop()) >= 0;) {
      own_->order.push_back(number);
      const node& n = node_at(number);
      at(number).edges = static_cast<int>(own_->targets.size());
      for (int j = 0; j < n.program->edges; ++j) {
        vertex* const to = n.edges()[j].to;
        own_->targets.push_back(to ? enter(*to) : -1);
        if (to) ++at(own_->targets.back()).waiting;
      }
    }
    targets_ = own_->targets.data();
  }
  /// Only what leads to wanted vertices remains: from the first nodes to the last, one is needed if one of its operands is reached.
  void keep_what_is_wanted() {
    for (visit& v : own_->visits) {
      v.needed = v.at->is_leaf && v.wanted;
      v.waiting = 0;
    }
    for (std::size_t i = order().size(); i-- > 0;) {
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
  void let_go() {
    if (known_) return;
    for (const visit& v : own_->visits)
      if (v.at->pass.load(std::memory_order_relaxed) == &owner_) v.at->pass.store(nullptr, std::memory_order_release);
    elsewhere_.reset();
  }
  int add(vertex& v) {
    const int number = size();
    const int outputs = v.outputs.load(std::memory_order_relaxed);
    own_->visits.push_back({&v, used_, outputs});
    visits_ = own_->visits.data();
    used_ += outputs;
    make_room();
    if (claim(v)) v.place = number;
    else enter_elsewhere(v, number);
    if (!v.is_leaf) push(number);
    return number;
  }
  void make_room() {
    if (static_cast<std::size_t>(used_) > own_->gradients.size()) own_->gradients.resize(2 * static_cast<std::size_t>(used_));
    gradients_ = own_->gradients.data();
  }
  bool claim(vertex& v) {
    backward_pass* nobody = nullptr;
    if (!is_single_threaded()) return v.pass.compare_exchange_strong(nobody, &owner_, std::memory_order_acquire);
    if (v.pass.load(std::memory_order_relaxed)) return false;
    v.pass.store(&owner_, std::memory_order_relaxed);
    return true;
  }

  [[gnu::noinline]] int find_elsewhere(const vertex& v) const {
    const auto there = elsewhere_->find(&v);
    return there == elsewhere_->end() ? -1 : there->second;
  }
  [[gnu::noinline]] int find_among_all(const vertex& v) const {
    for (int i = 0; i < size(); ++i)
      if (at(i).at == &v) return i;
    return -1;
  }
  [[gnu::noinline]] void enter_elsewhere(const vertex& v, int number) {
    if (!elsewhere_) elsewhere_ = std::make_unique<std::unordered_map<const vertex*, int>>();
    elsewhere_->emplace(&v, number);
  }

  struct lists {
    std::vector<endpoint> roots, wishes;
    std::vector<visit> visits;
    std::vector<gradient> gradients, results;
    std::vector<int> targets, order, heap;
    std::unique_ptr<lists> next;  // spare ones are linked: to keep one must not fail

    void forget_gradients() {
      gradients.clear();
      results.clear();
    }
  };
  static std::unique_ptr<lists>& spare_lists() {
    static thread_local std::unique_ptr<lists> spare;
    return spare;
  }
  static std::unique_ptr<lists> take_lists() {
    std::unique_ptr<lists>& spare = spare_lists();
    if (!spare) return std::make_unique<lists>();
    std::unique_ptr<lists> l = std::move(spare);
    spare = std::move(l->next);
    return l;
  }

  // Nodes to visit. The latest that was found stays out of the heap: a chain never touches it.
  bool is_earlier(int a, int b) const { return at(a).at->sequence < at(b).at->sequence; }
  auto by_sequence() const {
    return [this](int a, int b) { return is_earlier(a, b); };
  }
  void push(int number) {
    if (latest_ < 0) return static_cast<void>(latest_ = number);
    if (is_earlier(latest_, number)) std::swap(latest_, number);
    own_->heap.push_back(number);
    std::push_heap(own_->heap.begin(), own_->heap.end(), by_sequence());
  }
  int pop() {
    std::vector<int>& heap = own_->heap;
    if (heap.empty() || (latest_ >= 0 && is_earlier(heap.front(), latest_))) return std::exchange(latest_, -1);
    std::pop_heap(heap.begin(), heap.end(), by_sequence());
    const int number = heap.back();
    heap.pop_back();
    return number;
  }

  backward_pass& owner_;
  std::unique_ptr<lists> own_;
  const known_walk* known_ = nullptr;
  visit* visits_ = nullptr;       // where the lists stand now
  gradient* gradients_ = nullptr;
  const int* targets_ = nullptr;
  int latest_ = -1;
  int used_ = 0;  // gradients
  bool finished_ = false;
  std::unique_ptr<std::unordered_map<const vertex*, int>> elsewhere_;
};

}  // namespace ebb::inline EBB_ABI
