// ebb/nn/convolution.hpp — conv1d, conv2d, and their transposes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: three forms of a convolution]
// The sum of x(n, c, place) w(o, c, tap) g(n, o, window), over all windows and taps that meet at a place, is linear in each of the three
// arrays. Each op is the derivative of this sum by one array, as a function of the other two: conv by g, conv_back by x, conv_weights by w.
// So the pull of each op consists of the other two, and there are derivatives of every order. The shapes of results are given, not
// inferred: with a stride, several extents of x have the same number of windows. All three ops take leading axes in front of their own;
// both operands have the same ones.
#pragma once

#include "convolve.hpp"
#include "sliding.hpp"

#include "../op/context.hpp"
#include "../op/whole.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The attributes of a convolution. Each has the options of one axis; attr 0 also has the groups, attr 1 the number of axes.
struct conv_attributes {
  sliding_axis axis[2];
  int groups = 1, axes = 1;

  constexpr attributes packed() const {
    return {axis[0].packed() | static_cast<std::int64_t>(groups) << 44, axis[1].packed() | static_cast<std::int64_t>(axes) << 44};
  }
  static constexpr conv_attributes unpacked(const std::int64_t* a) {
    return {{sliding_axis::unpacked(a[0]), sliding_axis::unpacked(a[1])}, static_cast<int>(a[0] >> 44), static_cast<int>(a[1] >> 44)};
  }
};

/// The convolution of arrays with these extents, `batch` times.
struct conv_call : kernel::conv_extents {
  std::ptrdiff_t batch = 1;

  constexpr conv_call(const std::int64_t* attr, const extent_list& x, const extent_list& w, const extent_list& r) {
    const conv_attributes a = conv_attributes::unpacked(attr);
    const int lead = x.rank - 2 - a.axes;
    const auto extent = [](const extent_list& e, int i) { return static_cast<std::ptrdiff_t>(e.e[i]); };
    batch = static_cast<std::ptrdiff_t>(x.volume(0, lead));
    n = extent(x, lead);
    groups = a.groups;
    from = extent(w, lead + 1);
    to = extent(w, lead) / groups;
    const auto axis_at = [&](int i, const sliding_axis& s) {
      return kernel::conv_axis{extent(x, i), extent(w, i), extent(r, i), s.stride, s.dilation, s.before};
    };
    if (a.axes == 2) row = axis_at(lead + 2, a.axis[0]);
    column = axis_at(lead + 1 + a.axes, a.axis[a.axes - 1]);
  }
  constexpr std::ptrdiff_t x_size() const { return n * groups * from * places(); }
  constexpr std::ptrdiff_t w_size() const { return groups * to * from * taps(); }
  constexpr std::ptrdiff_t r_size() const { return n * groups * to * windows(); }

  /// Calls f(x, w, r) for each tap of each window, with the indices of the elements that meet there; x is -1 beyond the edge. For one place
  /// of the result, the taps are in rising order; for one tap, the batch and its places are.
  constexpr void each_link(auto&& f) const {
    const std::ptrdiff_t count = batch * n * groups * to * windows();
    for (std::ptrdiff_t r = 0; r < count; ++r) {
      const std::ptrdiff_t y = r / column.windows % row.windows, z = r % column.windows, o = r / windows() % (groups * to);
      const std::ptrdiff_t image = r / windows() / (groups * to), own = image / n * w_size() / taps() + o * from;
      for (std::ptrdiff_t c = 0; c < from; ++c)
        for (std::ptrdiff_t k = 0; k < taps(); ++k) {
          const std::ptrdiff_t i = y * row.stride + k / column.taps * row.dilation - row.before;
          const std::ptrdiff_t j = z * column.stride + k % column.taps * column.dilation - column.before;
          const bool inside = i >= 0 && i < row.places && j >= 0 && j < column.places;
          const std::ptrdiff_t plane = image * groups * from + o / to * from + c;
          f(inside ? plane * places() + i * column.places + j : -1, (own + c) * taps() + k, r);
        }
    }
  }
  /// Calls f(w, r) for each channel of the result and each tap through which a window can meet element x; r is -1 if there is none.
  constexpr void each_window(std::ptrdiff_t x, auto&& f) const {
    const std::ptrdiff_t y = x / column.places % row.places, z = x % column.places, plane = x / places(), image = plane / (groups * from);
    const std::ptrdiff_t group = plane / from % groups, own = image / n * w_size() + plane % from * taps();
    for (std::ptrdiff_t o = group * to; o < (group + 1) * to; ++o)
      for (std::ptrdiff_t k = 0; k < taps(); ++k) {
        const std::ptrdiff_t i = y + row.before - k / column.taps * row.dilation, j = z + column.before - k % column.taps * column.dilation;
        if (i % row.stride != 0 || j % column.stride != 0) continue;
        const bool inside = i >= 0 && i / row.stride < row.windows && j >= 0 && j / column.stride < column.windows;
        const std::ptrdiff_t at = (image * groups * to + o) * windows() + i / row.stride * column.windows + j / column.stride;
        f(own + o * from * taps() + k, inside ? at : -1);
      }
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

struct convolving : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::low;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    const auto a = ebb::detail::conv_attributes::unpacked(attr);
    int count = 0;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].stride;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].before;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].dilation;
    numbers[count++] = a.groups;
    return count;
  }
};

