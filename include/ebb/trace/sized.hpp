// ebb/trace/sized.hpp — a struct whose std::vectors have a known length.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "argument.hpp"

#include <vector>

namespace ebb::inline EBB_ABI::detail {

/// A struct whose vectors have L elements each: as a traced function receives it, and as results.
template <class S, int L>
struct sized : S {
  constexpr sized() = default;
  template <class... Member>
    requires(sizeof...(Member) == form<S>::count && !(std::is_same_v<std::remove_cvref_t<Member>, sized> || ...))
  constexpr sized(Member&&... member) : S{std::forward<Member>(member)...} {}
};

template <class Leaf>
using is_unknown_length = std::bool_constant<std::is_same_v<Leaf, unknown_length>>;
/// Whether X has a vector whose length is known at run time only.
template <class X>
inline constexpr bool has_unknown_length = any_leaf<X, is_unknown_length>;
template <class S>
inline constexpr bool is_struct_with_vectors = false;
template <class S>
  requires(boost::hana::Struct<S>::value)
inline constexpr bool is_struct_with_vectors<S> = has_unknown_length<S>;

/// A member with vectors of L elements. Vectors in vectors have no length.
template <class M, int L>
struct member_of_length {
  using type = M;
};
template <class P, int L>
  requires(!element<P>)
struct member_of_length<std::vector<P>, L> {
  using type = vector_of<P, L>;
};
template <class S, int L>
  requires is_struct_with_vectors<S>
struct member_of_length<S, L> {
  using type = sized<S, L>;
};
template <int L, class M>
constexpr decltype(auto) at_length(M& member) {
  using S = std::remove_const_t<M>;
  if constexpr (std::is_same_v<typename member_of_length<S, L>::type, S>) return (member);
  else return of_length<M, L>{&member};
}

template <class S, int L>
struct sized_form {
  static constexpr bool is_leaf = false, is_loop = false, is_fixed = true;
  static constexpr int count = form<S>::count;
  using parts = decltype([]<class... M>(types<M...>) {
    return types<typename member_of_length<M, L>::type...>{};
  }(typename form<S>::parts{}));
  template <class Map>
  using with = sized<typename Map::template of_struct<S>, L>;
};
template <class S, int L>
struct form<sized<S, L>> : sized_form<S, L> {
  template <std::size_t I>
  static constexpr decltype(auto) get(auto& x) {
    return at_length<L>(form<S>::template get<I>(x));
  }
};
template <class S, int L>
  requires(boost::hana::Struct<std::remove_const_t<S>>::value)
struct form<of_length<S, L>> : sized_form<std::remove_const_t<S>, L> {
  template <std::size_t I>
  static constexpr decltype(auto) get(auto& x) {
    return at_length<L>(form<std::remove_const_t<S>>::template get<I>(*x.vector));
  }
};

/// f(length) for each vector of X.
template <class X>
constexpr void each_length(const X& x, auto&& f) {
  if constexpr (requires { x.size(); }) f(x.size());
  else
    repeat<form<X>::count>([&]<int I>() {
      const auto& member = form<X>::template get<std::size_t{I}>(x);
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (!std::is_same_v<typename member_of_length<M, 1>::type, M>) each_length(member, f);
    });
}

}  // namespace ebb::inline EBB_ABI::detail
