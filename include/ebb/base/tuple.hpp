// ebb/base/tuple.hpp — std::get and std::tuple_cat for tuples of hundreds of elements, with less compile time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <tuple>

namespace ebb::inline EBB_ABI::detail {

/// std::get<I>(tuple) of an lvalue. The declaration of std::get names std::tuple_element, which instantiates a class for each third of the
/// elements before I in libstdc++ up to version 13. So the memory for a tuple of n elements grows with the cube of n, to 1 GB for 300. The
/// internal function of libstdc++ that finds an element needs no such type.
template <std::size_t I>
EBB_INLINE constexpr auto& element_of(auto& tuple) {
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 14
  return std::__get_helper<I>(tuple);
#else
  return std::get<I>(tuple);
#endif
}

/// The type that std::tuple_cat returns for tuples of these types.
template <class... Tuple>
using joined_tuple = boost::mp11::mp_append<std::tuple<>, Tuple...>;

}  // namespace ebb::inline EBB_ABI::detail
