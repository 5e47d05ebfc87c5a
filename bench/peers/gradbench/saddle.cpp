// bench/peers/gradbench/saddle.cpp — GradBench's own saddle, by differences: it has none by hand.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/finite/saddle.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  return make<no_primal<saddle::Input>, Saddle>({{g.numbers[0][0], g.numbers[0][1]}}, [](const auto&, double, const auto& found) {
    return results{{}, found, {}};
  });
}
