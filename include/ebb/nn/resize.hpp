// ebb/nn/resize.hpp — images of another size: upsample_nearest, upsample_linear, upsample_cubic, pixel_shuffle, pixel_unshuffle.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "resize_op.hpp"

#include "../op/axes.hpp"
#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<457, Call> : Call {
  static_assert(Call::code != 457, "[ebb E0457] upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does "
                                   "not divide the extents");
};

/// Tag of upsample_linear and upsample_cubic: the outer elements of the array are those of the result, and the others are spread evenly
/// between them.
struct align_corners_tag {};
inline constexpr align_corners_tag align_corners{};

namespace functions {

constexpr std::string_view name_of(sampling how) {
  if (takes_elements(how)) return how == sampling::nearest ? "upsample_nearest" : "upsample_nearest_exact";
  return how == sampling::linear || how == sampling::corners ? "upsample_linear" : "upsample_cubic";
}

/// The last axes of an array with other extents. Places and weights are quotients of integers: they are exact.
template <sampling How, int... E>
struct upsample {
  static constexpr std::string_view name = name_of(How);
  template <class A>
  static constexpr auto apply(operand<A> given) {
    using T = std::conditional_t<takes_elements(How), A, promoted_to_real<A>>;
    graph& g = *given.g;
    if (given.is_refused()) return refuse<T>(g, -given.id);
    constexpr int axes = sizeof...(E);
    if (axes == 0 || given.rank() < axes || ((E < 1) || ...)) return refuse<T>(g, 457);
    const int lead = given.rank() - axes;
    for (int i = lead; i < given.rank(); ++i) {
      if (given.extent(i) == 0) return refuse<T>(g, 457);
      g.syms.derive(extent_rule::difference, given.extent(i), 1);  // the call requires that there is an element
    }
    shape r = axes_between(given.extents(), 0, lead);
    (r.push(E), ...);
    using Wide = std::conditional_t<takes_elements(How), T, detail::computed_in<T>>;
    constexpr int taps = takes_elements(How) ? 1 : How == sampling::linear || How == sampling::corners ? 2 : 4;
    const operand<Wide> x = cast_to<Wide>(given);
    const attributes attr{static_cast<std::int64_t>(How), axes};
    return cast_to<T>(operand<Wide>{&g, emit_as<op::resample<taps>, Wide>(g, g.intern(g.syms.find(r)), {x.id}, attr)});
  }
};

template <int R>
struct pixel_shuffle {
  static constexpr detail::spelled name{"pixel_shuffle", R};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    graph& g = *x.g;
    if (R < 1 || x.rank() < 3 || x.rank() + 2 > max_rank) return refuse<T>(g, 457);
    const int c = x.rank() - 3, each = g.syms.derive(extent_rule::quotient, x.extent(c), R * R);
    if (!g.syms.unify(g.syms.derive(extent_rule::product, each, R * R), x.extent(c))) return refuse<T>(g, 457);
    shape split = axes_between(x.extents(), 0, c), out = split;
    for (const int e : {each, R, R, x.extent(c + 1), x.extent(c + 2)}) split.push(e);
    out.push(each);
    for (int i = 1; i <= 2; ++i) out.push(g.syms.derive(extent_rule::product, x.extent(c + i), R));
    // [c, r, r, h, w] to [c, h, r, w, r]
    return view_as(axis_moved(axis_moved(view_as(x, split), c + 3, c + 1), c + 4, c + 3), out);
  }
};
template <int R>
struct pixel_unshuffle {
  static constexpr detail::spelled name{"pixel_unshuffle", R};
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    graph& g = *x.g;
    if (R < 1 || x.rank() < 3 || x.rank() + 2 > max_rank) return refuse<T>(g, 457);
    const int c = x.rank() - 3;
    int each[2];
    for (int i = 0; i < 2; ++i) {
      each[i] = g.syms.derive(extent_rule::quotient, x.extent(c + 1 + i), R);
      if (!g.syms.unify(g.syms.derive(extent_rule::product, each[i], R), x.extent(c + 1 + i))) return refuse<T>(g, 457);
    }
    shape split = axes_between(x.extents(), 0, c + 1), out = axes_between(x.extents(), 0, c);
    for (const int e : {each[0], R, each[1], R}) split.push(e);
    for (const int e : {g.syms.derive(extent_rule::product, x.extent(c), R * R), each[0], each[1]}) out.push(e);
    // [c, h, r, w, r] to [c, r, r, h, w]
    return view_as(axis_moved(axis_moved(view_as(x, split), c + 2, c + 1), c + 4, c + 2), out);
  }
};

}  // namespace functions

