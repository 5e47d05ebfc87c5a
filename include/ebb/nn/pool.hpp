// ebb/nn/pool.hpp — max_pool, with places too, and avg_pool over sliding windows, and adaptive pools.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "pool_op.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// The windows of a pool. Sizes and strides are below 4096, dilations and padding below 65536, along three axes below 1024.
///   ebb::max_pool2d<ebb::pool{.size = 3, .stride = 2, .padding = 1}>(x)
/// With ceil_mode a last window may end beyond the padding at the end, if it begins before that padding. It has only the places inside the
/// array; the mean counts those and, with count_padding, the padding.
struct pool {
  per_axis size = 2;
  per_axis stride = 0;  // 0: the size
  per_axis padding = 0;
  per_axis dilation = 1;      // of max_pool
  bool count_padding = true;  // of avg_pool: whether a mean counts the zeros of the padding
  bool ceil_mode = false;
  int divisor = 0;            // of avg_pool: sums are divided by it; 0: by their count
};

template <class Call>
struct refusal<470, Call> : Call {
  static_assert(Call::code != 470, "[ebb E0470] pool: the array has fewer axes than the windows");
};
template <class Call>
struct refusal<471, Call> : Call {
  static_assert(Call::code != 471, "[ebb E0471] pool: a window has at least one element and slides by at least 1, its padding is "
                                   "at most half of it, and an average has no dilation");
};

