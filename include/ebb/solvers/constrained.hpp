// ebb/solvers/constrained.hpp — constrained_minimizer: minima under equations, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, multipliers] = ebb::constrained_minimizer(loss, constraint, solver, x0, w);
//                                                                    loss(x, w) is smallest where constraint(x, w) = 0
//
// [note: minima under equations]
// At the minimum the gradient of the loss is a combination of those of the constraints c: F = (loss_x + c_x' l, c) is 0, the conditions of
// Karush, Kuhn and Tucker. So x and the multipliers l are one implicit function of w: see [note: implicit functions]. Its matrix has the
// Hessian of loss + l c, bordered by c_x. The solver returns x alone: the multipliers are those with the least |loss_x + c_x' l| there.
#pragma once

#include "implicit.hpp"

#include "../linalg/qr.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 564>
struct refuse_function<Code> {
  static_assert(Code != 564, "[ebb E0564] constrained_minimizer: x has one axis, and the constraint returns floats of its dtype with one "
                             "axis or none, and no more of them than x has");
};

constexpr auto as_vector(auto x) {
  if constexpr (decltype(x)::rank == 0) return ebb::unsqueeze<0>(x);
  else return x;
}
template <class C>
struct constraints_of {
  constexpr auto operator()(auto x, auto... w) const { return as_vector(C{}(x, w...)); }
};
template <class Loss, class C>
struct lagrangian {
  constexpr auto operator()(auto x, auto l, auto... w) const { return Loss{}(x, w...) + ebb::sum(constraints_of<C>{}(x, w...) * l); }
};
/// z holds x and the multipliers, at places of_x and of_l.
template <class Loss, class C>
struct kkt_residual {
  constexpr auto operator()(auto z, auto of_x, auto of_l, auto... w) const {
    const auto x = ebb::take<0>(z, of_x);
    const auto l = ebb::take<0>(z, of_l);
    return ebb::concat<0>(ebb::grad<0>(lagrangian<Loss, C>{})(x, l, w...), constraints_of<C>{}(x, w...));
  }
};

/// Whether an x of N numbers can meet M equations.
template <std::size_t... M, std::size_t N>
constexpr bool can_meet(extents<M...>, extents<N>) {
  return ((M == dyn || N == dyn || M <= N) && ...);
}
/// X and W are outside of autocast contexts.
template <class Loss, class C, class Option, class X, class... W>
constexpr int code_of_constrained() {
  if constexpr (constexpr int code = code_of_implicit<Loss, X, Option>(); code != 0) return code;
  else if constexpr (code_of_function<C> != 0) return code_of_function<C>;
  else if constexpr (X::rank != 1) return 564;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_loss = detail::code_of_trace(std::type_identity<trace_of<Loss, X, W...>>{}); of_loss != 0)
    return of_loss;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<C, X, W...>>{}); of_trace != 0)
    return of_trace;
  else if constexpr (holds_refused<result_of_trace<C, X, W...>> || holds_refused<result_of_trace<Loss, X, W...>>) return already_reported;
  else if constexpr (!is_scalar_result<result_of_trace<Loss, X, W...>>) return 109;
  else {
    using result = typename argument<result_of_trace<C, X, W...>>::traced;
    if constexpr (!is_one_array<result>) return 564;
    else if constexpr (result::rank > 1 || !std::is_same_v<typename result::value_type, typename X::value_type>) return 564;
    else return can_meet(typename result::extents_type{}, typename X::extents_type{}) ? 0 : 564;
  }
}

}  // namespace detail

/// std::tuple(x, multipliers), where loss(x, w...), a scalar, is smallest among the x with constraint(x, w...) = 0, as functions of the
/// parameters w. solver(x0, w...) finds x; ebb::solved says that x0 is the solution. multipliers has one number for each constraint, with
/// the sign of loss + multipliers * constraint. In a traced function; the functions must not capture. Both results have derivatives by w,
/// of all orders: see [note: minima under equations].
///   auto budget = [](auto x, auto) { return ebb::sum(x) - 1; };
///   auto shares = std::get<0>(ebb::constrained_minimizer(risk, budget, solver, x0, covariance));
/// constrained_minimizer<ebb::by_cg<n>> solves for the cotangent without the matrix.
/// Shape: x [n], the constraint [m] or a scalar, m <= n; the multipliers [m], or [1].   Dtype: one for x, the loss and the constraint.
/// Saves: x, the multipliers, w.   Error: x has the bits of the solver, the multipliers the error of lstsq.
/// Throws: error if the gradients of the constraints depend on each other at x, or, in the backward pass, if the matrix of the conditions
/// is singular.
/// Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming (1983).
template <auto... Option, class Loss, class C, class Solver, class X, class... W>
constexpr auto constrained_minimizer(Loss, C, Solver, const X& x0, const W&... w) {
  using option = detail::option_among<Option...>;
  constexpr int code = detail::code_of_constrained<Loss, C, option, decltype(detail::into_context<off>(x0)),
                                                   decltype(detail::into_context<off>(w))...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto x = ebb::stop_gradient(Solver{}(x0, w...));
    const auto a = ebb::jacobian<0>(detail::constraints_of<C>{})(x, w...);
    const auto l = ebb::stop_gradient(ebb::lstsq(ebb::transpose(a), -ebb::grad<0>(Loss{})(x, w...)));
    const auto of_x = ebb::iota<0>(x);
    const auto of_l = ebb::iota<0>(l) + ebb::extent<0>(x);
    using residual = detail::kkt_residual<Loss, C>;
    const auto z = detail::implicit_by<residual, false, option, solved_outside>(ebb::concat<0>(x, l), of_x, of_l, w...);
    return std::tuple(ebb::take<0>(z, of_x), ebb::take<0>(z, of_l));
  }
}

}  // namespace ebb::inline EBB_ABI
