// test/autograd/threads.cpp — many threads on their own graphs, on shared leaves and on one graph. Also for ThreadSanitizer.
// SPDX-License-Identifier: BSL-1.0
// covers: thread.hpp vertex.hpp
//
// All numbers are small integers, so sums of shared gradients are exact in any order of threads.
#include "many_threads.hpp"

#include "../catch.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace many_threads;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto both = ebb::compile([](auto x, auto y) { return std::tuple(x * y, x + y); });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

}  // namespace

// Catch's macros are not thread-safe, so failures are counted.
TEST_CASE("threads run on their own graphs") {
  std::atomic<int> wrong = 0;
  at_once([&](int k) {
    const float own = static_cast<float>(k + 1);
    for (int round = 0; round < rounds; ++round) {
      const var x(full(own)), y(full(2));
      int calls = 0;
      x.register_hook([&](const array&) { ++calls; });
      const auto [p, s] = both(x, y);
      total(product(p, s)).backward();  // x y (x + y)
      wrong += !is(x.grad(), 2 * (2 * own + 2)) + !is(y.grad(), own * own + 4 * own) + (calls != 1);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads add to shared leaves") {
  const var x(full(1)), w(full(2));
  std::atomic<int> hooks = 0, accumulated = 0;
  x.register_hook([&](const array&) { ++hooks; });
  w.register_post_accumulate_grad_hook([&](const var&) { ++accumulated; });
  at_once([&](int) {
    for (int round = 0; round < rounds; ++round) total(product(product(x, w), x)).backward();  // x^2 w
  });
  CHECK(is(x.grad(), threads * rounds * 4));
  CHECK(is(w.grad(), threads * rounds * 1));
  CHECK(hooks == threads * rounds);
  CHECK(accumulated == threads * rounds);
}

TEST_CASE("threads run one retained graph at once, with hooks, a retained gradient, inputs and graphs of the backward") {
  std::atomic<int> hooks = 0, wrong = 0;
  const var x(full(1)), w(full(3));
  const auto [p, s] = both(x, w);
  p.register_hook([&](const array&) { ++hooks; });
  s.retain_grad();
  const var q = product(p, s);  // x w (x + w)
  const scalar out = total(q);
  at_once([&](int k) {
    for (int round = 0; round < rounds; ++round) {
      if (k % 4 < 2) ebb::backward(out, {.retain_graph = true});
      else if (k % 4 == 2) {
        const auto [gx, gw] = ebb::grad(out, ebb::wrt(x, w), {.retain_graph = true});
        wrong += !is(gx, 3 * (2 + 3)) + !is(gw, 1 + 2 * 3);
      } else {
        const var g = ebb::grad(out, ebb::wrt(x), {.create_graph = true});
        const var h = ebb::grad(total(g), ebb::wrt(x), {.retain_graph = true});
        wrong += !is(g, 3 * (2 + 3)) + !is(h, 2 * 3);
      }
    }
  });
  const float backwards = threads / 2 * rounds;
  CHECK(wrong == 0);
  CHECK(is(x.grad(), backwards * 15));
  CHECK(is(w.grad(), backwards * 7));
  CHECK(s.grad().value()(0) >= 3 * threads * rounds);  // from each backward; second ones arrive here too
  CHECK(hooks >= threads * rounds);
  out.backward();  // the last one frees the saved values
  CHECK(is(x.grad(), (backwards + 1) * 15));
}

TEST_CASE("a thread builds on the nodes of another") {
  for (int round = 0; round < rounds; ++round) {
    const var x(full(2)), y(full(5));
    var last = product(x, y);
    for (int k = 0; k < 4; ++k)
      std::thread([&] {
        const var unused = product(x, x);  // the numbers of nodes begin anew in this thread
        last = product(last, k % 2 ? x : y);
      }).join();
    std::vector<std::string> seen;
    last.register_hook([&](const array&) { seen.push_back("last"); });
    total(last).backward();  // x^3 y^3
    CHECK(is(x.grad(), 3 * 4 * 125));
    CHECK(is(y.grad(), 3 * 25 * 8));
    CHECK(seen.size() == 1);
  }
}

TEST_CASE("threads build on one trunk at once, and a backward on a released trunk is refused") {
  const var x(full(2)), y(full(3));
  const var trunk = product(x, y);
  at_once([&](int k) {
    var top = trunk;
    for (int i = 0; i <= k; ++i) top = product(top, var(full(1)));
    ebb::backward(total(top), {.retain_graph = true});
  });
  CHECK(is(x.grad(), threads * 3));

  std::atomic<int> finished = 0, refused = 0;
#if EBB_EXCEPTIONS
  at_once([&](int) {  // each releases the shared nodes: at least one succeeds, the others are refused
    const scalar top = total(product(trunk, var(full(1))));
    try {
      top.backward();
      ++finished;
    } catch (const ebb::error&) {
      ++refused;
    }
  });
#else
  at_once([&](int k) {
    if (k == 0) total(product(trunk, var(full(1)))).backward(), ++finished;
    else ++refused;
  });
#endif
  CHECK(finished >= 1);
  CHECK(finished + refused == threads);
  CHECK(is(y.grad(), (threads + static_cast<float>(finished)) * 2));
}

TEST_CASE("variables may be destroyed in another thread") {
  for (int round = 0; round < rounds; ++round) {
    const var x(full(1));
    std::vector<std::optional<var>> made(threads);
    at_once([&](int k) {
      var v = x;
      for (int i = 0; i < 20; ++i) v = product(v, x);
      v.register_hook([held = v.value()](const array&) {});
      made[static_cast<std::size_t>(k)].emplace(v);
    });
    at_once([&](int k) { made[static_cast<std::size_t>((k + 1) % threads)].reset(); });
    CHECK_FALSE(x.grad().defined());
  }
  // All threads drop handles of one graph at once: the last one destroys it.
  const var x(full(1));
  var v = x;
  for (int i = 0; i < 1000; ++i) v = product(v, x);
  std::vector<std::optional<var>> handles(threads, v);
  v = x;
  at_once([&](int k) { handles[static_cast<std::size_t>(k)].reset(); });
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a hook may differentiate twice the nodes that its own backward reaches next") {
  const var x(full(1)), y(full(2));
  constexpr auto cube = ebb::compile([](auto v) { return v * v * v; });
  const var a = cube(x), b = cube(y), p = product(a, b);
  const scalar out = total(p);
  bool is_inside = false;
  p.register_hook([&](const array&) {
    if (std::exchange(is_inside, true)) return;
    const var g = ebb::grad(out, ebb::wrt(x), {.create_graph = true});  // from here on a and b save more values together with a gradient
    CHECK(is(ebb::grad(g, ebb::wrt(x), {.seeds = {full(1)}, .retain_graph = true}), 6 * 8));
    is_inside = false;
  });
  for (const bool create : {false, true}) {
    const auto [gx, gy] = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true, .create_graph = create});
    CHECK(is(gx, 3 * 8));
    CHECK(is(gy, 12));
  }
}

TEST_CASE("hooks in all threads may run backwards on a shared graph") {
  const var x(full(1)), y(full(2));
  const var p = product(x, y);
  const scalar out = total(product(p, x));  // x^2 y
  static thread_local int depth = 0;
  std::atomic<int> wrong = 0, inner = 0;
  p.register_hook([&](const array&) {
    if (depth++ == 0) {
      const auto [gx, gy] = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true, .create_graph = inner++ % 3 == 0});
      wrong += !is(gx, 4) + !is(gy, 1);
    }
    --depth;
  });
  at_once([&](int) {
    for (int round = 0; round < rounds; ++round) ebb::backward(out, {.retain_graph = true});
  });
  CHECK(wrong == 0);
  CHECK(inner == threads * rounds);
  CHECK(is(x.grad(), threads * rounds * 4));
  CHECK(is(y.grad(), threads * rounds * 1));
}

