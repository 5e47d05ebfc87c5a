// ebb/exec/bind.hpp — arguments and results of a call: from arrays to pointers, and from extents to arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "evaluate.hpp"
#include "run.hpp"

#include "../base/repeat.hpp"
#include "../tensor/borrow.hpp"
#include "../trace/lengths.hpp"

#include <array>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The leaves of all arguments, in order.
template <class... A>
constexpr void each_argument_leaf(auto&& f, const A&... a) {
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

/// What a call needs of its arguments: where they are, and the values of all symbols.
template <class P, class... A>
class bound_arguments {
 public:
  explicit constexpr bound_arguments(const A&... a) : leaves_(std::tuple_cat(argument<A>::refer(a)...)) {
    repeat<P::arguments>([&]<int L>() {
      data[L] = const_cast<void*>(static_cast<const void*>(borrow<leaf_type<L>>::data(std::get<L>(leaves_))));
    });
    repeat<P::symbols>([&]<int S>() {
      constexpr extent_origin o = P::g.syms[static_cast<std::size_t>(S)].origin;
      if constexpr (o.rule == extent_rule::argument) symbols.value[S] = borrow<leaf_type<o.a>>::extent(std::get<o.a>(leaves_), o.b);
    });
  }
  /// Computes the other symbols. False if extents that must be equal are not, or one would be negative.
  constexpr bool complete() {
    bool fits = symbols.complete();
    repeat<P::arguments>([&]<int L>() {
      repeat<borrowed_extents<leaf_type<L>>::rank>([&]<int Axis>() {
        constexpr int wanted = P::argument_shape(L).e[Axis];
        if constexpr (is_dynamic<L, Axis> && !is_origin(wanted, L, Axis))
          fits = fits & (borrow<leaf_type<L>>::extent(std::get<L>(leaves_), Axis) == extent_value(wanted, symbols.value));
      });
    });
    return fits;
  }

  void* data[P::arguments + 1];
  symbol_values_of<P> symbols;

 private:
  using leaves = decltype(std::tuple_cat(argument<A>::refer(std::declval<const A&>())...));
  template <int L>
  using leaf_type = std::remove_cvref_t<std::tuple_element_t<static_cast<std::size_t>(L), leaves>>;
  template <int L, int Axis>
  static constexpr bool is_dynamic = []<std::size_t... E>(extents<E...>) {
    constexpr std::size_t e[] = {E...};
    return e[Axis] == dyn;
  }(borrowed_extents<leaf_type<L>>{});
  static constexpr bool is_origin(int wanted, int leaf, int axis) {
    return wanted < 0 && P::g.syms[static_cast<std::size_t>(~wanted)].origin == extent_origin{extent_rule::argument, leaf, axis};
  }

  leaves leaves_;
};

/// What the user calls an array in messages, if it has a name: found by its type.
std::string given_name(const auto&) { return {}; }

/// ", argument 1 (bias) is [5]": the same code for all calls.
EBB_COLD void append_argument(std::string& text, int number, const std::string& name, const extent_list& x) {
  text += number ? ", argument " : " argument ";
  text += std::to_string(number);
  if (!name.empty()) text += " (" + name + ")";
  text += " is ";
  text += text_of(x);
}

/// Of a subscript: which.
[[gnu::cold, gnu::noinline]] inline std::string text_of_unmet(const extent_origin& o) {
  if (o.rule != extent_rule::behind && o.rule != extent_rule::before) return "the extents of the arguments do not fit:";
  return "index " + std::to_string(o.rule == extent_rule::behind ? o.b : -o.b) + " is out of range:";
}

/// "ebb::grad: add: the extents of the arguments do not fit: argument 0 is [3, 4], argument 1 (bias) is [5]".
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_extents(const char* call, const char* why, const A&... a) {
  std::string text = std::string(call) + ": " + why;
  int number = 0;
  each_argument_leaf([&](const auto& leaf) { append_argument(text, number++, given_name(leaf), extents_of_leaf(leaf)); }, a...);
  raise(std::move(text));
}

template <class P, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_unmet(const char* call, const symbol_values_of<P>& symbols, const A&... a) {
  const unmet_demand first = symbols.unmet();
  raise_extents(call_and_op(call, first.by).c_str(), text_of_unmet(first.of).c_str(), a...);
}

/// The arguments of a call of P, which fit.
/// Throws: error if their extents do not, or if one of them names places that are not there.
template <class P, class... A>
EBB_INLINE bound_arguments<P, A...> bind_arguments(const char* call, const A&... a) {
  bound_arguments<P, A...> bound(a...);
  if (!bound.complete()) [[unlikely]] raise_unmet<P>(call, bound.symbols, a...);
  check_arguments<P>(call, bound.data, bound.symbols.value);
  return bound;
}

template <class T, std::size_t... E>
tensor<T, E...> new_tensor(std::type_identity<tensor<T, E...>>, const char* call, const shape& s, const std::size_t* symbol) {
  std::array<std::size_t, sizeof...(E)> at{};
  for (std::size_t i = 0; i < sizeof...(E); ++i) at[i] = extent_value(s.e[i], symbol);
  return tensor<T, E...>::uninitialized(typename tensor<T, E...>::layout_type(call, at));
}
template <element T>
T new_tensor(std::type_identity<T>, const char*, const shape&, const std::size_t*) {
  return T{};
}

/// A destination, or a struct or tuple of them.
template <class D>
inline constexpr bool can_be_written = !std::is_const_v<D>;
template <array_like D>
inline constexpr bool can_be_written<D> = mutable_array_like<D&>;
template <class V, int L>
inline constexpr bool can_be_written<of_length<V, L>> = !std::is_const_v<V>;
template <class V, int... L>
inline constexpr bool can_be_written<of_lengths<V, L...>> = !std::is_const_v<V>;
template <strided_like D>
inline constexpr bool can_be_written<D> = mutable_strided_like<D&>;

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
