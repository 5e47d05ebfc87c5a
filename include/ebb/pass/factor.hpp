// ebb/pass/factor.hpp — factors that are the same along some axes: how they are found in products, joined, and put back.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simplify.hpp"

#include "../op/arithmetic.hpp"

namespace ebb::inline EBB_ABI::detail {

/// How much a graph computes: see [note: relaxed rules].
class operation_count {
 public:
  constexpr explicit operation_count(const graph& g) : g_(g) {}

  constexpr double elements(int shape) const {
    double n = 1;
    const ebb::shape& s = g_.shapes[shape];
    for (int i = 0; i < s.rank; ++i) {
      const int e = g_.syms.find(s.e[i]);
      n *= e < 0 ? 256 : e;
    }
    return n;
  }
  /// The extent along which a product sums.
  constexpr double summed_by(const equation& e, int x) const {
    const ebb::shape& s = g_.shape_of(x);
    const int extent = g_.syms.find(s.e[summed_axis(e.attr[0], 0, s.rank)]);
    return extent < 0 ? 256 : extent;
  }
  constexpr double of(int k) const {
    const equation& e = g_.eq.data()[k];
    switch (e.op->what) {
      case kind::input: case kind::literal: case kind::index: case kind::broadcast: case kind::reshape: case kind::result: return 0;
      case kind::elementwise:
        return elements(e.shape) * (e.op->heavy ? 16 : e.op->family == family_of<op::div> ? 4 : 1);
      case kind::reduce: return elements(g_.eq.data()[g_.operand(k, 0)].shape);
      case kind::contract: return elements(e.shape) * summed_by(e, g_.operand(k, 0));
      default: return 8 * elements(e.shape);
    }
  }
  constexpr double total() const {
    double n = 0;
    for (int k = 0; k < g_.size(); ++k) n += of(k);
    return n;
  }

 private:
  const graph& g_;
};

/// Emits an op of this family, in a shape and a dtype; only float and double have factors: see [note: what relaxed arithmetic changes].
/// A template of a program, and passed on as a pointer: see [note: ops on a fixed dtype]. Only relaxed programs have these kernels.
using emit_real = int (*)(graph&, std::uint64_t family, dtype, int shape, std::initializer_list<int> in);
template <class Program, class... Op>
constexpr int emit_among(graph& g, std::uint64_t family, dtype d, int shape, std::initializer_list<int> in) {
  int k = -1;
  const auto emit_if = [&]<class Each>(std::type_identity<Each>) {
    if (family == family_of<Each>) k = d == dtype::f32 ? emit_as<Each, float>(g, shape, in) : emit_as<Each, double>(g, shape, in);
  };
  (emit_if(std::type_identity<Op>{}), ...);
  return k;
}

/// A graph that grows, with its factors.
class factored_graph {
 protected:
  constexpr factored_graph(graph g, emit_real emit) : r_(static_cast<graph&&>(g)), emit_(emit) {}

  /// An array that is repeated along the axes of the mask, all of them for a literal.
  struct factor {
    int k = -1;
    std::int64_t mask = 0;
    constexpr bool there() const { return k >= 0; }
  };
  /// rest * by
  struct scaled {
    int rest = -1;
    factor by;
    constexpr bool there() const { return by.there(); }
  };
  constexpr const equation& at(int k) const { return r_.eq.data()[k]; }
  template <class Op>
  constexpr bool is(int k) const {
    return at(k).op->family == family_of<Op>;
  }
  constexpr bool is_wide(int k) const { return is_wide(at(k).op->result); }
  static constexpr bool is_wide(dtype d) { return d == dtype::f32 || d == dtype::f64; }
  constexpr bool is_literal(int k) const { return at(k).op->what == kind::literal; }
  constexpr double value_of(int k) const { return rewriting::number_of(at(k).op->result, static_cast<cell>(at(k).attr[0])); }
  constexpr bool is_zero(int k) const { return is_literal(k) && value_of(k) == 0; }
  /// Whether products of two such numbers, and reciprocals, are ordinary: see [note: folding keeps out of trouble].
  static constexpr bool is_tame(double v, dtype d) {
    const double most = d == dtype::f32 ? 0x1p60 : 0x1p500, size = v < 0 ? -v : v;
    return size >= 1 / most && size <= most;
  }
  constexpr int rank(int k) const { return r_.shape_of(k).rank; }
  constexpr double elements(int k) const { return operation_count(r_).elements(at(k).shape); }
  /// How often k is read in the graph as it was; a new equation not at all.
  constexpr int reads(int k) const { return k < known_reads_.size() ? known_reads_[k] : 0; }
  constexpr bool has_one_reader(int k) const { return reads(k) <= 1; }

