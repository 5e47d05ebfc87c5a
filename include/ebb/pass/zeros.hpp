// ebb/pass/zeros.hpp — leaves out additions of +0 that change no result.
// SPDX-License-Identifier: BSL-1.0
//
// [note: signs of zeros]
// x + 0 is x, but +0 where x is -0. A sum of components ends with such an addition, so a Jacobian has dozens of them, one after the other.
// One is left out if x is never -0, or if no result depends on the sign of this zero.
//   never -0       squares, magnitudes, literals but -0; a sum with a term that is never -0; a difference from what is never -0
//   hides the sign of an operand that is zero
//                  comparisons, squares, magnitudes; a sum whose other term is never -0
//   hands it on    other sums, differences, products, the numerator of a quotient, selections, and what copies elements: their results
//                  differ in the signs of zeros only, so their readers decide
// All other operations read the sign. A term that hides the sign of the other one must stay as it is: its own sign counts as read.
#pragma once

#include "simplify.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class zero_signs {
 public:
  EBB_COLD_CTOR constexpr explicit zero_signs(const graph& g) : g_(g), never_(g.size(), 0), read_(g.size(), 0) {
    for (int k = 0; k < g.size(); ++k) any_ = any_ || beside_zero(k) >= 0;
    if (!any_) return;
    for (int k = 0; k < g.size(); ++k) never_.data()[k] = is_never_minus(k);
    for (int o : g.out)
      if (o >= 0) read_[o] = 1;
    for (int k = g.size() - 1; k >= 0; --k) mark_operands(k);
  }

  /// Whether there is an addition of +0.
  constexpr bool any() const { return any_; }
  /// The operand x if k is x + 0 and no result differs with x in its place, or -1.
  constexpr int same_as(int k) const {
    const int x = beside_zero(k);
    return x >= 0 && (never_[x] || !read_[k]) ? x : -1;
  }

 private:
  constexpr const op_info& op(int k) const { return *g_.eq.data()[k].op; }
  constexpr int operand(int k, int j) const { return g_.pool.data()[g_.eq.data()[k].first + j]; }
  static constexpr bool is_float(const op_info& op) {
    const dtype d = op.result;
    return d != dtype::boolean && d != dtype::i32 && d != dtype::i64;
  }
  /// Whether k is the literal 0, or -0.
  template <bool Minus = false>
  constexpr bool is_zero(int k) const {
    const equation& e = g_.eq.data()[k];
    return e.op->what == kind::literal &&
           static_cast<cell>(e.attr[0]) == rewriting::literal_of<0, Minus>::bits[static_cast<int>(e.op->result)];
  }
  /// The other operand if k adds +0 to it, or -1.
  constexpr int beside_zero(int k) const {
    if (!is_op<op::add>(op(k)) || !is_float(op(k))) return -1;
    const int x = operand(k, 0), y = operand(k, 1);
    return is_zero(y) ? x : is_zero(x) ? y : -1;
  }

  constexpr bool is_never_minus(int k) const {
    const op_info& o = op(k);
    if (!is_float(o)) return true;
    if (o.what == kind::literal) return !is_zero<true>(k);
    const auto never = [&](int j) { return never_.data()[operand(k, j)] != 0; };
    if (is_op<op::square, op::abs>(o)) return true;
    if (is_op<op::add>(o)) return never(0) || never(1);
    if (is_op<op::sub>(o)) return never(0);
    if (is_op<op::where>(o)) return never(1) && never(2);
    return (o.what == kind::broadcast || o.what == kind::reshape) && never(0);
  }

  constexpr void mark(int k, bool read) {
    if (read) read_.data()[k] = 1;
  }
  EBB_COLD constexpr void mark_operands(int k) {
    const bool read = read_.data()[k] != 0;
    const op_info& o = op(k);
    if (is_op<op::add>(o) && read) return mark_terms(operand(k, 0), operand(k, 1));
    if (is_op<op::sub>(o)) {
      mark(operand(k, 0), read);
      return mark(operand(k, 1), read && !never_[operand(k, 0)]);
    }
    const kind what = o.what;
    const bool copies = what == kind::broadcast || what == kind::reshape || what == kind::move;
    const bool hands_on = copies || is_op<op::mul, op::add, op::div, op::neg, op::where>(o);
    const bool compares = is_op<op::equal, op::not_equal, op::less, op::less_equal, op::greater, op::greater_equal>(o);
    if (compares || is_op<op::square, op::abs>(o)) return;
    for (int j = 0; j < g_.eq.data()[k].count; ++j) mark(operand(k, j), read || !hands_on || (j == 1 && is_op<op::div>(o)));
  }
  /// The terms of a sum whose sign is read. x + 0 goes if x is never -0, so x must stay as it is.
  constexpr void mark_terms(int x, int y) {
    const bool by_x = never_[x] && !is_zero(x), by_y = never_[y] && !is_zero(y);
    if (by_x && by_y) return mark(read_[x] || beside_zero(x) < 0 ? x : y, true);
    if (by_x) return mark(x, true);
    if (by_y) return mark(y, true);
    if (never_[x] || never_[y]) return;  // the literal 0
    mark(x, true);
    mark(y, true);
  }

  const graph& g_;
  bool any_ = false;
  vec<char> never_, read_;  // whether it is never -0; whether a result depends on the sign of its zeros
};

}  // namespace detail

/// g without additions of +0 that change no result: see [note: signs of zeros]. Unused equations are left to prune, and
/// equal ones to the next pass that looks for them.
EBB_COLD constexpr graph without_added_zeros(const graph& g) {
  const detail::zero_signs signs(g);
  if (!signs.any()) return g;
  graph r = shell_of(g);
  vec<int> to(g.size(), -1);
  int* const at = to.data();
  for (int k = 0; k < g.size(); ++k) {
    const int x = signs.same_as(k);
    at[k] = x >= 0 ? at[x] : r.append_renumbered(g, k, at);
  }
  r.out = outputs_at(g, to);
  return r;
}

}  // namespace ebb::inline EBB_ABI
