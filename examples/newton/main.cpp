// examples/newton/main.cpp — Newton's method with the exact Hessian, on Rosenbrock's valley.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdio>

using vector = ebb::tensor<double, 2>;
using matrix = ebb::tensor<double, 2, 2>;

/// A curved valley whose floor falls gently to the minimum at (1, 1), for any number of coordinates.
constexpr auto valley = [](auto x) {
  const auto here = ebb::slice<0, 0, -1>(x), next = ebb::slice<0, 1>(x);
  return ebb::sum(100 * ebb::square(next - ebb::square(here)) + ebb::square(1 - here));
};

// Small static problems are constant expressions, derivatives included.
static_assert(ebb::all_equal(ebb::grad(valley)(vector{1, 1}), vector{0, 0}));
static_assert(ebb::all_equal(ebb::hessian(valley)(vector{1, 1}), matrix{{802, -400}, {-400, 200}}));

int main() {
  vector x{-1.2, 1};
  double slope = 1;
  std::printf("step        f(x)   |gradient|  x\n");
  for (int step = 0; slope > 1e-12 && step < 20; ++step) {
    const auto [value, gradient] = ebb::value_and_grad(valley)(x);
    slope = std::sqrt(ebb::sum(ebb::square(gradient)));
    std::printf("%4d  %10.3e   %10.3e  (%.12f, %.12f)\n", step, value, slope, x(0), x(1));
    x = x - ebb::solve(ebb::hessian(valley)(x), gradient);
  }
  return slope > 1e-12;
}
