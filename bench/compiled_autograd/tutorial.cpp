// bench/compiled_autograd/tutorial.cpp — the case of PyTorch's tutorial: x + 10, + 10, sum, with graph breaks in between, and hooks.
// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <ebb/ebb.hpp>

#include <xsimd/xsimd.hpp>

namespace bench {
namespace {

using array = ebb::tensor<float, ebb::dyn>;
using tracked = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

constexpr auto shift = ebb::compile([](auto x) { return x + 10; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

enum class hook { none, traced, opaque };
constexpr const char* name_of[] = {"no", "g+10", "opaque"};

scalar record(const tracked& x, hook h) {
  const tracked shifted = shift(x);
  if (h == hook::traced) shifted.register_hook([](auto g) { return g + 10; });
  if (h == hook::opaque) shifted.register_hook([](const array& g) { asm volatile("" : : "m"(*g.data())); });
  return total(shift(shifted));
}

/// The least work of this backward: one pass that reads the gradient and writes it.
[[gnu::noinline]] void fused(float* grad, float value, std::size_t n) {
  using V = xsimd::batch<float>;
  const V v(value);
  std::size_t i = 0;
  for (; i + 4 * V::size <= n; i += 4 * V::size)
    for (std::size_t j = i; j < i + 4 * V::size; j += V::size) (V::load_aligned(grad + j) + v).store_aligned(grad + j);
  for (; i < n; ++i) grad[i] += value;
}

struct data {
  tracked x;
  explicit data(std::size_t n) : x(array::full(1.f, n)) { preset(); }
  void preset() { x.set_grad(array::full(0.25f, x.size())); }
};

void verify(session& s, data& d, hook h) {
  array want = array::full(0.25f, d.x.size());
  fused(want.mutable_data(), h == hook::traced ? 11.f : 1.f, want.size());
  d.preset();
  {
    const ebb::compiled_autograd::disable plain;
    record(d.x, h).backward();
  }
  s.check(ebb::all_equal(d.x.grad().value(), want), "tutorial, the plain engine against the loop", d.x.size());
  const ebb::compiled_autograd::enable captured;
  for (const char* what : {"tutorial, a miss against the loop", "tutorial, a hit against the loop"}) {
    d.preset();
    record(d.x, h).backward();
    s.check(ebb::all_equal(d.x.grad().value(), want), what, d.x.size());
  }
  const scalar y = record(d.x, h);
  const std::size_t before = allocations();
  y.backward();
  s.check(allocations() == before, "tutorial, allocations of a hit", d.x.size());
}

/// Checks that a backward of another length is found too.
void verify_shapes(session& s) {
  const ebb::compiled_autograd::enable captured;
  ebb::compiled_autograd::clear_cache();
  const auto before = ebb::counters().compiled_autograd;
  for (std::size_t n : {10u, 11u, 5000u, 12u}) record(data(n).x, hook::traced).backward();
  const auto after = ebb::counters().compiled_autograd;
  s.check(after.captures - before.captures == 1 && after.hits - before.hits == 3, "tutorial, hits of other lengths", 10);
}

}  // namespace

void tutorial(session& s) {
  verify_shapes(s);
  std::printf("\ntutorial: x + 10, + 10, sum, added to a gradient that is there; a new shape is a hit, and has been checked to be one\n");
  std::printf("%9s %6s %11s %9s %17s %9s %17s %17s\n", "n", "hook", "hand ns", "plain us", "hit us (goal)", "hit/plain", "hit/hand",
              "new node us");
  for (const std::size_t n : {10u, 1'000u, 100'000u, 10'000'000u}) {
    if (s.smoke && n > 100'000) continue;
    data d(n);
    array grad = array::full(0.25f, n);
    for (hook h : {hook::none, hook::traced, hook::opaque}) {
      verify(s, d, h);
      const load l = load::of(1000, 100 + 0.1 * static_cast<double>(n), s.smoke);
      const load one{n >= 10'000 ? 1 : l.graphs, n >= 10'000 ? l.batches * l.graphs : l.batches, l.is_long};
      const load miss{1, s.smoke ? 1u : std::max<std::size_t>(1, one.graphs * one.batches / 50), l.is_long};
      std::vector<scalar> graphs(one.graphs);
      const auto make = [&](std::size_t i) { graphs[i] = {}, graphs[i] = record(d.x, h); };
      const auto run = [&](std::size_t i) { graphs[i].backward(); };
      const auto hand = [&] {
        return nanoseconds(one, make, [&](std::size_t) { fused(grad.mutable_data(), h == hook::traced ? 11.f : 1.f, n); });
      };
      const auto plain = [&] {
        const ebb::compiled_autograd::disable scope;
        return nanoseconds(one, make, run);
      };
      const auto hit = [&] {
        const ebb::compiled_autograd::enable scope;
        return nanoseconds(one, make, run);
      };
      const auto missed = [&] {
        const ebb::compiled_autograd::enable scope;
        return nanoseconds(miss, [&](std::size_t i) { ebb::compiled_autograd::clear_cache(), make(i); }, run);
      };
      const samples t(s.rounds(n), {hand, plain, hit, missed});
      std::printf("%9zu %6s %11.1f %9.3f", n, name_of[static_cast<int>(h)], t.time(0), 1e-3 * t.time(1));
      print_with_goal(1e-3 * t.time(2), n == 10 ? (h == hook::opaque ? 0.2 : 0.15) : n == 100'000 ? 12 : 0, 3);
      std::printf(" %9.2f", t.ratio(2, 1));
      print_with_goal(t.ratio(2, 0), n == 10'000'000 && h != hook::opaque ? 1.05 : 0, 2);
      print_with_goal(1e-3 * t.time(3), n == 10 ? 50 : 0, 2);
      std::printf("\n");
    }
    std::fflush(stdout);
  }
}

}  // namespace bench
