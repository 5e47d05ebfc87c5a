// test/normal_array.hpp — arrays of normally distributed numbers of any type: a key gives the same numbers in each run.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <cstdint>

namespace test {

/// Dynamic extents follow the key.
template <class T, std::size_t... E, class... N>
ebb::tensor<T, E...> normal_array(std::uint64_t key, N... n) {
  if constexpr (sizeof...(N) == 0) return ebb::cast<T>(ebb::normal<float, E...>(key));
  else return ebb::cast<T>(ebb::normal<float, E...>(key, {n...}));
}

}  // namespace test
