// examples/explain/main.cpp — the plan of a function in plain words: what slows it, and what to write instead.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/explain.hpp>
#include <ebb/functional.hpp>

#include <iostream>

using table = ebb::tensor<float, ebb::dyn, ebb::dyn>;  // one point a row
using points = ebb::tensor<float, ebb::dyn, 3>;
using rod = ebb::tensor<double, ebb::dyn>;

// The energy of a point is the square of its distance from the origin, times its height.
constexpr auto energy = [](auto p) { return ebb::sum(ebb::square(p)) * p[0]; };
constexpr auto energies = ebb::compile([](auto all) { return ebb::map(energy, all); });

// Heat flows from a place of a rod to the next one; what stays of it is the difference of two flows.
constexpr auto heat_flow = ebb::compile([](auto t) {
  const auto flow = 0.1 * (ebb::slice<0, 1>(t) - ebb::slice<0, 0, -1>(t));
  return ebb::slice<0, 1>(flow) - ebb::slice<0, 0, -1>(flow);
});

int main() {
  std::cout << ebb::explain<table>(energies) << '\n';
  std::cout << ebb::explain(energies, points(1'000'000)) << '\n';
  std::cout << ebb::explain<rod>(heat_flow) << '\n';
}
