// ebb/op/custom.hpp — the op of functions whose pull the user has written.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "source.hpp"

#include "../graph/custom.hpp"

namespace ebb::inline EBB_ABI::op {

/// Names the arguments and the values of a function with its own pull: see [note: custom pulls]. It is not an array; its dtype only says
/// that derivatives pass. Its pull is pull_custom (pass/custom.hpp), which needs the cotangents of all values at once.
struct custom : op_base {
  static constexpr std::string_view name = "custom";
  static constexpr kind what = kind::custom;
  static constexpr int arity = -1;
  static constexpr domain accepts = domain::any;
  static constexpr vec<int> pull(auto, const auto&, auto) { return {}; }
};

}  // namespace ebb::inline EBB_ABI::op