  template <class Op>
  constexpr int emit_like(int k, std::initializer_list<int> in) {
    return emit_(r_, family_of<Op>, at(k).op->result, at(k).shape, in);
  }
  /// In the dtype of the op's result.
  constexpr int literal(const op_info& op, int shape, double value) { return op.kit->literal(r_, shape, value); }
  constexpr int with_operands(const equation& e, std::initializer_list<int> in) { return r_.add(e, in); }

  /// Whether an axis of the mask has more than one element.
  constexpr bool adds_elements(int shape, std::int64_t mask) const {
    const ebb::shape& s = r_.shapes[shape];
    for (int i = 0; i < s.rank; ++i)
      if ((mask >> i & 1) && r_.syms.find(s.e[i]) != 1) return true;
    return false;
  }
  /// k as a factor that is repeated.
  constexpr factor as_factor(int k) {
    const equation& e = at(k);
    if (!is_wide(e.op->result)) return {};
    if (e.op->what == kind::broadcast) return adds_elements(e.shape, e.attr[0]) ? factor{r_.operand(k, 0), e.attr[0]} : factor{};
    if (!is_literal(k) || !is_tame(value_of(k), e.op->result)) return {};
    return number(*e.op, value_of(k), rank(k));
  }
  constexpr factor number(const op_info& op, double value, int rank) {
    return {literal(op, r_.intern({}), value), (std::int64_t{1} << rank) - 1};
  }
  /// The factor in a shape.
  constexpr int repeated(factor f, int shape) {
    if (f.mask == 0) return f.k;
    const equation& e = at(f.k);
    if (e.op->what == kind::literal) return e.op->kit->constant(r_, shape, static_cast<cell>(e.attr[0]));
    return e.op->kit->broadcast(r_, f.k, shape, f.mask);
  }
  constexpr int times(int k, factor f) {
    const int by = repeated(f, at(k).shape);
    // A quotient of the sum, not a product with the reciprocal: it is one rounding less, and as fast where nothing is repeated.
    if (f.mask == 0 && is<op::div>(by) && has_one_reader(by) && is_literal(r_.operand(by, 0)) && value_of(r_.operand(by, 0)) == 1)
      return emit_like<op::div>(k, {k, r_.operand(by, 1)});
    return emit_like<op::mul>(k, {k, by});
  }

  /// The product, the sum or the difference of two factors as one factor; none if they are repeated along different axes.
  template <class Op>
  constexpr factor combined(factor a, factor b) {
    if (!a.there() || !b.there()) return {};
    const op_info& op = *at(a.k).op;
    if (is_literal(a.k) && is_literal(b.k)) {
      const double x = value_of(a.k), y = value_of(b.k);
      const double v = std::is_same_v<Op, op::mul> ? x * y : std::is_same_v<Op, op::add> ? x + y : x - y;
      return is_tame(v, op.result) ? factor{literal(op, r_.intern({}), v), a.mask} : factor{};
    }
    if (is_literal(a.k)) a = {literal(op, at(b.k).shape, value_of(a.k)), b.mask};
    else if (is_literal(b.k)) b = {literal(op, at(a.k).shape, value_of(b.k)), a.mask};
    if (a.mask != b.mask || at(a.k).shape != at(b.k).shape) return {};
    return {emit_like<Op>(a.k, {a.k, b.k}), a.mask};
  }
  constexpr factor negated(factor f) {
    if (is_literal(f.k)) return {literal(*at(f.k).op, at(f.k).shape, -value_of(f.k)), f.mask};
    return {emit_like<op::neg>(f.k, {f.k}), f.mask};
  }

  /// k as rest * by.
  constexpr scaled split(int k) {
    if (!is_wide(k)) return {};
    if (is<op::neg>(k)) return {r_.operand(k, 0), number(*at(k).op, -1, rank(k))};
    if (!is<op::mul>(k)) return {};
    const int a = r_.operand(k, 0), b = r_.operand(k, 1);
    if (const factor f = as_factor(b); f.there()) return {a, f};
    return {b, as_factor(a)};
  }
  constexpr scaled split_if_read_once(int k, int most = 1) { return reads(k) <= most ? split(k) : scaled{}; }

  graph r_;
  emit_real emit_;
  vec<int> known_reads_;  // of its equations: as often as those that they replace
};

}  // namespace ebb::inline EBB_ABI::detail
