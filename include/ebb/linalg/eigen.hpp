// ebb/linalg/eigen.hpp — eigenvalues and eigenvectors of symmetric matrices.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto [w, v] = eigh(a);      // a v = v diag(w), w rising, the columns of v orthonormal
//   const auto w = eigvalsh(a);       // the values alone: their gradient is safe where values are equal
#pragma once

#include "matrix.hpp"
#include "tridiagonal.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// Tag of eigh and eigvalsh: derivatives of vectors along rotations between equal eigenvalues are 0 instead of infinite.
inline constexpr matrix_tag<64> rotations_ignored{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// A rotation by the angle whose tangent is t: x becomes x - s (y + tau x), y becomes y + s (x - tau y).
template <class T>
struct rotation {
  T t, s, tau;

  /// The smaller of the two rotations that make the off-diagonal element `off` zero. `difference` is the second diagonal element minus the
  /// first one.
  static constexpr rotation of(T difference, T off) {
    const T cotangent = difference / (2 * off), size = lane::abs(cotangent);
    // Beyond 2^30, adding 1 to the square of size changes nothing, and the square may be infinite.
    const T root = size > T(1073741824) ? 2 * size : size + lane::sqrt(lane::fma(size, size, T(1)));
    const T t = cotangent < 0 ? -1 / root : 1 / root, c = 1 / lane::sqrt(lane::fma(t, t, T(1)));
    return {t, t * c, t * c / (1 + c)};
  }
  constexpr void turn(T& x, T& y) const {
    const T old = x;
    x = lane::fma(-s, lane::fma(tau, x, y), x);
    y = lane::fma(s, lane::fma(-tau, y, old), y);
  }
  constexpr void turn(std::ptrdiff_t n, T* x, T* y) const {
    const rotation own = *this;  // x and y might alias it: a copy stays in registers
    for (std::ptrdiff_t i = 0; i < n; ++i) own.turn(x[i], y[i]);
  }
};

template <class T>
constexpr T largest_size(std::ptrdiff_t n, const T* a) {
  T largest = T(0);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (const T size = lane::abs(a[i]); size > largest) largest = size;
  return largest;
}
/// The power of 2 that brings the largest of n numbers near 1, if their squares or products could overflow or vanish; else 1.
template <class T>
constexpr T power_for(std::ptrdiff_t n, const T* a) {
  const T largest = largest_size(n, a);
  T power = T(1);
  constexpr T safe = std::numeric_limits<T>::digits > 24 ? static_cast<T>(0x1p+300) : T(0x1p+30);
  if (largest > safe)
    for (; largest * power > 2;) power = power / 2;
  else if (largest < 1 / safe && largest > 0)
    for (; largest * power < 1 && power < std::numeric_limits<T>::max() / 2;) power = power * 2;
  return power;
}
template <class T>
constexpr bool all_finite(std::ptrdiff_t n, const T* a) {
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (!(lane::abs(a[i]) <= std::numeric_limits<T>::max())) return false;
  return true;
}
/// Whether the first of the largest of n elements, which are `step` apart, is negative.
template <class T>
constexpr bool points_down(std::ptrdiff_t n, const T* x, std::ptrdiff_t step) {
  T largest = T(0);
  bool down = false;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (const T size = lane::abs(x[i * step]); size > largest) {
      largest = size;
      down = x[i * step] < 0;
    }
  return down;
}
/// The power of 2 that brings the largest of n numbers into [1, 2).
template <class T>
constexpr T power_to_one(std::ptrdiff_t n, const T* a) {
  const T largest = largest_size(n, a);
  T power = T(1);
  for (; largest * power >= 2;) power = power / 2;
  for (; largest * power < 1 && largest > 0 && power < std::numeric_limits<T>::max() / 2;) power = power * 2;
  return power;
}
template <class T>
constexpr void fill_eigen_with_nan(std::ptrdiff_t n, T* w, std::ptrdiff_t step, T* to, std::ptrdiff_t row) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    w[i * step] = std::numeric_limits<T>::quiet_NaN();
    for (std::ptrdiff_t j = 0; j < n && to; ++j) to[i * row + j] = w[i * step];
  }
}
inline constexpr int most_sweeps = 60;
inline constexpr std::ptrdiff_t most_rows_of_jacobi = 6;

