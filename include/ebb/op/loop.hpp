// ebb/op/loop.hpp — the two ops of a loop: the loop itself, and one of its results.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "source.hpp"

#include "../graph/loop.hpp"

namespace ebb::inline EBB_ABI::op {

/// A sub-graph run once for each row: see [note: loops]. It is not an array; its dtype only says that derivatives pass.
/// Its pull is pulled_loop (pass/loop.hpp): that needs the cotangents of all results at once.
struct loop : op_base {
  static constexpr std::string_view name = "loop";
  static constexpr kind what = kind::loop;
  static constexpr int arity = -1;
  static constexpr domain accepts = domain::any;
  static constexpr vec<int> pull(auto, const auto&, auto) { return {}; }
};

/// A result of a loop: attr 0 and 1 say which.
struct result_of_loop : op_base {
  static constexpr std::string_view name = "result";
  static constexpr kind what = kind::result;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;
  template <class T, int>
  using operand_type = float;  // that of a loop
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

}  // namespace ebb::inline EBB_ABI::op
