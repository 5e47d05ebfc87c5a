// ebb/exec/run.hpp — one call of a program: check the extents, place the buffers, run the steps.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what a call costs]
// Compilation decides everything except sizes. A call writes the extents of its arguments into a short array, compares those that must be
// equal, computes the sizes of temporaries if there are any, and calls the kernels one after the other.
#pragma once

#include "band.hpp"
#include "buffers.hpp"
#include "check.hpp"
#include "loop.hpp"
#include "one_row.hpp"
#include "one_step.hpp"
#include "probed.hpp"
#include "program.hpp"
#include "copied_row.hpp"
#include "small_matrix_step.hpp"
#include "symbol_values.hpp"

#include "../base/repeat.hpp"
#include "../kernel/move.hpp"
#include "../kernel/nest.hpp"
#include "../kernel/workspace.hpp"
#include "../op/whole.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The number of the band that step s is a member of, or -1.
template <class P>
constexpr int band_with(int s) {
  for (int i = 0; i < P::plan.size.bands; ++i) {
    const plan_band& b = P::plan.bands[static_cast<std::size_t>(i)];
    if (s >= b.first && s < b.first + b.count) return i;
  }
  return -1;
}

/// Whether step S is reported to a profiler: the first member of a band is reported for all.
template <class P, int S>
inline constexpr bool is_reported = [] {
  constexpr int band = band_with<P>(S);
  if constexpr (band < 0) return true;
  else return S == P::plan.bands[static_cast<std::size_t>(band)].first;
}();

/// Writes the extents of a shape where they are read: a copy of extents that were just written stalls. The last argument is
/// axes_of<P, Shape>{}.
template <class P, int Shape, int... A>
EBB_INLINE void write_extents(extent_list& to, [[maybe_unused]] const std::size_t* symbol, std::integer_sequence<int, A...>) {
  to.rank = sizeof...(A);
  ((to.e[A] = extent_value(std::integral_constant<int, P::shape_at(Shape).e[A]>::value, symbol)), ...);
}

/// Whether symbol s is the number of rows, in a program that runs on blocks of rows.
template <class P>
constexpr bool is_row_symbol(int s) {
  return oldest_symbol<P>(s) == oldest_symbol<P>(~P::plan.row_symbol);
}
/// The axis of rows of a shape; -1: none, or the program does not run on blocks of rows.
template <class P>
constexpr int axis_of_rows(int shape) {
  if (P::plan.row_symbol >= 0) return -1;
  const auto s = P::shape_at(shape);
  for (int a = 0; a < s.rank; ++a)
    if (s.e[a] < 0 && is_row_symbol<P>(~s.e[a])) return a;
  return -1;
}

/// Whether step S reads or writes arrays that lie in others in any order: see [note: operands of products].
template <class P, int S>
inline constexpr bool has_views = [] {
  const plan_step& s = P::plan.steps[static_cast<std::size_t>(S)];
  bool any = s.summed.count > 0;
  for (int j = 0; j < count_of_strided(s); ++j)
    any = any || P::plan.buffers[static_cast<std::size_t>(strided_buffer(P::plan.joined, s, j))].view >= 0;
  return any;
}();

/// Whether step S is a product that may be one of two matrices in memory row by row.
template <class P, int S>
inline constexpr bool multiplies_matrices = [] {
  const plan_step& s = P::plan.steps[static_cast<std::size_t>(S)];
  const equation& e = P::g.eq[static_cast<std::size_t>(s.equation)];
  return e.op->kernels.product != nullptr && !has_views<P, S> && s.onto < 0 && (e.attr[0] & in_lanes) == 0;
}();

/// The numbers of the operands of step S if they are few, so that their places and shapes are constants; else none.
template <class P, int S, int Count = P::g.eq[static_cast<std::size_t>(P::plan.steps[static_cast<std::size_t>(S)].equation)].count>
using few_operands = std::make_integer_sequence<int, Count <= 3 ? Count : 0>;

