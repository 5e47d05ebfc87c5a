// ebb/nn/patches.hpp — unfold2d, which copies the patches of images into columns, and fold2d, which adds them up again.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::unfold2d<ebb::patches{.size = 3, .padding = 1}>(x)
//   ebb::fold2d<28, 28, ebb::patches{.size = {3, 2}, .stride = 2}>(columns)
//
// A convolution needs neither: conv2d reads patches where they are.
#pragma once

#include "sliding.hpp"

#include "../shapes/window.hpp"

namespace ebb::inline EBB_ABI {

/// The patches of an image, all but the size as in PyTorch. A number is for rows and columns, {2, 3} is one for each.
struct patches {
  per_axis size = 1;
  per_axis stride = 1;
  per_axis padding = 0;
  per_axis dilation = 1;
  constexpr bool are_valid() const {
    for (int i = 0; i < 2; ++i)
      if (size[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) return false;
    return true;
  }
};

template <class Call>
struct refusal<541, Call> : Call {
  static_assert(Call::code != 541, "[ebb E0541] unfold2d: images are [n, channels, rows, columns]; fold2d: columns are [n, channels * "
                                   "rows * columns of a patch, patches]; n may be left out");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// One axis of patches.
template <patches P, int I>
struct patch_axis {
  static constexpr int size = P.size[I], stride = P.stride[I], padding = P.padding[I], dilation = P.dilation[I];
  static constexpr int reach = (size - 1) * dilation + 1;
};

template <patches P>
struct unfold2d {
  static constexpr std::string_view name = "unfold2d";
  using rows = patch_axis<P, 0>;
  using columns = patch_axis<P, 1>;

  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    if (x.rank() != 3 && x.rank() != 4) return refuse<T>(*x.g, 541);
    const int channels = x.rank() - 3;
    const auto padded = pad<-1, columns::padding, columns::padding>::apply(pad<-2, rows::padding, rows::padding>::apply(x));
    const auto tall = along<rows>(padded);  // ..., rows of patches, columns, rows in a patch
    const auto all = along<columns>(tall);  // ..., rows of patches, columns of patches, rows in a patch, columns in a patch
    if (all.is_refused()) return all;
    const int last = all.rank() - 1;
    const auto inside = axis_moved(axis_moved(all, last - 1, channels + 1), last, channels + 2);
    symbols& s = x.g->syms;
    shape to = axes_between(x.extents(), 0, channels);
    to.push(volume_of(s, axes_between(inside.extents(), channels, channels + 3)));
    to.push(volume_of(s, axes_between(inside.extents(), channels + 3, channels + 5)));
    return view_as(inside, s.find(to));
  }

 private:
  /// The windows along the last axis but one: that of rows, then that of columns.
  template <class Axis, class T>
  static constexpr operand<T> along(operand<T> x) {
    if (x.is_refused()) return x;
    const auto windows = unfold<-2, Axis::reach, Axis::stride>::apply(x);
    if (windows.is_refused() || Axis::dilation == 1) return windows;
    return slice<-1, 0, to_end, Axis::dilation>::apply(windows);
  }
};

template <int Rows, int Columns, patches P>
struct fold2d {
  static constexpr std::string_view name = "fold2d";
  using rows = patch_axis<P, 0>;
  using columns = patch_axis<P, 1>;

  template <class T>
  static constexpr operand<T> apply(operand<T> given) {
    using Wide = detail::computed_in<T>;
    if (given.is_refused()) return given;
    graph& g = *given.g;
    symbols& s = g.syms;
    constexpr int down = count<rows>(Rows), right = count<columns>(Columns), taps = rows::size * columns::size;
    const int rank = given.rank(), channels = rank - 2;
    if (down < 1 || right < 1 || (rank != 2 && rank != 3)) return refuse<T>(g, 541);
    const int each = s.derive(extent_rule::quotient, given.extent(channels), taps);
    if (!s.unify(given.extent(rank - 1), down * right) || !s.unify(s.derive(extent_rule::product, each, taps), given.extent(channels)))
      return refuse<T>(g, 541);
    shape inside = axes_between(given.extents(), 0, channels);
    for (const int e : {each, rows::size, columns::size, down, right}) inside.push(e);
    const auto x = view_as(cast_to<Wide>(given), s.find(inside));
    const auto all = axis_moved(axis_moved(x, channels + 1, channels + 4), channels + 1, channels + 4);
    const auto wide = along<columns>(all, channels + 2, Columns);
    const auto sums = along<rows>(wide, channels + 1, Rows);
    const auto image = slice<-2, rows::padding, rows::padding + Rows, 1>::apply(sums);
    return cast_to<T>(slice<-1, columns::padding, columns::padding + Columns, 1>::apply(image));
  }

 private:
  template <class Axis>
  static constexpr int count(int length) {
    return (length + 2 * Axis::padding - Axis::reach) < 0 ? 0 : (length + 2 * Axis::padding - Axis::reach) / Axis::stride + 1;
  }
  /// Adds the windows of the last axis along `axis`. Between their elements are zeros if there is dilation.
  template <class Axis, class T>
  static constexpr operand<T> along(operand<T> x, int axis, int length) {
    const int last = x.rank() - 1;
    if (Axis::dilation > 1) x = place_in(x, {last, 0, Axis::dilation}, x.g->intern(with_extent(x.extents(), last, Axis::reach)));
    return fold<0, 0, 1>::to(x, axis, Axis::stride, length + 2 * Axis::padding);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The patches of images as columns: channel by channel, the elements of a patch row by row; the patches row by row, too. Padding is 0.
///   unfold2d<ebb::patches{.size = 3, .padding = 1}>(x)
/// Shape: x [n, channels, rows, columns] or without n: [n, channels * rows * columns of a patch, patches].   Dtype: x's.
/// Saves: nothing.   Error: exact.   Throws: if a call's image is smaller than a patch.   Source: torch.nn.functional.unfold.
template <patches P, class X>
constexpr auto unfold2d(X&& x) {
  static_assert(P.are_valid(), "[ebb E0544] unfold2d, fold2d: extents, strides and dilations are positive, and padding is not negative");
  return apply_function(functions::unfold2d<(P.are_valid() ? P : patches{})>{}, std::forward<X>(x));
}
/// Columns added up to images where their patches lay: the adjoint of unfold2d. An element in several patches gets their sum.
///   fold2d<28, 28, ebb::patches{.size = 3, .padding = 1}>(columns)
/// Shape: [n, channels * rows * columns of a patch, patches] or without n: [n, channels, Rows, Columns].
/// Dtype: x's; narrow floats are added in float and rounded once.   Saves: nothing.
/// Error: that of the sums: first along the rows of the image, then along its columns, in rising order of the patches.
/// Throws: if a call's columns do not fit the image.   Source: torch.nn.functional.fold.
template <int Rows, int Columns, patches P, class X>
constexpr auto fold2d(X&& x) {
  constexpr bool fits = P.are_valid() && Rows > 0 && Columns > 0;
  static_assert(fits, "[ebb E0544] unfold2d, fold2d: extents, strides and dilations are positive, and padding is not negative");
  return apply_function(functions::fold2d<(fits ? Rows : 1), (fits ? Columns : 1), (fits ? P : patches{})>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
