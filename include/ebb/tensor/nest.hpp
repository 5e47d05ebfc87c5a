// ebb/tensor/nest.hpp — a loop nest as data: the loads, computations, reductions and stores of one fused group.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one nest for each group]
//   for each index of the outer loops                    (loops 0 ... count - 2: pointers move by strides)
//     for each step of lanes of the innermost loop       (adjacent in memory; a tail goes through padded scratch)
//       load     slots from arrays, literals, indices    (the pointer of an array that does not vary along a loop stays: a broadcast)
//       compute  slots from slots
//       reduce   slots into accumulators                 ("run": along the last loops, see [note: logical reduction tree];
//       store    slots to arrays                          "rows": into an array that varies along the innermost loop)
// Adjacent axes that all members of a group treat alike are one loop. A plan holds nests as numbers. The kernel floor turns a nest into
// straight-line code; the exec floor can also interpret one at run time.
#pragma once

#include "../num/dtype.hpp"
#include "shape.hpp"

#include <cstdint>

namespace ebb::inline EBB_ABI {

/// A part of one of the plan's lists.
struct part {
  int first = 0, count = 0;
};

/// The place of a value while a nest runs: an index into the array of lanes of its dtype.
struct slot {
  dtype type = dtype::f32;
  int number = -1;
};

/// The rows along an axis that a place puts somewhere: there are zeros outside of [first, first + count), see [note: zeros around].
struct placed_rows {
  std::int64_t first = 0;
  int count = 0;      // an extent
  bool some = false;  // false: no zeros along this axis
};

/// Sets of loops are masks: bit l is loop l.
struct nest_load {
  enum class from : std::uint8_t { array, literal, index, placed };  // placed: a literal with zeros around, see [note: zeros around]
  from source = from::array;
  slot to;
  int buffer = -1;  // of an array
  int along = 0;    // the loops along which it varies
  int view = -1;    // the plan's view with its strides along the loops, if it lies in another array with rows apart: see [note: rows apart]
  cell bits = 0;    // of a literal, placed or not
  slot reciprocal;  // and the next one, of a divisor that is one number in each row: see [note: quotients by one number]
  int columns = -1;  // the columns to which it belongs, in the plan's list
};
/// Loads of columns that lie side by side in one array: see [note: columns side by side].
struct nest_columns {
  static constexpr int most = 4;
  int step = 0;                       // the elements of a row of these columns
  int load[most] = {-1, -1, -1, -1};  // of the nest, by its place in a row

  /// The first of the loads: the step loads all columns there.
  constexpr int leader() const {
    int r = -1;
    for (const int k : load)
      if (k >= 0 && (r < 0 || k < r)) r = k;
    return r;
  }
};

struct nest_compute {
  using vector_function = void (*)(const void*, const void*, const void*, void*);
  using block_function = void (*)(const void* const*, void*, std::size_t);
  using scalar_function = void (*)(const cell*, cell*);
  vector_function vector = nullptr;
  block_function block = nullptr;
  scalar_function scalar = nullptr;
  vector_function divided = nullptr;  // instead of `vector` where the reciprocal of in[1] is known
  int count = 0;
  bool heavy = false;        // exp, log and the like
  bool branch_free = false;  // of one element, too
  slot in[3];
  slot reciprocal;
  slot to;
};

struct nest_reduce {
  using accumulate_function = void (*)(void*, const void*, std::size_t, std::size_t);
  nest_compute::vector_function combine = nullptr;
  nest_compute::vector_function ordered = nullptr;  // the same for an element that is no NaN, or null: see [note: extrema without NaN]
  nest_compute::block_function block = nullptr;
  accumulate_function accumulate = nullptr;
  slot in;
  dtype type = dtype::f32;
  cell identity = 0;
  int buffer = -1;
  bool run = true;    // run or rows
  int first = 0;      // the loops that are combined: [first, last)
  int last = 0;
  bool continues = false;  // from what earlier blocks of rows have added, see [note: blocks of rows]
  bool counts = false;  // adds up ones: the sum is the number of elements, as long as that is exact
};

/// Whether a step may store so many slots side by side: their registers are mixed by twos and threes, see kernel/every.hpp.
constexpr bool may_store_joined(dtype type, int count) {
  if (size_of(type) < 4 || count < 2 || count > 16) return false;
  while (count % 2 == 0) count /= 2;
  while (count % 3 == 0) count /= 3;
  return count == 1;
}
struct nest_store {
  slot from;
  int buffer = -1;
  int view = -1;  // as of a load
  part joined;    // the numbers of the slots that are stored side by side, in the plan's `joined`; see [note: joined stores]
};

struct nest {
  int shape = -1;                   // the iteration space: number of a shape in the graph
  int loops = 0;
  int axis[max_rank + 1] = {};      // loop l covers the axes [axis[l], axis[l + 1])
  int run_from = 0;                 // the first loop of all "run" reductions; equal to loops if there is none
  int slots[7] = {};                // by dtype
  part loads, computes, reduces, stores;
  bool small = false;               // few and cheap equations: worth unrolling over the accumulators of a reduction
  bool banded = false;              // runs in pieces of its single loop, see [note: bands of rows]
};

}  // namespace ebb::inline EBB_ABI
