// ebb/shapes/window.hpp — unfold, which copies windows that slide along an axis, and fold, which adds them up again.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/along.hpp"

#include <numeric>

namespace ebb::inline EBB_ABI::op {

/// Windows along an axis as a new last axis. attr 0: 16 step + axis, attr 1: the size. The shape is given, not inferred.
/// Saves: nothing.   Error: exact.
struct unfold : movement {
  static constexpr std::string_view name = "unfold";
  static constexpr strided_copy copy(const move_call& c, int) {
    const stride s = stride::unpacked(c.attr[0], c.attr[1]);
    std::ptrdiff_t strides[max_rank] = {};
    row_major_strides(c.in[0], strides);
    strided_copy r;
    r.rank = c.out.rank;
    row_major_strides(c.out, r.to);
    for (int i = 0; i < r.rank; ++i) {
      r.extent[i] = c.out.e[i];
      r.from[i] = i == r.rank - 1 ? strides[s.axis] : i == s.axis ? strides[i] * static_cast<std::ptrdiff_t>(s.step) : strides[i];
    }
    return r;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<392, Call> : Call {
  static_assert(Call::code != 392, "[ebb E0392] unfold, fold: the windows leave the axis, or there would be more than eight axes");
};

namespace functions {

template <int Axis, int Length, int Step>
struct fold {
  template <class T>
  static constexpr operand<T> apply(operand<T> windows) {
    const int rank = windows.rank() - 1, axis = axis_of(Axis, rank);
    if (rank < 1 || !has_axis(axis, rank)) return refuse<T>(*windows.g, 103);
    const int count = windows.extent(axis), size = windows.extent(rank);
    if (count >= 0 && size >= 0 && count > 0 && (count - 1) * Step + size > Length) return refuse<T>(*windows.g, 392);
    return to(windows, axis, Step, Length);
  }
  /// Adds windows into zeros whose axis has the given extent.
  template <class T>
  static constexpr operand<T> to(operand<T> windows, int axis, std::int64_t step, int length) {
    if (windows.is_refused()) return windows;
    graph& g = *windows.g;
    const int last = windows.rank() - 1, count = g.syms.find(windows.extent(axis)), size = g.syms.find(windows.extent(last));
    if (length < 0 || count < 0 || size < 0) return summed(windows, last, axis, step, length);
    // Places of static windows along a static axis are integers of 32 bits: they are read once for each of the windows' rows. If all
    // windows begin and end at multiples of a number, so many elements have one place. With axes after it, rows are long anyway.
    const int together = axis == last - 1 ? static_cast<int>(std::gcd(step, std::int64_t{size})) : 1;
    if (together < 2 || windows.rank() == max_rank) return summed(windows, last, axis, static_cast<std::int32_t>(step), length);
    shape parts = windows.extents();
    parts.e[last] = size / together;
    parts.push(together);
    const auto sums = summed(view_as(windows, parts), last, axis, static_cast<std::int32_t>(step / together), length / together);
    if (sums.is_refused()) return sums;
    shape joined = axes_between(sums.extents(), 0, last);
    joined.e[axis] = length / together * together;
    const auto r = view_as(sums, joined);
    return joined.e[axis] == length ? r : place_in(r, {axis, 0}, g.intern(with_extent(joined, axis, length)));
  }

 private:
  /// The same for windows whose elements, or rows, lie along axis `inside`.
  template <class T, class I>
  static constexpr operand<T> summed(operand<T> windows, int inside, int axis, I step, int length) {
    graph& g = *windows.g;
    shape grid;
    grid.push(windows.extent(axis));
    grid.push(windows.extent(inside));
    const int number = g.intern(g.syms.find(grid));
    const auto places = index_along<I>(g, number, 0) * step + index_along<I>(g, number, 1);
    return cast_to<T>(parts_summed_at<fold<0, 0, 1>>(axis_moved(windows, inside, axis + 1), places, axis, length));
  }
};

template <int Axis, int Size, int Step>
struct unfold {
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    graph& g = *x.g;
    const int length = x.extent(axis);
    if ((length >= 0 && length < Size) || x.rank() == max_rank) return refuse<T>(g, 392);
    if (length < 0) g.syms.derive(extent_rule::difference, length, Size);  // the call checks that it is not negative
    const int places = length < 0 ? g.syms.derive(extent_rule::difference, length, Size - 1) : length - Size + 1;
    shape to = with_extent(x.extents(), axis, g.syms.derive(extent_rule::quotient, places, Step));
    to.push(Size);
    return {&g, emit_as<op::unfold, T>(g, g.intern(g.syms.find(to)), {x.id}, stride{axis, Size, Step}.packed())};
  }
};

}  // namespace functions

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr auto unfold::pull(operand<T> g, operand<T> x, operand<T> out) {
  const stride s = stride::unpacked(out.attribute(0), out.attribute(1));
  return grads(functions::fold<0, 0, 1>::to(g, s.axis, s.step, x.extent(s.axis)));
}

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Windows of Size elements along an axis, one every Step elements: torch.Tensor.unfold.
///   unfold<0, 3, 2>(x): x = 1 2 3 4 5 gives 1 2 3 and 3 4 5
/// Shape: x's, with the number of windows along the axis, then Size.   Dtype: x's.   Saves: nothing.   Error: exact.
/// Throws: if a call's axis is shorter than a window.
template <int Axis, int Size, int Step = 1, class X>
constexpr auto unfold(X&& x) {
  static_assert(Size > 0 && Step > 0, "[ebb E0393] unfold, fold: sizes and steps are positive");
  return apply_function(functions::unfold<Axis, (Size > 0 ? Size : 1), (Step > 0 ? Step : 1)>{}, std::forward<X>(x));
}
/// Windows added up where they lay: the adjoint of unfold. An element in several windows gets their sum.
/// Shape: without the last axis, with Length elements along the axis.   Dtype: x's; narrow floats are added in float.
/// Saves: nothing.   Error: that of the sums, in rising order of the windows.   Throws: if a call's windows leave the axis.
template <int Axis, int Length, int Step = 1, class X>
constexpr auto fold(X&& windows) {
  static_assert(Length >= 0 && Step > 0, "[ebb E0393] unfold, fold: sizes and steps are positive");
  return apply_function(functions::fold<Axis, (Length < 0 ? 0 : Length), (Step > 0 ? Step : 1)>{}, std::forward<X>(windows));
}

}  // namespace ebb::inline EBB_ABI
