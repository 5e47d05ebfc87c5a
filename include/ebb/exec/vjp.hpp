// ebb/exec/vjp.hpp — a function's value together with its pull-back, or with its push: the halves, run one after the other.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "direction.hpp"
#include "halves.hpp"
#include "region.hpp"

#include <variant>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Output number `Output` of G as a term. Each step is a constant of its own: nested in one another they stop g++ 12.
template <class G, int Output>
struct output_of {
  static constexpr equation e = G::g.eq[static_cast<std::size_t>(G::g.out[static_cast<std::size_t>(Output)])];
  static constexpr dtype type = e.op->result;
  static constexpr shape extents = G::g.shapes[static_cast<std::size_t>(e.shape)];
  using term = term_of<type_of<type>, static_extents<extents>>;
};
template <class G, int Output>
using output_term = typename output_of<G, Output>::term;

template <class G, int First, class Order>
struct saved_terms;
template <class G, int First, int... I>
struct saved_terms<G, First, std::integer_sequence<int, I...>> {
  using type = std::tuple<output_term<G, First + I>...>;
};

/// The seeds in an argument of a second half: in a tuple or struct, which has the form of the outputs, integers have none.
template <class S>
constexpr auto seeds_in(const S& s) {
  return std::apply([](const auto&... leaf) {
    const auto seed = []<class Leaf>(const Leaf& x) {
      if constexpr (std::is_same_v<Leaf, S> || real_element<typename traced_type<Leaf>::value_type>) return std::tie(x);
      else return std::tuple<>();
    };
    return std::tuple_cat(seed(leaf)...);
  }, leaf_references(s));
}

/// An argument, owned: arrays by sharing, borrowed memory by copy.
template <class A>
constexpr typename argument<A>::value owned_argument(const A& a) {
  return filled<typename argument<A>::value>([]<class To, class Leaf>(const Leaf& leaf) -> To {
    if constexpr (std::is_constructible_v<To, const Leaf&>) return To(leaf);
    else return To(borrowed_view(leaf));
  }, a);
}

/// A seed or tangent of type Term: as it is, or a number for a scalar.
template <class Term, class S>
constexpr auto as_seed(const S& seed) {
  if constexpr (number<S> && Term::rank == 0) return static_cast<typename Term::value_type>(seed);
  else return seed;
}

}  // namespace detail

/// The derivative of a function at a point, as a linear function: a pull-back from seeds to gradients, or a push from tangents to the
/// derivative along them. It is called with one array for each of Taken, or with all of them in the form of the outputs or arguments.
/// It holds the arguments and what the forward half saved: arrays by sharing, borrowed memory by copy. It may be called many times.
/// Spec: that of vjp or linearize.
template <class Spec, class G, class R, class V, class Taken, class Arguments, class Saved>
class second_half {
 public:
  constexpr second_half(Arguments a, Saved s) : arguments_(std::move(a)), saved_(std::move(s)) {}

  template <class... S>
    requires(detail::has_strides<S> || ...)
  constexpr auto operator()(const S&... seeds) const {
    return (*this)(detail::as_rows(seeds)...);
  }
  template <class... S>
  constexpr auto operator()(const S&... seeds) const {
    constexpr bool refused_before = (detail::holds_refused<S> || ...), are_arguments = detail::are_arguments<S...>;
    static_cast<void>(detail::refuse_function<refused_before || are_arguments ? 0 : 111>{});
    if constexpr (refused_before || !are_arguments) return refused_result{};
    else {
      using given = decltype(std::tuple_cat(detail::seeds_in(seeds)...));
      constexpr bool one_each = std::tuple_size_v<given> == std::size_t{Taken::count};
      static_assert(one_each, "[ebb E0144] a pull-back takes one seed for each output of floating-point type, a push one tangent for each "
                              "such argument");
      if constexpr (!one_each) return refused_result{};
      else return call(std::make_index_sequence<std::size_t{Taken::count}>{}, Taken{}, std::tuple_cat(detail::seeds_in(seeds)...));
    }
  }

