// bench/tape/chain.hpp — chains of one-op segments on 16 elements: the cost of a node to record, to run backward and to destroy.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../clock.hpp"

#include <ebb/ebb.hpp>

#include <vector>

namespace {

using small = ebb::tensor<float, 16>;
using tracked = ebb::variable<float, 16>;

inline double thread_nanoseconds() { return 1e9 * bench::thread_seconds(); }
using bench::median;

/// ns for each node.
struct chain_cost {
  double record, backward, destroy;
};

/// `length` calls of f, one after another; there are enough chains at once that reading the clock does not show.
template <class F>
[[gnu::noinline]] chain_cost measure_chain(F f, int length, int rounds) {
  const tracked x(small::full(0.5f));
  const small seed = small::full(1.f);
  std::vector<tracked> end(static_cast<std::size_t>(std::max(1, 2000 / length)));
  std::vector<double> record, backward, destroy;
  for (int round = 0; round < rounds; ++round) {
    const double begin = thread_nanoseconds();
    for (tracked& y : end) {
      y = f(x);
      for (int k = 1; k < length; ++k) y = f(y);
    }
    const double recorded = thread_nanoseconds();
    for (tracked& y : end) y.backward(seed);
    const double run = thread_nanoseconds();
    for (tracked& y : end) y = {};
    const double nodes = static_cast<double>(length) * static_cast<double>(end.size());
    destroy.push_back((thread_nanoseconds() - run) / nodes);
    backward.push_back((run - recorded) / nodes);
    record.push_back((recorded - begin) / nodes);
  }
  return {median(record), median(backward), median(destroy)};
}

/// The kernel alone: the same function on arrays, without a tape.
template <class F>
[[gnu::noinline]] double measure_kernel(F f, int rounds) {
  constexpr int calls = 2000;
  small a = small::full(0.5f), b;
  std::vector<double> time;
  for (int round = 0; round < rounds; ++round) {
    const double begin = thread_nanoseconds();
    for (int i = 0; i < calls; ++i) f(ebb::into(i % 2 ? a : b), i % 2 ? b : a);
    time.push_back((thread_nanoseconds() - begin) / calls);
  }
  return median(time);
}

inline constexpr auto scale = ebb::compile([](auto x) { return x * 1.01f; });
inline constexpr auto bend = ebb::compile([](auto x) { return ebb::tanh(x); });

}  // namespace
