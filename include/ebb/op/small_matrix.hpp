// ebb/op/small_matrix.hpp — one small matrix whose number of rows is a constant, without the cost of a call of many matrices.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one small matrix]
// A 4 x 4 product takes a few nanoseconds; filling a whole_call takes longer. So a step on matrices of one to four rows, if the type fixes
// them, asks for the batch first: a single matrix goes straight to its kernel. If the kernel refuses, it has written nothing: `whole` then
// computes the result or reports the error. Chains are the same, and so are the bits. A single product of other extents, if they are
// small at the call, goes straight to its tiles, too: see kernel/small_product.hpp.
#pragma once

#include "../kernel/small_product.hpp"
#include "whole.hpp"

namespace ebb::inline EBB_ABI::detail {

inline constexpr int most_known_rows = 4;

/// c = op(a) op(b), all n x n.
template <class T>
EBB_INLINE bool contract_small_matrix(int n, int, const std::int64_t* attr, const void* const* in, void* out) {
  const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  const auto c = static_cast<T*>(out);
  const bool left = attr[0] & left_transposed, right = attr[0] & right_transposed;
  if (n == 4 && kernel::fours::serves<T>(left, right)) kernel::fours::multiply_one(left, right, a, b, c);
  else kernel::multiply_known(n, left, right, a, b, c);
  return true;
}

/// c = op(a) op(b) of matrices whose extents the call decides.
template <class T>
bool contract_alone(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const std::int64_t* attr, const void* const* in, void* out) {
  return kernel::multiply_small(m, k, n, (attr[0] & left_transposed) != 0, (attr[0] & right_transposed) != 0,
                                static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out));
}

/// A product with a triangle of n x n, where that is quicker than the general kernel.
template <class T>
bool multiply_small_triangle(int n, int, const std::int64_t* attr, const void* const* in, void* out) {
  if (n != 4 || (attr[0] & from_product) != 0 || (attr[1] & unit_diagonal_bit) != 0) return false;
  const bool transposed = attr[0] & triangle_transposed, upper = ((attr[1] & upper_triangle) != 0) != transposed;
  return kernel::fours::multiply_triangle((attr[0] & triangle_right) != 0, transposed, upper, static_cast<const T*>(in[0]),
                                          static_cast<const T*>(in[1]), static_cast<T*>(out));
}

/// op(a) x = b for n x n and n x m; b is no operand of an inverse.
template <class T>
bool solve_small_matrix(int n, int m, const std::int64_t* attr, const void* const* in, void* out) {
  const auto *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  const auto x = static_cast<T*>(out);
  if ((attr[1] & triangular) != 0) {
    if (zero_on_diagonal(n, a, attr[1]) >= 0) return false;
    const kernel::triangular_system s{n, m, attr[0] != 0, attr[1]};
    kernel::solve_triangle_known(s, a, b, x);
    return true;
  }
  return kernel::solve_known({n, m, attr[0] != 0}, a, b, x);
}
template <class T>
bool inverse_small_matrix(int n, int, const std::int64_t* attr, const void* const* in, void* out) {
  return kernel::solve_known<T>({n, n, attr[0] != 0}, static_cast<const T*>(in[0]), nullptr, static_cast<T*>(out));
}

template <class T>
bool factor_small_matrix(int n, int, const std::int64_t* attr, const void* const* in, void* out) {
  const auto a = static_cast<const T*>(in[0]);
  const auto to = static_cast<T*>(out);
  if (attr[0] == static_cast<std::int64_t>(factor_kind::cholesky)) return kernel::factor_known(n, a, to);
  kernel::log_determinant_known(n, a, to);
  return true;
}

/// Ops with their own arithmetic that say `is_quick`: their scratch is on the stack.
template <class Op, class T>
bool compute_small_matrix(int m, int n, const std::int64_t* attr, const void* const* in, void* out) {
  constexpr std::ptrdiff_t room = most_known_rows * most_known_rows;
  if (m < 1 || n < 1 || m > most_known_rows || n > most_known_rows || Op::scratch(m, n) > room) return false;
  T scratch[static_cast<std::size_t>(room)] = {};
  return Op::compute(matrix_call<T>{m, n, attr[1], static_cast<const T*>(in[0]), static_cast<T*>(out), scratch}) < 0;
}

/// The function of Op for one small matrix of dtype T; null for most ops.
template <class Op, class T>
constexpr op_kernels::small_matrix_function small_matrix_function_of() {
  if constexpr (!std::same_as<T, float> && !std::same_as<T, double>) return nullptr;
  else if constexpr (Op::what == kind::contract) return &contract_small_matrix<T>;
  else if constexpr (Op::what == kind::triangle) return &multiply_small_triangle<T>;
  else if constexpr (Op::what == kind::solve && Op::arity == 1) return &inverse_small_matrix<T>;
  else if constexpr (Op::what == kind::solve) return &solve_small_matrix<T>;
  else if constexpr (Op::what == kind::factor && requires { Op::is_quick; }) return &compute_small_matrix<Op, T>;
  else if constexpr (Op::what == kind::factor && !requires { &Op::scratch; }) return &factor_small_matrix<T>;
  else return nullptr;
}

/// The function of Op for one product of matrices of dtype T; null for other ops.
template <class Op, class T>
constexpr op_kernels::product_function product_function_of() {
  if constexpr (Op::what == kind::contract && (std::same_as<T, float> || std::same_as<T, double>)) return &contract_alone<T>;
  else return nullptr;
}

}  // namespace ebb::inline EBB_ABI::detail
