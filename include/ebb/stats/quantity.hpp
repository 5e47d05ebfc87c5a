// ebb/stats/quantity.hpp — operands of any extents with operators, in which log densities are written, and the ends of a support.
// SPDX-License-Identifier: BSL-1.0
//
// [note: log densities]
// A log density is a function of x and of parameters, each an array or a number. Arrays are broadcast; the result is their common shape.
// Its derivatives by x and by each parameter are exact formulas, as are theirs.
// Outside of the support it is -inf, and all its gradients are 0 there: the formula sees a valid x instead. At an end that belongs to the
// support it is the limit from inside, infinite for some parameters. A NaN gives NaN. A parameter outside of its domain gives NaN for each
// x in the support. An infinite x is outside of every support, unless a function says that it gives -inf: there the formula has that
// limit.
// Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.   Autocast: float.
// Parameters have Stan's order, x first: normal_lpdf(x, mu, sigma). lpdf is the logarithm of a density, lpmf that of a probability, cdf a
// distribution function, lcdf its logarithm, lccdf that of its complement, and icdf the quantile function.
#pragma once

#include "../op/compare.hpp"
#include "../op/exponential.hpp"

#include <limits>
#include <string_view>

namespace ebb::inline EBB_ABI::functions {

/// An operand whose operators broadcast.
template <class T>
struct quantity {
  operand<T> value;
};

template <class A>
inline constexpr bool is_quantity = false;
template <class T>
inline constexpr bool is_quantity<quantity<T>> = true;
template <class A>
concept quantity_or_number = is_quantity<A> || number<A>;

template <class A>
constexpr auto bare(A a) {
  if constexpr (is_quantity<A>) return a.value;
  else return a;
}
/// Op on quantities and numbers, broadcast.
template <class Op, class... A>
constexpr auto emit_for(A... a) {
  return quantity<typename decltype(detail::broadcasting<Op>::apply(bare(a)...))::value_type>{detail::broadcasting<Op>::apply(bare(a)...)};
}

template <quantity_or_number A, quantity_or_number B>
  requires(is_quantity<A> || is_quantity<B>)
constexpr auto operator+(A a, B b) { return emit_for<op::add>(a, b); }
template <quantity_or_number A, quantity_or_number B>
  requires(is_quantity<A> || is_quantity<B>)
constexpr auto operator-(A a, B b) { return emit_for<op::sub>(a, b); }
template <quantity_or_number A, quantity_or_number B>
  requires(is_quantity<A> || is_quantity<B>)
constexpr auto operator*(A a, B b) { return emit_for<op::mul>(a, b); }
template <quantity_or_number A, quantity_or_number B>
  requires(is_quantity<A> || is_quantity<B>)
constexpr auto operator/(A a, B b) { return emit_for<op::div>(a, b); }
template <class T>
constexpr auto operator-(quantity<T> a) { return emit_for<op::neg>(a); }

/// An operand is cast to Wide, a number becomes a scalar.
template <class Wide, class A>
constexpr quantity<Wide> quantity_in(graph& g, A a) {
  if constexpr (is_operand<A>) return {cast_to<Wide>(a)};
  else return {literal_in<Wide>(g, g.intern({}), a)};
}

/// F::formula on quantities of the dtype of the computation. A function of N operands.
template <class F, int N>
struct of_quantities {
  static constexpr precision autocast = precision::full;
  template <class... A>
  static constexpr auto apply(A... a) {
    using Real = promoted_to_real<detail::promoted_of<op::add, A...>>;
    using Wide = detail::computed_in<Real>;
    graph& g = *detail::first_operand(a...).g;
    if constexpr (sizeof...(A) != N) return refuse<Real>(g, 176);
    else return cast_to<Real>(F::formula(quantity_in<Wide>(g, a)...).value);
  }
};

inline constexpr double log_of_2 = 0.69314718055994530941723212145818, log_of_pi = 1.1447298858494001741434273513531;
inline constexpr double half_log_of_two_pi = 0.91893853320467274178032973640562;

/// f(x) on the support, -inf where Outside holds: f sees `safe` in place of such an x.
template <class T>
constexpr quantity<T> on_support(quantity<bool> outside, quantity<T> x, number auto safe, auto f) {
  return emit_for<op::where>(outside, -std::numeric_limits<double>::infinity(), f(emit_for<op::where>(outside, safe, x)));
}

}  // namespace ebb::inline EBB_ABI::functions
