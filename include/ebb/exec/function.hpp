// ebb/exec/function.hpp — the callable of a program: runs on arrays, is spliced on terms, is evaluated in constant expressions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "apart.hpp"
#include "bind.hpp"
#include "in_rows.hpp"
#include "refusal.hpp"

#include "../autocast/log.hpp"
#include "../autocast/policy.hpp"
#include "../autocast/scope.hpp"
#include "../base/repeat.hpp"
#include "../trace/trace.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Runs P and returns its outputs in the form V. Not inlined: where a caller knows the addresses of its arguments, g++ writes the table of
/// them in wide registers, and the loads of a nest wait for that.
template <class P, class V, class... A>
EBB_APART V call_program(const char* call, const A&... a) {
  const auto bound = bind_arguments<P>(call, a...);
  V result = filled<V>(tensor_maker{call, P::shapes.data(), P::result_shapes.data(), bound.symbols.value});
  void* to[argument<V>::leaves + 1];
  each_leaf(address_writer{to}, result);
  run_program<P>(bound.data, to, bound.symbols.value, call);
  return result;
}

/// Collects the addresses of the leaves of the destinations.
template <class... D>
EBB_INLINE void find_destinations(const destinations<D...>& d, void** to) {
  each_destination(d, address_writer{to});
}

template <class P, class Leaf>
EBB_INLINE bool has_result_extents(int number, const Leaf& leaf, const std::size_t* symbol) {
  bool same = borrowed_extents<Leaf>::rank == P::result_shape(number).rank;
  each_turn<borrowed_extents<Leaf>::rank>([&](int a) EBB_LAMBDA {
    same = same && borrow<Leaf>::extent(leaf, a) == extent_value(P::result_shape(number).e[a], symbol);
  });
  return same;
}
template <class P, class... D, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_destination(const char* call, const destinations<D...>& d, const A&... a) {
  bound_arguments<P, A...> bound(a...);
  bound.complete();
  const std::size_t* symbol = bound.symbols.value;
  std::string text;
  int number = 0;
  each_destination(d, [&]<class Leaf>(Leaf& leaf) {
    if (text.empty() && !has_result_extents<P>(number, std::as_const(leaf), symbol))
      text = "destination " + std::to_string(number) + " is " + text_of(extents_of_leaf(std::as_const(leaf))) + ", the result is " +
             text_of(extents_at(P::result_shape(number), symbol)) + ";";
    ++number;
  });
  raise_extents(call, text.c_str(), a...);
}

/// A call whose memory may overlap: results that would overwrite arguments too early go to spare memory first. It recomputes all addresses:
/// passing them in would make every call spill them.
template <class P, class... D, class... A>
[[gnu::noinline]] void run_program_apart(const char* call, const destinations<D...>& d, const A&... a) {
  void* to[P::results + 1];
  find_destinations(d, to);
  bound_arguments<P, A...> bound(a...);
  bound.complete();
  bool apart[P::results + 1] = {};
  stretch memory[P::results + 1];
  memory_of_call<P, destinations<D...>, A...>::find(apart, memory, d, a...);
  std::size_t spare = 0;
  for (int o = 0; o < P::results; ++o)
    if (apart[o]) spare += padded_bytes(memory[o].bytes());
  char* at = thread_spare().take(spare);
  void* own[P::results + 1];
  for (int o = 0; o < P::results; ++o) {
    own[o] = apart[o] ? at : to[o];
    if (apart[o]) at += padded_bytes(memory[o].bytes());
  }
  run_program<P>(bound.data, own, bound.symbols.value, call);
  for (int o = 0; o < P::results; ++o)
    if (apart[o] && memory[o].bytes()) std::memcpy(to[o], own[o], memory[o].bytes());
}

/// Runs P and writes its outputs to `d`.
template <class P, class... D, class... A>
void call_program_into(const char* call, const destinations<D...>& d, const A&... a) {
  void* to[P::results + 1];
  find_destinations(d, to);
  const auto bound = bind_arguments<P>(call, a...);
  const std::size_t* symbol = bound.symbols.value;

  bool fits = true;
  int number = 0;
  each_destination(d, [&]<class Leaf>(Leaf& leaf) { fits = fits && has_result_extents<P>(number++, std::as_const(leaf), symbol); });
  if (!fits) [[unlikely]] raise_destination<P>(call, d, a...);

  if (memory_of_call<P, destinations<D...>, A...>::may_overlap(d, a...)) [[unlikely]] run_program_apart<P>(call, d, a...);
  else run_program<P>(bound.data, to, symbol, call);
}