/// The convolution of x [n, groups c, places] with w [groups o, c, taps]: [n, groups o, windows].   Saves: x, w.
struct conv : convolving {
  static constexpr std::string_view name = "conv";
  static constexpr int folded(const std::int64_t* attr, int rank) {
    return rank == 2 + ebb::detail::conv_attributes::unpacked(attr).axes ? 0 : -1;
  }
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.shapes[0], c.shapes[1], c.result);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve<T>(k, static_cast<const T*>(c.in[0]) + i * k.x_size(), static_cast<const T*>(c.in[1]) + i * k.w_size(),
                          static_cast<T*>(c.out) + i * k.r_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.in[0], c.in[1], c.out);
    vec<S> sum(static_cast<int>(c.out.volume()), S(0));
    k.each_link([&](std::ptrdiff_t x, std::ptrdiff_t w, std::ptrdiff_t r) {
      S& to = sum[static_cast<int>(r)];
      to = lane::fma(in(1, static_cast<std::size_t>(w)), x < 0 ? S(0) : in(0, static_cast<std::size_t>(x)), to);
    });
    for (int i = 0; i < sum.size(); ++i) put(static_cast<std::size_t>(i), sum[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> w, operand<T> out);
};

/// The gradient of conv by x, from g [n, groups o, windows] and w. The shape is given, not inferred.   Saves: g, w.
struct conv_back : convolving {
  static constexpr std::string_view name = "conv_back";
  static constexpr int folded(const std::int64_t* attr, int rank) { return conv::folded(attr, rank); }
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.result, c.shapes[1], c.shapes[0]);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve_back<T>(k, static_cast<const T*>(c.in[0]) + i * k.r_size(), static_cast<const T*>(c.in[1]) + i * k.w_size(),
                               static_cast<T*>(c.out) + i * k.x_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.out, c.in[1], c.in[0]);
    const auto count = static_cast<std::ptrdiff_t>(c.out.volume());
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      S sum = 0;
      k.each_window(i, [&](std::ptrdiff_t w, std::ptrdiff_t r) {
        sum = lane::fma(in(1, static_cast<std::size_t>(w)), r < 0 ? S(0) : in(0, static_cast<std::size_t>(r)), sum);
      });
      put(static_cast<std::size_t>(i), sum);
    }
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> w, operand<T> out);
};

