// test/capture/updates.cpp — parameters updated in a captured backward: by links of the same chain, in place, with the same bits.
// SPDX-License-Identifier: BSL-1.0
// covers: group.hpp hooks/update.hpp
#include "../autograd/allocations.hpp"
#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
template <class T>
using array_of = ebb::tensor<T, ebb::dyn>;
template <class T>
using variable_of = ebb::variable<T, ebb::dyn>;
using array = array_of<float>;
using var = variable_of<float>;
using test::same_bits;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto bent = ebb::compile([](auto x, auto w) { return ebb::tanh(x) * w; });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });

template <class T>
array_of<T> ramp(std::size_t n, double first, double step) {
  return array_of<T>::generate([&](std::size_t i) { return static_cast<T>(first + step * static_cast<double>(i)); }, n);
}

/// Some steps of training, captured or not: the values of all parameters one after the other, and their gradients.
template <class T>
std::vector<array_of<T>> trained(bool captured, std::size_t n, auto&& prepare, bool retains = false) {
  ca::clear_cache();
  variable_of<T> w(ramp<T>(n, 0.5, 1e-3)), v(ramp<T>(n, -1, 2e-3)), x(ramp<T>(n, 0.25, -1e-3));
  [[maybe_unused]] const auto kept = prepare(w, v);
  std::vector<array_of<T>> all;
  for (int step = 0; step < 5; ++step) {
    // w is saved by nodes that run before its update and, as a constant of x's last node, by one that runs after it.
    const auto out = product(bent(scaled(bent(x, w.value())), v), bent(w, v));
    ebb::backward(out, {.seeds = {ramp<T>(n, 1, 1e-2)}, .retain_graph = retains, .compiled_autograd = captured});
    for (const auto* p : {&w, &v, &x}) {
      all.push_back(p->value());
      all.push_back(p->grad().defined() ? p->grad().value() : array_of<T>{});
    }
    all.push_back(out.value());
  }
  return all;
}
template <class T>
void check_same(auto&& prepare) {
  for (const std::size_t n : {0u, 1u, 63u, 64u, 1000u, 4099u})
    for (const bool retains : {false, true}) {
      INFO(n << " elements" << (retains ? ", the graph retained" : ""));
      const auto plain = trained<T>(false, n, prepare, retains), captured = trained<T>(true, n, prepare, retains);
      REQUIRE(plain.size() == captured.size());
      for (std::size_t i = 0; i < plain.size(); ++i) {
        INFO("array " << i);
        CHECK(same_bits(plain[i], captured[i]));
      }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("rules as hooks in a captured backward give the same bits as node by node", "", float, double) {
  check_same<TestType>([](auto& w, auto& v) { return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1}, w, v); });
  check_same<TestType>([](auto& w, auto& v) {
    return ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}, w, v);
  });
  check_same<TestType>([](auto& w, auto& v) { return ebb::optimize_in_backward(ebb::adam{.lr = 0.01}, std::tie(w, v)); });
  check_same<TestType>([](auto& w, auto& v) {
    v.set_grad(ramp<TestType>(v.size(), 1, 0));
    return ebb::optimize_in_backward(ebb::adamw{.lr = 0.01}, w);  // w is updated, v accumulates
  });
}

TEMPLATE_TEST_CASE("traced updates of all kinds, several on one leaf, give the same bits", "", float, double) {
  const auto with = [](auto... hook) {
    return [=](auto& w, auto& v) {
      (w.register_post_accumulate_grad_hook(hook), ...);
      (v.register_post_accumulate_grad_hook(hook), ...);
      w.register_hook([](auto g) { return ebb::clamp(g, -2, 2); });
      return 0;
    };
  };
  const auto step = [](auto p, auto g) { return p - g * 0.25; };
  const auto step_and_forget = [](auto p, auto g) { return std::tuple(p - g * 0.125, ebb::nothing); };
  const auto clip = [](auto p, auto g) { return std::tuple(p, ebb::clamp(g, -1, 1)); };
  const auto both = [](auto p, auto g) { return std::tuple(p * 0.75 - g, g * p); };
  check_same<TestType>(with(step));
  check_same<TestType>(with(step_and_forget));
  check_same<TestType>(with(clip, step));
  check_same<TestType>(with(both, step, clip));
  check_same<TestType>(with(clip, step_and_forget, step));
  check_same<TestType>(with(ebb::bind(TestType(0.5), [](auto c, auto p, auto g) { return p - g * c; })));
}

