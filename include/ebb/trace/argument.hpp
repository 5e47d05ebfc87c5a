// ebb/trace/argument.hpp — what a call's arguments are made of: arrays, numbers, tuples, arrays of arrays, and structs of arrays.
// SPDX-License-Identifier: BSL-1.0
//
// [note: structs are templates over the kind of array]
// A traced lambda sees a struct of parameters with terms in place of arrays. So the struct is a template over the kind of array:
//
//   template <template <class, std::size_t...> class Array>
//   struct params {
//     using matrix = Array<float, 64, 10>;
//     using vector = Array<float, 10>;
//     BOOST_HANA_DEFINE_STRUCT(params, (matrix, w), (vector, b));
//   };
//
// params<ebb::tensor> is what the user holds, params<ebb::term> is what the lambda gets, and gradients are params<ebb::tensor> again.
//
// [note: arrays of arrays]
// std::array<A, N> of arrays, tuples or structs is a tuple of N equal types, as an argument, as a member and as a result: the lambda gets
// std::array<..., N> of terms, for (const auto& layer : layers) runs while it is traced, and so the program is unrolled. Of numbers it is
// what it always was, one array of N elements; N results of rank 0 are therefore std::array<tensor<T>, N>, which is not such an array.
#pragma once

#include "kinds.hpp"

#include "../base/repeat.hpp"
#include "../base/tuple.hpp"
#include "../tensor/foreign.hpp"

#include <boost/hana/accessors.hpp>
#include <boost/hana/at.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <array>
#include <tuple>

namespace ebb::inline EBB_ABI {

/// How one argument falls into arrays ("leaves"), and how a thing of the same form is put together from others.
///   leaves                    how many
///   traced                    the type that a traced lambda gets
///   terms                     the terms in it, as a tuple type
///   value                     the type that results of this form have
///   each(argument, f)         f(leaf) for each, in order
///   refer(argument)           a tuple of references to the leaves
///   trace(next)               the traced form: next.template operator()<Term>() gives the terms in order
///   make(next)                a value of this form: next.template operator()<Array>() gives the arrays in order
template <class A>
struct argument {
  static constexpr bool is_argument = false;
  static constexpr int leaves = 0;  // asked of the members of a struct that is refused
  using terms = std::tuple<>;
};

template <borrowable A>
struct argument<A> {
  static constexpr bool is_argument = true;
  static constexpr int leaves = 1;
  using traced = term_of<borrowed_element<A>, borrowed_extents<A>>;
  using terms = std::tuple<traced>;
  using value = value_of<A>;
  static constexpr void each(auto& a, auto&& f) { f(a); }
  static constexpr auto refer(const auto& a) { return std::tie(a); }
  static constexpr traced trace(auto&& next) { return next.template operator()<traced>(); }
  static constexpr value make(auto&& next) { return next.template operator()<value>(); }
};

template <class T, std::size_t... E>
struct argument<term<T, E...>> {
  static constexpr bool is_argument = true;
  static constexpr int leaves = 1;
  using traced = term<T, E...>;
  using terms = std::tuple<traced>;
  using value = std::conditional_t<sizeof...(E) == 0, std::type_identity<T>, std::type_identity<tensor<T, E...>>>::type;
  static constexpr void each(auto& a, auto&& f) { f(a); }
  static constexpr auto refer(const auto& a) { return std::tie(a); }
  static constexpr traced trace(auto&& next) { return next.template operator()<traced>(); }
  static constexpr value make(auto&& next) { return next.template operator()<value>(); }
};

template <class... A>
  requires(argument<A>::is_argument && ...)
struct argument<std::tuple<A...>> {
  static constexpr bool is_argument = true;
  static constexpr int leaves = (0 + ... + argument<A>::leaves);
  using traced = std::tuple<typename argument<A>::traced...>;
  using terms = detail::joined_tuple<typename argument<A>::terms...>;
  using value = std::tuple<typename argument<A>::value...>;
  static constexpr void each(auto& a, auto&& f) {
    repeat<sizeof...(A)>([&]<int I>() EBB_LAMBDA {
      auto& x = detail::element_of<I>(a);
      argument<std::remove_cv_t<std::remove_reference_t<decltype(x)>>>::each(x, f);
    });
  }
  static constexpr auto refer(const auto& a) {
    return std::apply([](const auto&... x) { return std::tuple_cat(argument<A>::refer(x)...); }, a);
  }
  /// Not the constructor of all elements: the time for its overloads grows with the square of their number.
  static constexpr traced trace(auto&& next) {
    traced t;
    repeat<sizeof...(A)>([&]<int I>() { trace_one(detail::element_of<I>(t), next); });
    return t;
  }
  static constexpr value make(auto&& next) { return value{argument<A>::make(next)...}; }

 private:
  template <class T>
  static constexpr void trace_one(T& t, auto& next) {
    t = argument<T>::trace(next);
  }
};

namespace detail {

template <class Tuple, class Order>
struct repeated_types;
template <class Tuple, std::size_t... I>
struct repeated_types<Tuple, std::index_sequence<I...>> {
  template <std::size_t>
  using again = Tuple;
  using type = joined_tuple<again<I>...>;
};

/// What stands for a value in a std::array: a tensor for a number.
template <class V>
struct element_value {
  using type = V;
};
template <number V>
struct element_value<V> {
  using type = tensor<V>;
};

}  // namespace detail

template <class A, std::size_t N>
  requires(argument<A>::is_argument && !array_like<std::array<A, N>>)
struct argument<std::array<A, N>> {
  static constexpr bool is_argument = true;
  static constexpr int leaves = static_cast<int>(N) * argument<A>::leaves;
  using traced = std::array<typename argument<A>::traced, N>;
  using terms = typename detail::repeated_types<typename argument<A>::terms, std::make_index_sequence<N>>::type;
  using value = std::array<typename detail::element_value<typename argument<A>::value>::type, N>;
  static constexpr void each(auto& a, auto&& f) {
    for (auto& x : a) argument<A>::each(x, f);
  }
  static constexpr auto refer(const auto& a) {
    return std::apply([](const auto&... x) { return std::tuple_cat(argument<A>::refer(x)...); }, a);
  }
  static constexpr traced trace(auto&& next) {
    traced t;
    for (auto& x : t) x = argument<A>::trace(next);
    return t;
  }
  static constexpr value make(auto&& next) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return value{make_one<I>(next)...};
    }(std::make_index_sequence<N>{});
  }

 private:
  template <std::size_t>
  static constexpr auto make_one(auto& next) {
    if constexpr (number<typename argument<A>::value>) return next.template operator()<typename value::value_type>();
    else return argument<A>::make(next);
  }
};

