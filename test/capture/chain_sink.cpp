// test/capture/chain_sink.cpp — links of a chain: traced hooks of nodes that see several gradients.
// SPDX-License-Identifier: BSL-1.0
// covers: chain_sink.hpp chain_code.hpp
#include "../equal.hpp"
#include "shown.hpp"

#include <string>
#include <tuple>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;

constexpr auto bend = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto passed = ebb::compile([](auto x, auto y) { return x + y; });
constexpr auto both = ebb::compile([](auto x, auto y) { return std::tuple(x * y, x - y); });

array sample(std::size_t n, std::size_t step) { return test::sample<double>(n, step); }

/// Compares the results of a function of a length, plain and captured.
template <class F>
void same_as_plain(F&& gradients_with_hooks, bool is_one_chain, const std::vector<std::size_t>& lengths = {1, 9, 700}) {
  for (const std::size_t n : lengths) {
    const auto plain = gradients_with_hooks(n);
    ca::reset();
    const ca::enable scope({.compiler = test::keep_shown});
    INFO(n << "\n" << test::shown_graph << test::shown_plan);
    CHECK(test::equal(gradients_with_hooks(n), plain));
    CHECK(test::equal(gradients_with_hooks(n), plain));
    CHECK(ebb::counters().compiled_autograd.hits == 1);
    CHECK((test::shown_plan.find("node by node") == std::string::npos) == is_one_chain);
  }
  ca::reset();
}

}  // namespace

