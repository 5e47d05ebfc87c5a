// ebb/exec/in_place.hpp — a call on arrays that are known to fit, whose results may be written over arguments.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "function.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Whether result r of P has the extents of argument a in every call.
template <class P>
constexpr bool has_extents_of(int r, int a) {
  const shape &x = P::result_shape(r), &y = P::argument_shape(a);
  bool same = x.rank == y.rank;
  for (int i = 0; same && i < x.rank; ++i) same = x.e[i] == y.e[i];
  return same;
}

/// Runs the program of Spec on `a` and writes its results to `to`. A call with ebb::into compares extents and looks for memory that
/// overlaps; here the caller knows that extents fit, and that a result overlaps an argument only where `overwrites` allows it.
template <class Spec, class... A>
void run_in_place(void* const* to, const A&... a) {
  using G = typename Spec::template program<traced_type<A>...>;
  using P = executable<G>;
  using call_trace = frozen<typename Spec::template trace<traced_type<A>...>>;
  refuse_undeclared<G, call_trace>(Spec::name);
  log_casts<call_trace, G>(Spec::name);
  bound_arguments<P, A...> bound(a...);
  bound.complete();
  if constexpr (has_checks<P>(-1)) check_arguments<P>(Spec::name, bound.data, bound.symbols.value);
  run_program<P>(bound.data, to, bound.symbols.value, Spec::name);
}

}  // namespace ebb::inline EBB_ABI::detail
