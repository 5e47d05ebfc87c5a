// ebb/solvers/dopri5.hpp — dopri5: ordinary differential equations in traced functions, with adaptive steps and gradients.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [y, steps, converged] = ebb::dopri5(f, y0, t0, t1, w);       y' = f(t, y, w) from y(t0) = y0 to t1
//   auto [z, n, ok] = ebb::dopri5<ebb::tolerance<9>, ebb::at_most<500>>(f, y0, t0, t1, w);
//
// [note: gradients of differential equations]
// Gradients go back through the steps that were made, with the sizes that they had: so they are exact derivatives of what the call
// computed. An adjoint equation, solved backwards, would keep less, but it has an error of its own, and runs back along a solution that it
// can lose. A call with a gradient keeps the state before each of at most n steps; keep_every<k> and the other options of scan keep less.
#pragma once

#include "implicit.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 506, 507>
struct refuse_function<Code> {
  static_assert(Code != 506, "[ebb E0506] dopri5: f(t, y, w...) returns an array with the form and dtype of y, and t has that dtype; "
                             "t0 and t1 are numbers, and have no wider dtype");
  static_assert(Code != 507, "[ebb E0507] dopri5: options are one ebb::tolerance<n>, one ebb::at_most<n>, and one of "
                             "those of scan");
};

}  // namespace detail

/// The option of dopri5 that says how small the error of a step is: 10 to the power -Digits, of 1 and of the state.
template <int Digits>
struct tolerance_option {
  static_assert(Digits > 0,
                "[ebb E0557] the number of an option is too small: keep_every, by_cg and tolerance take 1 or more, at_most "
                "takes 0 or more");
};
template <int Digits>
inline constexpr tolerance_option<Digits> tolerance{};

namespace detail {

/// The options of dopri5: 10^-Digits, steps, and those that while_loop takes.
template <int Digits, int Most, class... Other>
struct ode_options {
  static constexpr int most = Most;
  static constexpr double tolerance = [] {
    double r = 1;
    for (int i = 0; i < Digits; ++i) r /= 10;
    return r;
  }();
};
template <class Known, class... Option>
struct read_ode_options {
  using type = Known;
};
template <int D, int Most, class... Other, int Digits, class... Option>
struct read_ode_options<ode_options<D, Most, Other...>, tolerance_option<Digits>, Option...>
    : read_ode_options<ode_options<Digits, Most, Other...>, Option...> {};
template <int D, int Most, class... Other, int Steps, class... Option>
struct read_ode_options<ode_options<D, Most, Other...>, at_most_option<Steps>, Option...>
    : read_ode_options<ode_options<D, Steps, Other...>, Option...> {};
template <int D, int Most, class... Other, class First, class... Option>
struct read_ode_options<ode_options<D, Most, Other...>, First, Option...>
    : read_ode_options<ode_options<D, Most, Other..., First>, Option...> {};

/// The root of the mean square of e, where an error of one tolerance counts 1.
constexpr auto size_of_error(auto e, auto scale) { return ebb::sqrt(ebb::mean(ebb::square(e / scale))); }

/// A step of Dormand's and Prince's method: the state at its end, the slope there, and the estimated error.
/// Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), table II.5.2.
template <class F>
struct dormand_prince {
  constexpr auto operator()(auto t, auto y, auto k1, auto h, auto... w) const {
    const auto k2 = F{}(t + h * (1.0 / 5), y + h * (k1 * (1.0 / 5)), w...);
    const auto k3 = F{}(t + h * (3.0 / 10), y + h * (k1 * (3.0 / 40) + k2 * (9.0 / 40)), w...);
    const auto k4 = F{}(t + h * (4.0 / 5), y + h * (k1 * (44.0 / 45) - k2 * (56.0 / 15) + k3 * (32.0 / 9)), w...);
    const auto k5 = F{}(t + h * (8.0 / 9),
                        y + h * (k1 * (19372.0 / 6561) - k2 * (25360.0 / 2187) + k3 * (64448.0 / 6561) - k4 * (212.0 / 729)), w...);
    const auto k6 = F{}(t + h, y + h * (k1 * (9017.0 / 3168) - k2 * (355.0 / 33) + k3 * (46732.0 / 5247) + k4 * (49.0 / 176) -
                                        k5 * (5103.0 / 18656)), w...);
    const auto end = y + h * (k1 * (35.0 / 384) + k3 * (500.0 / 1113) + k4 * (125.0 / 192) - k5 * (2187.0 / 6784) + k6 * (11.0 / 84));
    const auto k7 = F{}(t + h, end, w...);
    const auto error = h * (k1 * (71.0 / 57600) - k3 * (71.0 / 16695) + k4 * (71.0 / 1920) - k5 * (17253.0 / 339200) +
                            k6 * (22.0 / 525) - k7 * (1.0 / 40));
    return std::tuple(end, k7, error);
  }
};

/// The state of the loop: t, y, its slope, the size of the next step, steps, and what is left of the interval.
template <class F, class Options>
struct ode_step {
  constexpr auto operator()(auto s, auto t1, auto... w) const {
    const auto [t, y, k, size, n] = s;
    const auto left = t1 - t;
    const auto last = ebb::abs(left) <= size;
    const auto h = ebb::where(last, left, ebb::where(left < 0, -size, size));
    const auto [end, slope, error] = dormand_prince<F>{}(t, y, k, h, w...);
    const auto scale = Options::tolerance * (1 + ebb::maximum(ebb::abs(y), ebb::abs(end)));
    const auto e = ebb::stop_gradient(size_of_error(error, scale));
    const auto good = e <= 1;
    const auto factor = ebb::where(ebb::isfinite(e), ebb::clamp(0.9 * ebb::pow(ebb::maximum(e, 1e-10), -0.2), 0.2, 5.0), 0.2);
    return std::tuple(ebb::where(good, ebb::where(last, t1, t + h), t), ebb::where(good, end, y), ebb::where(good, slope, k),
                      ebb::stop_gradient(ebb::abs(h) * factor), n + 1);
  }
};
template <class F, class Options>
struct ode_steps;
template <class F, int Digits, int Most, class... Other>
struct ode_steps<F, ode_options<Digits, Most, Other...>> {
  using options = ode_options<Digits, Most, Other...>;
  constexpr auto operator()(auto y0, auto t0, auto t1, auto... w) const {
    using T = typename decltype(y0)::value_type;
    const auto zero = ebb::sum(ebb::stop_gradient(y0) * 0);
    const auto from = zero + t0, to = zero + t1;
    const auto slope = F{}(from, y0, w...);
    const auto scale = options::tolerance * (1 + ebb::abs(y0));
    const auto guess = 0.01 * size_of_error(y0, scale) / ebb::maximum(size_of_error(slope, scale), 1e-30);
    const auto first = ebb::stop_gradient(ebb::where(guess > 0, ebb::minimum(ebb::maximum(guess, 1e-6), ebb::abs(to - from)), 1e-6));
    const auto end = ebb::while_loop<at_most<Most>, Other{}...>([](auto s, auto last, auto...) {
      const auto [t, y, k, size, n] = s;
      return t != last && size > std::numeric_limits<T>::epsilon() * ebb::abs(t);
    }, ode_step<F, options>{}, std::tuple(from, y0, slope, first, 0), ebb::whole(to), ebb::whole(w)...);
    const auto [t, y, k, size, n] = end;
    return std::tuple(y, n, t == to && ebb::all(ebb::isfinite(y)));
  }
};

template <class Options>
inline constexpr bool are_ode_options = false;
template <int Digits, int Most, class... Other>
inline constexpr bool are_ode_options<ode_options<Digits, Most, Other...>> = are_keep_options(types<Other...>{});
/// Whether T is a time for a state Y: a number that takes its dtype.
template <class Y, class T>
inline constexpr bool is_time_beside = number<T>;
template <class Y, class T>
  requires in_trace<T>
inline constexpr bool is_time_beside<Y, T> =
    T::rank == 0 && std::is_same_v<promoted<typename Y::value_type, typename T::value_type>, typename Y::value_type>;
template <class F, class Options, class Y, class T0, class T1, class... W>
constexpr int code_of_ode() {
  if constexpr (!are_ode_options<Options>) return 507;
  else if constexpr (constexpr int code = code_of_implicit<F, Y, by_cg_option<1>>(); code != 0) return code;
  else if constexpr (holds_refused<T0> || holds_refused<T1>) return already_reported;
  else if constexpr (!(are_traced<W> && ...)) return 442;
  else if constexpr (!is_time_beside<Y, T0> || !is_time_beside<Y, T1>) return 506;
  else {
    using time = term<typename Y::value_type>;
    if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<F, time, Y, W...>>{}); of_trace != 0)
      return of_trace;
    else if constexpr (holds_refused<result_of_trace<F, time, Y, W...>>) return already_reported;
    else return std::is_same_v<typename argument<result_of_trace<F, time, Y, W...>>::traced, Y> ? 0 : 506;
  }
}

}  // namespace detail

