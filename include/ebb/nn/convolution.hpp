// ebb/nn/convolution.hpp — conv1d, conv2d, conv3d, and their transposes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "convolution_op.hpp"

namespace ebb::inline EBB_ABI {

/// Options of a convolution, known at compile time. Strides are below 4096, dilations and padding below 65536, along three axes below 4096.
///   ebb::conv2d<ebb::conv{.stride = 2, .padding = 1}>(x, w, b)
struct conv {
  per_axis stride = 1;
  pads padding = 0;  // a number, one for each axis as {1, 2} or {1, 2, 3}, or same_padding
  per_axis dilation = 1;
  int groups = 1;
  per_axis output_padding = 0;  // of transposes: the number of places added to the result

  constexpr sliding_axis axis(int i) const { return {stride[i], dilation[i], padding.before[i], padding.after[i]}; }
};

template <class Call>
struct refusal<460, Call> : Call {
  static_assert(Call::code != 460, "[ebb E0460] convolution: the array has the axes [batch, channels, places...], or no axis of the batch");
};
template <class Call>
struct refusal<461, Call> : Call {
  static_assert(Call::code != 461, "[ebb E0461] convolution: the weight has the axes [channels, channels, taps...], with at least one tap");
};
template <class Call>
struct refusal<462, Call> : Call {
  static_assert(Call::code != 462, "[ebb E0462] convolution: the channels of the weight, in all groups, are not those of the array");
};
template <class Call>
struct refusal<463, Call> : Call {
  static_assert(Call::code != 463, "[ebb E0463] a window is larger than the array with its padding");
};
template <class Call>
struct refusal<464, Call> : Call {
  static_assert(Call::code != 464, "[ebb E0464] convolution: the bias has one number for each channel of the result");
};
template <class Call>
struct refusal<465, Call> : Call {
  static_assert(Call::code != 465, "[ebb E0465] a window slides by at least 1, with a dilation of at least 1, without negative "
                                   "padding, in at least one group");
};
template <class Call>
struct refusal<466, Call> : Call {
  static_assert(Call::code != 466, "[ebb E0466] same_padding: the stride is 1, and the number of taps is known at compile time");
};
template <class Call>
struct refusal<467, Call> : Call {
  static_assert(Call::code != 467, "[ebb E0467] output_padding: only a transposed convolution has it, and it is less than the "
                                   "stride or the dilation");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The common part of convolutions and their transposes. `Own` finds the result's extents and emits the op.
template <int Axes, conv G, class Own>
struct conv_function {
  static constexpr precision autocast = op::conv::autocast;

  template <class A, class B, class... Bias>
  static constexpr auto apply(operand<A> a, operand<B> b, operand<Bias>... bias) {
    using Promoted = typename detail::promoted_of<op::add, operand<A>, operand<B>, operand<Bias>...>;
    using T = decltype(detail::accepted<op::conv, Promoted>());
    graph& g = *a.g;
    if constexpr (sizeof...(Bias) > 1) return refuse<T>(g, 176);
    operand<T> x = cast_to<T>(a);
    const operand<T> w = cast_to<T>(b);
    if (x.is_refused() || w.is_refused()) return refuse<T>(g, x.is_refused() ? -x.id : -w.id);
    const bool single = x.rank() == Axes + 1;
    if (single) x = view_as(x, with_axis(x.extents(), 0, 1));
    if (x.rank() != Axes + 2) return refuse<T>(g, 460);
    if (w.rank() != Axes + 2) return refuse<T>(g, 461);
    detail::conv_attributes attr{{}, G.groups, Axes};
    for (int i = 0; i < Axes; ++i) {
      const int taps = w.extent(i + 2);
      attr.axis[i] = G.axis(i);
      if (taps == 0) return refuse<T>(g, 461);
      if (G.padding.same) {
        if (taps < 0 || G.stride[i] != 1) return refuse<T>(g, 466);
        attr.axis[i].before = G.dilation[i] * (taps - 1) / 2;
        attr.axis[i].after = G.dilation[i] * (taps - 1) - attr.axis[i].before;
      }
    }
    if (!attr.is_valid()) return refuse<T>(g, 465);
    operand<T> y = Own::emit(x, w, attr);
    if (y.is_refused()) return y;
    [[maybe_unused]] const auto add = [&](operand<T> c) {
      if (c.is_refused() || c.rank() != 1 || !g.syms.unify(c.extent(0), y.extent(1))) return refuse<T>(g, c.is_refused() ? -c.id : 464);
      return y + repeat(c, y, axis_run(0, Axes + 2) & ~std::int64_t{2});
    };
    ((y = add(cast_to<T>(bias))), ...);
    return single && !y.is_refused() ? view_as(y, without_axes(y.extents(), 1)) : y;
  }