template <class Call>
struct refusal<448, Call> : Call {
  static_assert(Call::code != 448, "[ebb E0448] pool: a divisor is above 0, and only avg_pool divides");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

inline constexpr std::string_view pool_names[] = {
    "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};

/// A pool of x over the windows that G describes or, if Adaptive, over G.size windows along each axis. With Places, where the largest
/// elements are.
template <int Axes, bool Mean, pool G, bool Adaptive, bool Places = false>
struct pool_windows {
  static constexpr std::string_view name = pool_names[6 * Mean + 3 * Adaptive + Axes - 1];
  static constexpr precision autocast = Axes == 3 ? precision::full : precision::as_is;  // as in PyTorch's lists

  template <class A>
  static constexpr auto apply(operand<A> given) {
    using T = decltype(detail::accepted<op::pool_mean, A>());
    if constexpr (G.divisor == 0) return pooled(cast_to<T>(given));
    else if constexpr (G.divisor < 0 || !Mean) return refuse<T>(*given.g, 448);
    else return cast_to<T>(pooled(cast_to<detail::computed_in<T>>(given)) / static_cast<double>(G.divisor));
  }

 private:
  template <class T>
  static constexpr auto pooled(operand<T> x) {
    using R = std::conditional_t<Places, std::int64_t, T>;
    graph& g = *x.g;
    if (x.is_refused()) return operand<R>{&g, x.id};
    if (x.rank() < Axes) return refuse<R>(g, 470);
    detail::pool_attributes attr{{}, Axes, Adaptive, G.count_padding, !Mean && !Places, G.divisor > 0};
    shape r = x.extents();
    for (int i = 0; i < Axes; ++i) {
      const int axis = x.rank() - Axes + i, stride = G.stride[i] == 0 ? G.size[i] : G.stride[i];
      if (G.size[i] < 1 || G.size[i] >= 1 << attr.stride_bits(Axes)) return refuse<R>(g, 471);
      if (Adaptive) {
        r.e[axis] = G.size[i];
        continue;
      }
      attr.axis[i] = {{stride, G.dilation[i], G.padding[i], G.padding[i]}, G.size[i]};
      const int reach = (G.size[i] - 1) * G.dilation[i] + 1;
      const bool fits = attr.axis[i].by.is_valid(attr.stride_bits(Axes), attr.bits(Axes));
      if (!fits || 2 * G.padding[i] > reach || (Mean && G.dilation[i] != 1)) return refuse<R>(g, 471);
      // A last window that is cut off, but begins before places + padding, is what this padding at the end makes room for.
      if (G.ceil_mode) attr.axis[i].by.after = std::min(reach - 1, G.padding[i] + stride - 1);
      r.e[axis] = attr.axis[i].by.windows(g.syms, x.extent(axis), G.size[i]);
      if (r.e[axis] == -1 && x.extent(axis) >= 0) return refuse<R>(g, 463);
    }
    const int number = g.intern(r);
    if constexpr (Places) return operand<R>{&g, emit_as<op::pool_at, T>(g, number, {x.id}, attr.packed())};
    else if constexpr (Mean) return operand<T>{&g, emit_as<op::pool_mean, T>(g, number, {x.id}, attr.packed())};
    else return operand<T>{&g, emit_as<op::pool_pick, T>(g, number, {x.id, x.id}, attr.packed())};
  }
};

/// The largest elements, unless their places are refused: then that error is enough.
template <int Axes, pool G>
struct pool_values : pool_windows<Axes, false, G, false> {
  template <class A, class I>
  static constexpr auto apply(operand<A> x, operand<I> places) {
    return pool_windows<Axes, false, G, false>::apply(places.is_refused() ? operand<A>{x.g, places.id} : x);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The largest element of each window over the last axis, or the last two or three. A NaN is larger than all numbers; padding is never
/// the largest. The gradient goes to the first of equal elements, or to the last NaN.
/// Shape: x [..., places...]: [..., windows...], counted as for conv2d; pool::ceil_mode may add one.   Dtype: x's; integers give float.
/// Saves: x.   Error: exact.
/// Throws: if a window does not fit.   Source: torch.nn.functional.max_pool1d, max_pool2d and max_pool3d.
template <pool G = pool{}, class X>
constexpr auto max_pool1d(X&& x) {
  return apply_function(functions::pool_windows<1, false, G, false>{}, std::forward<X>(x));
}
template <pool G = pool{}, class X>
constexpr auto max_pool2d(X&& x) {
  return apply_function(functions::pool_windows<2, false, G, false>{}, std::forward<X>(x));
}
template <pool G = pool{}, class X>
constexpr auto max_pool3d(X&& x) {
  return apply_function(functions::pool_windows<3, false, G, false>{}, std::forward<X>(x));
}
/// max_pool, and the place of each largest element in its line, its plane or its volume, in a tuple: in a plane with w columns, element
/// (i, j) is at i w + j. Places have no gradient. A window without a place has -infinity at -1.
///   const auto [values, places] = ebb::max_pool2d_with_index<ebb::pool{.size = 3, .stride = 2}>(x);
/// Shape: as max_pool2d, for both.   Dtype: x's, and int64.   Saves, Error, Throws: as max_pool2d.
/// Source: torch.nn.functional.max_pool2d with return_indices.
template <pool G = pool{}, class X>
constexpr auto max_pool1d_with_index(const X& x) {
  const auto places = apply_function(functions::pool_windows<1, false, G, false, true>{}, x);
  return std::tuple(apply_function(functions::pool_values<1, G>{}, x, places), places);
}
template <pool G = pool{}, class X>
constexpr auto max_pool2d_with_index(const X& x) {
  const auto places = apply_function(functions::pool_windows<2, false, G, false, true>{}, x);
  return std::tuple(apply_function(functions::pool_values<2, G>{}, x, places), places);
}
template <pool G = pool{}, class X>
constexpr auto max_pool3d_with_index(const X& x) {
  const auto places = apply_function(functions::pool_windows<3, false, G, false, true>{}, x);
  return std::tuple(apply_function(functions::pool_values<3, G>{}, x, places), places);
}
/// The mean of each window. pool::count_padding says whether the zeros around x count. With pool::divisor sums are
/// divided by that number instead.
/// Shape, Dtype, Throws: as max_pool2d.   Saves: nothing.   Error: that of a chain of additions, and of a division.
/// Source: torch.nn.functional.avg_pool1d, avg_pool2d and avg_pool3d.
template <pool G = pool{}, class X>
constexpr auto avg_pool1d(X&& x) {
  return apply_function(functions::pool_windows<1, true, G, false>{}, std::forward<X>(x));
}
template <pool G = pool{}, class X>
constexpr auto avg_pool2d(X&& x) {
  return apply_function(functions::pool_windows<2, true, G, false>{}, std::forward<X>(x));
}
template <pool G = pool{}, class X>
constexpr auto avg_pool3d(X&& x) {
  return apply_function(functions::pool_windows<3, true, G, false>{}, std::forward<X>(x));
}
/// Pools over as many windows as the template arguments say: along an axis of n places, window i of m has the places
/// [floor(i n / m), ceil((i + 1) n / m)).   adaptive_avg_pool2d<3, 4>(x)   adaptive_max_pool1d<1>(x)
/// Shape: x [..., places...]: [..., windows...].   Dtype, Saves, Error: as avg_pool2d and max_pool2d.
/// If a window has no place, the mean is NaN, and the largest element is -infinity. For the mean of whole planes there is
/// ebb::mean<-2, -1>(x, ebb::keep_dims), which sums in lanes.
template <int N, class X>
constexpr auto adaptive_avg_pool1d(X&& x) {
  return apply_function(functions::pool_windows<1, true, pool{.size = N}, true>{}, std::forward<X>(x));
}
template <int Rows, int Columns, class X>
constexpr auto adaptive_avg_pool2d(X&& x) {
  return apply_function(functions::pool_windows<2, true, pool{.size = {Rows, Columns}}, true>{}, std::forward<X>(x));
}
template <int Planes, int Rows, int Columns, class X>
constexpr auto adaptive_avg_pool3d(X&& x) {
  return apply_function(functions::pool_windows<3, true, pool{.size = {Planes, Rows, Columns}}, true>{}, std::forward<X>(x));
}
template <int N, class X>
constexpr auto adaptive_max_pool1d(X&& x) {
  return apply_function(functions::pool_windows<1, false, pool{.size = N}, true>{}, std::forward<X>(x));
}
template <int Rows, int Columns, class X>
constexpr auto adaptive_max_pool2d(X&& x) {
  return apply_function(functions::pool_windows<2, false, pool{.size = {Rows, Columns}}, true>{}, std::forward<X>(x));
}
template <int Planes, int Rows, int Columns, class X>
constexpr auto adaptive_max_pool3d(X&& x) {
  return apply_function(functions::pool_windows<3, false, pool{.size = {Planes, Rows, Columns}}, true>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
