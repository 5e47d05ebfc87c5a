// ebb/op/nonfinite.hpp — NaN, infinities, signs, exponents: nan_to_num, fmax, fmin, isposinf, isneginf, isclose, signbit, copysign, ldexp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "extremum.hpp"
#include "reduce.hpp"

#include "../num/ldexp.hpp"

namespace ebb::inline EBB_ABI::op {

/// Whether x is inf.   Dtype: integers are converted to float first; the result is bool, no gradient.   Saves: nothing.   Error: exact.
struct isposinf : classification {
  static constexpr std::string_view name = "isposinf";
  static constexpr auto value(auto x) { return x == lane::all<decltype(x)>(infinity<lane::element_of<decltype(x)>>); }
};
/// Whether x is -inf. Other fields as isposinf.
struct isneginf : classification {
  static constexpr std::string_view name = "isneginf";
  static constexpr auto value(auto x) { return x == lane::all<decltype(x)>(-infinity<lane::element_of<decltype(x)>>); }
};
/// Whether the sign bit is set: that of -0 and of some NaN is. Other fields as isposinf.
struct signbit : classification {
  static constexpr std::string_view name = "signbit";
  static constexpr auto value(auto x) {
    using V = decltype(x);
    return lane::copysign(lane::all<V>(1), x) < lane::all<V>(0);
  }
};

/// The larger of two; a NaN loses. Of equal operands it is x, which gets the whole gradient, as in PyTorch.   Saves: x, y.   Error: exact.
struct fmax : elementwise<2> {
  static constexpr std::string_view name = "fmax";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return lane::select(x >= y || y != y, x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return to_winner(g, emit_on<greater_equal>({}, x, y), y); }
  /// y gets the gradient where `first` is false, unless it is NaN.
  static constexpr auto to_winner(auto g, auto first, auto y) {
    const auto none = literal_like(g, 0);
    const auto to_x = emit_on<logical_or>({}, first, emit_on<isnan>({}, y));
    return grads(emit_on<where>({}, to_x, g, none), emit_on<where>({}, to_x, none, g));
  }
};

/// The smaller of two; a NaN loses. All else as fmax.
struct fmin : elementwise<2> {
  static constexpr std::string_view name = "fmin";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return lane::select(x <= y || y != y, x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return fmax::to_winner(g, emit_on<less_equal>({}, x, y), y); }
};

/// |x| with the sign of y, of its zero and NaN too.   Saves: x, y.   Error: exact.
/// The derivative by x is 1 or -1, and 0 at x = 0 and NaN; y gets no gradient. At infinity PyTorch's is NaN.
struct copysign : elementwise<2> {
  static constexpr std::string_view name = "copysign";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto y) { return lane::copysign(x, y); }
  static constexpr auto pull(auto g, auto x, auto y, auto) {
    return grads(g * (emit_on<sign>({}, x) * emit_on<copysign>({}, literal_like(y, 1), y)), nothing);
  }
};