/// The same by evaluation, for constant expressions. G: the program before it is planned.
template <class G, class V, class... A>
constexpr V evaluate_program(const A&... a) {
  const auto g = G::g.thaw();  // its type depends on G: otherwise clang compiles the evaluator in every program
  vec<cell_array> cells;
  vec<extent_list> extents;
  each_argument_leaf([&]<class Leaf>(const Leaf& leaf) {
    extent_list x;
    x.rank = borrowed_extents<Leaf>::rank;
    for (int i = 0; i < x.rank; ++i) x.e[i] = borrow<Leaf>::extent(leaf, i);
    cell_array c;
    for (std::size_t i = 0; i < x.volume(); ++i) c.push(to_cell(borrow<Leaf>::data(leaf)[i]));
    cells.push(c);
    extents.push(x);
  }, a...);
  const vec<cell_array> out = evaluate(g, cells, symbol_values(g, extents, cells));
  int number = 0;
  return filled<V>([&]<class Array>() {
    const cell_array& c = out[number++];
    Array r{};
    using value_type = typename borrow<Array>::element;
    value_type* to = borrow<Array>::mutable_data(r);
    for (int i = 0; i < c.size(); ++i) to[i] = from_cell<value_type>(c[i]);
    return r;
  });
}

/// Splices G into the graph that is being traced.
template <class G, class R, class... A>
constexpr R splice_program(const A&... a) {
  graph* g = nullptr;
  each_argument_leaf([&](const auto& leaf) {
    if constexpr (requires { leaf.g; }) g = leaf.g;
  }, a...);
  vec<int> in;
  each_argument_leaf([&]<class Leaf>(const Leaf& leaf) {
    if constexpr (requires { leaf.g; }) in.push(leaf.id);
    else in.push(emit_as<op::literal, Leaf>(*g, g->intern({}), {}, {static_cast<std::int64_t>(literal_bits<Leaf>(leaf))}));
  }, a...);
  const vec<int> out = splice(*g, G::g.thaw(), in);
  int number = 0;
  return filled<R>([&]<class Term>() { return Term{g, out[number++]}; });
}

/// The graph that a call of Transform on terms adds to their trace.
template <class Transform, class... T>
struct spliced_graph {
  using type = typename Transform::template program<T...>;
};
template <class Transform, class... T>
  requires requires { typename Transform::template spliced<T...>; }
struct spliced_graph<Transform, T...> {
  using type = typename Transform::template spliced<T...>;
};

/// A single result is returned without a tuple.
template <class Tuple>
struct unwrap_single {
  using type = Tuple;
};
template <class T>
struct unwrap_single<std::tuple<T>> {
  using type = T;
};
template <class Tuple>
using single_or_tuple = typename unwrap_single<Tuple>::type;

/// Each argument is an array, a number, a tuple or a struct over arrays.
template <class... A>
inline constexpr bool are_arguments = (traced_argument<A> && ...);

/// The same transform of another function G.
template <class Transform, class G>
struct of_function;
template <template <class, int...> class Transform, class F, int... I, class G>
struct of_function<Transform<F, I...>, G> {
  using type = Transform<G, I...>;
};
template <template <class> class Transform, class F, class G>
struct of_function<Transform<F>, G> {
  using type = Transform<G>;
};
template <class Transform, class G>
using with_function = typename of_function<Transform, G>::type;

/// The common members of most transforms of F: see program_function.
template <class F>
struct transform_of {
  using function = F;
  static constexpr bool is_program = true;
  using refusal = refused_result;
  template <class... T>
  using trace = trace_of<F, T...>;
  template <class... A>
  static constexpr int code_of_arguments() {
    return are_arguments<A...> ? 0 : 111;
  }
  template <class... A>
  static constexpr int code() {
    return 0;
  }
  template <class C>
  static constexpr auto result_in(const auto& r) {
    return into_context<C>(r);
  }
  template <class Plain, class... Other>
  using joined = Plain;
  template <class Joined, std::size_t>
  static constexpr Joined as_joined(auto r) {
    return r;
  }
};

/// The result of a call: in terms, and in arrays.
template <class Transform, class... T>
using function_result = typename argument<typename Transform::template trace<T...>::result>::traced;
template <class Transform, class... T>
using terms_returned = typename argument<typename Transform::template returned<function_result<Transform, T...>, T...>>::traced;
template <class Transform, class... A>
using values_returned =
    typename argument<typename Transform::template returned<function_result<Transform, traced_type<A>...>, A...>>::value;

