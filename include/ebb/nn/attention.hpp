// ebb/nn/attention.hpp — scaled_dot_product_attention by blocks: the matrix of all scores is never written.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "attend.hpp"

#include "../op/arithmetic.hpp"
#include "../op/compare.hpp"
#include "../op/contract.hpp"
#include "../op/exponential.hpp"
#include "../op/move.hpp"
#include "../op/operators.hpp"
#include "../op/power.hpp"
#include "../op/source.hpp"
#include "../op/whole.hpp"
#include "../pass/pipeline.hpp"

#include <bit>

namespace ebb::inline EBB_ABI::detail {

/// attr 0: bit 0 says causal, the other bits are the number of the operand that a gradient is by. attr 1: the bits of the scale as a
/// double; 0 means 1 / sqrt(depth).
constexpr kernel::attention_extents extents_of_attention(const extent_list& q, const extent_list& k, const extent_list& v,
                                                         const std::int64_t* attr) {
  const auto last = [](const extent_list& x, int i) { return static_cast<std::ptrdiff_t>(x.e[x.rank - i]); };
  kernel::attention_extents a{last(q, 2), last(k, 2), last(q, 1), last(v, 1), (attr[0] & 1) != 0, 1};
  a.scale = attr[1] != 0 ? std::bit_cast<double>(attr[1]) : 1 / lane::sqrt(static_cast<double>(a.depth));
  return a;
}

/// Calls f(operands, result) for each array of the batch. Narrow floats are computed as float.
template <class T, class S = computed_in<T>>
void each_attended(const whole_call& c, auto&& f) {
  const std::size_t batch = c.shapes[0].volume(0, c.shapes[0].rank - 2);
  vec<S> wide[5];
  for (std::size_t b = 0; b < batch; ++b) {
    const S* in[4] = {};
    for (int j = 0; j < c.count; ++j) {
      const std::size_t size = c.shapes[j].volume() / batch;
      const T* const from = static_cast<const T*>(c.in[j]) + b * size;
      if constexpr (std::is_same_v<S, T>) in[j] = from;
      else {
        wide[j] = vec<S>(static_cast<int>(size), S(0));
        for (std::size_t i = 0; i < size; ++i) wide[j][static_cast<int>(i)] = static_cast<S>(from[i]);
        in[j] = wide[j].data();
      }
    }
    const std::size_t size = c.result.volume() / batch;
    T* const to = static_cast<T*>(c.out) + b * size;
    if constexpr (std::is_same_v<S, T>) f(in, to);
    else {
      wide[4] = vec<S>(static_cast<int>(size), S(0));
      f(in, wide[4].data());
      for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<T>(wide[4][static_cast<int>(i)]);
    }
  }
}

/// The reference's sum of x(p) y(p) for p < n, as a chain.
template <class S>
constexpr S chain_of_products(std::ptrdiff_t n, auto&& x, auto&& y) {
  S sum = 0;
  for (std::ptrdiff_t p = 0; p < n; ++p) sum = lane::fma(x(p), y(p), sum);
  return sum;
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

struct attending : op_base {
  static constexpr kind what = kind::own;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::low;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    numbers[0] = attr[0];
    return attr[0] != 0 ? 1 : 0;
  }
};

/// [..., rows, width + 1]: softmax(scale q k^T) v, and the logarithm of each row's sum of exponentials.   Saves: q, k, v, out.
struct attend : attending {
  static constexpr std::string_view name = "attend";
  static constexpr int arity = 3;
  template <class T>
  static void whole(const whole_call& c) {
    const kernel::attention_extents a = ebb::detail::extents_of_attention(c.shapes[0], c.shapes[1], c.shapes[2], c.attr);
    using S = ebb::detail::computed_in<T>;
    S* const scratch = reinterpret_cast<S*>(thread_scratch().take(static_cast<std::size_t>(a.scratch()) * sizeof(S)));
    ebb::detail::each_attended<T>(c, [&](const S* const* in, S* out) { kernel::attend(a, in[0], in[1], in[2], out, scratch); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const kernel::attention_extents a = ebb::detail::extents_of_attention(c.in[0], c.in[1], c.in[2], c.attr);
    const auto scale = static_cast<S>(a.scale);
    const auto batch = static_cast<std::ptrdiff_t>(c.in[0].volume(0, c.in[0].rank - 2));
    for (std::ptrdiff_t row = 0; row < batch * a.rows; ++row) {
      const std::ptrdiff_t b = row / a.rows, i = row % a.rows, count = a.seen(i + 1), to = a.width + 1;
      const auto at = [&](int j, std::ptrdiff_t k) { return in(j, static_cast<std::size_t>(k)); };
      vec<S> sums(static_cast<int>(to), S(0));
      S top = -std::numeric_limits<S>::infinity();
      for (std::ptrdiff_t first = 0; first < count; first += a.block) {
        const std::ptrdiff_t end = std::min(first + a.block, count);
        vec<S> scores;
        S most = top;
        for (std::ptrdiff_t j = first; j < end; ++j) {
          scores.push(scale * ebb::detail::chain_of_products<S>(
                                  a.depth, [&](auto p) { return at(0, row * a.depth + p); },
                                  [&](auto p) { return at(1, (b * a.columns + j) * a.depth + p); }));
          most = scores.back() > most ? scores.back() : most;
        }
        if (most == -std::numeric_limits<S>::infinity()) most = S(0);
        for (S& x : sums) x *= lane::exp(top - most);
        for (std::ptrdiff_t j = first; j < end; ++j) {
          const S e = lane::exp(scores[static_cast<int>(j - first)] - most);
          for (std::ptrdiff_t p = 0; p < a.width; ++p)
            sums[static_cast<int>(p)] = lane::fma(e, at(2, (b * a.columns + j) * a.width + p), sums[static_cast<int>(p)]);
          sums.back() += e;
        }
        top = most;
      }
      const S sum = sums.back();
      for (int p = 0; p < a.width; ++p) put(static_cast<std::size_t>(row * to + p), sum == 0 ? S(0) : sums[p] / sum);
      put(static_cast<std::size_t>(row * to + a.width), sum == 0 ? -std::numeric_limits<S>::infinity() : top + lane::log(sum));
    }
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> q, operand<T> k, operand<T> v, operand<T> out);
};

/// The gradient by operand attr 0 / 2: see kernel::attend_back.   Saves: q, k, v, g. Its pull is that of the composed form.
struct attend_back : attending {
  static constexpr std::string_view name = "attend_back";
  static constexpr int arity = 4;
  template <class T>
  static void whole(const whole_call& c) {
    const kernel::attention_extents a = ebb::detail::extents_of_attention(c.shapes[0], c.shapes[1], c.shapes[2], c.attr);
    using S = ebb::detail::computed_in<T>;
    S* const scratch = reinterpret_cast<S*>(thread_scratch().take(static_cast<std::size_t>(a.scratch()) * sizeof(S)));
    const int by = static_cast<int>(c.attr[0] / 2);
    ebb::detail::each_attended<T>(
        c, [&](const S* const* in, S* out) { kernel::attend_back(a, by, in[0], in[1], in[2], in[3], out, scratch); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const kernel::attention_extents a = ebb::detail::extents_of_attention(c.in[0], c.in[1], c.in[2], c.attr);
    const auto scale = static_cast<S>(a.scale);
    const std::ptrdiff_t batch = static_cast<std::ptrdiff_t>(c.in[0].volume(0, c.in[0].rank - 2)), by = c.attr[0] / 2;
    const std::ptrdiff_t width = by == 2 ? a.width : a.depth, g_row = a.width + 2;
    const auto at = [&](int j, std::ptrdiff_t k) { return in(j, static_cast<std::size_t>(k)); };
    vec<S> sums(static_cast<int>(c.out.volume()), S(0));
    for (std::ptrdiff_t row = 0; row < batch * a.rows; ++row)
      for (std::ptrdiff_t j = 0, b = row / a.rows; j < a.seen(row % a.rows + 1); ++j) {
        const std::ptrdiff_t column = b * a.columns + j;
        const S score = scale * ebb::detail::chain_of_products<S>(
                                    a.depth, [&](auto p) { return at(0, row * a.depth + p); },
                                    [&](auto p) { return at(1, column * a.depth + p); });
        const S e = lane::exp(score - at(3, row * g_row + a.width));
        const S slope = ebb::detail::chain_of_products<S>(
            a.width, [&](auto p) { return at(3, row * g_row + p); }, [&](auto p) { return at(2, column * a.width + p); });
        const S factor = by == 2 ? e : e * (slope - at(3, row * g_row + a.width + 1));
        for (std::ptrdiff_t p = 0; p < width; ++p) {
          S& to = sums[static_cast<int>((by == 0 ? row : column) * width + p)];
          to = lane::fma(factor, by == 0 ? at(1, column * width + p) : by == 1 ? at(0, row * width + p) : at(3, row * g_row + p), to);
        }
      }
    for (int i = 0; i < sums.size(); ++i) put(static_cast<std::size_t>(i), by == 2 ? sums[i] : sums[i] * scale);
  }
  template <class T>
  static constexpr auto pull(operand<T> u, operand<T> q, operand<T> k, operand<T> v, operand<T> g, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::detail {

/// Columns [start, start + extent) of x's last axis; a negative start counts from the end.
template <class T>
constexpr operand<T> columns_of(operand<T> x, std::int64_t start, int extent) {
  return slice_as(x, {x.rank() - 1, start}, x.g->intern(with_extent(x.extents(), x.rank() - 1, extent)));
}

/// attend_back, composed of products and elementwise operations.
template <class T>
constexpr operand<T> composed_attend_back(operand<T> q, operand<T> k, operand<T> v, operand<T> g, const std::int64_t* attr) {
  const int last = q.rank() - 1, width = v.extent(last);
  const std::int64_t along = std::int64_t{1} << last;
  const auto row = [&](operand<T> x, operand<T> like) { return repeat(view_as(x, axes_between(x.extents(), 0, last)), like, along); };
  const operand<T> products = product_of(q, k, right_transposed);
  operand<T> scale = attr[1] != 0 ? literal_like(products, std::bit_cast<double>(attr[1])) : products;
  if (attr[1] == 0) {
    const operand<T> root = emit_on<op::rsqrt>({}, count_along<T>(q, along));
    scale = repeat(root, products, axis_run(0, last + 1));
  }
  operand<T> less = products * scale - row(columns_of(g, -2, 1), products);
  if (attr[0] & 1) {
    const auto i = index_along<std::int32_t>(*q.g, products.shape_number(), last - 1);
    const auto j = index_along<std::int32_t>(*q.g, products.shape_number(), last);
    less = emit_on<op::where>({}, emit_on<op::less_equal>({}, j, i), less, literal_like(less, -std::numeric_limits<double>::infinity()));
  }
  const operand<T> p = emit_on<op::exp>({}, less), of_y = columns_of(g, 0, width);
  if (attr[0] / 2 == 2) return product_of(p, of_y, left_transposed);
  const operand<T> slopes = p * (product_of(of_y, v, right_transposed) - row(columns_of(g, -1, 1), p)) * scale;
  return attr[0] / 2 == 0 ? product_of(slopes, k, 0) : product_of(slopes, q, left_transposed);
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr auto attend::pull(operand<T> g, operand<T> q, operand<T> k, operand<T> v, operand<T> out) {
  graph& in = *g.g;
  const int last = q.rank() - 1, width = v.extent(last);
  const auto of_y = ebb::detail::columns_of(g, 0, width), y = ebb::detail::columns_of(out, 0, width);
  const auto logarithm = ebb::detail::columns_of(out, -1, 1), of_logarithm = ebb::detail::columns_of(g, -1, 1);
  const auto less = view_as(sum_over(of_y * y, std::int64_t{1} << last), logarithm.extents()) - of_logarithm;
  const int all = in.intern(with_extent(g.extents(), last, in.syms.derive(extent_rule::sum, width, 2)));
  const operand<T> both{&in, emit_as<concat, T>(in, all, {of_y.id, logarithm.id, less.id}, {last})};
  const auto by = [&](operand<T> x, std::int64_t number) {
    return operand<T>{&in, emit_as<attend_back, T>(in, x.shape_number(), {q.id, k.id, v.id, both.id},
                                                   {(out.attribute(0) & 1) + 2 * number, out.attribute(1)})};
  };
  return grads(by(q, 0), by(k, 1), by(v, 2));
}
template <class T>
constexpr auto attend_back::pull(operand<T> u, operand<T> q, operand<T> k, operand<T> v, operand<T> g, operand<T> out) {
  // The composed form gets a graph of its own, whose arguments are the operands. So each gradient is by one operand alone, even if two
  // operands are the same equation here.
  graph f;
  const operand<T> given[] = {q, k, v, g};
  operand<T> in[4];
  for (int j = 0; j < 4; ++j) {
    shape s = given[j].extents();
    for (int i = 0; i < s.rank; ++i) s.e[i] = given[j].extent(i) >= 0 ? given[j].extent(i) : f.syms.fresh({extent_rule::argument, j, i});
    in[j] = {&f, kit_of<T>::input(f, f.intern(s), f.inputs++)};
  }
  const std::int64_t attr[] = {out.attribute(0), out.attribute(1)};
  f.out.push(ebb::detail::composed_attend_back(in[0], in[1], in[2], in[3], attr).id);
  graph d = joint(f, {0, 1, 2, 3});
  for (int j = 0; j < 4; ++j) d.out[j] = or_zeros(d, d.out[j + 1], d.input(j));
  const vec<int> r = splice(*u.g, d, {q.id, k.id, v.id, g.id, u.id});
  return grads(operand<T>{u.g, r[0]}, operand<T>{u.g, r[1]}, operand<T>{u.g, r[2]}, operand<T>{u.g, r[3]});
}

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<475, Call> : Call {
  static_assert(Call::code != 475, "[ebb E0475] attention: q [..., rows, depth], k [..., columns, depth] and v [..., columns, width] do "
                                   "not fit");
};

/// Options of attention.   ebb::scaled_dot_product_attention<ebb::attention{.causal = true}>(q, k, v)
struct attention {
  bool causal = false;  // row i sees the columns up to i
  double scale = 0;     // the factor of the scores; 0 means 1 / sqrt(depth)
};

namespace functions {

template <attention A>
struct scaled_dot_product_attention {
  static constexpr precision autocast = op::attend::autocast;
  template <class Q, class K, class V>
  static constexpr auto apply(operand<Q> q0, operand<K> k0, operand<V> v0) {
    using Promoted = typename detail::promoted_of<op::add, operand<Q>, operand<K>, operand<V>>;
    using T = decltype(detail::accepted<op::attend, Promoted>());
    using Wide = detail::computed_in<T>;
    graph& g = *q0.g;
    const operand<Wide> q = cast_to<Wide>(q0), k = cast_to<Wide>(k0), v = cast_to<Wide>(v0);
    for (const auto& x : {q, k, v})
      if (x.is_refused()) return refuse<T>(g, -x.id);
    const int last = q.rank() - 1;
    if (last < 1 || k.rank() != q.rank() || v.rank() != q.rank()) return refuse<T>(g, 475);
    bool fits = g.syms.unify(q.extent(last), k.extent(last)) && g.syms.unify(k.extent(last - 1), v.extent(last - 1));
    for (int i = 0; i < last - 1; ++i) fits = fits && g.syms.unify(q.extent(i), k.extent(i)) && g.syms.unify(q.extent(i), v.extent(i));
    if (!fits) return refuse<T>(g, 475);
    const int with_sums = g.intern(with_extent(q.extents(), last, g.syms.derive(extent_rule::sum, v.extent(last), 1)));
    const operand<Wide> r{&g, emit_as<op::attend, Wide>(g, with_sums, {q.id, k.id, v.id},
                                                        {A.causal, A.scale != 0 ? std::bit_cast<std::int64_t>(A.scale) : 0})};
    return cast_to<T>(detail::columns_of(r, 0, v.extent(last)));
  }
};

}  // namespace functions

/// softmax(scale q k^T) v. The matrix of scores is not written: see [note: attention by blocks]. A row that sees nothing gives 0.
/// Shape: q [..., rows, depth], k [..., columns, depth], v [..., columns, width]: [..., rows, width]; leading axes are equal.
/// Dtype: promoted; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: q, k, v, the result, and one number for each row. A second derivative has matrices of all scores.
/// Error: that of the products, of exp and of the sums.   Throws: if extents do not fit.
/// Source: torch.nn.functional.scaled_dot_product_attention, without its mask: masked attention is composed of matmul and softmax.
template <attention A = attention{}, class Q, class K, class V>
constexpr auto scaled_dot_product_attention(Q&& q, K&& k, V&& v) {
  return apply_function(functions::scaled_dot_product_attention<A>{}, std::forward<Q>(q), std::forward<K>(k), std::forward<V>(v));
}

}  // namespace ebb::inline EBB_ABI
