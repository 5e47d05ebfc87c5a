// ebb/explain/explain.hpp — explains the program of a function in plain words: ebb::explain<X, W>(f).
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "explanation.hpp"

#include "../exec/region.hpp"
#include "../exec/symbol_values.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class Spec>
std::true_type is_callable_of_program(const program_function<Spec>&);
template <class F>
concept has_program = requires(const F& f) { is_callable_of_program(f); };

/// The graph of executable<...> for arguments of types A... before windows are computed again, made at run time.
template <class Spec, class... A>
graph graph_to_explain() {
  return lowered_but_windows(Spec::template program<traced_type<A>...>::g.thaw());
}

template <class... A, class Spec>
explanation explain_program(program_function<Spec>, auto&& known) {
  constexpr bool is_one = Spec::is_program, tracked = (holds_variables<A> || ...);
  static_assert(is_one, "[ebb E0520] ebb::explain: this function is several programs: explain the one that it is made of");
  static_assert(!tracked, "[ebb E0521] ebb::explain: it explains calls without a tape: pass the variables' values");
  if constexpr (is_one && !tracked) {
    constexpr int code = code_of<Spec, A...>();
    static_cast<void>(refuse_function<code>{});
    if constexpr (is_named_next(code)) [[maybe_unused]] constexpr int size = not_constant<trace_in_call<Spec, A...>>::make().size();
    if constexpr (code == 0) {
      const graph g = graph_to_explain<Spec, A...>();
      return explanation(g, known(g));
    }
  }
  return explanation({}, {});
}

/// The values of the symbols of arguments.
/// Throws: error if the extents differ from those of the function.
EBB_COLD std::map<int, formula> extents_of_call(const graph& g, const vec<extent_list>& arguments, const vec<std::int64_t>& numbers) {
  const vec<std::size_t> value = symbol_values_by(g, arguments, [&](int a) { return static_cast<std::size_t>(numbers[a]); });
  std::map<int, formula> known;
  for (int s = 0; s < g.syms.count(); ++s)
    if (g.syms.origin(s).rule == extent_rule::argument) known[s] = formula(static_cast<double>(value[s]));
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what != kind::input) continue;
    const int number = static_cast<int>(g.eq[k].attr[0]);
    const extent_list &given = arguments[number], wanted = extents_at(g.shape_of(k), value.data());
    if (text_of(given) == text_of(wanted)) continue;
    raise("ebb::explain: the extents of the arguments do not fit: argument " + std::to_string(number) + " is " + text_of(given) +
          ", not " + text_of(wanted));
  }
  return known;
}

}  // namespace detail

/// The program of f for arguments of types A..., in plain words: its loops and what each fuses, its products and copies with their reasons,
/// bytes, operations and memory. f: a lambda that ebb::compile takes, or a function such as ebb::value_and_grad<1>(loss).
///   std::cout << ebb::explain<X, W>(loss);
/// Extents that are known at the call only are called n, m, k. Nothing runs.
template <class... A, class F>
explanation explain(const F& f) {
  if constexpr (!detail::has_program<F>) return explain<A...>(compile(f));
  else return detail::explain_program<A...>(f, [](const graph&) { return std::map<int, formula>(); });
}

/// The same for these arguments: their extents are numbers.
/// Throws: error if the extents do not fit.
template <class F, class First, class... A>
explanation explain(const F& f, const First& first, const A&... more) {
  if constexpr (!detail::has_program<F>) return explain(compile(f), first, more...);
  else
    return detail::explain_program<First, A...>(f, [&](const graph& g) {
      vec<extent_list> extents;
      vec<std::int64_t> numbers;
      detail::each_argument_leaf([&]<class Leaf>(const Leaf& leaf) {
        extents.push(detail::extents_of_leaf(leaf));
        std::int64_t number = 0;
        if constexpr (std::is_integral_v<borrowed_element<Leaf>>)
          if (extents[extents.size() - 1].rank == 0) number = static_cast<std::int64_t>(*borrow<Leaf>::data(leaf));
        numbers.push(number);
      }, first, more...);
      return detail::extents_of_call(g, extents, numbers);
    });
}

}  // namespace ebb::inline EBB_ABI
