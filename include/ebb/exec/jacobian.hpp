// ebb/exec/jacobian.hpp — jacobian and hessian.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "region.hpp"

#include "../pass/jacobian.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class Y, class X>
struct jacobian_term;
template <class T, std::size_t... E, class U, std::size_t... F>
struct jacobian_term<term<T, E...>, term<U, F...>> {
  using type = term<U, E..., F...>;
};

template <class F, class Wrt, class... T>
struct jacobian_program {
  using output = result_of_trace<F, T...>;
  static constexpr graph make() {
    return jacobian<typename output::value_type>(traced<F, T...>::g.thaw(), leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}),
                                                 own_context_of_pulls<F>);
  }
};

template <class R>
inline constexpr bool is_array_result = false;
template <class T, std::size_t... E>
inline constexpr bool is_array_result<term<T, E...>> = real_element<T>;

/// The function whose jacobian is a hessian says so in messages.
template <class F>
inline constexpr const char* name_of_jacobian = "ebb::jacobian";

template <class F, int... I>
struct jacobian_spec {
  static constexpr const char* name = name_of_jacobian<F>;
  using refusal = single_or_tuple<std::tuple<refused_at<I>...>>;
  template <class... T>
  using trace = trace_of<F, T...>;
  template <class... T>
  using program = frozen<jacobian_program<F, wrt<I...>, T...>>;
  template <class... T>
  using result =
      single_or_tuple<std::tuple<typename jacobian_term<result_of_trace<F, T...>, numbered<I, std::tuple<T...>>>::type...>>;
  template <class... A>
  using value = typename argument<result<traced_type<A>...>>::value;
  template <class... A>
  static constexpr int code_of_arguments() {
    if constexpr (code_of_wrt<wrt<I...>, A...>() != 0) return code_of_wrt<wrt<I...>, A...>();
    else return (is_array_result<numbered<I, std::tuple<traced_type<A>...>>> && ...) ? 0 : 147;
  }
  template <class... A>
  static constexpr int code() {
    if constexpr (is_refused<traced<F, traced_type<A>...>>) return -1;
    else if constexpr (!is_array_result<result_of_trace<F, traced_type<A>...>>) return 147;
    else return has_pulls<F, wrt<I...>, traced_type<A>...> ? 0 : 106;
  }
};

/// The gradient of F as a traced function of its own.
template <class F, int I>
struct gradient_of {
  using type = gradient_of;
  constexpr auto operator()(const auto&... x) const { return program_function<grad_spec<F, I>>{}(x...); }
};
template <class F, int I>
struct entry_of<gradient_of<F, I>> : entry_of<F> {};
template <class F, int I>
inline constexpr const char* name_of_jacobian<gradient_of<F, I>> = "ebb::hessian";
template <class C, class F, int I>
inline constexpr const char* name_of_jacobian<entered<C, gradient_of<F, I>>> = "ebb::hessian";
template <class C, class F, int I>
inline constexpr const char* name_of_jacobian<variant<C, gradient_of<F, I>>> = "ebb::hessian";
/// That of a region is one that may be called where the region may.
template <class F, class... C, int I>
struct gradient_of<region_in<F, C...>, I> {
  using type = region_in<gradient_of<F, I>, C...>;
};

}  // namespace detail

/// The derivatives of each element of f's result with respect to each element of the arguments I..., the first one if none is named.
/// Shape: [shape of the result, shape of the argument]; a tuple for several arguments.   Throws: as compile.
template <int... I, class F>
constexpr auto jacobian(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::jacobian_spec, F, I...>::type>>();
}

/// The second derivatives of a scalar function with respect to argument I.
/// Shape: [shape of the argument, shape of the argument].   Throws: as compile.
template <int I = 0, class F>
constexpr auto hessian(F) {
  return detail::callable_of<F, program_function<detail::jacobian_spec<typename detail::gradient_of<F, I>::type, I>>>();
}

}  // namespace ebb::inline EBB_ABI
