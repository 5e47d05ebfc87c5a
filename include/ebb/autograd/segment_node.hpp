// ebb/autograd/segment_node.hpp — the functions of a segment's nodes: its backward, and what the tape asks of it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "segment.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The dtype of input `number` of a frozen graph.
constexpr dtype type_of_input(const auto& g, int number) {
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq[static_cast<std::size_t>(k)];
    if (e.op->what == kind::input && e.attr[0] == number) return e.op->result;
  }
  return {};
}

/// The backward of a segment S, run from what a node of segment Node keeps.
template <class S, class Node = S>
class segment_backward {
  using P = typename S::backward;
  static constexpr int arguments = P::arguments > 0 ? P::arguments : 1, results = P::results > 0 ? P::results : 1;  // sizes of arrays

 public:
  static void run(node& n, gradient* in, gradient* out) {
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
      if constexpr (I < S::kept) held[I] = saved_value(n, Node::place_of(S::read[static_cast<std::size_t>(I)]));
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

 private:
  static dtype input_type(int number) { return type_of_input(P::g, number); }
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
      if constexpr (overwrites<P>::may(R, a) && !is_passed_on<a>)
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

/// The functions of a segment's nodes.
template <class S>
class segment_node {
  using P = typename S::backward;
  using F = typename S::forward;

 public:
  static void run(node& n, gradient* in, gradient* out) {
    if constexpr (S::follows)
      if (S::assumed.wrong_in[current_context()] >= 0) [[unlikely]] return pull_outputs(twice(n, &derivatives), n, in, out);
    segment_backward<S>::run(n, in, out);
  }
  static extent_list extents(const node& n, int number) {
    symbol_values_of<F> symbols;
    put_symbols(symbols, n.symbols());
    if (number < S::outputs) return extents_at(S::shape_of_result(S::result_of_output(number)), symbols.value);
    return extents_at(kept_shape(number - S::outputs), symbols.value);
  }
  static dtype saved_type(const node&, int number) {
    return number < S::kept ? type_of_input(P::g, number) : type_of_input(F::g, S::keeps[static_cast<std::size_t>(number)]);
  }

  static const twice_differentiable& twice(const node&, const higher_order* make) {
    static const auto derived = make->derive(graphs, nullptr, S::name);
    if constexpr (S::follows) {
      static const owned<const twice_differentiable> other[] = {make->derive(graphs, &context_where<autocast<bf16>, S>, S::name),
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
                                         {S::gradient_from.data(), S::edges}, &chain, S::follows ? &S::assumed : nullptr};
  static constexpr auto others = []<class... Other>(other_segments<Other...>) {
    return std::array<other_backward, sizeof...(Other) + 1>{
        {{Other::policy, segment_backward<typename Other::segment, S>::run, Other::segment::checked}..., {}}};
  }(typename S::others());
  static constexpr other_backwards policies{S::own_policy, others.data(), others.data() + S::others::count};
  static constexpr node_program program{S::name,    S::outputs,   S::edges, S::kept + S::more, S::symbols,
                                        types.data(), extents,    saved_type, run,  nullptr,   twice,
                                        nullptr,    S::checked,   &graphs,  S::others::count ? &policies : nullptr};

 private:
  static const shape& kept_shape(int number) {
    return number < S::kept ? P::argument_shape(number) : F::argument_shape(S::keeps[static_cast<std::size_t>(number)]);
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
