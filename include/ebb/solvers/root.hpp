// ebb/solvers/root.hpp — newton and levenberg_marquardt: roots and least squares in traced functions, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::newton(residual, x0, w);                     residual(x, w) = 0
//   auto [p, steps, converged] = ebb::levenberg_marquardt(errors, p0, t, y);       the sum of errors(p, t, y)^2 is smallest
// Both are while loops: a call has as many steps as it needs, and memory for one. Their derivatives are those of the solution: see
// [note: implicit functions].
#pragma once

#include "implicit.hpp"

#include "../linalg/diagonal.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

constexpr auto relative_size(auto dx, auto x) { return ebb::max(ebb::abs(dx)) / (1 + ebb::max(ebb::abs(x))); }

template <class R, int Most>
struct newton_steps {
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto end = ebb::while_loop([](auto s, auto...) {
      return std::get<2>(s) < Most && std::get<1>(s) > rounding_of_steps<T>;
    }, [](auto s, auto... u) {
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

template <class R>
struct half_squares {
  constexpr auto operator()(auto x, auto... w) const { return ebb::sum(ebb::square(R{}(x, w...))) / 2; }
};
/// A step that raises the sum is not taken, and the damping grows; so is a NaN in a trial. Rounding of the sum does not count: steps go on
/// where it is flat.
template <class R, int Most>
struct damped_steps {
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto end = ebb::while_loop([](auto s, auto...) {
      const auto [x, cost, size, damping, n] = s;
      return n < Most && size > rounding_of_steps<T> && damping < 1e16;
    }, [](auto s, auto... u) {
      const auto [x, cost, size, damping, n] = s;
      const auto a = ebb::jacobian<0>(R{})(x, u...);
      const auto normal = ebb::matmul(ebb::transpose(a), a);
      const auto scale = ebb::diagonal(normal);
      const auto g = ebb::matmul(ebb::transpose(a), R{}(x, u...));
      const auto damped = normal + ebb::diag_embed(damping * (scale + 1e-12 * ebb::max(scale) + 1e-30));
      const auto trial = x - ebb::solve(damped, g);
      const auto after = half_squares<R>{}(trial, u...);
      const auto lower = after <= cost * (1 + rounding_of_steps<T>);
      return std::tuple(ebb::where(lower, trial, x), ebb::where(lower, after, cost),
                        ebb::where(lower || after > cost, relative_size(trial - x, x), size),
                        ebb::where(lower, ebb::maximum(damping / 8, 1e-12), damping * 4), n + 1);
    }, std::tuple(x0, half_squares<R>{}(x0, w...), ebb::sum(x0 * 0) + 1, ebb::sum(x0 * 0) + 1e-3, 0), ebb::whole(w)...);
    const auto [x, cost, size, damping, n] = end;
    return std::tuple(x, n, size <= rounding_of_steps<T>);
  }
};

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

/// The x for which the sum of the squares of errors(x, w...) is smallest, from x0 by Levenberg's and Marquardt's method: std::tuple(x,
/// number of steps, whether it converged). A step that raises the sum, or gives a NaN, is not taken: then the damping grows. It
/// ends when a step changes x by no more than rounding, when the damping is above 1e16, or after 500 steps. The rest is as for newton.
/// Shape: x [n], errors [m].   Saves: x, w.   Source: Marquardt, SIAM J. Appl. Math. 11 (1963).
template <class R, class X, class... W>
constexpr auto levenberg_marquardt(R, const X& x0, const W&... w) {
  using residual = detail::gradient_as_residual<detail::half_squares<R>>;
  return detail::solved_by<R, true, residual, detail::damped_steps<R, 500>>(x0, w...);
}

}  // namespace ebb::inline EBB_ABI
