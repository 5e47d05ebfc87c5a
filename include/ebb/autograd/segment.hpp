// ebb/autograd/segment.hpp — a traced function and the list of its arguments that need a gradient become two programs and a node.
// SPDX-License-Identifier: BSL-1.0
//
// [note: segments]
// One call of a region records one node. What the two halves need is decided when the region is instantiated, for just the arguments
// that are variables:
//   forward    the user's results, and what is saved; a result that is an argument, or equal to another one, is shared, not computed
//   kept       the arguments that the backward reads, then what is saved: one handle each in the node
//   backward   from kept values and the gradients of the results that depend on variables, to the gradients of the variables
// Gradients of results that never came stay undefined: a gradient that depends on none of those that came is undefined too, others see
// zeros in their place.
#pragma once

#include "higher.hpp"

#include "../exec/halves.hpp"
#include "../exec/alias.hpp"
#include "../pass/outputs.hpp"

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

/// F, whose nodes keep arguments only: the backward computes again what else it needs.
template <class F>
struct recomputed {
  constexpr auto operator()(auto... x) const { return F{}(x...); }
};
template <class F>
inline constexpr bool saves_values<recomputed<F>> = false;

/// Whether calls of F, and of its backward, follow the autocast context of their caller: those of eager code do, see followed.hpp.
template <class F>
inline constexpr bool follows_context = false;

template <class Half>
struct without_copies {
  static constexpr graph make() { return distinct_outputs(used_arguments(frozen<Half>::g.thaw()).g).g; }
};
/// The forward half keeps its argument list: it is the call's.
template <class Half>
struct without_repeats {
  static constexpr graph make() { return distinct_outputs(frozen<Half>::g.thaw()).g; }
};

template <int N>
constexpr std::array<int, static_cast<std::size_t>(N) + 1> to_array(const vec<int>& v) {
  std::array<int, static_cast<std::size_t>(N) + 1> a{};
  for (int i = 0; i < N; ++i) a[static_cast<std::size_t>(i)] = v[i];
  return a;
}

/// The values of symbols that are extents of arguments are kept, in order; the others follow from them.
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

/// Everything that is known of a segment when it is instantiated. T: traced types of the arguments.
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

  /// Where the forward's outputs are found, the user's first, then what is saved: see distinct_results.
  static constexpr auto result_from = to_array<results + saves>(distinct_outputs(forward_graph::g.thaw()).from);
  /// What the backward reads: numbers of arguments, then of saved values, then of seeds.
  static constexpr int reads = used_arguments(backward_graph::g.thaw()).kept.size();
  static constexpr auto read = to_array<reads>(used_arguments(backward_graph::g.thaw()).kept);
  static constexpr int kept = [] {
    int n = 0;
    while (n < reads && read[static_cast<std::size_t>(n)] < arguments + saves) ++n;
    return n;
  }();
  /// Where the gradients are found: numbers of the backward's results, or ~ the number of what it reads.
  static constexpr auto gradient_from = to_array<edges>(distinct_outputs(used_arguments(backward_graph::g.thaw()).g).from);
  /// On which seeds each gradient depends, as bits.
  static constexpr auto depends = [] {
    std::array<std::uint64_t, static_cast<std::size_t>(edges) + 1> a{};
    const vec<std::uint64_t> d = dependences(backward_graph::g.thaw(), arguments + saves, seeds);
    for (int i = 0; i < edges; ++i) a[static_cast<std::size_t>(i)] = d[i];
    return a;
  }();

  /// The node's outputs: those of the user's results that are real and depend on a variable. -1: none.
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
  /// Which output of the node seed `number` of the backward is for.
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

  /// What the pulls assumed of the autocast context in which backward is called.
  static constexpr const casts_assumed& assumed = assumed_by<backward_graph>;
  /// Whether its backward follows the context of its call.
  static constexpr bool follows = follows_context<F> && assumed.matters;

  /// Symbols that are extents of arguments: their values are kept, the others follow.
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

/// The functions of a segment's nodes.
template <class S>
class segment_node {
  using P = typename S::backward;
  using F = typename S::forward;
  static constexpr int arguments = P::arguments > 0 ? P::arguments : 1, results = P::results > 0 ? P::results : 1;  // sizes of arrays

