// ebb/plan/step.hpp — a plan as data: steps, loop nests, numbered buffers.
// SPDX-License-Identifier: BSL-1.0
//
// [note: buffers are numbered]
// Only values that must be in memory have a buffer: arguments, results, and values that cross groups. memory.hpp decides which buffers
// share memory. A call only computes sizes.
#pragma once

#include "../base/vec.hpp"
#include "../graph/equation.hpp"
#include "../op/op.hpp"
#include "../tensor/nest.hpp"

namespace ebb::inline EBB_ABI {

namespace op {
struct place;  // see op/move.hpp
}

/// Why a step copies elements: see [note: parts of arrays].
enum class copy_reason : std::uint8_t { none, axis, step, permutation, result, argument, twice, offset, loop, often };

struct plan_step {
  kind what = kind::elementwise;  // elementwise: a nest; else a whole equation
  int nest = -1;
  int equation = -1;
  int in[2] = {-1, -1};           // buffers of a whole equation with at most two operands; concat: see plan::joined
  part joined;
  part made;                      // of a loop: the buffers of its results, in plan::joined
  int out = -1;                   // -1: a loop
  int onto = -1;                  // of a product: the buffer to which it is added, its third operand; see [note: products onto arrays]
  copy_reason why = copy_reason::none;  // of a move
  part summed;                    // of a product: the axes of its batch along which it is summed; see [note: products onto arrays]
  int repeats = -1;               // the step that this one repeats in later blocks of rows, see [note: repeated in later blocks]
};

/// Whether a step does nothing, since what it moves has been written in its place.
constexpr bool is_written_in_parts(const plan_step& s, const op_info& op) {
  return s.what == kind::move && s.why == copy_reason::none && op.family != family_of<op::place>;
}

/// The role of an array in a program that runs by blocks of rows: see [note: blocks of rows].
enum class row_use : std::uint8_t {
  none,    // it has no rows, or is not used in blocks
  within,  // a temporary of one block
  beyond,  // all rows are in memory: an argument, or a temporary that is read after the blocks
  result
};

/// The place of an array in another one, see [note: parts of arrays]: it begins after so many rows, or so many rows before the end, or it
/// ends where the other one does.
struct part_place {
  enum class counted : std::uint8_t { from_start, from_end, at_end };
  counted from = counted::from_start;
  int rows = 0, axis = 0;
  int shape = -1;  // of the part; a row is all axes after `axis`
  int whole = -1;  // the shape of the other one
  int step = 1;    // it has every step-th row
  bool apart = false;  // there are other rows between its rows: by its step, or since axes before `axis` are not 1
};

/// A number times extents that the call knows: a stride, or a term of an offset.
struct extent_product {
  static constexpr int most = 3;
  std::int64_t factor = 1;
  int symbols[most] = {};  // extents below 0, in order; 0: no more

  constexpr bool operator==(const extent_product&) const = default;
  constexpr bool is(std::int64_t n) const { return factor == n && symbols[0] == 0; }
  constexpr std::ptrdiff_t value(const std::size_t* symbol) const {
    auto n = static_cast<std::ptrdiff_t>(factor);
    for (int i = 0; i < most && symbols[i] < 0; ++i) n *= static_cast<std::ptrdiff_t>(symbol[~symbols[i]]);
    return n;
  }
};

/// The elements of an array that lies in another one in any order: see [note: operands of products]. Of a load of a nest: its strides along
/// the loops, see [note: rows apart].
struct plan_view {
  static constexpr int most_terms = 4;
  extent_product along[max_rank];       // the strides of its axes; that of an axis of extent 1 is 0
  placed_rows placed[max_rank];
  extent_product offset[most_terms];    // their sum: the elements before the first one
  int terms = 0;

  constexpr std::ptrdiff_t elements_before(const std::size_t* symbol) const {
    std::ptrdiff_t n = 0;
    for (int i = 0; i < terms; ++i) n += offset[i].value(symbol);
    return n;
  }
};

struct plan_buffer {
  enum class role : std::uint8_t { argument, result, temporary, part, unused };  // unused: no step names it any more
  role is = role::temporary;
  int number = -1;  // of the argument, the result, or the place
  dtype type = dtype::f32;
  int shape = -1;
  row_use rows = row_use::none;
  int whole = -1;  // of a part: the buffer in which it lies
  part_place at{};
  int view = -1;   // of a part that products or loops read or write with strides: its number in plan::views
};

/// The buffer whose memory has b: b itself unless it is a part.
constexpr int owner_of(const auto& buffers, int b) {
  while (buffers.data()[b].whole >= 0) b = buffers.data()[b].whole;
  return b;
}

/// The number of the run of blocks with step s, of `count` runs; -1: s does not run on blocks of rows.
constexpr int run_with(const auto& blocks, int count, int s) {
  for (int i = 0; i < count; ++i)
    if (const part& run = blocks.data()[i]; s >= run.first && s < run.first + run.count) return i;
  return -1;
}

/// A place in the workspace that temporaries of one size share.
struct plan_place {
  dtype type = dtype::f32;
  int shape = -1;
  row_use rows = row_use::none;
};

/// A result that shares memory: an argument that is returned, a value of a step on whole arrays that is returned twice.
struct plan_copy {
  int result = -1, buffer = -1;
};

/// Steps that run together, some rows at a time; see [note: bands of rows].
struct plan_band {
  int first = 0, count = 0;  // of the steps
  int shape = -1;            // of the matrix whose rows they are
};

/// A check of a call's arguments; see exec/check.hpp.
struct plan_check {
  int equation = -1;  // the equation that asks
  int buffer = -1;    // integers that name places; -1: that the axes a reduction drops are not empty
  int shape = -1;     // of these integers, or of the reduced array
  int places = 0;     // the extent along which they are places: a number or a symbol
  int after = -1;     // the step that computes them; -1: they are an argument, looked at before the first step
  int box = 1;        // the extent of what begins at a place, and has to fit
};

struct plan {
  vec<plan_step> steps;
  vec<nest> nests;
  vec<nest_load> loads;
  vec<nest_compute> computes;
  vec<nest_reduce> reduces;
  vec<nest_store> stores;
  vec<plan_buffer> buffers;
  vec<plan_place> places;
  vec<plan_copy> copies;
  vec<plan_check> checks;
  vec<plan_band> bands;
  vec<plan_view> views;
  vec<nest_columns> columns;
  vec<int> joined;     // buffers, and the numbers of slots that are stored side by side
  vec<part> blocks;    // the steps that run on blocks of rows, see [note: blocks of rows]: several runs of them, in order
  int row_symbol = 0;  // a symbol, as an extent: the number of rows; 0: there are no blocks
  vec<int> group_of;   // for pictures: the number of the step of each equation, or -1
};

/// How many arrays of step s may have strides of their own: the operands of a product and its result, the operands of a move.
constexpr int count_of_strided(const plan_step& s) {
  return s.what == kind::contract ? 3 : s.what == kind::move ? s.joined.count : 0;
}
/// The buffer of array j of these.
constexpr int strided_buffer(const auto& joined, const plan_step& s, int j) {
  return s.what == kind::contract && j == 2 ? s.out : joined.data()[s.joined.first + j];
}

/// The step whose equations step s computes: s, or the one that it repeats.
constexpr int step_with_equations(const plan& p, int s) {
  return s >= 0 && p.steps.data()[s].repeats >= 0 ? p.steps.data()[s].repeats : s;
}

}  // namespace ebb::inline EBB_ABI
