// bench/compiled_autograd/chains.cpp — the cost of a node: to record it, to find it again, to run it and to capture it.
// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace bench {
namespace {

using small = ebb::tensor<float, 16>;
using tracked = ebb::variable<float, 16>;

constexpr auto scale = ebb::compile([](auto x) { return x * 1.01f; });
constexpr auto bend = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto sum = ebb::compile([](auto x, auto y) { return x + y; });

/// splitmix64
struct generator {
  std::uint64_t state;
  std::size_t below(std::size_t n) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % n;
  }
};

tracked chain(const tracked& x, int length) {
  tracked y = scale(x);
  for (int k = 1; k < length; ++k) y = scale(y);
  return y;
}

/// A few ops on any of four values; unused results are no part of the graph.
tracked random_graph(const tracked* leaves, std::uint64_t seed) {
  generator g{seed};
  tracked live[] = {leaves[0], leaves[1], leaves[2], leaves[3]};
  for (std::size_t i = 0, n = 8 + g.below(24); i < n; ++i) {
    const tracked &a = live[g.below(4)], &b = live[g.below(4)];
    tracked& to = live[g.below(4)];
    switch (g.below(4)) {
      case 0: to = scale(a); break;
      case 1: to = bend(a); break;
      case 2: to = product(a, b); break;
      default: to = sum(a, b);
    }
  }
  return sum(sum(live[0], live[1]), sum(live[2], live[3]));
}

std::size_t count_nodes(const tracked& y) {
  std::size_t nodes = 0;
  for (const std::string& name : ebb::execution_order(y)) nodes += name.rfind("accumulate ", 0) != 0;
  return nodes;
}

/// Uses up the memory of nodes and returns it in random order: the next nodes are scattered.
void scatter() {
  const tracked x(small::full(0.5f));
  std::vector<tracked> all;
  for (int i = 0; i < 40'000; ++i) all.push_back(scale(x));
  generator g{7};
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[g.below(i)]);
  for (tracked& y : all) y = {};
}

/// ns to find the backward of y, which must be in the cache.
double find(session& s, const tracked& y, int length) {
  const ebb::capturing_engine& engine = ebb::detail::default_capturing;
  ebb::backward_pass pass({.engine = &engine});
  pass.add_root(*y.history(), y.output(), {});
  const int repeat = s.smoke ? 2 : std::max(4, 20'000 / length);
  bool found = true;
  const double begin = wall_seconds();
  for (int i = 0; i < repeat; ++i) {
    found &= static_cast<bool>(engine.find(engine, pass));
    pass.vertices().abandon();
  }
  const double time = (wall_seconds() - begin) / repeat;
  s.check(found, "look-up", static_cast<std::size_t>(length));
  return 1e9 * time;
}

}  // namespace

