// ebb/shapes/einsum.hpp — einsum<"bij,bjk->bik">(x, y): products of arrays by the letters of their axes, and tensordot.
// SPDX-License-Identifier: BSL-1.0
//
// [note: einsum]
// The string is read at compile time. If an operand has a letter twice, its diagonal is taken. A letter that one operand has alone, and
// that the result lacks, is summed at once. Then operands are multiplied, see [note: order of einsum]. A letter that both factors have,
// and that is not needed later, is contracted by a matrix product, with the common letters as batch. If there is no such letter, the
// factors are multiplied element by element. Derivatives are those of these ops. `...` stands for leading axes, which are broadcast.
// Without `->` the result has the axes of `...`, then the letters that occur once, in the order of ASCII.
#pragma once

#include "../op/along.hpp"
#include "../op/linear.hpp"
#include "einsum_order.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::detail {

/// An operand and the labels of its axes. A label is a letter, or a number from 256 on for the axes of `...`, counted from the last one.
template <class T>
struct labelled {
  operand<T> x;
  int label[max_rank] = {};

  constexpr int rank() const { return x.rank(); }
  constexpr int find(int l) const {
    for (int i = 0; i < rank(); ++i)
      if (label[i] == l) return i;
    return -1;
  }
};

/// Writes the labels of an operand, and returns their number; `...` has batch_axes axes. The string has been checked.
constexpr int labels_of(const einsum_letters& s, int batch_axes, int* label) {
  int count = 0;
  for (int i = 0; i <= s.count; ++i) {
    if (i == s.batch)
      for (int b = batch_axes - 1; b >= 0; --b) label[count++] = 256 + b;
    if (i < s.count) label[count++] = s.letter[i];
  }
  return count;
}

struct einsum_steps {
  template <class T>
  static constexpr operand<T> run(const einsum_plan& p, const operand<T>* x) {
    labelled<T> in[most_of_einsum];
    int batch_axes = 0;
    for (int j = 0; j < p.count; ++j) {
      if (x[j].is_refused()) return x[j];
      in[j].x = x[j];
      labels_of(p.operand[j], x[j].rank() - p.operand[j].count, in[j].label);
      if (p.operand[j].batch >= 0) batch_axes = std::max(batch_axes, x[j].rank() - p.operand[j].count);
    }
    int wanted[2 * max_rank] = {};
    const int count = labels_of(p.result, batch_axes, wanted);
    if (count > max_rank) return refuse<T>(*x[0].g, 397);
    for (int j = 0; j < p.count; ++j) take_diagonals(in[j]);
    if (!fit_extents(in, p.count)) return refuse<T>(*x[0].g, 396);
    // Whether the result or an operand outside of a set has a label.
    const auto needed = [&](int label, unsigned set) {
      for (int i = 0; i < count; ++i)
        if (wanted[i] == label) return true;
      for (int j = 0; j < p.count; ++j)
        if (!(set >> j & 1) && in[j].find(label) >= 0) return true;
      return false;
    };
    for (int j = 0; j < p.count; ++j) {
      std::int64_t alone = 0;
      for (int i = 0; i < in[j].rank(); ++i)
        if (!needed(in[j].label[i], 1u << j)) alone |= std::int64_t{1} << i;
      sum_axes(in[j], alone);
    }
    const labelled<T> all = product_of_set(order_of(in, p.count, wanted, count), (1u << p.count) - 1, in, needed);
    return all.x.is_refused() ? all.x : in_order(all, wanted, count).x;
  }

