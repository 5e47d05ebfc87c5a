// test/capture/leaves.cpp — after a node that runs by itself, hooks, sums and updates of the leaves that it completes are chains.
// SPDX-License-Identifier: BSL-1.0
// covers: group.hpp plan.hpp
#include "../autograd/failing_allocations.hpp"
#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <any>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using test::same_bits;
using matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
using vector = ebb::tensor<float, ebb::dyn>;
using matrix_variable = ebb::variable<float, ebb::dyn, ebb::dyn>;
using vector_variable = ebb::variable<float, ebb::dyn>;

constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x * x); });
constexpr auto decay = ebb::compile([](auto w) { return ebb::sum(0.125 * (w * w)); });
constexpr auto clip = [](auto g) { return ebb::clamp(g, -4, 4); };

matrix ramp(std::size_t rows, std::size_t columns, double first, double step) {
  return matrix::generate(
      [&](std::size_t i, std::size_t j) { return static_cast<float>(first + step * static_cast<double>((i * 7 + j * 3) % 31)); }, rows,
      columns);
}

struct weights {
  matrix_variable w;
  vector_variable b;

  weights(std::size_t outputs, std::size_t inputs)
      : w(ramp(outputs, inputs, -1, 0.0625)),
        b(vector::generate([](std::size_t i) { return static_cast<float>(0.5 + 0.25 * static_cast<double>(i % 5)); }, outputs)) {
    w.set_name("w");
    b.set_name("b");
  }
};

/// The state after one step, and the hooks' log.
struct outcome {
  std::vector<matrix> w;
  std::vector<vector> b;
  std::string log;

  bool operator==(const outcome& o) const {
    if (w.size() != o.w.size() || log != o.log) return false;
    for (std::size_t i = 0; i < w.size(); ++i)
      if (!same_bits(w[i], o.w[i]) || !same_bits(b[i], o.b[i])) return false;
    return true;
  }
};

/// Registers hooks on a network, which may write into the log; its result is kept.
using preparation = std::function<std::any(weights&, std::string& log)>;

/// The loss. The weights may have a second gradient, which comes last or first.
enum class task { plain, decayed_first, decayed_last };
ebb::variable<float> loss_of(task what, weights& net, const matrix& x) {
  if (what == task::plain) return total(layer(x, net.w, net.b));
  if (what == task::decayed_first) return total(layer(x, net.w, net.b)) + decay(net.w);
  const ebb::variable<float> cost = decay(net.w);  // its backward runs last
  return total(layer(x, net.w, net.b)) + cost;
}

/// Five steps, captured or not.
outcome trained(bool captured, std::size_t outputs, std::size_t inputs, const preparation& prepare, task what) {
  ca::clear_cache();
  outcome all;
  weights net(outputs, inputs);
  const std::any kept = prepare(net, all.log);
  const auto x = ramp(3, inputs, 2, -0.125);
  for (int step = 0; step < 5; ++step) {
    ebb::backward(loss_of(what, net, x), {.compiled_autograd = captured});
    all.w.push_back(net.w.value());
    all.b.push_back(net.b.value());
    all.w.push_back(net.w.grad().defined() ? net.w.grad().value() : matrix{});
    all.b.push_back(net.b.grad().defined() ? net.b.grad().value() : vector{});
  }
  return all;
}
void check_same(const preparation& prepare) {
  for (const task what : {task::plain, task::decayed_first, task::decayed_last})
    for (const auto& [outputs, inputs] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 3}, {16, 16}, {40, 33}}) {
      INFO("task " << static_cast<int>(what) << ", " << outputs << " x " << inputs);
      CHECK(trained(true, outputs, inputs, prepare, what) == trained(false, outputs, inputs, prepare, what));
    }
}

/// The plan of what f captured last, and how many groups it has.
struct planned {
  std::string text, dot;
  int groups;
};
planned plan_of(auto&& f) {
  static planned p;
  p = {};
  ca::clear_cache();
  ca::options o;
  o.compiler = [](const ebb::captured_graph& g) {
    const ebb::captured_plan made(g);
    p = {to_string(made), to_dot(made), made.groups()};
    return ebb::backend::merge;
  };
  const ca::enable on(o);
  f();
  return p;
}
planned plan_of(const preparation& prepare, task what) {
  return plan_of([&] {
    std::string log;
    weights net(5, 3);
    const std::any kept = prepare(net, log);
    for (int step = 0; step < 2; ++step) loss_of(what, net, ramp(3, 3, 2, -0.125)).backward();
  });
}