/// Whether T is what a traced function gets for some argument.
template <class T>
inline constexpr bool is_traced = false;
template <class T>
  requires(argument<T>::is_argument)
inline constexpr bool is_traced<T> = std::is_same_v<typename argument<T>::traced, T>;

template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array>
  requires boost::hana::Struct<Struct<Array>>::value
struct argument<Struct<Array>> {
  using self = Struct<Array>;
  using traced = typename detail::with_leaves<self, term>::type;
  using value = typename detail::with_leaves<self, tensor>::type;
  /// Each member is an array, or made of arrays: a plain int would have to be a term, too.
  static constexpr bool is_argument = boost::hana::unpack(boost::hana::accessors<traced>(), [](auto... member) {
    return (is_traced<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<traced&>()))>> && ...);
  });

  static constexpr void each(auto& a, auto&& f) {
    boost::hana::unpack(boost::hana::accessors<self>(), [&](auto... member) {
      (member_each(boost::hana::second(member)(a), f), ...);
    });
  }
  static constexpr auto refer(const auto& a) {
    return boost::hana::unpack(boost::hana::accessors<self>(), [&](auto... member) {
      return std::tuple_cat(member_refer(boost::hana::second(member)(a))...);
    });
  }
  static constexpr traced trace(auto&& next) {
    traced t;
    boost::hana::unpack(boost::hana::accessors<traced>(), [&](auto... member) {
      ((boost::hana::second(member)(t) = member_trace<std::remove_cvref_t<decltype(boost::hana::second(member)(t))>>(next)), ...);
    });
    return t;
  }
  static constexpr value make(auto&& next) {
    return boost::hana::unpack(boost::hana::accessors<traced>(), [&](auto... member) {
      return value{argument<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<traced&>()))>>::make(next)...};
    });
  }
  static constexpr int count_leaves() {
    return boost::hana::unpack(boost::hana::accessors<traced>(), [](auto... member) {
      return (0 + ... + argument<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<traced&>()))>>::leaves);
    });
  }
  static constexpr int leaves = count_leaves();
  using terms = typename decltype(boost::hana::unpack(boost::hana::accessors<traced>(), [](auto... member) {
    return std::type_identity<detail::joined_tuple<
        typename argument<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<traced&>()))>>::terms...>>();
  }))::type;

 private:
  template <class M>
  static constexpr void member_each(M& m, auto&& f) {
    argument<std::remove_const_t<M>>::each(m, f);
  }
  template <class M>
  static constexpr auto member_refer(const M& m) {
    return argument<M>::refer(m);
  }
  template <class M>
  static constexpr M member_trace(auto&& next) {
    return argument<M>::trace(next);
  }
};

namespace detail {

/// The members of a struct, a tuple or a std::array of arrays by number; anything else has none and is a leaf.
template <class S>
struct members {
  static constexpr bool exist = false;
};
template <class... A>
struct members<std::tuple<A...>> {
  static constexpr bool exist = true;
  static constexpr std::size_t count = sizeof...(A);
  template <std::size_t I>
  static constexpr auto& get(auto& s) {
    return element_of<I>(s);
  }
};
template <class A, std::size_t N>
  requires(!array_like<std::array<A, N>>)
struct members<std::array<A, N>> {
  static constexpr bool exist = true;
  static constexpr std::size_t count = N;
  template <std::size_t I>
  static constexpr auto& get(auto& s) {
    return std::get<I>(s);
  }
};
template <class S>
  requires(boost::hana::Struct<S>::value)
struct members<S> {
  static constexpr bool exist = true;
  static constexpr std::size_t count = decltype(boost::hana::length(boost::hana::accessors<S>()))::value;
  template <std::size_t I>
  static constexpr auto& get(auto& s) {
    return boost::hana::second(boost::hana::at_c<I>(boost::hana::accessors<S>()))(s);
  }
};
template <class S>
using members_of = members<std::remove_cv_t<S>>;

}  // namespace detail

/// Calls f(p, g, ...) for each array of a struct, tuple or std::array with the arrays that stand at its place in others of the same form:
///   each_leaf([&](auto& p, const auto& g) { p -= rate * g; }, parameters, gradients)
/// In a traced function they are terms.
template <class F, class S, class... Others>
constexpr void each_leaf(F&& f, S&& s, Others&&... others) {
  using first = detail::members_of<std::remove_reference_t<S>>;
  if constexpr (!first::exist) f(s, others...);
  else
    repeat<static_cast<int>(first::count)>([&]<int I>() {
      each_leaf(f, first::template get<I>(s), detail::members_of<std::remove_reference_t<Others>>::template get<I>(others)...);
    });
}

template <class A>
concept traced_argument = argument<std::remove_cvref_t<A>>::is_argument;

}  // namespace ebb::inline EBB_ABI