/// Step S of program P. The last argument is few_operands<P, S>{}.
template <class P, int S, int... J>
EBB_INLINE void run_whole(const nest_call& call, [[maybe_unused]] row_position block, std::integer_sequence<int, J...>) {
  constexpr plan_step s = P::plan.steps[static_cast<std::size_t>(S)];
  constexpr equation e = P::g.eq[static_cast<std::size_t>(s.equation)];
  if constexpr (is_written_in_parts(s, *e.op)) return;
  static constexpr std::int64_t attr[] = {e.attr[0], e.attr[1]};
  constexpr auto operand = [](int j) -> const equation& {
    return P::g.eq[static_cast<std::size_t>(P::g.pool[static_cast<std::size_t>(e.first + j)])];
  };
  const void* in[static_cast<std::size_t>(e.count)];
  constexpr bool is_few = sizeof...(J) == e.count;
  constexpr const auto& joined = P::plan.joined;
  constexpr auto first = static_cast<std::size_t>(s.joined.first);
  if constexpr (is_few) ((in[J] = call.address(std::integral_constant<int, joined[first + J]>::value)), ...);
  else
    for (int j = 0; j < e.count; ++j) in[j] = call.address(joined[first + static_cast<std::size_t>(j)]);
  if constexpr (turns_rows<P, S>)
    if (copy_one_row<P, e.shape, e.op->result>(call.address(s.out), in[0], call.symbol)) return;
  if constexpr (constexpr int rows = has_views<P, S> ? 0 : rows_of_small_matrix<P, S>; rows > 0) {
    constexpr auto& last = P::shape_at(e.op->what == kind::solve ? e.shape : operand(0).shape);
    constexpr int columns = e.op->what == kind::contract ? rows : static_cast<int>(last.e[last.rank - 1]);
    constexpr op_kernels::small_matrix_function one = e.op->kernels.small_matrix;
    if (batch_of<P, operand(0).shape>(call.symbol) == 1 && one(rows, columns, attr, in, call.address(s.out))) return;
  }
  if constexpr (multiplies_matrices<P, S>)
    if (multiply_alone<P, e.shape, operand(0).shape, e.attr[0]>(e.op->kernels.product, attr, in, call.address(s.out), call.symbol)) return;
  extent_list shapes[static_cast<std::size_t>(e.count)];
  if constexpr (is_few) (write_extents<P, operand(J).shape>(shapes[J], call.symbol, axes_of<P, operand(J).shape>{}), ...);
  else
    for (int j = 0; j < e.count; ++j) shapes[j] = extents_at(P::shape_at(operand(j).shape), call.symbol);
  whole_call c;
  c.op = e.op;
  c.attr = attr;
  c.count = e.count;
  c.in = in;
  c.shapes = shapes;
  if constexpr (e.count > 1) c.index = std::integral_constant<dtype, operand(1).op->result>::value;
  c.out = call.address(s.out);
  write_extents<P, e.shape>(c.result, call.symbol, axes_of<P, e.shape>{});
  c.call = call.name;
  if constexpr (s.onto >= 0) c.onto = call.address(s.onto);
  if constexpr (e.op->what == kind::solve || e.op->what == kind::factor)
    if constexpr (constexpr int axis = axis_of_rows<P>(operand(0).shape); axis >= 0) {
      c.first_row = block.first;
      c.rows = block.rows;
      c.axis_of_rows = axis;
    }
  if constexpr (e.op->what == kind::scatter)
    if constexpr (axis_of_rows<P>(e.shape) < 0) c.continues = call.continues;
  constexpr op_kernels::whole_function run = e.op->kernels.whole;
  if constexpr (has_views<P, S>) {
    constexpr int arrays = count_of_strided(s);
    std::ptrdiff_t along[arrays][max_rank];
    const std::ptrdiff_t* strides[arrays] = {};
    repeat<arrays>([&]<int I>() EBB_LAMBDA {
      constexpr int b = strided_buffer(joined, s, I);
      if constexpr (constexpr int number = P::plan.buffers[static_cast<std::size_t>(b)].view; number >= 0) {
        static constexpr plan_view view = P::plan.views[static_cast<std::size_t>(number)];
        repeat<P::shape_at(e.shape).rank>([&]<int A>() EBB_LAMBDA { along[I][A] = view.along[A].value(call.symbol); });
        strides[I] = along[I];
      }
    });
    if constexpr (s.what == kind::contract) sum_batch(c, s.summed, along[2], strides[2]);
    c.strides = strides;
    run(c);
  } else run(c);
}