 public:
  static void run(node& n, gradient* in, gradient* out) {
    if constexpr (S::follows)
      if (S::assumed.wrong_in[current_context()] >= 0) [[unlikely]] return twice(n, &derivatives).pull(n, in, out, false);
    std::uint64_t defined = 0;
    for (int s = 0; s < S::seeds; ++s)
      if (const int o = S::output_of_seed(s); o >= 0 && in[o].defined) defined |= std::uint64_t{1} << (s < 63 ? s : 63);
    if (defined == 0) return;

    symbol_values_of<P> symbols;
    put_symbols(symbols, n.symbols());
    storage held[arguments];
    void* data[arguments];
    storage* seed[arguments] = {};
    repeat<P::arguments>([&]<int I>() {
      if constexpr (I < S::kept) held[I] = saved_value(n, I);
      else {
        constexpr int s = S::read[static_cast<std::size_t>(I)] - S::arguments - S::saves;
        gradient& g = in[S::output_of_seed(s)];
        if (g.defined) seed[I] = &g.value;
        else seed[I] = &(held[I] = zeros(I, symbols.value));
      }
      data[I] = seed[I] ? seed[I]->data() : held[I].data();
    });

    storage result[results];
    void* to[results];
    bool reused[arguments] = {};
    repeat<P::results>([&]<int R>() {
      const std::size_t bytes = volume(P::result_shape(R), symbols.value) * size_of(result_type<R>);
      if (const int a = reusable<R>(seed, reused, bytes); a >= 0) {
        reused[a] = true;
        result[R] = std::move(*seed[a]);
      } else result[R] = storage(bytes);
      to[R] = result[R].data();
    });
    run_program<P>(data, to, symbols.value, S::name);
    repeat<S::edges>([&]<int E>() {
      constexpr int from = S::gradient_from[static_cast<std::size_t>(E)];
      if (!(S::depends[static_cast<std::size_t>(E)] & defined)) return;
      if constexpr (from >= 0 && is_last_use<E>) out[E] = {std::move(result[from]), nullptr, 0, true};
      else if constexpr (from >= 0) out[E] = {result[from], nullptr, 0, true};
      else if constexpr (~from < S::kept) out[E] = {held[~from], nullptr, 0, true};
      else out[E] = {*seed[~from], nullptr, 0, true};
    });
  }

  static extent_list extents(const node& n, int number) {
    symbol_values_of<F> symbols;
    put_symbols(symbols, n.symbols());
    if (number < S::outputs) return extents_at(S::shape_of_result(S::result_of_output(number)), symbols.value);
    return extents_at(backward_input(number - S::outputs), symbols.value);
  }
  static dtype saved_type(const node&, int number) { return input_type(number); }
  static dtype input_type(int number) {
    const auto& g = P::g;
    for (int k = 0; k < g.size(); ++k) {
      const equation& e = g.eq[static_cast<std::size_t>(k)];
      if (e.op->what == kind::input && e.attr[0] == number) return e.op->result;
    }
    return {};
  }

  static const twice_differentiable& twice(const node&, const higher_order* make) {
    static const auto derived = make->derive(graphs, nullptr, S::name);
    if constexpr (S::follows) {
      static const std::unique_ptr<const twice_differentiable> other[] = {make->derive(graphs, &context_where<autocast<bf16>, S>, S::name),
                                                                          make->derive(graphs, &context_where<autocast<f16>, S>, S::name)};
      if (const int now = current_context()) return *other[now - 1];
    }
    return *derived;
  }

  static constexpr auto types = [] {
    std::array<dtype, static_cast<std::size_t>(S::outputs) + 1> t{};
    for (int o = 0; o < S::outputs; ++o) t[static_cast<std::size_t>(o)] = S::type_of_result(S::result_of_output(o));
    return t;
  }();
  static constexpr auto edges = to_array<S::edges>(S::wrt());
  static constexpr auto output_of = [] {
    std::array<int, static_cast<std::size_t>(S::seeds) + 1> a{};
    for (int s = 0; s < S::seeds; ++s) a[static_cast<std::size_t>(s)] = S::output_of_seed(s);
    return a;
  }();
  static constexpr chainable chain = as_chainable<P, S::kept>();
  static constexpr segment_graphs graphs{S::forward_graph::g.view(), S::backward_graph::g.view(), S::arguments, S::results, S::saves,
                                         {S::read.data(), S::reads}, {edges.data(), S::edges}, {output_of.data(), S::seeds},
                                         {S::gradient_from.data(), S::edges}, &chain};
  static constexpr node_program program{S::name,     S::outputs, S::edges, S::kept, S::symbols,
                                        types.data(), extents,    saved_type, run,     nullptr,    twice,
                                        nullptr,      S::assumed.matters && !S::follows ? &S::assumed : nullptr, &graphs};

 private:
  static const shape& backward_input(int number) { return P::argument_shape(number); }
  template <int R>
  static constexpr dtype result_type = P::g.eq[static_cast<std::size_t>(P::g.out[static_cast<std::size_t>(R)])].op->result;

  static storage zeros(int input, const std::size_t* symbol) {
    const std::size_t bytes = volume(P::argument_shape(input), symbol) * size_of(input_type(input));
    storage z(bytes);
    if (bytes) std::memset(z.data(), 0, bytes);
    return z;
  }
  /// A seed that dies here and that result R may be written over, or -1.
  template <int R>
  static int reusable(storage* const* seed, const bool* reused, std::size_t bytes) {
    int found = -1;
    repeat<P::arguments - S::kept>([&]<int K>() {
      constexpr int a = S::kept + K;
      if constexpr (overwrites<P>::table[static_cast<std::size_t>(R * P::arguments + a)] && !is_passed_on<a>)
        if (found < 0 && !reused[a] && seed[a]->bytes() == bytes && seed[a]->use_count() == 1) found = a;
    });
    return found;
  }
  template <int E>
  static constexpr bool is_last_use = [] {
    for (int e = E + 1; e < S::edges; ++e)
      if (S::gradient_from[static_cast<std::size_t>(e)] == S::gradient_from[static_cast<std::size_t>(E)]) return false;
    return true;
  }();
  template <int A>
  static constexpr bool is_passed_on = [] {
    for (int e = 0; e < S::edges; ++e)
      if (S::gradient_from[static_cast<std::size_t>(e)] == ~A) return true;
    return false;
  }();
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
