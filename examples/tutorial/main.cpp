// examples/tutorial/main.cpp — the model of PyTorch's compiled autograd tutorial on the tape: a linear layer, two graph breaks, a hook.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <cstdio>
#include <iostream>

using row = ebb::variable<float, 10>;

// Three regions, compiled ahead. Between them stands ordinary C++, which the compiler of none of them can see through.
constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
constexpr auto bias = ebb::compile([](auto x) { return x + 10; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

struct model {
  ebb::variable<float, 10, 10> w;
  row b;

  ebb::variable<float> loss(const ebb::tensor<float, 10>& x) const {
    const row h = layer(x, w, b);
    std::printf("  forward: %s of %zu elements, first %.3f\n", h.name().c_str(), h.size(), h.value()(0));  // a graph break: I/O
    const row shifted = h.value()(0) > 0 ? bias(h) : h;                                                    // and another: a branch
    return total(shifted);
  }
};

/// One step of training: forward, backward, and what ran.
void train(const model& m, const ebb::tensor<float, 10>& x) {
  const auto loss = m.loss(x);
  std::printf("  loss %.3f; backward:\n", loss.item());
  for (const std::string& name : ebb::execution_order(loss)) std::printf("    %s\n", name.c_str());
  loss.backward();
  std::cout << "  gradient of b: " << m.b.grad().value() << '\n';
}

int main() {
  const auto [kw, kb, kx] = ebb::random_key(42).split<3>();
  model m{ebb::variable(ebb::normal<float, 10, 10>(kw, 0.f, 0.3f)), ebb::variable(ebb::normal<float, 10>(kb, 1.f, 0.3f))};
  m.w.set_name("w");
  m.b.set_name("b");
  const auto x = ebb::normal<float, 10>(kx);

  std::puts("without a hook");
  train(m, x);

  std::puts("with a hook on the gradient of b: g + 10");
  ebb::zero_grad(m.w, m.b);
  ebb::hook_handle hook = m.b.register_hook([](auto g) { return g + 10; });
  train(m, x);
  hook.remove();
}
