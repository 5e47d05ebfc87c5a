// ebb/autograd/listed.hpp — variables in a std::vector, joined by concat or stack: see exec/listed.hpp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "expression.hpp"

#include "../exec/listed.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The same variable: a gradient has the extents of a call, whatever the type fixes.
template <int Axis, class T, std::size_t... E>
struct loosened<Axis, variable<T, E...>> {
  using extents_type = typename loose_extents<Axis, extents<E...>>::type;
  using type = variable_of<T, extents_type>;
  static type of(const char* call, const variable<T, E...>& v, std::size_t number) {
    require_defined(call, v, static_cast<int>(number));
    const auto shape = layout_from(extents_type{}, extents_of_layout(v.layout()));
    return type(shape, v.block(), counted<vertex>(v.history()), v.output());
  }
};
template <int Axis, class T, class Extents, class F, class... A>
struct loosened<Axis, expression<T, Extents, F, A...>> : loosened<Axis, variable_of<T, Extents>> {
  using loosened<Axis, variable_of<T, Extents>>::of;
};

}  // namespace ebb::inline EBB_ABI::detail
