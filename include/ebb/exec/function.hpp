// ebb/exec/function.hpp — a callable made of a program: on arrays it runs, on terms it is spliced, in constant expressions it is evaluated.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "alias.hpp"
#include "bind.hpp"

#include "../trace/trace.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class A>
inline constexpr bool holds_terms = false;
template <class T, std::size_t... E>
inline constexpr bool holds_terms<term<T, E...>> = true;
template <class... A>
inline constexpr bool holds_terms<std::tuple<A...>> = (holds_terms<A> || ...);
template <template <template <class, std::size_t...> class> class Struct>
inline constexpr bool holds_terms<Struct<term>> = true;

template <class A>
inline constexpr bool is_destinations = false;
template <class... A>
inline constexpr bool is_destinations<destinations<A...>> = true;

/// The arguments' types as programs know them: an array is the same whatever owns it.
template <class A>
using traced_type = typename argument<A>::traced;

template <class V>
inline constexpr int result_leaves = argument<V>::leaves;

/// Two stretches of memory have a byte in common.
inline bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

/// Runs P and returns its outputs in the form V.
template <class P, class V, class... A>
V call_program(const char* call, const A&... a) {
  bound_arguments<P> bound(a...);
  if (!bound.symbols.complete()) [[unlikely]] raise_extents(call, "the extents of the arguments do not fit:", a...);
  int number = 0;
  V result = argument<V>::make([&]<class Array>() { return new_tensor(std::type_identity<Array>{}, result_shape<P>(number++), bound.symbols.value); });
  void* to[result_leaves<V> + 1];
  number = 0;
  argument<V>::each(result, [&]<class Leaf>(Leaf& leaf) { to[number++] = borrow<Leaf>::mutable_data(leaf); });
  run_program<P>(bound.data, to, bound.symbols.value);
  return result;
}

/// Runs P and writes its outputs to `d`.
template <class P, class... D, class... A>
void call_program_into(const char* call, const destinations<D...>& d, const A&... a) {
  void* to[P::results + 1];
  std::size_t bytes[P::results + 1];
  extent_list shapes[P::results + 1];
  int count = 0;
  std::apply([&](auto&... x) {
    (argument<std::remove_const_t<std::remove_reference_t<decltype(x)>>>::each(x, [&]<class Leaf>(Leaf& leaf) {
      using array = std::remove_const_t<Leaf>;
      static_assert(mutable_array_like<Leaf&>, "[ebb E0122] ebb::into: a destination is not an array that can be written");
      to[count] = borrow<array>::mutable_data(leaf);
      shapes[count] = extents_of_leaf<array>(leaf);
      bytes[count] = shapes[count].volume() * sizeof(typename borrow<array>::element);
      ++count;
    }), ...);
  }, d.of);
  bound_arguments<P> bound(a...);
  if (!bound.symbols.complete()) [[unlikely]] raise_extents(call, "the extents of the arguments do not fit:", a...);
  for (int o = 0; o < P::results; ++o) {
    const extent_list wanted = extents_at(result_shape<P>(o), bound.symbols.value);
    for (int i = 0; i < wanted.rank; ++i)
      if (wanted.e[i] != shapes[o].e[i]) [[unlikely]]
        raise_extents(call, ("destination " + std::to_string(o) + " is " + text_of(shapes[o]) + ", the result is " + text_of(wanted) + ":").c_str(), a...);
  }
  int leaf_number = 0;
  std::size_t spare = 0;
  bool overlaps[P::results + 1] = {};
  each_leaf([&]<class Leaf>(const Leaf& leaf) {
    const std::size_t n = extents_of_leaf(leaf).volume() * sizeof(typename borrow<Leaf>::element);
    for (int o = 0; o < P::results; ++o)
      if (!overwrites<P>::table[static_cast<std::size_t>(o * P::arguments + leaf_number)] || bound.data[leaf_number] != to[o])
        overlaps[o] = overlaps[o] || overlap(bound.data[leaf_number], n, to[o], bytes[o]);
    ++leaf_number;
  }, a...);
  for (int o = 0; o < P::results; ++o)
    for (int q = 0; q < o; ++q) overlaps[o] = overlaps[o] || overlap(to[q], bytes[q], to[o], bytes[o]);
  for (int o = 0; o < P::results; ++o)
    if (overlaps[o]) spare += padded_bytes(bytes[o]);
  if (spare == 0) [[likely]] return run_program<P>(bound.data, to, bound.symbols.value);

  workspace& memory = thread_spare();
  char* at = memory.take(spare);
  void* own[P::results + 1];
  for (int o = 0; o < P::results; ++o) {
    own[o] = overlaps[o] ? at : to[o];
    if (overlaps[o]) at += padded_bytes(bytes[o]);
  }
  run_program<P>(bound.data, own, bound.symbols.value);
  for (int o = 0; o < P::results; ++o)
    if (overlaps[o] && bytes[o]) std::memcpy(to[o], own[o], bytes[o]);
}

