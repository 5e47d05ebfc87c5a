// ebb/exec/gradient.hpp — compile, value_and_grad, grad.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "function.hpp"

#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 106, 108, 109, 117, 250, 251, 438, 441>
struct refuse_function<Code> {
  static_assert(Code != 106, "[ebb E0106] the function uses an op without a pull: write one beside its value, or use ebb::stop_gradient");
  static_assert(Code != 108, "[ebb E0108] an integer has no gradient: differentiate by arguments of floating-point type");
  static_assert(Code != 109, "[ebb E0109] only a scalar has a gradient: end the function with ebb::sum, or use ebb::jacobian");
  static_assert(Code != 117, "[ebb E0117] there is no argument of that number to differentiate by");
  static_assert(Code != 250, "[ebb E0250] with ebb::has_aux the function returns std::tuple(loss, aux...), and the loss is a scalar");
  static_assert(Code != 251, "[ebb E0251] the function returns a tuple: if only its first part is differentiated, add ebb::has_aux");
  static_assert(Code != 438, "[ebb E0438] a while_loop without a bound has no gradient: write ebb::while_loop<ebb::at_most<n>>(...), or "
                             "use jvp or jacfwd");
  static_assert(Code != 441, "[ebb E0441] a while_loop without a bound has one derivative along a direction and no second one: write "
                             "ebb::while_loop<ebb::at_most<n>>(...)");
};

template <int... I>
struct wrt {
  static constexpr int count = sizeof...(I);
};

/// Clang itself would refuse a negative number, before a sentence is printed.
template <int I, class Tuple>
using numbered = std::tuple_element_t<static_cast<std::size_t>(I), Tuple>;

/// The numbers of the leaves of the arguments I..., given all argument types.
template <int... I, class... T>
constexpr vec<int> leaf_numbers(wrt<I...>, std::type_identity<std::tuple<T...>>) {
  vec<int> r;
  constexpr int leaves[] = {argument<T>::leaves..., 0};
  ([&] {
    int first = 0;
    for (int k = 0; k < I; ++k) first += leaves[k];
    for (int k = 0; k < leaves[I]; ++k) r.push(first + k);
  }(), ...);
  return r;
}

/// Whether an argument has a gradient: integers have none.
template <class Term>
using is_real_term = std::bool_constant<real_element<typename Term::value_type>>;
template <class T>
inline constexpr bool has_real = any_is<is_real_term>(leaf_types<T>{});

/// Whether the result is a scalar, which has a gradient.
template <class R>
inline constexpr bool is_scalar_result = number<R> && std::is_floating_point_v<R>;
template <class T>
inline constexpr bool is_scalar_result<term<T>> = real_element<T>;
/// Whether the result is a tuple whose first part may have a gradient.
template <class R>
inline constexpr bool begins_with_scalar = false;
template <class Loss, class... Aux>
inline constexpr bool begins_with_scalar<std::tuple<Loss, Aux...>> = is_scalar_result<Loss>;

/// The policy of F, and the context of its pulls in a program with F. Without a policy it is the context of the call, which must be
/// declared: see [note: policies].
template <class F>
using policy_for = resolved_policy<same_as_forward, typename entry_of<F>::type>;
template <class F>
inline constexpr maybe_context own_context_of_pulls =
    std::is_same_v<policy_for<F>, off> ? maybe_context() : maybe_context(context_of_pulls<policy_for<F>>);

/// The graph of Make: a constant, or made again for a watch.
template <class Make, bool Watched>
constexpr graph made() {
  if constexpr (Watched) return Make::template make<watched>();
  else return frozen<Make>::g.thaw();
}

template <class F, class Wrt, class... T>
struct gradient_program {
  static constexpr graph_size room = traced<F, T...>::size.times(4);
  template <bool Watched = false>
  static constexpr graph make() {
    return value_and_gradient<Watched>(traced<F, T...>::g.thaw(), leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}),
                                       own_context_of_pulls<F>);
  }
};
template <class F, class... T>
struct forward_program {
  static constexpr graph_size room = traced<F, T...>::size.times(1);
  template <bool Watched = false>
  static constexpr graph make() {
    return exact<Watched>(traced<F, T...>::g.thaw());
  }
};

