// ebb/trace/trace.hpp — a lambda and its argument types become a graph, a constant.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a traced callable is pure and empty]
// A function is traced once for each list of argument types; nothing it does at run time is seen. So it must not capture: what changes
// from call to call is an argument. Each array is a fresh argument of the graph, also where the same array is passed twice.
#pragma once

#include "argument.hpp"
#include "lift.hpp"

#include "../graph/frozen.hpp"
#include "../graph/splice.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// A number that a traced function returns is a literal of rank 0.
template <class R>
constexpr void add_result(graph& g, const R& r) {
  if constexpr (number<R>) {
    g.out.push(emit_as<op::literal, R>(g, g.intern(shape{}), {}, {static_cast<std::int64_t>(literal_bits<R>(r))}));
  } else {
    argument<R>::each(r, [&](const auto& leaf) { g.out.push(leaf.id); });
  }
}

template <class F, class... A>
using result_of_trace = decltype(std::declval<const F&>()(std::declval<typename argument<A>::traced>()...));

}  // namespace detail

/// F traced on arguments of types A...: arrays, numbers, tuples, structs, terms.
template <class F, class... A>
struct trace_of {
  using result = detail::result_of_trace<F, A...>;

  static constexpr graph make() {
    graph g;
    int number = 0;
    const auto next = [&]<class Term>() { return add_argument<Term>(g, number++); };
    const std::tuple<typename argument<A>::traced...> arguments{argument<A>::trace(next)...};
    call(g, arguments, std::index_sequence_for<A...>{});
    return canonical_shapes(g);
  }

 private:
  // Not std::apply: each of its four levels would be a line of every diagnostic.
  template <std::size_t... J>
  static constexpr void call(graph& g, const auto& arguments, std::index_sequence<J...>) {
    detail::add_result(g, F{}(std::get<J>(arguments)...));
  }
};

template <class F, class... A>
using traced = frozen<trace_of<F, A...>>;

}  // namespace ebb::inline EBB_ABI
