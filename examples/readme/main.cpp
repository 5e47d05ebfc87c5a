// examples/readme/main.cpp — the program that README.md shows.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>
#include <iostream>

using X = ebb::tensor<float, ebb::dyn, 2>;  // extents are part of the type; a dynamic one is given when an array is made
using Y = ebb::tensor<float, ebb::dyn>;
using W = ebb::tensor<float, 2>;
constexpr auto slope = ebb::grad<2>([](auto x, auto y, auto w) { return ebb::mse(ebb::matmul(x, w), y); });

int main() {
  const X x{{0, 1}, {1, 0}, {1, 1}, {2, 1}};
  const Y y{-1, 2, 1, 3};
  W w;
  for (int step = 0; step < 100; ++step) w -= 0.25f * slope(x, y, w);
  std::cout << w << '\n';
  ebb::print<X, Y, W>(slope);  // the gradient's program
}
