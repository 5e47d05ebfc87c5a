// ebb/nn/recurrent.hpp — recurrent layers over sequences: rnn, lstm, gru, with several layers, both directions and lengths.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [out, h] = ebb::gru(x, h0, std::tuple(wi, wh, bi, bh));
//   const auto [out, h, c] = ebb::lstm<ebb::bidirectional>(x, h0, c0, std::tuple(forward, backward), lengths);
//
// x is [steps, n, in] with the batch second, or [steps, in]. The weights of a layer are those of its cell, in a tuple: see nn/cell.hpp.
// Several layers are a tuple of such tuples, the lowest first; with both directions each layer has two, the forward one first, and its
// output has both, one after the other along the last axis. States are [layers, n, width], or [2 layers, n, width] in the same order.
//
// lengths [n] say how many steps of each sequence count, as PyTorch's packed sequences do: after its end a sequence keeps its state, its
// output is 0, and what x holds there is not read. The direction from the end begins at the last step of each sequence. A length below 0
// counts as 0, one above the number of steps as all of them.
//
// The products with x are computed for all steps at once, before the loop.
//
// Dtype: outputs and states have the dtype of the given states.   Saves: as a scan of the cell: its options may be given, for example
// gru<ebb::keep_every<16>>.   Error: that of the cell, for each step.   Throws: if states or lengths do not fit x.
#pragma once

#include "cell.hpp"

#include "../op/gather.hpp"
#include "../trace/scan.hpp"

#include <tuple>
#include <utility>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<543, Call> : Call {
  static_assert(Call::code != 543, "[ebb E0543] rnn, lstm, gru: x is [steps, n, in], states [layers and directions, n, width], lengths "
                                   "[n]; weights are those of the cell");
};
template <class Call>
struct refusal<540, Call> : Call {
  static_assert(Call::code != 540, "[ebb E0540] rnn, lstm, gru: the weights are a layer's tuple (wi, wh) or (wi, wh, bi, bh), or a tuple "
                                   "of these, two for each layer if bidirectional; lengths may follow");
};

/// An option of rnn, lstm and gru: each layer reads the sequence from both ends.
struct bidirectional_tag {};
inline constexpr bidirectional_tag bidirectional{};

namespace functions {

/// State number `Number` of `Count`: of one layer in one direction, with weights for so many gates. x is what the layer reads.
template <int Number, int Count, int Gates>
struct state_of_layer {
  static constexpr std::string_view name = "rnn, lstm, gru";
  template <class T, class X, class Wi, class Wh, class... B>
  static constexpr operand<T> apply(operand<T> states, operand<X> x, operand<Wi> wi, operand<Wh> wh, operand<B>... b) {
    for (const int id : {states.id, x.id, wi.id, wh.id, b.id...})
      if (id < 0) return refuse<T>(*x.g, -id);
    symbols& s = x.g->syms;
    const int rank = x.rank();
    if (rank < 2 || states.rank() != rank || !s.unify(states.extent(0), Count)) return refuse<T>(*x.g, 543);
    for (int axis = 1; axis < rank - 1; ++axis)
      if (!s.unify(states.extent(axis), x.extent(axis))) return refuse<T>(*x.g, 543);
    const int width = states.extent(rank - 1), rows = s.derive(extent_rule::product, width, Gates);
    if (wi.rank() != 2 || wh.rank() != 2 || !s.unify(wh.extent(1), width)) return refuse<T>(*x.g, 543);
    for (const shape& w : {wi.extents(), wh.extents(), b.extents()...})
      if (!s.unify(w.e[0], rows)) return refuse<T>(*x.g, 543);
    return select<0, Number>::apply(states);
  }
};

/// Whether each step of x is before the end of its sequence. Shape: x's axes, the last one of extent 1.
struct before_ends {
  static constexpr std::string_view name = "rnn, lstm, gru";
  template <class X, class I>
  static constexpr operand<bool> apply(operand<X> x, operand<I> lengths) {
    if (lengths.is_refused() || x.is_refused()) return refuse<bool>(*x.g, lengths.is_refused() ? -lengths.id : -x.id);
    if constexpr (!index_element<I>) return refuse<bool>(*x.g, 543);
    else {
      graph& g = *x.g;
      const int rank = x.rank();
      if (rank < 2 || !g.syms.unify(lengths.extents(), axes_between(x.extents(), 1, rank - 1))) return refuse<bool>(g, 543);
      const int number = g.intern(g.syms.find(with_extent(x.extents(), rank - 1, 1)));
      const auto ends = ebb::broadcast_to(lengths, number, std::int64_t{1} | std::int64_t{1} << (rank - 1));
      return emit_on<op::less>({}, index_along<I>(g, number, 0), ends);
    }
  }
};

/// A new state in the dtype of the old one: carries keep theirs.
struct as_state {
  static constexpr std::string_view name = "rnn, lstm, gru";
  template <class X, class T>
  static constexpr operand<T> apply(operand<X> next, operand<T> before) {
    return before.is_refused() ? before : cast_to<T>(next);
  }
};

}  // namespace functions

