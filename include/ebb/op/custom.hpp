// ebb/op/custom.hpp — the op of functions with a pull of the user's.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "source.hpp"

#include "../graph/custom.hpp"

namespace ebb::inline EBB_ABI::op {

/// What a function with its own pull was given and what it computed: see [note: custom pulls]. It is not an array; its dtype only says that
/// derivatives pass. Its pull is pull_custom (pass/custom.hpp): that needs the cotangents of all values at once.
struct custom : op_base {
  static constexpr std::string_view name = "custom";
  static constexpr kind what = kind::custom;
  static constexpr int arity = -1;
  static constexpr domain accepts = domain::any;
  static constexpr vec<int> pull(auto, const auto&, auto) { return {}; }
};

}  // namespace ebb::inline EBB_ABI::op
