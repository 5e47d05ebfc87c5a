// ebb/autograd/segment_node.hpp — the node_program of a segment: its backward and its other functions.
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

/// Whether a frozen graph has a matrix product.
constexpr bool has_product(const auto& g) {
  for (int k = 0; k < g.size(); ++k)
    if (g.eq[static_cast<std::size_t>(k)].op->what == kind::contract) return true;
  return false;
}

constexpr std::size_t as_size(int i) { return static_cast<std::size_t>(i); }

/// The backward of a segment S, run on the kept values of a node of segment Node.
template <class S, class Node = S>
class segment_backward {
  using P = typename S::backward;
  static constexpr int arguments = P::arguments > 0 ? P::arguments : 1, results = P::results > 0 ? P::results : 1;  // sizes of arrays
  static constexpr int seeds = P::arguments - S::kept;

 public:
  // Tables and loops: code for each array of a large region takes long to compile.
  static void run(node& n, gradient* in, gradient* out) {
    std::uint64_t defined = 0;
    each_turn<S::seeds>([&](int s) EBB_LAMBDA {
      if (const int o = output_of[as_size(s)]; o >= 0 && in[o].defined) defined |= std::uint64_t{1} << (s < 63 ? s : 63);
    });
    if (defined == 0) return;

    symbol_values_of<P> symbols;
    put_symbols(symbols, n.symbols());
    storage held[arguments];
    void* data[arguments];
    storage* seed[arguments] = {};
    each_turn<S::kept>([&](int i) EBB_LAMBDA {
      held[i] = saved_value(n, place_of[as_size(i)]);
      data[i] = held[i].data();
    });
    each_turn<seeds>([&](int k) EBB_LAMBDA {
      const int i = S::kept + k;
      gradient& g = in[output_of[as_size(seed_of[as_size(k)])]];
      if (g.defined) seed[i] = &g.value;
      else seed[i] = &(held[i] = zeros(volume(P::argument_shape(i), symbols.value) * seed_size[as_size(k)]));
      data[i] = seed[i]->data();
    });

    storage result[results];
    void* to[results];
    bool reused[arguments] = {};
    each_turn<P::results>([&](int r) EBB_LAMBDA {
      const std::size_t bytes = volume(P::result_shape(r), symbols.value) * result_size[as_size(r)];
      if (const int a = reusable(r, seed, reused, bytes); a >= 0) {
        reused[a] = true;
        result[r] = std::move(*seed[a]);
      } else result[r] = storage(bytes);
      to[r] = result[r].data();
    });
    run_program<P>(data, to, symbols.value, S::name);
    each_turn<S::edges>([&](int e) EBB_LAMBDA {
      const int from = S::gradient_from[as_size(e)];
      if (!(S::depends[as_size(e)] & defined)) return;
      if (from < 0) out[e] = {~from < S::kept ? held[~from] : *seed[~from], nullptr, 0, true};
      else if (is_last_use[as_size(e)]) out[e] = {std::move(result[from]), nullptr, 0, true};
      else out[e] = {result[from], nullptr, 0, true};
    });
  }

  /// The node's output of each seed of the backward.
  static constexpr auto output_of = [] {
    std::array<int, as_size(S::seeds) + 1> a{};
    for (int s = 0; s < S::seeds; ++s) a[as_size(s)] = S::output_of_seed(s);
    return a;
  }();

 private:
  static constexpr auto place_of = [] {
    std::array<int, as_size(S::kept) + 1> a{};
    for (int i = 0; i < S::kept; ++i) a[as_size(i)] = Node::place_of(S::read[as_size(i)]);
    return a;
  }();
  static constexpr auto seed_of = [] {
    std::array<int, as_size(seeds) + 1> a{};
    for (int k = 0; k < seeds; ++k) a[as_size(k)] = S::read[as_size(S::kept + k)] - S::arguments - S::saves;
    return a;
  }();
  static constexpr auto seed_size = [] {
    std::array<std::size_t, as_size(seeds) + 1> a{};
    for (int k = 0; k < seeds; ++k) a[as_size(k)] = size_of(type_of_input(P::g, S::kept + k));
    return a;
  }();
  static constexpr auto result_size = [] {
    std::array<std::size_t, as_size(P::results) + 1> a{};
    for (int r = 0; r < P::results; ++r) a[as_size(r)] = size_of(P::g.eq[as_size(P::g.out[as_size(r)])].op->result);
    return a;
  }();
  /// Whether one of the gradients from edge `first` on is held by `from`.
  static constexpr bool is_gradient_from(int from, int first) {
    for (int e = first; e < S::edges; ++e)
      if (S::gradient_from[as_size(e)] == from) return true;
    return false;
  }
  static constexpr auto is_last_use = [] {
    std::array<bool, as_size(S::edges) + 1> a{};
    for (int e = 0; e < S::edges; ++e) a[as_size(e)] = !is_gradient_from(S::gradient_from[as_size(e)], e + 1);
    return a;
  }();
  /// Whether result r may be written over seed k, which is no gradient itself.
  static constexpr auto may_reuse = [] {
    std::array<std::array<bool, as_size(seeds) + 1>, as_size(results)> a{};
    for (int k = 0; k < seeds; ++k)
      if (!is_gradient_from(~(S::kept + k), 0))
        for (int r = 0; r < P::results; ++r) a[as_size(r)][as_size(k)] = overwrites<P>::may(r, S::kept + k);
    return a;
  }();

  static storage zeros(std::size_t bytes) {
    storage z(bytes);
    if (bytes) std::memset(z.data(), 0, bytes);
    return z;
  }
  /// A seed that is not read again and that result r may be written over, or -1.
  static EBB_INLINE int reusable(int r, storage* const* seed, const bool* reused, std::size_t bytes) {
    int found = -1;
    each_turn<seeds>([&](int k) EBB_LAMBDA {
      if (const int a = S::kept + k; may_reuse[as_size(r)][as_size(k)] && found < 0 && !reused[a] && seed[a]->bytes() == bytes &&
                                     seed[a]->use_count() == 1)
        found = a;
    });
    return found;
  }
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
    return saved_types[static_cast<std::size_t>(number)];
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
  static constexpr auto saved_types = [] {
    std::array<dtype, static_cast<std::size_t>(S::kept + S::more) + 1> t{};
    for (int i = 0; i < S::kept + S::more; ++i)
      t[static_cast<std::size_t>(i)] = i < S::kept ? type_of_input(P::g, i) : type_of_input(F::g, S::keeps[static_cast<std::size_t>(i)]);
    return t;
  }();
  static constexpr auto edges = to_array<S::edges>(S::wrt());
  static constexpr const auto& output_of = segment_backward<S>::output_of;
  static constexpr chainable chain = as_chainable<P, S::kept>();
  static constexpr segment_graphs graphs{S::forward_graph::g.view(), S::backward_graph::g.view(), S::arguments, S::results, S::saves,
                                         {S::read.data(), S::reads}, {edges.data(), S::edges}, {output_of.data(), S::seeds},
                                         {S::gradient_from.data(), S::edges}, &chain, S::follows ? &S::assumed : nullptr,
                                         S::trace(), S::context_if_off(), S::saves_any,
                                         has_product(S::backward_graph::g) ? &runs_in_blocks : nullptr};
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
