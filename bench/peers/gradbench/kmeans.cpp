// bench/peers/gradbench/kmeans.cpp — GradBench's own kmeans, in the arrays of bench/gradbench/kmeans.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/kmeans.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  kmeans::Input in;
  in.n = static_cast<int>(g.sizes[0]);
  in.k = static_cast<int>(g.sizes[1]);
  in.d = static_cast<int>(g.sizes[2]);
  in.points = g.numbers[0];
  in.centroids = g.numbers[1];
  return make<kmeans::Cost, Dir>(in, [](const auto&, double cost, const auto& direction) { return results{{cost}, direction.dir, {}}; });
}
