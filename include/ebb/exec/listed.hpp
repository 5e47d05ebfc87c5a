// ebb/exec/listed.hpp — concat and stack of a std::vector, whose length is known at run time.
// SPDX-License-Identifier: BSL-1.0
//
// Halves of the list are joined, then the two results: one program is compiled, for any length. Each element is copied once for each
// halving.
#pragma once

#include "eager.hpp"

#include "../op/shape.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Axis, class Extents>
struct loose_extents;
template <int Axis, std::size_t... E>
struct loose_extents<Axis, extents<E...>> {
  template <std::size_t... I>
  static extents<(static_cast<int>(I) == Axis ? dyn : E)...> make(std::index_sequence<I...>);
  using type = decltype(make(std::make_index_sequence<sizeof...(E)>{}));
};

/// An X whose type does not fix the extent of an axis. Variables have one of their own, see autograd/listed.hpp.
template <int Axis, class X>
struct loosened {
  using type = tensor_of<borrowed_element<X>, typename loose_extents<Axis, borrowed_extents<X>>::type>;
  static type of(const char*, const X& x, std::size_t) {
    if constexpr (std::is_same_v<X, type>) return x;
    else return type(borrowed_view(x));
  }
};

/// Elements first to last - 1 of a list; part(i) is element i.
template <int Axis, class Part>
auto joined_parts(std::size_t first, std::size_t last, const Part& part) -> decltype(part(first)) {
  if (last - first == 1) return part(first);
  const std::size_t middle = first + (last - first) / 2;
  const auto head = joined_parts<Axis>(first, middle, part), tail = joined_parts<Axis>(middle, last, part);
  return apply_function(functions::concat<Axis>{}, head, tail);
}

/// Whether F is stack, and the axis as it is written.
template <class F>
struct joining;
template <int Axis>
struct joining<functions::concat<Axis>> {
  static constexpr bool adds = false;
  static constexpr int axis = Axis;
};
template <int Axis>
struct joining<functions::stack<Axis>> {
  static constexpr bool adds = true;
  static constexpr int axis = Axis;
};

[[noreturn]] EBB_COLD void raise_empty_list(const char* call) {
  raise(std::string(call) + ": the std::vector is empty: it has no extents");
}

}  // namespace detail

template <class F, class P, class Allocator>
  requires(detail::joins<F> && (array_like<P> || detail::is_tracked<P>) && !element<P>)
auto apply_function(F, const std::vector<P, Allocator>& list) {
  using how = detail::joining<F>;
  constexpr int rank = borrowed_extents<P>::rank + how::adds, axis = axis_of(how::axis, rank);
  using term = detail::traced_type<P>;
  if constexpr (detail::accepted_on<F, term, term>::lift::code != 0) return refused_result{};
  else {
    constexpr const char* call = how::adds ? "ebb::stack" : "ebb::concat";
    if (list.empty()) detail::raise_empty_list(call);
    return detail::joined_parts<axis>(0, list.size(), [&](std::size_t i) {
      const auto part = [&]() -> decltype(auto) {
        if constexpr (how::adds) return apply_function(functions::unsqueeze<axis>{}, list[i]);
        else return (list[i]);
      };
      using X = std::remove_cvref_t<decltype(part())>;
      return detail::loosened<axis, X>::of(call, part(), i);
    });
  }
}

}  // namespace ebb::inline EBB_ABI
