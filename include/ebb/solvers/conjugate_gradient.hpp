// ebb/solvers/conjugate_gradient.hpp — conjugate_gradient: linear equations by products with the matrix alone, with derivatives.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::conjugate_gradient(matvec, b, w);     matvec(x, w) = b
#pragma once

#include "implicit.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 502, 562>
struct refuse_function<Code> {
  static_assert(Code != 502, "[ebb E0502] conjugate_gradient, bicgstab, gmres: matvec(v, w...) returns an array with the form and "
                             "dtype of v");
  static_assert(Code != 562, "[ebb E0562] conjugate_gradient, bicgstab, gmres: options are one ebb::at_most<n>, and for gmres one "
                             "ebb::restart<n>");
};

template <class M>
struct matvec_at {
  constexpr auto operator()(auto, auto v, auto... w) const { return M{}(v, w...); }
};
template <class M>
struct linear_residual {
  constexpr auto operator()(auto x, auto b, auto... w) const { return M{}(x, w...) - b; }
};

/// The operator v -> A' v of the linear operator M.
template <class M>
struct transposed_matvec {
  constexpr auto operator()(auto v, auto... w) const { return residual_against<M>{}(ebb::zeros_like(v), v, w...); }
};
template <class M>
struct transposed_of {
  using type = transposed_matvec<M>;
};
template <class M>
struct transposed_of<transposed_matvec<M>> {
  using type = M;
};

/// How a cotangent is found: by the same method again, whose own pull is another one where Order > 0. The solutions of order 0 are bounded
/// loops, which may be differentiated. A Method has the two loops: `open` gives std::tuple(l, number of steps, whether it converged) for
/// M l = b, where nothing is kept and nothing is differentiated, `bounded` gives l.
template <class Method, int Order>
struct by_method_again {};
template <class M, class Method, int Order>
struct linear_solution {
  constexpr auto operator()(auto b, auto... w) const {
    if constexpr (Order == 0) return Method::template bounded<M>(b, w...);
    else return with_pull(std::get<0>(Method::template open<M>(b, w...)), b, w...);
  }
  static constexpr auto with_pull(auto l, auto b, auto... w) {
    return implicit_by<linear_residual<M>, Method::symmetric, by_method_again<Method, Order - 1>, solved_outside>(ebb::stop_gradient(l), b,
                                                                                                                  w...);
  }
};
template <class M, class Method, int Order>
struct adjoint_solution<linear_residual<M>, true, by_method_again<Method, Order>> {
  constexpr auto operator()(auto g, auto, auto, auto... w) const { return linear_solution<M, Method, Order>{}(g, w...); }
};
template <class M, class Method, int Order>
struct adjoint_solution<linear_residual<M>, false, by_method_again<Method, Order>> {
  constexpr auto operator()(auto g, auto, auto, auto... w) const {
    return linear_solution<typename transposed_of<M>::type, Method, Order>{}(g, w...);
  }
};

template <class Options>
struct conjugate_method {
  static constexpr bool symmetric = true;
  template <class M>
  static constexpr auto open(auto b, auto... w) {
    const auto rho = ebb::sum(b * b);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto first, auto...) {
      return std::get<4>(s) < Options::most && conjugate_remains(std::get<3>(s), first);
    }}, [](auto s, auto first, auto... u) { return conjugate_step<matvec_at<M>>{}(s, first, first, u...); },
    std::tuple(b * 0, b, b, rho, 0), ebb::whole(rho), ebb::whole(w)...);
    const auto [l, r, p, square, n] = end;
    return std::tuple(l, n, !conjugate_remains(square, rho) && ebb::isfinite(square));
  }
  template <class M>
  static constexpr auto bounded(auto b, auto... w) {
    return conjugate_steps<matvec_at<M>, Options::most>{}(b, b, w...);
  }
};

/// The options of linear solvers: how many steps there are at most, and after how many gmres begins anew; 0: the solver has no such option.
template <int Most, int Restart>
struct linear_options {
  static constexpr int most = Most, restart = Restart;
  static constexpr bool known = true;
};
template <class Known, class... Option>
struct read_linear_options {
  static constexpr bool known = false;
};
template <int Most, int Restart>
struct read_linear_options<linear_options<Most, Restart>> : linear_options<Most, Restart> {};
template <int Most, int Restart, int Steps, class... Option>
struct read_linear_options<linear_options<Most, Restart>, at_most_option<Steps>, Option...>
    : read_linear_options<linear_options<Steps, Restart>, Option...> {};

template <class Options, class M, class X, class... W>
constexpr int code_of_matvec() {
  if constexpr (!Options::known) return 562;
  else if constexpr (constexpr int code = code_of_implicit<M, X, by_cg_option<1>>(); code != 0) return code;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<M, X, W...>>{}); of_trace != 0)
    return of_trace;
  else {
    using result = result_of_trace<M, X, W...>;
    if constexpr (holds_refused<result>) return already_reported;
    else return is_derivative_of<X, typename argument<result>::traced> && std::is_same_v<typename argument<result>::traced, X> ? 0 : 502;
  }
}

template <template <class> class Method, class Options, class M, class X, class... W>
constexpr auto linear_by(const X& b, const W&... w) {
  constexpr int code = code_of_matvec<Options, M, X, W...>();
  static_cast<void>(refuse_function<code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, n, converged] = Method<Options>::template open<M>(b, w...);
    return std::tuple(linear_solution<M, Method<Options>, 2>::with_pull(x, b, w...), n, converged);
  }
}

}  // namespace detail

/// The x with matvec(x, w...) = b by the method of conjugate gradients: std::tuple(x, number of steps, whether it converged). matvec is
/// linear in its first argument, symmetric and positive definite; the matrix is never made. It begins at 0 and ends when the residual has
/// 1e-14 of the norm of b, for floats 1e-6, or after 1,000 steps: conjugate_gradient<ebb::at_most<n>> says another number. In a traced
/// function; matvec must not capture: the parameters w are arrays, tuples and structs.
///   auto x = std::get<0>(ebb::conjugate_gradient([](auto v, auto a) { return ebb::matmul(a, v) + v; }, b, a));
/// If the matrix is not symmetric: bicgstab and gmres.
/// x has derivatives by b and w, by conjugate gradients again: see [note: implicit functions]. A gradient costs one more solution, and so
/// does a second derivative. Derivatives of third order differentiate the steps.
/// Shape, Dtype: those of b, any axes.   Saves: x, b, w.   Error: above limit times the condition number of the matrix.
/// If the matrix is not positive definite or has a NaN, converged is false.   Source: Hestenes and Stiefel (1952).
template <auto... Option, class M, class X, class... W>
constexpr auto conjugate_gradient(M, const X& b, const W&... w) {
  using options = detail::read_linear_options<detail::linear_options<1000, 0>, std::remove_const_t<decltype(Option)>...>;
  return detail::linear_by<detail::conjugate_method, options, M>(b, w...);
}

}  // namespace ebb::inline EBB_ABI
