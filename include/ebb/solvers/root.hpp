// ebb/solvers/root.hpp — newton, broyden, bisection and brent: roots, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::newton(residual, x0, w);                     residual(x, w) = 0
//   auto [x, steps, converged] = ebb::broyden(residual, x0, w);                    with one Jacobian, at x0
//   auto [y, steps, converged] = ebb::bisection(residual, low, high, w);           residual(y, w) = 0, and low <= y <= high
//   auto [y, steps, converged] = ebb::brent(residual, low, high, w);               in fewer steps
// They are while loops: a call has as many steps as it needs, and memory for one. Their derivatives are those of the solution: see
// [note: implicit functions].
#pragma once

#include "implicit.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 503>
struct refuse_function<Code> {
  static_assert(Code != 503, "[ebb E0503] bisection, brent: f(x, w...), the ends of the interval and x are floats of one dtype without "
                             "axes; ebb::map solves one equation for each row");
};

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

/// Inverse quadratic interpolation through three points or a secant through two of them, and a half of the interval where these are slow.
/// b is the best point, c the other end of the interval, a the point before; d and e are the last changes.
/// Brent, Algorithms for Minimization without Derivatives (1973), chapter 4.
template <class R, int Most>
struct brent_steps {
  template <class T>
  static constexpr double epsilon = std::numeric_limits<T>::epsilon();
  /// The smallest step at b: 4 units in its last place, for an interval of this half width.
  static constexpr auto least_step(auto b, auto half) {
    constexpr double e = epsilon<typename decltype(b)::value_type>;
    return 2 * e * (ebb::abs(b) + e * half);
  }
  /// The state with the root between b and c, and f smaller at b.
  static constexpr auto ordered(auto a, auto fa, auto b, auto fb, auto c, auto fc, auto d, auto e, auto n) {
    const auto same = (fb > 0) == (fc > 0);
    const auto c1 = ebb::where(same, a, c), fc1 = ebb::where(same, fa, fc);
    const auto swaps = ebb::abs(fc1) < ebb::abs(fb);
    return std::tuple(ebb::where(swaps, b, a), ebb::where(swaps, fb, fa), ebb::where(swaps, c1, b), ebb::where(swaps, fc1, fb),
                      ebb::where(swaps, b, c1), ebb::where(swaps, fb, fc1), ebb::where(same, b - a, d), ebb::where(same, b - a, e), n);
  }
  constexpr auto operator()(auto first, auto last, auto... w) const {
    using T = typename decltype(first)::value_type;
    const auto low = ebb::minimum(first, last), high = ebb::maximum(first, last);
    const auto of_low = R{}(low, w...), of_high = R{}(high, w...);
    const auto valid = (of_low <= 0 && of_high >= 0) || (of_low >= 0 && of_high <= 0);
    const auto width = high / 2 - low / 2;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto half, auto is_valid, auto...) {
      const auto [a, fa, b, fb, c, fc, d, e, n] = s;
      return is_valid && n < Most && fb != 0 && !ebb::isnan(fb) && ebb::abs(c / 2 - b / 2) > least_step(b, half);
    }}, [](auto s, auto half, auto, auto... u) {
      const auto [a, fa, b, fb, c, fc, d, e, n] = s;
      const auto least = least_step(b, half), middle = c / 2 - b / 2;
      const auto ratio = fb / fa, q0 = fa / fc, r0 = fb / fc;
      const auto secant = a == c;
      const auto p1 = ebb::where(secant, 2 * middle * ratio, ratio * (2 * middle * q0 * (q0 - r0) - (b - a) * (r0 - 1)));
      const auto q1 = ebb::where(secant, 1 - ratio, (q0 - 1) * (r0 - 1) * (ratio - 1));
      const auto p = ebb::abs(p1), q = ebb::where(p1 > 0, -q1, q1);
      const auto inside = ebb::abs(e) >= least && ebb::abs(fa) > ebb::abs(fb) &&
                          2 * p < ebb::minimum(3 * middle * q - ebb::abs(least * q), ebb::abs(e * q));
      const auto step = ebb::where(inside, p / q, middle);
      const auto to = b + ebb::where(ebb::abs(step) > least, step, ebb::where(middle > 0, least, -least));
      return ordered(b, fb, to, R{}(to, u...), c, fc, step, ebb::where(inside, d, middle), n + 1);
    }, ordered(low, of_low, high, of_high, low, of_low, high - low, high - low, 0), ebb::whole(width), ebb::whole(valid), ebb::whole(w)...);
    const auto [a, fa, b, fb, c, fc, d, e, n] = end;
    const auto converged = valid && (fb == 0 || ebb::abs(c / 2 - b / 2) <= least_step(b, width));
    return std::tuple(ebb::where(converged, b, b * 0 + std::numeric_limits<T>::quiet_NaN()), n, converged);
  }
};

