// bench/peers/gradbench/lstm.cpp — GradBench's own lstm, in the arrays of bench/gradbench/lstm.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/lstm.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  lstm::Input in;
  in.l = static_cast<int>(g.sizes[0]);
  in.c = static_cast<int>(g.sizes[1]);
  in.b = static_cast<int>(g.sizes[2]);
  in.main_params = g.numbers[0];
  in.extra_params = g.numbers[1];
  in.state = g.numbers[2];
  in.sequence = g.numbers[3];
  return make<lstm::Objective, Jacobian>(in, [](const auto&, double loss, const auto& gradient) { return results{{loss}, gradient, {}}; });
}