 private:
  template <std::size_t... I, class... Term, class... S>
  constexpr auto call(std::index_sequence<I...>, detail::types<Term...>, const std::tuple<const S&...>& seeds) const {
    return call_checked(detail::as_seed<Term>(std::get<I>(seeds))...);
  }
  template <class... S>
  constexpr auto call_checked(const S&... seeds) const {
    constexpr bool fits = std::is_same_v<Taken, detail::types<detail::traced_type<S>...>>;
    static_assert(fits, "[ebb E0146] a seed differs from its output in dtype or extents, or a tangent from its argument");
    if constexpr (!fits) return refused_result{};
    else if constexpr (detail::holds_terms<Arguments> || (detail::holds_terms<S> || ...)) {
      // Part of a function now: where that is called in a context, so is this.
      detail::first_graph(arguments_, seeds...)->casts.asked.ask(G::g.casts.in_pulls[0]);
      return detail::splice_program<G, R>(arguments_, saved_, seeds...);
    }
    else if (__builtin_is_constant_evaluated()) return detail::evaluate_program<G, V>(arguments_, saved_, seeds...);
    else {
      detail::refuse_mismatch<G, typename detail::traced_whole<G>::type>(Spec::name);
      return detail::call_program<executable<G>, V>(Spec::name, arguments_, saved_, seeds...);
    }
  }

  Arguments arguments_;
  Saved saved_;
};

namespace detail {

/// The second half of a function that ran in context C: seeds come from there, gradients go there.
template <class C, class Half>
struct second_half_in {
  Half half;

  constexpr auto operator()(const auto&... seeds) const { return into_context<C>(half(into_context<off>(seeds)...)); }
};

template <class List>
struct real_terms;
template <class... Term>
struct real_terms<types<Term...>> {
  template <class T>
  using keep = std::conditional_t<real_element<typename T::value_type>, types<T>, types<>>;
  using type = joined_types<keep<Term>...>;
};

/// The second half of a region: that of the context in which the region was called.
template <class... Half>
struct second_half_of_region {
  std::variant<Half...> of;

  constexpr auto operator()(const auto&... seeds) const {
    return std::visit([&](const auto& half) { return half(seeds...); }, of);
  }
};

/// The common part of vjp and linearize. Spec says by which arguments, what the second half takes, and what it gives.
template <class Spec, class F>
struct halves_spec : transform_of<F> {
  static constexpr bool is_program = false;
  using refusal = std::pair<refused_result, refused_result>;
  template <class... T>
  using asking = traced<F, T...>;
  template <class... A>
  static constexpr int code_of_arguments() {
    return code_of_wrt<typename Spec::template by<A...>, A...>();
  }
  template <bool Planned, class... T>
  static constexpr int code_of_programs() {
    using by = typename Spec::template by<T...>;
    return code_of_size<Planned, frozen<forward_half<F, policy_for<F>, by, T...>>, frozen<backward_half<F, policy_for<F>, by, T...>>>();
  }

  template <class... A>
  static constexpr auto run(const A&... a) {
    using Y = typename argument<result_of_trace<F, traced_type<A>...>>::traced;
    using by = typename Spec::template by<A...>;
    using forward = frozen<forward_half<F, policy_for<F>, by, traced_type<A>...>>;
    using backward = frozen<backward_half<F, policy_for<F>, by, traced_type<A>...>>;
    constexpr int own = argument<Y>::leaves;
    using saved = typename saved_terms<forward, own, std::make_integer_sequence<int, forward::g.outs() - own>>::type;
    using R = typename Spec::template given<Y, traced_type<A>...>;
    using V = typename argument<typename Spec::template given<Y, A...>>::value;
    using taken = typename real_terms<typename argument<typename Spec::template taken<Y, traced_type<A>...>>::terms>::type;
    if constexpr ((holds_terms<A> || ...)) {
      auto [y, kept] = splice_program<forward, std::tuple<Y, saved>>(a...);
      using arguments = std::tuple<A...>;
      return std::pair{y, second_half<Spec, backward, R, V, taken, arguments, saved>{arguments{a...}, kept}};
    } else {
      using values = std::tuple<typename argument<Y>::value, typename argument<saved>::value>;
      using arguments = std::tuple<typename argument<A>::value...>;
      using half = second_half<Spec, backward, R, V, taken, arguments, typename argument<saved>::value>;
      if (!__builtin_is_constant_evaluated()) {
        refuse_undeclared<traced<F, traced_type<A>...>, traced<F, traced_type<A>...>>(Spec::name);
        log_casts<traced<F, traced_type<A>...>, traced<F, traced_type<A>...>, backward>(Spec::name);
      }
      values r = __builtin_is_constant_evaluated() ? evaluate_program<forward, values>(a...)
                                              : call_program<executable<forward>, values>(Spec::name, a...);
      return std::pair{std::get<0>(std::move(r)), half{arguments{owned_argument(a)...}, std::get<1>(std::move(r))}};
    }
  }

