// ebb/linalg/exponential.hpp — the exponential of a matrix.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "matrix.hpp"

#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI::detail {

/// [note: order of a matrix exponential]
/// Scaling and squaring: A is divided by 2^s, its rational approximation of degree 3, 5, 7, 9 or 13 (in float at most 7) is computed, and
/// squared s times. The degree is the first whose bound is not below the 1-norm of A; s is 0 unless the last bound is exceeded. Numerator
/// V + U and denominator V - U are evaluated by Horner's rule in A^2; products are chains of fma in rising order; the quotient is that of
/// [note: order of a solution]. A matrix with a NaN or an infinity gives NaNs.
/// Source: N. Higham, The scaling and squaring method for the matrix exponential revisited (2005).
template <class T>
struct exponential {
  std::ptrdiff_t n;
  T *a, *square, *u, *v, *both;  // n x n each, but `both` has n x 2 n

  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n) { return 6 * n * n; }
  static constexpr bool is_wide = std::numeric_limits<T>::digits > 24;

  constexpr explicit exponential(const matrix_call<T>& c)
      : n(c.rows), a(c.scratch), square(a + n * n), u(square + n * n), v(u + n * n), both(v + n * n) {
    for (std::ptrdiff_t i = 0; i < n * n; ++i) a[i] = c.a[i];
  }
  constexpr T norm() const {
    T largest = T(0);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      T sum = T(0);
      for (std::ptrdiff_t i = 0; i < n; ++i) sum = sum + lane::abs(a[i * n + j]);
      if (!(sum <= largest)) largest = sum;
    }
    return largest;
  }
  constexpr void multiply(const T* x, const T* y, T* to) const { multiply_squares(n, x, false, y, false, to); }
  /// The sum of c[k * step] A^(2k) for k <= count. `to` and `other` have n x n elements each; returns the one that holds the sum.
  constexpr T* in_squares(const double* c, int count, int step, T* to, T* other) const {
    for (std::ptrdiff_t i = 0; i < n * n; ++i) to[i] = T(i % (n + 1) == 0 ? c[count * step] : 0);
    for (int k = count - 1; k >= 0; --k) {
      multiply(square, to, other);
      for (std::ptrdiff_t i = 0; i < n; ++i) other[i * (n + 1)] = other[i * (n + 1)] + static_cast<T>(c[k * step]);
      T* const last = to;
      to = other;
      other = last;
    }
    return to;
  }
  /// The approximation of the given odd degree to the exponential of a, in `out`.
  constexpr void approximate(const double* c, int degree, T* out) const {
    multiply(a, a, square);
    T* const odd = in_squares(c + 1, degree / 2, 2, u, v);
    multiply(a, odd, both);
    for (std::ptrdiff_t i = 0; i < n * n; ++i) out[i] = both[i];
    const T* const even = in_squares(c, degree / 2, 2, u, v);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        both[i * 2 * n + j] = even[i * n + j] - out[i * n + j];
        both[i * 2 * n + n + j] = even[i * n + j] + out[i * n + j];
      }
    solve_in_order(both, static_cast<int>(n), static_cast<int>(n));
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) out[i * n + j] = both[i * 2 * n + n + j];
  }
  constexpr void run(T* out) const {
    struct approximation {
      double bound;
      int degree;
      double c[14];
    };
    constexpr double low = is_wide ? 1.495585217958292e-2 : 4.258730016922831e-1;
    constexpr double second = is_wide ? 2.539398330063230e-1 : 1.880152677804762;
    constexpr approximation all[] = {
        {low, 3, {120, 60, 12, 1}},
        {second, 5, {30240, 15120, 3360, 420, 30, 1}},
        {is_wide ? 9.504178996162932e-1 : 3.925724783138660, 7, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
        {2.097847961257068, 9, {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
        {5.371920351148152, 13, {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
                                 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}}};
    constexpr int last = is_wide ? 4 : 2;
    T size = norm();
    if (!(size <= std::numeric_limits<T>::max())) return fill_with_nan(n * n, out);
    int chosen = 0, squarings = 0;
    while (chosen < last && size > static_cast<T>(all[chosen].bound)) ++chosen;
    T power = T(1);
    for (; size > static_cast<T>(all[last].bound); size = size / 2) {
      power = power / 2;
      ++squarings;
    }
    for (std::ptrdiff_t i = 0; i < n * n; ++i) a[i] = a[i] * power;
    approximate(all[chosen].c, all[chosen].degree, out);
    for (; squarings > 0; --squarings) {
      multiply(out, out, u);
      for (std::ptrdiff_t i = 0; i < n * n; ++i) out[i] = u[i];
    }
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The exponential of a square matrix.   Saves: a. A backward pass computes an exponential of twice the size: the upper right block of
/// that of [a^T, g; 0, a^T].   Error: see [note: order of a matrix exponential].   Source: Al-Mohy & Higham (2009).
struct matrix_exp : own_matrix {
  static constexpr std::string_view name = "matrix_exp";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return detail::exponential<float>::scratch(n); }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    detail::exponential<T>(c).run(c.out);
    return -1;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T>) {
    const int last = a.rank() - 1, n = a.extent(last);
    const auto t = transposed_matrix(a);
    const auto upper = functions::concat<-1>::apply(t, g), lower = functions::concat<-1>::apply(literal_like(a, 0), t);
    const operand<T> both = functions::concat<-2>::apply(upper, lower);
    return grads(cut(cut(of_matrices<matrix_exp>(both), last - 1, 0, n), last, stride::at_the_end, n));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct matrix_exp {
  static constexpr precision autocast = op::matrix_exp::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::matrix_exp>(a); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The exponential of each matrix in the last two axes, 1 + a + a a / 2 + ...; leading axes are batches. The exponential of zeros is
/// exactly the identity.
/// Shape: a [..., n, n]: the same.   Dtype: integers give float; bf16 and f16 are computed in float.
/// Saves: a; a backward pass computes exponentials of 2 n x 2 n.   Error: a few n u e^|a|, and less if a is normal.
inline constexpr call<functions::matrix_exp> matrix_exp{};

}  // namespace ebb::inline EBB_ABI