/// The gradient of conv by w, from x and g. The shape is given, not inferred.   Saves: x, g.
struct conv_weights : convolving {
  static constexpr std::string_view name = "conv_weights";
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.shapes[0], c.result, c.shapes[1]);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve_weights<T>(k, static_cast<const T*>(c.in[0]) + i * k.x_size(), static_cast<const T*>(c.in[1]) + i * k.r_size(),
                                  static_cast<T*>(c.out) + i * k.w_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.in[0], c.out, c.in[1]);
    vec<S> sum(static_cast<int>(c.out.volume()), S(0));
    k.each_link([&](std::ptrdiff_t x, std::ptrdiff_t w, std::ptrdiff_t r) {
      S& to = sum[static_cast<int>(w)];
      to = lane::fma(x < 0 ? S(0) : in(0, static_cast<std::size_t>(x)), in(1, static_cast<std::size_t>(r)), to);
    });
    for (int i = 0; i < sum.size(); ++i) put(static_cast<std::size_t>(i), sum[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> of, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::detail {

/// Op on x and y, with the attributes of `of` and the shape of `like`.
template <class Op, class T>
constexpr operand<T> conv_form(operand<T> of, operand<T> like, operand<T> x, operand<T> y) {
  return {of.g, emit_as<Op, T>(*of.g, like.shape_number(), {x.id, y.id}, {of.attribute(0), of.attribute(1)})};
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr auto conv::pull(operand<T> g, operand<T> x, operand<T> w, operand<T> out) {
  return grads(ebb::detail::conv_form<conv_back>(out, x, g, w), ebb::detail::conv_form<conv_weights>(out, w, x, g));
}
template <class T>
constexpr auto conv_back::pull(operand<T> g, operand<T> of, operand<T> w, operand<T> out) {
  return grads(ebb::detail::conv_form<conv>(out, of, g, w), ebb::detail::conv_form<conv_weights>(out, w, g, of));
}
template <class T>
constexpr auto conv_weights::pull(operand<T> g, operand<T> x, operand<T> of, operand<T> out) {
  return grads(ebb::detail::conv_form<conv_back>(out, x, of, g), ebb::detail::conv_form<conv>(out, of, x, g));
}

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Options of a convolution, known at compile time.   ebb::conv2d<ebb::conv{.stride = 2, .padding = 1}>(x, w, b)
struct conv {
  per_axis stride = 1;
  pads padding = 0;  // a number, one for each axis as {1, 2}, or same_padding
  per_axis dilation = 1;
  int groups = 1;
  per_axis output_padding = 0;  // of transposes: the number of places added to the result

  constexpr sliding_axis axis(int i) const { return {stride[i], dilation[i], padding.before[i], padding.behind[i]}; }
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
    if (G.groups < 1 || G.groups > 65535) return refuse<T>(g, 465);
    for (int i = 0; i < Axes; ++i) {
      const int taps = w.extent(i + 2);
      attr.axis[i] = G.axis(i);
      if (taps == 0) return refuse<T>(g, 461);
      if (G.padding.same) {
        if (taps < 0 || G.stride[i] != 1) return refuse<T>(g, 466);
        attr.axis[i].before = G.dilation[i] * (taps - 1) / 2;
        attr.axis[i].behind = G.dilation[i] * (taps - 1) - attr.axis[i].before;
      }
      if (!attr.axis[i].is_valid()) return refuse<T>(g, 465);
    }
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
  static constexpr std::string_view name = Axes == 1 ? "conv1d" : "conv2d";
  template <class T>
  static constexpr operand<T> emit(operand<T> x, operand<T> w, const detail::conv_attributes& attr) {
    symbols& s = x.g->syms;
    if (G.output_padding.first != 0 || G.output_padding.second != 0) return refuse<T>(*x.g, 467);
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
  static constexpr std::string_view name = Axes == 1 ? "conv_transpose1d" : "conv_transpose2d";
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
      const int rest = more + 1 - a.stride - a.dilation - a.before - a.behind;
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
/// Source: torch.nn.functional.conv1d and conv2d.
template <conv G = conv{}, class X, class... W>
constexpr auto conv1d(X&& x, W&&... weight_bias) {
  return apply_function(functions::convolution<1, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv2d(X&& x, W&&... weight_bias) {
  return apply_function(functions::convolution<2, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}

/// The transpose of the convolution with the same options, plus a bias if it is given: it maps x as that convolution's pull maps gradients.
/// Shape: x [n, in, windows...], w [in, out / groups, taps...], b [out]: [n, out, places...], where an axis has (windows - 1) stride
/// - padding before and after + dilation (taps - 1) + output_padding + 1 places.
/// Dtype, Saves, Error, Throws: as conv2d.   Source: torch.nn.functional.conv_transpose1d and conv_transpose2d.
template <conv G = conv{}, class X, class... W>
constexpr auto conv_transpose1d(X&& x, W&&... weight_bias) {
  return apply_function(functions::conv_transpose<1, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}
template <conv G = conv{}, class X, class... W>
constexpr auto conv_transpose2d(X&& x, W&&... weight_bias) {
  return apply_function(functions::conv_transpose<2, G>{}, std::forward<X>(x), std::forward<W>(weight_bias)...);
}

}  // namespace ebb::inline EBB_ABI
