// ebb/solvers/lbfgs.hpp — lbfgs: minima of functions of many variables in traced functions, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::lbfgs(objective, x0, w);         objective(x, w) is smallest
//   auto [z, n, ok] = ebb::lbfgs<ebb::by_cg<200>>(objective, z0, w);   its derivatives by products with the Hessian
#pragma once

#include "root.hpp"

#include "../trace/line_search.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// A point on x + a p with the strong Wolfe conditions: std::tuple(a, value, point, gradient); a = 0 if none is found in 30 values. See
/// [note: line search].
template <class F>
struct wolfe_point {
  constexpr auto operator()(auto x0, auto p, auto f0, auto d0, auto g0, auto first, auto... w) const {
    using T = typename decltype(f0)::value_type;
    const auto zero = f0 * 0;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) { return !std::get<1>(s) && std::get<0>(s) < 30; }},
                                     [](auto s, auto from, auto along, auto before, auto slope, auto... u) {
      const auto [n, done, bracket, x_lo, g_lo, a] = s;
      const auto x = from + a * along;
      const auto [f, g] = ebb::value_and_grad<0>(F{})(x, u...);
      const auto noise = rounding_of_steps<T> * ebb::abs(before);
      const auto [both, low, next_bracket, next] = searched(a, f, ebb::sum(g * along), before, slope, noise, bracket);
      return std::tuple(n + 1, both, next_bracket, ebb::where(low, x, x_lo), ebb::where(low, g, g_lo), next);
    }, std::tuple(0, d0 != d0, std::tuple(zero, f0, d0, zero + std::numeric_limits<T>::infinity(), f0, d0), x0, g0, first),
       ebb::whole(x0), ebb::whole(p), ebb::whole(f0), ebb::whole(d0), ebb::whole(w)...);
    const auto [n, done, bracket, x_lo, g_lo, a] = end;
    return std::tuple(std::get<0>(bracket), std::get<1>(bracket), x_lo, g_lo);
  }
};

/// The inverse Hessian of the last changes s of x and y of the gradient, in rows, times g. A row with rho = 0 is not there yet.
/// Nocedal and Wright, algorithm 7.4.
constexpr auto inverse_hessian_times(auto g, auto s, auto y, auto rho, auto scale) {
  const auto [q, alpha] = ebb::scan<reversed>([](auto v, auto dx, auto dg, auto r) {
    const auto part = r * ebb::sum(dx * v);
    return std::tuple(v - part * dg, part);
  }, g, s, y, rho);
  const auto [h, none] = ebb::scan([](auto v, auto dx, auto dg, auto r, auto part) {
    return std::tuple(v + (part - r * ebb::sum(dg * v)) * dx, std::tuple<>());
  }, scale * q, s, y, rho, alpha);
  return h;
}
/// Rows without the first one, and x as the last one.
constexpr auto next_row(auto rows, auto x) { return ebb::concat<0>(ebb::slice<0, 1>(rows), ebb::unsqueeze<0>(x)); }

