// examples/tape/main.cpp — regions and ordinary C++ between them, hooks, an optimizer in the backward, and derivatives of derivatives.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>
#include <cstdio>

constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::tanh(ebb::linear(x, w, b)); });  // regions: forward and
constexpr auto error = ebb::compile([](auto h, auto t) { return ebb::mse(h, t); });                           // backward compiled ahead

int main() {
  const auto [kx, kw, kt] = ebb::random_key(1).split<3>();
  const auto x = ebb::normal<float, 32, 8>(kx);
  const auto t = ebb::uniform<float, 32, 4>(kt, -1.f, 1.f);
  const ebb::variable w(ebb::normal<float, 4, 8>(kw));                          // the type says that it needs a gradient
  const ebb::variable b(ebb::tensor<float, 4>{});
  const auto optimizer = ebb::optimize_in_backward(ebb::sgd{.lr = 0.5}, w, b);  // updates a parameter as soon as its gradient is complete

  for (int step = 1; step <= 3; ++step) {
    const auto h = layer(x, w, b);                                              // one node on the tape
    if (ebb::any(ebb::isnan(h))) return 1;                                      // ordinary C++ between regions: a graph break
    h.register_hook([](auto g) { return ebb::clamp(g, -0.01f, 0.01f); });       // a hook on the gradient of h, compiled like a region
    const ebb::variable loss = error(h, t) + 0.001 * ebb::sum(w * w);           // eager code: this statement is one node
    loss.backward();
    std::printf("step %d  loss %.4f\n", step, loss.item());
  }

  const ebb::variable v(2.0);                                                   // derivatives of derivatives, to any order
  ebb::variable y = v * v * v;
  for (int order = 1; order <= 3; ++order) {
    y = ebb::grad(y, ebb::wrt(v), {.create_graph = true});
    std::printf("order %d: %g\n", order, y.item());
  }
}
