// ebb/sparse/columns.hpp — directions of a color, and derivatives along them as elements of a pattern.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "pattern.hpp"

#include "../exec/bind.hpp"
#include "../trace/argument.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Zeros in the form of x, which is a leaf.
template <class To, class X>
To zeros_like_leaf(const char* call, const X& x) {
  if constexpr (number<To>) return To(0);
  else {
    std::array<std::size_t, borrowed_extents<To>::rank> n{};
    for (std::size_t a = 0; a < n.size(); ++a) n[a] = borrow<X>::extent(x, static_cast<int>(a));
    auto r = To::uninitialized(typename To::layout_type(call, n));
    std::fill_n(r.mutable_data(), r.size(), typename To::value_type(0));
    return r;
  }
}
/// The number of elements of all leaves.
template <class X>
std::size_t elements_of(const X& x) {
  std::size_t n = 0;
  each_leaf([&](const auto& leaf) { n += extents_of_leaf(leaf).volume(); }, x);
  return n;
}
/// 1 at the elements of this color, else 0.
template <class X>
void set_to_color(X& x, const auto& color, int c) {
  std::size_t next = 0;
  each_leaf([&]<class Leaf>(Leaf& leaf) {
    auto* const data = borrow<Leaf>::mutable_data(leaf);
    for (std::size_t i = 0; i < extents_of_leaf(leaf).volume(); ++i)
      data[i] = typename borrow<Leaf>::element(static_cast<float>(color[next++] == c));
  }, x);
}
/// All elements of x, one after another: in `memory` if they are several arrays.
template <class X, class T>
const T* adjacent_elements(const X& x, std::vector<T>& memory) {
  if constexpr (form_of<X>::is_leaf) return borrow<X>::data(x);
  else {
    memory.clear();
    each_leaf([&]<class Leaf>(const Leaf& leaf) {
      const T* const data = borrow<Leaf>::data(leaf);
      memory.insert(memory.end(), data, data + extents_of_leaf(leaf).volume());
    }, x);
    return memory.data();
  }
}
/// The elements of p that the derivatives of colors first, first + 1... show: from[0], from[1]...
template <class T, class E>
void read_columns(T* to, const auto& p, const std::vector<const E*>& from, int first) {
  const int* const color = p.color.data();
  const std::size_t* const column = p.column.data();
  const auto put = [&](std::size_t k, int c, std::size_t row) {
    const std::size_t place = static_cast<std::size_t>(c - first);  // huge if c < first
    if (place < from.size()) to[k] = static_cast<T>(from[place][row]);
  };
  for (std::size_t i = 0; i < p.rows; ++i)
    for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) {
      if (!p.mirrored.empty() && p.mirrored[k]) put(k, color[i], column[k]);
      else put(k, color[column[k]], i);
    }
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
