// test/capture/allocations.cpp — a hit allocates nothing but gradients; if an allocation fails in a capture or a replay, nothing is
// lost.
// SPDX-License-Identifier: BSL-1.0
// covers: cache.hpp group.hpp
#include "../autograd/failing_allocations.hpp"
#include "../equal.hpp"

#include <ebb/ebb.hpp>

#include <memory>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto both = ebb::compile([](auto x, auto y) { return std::tuple(x * ebb::tanh(y), x + y); });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
constexpr auto bias = ebb::compile([](auto x) { return x + 10; });

/// How much ten steps allocate once four have run: forward, backward, with the pool that keeps arrays.
std::size_t in_steady_state(auto&& step) {
  const pool_limit scope(std::size_t{256} << 20);  // as without a sanitizer
  ca::reset();
  const ca::enable on;
  for (int i = 0; i < 4; ++i) step();
  const auto before = ebb::counters().compiled_autograd;
  const std::size_t made = allocations::in([&] {
    for (int i = 0; i < 10; ++i) step();
  });
  const auto after = ebb::counters().compiled_autograd;
  CHECK(after.hits == before.hits + 10);
  CHECK(after.captures == before.captures);
  return made;
}

}  // namespace

TEST_CASE("a hit allocates nothing: the tutorial, with and without a hook") {
  using row = ebb::variable<float, 10>;
  const ebb::variable<float, 10, 10> w(ebb::tensor<float, 10, 10>::full(0.25f));
  const row b(ebb::tensor<float, 10>::full(0.5f));
  const auto x = ebb::tensor<float, 10>::full(2.f);
  const auto step = [&] {
    const row h = layer(x, w, b);
    total(bias(h)).backward();
  };
  CHECK(in_steady_state(step) == 0);
  b.register_hook([](auto g) { return g + 10; });
  CHECK(in_steady_state(step) == 0);
}

TEST_CASE("a hit allocates nothing: a chain of 100, hooks with numbers bound, accumulation, new leaves, grad") {
  const var x(array::full(1.f, 100)), y(array::full(2.f, 100));
  CHECK(in_steady_state([&] {
    var v = x;
    for (int i = 0; i < 50; ++i) v = scaled(product(v, y));
    total(v).backward();
  }) == 0);
  CHECK(in_steady_state([&] {
    const auto [p, s] = both(x, y);
    total(product(p, s)).backward();
  }) == 0);
  x.register_hook(ebb::bind(0.5f, [](auto c, auto g) { return g * c; }));
  y.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p - g * 0.25, ebb::nothing); });
  CHECK(in_steady_state([&] { total(scaled(product(scaled(x), y))).backward(); }) == 0);
  const array value = array::full(1.f, 100);
  CHECK(in_steady_state([&] {
    const var own(value);
    total(scaled(scaled(product(own, own)))).backward();
  }) == 0);
  int calls = 0;
  const var h(array::full(1.f, 100));
  h.register_hook([&](const array&) { ++calls; });  // opaque
  CHECK(in_steady_state([&] { total(scaled(product(h, h))).backward(); }) == 0);
  CHECK(calls == 14);
}

TEST_CASE("captured or not, a backward allocates the gradients that leave it; a merged chain does not allocate those in between") {
  const pool_limit scope(0);
  const ca::enable on;
  const var x(array::full(1.f, 100)), y(array::full(2.f, 100));
  const array seed = array::full(1.f, 100);
  const auto chain = [&](int n) {
    var a = x;
    for (int i = 0; i < n; ++i) a = i % 2 ? scaled(a) : product(a, y);
    return a;
  };
  const auto made = [&](int n, bool captured) {
    var a = chain(n);
    ebb::backward(a, {.seeds = {seed}, .compiled_autograd = captured});
    a = chain(n);
    ebb::backward(a, {.seeds = {seed}, .compiled_autograd = captured});
    a = chain(n);
    return allocations::in([&] { ebb::backward(a, {.seeds = {seed}, .compiled_autograd = captured}); });
  };
  const std::size_t plain = made(40, false), captured = made(40, true), shorter = made(20, true);
  CHECK(captured < plain);
  CHECK(captured - shorter < 5);  // one group or two, not 20 nodes
}

TEST_CASE("CA-124: a merged chain needs no memory for gradients between its nodes, and releases saved values") {
  const pool_limit scope(0);
  constexpr std::size_t n = 20'000;
  const var x(array::full(0.5f, n)), w(array::full(2.f, n));
  const auto arrays_at_most = [&](bool captured) {
    std::ptrdiff_t most = 0;
    for (int run = 0; run < 3; ++run) {
      var v = x;
      for (int i = 0; i < 10; ++i) v = scaled(product(v, w));
      const scalar out = total(v);
      v = var();
      const std::ptrdiff_t before = allocations::live_bytes;
      most = allocations::most_bytes_in([&] { ebb::backward(out, {.compiled_autograd = captured}); });
      CHECK(allocations::live_bytes < before);
    }
    return static_cast<double>(most) / static_cast<double>(n * sizeof(float));
  };
  CHECK(arrays_at_most(false) > 1.9);
  CHECK(arrays_at_most(true) < 1.1);  // the gradient of the sum, spread
  ca::reset();
}

