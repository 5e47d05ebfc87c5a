// ebb/nn/grid.hpp — elements of images at places between theirs: grid_sample, and affine_grid, which makes such places.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto turned = ebb::grid_sample(images, ebb::affine_grid<28, 28>(theta));
// A grid has numbers from -1 to 1 for the places of an image along each axis: first the one along columns, the last axis of the image, then
// along rows, then along planes. With align_corners -1 and 1 are the middles of the outer elements, else their outer edges.
#pragma once

#include "resize.hpp"

#include "../op/compare.hpp"
#include "../op/gather.hpp"
#include "../op/operators.hpp"
#include "../op/rounding.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<449, Call> : Call {
  static_assert(Call::code != 449, "[ebb E0449] grid_sample: x has the axes [batch, channels, places...] with one to three axes of places, "
                                   "and the grid [batch, places of the result..., as many numbers as axes]");
};
template <class Call>
struct refusal<492, Call> : Call {
  static_assert(Call::code != 492, "[ebb E0492] affine_grid: one to three sizes, k of them, are at least 1, and theta is "
                                   "[batch, k, k + 1]");
};

/// How grid_sample reads an image. `nearest`: the element next to a place, without interpolation. `border`: beyond the edge counts the
/// element at the edge; else there are zeros.   ebb::grid_sample<ebb::grid_sampling{.border = true}>(x, grid)
struct grid_sampling {
  bool nearest = false, border = false, align_corners = false;
};

namespace functions {

template <grid_sampling How>
struct grid_sample {
  static constexpr std::string_view name = "grid_sample";
  static constexpr precision autocast = precision::full;  // as in PyTorch's list

  template <class A, class B>
  static constexpr auto apply(operand<A> image, operand<B> places) {
    using T = promoted_to_real<promoted<A, B>>;
    using Wide = detail::computed_in<T>;
    graph& g = *image.g;
    if (image.is_refused() || places.is_refused()) return refuse<T>(g, image.is_refused() ? -image.id : -places.id);
    const int axes = image.rank() - 2, last = axes + 1;
    if (axes < 1 || axes > 3 || places.rank() != image.rank()) return refuse<T>(g, 449);
    if (!g.syms.unify(image.extent(0), places.extent(0)) || !g.syms.unify(places.extent(last), axes)) return refuse<T>(g, 449);
    const auto x = cast_to<Wide>(image), grid = cast_to<Wide>(places);

    const shape of_result = axes_between(grid.extents(), 0, last);
    neighbour<Wide> near[3][2];
    integers extent[3];
    for (int i = 0; i < axes; ++i) {
      const int number = g.intern(g.syms.find(with_extent(grid.extents(), last, 1)));
      const auto at = view_as(slice_as(grid, {last, axes - 1 - i}, number), of_result);
      extent[i] = repeat(count_along<std::int64_t>(x, std::int64_t{1} << (i + 2)), at, axis_run(0, last));
      beside(at, cast_to<Wide>(extent[i]), near[i]);
    }
    // Channels lie side by side, so that one row is read for each place.
    const shape flat = with_axis(axes_between(x.extents(), 0, 2), 2, volume_of(g.syms, axes_between(x.extents(), 2, x.rank())));
    const auto rows = axis_moved(view_as(x, flat), 1, 2);
    operand<Wide> sum;
    for (int corner = 0; corner < (How.nearest ? 1 : 1 << axes); ++corner) {
      neighbour<Wide> all = near[0][corner & 1];
      for (int i = 1; i < axes; ++i) {
        const neighbour<Wide>& next = near[i][corner >> i & 1];
        all.place = all.place * extent[i] + next.place;
        all.inside = emit_on<op::logical_and>({}, all.inside, next.inside);
        if (!How.nearest) all.weight = all.weight * next.weight;
      }
      const auto read = emit_on<op::gather<std::int64_t, grid_sample<grid_sampling{}>>, Wide>({1}, rows, all.place);
      const auto along = [&](auto y) { return repeat(y, read, std::int64_t{1} << (read.rank() - 1)); };
      const auto part = How.nearest ? read : along(all.weight) * read;
      const auto counted = emit_on<op::where>({}, along(all.inside), part, literal_like(part, 0));
      sum = corner == 0 ? counted : sum + counted;
    }
    return cast_to<T>(axis_moved(sum, last, 1));
  }

