// ebb/svg/function.hpp — the plan of a compiled function as an SVG picture, and the graph of a program type.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "graph.hpp"

#include "../exec/show.hpp"

namespace ebb::inline EBB_ABI {

/// A program type, a forward_t or a backward_t, as an SVG picture.
///   ebb::to_svg(ebb::backward_t<decltype(loss), ebb::off, X, W>{})
template <class... Equation>
std::string to_svg(program<Equation...>, const std::string& title = "program") {
  graph g;
  (detail::append_to(g, Equation{}), ...);
  return to_svg(g, title);
}

/// The plan that a compiled function runs for arguments of types A..., as an SVG picture: a box for each step.
///   std::ofstream("slope.svg") << ebb::to_svg<X, W>(ebb::value_and_grad<1>(loss));
template <class... A, class Spec>
std::string to_svg(program_function<Spec>, const std::string& title = Spec::name) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) {
    const graph g = detail::lowered_graph<Spec, A...>();
    return to_svg(g, make_plan(g), title);
  } else {
    return {};
  }
}

}  // namespace ebb::inline EBB_ABI
