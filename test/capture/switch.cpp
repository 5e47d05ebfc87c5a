// test/capture/switch.cpp — compiled autograd on and off, equal and other options, and the cache against a plain map.
// SPDX-License-Identifier: BSL-1.0
// covers: switch.hpp cache.hpp autograd/backward_engine.hpp autograd/counters.hpp base/settings.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });
constexpr auto hyperbolic = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

auto counts() { return ebb::counters().compiled_autograd; }
std::uint64_t looked_up() { return counts().captures + counts().hits; }

/// As in a new process, at its beginning and at its end.
struct fresh {
  fresh() { ca::reset(); }
  ~fresh() { ca::reset(); }
};

/// Backward of a small graph; the gradient of its leaf.
array step() {
  const var x(array{1, 2}), y(array{3, 4});
  total(product(scaled(x), y)).backward();
  return x.grad().value();
}
const array expected{4.5, 6};

/// Structure number k: a product or a scaling for each bit.
var structure(int k, const var& x) {
  var v = x;
  for (int bit = 0; bit < 10; ++bit) v = k >> bit & 1 ? product(v, x) : scaled(v);
  return v;
}

int seen_by_first = 0, seen_by_second = 0;
ebb::backend first(const ebb::captured_graph&) {
  ++seen_by_first;
  return ebb::backend::merge;
}
ebb::backend second(const ebb::captured_graph&) {
  ++seen_by_second;
  return ebb::backend::eager;
}

}  // namespace

TEST_CASE("CA-3: reset: off, nothing captured, counters at zero") {
  const fresh begin;
  ebb::config().compiled_autograd = true;
  CHECK(ebb::config().compiled_autograd);
  CHECK(ebb::all_equal(step(), expected));
  CHECK(counts().captures == 1);
  CHECK(ca::cache_size() == 1);
  ca::set_cache_limit(1);
  ca::reset();
  CHECK_FALSE(ebb::config().compiled_autograd);
  CHECK(ca::cache_size() == 0);
  CHECK(looked_up() == 0);
  CHECK(ebb::counters().unique_graphs == 0);
  CHECK(ebb::all_equal(step(), expected));
  CHECK(looked_up() == 0);
  const ca::enable on;
  step();
  total(var(array{1, 2})).backward();
  CHECK(ca::cache_size() == 2);
}

TEST_CASE("CA-7, CA-8, CA-12, CA-14: the process, scopes and calls: the innermost that says something counts") {
  const fresh begin;
  ebb::config().compiled_autograd = true;
  {
    const ca::disable off;
    CHECK(ebb::all_equal(step(), expected));
    CHECK(looked_up() == 0);
    {
      const ca::enable on;
      step();
      CHECK(looked_up() == 1);
      {
        const ca::disable off_again;
        step();
        CHECK(looked_up() == 1);
      }
      step();
      CHECK(looked_up() == 2);
    }
    step();
    CHECK(looked_up() == 2);
  }
  step();
  CHECK(looked_up() == 3);

  ca::reset();
  const auto call = [](ebb::engine_wanted wanted) {  // CA-12
    const std::uint64_t before = looked_up();
    const var x(array{1, 2});
    ebb::backward(total(scaled(x)), {.compiled_autograd = wanted});
    ebb::grad(total(scaled(x)), ebb::wrt(x), {.compiled_autograd = wanted});
    return looked_up() - before;
  };
  CHECK(call(false) == 0);
  CHECK(call(true) == 2);
  CHECK(call(false) == 0);
  CHECK(call({}) == 0);
  {
    const ca::enable on;
    CHECK(call(false) == 0);
    CHECK(call({}) == 2);
  }
  {
    const ca::disable off;
    CHECK(call(true) == 2);
  }
  const var x(array{1, 2});
  const scalar out = [&] {  // CA-8: where the forward ran does not count
    const ca::enable on;
    return total(scaled(x));
  }();
  const std::uint64_t before = looked_up();
  out.backward();
  CHECK(looked_up() == before);
}

