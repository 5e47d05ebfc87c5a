// ebb/linalg/root.hpp — square roots of symmetric positive definite matrices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "eigen.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The eigenvalues w and the eigenvectors v, n x n as columns, of a symmetric matrix, of which the lower triangle is read.
template <class T>
struct eigenbasis {
  std::ptrdiff_t n;
  T *w, *v, *half;

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n) { return 2 * n * n + n + scratch_of_eigen(n); }
  constexpr eigenbasis(std::ptrdiff_t size, const T* a, T* memory) : n(size), w(memory), v(w + n), half(v + n * n) {
    symmetric_eigen<T>({.rows = n, .columns = n, .a = a, .scratch = half + n * n}, w, 1, v, n);
  }
  /// v^T x v, or v x v^T if `back`, in `to`, which may be x.
  constexpr void turn(const T* x, T* to, bool back) const {
    multiply_squares(n, v, !back, x, false, half);
    multiply_squares(n, half, false, v, back, to);
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The x with s x + x s = y, for a symmetric s: in its eigenbasis, x_ij = y_ij / (w_i + w_j). The operand is s above y, [..., 2 n, n]; the
/// lower triangle of s is read. The derivatives are such solutions too. No difference of eigenvalues is a divisor, so equal ones do no
/// harm.
/// Saves: s, out.   Error: see [note: order of eigenvalues].
struct lyapunov : of_several_squares {
  static constexpr std::string_view name = "lyapunov";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return detail::eigenbasis<float>::scratch(n); }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    const detail::eigenbasis<T> basis(n, c.a, c.scratch);
    basis.turn(c.a + n * n, c.out, false);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) c.out[i * n + j] = c.out[i * n + j] / (basis.w[i] + basis.w[j]);
    basis.turn(c.out, c.out, true);
    return -1;
  }
  template <class T>
  static constexpr operand<T> of(operand<T> s, operand<T> y) {
    return of_matrices<lyapunov>(above(s, y));
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    const auto of_y = of(part(a, 0), g);
    const auto both = product_of(of_y, out, right_transposed) + product_of(out, of_y, left_transposed);
    return grads(above(-0.5 * (both + transposed_matrix(both)), of_y));
  }
};

/// The symmetric square root.   Saves: out.   Error: see [note: order of eigenvalues].
struct matrix_sqrt : own_matrix {
  static constexpr std::string_view name = "matrix_sqrt";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return detail::eigenbasis<float>::scratch(n); }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    const detail::eigenbasis<T> basis(n, c.a, c.scratch);
    T largest = T(0);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      if (lane::abs(basis.w[i]) > largest) largest = lane::abs(basis.w[i]);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      if (basis.w[i] < -static_cast<T>(n) * std::numeric_limits<T>::epsilon() * largest) return i;
    T *const scaled = basis.half, *const turned = scaled + n * n;
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        scaled[i * n + k] = basis.v[i * n + k] * lane::sqrt(basis.w[k] < 0 ? T(0) : basis.w[k]);
        turned[k * n + i] = basis.v[i * n + k];
      }
    detail::multiply_squares(n, scaled, false, turned, false, c.out);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < i; ++j) c.out[j * n + i] = c.out[i * n + j];
    return -1;
  }
  static std::string complaint(std::ptrdiff_t) { return "has a negative eigenvalue"; }
  static constexpr auto pull(auto g, auto, auto out) { return grads(lyapunov::of(out, symmetric_part(g))); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct matrix_sqrt {
  static constexpr precision autocast = op::matrix_sqrt::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::matrix_sqrt>(a); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The symmetric s with s s = a, for each symmetric matrix without negative eigenvalues. Only the lower triangle is read; the gradient is
/// symmetric. All derivatives are finite where eigenvalues are equal; they are infinite for a singular matrix.
/// Shape: a [..., n, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: the root.   Error: as eigh.
/// Throws: for an eigenvalue that is negative beyond rounding; the error names the matrix.
inline constexpr call<functions::matrix_sqrt> matrix_sqrt{};

}  // namespace ebb::inline EBB_ABI
