// ebb/exec/direction.hpp — jvp and hvp: derivatives along a direction.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "gradient.hpp"

#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 143, 252>
struct refuse_function<Code> {
  static_assert(Code != 143, "[ebb E0143] give the arguments, then as many directions of the same types");
  static_assert(Code != 252, "[ebb E0252] give the arguments, then one direction for each that is named, of the same type");
};

/// The first types of a tuple: of a function's arguments and the directions after them, the arguments.
template <class Tuple, class Order>
struct take_types;
template <class... T, std::size_t... I>
struct take_types<std::tuple<T...>, std::index_sequence<I...>> {
  using type = std::tuple<std::tuple_element_t<I, std::tuple<T...>>...>;
};

/// The arguments with a direction: the named ones, else all.
template <class Wrt, class Order>
struct named_or_all {
  using type = Wrt;
};
template <int... I>
struct named_or_all<wrt<>, std::integer_sequence<int, I...>> {
  using type = wrt<I...>;
};

/// T...: the types of a call's arguments and of the directions after them. Wrt: the named arguments.
template <class Wrt, class... T>
struct directed {
  static constexpr int given = sizeof...(T);
  static constexpr bool complete = Wrt::count > 0 ? given > Wrt::count : given % 2 == 0;
  static constexpr int arguments = !complete ? given : Wrt::count > 0 ? given - Wrt::count : given / 2;
  using own = typename take_types<std::tuple<T...>, std::make_index_sequence<static_cast<std::size_t>(arguments)>>::type;
  using along = typename named_or_all<Wrt, std::make_integer_sequence<int, arguments>>::type;

  /// Whether each direction has the type of its argument.
  static constexpr bool match = [] {
    if constexpr (!complete) return false;
    else return []<int... I>(wrt<I...>) {
      return []<int... Place>(std::integer_sequence<int, Place...>) {
        return (std::is_same_v<numbered<I, std::tuple<T...>>, numbered<arguments + Place, std::tuple<T...>>> && ...);
      }(std::make_integer_sequence<int, static_cast<int>(sizeof...(I))>{});
    }(along{});
  }();
};

template <class Own>
struct on_types;
template <class... T>
struct on_types<std::tuple<T...>> {
  template <template <class...> class Template, class... Front>
  using apply = Template<Front..., T...>;
  template <class F, class Wrt>
  static constexpr int code_along = code_of_pulls_of<F, Wrt, true, T...>;
  template <class F, class Wrt>
  static constexpr int code_of_pulls = code_of_pulls_of<F, Wrt, false, T...>;
  template <class Wrt>
  static constexpr int code_of_wrt = ebb::detail::code_of_wrt<Wrt, T...>();
};
/// The properties of a call that depend on its arguments alone.
template <class Wrt, class... T>
using on_arguments = on_types<typename directed<Wrt, T...>::own>;
template <class F, class Wrt, class... T>
using result_along = typename on_arguments<Wrt, T...>::template apply<result_of_trace, F>;

template <class F, class Wrt, class... T>
struct directed_program {
  using call = directed<Wrt, T...>;
  static constexpr graph thaw() { return on_arguments<Wrt, T...>::template apply<traced, F>::g.thaw(); }
  static constexpr vec<int> leaves() { return leaf_numbers(typename call::along{}, std::type_identity<typename call::own>{}); }
};
template <class F, class Wrt, class... T>
struct pushed_program : directed_program<F, Wrt, T...> {
  using base = directed_program<F, Wrt, T...>;
  template <bool Watched = false>
  static constexpr graph make() {
    return push_forward<Watched>(base::thaw(), base::leaves(), own_context_of_pulls<F>);
  }
};
template <class F, class Wrt, class... T>
struct hessian_vector_program : directed_program<F, Wrt, T...> {
  using base = directed_program<F, Wrt, T...>;
  template <bool Watched = false>
  static constexpr graph make() {
    return hessian_vector_product<Watched>(base::thaw(), base::leaves(), own_context_of_pulls<F>);
  }
};

