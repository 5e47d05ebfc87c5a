// examples/tutorial/main.cpp — PyTorch's tutorial on compiled autograd from end to end: each of its claims, checked in ebb.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <cstdio>
#include <string>

using row = ebb::variable<float, 10>;

// Three regions, compiled ahead. Between them is ordinary C++, which no region's compiler can see through.
constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
constexpr auto shift = ebb::compile([](auto x) { return x + 10; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

struct model {
  ebb::variable<float, 10, 10> w;
  row b;

  ebb::variable<float> loss(const ebb::tensor<float, 10>& x) const {
    const row h = layer(x, w, b);
    if (!(h.value()(0) < 1e6f)) std::puts("gone astray");  // a graph break: a branch on a value
    const row shifted = shift(h);
    if (ebb::any(ebb::isnan(shifted))) std::puts("NaN");   // another graph break
    return total(shifted);
  }
};

void heading(const char* text) { std::printf("\n--- %s\n", text); }

void what_runs(const model& m, const ebb::tensor<float, 10>& x) {
  heading("what a backward runs, node by node; then the gradient of b without and with the hook");
  const auto gradient_of_b = [&] {
    ebb::zero_grad(m.w, m.b);
    m.loss(x).backward();
    return static_cast<double>(m.b.grad().value()(0));
  };
  for (const std::string& name : ebb::execution_order(m.loss(x))) std::printf("%s\n", name.c_str());
  const double without = gradient_of_b();
  ebb::hook_handle hook = m.b.register_hook([](auto g) { return g + 10; });
  std::printf("gradient of b: %g, with the hook: %g\n", without, gradient_of_b());
  hook.remove();
}

void three_graphs_or_one(const model& m, const ebb::tensor<float, 10>& x) {
  heading("graph breaks cut the backward into three programs, compiled autograd makes one of them");
  ebb::clear_counters();
  m.loss(x).backward();
  std::printf("without: unique_graphs = %d\n", static_cast<int>(ebb::counters().unique_graphs));
  ebb::clear_counters();
  {
    const ebb::compiled_autograd::enable scope;
    m.loss(x).backward();
  }
  std::printf("with:    unique_graphs = %d\n", static_cast<int>(ebb::counters().unique_graphs));
}

void hooks(const model& m, const ebb::tensor<float, 10>& x) {
  heading("a hook on the gradient of b is part of the graph: look for call_hook");
  ebb::hook_handle hook = m.b.register_hook([](auto g) { return g + 10; });
  ebb::zero_grad(m.w, m.b);
  const ebb::compiled_autograd::enable scope;
  ebb::set_log(ebb::log_topic::compiled_autograd, true);
  m.loss(x).backward();
  ebb::set_log(ebb::log_topic::compiled_autograd, false);
  std::printf("gradient of b: %g\n", static_cast<double>(m.b.grad().value()(0)));
  hook.remove();
}

void new_nodes() {
  heading("a new node is a new graph: add, sub, mul, div; the second round finds all four");
  const ebb::compiled_autograd::enable scope;
  const ebb::variable a(ebb::tensor<float, 10>{}), b(ebb::tensor<float, 10>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ebb::compiled_autograd::clear_cache();
  ebb::clear_counters();
  for (int round = 0; round < 2; ++round) {
    ebb::zero_grad(a, b);
    ebb::sum(a + b).get().backward();
    ebb::zero_grad(a, b);
    ebb::sum(a - b).get().backward();
    ebb::zero_grad(a, b);
    ebb::sum(a * b).get().backward();
    ebb::zero_grad(a, b);
    ebb::sum(a / b).get().backward();
  }
  const auto c = ebb::counters().compiled_autograd;
  std::printf("captures %d, hits %d\n", static_cast<int>(c.captures), static_cast<int>(c.hits));
}

void new_shapes(bool dynamic) {
  heading(dynamic ? "sizes are no part of the key" : "unless one says so: then they are, until they change");
  const ebb::compiled_autograd::enable scope({.dynamic = dynamic});
  ebb::clear_counters();
  for (const std::size_t n : {10u, 100u, 10u, 20u}) {
    const ebb::variable x(ebb::tensor<float, ebb::dyn>::zeros(n));
    total(shift(x)).backward();
  }
  std::printf("captures %d\n", static_cast<int>(ebb::counters().compiled_autograd.captures));
}

void options(const model& m, const ebb::tensor<float, 10>& x) {
  heading("with options of the user's");
  ebb::zero_grad(m.w, m.b);
  const ebb::compiled_autograd::enable scope({.fullgraph = true, .compiler = [](const ebb::captured_graph& g) {
    std::printf("%s has %d equations\n", g.name().c_str(), g.equations().size());
    return ebb::backend::merge;
  }});
  m.loss(x).backward();
  const ebb::hook_handle hook =
      m.b.register_hook([](const ebb::tensor<float, 10>& g) { std::printf("g = %g\n", static_cast<double>(g(0))); });
  try {
    m.loss(x).backward();
  } catch (const ebb::error& e) {
    std::printf("refused: %s\n", e.what());
  }
}

int main() {
  const auto [kw, kb, kx] = ebb::random_key(42).split<3>();
  model m{ebb::variable(ebb::normal<float, 10, 10>(kw, 0.f, 0.3f)), ebb::variable(ebb::normal<float, 10>(kb, 1.f, 0.3f))};
  m.w.set_name("w");
  m.b.set_name("b");
  const auto x = ebb::normal<float, 10>(kx);
  ebb::set_log_sink([](ebb::log_topic, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });

  what_runs(m, x);
  three_graphs_or_one(m, x);
  hooks(m, x);
  ebb::set_log(ebb::log_topic::compiled_autograd_verbose, true);  // logs reasons, as EBB_LOGS=compiled_autograd_verbose does
  new_nodes();
  new_shapes(true);
  new_shapes(false);
  ebb::set_log(ebb::log_topic::compiled_autograd_verbose, false);
  options(m, x);
}
