// test/kernel/filled.hpp — arrays of numbers that differ from element to element; one of them is -0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/functional.hpp>

#include <cstddef>
#include <type_traits>

namespace test {

template <class T>
T numbered(std::size_t i) {
  const int x = static_cast<int>(i * 7919 % 1009) - 500;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(x);
  else return ebb::as_element<T>(x == 13 ? -0.0 : x / 7.0);
}
/// An array whose element i is numbered(first + i).
template <class A>
A filled(std::size_t first, auto... extents) {
  return A::generate([=](std::size_t i) { return numbered<typename A::value_type>(first + i); }, extents...);
}

}  // namespace test