/// 0 if all ops between these arguments and the outputs of g can be pulled, else a code.
constexpr int code_of_pulls(const graph& g, const vec<int>& leaves, bool along = false) {
  const int k = first_without_pull(g, equations_of_inputs(g, leaves), along);
  return k < 0 ? 0 : !is_open_loop(g, k, along) ? 106 : along ? 441 : 438;
}
/// Along: for derivatives along a direction.
template <class F, class Wrt, bool Along, class... T>
inline constexpr int code_of_pulls_of = [] {
  return code_of_pulls(traced<F, T...>::g.thaw(), leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}), Along);
}();

/// Whether the arguments of the gradient exist and are floats.
template <class Wrt, class... A>
constexpr int code_of_wrt() {
  return []<int... I>(wrt<I...>) {
    if constexpr (!are_arguments<A...>) return 111;
    else if constexpr (((I < 0 || I >= static_cast<int>(sizeof...(A))) || ...)) return 117;
    else if constexpr (!(has_real<numbered<I, std::tuple<traced_type<A>...>>> && ...)) return 108;
    else return 0;
  }(Wrt{});
}

template <class F, class... T>
inline constexpr bool holds_derivatives<frozen<forward_program<F, T...>>> = false;
template <class F, class... T>
inline constexpr bool holds_derivatives<frozen<trace_of<F, T...>>> = false;

template <class F>
struct compile_spec : transform_of<F> {
  static constexpr const char* name = "ebb::compile";
  template <class... T>
  using program = frozen<forward_program<F, T...>>;
  /// The trace as it is written, so that f and ebb::compile(f) have the same derivatives: rewriting before it is differentiated may join
  /// what has cotangents of its own, such as x - 0.0 and x, and then sums are in another order.
  template <class... T>
  using spliced = traced<F, T...>;
  template <class... T>
  using asking = traced<F, T...>;
  template <class R, class... A>
  using returned = R;
};

/// The arguments with these numbers.
template <class Arguments, int... I>
using numbered_arguments = std::tuple<numbered<I, Arguments>...>;

/// The first output is the loss. The others are auxiliary results.
template <class F, class Wrt, class... T>
inline constexpr int code_of_pulls_of_loss = [] {
  graph g = traced<F, T...>::g.thaw();
  g.out = {g.out[0]};
  return code_of_pulls(g, leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}));
}();

template <class F, int... I>
struct value_and_grad_spec : transform_of<F> {
  static constexpr const char* name = "ebb::value_and_grad";
  using refusal = std::tuple<refused_result, refused_at<I>...>;
  template <class... T>
  using program = frozen<gradient_program<F, wrt<I...>, T...>>;
  template <class R, class... A>
  using returned = std::tuple<R, numbered<I, std::tuple<A...>>...>;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_wrt<wrt<I...>, A...>();
  }
  template <class... A>
  static constexpr int code() {
    using R = result_of_trace<F, traced_type<A>...>;
    if constexpr (begins_with_scalar<R>) return 251;
    else if constexpr (!is_scalar_result<R>) return 109;
    else return code_of_pulls_of_loss<F, wrt<I...>, traced_type<A>...>;
  }
};

/// The same for a function that returns (loss, aux...): only the loss is differentiated.
template <class F, int... I>
struct value_and_grad_aux_spec : value_and_grad_spec<F, I...> {
  using refusal = std::tuple<refused_result, refused_result, refused_at<I>...>;  // the number of auxiliary results is unknown then
  template <class R, class... A>
  using returned = joined_tuple<R, numbered_arguments<std::tuple<A...>, I...>>;
  template <class... A>
  static constexpr int code() {
    if constexpr (!begins_with_scalar<result_of_trace<F, traced_type<A>...>>) return 250;
    else return code_of_pulls_of_loss<F, wrt<I...>, traced_type<A>...>;
  }
};

