// ebb/nn/cell.hpp — steps of recurrent networks: rnn_cell, lstm_cell, gru_cell; rotary positions.
// SPDX-License-Identifier: BSL-1.0
//
// A cell is one step of a layer; layers over sequences are in nn/recurrent.hpp. Weights have PyTorch's layout: a row for each output, the
// gates one after the other. x is [..., in], the state is [..., n]. Dtype, Saves, Error and Throws: as linear, sigmoid, tanh and the
// products.
#pragma once

#include "../op/exponential.hpp"
#include "../op/like.hpp"
#include "../op/linear.hpp"
#include "../op/shape.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<485, Call> : Call {
  static_assert(Call::code != 485, "[ebb E0485] lstm, lstm_cell: weights have four rows for each number of the state; gru, gru_cell: "
                                   "three");
};
template <class Call>
struct refusal<486, Call> : Call {
  static_assert(Call::code != 486, "[ebb E0486] rotary: the last axis is twice as long as that of cos and sin");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// Splits the last axis of x into two: N parts, each as long as the last axis of `like`.
template <int N, int Code>
struct parts {
  static constexpr std::string_view name = Code == 486 ? "rotary" : N == 4 ? "lstm_cell" : "gru_cell";
  template <class T, class L>
  static constexpr operand<T> apply(operand<T> x, operand<L> like) {
    if (x.is_refused() || like.is_refused()) return refuse<T>(*x.g, x.is_refused() ? -x.id : -like.id);
    graph& g = *x.g;
    const int rank = x.rank();
    if (rank == 0 || rank == max_rank || like.rank() == 0) return refuse<T>(g, Code);
    const int n = like.extent(like.rank() - 1);
    if (!g.syms.unify(g.syms.derive(extent_rule::product, n, N), x.extent(rank - 1))) return refuse<T>(g, Code);
    return view_as(x, with_axis(with_extent(x.extents(), rank - 1, g.syms.find(n)), rank - 1, N));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

namespace detail {

/// One step of each kind, from linear(x, wi, bi), linear(h, wh, bh) and the state: a tuple of the new state.
template <auto Activation>
struct rnn_step {
  static constexpr int gates = 1;
  static constexpr auto next(const auto& of_x, const auto& of_h, const auto&) { return std::tuple(Activation(of_x + of_h)); }
};
struct lstm_step {
  static constexpr int gates = 4;
  static constexpr auto next(const auto& of_x, const auto& of_h, const auto&, const auto& c) {
    const auto parts = apply_function(functions::parts<4, 485>{}, of_x + of_h, c);
    const auto kept = sigmoid(select<-2, 1>(parts)) * c;
    const auto next = kept + sigmoid(select<-2, 0>(parts)) * tanh(select<-2, 2>(parts));
    return std::tuple(sigmoid(select<-2, 3>(parts)) * tanh(next), next);
  }
};
struct gru_step {
  static constexpr int gates = 3;
  static constexpr auto next(const auto& of_x, const auto& of_h, const auto& h) {
    const auto x = apply_function(functions::parts<3, 485>{}, of_x, h);
    const auto u = apply_function(functions::parts<3, 485>{}, of_h, h);
    const auto reset = sigmoid(select<-2, 0>(x) + select<-2, 0>(u));
    const auto update = sigmoid(select<-2, 1>(x) + select<-2, 1>(u));
    const auto next = tanh(select<-2, 2>(x) + reset * select<-2, 2>(u));
    return std::tuple(next + update * (h - next));
  }
};
/// linear(x, wi, bi) and linear(h, wh, bh): biases may be left out.
template <class X, class H, class Wi, class Wh, class... Biases>
constexpr auto both_linear(const X& x, const H& h, const Wi& wi, const Wh& wh, const Biases&... b) {
  if constexpr (sizeof...(Biases) == 0) return std::tuple(linear(x, wi), linear(h, wh));
  else return std::tuple(linear(x, wi, std::get<0>(std::tie(b...))), linear(h, wh, std::get<1>(std::tie(b...))));
}

}  // namespace detail

/// tanh(linear(x, wi, bi) + linear(h, wh, bh)), or another function in place of tanh. Biases may be left out.
///   rnn_cell(x, h, wi, wh)   rnn_cell<ebb::relu>(x, h, wi, wh, bi, bh)
/// Shape: wi [n, in], wh [n, n], bi and bh [n]: [..., n].   Saves: x, h, the weights, out.
/// Error: that of the products and of tanh.   Source: torch.rnn_tanh_cell, torch.rnn_relu_cell.
template <auto Activation = tanh, class X, class H, class Wi, class Wh, class... Biases>
  requires(sizeof...(Biases) == 0 || sizeof...(Biases) == 2)
constexpr auto rnn_cell(const X& x, const H& h, const Wi& wi, const Wh& wh, const Biases&... b) {
  const auto [of_x, of_h] = detail::both_linear(x, h, wi, wh, b...);
  return std::get<0>(detail::rnn_step<Activation>::next(of_x, of_h, h));
}

/// A tuple of the new h and the new c:   c = sigmoid(f) * c + sigmoid(i) * tanh(g)      h = sigmoid(o) * tanh(c)
/// where i, f, g, o are the quarters of linear(x, wi, bi) + linear(h, wh, bh). Biases may be left out.
/// Shape: wi [4 n, in], wh [4 n, n], bi and bh [4 n]: h and c [..., n].   Saves: x, h, c, the weights, the gates, tanh(c).
/// Error: that of the products, of sigmoid and of tanh.   Source: torch.lstm_cell; Hochreiter and Schmidhuber, 1997.
template <class X, class H, class C, class Wi, class Wh, class... Biases>
  requires(sizeof...(Biases) == 0 || sizeof...(Biases) == 2)
constexpr auto lstm_cell(const X& x, const H& h, const C& c, const Wi& wi, const Wh& wh, const Biases&... b) {
  const auto [of_x, of_h] = detail::both_linear(x, h, wi, wh, b...);
  return detail::lstm_step::next(of_x, of_h, h, c);
}

/// (1 - z) n + z h, with r = sigmoid(xr + hr), z = sigmoid(xz + hz), n = tanh(xn + r hn) for the thirds of linear(x, wi, bi) and of
/// linear(h, wh, bh). Biases may be left out.
/// Shape: wi [3 n, in], wh [3 n, n], bi and bh [3 n]: [..., n].   Saves: x, h, the weights, the gates, the last third of linear(h, wh).
/// Error: that of the products, of sigmoid and of tanh.   Source: torch.gru_cell; Cho et al., EMNLP 2014, arXiv:1406.1078.
template <class X, class H, class Wi, class Wh, class... Biases>
  requires(sizeof...(Biases) == 0 || sizeof...(Biases) == 2)
constexpr auto gru_cell(const X& x, const H& h, const Wi& wi, const Wh& wh, const Biases&... b) {
  const auto [of_x, of_h] = detail::both_linear(x, h, wi, wh, b...);
  return std::get<0>(detail::gru_step::next(of_x, of_h, h));
}

/// Rotates pairs of numbers by angles: (a cos - b sin, b cos + a sin) for the halves a and b of the last axis.
/// Shape: x [..., 2 n], cos and sin [..., n], broadcast to x's other axes: x's.   Dtype: promoted.   Saves: x, cos, sin.
/// Error: that of two products.
/// Source: Su et al., RoFormer, 2021, arXiv:2104.09864, with halves as GPT-NeoX has them.
template <class X, class C, class S>
constexpr auto rotary(const X& x, const C& cosine, const S& sine) {
  const auto halves = apply_function(functions::parts<2, 486>{}, x, cosine);
  const auto a = select<-2, 0>(halves), b = select<-2, 1>(halves);
  return reshape_like(stack<-2>(a * cosine - b * sine, b * cosine + a * sine), x);
}

}  // namespace ebb::inline EBB_ABI
