// ebb/autograd/segment.hpp — segments: a traced function and the list of its arguments that need a gradient, as two programs and a node.
// SPDX-License-Identifier: BSL-1.0
//
// [note: segments]
// One call of a region records one node. The instantiation of the region decides what the two halves compute, for exactly the arguments
// that are variables:
//   forward    the user's results and the saved values; a result that is an argument, or equal to another one, is shared, not computed
//   kept       the arguments that the backward reads, then the saved values: one handle each in the node
//   backward   from kept values and the gradients of the results that depend on variables, to the gradients of the variables
// Gradients of results may be undefined. A gradient that depends on undefined ones only is undefined; for others they are zeros.
#pragma once

#include "higher.hpp"
#include "other_policy.hpp"

#include "../exec/halves.hpp"
#include "../exec/alias.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Numbers of leaves among the arguments: those that are variables.
template <int... I>
struct leaf_list {
  static constexpr int count = sizeof...(I);
  static constexpr vec<int> numbers() { return {I...}; }
};

template <int... I, class... T>
constexpr vec<int> leaf_numbers(leaf_list<I...>, std::type_identity<std::tuple<T...>>) {
  return leaf_list<I...>::numbers();
}

/// F with nodes that keep arguments only: the backward recomputes other values.
template <class F>
struct recomputed {
  constexpr auto operator()(auto... x) const { return F{}(x...); }
};
template <class F>
inline constexpr bool saves_values<recomputed<F>> = false;
template <class F>
struct entry_of<recomputed<F>> : entry_of<F> {};
template <class F>
struct declared_policies<recomputed<F>> : declared_policies<F> {};
template <class F>
inline constexpr own_pass pass_of<recomputed<F>> = pass_of<F>;

/// Whether calls of F and of its backward run in the autocast context of their caller: those of eager code do, see followed.hpp.
template <class F>
inline constexpr bool follows_context = false;

template <class Half>
struct without_copies {
  static constexpr graph_size room = frozen<Half>::size.times(1);
  static constexpr graph make() { return distinct_backward(frozen<Half>::g.thaw()).g; }
};
/// The forward half keeps all arguments, used or not: its argument list is the call's.
template <class Half>
struct without_repeats {
  static constexpr graph_size room = frozen<Half>::size.times(1);
  static constexpr graph make() { return distinct_forward(frozen<Half>::g.thaw()).g; }
};

template <int N>
constexpr std::array<int, static_cast<std::size_t>(N) + 1> to_array(const vec<int>& v) {
  std::array<int, static_cast<std::size_t>(N) + 1> a{};
  for (int i = 0; i < N; ++i) a[static_cast<std::size_t>(i)] = v[i];
  return a;
}

/// The values of symbols that are extents of arguments are kept, in order; the others are computed from them.
template <class P>
void keep_symbols(const symbol_values_of<P>& values, std::size_t* to) {
  repeat<P::symbols>([&]<int S>() {
    if constexpr (P::g.syms[static_cast<std::size_t>(S)].origin.rule == extent_rule::argument) *to++ = values.value[S];
  });
}

template <class P>
void put_symbols(symbol_values_of<P>& values, const std::size_t* kept) {
  repeat<P::symbols>([&]<int S>() {
    if constexpr (P::g.syms[static_cast<std::size_t>(S)].origin.rule == extent_rule::argument) values.value[S] = *kept++;
  });
  values.complete();
}

template <class F, class Wrt, class... T>
class segment;
/// The backward under another policy, by its number; and the list of these.
template <int Policy, class S>
struct other_segment {
  static constexpr int policy = Policy;
  using segment = S;
};
template <class... Other>
struct other_segments {
  static constexpr int count = sizeof...(Other);
  /// Which arguments it reads.
  static constexpr vec<int> arguments_read() {
    vec<int> r;
    [[maybe_unused]] const auto add = [&](const auto& read, int count) {
      for (int i = 0; i < count; ++i) r.push(read[static_cast<std::size_t>(i)]);
    };
    (add(Other::segment::read, Other::segment::kept), ...);
    return r;
  }
};
template <class Wrt, class... T>
struct segments_of {
  template <int Policy, class F>
  using other = other_segment<Policy, segment<recomputed<F>, Wrt, T...>>;
};

/// The constants of a segment. T: traced types of the arguments.
template <class F, class Wrt, class... T>
class segment {
 public:
  using policy = policy_for<F>;
  using forward_graph = frozen<forward_half<F, policy, Wrt, T...>>;
  using backward_graph = frozen<backward_half<F, policy, Wrt, T...>>;
  using forward = executable<frozen<without_repeats<forward_half<F, policy, Wrt, T...>>>>;
  using backward = executable<frozen<without_copies<backward_half<F, policy, Wrt, T...>>>>;

  static constexpr int arguments = leaves_of<T...>;
  static constexpr int results = traced<F, T...>::g.outs();
  static constexpr int saves = forward_graph::g.outs() - results;
  static constexpr int edges = Wrt::count;
  static constexpr int seeds = backward_graph::g.inputs() - arguments - saves;
  static constexpr vec<int> wrt() { return Wrt::numbers(); }
  static constexpr frozen_view trace() { return traced<F, T...>::g.view(); }
  static constexpr maybe_context context_if_off() {
    if constexpr (std::is_same_v<policy, off>) return context_of_pulls<policy>;
    else return {};
  }
  static constexpr bool saves_any = saves_values<F>;

