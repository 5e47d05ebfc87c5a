// ebb/solvers/implicit.hpp — solutions of equations as functions of parameters: derivatives without those of the solver.
// SPDX-License-Identifier: BSL-1.0
//
//   auto x = ebb::implicit_root(residual, solver, x0, w);       residual(x, w) = 0
//   auto y = ebb::fixed_point(f, x0, w);                        y = f(y, w)
//   auto z = ebb::implicit_minimizer(loss, solver, z0, w);      loss(z, w) is smallest
//
// [note: implicit functions]
// If F(x, w) = 0 and A, the derivative of F by x, has an inverse, x is a function of w. A cotangent g of x gives w the cotangent
// -F_w' l, where A' l = g. So the pull reads the solution and the parameters, and the steps of the solver are neither kept nor
// differentiated. The pull is traced, so it has derivatives again: those of second order are exact at the solution.
// The solution itself has the solver's error e; derivatives then have an error proportional to e.
#pragma once

#include "../exec/direction.hpp"
#include "../exec/jacobian.hpp"
#include "../exec/while_loop.hpp"
#include "../trace/functions.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 442, 443, 566, 567>
struct refuse_function<Code> {
  static_assert(Code != 442, "[ebb E0442] functions of <ebb/solvers.hpp>: they are called in a traced function: "
                             "ebb::compile([](auto x0, auto w) { return ebb::fixed_point(f, x0, w); })(x0, w)");
  static_assert(Code != 443, "[ebb E0443] functions of <ebb/solvers.hpp>: the solution is one array of floats, with one axis or none; "
                             "where there is an option ebb::by_cg<n>, it may have more axes with it");
  static_assert(Code != 566, "[ebb E0566] implicit_root, fixed_point, newton, broyden: the function of x returns one array with the dtype, "
                             "the axes and the extents of x");
  static_assert(Code != 567, "[ebb E0567] implicit_root, implicit_minimizer: the solver returns the solution alone, one array of floats: "
                             "of a solver of <ebb/solvers.hpp> std::get<0>(...)");
};

}  // namespace detail

/// How the pull of an implicit function solves A' l = g. by_solve: with the matrix, for a solution with one axis or none. by_cg<n>: without
/// it, by at most n steps of conjugate gradients, for an array with any axes.
struct by_solve_option {};
inline constexpr by_solve_option by_solve{};
template <int Steps>
struct by_cg_option {
  static_assert(Steps > 0,
                "[ebb E0557] the number of an option is too small: keep_every, by_cg and tolerance take 1 or more, at_most "
                "takes 0 or more");
};
template <int Steps>
inline constexpr by_cg_option<Steps> by_cg{};

/// A solver for implicit_root and implicit_minimizer that returns x0, because C++ outside of the traced function has computed the solution.
struct solved_outside {
  constexpr auto operator()(const auto& x0, const auto&...) const { return x0; }
};
inline constexpr solved_outside solved{};

