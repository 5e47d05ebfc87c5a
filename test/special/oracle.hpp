// test/special/oracle.hpp — arguments to measure errors at, and functions of special.hpp in long double.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "long_double.hpp"

#include "../num/oracle.hpp"

#include <algorithm>
#include <random>

namespace test {

/// Numbers of all sizes of both signs, many in [-a, a], and the neighbours of `edges`.
template <class T>
std::vector<T> places_around(double a, std::initializer_list<double> edges, int count = 6000) {
  std::vector<T> out = special_values<T>();
  for (double edge : edges) {
    T up = static_cast<T>(edge), down = up;
    for (int i = 0; i < 50; ++i, up = std::nextafter(up, T(1e9)), down = std::nextafter(down, T(-1e9)))
      for (T x : {up, down}) out.push_back(x), out.push_back(-x);
  }
  std::mt19937_64 next(7);
  std::uniform_real_distribution<double> ordinary(-a, a), exponent(-60, 60);
  for (int i = 0; i < count; ++i)
    for (double x : {ordinary(next), std::exp2(exponent(next)), -std::exp2(exponent(next) / 2)}) out.push_back(static_cast<T>(x));
  return out;
}

}  // namespace test
