// ebb/autograd/parameters.hpp — structures of variables: single ones, tuples, vectors, arrays, and structs whose members Hana knows.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "variable.hpp"

#include <array>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// How variables are found in a P.   each(p, f): f(variable) in order.   map(p, f): a P of f(variable), with zeros for integers.
template <class P>
struct parameters_in {
  static constexpr bool any = false;
};
template <class T, std::size_t... E>
struct parameters_in<variable<T, E...>> {
  static constexpr bool any = true;
  static void each(auto& v, auto&& f) {
    if constexpr (real_element<T>) f(v);
  }
  static variable<T, E...> map(const variable<T, E...>& v, auto&& f) {
    if constexpr (real_element<T>) return f(v);
    else return tensor<T, E...>(v.layout());
  }
};
template <class... P>
struct parameters_in<std::tuple<P...>> {
  static constexpr bool any = (parameters_in<std::remove_cvref_t<P>>::any && ...);
  static void each(auto& t, auto&& f) {
    std::apply([&](auto&... p) { (parameters_in<std::remove_cvref_t<P>>::each(p, f), ...); }, t);
  }
  static auto map(const std::tuple<P...>& t, auto&& f) {
    return std::apply([&](const auto&... p) {
      return std::tuple<std::remove_cvref_t<P>...>{parameters_in<std::remove_cvref_t<P>>::map(p, f)...};
    }, t);
  }
};
template <class P>
struct parameters_in<std::vector<P>> {
  static constexpr bool any = parameters_in<P>::any;
  static void each(auto& v, auto&& f) {
    for (auto& p : v) parameters_in<P>::each(p, f);
  }
  static std::vector<P> map(const std::vector<P>& v, auto&& f) {
    std::vector<P> r;
    for (const P& p : v) r.push_back(parameters_in<P>::map(p, f));
    return r;
  }
};
template <class P, std::size_t N>
struct parameters_in<std::array<P, N>> {
  static constexpr bool any = parameters_in<P>::any;
  static void each(auto& a, auto&& f) {
    for (auto& p : a) parameters_in<P>::each(p, f);
  }
  static std::array<P, N> map(const std::array<P, N>& a, auto&& f) {
    std::array<P, N> r;
    for (std::size_t i = 0; i < N; ++i) r[i] = parameters_in<P>::map(a[i], f);
    return r;
  }
};
/// Whether members of a struct do. Not a lambda in decltype: see terms_of_members.
template <class Struct>
struct members_hold_parameters {
  auto operator()(auto... member) const {
    return std::bool_constant<(parameters_in<std::remove_cvref_t<decltype(boost::hana::second(member)(std::declval<Struct&>()))>>::any &&
                               ...)>{};
  }
};
/// A struct over the kind of array, Struct<variable>, or one of variables and what else holds some.
template <class Struct>
  requires(boost::hana::Struct<Struct>::value)
struct parameters_in<Struct> {
  static constexpr bool any = decltype(boost::hana::unpack(boost::hana::accessors<Struct>(), members_hold_parameters<Struct>()))::value;
  static void each(auto& a, auto&& f) {
    const auto one = [&](auto& p) { parameters_in<std::remove_cvref_t<decltype(p)>>::each(p, f); };
    boost::hana::unpack(boost::hana::accessors<Struct>(), [&](auto... member) { (one(boost::hana::second(member)(a)), ...); });
  }
  static Struct map(const Struct& a, auto&& f) {
    const auto one = [&](const auto& p) { return parameters_in<std::remove_cvref_t<decltype(p)>>::map(p, f); };
    return boost::hana::unpack(boost::hana::accessors<Struct>(),
                               [&](auto... member) { return Struct{one(boost::hana::second(member)(a))...}; });
  }
};

}  // namespace detail

/// Variables, and tuples, vectors, arrays and structs of them.
template <class P>
concept parameters = detail::parameters_in<std::remove_cvref_t<P>>::any;

/// f(variable) for each variable in each of p, in order.
template <parameters... P>
void each_variable(auto&& f, P&&... p) {
  (detail::parameters_in<std::remove_cvref_t<P>>::each(p, f), ...);
}

/// Forgets the gradients, so that the next backward begins anew.
template <parameters... P>
void zero_grad(P&&... p) {
  each_variable([](auto v) { v.zero_grad(); }, p...);
}
/// Refused: not of variables.
template <class... P>
  requires(!(parameters<std::remove_cvref_t<P>> && ...))
void zero_grad(P&&...) {
  constexpr bool fits = (parameters<std::remove_cvref_t<P>> && ...);
  static_assert(fits, "[ebb E0198] ebb::zero_grad takes variables, or tuples, vectors and structs of them");
}

}  // namespace ebb::inline EBB_ABI
