// bench/peers/gradbench/ba.cpp — GradBench's own ba, in the arrays of bench/gradbench/ba.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "program.hpp"

#include "tools/manual/ba.cpp"

gradbench::peer::program* gradbench_program(const given& g) {
  ba::Input in;
  in.n = static_cast<int>(g.sizes[0]);
  in.m = static_cast<int>(g.sizes[1]);
  in.p = static_cast<int>(g.sizes[2]);
  in.cams = g.numbers[0];
  in.X = g.numbers[1];
  in.w = g.numbers[2];
  in.feats = g.numbers[3];
  in.obs = g.indices[0];
  return make<ba::Objective, Jacobian>(in, [](const auto&, const ba::ObjOutput& value, const ba::JacOutput& by) {
    results r{value.reproj_err, by.vals, by.rows};
    r.value.insert(r.value.end(), value.w_err.begin(), value.w_err.end());
    r.places.insert(r.places.end(), by.cols.begin(), by.cols.end());
    return r;
  });
}