TEST_CASE("CA-9, CA-143: a scope ends with its block, also by an exception; it can be neither copied nor moved") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<ca::enable>);
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<ca::enable>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<ca::disable>);
  const fresh begin;
#if EBB_EXCEPTIONS
  try {
    const ca::enable on;
    const ca::disable off;
    throw 1;
  } catch (int) {
  }
  step();
  CHECK(looked_up() == 0);
#endif
}

TEST_CASE("CA-11: a backward in a hook runs on the plain engine, unless it says otherwise") {
  for (const bool asks : {false, true}) {
    const fresh begin;
    const ca::enable scope;
    for (int run = 0; run < 3; ++run) {
      const var x(array{1, 2}), other(array{5, 6}), h = scaled(x);
      h.register_hook([&](const array&) {
        const ebb::enable_grad on;
        const scalar inner = total(product(scaled(other), other));
        if (asks) ebb::backward(inner, {.compiled_autograd = true});
        else ebb::backward(inner, {.create_graph = true});
      });
      total(product(hyperbolic(h), h)).backward();
      CHECK(ebb::all_equal(other.grad().value(), array{15, 18}));
      var(other).zero_grad();
    }
    CHECK(counts().captures == (asks ? 2 : 1));
    CHECK(counts().hits == (asks ? 4 : 2));
  }
}

TEST_CASE("CA-13: with any code between the regions, the backward is one") {
  const fresh begin;
  const ca::enable scope;
  for (int i = 0; i < 3; ++i) {
    const var x(array{1, 2});
    const var h = scaled(x);
    const double opaque = h.value()(0) > 0 ? std::stod("2.5") : 1;
    total(product(h, array{opaque, opaque})).backward();
    CHECK(ebb::all_equal(x.grad().value(), array{3.75, 3.75}));
  }
  CHECK(counts().captures == 1);
  CHECK(ebb::counters().unique_graphs == 1);
}

TEST_CASE("unique_graphs: regions without compiled autograd, one with it") {
  const fresh begin;
  for (int i = 0; i < 2; ++i) step();
  CHECK(ebb::counters().unique_graphs == 3);
  ebb::clear_counters();
  const ca::enable scope;
  for (int i = 0; i < 2; ++i) step();
  CHECK(ebb::counters().unique_graphs == 1);
}

TEST_CASE("unique_graphs counts evicted graphs, too, and a graph that runs once more is not new") {
  const fresh begin;
  ca::set_cache_limit(2);
  const ca::enable scope;
  for (int k = 0; k < 64; ++k)
    for (int run = 0; run < 2; ++run) total(structure(k, var(array{1, 0.5}))).backward();
  CHECK(counts().captures == 64);
  CHECK(ebb::counters().unique_graphs == 64);
  ebb::clear_counters();
  for (int run = 0; run < 3; ++run) total(structure(63, var(array{1, 0.5}))).backward();
  CHECK(ebb::counters().unique_graphs == 1);
}

TEST_CASE("a call that asks for compiled autograd has the options of the scope around it") {
  const fresh begin;
  const var x(array{1, 2});
  x.register_hook([](const array&) {});
  const scalar out = total(scaled(x));
  const auto refused = [&] {
    return test::says(test::raised([&] { ebb::backward(out, {.retain_graph = true, .compiled_autograd = true}); }), {"fullgraph"});
  };
  CHECK_FALSE(refused());
  const ca::enable scope({.fullgraph = true});
  CHECK(refused());
  const ca::disable off;
  CHECK_FALSE(refused());
}

