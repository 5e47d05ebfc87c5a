// ebb/solvers/least_squares.hpp — levenberg_marquardt: least squares and robust fits, with derivatives by the parameters.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [p, steps, converged] = ebb::levenberg_marquardt(errors, p0, t, y);       the sum of errors(p, t, y)^2 is smallest
//   auto [q, n, ok] = ebb::levenberg_marquardt<ebb::robust::cauchy>(errors, p0, t, y);   the sum of log(1 + errors^2): few outliers move q
//
// [note: robust losses]
// A robust loss rho grows slower than the square s of an error r: a fit minimizes the sum of rho(r^2) / 2, and outliers count less. With
// the derivatives of rho at s, the gradient is J' (rho' r), and J' diag(rho' + 2 s rho'') J is what remains of the Hessian if errors are
// nearly linear. These are the products of the errors and the Jacobian that Triggs et al. correct. If rho bends down, the second weight
// may be 0 or negative; it is then rho' / 16, so that far from the solution a step is that of reweighted least squares, at most 16 times as
// long, and the damping decides. Near the solution steps are Newton's, apart from that floor.
#pragma once

#include "root.hpp"

#include "../linalg/diagonal.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 561>
struct refuse_function<Code> {
  static_assert(Code != 561, "[ebb E0561] levenberg_marquardt: x0 and errors(x, w...) are arrays of floats with one axis; an option is "
                             "one of ebb::robust, or a lambda that returns the loss of each square, in its form and dtype");
};

}  // namespace detail

/// Losses for levenberg_marquardt, as functions of the square s of an error. An error of 1 is where each begins to bend: divide errors by
/// the scale that they should have, errors(x, w) / scale, where scale may be a parameter. Any lambda of s does, such as
/// [](auto s) { return ebb::atan(s); }: rho(0) is 0, and its derivative there 1.   Source: those of Ceres and of SciPy's least_squares.
namespace robust {

/// s up to 1, then 2 sqrt(s) - 1: an outlier has a bounded pull.   Source: Huber, Ann. Math. Stat. 35 (1964).
struct huber_loss {
  constexpr auto operator()(auto s) const {
    const auto far = s > 1;
    return ebb::where(far, 2 * ebb::sqrt(ebb::where(far, s, 1)) - 1, s);
  }
};
/// 2 (sqrt(1 + s) - 1): huber without a kink in its second derivative.
struct soft_l1_loss {
  constexpr auto operator()(auto s) const { return 2 * s / (1 + ebb::sqrt(1 + s)); }
};
/// log(1 + s): the pull of an outlier falls as 1 / r. There may be several minima.
struct cauchy_loss {
  constexpr auto operator()(auto s) const { return ebb::log1p(s); }
};
/// (1 - (1 - s)^3) / 3 up to 1, then 1 / 3: an error beyond that has no influence at all. Begin near the solution.
/// Source: Beaton and Tukey, Technometrics 16 (1974).
struct tukey_loss {
  constexpr auto operator()(auto s) const {
    const auto inside = ebb::maximum(1 - s, 0);
    return (1 - inside * inside * inside) / 3;
  }
};
inline constexpr huber_loss huber{};
inline constexpr soft_l1_loss soft_l1{};
inline constexpr cauchy_loss cauchy{};
inline constexpr tukey_loss tukey{};

}  // namespace robust

