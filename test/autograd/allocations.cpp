// test/autograd/allocations.cpp — the number of allocations of the tape, and its state after a failed one.
// SPDX-License-Identifier: BSL-1.0
// covers: vertex.hpp segment_node.hpp destroy.hpp
#include "failing_allocations.hpp"

#include <ebb/ebb.hpp>

#include <memory>
#include <vector>

namespace {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto both = ebb::compile([](auto x, auto y) { return std::tuple(x * ebb::tanh(y), x + y); });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

}  // namespace

#if EBB_EXCEPTIONS
namespace {

struct leaves {
  var x{array{1, 2, 3, 4, 5}}, y{array{2, 1, 0, -1, 3}}, z{array{1, 1, 1, 1, 1}};
};

/// A graph with several outputs, fan-in and fan-out, a shared gradient, each kind of hook and a retained gradient, and its backward.
void record_and_walk(leaves& l, bool create_graph) {
  const auto [p, s] = both(l.x, l.y);
  const var q = product(p, s), r = scaled(q);
  p.register_hook([](auto g) { return g * 0.5; });
  s.register_hook([](const array&) { return std::optional<array>(); });
  q.retain_grad();
  const struct forget {  // a gradient with a history owns the variable that it is the gradient of
    var v;
    ~forget() { v.zero_grad(); }
  } at_end{q};
  q.grad_fn().register_prehook([](ebb::gradients& in) { static_cast<void>(in.defined(0)); });
  q.grad_fn().register_hook([](ebb::gradients&, const ebb::gradients&) {});
  ebb::backward(total(product(product(scaled(r), q), product(l.z, l.z))), {.create_graph = create_graph});
}

std::vector<array> gradients(const leaves& l) {
  std::vector<array> g;
  for (const var* v : {&l.x, &l.y, &l.z}) g.push_back(v->grad().defined() ? v->grad().value() : array{});
  return g;
}

}  // namespace

TEST_CASE("a failed allocation throws std::bad_alloc, leaks nothing and leaves each gradient old or new") {
  const pool_limit scope(0);
  for (const bool create_graph : {false, true}) {
    for (const bool preset : {false, true}) {
      const auto begin = [&] {
        auto l = std::make_unique<leaves>();
        if (preset)
          for (var* v : {&l->x, &l->y, &l->z}) v->set_grad(array{1, 1, 1, 1, 1});
        return l;
      };
      auto whole = begin();
      const std::vector<array> before = gradients(*whole);
      record_and_walk(*whole, create_graph);  // this also allocates everything that is made once
      const std::vector<array> after = gradients(*whole);
      for (var* v : {&whole->x, &whole->y, &whole->z}) v->zero_grad();
      whole.reset();

      auto l = begin();
      std::vector<array> shared;
      if (preset) shared = gradients(*l);  // sums are written to new arrays
      std::ptrdiff_t live = 0;  // measured after the first failure: Catch and the thread's lists keep memory too
      const int failures = fail_each([&] { record_and_walk(*l, create_graph); }, [&](bool failed) {
        std::vector<array> g = gradients(*l);
        for (std::size_t i = 0; i < 3; ++i) {
          const bool is_whole = ebb::all_equal(g[i], before[i]) || ebb::all_equal(g[i], after[i]);
          if (!is_whole) CHECK(ebb::all_equal(g[i], after[i]));
          if (!failed) CHECK(ebb::all_equal(g[i], after[i]));
        }
        for (var* v : {&l->x, &l->y, &l->z}) v->zero_grad();
        l = begin();
        if (preset) shared = gradients(*l);
        g.clear();
        if (live == 0) live = allocations::live;
        if (allocations::live != live) CHECK(allocations::live == live);
      });
      CHECK(failures > (create_graph ? 100 : 30));
    }
  }
}

TEST_CASE("a backward that ran out of memory can be repeated if the graph is retained") {
  const pool_limit scope(0);
  var x(array{1, 2, 3}), y(array{4, 5, 6});
  const auto [p, s] = both(x, y);
  const scalar out = total(product(p, s));
  ebb::backward(out, {.retain_graph = true});
  const array gx = x.grad().value(), gy = y.grad().value();
  const int failures = fail_each(
      [&] {
        const auto g = ebb::grad(out, ebb::wrt(x, y), {.retain_graph = true});
        CHECK(ebb::all_equal(std::get<0>(g).value(), gx));
        CHECK(ebb::all_equal(std::get<1>(g).value(), gy));
      },
      [&](bool) {
        x.zero_grad();
        y.zero_grad();
        ebb::backward(out, {.retain_graph = true});
        CHECK(ebb::all_equal(x.grad().value(), gx));
        CHECK(ebb::all_equal(y.grad().value(), gy));
      });
  CHECK(failures > 3);
}
#endif

TEST_CASE("record, backward and destroy allocate nothing in a steady state") {
  const pool_limit scope(std::size_t{256} << 20);  // as without a sanitizer
  const var x(array::full(1.f, 100)), y(array::full(2.f, 100));
  const auto step = [&] {
    var a = x;
    for (int i = 0; i < 20; ++i) {
      const auto [p, s] = both(a, y);
      a = scaled(product(p, s));
    }
    total(a).backward();
  };
  step();
  step();
  CHECK(allocations::in([&] {
    for (int i = 0; i < 100; ++i) step();
  }) == 0);
}

TEST_CASE("a segment is one allocation besides its values, and a backward allocates only gradients") {
  const pool_limit scope(0);
  const var x(array::full(1.f, 100)), y(array::full(2.f, 100));
  const auto chain = [&](int n) {
    var a = x;
    for (int i = 0; i < n; ++i) a = product(a, y);
    return a;
  };
  const array seed = array::full(1.f, 100);
  const auto walk = [&](const var& a) { ebb::backward(a, {.seeds = {seed}}); };
  walk(chain(200));  // the thread keeps the lists of a backward
  var a;
  CHECK(allocations::in([&] { a = chain(100); }) == 100 * 2);  // a node and a value
  // Each product gives two gradients. The gradient of `a` replaces the incoming one in its memory, the other one is new; the first incoming
  // one comes from outside and is copied. The other allocations belong to the call: options, roots and so on.
  const std::size_t many = allocations::in([&] { walk(a); });
  a = chain(50);
  const std::size_t half = allocations::in([&] { walk(a); });
  CHECK(many - half == 50);
  CHECK(half < 50 + 15);
  a = var();
}
