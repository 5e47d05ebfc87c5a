// ebb/exec/apart.hpp — finds results of a call that overlap memory it still reads: these are computed in other memory first.
// SPDX-License-Identifier: BSL-1.0
//
// [note: overlap is found in two steps]
// Almost no call has destinations that overlap anything. So a call first compares hulls: a hull is the smallest stretch of memory that
// holds a whole argument or destination, e.g. a struct with all of its arrays. If hulls are disjoint, nothing overlaps. There are as many
// hulls as the user passes arguments, not arrays. If hulls meet, a sweep over all arrays in the order of addresses finds the pairs that
// overlap, and the rule in exec/alias.hpp decides about each pair. Calls with few arrays apply the rule to each pair at once: an update in
// place then needs no sweep.
#pragma once

#include "alias.hpp"
#include "bind.hpp"

#include "../base/repeat.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

/// A stretch of memory: [first, last).
struct stretch {
  std::uintptr_t first = 0, last = 0;

  template <class T>
  static stretch of(const T* data, std::size_t count) {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    return {at, at + count * sizeof(T)};
  }
  bool overlaps(stretch other) const { return first < other.last && other.first < last; }
  std::size_t bytes() const { return last - first; }
};
template <class Leaf>
EBB_INLINE stretch stretch_of(const Leaf& leaf) {
  std::size_t n = 1;
  each_turn<borrowed_extents<Leaf>::rank>([&](int a) EBB_LAMBDA { n *= borrow<Leaf>::extent(leaf, a); });
  return stretch::of(borrow<Leaf>::data(leaf), n);
}

struct stretch_writer {
  stretch* to;

  EBB_INLINE void operator()(const auto& leaf) { *to++ = stretch_of(leaf); }
};

/// Calls f(leaf) for each leaf of the destinations.
template <class... D>
EBB_INLINE void each_destination(const destinations<D...>& d, auto&& f) {
  std::apply([&](auto&... x) { (each_leaf(f, x), ...); }, d.of);
}

/// An array of a call: result `number`, or argument `number - results`.
struct placed_array {
  stretch at;
  int number = 0;
};

/// Marks the results that overlap an earlier result, or an argument that they may not be written over.
/// `written` and `read` are those of `overwrites`. Reorders `arrays`.
EBB_ONCE void find_apart(placed_array* arrays, int count, int results, const memory_use* written, const memory_use* read, bool* apart) {
  const auto before = [](const placed_array& x, const placed_array& y) { return x.at.first < y.at.first; };
  if (!std::is_sorted(arrays, arrays + count, before)) std::sort(arrays, arrays + count, before);
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count && arrays[j].at.first < arrays[i].at.last; ++j) {
      if (arrays[j].at.bytes() == 0) continue;
      const auto [o, a] = std::minmax(arrays[i].number, arrays[j].number);
      if (o >= results) continue;  // two arguments
      if (a >= results && arrays[i].at.first == arrays[j].at.first && may_overwrite(written[o], read[a - results])) continue;
      apart[a < results ? a : o] = true;
    }
}

/// The smallest stretches that hold arrays which belong together: those of each destination, then those of each argument. The elements of
/// a tuple count one by one: they are in falling order in libstdc++.
template <class X>
inline constexpr int hulls_of = 1;
template <class... X>
inline constexpr int hulls_of<std::tuple<X...>> = (0 + ... + hulls_of<X>);

template <int Count>
struct hulls {
  std::uintptr_t first[Count + 1], last[Count + 1];
  int count = 0;
  bool disjoint = true;  // the arrays of each destination, as far as their order shows it

  template <class... X>
  EBB_INLINE void add(bool written, const std::tuple<X...>& x) {
    std::apply([&](const auto&... element) EBB_LAMBDA { (add(written, element), ...); }, x);
  }
  template <class X>
  EBB_INLINE void add(bool written, const X& x) {
    std::uintptr_t from = ~std::uintptr_t{0}, to = 0;
    each_leaf([&](const auto& leaf) EBB_LAMBDA {
      const stretch s = stretch_of(leaf);
      disjoint = disjoint & (!written | (s.first >= to));
      from = std::min(from, s.first);
      to = std::max(to, s.last);
    }, x);
    first[count] = from;
    last[count++] = to;
  }
};

/// Whether one of the first `written` stretches overlaps another one. Without branches: there is nothing to predict.
EBB_ONCE bool any_overlaps(const std::uintptr_t* first, const std::uintptr_t* last, int written, int count) {
  std::uint64_t any = 0;
  for (int o = 0; o < written; ++o) {
    const std::uintptr_t from = first[o], to = last[o];
    for (int i = o + 1; i < count; ++i) any |= static_cast<std::uint64_t>((from < last[i]) & (first[i] < to));
  }
  return any != 0;
}

/// The memory of a call of P with destinations D and arguments A.
template <class P, class D, class... A>
struct memory_of_call;
template <class P, class... D, class... A>
struct memory_of_call<P, destinations<D...>, A...> {
  static constexpr int written = (0 + ... + hulls_of<std::remove_const_t<D>>), count = (written + ... + hulls_of<A>);
  static constexpr bool each_pair = P::results * (P::results + P::arguments) <= 48;
  static constexpr bool by_hulls = written * count <= 4096;

  /// Whether some result may have to be computed in other memory. False is certain.
  static EBB_INLINE bool may_overlap(const destinations<D...>& d, const A&... a) {
    if constexpr (each_pair) return pairs_overlap(std::make_integer_sequence<int, P::results>{}, d, a...);
    else if constexpr (by_hulls) {
      hulls<count> h;
      std::apply([&](const auto&... x) EBB_LAMBDA { (h.add(true, x), ...); }, d.of);
      (h.add(false, a), ...);
      return !h.disjoint || any_overlaps(h.first, h.last, written, count);
    } else return true;
  }

  /// Marks the results that have to be computed in other memory, and returns the memory of each.
  static void find(bool* apart, stretch* to, const destinations<D...>& d, const A&... a) {
    placed_array arrays[P::results + P::arguments + 1];
    int number = 0;
    each_destination(d, [&](const auto& leaf) {
      arrays[number] = {stretch_of(leaf), number};
      to[number] = arrays[number].at;
      ++number;
    });
    each_argument_leaf([&](const auto& leaf) {
      arrays[number] = {stretch_of(leaf), number};
      ++number;
    }, a...);
    find_apart(arrays, number, P::results, overwrites<P>::written(), overwrites<P>::read(), apart);
  }

 private:
  /// The stretches are used once: the compiler can keep them in registers.
  template <int... O>
  static EBB_INLINE bool pairs_overlap(std::integer_sequence<int, O...>, const destinations<D...>& d, const A&... a) {
    stretch to[P::results + 1], from[P::arguments + 1];
    each_destination(d, stretch_writer{to});
    each_argument_leaf(stretch_writer{from}, a...);
    return (result_overlaps<O>(to, from, std::make_integer_sequence<int, O>{}, std::make_integer_sequence<int, P::arguments>{}) || ...);
  }
  /// Whether result O overlaps one of the results before it, or an argument that it may not be written over.
  template <int O, int... Q, int... I>
  static EBB_INLINE bool result_overlaps(const stretch* to, [[maybe_unused]] const stretch* from, std::integer_sequence<int, Q...>,
                                         std::integer_sequence<int, I...>) {
    return (to[O].overlaps(to[Q]) || ...) ||
           ((to[O].overlaps(from[I]) && !(std::bool_constant<overwrites<P>::may(O, I)>::value && from[I].first == to[O].first)) || ...);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
