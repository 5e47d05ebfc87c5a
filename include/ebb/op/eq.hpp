// ebb/op/eq.hpp — eq<op, T, operands...>: an equation of a program type in short form.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include "../graph/program.hpp"

namespace ebb::inline EBB_ABI {

/// static_assert(std::is_same_v<ebb::names_of<P>, ebb::program<eq<op::input, float>, eq<op::mul, float, 0, 0>, returns<1>>>);
template <class Op, class T, int... Operands>
using eq = named<info<Op, T>, Operands...>;

}  // namespace ebb::inline EBB_ABI
