// ebb/exec/symbol_values.hpp — finds the value of each symbol of a graph at a call, from the arguments.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/error.hpp"
#include "../graph/graph.hpp"

#include <string>

namespace ebb::inline EBB_ABI {

using cell_array = vec<cell>;

/// The values of all symbols at a call, given the extents of the arguments. number_of_steps(a) gives the value of argument a, if it is
/// a number of steps.
constexpr vec<std::size_t> symbol_values_by(const graph& g, const vec<extent_list>& arguments, auto&& number_of_steps) {
  vec<std::size_t> r(g.syms.count(), 0);
  put_symbol_values(g.syms, r.data(), [&](const extent_origin& o) -> std::size_t {
    return o.is_value() ? number_of_steps(o.a) : arguments[o.a].e[o.b];
  });
  return r;
}
constexpr vec<std::size_t> symbol_values(const graph& g, const vec<extent_list>& arguments) {
  return symbol_values_by(g, arguments, [](int) -> std::size_t { raise("ebb::symbol_values: pass the arguments, too: one is a number"); });
}
/// The same, with the arguments in place of number_of_steps.
constexpr vec<std::size_t> symbol_values(const graph& g, const vec<extent_list>& extents, const vec<cell_array>& arguments) {
  return symbol_values_by(g, extents, [&](int a) {
    const bool is_short = g.op(g.input(a)).result == dtype::i32;
    const std::int64_t n = is_short ? from_cell<std::int32_t>(arguments[a][0]) : from_cell<std::int64_t>(arguments[a][0]);
    if (n < 0 || n > largest_value)
      raise("ebb::evaluate: argument " + std::to_string(a) + ", the number of steps, is " + std::to_string(n));
    return static_cast<std::size_t>(n);
  });
}

}  // namespace ebb::inline EBB_ABI
