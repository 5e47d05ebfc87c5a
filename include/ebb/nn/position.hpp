// ebb/nn/position.hpp — positions in a sequence for attention: sinusoidal waves, and alibi, which makes distant scores smaller.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/exponential.hpp"
#include "../op/extremum.hpp"
#include "../op/operators.hpp"
#include "../op/shape.hpp"
#include "../op/trigonometric.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<495, Call> : Call {
  static_assert(Call::code != 495, "[ebb E0495] sinusoidal takes an even number of waves, alibi one head or more and queries and keys with "
                                   "two axes or more");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

template <int N>
struct sinusoidal {
  static constexpr detail::spelled name{"sinusoidal", N};
  template <class A>
  static constexpr auto apply(operand<A> given) {
    using T = promoted_to_real<A>;
    using Wide = detail::computed_in<T>;
    graph& g = *given.g;
    if (given.is_refused()) return refuse<T>(g, -given.id);
    const int rank = given.rank();
    if (N < 2 || N % 2 != 0 || rank + 2 > max_rank) return refuse<T>(g, 495);
    const shape each = with_axis(given.extents(), rank, N / 2);
    const auto at = ebb::broadcast_to(cast_to<Wide>(given), g.intern(each), std::int64_t{1} << rank);
    constexpr double log2_of_base = 13.287712379549449;  // of 10000
    const auto power = cast_to<Wide>(index_along<std::int64_t>(g, at.shape_number(), rank)) * (-2 * log2_of_base / N);
    const auto angle = at * emit_on<op::exp2>({}, power);
    const int one = g.intern(with_axis(each, rank + 1, 1));
    const auto sine = reshape_to(emit_on<op::sin>({}, angle), one), cosine = reshape_to(emit_on<op::cos>({}, angle), one);
    const operand<Wide> pairs{&g, emit<op::concat, Wide>(g, {sine.id, cosine.id}, {rank + 1})};
    return cast_to<T>(view_as(pairs, with_axis(given.extents(), rank, N)));
  }
};

template <int Heads>
struct alibi {
  static constexpr detail::spelled name{"alibi", Heads};
  template <class Q, class K, class Index = std::int64_t>  // see [note: ops on a fixed dtype]
  static constexpr auto apply(operand<Q> queries, operand<K> keys) {
    using T = promoted_to_real<promoted<Q, K>>;
    using Wide = detail::computed_in<T>;
    graph& g = *queries.g;
    if (queries.is_refused() || keys.is_refused()) return refuse<T>(g, queries.is_refused() ? -queries.id : -keys.id);
    if (Heads < 1 || queries.rank() < 2 || keys.rank() < 2) return refuse<T>(g, 495);
    shape scores;
    for (const int e : {Heads, queries.extent(queries.rank() - 2), keys.extent(keys.rank() - 2)}) scores.push(e);
    const int number = g.intern(g.syms.find(scores));
    int power = 1;  // the largest power of two that is not above Heads
    while (power <= Heads / 2) power *= 2;
    // The other heads lie between the first ones.
    const auto head = index_along<Index>(g, number, 0), first = head + 1, between = 2 * (head - power) + 1;
    const auto exponent = emit_on<op::where>({}, emit_on<op::less>({}, head, literal_like(head, power)),
                                             cast_to<Wide>(first) * (-8.0 / power), cast_to<Wide>(between) * (-4.0 / power));
    const auto distance = index_along<Index>(g, number, 1) - index_along<Index>(g, number, 2);
    return cast_to<T>(-(emit_on<op::exp2>({}, exponent) * cast_to<Wide>(emit_on<op::maximum>({}, distance, -distance))));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// N / 2 waves of each position p: sin(p w), cos(p w) for w = 10000^(-2 i / N), i from 0, side by side.   sinusoidal<64>(ebb::iota<0>(x))
/// Shape: x's, and N after it.   Dtype: x's; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: the angles.   Error: 12 ulp of the angle, beside that of sin.   Source: Vaswani et al., NeurIPS 2017, arXiv:1706.03762.
template <int N, class X>
constexpr auto sinusoidal(X&& x) {
  return apply_function(functions::sinusoidal<N>{}, std::forward<X>(x));
}
/// A bias for attention scores that replaces positions: -m |i - j| for query i and key j. Pass it as the mask. For a power of two of heads
/// m is 2^(-8 h / Heads), h from 1; for others the m of the next lower power come first, then every second one of those of its double.
///   scaled_dot_product_attention(q, k, v, ebb::alibi<8>(q, k))
/// Shape: q [..., L, d], k [..., S, d]: [Heads, L, S].   Dtype: promoted; integers give float; no gradient: elements are not read.
/// Saves: nothing.   Error: 2 ulp.   Source: Press, Smith and Lewis, ICLR 2022, arXiv:2108.12409.
template <int Heads, class Q, class K>
constexpr auto alibi(const Q& q, const K& k) {
  return apply_function(functions::alibi<Heads>{}, q, k);
}

}  // namespace ebb::inline EBB_ABI
