// test/autograd/many_threads.hpp — runs a function in many threads at once; arrays whose sums are exact in any order.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace many_threads {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

inline constexpr int threads = 8, rounds = 50;

/// Calls f(number) in each thread, all at once.
void at_once(auto f) {
  std::atomic<int> waiting = threads;
  std::vector<std::thread> all;
  for (int k = 0; k < threads; ++k)
    all.emplace_back([&, k] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      f(k);
    });
  for (std::thread& t : all) t.join();
}

inline array full(float v) { return array::full(v, 33); }
inline bool is(const var& g, float v) { return g.defined() && ebb::all_equal(g.value(), full(v)); }

}  // namespace many_threads