/// [note: order of eigenvalues]
/// For more than 6 rows see [note: order of large eigenproblems]. Smaller matrices take the cyclic Jacobi method on the lower triangle,
/// mirrored: it rotates rows and columns (p, q), p < q, row by row, and leaves out a rotation if |a(p, q)|^2 <= u^2 |a(p, p) a(q, q)|. It
/// ends after a sweep without a tangent above u = epsilon, or after 60 sweeps: quadratic convergence needs about 8. Values are sorted in
/// rising order, equal ones in the order of their columns. The first of the largest components of a vector is positive, so that all
/// machines and all sizes of batches give the same vectors. A matrix with a NaN or an infinity in its lower triangle gives NaNs.
/// Source: G. Golub, C. Van Loan, Matrix Computations, section 8.5; J. Demmel, K. Veselic, Jacobi's method is more accurate than QR (1992).
template <class T>
struct jacobi {
  std::ptrdiff_t n;
  T *a, *v;  // a is symmetric; the rows of v are the vectors; v may be nullptr

  static constexpr T unit = std::numeric_limits<T>::epsilon();

  constexpr void run() const {
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      T largest = T(0);
      for (std::ptrdiff_t p = 0; p < n; ++p)
        for (std::ptrdiff_t q = p + 1; q < n; ++q) {
          const T off = a[p * n + q], first = a[p * (n + 1)], second = a[q * (n + 1)];
          if (off == 0 || (off / unit) * (off / unit) <= lane::abs(first * second)) continue;
          const auto r = rotation<T>::of(second - first, off);
          if (lane::abs(r.t) > largest) largest = lane::abs(r.t);
          r.turn(n, a + p * n, a + q * n);
          a[p * (n + 1)] = lane::fma(-r.t, off, first);
          a[q * (n + 1)] = lane::fma(r.t, off, second);
          a[p * n + q] = a[q * n + p] = T(0);
          for (std::ptrdiff_t i = 0; i < n; ++i) {
            if (i == p || i == q) continue;
            a[i * n + p] = a[p * n + i];
            a[i * n + q] = a[q * n + i];
          }
          if (v) r.turn(n, v + p * n, v + q * n);
        }
      if (largest <= unit) return;
    }
  }
  /// The columns in rising order of their values, or in falling order.
  static constexpr void sort(std::ptrdiff_t n, const T* values, std::ptrdiff_t step, T* order, bool falling = false) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      std::ptrdiff_t at = i;
      const auto value = [&](T k) { return values[static_cast<std::ptrdiff_t>(k) * step]; };
      const T own = value(static_cast<T>(i));
      for (; at > 0 && (falling ? value(order[at - 1]) < own : own < value(order[at - 1])); --at) order[at] = order[at - 1];
      order[at] = static_cast<T>(i);
    }
  }
};