 private:
  using integers = operand<std::int64_t>;
  /// An element next to a place along one axis: its index, whether it is one of the image, and its weight. The index is 0 if it is none.
  template <class T>
  struct neighbour {
    integers place;
    operand<bool> inside;
    operand<T> weight;
  };
  template <class T>
  static constexpr void beside(operand<T> given, operand<T> extent, neighbour<T>* to) {
    const auto chosen = [](auto m, auto a, auto b) { return emit_on<op::where>({}, m, a, b); };
    const auto zero = literal_like(given, 0), last = extent - 1;
    const auto at = chosen(emit_on<op::equal>({}, given, given), given, literal_like(given, -1));
    auto u = How.align_corners ? (at + 1) * 0.5 * last : ((at + 1) * extent - 1) * 0.5;
    // Places far from the image have no derivative, and no index: they become a place beside it.
    const auto is_before = [&](auto place) { return emit_on<op::less>({}, place, extent); };
    if (How.border)
      u = chosen(emit_on<op::greater>({}, u, zero), chosen(emit_on<op::less>({}, u, last), u, last), zero);
    else {
      const auto is_near = emit_on<op::logical_and>({}, emit_on<op::greater_equal>({}, u, literal_like(u, -1)), is_before(u));
      u = chosen(is_near, u, literal_like(u, -1));
    }
    const auto index = [&](operand<T> place) {
      const auto inside = emit_on<op::logical_and>({}, emit_on<op::greater_equal>({}, place, zero), is_before(place));
      return neighbour<T>{cast_to<std::int64_t>(chosen(inside, place, zero)), inside, {}};
    };
    if (How.nearest) to[0] = index(emit_on<op::round>({}, u));
    else {
      const auto first = emit_on<op::floor>({}, u);
      to[0] = index(first), to[1] = index(first + 1);
      to[1].weight = u - first;
      to[0].weight = 1 - to[1].weight;
    }
  }
};

template <bool Corners, int... E>
struct affine_grid {
  static constexpr std::string_view name = "affine_grid";
  template <class A>
  static constexpr auto apply(operand<A> given) {
    using T = promoted_to_real<A>;
    using Wide = detail::computed_in<T>;
    graph& g = *given.g;
    if (given.is_refused()) return refuse<T>(g, -given.id);
    constexpr int axes = sizeof...(E);
    constexpr int size[] = {E..., 0};
    if (axes < 1 || axes > 3 || ((E < 1) || ...) || given.rank() != 3) return refuse<T>(g, 492);
    if (!g.syms.unify(given.extent(1), axes) || !g.syms.unify(given.extent(2), axes + 1)) return refuse<T>(g, 492);
    const auto theta = cast_to<Wide>(given);
    shape places = axes_between(theta.extents(), 0, 1);
    for (int i = 0; i < axes; ++i) places.push(size[i]);
    const int number = g.intern(places), one = g.intern(with_axis(places, axes + 1, 1));
    const auto element = [&](int i, int j) {
      shape s = theta.extents();
      s.e[1] = 1;
      const auto row = slice_as(theta, {1, i}, g.intern(s));
      s.e[2] = 1;
      return ebb::broadcast_to(view_as(slice_as(row, {2, j}, g.intern(s)), axes_between(s, 0, 1)), number, axis_run(1, axes + 1));
    };
    vec<int> parts;
    for (int i = 0; i < axes; ++i) {
      auto sum = element(i, axes);
      for (int j = 0; j < axes; ++j) {
        const int axis = axes - j, n = size[axis - 1];
        const auto index = index_along<std::int64_t>(g, number, axis);
        const auto at = 2 * index - (n - 1);
        sum = sum + element(i, j) * (cast_to<Wide>(at) / static_cast<double>(!Corners ? n : n > 1 ? n - 1 : 1));
      }
      parts.push(reshape_to(sum, one).id);
    }
    return cast_to<T>(operand<Wide>{&g, emit<op::concat, Wide>(g, number_range{parts.data(), parts.size()}, {axes + 1})});
  }
};

}  // namespace functions

/// The elements of each image at the places of a grid, interpolated linearly along each axis between the elements around a place.
///   grid_sample(x, grid)   grid_sample<ebb::grid_sampling{.nearest = true, .border = true}>(x, grid)
/// Zeros are around an image, or with `border` its outer elements. A NaN in the grid is read as -1. With `nearest` the element next to a
/// place is taken, of two equally near ones that with the even index; then the grid has the gradient 0. The gradient of a place is that on
/// its right side where it is an element's, and 0 for places beyond the border.
/// Shape: x [n, c, places...], grid [n, places of the result..., k] with k axes of places, 1 to 3: [n, c, places of the result...].
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.   Saves: x, the indices, the weights.
/// Error: 2 ulp of the largest term for each axis, and what places lose: an ulp of the extent, times the steps between elements.
/// Throws: if a call's extents do not fit, or an image has no places.
/// Source: torch.nn.functional.grid_sample with the modes bilinear and nearest, the padding zeros and border.
template <grid_sampling How = grid_sampling{}, class X, class Grid>
constexpr auto grid_sample(X&& x, Grid&& grid) {
  return apply_function(functions::grid_sample<How>{}, std::forward<X>(x), std::forward<Grid>(grid));
}
/// Evenly spaced places over [-1, 1], transformed by one matrix for each image: element (i, j) is theta (x_j, y_i, 1), where x and y are
/// the middles of as many elements as the extents say or, with align_corners, go from edge to edge.
///   affine_grid<28, 28>(theta)   affine_grid<8, 28, 28>(theta, ebb::align_corners)
/// Shape: theta [n, k, k + 1] for k extents: [n, E..., k].   Dtype: theta's; integers give float; bf16 and f16 are computed in float.
/// Saves: nothing.   Error: that of the sum of k + 1 terms.   Throws: if a call's theta has other extents.
/// Source: torch.nn.functional.affine_grid.
template <int... E, class Theta>
constexpr auto affine_grid(const Theta& theta) {
  return apply_function(functions::affine_grid<false, E...>{}, theta);
}
template <int... E, class Theta>
constexpr auto affine_grid(const Theta& theta, align_corners_tag) {
  return apply_function(functions::affine_grid<true, E...>{}, theta);
}

}  // namespace ebb::inline EBB_ABI
