// ebb/op/move.hpp — elements change place: permute.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "shaping.hpp"

namespace ebb::inline EBB_ABI {

/// A permutation of axes in one attribute: four bits an axis; axis i of the result is axis packed[i] of the operand.
constexpr std::int64_t pack_axes(const int* axes, int count) {
  std::int64_t packed = 0;
  for (int i = 0; i < count; ++i) packed |= static_cast<std::int64_t>(axes[i]) << 4 * i;
  return packed;
}
constexpr int packed_axis(std::int64_t packed, int i) { return static_cast<int>(packed >> 4 * i & 15); }

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Axes in another order; attr 0: see pack_axes.   Saves: nothing.   Error: exact.
struct permute : op_base {
  static constexpr std::string_view name = "permute";
  static constexpr kind what = kind::move;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    shape r;
    for (int i = 0; i < in[0].rank; ++i) {
      if (packed_axis(attr[0], i) >= in[0].rank) return refused(103);
      r.push(s.find(in[0].e[packed_axis(attr[0], i)]));
    }
    return r;
  }
  static constexpr void batch(std::int64_t* attr, int rank) {
    int axes[max_rank + 1] = {};
    for (int i = 0; i < rank; ++i) axes[i + 1] = packed_axis(attr[0], i) + 1;
    attr[0] = pack_axes(axes, rank + 1);
  }
  static constexpr strided_copy copy(const move_call& c, int) {
    std::ptrdiff_t strides[max_rank] = {};
    row_major_strides(c.in[0], strides);
    strided_copy r;
    r.rank = c.out.rank;
    row_major_strides(c.out, r.to);
    for (int i = 0; i < r.rank; ++i) {
      r.extent[i] = c.out.e[i];
      r.from[i] = strides[packed_axis(c.attr[0], i)];
    }
    return r;
  }
  static constexpr auto pull(auto g, auto x, auto out) {
    int back[max_rank] = {};
    for (int i = 0; i < x.rank(); ++i) back[packed_axis(out.attribute(0), i)] = i;
    return grads(emit_on<permute>({pack_axes(back, x.rank())}, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op