 protected:
  /// Requires that the groups divide `of`; false if it is known that they do not.
  static constexpr bool in_groups(symbols& s, int of) {
    return s.unify(s.derive(extent_rule::product, s.derive(extent_rule::quotient, of, G.groups), G.groups), of);
  }
};

template <int Axes, conv G>
struct convolution : conv_function<Axes, G, convolution<Axes, G>> {
  static constexpr std::string_view name = Axes == 1 ? "conv1d" : Axes == 2 ? "conv2d" : "conv3d";
  template <class T>
  static constexpr operand<T> emit(operand<T> x, operand<T> w, const detail::conv_attributes& attr) {
    symbols& s = x.g->syms;
    if (G.output_padding != per_axis(0)) return refuse<T>(*x.g, 467);
    if (!s.unify(s.derive(extent_rule::product, w.extent(1), G.groups), x.extent(1))) return refuse<T>(*x.g, 462);
    if (!convolution::in_groups(s, w.extent(0))) return refuse<T>(*x.g, 462);
    shape r;
    r.push(x.extent(0));
    r.push(w.extent(0));
    for (int i = 0; i < Axes; ++i) {
      const int windows = attr.axis[i].windows(s, x.extent(i + 2), w.extent(i + 2));
      if (windows == -1 && x.extent(i + 2) >= 0 && w.extent(i + 2) >= 0) return refuse<T>(*x.g, 463);
      r.push(windows);
    }
    return {x.g, emit_as<op::conv, T>(*x.g, x.g->intern(r), {x.id, w.id}, attr.packed())};
  }
};

template <int Axes, conv G>
struct conv_transpose : conv_function<Axes, G, conv_transpose<Axes, G>> {
  static constexpr std::string_view name = Axes == 1 ? "conv_transpose1d" : Axes == 2 ? "conv_transpose2d" : "conv_transpose3d";
  template <class T>
  static constexpr operand<T> emit(operand<T> x, operand<T> w, const detail::conv_attributes& attr) {
    symbols& s = x.g->syms;
    if (!s.unify(w.extent(0), x.extent(1)) || !conv_transpose::in_groups(s, w.extent(0))) return refuse<T>(*x.g, 462);
    shape r;
    r.push(x.extent(0));
    r.push(s.derive(extent_rule::product, w.extent(1), G.groups));
    for (int i = 0; i < Axes; ++i) {
      const sliding_axis& a = attr.axis[i];
      const int more = G.output_padding[i];
      if (more < 0 || (more > 0 && more >= std::max(a.stride, a.dilation))) return refuse<T>(*x.g, 467);
      // (in - 1) stride + dilation (taps - 1) + 1 + more, without the padding.
      const int whole = s.derive(extent_rule::sum, s.derive(extent_rule::product, x.extent(i + 2), a.stride),
                                 s.derive(extent_rule::product, w.extent(i + 2), a.dilation));
      const int rest = more + 1 - a.stride - a.dilation - a.before - a.after;
      if (whole >= 0 && whole + rest < 0) return refuse<T>(*x.g, 463);
      r.push(rest == 0 ? whole : s.derive(rest < 0 ? extent_rule::difference : extent_rule::sum, whole, rest < 0 ? -rest : rest));
    }
    return {x.g, emit_as<op::conv_back, T>(*x.g, x.g->intern(r), {x.id, w.id}, attr.packed())};
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The cross-correlation of x with the kernels of a weight, plus a bias if it is given.
///   conv2d(x, w)   conv2d<ebb::conv{.stride = 2, .padding = 1}>(x, w, b)   conv1d<ebb::conv{.padding = ebb::same_padding}>(x, w)
/// Shape: x [n, in, places...] or [in, places...], w [out, in / groups, taps...], b [out]: [n, out, windows...], where an axis has
/// floor((places + padding before and after - dilation (taps - 1) - 1) / stride) + 1 windows.
/// Dtype: promoted; integers give float; bf16 and f16 are summed in float; result and sum with b are rounded.   Saves: x, w.
/// Error: see [note: order of a convolution].   Throws: if channels differ, or a window does not fit.
/// Source: torch.nn.functional.conv1d, conv2d and conv3d.
template <conv G = conv{}, class X, class... W>
constexpr auto conv1d(X&& x, W&&... weight_bias) {
  return apply_function(functions::convolution<1, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv2d(X&& x, W&&... weight_bias) {
  return apply_function(functions::convolution<2, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv3d(X&& x, W&&... weight_bias) {
  return apply_function(functions::convolution<3, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}

/// The transpose of the convolution with the same options, plus a bias if it is given: it maps x as that convolution's pull maps gradients.
/// Shape: x [n, in, windows...], w [in, out / groups, taps...], b [out]: [n, out, places...], where an axis has (windows - 1) stride
/// - padding before and after + dilation (taps - 1) + output_padding + 1 places.
/// Dtype, Saves, Error, Throws: as conv2d.   Source: torch.nn.functional.conv_transpose1d to conv_transpose3d.
template <conv G = conv{}, class X, class... W>
constexpr auto conv_transpose1d(X&& x, W&&... weight_bias) {
  return apply_function(functions::conv_transpose<1, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv_transpose2d(X&& x, W&&... weight_bias) {
  return apply_function(functions::conv_transpose<2, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv_transpose3d(X&& x, W&&... weight_bias) {
  return apply_function(functions::conv_transpose<3, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}

}  // namespace ebb::inline EBB_ABI