TEST_CASE("a captured update writes the parameter in place: neither a copy of it nor its gradient is made") {
  constexpr std::size_t n = 20'000;
  const ca::enable on;
  ca::clear_cache();
  const var w(array::full(0.5f, n)), x(array::full(2.f, n));
  const array seed = array::full(1.f, n);
  const auto [opt, handles] = ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.9}, w);
  const void* at = nullptr;
  const std::ptrdiff_t one = static_cast<std::ptrdiff_t>(n * sizeof(float));
  for (int step = 0; step < 4; ++step) {
    const var out = scaled(product(scaled(w), x.value()));
    const std::ptrdiff_t most = allocations::most_bytes_in([&] { ebb::backward(out, {.seeds = {seed}}); });
    if (step > 0) CHECK(w.data() == at);
    if (step > 1) CHECK(most < one / 2);  // the first step makes the momentum
    at = w.data();
    CHECK_FALSE(w.grad().defined());
  }
  CHECK(opt.state(0).step == 4);
  // A saved value that is still needed keeps its bits: then the update writes elsewhere.
  const var kept = product(w, x);
  const array before = w.value();
  ebb::backward(scaled(product(scaled(w), x.value())), {.seeds = {seed}});
  CHECK(w.data() != at);
  ebb::backward(kept, {.seeds = {seed}});
  CHECK(same_bits(x.grad().value(), before));
}

TEST_CASE("hyperparameters change from step to step without a new capture, and a rule's errors are those of node by node") {
  ca::clear_cache();
  const ca::enable on;
  var w(array::full(1.f, 100));
  auto [opt, handles] = ebb::optimize_in_backward(ebb::sgd{.lr = 0.5}, w);
  const auto step = [&] { ebb::backward(scaled(scaled(w)), {.seeds = {array::full(1.f, 100)}}); };
  step();
  CHECK(w.value()(99) == 1 - 0.5f * 2.25f);
  const auto before = ebb::counters().compiled_autograd;
  opt.rule().lr = 0;
  step();
  opt.rule().lr = 1;
  step();
  CHECK(w.value()(99) == 1 - 0.5f * 2.25f - 2.25f);
  CHECK(ebb::counters().compiled_autograd.captures == before.captures);
  CHECK(ebb::counters().compiled_autograd.hits == before.hits + 2);
#if EBB_EXCEPTIONS
  opt.rule().lr = -1;
  CHECK(test::says(test::raised(step), {"an update rule as a hook", "lr"}));
  CHECK(w.value()(99) == 1 - 0.5f * 2.25f - 2.25f);
#endif
  opt.rule().lr = 0.5;
  opt.rule().momentum = 0.5;  // another program: a capture of its own
  w.zero_grad();
  step();
  CHECK(ebb::counters().compiled_autograd.captures == before.captures + 1);
}

TEST_CASE("an update is shown as the rule's own equations and an assignment") {
  static std::string graphs;
  graphs.clear();
  ca::reset();
  const auto sink = ebb::set_log_sink([](ebb::log_topic, std::string_view s) { graphs += s; });
  ebb::set_log(ebb::log_topic::compiled_autograd, true);
  {
    const ca::enable on;
    var w(array{1, 2, 3});
    w.set_name("w");
    ebb::variable<float, 2, 2> m(ebb::tensor<float, 2, 2>{{1, 2}, {3, 4}});
    m.set_name("m");
    const auto [opt, handles] = ebb::optimize_in_backward(ebb::sgd{.lr = 0.5, .momentum = 0.5}, w, m);
    ebb::backward(scaled(w), {.seeds = {array{1, 1, 1}}});
    CHECK(test::says(graphs, {"w = input", "w_state0 = input", "call_accumulate_grad w, nothing", "call_hook_sub",
                              "assign w, call_hook_sub", "assign w_state0, call_hook_add", "post_acc_grad_hook of w, traced"}));
    graphs.clear();
    ebb::backward(ebb::sum(m * 2.f));
    CHECK(test::says(graphs, {"call_hook_sub", ": f32[2, 2]", "assign m, call_hook_sub"}));
  }
  ebb::set_log(ebb::log_topic::compiled_autograd, false);
  ebb::set_log_sink(sink);
  ca::reset();
}

TEST_CASE("a version counts writes of the value, as node by node") {
  const auto version_after = [](bool captured) {
    const var x(ramp<float>(9, 1, 0.25));
    x.register_post_accumulate_grad_hook([](auto p, auto g) { return p - g * 0.5; });
    x.register_post_accumulate_grad_hook([](auto p, auto g) { return std::tuple(p, g * 0.5); });
    x.register_post_accumulate_grad_hook([](auto p, auto g) { return p - g * 0.25; });
    const auto kept = ebb::optimize_in_backward(ebb::sgd{.lr = 0.1, .momentum = 0.9}, x);
    for (int step = 0; step < 4; ++step)
      ebb::backward(bent(x, x), {.seeds = {ramp<float>(9, 1, 0)}, .compiled_autograd = captured});
    return x.version();
  };
  CHECK(version_after(false) == 12);  // three of the four hooks, in each of four steps: one leaves the value as it is
  CHECK(version_after(true) == version_after(false));
}