  template <class C, class Y, class Half>
  static constexpr auto result_in(const std::pair<Y, Half>& r) {
    return std::pair{into_context<C>(r.first), second_half_in<C, Half>{r.second}};
  }
  template <class Plain, class... Other>
  using joined = std::pair<typename Plain::first_type, second_half_of_region<typename Plain::second_type, typename Other::second_type...>>;
  template <class Joined, std::size_t Number, class Y, class Half>
  static constexpr Joined as_joined(std::pair<Y, Half> r) {
    return {std::move(r.first), {decltype(Joined::second.of)(std::in_place_index<Number>, std::move(r.second))}};
  }
};

template <class F, int... I>
struct vjp_spec : halves_spec<vjp_spec<F, I...>, F> {
  static constexpr const char* name = "ebb::vjp";
  template <class... A>
  using by = wrt<I...>;
  template <class Y, class... A>
  using taken = Y;
  template <class Y, class... A>
  using given = single_or_tuple<numbered_arguments<std::tuple<A...>, I...>>;
  template <class... A>
  static constexpr int code() {
    return code_of_pulls_of<F, wrt<I...>, false, traced_type<A>...>;
  }
};

template <class F, int... I>
struct linearize_spec : halves_spec<linearize_spec<F, I...>, F> {
  static constexpr const char* name = "ebb::linearize";
  template <class... A>
  using named = typename named_or_all<wrt<I...>, std::make_integer_sequence<int, sizeof...(A)>>::type;
  template <class... A>
  using by = along<named<A...>>;
  template <class Y, class... A>
  using taken = typename arguments_along<named<A...>, A...>::type;
  template <class Y, class... A>
  using given = Y;
  template <class... A>
  static constexpr int code_of_arguments() {
    if constexpr (sizeof...(I) > 0 || !are_arguments<A...>) return code_of_wrt<wrt<I...>, A...>();
    else return (has_real<traced_type<A>> || ...) ? 0 : 108;
  }
  template <class... A>
  static constexpr int code() {
    constexpr int of_function = code_of_pulls_of<F, by<A...>, true, traced_type<A>...>;
    using both = frozen<joint_program<F, policy_for<F>, by<A...>, traced_type<A>...>>;
    if constexpr (of_function != 0) return of_function;
    else if constexpr (!is_constant<both>) return 0;
    else return is_refused<both> ? 347 : 0;
  }
};

}  // namespace detail

/// auto [y, pull] = vjp<I...>(f)(x...): the value of f and its pull-back; pull(seed) gives the gradients with respect to the arguments
/// I..., the first one if none is named. Of several outputs the seeds are given one by one, or in the outputs' form: pull(y).
/// The halves are compiled apart: a call saves the values that its backward needs.
/// Saves: transcendental functions, contractions, reductions; see [note: saved or recomputed].   Throws: as compile.
template <int... I, class F>
constexpr auto vjp(F) {
  return detail::callable_of<F, program_function<typename detail::or_first<detail::vjp_spec, F, I...>::type>>();
}

/// auto [y, push] = linearize<I...>(f)(x...): the value of f and its derivative as a linear function; push(v...) gives the derivative along
/// tangents of the arguments I..., of all real ones if none is named, in the form of y. It is jvp for many directions at one point: what
/// does not depend on the direction is computed once.
/// Saves: as vjp.   Throws: as compile.
template <int... I, class F>
constexpr auto linearize(F) {
  return detail::callable_of<F, program_function<detail::linearize_spec<F, I...>>>();
}

}  // namespace ebb::inline EBB_ABI
