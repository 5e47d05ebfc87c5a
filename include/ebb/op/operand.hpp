// ebb/op/operand.hpp — an operand while a rule runs: the dtype in the type, everything else in the graph.
// SPDX-License-Identifier: BSL-1.0
//
// [note: three kinds of handle]
// A user's lambda sees terms (dtype and extents in the type), `pull` sees operands (dtype in the type), passes see numbers.
// An operand without its dtype would need a switch behind each operator and would instantiate every op for every dtype.
#pragma once

#include "../graph/graph.hpp"

#include <array>
#include <cstddef>
#include <tuple>

namespace ebb::inline EBB_ABI {

template <class T>
struct operand {
  using value_type = T;
  graph* g = nullptr;
  int id = -1;

  constexpr const shape& extents() const { return g->shape_of(id); }
  constexpr int rank() const { return g->shape_of(id).rank; }
  constexpr std::int64_t attribute(int k) const { return g->eq[id].attr[k]; }
};

template <class A>
inline constexpr bool is_operand = false;
template <class T>
inline constexpr bool is_operand<operand<T>> = true;

/// What a rule gives for an operand that gets no gradient.
struct no_gradient {
  static constexpr int id = -1;
};
inline constexpr no_gradient nothing{};

/// The cotangents of an op's operands, in their order.
template <class... G>
constexpr std::tuple<G...> grads(G... g) {
  return {g...};
}

}  // namespace ebb::inline EBB_ABI