TEST_CASE("arrays that fit into a cache, and larger ones") {
  constexpr std::size_t many = 900'003;
  STATIC_REQUIRE(ebb::takes_narrow_steps(many * sizeof(double), 4));
  same_as_plain([](std::size_t n) {
    var x(sample(n, 7)), y(sample(n, 31));
    x.set_grad(sample(n, 3));
    const var t = bend(x);
    t.register_hook([](auto g) { return g * 0.5; });
    bend(product(t, y)).backward(sample(n, 11));
    return std::vector<array>{x.grad().value(), y.grad().value()};
  }, true, {8, 16, 17, 63, 64, 65, 10'000, many});
}

TEST_CASE("a traced hook before a node with two outputs is a link, and is shown as equations") {
  same_as_plain([](std::size_t n) {
    var x(sample(n, 7)), y(sample(n, 31));
    const auto [p, q] = both(bend(x), y);
    const auto mixed = [](auto c, auto g) { return std::tuple(std::get<1>(g) * c, std::get<0>(g) + std::get<1>(g)); };
    ebb::grad_fn(std::tie(p, q)).register_prehook(ebb::bind(0.25, mixed));
    ebb::backward(std::tuple(p, product(q, y)), {.seeds = {sample(n, 11), sample(n, 13)}});
    return std::vector<array>{x.grad().value(), y.grad().value()};
  }, true);
  CHECK(test::in_order(test::shown_graph,
                       {"call_hook_broadcast = ", "# pre_hook of mul+sub, traced", "call_hook_mul = ", "call_hook_add = "}));
}

TEST_CASE("a traced hook after a node reads the node's gradients and writes those of its operands") {
  same_as_plain([](std::size_t n) {
    var x(sample(n, 7)), y(sample(n, 31));
    const var t = bend(x), p = product(t, y);
    p.grad_fn(t, y).register_hook([](auto out, auto in) { return std::tuple(std::get<0>(out) + in, std::get<1>(out) * 0.5); });
    p.grad_fn().register_prehook([](auto g) { return g * 3; });
    bend(p).backward(sample(n, 11));
    return std::vector<array>{x.grad().value(), y.grad().value()};
  }, true);
  CHECK(test::in_order(test::shown_graph,
                       {"call_hook_mul = ", "# pre_hook of mul, traced", "call_hook_add = ", "# post_hook of mul, traced"}));
}

TEST_CASE("a traced hook after a node with one operand") {
  same_as_plain([](std::size_t n) {
    var x(sample(n, 7));
    const var t = bend(x), u = bend(t);
    t.grad_fn(x).register_hook([](auto out, auto in) { return out - in; });
    u.backward(sample(n, 11));
    return std::vector<array>{x.grad().value()};
  }, true);
}

TEST_CASE("hooks that see other gradients than the first ones, or some that have not come, run by themselves") {
  same_as_plain([](std::size_t n) {  // the second output first
    var x(sample(n, 7)), y(sample(n, 31));
    const auto [p, q] = both(bend(x), y);
    ebb::grad_fn(std::tie(q, p)).register_prehook([](auto g) { return std::tuple(std::get<0>(g), std::get<0>(g) + std::get<1>(g)); });
    ebb::backward(std::tuple(p, product(q, y)), {.seeds = {sample(n, 11), sample(n, 13)}});
    return std::vector<array>{x.grad().value(), y.grad().value()};
  }, false);
  same_as_plain([](std::size_t n) {  // nothing comes to q: the hook sees zeros, and the gradient stays undefined
    var x(sample(n, 7)), y(sample(n, 31));
    const auto [p, q] = both(bend(x), y);
    ebb::grad_fn(std::tie(p, q)).register_prehook([](auto g) { return std::tuple(std::get<0>(g) * 2, std::get<1>(g) + 1); });
    bend(p).backward(sample(n, 11));
    return std::vector<array>{x.grad().value(), y.grad().value()};
  }, false);
}

TEST_CASE("gradients of another dtype that only pass through are not added as those of the chain") {
  const auto check = []<class T>(T) {
    using narrow = ebb::tensor<T, ebb::dyn>;
    using of_narrow = ebb::variable<T, ebb::dyn>;
    using of_float = ebb::variable<float, ebb::dyn>;
    const auto run = [](bool captured, bool sums_come_first) {
      constexpr std::size_t n = 128, m = n * sizeof(T) / sizeof(float);  // as many bytes
      const auto from = [](float first) {
        return narrow::generate([=](std::size_t i) { return T(first + 0.25f * static_cast<float>(i % 7)); }, n);
      };
      const of_narrow w(from(1)), u(from(2)), v(from(3));
      const of_float x(test::sample<float>(m, 5));
      std::vector<array> gradients;
      const auto keep = [&](const auto& g) {
        gradients.push_back(ebb::cast<double>(g.value()));
      };
      for (int step = 0; step < 3; ++step) {
        of_narrow p, q;
        if (!sums_come_first) p = passed(w, u), q = passed(w, v);
        const of_float t = bend(x), b = bend(t);
        if (sums_come_first) p = passed(w, u), q = passed(w, v);
        ebb::backward(std::tuple(p, q, b), {.seeds = {from(5), from(6), test::sample<float>(m, 3)}, .compiled_autograd = captured});
        keep(w.grad()), keep(u.grad()), keep(v.grad()), keep(x.grad());
      }
      return gradients;
    };
    for (const bool first : {false, true}) CHECK(test::equal(run(true, first), run(false, first)));
  };
  check(ebb::bfloat16{});
  check(float{});
  check(double{});
}

TEST_CASE("a region with a scan runs by its own kernel, in its place between two chains: the plain engine's gradients") {
  static constexpr auto filtered = ebb::compile([](auto rows, auto w) {
    return std::get<1>(ebb::scan<ebb::keep_sqrt>([](auto h, auto row, auto a) {
      const auto next = ebb::tanh(a * h + row);
      return std::tuple(next, next * row);
    }, w[1], rows, ebb::whole(w[0])));
  });
  same_as_plain([](std::size_t n) {
    const var x(sample(n, 7)), w(sample(3, 31));
    const var y = bend(filtered(product(x, x), w));
    product(y, bend(y)).backward(array::ones(n));
    return std::vector<array>{x.grad().value(), w.grad().value()};
  }, false);
  CHECK(test::in_order(test::shown_plan, {
      "one chain in registers: mul (NodeCall 1), tanh", "node by node: ", "loop", "one chain in registers: mul ("}));
}
