// ebb/hooks/hook_program.hpp — the program of a hook's traced function, for the walk of captured backwards.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/hook_list.hpp"
#include "../exec/chainable.hpp"
#include "../exec/gradient.hpp"

namespace ebb::inline EBB_ABI::detail {

/// F on these arguments, as many of which are bound as `values` says, from number `first_value` on. The caller adds the links of chains
/// and what its kind of hook writes.
template <class F, class... Argument>
constexpr hook_program program_of_hook(int values, int first_value) {
  hook_program p{compile_spec<F>::template program<Argument...>::g.view(), values, first_value};
  p.depends_on_context = ebb::traced<F, Argument...>::g.casts.asked.ever_differs();
  return p;
}
/// F as a link of a chain: its argument number Primary is the array that goes through the chain.
template <class F, int Primary, class... Argument>
constexpr chainable link_of_hook() {
  return as_chainable<executable<typename compile_spec<F>::template program<Argument...>>, Primary>();
}

}  // namespace ebb::inline EBB_ABI::detail
