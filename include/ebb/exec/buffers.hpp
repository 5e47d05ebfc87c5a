// ebb/exec/buffers.hpp — the addresses of a program's buffers: arguments, results, places in the workspace, and parts of these.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

#include "../base/repeat.hpp"
#include "../kernel/workspace.hpp"
#include "../plan/view.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Every extent is read as a constant: shapes that are read at run time are emitted. The last argument is axes_of<P, Shape>{}.
template <class P, int Shape>
using axes_of = std::make_integer_sequence<int, P::shape_at(Shape).rank>;
template <class P, int Shape, int... A>
constexpr std::size_t bytes_of_shape(dtype type, [[maybe_unused]] const std::size_t* symbol, std::integer_sequence<int, A...>) {
  return (size_of(type) * ... * extent_value(std::integral_constant<int, P::shape_at(Shape).e[A]>::value, symbol));
}

template <class P>
constexpr bool has_static_places = [] {
  for (int i = 0; i < P::plan.size.places; ++i) {
    const shape& s = P::shape_at(P::plan.places[static_cast<std::size_t>(i)].shape);
    for (int a = 0; a < s.rank; ++a)
      if (s.e[a] < 0) return false;
  }
  return true;
}();
template <class P>
constexpr std::size_t static_place_bytes = [] {
  std::size_t n = 0;
  if constexpr (has_static_places<P>)
    for (int i = 0; i < P::plan.size.places; ++i) {
      const plan_place p = P::plan.places[static_cast<std::size_t>(i)];
      n += padded_bytes(volume(P::shape_at(p.shape), nullptr) * size_of(p.type));
    }
  return n;
}();
/// Temporaries of a few kilobytes of static size are on the stack.
template <class P>
inline constexpr bool places_on_stack = has_static_places<P> && static_place_bytes<P> <= 4096;

/// Whether arrays of a shape have elements in all calls.
template <class P, int Shape>
inline constexpr bool has_elements = [] {
  bool r = true;
  const shape& s = P::shape_at(Shape);
  for (int a = 0; a < s.rank; ++a) r = r && s.e[a] > 0;
  return r;
}();
/// The address of a part, as that of the buffer where it lies and an offset.
template <class P, int B>
EBB_INLINE char* address_of_part(void* const* buffer, const std::size_t* symbol) {
  constexpr plan_buffer b = P::plan.buffers[static_cast<std::size_t>(B)];
  if constexpr (b.is != plan_buffer::role::part) return static_cast<char*>(buffer[B]);
  else {
    static constexpr shape whole = P::shape_at(b.at.whole), own = P::shape_at(b.at.shape);
    char* const first = address_of_part<P, b.whole>(buffer, symbol);
    if constexpr (!has_elements<P, b.at.whole>)
      if (!first) return first;  // no memory for no elements: null has no parts
    if constexpr (b.view < 0) return first + elements_before(b.at, whole, own, symbol) * size_of(b.type);
    else {
      static constexpr plan_view view = P::plan.views[static_cast<std::size_t>(b.view)];
      return first + (static_cast<std::ptrdiff_t>(elements_before(b.at, whole, own, symbol)) + view.elements_before(symbol)) *
                         static_cast<std::ptrdiff_t>(size_of(b.type));
    }
  }
}
/// The buffers that are parts, or those that a block of rows has elsewhere than the one before.
template <class P, bool Within>
inline constexpr auto parts_of = [] {
  number_list<P::plan.size.buffers> r;
  for (int i = 0; i < P::plan.size.buffers; ++i) {
    const plan_buffer& b = P::plan.buffers[static_cast<std::size_t>(i)];
    const bool moves = b.rows == row_use::within || (b.at.apart && b.rows != row_use::none);
    if (b.is == plan_buffer::role::part && (moves || !Within)) r.push(i);
  }
  return r;
}();
template <class P>
inline constexpr bool has_parts = parts_of<P, false>.count > 0;

