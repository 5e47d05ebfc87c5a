// ebb/exec/custom_jvp.hpp — custom_jvp calls, in a traced function, a function whose derivative along a direction the user has written.
// SPDX-License-Identifier: BSL-1.0
//
// The push is linear in the directions. Its transpose, a graph that is derived when the function is traced, is the pull of the function:
// see [note: custom pulls]. Derivatives along directions are pulls of that pull.
#pragma once

#include "../autocast/under.hpp"
#include "../pass/pipeline.hpp"
#include "../trace/custom.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 338, 345>
struct refuse_function<Code> {
  static_assert(Code != 338, "[ebb E0338] custom_jvp: the push takes the arguments and then as many directions, and returns the "
                             "direction of the result, in its form and shape");
  static_assert(Code != 345, "[ebb E0345] custom_jvp: the push is not linear in the directions: it has no transpose");
};

}  // namespace detail

namespace functions {

/// F, with the push P.
template <class F, class P>
struct custom_jvp {};

}  // namespace functions

namespace detail {

template <class F, class P, class... A>
struct customized_push {
  using trace = trace_of<F, A...>;
  using push = trace_of<P, A..., A...>;
  template <class Trace = trace>  // used only if the function can be called
  using result = typename argument<typename Trace::result>::traced;
  template <class Trace = push>
  using pushed = typename Trace::result;

  /// The transposed push: arguments, cotangents -> gradients. An output of -2 says that the push is not linear, an output of -3 that its
  /// result has another shape than the function's.
  struct pull {
    static constexpr graph make() {
      graph g;
      int number = 0;
      const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
      const std::tuple<A...> arguments{filled<A>(next)...};
      const auto seeds = filled<result<>>(next);
      const auto alike = [&]<class Term>(const Term& x) {
        return Term{&g, emit_as<op::input, typename Term::value_type>(g, g.eq[x.id].shape, {}, {number++})};
      };
      const std::tuple<A...> directions = std::apply([&](const auto&... x) { return std::tuple<A...>{filled<A>(alike, x)...}; }, arguments);
      const int kept = g.inputs;
      g.inputs = number;
      put_derivatives<result<>>(g, std::apply([](const auto&... x) { return P{}(x...); }, std::tuple_cat(arguments, directions)));
      return canonical_shapes(transposed(static_cast<graph&&>(g), std::apply([](const auto&... x) { return ids_of(x...); }, directions),
                                         ids_of(seeds), kept));
    }
    static constexpr graph transposed(graph g, const vec<int>& directions, const vec<int>& seeds, int kept) {
      vec<int> wrt, outs, given;
      for (int d : directions)
        if (is_real(g.op(d).result)) wrt.push(d);
      bool fits = true;
      for (int i = 0; i < seeds.size(); ++i) {
        if (g.out[i] < 0) continue;
        fits = fits && g.syms.unify(g.shape_of(g.out[i]), g.shape_of(seeds[i]));
        outs.push(g.out[i]);
        given.push(seeds[i]);
      }
      const vec<int> gradients = pull_back(g, wrt, outs, given, nullptr);
      g.out = {};
      for (int c : gradients)
        if (c >= 0) g.out.push(c);
      g = drop_inputs(exact(g), kept, g.inputs);
      vec<int> out;
      for (int j = 0, i = 0, next = 0; j < directions.size(); ++j) {
        const bool real = i < wrt.size() && wrt[i] == directions[j];
        const bool some = real && gradients[i++] >= 0;
        out.push(!fits ? -3 : !some ? -1 : g.out[next] < 0 ? -2 : g.out[next]);
        next += some;
      }
      g.out = out;
      return g;
    }
  };

  static constexpr vec<int> add_to(graph& g, const A&... a) {
    const vec<int> arguments = ids_of(a...);
    return add_custom(g, frozen<pull>::g.thaw(), arguments, splice(g, frozen<trace>::g.thaw(), arguments), arguments, 338);
  }
  static constexpr int code_of_pull() {
    for (int o : frozen<pull>::g.thaw().out)
      if (o < -1) return o == -2 ? 345 : 338;
    return code_of_adding<customized_push, A...>();
  }
  static constexpr int find_code() {
    if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (constexpr int of_push = detail::code_of_trace(std::type_identity<push>{}); of_push != 0) return of_push;
    else if constexpr (is_refused<frozen<push>>) return already_reported;
    else if constexpr (!are_gradients_of<result<>, pushed<>>) return 338;
    else return code_of_pull();
  }
  static constexpr int code = find_code();
  /// Makes the compiler report why the trace or the push is not a constant.
  static constexpr int show_reason() {
    if constexpr (!is_constant<frozen<trace>>) return not_constant<trace>::make().size();
    else return not_constant<push>::make().size();
  }
};

}  // namespace detail

template <class F, class P, class... A>
  requires(is_traced<A> && ...)
constexpr auto apply_function(functions::custom_jvp<F, P>, const A&... a) {
  return detail::apply_customized<detail::customized_push<F, P, A...>>(a...);
}
/// The same with numbers among the arguments.
template <class F, class P, class... A>
  requires detail::have_numbers<A...>
constexpr auto apply_function(functions::custom_jvp<F, P> f, const A&... a) {
  return detail::apply_to_terms(f, a...);
}
template <class F, class P, class... A>
  requires(detail::is_in_context<A> || ...)
constexpr auto apply_function(functions::custom_jvp<F, P>, const A&... a) {
  using C = detail::context_among<A...>;
  using function = functions::custom_jvp<detail::entered<C, F>, detail::entered<C, P>>;
  return detail::into_context<C>(apply_function(function{}, detail::into_context<off>(a)...));
}

/// f(a...), with derivatives by a push of your own: push(a..., directions...) returns the derivative of f along the directions, which have
/// the types of the arguments. The push is linear in the directions: ebb derives its transpose, which gives gradients. f and push are
/// traced and must not capture.
///   constexpr auto softened = [](auto x) {                            // the sign of x, with the derivative of tanh
///     return ebb::custom_jvp([](auto x) { return ebb::sign(x); },
///                            [](auto x, auto dx) { return dx * (1 - ebb::square(ebb::tanh(x))); }, x);
///   };
/// A constant that the push adds has no effect. Directions of integers are integers, and have no meaning.
/// Shape: f's.   Dtype: f's.   Saves: what the transposed push reads.   Error: the values have the bits of f.
template <class F, class P, class... A>
constexpr auto custom_jvp(F, P, const A&... a) {
  constexpr int code = detail::code_of_custom<detail::customized_push, F, P, A...>();
  static_cast<void>(detail::refuse_call<detail::customized_push<F, P, A...>, code>{});
  if constexpr (code != 0) return refused_result{};
  else return apply_function(functions::custom_jvp<F, P>{}, a...);
}

}  // namespace ebb::inline EBB_ABI
