// bench/compile_time/programs/region.cpp — one region, its backward and compiled autograd: the smallest program that has all three.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <cstdio>

constexpr auto cost = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::tanh(x * w) * x); });

int main() {
  const ebb::tensor<float, ebb::dyn> x = ebb::tensor<float, ebb::dyn>::full(0.5f, 100);
  const ebb::variable w(x);
#ifndef EBB_WITHOUT_CAPTURE
  const ebb::compiled_autograd::enable scope;
#endif
  const auto value = cost(x, w);
  value.backward();
  std::printf("%.4f\n", static_cast<double>(value.item()));
}
