// ebb/exec/check.hpp — checks of a call beside extents: indices are in range, and an extremum has elements.
// SPDX-License-Identifier: BSL-1.0
//
// [note: checked before anything changes]
// Indices that are an argument are checked before the first step. Indices that the program computes are checked when they are complete,
// before a step uses them: earlier steps may have written results by then.
#pragma once

#include "../base/error.hpp"
#include "../base/repeat.hpp"
#include "../kernel/indexed.hpp"
#include "../plan/plan.hpp"
#include "../tensor/layout.hpp"

#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI {

inline std::string text_of(const extent_list& x) { return list_text(x.e, x.rank); }

namespace detail {

[[noreturn]] EBB_COLD void raise_empty(const char* call, std::string_view op, const extent_list& x) {
  raise(call_and_op(call, op) + " over no elements: the operand is " + text_of(x));
}
[[noreturn]] EBB_COLD void raise_place(const char* call, std::string_view op, const extent_list& x, std::size_t at,
                                       std::int64_t place, std::size_t places, std::string_view counted) {
  const std::string which = x.rank == 0 ? "the index" : "number " + std::to_string(at) + " of the indices of shape " + text_of(x);
  raise(call_and_op(call, op) + ": " + which + " is " + std::to_string(place) + ", and there are " + std::to_string(places) + " " +
        std::string(counted));
}

/// A check of indices or of elements, without its equation: a table of ops that is read at run time would be emitted with all functions
/// that it names.
struct index_check {
  std::string_view op;
  plan_check check;
  kind what;                // of the equation, for the axes that it drops
  std::int64_t attr[2];
  dtype type = dtype::i64;  // of the indices
  std::string_view counted;  // what the indices name
  bool by_rows;             // the program runs on blocks of rows, and each row has indices

  constexpr index_check(const plan_check& c, const equation& e, dtype integers, bool in_blocks = false)
      : op(e.op->asker), check(c), what(e.op->what), attr{e.attr[0], e.attr[1]}, type(integers), counted(e.op->counted),
        by_rows(in_blocks) {}
};

/// The first row of a block, and the number of all rows, see [note: blocks of rows]; 0: the block has all of them.
struct row_position {
  std::size_t first = 0, rows = 0;
};

template <class Index>
void check_places(const char* call, const index_check& a, extent_list x, const Index* index, std::size_t places, row_position block) {
  const std::size_t count = x.volume();
  std::size_t bad = kernel::first_bad_index(index, count, places);
  if (bad >= count) [[likely]] return;
  const auto place = static_cast<std::int64_t>(index[bad]);
  if (block.rows > 0 && a.by_rows) {
    bad += block.first * x.volume(1, x.rank);
    x.e[0] = block.rows;
  }
  raise_place(call, a.op, x, bad, place, places, a.counted);
}

/// x: the extents of the indices at `data`, or of the operand of a reduction.
EBB_ONCE void run_check(const char* call, const index_check& a, const extent_list& x, const void* data, const std::size_t* symbol,
                        row_position block = {}) {
  if (a.check.buffer < 0) {
    const part axes = axes_dropped(a.what, a.attr, x.rank);
    if (x.volume(axes.first, axes.first + axes.count) == 0) [[unlikely]] raise_empty(call, a.op, x);
    return;
  }
  const std::size_t all = extent_value(a.check.places, symbol) + 1, box = extent_value(a.check.box, symbol);
  const std::size_t places = all > box ? all - box : 0;
  if (a.type == dtype::i32) check_places(call, a, x, static_cast<const std::int32_t*>(data), places, block);
  else check_places(call, a, x, static_cast<const std::int64_t*>(data), places, block);
}

/// Runs the checks of program P after step After; -1: before the first step. `buffer(i)` is the address of buffer i.
template <class P, int After>
void run_checks(const char* call, auto&& buffer, const std::size_t* symbol, row_position block = {}) {
  repeat<P::plan.size.checks>([&]<int I>() {
    constexpr plan_check c = P::plan.checks[static_cast<std::size_t>(I)];
    if constexpr (c.after == After) {
      constexpr dtype type = c.buffer < 0 ? dtype::i64 : P::plan.buffers[static_cast<std::size_t>(c.buffer < 0 ? 0 : c.buffer)].type;
      static constexpr index_check a(c, P::g.eq[static_cast<std::size_t>(c.equation)], type, (P::plan.row_symbol < 0));
      const void* data = nullptr;
      if constexpr (c.buffer >= 0) data = buffer.template operator()<c.buffer>();
      run_check(call, a, extents_at(P::shape_at(c.shape), symbol), data, symbol, block);
    }
  });
}

/// Whether P has checks after step `after`.
template <class P>
constexpr bool has_checks(int after) {
  for (int i = 0; i < P::plan.size.checks; ++i)
    if (P::plan.checks[static_cast<std::size_t>(i)].after == after) return true;
  return false;
}

/// The address of buffer B, which is an argument or a part of one.
template <class P, int B>
EBB_INLINE const char* address_in_argument(void* const* arguments, const std::size_t* symbol) {
  constexpr plan_buffer b = P::plan.buffers[static_cast<std::size_t>(B)];
  if constexpr (b.is != plan_buffer::role::part) return static_cast<const char*>(arguments[b.number]);
  else {
    static constexpr shape whole = P::shape_at(b.at.whole), own = P::shape_at(b.at.shape);
    return address_in_argument<P, b.whole>(arguments, symbol) + elements_before(b.at, whole, own, symbol) * size_of(b.type);
  }
}

/// The checks before the first step, of arguments and extents. Nothing has been written.
template <class P>
EBB_INLINE void check_arguments(const char* call, void* const* arguments, const std::size_t* symbol) {
  run_checks<P, -1>(call, [&]<int B>() -> const void* { return address_in_argument<P, B>(arguments, symbol); }, symbol);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
