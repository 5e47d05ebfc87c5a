// ebb/linalg/logarithm.hpp — logarithms of symmetric positive definite matrices.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "root.hpp"

namespace ebb::inline EBB_ABI::detail {

/// [note: divided differences of the logarithm]
/// The derivatives of a matrix logarithm multiply, in the eigenbasis, by divided differences of log at eigenvalues. That of x and y is
/// log1p((y - x) / x) / (y - x), or 1 / x if they are equal. Of more numbers it is (of the last ones - of the first ones) / (last - first)
/// if the last one is larger than 1.5 times the first one. Else both terms would cancel: it is a power series around the middle c, whose
/// terms are the complete homogeneous polynomials of x / c - 1. All terms are finite where numbers are equal.
/// Source: N. Higham, Functions of Matrices (2008), appendix B.16.
template <class T>
constexpr T log_difference(const T* x, std::ptrdiff_t order, T* scratch) {
  const T first = x[0], last = x[order], apart = last - first;
  if (order == 1) {
    if (apart == 0) return 1 / first;
    const T part = apart / first;
    return part <= std::numeric_limits<T>::max() ? lane::log1p(part) / apart : (lane::log(last) - lane::log(first)) / apart;
  }
  if (!(last <= T(1.5) * first))
    return (log_difference(x + 1, order - 1, scratch) - log_difference(x, order - 1, scratch)) / apart;
  const T c = first + apart / 2, radius = apart / (2 * c);
  for (std::ptrdiff_t i = 0; i <= order; ++i) scratch[i] = T(1);
  T sum = 1 / static_cast<T>(order), bound = T(1), sign = T(1);
  for (std::ptrdiff_t m = 1; m < 64; ++m) {
    bound = bound * radius * static_cast<T>(m + order) / static_cast<T>(m);
    if (!(bound > std::numeric_limits<T>::epsilon() / 16)) break;
    T before = T(0);
    for (std::ptrdiff_t i = 0; i <= order; ++i) before = scratch[i] = lane::fma((x[i] - c) / c, scratch[i], before);
    sign = -sign;
    sum = sum + sign * before / static_cast<T>(m + order);
  }
  for (std::ptrdiff_t i = 0; i < order; ++i) sum = sum / c;
  return order % 2 ? sum : -sum;
}

/// The sum of the products of the elements at (path[i], path[i + 1]) of matrices of n x n, over all orders of the matrices. `left` has a
/// bit for each matrix that still comes.
template <class T>
constexpr T along_path(const T* matrices, std::ptrdiff_t n, const T* path, std::uint64_t left) {
  if (left == 0) return T(1);
  const auto at = static_cast<std::ptrdiff_t>(path[0]) * n + static_cast<std::ptrdiff_t>(path[1]);
  T sum = T(0);
  for (int k = 0; left >> k; ++k)
    if (const std::uint64_t own = std::uint64_t{1} << k; left & own)
      sum = lane::fma(matrices[k * n * n + at], along_path(matrices, n, path + 1, left ^ own), sum);
  return sum;
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The k-th derivative of the matrix logarithm at a symmetric positive definite s along k symmetric matrices: linear in each of them. The
/// operand is s above the k matrices, [..., (k + 1) n, n]; the lower triangle of s is read. attr 1: k. The derivative by s is one of order
/// k + 1: so every order exists.
/// Saves: the operand.   Error: see [note: order of eigenvalues] and [note: divided differences of the logarithm].
struct log_derivative : of_several_squares {
  static constexpr std::string_view name = "log_derivative";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t rows, std::ptrdiff_t n) {
    const std::ptrdiff_t both = n > 0 ? rows / n : 1;
    return detail::eigenbasis<float>::scratch(n) + both * n * n + 3 * both;
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns, order = c.flags;
    const detail::eigenbasis<T> basis(n, c.a, c.scratch);
    T* const turned = c.scratch + basis.scratch(n);
    T *const path = turned + (order + 1) * n * n, *const x = path + order + 1, *const series = x + order + 1;
    for (std::ptrdiff_t k = 0; k < order; ++k) basis.turn(c.a + (k + 1) * n * n, turned + k * n * n, false);
    std::ptrdiff_t middles = 1;
    for (std::ptrdiff_t k = 1; k < order; ++k) middles *= n;
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        T sum = T(0);
        for (std::ptrdiff_t middle = 0; middle < middles; ++middle) {
          path[0] = static_cast<T>(i);
          path[order] = static_cast<T>(j);
          for (std::ptrdiff_t k = 1, code = middle; k < order; ++k, code /= n) path[k] = static_cast<T>(code % n);
          for (std::ptrdiff_t k = 0; k <= order; ++k) {
            const T own = basis.w[static_cast<std::ptrdiff_t>(path[k])];
            std::ptrdiff_t at = k;
            for (; at > 0 && own < x[at - 1]; --at) x[at] = x[at - 1];
            x[at] = own;
          }
          const auto all = (std::uint64_t{1} << order) - 1;
          sum = lane::fma(detail::log_difference(x, order, series), detail::along_path(turned, n, path, all), sum);
        }
        c.out[i * n + j] = c.out[j * n + i] = sum;
      }
    basis.turn(c.out, c.out, true);
    return -1;
  }
  template <class T>
  static constexpr operand<T> of(operand<T> s, operand<T> y) {
    return of_matrices<log_derivative>(above(s, y), 1);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    const std::int64_t order = out.attribute(1);
    const auto own = symmetric_part(g);
    auto all = of_matrices<log_derivative>(above(a, own), order + 1);
    for (std::int64_t k = 1; k <= order; ++k) {
      auto others = part(a, 0);
      for (std::int64_t i = 1; i <= order; ++i)
        if (i != k) others = above(others, part(a, i));
      all = above(all, of_matrices<log_derivative>(above(others, own), order));
    }
    return grads(all);
  }
};

/// The symmetric logarithm.   Saves: a.   Error: see [note: order of eigenvalues].
struct matrix_log : own_matrix {
  static constexpr std::string_view name = "matrix_log";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return detail::eigenbasis<float>::scratch(n); }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    const detail::eigenbasis<T> basis(n, c.a, c.scratch);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      if (basis.w[i] <= 0) return i;
      basis.w[i] = lane::log(basis.w[i]);
    }
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        T sum = T(0);
        for (std::ptrdiff_t k = 0; k < n; ++k) sum = lane::fma(basis.v[i * n + k] * basis.w[k], basis.v[j * n + k], sum);
        c.out[i * n + j] = c.out[j * n + i] = sum;
      }
    return -1;
  }
  static std::string complaint(std::ptrdiff_t) { return "has an eigenvalue that is not positive"; }
  static constexpr auto pull(auto g, auto a, auto) { return grads(log_derivative::of(a, symmetric_part(g))); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct matrix_log {
  static constexpr precision autocast = op::matrix_log::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::matrix_log>(a); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The symmetric x whose exponential is a, for each symmetric positive definite matrix. Only the lower triangle is read; the gradient is
/// symmetric. All derivatives are finite where eigenvalues are equal.
/// Shape: a [..., n, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.
/// Saves: a; a backward pass computes the eigenvectors again.   Error: a few n u times the largest |log| of an eigenvalue, and what eigh's
/// error of an eigenvalue is in its logarithm.   Throws: for an eigenvalue that is 0 or negative; the error names the matrix.
/// Source: N. Higham, Functions of Matrices (2008), theorem 3.11.
inline constexpr call<functions::matrix_log> matrix_log{};

}  // namespace ebb::inline EBB_ABI
