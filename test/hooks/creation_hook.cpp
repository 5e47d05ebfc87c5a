// test/hooks/creation_hook.cpp — node creation hooks: each node is reported once with its edges, scopes nest, hooks on new nodes run.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using scalar = ebb::variable<double>;
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto wave = ebb::compile([](auto x) { return ebb::sin(x); });

}  // namespace

TEST_CASE("a node creation hook sees each node once, in the order of creation") {
  const scalar x(2.0), y(3.0);
  std::vector<std::string> seen;
  std::vector<std::size_t> operands;
  scalar out;
  {
    const ebb::node_creation_hook scope([&](const ebb::node_handle& n) {
      seen.push_back(n.name());
      operands.push_back(n.next_functions().size());
    });
    out = product(wave(x), y);
    const scalar lazy = x * y + 1.0;  // an expression is one node, made on first use
    CHECK(lazy.item() == 7.0);
    const ebb::no_grad none;
    static_cast<void>(product(x, y));
  }
  CHECK(seen == std::vector<std::string>{"sin", "mul", "mul+add"});
  CHECK(operands == std::vector<std::size_t>{1, 2, 2});
  static_cast<void>(product(x, y));
  CHECK(seen.size() == 3);
  CHECK(ebb::execution_order(out) == std::vector<std::string>{"mul", "accumulate leaf", "sin", "accumulate leaf"});
}

TEST_CASE("node creation hooks nest, the innermost first, and their own nodes are not reported") {
  const scalar x(2.0);
  std::string order;
  {
    const ebb::node_creation_hook outer([&](const ebb::node_handle&) { order += "o"; });
    static_cast<void>(wave(x));
    {
      const ebb::node_creation_hook inner([&](const ebb::node_handle&) {
        order += "i";
        static_cast<void>(wave(x));
      });
      static_cast<void>(wave(x));
    }
    static_cast<void>(wave(x));
  }
  CHECK(order == "oioo");
}

TEST_CASE("hooks registered on new nodes run, plain and captured, and nodes of create_graph are reported too") {
  const scalar x(2.0), y(3.0);
  for (const bool captured : {false, true})
    for (int run = 0; run < 3; ++run) {
      int runs = 0;
      const ebb::node_creation_hook scope([&](const ebb::node_handle& n) {
        n.register_hook([&](ebb::gradients&, const ebb::gradients&) { ++runs; });
      });
      ebb::backward(product(wave(x), y), {.compiled_autograd = captured});
      CHECK(runs == 2);
    }
  std::vector<std::string> seen;
  const ebb::node_creation_hook scope([&](const ebb::node_handle& n) { seen.push_back(n.name()); });
  const scalar d = ebb::grad(wave(x), ebb::wrt(x), {.create_graph = true});
  CHECK(seen.size() == 2);
  CHECK(seen[0] == "sin");
  CHECK(d.item() == Approx(std::cos(2.0)));
}

#if EBB_EXCEPTIONS
TEST_CASE("an exception from a node creation hook leaves the call, and the next call works") {
  const scalar x(2.0);
  bool fails = true;
  const ebb::node_creation_hook scope([&](const ebb::node_handle&) {
    if (fails) throw std::runtime_error("no");
  });
  CHECK_THROWS_AS(wave(x), std::runtime_error);
  fails = false;
  const scalar y = wave(x);
  y.backward();
  CHECK(x.grad().item() == Approx(std::cos(2.0)));
}
#endif
