// ebb/autograd/region.hpp — a call with variables: runs the forward half, makes variables of its results, and records one node.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "segment_node.hpp"
#include "stage_log.hpp"
#include "variable.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The numbers of the leaves of A... that are variables.
template <class... A>
struct tracked_leaves {
  template <class List>
  struct flags;
  template <class... Leaf>
  struct flags<types<Leaf...>> {
    static constexpr std::array<bool, sizeof...(Leaf) + 1> of{is_variable<Leaf>..., false};
  };
  static constexpr auto of = flags<joined_types<leaves_in<A>...>>::of;
  static constexpr int count = [] {
    int n = 0;
    for (bool b : of) n += b;
    return n;
  }();
  static constexpr int number(int which) {
    int i = 0;
    for (;; ++i)
      if (of[static_cast<std::size_t>(i)] && which-- == 0) return i;
  }
  template <int... I>
  static leaf_list<number(I)...> make(std::integer_sequence<int, I...>);
  using type = decltype(make(std::make_integer_sequence<int, count>{}));
};

/// The number of leaves in the parts before part i.
template <class... Part>
constexpr int leaves_before(std::size_t i) {
  constexpr int count[] = {Part::leaves..., 0};
  int n = 0;
  for (std::size_t k = 0; k < i; ++k) n += count[k];
  return n;
}

/// The results of a recorded call whose traced form is Y: variables if a gradient can flow, else arrays and numbers. In a struct or a
/// std::array all arrays become variables. next<Term, Number, in_struct>() makes result `Number`.
template <class Y, int Number = 0, bool InStruct = false>
auto recorded_results(const auto& next);

template <class Y, int Number, bool InStruct, class... Part, std::size_t... I>
auto recorded_parts(types<Part...>, std::index_sequence<I...>, const auto& next) {
  if constexpr (boost::hana::Struct<Y>::value)
    return struct_with<Y, variable>{recorded_results<Part, Number + leaves_before<argument<Part>...>(I), true>(next)...};
  else return std::tuple(recorded_results<Part, Number + leaves_before<argument<Part>...>(I), InStruct>(next)...);
}
template <class Y, int Number, std::size_t... I>
auto recorded_elements(std::index_sequence<I...>, const auto& next) {
  using element = typename form<Y>::element;
  using one = decltype(recorded_results<element, Number, true>(next));
  return std::array<one, sizeof...(I)>{recorded_results<element, Number + static_cast<int>(I) * argument<element>::leaves, true>(next)...};
}
template <class Y, int Number, bool InStruct>
auto recorded_results(const auto& next) {
  if constexpr (form<Y>::is_leaf) return next.template operator()<Y, Number, InStruct>();
  else {
    constexpr std::make_index_sequence<std::size_t{form<Y>::count}> order;
    if constexpr (form<Y>::is_loop) return recorded_elements<Y, Number>(order, next);
    else return recorded_parts<Y, Number, InStruct>(typename form<Y>::parts{}, order, next);
  }
}

/// Result `from` of a program, or the elements of argument ~from.
template <int From>
storage shared_block(const storage* results, const auto& leaves) {
  if constexpr (From >= 0) return results[From];
  else return to_storage(std::get<~From>(leaves));
}

/// One result of segment S: a variable if the node has an output for it.
template <class S, class Leaves>
struct result_maker {
  const Leaves& leaves;
  storage* results;
  const std::size_t* symbol;
  counted<vertex>& history;

  template <class Term, int Number, bool InStruct>
  auto operator()() const {
    using T = typename Term::value_type;
    constexpr int output = S::node_output[static_cast<std::size_t>(Number)];
    const auto shape = layout_from(typename Term::extents_type{}, extents_at(S::shape_of_result(Number), symbol));
    storage block = block_of<S::result_from[static_cast<std::size_t>(Number)]>();
    if constexpr (output >= 0 || (InStruct && real_element<T>))
      return variable_of<T, typename Term::extents_type>(shape, std::move(block), history_of<output>(),
                                                         static_cast<std::uint32_t>(output >= 0 ? output : 0));
    else if constexpr (Term::rank == 0 && !InStruct) return *reinterpret_cast<const T*>(block.data());
    else return to_tensor<T>(shape, block);
  }