TEST_CASE("a capture costs the same with and without a scope: reasons that nobody reads are not looked for") {
  ca::reset();
  const var x(array{1, 2, 3});
  const auto structure = [&](int k) {
    var v = x;
    for (int bit = 0; bit < 6; ++bit) v = k >> bit & 1 ? product(v, x) : scaled(v);
    return total(v);
  };
  const auto captured = [&](auto&& backward) {  // beside others that begin alike
    ca::clear_cache();
    for (int k = 0; k < 60; ++k) backward(structure(k));
    const scalar out = structure(63);
    return allocations::in([&] { backward(out); });
  };
  const auto plainly = [](const scalar& out) { out.backward(); };
  std::size_t in_scope = 0;
  {
    const ca::enable on;
    in_scope = captured(plainly);
  }
  CHECK(captured([](const scalar& out) { ebb::backward(out, {.compiled_autograd = true}); }) == in_scope);
  ebb::config().compiled_autograd = true;
  CHECK(captured(plainly) == in_scope);
  CHECK(ebb::counters().compiled_autograd.captures == 183);
  ca::reset();
}

#if EBB_EXCEPTIONS
namespace {

struct leaves {
  var x{array{1, 2, 3, 4, 5}}, y{array{2, 1, 0, -1, 3}}, z{array{1, 1, 1, 1, 1}};
  std::vector<var> all() const { return {x, y, z}; }
};

/// Chains, fan-in and fan-out, a shared gradient, traced and opaque hooks, a retained gradient.
void record_and_walk(const leaves& l, bool create_graph) {
  const auto [p, s] = both(l.x, l.y);
  const var q = product(p, s), r = scaled(q);
  p.register_hook([](auto g) { return g * 0.5; });
  r.register_hook(ebb::bind(2.f, [](auto c, auto g) { return g * c; }));
  q.retain_grad();
  const struct forget {  // a gradient with a history owns what it is the gradient of
    var v;
    ~forget() { v.zero_grad(); }
  } at_end{q};
  s.register_hook([](const array&) {});
  ebb::backward(total(scaled(scaled(product(product(r, q), product(l.z, l.z))))),
                {.create_graph = create_graph, .compiled_autograd = true});
}

std::vector<array> gradients(const leaves& l) {
  std::vector<array> g;
  for (const var& v : l.all()) g.push_back(v.grad().defined() ? v.grad().value() : array{});
  return g;
}

}  // namespace

TEST_CASE("an allocation that fails in a capture or in a replay throws std::bad_alloc and leaves gradients whole") {
  const pool_limit scope(0);
  for (const bool hit : {false, true})
    for (const bool create_graph : {false, true})
      for (const bool preset : {false, true}) {
        INFO("hit " << hit << ", create_graph " << create_graph << ", preset " << preset);
        const auto begin = [&] {
          auto l = std::make_unique<leaves>();
          if (preset)
            for (var v : l->all()) v.set_grad(array{1, 1, 1, 1, 1});
          return l;
        };
        const auto end = [](std::unique_ptr<leaves>& l) {
          for (var v : l->all()) v.zero_grad();
          l.reset();
        };
        ca::clear_cache();
        auto l = begin();
        const std::vector<array> before = gradients(*l);
        {
          const ca::disable plain;
          auto whole = begin();
          record_and_walk(*whole, create_graph);  // and tables that are made once
          end(whole);
        }
        record_and_walk(*l, create_graph);
        const std::vector<array> after = gradients(*l);
        end(l);
        if (!hit) ca::clear_cache();

        l = begin();
        std::ptrdiff_t live = 0;  // after the first failure: Catch and the thread's lists keep something too
        const int failures = fail_each([&] { record_and_walk(*l, create_graph); }, [&](bool failed) {
          {
            const std::vector<array> g = gradients(*l);
            for (std::size_t i = 0; i < 3; ++i) {
              const bool is_whole = ebb::all_equal(g[i], before[i]) || ebb::all_equal(g[i], after[i]);
              if (!is_whole || !failed) CHECK(ebb::all_equal(g[i], after[i]));
            }
          }
          end(l);
          l = begin();
          record_and_walk(*l, create_graph);  // the next call works
          if (!test::equal(gradients(*l), after)) FAIL("the next call does not work");
          end(l);
          if (!hit) ca::clear_cache();
          l = begin();
          if (live == 0 && hit) live = allocations::live;
          if (hit && allocations::live != live) CHECK(allocations::live == live);
        });
        end(l);
        CHECK(failures > (hit ? 30 : 100));
      }
  ca::reset();
}

TEST_CASE("a captured backward that ran out of memory can be repeated if the graph is retained") {
  const pool_limit scope(0);
  const var x(array{1, 2, 3}), y(array{4, 5, 6});
  const auto [p, s] = both(x, y);
  const scalar out = total(scaled(scaled(product(p, s))));
  for (const bool hit : {false, true}) {
    const auto [gx, gy] = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true, .compiled_autograd = false});
    fail_each(
        [&] {
          if (!hit) ca::clear_cache();
          const auto g = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true, .compiled_autograd = true});
          CHECK(ebb::all_equal(std::get<0>(g).value(), gx.value()));
          CHECK(ebb::all_equal(std::get<1>(g).value(), gy.value()));
        },
        [&](bool) {
          for (var v : {x, y}) v.zero_grad();
          ebb::backward(out, {.retain_graph = true, .compiled_autograd = true});
          CHECK(ebb::all_equal(x.grad().value(), gx.value()));
          CHECK(ebb::all_equal(y.grad().value(), gy.value()));
        });
  }
  ca::reset();
}
#endif
