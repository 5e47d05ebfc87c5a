// bench/gradbench/search.hpp — the common part of particle and saddle: gradient descent, and derivatives by differences.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace gradbench {

/// N numbers of any type: double, or a dual.
template <class T, std::size_t N>
using place = std::array<T, N>;

template <class T, std::size_t N>
T length_of(const place<T, N>& x) {
  using std::sqrt;
  T square = x[0] * x[0];
  for (std::size_t i = 1; i < N; ++i) square = square + x[i] * x[i];
  return sqrt(square);
}

/// The minimum of f, by steps against its gradient: ten successes in a row double the rate, a failure halves it. gradient(f, x) is that of
/// f. The same steps as GradBench's, so that the results are.
template <class F, class G, class T, std::size_t N>
place<T, N> least(const F& f, const G& gradient, place<T, N> x) {
  T fx = f(x);
  place<T, N> g = gradient(f, x);
  double rate = 1e-5;
  int successes = 0;
  while (length_of(g) > 1e-5) {
    if (successes == 10) {
      rate *= 2;
      successes = 0;
      continue;
    }
    place<T, N> next, step;
    for (std::size_t i = 0; i < N; ++i) {
      next[i] = x[i] - rate * g[i];
      step[i] = x[i] - next[i];
    }
    if (length_of(step) <= 1e-5) break;
    const T there = f(next);
    if (there < fx) {
      x = next;
      fx = there;
      g = gradient(f, x);
      ++successes;
    } else {
      rate /= 2;
      successes = 0;
    }
  }
  return x;
}

/// The gradient of f by central differences.
struct differences {
  template <class F, class T, std::size_t N>
  place<T, N> operator()(const F& f, place<T, N> x) const {
    static const T size = std::cbrt(std::numeric_limits<T>::epsilon());
    place<T, N> g;
    for (std::size_t i = 0; i < N; ++i) {
      const T here = x[i], h = size * std::max(T(1), std::fabs(here));
      x[i] = here + h;
      const T high = f(x);
      x[i] = here - h;
      g[i] = (high - f(x)) / (2 * h);
      x[i] = here;
    }
    return g;
  }
};

}  // namespace gradbench
