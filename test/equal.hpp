// test/equal.hpp — equality of pairs, tuples and vectors of arrays and numbers, where arrays compare as a whole.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/tensor/equal.hpp>

#include <tuple>
#include <utility>

namespace test {

template <class A, class B>
constexpr bool equal(const A& a, const B& b) {
  if constexpr (ebb::array_like<A>) return ebb::all_equal(a, b);
  else if constexpr (requires { a.begin(); }) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = equal(a[i], b[i]);
    return same;
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (equal(std::get<I>(a), std::get<I>(b)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<A>>{});
  }
}

}  // namespace test
