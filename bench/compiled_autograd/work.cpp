// bench/compiled_autograd/work.cpp — tanh, times a saved array, tanh: three segments, against one loop for their whole backward.
// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <ebb/ebb.hpp>

#include <xsimd/xsimd.hpp>

namespace bench {
namespace {

using array = ebb::tensor<float, ebb::dyn>;
using tracked = ebb::variable<float, ebb::dyn>;

constexpr auto bend = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto product = ebb::compile([](auto x, auto a) { return x * a; });

struct graph {
  tracked bent, out;
};

struct data {
  array a, seed;
  tracked x;
  explicit data(std::size_t n)
      : a(array::generate([](std::size_t i) { return 0.5f + 0.001f * static_cast<float>(i * 7919 % 1000); }, n)),
        seed(array::generate([](std::size_t i) { return 1e-6f * static_cast<float>(i * 104729 % 1000); }, n)),
        x(array::generate([](std::size_t i) { return -1.f + 0.002f * static_cast<float>(i * 31 % 1000); }, n)) {
    preset();
  }
  void preset() { x.set_grad(array::full(0.25f, x.size())); }
  graph record(bool hook) const {
    const tracked bent = bend(x);
    if (hook) bent.register_hook([](auto g) { return g * 0.5f; });
    return {bent, bend(product(bent, a))};
  }
};

/// The whole backward in one pass over five arrays, four registers at a time.
template <bool Hook>
[[gnu::noinline]] void fused(const float* seed, const float* out, const float* a, const float* bent, float* grad, std::size_t n) {
  using V = xsimd::batch<float>;
  const V one(1.f), half(0.5f);
  const auto element = [&](std::size_t i) __attribute__((always_inline)) {
    const V y = V::load_aligned(out + i), t = V::load_aligned(bent + i);
    V g = V::load_aligned(seed + i) * (one - y * y) * V::load_aligned(a + i);
    if constexpr (Hook) g = g * half;
    return V::load_aligned(grad + i) + g * (one - t * t);
  };
  std::size_t i = 0;
  for (; i + 4 * V::size <= n; i += 4 * V::size) {
    const V g0 = element(i), g1 = element(i + V::size), g2 = element(i + 2 * V::size), g3 = element(i + 3 * V::size);
    g0.store_aligned(grad + i);
    g1.store_aligned(grad + i + V::size);
    g2.store_aligned(grad + i + 2 * V::size);
    g3.store_aligned(grad + i + 3 * V::size);
  }
  for (; i + V::size <= n; i += V::size) element(i).store_aligned(grad + i);
  for (; i < n; ++i) {
    float g = seed[i] * (1 - out[i] * out[i]) * a[i];
    if constexpr (Hook) g = g * 0.5f;
    grad[i] = grad[i] + g * (1 - bent[i] * bent[i]);
  }
}

void by_hand(const data& d, const graph& g, bool hook, array& grad) {
  (hook ? fused<true> : fused<false>)(d.seed.data(), g.out.data(), d.a.data(), g.bent.data(), grad.mutable_data(), grad.size());
}

void verify(session& s, data& d, bool hook) {
  array want = array::full(0.25f, d.x.size());
  by_hand(d, d.record(hook), hook, want);
  d.preset();
  {
    const ebb::compiled_autograd::disable plain;
    d.record(hook).out.backward(d.seed);
  }
  s.check(ebb::all_equal(d.x.grad().value(), want), "work, the plain engine against the loop", d.x.size());
  const ebb::compiled_autograd::enable captured;
  for (const char* what : {"work, a miss against the loop", "work, a hit against the loop"}) {
    d.preset();
    d.record(hook).out.backward(d.seed);
    s.check(ebb::all_equal(d.x.grad().value(), want), what, d.x.size());
  }
  const graph g = d.record(hook);
  const std::size_t before = allocations();
  g.out.backward(d.seed);
  s.check(allocations() == before, "work, allocations of a hit", d.x.size());
}

}  // namespace

void work(session& s) {
  std::printf("\nwork: tanh, times a saved array, tanh, added to a gradient that is there; a hook is g * 0.5. Over one loop by hand\n");
  std::printf("%9s %6s %11s %8s %17s %17s %17s\n", "n", "hook", "hand ns", "plain/", "captured/ (goal)", "captured us", "a hook costs");
  for (const std::size_t n : {16u, 1'000u, 10'000u, 100'000u, 1'000'000u, 10'000'000u}) {
    if (s.smoke && n > 100'000) continue;
    data d(n);
    array grad = array::full(0.25f, n);
    for (bool hook : {false, true}) verify(s, d, hook);
    const load l = load::of(8 * n + 1000, 100 + 0.25 * static_cast<double>(n), s.smoke);
    std::vector<graph> graphs(l.graphs);
    const auto hand = [&](bool hook) {
      return nanoseconds(l, [&](std::size_t i) { graphs[i] = {}, graphs[i] = d.record(hook); },
                         [&](std::size_t i) { by_hand(d, graphs[i], hook, grad); });
    };
    const auto backward = [&](bool hook) {
      return nanoseconds(l, [&](std::size_t i) { graphs[i] = {}, graphs[i] = d.record(hook); },
                         [&](std::size_t i) { graphs[i].out.backward(d.seed); });
    };
    const auto plain = [&](bool hook) {
      const ebb::compiled_autograd::disable scope;
      return backward(hook);
    };
    const auto captured = [&](bool hook) {
      const ebb::compiled_autograd::enable scope;
      return backward(hook);
    };
    const samples t(s.rounds(n), {[&] { return hand(false); }, [&] { return plain(false); }, [&] { return captured(false); },
                                  [&] { return hand(true); }, [&] { return plain(true); }, [&] { return captured(true); }});
    for (std::size_t hook : {0u, 1u}) {
      std::printf("%9zu %6s %11.1f %8.2f", n, hook ? "g*0.5" : "no", t.time(3 * hook), t.ratio(3 * hook + 1, 3 * hook));
      print_with_goal(t.ratio(3 * hook + 2, 3 * hook), n >= 1'000'000 ? 1.05 : n >= 10'000 ? 1.15 : 0, 3);
      print_with_goal(1e-3 * t.time(3 * hook + 2), n == 1'000 ? 0.25 : 0, 3);
      if (hook) print_with_goal(t.ratio(5, 2), 1.05, 3);
      std::printf("\n");
    }
    std::fflush(stdout);
  }
}

void recorded(session& s) {
  std::printf("\nthe same with a graph of the backward (create_graph), over the plain backward without one\n");
  std::printf("%9s %11s %17s %17s\n", "n", "plain us", "with a graph/", "merged/");
  for (const std::size_t n : {16u, 1'000u, 10'000u, 100'000u, 1'000'000u}) {
    if (s.smoke && n > 100'000) continue;
    const data d(n);
    const load l = load::of(16 * n + 1000, 2000 + 0.5 * static_cast<double>(n), s.smoke);
    std::vector<graph> graphs(l.graphs);
    const auto gradient = [&](std::size_t i, bool creates) {
      return creates ? ebb::grad(graphs[i].out, ebb::wrt(d.x), {.seeds = {d.seed}, .create_graph = true}).value()
                     : ebb::grad(graphs[i].out, ebb::wrt(d.x), {.seeds = {d.seed}}).value();
    };
    const auto time = [&](bool creates) {
      return nanoseconds(
          l, [&](std::size_t i) { graphs[i] = {}, graphs[i] = d.record(false); }, [&](std::size_t i) { gradient(i, creates); });
    };
    const auto plain = [&](bool creates) {
      const ebb::compiled_autograd::disable scope;
      return time(creates);
    };
    const auto merged = [&] {
      const ebb::compiled_autograd::enable scope;
      return time(true);
    };
    graphs[0] = d.record(false);
    const array want = gradient(0, false);
    for (int run = 0; run < 2; ++run) {
      const ebb::compiled_autograd::enable scope;
      graphs[0] = d.record(false);
      s.check(ebb::all_equal(gradient(0, true), want), "recorded", n);
    }
    const samples t(s.rounds(n), {[&] { return plain(false); }, [&] { return plain(true); }, merged});
    std::printf("%9zu %11.3f %17.2f %17.2f\n", n, 1e-3 * t.time(0), t.ratio(1, 0), t.ratio(2, 0));
    std::fflush(stdout);
  }
}

}  // namespace bench
