// bench/peers/gradbench/gmm.cpp — GradBench's own gmm, in the arrays of bench/gradbench/gmm.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/gmm.cpp"

/// The constant that bench/gradbench/gmm.cpp leaves out of the value: no parameter moves it.
static double constant_of(const gmm::Input& in) {
  const int n = in.d + in.wishart.m + 1;
  const double of_prior = n * in.d * (std::log(in.wishart.gamma) - 0.5 * std::log(2)) - log_gamma_distrib(0.5 * n, in.d);
  return in.k * of_prior - 0.5 * in.n * in.d * std::log(2 * M_PI);
}

gradbench::peer::program* gradbench_program(const given& g) {
  gmm::Input in;
  in.d = static_cast<int>(g.sizes[0]);
  in.k = static_cast<int>(g.sizes[1]);
  in.n = static_cast<int>(g.sizes[2]);
  in.alpha = g.numbers[0];
  in.mu = g.numbers[1];
  in.q = g.numbers[2];
  in.l = g.numbers[3];
  in.x = g.numbers[4];
  in.wishart.m = static_cast<int>(g.numbers[5][0]);
  in.wishart.gamma = g.numbers[5][1];
  return make<gmm::Objective, Jacobian>(in, [](const gmm::Input& from, double value, const gmm::JacOutput& by) {
    results r{{value - constant_of(from)}, by.alpha, {}};
    for (const auto* part : {&by.mu, &by.q, &by.l}) r.derivative.insert(r.derivative.end(), part->begin(), part->end());
    return r;
  });
}