/// The same by evaluation, for constant expressions. G: the program before it is planned.
template <class G, class V, class... A>
constexpr V evaluate_program(const A&... a) {
  const graph g = G::g.thaw();
  vec<cell_array> cells;
  vec<extent_list> extents;
  each_leaf([&]<class Leaf>(const Leaf& leaf) {
    extent_list x;
    x.rank = borrowed_extents<Leaf>::rank;
    for (int i = 0; i < x.rank; ++i) x.e[i] = borrow<Leaf>::extent(leaf, i);
    cell_array c;
    for (std::size_t i = 0; i < x.volume(); ++i) c.push(to_cell(borrow<Leaf>::data(leaf)[i]));
    cells.push(c);
    extents.push(x);
  }, a...);
  const vec<cell_array> out = evaluate(g, cells, symbol_values(g, extents));
  int number = 0;
  return argument<V>::make([&]<class Array>() {
    const cell_array& c = out[number++];
    Array r{};
    using T = typename borrow<Array>::element;
    T* to = borrow<Array>::mutable_data(r);
    for (int i = 0; i < c.size(); ++i) to[i] = from_cell<T>(c[i]);
    return r;
  });
}

/// Splices G into the graph that is being traced.
template <class G, class R, class... A>
constexpr R splice_program(const A&... a) {
  graph* g = nullptr;
  each_leaf([&](const auto& leaf) {
    if constexpr (requires { leaf.g; }) g = leaf.g;
  }, a...);
  vec<int> in;
  each_leaf([&]<class Leaf>(const Leaf& leaf) {
    if constexpr (requires { leaf.g; }) in.push(leaf.id);
    else in.push(emit_as<op::literal, Leaf>(*g, g->intern({}), {}, {static_cast<std::int64_t>(literal_bits<Leaf>(leaf))}));
  }, a...);
  const vec<int> out = splice(*g, G::g.thaw(), in);
  int number = 0;
  return argument<R>::trace([&]<class Term>() { return Term{g, out[number++]}; });
}

}  // namespace detail

/// What is called by the user. Spec says which program belongs to a list of argument types, and in which form it returns:
///   Spec::name                      for messages
///   Spec::program<T...>             has a frozen graph g; T are traced types
///   Spec::result<T...>              the traced form of what is returned
///   Spec::value<A...>               the same for arrays
template <class Spec>
struct program_function {
  template <class... A>
  constexpr auto operator()(const A&... a) const {
    Spec::template check<A...>();
    if constexpr ((detail::holds_terms<A> || ...)) {
      using G = typename Spec::template program<detail::traced_type<A>...>;
      return detail::splice_program<G, typename Spec::template result<detail::traced_type<A>...>>(a...);
    } else {
      using G = typename Spec::template program<detail::traced_type<A>...>;
      using V = typename Spec::template value<A...>;
      if (std::is_constant_evaluated()) return Spec::unwrap(detail::evaluate_program<G, V>(a...));
      return Spec::unwrap(detail::call_program<executable<G>, V>(Spec::name, a...));
    }
  }
  template <class... D, class... A>
  void operator()(const destinations<D...>& d, const A&... a) const {
    Spec::template check<A...>();
    using G = typename Spec::template program<detail::traced_type<A>...>;
    static_assert((0 + ... + argument<std::remove_const_t<D>>::leaves) == executable<G>::results, "[ebb E0121] ebb::into: the number of destinations is not that of the results");
    detail::call_program_into<executable<G>>(Spec::name, d, a...);
  }
};

}  // namespace ebb::inline EBB_ABI
