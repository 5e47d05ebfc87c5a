// test/autograd/engine.cpp — the state after a throw from anywhere in a backward, and the separation of passes.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <string>
#include <vector>

#if EBB_EXCEPTIONS

namespace {

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto pair = ebb::compile([](auto x, auto y) { return std::tuple(x * y, x * 2); });

struct stop {};

/// x y; throws on request.
struct fragile_product {
  const bool* forward_fails;
  const bool* backward_fails;
  array x, y;
  array forward(const array& a, const array& b) {
    if (*forward_fails) throw stop();
    x = a;
    y = b;
    return product(a, b);
  }
  std::tuple<array, array> backward(const array& g) const {
    if (*backward_fails) throw stop();
    return {product(g, y), product(g, x)};
  }
};

enum class position { none, tensor_hook, leaf_tensor_hook, node_pre, function, node_post, leaf_pre, post_accumulate, leaf_post, callback };

}  // namespace

// x --+
//     a = x w --+
// w --+         b = a v --- loss
//           v --+
TEST_CASE("SW-9: a throw at any position keeps the gradients of finished leaves and everything that has not run") {
  for (int at = 1; at <= static_cast<int>(position::callback); ++at)
    for (bool retain : {false, true}) {
      bool fails = true, never = false;
      const auto fail_at = [&](position p) {
        if (fails && p == static_cast<position>(at)) throw stop();
      };
      const var x(array{1, 2}), w(array{3, 4}), v(array{5, 6});
      const bool in_function = static_cast<position>(at) == position::function;
      const var a = ebb::apply(fragile_product{&never, in_function ? &fails : &never, {}, {}}, x, w);
      const var b = product(a, v);
      const scalar loss = total(b);
      a.register_hook([&](const array&) { fail_at(position::tensor_hook); });
      a.grad_fn().register_prehook([&](ebb::gradients&) { fail_at(position::node_pre); });
      a.grad_fn().register_hook([&](ebb::gradients&, const ebb::gradients&) { fail_at(position::node_post); });
      x.register_hook([&](const array&) {
        fail_at(position::leaf_tensor_hook);
        ebb::queue_callback([&] { fail_at(position::callback); });
      });
      x.accumulate_node().register_prehook([&](ebb::gradients&) { fail_at(position::leaf_pre); });
      x.register_post_accumulate_grad_hook([&](const var&) { fail_at(position::post_accumulate); });
      x.accumulate_node().register_hook([&](ebb::gradients&, const ebb::gradients&) { fail_at(position::leaf_post); });

      INFO("position " << at << ", retain " << retain);
      CHECK_THROWS_AS(ebb::backward(loss, {.retain_graph = retain}), stop);
      const auto is = [&](const var& leaf, const array& g) { return leaf.grad().defined() && ebb::all_equal(leaf.grad().value(), g); };
      const array dx{15, 24}, dw{5, 12}, dv{3, 8};
      CHECK(is(v, dv));  // its node was finished
      const auto p = static_cast<position>(at);
      const bool a_ran = p == position::leaf_tensor_hook || p >= position::leaf_pre;
      const bool x_done = p >= position::post_accumulate;
      CHECK(x.grad().defined() == x_done);
      CHECK(w.grad().defined() == (p == position::callback));
      if (x_done) CHECK(is(x, dx));
      CHECK(product(x, w).requires_grad());  // recording is on again

      fails = false;
      for (var leaf : {x, w, v}) leaf.zero_grad();
      if (retain) {
        ebb::backward(loss);
        CHECK(is(v, dv));
      } else if (!a_ran) {
        a.backward(v.value());  // b has run and its saved values are freed; those of a are kept
        CHECK_THROWS_AS(loss.backward(), ebb::error);
      }
      if (retain || !a_ran) {
        CHECK(is(x, dx));
        CHECK(is(w, dw));
      } else CHECK_THROWS_AS(a.backward(v.value()), ebb::error);
    }
}

TEST_CASE("a forward that throws records nothing") {
  bool fails = true, never = false;
  const var x(array{1, 2});
  CHECK_THROWS_AS(ebb::apply(fragile_product{&fails, &never, {}, {}}, x, x), stop);
  CHECK(x.history()->owners.value() == 1);
  CHECK(product(x, x).requires_grad());
}

TEST_CASE("pending gradients of a failed pass do not show in the next one") {
  const var x(array{1, 2}), y(array{3, 4});
  bool fails = true;
  const auto [p, q] = pair(x, y);
  const ebb::hook_handle h = p.grad_fn().register_hook([&](ebb::gradients&, const ebb::gradients&) {
    if (fails) throw stop();
  });
  CHECK_THROWS_AS(ebb::backward(total(p), {.retain_graph = true}), stop);
  fails = false;
  total(q).backward();  // gives no gradient to y
  CHECK(ebb::all_equal(x.grad().value(), array{2, 2}));
  CHECK_FALSE(y.grad().defined());
}

TEST_CASE("a hook may catch the failure of a backward that it runs, and go on") {
  const var x(array{1, 2});
  const var a = product(x, x), b = product(a, a);
  b.register_hook([&](const array&) {
    const ebb::enable_grad on;
    const var c = product(a, x);
    c.register_hook([](const array&) { throw stop(); });
    CHECK_THROWS_AS(ebb::grad(total(c), ebb::wrt(x)), stop);
  });
  total(b).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{4, 32}));
}

TEST_CASE("a callback that throws runs after all gradients, and later callbacks do not run") {
  const var x(array{1, 2});
  int calls = 0;
  x.register_hook([&](const array&) {
    ebb::queue_callback([&] {
      ++calls;
      ebb::queue_callback([&] { ++calls; });
    });
    ebb::queue_callback([&] {
      ++calls;
      throw stop();
    });
  });
  CHECK_THROWS_AS(total(product(x, x)).backward(), stop);
  CHECK(calls == 2);
  CHECK(ebb::all_equal(x.grad().value(), array{2, 4}));
}

#else  // without exceptions a refusal ends the program

TEST_CASE("throws need exceptions") { SUCCEED(); }

#endif