TEST_CASE("a call has options of its own, which count whatever the scope around it says") {
  const fresh begin;
  const var x(array{1, 2});
  const scalar out = total(scaled(x));
  ebb::backward(out, {.retain_graph = true});  // x has a gradient from now on
  static int calls = 0;
  const auto compiler = [](const ebb::captured_graph&) { return ++calls, ebb::backend::eager; };
  const ca::options own{.compiler = compiler};
  const ebb::backward_options call{.retain_graph = true, .compiled_autograd = own};
  for (int run = 0; run < 2; ++run) ebb::backward(out, call);  // without a scope
  CHECK(calls == 1);
  CHECK(counts().captures == 1);
  CHECK(counts().hits == 1);
  CHECK(counts().compiles == 0);
  {
    const ca::enable scope;
    ebb::backward(out, {.retain_graph = true});
    CHECK(counts().captures == 2);  // other options are another key
    ebb::backward(out, call);
    CHECK(counts().hits == 2);
    x.register_hook([](const array&) {});
    const auto refused = [&](auto option) {
      return test::says(test::raised([&] { ebb::grad(out, ebb::wrt(x), {.retain_graph = true, .compiled_autograd = option}); }),
                        {"fullgraph"});
    };
    CHECK(refused(ca::options{.fullgraph = true}));
    const ca::enable strict({.fullgraph = true});
    CHECK(refused(true));
    CHECK_FALSE(refused(own));
    CHECK_FALSE(refused(false));
  }
  const ca::disable off;
  const auto before = counts().captures;
  ebb::backward(out, call);
  CHECK(counts().captures == before + 1);  // a hook has come
}

TEST_CASE("when shapes change for the first time the compiler is asked once more, and its answer counts") {
  const fresh begin;
  static int calls = 0;
  const ca::enable scope({.dynamic = false, .compiler = [](const ebb::captured_graph&) {
    return calls++ == 0 ? ebb::backend::eager : ebb::backend::merge;
  }});
  for (const std::size_t n : {4u, 4u, 5u, 6u, 4u}) {
    const var x(array::full(2, n));
    total(scaled(scaled(x))).backward();
    CHECK(ebb::all_equal(x.grad().value(), array::full(2.25, n)));
  }
  CHECK(calls == 2);
  CHECK(counts().captures == 2);
  CHECK(counts().compiles == 1);
  CHECK(counts().hits == 3);
  CHECK(ca::cache_size() == 1);
  CHECK(ebb::counters().unique_graphs == 2);
}

TEST_CASE("SW-5: another compiler, or other options, is another entry: each compiler sees each graph once") {
  const fresh begin;
  seen_by_first = seen_by_second = 0;
  for (int run = 0; run < 3; ++run)
    for (auto* compiler : {first, second, static_cast<ebb::backend (*)(const ebb::captured_graph&)>(nullptr)}) {
      const ca::enable scope({.compiler = compiler});
      CHECK(ebb::all_equal(step(), expected));
    }
  CHECK(seen_by_first == 1);
  CHECK(seen_by_second == 1);
  CHECK(counts().captures == 3);
  CHECK(counts().hits == 6);
  CHECK(counts().compiles == 2);  // eager is none
  for (const ca::options& o : {ca::options{.fullgraph = true}, ca::options{.dynamic = false}}) {
    const ca::enable scope(o);
    CHECK(ebb::all_equal(step(), expected));
    CHECK(ebb::all_equal(step(), expected));
  }
  CHECK(counts().captures == 5);
  CHECK(counts().hits == 8);
}

TEST_CASE("SW-6: a hook that changes the dtype or the extents, or gives too many, is the same error") {
  for (const bool captured : {false, true}) {
    const var x(array{1, 2});
    const var y = product(x, x);
    std::string text[3];
    y.grad_fn().register_prehook([&](ebb::gradients& in) {
      text[0] = test::raised([&] { in.set(0, array{1, 2, 3}); });
      text[1] = test::raised([&] { in.set(0, ebb::tensor<float, 2>{1, 2}); });
      text[2] = test::raised([&] { in.set(1, array{1, 2}); });
    });
    ebb::backward(total(y), {.compiled_autograd = captured});
    CHECK(text[0] == "ebb::gradients::set: gradient 0 of mul is f64[2] and cannot become f64[3]");
    CHECK(text[1] == "ebb::gradients::set: gradient 0 of mul is f64[2] and cannot become f32[2]");
    CHECK(test::says(text[2], {"there is no gradient 1 of mul"}));
    CHECK(ebb::all_equal(x.grad().value(), array{2, 4}));
  }
}

