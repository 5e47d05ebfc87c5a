// ebb/trace/form.hpp — the structure of arguments and results: their leaves, and the same structure of other leaves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: forms]
// An argument or a result is an array, a number, or a tuple, a std::array, a std::vector or a struct of these. Only `form` knows these
// structures: every other type is a leaf. All other code works on leaves:
//   leaf_types<X>        the types of the leaves, those of a std::array's elements once: for questions about X
//   leaves_in<X>         all of them in order, as programs count them
//   each_leaf(f, x...)   f(leaf...) for each
//   filled<X>(f, x...)   an X of f.operator()<Leaf>(leaf...)
//   mapped_to<Map, X>    the same structure of other leaves
// So a new structure is a specialisation of `form`, and a new question is one line over leaf_types.
#pragma once

#include "../base/error.hpp"
#include "../base/repeat.hpp"
#include "../base/tuple.hpp"
#include "../tensor/borrow.hpp"

#include <boost/hana/accessors.hpp>
#include <boost/hana/at.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A list of types.
template <class... T>
struct types {
  static constexpr int count = sizeof...(T);
};

/// The lists in one.
template <class... List>
using joined_types = boost::mp11::mp_append<types<>, List...>;

template <class List, class Order>
struct repeated_list;
template <class List, std::size_t... I>
struct repeated_list<List, std::index_sequence<I...>> {
  template <std::size_t>
  using again = List;
  using type = joined_types<again<I>...>;
};

/// The structure of an X. The members of those that are not leaves:
///   is_loop         whether the parts have one type, so that a loop can visit them
///   is_fixed        whether the type fixes the number of parts
///   count           the number of parts
///   parts           types<...> of them, if is_loop is false
///   element         their type, if is_loop is true
///   get<I>(x)       part I
///   name<I>()       its name, in a struct
///   elements(x)     the range of the parts, if is_loop is true
///   with<Map>       the same structure with Map::of<P> for each part P; of a struct Map::of_struct<X>
template <class X>
struct form {
  static constexpr bool is_leaf = true, is_loop = false, is_fixed = true;
};

template <class... P>
struct form<std::tuple<P...>> {
  static constexpr bool is_leaf = false, is_loop = false, is_fixed = true;
  static constexpr int count = sizeof...(P);
  using parts = types<std::remove_cvref_t<P>...>;
  template <std::size_t I>
  static constexpr auto& get(auto& x) {
    return element_of<I>(x);
  }
  template <class Map>
  using with = std::tuple<typename Map::template of<std::remove_cvref_t<P>>...>;
};

template <class P, std::size_t N>
  requires(!array_like<std::array<P, N>>)
struct form<std::array<P, N>> {
  static constexpr bool is_leaf = false, is_loop = true, is_fixed = true;
  static constexpr int count = static_cast<int>(N);
  using element = P;
  template <std::size_t I>
  static constexpr auto& get(auto& x) {
    return std::get<I>(x);
  }
  static constexpr auto& elements(auto& x) { return x; }
  template <class Map>
  using with = std::array<typename Map::template of<P>, N>;
};

/// A vector without a declared length, which is known at run time only. Traced functions do not accept it.
template <class P, class Allocator>
  requires(!element<P>)
struct form<std::vector<P, Allocator>> {
  static constexpr bool is_leaf = false, is_loop = true, is_fixed = false;
  using element = P;
  static constexpr auto& elements(auto& x) { return x; }
  template <class Map>
  using with = std::vector<typename Map::template of<P>>;
};

/// A std::vector with L elements: see [note: lengths of vectors]. V may be const.
template <class V, int L>
struct of_length {
  V* vector;
  constexpr auto& elements() const { return *vector; }
};
/// A result of that form: a std::vector.
template <class P, int L>
struct vector_of : std::vector<P> {
  using std::vector<P>::vector;
  constexpr auto& elements() { return static_cast<std::vector<P>&>(*this); }
  constexpr auto& elements() const { return static_cast<const std::vector<P>&>(*this); }
};
template <class P, int L>
struct vector_form {
  static constexpr bool is_leaf = false, is_loop = true, is_fixed = true;
  static constexpr int count = L;
  using element = P;
  template <std::size_t I>
  static constexpr auto& get(auto& x) {
    return x.elements()[I];
  }
  static constexpr auto& elements(auto& x) { return x.elements(); }
  template <class Map>
  using with = vector_of<typename Map::template of<P>, L>;
};
template <class V, int L>
struct form<of_length<V, L>> : vector_form<typename V::value_type, L> {};
template <class P, int L>
struct form<vector_of<P, L>> : vector_form<P, L> {};

