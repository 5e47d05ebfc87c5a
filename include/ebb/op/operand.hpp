// ebb/op/operand.hpp — an operand inside a rule: its dtype is in the type, everything else is in the graph.
// SPDX-License-Identifier: BSL-1.0
//
// [note: three kinds of handle]
// A user's lambda works on terms (dtype and extents in the type), `pull` on operands (dtype in the type), passes on numbers.
// An operand without its dtype would need a switch in each operator and would instantiate every op for every dtype.
#pragma once

#include "../graph/graph.hpp"

#include <array>
#include <cstddef>
#include <tuple>

namespace ebb::inline EBB_ABI {

inline constexpr shape no_shape{};

/// A refused operand (see [note: a refusal is a number]) has no axes.
template <class T>
struct operand {
  using value_type = T;
  graph* g = nullptr;
  int id = -1;

  constexpr bool is_refused() const { return id < 0; }
  constexpr int shape_number() const { return id < 0 ? -1 : g->eq[id].shape; }
  constexpr const shape& extents() const { return id < 0 ? no_shape : g->shape_of(id); }
  constexpr int rank() const { return extents().rank; }
  /// The extent of one axis: a number, or a symbol; see [note: extents are symbols].
  constexpr int extent(int axis) const { return g->syms.find(extents().e[axis]); }
  constexpr std::int64_t attribute(int k) const { return g->eq[id].attr[k]; }
  constexpr const op_info& op() const { return g->op(id); }
};

template <class A>
inline constexpr bool is_operand = false;
template <class T>
inline constexpr bool is_operand<operand<T>> = true;

/// The entry in `grads` of an operand that gets no gradient.
struct no_gradient {
  static constexpr int id = -1;
};
inline constexpr no_gradient nothing{};

/// The cotangents of an op's operands, in their order.
template <int N>
struct cotangents {
  int id[N];
};
template <class... G>
constexpr cotangents<sizeof...(G)> grads(G... g) {
  return {{g.id...}};
}

}  // namespace ebb::inline EBB_ABI