namespace detail {

/// The loss of plain least squares: every weight is 1.
struct squares_alone {
  constexpr auto operator()(auto s) const { return s; }
};
template <class R, class Rho>
struct half_loss {
  constexpr auto operator()(auto x, auto... w) const { return ebb::sum(Rho{}(ebb::square(R{}(x, w...)))) / 2; }
};
template <class Rho>
struct slope_of_loss {
  constexpr auto operator()(auto s) const { return std::get<1>(ebb::jvp<0>(Rho{})(s, ebb::ones_like(s))); }
};
/// std::tuple(J' J, J' r) with the weights of the loss: see [note: robust losses].
template <class Rho>
constexpr auto normal_equations(auto a, auto r) {
  if constexpr (std::is_same_v<Rho, squares_alone>) return std::tuple(ebb::matmul(ebb::transpose(a), a), ebb::matmul(ebb::transpose(a), r));
  else {
    const auto s = ebb::square(r);
    const auto [slope, bend] = ebb::jvp<0>(slope_of_loss<Rho>{})(s, ebb::ones_like(s));
    const auto weight = ebb::maximum(slope + 2 * s * bend, slope / 16);
    return std::tuple(ebb::matmul(ebb::transpose(a), ebb::unsqueeze<1>(weight) * a), ebb::matmul(ebb::transpose(a), slope * r));
  }
}

/// A step that raises the sum is not taken, and the damping grows; so is a NaN in a trial. Rounding of the sum does not count: steps go on
/// where it is flat.
template <class R, class Rho, int Most>
struct damped_steps {
  constexpr auto operator()(auto x0, auto... w) const {
    using T = typename decltype(x0)::value_type;
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto...) {
      const auto [x, cost, size, damping, n] = s;
      return n < Most && size > rounding_of_steps<T> && damping < 1e16;
    }}, [](auto s, auto... u) {
      const auto [x, cost, size, damping, n] = s;
      const auto [normal, g] = normal_equations<Rho>(ebb::jacobian<0>(R{})(x, u...), R{}(x, u...));
      const auto scale = ebb::diagonal(normal);
      const auto damped = normal + ebb::diag_embed(damping * (scale + 1e-12 * ebb::max(scale) + 1e-30));
      const auto trial = x - ebb::solve(damped, g);
      const auto after = half_loss<R, Rho>{}(trial, u...);
      const auto lower = after <= cost * (1 + rounding_of_steps<T>);
      return std::tuple(ebb::where(lower, trial, x), ebb::where(lower, after, cost),
                        ebb::where(lower || after > cost, relative_size(trial - x, x), size),
                        ebb::where(lower, ebb::maximum(damping / 8, 1e-12), damping * 4), n + 1);
    }, std::tuple(x0, half_loss<R, Rho>{}(x0, w...), ebb::sum(x0 * 0) + 1, ebb::sum(x0 * 0) + 1e-3, 0), ebb::whole(w)...);
    const auto [x, cost, size, damping, n] = end;
    return std::tuple(x, n, size <= rounding_of_steps<T>);
  }
};

template <class... Option>
struct loss_among {
  using type = void;
};
template <>
struct loss_among<> {
  using type = squares_alone;
};
template <class Rho>
struct loss_among<Rho> {
  using type = Rho;
};
/// The code that refuses a loss of squares of type S.
template <class Rho, class S>
constexpr int code_of_loss() {
  if constexpr (std::is_same_v<Rho, squares_alone>) return 0;
  else if constexpr (!std::is_class_v<Rho>) return 561;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<Rho, S>>{}); of_trace != 0) return of_trace;
  else if constexpr (holds_refused<result_of_trace<Rho, S>>) return already_reported;
  else return std::is_same_v<typename argument<result_of_trace<Rho, S>>::traced, S> ? 0 : 561;
}
template <class R, class Rho, class X, class... W>
constexpr int code_of_errors() {
  if constexpr (constexpr int code = code_of_implicit<R, X, by_solve_option>(); code != 0) return code;
  else if constexpr (X::rank != 1) return 561;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<R, X, W...>>{}); of_trace != 0)
    return of_trace;
  else if constexpr (holds_refused<result_of_trace<R, X, W...>>) return already_reported;
  else {
    using errors = typename argument<result_of_trace<R, X, W...>>::traced;
    if constexpr (!is_one_array<errors>) return 561;
    else if constexpr (errors::rank != 1) return 561;
    else return code_of_loss<Rho, errors>();
  }
}

}  // namespace detail

/// The x for which the sum of the squares of errors(x, w...) is smallest, from x0 by Levenberg's and Marquardt's method: std::tuple(x,
/// number of steps, whether it converged). A step that raises the sum, or gives a NaN, is not taken: then the damping grows. It
/// ends when a step changes x by no more than rounding, when the damping is above 1e16, or after 500 steps. The rest is as for newton.
/// levenberg_marquardt<ebb::robust::huber> and its relatives minimize the sum of a loss that outliers move less: see
/// [note: robust losses]. x then has the derivatives of that minimum.
///   auto line = [](auto p, auto t, auto y, auto scale) { return (p[0] + p[1] * t - y) / scale; };
///   auto p = std::get<0>(ebb::levenberg_marquardt<ebb::robust::tukey>(line, p0, t, y, 0.5));
/// Shape: x [n], errors [m].   Saves: x, w.   Source: Marquardt, SIAM J. Appl. Math. 11 (1963); Triggs et al., Bundle Adjustment (2000).
template <auto... Option, class R, class X, class... W>
constexpr auto levenberg_marquardt(R, const X& x0, const W&... w) {
  using loss = typename detail::loss_among<std::remove_const_t<decltype(Option)>...>::type;
  constexpr int code = detail::code_of_errors<R, loss, X, W...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    using residual = detail::gradient_as_residual<detail::half_loss<R, loss>>;
    return detail::solved_by<R, true, residual, detail::damped_steps<R, loss, 500>>(x0, w...);
  }
}

}  // namespace ebb::inline EBB_ABI