/// x 2^n for whole numbers n.   Dtype: x's; n is converted to it.   Saves: n.   Error: 0.5 ulp. n gets no gradient.
struct ldexp : elementwise<2> {
  static constexpr std::string_view name = "ldexp";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto n) { return lane::ldexp(x, n); }
  static constexpr auto pull(auto g, auto, auto n, auto) { return grads(emit_on<ldexp>({}, g, n), nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<237, Call> : Call {
  static_assert(Call::code != 237, "[ebb E0237] ldexp: the exponent is an integer, or an array of integers");
};

namespace functions {

struct nan_to_num {
  static constexpr std::string_view name = "nan_to_num";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    return apply(x, 0);
  }
  template <class T>
  static constexpr operand<T> apply(operand<T> x, auto nan) {
    if constexpr (!real_element<T>) return x;
    else return apply(x, nan, largest<T>, -largest<T>);
  }
  template <class T>
  static constexpr operand<T> apply(operand<T> x, auto nan, auto above, auto below) {
    if constexpr (!real_element<T>) return x;
    else {
      const auto zero = literal_like(x, 0);
      const auto select = [](auto m, auto a, auto b) { return detail::broadcasting<op::where>::apply(m, a, b); };
      const auto infinite = select(emit_on<op::greater>({}, x, zero), as<T>(x, above), as<T>(x, below));
      return select(emit_on<op::isfinite>({}, x), x, select(emit_on<op::isnan>({}, x), as<T>(x, nan), infinite));
    }
  }

 private:
  template <class T>
  static constexpr double largest = [] {
    if constexpr (std::is_same_v<T, float16>) return 65504.0;
    else if constexpr (std::is_same_v<T, bfloat16>) return 0x1.fep+127;
    else return static_cast<double>(std::numeric_limits<T>::max());
  }();
  /// As in_dtype, but a number is a literal: two numbers to select from have no dtype.
  template <class T>
  static constexpr operand<T> as(operand<T> x, number auto value) {
    return literal_like(x, value);
  }
  template <class T, class N>
  static constexpr operand<T> as(operand<T>, operand<N> value) {
    return cast_to<T>(value);
  }
};

/// Whether |x - y| <= absolute + relative |y|, or x == y.
struct isclose {
  static constexpr std::string_view name = "isclose";
  template <class X, class Y>
  static constexpr operand<bool> apply(X x, Y y, auto relative, auto absolute) {
    using R = detail::computed_in<promoted_to_real<detail::promoted_of<op::maximum, X, Y>>>;
    const auto a = in_dtype<R>(x);
    const auto b = in_dtype<R>(y);
    const auto distance = broadcast_on<op::abs>(broadcast_on<op::sub>(a, b));
    const auto bound = sum_of(product_of(magnitude(b), in_dtype<R>(relative)), in_dtype<R>(absolute));
    const auto near = broadcast_on<op::logical_and>(broadcast_on<op::isfinite>(distance), broadcast_on<op::less_equal>(distance, bound));
    return broadcast_on<op::logical_or>(near, broadcast_on<op::equal>(x, y));
  }

 private:
  template <class R>
  static constexpr auto magnitude(operand<R> x) {
    return emit_on<op::abs>({}, x);
  }
  static constexpr auto magnitude(number auto x) { return lane::abs(x); }
  template <class A, class B>
  static constexpr auto product_of(A a, B b) {
    if constexpr (number<A> && number<B>) return a * b;
    else return detail::broadcasting<op::mul>::apply(a, b);
  }
  template <class A, class B>
  static constexpr auto sum_of(A a, B b) {
    if constexpr (number<A> && number<B>) return a + b;
    else return detail::broadcasting<op::add>::apply(a, b);
  }
};

struct allclose {
  static constexpr std::string_view name = "allclose";
  static constexpr operand<bool> apply(auto... x) { return detail::reducing<op::all>::apply(isclose::apply(x...)); }
};

struct ldexp {
  static constexpr std::string_view name = "ldexp";
  template <class T, class N>
  static constexpr auto apply(operand<T> x, N n) {
    using R = decltype(detail::accepted<op::ldexp, T>());
    if constexpr (!std::is_integral_v<typename detail::dtype_of_argument<N>::type>) return refuse<R>(*x.g, 237);
    else return detail::broadcasting<op::ldexp>::apply(cast_to<R>(x), in_dtype<R>(n));
  }
};

}  // namespace functions

inline constexpr call<op::isposinf> isposinf{};
inline constexpr call<op::isneginf> isneginf{};
inline constexpr call<op::signbit> signbit{};
inline constexpr call<op::fmax> fmax{};
inline constexpr call<op::fmin> fmin{};
inline constexpr call<op::copysign> copysign{};
/// ldexp(x, n), where n is an integer or an array of integers
inline constexpr call<functions::ldexp> ldexp{};
/// x with NaN and infinities replaced: nan_to_num(x), (x, nan), (x, nan, inf, minus_inf). By default 0, and the largest and lowest finite
/// number of the dtype.   Dtype: x's; integers stay.   Saves: x.   Error: exact. Replaced elements get no gradient.
inline constexpr call<functions::nan_to_num> nan_to_num{};

/// Whether |x - y| <= absolute + relative |y|; equal infinities are close, a NaN is close to nothing.
/// Dtype: bool, no gradient; narrow floats are compared as floats.   Saves: nothing.   Error: that of the difference and the bound.
template <class X, class Y>
constexpr auto isclose(X&& x, Y&& y, double relative = 1e-5, double absolute = 1e-8) {
  return apply_function(functions::isclose{}, std::forward<X>(x), std::forward<Y>(y), relative, absolute);
}
/// Whether all elements of x and y are close. Fields as isclose.   Shape: a scalar.
template <class X, class Y>
constexpr auto allclose(X&& x, Y&& y, double relative = 1e-5, double absolute = 1e-8) {
  return apply_function(functions::allclose{}, std::forward<X>(x), std::forward<Y>(y), relative, absolute);
}

}  // namespace ebb::inline EBB_ABI
