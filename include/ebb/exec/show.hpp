// ebb/exec/show.hpp — what a function became: its equations as text, its loops as a picture.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "function.hpp"

#include "../graph/dot.hpp"
#include "../graph/print.hpp"

#include <cstdio>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

/// What Spec runs for arguments of types A..., after the last pass.
template <class Spec, class... A>
graph lowered_graph() {
  return lower(Spec::template program<traced_type<A>...>::g.thaw());
}

}  // namespace detail

/// The program that a compiled function runs for arguments of types A..., one equation a line, with types:
///   ebb::print<X, W>(ebb::value_and_grad<1>(loss));
template <class... A, class Spec>
std::string to_string(program_function<Spec>) {
  return to_string(detail::lowered_graph<Spec, A...>());
}
template <class... A, class Spec>
void print(program_function<Spec> f) {
  std::fputs(to_string<A...>(f).c_str(), stdout);
}

/// The same as a picture for Graphviz; equations that share a loop stand in one box.
template <class... A, class Spec>
std::string to_dot(program_function<Spec>) {
  const graph g = detail::lowered_graph<Spec, A...>();
  const plan p = make_plan(g);
  return to_dot(g, [&](int k) { return p.group_of[k]; });
}

}  // namespace ebb::inline EBB_ABI