/// 309 if what the call compiles is too large for clang. Calls with variables have other programs: see recorded_call.
template <class Spec, class... A>
constexpr int code_of_programs() {
  constexpr bool on_terms = (holds_terms<A> || ...);
  if constexpr ((holds_variables<A> || ...)) return 0;
  else if constexpr (!Spec::is_program) return Spec::template code_of_programs<!on_terms, traced_type<A>...>();
  else if constexpr (on_terms) return code_of_size<false, typename spliced_graph<Spec, traced_type<A>...>::type>();
  else return code_of_size<true, typename Spec::template program<traced_type<A>...>>();
}

/// The error code of a call: of its arguments first, then of the user's function, then others.
template <class Spec, class... A>
constexpr int code_of() {
  if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr (code_of_elements<A...>() != 0) return code_of_elements<A...>();
  else if constexpr (Spec::template code_of_arguments<A...>() != 0) return Spec::template code_of_arguments<A...>();
  else {
    constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_in_call<Spec, A...>>{});  // qualified: looked up nowhere else
    if constexpr (of_trace != 0) return of_trace;
    else if constexpr (is_refused<frozen<trace_in_call<Spec, A...>>>) return already_reported;
    else if constexpr (constexpr int own = Spec::template code<A...>(); own != 0) return own;
    else return code_of_programs<Spec, A...>();
  }
}

/// The properties of a call: its arguments, its error code, and the trace of the user's function. On terms in a context it is a call of the
/// function in that context.
template <class Spec, class... A>
struct call_of {
  static constexpr int code = code_of<Spec, A...>();
  using trace = trace_in_call<Spec, A...>;
};
template <class Spec, class... A>
  requires(is_in_context<A> || ...)
struct call_of<Spec, A...> : call_of<with_function<Spec, entered<context_among<A...>, typename Spec::function>>,
                                     decltype(into_context<off>(std::declval<const A&>()))...> {};

/// Whether destinations with these leaves have the results' dtypes.
template <class P, class... Leaf>
constexpr bool holds_results(types<Leaf...>) {
  const dtype type[] = {dtype_of<typename Leaf::value_type>..., dtype{}};
  for (std::size_t o = 0; o < sizeof...(Leaf); ++o)
    if (type[o] != P::g.eq[static_cast<std::size_t>(P::g.out[o])].op->result) return false;
  return true;
}

/// Whether destinations with these leaves may have the extents of the results: static extents are equal.
template <class P, class... Leaf>
constexpr bool may_hold_results(types<Leaf...>) {
  int number = 0;
  const auto fits = [&]<std::size_t... E>(extents<E...>) {
    const shape s = P::result_shape(number++);
    if (s.rank != static_cast<int>(sizeof...(E))) return false;
    int axis = 0;
    bool same = true;
    ((same = same && (E == dyn || s.e[axis] < 0 || static_cast<std::size_t>(s.e[axis]) == E), ++axis), ...);
    return same;
  };
  return (fits(typename Leaf::extents_type{}) && ...);
}

/// A call of Function with variables among its arguments: run(call, arguments...). Declared here, defined in autograd/region.hpp: without
/// that header there are no variables.
template <class Function>
struct recorded_call;
/// A call of Function with duals among its arguments: run(arguments...). Defined in dual/push.hpp: without it there are no duals.
template <class Function>
struct pushed_call;

}  // namespace detail

/// The object that users call: a transform of their function, such as its gradient. All transforms are called through this class. It uses
///   Transform::name                      for messages
///   Transform::function                  the user's function
///   Transform::trace<T...>               its trace on the terms T...: a trace_of<...>
///   Transform::code_of_arguments<A...>() 0, or the code of the error in arguments of these types
///   Transform::code<A...>()              0, or the code of the error in the traced function
///   Transform::refusal                   the result of a refused call: a `refused_result` for each result
///   Transform::program<T...>             has the frozen graph g that runs
///   Transform::returned<R, A...>         the form of the results, if the function returns R and its arguments have the form A...
///   Transform::spliced<T...>             if it is not that one, the frozen graph that a call on terms adds to their trace
///   Transform::asking<T...>              likewise, the graph that decides in which contexts the call computes something else
/// A transform that is not one program says is_program = false. Instead of program and returned it has
///   Transform::run(a...)                 the call
///   Transform::result_in<C>(r)           its result in context C
///   Transform::joined<R, In...>          one type for its results outside of contexts and in several of them
///   Transform::as_joined<Joined, I>(r)   a result of that type; I: 0 outside of contexts, else the number of the context
template <class Spec>
struct program_function {
  template <class... A>
  using call_on = detail::call_of<Spec, A...>;

