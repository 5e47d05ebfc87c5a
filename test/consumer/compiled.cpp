// test/consumer/compiled.cpp — a program on the tape that prints bits: they must be the same with ebb::compiled and with headers alone.
// SPDX-License-Identifier: BSL-1.0
// covers: base/compiled.hpp
#include <ebb/ebb.hpp>

#include <cstdio>

constexpr auto layer = ebb::compile([](auto x, auto w) { return ebb::tanh(ebb::matmul(x, w)); });

int main() {
  const auto [kx, kw] = ebb::random_key(1).split<2>();
  const auto x = ebb::normal<float, 19, 37>(kx);
  const ebb::variable w(ebb::normal<float, 37, 23>(kw));
  const ebb::optimizer adam(ebb::adam{.lr = 0.01}, w);
  w.register_hook([](auto g) { return ebb::clamp(g, -0.1f, 0.1f); });
  for (const bool captured : {false, true, true}) {
    const ebb::variable<float> loss = ebb::sum(layer(x, w) * 0.25f);
    loss.backward({.compiled_autograd = captured});
    std::printf("%a %a\n", static_cast<double>(loss.item()), ebb::clip_grad_norm(w, 0.5));
    ebb::optimizer(adam).step();
    ebb::optimizer(adam).zero_grad();
  }
  for (const float element : w.value()) std::printf("%a\n", static_cast<double>(element));
  const ebb::variable v(w.value());  // a leaf without the hook
  const ebb::variable<float> y = ebb::sum(ebb::tanh(v) * v);
  const auto first = ebb::grad(y, ebb::wrt(v), {.create_graph = true});
  const auto second = ebb::grad(ebb::variable<float>(ebb::sum(first * first)), ebb::wrt(v)).value();
  for (const float element : second) std::printf("%a\n", static_cast<double>(element));
}
