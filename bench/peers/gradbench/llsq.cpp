// bench/peers/gradbench/llsq.cpp — GradBench's own llsq, in the arrays of bench/gradbench/llsq.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/llsq.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  return make<llsq::Primal, Gradient>({g.numbers[0], g.sizes[0]}, [](const auto&, double value, const auto& gradient) {
    return results{{value}, gradient, {}};
  });
}
