// ebb/exec/chainable.hpp — a compiled elementwise program as a link of a chain, type-erased.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

#include "../kernel/chain_link.hpp"

namespace ebb::inline EBB_ABI {

struct chainable {
  chain_word (*link)() = nullptr;  // null: not chainable
  dtype type = dtype::f32;
  std::ptrdiff_t length = -1;  // of its loop, if known at compile time
  int arguments = 0, results = 0;
  int primary = -1;                // the argument that arrives in registers, -1: none; result 0 stays in registers
  std::uint64_t elements = 0;      // arguments of one element that each step reads, as bits
  std::uint64_t masks = 0;         // arguments that are masks
};

/// P as a link. Its argument number Primary may arrive in registers.
template <class P, int Primary>
constexpr chainable as_chainable() {
  chainable c{nullptr, dtype::f32, -1, P::arguments, P::results};
  if constexpr (P::results > 0 && P::arguments < 64 && Primary < P::arguments) {
    for (int i = 0; i < P::plan.size.buffers; ++i) {
      const auto& b = P::plan.buffers[static_cast<std::size_t>(i)];
      if (b.is != plan_buffer::role::argument) continue;
      if (chain_link<P, Primary, 0>::is_mask(i)) c.masks |= std::uint64_t{1} << b.number;
      if (chain_link<P, Primary, 0>::is_element(i)) c.elements |= std::uint64_t{1} << b.number;
    }
    if constexpr (chain_link<P, Primary, 0>::fits) {
      c.link = chain_link<P, Primary, 0>::first_word;
      c.type = dtype_of<typename chain_link<P, Primary, 0>::element>;
      c.length = chain_link<P, Primary, 0>::length();
      c.primary = Primary;
    } else if constexpr (chain_link<P, -1, 0>::fits) {
      c.link = chain_link<P, -1, 0>::first_word;
      c.type = dtype_of<typename chain_link<P, -1, 0>::element>;
      c.length = chain_link<P, -1, 0>::length();
    }
  }
  return c;
}

}  // namespace ebb::inline EBB_ABI