namespace detail {

/// The weights of one layer in one direction: (wi, wh) or (wi, wh, bi, bh).
template <class W>
inline constexpr bool is_layer = false;
template <class Wi, class Wh>
inline constexpr bool is_layer<std::tuple<Wi, Wh>> = form<Wi>::is_leaf && form<Wh>::is_leaf;
template <class Wi, class Wh, class Bi, class Bh>
inline constexpr bool is_layer<std::tuple<Wi, Wh, Bi, Bh>> = form<Wi>::is_leaf && form<Wh>::is_leaf;

/// The code that refuses layers with these weights, as far as the types tell.
template <class F, class... A>
constexpr int code_on_terms() {
  if constexpr ((is_term<A> && ...)) return lifted<F, A...>::code;
  else return 0;
}
template <class A>
using term_in_place_of = typename argument<A>::traced;
template <class Kind, class X, class... H, class... Layer, class... Lengths>
constexpr int code_of_layers(std::type_identity<std::tuple<H...>>, std::type_identity<std::tuple<Layer...>>, types<Lengths...>) {
  int code = 0;
  const auto ask = [&](int other) { code = code == 0 ? other : code; };
  (ask(code_on_terms<functions::before_ends, X, Lengths>()), ...);
  const auto ask_layer = [&]<class... W>(std::type_identity<std::tuple<W...>>) {
    (ask(code_on_terms<functions::state_of_layer<0, sizeof...(Layer), Kind::gates>, H, X, W...>()), ...);
  };
  (ask_layer(std::type_identity<Layer>{}), ...);
  return code;
}

/// A step of Kind as a step of scan. After its end a sequence keeps its state, and its row is 0.
template <class Kind>
struct layer_step {
  template <class State, class X, class W>
  constexpr auto operator()(const State& state, const X& of_x, const W& w) const {
    const auto next = next_state(state, of_x, w);
    return std::tuple(next, std::get<0>(next));
  }
  template <class State, class X, class Runs, class W>
  constexpr auto operator()(const State& state, const X& of_x, const Runs& runs, const W& w) const {
    const auto next = next_state(state, of_x, w);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(std::tuple(where(runs, std::get<I>(next), std::get<I>(state))...), where(runs, std::get<0>(next), 0));
    }(std::make_index_sequence<std::tuple_size_v<State>>{});
  }

 private:
  template <class State, class X, class W>
  static constexpr auto next_state(const State& state, const X& of_x, const W& w) {
    const auto of_h = std::apply([&](const auto&... part) { return linear(std::get<0>(state), part...); }, w);
    const auto next = std::apply([&](const auto&... s) { return Kind::next(of_x, of_h, s...); }, state);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(apply_function(functions::as_state{}, std::get<I>(next), std::get<I>(state))...);
    }(std::make_index_sequence<std::tuple_size_v<State>>{});
  }
};

/// One layer in one direction: the last state, a tuple, and the rows. Runs: nothing, or where the steps are.
template <class Kind, auto... Option, class X, class State, class W, class... Runs>
constexpr auto one_direction(const X& x, const State& state, const W& w, const Runs&... runs) {
  if constexpr (std::tuple_size_v<W> == 2)
    return scan<Option...>(layer_step<Kind>{}, state, linear(x, std::get<0>(w)), runs..., whole(std::tuple(std::get<1>(w))));
  else
    return scan<Option...>(layer_step<Kind>{}, state, linear(x, std::get<0>(w), std::get<2>(w)), runs...,
                           whole(std::tuple(std::get<1>(w), std::get<3>(w))));
}

