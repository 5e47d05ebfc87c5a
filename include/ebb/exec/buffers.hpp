// ebb/exec/buffers.hpp — where the buffers of a program are: arguments, results, places in the workspace, and parts of these.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

#include "../base/repeat.hpp"
#include "../kernel/workspace.hpp"
#include "../plan/view.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Every extent is read as a constant: shapes that are read at run time are emitted.
template <class P, int Shape>
constexpr std::size_t bytes_of_shape(dtype type, const std::size_t* symbol) {
  std::size_t n = size_of(type);
  repeat<P::shape_at(Shape).rank>([&]<int A>() EBB_LAMBDA {
    constexpr int e = P::shape_at(Shape).e[A];
    n *= extent_value(e, symbol);
  });
  return n;
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
template <class P>
inline constexpr bool has_parts = [] {
  for (int b = 0; b < P::plan.size.buffers; ++b)
    if (P::plan.buffers[static_cast<std::size_t>(b)].whole >= 0) return true;
  return false;
}();
/// The addresses of all parts, or of those that a block of rows has elsewhere than the one before.
template <class P, bool Within = false>
EBB_INLINE void find_parts(void** buffer, const std::size_t* symbol, const std::size_t* by_block) {
  repeat<P::plan.size.buffers>([&]<int B>() EBB_LAMBDA {
    constexpr plan_buffer b = P::plan.buffers[static_cast<std::size_t>(B)];
    constexpr bool within = b.rows == row_use::within;
    if constexpr (b.is == plan_buffer::role::part && (within || (b.at.apart && b.rows != row_use::none) || !Within))
      buffer[B] = address_of_part<P, B>(buffer, within ? by_block : symbol);
  });
}

/// The memory of each buffer. `places`: room on the stack, if it is used. `by_block`: the values of symbols for buffers with the rows of
/// one block.
template <class P>
EBB_INLINE void find_buffers(void** buffer, void* const* arguments, void* const* results, const std::size_t* symbol,
                             const std::size_t* by_block, char* places) {
  std::size_t offset[P::plan.size.places + 1];
  std::size_t total = 0;
  repeat<P::plan.size.places>([&]<int I>() EBB_LAMBDA {
    constexpr plan_place p = P::plan.places[static_cast<std::size_t>(I)];
    offset[I] = total;
    total += padded_bytes(bytes_of_shape<P, p.shape>(p.type, p.rows == row_use::within ? by_block : symbol));
  });
  if constexpr (P::plan.size.places > 0 && !places_on_stack<P>) places = workspace_of_depth<P::depth>().take(total);
  repeat<P::plan.size.buffers>([&]<int B>() EBB_LAMBDA {
    constexpr plan_buffer b = P::plan.buffers[static_cast<std::size_t>(B)];
    if constexpr (b.is == plan_buffer::role::argument) buffer[B] = arguments[b.number];
    else if constexpr (b.is == plan_buffer::role::result) buffer[B] = results[b.number];
    else if constexpr (b.is == plan_buffer::role::temporary) buffer[B] = places + offset[b.number];
    else if constexpr (b.is == plan_buffer::role::unused) buffer[B] = nullptr;
  });
  if constexpr (has_parts<P>) find_parts<P>(buffer, symbol, by_block);
}

}  // namespace ebb::inline EBB_ABI::detail
