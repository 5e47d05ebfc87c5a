// test/exec/numbers.hpp — the elements of a result, an array, a number or a tuple of these, as one list to compare.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <tuple>
#include <vector>

namespace test {

template <class T>
std::vector<double> numbers(const T& x) {
  if constexpr (requires { x.data(); }) return {x.data(), x.data() + x.size()};
  else return {static_cast<double>(x)};
}
template <class... T>
std::vector<double> numbers(const std::tuple<T...>& x) {
  std::vector<double> r;
  const auto put = [&](const std::vector<double>& more) { r.insert(r.end(), more.begin(), more.end()); };
  std::apply([&](const auto&... part) { (put(numbers(part)), ...); }, x);
  return r;
}

}  // namespace test
