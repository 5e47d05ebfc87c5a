// bench/peers/gradbench/ht.cpp — GradBench's own ht, in the arrays of bench/gradbench/ht.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/ht.cpp"

#include <algorithm>

static LightMatrix<double> matrix_of(const double* columns, std::size_t height, std::size_t width) {
  LightMatrix<double> m(static_cast<int>(height), static_cast<int>(width));
  m.set(columns);
  return m;
}
/// Of the bones all but the last, which is the world.
static ht::Input input_of(const given& g) {
  const std::size_t n = g.sizes[0], c = g.sizes[1], all = g.sizes[2], bones = all - 1;
  ht::Input in;
  ht::ModelLightMatrix& hand = in.data.model;
  in.theta = g.numbers[0];
  in.us = g.numbers[6];
  in.data.points = matrix_of(g.numbers[5].data(), 3, c);
  hand.bone_names.resize(bones);
  hand.is_mirrored = false;
  hand.base_positions = matrix_of(g.numbers[4].data(), 4, n);
  hand.weights = LightMatrix<double>(static_cast<int>(bones), static_cast<int>(n));
  for (std::size_t v = 0; v < n; ++v) hand.weights.set_col(static_cast<int>(v), &g.numbers[3][v * all]);
  for (std::size_t b = 0; b < bones; ++b) {
    const int parent = g.indices[0][b];
    hand.parents.push_back(parent == static_cast<int>(bones) ? -1 : parent);
    hand.base_relatives.push_back(matrix_of(&g.numbers[1][16 * b], 4, 4));
    hand.inverse_base_absolutes.push_back(matrix_of(&g.numbers[2][16 * b], 4, 4));
    hand.base_relatives.back().transpose_in_place();
    hand.inverse_base_absolutes.back().transpose_in_place();
  }
  if (in.us.empty()) in.data.correspondences = g.indices[1];
  else
    for (std::size_t i = 0; i < c; ++i) {
      in.data.correspondences.push_back(static_cast<int>(i));
      hand.triangles.push_back({{g.indices[2][3 * i], g.indices[2][3 * i + 1], g.indices[2][3 * i + 2]}});
    }
  return in;
}

gradbench::peer::program* gradbench_program(const given& g) {
  return make<ht::Objective, Jacobian>(input_of(g), [](const ht::Input& in, const auto& errors, const ht::JacOutput& by) {
    results r{errors, by.jacobian, {}};  // columns by u and v are the first
    const auto pose = r.derivative.begin() + (in.us.empty() ? 0 : 2 * by.jacobian_nrows);
    std::rotate(r.derivative.begin(), pose, r.derivative.end());
    return r;
  });
}
