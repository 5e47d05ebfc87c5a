// ebb/trace/once.hpp — once makes a function whose body is compiled once, however often it is called.
// SPDX-License-Identifier: BSL-1.0
//
//   constexpr auto layer = ebb::once([](auto x, auto w, auto b) { return ebb::tanh(ebb::matmul(x, w) + b); });
//   layer(layer(x, w1, b1), w2, b2)
//
// [note: once]
// Each call in a traced function is a loop of one step, whose body is the function: see [note: loops]. The real arguments are rows, so that
// their gradients are rows as well, which are not summed from step to step. Integers and bools are wholes: a number of steps in the body
// may be one of them. Equal bodies of a graph are one: see add_sub. So are the bodies of the calls, and those of their pull-backs, and
// exec/loop.hpp compiles a body once for all calls that have it.
#pragma once

#include "cond.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 530>
struct refuse_function<Code> {
  static_assert(Code != 530, "[ebb E0530] once: an argument or a result has eight axes, and one is needed for the step");
};

}  // namespace detail

namespace functions {

template <class F>
struct once {};

}  // namespace functions

namespace detail {

/// The call of F in a loop of one step, on arguments with these forms of terms.
template <class F, class... A>
struct called_once : called_in_loop<F, A...> {
  using typename called_in_loop<F, A...>::trace;

  /// By leaf of the arguments: whether it is real, and so a row.
  static constexpr vec<char> reals() {
    vec<char> r;
    const auto put = [&]<class Term>() {
      r.push(real_element<typename Term::value_type>);
      return Term{};
    };
    (static_cast<void>(filled<A>(put)), ...);
    return r;
  }
  /// By leaf: its number as an operand of the loop. Rows come first.
  static constexpr vec<int> numbers() {
    const vec<char> real = reals();
    vec<int> r;
    int row = 0, whole = 0;
    for (char is_real : real) whole += is_real;
    for (char is_real : real) r.push(is_real ? row++ : whole++);
    return r;
  }
  struct body {
    static constexpr graph make() {
      graph g = trace::make();
      const vec<int> number = numbers();
      renumber_arguments(g, number, number.size());
      return g;
    }
  };
  /// Adds the call to g and returns its results; a negative code if the arguments do not fit.
  static constexpr vec<int> add_to(graph& g, const A&... a) {
    const vec<char> real = reals();
    const vec<int> number = numbers(), argument = ids_of(a...);
    vec<int> in(number.size(), -1);
    int rows = 0;
    for (int i = 0; i < in.size(); ++i) {
      const int x = argument[i];
      if (real[i]) ++rows;
      in[number[i]] = real[i] ? g.op(x).kit->reshape(g, x, g.intern(rows_of_shape(1, g.shape_of(x)))) : x;
    }
    return add_call<body>(g, in, {.rows = rows});
  }

  static constexpr int find_code() {
    if constexpr (constexpr int of_function = called_in_loop<F, A...>::template code_with<530>(); of_function != 0) return of_function;
    else if constexpr ((any_leaf<A, has_most_axes> || ...)) return 530;
    else return code_of_adding<called_once, A...>();
  }
  static constexpr int code = find_code();
};

template <class F, class... A>
constexpr int code_of_once() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr ((is_in_context<A> || ...) || (any_leaf<A, is_a_number> || ...)) return 0;
  else if constexpr (!(argument<A>::is_argument && ...)) return 111;
  else return called_once<F, A...>::code;
}

}  // namespace detail

template <class F, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::once<F>, const A&... a) {
  using call = detail::called_once<F, A...>;
  static_cast<void>(detail::refuse_call<call>{});
  if constexpr (call::code != 0) return refused_result{};
  else {
    graph& g = *detail::first_graph(a...);
    g.syms.asking = "once";
    return detail::terms_at<typename call::template result<>>(g, detail::with_known_steps(g, call::add_to(g, a...)));
  }
}
/// The same with numbers among the arguments.
template <class F, class... A>
  requires detail::have_numbers<A...>
constexpr auto apply_function(functions::once<F> f, const A&... a) {
  return detail::apply_to_terms(f, a...);
}

/// The result of once.
template <class F>
struct once_function {
  template <class... A>
  constexpr auto operator()(const A&... a) const {
    if constexpr (detail::are_traced<A...>) {
      constexpr int code = detail::code_of_once<F, A...>();
      static_cast<void>(detail::refuse_call<detail::called_once<F, A...>, code>{});
      if constexpr (code != 0) return refused_result{};
      else return apply_function(functions::once<F>{}, a...);
    } else return F{}(a...);
  }
};

/// f as a function that is compiled once, however often a traced function calls it with arguments of the same types: for layers and steps
/// of the same form. f must not capture. Arguments and results are arrays, tuples and structs.
///   constexpr auto layer = ebb::once([](auto x, auto w, auto b) { return ebb::tanh(ebb::matmul(x, w) + b); });
///   auto deep = [](auto x, auto w, auto b) { return layer(layer(x, w[0], b[0]), w[1], b[1]); };
/// The price: no loop is fused across the border of a call, and each argument and result of a call is an array in memory. On arrays and
/// variables it is f itself.
/// Shape: f's.   Dtype: f's.   Saves: what f saves.
/// Error: the bits of f. The gradient of an argument of several calls is that of each call, summed after it.
template <class F>
constexpr once_function<F> once(F) {
  return {};
}

}  // namespace ebb::inline EBB_ABI