  /// For each output of the forward, the user's first, then saved values, the result or argument that holds it: see distinct_results.
  static constexpr auto result_from = to_array<results + saves>(distinct_forward(forward_graph::g.thaw()).from);
  /// Whether the program's result `from` is exactly one of the user's results.
  static constexpr bool has_one_result(int from) {
    return from >= 0 && std::count(result_from.begin(), result_from.begin() + results, from) == 1;
  }
  /// The inputs of the backward: numbers of arguments, then of saved values, then of seeds.
  static constexpr int reads = used_arguments(backward_graph::g.thaw()).kept.size();
  static constexpr auto read = to_array<reads>(used_arguments(backward_graph::g.thaw()).kept);
  static constexpr int kept = [] {
    int n = 0;
    while (n < reads && read[static_cast<std::size_t>(n)] < arguments + saves) ++n;
    return n;
  }();
  /// The backwards under the other policies that the function declares.
  static constexpr int own_policy = declared_policies<F>::own;
  using others = typename declared_policies<F>::template others<other_segments, segments_of<Wrt, T...>::template other>;
  /// Arguments that only those backwards read, after the other kept values.
  static constexpr vec<int> more_arguments() {
    vec<int> r;
    for (int a : others::arguments_read()) {
      bool is_kept = std::find(read.begin(), read.begin() + kept, a) != read.begin() + kept;
      for (int known : r) is_kept = is_kept || known == a;
      if (!is_kept) r.push(a);
    }
    return r;
  }
  static constexpr int more = more_arguments().size();
  /// The kept values of a node: numbers of arguments, then of saved values; and their places.
  static constexpr auto keeps = [] {
    vec<int> r;
    for (int i = 0; i < kept; ++i) r.push(read[static_cast<std::size_t>(i)]);
    for (int a : more_arguments()) r.push(a);
    return to_array<kept + more>(r);
  }();
  static constexpr int place_of(int number) { return static_cast<int>(std::find(keeps.begin(), keeps.end(), number) - keeps.begin()); }
  /// For each gradient the number of the backward's result, or ~ the number of its input.
  static constexpr auto gradient_from = to_array<edges>(distinct_backward(backward_graph::g.thaw()).from);
  /// The seeds that each gradient depends on, as bits.
  static constexpr auto depends = [] {
    std::array<std::uint64_t, static_cast<std::size_t>(edges) + 1> a{};
    const vec<std::uint64_t> d = dependences(backward_graph::g.thaw(), arguments + saves, seeds);
    for (int i = 0; i < edges; ++i) a[static_cast<std::size_t>(i)] = d[i];
    return a;
  }();

  /// For each result the number of the node's output: real results that depend on a variable have one; -1: none.
  static constexpr auto node_output = [] {
    std::array<int, static_cast<std::size_t>(results) + 1> a{};
    const graph g = traced<F, T...>::g.thaw();
    const vec<char> active = active_equations(g, equations_of_inputs(g, Wrt::numbers()));
    int next = 0;
    for (int o = 0; o < results; ++o) a[static_cast<std::size_t>(o)] = active[g.out[o]] && is_real(g.op(g.out[o]).result) ? next++ : -1;
    a[static_cast<std::size_t>(results)] = next;
    return a;
  }();
  static constexpr int outputs = node_output[static_cast<std::size_t>(results)];
  /// The node's output of seed `number` of the backward.
  static constexpr int output_of_seed(int number) {
    for (int o = 0; o < results; ++o)
      if (is_real(type_of_result(o)) && number-- == 0) return node_output[static_cast<std::size_t>(o)];
    return -1;
  }
  static constexpr dtype type_of_result(int number) { return equation_of_result(number).op->result; }
  static constexpr const shape& shape_of_result(int number) {
    return forward_graph::g.shapes[static_cast<std::size_t>(equation_of_result(number).shape)];
  }
  static constexpr int result_of_output(int output) {
    int o = 0;
    while (node_output[static_cast<std::size_t>(o)] != output) ++o;
    return o;
  }

  /// The assumptions of the pulls about the autocast context in which backward is called.
  static constexpr const casts_assumed& assumed = assumed_by<backward_graph>;
  /// Whether its backward runs in the context of its call.
  static constexpr bool follows = follows_context<F> && assumed.matters;
  /// The assumptions that each call of its backward compares with the context, or null.
  static constexpr const casts_assumed* checked = assumed.matters && !follows ? &assumed : nullptr;

  /// The number of symbols that are extents of arguments.
  static constexpr int symbols = [] {
    int n = 0;
    for (int s = 0; s < forward::symbols; ++s)
      if (forward::g.syms[static_cast<std::size_t>(s)].origin.rule == extent_rule::argument) ++n;
    return n;
  }();

  /// Its ops, as "matmul+add+tanh"; only the first ones of a long function.
  static constexpr const char* name = joined_names<traced<F, T...>>.data();

 private:
  static constexpr const equation& equation_of_result(int number) {
    return forward_graph::g.eq[static_cast<std::size_t>(forward_graph::g.out[static_cast<std::size_t>(number)])];
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