TEST_CASE("SW-8: grad returns gradients from after their hooks, also captured") {
  const ca::enable scope;
  for (int run = 0; run < 3; ++run) {
    const var x(array{1, 2});
    const var h = scaled(x);
    h.register_hook([](auto g) { return g * 10; });
    x.register_hook([](const array& g) {
      array r = g;
      r.at(0) += 1;
      return r;
    });
    const auto [gh, gx] = ebb::grad(total(scaled(h)), ebb::wrt(h, x), {.retain_graph = true});
    CHECK(ebb::all_equal(gh.value(), array{15, 15}));
    CHECK(ebb::all_equal(gx.value(), array{23.5, 22.5}));
    CHECK(ebb::all_equal(ebb::grad(total(scaled(h)), ebb::wrt(h)).value(), array{15, 15}));
  }
}

TEST_CASE("SW-20: hooks that come and go after a hit run, and run no more") {
  const fresh now;
  const ca::enable scope;
  var x(array{1, 2}), w(array{3, 4});
  const auto gradient = [&](auto&& on) {
    x.zero_grad();
    w.zero_grad();
    const var h = product(x, w);
    on(h);
    total(scaled(h)).backward();
    return x.grad().value()(0);
  };
  const auto none = [](const var&) {};
  const auto misses = [] { return counts().captures; };
  for (int run = 0; run < 3; ++run) CHECK(gradient(none) == 4.5);
  CHECK(misses() == 1);
  int opaque_calls = 0;
  for (int run = 0; run < 2; ++run) {
    CHECK(gradient([](const var& h) { h.register_hook([](auto g) { return g * 2; }); }) == 9.0);
    auto on_leaf = x.register_hook([](auto g) { return g + 1; });
    auto watcher = x.register_hook([&](const array& g) { ++opaque_calls, static_cast<void>(g); });
    CHECK(gradient(none) == 5.5);
    CHECK(opaque_calls == 2 * run + 1);
    CHECK(gradient([](const var& h) { h.register_hook([](auto g) { return g * 2; }); }) == 10.0);
    CHECK(opaque_calls == 2 * run + 2);
    on_leaf.remove();
    watcher.remove();
    auto after = x.register_post_accumulate_grad_hook([&](var& leaf) { opaque_calls += leaf.grad().value()(0) == 4.5 ? 100 : 1000; });
    CHECK(gradient(none) == 4.5);
    CHECK(opaque_calls == 2 * run + 102);
    after.remove();
    opaque_calls -= 100;
    CHECK(gradient(none) == 4.5);
    CHECK(opaque_calls == 2 * run + 2);
  }
  const auto captured = misses();
  CHECK(gradient(none) == 4.5);  // the first structure is still known
  CHECK(misses() == captured);
}

TEST_CASE("SW-25: hooks after accumulation run in the order in which leaves have their gradients, in regions as in single operations") {
  const fresh now;
  static constexpr auto one_region = ebb::compile([](auto a, auto b, auto c, auto d) { return ebb::sum((a * b + c) * d); });
  const auto order_of = [](auto f, bool captured) {
    std::string order;
    const array one{1, 2};
    const var a(one), b(one), c(one), d(one);
    const var* const leaves[] = {&d, &a, &c, &b};  // registered in another order than they are used
    const char* const names[] = {"d", "a", "c", "b"};
    for (int i = 0; i < 4; ++i) leaves[i]->register_post_accumulate_grad_hook([&order, name = names[i]](var&) { order += name; });
    std::string all;
    for (int run = 0; run < 3; ++run) {
      order.clear();
      ebb::backward(f(a, b, c, d), {.compiled_autograd = captured});
      all += order + " ";
    }
    return all;
  };
  const auto in_one = [](const var& a, const var& b, const var& c, const var& d) { return one_region(a, b, c, d); };
  const auto apart = [](const var& a, const var& b, const var& c, const var& d) {
    constexpr auto plus = ebb::compile([](auto x, auto y) { return x + y; });
    return total(product(plus(product(a, b), c), d));
  };
  CHECK(order_of(in_one, false) == "abcd abcd abcd ");  // one node: its leaves in the order of its arguments
  CHECK(order_of(in_one, true) == order_of(in_one, false));
  CHECK(order_of(apart, false) == "dcab dcab dcab ");  // as they are visited
  CHECK(order_of(apart, true) == order_of(apart, false));
}