/// Newton's steps with an inverse of the Jacobian that changes of x and of the residual correct: Broyden's first update. A point with a
/// larger residual corrects the inverse too, but x stays; after a NaN or an infinity a step is a quarter as long.
/// Dennis and Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations (1996), chapter 8.
template <class R, int Most>
struct broyden_steps {
  static constexpr auto times(auto inverse, auto f) {
    if constexpr (decltype(f)::rank == 0) return inverse * f;
    else return ebb::matmul(inverse, f);
  }
  /// The inverse that maps df to dx.
  static constexpr auto corrected(auto inverse, auto dx, auto df) {
    const auto difference = dx - times(inverse, df);
    if constexpr (decltype(dx)::rank == 0) return inverse + difference / df;
    else {
      const auto row = ebb::matmul(ebb::transpose(inverse), dx);
      return inverse + ebb::unsqueeze<1>(difference) * ebb::unsqueeze<0>(row / ebb::sum(row * df));
    }
  }
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto a = ebb::jacobian<0>(R{})(x0, w...);
    const auto inverse = [&] {
      if constexpr (decltype(x0)::rank == 0) return 1 / a;
      else return ebb::inverse(a);
    }();
    const auto one = ebb::sum(x0 * 0) + 1;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) {
      const auto [x, f, b, size, part, n] = s;
      return n < Most && size > rounding_of_steps<T> && part > 1e-12;
    }}, [](auto s, auto... u) {
      const auto [x, f, b, size, part, n] = s;
      const auto newton = times(b, f);
      const auto to = x - part * newton;
      const auto after = R{}(to, u...);
      const auto finite = ebb::all(ebb::isfinite(after));
      const auto better = finite && ebb::sum(ebb::square(after)) < ebb::sum(ebb::square(f));
      const auto next = corrected(b, to - x, after - f);
      const auto keeps = finite && ebb::all(ebb::isfinite(next));
      return std::tuple(ebb::where(better, to, x), ebb::where(better, after, f), ebb::where(keeps, next, b), relative_size(newton, x),
                        ebb::where(better, 1, ebb::where(keeps, part, part / 4)), n + 1);
    }, std::tuple(x0, R{}(x0, w...), inverse, one, one, 0), ebb::whole(w)...);
    const auto [x, f, b, size, part, n] = end;
    return std::tuple(x, n, size <= rounding_of_steps<T>);
  }
};

template <class R, class X, class... W>
constexpr int code_of_bracket() {
  if constexpr (constexpr int code = code_of_implicit<R, X, by_solve_option>(); code != 0 && code != 443) return code;
  else if constexpr (code != 0) return 503;
  else if constexpr (X::rank != 0) return 503;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<R, X, W...>>{}); of_trace != 0)
    return of_trace;
  else return std::is_same_v<result_of_trace<R, X, W...>, X> ? 0 : 503;
}
template <class R, class Steps, class X, class... W>
constexpr auto between(const X& lo, const X& hi, const W&... w) {
  constexpr int code = code_of_bracket<R, X, W...>();
  static_cast<void>(refuse_function<code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto [x, steps, converged] = Steps{}(lo, hi, w...);
    return std::tuple(implicit_by<R, false, by_solve_option, solved_outside>(ebb::stop_gradient(x), w...), steps, converged);
  }
}
template <class R, bool Symmetric, class Residual, class Steps, class X, class... W>
constexpr auto solved_by(const X& x0, const W&... w) {
  constexpr int code = [] {
    if constexpr (Symmetric) return code_of_implicit_in<R, by_solve_option, X, W...>();
    else return code_of_residual<R, by_solve_option, X, W...>();
  }();
  static_cast<void>(refuse_function<code_without_reason(code)>{});
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

/// As newton, with the Jacobian at x0 alone: each step corrects its inverse by the change of the residual, by Broyden's method. A step
/// costs one residual and n^2 operations, one of newton n residuals and n^3; there are more of them, at most 200. x never moves to a point
/// where the norm of the residual is larger or NaN. It has converged if a step of full length would change x by rounding alone.
///   auto x = std::get<0>(ebb::broyden([](auto x, auto w) { return ebb::tanh(ebb::matmul(w, x)) + x - 1; }, x0, w));
/// Throws: error if the derivative of the residual at x0, or in the backward pass, is singular.
/// Source: Broyden, Math. Comp. 19 (1965).
template <class R, class X, class... W>
constexpr auto broyden(R, const X& x0, const W&... w) {
  return detail::solved_by<R, false, R, detail::broyden_steps<R, 200>>(x0, w...);
}

/// The x between lo and hi with residual(x, w...) = 0, by halves of the interval: std::tuple(x, number of steps, whether it converged). x
/// is one of two neighbours between which the residual changes its sign, the one with the smaller residual. If the residual has the same
/// sign at lo and hi, or is NaN, x is NaN. In a traced function; ebb::map solves one equation for each row. The rest is as for newton.
/// Shape: none.   Dtype: one for all.   Saves: x, w.   Source: as implicit_root.
template <class R, class X, class... W>
constexpr auto bisection(R, const X& lo, const X& hi, const W&... w) {
  return detail::between<R, detail::halving_steps<R, 2200>>(lo, hi, w...);
}

/// As bisection, by Brent's method: it interpolates, and halves the interval where that is slow. So it takes about ten steps where
/// bisection takes sixty. x is within 4 units in its last place of a change of the sign of the residual. After 500 steps, or if the
/// residual is NaN, x is NaN.
///   auto volatility = std::get<0>(ebb::brent([](auto s, auto quote, auto k) { return price(s, k) - quote; }, low, high, quote, strike));
/// Source: Brent, Algorithms for Minimization without Derivatives (1973).
template <class R, class X, class... W>
constexpr auto brent(R, const X& lo, const X& hi, const W&... w) {
  return detail::between<R, detail::brent_steps<R, 500>>(lo, hi, w...);
}

}  // namespace ebb::inline EBB_ABI
