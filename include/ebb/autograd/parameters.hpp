// ebb/autograd/parameters.hpp — structures of variables: single ones, tuples, vectors, and structs over the kind of array.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "variable.hpp"

#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// How variables are found in a P.   each(p, f): f(variable) in order.   map(p, f): a P of f(variable).
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
    else return v;
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
template <template <template <class, std::size_t...> class> class Struct>
struct parameters_in<Struct<variable>> {
  using self = Struct<variable>;
  static constexpr bool any = true;
  static void each(auto& a, auto&& f) {
    const auto one = [&](auto& p) { parameters_in<std::remove_cvref_t<decltype(p)>>::each(p, f); };
    boost::hana::unpack(boost::hana::accessors<self>(), [&](auto... member) { (one(boost::hana::second(member)(a)), ...); });
  }
  static self map(const self& a, auto&& f) {
    const auto one = [&](const auto& p) { return parameters_in<std::remove_cvref_t<decltype(p)>>::map(p, f); };
    return boost::hana::unpack(boost::hana::accessors<self>(),
                               [&](auto... member) { return self{one(boost::hana::second(member)(a))...}; });
  }
};

}  // namespace detail

/// Variables, and tuples, vectors and structs of them.
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

}  // namespace ebb::inline EBB_ABI
