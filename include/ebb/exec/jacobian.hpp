// ebb/exec/jacobian.hpp — jacobian and hessian.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "region.hpp"

#include "../pass/jacobian.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 147, 179>
struct refuse_function<Code> {
  static_assert(Code != 147, "[ebb E0147] the function's results are integers or bools: they have no derivatives");
  static_assert(Code != 179, "[ebb E0179] the derivatives have more than eight axes, or an op in the function cannot take a leading axis");
};

/// The form of the derivatives of a form of terms Y with respect to X: Y's, with X's in place of each term, and the term's extents first
/// in each array: see [note: structs of derivatives].
template <class Y>
struct in_front {
  template <class Term>
  struct extended;
  template <class U, std::size_t... F>
  struct extended<term<U, F...>> {
    template <class T, std::size_t... E>
    static term<U, E..., F...> with(std::type_identity<term<T, E...>>);
    using type = decltype(with(std::type_identity<Y>{}));
  };
  template <class Term>
  using of = typename extended<Term>::type;
};
template <class X>
struct by {
  template <class Term>
  using of = with_step<X, in_front<Term>>;
};
template <class Y, class X>
using derivative_form = with_step<Y, by<X>>;

/// The number of real elements of all terms; dyn if their types do not say it.
template <class T, std::size_t... E>
constexpr std::size_t elements_in(std::type_identity<term<T, E...>>) {
  if (!real_element<T>) return 0;
  return ((E == dyn) || ...) ? dyn : (std::size_t{1} * ... * E);
}
template <class... Term>
constexpr std::size_t elements_in(types<Term...>) {
  std::size_t n = 0;
  for (const std::size_t one : {std::size_t{0}, elements_in(std::type_identity<Term>{})...}) n = n == dyn || one == dyn ? dyn : n + one;
  return n;
}

/// How a jacobian is computed; see [note: pulled or pushed].
enum class jacobian_mode { by_shape, pulled, pushed };

template <jacobian_mode Mode, class Results, class Arguments>
inline constexpr bool is_pushed = Mode == jacobian_mode::pushed;
template <class Results, class Arguments>
inline constexpr bool is_pushed<jacobian_mode::by_shape, Results, Arguments> = [] {
  constexpr std::size_t out = elements_in(Results{}), in = elements_in(Arguments{});
  return out != dyn && in != dyn && in < out;
}();

template <class F, class Wrt, jacobian_mode Mode, class Terms, class... T>
struct jacobian_program;
template <class F, int... I, jacobian_mode Mode, class... Y, class... T>
struct jacobian_program<F, wrt<I...>, Mode, types<Y...>, T...> {
  using by = typename argument<std::tuple<numbered<I, std::tuple<T...>>...>>::terms;
  template <class... X>
  static constexpr graph pushed(types<X...>, const vec<int>& leaves) {
    return pushed_jacobian(traced<F, T...>::g.thaw(), leaves, std::type_identity<std::tuple<typename Y::value_type...>>{},
                           std::type_identity<std::tuple<typename X::value_type...>>{}, own_context_of_pulls<F>);
  }
  static constexpr graph make() {
    const vec<int> leaves = leaf_numbers(wrt<I...>{}, std::type_identity<std::tuple<T...>>{});
    if constexpr (is_pushed<Mode, types<Y...>, by>) return pushed(by{}, leaves);
    else return jacobian<typename Y::value_type...>(traced<F, T...>::g.thaw(), leaves, own_context_of_pulls<F>);
  }
  static constexpr bool pushes = is_pushed<Mode, types<Y...>, by>;
  /// Whether derivatives are pushed through a custom equation. If such a program is refused, the reason is a pull that is not linear: see
  /// drop_inputs.
  static constexpr bool is_pushed_by_a_pull_of_users() {
    const graph g = traced<F, T...>::g.thaw();
    for (int k = 0; k < g.size(); ++k)
      if (is_pushed<Mode, types<Y...>, by> && g.op(k).what == kind::custom) return true;
    return false;
  }
};