template <class P, int S>
EBB_INLINE void run_step(const nest_call& c, row_position block) {
  constexpr plan_step s = P::plan.steps[static_cast<std::size_t>(S)];
  constexpr int band = band_with<P>(S);
  EBB_PROBE(probe here; if (is_reported<P, S>) probed_program::of<P>().begin_step(here, S, c.symbol);)
  if constexpr (band >= 0) {  // the first member is called for all
    if constexpr (S == P::plan.bands[static_cast<std::size_t>(band)].first) run_band<P, band>(c);
  } else if constexpr (s.nest >= 0) nest_kernel<P, s.nest>::run(c, typename nest_kernel<P, s.nest>::arguments{});
  else if constexpr (s.what == kind::loop) loop_step<P, S>::run(c);
  else run_whole<P, S>(c, block, few_operands<P, S>{});
  if constexpr (has_checks<P>(S)) run_checks<P, S>(c.name, [&]<int B>() { return c.buffer[B]; }, c.symbol, block);
}

/// Runs the steps [First, End).
template <class P, int First, int End, int... S>
EBB_INLINE void run_steps_from(const nest_call& c, row_position block, std::integer_sequence<int, S...>) {
  (run_step<P, First + S>(c, block), ...);
  if constexpr (constexpr int next = First + most_in_fold; next < End)
    run_steps_from<P, next, End>(c, block, numbers_of_fold<next, End>{});
}

