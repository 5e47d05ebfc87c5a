// ebb/nn/attention.hpp — scaled_dot_product_attention by blocks: the matrix of all scores is never written.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "attention_op.hpp"

#include "../op/arithmetic.hpp"
#include "../op/compare.hpp"
#include "../op/contract.hpp"
#include "../op/exponential.hpp"
#include "../op/move.hpp"
#include "../op/operators.hpp"
#include "../op/power.hpp"
#include "../op/source.hpp"
#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Columns [start, start + extent) of x's last axis; a negative start counts from the end.
template <class T>
constexpr operand<T> columns_of(operand<T> x, std::int64_t start, int extent) {
  return slice_as(x, {x.rank() - 1, start}, x.g->intern(with_extent(x.extents(), x.rank() - 1, extent)));
}

/// The arrays of k or v for the heads of q: each is repeated `group` times, one after the other.
template <class T>
constexpr operand<T> for_each_head(operand<T> x, int group) {
  if (group == 1) return x;
  graph& g = *x.g;
  const int heads = x.rank() - 3;
  const shape many = with_extent(x.extents(), heads, g.syms.derive(extent_rule::product, x.extent(heads), group));
  const operand<T> repeated = broadcast_to(x, g.intern(with_axis(x.extents(), heads + 1, group)), std::int64_t{2} << heads);
  return view_as(repeated, many);
}
/// The sum of what belongs to one head of k or v, in the shape of `to`.
template <class T>
constexpr operand<T> for_shared_heads(operand<T> x, operand<T> to, int group) {
  if (group == 1) return x;
  const int heads = to.rank() - 3;
  return sum_over(view_as(x, with_axis(to.extents(), heads + 1, group)), std::int64_t{2} << heads);
}

