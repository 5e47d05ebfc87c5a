// ebb/op/extremum_place.hpp — the ops of argmax and argmin: places along an axis, in one pass.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/extremum_place.hpp"
#include "compare.hpp"
#include "convert.hpp"
#include "whole.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The places of the first elements in an order along one axis. attr 0: the number of axes after it. Before and NotAfter are its ops, x < y
/// and x <= y or the other way round.
template <class Order, class Before, class NotAfter>
struct place_in_order : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = 1;
  static constexpr bool heavy = true;
  static constexpr bool needs_elements = true;
  template <class T>
  using result = std::int64_t;

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const std::int64_t axis = in[0].rank - 1 - attr[0];
    if (attr[0] < 0 || axis < 0) return refused(103);
    return s.find(without_axes(in[0], std::int64_t{1} << axis));
  }
  /// Axes before it are batches.
  static constexpr int folded(const std::int64_t* attr, int rank) { return attr[0] + 1 < rank ? 0 : -1; }
  static constexpr int show(const std::int64_t* attr, int rank, std::int64_t* numbers) {
    numbers[0] = rank - attr[0];  // of the result
    return 1;
  }

  /// The place among arrays, by components: static places are compared in 32 bits, since twice as many fit into a register.
  template <class T>
  static constexpr int of_parts(graph& g, number_range parts) {
    operand<T> best{&g, parts[0]};
    operand<std::int32_t> place = literal_in<std::int32_t>(g, best.shape_number(), 0);
    for (int i = 1; i < parts.count; ++i) {
      const operand<T> x{&g, parts[i]};
      const operand<bool> is_first = comes_before(x, best);
      place = emit_on<op::where>({}, is_first, literal_in<std::int32_t>(g, best.shape_number(), i), place);
      if (i + 1 < parts.count) best = emit_on<op::where>({}, is_first, x, best);
    }
    return cast_to<std::int64_t>(place).id;
  }
  template <class T>
  static void whole(const whole_call& c) {
    const extent_list& x = c.shapes[0];
    const int axis = x.rank - 1 - static_cast<int>(c.attr[0]);
    if (c.result.volume() == 0) return;
    kernel::extremum_places<Order>(static_cast<const T*>(c.in[0]), x.volume(0, axis), x.e[axis], x.volume(axis + 1, x.rank),
                                   static_cast<std::int64_t*>(c.out));
  }
  template <class>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const extent_list& x = c.in[0];
    const int axis = x.rank - 1 - static_cast<int>(c.attr[0]);
    const std::size_t length = x.e[axis], after = x.volume(axis + 1, x.rank);
    for (std::size_t i = 0; i < c.out.volume(); ++i) {
      const auto at = [&](std::size_t j) { return in(0, (i / after * length + j) * after + i % after); };
      if (length == 0) raise("ebb::evaluate: the first extremum of no elements");
      std::size_t place = 0;
      for (std::size_t j = 1; j < length; ++j)
        if (kernel::extremum::number_comes_before<Order>(at(j), at(place))) place = j;
      put(i, static_cast<std::int64_t>(place));
    }
  }

 private:
  template <class T>
  static constexpr operand<bool> comes_before(operand<T> x, operand<T> best) {
    if constexpr (!real_element<T>) return emit_on<Before>({}, x, best);
    else {
      const auto is_number = emit_on<op::equal>({}, best, best);
      return emit_on<op::logical_and>({}, is_number, emit_on<op::logical_not>({}, emit_on<NotAfter>({}, best, x)));
    }
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The places of the first largest elements along an axis, or of the first NaN. attr 0: the number of axes after it.
/// Shape: x's without the axis.   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
struct argmax : detail::place_in_order<kernel::largest_first, greater, greater_equal> {
  static constexpr std::string_view name = "argmax";
};
/// The places of the first smallest elements along an axis, or of the first NaN. attr 0: the number of axes after it.
/// Shape: x's without the axis.   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
struct argmin : detail::place_in_order<kernel::smallest_first, less, less_equal> {
  static constexpr std::string_view name = "argmin";
};

}  // namespace ebb::inline EBB_ABI::op
