// ebb/op/whole.hpp — runs ops that are not loops over elements on whole arrays: products, systems, moves, rows by index.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/error.hpp"
#include "../graph/equation.hpp"
#include "../kernel/contract.hpp"
#include "../kernel/indexed.hpp"
#include "../kernel/move.hpp"
#include "../kernel/scan.hpp"
#include "../kernel/small_determinant.hpp"
#include "../kernel/small_triangle.hpp"
#include "../kernel/workspace.hpp"
#include "../tensor/product_order.hpp"
#include "strided_product.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <string>

namespace ebb::inline EBB_ABI {

/// The arguments of a step on whole arrays, in a compiled program and in one that runs from tables.
struct whole_call {
  const op_info* op = nullptr;
  const std::int64_t* attr = nullptr;
  int count = 0;
  const void* const* in = nullptr;
  const extent_list* shapes = nullptr;  // of the operands
  dtype index = dtype::i64;             // of operand 1, where that names rows; they have been checked, see check.hpp
  void* out = nullptr;
  extent_list result;
  // Of a product whose operands or result do not lie in memory row by row: the strides of their axes; nullptr for one that does. Of a
  // concat or a place: those of its operands.
  const std::ptrdiff_t* const* strides = nullptr;
  const void* onto = nullptr;  // of a product: the array to which it is added, see [note: products onto arrays]
  part summed;                 // the axes of `result` along which a batch of products is summed; `strides` has those of `out`
  const char* call = "ebb";  // the call that errors name
  // Of a block of rows, for errors: the first row, the number of all rows, and the axis of rows of operand 0. 0 rows: these are all.
  std::size_t first_row = 0, rows = 0;
  int axis_of_rows = 0;
  bool continues = false;  // of a scatter: `out` has the rows that earlier blocks have added
};

namespace detail {

/// Whether a concat makes rows of one element of each operand, and none of these lies in the result.
EBB_ONCE bool joins_columns(const whole_call& c) {
  const int axis = static_cast<int>(c.attr[0]);
  const std::size_t size = size_of(c.op->result);
  if (c.strides || c.count < 2 || size < 4 || c.result.volume(axis + 1, c.result.rank) != 1) return false;
  for (int j = 0; j < c.count; ++j)
    if (c.shapes[j].e[axis] != 1 || c.in[j] == static_cast<char*>(c.out) + static_cast<std::size_t>(j) * size) return false;
  return true;
}

template <std::same_as<whole_call> Call>  // see [note: compiled where used]
void move_whole(const Call& c) {
  const std::size_t size = size_of(c.op->result), elements = c.result.volume();
  if (elements == 0) return;  // there may be no memory: null has no parts
  const move_call call{c.shapes, c.result, c.attr};
  std::size_t covered = 0;
  for (int j = 0; j < c.count; ++j) covered += c.shapes[j].volume();
  // An operand may have been written where it lies in the result: see [note: parts of arrays].
  char* const out = static_cast<char*>(c.out);
  if (c.count > 1 && kernel::join_rows(out, c.in, c.shapes, c.strides, c.count, static_cast<int>(c.attr[0]), size)) return;
  if (joins_columns(c)) {
    const std::size_t rows = c.result.volume(0, static_cast<int>(c.attr[0])), columns = static_cast<std::size_t>(c.count);
    return size == 4 ? kernel::join_columns<4>(out, c.in, columns, rows) : kernel::join_columns<8>(out, c.in, columns, rows);
  }
  const auto begin = [&](const strided_copy& box) { return out + box.to_offset * static_cast<std::ptrdiff_t>(size); };
  strided_copy box = c.op->copy(call, 0);
  if (covered < elements) {
    char* const first = begin(box);
    const auto axis = static_cast<int>(c.attr[0] & 15);
    const std::size_t row = c.result.volume(axis, c.result.rank) * size, part = c.shapes[0].volume(axis, c.result.rank) * size;
    const auto before = static_cast<std::size_t>(first - out), after = row - before - part;
    if (covered > 0 && first == c.in[0]) {
      for (char *at = out, *end = out + elements * size; at != end; at += row) {
        std::memset(at, 0, before);
        std::memset(at + before + part, 0, after);
      }
      return;
    }
    if (covered == 0 || c.attr[0] >> 4 != 1 || !kernel::clear_around(out, elements * size / row, row, before, after))
      std::memset(out, 0, elements * size);
  }
  for (int j = 0; j < c.count; ++j) {
    if (j > 0) box = c.op->copy(call, j);
    if (c.strides && c.strides[j]) std::copy_n(c.strides[j], box.rank, box.from);
    if (begin(box) != c.in[j]) kernel::copy(box, c.in[j], out, size);
  }
}

/// Calls f with the numbers of rows in operand 1, of which each place along the leading axes has its own; there are so many `rows`.
void with_rows(const whole_call& c, std::size_t rows, auto&& f) {
  const int own = static_cast<int>(c.attr[0]);
  const std::size_t count = c.shapes[1].volume(own, c.shapes[1].rank), times = c.shapes[1].volume(0, own);
  const auto call = [&](const auto* index) { f(kernel::row_list<std::remove_cvref_t<decltype(*index)>>{index, count, times, rows}); };
  if (c.index == dtype::i32) call(static_cast<const std::int32_t*>(c.in[1]));
  else call(static_cast<const std::int64_t*>(c.in[1]));
}

template <std::same_as<whole_call> Call>
void gather_whole(const Call& c) {
  const extent_list& x = c.shapes[0];
  const int own = static_cast<int>(c.attr[0]);
  const std::size_t size = size_of(c.op->result), row = x.volume(own + 1, x.rank) * size;
  if (row == 0) return;
  with_rows(c, x.e[own], [&](const auto& list) {
    if (c.attr[1]) kernel::gather_turned(c.out, c.in[0], list.index, list.count, row, size);
    else kernel::gather_rows(c.out, c.in[0], list, row);
  });
}

/// Whether an op combines the elements with the same index by its identity and value. Other scatters add them.
template <class Op, class T>
concept combining_scatter = requires { Op::template identity<T>(); };
/// Whether that has a quicker form for elements that are no NaN.
template <class Op>
concept extremum_scatter = requires(float x) { Op::ordered(x, x); };
/// Whether the result of a scatter is operand 2 with some rows written.
template <class Op>
concept writing_scatter = requires { requires Op::writes; };

template <class Op, class Index>
constexpr auto leaving_out(const kernel::row_list<Index>& list) {
  if constexpr (requires { Op::left_out; }) return kernel::row_list<Index, Op::left_out>{list.index, list.count, list.times, list.rows};
  else return list;
}

template <class Op, class T>
void scatter_whole(const whole_call& c) {
  const int own = static_cast<int>(c.attr[0]);
  const std::size_t row = c.result.volume(own + 1, c.result.rank);
  if (c.result.volume() == 0) return;
  if (!c.continues) {
    if constexpr (writing_scatter<Op>) std::memcpy(c.out, c.in[2], c.result.volume() * sizeof(T));
    else if constexpr (combining_scatter<Op, T>) std::fill_n(static_cast<T*>(c.out), c.result.volume(), from_cell<T>(c.op->identity));
    else std::memset(c.out, 0, c.result.volume() * sizeof(T));
  }
  const auto add = [&](const T* from, const auto& list) {
    T* const to = static_cast<T*>(c.out);
    if constexpr (writing_scatter<Op>) kernel::write_rows(to, from, list, row * sizeof(T));
    else if constexpr (combining_scatter<Op, T>) {
      constexpr auto combine = [](auto x, auto y) EBB_LAMBDA { return Op::value(x, y); };
      if constexpr (std::is_floating_point_v<T> && extremum_scatter<Op>)
        kernel::combine_rows(to, from, list, row, combine, [](auto x, auto y) EBB_LAMBDA { return Op::ordered(x, y); });
      else kernel::combine_rows(to, from, list, row, combine, combine);
    } else if constexpr (!std::is_same_v<T, bool>) kernel::add_rows(to, from, leaving_out<Op>(list), row);
    else {
      constexpr auto either = [](bool x, bool y) EBB_LAMBDA { return x || y; };
      kernel::combine_rows(to, from, list, row, either, either);
    }
  };
  with_rows(c, c.result.e[own], [&]<class Index>(const kernel::row_list<Index>& list) {
    const T* const from = static_cast<const T*>(c.in[0]);
    if (!c.attr[1]) return add(from, list);
    // Turned rows are turned back some at a time, and added while they are in the first-level cache.
    constexpr std::size_t height = 64;
    T* const some = reinterpret_cast<T*>(thread_scratch().take(height * row * sizeof(T)));
    for (std::size_t i = 0; i < list.count; i += height) {
      const std::size_t here = std::min(height, list.count - i);
      kernel::transpose<sizeof(T)>(reinterpret_cast<char*>(some), static_cast<std::ptrdiff_t>(row * sizeof(T)),
                                   reinterpret_cast<const char*>(from + i), static_cast<std::ptrdiff_t>(list.count * sizeof(T)), row, here);
      add(some, kernel::row_list<Index>{list.index + i, here});
    }
  });
}

template <class T>
void contract_whole(const whole_call& c) {
  const int r = c.result.rank;
  const bool tx = c.attr[0] & left_transposed, ty = c.attr[0] & right_transposed;
  const auto extent = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
  if (c.summed.count > 0) std::fill_n(static_cast<T*>(c.out), volume_of_sum(c.result, c.summed), T(0));
  if (c.result.volume() == 0) return;
  const auto m = extent(c.result.e[r - 2]), k = extent(c.shapes[0].e[tx ? r - 2 : r - 1]), n = extent(c.result.e[r - 1]);
  auto p = kernel::product::compact(m, k, n, tx, ty, extent(c.result.volume(0, r - 2)));
  p.lanes = c.attr[0] & in_lanes;
  const strided_product batches(c, p);
  std::size_t bytes = 0;
  if constexpr (std::floating_point<T>)
    bytes = c.summed.count > 0 ? kernel::contract_sum_scratch_bytes<T>(p) : c.onto ? kernel::contract_onto_scratch_bytes<T>(p) : 0;
  if (c.summed.count == 0 && !c.onto) bytes = kernel::contract_scratch_bytes<T>(p);
  void* const scratch = bytes > 0 ? thread_scratch().take(bytes) : nullptr;
  batches.each([&](const std::ptrdiff_t* before) {
    const T *const a = static_cast<const T*>(c.in[0]) + before[0], *const b = static_cast<const T*>(c.in[1]) + before[1];
    T* const out = static_cast<T*>(c.out) + before[2];
    if constexpr (std::floating_point<T>) {
      if (c.summed.count > 0) return kernel::contract_sum(p, a, b, out, scratch);
      if (c.onto) return kernel::contract_onto(p, static_cast<const T*>(c.onto) + before[2], a, b, out, scratch);
    }
    kernel::contract(p, a, b, out, scratch);
  });
}

/// `what` is the complaint about a matrix of operand 0: "is singular: pivot 2 is 0".
[[noreturn]] EBB_COLD void raise_of_matrix(const whole_call& c, std::size_t matrix, const std::string& what) {
  const extent_list& x = c.shapes[0];
  std::size_t batch = x.volume(0, x.rank - 2);
  if (c.rows > 0) {
    const std::size_t each = x.volume(c.axis_of_rows + 1, x.rank - 2), own = x.e[c.axis_of_rows], row = matrix / each;
    matrix = (row / own * c.rows + c.first_row + row % own) * each + matrix % each;
    batch = batch / own * c.rows;
  }
  raise(call_and_op(c.call, c.op->name) + ": " +
        (batch == 1 ? "the matrix" : "matrix " + std::to_string(matrix) + " of " + std::to_string(batch)) + ' ' + what);
}
[[noreturn]] EBB_COLD void raise_singular(const whole_call& c, std::size_t matrix, std::ptrdiff_t pivot) {
  raise_of_matrix(c, matrix, "is singular: pivot " + std::to_string(pivot) + " is 0");
}
[[noreturn]] EBB_COLD void raise_indefinite(const whole_call& c, std::size_t matrix, std::ptrdiff_t order) {
  raise_of_matrix(c, matrix, "is not positive definite: its leading minor of order " + std::to_string(order) + " is not positive");
}
template <class T>
void solve_whole(const whole_call& c) {
  const int r = c.result.rank;
  if (c.result.volume() == 0) return;
  const std::size_t batch = c.result.volume(0, r - 2), n = c.result.e[r - 2], m = c.result.e[r - 1];
  if ((c.attr[1] & triangular) != 0) {
    const kernel::triangular_system s{static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(m), c.attr[0] != 0, c.attr[1]};
    for (std::size_t i = 0; i < batch; ++i) {
      const std::ptrdiff_t row = zero_on_diagonal(s.n, static_cast<const T*>(c.in[0]) + i * n * n, c.attr[1]);
      if (row >= 0) [[unlikely]] raise_singular(c, i, row);
    }
    if constexpr (!half_width<T>)
      if (kernel::small::fits(s))
        return kernel::solve_triangles_small(s, static_cast<std::ptrdiff_t>(batch), static_cast<const T*>(c.in[0]),
                                             static_cast<const T*>(c.in[1]), static_cast<T*>(c.out),
                                             thread_scratch().take(kernel::small::scratch_bytes(s)));
    void* const scratch = thread_scratch().take(kernel::triangle_scratch_bytes<T>(s));
    for (std::size_t i = 0; i < batch; ++i)
      kernel::solve_triangle(s, static_cast<const T*>(c.in[0]) + i * n * n, static_cast<const T*>(c.in[1]) + i * n * m,
                             static_cast<T*>(c.out) + i * n * m, scratch);
    return;
  }
  const kernel::linear_system s{static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(m), c.attr[0] != 0};
  const T *a = static_cast<const T*>(c.in[0]), *b = c.count > 1 ? static_cast<const T*>(c.in[1]) : nullptr;
  const bool is_small = !half_width<T> && kernel::small::fits(s);
  void* const scratch =
      thread_scratch().take(std::max(kernel::solve_scratch_bytes<T>(s), is_small ? kernel::small::scratch_bytes(s) : 0));
  for (std::size_t i = 0; i < batch; ++i) {
    if constexpr (!half_width<T>)
      if (is_small) {
        i += static_cast<std::size_t>(kernel::solve_small(s, static_cast<std::ptrdiff_t>(batch - i), a + i * n * n, b ? b + i * n * m : b,
                                                          static_cast<T*>(c.out) + i * n * m, scratch));
        if (i == batch) return;
      }
    const std::ptrdiff_t pivot = kernel::solve(s, a + i * n * n, b ? b + i * n * m : b, static_cast<T*>(c.out) + i * n * m, scratch);
    if (pivot < 0) [[likely]] continue;
    if ((c.attr[1] & nan_bit) == 0) raise_singular(c, i, pivot);
    std::fill_n(static_cast<T*>(c.out) + i * n * m, n * m, static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  }
}

template <class T>
void factor_whole(const whole_call& c) {
  const extent_list& x = c.shapes[0];
  const std::size_t n = x.e[x.rank - 1], batch = x.volume(0, x.rank - 2);
  if (c.result.volume() == 0) return;
  const auto extent = static_cast<std::ptrdiff_t>(n);
  const kernel::linear_system s{extent, 0};
  const bool is_small = !half_width<T> && kernel::small::fits(s);
  void* const scratch =
      thread_scratch().take(std::max(kernel::solve_scratch_bytes<T>(s), is_small ? kernel::small::determinant_bytes(extent) : 0));
  const T* a = static_cast<const T*>(c.in[0]);
  T* to = static_cast<T*>(c.out);
  if (c.attr[0] == static_cast<std::int64_t>(factor_kind::log_determinant))
    return kernel::log_determinants(extent, static_cast<std::ptrdiff_t>(batch), a, to, scratch);
  for (std::size_t i = 0; i < batch; ++i, a += n * n, to += n * n) {
    if constexpr (!half_width<T>)
      if (is_small) {
        const std::ptrdiff_t done = kernel::cholesky_small(extent, static_cast<std::ptrdiff_t>(batch - i), a, to, scratch);
        i += static_cast<std::size_t>(done);
        if (i == batch) return;
        a += done * extent * extent, to += done * extent * extent;
      }
    const std::ptrdiff_t order = kernel::cholesky(extent, a, to, scratch);
    if (order == 0) continue;
    if (c.attr[1] == 0) raise_indefinite(c, i, order);
    for (std::size_t k = 0; k < n * n; ++k) to[k] = k % n > k / n ? T(0) : static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  }
}

/// Ops that LAPACK computes for large matrices: `large` is the least number of rows and of columns. large_scratch<T>(rows, columns) is like
/// scratch; compute_large(call) is like compute, or gives not_computed: then compute is called. Ops with `blocked` have the same members
/// for a method of ebb that takes less time from that many rows and columns on, with the same bits: blocked_scratch and compute_blocked.
template <class Op, class T>
concept has_large = kernel::lapack::has<T> && requires { Op::large; };
inline constexpr std::ptrdiff_t not_computed = -2;
/// Ops with `several` have compute_several, which computes so many matrices that follow one another side by side, with the same bits. It is
/// false if compute refuses one of them.
template <class Op, class T>
concept runs_several = !half_width<T> && requires { Op::several; };
/// Ops that compute all matrices of a batch at once: compute_each(batch, call) gives false if it does not serve their size.
/// scratch_for_each is its scratch in registers.
template <class Op>
concept has_each = requires(std::ptrdiff_t n) { Op::scratch_for_each(n, n); };

/// Runs ops on matrices that have their own arithmetic: see matrix_call.
template <class Op, class T>
void matrices_whole(const whole_call& c) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  const extent_list& x = c.shapes[0];
  if (c.result.volume() == 0) return;
  const std::size_t rows = x.e[x.rank - 2], columns = x.e[x.rank - 1], size = rows * columns, batch = x.volume(0, x.rank - 2);
  const std::size_t results = c.result.volume() / batch;
  matrix_call<wide> one{static_cast<std::ptrdiff_t>(rows), static_cast<std::ptrdiff_t>(columns), c.attr[1]};
  auto own = static_cast<std::size_t>(Op::scratch(one.rows, one.columns));
  bool is_large = false;
  if constexpr (has_large<Op, T>) {
    is_large = kernel::lapack::large::is(std::min(one.rows, one.columns), Op::large) &&
               std::max(one.rows, one.columns) <= kernel::lapack::large::most;
    if (is_large) own = std::max(own, static_cast<std::size_t>(Op::template large_scratch<T>(one.rows, one.columns)));
  }
  bool is_blocked = false;
  if constexpr (requires { Op::blocked; }) {
    is_blocked = std::min(one.rows, one.columns) >= Op::blocked;
    if (is_blocked) own = std::max(own, static_cast<std::size_t>(Op::blocked_scratch(one.rows, one.columns)));
  }
  if constexpr (has_each<Op>) own = std::max(own, static_cast<std::size_t>(Op::scratch_for_each(one.rows, one.columns)) * lane_count);
  one.scratch = reinterpret_cast<wide*>(thread_scratch().take((own + (half_width<T> ? size + results : 0)) * sizeof(wide)));
  const T* from = static_cast<const T*>(c.in[0]);
  T* to = static_cast<T*>(c.out);
  if constexpr (has_each<Op> && !half_width<T>) {
    one.a = from;
    one.out = to;
    if (Op::compute_each(static_cast<std::ptrdiff_t>(batch), one)) return;
  }
  for (std::size_t i = 0; i < batch; ++i, from += size, to += results) {
    if constexpr (runs_several<Op, T>) {
      // If one of them is refused, they are computed one by one, so that the error names it.
      for (; batch - i >= Op::several; i += Op::several, from += Op::several * size, to += Op::several * results) {
        one.a = from;
        one.out = to;
        if (!Op::compute_several(one)) break;
      }
      if (i == batch) return;
    }
    if constexpr (half_width<T>) {
      wide* const wider = one.scratch + own;
      for (std::size_t k = 0; k < size; ++k) wider[k] = static_cast<wide>(from[k]);
      one.a = wider;
      one.out = wider + size;
    } else {
      one.a = from;
      one.out = to;
    }
    std::ptrdiff_t wrong = not_computed;
    if constexpr (has_large<Op, T>)
      if (is_large && kernel::lapack::all_finite(one.rows * one.columns, one.a)) wrong = Op::compute_large(one);
    if constexpr (requires { Op::blocked; })
      if (wrong == not_computed && is_blocked) wrong = Op::compute_blocked(one);
    if (wrong == not_computed) wrong = Op::compute(one);
    if (wrong >= 0) [[unlikely]] raise_of_matrix(c, i, Op::complaint(wrong));
    if constexpr (half_width<T>)
      for (std::size_t k = 0; k < results; ++k) to[k] = static_cast<T>(one.out[k]);
  }
}

template <class Op, class T>
void scan_whole(const whole_call& c) {
  const auto axis = static_cast<int>(c.attr[0]);
  if (c.result.volume() == 0) return;
  const kernel::scan_call s{c.result.volume(0, axis), c.result.e[axis], c.result.volume(axis + 1, c.result.rank), (c.attr[1] & 1) != 0,
                            (c.attr[1] & 2) != 0};
  kernel::scan(s, static_cast<const T*>(c.in[0]), static_cast<T*>(c.out), from_cell<T>(c.op->identity),
               [](const auto& older, const auto& x) EBB_LAMBDA { return Op::value(older, x); });
}

/// The function of an op for dtype T that is a whole step.
template <class Op, class T>
constexpr op_kernels::whole_function whole_function_of() {
  constexpr kind What = Op::what;
  if constexpr (What == kind::scan) return &scan_whole<Op, T>;
  else if constexpr (What == kind::contract && !std::is_same_v<T, bool>) return &contract_whole<T>;
  else if constexpr (What == kind::solve) return &solve_whole<T>;
  else if constexpr (What == kind::factor && requires { &Op::scratch; }) return &matrices_whole<Op, T>;
  else if constexpr (What == kind::factor) return &factor_whole<T>;
  else if constexpr (What == kind::rows || What == kind::own || What == kind::triangle) return &Op::template whole<T>;
  else if constexpr (What == kind::gather) return &gather_whole<whole_call>;
  else if constexpr (What == kind::scatter) return &scatter_whole<Op, T>;
  else if constexpr (What == kind::move) return &move_whole<whole_call>;
  else return nullptr;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
