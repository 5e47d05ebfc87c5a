// test/op/derivatives.cpp — first and second derivatives of smooth functions against hyper-dual numbers in long double.
// SPDX-License-Identifier: BSL-1.0
// covers: operand.hpp operators.hpp
#include "hyper_dual.hpp"

#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/trace.hpp>

#include <random>

namespace {

using test::hyper_dual;

/// f(x, y), its gradient and its Hessian (xx, xy, yx, yy) at many points at once, as one graph.
ebb::graph derivatives(const ebb::graph& f) {
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
void check(const std::string& name, const ebb::graph& traced, hyper_dual f(hyper_dual, hyper_dual), double low, double high) {
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

const auto both = [](const std::string& name, auto f, double low, double high) {
  using function = decltype(f);
  check<float>(name, ebb::trace_of<function, ebb::term<float, ebb::dyn>, ebb::term<float, ebb::dyn>>::make(), f, low, high);
  check<double>(name, ebb::trace_of<function, ebb::term<double, ebb::dyn>, ebb::term<double, ebb::dyn>>::make(), f, low, high);
};

TEST_CASE("elementwise functions have exact first and second derivatives") {
  both("exp", [](auto x, auto y) { return ebb::exp(x) * y; }, -3, 3);
  both("expm1", [](auto x, auto y) { return ebb::expm1(x) * y; }, -3, 3);
  both("log", [](auto x, auto y) { return ebb::log(x) * y; }, 0.3, 20);
  both("log1p", [](auto x, auto y) { return ebb::log1p(x) * y; }, -0.7, 5);
  both("tanh", [](auto x, auto y) { return ebb::tanh(x) * y; }, -3, 3);
  both("sin", [](auto x, auto y) { return ebb::sin(x) * y; }, -9, 9);
  both("cos", [](auto x, auto y) { return ebb::cos(x) * y; }, -9, 9);
  both("sigmoid", [](auto x, auto y) { return ebb::sigmoid(x) * y; }, -6, 6);
  both("softplus", [](auto x, auto y) { return ebb::softplus(x) * y; }, -6, 6);
  both("log_sigmoid", [](auto x, auto y) { return ebb::log_sigmoid(x) * y; }, -6, 6);
  both("erf", [](auto x, auto y) { return ebb::erf(x) * y; }, -3, 3);
  both("erfc", [](auto x, auto y) { return ebb::erfc(x) * y; }, -3, 3);
  both("ndtr", [](auto x, auto y) { return ebb::ndtr(x) * y; }, -4, 4);
  both("log_ndtr", [](auto x, auto y) { return ebb::log_ndtr(x) * y; }, -4, 4);
  both("gelu", [](auto x, auto y) { return ebb::gelu(x) * y; }, -4, 4);
  both("gelu_tanh", [](auto x, auto y) { return ebb::gelu_tanh(x) * y; }, -4, 4);
  both("sqrt", [](auto x, auto y) { return ebb::sqrt(x) * y; }, 0.1, 9);
  both("rsqrt", [](auto x, auto y) { return ebb::rsqrt(x) * y; }, 0.1, 9);
  both("reciprocal", [](auto x, auto y) { return ebb::reciprocal(x) * y; }, 0.2, 3);
  both("square", [](auto x, auto y) { return ebb::square(x) * y; }, -3, 3);
  both("abs", [](auto x, auto y) { return ebb::abs(x) * y * x; }, -3, 3);
  both("relu", [](auto x, auto y) { return ebb::relu(x) * y * x; }, -3, 3);
  both("maximum", [](auto x, auto y) { return ebb::maximum(x * y, x + y); }, -3, 3);
  both("minimum", [](auto x, auto y) { return ebb::minimum(x * y, x + y); }, -3, 3);
  both("exp2", [](auto x, auto y) { return ebb::exp2(x) * y; }, -3, 3);
  both("log2", [](auto x, auto y) { return ebb::log2(x) * y; }, 0.3, 20);
  both("log10", [](auto x, auto y) { return ebb::log10(x) * y; }, 0.3, 20);
  both("sinh", [](auto x, auto y) { return ebb::sinh(x) * y; }, -3, 3);
  both("cosh", [](auto x, auto y) { return ebb::cosh(x) * y; }, -3, 3);
  both("asinh", [](auto x, auto y) { return ebb::asinh(x) * y; }, -5, 5);
  both("acosh", [](auto x, auto y) { return ebb::acosh(x) * y; }, 1.1, 9);
  both("atanh", [](auto x, auto y) { return ebb::atanh(x) * y; }, -0.9, 0.9);
  both("hypot", [](auto x, auto y) { return ebb::hypot(x, y) * x; }, -3, 3);
  both("tan", [](auto x, auto y) { return ebb::tan(x) * y; }, -1.2, 1.2);
  both("asin", [](auto x, auto y) { return ebb::asin(x) * y; }, -0.9, 0.9);
  both("acos", [](auto x, auto y) { return ebb::acos(x) * y; }, -0.9, 0.9);
  both("atan", [](auto x, auto y) { return ebb::atan(x) * y; }, -5, 5);
  both("atan2", [](auto x, auto y) { return ebb::atan2(x, y) * x; }, -3, 3);
  both("silu", [](auto x, auto y) { return ebb::silu(x, y); }, -4, 4);
  both("mish", [](auto x, auto y) { return ebb::mish(x) * y; }, -6, 6);
  both("elu", [](auto x, auto y) { return ebb::elu(x, y); }, -3, 3);
  both("celu", [](auto x, auto y) { return ebb::celu(x + -3.0, y); }, 0.5, 4);
  both("leaky_relu", [](auto x, auto y) { return ebb::leaky_relu(x * y, y) * x; }, -3, 3);
  both("hardtanh", [](auto x, auto y) { return ebb::hardtanh(x * y, y + -3.0, y + 2.0) * x; }, -3, 3);
  both("pow", [](auto x, auto y) { return ebb::pow(x, y); }, 0.3, 2);
  both("pow by a number", [](auto x, auto y) { return ebb::pow(x, 2.5) * ebb::pow(y, -1.5); }, 0.4, 2);
  both("pow by small numbers", [](auto x, auto y) { return ebb::pow(x, 3) * ebb::pow(y, 2) + ebb::pow(x, 0.5) * ebb::pow(y, -0.5); },
       0.4, 2);
  both("arithmetic", [](auto x, auto y) { return (x * y - x) / (x + 2.5 * y) - x / y; }, 0.4, 2);
}

TEST_CASE("compositions have exact first and second derivatives") {
  both("gaussian", [](auto x, auto y) { return ebb::exp(-ebb::square(x / y)) / y; }, 0.5, 2);
  both("gate", [](auto x, auto y) { return ebb::sigmoid(x * y) * ebb::tanh(x - y) + ebb::softplus(x) * ebb::log_sigmoid(y); }, -2, 2);
  both("root of a sum", [](auto x, auto y) { return ebb::sqrt(ebb::square(x) + ebb::square(y) + 1.0) * ebb::log1p(ebb::exp(x)); }, -2, 2);
  both("power tower", [](auto x, auto y) { return ebb::pow(x, ebb::log(y) * x) - ebb::pow(y, 1.5); }, 0.6, 1.6);
}

}  // namespace
