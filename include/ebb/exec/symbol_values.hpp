// ebb/exec/symbol_values.hpp — finds the value of each symbol at a call, from the arguments: of a graph, or of a compiled program.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/error.hpp"
#include "../base/repeat.hpp"
#include "../graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

/// A requirement on an extent, and the function that requires it.
struct unmet_demand {
  std::string_view by;
  extent_origin of;
  std::int64_t value = 0;
};

/// The representative of symbol s among equal ones.
constexpr int oldest_symbol(const symbols::item* items, int s) {
  while (items[s].parent != s) s = items[s].parent;
  return s;
}
template <class P>
constexpr int oldest_symbol(int s) {
  return oldest_symbol(P::g.syms.data(), s);
}

/// The first of the requirements on `count` symbols that their values do not meet.
EBB_ONCE unmet_demand first_unmet(const symbols::item* items, int count, const std::size_t* value) {
  for (int s = 0; s < count; ++s) {
    const symbols::item& x = items[s];
    const int r = oldest_symbol(items, s);
    const auto here = static_cast<std::int64_t>(value[s]);
    const bool in_range = here >= 0 && (!x.origin.is_value() || here <= largest_value);
    const bool agrees = items[r].bound >= 0 ? here == items[r].bound : value[s] == value[r];
    if (!x.by.empty() && !(in_range && agrees)) return {x.by, x.origin, here};
  }
  return {};
}

/// The values of a program's symbols; those of the arguments' dyn extents come first.
template <class P>
struct symbol_values_of {
  std::size_t value[P::symbols + 1] = {};  // + 1: else g++ warns, though shapes without symbols read none

  /// False if extents that must be equal are not, or one would be negative.
  constexpr bool complete() {
    return derive_from<0>(numbers_of_fold<0, derived.count>{}) && agree_from<0>(numbers_of_fold<0, compared.count>{});
  }
  /// The first requirement that is not met; without a name if none is known.
  unmet_demand unmet() const { return first_unmet(items.data(), P::symbols, value); }

 private:
  static constexpr auto items = P::g.syms;  // a copy: a constant that is read at run time is emitted whole

  template <int S>
  static constexpr extent_origin origin = items[static_cast<std::size_t>(S)].origin;

  /// The symbols that are not read from arguments, or have a limit; and those that must have a certain value, or equal another one.
  static constexpr auto derived = [] {
    number_list<P::symbols> r;
    for (int s = 0; s < P::symbols; ++s)
      if (const extent_origin& o = items[static_cast<std::size_t>(s)].origin; o.is_value() || o.rule != extent_rule::argument)
        r.push(s);
    return r;
  }();
  static constexpr auto compared = [] {
    number_list<P::symbols> r;
    for (int s = 0; s < P::symbols; ++s)
      if (const int oldest = oldest_symbol<P>(s); oldest != s || items[static_cast<std::size_t>(oldest)].bound >= 0)
        r.push(s);
    return r;
  }();

  template <int First, int... I>
  constexpr bool derive_from(std::integer_sequence<int, I...>) {
    bool ok = true;
    ((ok = derive<derived.number[First + I]>() && ok), ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < derived.count)
      ok = derive_from<next>(numbers_of_fold<next, derived.count>{}) && ok;
    return ok;
  }
  template <int First, int... I>
  constexpr bool agree_from(std::integer_sequence<int, I...>) const {
    const bool ok = (agrees<compared.number[First + I]>() && ...);
    if constexpr (constexpr int next = First + detail::most_in_fold; next < compared.count)
      return ok && agree_from<next>(numbers_of_fold<next, compared.count>{});
    else return ok;
  }
  template <int S>
  constexpr bool derive() {
    if constexpr (origin<S>.is_value()) return value[S] <= static_cast<std::size_t>(largest_value);
    else {
      const std::int64_t r = derived_value(origin<S>, value);
      value[S] = static_cast<std::size_t>(r);
      return r >= 0;
    }
  }
  template <int S>
  constexpr bool agrees() const {
    constexpr int r = oldest_symbol<P>(S), bound = P::g.syms[static_cast<std::size_t>(r)].bound;
    if constexpr (bound >= 0) return value[S] == static_cast<std::size_t>(bound);
    else return value[S] == value[r];
  }
};

}  // namespace ebb::inline EBB_ABI
