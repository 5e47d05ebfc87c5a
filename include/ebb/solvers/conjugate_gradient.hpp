// ebb/solvers/conjugate_gradient.hpp — conjugate_gradient: linear equations by products with the matrix alone, with derivatives.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::conjugate_gradient(matvec, b, w);     matvec(x, w) = b
#pragma once

#include "implicit.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class M>
struct matvec_at {
  constexpr auto operator()(auto, auto v, auto... w) const { return M{}(v, w...); }
};
template <class M>
struct linear_residual {
  constexpr auto operator()(auto x, auto b, auto... w) const { return M{}(x, w...) - b; }
};

/// std::tuple(l, number of steps, whether it converged) for M l = b. Nothing is kept, and nothing is differentiated.
template <class M, int Steps>
struct open_conjugate_steps {
  constexpr auto operator()(auto b, auto... w) const {
    const auto rho = ebb::sum(b * b);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto first, auto...) {
      return std::get<4>(s) < Steps && conjugate_remains(std::get<3>(s), first);
    }}, [](auto s, auto first, auto... u) { return conjugate_step<matvec_at<M>>{}(s, first, first, u...); },
    std::tuple(b * 0, b, b, rho, 0), ebb::whole(rho), ebb::whole(w)...);
    const auto [l, r, p, square, n] = end;
    return std::tuple(l, n, !conjugate_remains(square, rho) && ebb::isfinite(square));
  }
};

/// How a cotangent of conjugate_gradient is found: by conjugate gradients again, whose own pull is another one where Order > 0. Those of
/// order 0 are bounded steps, which may be differentiated.
template <int Steps, int Order>
struct by_cg_again {};
template <class M, int Steps, int Order>
struct conjugate_solution {
  constexpr auto operator()(auto b, auto... w) const {
    if constexpr (Order == 0) return conjugate_steps<matvec_at<M>, Steps>{}(b, b, w...);
    else return with_pull(std::get<0>(open_conjugate_steps<M, Steps>{}(b, w...)), b, w...);
  }
  static constexpr auto with_pull(auto l, auto b, auto... w) {
    return implicit_by<linear_residual<M>, true, by_cg_again<Steps, Order - 1>, solved_outside>(ebb::stop_gradient(l), b, w...);
  }
};
template <class M, int Steps, int Order>
struct adjoint_solution<linear_residual<M>, true, by_cg_again<Steps, Order>> {
  constexpr auto operator()(auto g, auto, auto, auto... w) const { return conjugate_solution<M, Steps, Order>{}(g, w...); }
};

template <class... Option>
struct steps_of_option;
template <>
struct steps_of_option<> : std::integral_constant<int, 1000> {};
template <int Steps>
struct steps_of_option<at_most_option<Steps>> : std::integral_constant<int, Steps> {};

template <class M, class X, class... W>
constexpr int code_of_matvec() {
  if constexpr (constexpr int code = code_of_implicit<M, X, by_cg_option<1>>(); code != 0) return code;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = code_of_trace(std::type_identity<trace_of<M, X, W...>>{}); of_trace != 0) return of_trace;
  else {
    using result = result_of_trace<M, X, W...>;
    if constexpr (holds_refused<result>) return already_reported;
    else return is_derivative_of<X, typename argument<result>::traced> && std::is_same_v<typename argument<result>::traced, X> ? 0 : 502;
  }
}

}  // namespace detail

/// The x with matvec(x, w...) = b by the method of conjugate gradients: std::tuple(x, number of steps, whether it converged). matvec is
/// linear in its first argument, symmetric and positive definite; the matrix is never made. It begins at 0 and ends when the residual has
/// 1e-14 of the norm of b, for floats 1e-6, or after 1,000 steps: conjugate_gradient<ebb::at_most<n>> says another number. In a traced
/// function; matvec must not capture: the parameters w are arrays, tuples and structs.
///   auto x = std::get<0>(ebb::conjugate_gradient([](auto v, auto a) { return ebb::matmul(a, v) + v; }, b, a));
/// x has derivatives by b and w, by conjugate gradients again: see [note: implicit functions]. A gradient costs one more solution, and so
/// does a second derivative. Derivatives of third order differentiate the steps.
/// Shape, Dtype: those of b, any axes.   Saves: x, b, w.   Error: above limit times the condition number of the matrix.
/// If the matrix is not positive definite or has a NaN, converged is false.   Source: Hestenes and Stiefel (1952).
template <auto... Option, class M, class X, class... W>
constexpr auto conjugate_gradient(M, const X& b, const W&... w) {
  constexpr int steps = detail::steps_of_option<std::remove_const_t<decltype(Option)>...>::value;
  constexpr int code = detail::code_of_matvec<M, X, W...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, n, converged] = detail::open_conjugate_steps<M, steps>{}(b, w...);
    return std::tuple(detail::conjugate_solution<M, steps, 2>::with_pull(x, b, w...), n, converged);
  }
}

}  // namespace ebb::inline EBB_ABI
