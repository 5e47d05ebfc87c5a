// ebb/trace/refused.hpp — what a refused call gives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <cstdlib>
#include <tuple>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// It can be called, printed, assigned to anything and passed to every function of the library, so that one mistake is one error.
struct refused_result {
  constexpr refused_result operator()(const auto&...) const { return {}; }
  template <class T>
  constexpr operator T() const {
    if constexpr (std::is_default_constructible_v<T>) return T{};
    else std::abort();  // never run: the program does not compile
  }
  friend auto& operator<<(auto& stream, refused_result) { return stream; }
};

namespace detail {

/// Whether a call among whose arguments, or results, are these has been refused already.
template <class... A>
inline constexpr bool has_refused = (has_refused<A> || ...);
template <class A>
inline constexpr bool has_refused<A> = std::is_same_v<A, refused_result>;
template <class... A>
inline constexpr bool has_refused<std::tuple<A...>> = has_refused<A...>;

}  // namespace detail

template <class F, class... A>
  requires detail::has_refused<A...>
constexpr refused_result apply_function(F, const A&...) { return {}; }

}  // namespace ebb::inline EBB_ABI
