// test/capture/threads.cpp — threads that capture, hit and evict at once, on graphs of their own and on shared ones. Meant for
// ThreadSanitizer too.
// SPDX-License-Identifier: BSL-1.0
// covers: cache.hpp switch.hpp
//
// All numbers are small integers: the order in which threads add to a shared gradient does not show.
#include "../autograd/many_threads.hpp"

#include "../catch.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using namespace many_threads;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto both = ebb::compile([](auto x, auto y) { return std::tuple(x * y, x + y); });
constexpr auto twice = ebb::compile([](auto x) { return x * 2; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto mixed = ebb::compile([](auto x, auto y) { return x * ebb::sum(y); });  // no chain

auto counts() { return ebb::counters().compiled_autograd; }

}  // namespace

// Catch's macros are not for several threads: failures are counted.
TEST_CASE("eight threads capture, hit and evict, each in a cache of its own") {
  ca::reset();
  std::atomic<int> wrong = 0;
  at_once([&](int k) {
    const ca::enable scope;
    ca::set_cache_limit(static_cast<std::size_t>(k % 4 + 1));
    for (int round = 0; round < 2 * rounds; ++round) {
      const var x(full(1)), w(full(3));
      const int links = round % 7;
      var v = product(x, w);
      for (int i = 0; i < links; ++i) v = i % 2 ? product(v, x) : twice(v);
      if (k % 2) v.register_hook([](auto g) { return g * 2; });
      float seen = 0;
      v.register_hook([&](const array& g) { seen = g(0); });
      total(v).backward();
      const float scale = static_cast<float>((1 << (links + 1) / 2) * (k % 2 ? 2 : 1));
      wrong +=
          !is(w.grad(), scale) + !is(x.grad(), 3 * scale * static_cast<float>(1 + links / 2)) + (seen != static_cast<float>(k % 2 + 1));
    }
    wrong += ca::cache_size() > static_cast<std::size_t>(k % 4 + 1);
  });
  CHECK(wrong == 0);
  CHECK(counts().captures + counts().hits == threads * 2 * rounds);
  CHECK(counts().evictions > threads * rounds);
  CHECK(ca::cache_size() == 0);  // that of this thread
  ca::reset();
}

TEST_CASE("threads of both engines add to shared leaves, with hooks there") {
  const var x(full(1)), w(full(2)), v(full(3));
  std::atomic<int> hooks = 0, accumulated = 0;
  x.register_hook([&](const array&) { ++hooks; });
  v.register_hook([](auto g) { return g * 2; });
  w.register_post_accumulate_grad_hook([&](const var&) { ++accumulated; });
  at_once([&](int k) {
    for (int round = 0; round < rounds; ++round)
      ebb::backward(total(product(product(twice(product(x, w)), x), v)), {.compiled_autograd = k % 4 != 0});  // 2 x^2 w v
  });
  CHECK(is(x.grad(), threads * rounds * 24));
  CHECK(is(w.grad(), threads * rounds * 6));
  CHECK(is(v.grad(), threads * rounds * 8));
  CHECK(hooks == threads * rounds);
  CHECK(accumulated == threads * rounds);
}

TEST_CASE("threads of both engines add to shared leaves after a node that runs by itself, in chains of the leaves alone") {
  const var x(full(1)), w(full(2));
  x.register_hook([](auto g) { return g * 2; });
  w.register_hook([](auto g) { return g * 3; });
  w.accumulate_node().register_prehook([](auto g) { return g * 2; });
  const float n = static_cast<float>(x.value().size());
  at_once([&](int k) {
    for (int round = 0; round < rounds; ++round) ebb::backward(total(mixed(x, w)), {.compiled_autograd = k % 4 != 0});
  });
  CHECK(is(x.grad(), threads * rounds * 2 * 2 * n));
  CHECK(is(w.grad(), threads * rounds * 6 * n));
}

TEST_CASE("threads clear shared gradients and step shared weights in traced hooks while others add") {
  const var x(full(1)), w(full(2));
  x.register_post_accumulate_grad_hook([](auto p, auto) { return std::tuple(p, ebb::nothing); });
  at_once([&](int k) {
    const ca::enable scope;
    for (int round = 0; round < rounds; ++round) {
      total(product(twice(product(x, w)), k % 2 ? x : w)).backward();
    }
  });
  CHECK_FALSE(x.grad().defined());
  CHECK(is(w.grad(), threads / 2 * rounds * (2 + 8)));
}

TEST_CASE("threads walk one retained graph, captured and plain, with hooks, grad, and graphs of the backward") {
  std::atomic<int> hooks = 0, wrong = 0;
  const var x(full(1)), w(full(3));
  const auto [p, s] = both(x, w);
  p.register_hook([&](const array&) { ++hooks; });
  s.register_hook([](auto g) { return g * 1; });
  const var q = twice(product(p, s));  // 2 x w (x + w)
  const scalar out = total(twice(q));
  at_once([&](int k) {
    const ca::enable scope;
    for (int round = 0; round < rounds; ++round) {
      if (k % 4 < 2) ebb::backward(out, {.retain_graph = true, .compiled_autograd = (round + k) % 3 > 0});
      else if (k % 4 == 2) {
        const auto [gx, gw] = ebb::grad(out, ebb::wrt(x, w), {.retain_graph = true});
        wrong += !is(gx, 4 * 15) + !is(gw, 4 * 7);
      } else {
        const var g = ebb::grad(out, ebb::wrt(x), {.create_graph = true});
        const var h = ebb::grad(total(g), ebb::wrt(x), {.retain_graph = true});
        wrong += !is(g, 4 * 15) + !is(h, 4 * 6);
      }
      if (round % 20 == 19) ca::clear_cache();
    }
  });
  const float backwards = threads / 2 * rounds;
  CHECK(wrong == 0);
  CHECK(is(x.grad(), backwards * 60));
  CHECK(is(w.grad(), backwards * 28));
  CHECK(hooks >= threads * rounds);
  ebb::backward(out, {.compiled_autograd = true});  // and the last one lets go
  CHECK(is(x.grad(), (backwards + 1) * 60));
}

#if EBB_EXCEPTIONS
TEST_CASE("one thread releases a graph that others still walk, with saved values that went through hooks") {
  std::atomic<int> wrong = 0, refused = 0;
  const var x(full(2)), y(full(3));
  for (int round = 0; round < rounds; ++round) {
    const ebb::saved_tensors_hooks scope([](const ebb::any_tensor& t) { return t; }, [](const ebb::any_tensor& t) { return t; });
    const scalar out = total(twice(product(x, y)));
    at_once([&](int k) {
      try {
        const var g = ebb::grad(out, ebb::wrt(x), {.retain_graph = k > 0, .compiled_autograd = k % 4 != 1});
        wrong += !is(g, 6);
      } catch (const ebb::error&) {  // it came too late
        ++refused;
      }
    });
  }
  CHECK(wrong == 0);
  CHECK(refused < threads * rounds);
}
#endif

TEST_CASE("captured backwards within hooks, in all threads, on a graph that they share") {
  const var x(full(1)), y(full(2));
  const var p = product(x, y);
  const scalar out = total(twice(product(p, x)));  // 2 x^2 y
  static thread_local int depth = 0;
  std::atomic<int> wrong = 0, inner = 0;
  p.register_hook([&](const array&) {
    if (depth++ == 0) {
      const auto [gx, gy] = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true, .compiled_autograd = inner++ % 3 > 0});
      wrong += !is(gx, 8) + !is(gy, 2);
    }
    --depth;
  });
  at_once([&](int) {
    const ca::enable scope;
    for (int round = 0; round < rounds; ++round) ebb::backward(out, {.retain_graph = true});
  });
  CHECK(wrong == 0);
  CHECK(inner == threads * rounds);
  CHECK(is(x.grad(), threads * rounds * 8));
  CHECK(is(y.grad(), threads * rounds * 2));
}

