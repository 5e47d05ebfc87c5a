// test/op/exact_derivatives.hpp — compares a function of two arrays, its gradient and its Hessian with hyper-dual numbers in long double.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "hyper_dual.hpp"

#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/trace.hpp>

#include <random>
#include <string>

namespace test {

/// f(x, y), its gradient and its Hessian (xx, xy, yx, yy) at many points at once, as one graph.
inline ebb::graph derivatives(const ebb::graph& f) {
  ebb::graph g = ebb::joint(f, {0, 1});
  const ebb::vec<int> wrt{g.input(0), g.input(1)};
  for (int i : {1, 2}) {
    const int ones = g.op(g.out[i]).kit->literal(g, g.eq[g.out[i]].shape, 1);
    const auto d = ebb::pull_back(g, wrt, {g.out[i]}, {ones});
    for (int j = 0; j < 2; ++j) g.out.push(ebb::or_zeros(g, d[j], wrt[j]));
  }
  return ebb::prune(g);
}

/// Checks a function as a graph and on dual numbers. It takes a graph, so that it is compiled once for all functions.
template <class T>
void check_derivatives(const std::string& name, const ebb::graph& traced, hyper_dual f(hyper_dual, hyper_dual), double low, double high) {
  constexpr int n = 256;
  std::mt19937_64 random(n);
  std::uniform_real_distribution<double> place(low, high);
  ebb::cell_array x, y, ones(n, ebb::to_cell(T(1)));
  for (int i = 0; i < n; ++i) {
    x.push(ebb::to_cell(static_cast<T>(place(random))));
    y.push(ebb::to_cell(static_cast<T>(place(random))));
  }
  const ebb::graph g = derivatives(traced);
  ebb::extent_list extents;
  extents.rank = 1;
  extents.e[0] = n;
  const auto out = ebb::evaluate(g, {x, y, ones}, ebb::symbol_values(g, {extents, extents, extents}));
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    const long double u = ebb::from_cell<T>(x[i]), v = ebb::from_cell<T>(y[i]);
    const hyper_dual xx = f(hyper_dual{u, 1, 1, 0}, hyper_dual{v}), xy = f(hyper_dual{u, 1, 0, 0}, hyper_dual{v, 0, 1, 0}),
                     yy = f(hyper_dual{u}, hyper_dual{v, 1, 1, 0});
    const long double want[] = {xy.v, xy.a, xy.b, xx.c, xy.c, xy.c, yy.c};
    // The error is relative to the terms summed on the way; the largest of the seven results is taken for their size.
    long double size = 1;
    for (long double w : want) size = std::max(size, std::fabs(w));
    for (int k = 0; k < 7; ++k) {
      const long double error = std::fabs(static_cast<long double>(ebb::from_cell<T>(out[k][i])) - want[k]) / size;
      worst = std::max(worst, static_cast<double>(error / std::numeric_limits<T>::epsilon()));
    }
  }
  INFO(name << ", " << (sizeof(T) == 4 ? "float" : "double"));
  CHECK(worst < 32);
}

inline const auto both = [](const std::string& name, auto f, double low, double high) {
  using function = decltype(f);
  check_derivatives<float>(name, ebb::trace_of<function, ebb::term<float, ebb::dyn>, ebb::term<float, ebb::dyn>>::make(), f, low, high);
  check_derivatives<double>(name, ebb::trace_of<function, ebb::term<double, ebb::dyn>, ebb::term<double, ebb::dyn>>::make(), f, low, high);
};

}  // namespace test
