// ebb/pass/relax.hpp — rules that are true for real numbers and not for floats: only for those who ask.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simplify.hpp"

#include "../op/shaping.hpp"

namespace ebb::inline EBB_ABI::op {

struct exp;
struct log;

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::rewriting {

inline constexpr applied<op::exp> exp{};
inline constexpr applied<op::log> log{};
inline constexpr applied<op::sum> sum{};

inline constexpr rule_list real_rules({
    // Not so where x is -0.
    rule(x + zero, x),
    rule(zero + x, x),
    rule(zero - x, -x),

    // Not so where x is infinite or NaN, or y is zero.
    rule(x * zero, zero),
    rule(zero * x, zero),
    rule(zero / x, zero),
    rule(x - x, zero),
    rule(x / x, one),
    rule((x * y) / y, x),
    rule((x / y) * y, x),

    // Not so outside of the domain of the inner function, and rounded twice inside of it.
    rule(exp(log(x)), x),
    rule(log(exp(x)), x),

    // Sums and products in another order round differently.
    rule((x + y) - y, x),
    rule((x - y) + y, x),
    rule((x + c0) + c1, x + fold(c0 + c1)),
    rule((x * c0) * c1, x * fold(c0 * c1)),
    rule(sum(-x), -sum(x)),
    rule(sum(x * c0), sum(x) * fill(c0)),
    rule(sum(c0 * x), sum(x) * fill(c0)),
});

inline constexpr auto relaxed_rules = exact_rules + real_rules;

}  // namespace ebb::inline EBB_ABI::rewriting

namespace ebb::inline EBB_ABI {

/// Rewrites by all rules of the reals. NaN, infinities and the sign of zero may be lost, and results rounded in another order.
constexpr graph relax(const graph& g) { return rewriting::rewrite(g, rewriting::relaxed_rules); }

}  // namespace ebb::inline EBB_ABI
