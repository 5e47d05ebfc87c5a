// ebb/exec/direction.hpp — jvp and hvp: derivatives along a direction.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "gradient.hpp"

#include "../pass/push_forward.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The first half of a tuple's types: of a function's arguments and their tangents, the arguments.
template <class Tuple, class Order>
struct take_types;
template <class... T, std::size_t... I>
struct take_types<std::tuple<T...>, std::index_sequence<I...>> {
  using type = std::tuple<std::tuple_element_t<I, std::tuple<T...>>...>;
};
template <class... T>
using first_half = typename take_types<std::tuple<T...>, std::make_index_sequence<sizeof...(T) / 2>>::type;

template <class>
struct on_types;
template <class... T>
struct on_types<std::tuple<T...>> {
  template <template <class...> class Template, class F>
  using apply = Template<F, T...>;
  template <class F>
  static constexpr bool is_refused = ebb::detail::is_refused<traced<F, T...>>;
  static constexpr vec<int> all_leaves() {
    vec<int> r;
    for (int i = 0; i < leaves_of<T...>; ++i) r.push(i);
    return r;
  }
};

template <class F, class... T>
struct pushed_program {
  using own = first_half<T...>;
  static constexpr graph make() {
    return push_forward(on_types<own>::template apply<traced, F>::g.thaw(), on_types<own>::all_leaves(), own_context_of_pulls<F>);
  }
};
template <class F, class... T>
struct hessian_vector_program {
  using own = first_half<T...>;
  static constexpr graph make() {
    return hessian_vector_product(on_types<own>::template apply<traced, F>::g.thaw(), on_types<own>::all_leaves(),
                                  own_context_of_pulls<F>);
  }
};

template <class... A>
inline constexpr bool tangents_match = [] {
  using all = std::tuple<traced_type<A>...>;
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (std::is_same_v<std::tuple_element_t<I, all>, std::tuple_element_t<I + sizeof...(I), all>> && ...);
  }(std::make_index_sequence<sizeof...(A) / 2>{});
}();

template <class... A>
constexpr int code_of_directions() {
  if constexpr (!are_arguments<A...>) return 111;
  else if constexpr (sizeof...(A) % 2 != 0) return 143;
  else return tangents_match<A...> ? 0 : 143;
}

template <class F>
struct jvp_spec {
  static constexpr const char* name = "ebb::jvp";
  using refusal = std::tuple<refused_result, refused_result>;
  template <class... T>
  using trace = typename on_types<first_half<T...>>::template apply<trace_of, F>;
  template <class... T>
  using program = frozen<pushed_program<F, T...>>;
  template <class... T>
  using output = typename argument<typename on_types<first_half<T...>>::template apply<result_of_trace, F>>::traced;
  template <class... T>
  using result = std::tuple<output<T...>, output<T...>>;
  template <class... A>
  using value = typename argument<result<traced_type<A>...>>::value;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_directions<A...>();
  }
  template <class... A>
  static constexpr int code() {
    return on_types<first_half<traced_type<A>...>>::template is_refused<F> ? -1 : 0;
  }
};

template <class F>
struct hvp_spec {
  static constexpr const char* name = "ebb::hvp";
  using refusal = refused_result;
  template <class... T>
  using trace = typename on_types<first_half<T...>>::template apply<trace_of, F>;
  template <class... T>
  using program = frozen<hessian_vector_program<F, T...>>;
  template <class... T>
  using result = single_or_tuple<first_half<T...>>;
  template <class Tuple>
  struct values;
  template <class... A>
  struct values<std::tuple<A...>> {
    using type = std::tuple<typename argument<A>::value...>;
  };
  template <class... A>
  using value = single_or_tuple<typename values<first_half<A...>>::type>;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_directions<A...>();
  }
  template <class... A>
  static constexpr int code() {
    if constexpr (jvp_spec<F>::template code<A...>() != 0) return jvp_spec<F>::template code<A...>();
    else return is_scalar_result<typename on_types<first_half<traced_type<A>...>>::template apply<result_of_trace, F>> ? 0 : 109;
  }
};

}  // namespace detail

/// jvp(f)(x..., v...): the value of f at x and its derivative along v, in one program.   Source: see [note: a push is a pull of a pull].
/// Shape: both have that of the result; v has that of x.   Throws: as compile.
template <class F>
constexpr auto jvp(F) {
  return detail::callable_of<F, program_function<detail::jvp_spec<F>>>();
}

/// hvp(f)(x..., v...): the Hessian of a scalar function times v; a tuple where there are several arguments.
/// Shape: those of the arguments.   Throws: as compile.
template <class F>
constexpr auto hvp(F) {
  return detail::callable_of<F, program_function<detail::hvp_spec<F>>>();
}

}  // namespace ebb::inline EBB_ABI