/// Not a lambda in decltype: with one, g++ 12 omits function bodies.
template <class S>
struct types_of_members {
  template <class... Member>
  constexpr auto operator()(Member... member) const {
    return types<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<S&>()))>...>{};
  }
};
template <class S>
  requires(boost::hana::Struct<S>::value)
struct form<S> {
  static constexpr bool is_leaf = false, is_loop = false, is_fixed = true;
  using parts = decltype(boost::hana::unpack(boost::hana::accessors<S>(), types_of_members<S>()));
  static constexpr int count = parts::count;
  template <std::size_t I>
  static constexpr auto& get(auto& x) {
    return boost::hana::second(boost::hana::at_c<I>(boost::hana::accessors<S>()))(x);
  }
  template <std::size_t I>
  static constexpr const char* name() {
    return boost::hana::first(boost::hana::at_c<I>(boost::hana::accessors<S>())).c_str();
  }
  template <class Map>
  using with = typename Map::template of_struct<S>;
};

template <class X>
using form_of = form<std::remove_cvref_t<X>>;

/// The form A after Map, a form_map. A leaf is unchanged unless a specialisation for Map changes it.
template <class Map, class A>
struct mapped_form {
  using type = A;
};
template <class Map, class A>
  requires(!form<A>::is_leaf)
struct mapped_form<Map, A> {
  using type = typename form<A>::template with<Map>;
};
template <class Map, class A>
using mapped_to = typename mapped_form<Map, A>::type;
/// The base of maps: maps the parts of a structure. A map defines of_struct<S> itself.
template <class Map>
struct form_map {
  template <class P>
  using of = mapped_to<Map, P>;
};

/// Marks leaf types that include a vector's: the number of leaves is known at run time only.
struct unknown_length {};

template <class X>
struct leaf_types_in {
  using type = types<X>;
};
template <class X>
struct all_leaves_in {
  using type = types<X>;
};
template <class Parts>
struct leaves_of_parts;
template <class... P>
struct leaves_of_parts<types<P...>> {
  using once = joined_types<typename leaf_types_in<P>::type...>;
  using all = joined_types<typename all_leaves_in<P>::type...>;
};
template <class X>
  requires(!form<X>::is_leaf && !form<X>::is_loop)
struct leaf_types_in<X> {
  using type = typename leaves_of_parts<typename form<X>::parts>::once;
};
template <class X>
  requires(form<X>::is_loop && form<X>::is_fixed)
struct leaf_types_in<X> : leaf_types_in<typename form<X>::element> {};
template <class X>
  requires(!form<X>::is_fixed)
struct leaf_types_in<X> {
  using type = joined_types<types<unknown_length>, typename leaf_types_in<typename form<X>::element>::type>;
};
template <class X>
  requires(!form<X>::is_leaf && !form<X>::is_loop)
struct all_leaves_in<X> {
  using type = typename leaves_of_parts<typename form<X>::parts>::all;
};
template <class X>
  requires(form<X>::is_loop && form<X>::is_fixed)
struct all_leaves_in<X>
    : repeated_list<typename all_leaves_in<typename form<X>::element>::type, std::make_index_sequence<std::size_t{form<X>::count}>> {};

template <class X>
using leaf_types = typename leaf_types_in<X>::type;
template <class X>
using leaves_in = typename all_leaves_in<X>::type;

/// Whether Is<Leaf>::value for one leaf of X, or for all. No folds: clang stops at 256.
template <template <class> class Is, class... Leaf>
constexpr bool any_is(types<Leaf...>) {
  for (const bool is : {false, Is<Leaf>::value...})
    if (is) return true;
  return false;
}
template <template <class> class Is, class... Leaf>
constexpr bool all_are(types<Leaf...>) {
  for (const bool is : {true, Is<Leaf>::value...})
    if (!is) return false;
  return true;
}
template <class X, template <class> class Is>
inline constexpr bool any_leaf = any_is<Is>(leaf_types<X>{});
template <class X, template <class> class Is>
inline constexpr bool all_leaves = all_are<Is>(leaf_types<X>{});