/// The common part of jvp and hvp.
template <class F, int... I>
struct directed_spec : transform_of<F> {
  template <class... T>
  using call = directed<wrt<I...>, T...>;
  template <class... T>
  using trace = typename on_arguments<wrt<I...>, T...>::template apply<trace_of, F>;
  template <class... A>
  static constexpr int code_of_arguments() {
    constexpr int of_count = sizeof...(I) > 0 ? 252 : 143;
    if constexpr (!are_arguments<A...>) return 111;
    else if constexpr (!call<traced_type<A>...>::complete) return of_count;
    else {
      constexpr int of_named = sizeof...(I) > 0 ? on_arguments<wrt<I...>, traced_type<A>...>::template code_of_wrt<wrt<I...>> : 0;
      if constexpr (of_named != 0) return of_named;
      else return call<traced_type<A>...>::match ? 0 : of_count;
    }
  }
  template <class... A>
  static constexpr int code() {
    using on = on_arguments<wrt<I...>, traced_type<A>...>;
    return on::template code_of_pulls<F, typename call<traced_type<A>...>::along>;
  }
};

template <class F, int... I>
struct jvp_spec : directed_spec<F, I...> {
  static constexpr const char* name = "ebb::jvp";
  using refusal = std::tuple<refused_result, refused_result>;
  template <class... T>
  using program = frozen<pushed_program<F, wrt<I...>, T...>>;
  template <class R, class... A>
  using returned = std::tuple<R, R>;
  template <class... A>
  static constexpr int code() {
    using on = on_arguments<wrt<I...>, traced_type<A>...>;
    constexpr int of_function = on::template code_along<F, typename directed_spec<F, I...>::template call<traced_type<A>...>::along>;
    if constexpr (of_function != 0) return of_function;
    else if constexpr (!is_constant<program<traced_type<A>...>>) return 0;
    else return is_refused<program<traced_type<A>...>> ? 347 : 0;
  }
};

/// The arguments with a direction.
template <class Wrt, class... A>
struct arguments_along;
template <int... I, class... A>
struct arguments_along<wrt<I...>, A...> {
  using type = single_or_tuple<numbered_arguments<std::tuple<A...>, I...>>;
};
template <class F, int... I>
struct hvp_spec : directed_spec<F, I...> {
  static constexpr const char* name = "ebb::hvp";
  using refusal = single_or_tuple<std::conditional_t<sizeof...(I) == 0, std::tuple<refused_result>, std::tuple<refused_at<I>...>>>;
  template <class... T>
  using program = frozen<hessian_vector_program<F, wrt<I...>, T...>>;
  template <class R, class... A>
  using returned = typename arguments_along<typename directed<wrt<I...>, A...>::along, A...>::type;
  template <class... A>
  static constexpr int code() {
    constexpr int of_function = directed_spec<F, I...>::template code<A...>();
    if constexpr (of_function != 0) return of_function;
    else return is_scalar_result<result_along<F, wrt<I...>, traced_type<A>...>> ? 0 : 109;
  }
};

}  // namespace detail

/// jvp(f)(x..., v...): the value of f at x and its derivative along v, in one program. jvp<1>(f)(x, y, v): along v in the named arguments,
/// with the others constant.   Source: see [note: a push is a pull of a pull].
/// Shape: both have that of the result; v has that of its argument.   Throws: as compile.
template <int... I, class F>
constexpr auto jvp(F) {
  return detail::callable_of<F, program_function<detail::jvp_spec<F, I...>>>();
}

/// hvp(f)(x..., v...): the Hessian of a scalar function times v; a tuple for several arguments. hvp<1>(f)(x, y, v): the Hessian with
/// respect to the named arguments.
/// Shape: those of the arguments.   Throws: as compile.
template <int... I, class F>
constexpr auto hvp(F) {
  return detail::callable_of<F, program_function<detail::hvp_spec<F, I...>>>();
}

}  // namespace ebb::inline EBB_ABI