namespace detail {

/// <R(x, w...), l>: its gradient by w is what a cotangent l of R gives w.
template <class R>
struct weighted_residual {
  constexpr auto operator()(auto x, auto l, auto... w) const { return ebb::sum(R{}(x, w...) * l); }
};
/// The derivative of R by x, along v.
template <class R>
struct residual_along {
  constexpr auto operator()(auto x, auto v, auto... w) const { return std::get<1>(ebb::jvp<0>(R{})(x, w..., v)); }
};
template <class R>
struct residual_against {
  constexpr auto operator()(auto x, auto v, auto... w) const { return ebb::grad<0>(weighted_residual<R>{})(x, v, w...); }
};
/// The symmetric operator of conjugate gradients: A, or A A'.
template <class R, bool Symmetric>
struct normal_operator {
  constexpr auto operator()(auto x, auto v, auto... w) const {
    if constexpr (Symmetric) return residual_along<R>{}(x, v, w...);
    else return residual_along<R>{}(x, residual_against<R>{}(x, v, w...), w...);
  }
};
/// A step of conjugate gradients for K l = b: s holds l, b - K l, the direction, the square norm of b - K l, and the number of steps.
/// Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49 (1952).
template <class K>
struct conjugate_step {
  constexpr auto operator()(auto s, auto, auto at, auto... w) const {
    const auto [l, r, p, square, n] = s;
    const auto kp = K{}(at, p, w...);
    const auto alpha = square / ebb::sum(p * kp);
    const auto next = r - alpha * kp;
    const auto after = ebb::sum(next * next);
    return std::tuple(l + alpha * p, next, next + after / square * p, after, n + 1);
  }
};
/// Whether the square norm is above 1e-28 of the first one, for floats 1e-12: a NaN is not.
constexpr auto conjugate_remains(auto square, auto first) {
  return square > (sizeof(typename decltype(square)::value_type) == 8 ? 1e-28 : 1e-12) * first;
}
/// At most Steps of them, from l = 0.
template <class K, int Steps>
struct conjugate_steps {
  constexpr auto operator()(auto b, auto x, auto... w) const {
    const auto rho = ebb::sum(b * b);
    const auto end = ebb::while_loop<at_most<Steps>>([](auto s, auto first, auto, auto...) {
      return conjugate_remains(std::get<3>(s), first);
    }, conjugate_step<K>{}, std::tuple(b * 0, b, b, rho, 0), ebb::whole(rho), ebb::whole(x), ebb::whole(w)...);
    return std::get<0>(end);
  }
};

/// l with A' l = g.
template <class R, bool Symmetric, class Option>
struct adjoint_solution {
  constexpr auto operator()(auto g, auto x, auto... w) const {
    const auto a = ebb::jacobian<0>(R{})(x, w...);
    if constexpr (decltype(x)::rank == 0) return g / a;
    else return ebb::solve(ebb::transpose(a), g);
  }
};
template <class R, bool Symmetric, int Steps>
struct adjoint_solution<R, Symmetric, by_cg_option<Steps>> {
  constexpr auto operator()(auto g, auto x, auto... w) const {
    using steps = conjugate_steps<normal_operator<R, Symmetric>, Steps>;
    if constexpr (Symmetric) return steps{}(g, x, w...);
    else return steps{}(residual_along<R>{}(x, g, w...), x, w...);
  }
};

/// How many of the first i parameters have a gradient.
template <class... W>
constexpr std::size_t real_before(std::size_t i) {
  constexpr bool real[] = {has_real<W>..., false};
  std::size_t n = 0;
  for (std::size_t j = 0; j < i; ++j) n += real[j];
  return n;
}
template <class W, std::size_t Place>
constexpr auto gradient_or_nothing(const auto& gradients) {
  if constexpr (has_real<W>) return std::make_tuple(std::get<Place>(gradients));  // it may be a tuple
  else return std::tuple(nothing);
}
/// The results of a pull: `nothing` for x0 and for parameters without a gradient.
template <class... W, std::size_t... I>
constexpr auto with_nothing(types<W...>, std::index_sequence<I...>, const auto& gradients) {
  return std::tuple_cat(std::tuple(nothing), gradient_or_nothing<W, real_before<W...>(I)>(gradients)...);
}
/// F by its real parameters, which are arguments I..., as a tuple.
template <class F, int... I>
constexpr auto gradients_by(std::integer_sequence<int, I...>, const auto&... a) {
  if constexpr (sizeof...(I) == 0) return std::tuple<>();
  else if constexpr (sizeof...(I) == 1) return std::make_tuple(ebb::grad<I...>(F{})(a...));
  else return ebb::grad<I...>(F{})(a...);
}

template <class R, bool Symmetric, class Option>
struct implicit_pull {
  constexpr auto operator()(auto saved, auto g) const {
    return std::apply([&](auto x, auto... w) {
      const auto l = adjoint_solution<R, Symmetric, Option>{}(g, x, w...);
      return of_parameters(x, -l, w...);
    }, saved);
  }

