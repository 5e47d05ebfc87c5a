// ebb/tensor/strided.hpp — extents at a call, and strided boxes of elements copied from one array to another.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "shape.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

/// The extents of an array at a call.
struct extent_list {
  int rank = 0;
  std::size_t e[max_rank] = {};

  EBB_ONCE constexpr std::size_t volume(int first, int last) const {
    std::size_t n = 1;
    for (int i = first; i < last; ++i) n *= e[i];
    return n;
  }
  constexpr std::size_t volume() const { return volume(0, rank); }
};

EBB_ONCE constexpr extent_list extents_at(const shape& s, const std::size_t* symbol_values) {
  extent_list r;
  r.rank = s.rank;
  for (int i = 0; i < s.rank; ++i) r.e[i] = extent_value(s.e[i], symbol_values);
  return r;
}

/// The input of an operation of kind move at a call.
struct move_call {
  const extent_list* in = nullptr;
  extent_list out;
  const std::int64_t* attr = nullptr;
};

/// A box of elements: element (i0, i1, ...) goes from from_offset + sum i * from[...] to to_offset + sum i * to[...].
struct strided_copy {
  int rank = 0;
  std::size_t extent[max_rank] = {};
  std::ptrdiff_t from[max_rank] = {}, to[max_rank] = {};
  std::ptrdiff_t from_offset = 0, to_offset = 0;
};

/// Strides of a row-major array.
constexpr void row_major_strides(const extent_list& x, std::ptrdiff_t* strides) {
  std::ptrdiff_t step = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= static_cast<std::ptrdiff_t>(x.e[i]);
  }
}

/// Calls f(from, to) for each element of the box, row-major.
constexpr void each_element(const strided_copy& c, auto&& f) {
  std::size_t n = 1, index[max_rank] = {};
  for (int i = 0; i < c.rank; ++i) n *= c.extent[i];
  std::ptrdiff_t from = c.from_offset, to = c.to_offset;
  for (std::size_t k = 0; k < n; ++k) {
    f(from, to);
    for (int i = c.rank - 1; i >= 0; --i) {
      from += c.from[i];
      to += c.to[i];
      if (++index[i] < c.extent[i]) break;
      from -= static_cast<std::ptrdiff_t>(c.extent[i]) * c.from[i];
      to -= static_cast<std::ptrdiff_t>(c.extent[i]) * c.to[i];
      index[i] = 0;
    }
  }
}

}  // namespace ebb::inline EBB_ABI