/// The last axes of x resized to the given extents: element i of n is element floor(i m / n) of m. Smaller extents are allowed.
///   upsample_nearest<14, 9>(x)
/// Shape: x [..., places...]: [..., E...].   Dtype: x's.   Saves: nothing.   Error: exact.
/// Source: torch.nn.functional.interpolate with mode nearest, which computes places in floating point.
template <int... E, class X>
constexpr auto upsample_nearest(const X& x) {
  return apply_function(functions::upsample<functions::sampling::nearest, E...>{}, x);
}
/// upsample_nearest with linear interpolation along each axis: element i of n is at the place (i + 1/2) m / n - 1/2, at least 0; with
/// align_corners at i (m - 1) / (n - 1).   upsample_linear<9>(x), upsample_linear<5, 9>(x), upsample_linear<5, 9>(x, ebb::align_corners)
/// Shape: x [..., places...]: [..., E...].   Dtype: x's; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: nothing.   Error: 2 ulp of the larger term, for each axis.
/// Source: torch.nn.functional.interpolate with modes linear and bilinear, without antialias.
template <int... E, class X>
constexpr auto upsample_linear(const X& x) {
  return apply_function(functions::upsample<functions::sampling::linear, E...>{}, x);
}
template <int... E, class X>
constexpr auto upsample_linear(const X& x, align_corners_tag) {
  return apply_function(functions::upsample<functions::sampling::corners, E...>{}, x);
}
/// As upsample_nearest, but element i of n is element floor((i + 1/2) m / n) of m: the one next to its place.
/// Shape, Dtype, Saves, Error: as upsample_nearest.
/// Source: torch.nn.functional.interpolate with mode nearest-exact, which computes places in floating point.
template <int... E, class X>
constexpr auto upsample_nearest_exact(const X& x) {
  return apply_function(functions::upsample<functions::sampling::exact, E...>{}, x);
}
/// upsample_linear with cubic instead of linear interpolation, by the four elements around a place; beyond the edge the element at the edge
/// counts. Results may be outside of the range of x.   upsample_cubic<5, 9>(x), upsample_cubic<5, 9>(x, ebb::align_corners)
/// Shape, Dtype, Saves: as upsample_linear.   Error: 8 ulp of the largest term, for each axis.
/// Source: torch.nn.functional.interpolate with mode bicubic, without antialias; Keys, IEEE Trans. ASSP 29 (1981), with a = -0.75.
template <int... E, class X>
constexpr auto upsample_cubic(const X& x) {
  return apply_function(functions::upsample<functions::sampling::cubic, E...>{}, x);
}
template <int... E, class X>
constexpr auto upsample_cubic(const X& x, align_corners_tag) {
  return apply_function(functions::upsample<functions::sampling::cubic_corners, E...>{}, x);
}
/// R * R channels at each place as R rows and columns of places.   pixel_shuffle<2>(x)
/// Shape: x [..., R R c, h, w]: [..., c, R h, R w].   Dtype: x's.   Saves: nothing.   Error: exact.
/// Throws: if R * R does not divide a call's channels.   Source: torch.nn.functional.pixel_shuffle.
template <int R, class X>
constexpr auto pixel_shuffle(const X& x) {
  return apply_function(functions::pixel_shuffle<R>{}, x);
}
/// The inverse of pixel_shuffle.
/// Shape: x [..., c, R h, R w]: [..., R R c, h, w].   Dtype: x's.   Saves: nothing.   Error: exact.
/// Throws: if R does not divide a call's rows and columns.   Source: torch.nn.functional.pixel_unshuffle.
template <int R, class X>
constexpr auto pixel_unshuffle(const X& x) {
  return apply_function(functions::pixel_unshuffle<R>{}, x);
}

}  // namespace ebb::inline EBB_ABI