template <class P>
EBB_INLINE void make_copies(void* const* results, void* const* buffer, const std::size_t* symbol) {
  repeat<P::plan.size.copies>([&]<int I>() EBB_LAMBDA {
    constexpr plan_copy copy = P::plan.copies[static_cast<std::size_t>(I)];
    constexpr plan_buffer b = P::plan.buffers[static_cast<std::size_t>(copy.buffer)];
    const std::size_t bytes = bytes_of_shape<P, b.shape>(b.type, symbol, axes_of<P, b.shape>{});
    char* const to = static_cast<char*>(results[copy.result]);
    const char* const from = static_cast<const char*>(buffer[copy.buffer]);
    if (bytes > kernel::longest_short_row) kernel::copy_long(to, from, bytes);
    else if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

template <class P>
void run_steps(void* const* arguments, void* const* results, const std::size_t* symbol, char* places, const char* call) {
  void* buffer[P::plan.size.buffers + 1];
  find_buffers<P>(buffer, arguments, results, symbol, symbol, places);
  const nest_call c{buffer, symbol, call};
  run_steps_from<P, 0, P::plan.size.steps>(c, {}, numbers_of_fold<0, P::plan.size.steps>{});
  if constexpr (P::plan.size.copies > 0) make_copies<P>(results, buffer, symbol);
}

// See [note: blocks of rows].

template <class P>
class row_blocks {
  static constexpr int row_symbol = ~P::plan.row_symbol;

  template <int B>
  static constexpr plan_buffer buffer_at = P::plan.buffers[static_cast<std::size_t>(B)];
  template <int B>
  static constexpr bool moves = advances(buffer_at<B>);
  template <int B>
  static std::size_t row_bytes(const std::size_t* symbol) {
    static constexpr shape s = P::shape_at(buffer_at<B>.shape);
    std::size_t n = size_of(buffer_at<B>.type);
    for (int a = 1; a < s.rank; ++a) n *= extent_value(s.e[a], symbol);
    return n;
  }

  /// The step after the last one of a run; 0 before the first run.
  static constexpr int end_of_run(int run) {
    if (run < 0) return 0;
    const part& steps = P::plan.blocks[static_cast<std::size_t>(run)];
    return steps.first + steps.count;
  }
  /// Whether a row may fill a large share of a block: few rows are several blocks then.
  static constexpr bool may_be_long = [] {
    for (int b = 0; b < P::plan.size.buffers; ++b) {
      const plan_buffer& x = P::plan.buffers[static_cast<std::size_t>(b)];
      if (x.rows == row_use::none || x.is == plan_buffer::role::part) continue;
      std::size_t elements = 1;
      for (int a = 0; a < P::shape_at(x.shape).rank; ++a)
        if (const int e = P::shape_at(x.shape).e[a]; e >= 0) elements *= static_cast<std::size_t>(e);
        else if (!is_row_symbol<P>(~e)) return true;
      if (elements > 1024) return true;
    }
    return false;
  }();
  /// The bytes of a row.
  [[gnu::noinline]] static std::size_t bytes_of_row(const std::size_t* symbol) {
    std::size_t bytes = 0;
    repeat<P::plan.size.places>([&]<int I>() {
      constexpr plan_place p = P::plan.places[static_cast<std::size_t>(I)];
      if constexpr (p.rows == row_use::within) bytes += bytes_of_shape<P, p.shape>(p.type, symbol, axes_of<P, p.shape>{});
    });
    bytes /= symbol[row_symbol];
    repeat<P::plan.size.buffers>([&]<int B>() {
      if constexpr (moves<B>) bytes += row_bytes<B>(symbol);
    });
    return bytes;
  }

 public:
  static void run(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call) {
    const std::size_t rows = symbol[row_symbol], bytes = rows > (may_be_long ? 0 : 64) ? bytes_of_row(symbol) : 0;
    const std::size_t most = height_of_block(rows, bytes);
    symbol_values_of<P> here;
    const auto take_rows = [&](std::size_t count) {
      repeat<P::symbols>([&]<int S>() { here.value[S] = is_row_symbol<P>(S) ? count : symbol[S]; });
    };
    take_rows(std::min(most, rows));
    void *all[P::plan.size.buffers + 1], *buffer[P::plan.size.buffers + 1];
    find_buffers<P>(all, arguments, results, symbol, here.value, nullptr);
    const nest_call once{all, symbol, call};
    repeat<P::plan.size.blocks>([&]<int Run>() EBB_LAMBDA {
      constexpr int before = end_of_run(Run - 1);
      constexpr part steps = P::plan.blocks[static_cast<std::size_t>(Run)];
      run_steps_from<P, before, steps.first>(once, {}, numbers_of_fold<before, steps.first>{});
      if (rows > most) std::copy_n(all, P::plan.size.buffers, buffer);  // a copy of addresses that were just written stalls
      for (std::size_t first = 0; first == 0 || first < rows; first += most) {
        if (first > 0 || Run > 0) take_rows(std::min(most, rows - first));
        if (first > 0) {
          repeat<P::plan.size.buffers>([&]<int B>() EBB_LAMBDA {
            if constexpr (moves<B>) buffer[B] = static_cast<char*>(all[B]) + first * row_bytes<B>(symbol);
          });
          find_parts<P, true, 0>(buffer, symbol, here.value, numbers_of_fold<0, parts_of<P, true>.count>{});
        }
        const nest_call block{rows > most ? buffer : all, here.value, call, first > 0};
        constexpr int end = steps.first + steps.count;
        run_steps_from<P, steps.first, end>(block, {first, rows}, numbers_of_fold<steps.first, end>{});
      }
    });
    constexpr int after = end_of_run(P::plan.size.blocks - 1);
    run_steps_from<P, after, P::plan.size.steps>(once, {}, numbers_of_fold<after, P::plan.size.steps>{});
    if constexpr (P::plan.size.copies > 0) make_copies<P>(results, all, symbol);
  }
};

}  // namespace detail

/// Runs P on memory: one pointer for each argument and each result. The caller has completed and checked `symbol`, and has
/// called check_arguments. `call` is the name in errors.
template <class P>
void run_program(void* const* arguments, void* const* results, const std::size_t* symbol, const char* call) {
  using short_rows = detail::one_step<P>;
  if constexpr (detail::has_one_row<P> && !short_rows::possible)
    if (symbol[~P::plan.row_symbol] == 1) return run_program<detail::one_row<P>>(arguments, results, symbol, call);
  EBB_PROBE(probe here;)
  if constexpr (short_rows::always) {
    EBB_PROBE(probed_program::of<P>().begin(here, call, symbol, true);)
    short_rows::run(arguments, results, short_rows::length(symbol));
  } else {
    EBB_PROBE(bool is_short = false; if constexpr (short_rows::possible) is_short = short_rows::length(symbol) <= lane_count;)
    EBB_PROBE(probed_program::of<P>().begin(here, call, symbol, is_short);)
    if constexpr (short_rows::possible)
      if (const std::size_t n = short_rows::length(symbol); n > 0 && n <= lane_count) return short_rows::run(arguments, results, n);
    if constexpr (detail::places_on_stack<P> && P::plan.size.places > 0) {
      alignas(64) char places[detail::static_place_bytes<P> + 64];
      detail::run_steps<P>(arguments, results, symbol, places, call);
    } else if constexpr (P::plan.row_symbol < 0) {
      detail::row_blocks<P>::run(arguments, results, symbol, call);
    } else {
      detail::run_steps<P>(arguments, results, symbol, nullptr, call);
    }
  }
}

}  // namespace ebb::inline EBB_ABI
