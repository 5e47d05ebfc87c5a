// ebb/op/gate.hpp — activations made of others: softplus with a scale, prelu, and the gated units glu, swiglu, geglu.
// SPDX-License-Identifier: BSL-1.0
//
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "activation.hpp"
#include "gelu.hpp"
#include "shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<239, Call> : Call {
  static_assert(Call::code != 239, "[ebb E0239] glu, swiglu, geglu: the axis that is halved has an even extent");
};
template <class Call>
struct refusal<240, Call> : Call {
  static_assert(Call::code != 240, "[ebb E0240] prelu: the slopes are a number, or a vector with one for each index of axis 1");
};

namespace functions {

struct scaled_softplus {
  static constexpr std::string_view name = "softplus";
  template <class X>
  static constexpr auto apply(X x, auto beta) {
    const auto u = on<op::mul>(x, beta);
    return on<op::div>(emit_on<op::softplus>({}, u), beta);
  }
  template <class X>
  static constexpr auto apply(X x, auto beta, auto threshold) {
    return on<op::where>(on<op::greater>(on<op::mul>(x, beta), threshold), x, apply(x, beta));
  }

 private:
  template <class Op>
  static constexpr auto on(auto... x) {
    return detail::broadcasting<Op>::apply(in_real(x)...);
  }
  static constexpr auto in_real(number auto x) { return x; }
  template <class T>
  static constexpr auto in_real(operand<T> x) {
    if constexpr (std::is_same_v<T, bool>) return x;
    else return cast_to<decltype(detail::accepted<op::softplus, T>())>(x);
  }
};

struct prelu {
  static constexpr std::string_view name = "prelu";
  static constexpr precision autocast = precision::low;
  template <class T>
  static constexpr auto apply(operand<T> x, number auto slope) {
    return detail::broadcasting<op::leaky_relu>::apply(x, slope);
  }
  template <class T, class A>
  static constexpr auto apply(operand<T> x, operand<A> slopes) {
    using result = decltype(detail::broadcasting<op::leaky_relu>::apply(x, slopes));
    if (slopes.is_refused() || x.is_refused()) return result{x.g, slopes.is_refused() ? slopes.id : x.id};
    if (slopes.rank() > 1 || (slopes.rank() == 1 && x.rank() < 2)) return refuse<typename result::value_type>(*x.g, 240);
    if (slopes.rank() == 1 && x.rank() > 2) {
      shape along;
      along.push(slopes.extent(0));
      for (int axis = 2; axis < x.rank(); ++axis) along.push(1);
      slopes = view_as(slopes, along);
    }
    return detail::broadcasting<op::leaky_relu>::apply(x, slopes);
  }
};

/// The product of the halves of x along Axis, one of them as Gate has it.
template <int Axis, class Gate>
struct gated {
  static constexpr std::string_view name = Gate::name;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using R = decltype(detail::accepted<op::sigmoid, T>());
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<R>(*x.g, 103);
    symbols& s = x.g->syms;
    const int length = x.extent(axis), each = s.derive(extent_rule::quotient, length, 2);
    if (!s.unify(s.derive(extent_rule::product, each, 2), length)) return refuse<R>(*x.g, 239);
    const int half = x.g->intern(s.find(with_extent(x.extents(), axis, each)));
    const auto y = cast_to<R>(x);
    if (length >= 0) return Gate::product(slice_as(y, {axis, 0, 1}, half), slice_as(y, {axis, each, 1}, half));
    // A slice begins at a constant. If only a call knows the half, the halves are those of an axis of two.
    shape halves, rest = axes_between(x.extents(), axis, x.rank());
    rest.e[0] = each;
    halves.push(volume_of(s, axes_between(x.extents(), 0, axis)));
    halves.push(2);
    halves.push(volume_of(s, rest));
    const auto both = view_as(y, s.find(halves));
    const int number = x.g->intern(with_extent(both.extents(), 1, 1));
    return Gate::product(reshape_to(slice_as(both, {1, 0, 1}, number), half), reshape_to(slice_as(both, {1, 1, 1}, number), half));
  }
};

struct glu_gate {
  static constexpr std::string_view name = "glu";
  static constexpr auto product(auto a, auto b) { return a * emit_on<op::sigmoid>({}, b); }
};
struct swiglu_gate {
  static constexpr std::string_view name = "swiglu";
  static constexpr auto product(auto a, auto b) { return emit_on<op::silu>({}, a, literal_like(a, 1)) * b; }
};
struct geglu_gate {
  static constexpr std::string_view name = "geglu";
  static constexpr auto product(auto a, auto b) { return emit_on<op::gelu>({}, a) * b; }
};

}  // namespace functions

/// x above 0, slope x below; the slopes are a number, or a vector with one for each channel: each index of axis 1.
/// Shape: x's.   Dtype: promoted; autocast: low.   Saves: x, slopes.   Error: 0.5 ulp. The derivative at 0 is the slope.
inline constexpr call<functions::prelu> prelu{};

/// a sigmoid(b), for the halves a and b of x along an axis.   glu(x), glu<1>(x)
/// Shape: x's, with half the extent along the axis.   Saves: the halves.   Error: 2.5 ulp.   Throws: if the extent of a call is odd.
template <int Axis = -1, class X>
constexpr auto glu(X&& x) {
  return apply_function(functions::gated<Axis, functions::glu_gate>{}, std::forward<X>(x));
}
/// silu(a) b: the first half is the gate. All else as glu.   Error: 3 ulp.
template <int Axis = -1, class X>
constexpr auto swiglu(X&& x) {
  return apply_function(functions::gated<Axis, functions::swiglu_gate>{}, std::forward<X>(x));
}
/// gelu(a) b: the first half is the gate. All else as glu.   Error: that of gelu, and 0.5 ulp.
template <int Axis = -1, class X>
constexpr auto geglu(X&& x) {
  return apply_function(functions::gated<Axis, functions::geglu_gate>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
