// ebb/exec/small_matrix_step.hpp — the steps of a program on small matrices of known extents: see [note: one small matrix].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "../op/small_matrix.hpp"
#include "../plan/step.hpp"
#include "../tensor/product_order.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The rows of the step's matrices if they are static and few enough for kernels.small_matrix, else 0.
template <class P, int S>
inline constexpr int rows_of_small_matrix = [] {
  const equation& e = P::g.eq[static_cast<std::size_t>(P::plan.steps[static_cast<std::size_t>(S)].equation)];
  if (e.op->kernels.small_matrix == nullptr || (e.op->what == kind::contract && (e.attr[0] & in_lanes) != 0)) return 0;
  const auto sides = [](int shape, int axis) {
    const auto& s = P::shape_at(shape);
    return s.rank < 2 ? -1 : s.e[static_cast<std::size_t>(s.rank - axis)];
  };
  const auto operand = [](const equation& x, int j) {
    return P::g.eq[static_cast<std::size_t>(P::g.pool[static_cast<std::size_t>(x.first + j)])].shape;
  };
  const int rows = sides(operand(e, 0), 2), columns = sides(operand(e, 0), 1);
  if (rows < 1 || rows > most_known_rows || columns < 1 || columns > most_known_rows) return 0;
  if (e.op->what != kind::factor && columns != rows) return 0;
  if (e.op->what == kind::contract && (sides(operand(e, 1), 2) != rows || sides(operand(e, 1), 1) != rows)) return 0;
  if (e.op->what == kind::triangle) {
    if (rows != 4 || sides(operand(e, 1), 2) != rows || sides(operand(e, 1), 1) != rows) return 0;
    // One triangle may serve a batch: that is counted in operand 0.
    if ((e.attr[0] & from_product) != 0 || P::shape_at(operand(e, 0)).rank != P::shape_at(e.shape).rank) return 0;
  }
  if (e.op->what == kind::solve && (sides(e.shape, 1) < 1 || sides(e.shape, 1) > most_known_rows)) return 0;
  return rows;
}();
/// The number of matrices of a shape.
template <class P, int Shape>
EBB_INLINE std::size_t batch_of(const std::size_t* symbol) {
  std::size_t n = 1;
  repeat<P::shape_at(Shape).rank - 2>([&]<int A>() EBB_LAMBDA {
    constexpr int e = P::shape_at(Shape).e[A];
    n *= extent_value(e, symbol);
  });
  return n;
}

/// Multiplies two matrices if the batch is one and the kernel serves their extents.
template <class P, int Result, int Left, std::int64_t Flags>
EBB_INLINE bool multiply_alone(op_kernels::product_function multiply, const std::int64_t* attr, const void* const* in, void* out,
                               [[maybe_unused]] const std::size_t* symbol) {
  constexpr int rank = P::shape_at(Result).rank;
  constexpr int m = P::shape_at(Result).e[rank - 2], k = P::shape_at(Left).e[summed_axis(Flags, 0, rank)];
  constexpr int n = P::shape_at(Result).e[rank - 1];
  if (batch_of<P, Result>(symbol) != 1) return false;
  const auto extent = [](std::size_t e) EBB_LAMBDA { return static_cast<std::ptrdiff_t>(e); };
  return multiply(extent(extent_value(m, symbol)), extent(extent_value(k, symbol)), extent(extent_value(n, symbol)), attr, in, out);
}

}  // namespace ebb::inline EBB_ABI::detail