template <class F, jacobian_mode Mode, int... I>
struct jacobian_in_mode : transform_of<F> {
  using refusal = single_or_tuple<std::tuple<refused_at<I>...>>;
  template <class... T>
  using result = argument<result_of_trace<F, T...>>;
  template <class... T>
  using program = frozen<jacobian_program<F, wrt<I...>, Mode, typename result<T...>::terms, T...>>;
  template <class R, class... A>
  using returned = derivative_form<R, single_or_tuple<numbered_arguments<std::tuple<traced_type<A>...>, I...>>>;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_wrt<wrt<I...>, A...>();
  }
  template <class... A>
  static constexpr int code() {
    if constexpr (!has_real<typename result<traced_type<A>...>::traced>) return 147;
    else if constexpr (constexpr int of_pulls = code_of_pulls_of<F, wrt<I...>, program_of<A...>::pushes, traced_type<A>...>; of_pulls != 0)
      return of_pulls;
    else if constexpr (!is_constant<program<traced_type<A>...>>) return 0;
    else if constexpr (!is_refused<program<traced_type<A>...>>) return 0;
    else return program_of<A...>::is_pushed_by_a_pull_of_users() ? 347 : 179;
  }
  template <class... A>
  using program_of = jacobian_program<F, wrt<I...>, Mode, typename result<traced_type<A>...>::terms, traced_type<A>...>;
};

template <class F, int... I>
struct jacobian_spec : jacobian_in_mode<F, jacobian_mode::by_shape, I...> {
  static constexpr const char* name = "ebb::jacobian";
};
template <class F, int... I>
struct jacfwd_spec : jacobian_in_mode<F, jacobian_mode::pushed, I...> {
  static constexpr const char* name = "ebb::jacfwd";
};
template <class F, int... I>
struct jacrev_spec : jacobian_in_mode<F, jacobian_mode::pulled, I...> {
  static constexpr const char* name = "ebb::jacrev";
};

/// The gradient of F as a traced function.
template <class F, int... I>
struct gradient_of : program_function<grad_spec<F, I...>> {};
template <class F, int... I>
struct entry_of<gradient_of<F, I...>> : entry_of<F> {};

template <class F, int... I>
struct hessian_spec : jacobian_spec<gradient_of<F, I...>, I...> {
  using function = F;
  static constexpr const char* name = "ebb::hessian";
};

}  // namespace detail

/// The derivatives of each element of f's results with respect to each element of the arguments I..., the first one if none is named.
/// Shape: [shape of the result, shape of the argument], in the form of the results with the arguments' forms in place of each array: a
/// tuple for several arguments, a struct for a struct. Derivatives of and by integers are zeros.   Dtype: that of the argument.
/// Pushed if the types say that the arguments I... have fewer elements than the results, else pulled: see [note: pulled or pushed].
/// Error: as the function's pulls; both modes agree to rounding.   Throws: as compile.
template <int... I, class F>
constexpr auto jacobian(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::jacobian_spec, F, I...>::type>>();
}
/// The jacobian by one push for each element of the arguments: for few arguments and many results, also if an extent is dyn.
/// Shape, Dtype, Error, Throws: as jacobian.
template <int... I, class F>
constexpr auto jacfwd(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::jacfwd_spec, F, I...>::type>>();
}
/// The jacobian by one pull-back for each element of the results: for many arguments and few results.
/// Shape, Dtype, Error, Throws: as jacobian.
template <int... I, class F>
constexpr auto jacrev(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::jacrev_spec, F, I...>::type>>();
}

/// The second derivatives of a scalar function with respect to the arguments I..., the first one if none is named: the jacobian of grad.
/// Shape: [shape of the argument, shape of the argument]; for several arguments a tuple of tuples, for a struct a struct of structs: of
/// h = ebb::hessian(f)(p), h.w.b has the shapes of p.w and p.b.   Throws: as compile.
template <int... I, class F>
constexpr auto hessian(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::hessian_spec, F, I...>::type>>();
}

}  // namespace ebb::inline EBB_ABI