 private:
  template <class T>
  static constexpr einsum_order order_of(const labelled<T>* in, int operands, const int* wanted, int count) {
    int label[einsum_order::most_letters] = {}, labels = 0;
    std::int64_t extent[einsum_order::most_letters] = {};
    std::uint64_t letters[most_of_einsum] = {}, of_result = 0;
    const auto place = [&](int l) {
      int at = 0;
      while (at < labels && label[at] != l) ++at;
      if (at == labels) label[labels++] = l;
      return at;
    };
    for (int j = 0; j < operands; ++j)
      for (int i = 0; i < in[j].rank(); ++i) {
        const int at = place(in[j].label[i]);
        letters[j] |= std::uint64_t{1} << at;
        extent[at] = in[j].x.extent(i);
      }
    for (int i = 0; i < count; ++i) of_result |= std::uint64_t{1} << place(wanted[i]);
    return einsum_order(operands, letters, of_result, extent);
  }
  template <class T>
  static constexpr labelled<T> product_of_set(const einsum_order& order, unsigned set, const labelled<T>* in, auto needed) {
    if (std::has_single_bit(set)) return in[std::countr_zero(set)];
    const unsigned first = order.first_of(set);
    const labelled<T> x = product_of_set(order, first, in, needed), y = product_of_set(order, set ^ first, in, needed);
    if (x.x.is_refused() || y.x.is_refused()) return x.x.is_refused() ? x : y;
    return product(x, y, [&](int label) { return needed(label, set); });
  }
  static constexpr void drop(int* label, int rank, std::int64_t mask) {
    for (int i = 0, to = 0; i < rank; ++i)
      if (!(mask >> i & 1)) label[to++] = label[i];
  }
  template <class T>
  static constexpr void sum_axes(labelled<T>& a, std::int64_t mask) {
    const int rank = a.rank();
    a.x = sum_over(a.x, mask);
    drop(a.label, rank, mask);
  }
  template <class T>
  static constexpr labelled<T> in_order(labelled<T> a, const int* wanted, int count) {
    int order[max_rank] = {};
    bool moves = false;
    for (int i = 0; i < count; ++i) {
      order[i] = a.find(wanted[i]);
      moves = moves || order[i] != i;
    }
    if (moves) a.x = emit_on<op::permute>({pack_axes(order, count)}, a.x);
    for (int i = 0; i < count; ++i) a.label[i] = wanted[i];
    return a;
  }

  /// Two axes with one label become one: its elements are every (n + 1)-th element of both axes joined.
  template <class T>
  static constexpr void take_diagonals(labelled<T>& a) {
    for (int p = 0; p < a.rank(); ++p)
      for (int q = p + 1; q < a.rank(); ++q) {
        if (a.label[p] != a.label[q]) continue;
        graph& g = *a.x.g;
        if (!g.syms.unify(a.x.extent(p), a.x.extent(q))) {
          a.x = refuse<T>(g, 396);
          return;
        }
        const auto pair = axis_moved(a.x, q, p + 1);
        shape flat = without_axes(pair.extents(), std::int64_t{1} << (p + 1));
        const int n = pair.extent(p), line = g.intern(axes_between(pair.extents(), p, p + 1));
        flat.e[p] = g.syms.derive(extent_rule::product, n, n);
        const auto step = count_along<std::int64_t>(pair, std::int64_t{1} << p) + std::int64_t{1};
        const auto place = index_along<std::int64_t>(g, line, 0) * broadcast_to(step, line, 1);
        drop(a.label, a.rank(), std::int64_t{1} << q);
        a.x = parts_at<functions::take>(view_as(pair, flat), place, p);
        --q;
      }
  }

  /// Whether each label has one extent. An axis of `...` with extent 1 is dropped if others have more: it is broadcast.
  template <class T>
  static constexpr bool fit_extents(labelled<T>* in, int count) {
    for (int j = 0; j < count; ++j)
      if (in[j].x.is_refused()) return false;
    symbols& s = in[0].x.g->syms;
    for (int j = 0; j < count; ++j)
      for (int i = 0; i < in[j].rank(); ++i) {
        if (in[j].label[i] < 256 || in[j].x.extent(i) != 1) continue;
        for (int k = 0; k < count; ++k) {
          const int at = in[k].find(in[j].label[i]);
          if (at < 0 || in[k].x.extent(at) == 1) continue;
          const std::int64_t mask = std::int64_t{1} << i;
          const int rank = in[j].rank();
          in[j].x = view_as(in[j].x, without_axes(in[j].x.extents(), mask));
          drop(in[j].label, rank, mask);
          --i;
          break;
        }
      }
    for (int j = 0; j < count; ++j)
      for (int i = 0; i < in[j].rank(); ++i)
        for (int k = j + 1; k < count; ++k)
          if (const int at = in[k].find(in[j].label[i]); at >= 0 && !s.unify(in[j].x.extent(i), in[k].x.extent(at))) return false;
    return true;
  }

