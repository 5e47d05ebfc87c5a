// examples/functions/main.cpp — value and gradient of a function of arrays, and the compiled program of the gradient.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>
#include <iostream>

using X = ebb::tensor<float, ebb::dyn, 3>;  // extents are part of the type; dynamic ones are given when an array is made
using W = ebb::tensor<float, 3, 2>;
using B = ebb::tensor<float, 2>;
using T = ebb::tensor<int, ebb::dyn>;

constexpr auto loss = [](auto x, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::matmul(x, w) + b, t); };

using bwd = ebb::backward_t<decltype(loss), ebb::off, X, W, B, T>;       // the backward is a type, to be inspected and tested
constexpr auto slope = ebb::grad([](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); });
static_assert(ebb::grad([](auto x) { return x * x; })(3.0) == 6.0);      // small static gradients are constant expressions

int main() {
  const X x{{1, 0, 2}, {0, 1, 1}, {3, 1, 0}, {1, 1, 1}};
  const W w{{1, 0}, {0, 1}, {0.5f, 0.5f}};
  const B b;
  const T t{0, 1, 0, 1};

  auto [value, dw, db] = ebb::value_and_grad<1, 2>(loss)(x, w, b, t);      // no tape; only the results are allocated
  std::cout << value << '\n' << dw << '\n' << db << '\n';
  ebb::print<X, W>(slope);                                                 // its program: two products with one fused loop between
}
