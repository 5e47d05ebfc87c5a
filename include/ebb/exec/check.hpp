// ebb/exec/check.hpp — what a call looks at beside extents: that places exist, and that a maximum has something to choose from.
// SPDX-License-Identifier: BSL-1.0
//
// [note: checked before anything changes]
// Integers that are an argument are looked at before the first step. Those that the program computes are looked at when they are
// complete, before a step uses them; steps before that one may have written results then.
#pragma once

#include "../base/error.hpp"
#include "../kernel/move.hpp"
#include "../plan/plan.hpp"

#include <string>

namespace ebb::inline EBB_ABI {

inline std::string text_of_extents(const extent_list& x) {
  std::string text = "[";
  for (int i = 0; i < x.rank; ++i) text += (i ? ", " : "") + std::to_string(x.e[i]);
  return text + "]";
}

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_empty(const char* call, const op_info& op, const extent_list& x) {
  raise(std::string(call) + ": " + std::string(op.name) + " over no elements: the operand is " + text_of_extents(x));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void raise_place(const char* call, const op_info& op, const extent_list& x, std::size_t at,
                                                               std::int64_t place, std::size_t places) {
  raise(std::string(call) + ": " + std::string(op.name) + ": number " + std::to_string(at) + " of the indices, which are " +
        text_of_extents(x) + ", is " + std::to_string(place) + ", and there are " + std::to_string(places) + " places");
}

/// The reduced axes of e's operand, whose extents are x, have elements.
inline void check_elements(const char* call, const equation& e, const extent_list& x) {
  if (x.volume(static_cast<int>(e.attr[0]), static_cast<int>(e.attr[1])) == 0) [[unlikely]] raise_empty(call, *e.op, x);
}
template <class Index>
void check_places(const char* call, const op_info& op, const extent_list& x, const Index* index, std::size_t places) {
  const std::size_t count = x.volume(), bad = kernel::first_bad_index(index, count, places);
  if (bad < count) [[unlikely]] raise_place(call, op, x, bad, static_cast<std::int64_t>(index[bad]), places);
}

/// c.shape and c.places are numbers here: `of` its shape, `e` the equation that asks, `type` the dtype of the integers at `data`.
inline void run_check(const char* call, const plan_check& c, const equation& e, const shape& of, dtype type, const void* data,
                      const std::size_t* symbol) {
  const extent_list x = extents_at(of, symbol);
  if (c.buffer < 0) return check_elements(call, e, x);
  const std::size_t places = extent_value(c.places, symbol);
  if (type == dtype::i32) check_places(call, *e.op, x, static_cast<const std::int32_t*>(data), places);
  else check_places(call, *e.op, x, static_cast<const std::int64_t*>(data), places);
}

/// All that program P has to look at when step `after` is done; -1: before the first. `buffer(i)` is where buffer i is.
template <class P>
void run_checks(const char* call, int after, auto&& buffer, const std::size_t* symbol) {
  for (int i = 0; i < P::plan.size.checks; ++i) {
    const plan_check& c = P::plan.checks[static_cast<std::size_t>(i)];
    if (c.after != after) continue;
    const dtype type = c.buffer < 0 ? dtype::i64 : P::plan.buffers[static_cast<std::size_t>(c.buffer)].type;
    const void* const data = c.buffer < 0 ? nullptr : buffer(c.buffer);
    run_check(call, c, P::g.eq[static_cast<std::size_t>(c.equation)], P::shape_at(c.shape), type, data, symbol);
  }
}

/// Whether P has anything to look at when step `after` is done.
template <class P>
constexpr bool has_checks(int after) {
  for (int i = 0; i < P::plan.size.checks; ++i)
    if (P::plan.checks[static_cast<std::size_t>(i)].after == after) return true;
  return false;
}

/// Before the first step: arguments and extents. Nothing has been written.
template <class P>
EBB_INLINE void check_arguments(const char* call, void* const* arguments, const std::size_t* symbol) {
  if constexpr (has_checks<P>(-1))
    run_checks<P>(call, -1, [&](int b) { return arguments[P::plan.buffers[static_cast<std::size_t>(b)].number]; }, symbol);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
