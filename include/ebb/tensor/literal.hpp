// ebb/tensor/literal.hpp — nested initializer lists: {{1, 2, 3}, {4, 5, 6}}.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "layout.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>

namespace ebb::inline EBB_ABI {

// nested_list<T, 2> -> initializer_list<initializer_list<T>>; nested_list<T, 0> -> T
template <class T, int Rank>
struct nested_list_of {
  using type = std::initializer_list<typename nested_list_of<T, Rank - 1>::type>;
};
template <class T>
struct nested_list_of<T, 0> {
  using type = T;
};
template <class T, int Rank>
using nested_list = typename nested_list_of<T, Rank>::type;

/// Writes the extents of the list to shape[0] ... shape[Rank - 1]; the first item of each list counts.
template <class T, int Rank>
constexpr void measure_list(const nested_list<T, Rank>& list, std::size_t* shape) {
  if constexpr (Rank > 0) {
    shape[0] = list.size();
    if (list.size() > 0) measure_list<T, Rank - 1>(*list.begin(), shape + 1);
  }
}

/// Copies the elements in order to `to`, and returns the end.
/// Throws: error if the list is ragged.
template <class T, int Rank>
constexpr T* copy_list(const nested_list<T, Rank>& list, const std::size_t* shape, T* to) {
  if constexpr (Rank == 0) {
    *to = list;
    return to + 1;
  } else {
    if (list.size() != shape[0])
      raise("ebb::tensor: ragged list: " + std::to_string(list.size()) + " items stand beside " + std::to_string(shape[0]));
    for (const auto& item : list) to = copy_list<T, Rank - 1>(item, shape + 1, to);
    return to;
  }
}

}  // namespace ebb::inline EBB_ABI