/// The gradients alone, then the auxiliary results.
template <class F, class Wrt, class... T>
struct gradient_only_program {
  using both = frozen<gradient_program<F, Wrt, T...>>;
  static constexpr graph_size room = both::size.times(1);
  template <bool Watched = false>
  static constexpr graph make() {
    graph g = made<gradient_program<F, Wrt, T...>, Watched>();
    const int results = argument<result_of_trace<F, T...>>::leaves;
    vec<int> out;
    for (int o = results; o < g.out.size(); ++o) out.push(g.out[o]);
    for (int o = 1; o < results; ++o) out.push(g.out[o]);
    return with_outputs(static_cast<graph&&>(g), out);
  }
};
template <class F, int... I>
struct grad_spec : value_and_grad_spec<F, I...> {
  static constexpr const char* name = "ebb::grad";
  using refusal = single_or_tuple<std::tuple<refused_at<I>...>>;
  template <class... T>
  using program = frozen<gradient_only_program<F, wrt<I...>, T...>>;
  template <class R, class... A>
  using returned = single_or_tuple<numbered_arguments<std::tuple<A...>, I...>>;
};
template <class F, int... I>
struct grad_aux_spec : value_and_grad_aux_spec<F, I...> {
  static constexpr const char* name = "ebb::grad";
  using refusal = std::tuple<refused_at<I>..., refused_result>;
  template <class... T>
  using program = frozen<gradient_only_program<F, wrt<I...>, T...>>;
  template <class R, class... A>
  using returned = joined_tuple<numbered_arguments<std::tuple<A...>, I...>, boost::mp11::mp_pop_front<R>>;
};

template <template <class, int...> class Spec, class F, int... I>
struct or_first {
  using type = Spec<F, I...>;
};
template <template <class, int...> class Spec, class F>
struct or_first<Spec, F> {
  using type = Spec<F, 0>;
};

template <class Spec>
struct entry_of<program_function<Spec>> : entry_of<Spec> {};
template <class F>
struct entry_of<compile_spec<F>> : entry_of<F> {};

template <class F, class... A>
constexpr auto call_compiled(F, const A&... a) {
  return program_function<compile_spec<F>>{}(a...);
}

}  // namespace detail

/// Tag: the function returns (loss, aux...), of which only the loss is differentiated.
struct has_aux_t {};
inline constexpr has_aux_t has_aux{};

/// The value of a scalar function and its gradients with respect to the arguments I..., the first one if none is named, in one program.
/// Integers and bools in a tuple or struct with floats have zeros as gradients.
/// Shape: gradients have the shapes of their arguments.   Throws: as compile.
template <int... I, class F>
constexpr auto value_and_grad(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::value_and_grad_spec, F, I...>::type>>();
}

/// The same for a function that returns std::tuple(loss, aux...). Auxiliary results are arrays, numbers, tuples or structs of any dtype,
/// and need no pull.   Returns: loss, aux..., gradients...
///   auto [loss, logits, dw] = ebb::value_and_grad<1>(f, ebb::has_aux)(x, w);
template <int... I, class F>
constexpr auto value_and_grad(F, has_aux_t) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::value_and_grad_aux_spec, F, I...>::type>>();
}

/// The gradients alone: a single one, or a tuple of several.   Shape, Throws: as value_and_grad.
template <int... I, class F>
constexpr auto grad(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::grad_spec, F, I...>::type>>();
}
/// For a function that returns std::tuple(loss, aux...): the gradients, then the auxiliary results.
///   auto [dw, logits] = ebb::grad<1>(f, ebb::has_aux)(x, w);
template <int... I, class F>
constexpr auto grad(F, has_aux_t) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::grad_aux_spec, F, I...>::type>>();
}

}  // namespace ebb::inline EBB_ABI
