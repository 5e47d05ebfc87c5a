// ebb/base/record.hpp — a struct of numbered members, for kernels: unlike std::tuple it has no constructors to instantiate.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <utility>

namespace ebb::inline EBB_ABI {

template <int I, class T>
struct numbered_member {
  T value;
};
template <class, class...>
struct record_of;
template <int... I, class... T>
struct record_of<std::integer_sequence<int, I...>, T...> : numbered_member<I, T>... {};
/// Members 0, 1, ... of the types T. It initializes none of them.
template <class... T>
using record = record_of<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;

/// member<I>(r) is member I. The function depends on its type alone, not on the record.
template <int I, class T>
EBB_PART constexpr T& member(numbered_member<I, T>& r) {
  return r.value;
}
template <int I, class T>
EBB_PART constexpr const T& member(const numbered_member<I, T>& r) {
  return r.value;
}

}  // namespace ebb::inline EBB_ABI
