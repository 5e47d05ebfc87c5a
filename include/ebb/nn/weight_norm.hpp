// ebb/nn/weight_norm.hpp — weights of a given length (weight_norm, spectral_norm), and local_response_norm of channels.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "pool_op.hpp"

#include "../op/extremum.hpp"
#include "../op/linear.hpp"
#include "../op/loss_option.hpp"
#include "../op/power.hpp"
#include "../op/shape.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<493, Call> : Call {
  static_assert(Call::code != 493, "[ebb E0493] local_response_norm: the array has the axes [batch, channels, places...], the window 1 to "
                                   "4095 channels, and alpha, exponent and k are numbers");
};
template <class Call>
struct refusal<494, Call> : Call {
  static_assert(Call::code != 494, "[ebb E0494] weight_norm, spectral_norm: a weight has two axes or more, a length for each index of one "
                                   "axis; u is [rows], v is [elements of a row]");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

template <int Size>
struct local_response_norm {
  static constexpr detail::spelled name{"local_response_norm", Size};
  template <class A>
  static constexpr auto apply(operand<A> given, auto by, auto exponent, auto least_divisor) {
    using T = promoted_to_real<A>;
    using Wide = detail::computed_in<T>;
    graph& g = *given.g;
    if (given.is_refused()) return refuse<T>(g, -given.id);
    if (given.rank() < 2 || Size < 1 || Size > 4095) return refuse<T>(g, 493);
    const auto x = cast_to<Wide>(given);
    // Windows along the channels are those of a pool of planes [channels, places].
    const shape plane = with_axis(axes_between(x.extents(), 0, 2), 2, volume_of(g.syms, axes_between(x.extents(), 2, x.rank())));
    const auto squares = view_as(x * x, plane);
    detail::pool_attributes attr;
    attr.axes = 2, attr.sums = true;
    attr.axis[0] = {{1, 1, Size / 2, (Size - 1) / 2}, Size};
    const operand<Wide> sums{&g, emit_as<op::pool_mean, Wide>(g, squares.shape_number(), {squares.id}, attr.packed())};
    const auto mean = view_as(sums, x.extents()) / static_cast<double>(Size);
    const auto factor = detail::repeated_number(by, mean, 493), power = detail::repeated_number(exponent, mean, 493);
    const auto least = detail::repeated_number(least_divisor, mean, 493);
    for (const auto& option : {factor, power, least})
      if (option.is_refused()) return refuse<T>(g, -option.id);
    return cast_to<T>(x / emit_on<op::pow>({}, least + factor * mean, power));
  }
};

template <int Axis>
struct weight_norm {
  static constexpr std::string_view name = "weight_norm";
  template <class A, class B>
  static constexpr auto apply(operand<A> given, operand<B> lengths) {
    using T = promoted_to_real<promoted<A, B>>;
    using Wide = detail::computed_in<T>;
    graph& g = *given.g;
    if (given.is_refused() || lengths.is_refused()) return refuse<T>(g, given.is_refused() ? -given.id : -lengths.id);
    const int axis = axis_of(Axis, given.rank());
    if (!has_axis(axis, given.rank())) return refuse<T>(g, 103);
    if (lengths.rank() != 1 || !g.syms.unify(lengths.extent(0), given.extent(axis))) return refuse<T>(g, 494);
    const auto v = cast_to<Wide>(given), length = cast_to<Wide>(lengths);
    const std::int64_t beside = axis_run(0, v.rank()) & ~(std::int64_t{1} << axis);
    return cast_to<T>(v * repeat(length / emit_on<op::sqrt>({}, sum_over(v * v, beside)), v, beside));
  }
};

/// spectral_norm of a weight as a matrix, whose rows are those of axis 0.
struct spectral {
  static constexpr std::string_view name = "spectral_norm";