  template <class... A>
  constexpr auto operator()(const A&... a) const {
    if constexpr ((detail::has_lengths<A> || ...)) return detail::call_at_length(Spec::name, *this, a...);
    else if constexpr ((detail::holds_duals<A> || ...)) return detail::pushed_call<program_function>::run(a...);
    else if constexpr ((detail::is_in_context<A> || ...)) {
      using C = detail::context_among<A...>;
      using inside = detail::with_function<Spec, detail::entered<C, typename Spec::function>>;
      return Spec::template result_in<C>(program_function<inside>{}(detail::into_context<off>(a)...));
    } else if constexpr ((detail::has_strides<A> || ...)) return (*this)(detail::as_rows(a)...);
    else {
      constexpr int code = detail::code_of<Spec, A...>();
      static_cast<void>(detail::refuse_function<code>{});
      if constexpr (detail::is_named_next(code))
        [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
      if constexpr (code != 0) return typename Spec::refusal{};
      else if constexpr (!Spec::is_program) return Spec::run(a...);
      else if constexpr ((detail::holds_variables<A> || ...)) {
        constexpr bool records = requires { sizeof(detail::recorded_call<program_function>); };
        static_assert(records, "calls with variables are recorded by autograd/region.hpp: include it where they are made");
        constexpr int code_on_tape = detail::recorded_call<program_function>::template code<A...>;
        static_cast<void>(detail::refuse_function<code_on_tape>{});
        if constexpr (code_on_tape != 0) return typename Spec::refusal{};
        else return detail::recorded_call<program_function>::run(Spec::name, a...);
      } else if constexpr ((detail::holds_terms<A> || ...)) {
        using G = typename detail::spliced_graph<Spec, detail::traced_type<A>...>::type;
        return detail::splice_program<G, detail::terms_returned<Spec, detail::traced_type<A>...>>(a...);
      } else {
        using G = typename Spec::template program<detail::traced_type<A>...>;
        using V = detail::values_returned<Spec, A...>;
        if (__builtin_is_constant_evaluated()) return detail::evaluate_program<G, V>(a...);
        using call_trace = frozen<detail::trace_in_call<Spec, A...>>;
        detail::refuse_undeclared<G, call_trace>(Spec::name);
        detail::log_casts<call_trace, G>(Spec::name);
        return detail::call_program<executable<G>, V>(Spec::name, a...);
      }
    }
  }
  template <class... D, class... A>
  void operator()(const destinations<D...>& d, const A&... a) const {
    constexpr bool can_be_written = (detail::can_be_written<D> && ...), tracked = (detail::holds_variables<A> || ...);
    static_assert(can_be_written, "[ebb E0142] ebb::into: a destination is not an array that can be written");
    static_assert(!tracked, "[ebb E0151] ebb::into: what it writes has no history: pass the variables' values");
    if constexpr (!can_be_written) {
      if constexpr (detail::code_of<Spec, A...>() != 0) (*this)(a...);
    } else if constexpr ((detail::has_lengths<std::remove_const_t<D>> || ...) || (detail::has_lengths<A> || ...))
      detail::write_at_length(detail::lengths_in<D..., A...>{}, Spec::name, *this, d, a...);
    else if constexpr ((detail::has_strides<std::remove_const_t<D>> || ...) || (detail::has_strides<A> || ...))
      detail::with_written_rows(std::apply([](auto&... x) { return std::tuple_cat(detail::leaf_references(x)...); }, d.of),
                                [&]<class... To>(To&... to) { (*this)(destinations<To...>{{to...}}, detail::as_rows(a)...); });
    else if constexpr (!Spec::is_program) static_cast<void>(detail::refuse_function<Spec::is_program ? 0 : 111>{});
    else if constexpr (detail::code_of<Spec, A...>() != 0) (*this)(a...);
    else if constexpr (!tracked) {
      using G = typename Spec::template program<detail::traced_type<A>...>;
      using P = executable<G>;
      using call_trace = frozen<detail::trace_in_call<Spec, A...>>;
      detail::refuse_undeclared<G, call_trace>(Spec::name);
      detail::log_casts<call_trace, G>(Spec::name);
      constexpr int given = (0 + ... + argument<std::remove_const_t<D>>::leaves);
      static_assert(given == P::results, "[ebb E0141] ebb::into: the number of destinations is not that of the results");
      if constexpr (given == P::results) {
        using leaves = detail::joined_types<typename argument<std::remove_const_t<D>>::terms...>;
        constexpr bool holds = detail::holds_results<P>(leaves{});
        static_assert(holds, "[ebb E0148] ebb::into: the elements of a destination are not of the result's type");
        constexpr bool fits = detail::may_hold_results<P>(leaves{});
        static_assert(fits, "[ebb E0132] ebb::into: the extents of a destination are not those of the result");
        if constexpr (holds && fits) detail::call_program_into<P>(Spec::name, d, a...);
      }
    }
  }
};

}  // namespace ebb::inline EBB_ABI
