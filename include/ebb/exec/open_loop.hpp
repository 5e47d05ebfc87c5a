// ebb/exec/open_loop.hpp — a loop without a bound in a graph: its body, and its derivatives along a direction.
// SPDX-License-Identifier: BSL-1.0
//
// [note: open loops]
// An open loop has no history, so it cannot be pulled back. Derivatives along a direction need none: they are another open loop, whose
// carries are those of the first one and their derivatives. Since ebb pushes by two pulls, see [note: a push is a pull of a pull], two
// custom equations lead there. The pull of the first one has the second one in place of cotangents; the values of that are NaN, and no
// program reads them. The pull of the second one is the loop with derivatives. The first equation is marked custom_parts::forward:
// gradients through it are refused.
#pragma once

#include "custom_jvp.hpp"
#include "gradient.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 436, 437>
struct refuse_function<Code> {
  static_assert(Code != 436, "[ebb E0436] while_loop: a step returns the carry in another form, dtype or shape than it receives: the next "
                             "step could not take it");
  static_assert(Code != 437, "[ebb E0437] while_loop: the condition returns a bool without axes: ebb::any(c) or ebb::all(c), not an array, "
                             "a number or a tuple");
};

template <class R>
inline constexpr bool is_condition = std::is_same_v<typename argument<R>::traced, term<bool>> && !std::is_same_v<R, bool>;

/// The condition of a loop without a bound that is not differentiated: then the derivative of its step is not compiled.
template <class C>
struct without_derivative : C {
  using C::operator();
};
template <class C>
without_derivative(C) -> without_derivative<C>;
template <class C>
inline constexpr bool is_without_derivative = false;
template <class C>
inline constexpr bool is_without_derivative<without_derivative<C>> = true;

/// A loop of F while C, on arguments with these forms of terms.
template <class C, class F, class Carry, class... W>
struct open_loop {
  using trace = trace_of<F, Carry, W...>;
  using condition = trace_of<C, Carry, W...>;
  static constexpr int carries = argument<Carry>::leaves, wholes = (0 + ... + argument<W>::leaves);
  using leaves = leaves_in<std::tuple<Carry, W...>>;
  /// Which leaves of the carry and the wholes are real.
  static constexpr vec<char> real() {
    vec<char> r;
    [&]<class... Leaf>(types<Leaf...>) { (r.push(real_element<typename Leaf::value_type>), ...); }(leaves{});
    return r;
  }
  struct arguments {
    vec<int> all;  // by leaf
    constexpr vec<int> on(graph& g, const graph& f) const { return splice(g, f, all); }
  };
  static constexpr arguments add_arguments(graph& g) {
    int number = g.inputs;
    const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
    const std::tuple<Carry, W...> a{filled<Carry>(next), filled<W>(next)...};
    return {std::apply([](const auto&... x) { return ids_of(x...); }, a)};
  }
  static constexpr int input_like(graph& g, int x) { return g.op(x).kit->input(g, g.eq[x].shape, g.inputs++); }

