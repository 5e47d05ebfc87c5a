// ebb/order/search.hpp — searchsorted and bucketize find the places of values among sorted edges; bincount and histogram count values.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "quantile.hpp"

#include <type_traits>

namespace ebb::inline EBB_ABI {

/// Tag of searchsorted and bucketize: a value comes after edges that it equals. Without the tag, it comes before them.
struct after_equal_tag {};
inline constexpr after_equal_tag after_equal{};

template <class Call>
struct refusal<368, Call> : Call {
  static_assert(Call::code != 368, "[ebb E0368] searchsorted, bucketize: edges are a vector, or have the batches of the values");
};

template <class Call>
struct refusal<369, Call> : Call {
  static_assert(Call::code != 369, "[ebb E0369] bincount: numbers of bins are int32 or int64");
};

template <class Call>
struct refusal<370, Call> : Call {
  static_assert(Call::code != 370, "[ebb E0370] bincount, histogram: the weights do not have the shape of the elements");
};

template <class Call>
struct refusal<371, Call> : Call {
  static_assert(Call::code != 371, "[ebb E0371] histogram: the bounds are numbers or scalars");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// For each element of operand 1, the number of edges in operand 0 that come before it. Edges are sorted along the last axis; the leading
/// axes are batches. attr 0: 1 if equal edges come before it. See [note: order of elements].   Saves: nothing, no gradient.   Error: exact.
struct searchsorted : op_base {
  static constexpr std::string_view name = "searchsorted";
  static constexpr kind what = kind::rows;
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::any;
  static constexpr bool heavy = true;
  template <class T>
  using result = std::int64_t;

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const int last = in[1].rank - 1;
    if (last < 0 || in[0].rank != in[1].rank) return refused(368);
    for (int i = 0; i < last; ++i)
      if (!s.unify(in[0].e[i], in[1].e[i])) return refused(368);
    return s.find(in[1]);
  }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, std::int64_t* places, std::size_t n, const std::int64_t* attr) {
    const auto as_number = [](T x) {
      if constexpr (std::is_arithmetic_v<T>) return x;
      else return static_cast<float>(x);
    };
    const auto is_nan = [](auto x) { return x != x; };
    const auto place = [&](auto before) {
      const T* const edges = in[0];
      const std::size_t count = length[0];
      std::size_t first = 0;
      for (std::size_t left = count; left > 1; left -= left / 2) first += before(as_number(edges[first + left / 2 - 1])) ? left / 2 : 0;
      return static_cast<std::int64_t>(count > 0 && before(as_number(edges[first])) ? first + 1 : first);
    };
    // The number of steps does not depend on the value, so the processor predicts the branches. A NaN edge is not before a number.
    for (std::size_t i = 0; i < n; ++i) {
      const auto value = as_number(in[1][i]);
      if (is_nan(value)) places[i] = place([&](auto edge) { return attr[0] != 0 || !is_nan(edge); });
      else if (attr[0] != 0) places[i] = place([value](auto edge) { return edge <= value; });
      else places[i] = place([value](auto edge) { return edge < value; });
    }
  }
  template <class T>
  static void whole(const whole_call& c) {
    const int last = c.result.rank - 1;
    const std::size_t length[] = {c.shapes[0].e[last], c.shapes[1].e[last]}, rows = c.result.volume(0, last);
    for (std::size_t i = 0; i < rows; ++i) {
      const T* const in[] = {static_cast<const T*>(c.in[0]) + i * length[0], static_cast<const T*>(c.in[1]) + i * length[1]};
      row(in, length, static_cast<std::int64_t*>(c.out) + i * length[1], length[1], c.attr);
    }
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <bool After>
struct searchsorted {
  template <class E, class V>
  static constexpr operand<std::int64_t> apply(operand<E> edges, operand<V> values) {
    using T = promoted<E, V>;
    if (edges.is_refused() || values.is_refused()) return refuse<std::int64_t>(*edges.g, edges.is_refused() ? -edges.id : -values.id);
    if (edges.rank() != 1) return emit_on<op::searchsorted>({After}, cast_to<T>(edges), cast_to<T>(values));
    shape flat;
    flat.push(volume_of(values.g->syms, values.extents()));
    const operand<std::int64_t> r = emit_on<op::searchsorted>({After}, cast_to<T>(edges), view_as(cast_to<T>(values), flat));
    return view_as(r, values.extents());
  }
};

/// Adds weights in bins 0 to N - 1.
template <int N>
struct bincount {
  template <class I>
  static constexpr operand<std::int64_t> apply(operand<I> bins) {
    if (bins.is_refused()) return refuse<std::int64_t>(*bins.g, -bins.id);
    const auto ones = literal_in<std::int64_t>(*bins.g, bins.shape_number(), 1);
    return apply(bins, ones);
  }
  template <class I, class W>
  static constexpr auto apply(operand<I> bins, operand<W> given) {
    using Sum = std::conditional_t<real_element<W>, W, std::int64_t>;
    graph& g = *bins.g;
    const auto weights = cast_to<Sum>(given);
    if constexpr (!index_element<I>) return refuse<Sum>(g, 369);
    else {
      if (bins.is_refused() || weights.is_refused()) return refuse<Sum>(g, bins.is_refused() ? -bins.id : -weights.id);
      if (!g.syms.unify(bins.extents(), weights.extents())) return refuse<Sum>(g, 370);
      shape flat;
      flat.push(volume_of(g.syms, bins.extents()));
      return cast_to<Sum>(summed_at<bincount<0>>(view_as(weights, flat), view_as(bins, flat), with_axis({}, 0, N), 0));
    }
  }
};

template <int N>
struct histogram {
  template <class T, class L, class H>
  static constexpr operand<std::int64_t> apply(operand<T> x, L low, H high) {
    if (x.is_refused()) return refuse<std::int64_t>(*x.g, -x.id);
    const auto ones = literal_in<std::int64_t>(*x.g, x.shape_number(), 1);
    return apply(x, low, high, ones);
  }
  template <class T, class L, class H, class W>
  static constexpr auto apply(operand<T> given, L from, H to, operand<W> weights) {
    using Sum = std::conditional_t<real_element<W>, W, std::int64_t>;
    using Real = detail::computed_in<promoted_to_real<T>>;
    graph& g = *given.g;
    const auto lowest = scalar_as<Real>(g, from), highest = scalar_as<Real>(g, to);
    for (const int id : {given.id, weights.id, lowest.id, highest.id})
      if (id < 0) return refuse<Sum>(g, -id);
    if (lowest.rank() != 0 || highest.rank() != 0) return refuse<Sum>(g, 371);
    if (!g.syms.unify(given.extents(), weights.extents())) return refuse<Sum>(g, 370);
    const auto x = cast_to<Real>(given);
    const auto everywhere = [&](auto scalar) { return ebb::broadcast_to(scalar, x.shape_number(), axis_run(0, x.rank())); };
    const auto low = everywhere(lowest), high = everywhere(highest);
    const auto is_inside = emit_on<op::logical_and>({}, emit_on<op::greater_equal>({}, x, low), emit_on<op::less_equal>({}, x, high));
    const auto safe = emit_on<op::where>({}, is_inside, x, low);
    const auto position = (safe - low) * static_cast<Real>(N) / (high - low);
    // The last bin includes its upper bound. If both bounds are equal, it takes the elements at them.
    const auto is_before = emit_on<op::less>({}, position, literal_like(position, N - 1));
    const auto place = cast_to<std::int64_t>(emit_on<op::where>({}, is_before, position, literal_like(position, N - 1)));
    const auto summands = cast_to<Sum>(weights);
    return bincount<N>::apply(place, emit_on<op::where>({}, is_inside, summands, literal_like(summands, 0)));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

namespace detail {

template <class... Tag>
inline constexpr bool are_search_tags = sizeof...(Tag) <= 1 && (std::is_same_v<Tag, after_equal_tag> && ...);

}  // namespace detail

/// For each value, the number of edges that are less or, with the tag after_equal, less or equal: its place among the edges. NaN is larger
/// than all numbers.
/// Shape: the values'. edges: a vector, or the values' batches with edges of their own along the last axis. They are sorted: that is not
/// checked.
/// Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
template <class Edges, class Values, class... Tag>
constexpr auto searchsorted(Edges&& edges, Values&& values, Tag...) {
  static_assert(detail::are_search_tags<Tag...>,
                "[ebb E0372] searchsorted, bucketize: after edges and values comes nothing, or the tag ebb::after_equal");
  return apply_function(functions::searchsorted<(sizeof...(Tag) > 0)>{}, std::forward<Edges>(edges), std::forward<Values>(values));
}
/// searchsorted with the values first.   All fields as searchsorted.   Source: torch.bucketize.
template <class Values, class Edges, class... Tag>
constexpr auto bucketize(Values&& values, Edges&& edges, Tag... tag) {
  return ebb::searchsorted(std::forward<Edges>(edges), std::forward<Values>(values), tag...);
}
/// How often each number from 0 to N - 1 occurs in `bins`, or the sums of the weights there, added in rising order of their places.
/// Shape: [N]; bins and weights have one shape.   Dtype: int64; with weights theirs, integers give int64. The gradient goes to the weights.
/// Saves: the numbers of bins.   Error: that of the sums.   Throws: if a number is negative or N or more.
template <int N, class Bins, class... Weights>
constexpr auto bincount(Bins&& bins, Weights&&... weights) {
  static_assert(N > 0, "[ebb E0373] bincount, histogram: there is at least one bin");
  return apply_function(functions::bincount<(N > 0 ? N : 1)>{}, std::forward<Bins>(bins), std::forward<Weights>(weights)...);
}
/// How many elements of x are in each of N equal parts of [low, high], or the sums of their weights. A part includes its lower bound and
/// not its upper one; the last part includes both. Elements outside, and NaN, do not count.
/// Shape: [N]; x and weights have one shape.   Dtype: int64; with weights theirs, integers give int64. The gradient goes to the weights.
/// Saves: the numbers of parts.   Error: rounding decides to which part an element next to a bound belongs.
template <int N, class X, class Low, class High, class... Weights>
constexpr auto histogram(X&& x, Low&& low, High&& high, Weights&&... weights) {
  static_assert(N > 0, "[ebb E0373] bincount, histogram: there is at least one bin");
  return apply_function(functions::histogram<(N > 0 ? N : 1)>{}, std::forward<X>(x), std::forward<Low>(low), std::forward<High>(high),
                        std::forward<Weights>(weights)...);
}

}  // namespace ebb::inline EBB_ABI