 private:
  template <class X, class L, class... W>
  static constexpr auto of_parameters(const X& x, const L& l, const W&... w) {
    constexpr int count = (0 + ... + has_real<W>);
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      using real = std::integer_sequence<int, nth_real<W...>(I)...>;
      return with_nothing(types<W...>{}, std::index_sequence_for<W...>{}, gradients_by<weighted_residual<R>>(real{}, x, l, w...));
    }(std::make_integer_sequence<int, count>{});
  }
  /// The argument of weighted_residual that is real parameter `which`.
  template <class... W>
  static constexpr int nth_real(int which) {
    constexpr bool real[] = {has_real<W>..., false};
    int i = 0;
    for (;; ++i)
      if (real[i] && which-- == 0) return i + 2;
  }
};
template <class Solver>
struct implicit_value {
  constexpr auto operator()(auto x0, auto... w) const {
    const auto x = Solver{}(x0, w...);
    return std::tuple(x, std::tuple(x, w...));
  }
};
template <class Loss>
struct gradient_as_residual {
  constexpr auto operator()(auto x, auto... w) const { return ebb::grad<0>(Loss{})(x, w...); }
};
template <class F>
struct fixed_point_residual {
  constexpr auto operator()(auto x, auto... w) const { return x - F{}(x, w...); }
};
/// Relative changes below this are rounding.
template <class T>
inline constexpr double rounding_of_steps = 4 * (sizeof(T) == 8 ? 0x1p-52 : sizeof(T) == 4 ? 0x1p-23 : 0x1p-8);
/// x = f(x) again and again, until a step changes no element by more than 8 units in the last place of 1 + the largest one.
template <class F, int Steps>
struct fixed_point_steps {
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) {
      const auto [x, before, n] = s;
      return n < Steps && (n == 0 || ebb::max(ebb::abs(x - before)) > 2 * rounding_of_steps<T> * (1 + ebb::max(ebb::abs(x))));
    }}, [](auto s, auto... u) {
      const auto x = std::get<0>(s);
      return std::tuple(F{}(x, u...), x, std::get<2>(s) + 1);
    }, std::tuple(x0, x0, 0), ebb::whole(w)...);
    return std::get<0>(end);
  }
};

template <class X>
inline constexpr bool is_one_array = false;
template <class X>
  requires in_trace<X>
inline constexpr bool is_one_array<X> = real_element<typename X::value_type>;
template <class X, class Option>
constexpr int code_of_solution() {
  if constexpr (holds_refused<X>) return already_reported;
  else if constexpr (!are_traced<X>) return 442;
  else if constexpr (!is_one_array<X>) return 443;
  else return std::is_same_v<Option, by_solve_option> && X::rank > 1 ? 443 : 0;
}
template <class... Option>
struct implicit_option {
  using type = by_solve_option;
};
template <class Option>
struct implicit_option<Option> {
  using type = Option;
};
/// The type of the option among those that a user gives; by_solve if there is none.
template <auto... Option>
using option_among = typename implicit_option<std::remove_const_t<decltype(Option)>...>::type;
/// The code that refuses F, or its solution by Option, or 0.
template <class F, class X, class Option>
constexpr int code_of_implicit() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else return code_of_solution<X, Option>();
}
/// The same, for an F that is called on x and w.
template <class F, class Option, class X, class... W>
constexpr int code_of_implicit_in() {
  if constexpr (constexpr int code = code_of_implicit<F, X, Option>(); code != 0) return code;
  else if constexpr ((holds_refused<W> || ...)) return already_reported;
  else if constexpr (!(argument<W>::is_argument && ...)) return 111;
  else if constexpr (!requires { typename result_of_trace<F, X, W...>; }) return requires { &F::operator(); } ? 128 : 127;
  else return holds_refused<result_of_trace<F, X, W...>> ? already_reported : 0;
}
/// Whether R is an array like X. Its dtype depends on a context, if there is one.
template <class X, class R>
inline constexpr bool is_alike = selected_leaf<X, R>::exists;
template <class X, class R>
  requires is_in_context<X> && in_trace<R>
inline constexpr bool is_alike<X, R> = X::rank == R::rank;