  /// A step: the condition and the carry -> the next ones. An output of -1: the carry changes its shape.
  struct body {
    static constexpr graph make() {
      graph g;
      const term<bool> live = add_argument<term<bool>>(g, 0);
      arguments a = add_arguments(g);
      const vec<int> old = a.all, next = a.on(g, frozen<trace>::g.thaw());
      vec<int> out;
      int i = 0;
      static_cast<void>(filled<Carry>([&]<class Term>() {
        using T = typename Term::value_type;
        const int x = next[i], was = old[i];
        const bool fits = x >= 0 && g.syms.unify(g.shape_of(x), g.shape_of(was));
        a.all[i++] = fits ? broadcasting<op::where>::apply(operand<bool>{&g, live.id}, operand<T>{&g, x}, operand<T>{&g, was}).id : -1;
        out.push(a.all[i - 1]);
        return Term{};
      }));
      for (int x : out)
        if (x < 0) {
          g.out = {-1};
          return g;
        }
      g.out = a.on(g, frozen<condition>::g.thaw());
      for (int x : out) g.out.push(x);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// A step and its derivative along a direction: the condition, the carry, directions of its real leaves, the wholes, directions of these.
  struct pushed_body {
    static constexpr graph make() {
      graph g = frozen<body>::g.thaw();
      const vec<char> is_real = real();
      const int first = g.inputs, seeds = first + g.out.size();
      vec<int> wrt;
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i]) wrt.push(1 + i);
      g = with_push(static_cast<graph&&>(g), wrt, nullptr);
      vec<int> out;
      for (int i = 0; i <= carries; ++i) out.push(g.out[i]);
      for (int i = 0; i < carries; ++i)
        if (is_real[i]) out.push(g.out[carries + 2 + i]);
      g.out = out;
      g = drop_inputs(exact(g), first, seeds);
      vec<int> number{0};
      int next = 1;
      vec<int> directions;
      const auto put = [&](int from, int to) {
        for (int i = from; i < to; ++i) number.push(next++);
        for (int i = from; i < to; ++i)
          if (is_real[i]) directions.push(next++);
      };
      put(0, carries);
      put(carries, carries + wholes);
      for (int n : directions) number.push(n);
      renumber_arguments(g, number, next);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// Adds the loop, or the loop with derivatives if `directions` of the real leaves are given, and returns its results without the
  /// condition. step: a graph, see [note: ops on a fixed dtype].
  static constexpr vec<int> add_steps(graph& g, const auto& step, const arguments& a, const vec<int>* directions) {
    const vec<char> is_real = real();
    vec<int> in = a.on(g, frozen<condition>::g.thaw());
    int given = 0, all = 1 + carries;
    const auto put = [&](int from, int to) {
      for (int i = from; i < to; ++i) in.push(a.all[i]);
      for (int i = from; directions && i < to; ++i)
        if (is_real[i]) in.push((*directions)[given++]);
    };
    put(0, carries);
    all = in.size();
    put(carries, carries + wholes);
    const vec<int> made = add_loop(g, step, {.carries = all, .open = true}, in);
    vec<int> r;
    for (int i = 1; i < made.size(); ++i) r.push(made[i]);
    return r;
  }

  /// The pull of the second custom equation: arguments, directions -> derivatives of the real leaves of the carry.
  struct second_pull {
    static constexpr graph make() {
      graph g;
      const arguments a = add_arguments(g);
      const vec<char> is_real = real();
      vec<int> directions;
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i]) directions.push(input_like(g, a.all[i]));
      const vec<int> made = add_steps(g, frozen<pushed_body>::g.thaw(), a, &directions);
      for (int i = carries; i < made.size(); ++i) g.out.push(made[i]);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };
  /// The pull of the first one: arguments, cotangents of the carry -> values in place of cotangents of the arguments.
  struct first_pull {
    static constexpr graph make() {
      graph g;
      const arguments a = add_arguments(g);
      const vec<char> is_real = real();
      vec<int> cotangents, values;
      for (int i = 0; i < carries; ++i) {
        const int u = input_like(g, a.all[i]);
        if (is_real[i]) cotangents.push(u);
      }
      for (int i = 0; i < is_real.size(); ++i)
        if (is_real[i])
          values.push(g.op(a.all[i]).kit->literal(g, g.eq[a.all[i]].shape, std::numeric_limits<double>::quiet_NaN()));
      const vec<int> made = add_custom(g, frozen<second_pull>::g.thaw(), cotangents, values, a.all, 436);
      for (int i = 0, next = 0; i < is_real.size(); ++i) g.out.push(is_real[i] ? made[next++] : -1);
      return canonical_shapes(static_cast<graph&&>(g));
    }
  };

  static constexpr bool has_real_carry = has_real<Carry>;
  /// Whether each step has a derivative.
  static constexpr bool is_pushed() {
    const graph g = frozen<body>::g.thaw();
    return first_without_pull(g, ebb::real_inputs(g), true) < 0;
  }
  static constexpr vec<int> add_to(graph& g, const Carry& carry, const W&... w) {
    const arguments a{ids_of(carry, w...)};
    vec<int> made = add_steps(g, frozen<body>::g.thaw(), a, nullptr);
    if constexpr (!has_real_carry || is_without_derivative<C>) return made;
    else if constexpr (!is_pushed()) return made;
    else {
      vec<int> r = add_custom(g, frozen<first_pull>::g.thaw(), a.all, made, a.all, 436);
      if (r[0] >= 0) {
        equation& e = g.eq[g.operand(r[0], 0)];
        custom_parts p = custom_parts::of(e);
        p.forward = true;
        e.attr[0] = p.attribute();
      }
      return r;
    }
  }
  static constexpr int find_code() {
    if constexpr (constexpr int of_step = detail::code_of_trace(std::type_identity<trace>{}); of_step != 0) return of_step;
    else if constexpr (is_refused<frozen<trace>>) return already_reported;
    else if constexpr (!std::is_same_v<typename argument<typename trace::result>::traced, Carry>) return 436;
    else if constexpr (constexpr int of_test = detail::code_of_trace(std::type_identity<condition>{}); of_test != 0) return of_test;
    else if constexpr (is_refused<frozen<condition>>) return already_reported;
    else if constexpr (!is_condition<typename condition::result>) return 437;
    else if constexpr (is_refused<frozen<body>>) return 436;
    else return code_of_adding<open_loop, Carry, W...>();
  }
  static constexpr int code = find_code();
  static constexpr int show_reason() {
    if constexpr (!is_constant<frozen<trace>>) return not_constant<trace>::make().size();
    else return not_constant<condition>::make().size();
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
