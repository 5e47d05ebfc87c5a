// ebb/pass/relax.hpp — rules that are true for real numbers, and for floats up to rounding: the pass that ebb::relaxed asks for.
// SPDX-License-Identifier: BSL-1.0
//
// [note: relaxed rules]
//   x / s                    x * (1 / s)        s is repeated or a literal: one division for all elements that it is repeated over
//   (x * a) * b              x * (a * b)        a and b are repeated: one product an element is saved; so with a sign, -(x * a)
//   (x * a) * (y * b)        (x * y) * (a * b)  likewise
//   a * x + b * x            (a + b) * x        two products become one; if a and b are repeated, three operations become one
//   a * x + a * y            a * (x + y)        the same rule
//   x + b * x                x * (1 + b)        b is repeated
//   -x - y, -(x - y)         -(x + y), y - x    signs move out of sums
//   sum(a * x)               a * sum(x)         a is the same along the axes of the sum; out of products, squares, quotients, sums below it
//   matmul(a * x, y)         a * matmul(x, y)   a is the same along the axis that is summed, and the result has fewer elements than x
//   sum(matmul(x, y))        matmul(sum(x), y)  over the rows of x; so over the columns of y, or both: then a product of two vectors. The
//                            sums are products with ones, which are quick for short rows, too
//   x * 0, x + 0, 0 - x      0, x, -x           the zero is a literal, or a matrix of them; so are moves of zeros
//   f(repeated x)            repeated f(x)      the same bits; so what is made of repeated numbers is small
//   x * x                    square(x)          the same bits; so equal squares are one equation
// A factor is repeated if it is a broadcast over an axis with more than one element, or a literal. A rule is not applied if the value that
// it takes apart is read elsewhere, since that value stays then. The pass counts: elements times operations, an extent that is not known as
// 256, a division as 4. It keeps what it did if the count is less, and goes over the graph again.
//
// [note: what relaxed arithmetic changes]
// Error: at most twice the bound of the program as written, which allows each operation one rounding and adds up absolute values: those of
// the terms x(i, p) * y(p, j) where products are summed. So x / s may be 1.5 ulp off. That holds if no intermediate result overflows or is
// subnormal. If one does:
//   s subnormal     1 / s overflows if |s| < 2^-128 (double: 2^-1024): then x / s is inf, or NaN for x = 0
//   s huge          1 / s is subnormal if |s| > 2^126 (double: 2^1022), and has fewer digits
//   large sums      sum(x / n) may overflow though each x / n does not: sum(x) does; (a * b) may overflow where (x * a) * b does not;
//                   sum(x) may where matmul(x, y) does not
//   infinities      a result that is not finite as written may be another one of inf, -inf and NaN: 2 * inf - inf is NaN, 1 * inf is inf
//   NaN             stays NaN, unless it is multiplied by a literal zero: 0 * x is 0, even where x is NaN or infinite
//   zeros           the sign of a zero may differ
//   no elements     a sum of none is 0, and may be NaN if a factor of it is infinite or a divisor is 0: s * sum(x) is inf * 0
// Other results that are finite as written, without overflow, stay finite. float16 and bfloat16 are left as they are: a sum of float16
// overflows too soon. So are comparisons, selections, extrema and functions such as exp: these have other operands, no other rules.
#pragma once

#include "factor.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Goes over a graph once, operands first. Numbers of equations are those of the new graph.
class relaxed_rules : factored_graph {
 public:
  constexpr relaxed_rules(const graph& g, emit_real emit)
      : factored_graph(shell_of(g), emit), g_(g), reads_(g.size(), 0), sums_(g.size(), 0) {}

  constexpr graph run() {
    for (int k = 0; k < g_.size(); ++k)
      for (int i : g_.operands(k)) {
        ++reads_[i];
        if (is_sum(g_.eq.data()[k])) ++sums_[i];
      }
    for (int o : g_.out)
      if (o >= 0) ++reads_[o];
    vec<int> at(g_.size(), -1), in;
    for (int k = 0; k < g_.size(); ++k) {
      const equation& e = g_.eq.data()[k];
      in.shrink(0);
      for (int i : g_.operands(k)) in.push(at[i]);
      r_.pulled_in = e.pulled_in;
      const int to = replacement(e, in);
      at[k] = to >= 0 ? to : r_.add(e, range_of(in));
      while (known_reads_.size() < r_.size()) known_reads_.push(0), known_sums_.push(0);
      known_reads_[at[k]] += reads_[k];
      known_sums_[at[k]] += sums_[k];
    }
    r_.pulled_in = nullptr;
    r_.out = outputs_at(g_, at);
    return static_cast<graph&&>(r_);
  }