constexpr std::ptrdiff_t scratch_of_eigen(std::ptrdiff_t n) {
  return n <= most_rows_of_jacobi ? 2 * n * n + n : tridiagonal<float>::scratch(n) + n;
}
/// Writes the values of one matrix to `w`, `step` apart, and its vectors as columns to `to`, in rows `row` apart, unless `to` is nullptr.
/// scratch: scratch_of_eigen(n).
template <class T>
constexpr void symmetric_eigen(const matrix_call<T>& c, T* w, std::ptrdiff_t step, T* to = nullptr, std::ptrdiff_t row = 0) {
  const std::ptrdiff_t n = c.rows;
  const bool small = n <= most_rows_of_jacobi;
  T *const a = c.scratch, *const v = a + n * n, *const order = small ? v + n * n : a + tridiagonal<T>::scratch(n);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = c.a[i * n + j];
  if (!all_finite(n * n, a)) return fill_eigen_with_nan(n, w, step, to, row);
  T power = small ? power_for(n * n, a) : T(1);
  const T *values = a, *rows = v;  // the values of the vectors in `rows`, `apart` apart
  std::ptrdiff_t apart = n + 1;
  if (small) {
    for (std::ptrdiff_t i = 0; i < n * n; ++i) v[i] = T(i % (n + 1) == 0);
    for (std::ptrdiff_t i = 0; i < n * n && power != 1; ++i) a[i] = a[i] * power;
    jacobi<T>{n, a, to ? v : nullptr}.run();
  } else {
    const tridiagonal<T> form(n, a);
    power = power_to_one(n * n, a);
    for (std::ptrdiff_t i = 0; i < n * n; ++i) a[i] = a[i] * power;
    form.reduce();
    form.bisect(order);
    for (std::ptrdiff_t k = 0; k < n; ++k) w[k * step] = order[k] / power;
    if (!to) return;
    if (!form.find_vectors()) return fill_eigen_with_nan(n, w, step, to, row);
    values = form.d;
    rows = a;
    apart = 1;
  }
  jacobi<T>::sort(n, values, apart, order);
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    const auto from = static_cast<std::ptrdiff_t>(order[k]);
    if (small) w[k * step] = values[from * apart] / power;
    if (!to) continue;
    const T* const vector = rows + from * n;
    const bool down = points_down(n, vector, 1);
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i * row + k] = down ? -vector[i] : vector[i];
  }
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The common part of eigh and eigvalsh. attr 1: the flag of rotations_ignored, or 0.
struct symmetric_eigen : own_matrix {
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return detail::scratch_of_eigen(n); }
  static constexpr std::ptrdiff_t large = least_large::eigen;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t n, std::ptrdiff_t) {
    return n * n + n + work(n) + integers(n);
  }

 protected:
  static constexpr std::ptrdiff_t work(std::ptrdiff_t n) { return 2 * n * n + 6 * n + 1; }
  static constexpr std::ptrdiff_t integers(std::ptrdiff_t n) { return 5 * n + 3; }
  /// Values and, if `with_vectors`, vectors as rows, at the beginning of scratch: n n, n. False if LAPACK does not find them.
  /// The lower triangle of a row-major matrix is the upper one of its transpose.
  template <class T>
  static bool solve_by_lapack(const matrix_call<T>& c, bool with_vectors) {
    using of = kernel::lapack::calls<T>;
    const std::ptrdiff_t n = c.rows;
    T *const a = c.scratch, *const w = a + n * n, *const rest = w + n;
    for (std::ptrdiff_t i = 0; i < n * n; ++i) a[i] = c.a[i];
    using kernel::lapack::number;
    return of::syevd(of::by_columns, with_vectors ? 'V' : 'N', 'U', number(n), a, number(n), w, rest, number(work(n)),
                     reinterpret_cast<int*>(rest + work(n)), number(integers(n))) == 0;
  }
  /// v x v^T.
  static constexpr auto in_basis(auto v, auto x) { return product_of(product_of(v, x, 0), v, right_transposed); }
};

/// Eigenvalues and vectors side by side: column 0 has the values, the others are the vectors.
/// Saves: out.   Error: see [note: order of eigenvalues].   Source: M. Giles, Collected matrix derivative results (2008).
struct eigh : symmetric_eigen {
  static constexpr std::string_view name = "eigh";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const shape batch = batch_of_squares(s, in[0]);
    if (batch.is_refused()) return batch;
    const int n = s.find(in[0].e[in[0].rank - 1]);
    return with_axis(with_axis(batch, batch.rank, n), batch.rank + 1, s.derive(extent_rule::sum, n, 1));
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::symmetric_eigen(c, c.out, c.rows + 1, c.out + 1, c.rows + 1);
    return -1;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    if (!solve_by_lapack(c, true)) return detail::not_computed;
    const std::ptrdiff_t n = c.rows;
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      T* const vector = c.scratch + k * n;
      const bool down = detail::points_down(n, vector, 1);
      for (std::ptrdiff_t i = 0; i < n && down; ++i) vector[i] = -vector[i];
      c.out[k * (n + 1)] = c.scratch[n * n + k];
    }
    kernel::elimination::turn(c.out + 1, n + 1, c.scratch, n, n, n);
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto out) {
    const int last = a.rank() - 1, n = a.extent(last);
    const auto w = one_of(out, last, 0), v = cut(out, last, stride::at_the_end, n);
    const auto of_w = one_of(g, last, 0), of_v = cut(g, last, stride::at_the_end, n);
    const auto turns = product_of(v, of_v, left_transposed) * inverse_differences(w, v, out.attribute(1) != 0);
    return grads(in_basis(v, diagonal_of(of_w, v) + symmetric_part(turns)));
  }

 private:
  /// 1 / (w_j - w_i); 0 on the diagonal, and where both are equal up to rounding if `ignores`.
  template <class T>
  static constexpr operand<T> inverse_differences(operand<T> w, operand<T> v, bool ignores) {
    if (v.is_refused()) return v;
    const int last = v.rank() - 1;
    const auto difference = repeat(w, v, std::int64_t{1} << (last - 1)) - repeat(w, v, std::int64_t{1} << last);
    auto left_out = is_on_diagonal(v);
    if (ignores) {
      constexpr auto unit = std::numeric_limits<detail::computed_in<T>>::epsilon();
      const auto size = unit * sum_over(emit_on<abs>({}, w), std::int64_t{1} << (last - 1));
      const auto least = repeat(size, v, axis_run(last - 1, last + 1));
      left_out = emit_on<logical_or>({}, left_out, emit_on<less_equal>({}, emit_on<abs>({}, difference), least));
    }
    return inverse_or_zero(difference, left_out);
  }
};

