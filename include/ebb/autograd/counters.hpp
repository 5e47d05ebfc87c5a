// ebb/autograd/counters.hpp — counters of backwards, captures and programs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/pool.hpp"
#include "../base/vec.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace ebb::inline EBB_ABI {

/// The counters of the process, at the moment of the call.
struct counter_values {
  struct {
    std::uint64_t captures = 0;      // graphs made: all misses
    std::uint64_t compiles = 0;      // merged programs made of them
    std::uint64_t hits = 0;
    std::uint64_t new_node_misses = 0, new_shape_misses = 0;
    std::uint64_t evictions = 0;
  } compiled_autograd;
  /// Distinct programs that backwards ran: regions, or a captured backward as one. A backward that is captured again, because it was
  /// evicted or has other sizes, is another program.
  std::uint64_t unique_graphs = 0;
};

namespace detail {

/// The programs that have run.
struct graph_set {
  std::mutex mutex;
  vec<std::uintptr_t> graphs;  // in order

  EBB_ONCE void add(std::uintptr_t graph) {
    if (std::binary_search(graphs.begin(), graphs.end(), graph)) return;
    graphs.push(graph);
    std::rotate(std::upper_bound(graphs.begin(), graphs.end() - 1, graph), graphs.end() - 1, graphs.end());
  }

  static graph_set& of_process() {
    static graph_set s;
    return s;
  }
};
struct counter_state {
  std::atomic<std::uint64_t> captures{0}, compiles{0}, hits{0}, new_node_misses{0}, new_shape_misses{0}, evictions{0};
  std::atomic<bool> notes_graphs{false};  // set by the first clear_counters: programs that do not count pay nothing
  std::atomic<std::uint64_t> clears{0};

  /// The address of an object with static lifetime, or an odd number.
  EBB_ONCE void note(std::uintptr_t graph) {
    graph_set& s = graph_set::of_process();
    const std::lock_guard<std::mutex> alone(s.mutex);
    s.add(graph);
  }
  void note(const void* graph) { note(reinterpret_cast<std::uintptr_t>(graph)); }
};
inline constinit counter_state all_counters{};
EBB_INLINE counter_state& counting() { return all_counters; }
/// Adds one; atomically only if the process has threads.
EBB_INLINE void count_one(std::atomic<std::uint64_t>& n) {
  if (is_single_threaded()) n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else n.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail

/// Sets all counters to zero. unique_graphs counts from the first call on.
EBB_COLD void clear_counters() {
  detail::counter_state& c = detail::counting();
  for (std::atomic<std::uint64_t>* n : {&c.captures, &c.compiles, &c.hits, &c.new_node_misses, &c.new_shape_misses, &c.evictions}) *n = 0;
  detail::graph_set& s = detail::graph_set::of_process();
  const std::lock_guard<std::mutex> alone(s.mutex);
  s.graphs.shrink(0);
  ++c.clears;
  c.notes_graphs = true;
}

EBB_COLD counter_values counters() {
  detail::counter_state& c = detail::counting();
  detail::graph_set& s = detail::graph_set::of_process();
  const std::lock_guard<std::mutex> alone(s.mutex);
  return {{c.captures, c.compiles, c.hits, c.new_node_misses, c.new_shape_misses, c.evictions},
          static_cast<std::uint64_t>(s.graphs.size())};
}

}  // namespace ebb::inline EBB_ABI