/// The same, for an F that returns an array like x.
template <class F, class Option, class X, class... W>
constexpr int code_of_residual() {
  if constexpr (constexpr int code = code_of_implicit_in<F, Option, X, W...>(); code != 0) return code;
  else return is_alike<X, typename argument<result_of_trace<F, X, W...>>::traced> ? 0 : 566;
}
/// The code that refuses the Solver of an implicit function, or 0.
template <class Solver, class Option, class X, class... W>
constexpr int code_of_solver() {
  if constexpr (code_of_function<Solver> != 0) return code_of_function<Solver>;
  else if constexpr (!requires { typename result_of_trace<Solver, X, W...>; }) return requires { &Solver::operator(); } ? 128 : 127;
  else if constexpr (constexpr int code = code_of_solution<result_of_trace<Solver, X, W...>, Option>(); code == 0) return 0;
  else return code == already_reported ? already_reported : 567;
}
template <class R, class Option, class Solver, class X, class... W>
constexpr int code_of_root() {
  if constexpr (constexpr int code = code_of_implicit_in<R, Option, X, W...>(); code != 0) return code;
  else if constexpr (constexpr int of_solver = code_of_solver<Solver, Option, X, W...>(); of_solver != 0) return of_solver;
  else return code_of_residual<R, Option, result_of_trace<Solver, X, W...>, W...>();
}
template <class Loss, class Option, class Solver, class X, class... W>
constexpr int code_of_minimizer() {
  if constexpr (constexpr int code = code_of_implicit_in<Loss, Option, X, W...>(); code != 0) return code;
  else return code_of_solver<Solver, Option, X, W...>();
}
template <class R, bool Symmetric, class Option, class Solver, class X, class... W>
constexpr auto implicit_by(const X& x0, const W&... w) {
  return ebb::custom_vjp(implicit_value<Solver>{}, implicit_pull<R, Symmetric, Option>{}, x0, w...);
}

}  // namespace detail

/// The x with residual(x, w...) = 0 that solver(x0, w...) finds, as a function of the parameters w: arrays, tuples and structs. In a traced
/// function; residual and solver are traced and must not capture. The derivative is that of the solution, not of the solver's steps, and x0
/// has none: see [note: implicit functions]. x is one array.
///   auto x = ebb::implicit_root([](auto x, auto a) { return ebb::exp(x) * x - a; }, newton, x0, a);
/// With ebb::solved as the solver x0 is the solution: any C++ outside of the traced function may have found it.
/// implicit_root<ebb::by_cg<100>> solves for the cotangent without the matrix. jvp and second derivatives need no more.
/// Shape, Dtype: the solution's. The residual has the same.   Saves: x, w.   Error: values have the bits of the solver.
/// Throws: error in the backward pass if the derivative of the residual by x is singular (by_solve); by_cg then gives NaN or its last step.
/// Source: Krantz and Parks, The Implicit Function Theorem (2003); Blondel et al., arXiv:2105.15183.
template <auto... Option, class R, class Solver, class X, class... W>
constexpr auto implicit_root(R, Solver, const X& x0, const W&... w) {
  using option = detail::option_among<Option...>;
  constexpr int code = detail::code_of_root<R, option, Solver, X, W...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else return detail::implicit_by<R, false, option, Solver>(x0, w...);
}

/// The x with x = f(x, w...), from x0 by x = f(x, w...) again and again, at most 1,000 times. It ends when a step changes no element by
/// more than 8 units in the last place of 1 + the largest one. Form and derivatives are those of implicit_root.
template <auto... Option, class F, class X, class... W>
constexpr auto fixed_point(F, const X& x0, const W&... w) {
  using option = detail::option_among<Option...>;
  constexpr int code = detail::code_of_residual<F, option, X, W...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else return detail::implicit_by<detail::fixed_point_residual<F>, false, option, detail::fixed_point_steps<F, 1000>>(x0, w...);
}

/// The x for which loss(x, w...), a scalar, is smallest, where solver(x0, w...) finds it: implicit_root of the loss's gradient. (argmin is
/// the number of an array's smallest element.) by_cg needs products with the Hessian alone.
template <auto... Option, class Loss, class Solver, class X, class... W>
constexpr auto implicit_minimizer(Loss, Solver, const X& x0, const W&... w) {
  using option = detail::option_among<Option...>;
  constexpr int code = detail::code_of_minimizer<Loss, option, Solver, X, W...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else return detail::implicit_by<detail::gradient_as_residual<Loss>, true, option, Solver>(x0, w...);
}

}  // namespace ebb::inline EBB_ABI
