// test/hooks/traced_hook.cpp — traced hooks of every kind give the results of the same hooks on values.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using ebb::dyn;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto sum_and_product = ebb::compile([](auto x, auto y) { return std::tuple(x + y, x * y); });

}  // namespace

TEST_CASE("CA-107: a leaf's hooks run in the recorded order if all are traced") {
  for (bool again : {false, true}) {
    var x(array{1, 1, 1});
    if (again) x.set_grad(array{1, 2, 3});
    x.register_hook([](auto g) { return g - 2; });
    x.accumulate_node().register_prehook(ebb::bind(5, [](auto by, auto g) { return g / by; }));
    x.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p, g + 0.5f); });
    x.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p, g * 10); });
    total(x).backward();
    for (std::size_t i = 0; i < 3; ++i) {
      const float before = again ? static_cast<float>(i + 1) : 0;
      CHECK(x.grad().value()(i) == (before + (1.f - 2) / 5 + 0.5f) * 10);
    }
    CHECK(x.version() == 0);  // only the gradient was written
  }
}

TEST_CASE("CA-101, CA-102, CA-106, CA-109: traced node hooks run in order, each on the result of the one before") {
  const var x(array{1, 2}), w(array{3, 4});
  const var y = product(x, w);
  y.grad_fn().register_prehook([](auto g) { return g * 3; });
  y.grad_fn().register_prehook([](auto g) { return g + 1; });
  y.grad_fn().register_prehook(ebb::opaque([](auto& in) { in.set(0, array{in.template get<float, dyn>(0)(0) - 2, 7}); }));
  std::vector<float> seen;
  y.grad_fn().register_hook([&](ebb::gradients& out, const ebb::gradients&) {
    seen = {out.get<float, dyn>(0)(0), out.get<float, dyn>(1)(1)};
  });
  y.grad_fn(x, w).register_hook([](auto out, auto in) {
    const auto [gx, gw] = out;
    return std::tuple(ebb::sin(gx) + in, gw * 0.25f);
  });
  total(y).backward();
  CHECK(seen == std::vector<float>{2 * 3, 7 * 2});
  CHECK(x.grad().value()(0) == Approx(std::sin(6.) + 2));
  CHECK(x.grad().value()(1) == Approx(std::sin(28.) + 7));
  CHECK(ebb::all_equal(w.grad().value(), array{0.5f, 3.5f}));
}

TEST_CASE("a node with two outputs is named by both; an undefined gradient is zeros in a traced hook and stays undefined") {
  const var x(array{1, 2}), w(array{3, 4});
  const auto swap = [](auto g) {
    const auto [gs, gp] = g;
    return std::tuple(gp + 1, gs + 10);
  };
  {
    const auto [s, p] = sum_and_product(x, w);
    ebb::grad_fn(std::tie(s, p)).register_prehook(swap);
    ebb::backward(std::tuple(total(s), total(ebb::variable(p * 2))));
    CHECK(ebb::all_equal(x.grad().value(), array{3 + 11 * 3, 3 + 11 * 4}));  // 2 + 1 from the sum, 1 + 10 from the product
    CHECK(ebb::all_equal(w.grad().value(), array{3 + 11, 3 + 22}));
  }
  ebb::zero_grad(std::tie(x, w));
  {
    const auto [s, p] = sum_and_product(x, w);
    ebb::grad_fn(std::tie(p, s)).register_prehook(swap);  // no gradient arrives at s
    total(p).backward();
    CHECK(ebb::all_equal(x.grad().value(), array{3, 4}));  // s: zeros + 1, taken by p
    CHECK(ebb::all_equal(w.grad().value(), array{1, 2}));
  }
  {
    const auto [s, p] = sum_and_product(x, w);
    int calls = 0;
    p.grad_fn().register_prehook([](auto g) { return g + 1; });
    p.grad_fn().register_prehook([&](ebb::gradients& in) { calls += in.defined(0) && !in.defined(1); });
    total(s).backward();
    CHECK(calls == 1);
  }
}

TEST_CASE("a traced hook after an accumulation updates the leaf in place and changes no saved value") {
  var w(array{1, 2}), x(array{3, 4});
  w.register_post_accumulate_grad_hook(ebb::bind(0.5f, [](auto lr, auto p, auto g) { return std::tuple(p - lr * g, ebb::nothing); }));
  const float* const at = w.data();
  total(product(w, x)).backward();
  CHECK(ebb::all_equal(w.value(), array{-0.5f, 0}));
  CHECK(w.version() == 1);
  CHECK(w.data() == at);
  CHECK_FALSE(w.grad().defined());
  CHECK(ebb::all_equal(x.grad().value(), array{1, 2}));

  const array held = w.value();  // a second owner: the update writes a new array
  total(product(w, x)).backward();
  CHECK(ebb::all_equal(w.value(), array{-2, -2}));
  CHECK(ebb::all_equal(held, array{-0.5f, 0}));

  var v(array{1, 2});
  v.register_post_accumulate_grad_hook([](auto p, auto g) { return p * 2 - g; });  // the value alone: the gradient stays
  total(v).backward();
  CHECK(ebb::all_equal(v.value(), array{1, 3}));
  CHECK(ebb::all_equal(v.grad().value(), array{1, 1}));
  v.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(g, p); });  // each from the old values of both
  total(v).backward();
  CHECK(ebb::all_equal(v.value(), array{2, 2}));
  CHECK(ebb::all_equal(v.grad().value(), array{0, 4}));
}

