// ebb/linalg/determinant.hpp — determinants, and functions of Cholesky factors: cholesky_inverse, mahalanobis.
// SPDX-License-Identifier: BSL-1.0
//
// slogdet, logdet, logdet_spd and cholesky_solve are in op/triangle.hpp: ebb.hpp has them.
#pragma once

#include "matrix.hpp"
#include "products.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Determinants and cofactors of one matrix of n x n numbers, in a fixed order.
template <class T>
struct expansion {
  /// By the first row, for n <= 4: exact for integers, and no division.
  static constexpr T small(std::ptrdiff_t n, const T* a) {
    return n == 0 ? T(1) : n == 1 ? a[0] : n == 2 ? known<2>(a) : n == 3 ? known<3>(a) : known<4>(a);
  }
  /// The same for N rows: minors that several cofactors have are computed once, since loops are unrolled. V: T, or a register with one
  /// matrix in each lane.
  template <int N, class V>
  static EBB_LAMBDA constexpr V known(const V* a) {
    if constexpr (N == 1) return a[0];
    else if constexpr (N == 2) return link(a[0], a[3], -(a[1] * a[2]));
    else {
      V sum = {};
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) {
        V minor[(N - 1) * (N - 1)] = {};
#pragma GCC unroll 4
        for (int i = 1; i < N; ++i)
#pragma GCC unroll 4
          for (int k = 0; k < N - 1; ++k) minor[(i - 1) * (N - 1) + k] = a[i * N + k + (k >= j)];
        const V d = known<N - 1>(minor);
        sum = j == 0 ? a[0] * d : link(a[j], j % 2 != 0 ? -d : d, sum);
      }
      return sum;
    }
  }
  /// The determinants of `batch` matrices of N rows.   scratch: n * n registers.
  template <int N>
  static void each(std::ptrdiff_t batch, const T* a, T* out, T* scratch) {
    constexpr std::ptrdiff_t lanes = kernel::small::lanes_of<T>;
    for (std::ptrdiff_t done = 0; done < batch; done += lanes) {
      const std::ptrdiff_t count = std::min(lanes, batch - done);
      if (count < kernel::small::enough_to_expand<T>) {
        for (std::ptrdiff_t i = done; i < batch; ++i) out[i] = known<N>(a + i * N * N);
        return;
      }
      simd::vector<T> x[N * N];
      if (N * N % lanes == 0 && count == lanes) kernel::small::load_spread<N * N>(x, a + done * N * N);
      else {
        kernel::small::spread(scratch, a + done * N * N, N * N, count);
        repeat<N * N>([&]<int E>() EBB_LAMBDA { x[E] = simd::load(scratch + E * lanes); });
      }
      simd::store_first(out + done, known<N>(x), static_cast<int>(count));
    }
  }
  template <class V>
  static EBB_LAMBDA constexpr V link(V x, V y, V z) {
    if constexpr (std::is_arithmetic_v<V>) return lane::fma(x, y, z);
    else return simd::fma(x, y, z);
  }
  static constexpr T cofactor(std::ptrdiff_t n, const T* a, std::ptrdiff_t row, std::ptrdiff_t column) {
    T minor[9] = {};
    std::ptrdiff_t count = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j)
        if (i != row && j != column) minor[count++] = a[i * n + j];
    const T d = n == 1 ? T(1) : n == 2 ? minor[0] : n == 3 ? known<2>(minor) : known<3>(minor);
    return (row + column) % 2 != 0 ? -d : d;
  }

  /// By elimination with partial pivoting. scratch: n * n. Not inlined: small matrices pay for its registers.
  [[gnu::noinline]] static constexpr T large(std::ptrdiff_t n, const T* a, T* scratch) {
    for (std::ptrdiff_t k = 0; k < n * n; ++k) scratch[k] = a[k];
    bool odd = false;
    const bool singular = solve_in_order(scratch, static_cast<int>(n), 0, &odd) >= 0;
    T product = odd ? T(-1) : T(1);
    if (!singular)
      for (std::ptrdiff_t k = 0; k < n; ++k) product = product * scratch[k * (n + 1)];
    else {
      product = T(0);
      for (std::ptrdiff_t k = 0; k < n * n; ++k)
        if (a[k] != a[k]) product = a[k];
    }
    return product;
  }

  // [note: cofactors by elimination]
  // With complete pivoting, P A Q = L U. Cofactors are multiplicative, so those of A are L^-T cof(U), permuted back, with the sign of both
  // permutations. With U = [U1 w; 0 u] and p the product of U1's diagonal, cof(U) = [u p U1^-T, 0; -p (U1^-1 w)^T, p]: the last pivot u is
  // no divisor, so that a matrix of rank n - 1 has its cofactors, which are the finite gradient of its determinant. If an earlier pivot is
  // 0, the rest of the matrix is 0, and so are the cofactors.
  /// scratch: 2 n n + 2 n.
  static constexpr void cofactors(std::ptrdiff_t n, const T* a, T* out, T* scratch) {
    T *const u = scratch, *const z = u + n * n, *const row = z + n * n, *const column = row + n;
    for (std::ptrdiff_t k = 0; k < n * n; ++k) u[k] = a[k], z[k] = T(0);
    for (std::ptrdiff_t k = 0; k < n; ++k) row[k] = column[k] = static_cast<T>(k);
    T p = T(1);
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      if (bring_pivot(n, u, k, row, column)) p = -p;
      if (k == n - 1) break;
      const T by = u[k * (n + 1)];
      if (by == 0) {
        for (std::ptrdiff_t i = 0; i < n * n; ++i) out[i] = T(0);
        return;
      }
      p = p * by;
      for (std::ptrdiff_t i = k + 1; i < n; ++i) {
        const T l = u[i * n + k] = u[i * n + k] / by;
        for (std::ptrdiff_t j = k + 1; j < n; ++j) u[i * n + j] = lane::fma(-l, u[k * n + j], u[i * n + j]);
      }
    }
    const std::ptrdiff_t last = n - 1;
    const T end = u[last * (n + 1)];
    // z becomes cof(U): row j of U1^-T is column j of U1^-1.
    for (std::ptrdiff_t j = 0; j < last; ++j) {
      for (std::ptrdiff_t i = j; i >= 0; --i) {
        T s = i == j ? T(1) : T(0);
        for (std::ptrdiff_t k = i + 1; k <= j; ++k) s = lane::fma(-u[i * n + k], z[j * n + k], s);
        z[j * n + i] = s / u[i * (n + 1)];
      }
      for (std::ptrdiff_t i = 0; i <= j; ++i) z[last * n + i] = lane::fma(-p * z[j * n + i], u[j * n + last], z[last * n + i]);
      for (std::ptrdiff_t i = 0; i <= j; ++i) z[j * n + i] = end * p * z[j * n + i];
    }
    z[last * (n + 1)] = p;
    for (std::ptrdiff_t k = last; k > 0; --k)
      for (std::ptrdiff_t i = 0; i < k; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) z[i * n + j] = lane::fma(-u[k * n + i], z[k * n + j], z[i * n + j]);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j)
        out[static_cast<std::ptrdiff_t>(row[i]) * n + static_cast<std::ptrdiff_t>(column[j])] = z[i * n + j];
  }

 private:
  /// Brings the first of the largest elements of the rest, or a NaN, to (k, k). Returns whether the sign of the determinant changes.
  static constexpr bool bring_pivot(std::ptrdiff_t n, T* u, std::ptrdiff_t k, T* row, T* column) {
    std::ptrdiff_t best_row = k, best_column = k;
    T largest = lane::abs(u[k * (n + 1)]);
    for (std::ptrdiff_t i = k; i < n; ++i)
      for (std::ptrdiff_t j = k; j < n; ++j)
        if (const T size = lane::abs(u[i * n + j]); largest == largest && !(size <= largest)) {
          largest = size;
          best_row = i;
          best_column = j;
        }
    const auto exchange = [](T& x, T& y) {
      const T other = x;
      x = y;
      y = other;
    };
    if (best_row != k) {
      for (std::ptrdiff_t j = 0; j < n; ++j) exchange(u[k * n + j], u[best_row * n + j]);
      exchange(row[k], row[best_row]);
    }
    if (best_column != k) {
      for (std::ptrdiff_t i = 0; i < n; ++i) exchange(u[i * n + k], u[i * n + best_column]);
      exchange(column[k], column[best_column]);
    }
    return (best_row != k) != (best_column != k);
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The cofactors of a square matrix: the derivatives of its determinant by its elements.
/// Saves: a; from 4 x 4 on also out, and a backward pass computes the inverse of a: a singular matrix is an error there.
/// Error: see [note: cofactors by elimination]; up to 4 x 4 that of sums of products.
struct cofactors : own_matrix {
  static constexpr std::string_view name = "cofactors";
  static constexpr bool is_quick = true;
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return n <= 4 ? 0 : 2 * n * n + 2 * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    if (n > 4) detail::expansion<T>::cofactors(n, c.a, c.out, c.scratch);
    else
      for (std::ptrdiff_t i = 0; i < n * n; ++i) c.out[i] = detail::expansion<T>::cofactor(n, c.a, i / n, i % n);
    return -1;
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T> out) {
    const int rank = a.rank(), n = a.extent(rank - 1);
    // Up to 3 x 3 the derivative is a polynomial, which serves singular matrices too: row i of the cofactors of a 3 x 3 matrix is the cross
    // product of the two other rows.
    if (n == 0 || n == 1) return grads(literal_like(a, 0));
    if (n == 2) return grads(of_matrices<cofactors>(g));
    if (n == 3) {
      const auto next = [](auto x) { return turned<-2, 1>(x); };
      const auto after = [](auto x) { return turned<-2, 2>(x); };
      return grads(functions::cross<-1>::apply(next(a), after(g)) + functions::cross<-1>::apply(next(g), after(a)));
    }
    const auto inner = sum_over(g * out, axis_run(rank - 2, rank));
    const auto turn = identity_times(inner, a) - product_of(out, g, right_transposed);
    return grads(product_of(turn, emit_on<inverse>({}, a), right_transposed));
  }
};