 private:
  // Moved instead of counted if only one result has it; results are made in any order.
  template <int From>
  storage block_of() const {
    if constexpr (S::has_one_result(From)) return std::move(results[From]);
    else return shared_block<From>(results, leaves);
  }
  template <int Output>
  counted<vertex> history_of() const {
    if constexpr (Output < 0) return {};
    else if constexpr (S::outputs == 1) return std::move(history);
    else return history;
  }
};

template <class S, class Leaves>
counted<vertex> record_segment(tape_state& t, const Leaves& leaves, storage* results,
                               const symbol_values_of<typename S::forward>& symbols) {
  counted<vertex> history = new_node(segment_node<S>::program);
  node& n = static_cast<node&>(*history);
  int edges = 0;
  std::apply([&](const auto&... leaf) {
    ([&] {
      if constexpr (is_variable<std::remove_cvref_t<decltype(leaf)>>) n.connect(edges++, leaf.history(), leaf.output());
    }(), ...);
  }, leaves);
  repeat<S::kept + S::more>([&]<int I>() {
    constexpr int number = S::keeps[static_cast<std::size_t>(I)];
    constexpr int from = number < S::arguments ? ~number : S::result_from[static_cast<std::size_t>(S::results + number - S::arguments)];
    n.saved()[I] = shared_block<from>(results, leaves);
  });
  keep_symbols(symbols, n.symbols());
  put_on_tape(t, n);
  if (t.packing) pack_saved(n);
  return history;
}

[[noreturn]] EBB_COLD void raise_undefined(const char* call, int number, const char* region = "",
                                           const std::string& member = {}) {
  std::string text = std::string(call) + ": argument " + std::to_string(number);
  if (*region) text.append(" of the region ").append(region);
  if (!member.empty()) text.append(": its member ").append(member);
  raise(text + " is an undefined variable");
}
template <class Leaf>
bool is_defined(const Leaf& leaf) {
  if constexpr (is_variable<Leaf>) return leaf.defined();
  else return true;
}
template <class Leaf>
void require_defined(const char* call, const Leaf& leaf, int number) {
  if (!is_defined(leaf)) raise_undefined(call, number);
}
/// Writes the path of an argument's first undefined variable: ".first.bias", ".layers[2]", or nothing if it is the argument itself. Returns
/// false if there is none.
template <class A>
bool find_undefined(const A& a, std::string& path) {
  if constexpr (form<A>::is_leaf) return !is_defined(a);
  else {
    const std::size_t before = path.size();
    return [&]<std::size_t... M>(std::index_sequence<M...>) {
      const auto is_in = [&]<std::size_t At>(std::integral_constant<std::size_t, At>) {
        path.resize(before);
        if constexpr (boost::hana::Struct<A>::value)
          path.append(".").append(form<A>::template name<At>());
        else path.append("[").append(std::to_string(At)).append("]");
        return find_undefined(form<A>::template get<At>(a), path);
      };
      return (is_in(std::integral_constant<std::size_t, M>{}) || ...);
    }(std::make_index_sequence<std::size_t{form<A>::count}>{});
  }
}
/// Arguments are counted as in the call.
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_undefined_in(const char* call, const char* region, const A&... a) {
  int number = -1;
  std::string path;
  static_cast<void>(((++number, path.clear(), find_undefined(a, path)) || ...));
  raise_undefined(call, number, region, path);
}
template <class Leaf>
bool has_history(const Leaf& leaf) {
  if constexpr (is_variable<Leaf>) return leaf.requires_grad();
  else return false;
}