 protected:
  template <class T>
  static constexpr operand<T> matrix(operand<T> w) {
    graph& g = *w.g;
    return view_as(w, with_axis(axes_between(w.extents(), 0, 1), 1, volume_of(g.syms, axes_between(w.extents(), 1, w.rank()))));
  }
  /// w x, or the transposed w times x.
  template <class T>
  static constexpr operand<T> times(operand<T> w, operand<T> x, bool transposed) {
    const auto y = product_of(w, view_as(x, with_axis(x.extents(), 1, 1)), (transposed ? left_transposed : 0) | of_vector);
    return view_as(y, axes_between(y.extents(), 0, 1));
  }
  template <class T>
  static constexpr operand<T> normalized(operand<T> x) {
    const auto length = emit_on<op::sqrt>({}, sum_over(x * x, 1));
    return x / repeat(emit_on<op::maximum>({}, length, literal_like(length, 1e-12)), x, 1);
  }
  /// Calls f(w as a matrix, u, v) in T's wide type, without a gradient by the vectors; in the type R of its result.
  template <class R, class W, class U, class V>
  static constexpr operand<R> with(operand<W> w, operand<U> u, operand<V> v, auto f) {
    using Wide = detail::computed_in<promoted_to_real<W>>;
    graph& g = *w.g;
    for (const int id : {w.id, u.id, v.id})
      if (id < 0) return refuse<R>(g, -id);
    if (w.rank() < 2 || u.rank() != 1 || v.rank() != 1 || !g.syms.unify(u.extent(0), w.extent(0))) return refuse<R>(g, 494);
    const auto a = matrix(cast_to<Wide>(w));
    if (!g.syms.unify(v.extent(0), a.extent(1))) return refuse<R>(g, 494);
    const auto fixed = [](auto x) { return emit_on<op::stop_gradient>({}, cast_to<Wide>(x)); };
    return cast_to<R>(f(a, fixed(u), fixed(v)));
  }
};

/// The vector of the rows after Steps steps, or the vector of the columns that follows from it.
template <int Steps, bool OfRows>
struct spectral_vector : spectral {
  template <class W, class U, class V>
  static constexpr auto apply(operand<W> w, operand<U> u, operand<V> v) {
    using R = std::conditional_t<OfRows, U, V>;
    if constexpr (!real_element<R>) return refuse<R>(*w.g, 494);
    else
      return with<R>(w, u, v, [](auto a, auto x, auto y) {
        a = emit_on<op::stop_gradient>({}, a);
        if constexpr (!OfRows) return normalized(times(a, x, true));
        for (int i = 0; i < Steps; ++i) {
          x = normalized(times(a, y, false));
          if (i + 1 < Steps) y = normalized(times(a, x, true));
        }
        return x;
      });
  }
};

struct spectral_norm : spectral {
  template <class W, class U, class V>
  static constexpr auto apply(operand<W> w, operand<U> u, operand<V> v) {
    using R = promoted_to_real<W>;
    return with<R>(w, u, v, [w](auto a, auto x, auto y) {
      const auto largest = sum_over(x * times(a, y, false), 1);
      return view_as(a / repeat(largest, a, 3), w.extents());
    });
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x / (k + alpha m)^exponent, where m is the mean of the squares of Size channels at one place: Size / 2 before it and the rest after it;
/// it counts zeros beside the outer channels.   local_response_norm<5>(x)   local_response_norm<5>(x, 1e-4, 0.75, 2)
/// Shape: x's, [batch, channels, places...].   Dtype: x's; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: x, m.   Error: 4 ulp, and `exponent` times that of the sum of Size squares.   Source: torch.nn.functional.local_response_norm.
template <int Size, class X, class Factor = double, class Exponent = double, class Least = double>
constexpr auto local_response_norm(const X& x, Factor alpha = 1e-4, Exponent exponent = 0.75, Least k = 1.0) {
  return apply_function(functions::local_response_norm<Size>{}, x, alpha, exponent, k);
}
/// v with other lengths: part k of v along an axis has the length g(k), the root of its sum of squares. A part of zeros gives NaN.
///   const auto w = ebb::weight_norm(v, g);   conv2d(x, ebb::weight_norm(v, g))
/// Shape: v's; g [extent of the axis].   Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: v, g, the lengths.   Error: 4 ulp, and that of the sum of squares.   Throws: if a call's g has another extent.
/// Source: torch.nn.utils.parametrizations.weight_norm, whose `dim` is Axis; there g has axes of extent 1.
template <int Axis = 0, class W, class Lengths>
constexpr auto weight_norm(W&& v, Lengths&& g) {
  return apply_function(functions::weight_norm<Axis>{}, std::forward<W>(v), std::forward<Lengths>(g));
}
/// A tuple of w / s and the vectors u and v, where s = u^T w v estimates the largest singular value. The caller passes u and v to the next
/// call. Each call makes `Steps` power iterations: u = w v / |w v|, then v = w^T u / |w^T u|. 0 steps leave them: for evaluation. w is read
/// as a matrix with the rows of axis 0. u and v count as constants: they have no gradient, and w none through them. A weight of zeros gives
/// NaN. Start with unit vectors of normal numbers, and some 15 steps.
///   const auto [scaled, next_u, next_v] = ebb::spectral_norm(w, u, v);   std::get<0>(ebb::spectral_norm<0>(w, u, v))
/// Shape: w's; u [rows], v [elements of a row].   Dtype: w's, u's, v's; bf16 and f16 are computed in float.   Saves: w, u, v, u^T w v.
/// Error: that of the products.   Throws: if a call's u or v has another extent.
/// Source: torch.nn.utils.parametrizations.spectral_norm; its 1e-12 is the least length here too.
template <int Steps = 1, class W, class U, class V>
constexpr auto spectral_norm(const W& w, const U& u, const V& v) {
  if constexpr (Steps <= 0) {
    constexpr call<op::stop_gradient> fixed{};
    return std::tuple(apply_function(functions::spectral_norm{}, w, u, v), fixed(u), fixed(v));
  }
  else {
    const auto of_rows = apply_function(functions::spectral_vector<Steps, true>{}, w, u, v);
    const auto of_columns = apply_function(functions::spectral_vector<0, false>{}, w, of_rows, v);
    return std::tuple(apply_function(functions::spectral_norm{}, w, of_rows, of_columns), of_rows, of_columns);
  }
}

}  // namespace ebb::inline EBB_ABI