/// Eigenvalues.   Saves: a; a backward pass computes the vectors.   Error: see [note: order of eigenvalues].
struct eigvalsh : symmetric_eigen {
  static constexpr std::string_view name = "eigvalsh";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    const shape batch = batch_of_squares(s, in[0]);
    return batch.is_refused() ? batch : with_axis(batch, batch.rank, s.find(in[0].e[in[0].rank - 1]));
  }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::symmetric_eigen(c, c.out, 1);
    return -1;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    if (!solve_by_lapack(c, false)) return detail::not_computed;
    for (std::ptrdiff_t k = 0; k < c.rows; ++k) c.out[k] = c.scratch[c.rows * c.rows + k];
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto out) {
    const int last = a.rank() - 1;
    const auto v = cut(of_matrices<eigh>(a, out.attribute(1)), last, stride::at_the_end, a.extent(last));
    return grads(product_of(times_columns(v, g), v, right_transposed));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <bool Ignores>
struct eigh {
  static constexpr std::string_view name = "eigh";
  static constexpr precision autocast = op::eigh::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::eigh>(a, Ignores); }
};
template <bool IsValues>
struct eigh_part {
  static constexpr std::string_view name = "eigh";
  template <class T>
  static constexpr operand<T> apply(operand<T> both) {
    const int last = both.rank() - 1;
    if (both.is_refused()) return both;
    return IsValues ? one_of(both, last, 0) : cut(both, last, stride::at_the_end, both.extent(last - 1));
  }
};
template <bool Ignores>
struct eigvalsh {
  static constexpr std::string_view name = "eigvalsh";
  static constexpr precision autocast = op::eigvalsh::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::eigvalsh>(a, Ignores); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// A tuple (w, v) for each symmetric matrix: w has its eigenvalues in rising order, the columns of v are its orthonormal eigenvectors. Only
/// the lower triangle is read; the gradient is symmetric. The first of the largest components of each vector is positive.
///   eigh(a, rotations_ignored)
/// If two values are equal, the gradient of a loss that depends on vectors is NaN, as in PyTorch. With the tag, rotations between values
/// that are equal up to rounding (epsilon times the sum of all magnitudes) have no gradient: that is right for a loss that depends on the
/// space of equal values and not on the vectors in it. It is wrong for v f(w) v^T, whose derivative along these rotations is f'(w).
/// Shape: a [..., n, n]: [..., n], [..., n, n].   Dtype: integers give float; bf16 and f16 are computed in float.   Saves: w, v.
/// Error: a few n u times the largest magnitude; up to 6 rows often a few n u of each value.
template <class A, class... Tag>
constexpr auto eigh(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(rotations_ignored.flag);
  static_assert(flags >= 0, "[ebb E0432] eigh, eigvalsh: after the matrix comes nothing, or the tag ebb::rotations_ignored");
  const auto both = apply_function(functions::eigh<(flags > 0)>{}, std::forward<A>(a));
  return std::tuple(apply_function(functions::eigh_part<true>{}, both), apply_function(functions::eigh_part<false>{}, both));
}
/// The eigenvalues of each symmetric matrix in rising order. The gradient is finite where values are equal: it is that of the vectors that
/// eigh gives. The tag changes second derivatives only.
/// Shape: a [..., n, n]: [..., n].   Dtype, Error: as eigh.   Saves: a; a backward pass computes the vectors.
template <class A, class... Tag>
constexpr auto eigvalsh(A&& a, Tag...) {
  constexpr std::int64_t flags = detail::matrix_flags<Tag...>(rotations_ignored.flag);
  static_assert(flags >= 0, "[ebb E0432] eigh, eigvalsh: after the matrix comes nothing, or the tag ebb::rotations_ignored");
  return apply_function(functions::eigvalsh<(flags > 0)>{}, std::forward<A>(a));
}

}  // namespace ebb::inline EBB_ABI