/// Runs the forward half of F on arguments with variables among them, and records it.
template <class Function, class... A>
auto run_region(const char* call, const A&... a) {
  using S = segment<Function, typename tracked_leaves<A...>::type, traced_type<A>...>;
  using P = typename S::forward;
  const auto leaves = std::tuple_cat(leaf_references(a)...);
  EBB_PROBE(const probe here({probed::region, S::name, call});)
  refuse_undeclared<traced<Function, traced_type<A>...>, traced<Function, traced_type<A>...>>(call);
  log_casts<traced<Function, traced_type<A>...>, traced<Function, traced_type<A>...>, typename S::backward_graph>(call);
  log_stages(call, S::name, segment_node<S>::graphs);
  if (!std::apply([](const auto&... leaf) { return (is_defined(leaf) && ...); }, leaves)) [[unlikely]]
    raise_undefined_in(call, joined_names<traced<Function, traced_type<A>...>>.data(), a...);
  const auto bound = bind_arguments<P>(call, a...);
  const std::size_t* const symbol = bound.symbols.value;

  storage results[P::results + 1];
  void* to[P::results + 1];
  repeat<P::results>([&]<int R>() {
    constexpr dtype type = P::g.eq[static_cast<std::size_t>(P::g.out[static_cast<std::size_t>(R)])].op->result;
    results[R] = storage(volume(P::result_shape(R), symbol) * size_of(type));
    to[R] = results[R].data();
  });
  run_program<P>(bound.data, to, symbol, call);

  tape_state& t = this_tape();
  const bool tracks = S::outputs > 0 && t.records &&
                      std::apply([](const auto&... leaf) { return (has_history(leaf) || ...); }, leaves);
  counted<vertex> history = tracks ? record_segment<S>(t, leaves, results, bound.symbols) : counted<vertex>();

  using form = typename argument<result_of_trace<Function, traced_type<A>...>>::traced;
  return recorded_results<form>(result_maker<S, decltype(leaves)>{leaves, results, symbol, history});
}

}  // namespace detail

/// An argument that can be read: an expression is evaluated first.
template <class A>
const A& as_region_argument(const A& a) {
  return a;
}

namespace detail {

/// The code that refuses a call of F with variables, or 0: an open loop between them and the results has no gradient. Another op without a
/// pull gives none.
template <class F, class... A>
constexpr int code_on_tape() {
  const graph g = traced<F, traced_type<A>...>::g.thaw();
  vec<int> leaves;
  for (int i = 0; i < g.inputs; ++i)
    if (tracked_leaves<A...>::of[static_cast<std::size_t>(i)] && is_real(g.op(g.input(i)).result)) leaves.push(i);
  return code_of_pulls(g, leaves) == 438 ? 438 : 0;
}
template <class F, class... A>
constexpr int code_of_halves() {
  using leaves = typename tracked_leaves<A...>::type;
  using forward = forward_half<F, policy_for<F>, leaves, traced_type<A>...>;
  using backward = backward_half<F, policy_for<F>, leaves, traced_type<A>...>;
  return code_of_size<true, frozen<without_repeats<forward>>, frozen<without_copies<backward>>>();
}

/// A program with variables among its arguments: one segment. The function itself is traced again, so that only the gradients of the
/// variables are compiled.
template <class Spec>
struct recorded_call<program_function<Spec>> {
  template <class F, class... A>
  static constexpr int code_on() {
    if constexpr (constexpr int of_function = code_on_tape<F, A...>(); of_function != 0) return of_function;
    else return code_of_halves<F, A...>();
  }
  template <class... A>
  static constexpr int code =
      code_on<program_function<Spec>, std::remove_cvref_t<decltype(as_region_argument(std::declval<const A&>()))>...>();
  template <class... A>
  static auto run(const char* call, const A&... a) {
    return run_region<program_function<Spec>>(call, as_region_argument(a)...);
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