  template <class T>
  static constexpr labelled<T> product(labelled<T> x, labelled<T> y, auto needed) {
    int batch[max_rank] = {}, left[max_rank] = {}, right[max_rank] = {}, inner[max_rank] = {};
    int batches = 0, lefts = 0, rights = 0, inners = 0;
    for (int i = 0; i < x.rank(); ++i) {
      if (y.find(x.label[i]) < 0) left[lefts++] = x.label[i];
      else if (needed(x.label[i])) batch[batches++] = x.label[i];
      else inner[inners++] = x.label[i];
    }
    for (int i = 0; i < y.rank(); ++i)
      if (x.find(y.label[i]) < 0) right[rights++] = y.label[i];
    graph& g = *x.x.g;
    labelled<T> r;
    r.x = refuse<T>(g, 397);
    if (batches + lefts + rights > max_rank) return r;
    int order[2 * max_rank] = {}, count = 0;
    const auto put = [&](const int* labels, int n) {
      for (int i = 0; i < n; ++i) order[count++] = labels[i];
    };
    const auto ordered = [&](const labelled<T>& a, auto... group) {
      count = 0;
      (put(group.first, group.second), ...);
      return in_order(a, order, count).x;
    };
    const std::pair<const int*, int> b{batch, batches}, l{left, lefts}, m{right, rights}, k{inner, inners};
    const auto u = ordered(x, b, l, k), v = inners > 0 ? ordered(y, b, k, m) : ordered(y, b, m);
    const shape common = axes_between(u.extents(), 0, batches), rows = axes_between(u.extents(), batches, batches + lefts);
    const shape columns = axes_between(v.extents(), batches + inners, v.rank());
    const shape to = ebb::joined(ebb::joined(common, rows), columns);
    if (inners == 0) {
      const int number = g.intern(g.syms.find(to)), all = batches + lefts + rights;
      r.x = broadcast_to(u, number, axis_run(batches + lefts, all)) * broadcast_to(v, number, axis_run(batches, batches + lefts));
    } else {
      const auto merged = [&](operand<T> a, const shape& first, const shape& second) {
        shape s = common;
        s.push(volume_of(g.syms, first));
        s.push(volume_of(g.syms, second));
        return view_as(a, s);
      };
      if (batches + 2 > max_rank) return r;
      const shape between = axes_between(v.extents(), batches, batches + inners);
      r.x = view_as(product_of_batches(merged(u, rows, between), merged(v, between, columns), 0), to);
    }
    count = 0;
    put(batch, batches), put(left, lefts), put(right, rights);
    for (int i = 0; i < count; ++i) r.label[i] = order[i];
    return r;
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<396, Call> : Call {
  static_assert(Call::code != 396, "[ebb E0396] einsum: a letter has two extents");
};
template <class Call>
struct refusal<397, Call> : Call {
  static_assert(Call::code != 397,
                "[ebb E0397] einsum: each operand has a group of letters, one for each axis, and a product at most eight");
};

namespace functions {

template <detail::einsum_text Text>
struct einsum {
  static constexpr detail::einsum_plan plan = detail::read_einsum(Text);
  static constexpr precision autocast = plan.contracts ? op::matmul::autocast : precision::as_is;
  template <class... A>
  static constexpr auto apply(operand<A>... x) {
    using T = detail::promoted_of<op::mul, operand<A>...>;
    const operand<T> in[] = {cast_to<T>(x)...};
    return detail::einsum_steps::run(plan, in);
  }
};

/// Contracts the last Axes axes of x with the first ones of y.
template <int Axes>
struct tensordot {
  static constexpr precision autocast = op::matmul::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted<A, B>;
    const auto x = cast_to<T>(a), y = cast_to<T>(b);
    if (x.is_refused() || y.is_refused()) return x.is_refused() ? x : y;
    if (x.rank() < Axes || y.rank() < Axes) return refuse<T>(*x.g, 103);
    graph& g = *x.g;
    const int kept = x.rank() - Axes;
    for (int i = 0; i < Axes; ++i)
      if (!g.syms.unify(x.extent(kept + i), y.extent(i))) return refuse<T>(g, 102);
    const shape rows = axes_between(x.extents(), 0, kept), columns = axes_between(y.extents(), Axes, y.rank());
    const int inner = volume_of(g.syms, axes_between(y.extents(), 0, Axes));
    shape u, v;
    u.push(volume_of(g.syms, rows)), u.push(inner);
    v.push(inner), v.push(volume_of(g.syms, columns));
    return view_as(detail::product_of_batches(view_as(x, u), view_as(y, v), 0), joined(rows, columns));
  }
};

struct inner {
  static constexpr precision autocast = op::matmul::autocast;
  static constexpr auto apply(auto a, auto b) {
    using R = decltype(tensordot<1>::apply(a, b));
    if (a.is_refused() || b.is_refused()) return R{a.g, a.is_refused() ? a.id : b.id};
    if (b.rank() == 0) return R{a.g, -103};
    return tensordot<1>::apply(a, axis_moved(b, b.rank() - 1, 0));
  }
};

}  // namespace functions

namespace detail {
template <>
inline constexpr bool is_cast_in_rules<functions::inner> = false;
template <einsum_text Text>
inline constexpr bool is_cast_in_rules<functions::einsum<Text>> = false;
template <int Axes>
inline constexpr bool is_cast_in_rules<functions::tensordot<Axes>> = false;
}  // namespace detail

/// Sums of products of arrays whose axes have letters: see [note: einsum].
/// Three and more operands are multiplied in the cheapest order if all extents are known while tracing, else from left to right: see
/// [note: order of einsum]. Nested calls set an order: einsum<"ij,jl->il">(x, einsum<"jk,kl->jl">(y, z)).
///   einsum<"bij,bjk->bik">(x, y)   einsum<"ii">(x)   einsum<"...i,i->...">(x, w)
/// Shape: the extents of the result's letters.   Dtype: promoted.   Saves: the operands, and the products on the way.
/// Error: those of matmul and sum.   Throws: if a call's letter has two extents.   Autocast: low if it contracts.
template <detail::einsum_text Text, class... X>
constexpr auto einsum(const X&... x) {
  constexpr detail::einsum_plan plan = detail::read_einsum(Text);
  static_assert(plan.valid, "[ebb E0398] einsum: the string has letters, commas, `...`, and after `->` each letter of the result once");
  if constexpr (!plan.valid) return std::get<0>(std::tie(x...));
  else {
    constexpr bool fits = detail::ranks_fit<X...>(plan);
    static_assert(fits, "[ebb E0397] einsum: each operand has a group of letters, one for each axis, and a product at most eight");
    if constexpr (!fits) return std::get<0>(std::tie(x...));
    else {
      constexpr detail::letter_conflict c = detail::conflict_in<X...>(plan);
      if constexpr (detail::letter_of_einsum<c.letter, c.one, c.other>::fits) return apply_function(functions::einsum<Text>{}, x...);
      else return std::get<0>(std::tie(x...));
    }
  }
}
/// Sums of products over the last Axes axes of x and the first ones of y: torch.tensordot(x, y, Axes).
///   tensordot<1>(x, y)    matmul, for matrices
/// Shape: the other axes of x, then those of y.   Dtype, Saves, Error: as matmul.   Throws: if a call's extents differ.
template <int Axes, class X, class Y>
constexpr auto tensordot(X&& x, Y&& y) {
  return apply_function(functions::tensordot<Axes>{}, std::forward<X>(x), std::forward<Y>(y));
}
/// Sums of products over the last axes of x and of y, for all pairs of their rows: numpy.inner. vecdot pairs equal rows only.
/// Shape: x [..., n], y [..., n]: the other axes of x, then those of y.   Dtype, Saves, Error, Throws: as tensordot.
template <class X, class Y>
constexpr auto inner(X&& x, Y&& y) {
  return apply_function(functions::inner{}, std::forward<X>(x), std::forward<Y>(y));
}

}  // namespace ebb::inline EBB_ABI
