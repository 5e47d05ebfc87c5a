// test/capture/chain_group.cpp — merged backwards that leave a graph of themselves: the plain engine's gradients, and its graph.
// SPDX-License-Identifier: BSL-1.0
#include "../equal.hpp"
#include "shown.hpp"

#include <string>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;

constexpr auto bend = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto quotient = ebb::compile([](auto x, auto y) { return x / y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

array sample(std::size_t n, std::size_t step) { return test::sample<float>(n, step); }

/// A few nodes with gradients that meet, hooks and retained gradients on the way, and the backward of a function of the gradients.
struct results {
  std::vector<array> all;
  std::vector<std::string> names;
  bool operator==(const results& other) const { return test::equal(all, other.all) && names == other.names; }
};
results two_orders(std::size_t n, bool hooks) {
  const var x(sample(n, 7)), y(sample(n, 31));
  results r;
  const var t = bend(product(x, y)), u = quotient(t, bend(x)), z = product(u, t);
  if (hooks) {
    t.retain_grad();
    x.register_hook([](auto g) { return g * 2; });
  }
  const auto [gx, gy, gt] = ebb::grad(z, ebb::wrt(x, y, t), {.seeds = {array::ones(n)}, .create_graph = true});
  for (const var& g : {gx, gy, gt}) {
    r.all.push_back(g.value());
    r.names.push_back(g.name());
  }
  ebb::backward(product(gx, gy), {.seeds = {array::ones(n)}, .create_graph = true});
  for (const var& v : {x, y}) {
    r.all.push_back(v.grad().value());
    r.names.push_back(v.grad().name());
  }
  if (hooks) r.all.push_back(t.grad().value());
  r.all.push_back(ebb::grad(total(y.grad()), ebb::wrt(x)).value());  // the third order
  for (var v : {x, y, t}) v.zero_grad();
  return r;
}

}  // namespace

TEST_CASE("with create_graph, arrays short and long: gradients of three orders and their names are the plain engine's") {
  for (const std::size_t n : {1u, 300u, 4095u, 4096u, 5003u})
    for (const bool hooks : {false, true}) {
      INFO(n << " elements, hooks " << hooks);
      const results plain = two_orders(n, hooks);
      ca::reset();
      const ca::enable scope;
      CHECK((two_orders(n, hooks) == plain));
      const auto misses = ebb::counters().compiled_autograd.captures;
      CHECK((two_orders(n, hooks) == plain));
      CHECK(ebb::counters().compiled_autograd.captures == misses);
    }
  ca::reset();
}

TEST_CASE("the plan of a recorded backward is one chain, which stores every gradient") {
  const ca::enable scope({.compiler = test::keep_shown});
  const var x(sample(5, 7)), y(sample(5, 31));
  const var t = bend(product(x, y));
  (void)ebb::grad(product(t, t), ebb::wrt(x), {.seeds = {array::ones(5)}, .create_graph = true});
  CHECK(test::in_order(test::shown_plan, {
      "one chain, each gradient stored and recorded: mul (NodeCall 1), tanh (NodeCall 2), mul (NodeCall 3)\n",
      "writes gradient 0 of mul (NodeCall 1), gradient 1 of mul (NodeCall 1), the gradient of tanh (NodeCall 2), "}));
  ca::reset();
}

TEST_CASE("a hook on the way ends a recorded chain: it sees its gradient between the nodes, and what it returns is recorded") {
  const auto run = [] {
    const var x(sample(5000, 7)), y(sample(5000, 31));
    const var t = product(x, y), u = bend(product(t, t));
    std::vector<std::string> order;
    t.register_hook([&](const array& g) { order.push_back("t" + std::to_string(g(1))); });
    x.register_hook([&](const array& g) { order.push_back("x" + std::to_string(g(1))); });
    u.register_hook([](auto g) { return g * g; });
    const auto [gx, gy] = ebb::grad(u, ebb::wrt(x, y), {.seeds = {array::full(3, 5000)}, .create_graph = true});
    order.push_back(std::to_string(ebb::grad(total(gx), ebb::wrt(y)).value()(4)));
    order.push_back(std::to_string(gy.value()(4)));
    return order;
  };
  const auto plain = run();
  CHECK(plain.size() == 5);  // x is differentiated again, and its hook is called again
  const ca::enable scope;
  CHECK(run() == plain);
  CHECK(run() == plain);
  ca::reset();
}