TEST_CASE("all threads pack and unpack saved values at once, and an unpack hook may run the same graph") {
  const var x(full(3)), y(full(2));
  std::optional<scalar> out;
  static thread_local bool is_inside = false;
  std::atomic<int> wrong = 0;
  {
    const ebb::saved_tensors_hooks scope([](const ebb::any_tensor& a) { return a; },
                                         [&](const ebb::any_tensor& a) {
                                           if (!is_inside) {
                                             is_inside = true;
                                             wrong += !is(ebb::grad(*out, ebb::wrt(y), {.retain_graph = true}), 9);
                                             is_inside = false;
                                           }
                                           return a;
                                         });
    out = total(product(product(x, y), x));
  }
  at_once([&](int) {
    for (int round = 0; round < 5; ++round) ebb::backward(*out, {.retain_graph = true});
  });
  CHECK(wrong == 0);
  CHECK(is(x.grad(), threads * 5 * 12));
}

TEST_CASE("counts of owners are right after threads have ended") {
  const var x(full(1));
  std::optional<var> kept = product(x, x);
  const array seen = kept->value();
  std::thread([copy = *kept]() mutable { copy = var(); }).join();
  for (int i = 0; i < 3; ++i) {
    std::vector<var> copies(100, *kept);
    std::thread([&] { copies.clear(); }).join();
  }
  total(*kept).backward();
  kept.reset();
  CHECK(ebb::all_equal(seen, full(1)));
  CHECK(is(x.grad(), 2));
}