/// Layers of Kind. Both: in both directions. Option: those of scan.
template <class Kind, bool Both, auto... Option>
struct recurrent {
  /// Layer number `Number` and those above it. ends: the last states of the parts below, a tuple for each.
  template <int Number, int Count, class X, class States, class Weights, class Runs, class... End>
  static constexpr auto from(const X& x, const States& states, const Weights& w, const Runs& runs, const End&... ends) {
    if constexpr (Number == Count) return with_states(x, std::make_index_sequence<std::tuple_size_v<States>>{}, ends...);
    else {
      const auto part = [&]<int I, auto... O>(std::integral_constant<int, I>, options<O...>) {
        return std::apply([&](const auto&... r) {
          const auto state = std::apply([&](const auto&... s) { return std::tuple(state_of<I, Count>(s, x, std::get<I>(w))...); }, states);
          return one_direction<Kind, O...>(x, state, std::get<I>(w), r...);
        }, runs);
      };
      const auto forward = part(std::integral_constant<int, Number>{}, options<Option...>{});
      if constexpr (is_refusal<decltype(forward)>) return refused_result{};
      else if constexpr (!Both) return from<Number + 1, Count>(std::get<1>(forward), states, w, runs, ends..., std::get<0>(forward));
      else {
        const auto back = part(std::integral_constant<int, Number + 1>{}, options<Option..., reversed>{});
        if constexpr (is_refusal<decltype(back)>) return refused_result{};
        else
          return from<Number + 2, Count>(concat<-1>(std::get<1>(forward), std::get<1>(back)), states, w, runs, ends...,
                                         std::get<0>(forward), std::get<0>(back));
      }
    }
  }

 private:
  template <auto...>
  struct options {};
  template <class R>
  static constexpr bool is_refusal = std::is_same_v<std::remove_const_t<R>, refused_result>;
  template <class X, std::size_t... I, class... End>
  static constexpr auto with_states(const X& x, std::index_sequence<I...>, const End&... ends) {
    return std::tuple(x, stacked<I>(ends...)...);
  }
  template <int I, int Count>
  static constexpr auto state_of(const auto& states, const auto& x, const auto& w) {
    return std::apply([&](const auto&... part) {
      return apply_function(functions::state_of_layer<I, Count, Kind::gates>{}, states, x, part...);
    }, w);
  }
  template <std::size_t I>
  static constexpr auto stacked(const auto&... ends) {
    return stack<0>(std::get<I>(ends)...);
  }
};

template <class Option>
inline constexpr bool is_bidirectional = std::is_same_v<std::remove_const_t<Option>, bidirectional_tag>;

/// Layers of Kind, with bidirectional taken out of the options.
template <class Kind, bool Both, class Chosen, auto... Option>
struct recurrent_with;
template <auto...>
struct chosen_options {};
template <class Kind, bool Both, auto... Chosen>
struct recurrent_with<Kind, Both, chosen_options<Chosen...>> {
  using type = recurrent<Kind, Both, Chosen...>;
};
template <class Kind, bool Both, auto... Chosen, auto First, auto... Option>
struct recurrent_with<Kind, Both, chosen_options<Chosen...>, First, Option...> {
  static constexpr bool is_both = is_bidirectional<decltype(First)>;
  using chosen = std::conditional_t<is_both, chosen_options<Chosen...>, chosen_options<Chosen..., First>>;
  using type = typename recurrent_with<Kind, Both || is_both, chosen, Option...>::type;
};

/// A call of layers of Kind on arguments of these types.
template <class Kind, bool Both, class X, class States, class W, class... Lengths>
struct layers_call {
  static constexpr int code = 540;
};
template <class Kind, bool Both, class X, class... H, class... Layer, class... Lengths>
  requires(is_layer<Layer> && ...) && (sizeof...(Layer) > 0) && (!Both || sizeof...(Layer) % 2 == 0) && (sizeof...(Lengths) <= 1)
