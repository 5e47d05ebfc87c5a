// ebb/exec/region.hpp — compile with options: the autocast contexts of a region's calls, and the policy of its backward.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "gradient.hpp"

namespace ebb::inline EBB_ABI {

/// The contexts that a region may be called in. A scope selects one of them; results have the dtypes that they have without autocast.
template <class... C>
struct ambient {
  static constexpr bool has_another_dtype = (detail::is_context_of_another_dtype<C> || ...);
  static_assert(!has_another_dtype, "[ebb E0182] autocast computes in ebb::bf16 or ebb::f16: there is no such context of another dtype");
  static_assert(has_another_dtype || (sizeof...(C) > 0 && (is_context<C> && ...)),
                "[ebb E0186] ebb::ambient takes contexts: ebb::off, ebb::autocast<ebb::bf16>...");
};

namespace detail {

/// A result converted to the dtypes of Like, which has the same form.
template <class Like, class R>
constexpr Like in_dtypes_of(const R& r) {
  return filled<Like>([]<class To, class From>(const From& leaf) -> To {
    if constexpr (std::is_same_v<To, From>) return leaf;
    else return apply_function(functions::cast<typename To::value_type>{}, leaf);
  }, r);
}

/// F in context C, with results in the dtypes that they have outside of contexts.
template <class C, class F>
struct variant {
  template <class... A>
  using call_on = known_call<entered<C, F>, A...>;

  template <class... A>
    requires are_traced<A...>
  constexpr auto operator()(const A&... a) const -> decltype(F{}(static_cast<only_traced<are_traced<A...>, A>>(a)...)) {
    return in_dtypes_of<decltype(F{}(a...))>(entered<C, F>{}(a...));
  }
};
template <class F>
struct variant<off, F> : F {};
template <class C, class F>
struct entry_of<variant<C, F>> {
  using type = C;
};
template <class F>
struct entry_of<variant<off, F>> : entry_of<F> {};

/// Regions and variants have the policies of their functions.
template <class F>
struct declared_policies<program_function<compile_spec<F>>> : declared_policies<F> {};
template <template <int, class> class Under, class C>
struct variant_under {
  template <int Policy, class F>
  using of = Under<Policy, variant<C, F>>;
};
template <class C, class F>
struct declared_policies<variant<C, F>> {
  static constexpr int own = declared_policies<F>::own;
  template <template <class...> class List, template <int, class> class Under>
  using others = typename declared_policies<F>::template others<List, variant_under<Under, C>::template of>;
};

/// The graph that decides in which contexts a call computes something else: the program's, unless the transform names another.
template <class Spec, class... T>
struct asking_graph {
  using type = typename Spec::template program<T...>;
};
template <class Spec, class... T>
  requires requires { typename Spec::template asking<T...>; }
struct asking_graph<Spec, T...> {
  using type = typename Spec::template asking<T...>;
};

/// One of several programs, chosen by the context of the thread: the transform of its function, and of the function in each context C.
template <class Spec, class... C>
struct by_context {
  template <class... A>
  using call_on = call_of<Spec, A...>;

  template <class... A>
  constexpr auto operator()(const A&... a) const {
    if constexpr ((has_lengths<A> || ...)) return call_at_length(Spec::name, *this, a...);
    else if constexpr (are_traced<A...>) {  // on terms the types know the context
      using now = context_among<A...>;
      constexpr bool declared = ((number_of_context<C> == number_of_context<now>) || ...);
      static_assert(declared, "[ebb E0187] a region is called in an autocast context that it does not declare: add it to ambient<...>");
      if constexpr (declared) return plain{}(a...);
      else return refused_result{};
    } else if constexpr (call_on<A...>::code != 0) return plain{}(a...);  // refused, once for all contexts
    else {
      using result = typename Spec::template joined<decltype(plain{}(a...)), decltype(in<C>{}(a...))...>;
      if (__builtin_is_constant_evaluated()) return Spec::template as_joined<result, 0>(plain{}(a...));
      return select<result, 1, C...>(current_context(), a...);
    }
  }
  template <class... D, class... A>
  void operator()(const destinations<D...>& d, const A&... a) const {
    if constexpr ((has_lengths<std::remove_const_t<D>> || ...) || (has_lengths<A> || ...))
      write_at_length(lengths_in<D..., A...>{}, Spec::name, *this, d, a...);
    else if constexpr (call_on<A...>::code != 0) plain{}(d, a...);
    else write<C...>(current_context(), d, a...);
  }

 private:
  using plain = program_function<Spec>;
  template <class Context>
  using in = program_function<with_function<Spec, variant<Context, typename Spec::function>>>;