 private:
  static constexpr bool is_sum(const equation& e) { return e.op->what == kind::reduce && e.op->computes == arithmetic::sum; }
  constexpr bool all_zero(const vec<int>& in) const {
    for (int i : in)
      if (!is_zero(i)) return false;
    return !in.empty();
  }

  /// An operation on repeated arrays and literals, done before they are repeated.
  constexpr int before_it_is_repeated(equation e, const vec<int>& in) {
    int first = -1;
    for (int i : in) {
      if (is_literal(i)) continue;
      if (at(i).op->what != kind::broadcast) return -1;
      if (first < 0) first = i;
      else if (at(i).attr[0] != at(first).attr[0] || at(r_.operand(i, 0)).shape != at(r_.operand(first, 0)).shape) return -1;
    }
    if (first < 0 || !adds_elements(e.shape, at(first).attr[0])) return -1;
    const std::int64_t mask = at(first).attr[0];
    const int to = e.shape;
    vec<int> small;
    e.shape = at(r_.operand(first, 0)).shape;
    for (int i : in)
      small.push(is_literal(i) ? at(i).op->kit->constant(r_, e.shape, static_cast<cell>(at(i).attr[0])) : r_.operand(i, 0));
    return e.op->kit->broadcast(r_, r_.add(e, range_of(small)), to, mask);
  }

  constexpr int div(int x, int s) {
    if (is_literal(s)) {
      const double v = value_of(s);
      if (!is_tame(v, at(s).op->result) || is_literal(x)) return -1;
      return emit_like<op::mul>(x, {x, literal(*at(s).op, at(s).shape, 1 / v)});
    }
    const factor f = as_factor(s);
    if (!f.there()) return -1;
    const int one = literal(*at(s).op, at(f.k).shape, 1);
    return emit_like<op::mul>(x, {x, repeated({emit_like<op::div>(f.k, {one, f.k}), f.mask}, at(s).shape)});
  }

  constexpr int mul(int x, int y) {
    if (is_zero(x) || is_zero(y)) return literal(*at(x).op, at(x).shape, 0);
    const int most = x == y ? 2 : 1;
    const scaled a = split_if_read_once(x, most), b = split_if_read_once(y, most);
    if (a.there() && b.there())
      if (const factor f = combined<op::mul>(a.by, b.by); f.there())
        return times(a.rest == b.rest ? emit_like<op::square>(x, {a.rest}) : emit_like<op::mul>(x, {a.rest, b.rest}), f);
    if (a.there())
      if (const factor f = combined<op::mul>(a.by, as_factor(y)); f.there()) return times(a.rest, f);
    if (b.there())
      if (const factor f = combined<op::mul>(b.by, as_factor(x)); f.there()) return times(b.rest, f);
    return x == y ? emit_like<op::square>(x, {x}) : -1;
  }

  constexpr int neg(int x) {
    if (!has_one_reader(x)) return -1;
    if (is<op::sub>(x)) return emit_like<op::sub>(x, {r_.operand(x, 1), r_.operand(x, 0)});
    const scaled a = is<op::mul>(x) ? split(x) : scaled{};
    return a.there() ? times(a.rest, negated(a.by)) : -1;
  }