TEST_CASE("the process's switch changes while threads run: each backward is whole") {
  std::atomic<int> wrong = 0;
  at_once([&](int k) {
    for (int round = 0; round < rounds; ++round) {
      if (k == 0) ebb::config().compiled_autograd = round % 2 == 0;
      const var x(full(2));
      total(twice(product(x, x))).backward();
      wrong += !is(x.grad(), 8);
    }
  });
  CHECK(wrong == 0);
  ca::reset();
}

TEST_CASE("a graph whose nodes several threads have made, captured and found again") {
  ca::reset();
  const ca::enable scope;
  for (int round = 0; round < 4; ++round) {
    const var x(full(2)), y(full(5));
    var last = product(x, y);
    for (int k = 0; k < 4; ++k)
      std::thread([&] {
        const var unused = product(x, x);  // numbers of this thread begin anew
        last = product(last, k % 2 ? x : y);
      }).join();
    total(last).backward();  // x^3 y^3
    CHECK(is(x.grad(), 3 * 4 * 125));
    CHECK(is(y.grad(), 3 * 25 * 8));

    var a, b;  // of equal numbers perhaps: then nothing is captured, and all is right
    std::thread([&] { a = twice(product(x, y)); }).join();
    std::thread([&] { b = twice(product(y, x)); }).join();
    for (var v : {x, y}) v.zero_grad();
    total(product(a, b)).backward();  // 4 x^2 y^2
    CHECK(is(x.grad(), 8 * 2 * 25));
    CHECK(is(y.grad(), 8 * 4 * 5));
  }
  ca::reset();
}
