// ebb/op/shaping.hpp — broadcast and sum, each the pull of the other, and reshape.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "convert.hpp"

namespace ebb::inline EBB_ABI {

/// Sets of axes are masks: bit i is axis i.
constexpr std::int64_t axis_run(std::int64_t first, std::int64_t last) { return (std::int64_t{1} << last) - (std::int64_t{1} << first); }

/// Inside rules: x repeated along the axes in `mask`, which the result has and x does not.
template <class T>
constexpr operand<T> broadcast_to(operand<T> x, int shape_number, std::int64_t mask);
/// Inside rules: x summed over the axes in `mask`, which the result no longer has.
template <class T>
constexpr operand<T> sum_over(operand<T> x, std::int64_t mask);
/// Inside rules: the elements of x in the same order under another shape of the same volume.
template <class T>
constexpr operand<T> reshape_to(operand<T> x, int shape_number);

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// x repeated along new axes. attr 0: mask of the result's axes that the operand does not have.   Saves: nothing.   Error: exact.
struct broadcast : op_base {
  static constexpr std::string_view name = "broadcast";
  static constexpr kind what = kind::broadcast;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;
  static constexpr auto pull(auto g, auto, auto out) { return grads(sum_over(g, out.attribute(0))); }
};

/// Sum over adjacent axes.   Saves: nothing.   Error: see [note: logical reduction tree].
struct sum : reduction {
  static constexpr std::string_view name = "sum";
  static constexpr arithmetic computes = arithmetic::sum;
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated + x; }
  static constexpr auto pull(auto g, auto x, auto out) {
    return grads(broadcast_to(g, x.shape_number(), axis_run(out.attribute(0), out.attribute(1))));
  }
};

/// Another shape of the same volume.   Saves: nothing.   Error: exact; no work.
struct reshape : op_base {
  static constexpr std::string_view name = "reshape";
  static constexpr kind what = kind::reshape;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;
  static constexpr auto pull(auto g, auto x, auto) { return grads(reshape_to(g, x.shape_number())); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class T>
constexpr operand<T> broadcast_to(operand<T> x, int shape_number, std::int64_t mask) {
  if (mask == 0) return x;
  return {x.g, emit_as<op::broadcast, T>(*x.g, shape_number, {x.id}, {mask})};
}

template <class T>
constexpr operand<T> sum_over(operand<T> x, std::int64_t mask) {
  if (mask == 0) return x;
  // Narrow floats are added in float and rounded once.
  if constexpr (!std::is_same_v<T, detail::computed_in<T>>) return cast_to<T>(sum_over(cast_to<float>(x), mask));
  // Runs of adjacent axes, the last run first: the numbers of earlier axes then stay valid.
  for (int last = x.rank(); last > 0;) {
    if (!(mask >> (last - 1) & 1)) {
      --last;
      continue;
    }
    int first = last - 1;
    while (first > 0 && (mask >> (first - 1) & 1)) --first;
    x = emit_on<op::sum>({first, last}, x);
    last = first;
  }
  return x;
}

template <class T>
constexpr operand<T> reshape_to(operand<T> x, int shape_number) {
  if (x.shape_number() == shape_number) return x;
  return {x.g, emit_as<op::reshape, T>(*x.g, shape_number, {x.id})};
}

}  // namespace ebb::inline EBB_ABI