/// y(t1), where y' = f(t, y, w...) and y(t0) = y0, by Dormand's and Prince's method of order 5 with steps of the size that the tolerance
/// asks for: std::tuple(y, number of steps, whether it reached t1). In a traced function; f must not capture: the parameters w are arrays,
/// tuples and structs. t1 may be below t0. Options: ebb::tolerance<n>, 10^-n as the error of a step, absolute and relative, 6 if it is not
/// given; ebb::at_most<n>, 1,000 if it is not given: steps that are tried again count; and one of those of scan, as keep_every<k>.
/// It has gradients by y0, t0, t1 and w, of all orders: see [note: gradients of differential equations].
/// For a solution at several times, scan from one to the next:
///   auto [end, ys] = ebb::scan([](auto y, auto t, auto next, auto w) {
///     const auto z = std::get<0>(ebb::dopri5(f, y, t, next, w));
///     return std::tuple(z, z);
///   }, y0, ebb::slice<0, 0, -1>(times), ebb::slice<0, 1>(times), ebb::whole(w));
/// Shape: y0's, any axes.   Dtype: one for y0, t0 and t1.   Saves: the states before its steps.   Error: of a step, the tolerance.
/// A step that has a NaN or an infinity is tried again with a fifth of its size; then gradients are NaN.
/// Source: Dormand and Prince, J. Comput. Appl. Math. 6 (1980).
template <auto... Option, class F, class Y, class T0, class T1, class... W>
constexpr auto dopri5(F, const Y& y0, const T0& t0, const T1& t1, const W&... w) {
  using options = typename detail::read_ode_options<detail::ode_options<6, 1000>, std::remove_const_t<decltype(Option)>...>::type;
  constexpr int code = detail::code_of_ode<F, options, Y, T0, T1, W...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else return detail::ode_steps<F, options>{}(y0, t0, t1, w...);
}

}  // namespace ebb::inline EBB_ABI