/// attend_back, composed of products and elementwise operations. In has its operands.
template <class T>
constexpr operand<T> composed_attend_back(const operand<T>* in, attention_attributes a) {
  if (a.together) {
    int by[3] = {};
    a.together = false;
    for (a.by = 0; a.by < 3; ++a.by) by[a.by] = composed_attend_back(in, a).id;
    return {in[0].g, emit<op::concat, T>(*in[0].g, number_range{by, 3}, {in[0].rank() - 1})};
  }
  const operand<T> q = in[0], g = in[3], k = for_each_head(in[1], a.group), v = for_each_head(in[2], a.group);
  const int last = q.rank() - 1, width = v.extent(last);
  const std::int64_t along = std::int64_t{1} << last;
  const double infinite = std::numeric_limits<double>::infinity();
  const auto row = [&](operand<T> x, operand<T> like) { return repeat(view_as(x, axes_between(x.extents(), 0, last)), like, along); };
  const operand<T> products = product_of(q, k, right_transposed);
  operand<T> scale = a.scale != 0 ? literal_like(products, std::bit_cast<double>(a.scale)) : products;
  if (a.scale == 0) {
    const operand<T> root = emit_on<op::rsqrt>({}, count_along<T>(q, along));
    scale = repeat(root, products, axis_run(0, last + 1));
  }
  const operand<T> sums = columns_of(g, -2, 1), zero = literal_like(sums, 0);
  const auto sees = emit_on<op::not_equal>({}, sums, literal_like(sums, -infinite));
  const operand<T> scores = a.masked ? products * scale + fit(in[4], products.extents()) : products * scale;
  operand<T> less = scores - row(emit_on<op::where>({}, sees, sums, zero), products);
  if (a.causal) {
    const auto i = index_along<std::int32_t>(*q.g, products.shape_number(), last - 1);
    const auto j = index_along<std::int32_t>(*q.g, products.shape_number(), last);
    less = emit_on<op::where>({}, emit_on<op::less_equal>({}, j, i), less, literal_like(less, -infinite));
  }
  const operand<T> p = emit_on<op::exp>({}, less), of_y = columns_of(g, 0, width);
  const auto kept = [&](operand<T> x) {
    return a.drops ? x * operand<T>{x.g, emit_as<op::dropout_scale, T>(*x.g, x.shape_number(), {in[4 + a.masked].id})} : x;
  };
  if (a.by == 2) return for_shared_heads(product_of(kept(p), of_y, left_transposed), in[2], a.group);
  const operand<T> of_scores = p * (kept(product_of(of_y, v, right_transposed)) - row(columns_of(g, -1, 1), p));
  if (a.by == 3) {
    const std::int64_t repeated = repeated_axes(q.g->syms, in[4].extents(), of_scores.extents());
    return repeated == 0 ? of_scores : view_as(sum_over(of_scores, repeated), in[4].extents());
  }
  const operand<T> slopes = of_scores * scale;
  return a.by == 0 ? product_of(slopes, k, 0) : for_shared_heads(product_of(slopes, q, left_transposed), in[1], a.group);
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr vec<int> attend::pull(operand<T> g, const vec<operand<T>>& x, operand<T> out) {
  graph& in = *g.g;
  auto a = ebb::detail::attention_attributes::unpacked(out.attribute(0), out.attribute(1));
  const int last = x[0].rank() - 1, width = x[2].extent(last);
  const auto of_y = ebb::detail::columns_of(g, 0, width), y = ebb::detail::columns_of(out, 0, width);
  const auto logarithm = ebb::detail::columns_of(out, -1, 1), of_logarithm = ebb::detail::columns_of(g, -1, 1);
  const auto less = view_as(sum_over(of_y * y, std::int64_t{1} << last), logarithm.extents()) - of_logarithm;
  const int all = in.intern(with_extent(g.extents(), last, in.syms.derive(extent_rule::sum, width, 2)));
  const operand<T> both{&in, emit_as<concat, T>(in, all, {of_y.id, logarithm.id, less.id}, {last})};
  vec<int> operands, r;
  for (int j = 0; j < x.size(); ++j) {
    if (j == 3) operands.push(both.id);
    operands.push(x[j].id);
  }
  if (x.size() == 3) operands.push(both.id);
  const auto gradient = [&](const shape& s) {
    return operand<T>{&in, emit_as<attend_back, T>(in, in.intern(s), {operands.data(), operands.size()}, a.packed())};
  };
  // Gradients of equal shapes have one step, which computes the probabilities once.
  a.together = width >= 0 && x[0].shape_number() == x[1].shape_number() && x[0].shape_number() == x[2].shape_number();
  if (a.together) {
    const auto three = gradient(with_extent(x[0].extents(), last, 3 * width));
    for (int j = 0; j < 3; ++j) r.push(ebb::detail::columns_of(three, j * width, width).id);
    a.together = false;
  }
  for (a.by = r.size(); a.by < 3 + a.masked; ++a.by) r.push(gradient(x[a.by].extents()).id);
  if (a.drops) r.push(nothing.id);
  return r;
}
template <class T>
constexpr vec<int> attend_back::pull(operand<T> u, const vec<operand<T>>& given, operand<T> out) {
  // The composed form gets a graph of its own, whose arguments are the operands. So each gradient is by one operand alone, even if two
  // operands are the same equation here.
  const auto a = ebb::detail::attention_attributes::unpacked(out.attribute(0), out.attribute(1));
  graph f;
  operand<T> in[6];
  vec<int> wrt, arguments;
  for (int j = 0; j < given.size(); ++j) {
    shape s = given[j].extents();
    for (int i = 0; i < s.rank; ++i) s.e[i] = given[j].extent(i) >= 0 ? given[j].extent(i) : f.syms.fresh({extent_rule::argument, j, i});
    in[j] = {&f, kit_of<T>::input(f, f.intern(s), f.inputs++)};
    arguments.push(given[j].id);
    if (j < 4 + a.masked) wrt.push(j);
  }
  arguments.push(u.id);
  f.out.push(ebb::detail::composed_attend_back(in, a).id);
  graph d = joint(f, wrt);
  for (int j = 0; j < wrt.size(); ++j) d.out[j] = or_zeros(d, d.out[j + 1], d.input(j));
  const vec<int> spliced = splice(*u.g, d, arguments);
  vec<int> r;
  for (int j = 0; j < given.size(); ++j) r.push(j < wrt.size() ? spliced[j] : nothing.id);
  return r;
}

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<475, Call> : Call {
  static_assert(Call::code != 475, "[ebb E0475] attention: q [..., rows, depth], k [..., columns, depth] and v [..., columns, width] do "
                                   "not fit");
};
template <class Call>
struct refusal<453, Call> : Call {
  static_assert(Call::code != 453, "[ebb E0453] attention: the mask is bool or real, and is broadcast to [..., rows, columns]");
};

/// Options of attention.   ebb::scaled_dot_product_attention<ebb::attention{.causal = true}>(q, k, v)
struct attention {
  bool causal = false;  // row i sees the columns up to i
  double scale = 0;     // the factor of the scores; 0 means 1 / sqrt(depth)
  int group = 1;        // so many heads of q, one after the other, share a head of k and v; heads lie along axis -3
  double dropout = 0;   // the probability that a weight is dropped; if it is not 0, a key is the last operand
};

namespace functions {

template <attention A>
struct scaled_dot_product_attention {
  static constexpr std::string_view name = "scaled_dot_product_attention";
  static constexpr precision autocast = op::attend::autocast;
  static constexpr bool drops = A.dropout != 0;

  template <class Q, class K, class V>
  static constexpr auto apply(operand<Q> q, operand<K> k, operand<V> v) {
    return of(q, k, v, nothing, nothing);
  }
  template <class Q, class K, class V, class M>
  static constexpr auto apply(operand<Q> q, operand<K> k, operand<V> v, operand<M> mask_or_key) {
    if constexpr (drops) return of(q, k, v, nothing, mask_or_key);
    else return of(q, k, v, mask_or_key, nothing);
  }
  template <class Q, class K, class V, class M, class I>
  static constexpr auto apply(operand<Q> q, operand<K> k, operand<V> v, operand<M> mask, operand<I> key) {
    return of(q, k, v, mask, key);
  }

 private:
  template <class Q, class K, class V, class M, class I>
  static constexpr auto of(operand<Q> q0, operand<K> k0, operand<V> v0, M mask, I key) {
    using Promoted = typename detail::promoted_of<op::add, operand<Q>, operand<K>, operand<V>>;
    using T = decltype(detail::accepted<op::attend, Promoted>());
    using Wide = detail::computed_in<T>;
    graph& g = *q0.g;
    const operand<Wide> q = cast_to<Wide>(q0), k = cast_to<Wide>(k0), v = cast_to<Wide>(v0);
    for (const auto& x : {q, k, v})
      if (x.is_refused()) return refuse<T>(g, -x.id);
    const int last = q.rank() - 1;
    if (last < 1 || k.rank() != q.rank() || v.rank() != q.rank()) return refuse<T>(g, 475);
    if (A.group < 1 || (A.group > 1 && (last < 2 || q.rank() == max_rank))) return refuse<T>(g, 475);
    bool fits = g.syms.unify(q.extent(last), k.extent(last)) && g.syms.unify(k.extent(last - 1), v.extent(last - 1));
    for (int i = 0; i < last - 1; ++i) {
      const int heads = i == last - 2 && A.group > 1 ? g.syms.derive(extent_rule::product, k.extent(i), A.group) : k.extent(i);
      fits = fits && g.syms.unify(q.extent(i), heads) && g.syms.unify(k.extent(i), v.extent(i));
    }
    if (!fits) return refuse<T>(g, 475);
    const int with_sums = g.intern(with_extent(q.extents(), last, g.syms.derive(extent_rule::sum, v.extent(last), 1)));
    vec<int> in{q.id, k.id, v.id};
    detail::attention_attributes a{A.causal, is_operand<M>, is_operand<I>, 0, A.group, 0};
    if (A.scale != 0) a.scale = std::bit_cast<std::int64_t>(A.scale);
    if constexpr (is_operand<M>) {
      in.push(added_to_scores<Wide>(mask, q, with_extent(q.extents(), last, k.extent(last - 1))).id);
      if (in.back() < 0) return refuse<T>(g, -in.back());
    }
    if constexpr (is_operand<I>) {
      constexpr bool is_key = index_element<typename I::value_type>;
      if (key.is_refused()) return refuse<T>(g, -key.id);
      if (!is_key || key.rank() != 0) return refuse<T>(g, 525);
      if (!(A.dropout > 0 && A.dropout <= 1)) return refuse<T>(g, 452);
      if constexpr (is_key) in.push(detail::noise_of<Wide>(key, literal_in<Wide>(g, g.intern({}), A.dropout)).id);
    }
    const operand<Wide> r{&g, emit_as<op::attend, Wide>(g, with_sums, {in.data(), in.size()}, a.packed())};
    return cast_to<T>(detail::columns_of(r, 0, v.extent(last)));
  }
  /// A mask as numbers that are added to the scores, with as many axes as q. Its own extents stay: it is not repeated.
  template <class T, class M>
  static constexpr operand<T> added_to_scores(operand<M> mask, operand<T> q, const shape& scores) {
    graph& g = *q.g;
    if (mask.is_refused()) return refuse<T>(g, -mask.id);
    if constexpr (!real_element<M> && !std::is_same_v<M, bool>) return refuse<T>(g, 453);
    else {
      const int missing = scores.rank - mask.rank();
      if (missing < 0) return refuse<T>(g, 453);
      shape all;
      for (int i = 0; i < scores.rank; ++i) {
        const int extent = i < missing ? 1 : mask.extent(i - missing);
        if (extent != 1 && !g.syms.unify(extent, scores.e[i])) return refuse<T>(g, 453);
        all.push(extent);
      }
      if constexpr (std::is_same_v<M, bool>) {
        const operand<T> zero = literal_in<T>(g, mask.shape_number(), 0.);
        return view_as(emit_on<op::where>({}, mask, zero, literal_like(zero, -std::numeric_limits<double>::infinity())), all);
      } else return view_as(cast_to<T>(mask), all);
    }
  }
};

}  // namespace functions

/// softmax(scale q k^T + mask) v. The matrix of scores is not written: see [note: attention by blocks]. A row that sees nothing gives 0,
/// and its gradients are 0.
///   scaled_dot_product_attention(q, k, v)   (q, k, v, mask)   <ebb::attention{.dropout = 0.1}>(q, k, v, key)   (q, k, v, mask, key)
/// A mask of bool is true where a row sees a column; a real one is added to the scores and gets a gradient. It stays as it is along axes of
/// extent 1 and axes that it does not have. With attention::dropout weights are dropped as dropout drops elements of [..., rows, columns].
/// Shape: q [..., rows, depth], k [..., columns, depth], v [..., columns, width]: [..., rows, width]; leading axes are equal, but for
/// attention::group.   Dtype: promoted, whatever the mask is; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: q, k, v, the mask, the result, and one number for each row. A second derivative has matrices of all scores.
/// Error: that of the products, of exp and of the sums.   Throws: if extents do not fit.
/// Source: torch.nn.functional.scaled_dot_product_attention, which takes causal or a mask, not both.
template <attention A = attention{}, class Q, class K, class V, class... More>
constexpr auto scaled_dot_product_attention(Q&& q, K&& k, V&& v, More&&... mask_key) {
  return apply_function(functions::scaled_dot_product_attention<A>{}, std::forward<Q>(q), std::forward<K>(k), std::forward<V>(v),
                        std::forward<More>(mask_key)...);
}

}  // namespace ebb::inline EBB_ABI
