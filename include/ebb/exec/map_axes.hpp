// ebb/exec/map_axes.hpp — map along axes of the caller's choice.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::map<ebb::in<1, ebb::unmapped, 0>, ebb::out<1>>(f, x, w, y)      f(column of x, w, row of y): the results are columns
// It is map between moved axes: those of the arguments are moved to the front, and those of the results from there. A move that a product
// or a loop can read in place costs nothing.
#pragma once

#include "eager.hpp"

#include "../op/arrange.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 570, 571>
struct refuse_function<Code> {
  static_assert(Code != 570, "[ebb E0570] map: ebb::in has an axis for each argument, one that all arrays in it have; ebb::unmapped stands "
                             "for whole(...)");
  static_assert(Code != 571, "[ebb E0571] map: ebb::out has an axis that all arrays of the result have, or one for each part of a tuple");
};

}  // namespace detail

/// In ebb::in: the argument is the same for all rows, as one in whole(...).
inline constexpr int unmapped = std::numeric_limits<int>::min();
/// The axis of each argument that map goes along: of all arrays in a tuple or struct the same one. Negative ones count from the last axis.
template <int... Axis>
struct in {};
/// The axis of the result that its rows lie along: of all arrays in it the same one, or one for each part of a tuple.
template <int... Axis>
struct out {};

namespace detail {

template <int From, int To>
struct axis_mover {
  constexpr auto operator()(const auto& x) const { return movedim<From, To>(x); }
};
template <class A, int From, int To>
struct moved_form {
  using type = with_step<A, step_by<axis_mover<From, To>>>;
};
template <class A>
struct moved_form<A, unmapped, 0> {
  using type = A;
};
/// A form of terms with one axis of each moved.
template <int From, int To, class A>
constexpr auto with_axes_moved(const A& a) {
  if constexpr (From == To) return a;
  else return with_each_term(axis_mover<From, To>{}, a);
}
template <int Axis>
struct has_axis_number {
  template <class Leaf>
  using is = std::bool_constant<(Axis < Leaf::rank && Axis >= -Leaf::rank)>;
};
template <int Axis, class A>
inline constexpr bool have_axis = all_leaves<A, has_axis_number<Axis>::template is>;

/// F on the rows along the axes In of the arguments, with results along the axes Out.
template <class In, class Out, class F>
struct mapped_along;
template <int... In, int... Out, class F>
struct mapped_along<in<In...>, out<Out...>, F> {
  /// The call of map between the moved axes.
  template <class... A>
  using call = mapped<F, std::integer_sequence<bool, In == unmapped...>,
                      typename moved_form<eager_term<promoted_among<A...>, A>, In, 0>::type...>;
  /// The code that refuses a call, or 0. In a context the result is looked at later.
  template <class... A>
  static constexpr int code() {
    if constexpr (code_of_function<F> != 0) return code_of_function<F>;
    else if constexpr ((holds_refused<A> || ...)) return already_reported;
    else if constexpr (sizeof...(In) != sizeof...(A) || (is_whole<A> || ...)) return 570;
    else if constexpr ((is_in_context<A> || ...)) return ((In == unmapped || have_axis<In, A>) && ...) ? 0 : 570;
    else if constexpr (!are_arguments<A...>) return 111;
    else if constexpr (!((In == unmapped || have_axis<In, typename argument<A>::traced>) && ...)) return 570;
    else if constexpr (call<A...>::code != 0) return call<A...>::code;
    else return code_of_result<typename call<A...>::template result<>>();
  }

  template <class... A>
  constexpr auto operator()(const A&... a) const {
    if constexpr ((is_in_context<A> || ...)) {
      using C = context_among<A...>;
      return into_context<C>(mapped_along<in<In...>, out<Out...>, entered<C, F>>{}(into_context<off>(a)...));
    } else return moved_back(map(F{}, rows_first<In>(a)...));
  }

 private:
  template <int Axis, class A>
  static constexpr auto rows_first(const A& a) {
    if constexpr (Axis == unmapped) return whole_argument<A>{a};
    else return with_axes_moved<Axis, 0>(a);
  }
  template <class R>
  static constexpr int code_of_result() {
    if constexpr (holds_refused<R>) return already_reported;
    else if constexpr (sizeof...(Out) == 1) return (have_axis<Out, R> && ...) ? 0 : 571;
    else if constexpr (form<R>::is_leaf) return 571;
    else if constexpr (!requires { requires std::tuple_size_v<R> == sizeof...(Out) && !form<R>::is_loop; }) return 571;
    else
      return []<std::size_t... I>(std::index_sequence<I...>) {
        return (have_axis<Out, std::tuple_element_t<I, R>> && ...) ? 0 : 571;
      }(std::make_index_sequence<sizeof...(Out)>{});
  }
  template <class R>
  static constexpr auto moved_back(const R& r) {
    constexpr int code = code_of_result<R>();
    static_cast<void>(refuse_function<code>{});
    if constexpr (code != 0) return refused_result{};
    else if constexpr (sizeof...(Out) == 1) return with_axes_moved<0, Out...>(r);
    else
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(with_axes_moved<0, Out>(std::get<I>(r))...);
      }(std::make_index_sequence<sizeof...(Out)>{});
  }
};

template <class Function>
struct map_axes_spec : compile_spec<Function> {
  static constexpr const char* name = "ebb::map";
};

template <class Option>
inline constexpr bool is_in_axes = false;
template <int... Axis>
inline constexpr bool is_in_axes<in<Axis...>> = true;
template <class Option>
inline constexpr bool is_out_axes = false;
template <int... Axis>
inline constexpr bool is_out_axes<out<Axis...>> = sizeof...(Axis) > 0;

}  // namespace detail

/// f for each row along the given axes: map<in<0, unmapped, 1>, out<1>>(f, x, w, y) goes along axis 0 of x and axis 1 of y, with w whole,
/// and the rows of the result lie along axis 1. These are JAX's in_axes and out_axes. All else is as in map.
/// Shape: f's result with the new axis at its place.   Error: each row has the bits of a call of f on that row.
template <class In, class Out = out<0>, class F, class... A>
  requires(detail::is_in_axes<In> && detail::is_out_axes<Out>)
constexpr auto map(F, const A&... a) {
  using function = detail::mapped_along<In, Out, F>;
  constexpr int code = function::template code<A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = function::template call<A...>::show_reason();
  if constexpr (code != 0) return refused_result{};
  else if constexpr (detail::are_traced<A...>) return function{}(a...);
  else return program_function<detail::map_axes_spec<function>>{}(detail::as_eager_argument<detail::promoted_among<A...>>(a)...);
}

}  // namespace ebb::inline EBB_ABI
