// ebb/pass/simplify.hpp — rules that are true for every float, NaN, infinities and both zeros included.
// SPDX-License-Identifier: BSL-1.0
//
// [note: exact rules]
// Both sides of a rule have the same value for all operands: the sign of zero counts, and only the bits of a NaN may differ. They have the
// same derivatives, because a rewritten graph may be differentiated again; so no rule removes stop_gradient, see lower.hpp. An identity
// that holds for real numbers only is no rule.
#pragma once

#include "pattern.hpp"
#include "prune.hpp"

#include "../op/compare.hpp"
#include "../op/contract.hpp"
#include "../op/convert.hpp"
#include "../op/move.hpp"

namespace ebb::inline EBB_ABI::op {

struct abs;
struct maximum;
struct minimum;

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::rewriting {

struct any_cast;  // all casts are one family

template <is_pattern A>
constexpr node<op::logical_not, A> operator!(A) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::logical_and, A, B> operator&&(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::logical_or, A, B> operator||(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::less, A, B> operator<(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::less_equal, A, B> operator<=(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::greater, A, B> operator>(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::greater_equal, A, B> operator>=(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::equal, A, B> operator==(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::not_equal, A, B> operator!=(A, B) { return {}; }
inline constexpr applied<op::abs> abs{};
inline constexpr applied<op::maximum> maximum{};
inline constexpr applied<op::minimum> minimum{};
inline constexpr applied<op::where> where{};
inline constexpr applied<op::broadcast> broadcast{};
inline constexpr applied<op::reshape> reshape{};
inline constexpr applied<op::permute> permute{};
inline constexpr applied<op::matmul> matmul{};
inline constexpr applied<op::cast<any_cast>> cast{};

inline constexpr auto same_shape = [](const match& m) { return m.x().shape == m.e.shape; };

/// Both masks as one: the outer one names axes of the result, the inner one axes of the value between.
inline constexpr auto both_masks = [](const match& m) {
  const std::int64_t inner = m.g.eq[m.in[0]].attr[0];
  std::int64_t mask = m.e.attr[0];
  for (int axis = 0, between = 0; axis < m.g.shapes[m.e.shape].rank; ++axis)
    if (!(m.e.attr[0] >> axis & 1)) mask |= (inner >> between++ & 1) << axis;
  return attributes{mask};
};

/// First the inner order of axes, then the outer one.
inline constexpr auto both_orders = [](const match& m) {
  const int rank = m.g.shapes[m.e.shape].rank;
  int axes[max_rank] = {};
  for (int i = 0; i < rank; ++i) axes[i] = packed_axis(m.g.eq[m.in[0]].attr[0], packed_axis(m.e.attr[0], i));
  return attributes{pack_axes(axes, rank)};
};
inline constexpr auto same_order = [](const match& m) {
  for (int i = 0; i < m.g.shapes[m.e.shape].rank; ++i)
    if (packed_axis(m.e.attr[0], i) != i) return false;
  return true;
};

/// Whether operand J of a product is a permute that swaps the last two axes and nothing else.
template <int J>
inline constexpr auto transposes = [](const match& m) {
  const int rank = m.g.shape_of(m.in[J]).rank;
  for (int i = 0; i < rank; ++i)
    if (packed_axis(m.g.eq[m.in[J]].attr[0], i) != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return true;
};
template <std::int64_t Flag>
inline constexpr auto flipped = [](const match& m) { return attributes{m.e.attr[0] ^ Flag}; };

inline constexpr auto same_dtype = [](const match& m) { return m.e.op->result == m.x().op->result; };

/// Whether every value of `narrow` is one of `wide`.
constexpr bool holds(dtype wide, dtype narrow) {
  switch (narrow) {
    case dtype::boolean: return true;
    case dtype::i32: return wide == dtype::i32 || wide == dtype::i64 || wide == dtype::f64;
    case dtype::f16: case dtype::bf16: return wide == narrow || wide == dtype::f32 || wide == dtype::f64;
    case dtype::f32: return wide == dtype::f32 || wide == dtype::f64;
    default: return wide == narrow;
  }
}
inline constexpr auto there_and_back = [](const match& m) {
  return m.e.op->result == m.x().op->result && holds(m.g.op(m.in[0]).result, m.e.op->result);
};

inline constexpr rule_list exact_rules({
    // One and minus one are exact factors.
    rule(x * one, x),
    rule(one * x, x),
    rule(x / one, x),
    rule(x * minus_one, -x),
    rule(minus_one * x, -x),
    rule(x / minus_one, -x),

    // The neutral element of sums is -0, that of differences +0: -0 + +0 is +0.
    rule(x + minus_zero, x),
    rule(minus_zero + x, x),
    rule(x - zero, x),
    rule(minus_zero - x, -x),

    // A sign flips without rounding. -(x - y) is not y - x: where x equals y their zeros differ.
    rule(-(-x), x),
    rule(x - -y, x + y),
    rule(x + -y, x - y),
    rule(-x + y, y - x),
    rule(-x * -y, x * y),
    rule(-x / -y, x / y),

    rule(abs(abs(x)), abs(x)),
    rule(abs(-x), abs(x)),
    rule(maximum(x, x), x),
    rule(minimum(x, x), x),

    // Selections. A value that is never selected may go.
    rule(where(c, x, x), x),
    rule(where(one, x, y), x),
    rule(where(zero, x, y), y),
    rule(where(!c, x, y), where(c, y, x)),
    rule(where(c, where(c, x, z), y), where(c, x, y)),
    rule(where(c, x, where(c, z, y)), where(c, x, y)),
    rule(!(!c), c),

    // Shapes.
    rule(broadcast(c0), fill(c0)),
    rule(reshape(c0), fill(c0)),
    rule(permute(c0), fill(c0)),
    rule(broadcast(x), x, same_shape),
    rule(broadcast(broadcast(x)), broadcast(x).with(both_masks)),
    rule(reshape(x), x, same_shape),
    rule(reshape(reshape(x)), reshape(x)),
    rule(permute(x), x, same_order),
    rule(permute(permute(x)), permute(x).with(both_orders)),
    rule(matmul(permute(x), y), matmul(x, y).with(flipped<left_transposed>), transposes<0>),
    rule(matmul(x, permute(y)), matmul(x, y).with(flipped<right_transposed>), transposes<1>),

    // Casts. A cast and the cast back cancel if the type between holds all values.
    rule(cast(x), x, same_dtype),
    rule(cast(cast(x)), x, there_and_back),

    // Literals: see [note: folding keeps out of trouble].
    rule(c0 + c1, fold(c0 + c1)),
    rule(c0 - c1, fold(c0 - c1)),
    rule(c0 * c1, fold(c0 * c1)),
    rule(c0 / c1, fold(c0 / c1)),
    rule(-c0, fold(-c0)),
    rule(abs(c0), fold(abs(c0))),
    rule(maximum(c0, c1), fold(maximum(c0, c1))),
    rule(minimum(c0, c1), fold(minimum(c0, c1))),
    rule(c0 < c1, fold(c0 < c1)),
    rule(c0 <= c1, fold(c0 <= c1)),
    rule(c0 > c1, fold(c0 > c1)),
    rule(c0 >= c1, fold(c0 >= c1)),
    rule(c0 == c1, fold(c0 == c1)),
    rule(c0 != c1, fold(c0 != c1)),
    rule(!c0, fold(!c0)),
    rule(c0 && c1, fold(c0 && c1)),
    rule(c0 || c1, fold(c0 || c1)),
    rule(cast(c0), fold(cast(c0))),
});

}  // namespace ebb::inline EBB_ABI::rewriting

namespace ebb::inline EBB_ABI {

/// Rewrites by exact rules. Unused equations are left to prune.
constexpr graph simplify(const graph& g) {
  graph r = rewriting::rewrite(g, rewriting::exact_rules);
  r.simplified = r.size();
  return r;
}

}  // namespace ebb::inline EBB_ABI