constexpr auto with_clipping = [](auto& net, std::string&) {
  net.w.register_hook(clip);
  net.b.register_hook(clip);
  return ebb::optimize_in_backward(ebb::adam{.lr = 0.01}, net.w, net.b);
};
constexpr auto accumulating = [](auto& net, std::string&) {
  net.w.register_hook(clip);
  net.b.register_hook(clip);
  net.b.register_hook([](auto g) { return g * 2; });
  return 0;
};

}  // namespace

TEST_CASE("clipping, sums and updates after a product give the same bits as node by node") {
  check_same(with_clipping);
  check_same(accumulating);
  check_same([](auto& net, std::string&) {
    net.w.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p, g * 0.5); });
    return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.9}, net.w, net.b);
  });
  check_same([](auto& net, std::string&) {
    net.w.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p - g * 0.125, ebb::nothing); });
    net.w.register_hook(ebb::bind(0.5f, [](auto c, auto g) { return g * c; }));
    return 0;
  });
}

TEST_CASE("hooks, sum and update of a leaf are one chain if that has more than one link") {
  const planned clipped = plan_of(with_clipping, task::plain);
  CHECK(clipped.groups == 2);
  CHECK(test::says(clipped.text, {"node by node: mul+sum (NodeCall 1), permute+matmul+add (NodeCall 2)\n",
                                  "  one chain in registers: w (NodeCall 3)",
                                  "reads the gradient of w (NodeCall 3), w_hook1_bound0", "writes w_state0, w_state1, w\n",
                                  "one chain in registers: b (NodeCall 4)"}));
  CHECK(test::says(clipped.dot, {"subgraph cluster_0", "subgraph cluster_1", "label=\"one chain in registers\""}));
  // The first step has no gradients to add to: b has two hooks, w one. Then there are some.
  CHECK(plan_of(accumulating, task::plain).groups == 2);
  const auto stepping = [](auto& net, std::string&) { return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1}, net.w, net.b); };
  CHECK(plan_of(stepping, task::plain).groups == 0);
  // A chain that ends at a leaf runs its hooks, too; the leaf that the product completes is a separate chain.
  const planned decayed = plan_of(with_clipping, task::decayed_last);
  CHECK(decayed.groups == 2);
  CHECK(test::says(decayed.text, {"one chain in registers: b (NodeCall", "one chain in registers: mul+mul+sum (NodeCall"}));
}

TEST_CASE("opaque hooks at the leaves of a node run at their places, and see the same as node by node") {
  const auto note = [](std::string& log, const char* what, auto& net) {
    log += std::string(what) + (net.w.grad().defined() ? " w" : "") + (net.b.grad().defined() ? " b" : "") + " " +
           std::to_string(net.w.value()(0, 0)) + " " + std::to_string(net.b.value()(0)) + "\n";
  };
  check_same([&](auto& net, std::string& log) {  // b's chain runs after it
    net.w.register_post_accumulate_grad_hook([&, note](const matrix_variable&) { note(log, "w is there", net); });
    net.b.register_hook(clip);
    return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.5}, net.b);
  });
  check_same([&](auto& net, std::string& log) {  // w's chain runs before it
    net.b.register_hook([&, note](const vector&) { note(log, "b comes", net); });
    net.b.register_post_accumulate_grad_hook([&, note](const vector_variable&) { note(log, "b is there", net); });
    net.w.register_hook(clip);
    return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.5}, net.w);
  });
  check_same([&](auto& net, std::string& log) {  // it registers another one on the next leaf
    net.w.register_post_accumulate_grad_hook([&, note](const matrix_variable&) {
      if (!log.empty()) return;
      note(log, "now", net);
      net.b.register_hook([](auto g) { return g * 3; });
    });
    return accumulating(net, log);
  });
}

TEST_CASE("hooks of all kinds on the weights and the bias, at random: the same bits, and opaque ones see the same") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    const auto prepare = [&](auto& net, std::string& log) {
      std::mt19937 random(seed);
      const auto hang = [&](auto& p, const char* name) {
        using parameter = std::remove_cvref_t<decltype(p)>;
        using array = std::remove_cvref_t<decltype(p.value())>;
        const auto updated_by = [&](auto f) { p.register_post_accumulate_grad_hook(f); };
        for (auto left = random() % 5; left > 0; --left) switch (random() % 8) {
            case 0: p.register_hook(clip); break;
            case 1: p.register_hook(ebb::bind(0.75f, [](auto c, auto g) { return g * c; })); break;
            case 2: p.accumulate_node().register_prehook([](auto g) { return g + 0.25; }); break;
            case 3: updated_by([](auto v, auto g) { return v - g * 0.01; }); break;
            case 4: updated_by([](auto v, auto g) { return std::tuple(v, ebb::clamp(g, -2, 2)); }); break;
            case 5: updated_by([](auto v, auto g) { return std::tuple(v * 0.5 - g * 0.01, ebb::nothing); }); break;
            case 6:
              if (random() % 4 == 0) p.register_hook([&log, name](const array& g) { log += name + std::to_string(g.data()[0]) + "\n"; });
              break;
            default:
              if (random() % 4 == 0)
                p.register_post_accumulate_grad_hook([&log, &net, name](const parameter& v) {
                  log += name + std::to_string(v.value().data()[0] + net.w.value().data()[0] + net.b.value().data()[0]) + "\n";
                });
          }
        if (random() % 3 == 0) p.set_grad(p.value());
      };
      hang(net.w, "w ");
      hang(net.b, "b ");
      return ebb::optimize_in_backward(ebb::sgd{.lr = 0.01, .momentum = random() % 2 ? 0.5 : 0}, net.w);
    };
    const task what = static_cast<task>(seed % 3);
    CHECK(trained(true, 5, 7, prepare, what) == trained(false, 5, 7, prepare, what));
  }
}