/// The determinant.
/// Saves: a. A backward pass computes its cofactors.
/// Error: up to 4 x 4 that of sums of products, else that of the product of the pivots of [note: order of a solution].
struct det : own_matrix {
  static constexpr std::string_view name = "det";
  static constexpr bool is_quick = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return batch_of_squares(s, in[0]); }
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t n, std::ptrdiff_t) { return n <= 4 ? 0 : n * n; }
  static constexpr std::ptrdiff_t scratch_for_each(std::ptrdiff_t n) { return n <= 4 ? n * n : 0; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    using of = detail::expansion<T>;
    c.out[0] = c.rows <= 4 ? of::small(c.rows, c.a) : of::large(c.rows, c.a, c.scratch);
    return -1;
  }
  /// Determinants of small matrices, those of a batch side by side; false if they are not small.
  template <class T>
  static bool compute_each(std::ptrdiff_t batch, const matrix_call<T>& c) {
    using of = detail::expansion<T>;
    if (c.rows < 2 || c.rows > 4) return false;
    if (c.rows == 2) of::template each<2>(batch, c.a, c.out, c.scratch);
    else if (c.rows == 3) of::template each<3>(batch, c.a, c.out, c.scratch);
    else of::template each<4>(batch, c.a, c.out, c.scratch);
    return true;
  }
  static constexpr std::ptrdiff_t blocked = kernel::elimination::blocked;
  static constexpr std::ptrdiff_t blocked_scratch(std::ptrdiff_t n) { return kernel::elimination::factored_room(n); }
  template <class T>
  static std::ptrdiff_t compute_blocked(const matrix_call<T>& c) {
    bool odd = false;
    const auto w = kernel::elimination::factored(c.rows, c.a, c.scratch, &odd);
    if (!w.data) return detail::not_computed;
    T product = odd ? T(-1) : T(1);
    for (std::ptrdiff_t k = 0; k < c.rows; ++k) product = product * *w.at(k, k);
    c.out[0] = product;
    return -1;
  }
  static constexpr std::ptrdiff_t large = least_large::elimination;
  template <class T>
  static constexpr std::ptrdiff_t large_scratch(std::ptrdiff_t n, std::ptrdiff_t) {
    return n * n + n;
  }
  template <class T>
  static std::ptrdiff_t compute_large(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.rows;
    int* const pivots = reinterpret_cast<int*>(c.scratch + n * n);
    for (std::ptrdiff_t k = 0; k < n * n; ++k) c.scratch[k] = c.a[k];  // the transpose has the same determinant
    const bool singular = kernel::lapack::eliminate(n, c.scratch, pivots) >= 0;
    T product = singular ? T(0) : kernel::lapack::is_odd(n, pivots) ? T(-1) : T(1);
    for (std::ptrdiff_t k = 0; k < n && !singular; ++k) product = product * c.scratch[k * (n + 1)];
    c.out[0] = product;
    return -1;
  }
  static constexpr auto pull(auto g, auto a, auto) {
    return grads(repeat(g, a, axis_run(a.rank() - 2, a.rank())) * of_matrices<cofactors>(a));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

struct det {
  static constexpr precision autocast = op::det::autocast;
  static constexpr auto apply(auto a) { return of_matrices<op::det>(a); }
};

struct cholesky_inverse {
  static constexpr precision autocast = op::solve_triangular::autocast;
  static constexpr auto apply(auto l) {
    using T = decltype(detail::accepted<op::solve_triangular, typename decltype(l)::value_type>());
    const auto t = cast_to<T>(l);
    if (t.is_refused()) return t;
    if (op::batch_of_squares(t.g->syms, t.extents()).is_refused()) return refuse<T>(*t.g, 180);
    const auto inverse = emit_on<op::solve_triangular>({0, triangular}, t, cast_to<T>(is_on_diagonal(t)));
    return product_of(inverse, inverse, left_transposed);
  }
};

struct mahalanobis {
  static constexpr precision autocast = op::solve_triangular::autocast;
  template <class X, class L>
  static constexpr auto apply(operand<X> x, operand<L> l) {
    using T = decltype(detail::accepted<op::solve_triangular, promoted<X, L>>());
    if (x.is_refused() || l.is_refused()) return refuse<T>(*x.g, x.is_refused() ? -x.id : -l.id);
    if (x.rank() < 1) return refuse<T>(*x.g, 181);
    // The vectors are rows: y l^T = x. One factor serves all of them.
    const bool as_they_are = x.rank() > 1 && l.rank() == 2;
    const auto rows = as_they_are ? cast_to<T>(x) : view_as(cast_to<T>(x), with_axis(x.extents(), x.rank() - 1, 1));
    const auto y = solve_triangular<taken_transposed.flag | from_right.flag>::apply(cast_to<T>(l), rows);
    if (y.is_refused()) return y;
    const auto squares = sum_over(y * y, std::int64_t{1} << (y.rank() - 1));
    return as_they_are ? squares : view_as(squares, axes_between(squares.extents(), 0, squares.rank() - 1));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The determinant of each matrix in the last two axes; leading axes are batches. The determinant of a 0 x 0 matrix is 1. slogdet neither
/// overflows nor underflows.
/// Shape: a [..., n, n]: [...].   Dtype: integers give float; bf16 and f16 are computed in float.
/// Saves: a; a backward pass computes its cofactors, which are finite for singular matrices too.
/// Error: up to 4 x 4 that of sums of products; else that of elimination, see kernel/solve.hpp.
/// Throws: in a second backward pass, for a singular matrix of 4 x 4 or more, or of extents known only at the call.
inline constexpr call<functions::det> det{};
/// (l l^T)^-1, from a factor of cholesky.   Shape: l [..., n, n]: the same.   Dtype: as solve_triangular.
/// Saves: l, its inverse.   Error: that of solve_triangular, and of a product.
inline constexpr call<functions::cholesky_inverse> cholesky_inverse{};
/// x^T (l l^T)^-1 x, the squared length of a vector in units of the covariance that cholesky factored.
/// Shape: x [..., n], l [..., n, n]: [...]; leading axes are batches, which are broadcast.   Dtype: as solve_triangular.
/// Saves: l, the scaled vectors.   Error: that of solve_triangular, and of a sum.
inline constexpr call<functions::mahalanobis> mahalanobis{};

}  // namespace ebb::inline EBB_ABI
