// ebb/pass/lower.hpp — the last pass before planning: what only told differentiation something goes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradients may be taken again]
// The gradient of an inner function is spliced into an outer trace, which may itself be differentiated. So nothing that speaks to
// differentiation may go while there can still be an outer trace: simplify keeps stop_gradient, and only `lower`, which runs once on
// what is about to be planned, removes it.
#pragma once

#include "simplify.hpp"

namespace ebb::inline EBB_ABI::rewriting {

inline constexpr applied<op::stop_gradient> stop_gradient{};

inline constexpr auto lowering_rules = exact_rules + rule_list{rule(stop_gradient(x), x)};

}  // namespace ebb::inline EBB_ABI::rewriting

namespace ebb::inline EBB_ABI {

constexpr graph lower(const graph& g) { return prune(rewriting::rewrite(g, rewriting::lowering_rules)); }

}  // namespace ebb::inline EBB_ABI