TEST_CASE("one captured backward runs for leaves of any length") {
  const auto gradient = [](bool captured, std::size_t n) {
    matrix_variable w(ramp(n, 3, -1, 0.0625));
    vector_variable b(vector::full(0.5f, n));
    w.register_hook(clip);
    b.register_hook(clip);
    w.set_grad(w.value());
    b.set_grad(b.value());
    ebb::backward(total(layer(ramp(2, 3, 2, -0.125), w, b)), {.compiled_autograd = captured});
    return std::pair(w.grad().value(), b.grad().value());
  };
  ca::reset();
  for (std::size_t n = 1; n < 150; ++n) {
    INFO("length " << n);
    const auto [w, b] = gradient(true, n);
    const auto [want_w, want_b] = gradient(false, n);
    CHECK((same_bits(w, want_w) && same_bits(b, want_b)));
  }
  CHECK(ebb::counters().compiled_autograd.captures == 1);
  ca::reset();
}

TEST_CASE("a hit allocates nothing if leaves are separate chains") {
  const pool_limit scope(std::size_t{256} << 20);
  ca::reset();
  const ca::enable on;
  std::string log;
  weights net(16, 16);
  const auto kept = with_clipping(net, log);
  const auto x = ramp(3, 16, 2, -0.125);
  const auto step = [&] { loss_of(task::decayed_last, net, x).backward(); };
  for (int i = 0; i < 4; ++i) step();
  const auto before = ebb::counters().compiled_autograd;
  CHECK(allocations::in([&] {
    for (int i = 0; i < 10; ++i) step();
  }) == 0);
  CHECK(ebb::counters().compiled_autograd.hits == before.hits + 10);
  ca::reset();
}

TEST_CASE("neighbours whose lengths are known to differ are two chains") {
  const ebb::variable<float, 6, 4> v(ebb::tensor<float, 6, 4>::full(2.f));
  const ebb::variable<float, 3, 4> w(ebb::tensor<float, 3, 4>::full(3.f));
  v.register_hook(clip);
  w.register_hook(clip);
  CHECK(plan_of([&] { (decay(v) + decay(w)).backward(); }).groups == 2);
  CHECK(ebb::all_equal(v.grad().value(), ebb::tensor<float, 6, 4>::full(0.5f)));
  CHECK(ebb::all_equal(w.grad().value(), ebb::tensor<float, 3, 4>::full(0.75f)));
}

namespace {

/// Doubles; its operand gets no gradient in steps with an odd number.
struct every_other_time {
  int step;
  vector forward(const vector& x) const { return vector::generate([&](std::size_t i) { return 2 * x(i); }, x.size()); }
  std::optional<vector> backward(const vector& g) const {
    if (step % 2) return {};
    return vector::generate([&](std::size_t i) { return 2 * g(i); }, g.size());
  }
};

}  // namespace

TEST_CASE("a leaf that does not always get a gradient from the function before it") {
  const auto gradient_after = [](int steps) {
    const vector_variable v(vector{3, -1, 0.5f});
    v.register_hook([](auto g) { return g + 1; });
    v.register_hook([](auto g) { return g * 3; });
    for (int step = 0; step < steps; ++step) total(ebb::apply(every_other_time{step}, v)).backward();
    return v.grad().value();
  };
  const vector one_step{3 * (24 + 1), 3 * (-8 + 1), 3 * (4 + 1)};
  CHECK(plan_of([&] { CHECK(ebb::all_equal(gradient_after(1), one_step)); }).groups == 1);
  const ca::enable on;
  for (int steps = 1; steps < 7; ++steps) {
    INFO(steps << " steps");
    const float times = static_cast<float>((steps + 1) / 2);
    CHECK(ebb::all_equal(gradient_after(steps), vector{times * one_step(0), times * one_step(1), times * one_step(2)}));
  }
}