[[noreturn]] EBB_COLD void raise_lengths_differ(std::size_t one, std::size_t other) {
  raise("ebb::each_leaf: a vector of " + std::to_string(one) + " elements beside one of " + std::to_string(other));
}
constexpr void require_lengths(std::size_t one, auto... other) {
  ((other == one ? void() : raise_lengths_differ(one, other)), ...);
}

}  // namespace detail

/// Calls f(p, g, ...) for each array of a struct, tuple, std::array or vector, with the arrays at the same place in others of the same
/// form:
///   each_leaf([&](auto& p, const auto& g) { p -= rate * g; }, parameters, gradients)
/// In a traced function they are terms.
/// Throws: error if vectors at one place differ in length; f has been called for the arrays before them.
template <class F, class S, class... Others>
constexpr void each_leaf(F&& f, S&& s, Others&&... others) {
  using form = detail::form_of<S>;
  if constexpr (form::is_leaf) f(s, others...);
  else if constexpr (form::is_loop && sizeof...(Others) == 0)
    for (auto& part : form::elements(s)) each_leaf(f, part);
  else if constexpr (!form::is_fixed) {
    detail::require_lengths(form::elements(s).size(), detail::form_of<Others>::elements(others).size()...);
    for (std::size_t i = 0; i < form::elements(s).size(); ++i)
      each_leaf(f, form::elements(s)[i], detail::form_of<Others>::elements(others)[i]...);
  } else
    repeat<form::count>([&]<int I>() EBB_LAMBDA {
      each_leaf(f, form::template get<std::size_t{I}>(s), detail::form_of<Others>::template get<std::size_t{I}>(others)...);
    });
}

namespace detail {

/// A To of f.operator()<Leaf>(leaf...), for each leaf of a To with those at its place in `from`, which have the same form.
template <class To, class F, class... From>
constexpr To filled(F&& f, const From&... from);

template <std::size_t I, class Part, class F, class... From>
constexpr Part filled_part(F& f, const From&... from) {
  return filled<Part>(f, form<From>::template get<I>(from)...);
}
/// Avoids the constructor of all elements if possible: the compile time of its overloads is quadratic in their number.
template <class To, class F, class... Part, std::size_t... I, class... From>
constexpr To filled_parts(types<Part...>, std::index_sequence<I...>, F& f, const From&... from) {
  if constexpr (all_leaves<To, std::is_trivially_copyable> && std::is_trivially_destructible_v<To>) {
    To to{};
    ((form<To>::template get<I>(to) = filled_part<I, Part>(f, from...)), ...);
    return to;
  } else return To{filled_part<I, Part>(f, from...)...};
}
template <class To, class F, std::size_t... I, class... From>
constexpr To filled_loop(std::index_sequence<I...>, F& f, const From&... from) {
  return To{filled_part<I, typename form<To>::element>(f, from...)...};
}
template <class To, class F, class... From>
constexpr To filled(F&& f, const From&... from) {
  using form = detail::form<To>;
  if constexpr (form::is_leaf) return f.template operator()<To>(from...);
  else if constexpr (!form::is_loop)
    return filled_parts<To>(typename form::parts{}, std::make_index_sequence<std::size_t{form::count}>{}, f, from...);
  else if constexpr (requires(To& to) { to.reserve(std::size_t{}); }) {
    To to;
    if constexpr (sizeof...(From) == 0) {
      to.reserve(std::size_t{form::count});
      for (int i = 0; i < form::count; ++i) to.push_back(filled<typename form::element>(f));
    } else {
      const std::size_t count = std::get<0>(std::tie(form_of<From>::elements(from)...)).size();
      to.reserve(count);
      for (std::size_t i = 0; i < count; ++i) to.push_back(filled<typename form::element>(f, form_of<From>::elements(from)[i]...));
    }
    return to;
  } else return filled_loop<To>(std::make_index_sequence<std::size_t{form::count}>{}, f, from...);
}

/// The leaves of x, each by reference.
template <class X>
constexpr auto leaf_references(X&& x) {
  using form = form_of<X>;
  if constexpr (form::is_leaf) return std::tie(x);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple_cat(leaf_references(form::template get<I>(x))...);
    }(std::make_index_sequence<std::size_t{form::count}>{});
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