void look_up(session& s) {
  std::printf("\nlook-up: one-op segments, ns for finding the captured backward and comparing all of it\n");
  std::printf("%-22s %12s %17s\n", "nodes", "all", "a node (goal)");
  const small seed = small::full(1.f);
  const auto row = [&](const char* what, int length, double goal) {
    tracked x(small::full(0.5f));
    x.set_grad(seed);
    {
      const ebb::compiled_autograd::enable captured;
      chain(x, length).backward(seed);
    }
    const tracked y = chain(x, length);
    const std::uint64_t captures = ebb::counters().compiled_autograd.captures;
    std::vector<double> times;
    for (int round = 0; round < s.rounds(1); ++round) times.push_back(find(s, y, length));
    s.check(ebb::counters().compiled_autograd.captures == captures, "look-up: captured once more", static_cast<std::size_t>(length));
    std::printf("%6d %-15s %12.1f", length, what, median(times));
    print_with_goal(median(times) / length, goal, 2);
    std::printf("\n");
  };
  for (int length : {1, 10, 100, 1'000, 10'000}) row("", length, length == 1 ? 0 : 10);
  scatter();
  row("scattered", 10'000, 20);
}

void chains(session& s) {
  std::printf("\nchains of x * 1.01, 16 elements, ns a node; the whole captured backward in us\n");
  std::printf("%6s %9s %9s %9s %17s\n", "nodes", "record", "plain", "captured", "captured us");
  const small seed = small::full(1.f);
  tracked x(small::full(0.5f));
  for (int length : {1, 10, 100, 1'000}) {
    const load l = load::of(static_cast<std::size_t>(length) * 256, 30. * length, s.smoke);
    std::vector<tracked> end(l.graphs);
    const auto clear = [&](std::size_t i) { end[i] = {}; };
    const auto make = [&](std::size_t i) { clear(i), end[i] = chain(x, length); };
    const auto run = [&](std::size_t i) { end[i].backward(seed); };
    const auto record = [&] { return nanoseconds(l, clear, [&](std::size_t i) { end[i] = chain(x, length); }); };
    const auto plain = [&] {
      const ebb::compiled_autograd::disable scope;
      return nanoseconds(l, make, run);
    };
    const auto captured = [&] {
      const ebb::compiled_autograd::enable scope;
      return nanoseconds(l, make, run);
    };
    small want = small::full(1.f);
    for (int k = 0; k < length; ++k) want = want * 1.01f;
    want = want + 0.25f;
    const auto verify = [&](const char* what) {
      x.set_grad(small::full(0.25f));
      make(0);
      const std::size_t before = allocations();
      run(0);
      s.check(ebb::all_equal(x.grad().value(), want), what, static_cast<std::size_t>(length));
      return allocations() - before;
    };
    {
      const ebb::compiled_autograd::disable scope;
      verify("chain, the plain engine");
    }
    {
      const ebb::compiled_autograd::enable scope;
      verify("chain, a miss");
      s.check(verify("chain, a hit") == 0, "chain, allocations of a hit", static_cast<std::size_t>(length));
    }
    const samples t(s.rounds(1), {record, plain, captured});
    std::printf("%6d %9.1f %9.1f %9.1f", length, t.time(0) / length, t.time(1) / length, t.time(2) / length);
    print_with_goal(1e-3 * t.time(2), length == 1 ? 0.1 : length == 10 ? 0.3 : length == 100 ? 2.5 : 25, 3);
    std::printf("\n");
  }
}

void capture(session& s) {
  std::printf("\ncapture: what a miss takes more than a hit\n");
  std::printf("%-26s %6s %10s %10s %17s\n", "", "nodes", "hit us", "miss us", "more, ns a node");
  const small seed = small::full(1.f);
  const tracked leaves[] = {tracked(small::full(0.5f)), tracked(small::full(0.4f)), tracked(small::full(0.3f)), tracked(small::full(0.2f))};
  const auto row = [&](const char* what, auto graph, std::uint64_t kinds) {
    double nodes = 0;
    for (std::uint64_t k = 0; k < kinds; ++k) nodes += static_cast<double>(count_nodes(graph(k))) / static_cast<double>(kinds);
    const auto backwards = [&](bool misses) {
      const ebb::compiled_autograd::enable captured;
      double time = 0;
      for (std::uint64_t k = 0; k < kinds; ++k) {
        for (const tracked& l : leaves) tracked(l).set_grad(small::full(0.25f));
        if (misses) ebb::compiled_autograd::clear_cache();
        else graph(k).backward(seed);
        const tracked y = graph(k);
        const double begin = wall_seconds();
        y.backward(seed);
        time += wall_seconds() - begin - clock_cost(false);
      }
      return 1e9 * time / static_cast<double>(kinds);
    };
    const auto gradients = [&](std::uint64_t k) {
      for (const tracked& l : leaves) tracked(l).set_grad(small::full(0.25f));
      graph(k).backward(seed);
      return std::array{leaves[0].grad().value(), leaves[1].grad().value(), leaves[2].grad().value(), leaves[3].grad().value()};
    };
    for (std::uint64_t k = 0; k < kinds; ++k) {
      ebb::compiled_autograd::clear_cache();
      const auto want = [&] {
        const ebb::compiled_autograd::disable plain;
        return gradients(k);
      }();
      const ebb::compiled_autograd::enable captured;
      const auto same = [&] {
        return std::ranges::equal(gradients(k), want, [](const auto& a, const auto& b) { return ebb::all_equal(a, b); });
      };
      s.check(same() && same(), what, static_cast<std::size_t>(k));
    }
    const samples t(s.rounds(1), {[&] { return backwards(false); }, [&] { return backwards(true); }});
    std::printf("%-26s %6.0f %10.2f %10.2f", what, nodes, 1e-3 * t.time(0), 1e-3 * t.time(1));
    print_with_goal((t.time(1) - t.time(0)) / nodes, nodes < 2 ? 0 : 1000, 0);
    std::printf("\n");
  };
  for (int length : {1, 10, 100, 1'000}) row("chain", [&](std::uint64_t) { return chain(leaves[0], length); }, length < 1'000 ? 10 : 1);
  row("random graphs, the mean", [&](std::uint64_t k) { return random_graph(leaves, 1000 + k); }, s.smoke ? 5 : 64);
}

}  // namespace bench