  /// Number: of the next context; 0: undeclared contexts.
  template <class Result, std::size_t Number, class First, class... More>
  static constexpr Result select(int now, const auto&... a) {
    if (now == number_of_context<First>) return Spec::template as_joined<Result, Number>(in<First>{}(a...));
    if constexpr (sizeof...(More) > 0) return select<Result, Number + 1, More...>(now, a...);
    else {
      refuse(now, a...);
      return Spec::template as_joined<Result, 0>(plain{}(a...));
    }
  }
  template <class First, class... More, class... D>
  static void write(int now, const destinations<D...>& d, const auto&... a) {
    if (now == number_of_context<First>) return in<First>{}(d, a...);
    if constexpr (sizeof...(More) > 0) write<More...>(now, d, a...);
    else {
      refuse(now, a...);
      plain{}(d, a...);
    }
  }
  /// Refuses a call in a context other than C..., if the context changes it.
  template <class... A>
  static void refuse(int now, const A&...) {
    using call_trace = frozen<trace_in_call<Spec, A...>>;
    if (now == 0) raise_off_undeclared(declared_by<call_trace, C...>(Spec::name));
    refuse_undeclared<typename asking_graph<Spec, traced_type<A>...>::type, call_trace, C...>(Spec::name);
  }
};

}  // namespace detail

/// A compiled function for calls in the contexts C...: a program for each.
template <class F, class... C>
struct region_in : detail::by_context<detail::compile_spec<F>, C...> {};
/// The same for its derivatives.
template <template <class, int...> class Spec, class F, class... C, int... I>
struct program_function<Spec<region_in<F, C...>, I...>> : detail::by_context<Spec<F, I...>, C...> {};

namespace detail {

template <class Option>
inline constexpr bool is_policy_option = false;
template <class... Policy>
inline constexpr bool is_policy_option<backward_pass_autocast<Policy...>> = true;
template <class... Policy>
inline constexpr bool is_policy_option<backward_policies<Policy...>> = true;

template <class F, class... Option>
struct region_of;
template <class F>
struct region_of<F> {
  using type = program_function<compile_spec<F>>;
};
template <class F, class Policy, class... Option>
  requires is_policy_option<Policy>
struct region_of<F, Policy, Option...> : region_of<typename patch_of<Policy, F>::type, Option...> {};
template <class F, class... C>
struct region_of<F, ambient<C...>> {
  using type = region_in<F, C...>;
};
template <class F, class... C, class Option, class... More>
struct region_of<F, ambient<C...>, Option, More...> : region_of<F, Option, More..., ambient<C...>> {};

template <class Option>
inline constexpr bool is_ambient = false;
template <class... C>
inline constexpr bool is_ambient<ambient<C...>> = true;

/// Reports an invalid option.
template <class Option>
struct refuse_option {
  static_assert(is_ambient<Option>, "[ebb E0189] ebb::compile takes ebb::backward_pass_autocast<...> and ebb::ambient<...> as options");
};
template <class... C>
struct refuse_option<ambient<C...>> : ambient<C...> {};
template <class Policy>
  requires is_policy_option<Policy>
struct refuse_option<Policy> : refuse_policy<Policy> {};
/// Reports options that do not go together.
template <class... Option>
struct refuse_options {
  static constexpr bool once = (0 + ... + is_policy_option<Option>) <= 1 && (0 + ... + is_ambient<Option>) <= 1;
  static_assert(once, "[ebb E0188] a region has one policy and declares its contexts once: ebb::patch gives it another policy");
  static constexpr bool fit = once && ((is_policy_option<Option> || is_ambient<Option>) && ...);
};

/// A callable with another policy.
template <class Policy, class F>
struct patched_callable {
  using type = typename patch_of<Policy, F>::type;
};
template <class Policy, class F>
struct patched_callable<Policy, program_function<compile_spec<F>>> {
  using type = program_function<compile_spec<typename patch_of<Policy, F>::type>>;
};
template <class Policy, class F, class... C>
struct patched_callable<Policy, region_in<F, C...>> {
  using type = region_in<typename patch_of<Policy, F>::type, C...>;
};

}  // namespace detail

/// F as one compiled program: traced, fused, run on arrays. Options, in any order:
///   backward_pass_autocast<P...>   the policy under which its backward is compiled; see [note: policies]
///   backward_policies<P, Other...> that policy, and others among which compiled autograd may choose; see [note: another policy]
///   ambient<C...>                  the autocast contexts that it may be called in; default: off only
///   auto y = ebb::compile([](auto x, auto w) { return ebb::tanh(ebb::matmul(x, w)); })(x, w);
/// Throws: error if the extents of the arguments do not fit, or in an undeclared context; nothing has changed then.
template <class... Option, class F>
constexpr auto compile(F) {
  (static_cast<void>(detail::refuse_option<Option>{}), ...);
  if constexpr (!detail::refuse_options<Option...>::fit) return refused_result{};
  else return detail::callable_of<F, typename detail::region_of<F, Option...>::type>();
}

/// The same function or region with another policy for its backward. The given one is unchanged.
template <class Policy, class F>
constexpr auto patch(F) {
  static_cast<void>(detail::refuse_policy<Policy>{});
  return detail::callable_of<F, typename detail::patched_callable<Policy, F>::type>();
}

}  // namespace ebb::inline EBB_ABI
