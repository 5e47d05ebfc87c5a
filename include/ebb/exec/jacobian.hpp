// ebb/exec/jacobian.hpp — jacobian and hessian.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "region.hpp"

#include "../pass/jacobian.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The form of the derivatives of a form of terms Y with respect to X: Y's, with X's in the place of each term, and the term's extents in
/// front of each of those, see [note: structs of derivatives].
template <class Y, class X>
struct derivative_form;
template <class Y>
struct in_front {
  template <class X>
  using of = typename derivative_form<Y, X>::type;
};
template <class X>
struct by {
  template <class Y>
  using of = typename derivative_form<Y, X>::type;
};
template <class T, std::size_t... E, class U, std::size_t... F>
struct derivative_form<term<T, E...>, term<U, F...>> {
  using type = term<U, E..., F...>;
};
template <class T, std::size_t... E, class... X>
struct derivative_form<term<T, E...>, std::tuple<X...>> {
  using type = std::tuple<typename derivative_form<term<T, E...>, X>::type...>;
};
template <class T, std::size_t... E, template <template <class, std::size_t...> class> class Struct,
          template <class, std::size_t...> class Array>
struct derivative_form<term<T, E...>, Struct<Array>> : struct_after<Struct, term, steps_of<Array>, in_front<term<T, E...>>> {};
template <class... Y, class X>
struct derivative_form<std::tuple<Y...>, X> {
  using type = std::tuple<typename derivative_form<Y, X>::type...>;
};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array, class X>
struct derivative_form<Struct<Array>, X> : struct_after<Struct, term, steps_of<Array>, by<X>> {};

template <class F, class Wrt, class Terms, class... T>
struct jacobian_program;
template <class F, class Wrt, class... Y, class... T>
struct jacobian_program<F, Wrt, std::tuple<Y...>, T...> {
  static constexpr graph make() {
    return jacobian<typename Y::value_type...>(traced<F, T...>::g.thaw(), leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}),
                                               own_context_of_pulls<F>);
  }
};

template <class F, int... I>
struct jacobian_spec {
  static constexpr const char* name = "ebb::jacobian";
  using refusal = single_or_tuple<std::tuple<refused_at<I>...>>;
  template <class... T>
  using function_result = argument<result_of_trace<F, T...>>;
  template <class... T>
  using trace = trace_of<F, T...>;
  template <class... T>
  using program = frozen<jacobian_program<F, wrt<I...>, typename function_result<T...>::terms, T...>>;
  template <class... T>
  using result =
      typename derivative_form<typename function_result<T...>::traced, single_or_tuple<std::tuple<numbered<I, std::tuple<T...>>...>>>::type;
  template <class... A>
  using value = typename argument<result<traced_type<A>...>>::value;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_wrt<wrt<I...>, A...>();
  }
  template <class... A>
  static constexpr int code() {
    if constexpr (is_refused<traced<F, traced_type<A>...>>) return -1;
    else if constexpr (!has_real<typename function_result<traced_type<A>...>::terms>) return 147;
    else if constexpr (!has_pulls<F, wrt<I...>, traced_type<A>...>) return 106;
    else return is_refused<program<traced_type<A>...>> ? 179 : 0;
  }
};

/// The gradient of F as a traced function of its own.
template <class F, int... I>
struct gradient_of : program_function<grad_spec<F, I...>> {};
template <class F, int... I>
struct entry_of<gradient_of<F, I...>> : entry_of<F> {};

template <class F, int... I>
struct hessian_spec : jacobian_spec<gradient_of<F, I...>, I...> {
  static constexpr const char* name = "ebb::hessian";
};

}  // namespace detail

/// The derivatives of each element of f's results with respect to each element of the arguments I..., the first one if none is named.
/// Shape: [shape of the result, shape of the argument], in the form of the results with the arguments' forms in the place of each array:
/// for several arguments a tuple, for a struct the struct. Those of and by integers are zeros.   Throws: as compile.
template <int... I, class F>
constexpr auto jacobian(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::jacobian_spec, F, I...>::type>>();
}

/// The second derivatives of a scalar function with respect to the arguments I..., the first one if none is named: the jacobian of grad.
/// Shape: [shape of the argument, shape of the argument]; for several arguments a tuple of tuples, for a struct a struct of structs: of
/// h = ebb::hessian(f)(p), h.w.b has the shapes of p.w and p.b.   Throws: as compile.
template <int... I, class F>
constexpr auto hessian(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::hessian_spec, F, I...>::type>>();
}

}  // namespace ebb::inline EBB_ABI