/// Finds the addresses of parts_of<P, Within> from number `First` on.
template <class P, bool Within, int First, int... I>
EBB_INLINE void find_parts(void** buffer, const std::size_t* symbol, const std::size_t* by_block, std::integer_sequence<int, I...>) {
  constexpr const auto& parts = parts_of<P, Within>;
  ((buffer[std::integral_constant<int, parts.number[First + I]>::value] = address_of_part<P, parts.number[First + I]>(
        buffer, P::plan.buffers[parts.number[First + I]].rows == row_use::within ? by_block : symbol)), ...);
  if constexpr (constexpr int next = First + most_in_fold; next < parts.count)
    find_parts<P, Within, next>(buffer, symbol, by_block, numbers_of_fold<next, parts.count>{});
}

// [note: folds in functions]
// Each program has these functions. A lambda for `repeat` would be one more for each place, buffer or step. A number as the value of an
// integral_constant is known to the front end, and is no constant of the program that would be emitted.

template <class P, int B>
using role_of = std::integral_constant<plan_buffer::role, P::plan.buffers[static_cast<std::size_t>(B)].is>;
template <class P, int B>
using number_of = std::integral_constant<int, P::plan.buffers[static_cast<std::size_t>(B)].number>;

/// Computes the offsets of the places from `First` on. Returns the bytes that all of them take.
template <class P, int First, int... I>
EBB_INLINE std::size_t find_places(std::size_t* offset, std::size_t total, const std::size_t* symbol, const std::size_t* by_block,
                                   std::integer_sequence<int, I...>) {
  constexpr const auto& at = P::plan.places;
  ((offset[First + I] = total,
    total += padded_bytes(bytes_of_shape<P, at[First + I].shape>(std::integral_constant<dtype, at[First + I].type>::value,
                                                                 at[First + I].rows == row_use::within ? by_block : symbol,
                                                                 axes_of<P, at[First + I].shape>{}))), ...);
  if constexpr (constexpr int next = First + most_in_fold; next < P::plan.size.places)
    return find_places<P, next>(offset, total, symbol, by_block, numbers_of_fold<next, P::plan.size.places>{});
  else return total;
}
/// The addresses of the buffers from `First` on; null for parts, which are found later.
template <class P, int First, int... B>
EBB_INLINE void look_up_buffers(void** buffer, void* const* arguments, void* const* results, char* places, const std::size_t* offset,
                                std::integer_sequence<int, B...>) {
  using enum plan_buffer::role;
  ((buffer[First + B] = role_of<P, First + B>::value == argument    ? arguments[number_of<P, First + B>::value]
                        : role_of<P, First + B>::value == result    ? results[number_of<P, First + B>::value]
                        : role_of<P, First + B>::value == temporary ? places + offset[number_of<P, First + B>::value]
                                                                    : nullptr), ...);
  if constexpr (constexpr int next = First + most_in_fold; next < P::plan.size.buffers)
    look_up_buffers<P, next>(buffer, arguments, results, places, offset, numbers_of_fold<next, P::plan.size.buffers>{});
}

/// The memory of each buffer. `places`: room on the stack, if it is used. `by_block`: the values of symbols for buffers with the rows of
/// one block.
template <class P>
EBB_INLINE void find_buffers(void** buffer, void* const* arguments, void* const* results, const std::size_t* symbol,
                             const std::size_t* by_block, char* places) {
  constexpr int count = P::plan.size.places;
  using buffers = numbers_of_fold<0, P::plan.size.buffers>;
  if constexpr (count > 0) {
    std::size_t offset[count];
    [[maybe_unused]] const std::size_t total = find_places<P, 0>(offset, 0, symbol, by_block, numbers_of_fold<0, count>{});
    if constexpr (!places_on_stack<P>) places = workspace_of_depth<P::depth>().take(total);
    look_up_buffers<P, 0>(buffer, arguments, results, places, offset, buffers{});
  } else look_up_buffers<P, 0>(buffer, arguments, results, places, nullptr, buffers{});
  if constexpr (has_parts<P>) find_parts<P, false, 0>(buffer, symbol, by_block, numbers_of_fold<0, parts_of<P, false>.count>{});
}

}  // namespace ebb::inline EBB_ABI::detail