struct layers_call<Kind, Both, X, std::tuple<H...>, std::tuple<Layer...>, Lengths...> {
  static constexpr int count = sizeof...(Layer);
  static constexpr int code = code_of_layers<Kind, term_in_place_of<X>>(
      std::type_identity<std::tuple<term_in_place_of<H>...>>{}, std::type_identity<std::tuple<term_in_place_of<Layer>...>>{},
      types<term_in_place_of<Lengths>...>{});
};
template <class W>
using layers_in = std::conditional_t<is_layer<W>, std::tuple<W>, W>;

template <class Kind, auto... Option>
struct recurrent_call {
  template <class X, class States, class W, class... Lengths>
  using of = layers_call<Kind, (is_bidirectional<decltype(Option)> || ...), X, States, layers_in<W>, Lengths...>;

  template <class X, class States, class W, class... Lengths>
  static constexpr auto on(const X& x, const States& states, const W& weights, const Lengths&... lengths) {
    using layers = typename recurrent_with<Kind, false, chosen_options<>, Option...>::type;
    constexpr int count = of<X, States, W, Lengths...>::count;
    const layers_in<W> w(weights);
    if constexpr (sizeof...(Lengths) == 0) return layers::template from<0, count>(x, states, w, std::tuple<>());
    else {
      // Elements after the ends are not read: a NaN there would be in the gradients of the weights.
      const auto runs = apply_function(functions::before_ends{}, x, lengths...);
      return layers::template from<0, count>(where(runs, x, 0), states, w, std::tuple(runs));
    }
  }
};
template <auto Activation, auto... Option>
struct rnn_call : recurrent_call<rnn_step<Activation>, Option...> {};
template <auto Activation, auto... Option>
  requires is_bidirectional<decltype(Activation)> || is_keep_option<std::remove_const_t<decltype(Activation)>>
struct rnn_call<Activation, Option...> : recurrent_call<rnn_step<tanh>, Activation, Option...> {};

}  // namespace detail

/// Layers of rnn_cell over the steps of a sequence: a tuple of the outputs and the last states. The function is tanh, or the first option.
///   rnn(x, h0, weights)   rnn<ebb::relu>(x, h0, weights, lengths)
/// Shape: x [steps, n, in], h0 [layers, n, width]: outputs [steps, n, width], states as h0. With both directions twice the width.
/// Source: torch.nn.RNN.
template <auto Activation = tanh, auto... Option, class X, class H, class W, class... Lengths>
constexpr auto rnn(const X& x, const H& h0, const W& weights, const Lengths&... lengths) {
  using call = detail::rnn_call<Activation, Option...>;
  using checked = typename call::template of<X, std::tuple<H>, W, Lengths...>;
  static_assert(sizeof(refusal<checked::code, checked>) > 0);
  if constexpr (checked::code != 0) return refused_result{};
  else return call::on(x, std::tuple<H>(h0), weights, lengths...);
}
/// Layers of lstm_cell: a tuple of the outputs and the last h and c.   lstm(x, h0, c0, weights)   lstm(x, h0, c0, weights, lengths)
/// Shape: as rnn, with two states.   Source: torch.nn.LSTM without projections.
template <auto... Option, class X, class H, class C, class W, class... Lengths>
constexpr auto lstm(const X& x, const H& h0, const C& c0, const W& weights, const Lengths&... lengths) {
  using call = detail::recurrent_call<detail::lstm_step, Option...>;
  using checked = typename call::template of<X, std::tuple<H, C>, W, Lengths...>;
  static_assert(sizeof(refusal<checked::code, checked>) > 0);
  if constexpr (checked::code != 0) return refused_result{};
  else return call::on(x, std::tuple<H, C>(h0, c0), weights, lengths...);
}
/// Layers of gru_cell: a tuple of the outputs and the last states.   gru(x, h0, weights)   gru<ebb::bidirectional>(x, h0, weights, lengths)
/// Shape: as rnn.   Source: torch.nn.GRU.
template <auto... Option, class X, class H, class W, class... Lengths>
constexpr auto gru(const X& x, const H& h0, const W& weights, const Lengths&... lengths) {
  using call = detail::recurrent_call<detail::gru_step, Option...>;
  using checked = typename call::template of<X, std::tuple<H>, W, Lengths...>;
  static_assert(sizeof(refusal<checked::code, checked>) > 0);
  if constexpr (checked::code != 0) return refused_result{};
  else return call::on(x, std::tuple<H>(h0), weights, lengths...);
}

}  // namespace ebb::inline EBB_ABI
