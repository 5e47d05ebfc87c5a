// ebb/solvers/root.hpp — newton and bisection: roots, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::newton(residual, x0, w);                     residual(x, w) = 0
//   auto [y, steps, converged] = ebb::bisection(residual, low, high, w);           residual(y, w) = 0, and low <= y <= high
// They are while loops: a call has as many steps as it needs, and memory for one. Their derivatives are those of the solution: see
// [note: implicit functions].
#pragma once

#include "implicit.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

constexpr auto relative_size(auto dx, auto x) { return ebb::max(ebb::abs(dx)) / (1 + ebb::max(ebb::abs(x))); }

template <class R, int Most>
struct newton_steps {
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) {
      return std::get<2>(s) < Most && std::get<1>(s) > rounding_of_steps<T>;
    }}, [](auto s, auto... u) {
      const auto x = std::get<0>(s);
      const auto f = R{}(x, u...);
      const auto a = ebb::jacobian<0>(R{})(x, u...);
      const auto dx = [&] {
        if constexpr (decltype(x)::rank == 0) return f / a;
        else return ebb::solve(a, f);
      }();
      return std::tuple(x - dx, relative_size(dx, x), std::get<2>(s) + 1);
    }, std::tuple(x0, ebb::sum(x0 * 0) + 1, 0), ebb::whole(w)...);
    const auto [x, size, n] = end;
    return std::tuple(x, n, size <= rounding_of_steps<T>);
  }
};

/// Half of the interval again and again, until no number lies between its ends; Most is above the number of halves of doubles.
template <class R, int Most>
struct halving_steps {
  static constexpr auto middle(auto lo, auto hi) { return lo / 2 + hi / 2; }  // their sum may be infinite
  constexpr auto operator()(auto a, auto b, auto... w) const {
    using T = typename decltype(a)::value_type;
    const auto low = ebb::minimum(a, b), high = ebb::maximum(a, b);
    const auto of_low = R{}(low, w...), of_high = R{}(high, w...);
    const auto valid = (of_low <= 0 && of_high >= 0) || (of_low >= 0 && of_high <= 0);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto, auto...) {
      const auto [lo, hi, of_lo, of_hi, n] = s;
      const auto m = middle(lo, hi);
      return n < Most && of_lo != 0 && of_hi != 0 && m > lo && m < hi;
    }}, [](auto s, auto rises, auto... u) {
      const auto [lo, hi, of_lo, of_hi, n] = s;
      const auto m = middle(lo, hi), f = R{}(m, u...);
      const auto up = (f < 0) == rises && f != 0;  // the root is above m
      return std::tuple(ebb::where(up, m, lo), ebb::where(up, hi, m), ebb::where(up, f, of_lo), ebb::where(up, of_hi, f), n + 1);
    }, std::tuple(ebb::where(valid, low, high), high, of_low, of_high, 0), ebb::whole(of_low < of_high), ebb::whole(w)...);
    const auto [l, h, of_l, of_h, n] = end;
    const auto x = ebb::where(ebb::abs(of_l) < ebb::abs(of_h), l, h);
    const auto converged = valid && !ebb::isnan(of_l) && !ebb::isnan(of_h);
    return std::tuple(ebb::where(converged, x, x * 0 + std::numeric_limits<T>::quiet_NaN()), n, converged);
  }
};

template <class R, class X, class... W>
constexpr int code_of_bisection() {
  if constexpr (constexpr int code = code_of_implicit<R, X, by_solve_option>(); code != 0 && code != 443) return code;
  else if constexpr (code != 0) return 503;
  else if constexpr (X::rank != 0) return 503;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = code_of_trace(std::type_identity<trace_of<R, X, W...>>{}); of_trace != 0) return of_trace;
  else return std::is_same_v<result_of_trace<R, X, W...>, X> ? 0 : 503;
}
template <class R, bool Symmetric, class Residual, class Steps, class X, class... W>
constexpr auto solved_by(const X& x0, const W&... w) {
  constexpr int code = code_of_implicit<R, X, by_solve_option>();
  static_cast<void>(refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, steps, converged] = Steps{}(x0, w...);
    return std::tuple(implicit_by<Residual, Symmetric, by_solve_option, solved_outside>(ebb::stop_gradient(x), w...), steps, converged);
  }
}

}  // namespace detail

/// The x with residual(x, w...) = 0, from x0 by Newton's method: std::tuple(x, number of steps, whether it converged). It ends when a step
/// changes x by no more than 4 units in the last place of 1 + its largest element, when there is a NaN, or after 100 steps. In a traced
/// function; the parameters w are arrays, tuples and structs, and x has the derivatives of the solution with respect to them, not to x0.
/// Shape, Dtype: x has those of x0, one axis or none, and the residual too.   Saves: x, w.
/// Throws: error if the derivative of the residual is singular in a step.   Source: as implicit_root.
template <class R, class X, class... W>
constexpr auto newton(R, const X& x0, const W&... w) {
  return detail::solved_by<R, false, R, detail::newton_steps<R, 100>>(x0, w...);
}

/// The x between lo and hi with residual(x, w...) = 0, by halves of the interval: std::tuple(x, number of steps, whether it converged). x
/// is one of two neighbours between which the residual changes its sign, the one with the smaller residual. If the residual has the same
/// sign at lo and hi, or is NaN, x is NaN. In a traced function; ebb::map solves one equation for each row. The rest is as for newton.
/// Shape: none.   Dtype: one for all.   Saves: x, w.   Source: as implicit_root.
template <class R, class X, class... W>
constexpr auto bisection(R, const X& lo, const X& hi, const W&... w) {
  constexpr int code = detail::code_of_bisection<R, X, W...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, steps, converged] = detail::halving_steps<R, 2200>{}(lo, hi, w...);
    return std::tuple(detail::implicit_by<R, false, by_solve_option, solved_outside>(ebb::stop_gradient(x), w...), steps, converged);
  }
}

}  // namespace ebb::inline EBB_ABI
