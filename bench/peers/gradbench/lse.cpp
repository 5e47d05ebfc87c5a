// bench/peers/gradbench/lse.cpp — GradBench's own lse, in the arrays of bench/gradbench/lse.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/lse.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  return make<lse::Primal, Gradient>({g.numbers[0]}, [](const auto&, double value, const auto& gradient) {
    return results{{value}, gradient, {}};
  });
}