#if EBB_EXCEPTIONS
TEST_CASE("SW-9: a hook that throws in a captured backward leaves what the plain engine leaves, and the next call works") {
  struct stop {};
  for (int where = 0; where < 5; ++where)
    for (const bool retain : {false, true}) {
      std::vector<array> state[2];
      for (const bool captured : {false, true})
        for (int run = 0; run < 2; ++run) {  // captured, and from the cache
          std::vector<array>& s = state[captured];
          s.clear();
          bool fails = true;
          const auto at = [&](int place) {
            if (fails && place == where) throw stop();
          };
          const var x(array{1, 2}), w(array{3, 4}), v(array{5, 6});
          const var a = product(x, w), b = scaled(a), c = product(hyperbolic(b), v), d = scaled(c);
          const scalar out = total(d);
          c.register_hook([&](const array&) { at(0); });
          a.register_hook([&](const array&) { at(1); });
          w.register_hook([&](const array&) { at(2); });
          x.register_post_accumulate_grad_hook([&](const var&) { at(3); });
          a.grad_fn().register_hook([&](ebb::gradients&, const ebb::gradients&) { at(4); });
          const auto note = [&] {
            for (var l : {x, w, v}) {
              s.push_back(l.grad().defined() ? l.grad().value() : array{});
              l.zero_grad();
            }
          };
          CHECK_THROWS_AS(ebb::backward(out, {.retain_graph = retain, .compiled_autograd = captured}), stop);
          note();
          fails = false;
          const std::string again = test::raised([&] { ebb::backward(out, {.retain_graph = true, .compiled_autograd = captured}); });
          CHECK(again.empty() == (retain || where == 0));
          note();
          const std::string part = test::raised([&] { a.backward(array{1, 1}); });
          s.push_back(array{part.empty() * 1.});
          note();
        }
      INFO("place " << where << ", retain " << retain);
      CHECK(std::ranges::equal(state[1], state[0], [](const array& a, const array& b) { return ebb::all_equal(a, b); }));
    }
}
#endif