template <class F, int Most>
struct lbfgs_steps {
  static constexpr std::make_index_sequence<10> remembered{};
  template <std::size_t... I>
  static constexpr auto rows_of(auto x, std::index_sequence<I...>) {
    return ebb::stack<0>((static_cast<void>(I), x)...);
  }
  /// f(x), its gradient, the rows, scale of the Hessian; the size of the step, the smallest slope, steps without any gain, steps.
  constexpr auto operator()(auto x0, auto... w) const {
    const auto [value, gradient] = ebb::value_and_grad<0>(F{})(x0, w...);
    using T = typename decltype(value)::value_type;
    const auto zero = value * 0;
    const auto none = rows_of(x0 * 0, remembered);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) {
      return std::get<10>(s) < Most && std::get<7>(s) > rounding_of_steps<T> && std::get<8>(s) > 0 && std::get<9>(s) < 5;
    }}, step{}, std::tuple(x0, value, gradient, none, none, rows_of(zero, remembered), zero + 1, zero + 1, ebb::max(ebb::abs(gradient)),
                           0, 0), ebb::whole(w)...);
    const auto least = std::get<8>(end);
    const auto small = least <= (sizeof(T) == 8 ? 1e-8 : 1e-4) * (1 + ebb::max(ebb::abs(gradient)));
    return std::tuple(std::get<0>(end), std::get<10>(end), small);
  }
  struct step {
    constexpr auto operator()(auto state, auto... w) const {
      const auto [x, f, g, s, y, rho, scale, size, least, idle, n] = state;
      using T = typename decltype(f)::value_type;
      const auto newton = -inverse_hessian_times(g, s, y, rho, scale);
      const auto falls = ebb::sum(newton * g) < 0;  // not so after a NaN, or by rounding
      const auto p = ebb::where(falls, newton, -g);
      const auto first = ebb::where(n > 0 && falls, 1, 1 / ebb::maximum(ebb::sum(ebb::abs(g)), 1));
      const auto [a, value, to, slopes] = wolfe_point<F>{}(x, p, f, ebb::sum(p * g), g, first, w...);
      const auto dx = to - x, dg = slopes - g;
      const auto change = ebb::sum(dx * dg), square = ebb::sum(dg * dg);
      const auto bends = change > rounding_of_steps<T> * ebb::sqrt(ebb::sum(dx * dx) * square);
      const auto slope = ebb::max(ebb::abs(slopes));
      const auto gains = value < f - rounding_of_steps<T> * ebb::abs(f) || slope < least;
      return std::tuple(to, value, slopes, ebb::where(bends, next_row(s, dx), s), ebb::where(bends, next_row(y, dg), y),
                        ebb::where(bends, next_row(rho, 1 / change), rho), ebb::where(bends, change / square, scale),
                        relative_size(dx, to), ebb::where(gains, ebb::minimum(slope, least), least), ebb::where(gains, 0, idle + 1), n + 1);
    }
  };
};

template <class F, class X, class Option, class... W>
constexpr int code_of_objective() {
  if constexpr (constexpr int code = code_of_implicit<F, X, Option>(); code != 0) return code;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<F, X, W...>>{}); of_trace != 0)
    return of_trace;
  else if constexpr (holds_refused<result_of_trace<F, X, W...>>) return already_reported;
  else return is_scalar_result<result_of_trace<F, X, W...>> ? 0 : 109;
}

}  // namespace detail

/// The x for which objective(x, w...), a scalar, is smallest near x0, by the method of Broyden, Fletcher, Goldfarb and Shanno with the last
/// 10 steps as memory and a line search with the strong Wolfe conditions: std::tuple(x, number of steps, whether it converged). It ends
/// when a step changes x by no more than 4 units in the last place of 1 + its largest element, when the gradient is 0 or has a NaN, when
/// 5 steps in a row make neither the value nor the gradient smaller, or after 1,000 steps. It has converged if the largest element of the
/// gradient is at most 1e-8 of 1 + the largest one at x0, for floats 1e-4. In a traced function; objective must not capture. x has
/// derivatives by the parameters w, as implicit_minimizer gives them: with the Hessian as a matrix, or by products with it in
/// lbfgs<ebb::by_cg<n>>.
/// Shape, Dtype: those of x0, one axis or none, with by_cg any axes.   Saves: x, w; the search keeps 20 arrays like x0.
/// Throws: error in the backward pass if the Hessian is singular.   Source: Nocedal and Wright, Numerical Optimization (2006), chapter 7.
template <auto... Option, class F, class X, class... W>
constexpr auto lbfgs(F, const X& x0, const W&... w) {
  using option = detail::option_among<Option...>;
  constexpr int code = detail::code_of_objective<F, X, option, W...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, steps, converged] = detail::lbfgs_steps<F, 1000>{}(x0, w...);
    const auto found = detail::implicit_by<detail::gradient_as_residual<F>, true, option, solved_outside>(ebb::stop_gradient(x), w...);
    return std::tuple(found, steps, converged);
  }
}

}  // namespace ebb::inline EBB_ABI