TEST_CASE("traced hooks of every kind are part of a graph of the backward") {
  const var x(array{1, 2}), w(array{3, 5});
  const var y = product(product(x, x), w);
  y.grad_fn().register_prehook([](auto g) { return g * 2; });
  const var h = product(x, x), z = product(h, w);
  z.grad_fn(h, w).register_hook([](auto out, auto in) {
    const auto [gh, gw] = out;
    return std::tuple(gh * gh * in, gw);
  });
  {
    const var g = ebb::grad(total(y), ebb::wrt(x), {.create_graph = true});  // 4 x w
    CHECK(ebb::all_equal(g.value(), array{12, 40}));
    CHECK(ebb::all_equal(ebb::grad(total(g), ebb::wrt(x)).value(), array{12, 20}));
  }
  {
    const var g = ebb::grad(total(z), ebb::wrt(x), {.create_graph = true});  // 2 x w w
    CHECK(ebb::all_equal(g.value(), array{18, 100}));
    CHECK(ebb::all_equal(ebb::grad(total(g), ebb::wrt(w)).value(), array{12, 40}));  // 4 x w
  }
  var v(array{3, 4});
  v.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p + 1, g * g + p); });
  ebb::backward(total(product(v, v)), {.create_graph = true});  // 2 v, then 4 v v + v
  CHECK(ebb::all_equal(v.value(), array{4, 5}));
  const var g = v.grad();
  CHECK(ebb::all_equal(g.value(), array{39, 68}));
  CHECK(ebb::all_equal(ebb::grad(total(g), ebb::wrt(v)).value(), array{25, 33}));  // 8 v + 1, with the value that was read
  v.zero_grad();
}

TEST_CASE("a traced multi-grad hook writes its results") {
  const var x(array{1, 2}), w(array{3, 4});
  float squares = 0;
  array difference(ebb::layout<dyn>(2));
  auto handle = ebb::register_multi_grad_hook(ebb::into(squares), [](auto g, auto h) { return ebb::sum(g * g) + ebb::sum(h * h); },
                                              ebb::when::all, x, w);
  ebb::register_multi_grad_hook(ebb::into(difference), ebb::bind(2, [](auto c, auto g, auto h) { return (g - h) * c; }), ebb::when::all, x,
                                w);
  total(product(x, w)).backward();
  CHECK(squares == 9 + 16 + 1 + 4);
  CHECK(ebb::all_equal(difference, array{4, 4}));
  ebb::backward(total(product(x, w)), {.inputs = {w}});  // no gradient arrives at x
  CHECK(squares == 1 + 4);
  handle.remove();
  total(x).backward();
  CHECK(squares == 1 + 4);
}

#if EBB_EXCEPTIONS
TEST_CASE("grad_fn refuses variables that are not results of one node") {
  var x(array{1, 2}), w(array{3, 4});
  x.set_name("x");
  w.set_name("w");
  const var y = product(x, w), z = product(w, w);
  CHECK(test::raised([&] { y.grad_fn(w, x); }) == "ebb::grad_fn: operand 0 of mul is not w");
  CHECK(test::raised([&] { y.grad_fn(x, w, x); }) == "ebb::grad_fn: the number of operands of mul is 2, named are 3");
  CHECK(test::raised([&] { y.grad_fn(x, x); }) == "ebb::grad_fn: operand 1 of mul is not x");
  CHECK(test::raised([&] { ebb::grad_fn(std::tie(y, z)); }) == "ebb::grad_fn: the results that are named come from several nodes");
  CHECK(test::raised([&] { x.grad_fn(); }) == "ebb::variable::grad_fn: x was made by no node; the node of a leaf is accumulate_node");
  CHECK(test::raised([&] { z.grad_fn(w, w); }).empty());
}

TEST_CASE("a traced hook that changes dyn extents is refused, recorded or not") {
  const var x(array{1, 2});
  x.register_hook(ebb::bind(ebb::tensor<int, dyn>{1}, [](auto at, auto g) { return ebb::take(g, at); }));
  CHECK_FALSE(test::raised([&] { total(x).backward(); }).empty());
  CHECK_FALSE(x.grad().defined());
  CHECK(test::raised([&] { ebb::grad(total(product(x, x)), ebb::wrt(x), {.create_graph = true}); }) ==
        "ebb::variable::register_hook: the hook changed the gradient from f32[2] to f32[1]");
}
#endif