  template <class Op>
  constexpr int add(int x, int y) {
    constexpr bool subtracts = std::is_same_v<Op, op::sub>;
    if (is_zero(y)) return x;
    if (is_zero(x)) return subtracts ? emit_like<op::neg>(y, {y}) : y;
    if (x == y) return -1;
    const bool x_once = has_one_reader(x), y_once = has_one_reader(y);
    if (subtracts && x_once && is<op::neg>(x)) {
      const int positive = r_.operand(x, 0);
      return emit_like<op::neg>(x, {emit_like<op::add>(x, {positive, y})});
    }
    // One of them is a multiple of the other.
    const op_info& op = *at(x).op;
    if (const scaled b = y_once ? split(y) : scaled{}; b.there() && b.rest == x && !is<op::neg>(y))
      if (const factor f = combined<Op>(number(op, 1, rank(x)), b.by); f.there()) return times(x, f);
    if (const scaled a = x_once ? split(x) : scaled{}; a.there() && a.rest == y && !is<op::neg>(x))
      if (const factor f = combined<Op>(a.by, number(op, 1, rank(x))); f.there()) return times(y, f);
    const auto is_product = [&](int k) { return is<op::mul>(k) || is<op::square>(k); };
    const auto factor_at = [&](int k, int i) { return r_.operand(k, is<op::square>(k) ? 0 : i); };
    if (!x_once || !y_once || !is_product(x) || !is_product(y)) return -1;
    // A common factor: first one that leaves a sum of repeated numbers.
    for (const bool only_repeated : {true, false})
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          const int common = factor_at(x, i), u = factor_at(x, 1 - i), v = factor_at(y, 1 - j);
          if (common != factor_at(y, j)) continue;
          const factor of_u = as_factor(u), of_v = as_factor(v), f = combined<Op>(of_u, of_v);
          if (f.there()) return times(common, f);
          if (!only_repeated) return emit_like<op::mul>(x, {emit_like<Op>(x, {u, v}), common});
        }
    return -1;
  }

  constexpr void multiply(vec<factor>& by, factor f) {
    for (factor& known : by)
      if (const factor both = combined<op::mul>(known, f); both.there()) {
        known = both;
        return;
      }
    by.push(f);
  }
  constexpr void multiply(vec<factor>& by, const vec<factor>& more) {
    for (const factor& f : more) multiply(by, f);
  }
  /// The base of k, which is that base times the factors in `by`: those that are the same along the axes of the mask.
  constexpr int peel(int k, std::int64_t axes, vec<factor>& by) {
    if (!is_wide(k)) return k;
    if (const scaled s = split(k); s.there() && (s.by.mask & axes) == axes) {
      const int base = peel(s.rest, axes, by);
      multiply(by, s.by);
      return base;
    }
    if (!has_one_reader(k) && reads(k) > known_sums_[k]) return k;
    const bool two = is<op::mul>(k) || is<op::add>(k) || is<op::sub>(k), squares = is<op::square>(k);
    if (!two && !squares && !is<op::div>(k)) return k;
    const equation e = at(k);
    vec<factor> by_a, by_b;
    const int a = peel(r_.operand(k, 0), axes, by_a), b = two ? peel(r_.operand(k, 1), axes, by_b) : -1;
    if (by_a.empty() && by_b.empty()) return k;
    if (is<op::add>(k) || is<op::sub>(k)) {
      if (by_a.size() != 1 || by_b.size() != 1 || by_a[0].k != by_b[0].k || by_a[0].mask != by_b[0].mask) return k;
      multiply(by, by_a);
      return with_operands(e, {a, b});
    }
    multiply(by, by_a);
    multiply(by, squares ? by_a : by_b);
    if (squares) return with_operands(e, {a});
    if (!two) return with_operands(e, {a, r_.operand(k, 1)});
    return a == b ? emit_like<op::square>(k, {a}) : emit_like<op::mul>(k, {a, b});
  }

  constexpr int sum(const equation& e, int x) {
    if (is_zero(x)) return literal(*e.op, e.shape, 0);
    if (reads(x) > 1 && reads(x) > known_sums_[x]) return -1;
    const std::int64_t axes = axis_run(e.attr[0], e.attr[1]);
    if (!adds_elements(at(x).shape, axes)) return -1;
    if (at(x).op->what == kind::contract && has_one_reader(x)) return sum_of_product(e, x, axes);
    const int rank_of_x = rank(x);
    vec<factor> by;
    const int base = peel(x, axes, by);
    if (by.empty()) return -1;
    int r = with_operands(e, {base});
    for (const factor& f : by) {
      std::int64_t mask = 0;
      for (int i = 0, axis = 0; i < rank_of_x; ++i)
        if (!(axes >> i & 1)) mask |= (f.mask >> i & 1) << axis++;
      r = times(r, {f.k, mask});
    }
    return r;
  }

  /// The product p of other operands, in the order of their shapes.
  constexpr int multiplied(equation p, int a, int b, int shape) {
    p.shape = shape;
    p.attr[0] = with_order(operand<float>{&r_, a}, operand<float>{&r_, b}, p.attr[0] & ~in_lanes);  // the dtype is not asked for
    return with_operands(p, {a, b});
  }
  /// Operand j of the product p, x, with the sum of its rows, or columns, in their place.
  constexpr int summed_with_ones(const equation& p, int x, int j, int last) {
    const int axis = kept_axis(p.attr[0], j, last + 1);
    shape of_ones = r_.shape_of(x), sums = of_ones;
    const int extent = of_ones.e[axis];
    sums.e[axis] = 1;
    of_ones.e[last - 1] = axis == last ? extent : 1;
    of_ones.e[last] = axis == last ? 1 : extent;
    const int ones = literal(*p.op, r_.intern(of_ones), 1), to = r_.intern(sums);
    equation by_ones = p;
    by_ones.attr[0] = p.attr[0] & of_vector;
    return axis == last ? multiplied(by_ones, x, ones, to) : multiplied(by_ones, ones, x, to);
  }
  /// The sum of a product over some axes: its rows, its columns, or both are added before they are multiplied.
  constexpr int sum_of_product(const equation& e, int product, std::int64_t axes) {
    const equation p = at(product);
    const int last = rank(product) - 1;
    const operation_count count(r_);
    int in[] = {r_.operand(product, 0), r_.operand(product, 1)};
    if (last == 1 && has_few_links(r_, p, in)) return -1;
    const double inner = count.summed_by(p, in[0]), before = elements(product) * (inner + 1);
    double after = 0;
    shape to = r_.shape_of(product);
    for (int j = 0; j < 2; ++j) {
      if (!(axes >> (last - 1 + j) & 1)) continue;
      to.e[last - 1 + j] = 1;
      after += elements(in[j]);
    }
    const int small = r_.intern(to);
    if (after == 0 || !(after + count.elements(small) * (inner + 1) < before)) return -1;
    for (int j = 0; j < 2; ++j)
      if (axes >> (last - 1 + j) & 1) in[j] = summed_with_ones(p, in[j], j, last);
    const int r = multiplied(p, in[0], in[1], small);
    return axes & axis_run(0, last - 1) ? with_operands(e, {r}) : p.op->kit->reshape(r_, r, e.shape);
  }
  /// The mask of a factor of operand j of a product, along the axes of the result.
  static constexpr std::int64_t mask_of_result(const equation& e, int j, int last, std::int64_t mask) {
    const std::int64_t own = mask >> kept_axis(e.attr[0], j, last + 1) & 1;
    return (mask & axis_run(0, last - 1)) | (j == 0 ? own : 1) << (last - 1) | (j == 0 ? 1 : own) << last;
  }
  /// A matrix product. x is [batch..., m, k], y is [batch..., k, n], each perhaps transposed.
  constexpr int product(const equation& e, int x, int y) {
    if (is_zero(x) || is_zero(y)) return literal(*e.op, e.shape, 0);
    const int last = rank(x) - 1;
    int in[] = {x, y};
    vec<factor> by;
    for (int j = 0; j < 2; ++j)
      while (has_one_reader(in[j])) {
        const scaled s = split(in[j]);
        if (!s.there() || !(s.by.mask >> summed_axis(e.attr[0], j, last + 1) & 1)) break;
        if (operation_count(r_).elements(e.shape) >= elements(in[j])) break;
        by.push({s.by.k, mask_of_result(e, j, last, s.by.mask)});
        in[j] = s.rest;
      }
    if (by.empty()) return -1;
    int r = with_operands(e, {in[0], in[1]});
    for (const factor& f : by) r = times(r, f);
    return r;
  }

  /// The equation that replaces e, or -1.
  constexpr int replacement(const equation& e, const vec<int>& in) {
    if (e.op->what == kind::move) return is_wide(e.op->result) && all_zero(in) ? literal(*e.op, e.shape, 0) : -1;
    if (e.op->what == kind::elementwise)
      if (const int k = before_it_is_repeated(e, in); k >= 0) return k;
    if (!is_wide(e.op->result)) return -1;
    if (is_sum(e)) return sum(e, in[0]);
    if (e.op->what == kind::contract) return product(e, in[0], in[1]);
    if (e.op->what != kind::elementwise) return -1;
    const std::uint64_t family = e.op->family;
    if (family == family_of<op::mul>) return mul(in[0], in[1]);
    if (family == family_of<op::div>) return div(in[0], in[1]);
    if (family == family_of<op::neg>) return neg(in[0]);
    if (family == family_of<op::square>) return is<op::neg>(in[0]) ? with_operands(e, {r_.operand(in[0], 0)}) : -1;
    if (family == family_of<op::add>) return add<op::add>(in[0], in[1]);
    if (family == family_of<op::sub>) return add<op::sub>(in[0], in[1]);
    return -1;
  }
  const graph& g_;
  vec<int> reads_, sums_;   // how often its equations are read, and how often by sums
  vec<int> known_sums_;     // by sums, of equations of the new graph
};

}  // namespace detail

/// g by relaxed and exact rules, as long as it computes less; so are the bodies of its loops.   See [note: relaxed rules].
template <class Program = void>  // whose pass it is
constexpr graph relax(const graph& g) {
  constexpr detail::emit_real emit = &detail::emit_among<Program, op::add, op::sub, op::neg, op::mul, op::square, op::div>;
  constexpr int most_rounds = 4;
  graph best = prune(simplify(g));
  for (graph& body : best.subs) body = relax<Program>(body);
  for (int i = 0; i < most_rounds; ++i) {
    graph next = prune(simplify(detail::relaxed_rules(best, emit).run()));
    if (!(detail::operation_count(next).total() < detail::operation_count(best).total())) break;
    best = static_cast<graph&&>(next);
  }
  return best;
}

}  // namespace ebb::inline EBB_ABI
