// ebb/autograd/followed.hpp — eager code under autocast: expressions and their backwards run in the contexts of their callers.
// SPDX-License-Identifier: BSL-1.0
//
// [note: eager code follows]
// Eager code declares no contexts. Compiling each expression for each context would triple the compile time of products. So an expression
// in an autocast context runs as a graph, block by block, with the same kernels and bits, and records a graph_function node. Like a
// region's, its result has the dtype that it has outside of autocast. A backward that is called in another context than the expression
// runs as a graph, too, if the context changes it.
#pragma once

#include "region.hpp"

#include "../exec/region.hpp"

namespace ebb::inline EBB_ABI::detail {

template <class F, class... Leaf>
inline constexpr casts_asked asked_by = traced<F, traced_type<Leaf>...>::g.casts.asked;
template <class F, class... Leaf>
inline constexpr bool asks_context = asked_by<F, Leaf...>.ever_differs();

// A template, so that products of narrow matrices are compiled only where eager code has products.
template <class F>
inline constexpr const cast_context* followed_contexts[] = {&context_of<off>, &context_where<autocast<bf16>, F>,
                                                          &context_where<autocast<f16>, F>};

/// F inside context C, as a graph that runs.
template <class C, class F, class... T>
graph_function& function_in_context() {
  using program = frozen<forward_program<variant<C, F>, T...>>;
  static graph_function f(program::g.thaw(), joined_names<traced<F, T...>>.data(), followed_contexts<F>);
  return f;
}

/// Logs casts as regions do, once for each expression and context: see cast_log.hpp.
EBB_COLD void log_casts_of(const graph_function& f) {
  const vec<cast_record> casts = casts_in(f.program(), true);
  if (casts.empty() || !is_first_time(&f)) return;
  std::string text = cast_log_of("an expression", f.name);
  add_casts(text, "forward    ", casts);
  say(log_topic::autocast, text);
}

/// The one result of F in the context of that number.
template <class Result, class T, class Extents, class F, class... Leaf>
[[gnu::noinline]] Result run_in_context(int context, const Leaf&... leaf) {
  using P = executable<frozen<forward_program<F, traced_type<Leaf>...>>>;
  constexpr const char* call = "ebb: an expression";
  int number = 0;
  (require_defined(call, leaf, number++), ...);
  const auto bound = bind_arguments<P>(call, leaf...);

  std::size_t symbols[P::symbols + 1] = {};
  keep_symbols(bound.symbols, symbols);
  const auto operand = []<class L>(const L& l) {
    if constexpr (is_variable<L>) return gradient{to_storage(l), counted<vertex>(l.history()), l.output(), true};
    else return gradient{to_storage(l), nullptr, 0, true};
  };
  const gradient in[] = {operand(leaf)...};
  gradient out;
  graph_function& f = context == 1 ? function_in_context<autocast<bf16>, F, traced_type<Leaf>...>()
                                   : function_in_context<autocast<f16>, F, traced_type<Leaf>...>();
  if (logs(log_topic::autocast)) [[unlikely]] log_casts_of(f);
  tape_state& t = this_tape();
  f.call(in, symbols, &out, t.records);
  if (t.packing && out.from) pack_saved(static_cast<node&>(*out.from));

  const auto shape = layout_from(Extents{}, extents_at(P::result_shape(0), bound.symbols.value));
  if constexpr (is_variable<Result>) return variable_of<T, Extents>(shape, std::move(out.value), out.from, out.output);
  else return to_tensor<T>(shape, out.value);
}

}  // namespace ebb::inline EBB_ABI::detail