TEST_CASE("SW-11: seeds that do not fit are refused before anything is captured") {
  const fresh begin;
  const ca::enable scope;
  const var x(array{1, 2});
  const var y = scaled(x);
  CHECK(test::says(test::raised([&] { y.backward(); }), {"a seed can be left out only for roots with one element"}));
  CHECK(test::says(test::raised([&] { ebb::backward(y, {.seeds = {array{1, 1}, array{1, 1}}}); }), {"2 seeds for 1 root"}));
  CHECK(test::says(test::raised([&] { ebb::backward(y, {.seeds = {ebb::tensor<int, 2>{1, 2}}}); }), {"seed 0 is i32[2]"}));
  CHECK(looked_up() == 0);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("SW-13: a scope is of its thread, the process's setting of all; caches are of their threads") {
  const fresh begin;
  const auto in_another_thread = [](auto f) { std::thread(f).join(); };
  {
    const ca::enable scope;
    in_another_thread([] { step(); });
    CHECK(looked_up() == 0);
    step();
    CHECK(looked_up() == 1);
    in_another_thread([] {
      const ca::enable own;
      step();
      step();
    });
    CHECK(counts().captures == 2);
    CHECK(counts().hits == 1);
    CHECK(ca::cache_size() == 1);
  }
  ebb::config().compiled_autograd = true;
  in_another_thread([] { step(); });
  CHECK(counts().captures == 3);
  {
    const ca::disable off;
    in_another_thread([] { step(); });
    CHECK(counts().captures == 4);
  }
}

TEST_CASE("a thousand structures through a small cache: a hit is what a plain map still holds, the least recently used goes") {
  const fresh begin;
  constexpr std::size_t limit = 16;
  ca::set_cache_limit(limit);
  std::map<int, int> used;  // structure, when
  std::mt19937 random(7);
  std::uint64_t hits = 0, captures = 0, evictions = 0;
  const ca::enable scope;
  for (int now = 0; now < 6000; ++now) {
    const int k = now < 1000 ? now : static_cast<int>(random() % 4 ? random() % 20 : random() % 1000);
    const var x(array{1, 0.5});
    total(structure(k, x)).backward();
    const int products = static_cast<int>(std::bitset<10>(static_cast<unsigned>(k)).count());
    if (x.grad().value()(0) != (products + 1) * std::pow(1.5, 10 - products)) CHECK(x.grad().value()(0) == -1);
    if (used.count(k)) ++hits;
    else {
      ++captures;
      if (used.size() == limit) {
        used.erase(std::min_element(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.second < b.second; }));
        ++evictions;
      }
    }
    used[k] = now;
    const auto c = counts();
    const bool same = c.hits == hits && c.captures == captures && c.evictions == evictions && ca::cache_size() == used.size();
    if (same) continue;
    FAIL("step " << now << ": hits " << c.hits << ", " << hits << " in the map; captures " << c.captures << ", " << captures
                 << "; evictions " << c.evictions << ", " << evictions << "; size " << ca::cache_size() << ", " << used.size());
  }
  CHECK(hits > 2000);
  CHECK(evictions > 1500);
  ca::set_cache_limit(3);  // the three that were used last stay
  CHECK(ca::cache_size() == 3);
  CHECK(counts().evictions == evictions + limit - 3);
  std::vector<std::pair<int, int>> last;
  for (const auto& [k, when] : used) last.push_back({when, k});
  std::sort(last.begin(), last.end());
  for (std::size_t i = last.size() - 3; i < last.size(); ++i) total(structure(last[i].second, var(array{1, 0.5}))).backward();
  CHECK(counts().hits == hits + 3);
  ca::set_cache_limit(0);  // at least one
  CHECK(ca::cache_size() == 1);
  ca::clear_cache();
  CHECK(ca::cache_size() == 0);
}

TEST_CASE("a captured backward that is evicted, or captured anew, by its own hooks runs to its end") {
  const fresh begin;
  const ca::enable scope;
  for (int run = 0; run < 6; ++run)
    for (const std::size_t limit : {1u, 2u, 50u}) {
      ca::set_cache_limit(limit);
      const var x(array{1, 2}), a = scaled(x), b = hyperbolic(a), c = product(b, a);
      int depth = 0;
      double inner = 0;
      const auto meddle = [&](const array&) {
        if (depth++ == 0) {
          if (run % 2) ca::clear_cache();
          const ebb::enable_grad on;
          for (int k = 0; k < 5; ++k) {  // with the hooks of this graph in it, too
            const var own(array{1, 1});
            ebb::backward(total(structure(k, own)), {.compiled_autograd = true});
            inner += ebb::grad(total(product(c, c)), ebb::wrt(x), {.retain_graph = true, .compiled_autograd = true}).value()(0);
          }
          if (run % 3 == 0) ca::clear_cache();
        }
        --depth;
      };
      c.register_hook(meddle);
      a.register_hook(meddle);
      ebb::backward(total(scaled(c)), {.retain_graph = true});
      const double t = std::tanh(1.5), slope = 1.5 * t + 1.5 * (1 - t * t) * 1.5;
      CHECK(x.grad().value()(0) == Approx(1.5 * slope));
      CHECK(inner == Approx(2 * 5 * 2 * t * 1.5 * slope));
      CHECK(ca::cache_size() <= limit);
    }
}

TEST_CASE("a compiler may run backwards itself") {
  const fresh begin;
  static int calls = 0;
  const ca::enable scope({.compiler = [](const ebb::captured_graph&) {
    ++calls;
    const ca::enable plainly;
    CHECK(ebb::all_equal(step(), expected));
    return ebb::backend::merge;
  }});
  for (int i = 0; i < 3; ++i) CHECK(ebb::all_equal(step(), expected));
  CHECK(calls == 1);
  CHECK(counts().captures == 2);
}
