// ebb/exec/bind.hpp — arguments and results of a call: from arrays to pointers, and from extents to arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "evaluate.hpp"
#include "run.hpp"

#include "../tensor/borrow.hpp"
#include "../trace/argument.hpp"

#include <array>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The leaves of all arguments, in order.
template <class... A>
constexpr void each_leaf(auto&& f, const A&... a) {
  (argument<A>::each(a, f), ...);
}
template <class... A>
inline constexpr int leaves_of = (0 + ... + argument<A>::leaves);

template <class Leaf>
extent_list extents_of_leaf(const Leaf& leaf) {
  extent_list r;
  r.rank = borrowed_extents<Leaf>::rank;
  for (int a = 0; a < r.rank; ++a) r.e[a] = borrow<Leaf>::extent(leaf, a);
  return r;
}
inline std::string text_of(const extent_list& x) { return list_text(x.e, x.rank); }

template <class Leaf>
constexpr std::array<bool, static_cast<std::size_t>(borrowed_extents<Leaf>::rank) + 1> dynamic_axes() {
  return []<std::size_t... E>(extents<E...>) { return std::array<bool, sizeof...(E) + 1>{E == dyn..., false}; }(borrowed_extents<Leaf>{});
}

/// What a call needs of its arguments.
template <class P>
struct bound_arguments {
  void* data[P::arguments + 1];
  symbol_values_of<P> symbols;

  template <class... A>
  explicit constexpr bound_arguments(const A&... a) {
    int leaf_number = 0, symbol = 0;
    each_leaf([&]<class Leaf>(const Leaf& leaf) {
      constexpr auto is_dynamic = dynamic_axes<Leaf>();
      data[leaf_number++] = const_cast<void*>(static_cast<const void*>(borrow<Leaf>::data(leaf)));
      for (int axis = 0; axis < borrowed_extents<Leaf>::rank; ++axis)
        if (is_dynamic[static_cast<std::size_t>(axis)]) symbols.value[symbol++] = borrow<Leaf>::extent(leaf, axis);
    }, a...);
  }
};

/// "ebb::grad: the extents of the arguments do not fit: argument 0 is [3, 4], argument 1 is [5]".
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_extents(const char* call, const char* why, const A&... a) {
  std::string text = std::string(call) + ": " + why;
  int number = 0;
  each_leaf([&](const auto& leaf) {
    text += std::string(number ? ", " : " ") + "argument " + std::to_string(number) + " is " + text_of(extents_of_leaf(leaf));
    ++number;
  }, a...);
  raise(std::move(text));
}

template <class P>
constexpr const shape& result_shape(int number) {
  return P::shape_at(P::g.eq[static_cast<std::size_t>(P::g.out[static_cast<std::size_t>(number)])].shape);
}

template <class T, std::size_t... E>
tensor<T, E...> new_tensor(std::type_identity<tensor<T, E...>>, const shape& s, const std::size_t* symbol) {
  std::array<std::size_t, sizeof...(E)> at{};
  for (std::size_t i = 0; i < sizeof...(E); ++i) at[i] = extent_value(s.e[i], symbol);
  return tensor<T, E...>::uninitialized(typename tensor<T, E...>::layout_type("ebb", at));
}
template <element T>
T new_tensor(std::type_identity<T>, const shape&, const std::size_t*) {
  return T{};
}

}  // namespace detail

/// Memory that a call writes its results to, in the order in which it would return them. See ebb::into.
template <class... A>
struct destinations {
  std::tuple<A&...> of;
};

/// As the first argument of a call: the results are written there, and nothing is returned or allocated.
///   ebb::value_and_grad<1>(loss)(ebb::into(value, dw), x, w, t);
/// A destination may overlap an argument: all results are as if they had been computed before the first of them was written.
/// Throws: error if the extents differ.
template <class... A>
constexpr destinations<std::remove_reference_t<A>...> into(A&&... a) {
  return {{a...}};
}

}  // namespace ebb::inline EBB_ABI
