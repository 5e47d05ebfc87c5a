// test/random_array.hpp — arrays of random numbers from -1 to 1: a seed gives the same numbers in each run.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/tensor/tensor.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace test {

template <class A, class... Extent>
A random_array(std::uint64_t seed, Extent... e) {
  std::mt19937_64 next(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  return A::generate([&](std::size_t) { return ebb::as_element<typename A::value_type>(number(next)); }, e...);
}

/// The same as a vector.
template <class T>
std::vector<T> random_elements(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 next(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<T> r;
  for (std::size_t i = 0; i < count; ++i) r.push_back(ebb::as_element<T>(number(next)));
  return r;
}

}  // namespace test
