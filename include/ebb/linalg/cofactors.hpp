// ebb/linalg/cofactors.hpp — small determinants, cofactors, and their derivative.
// SPDX-License-Identifier: BSL-1.0
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
  // Their derivative along G: U = D V with a unit triangular V, and the cofactors of A + t G are those of D + t E, E = L^-1 P G Q V^-1,
  // between L^-T and V^-T. Along E, cof(D) changes by -E(j, i) p(i, j) at (i, j), and by the sum of E(k, k) p(i, k) over k other than i on
  // the diagonal, where p(i, j) is the product of all pivots but i and j. No pivot is a divisor but for V, where a 0 has zeros beside it.
  /// scratch: 2 n n + 2 n.
  static constexpr void cofactors(std::ptrdiff_t n, const T* a, T* out, T* scratch) {
    T *const u = scratch, *const z = u + n * n, *const row = z + n * n, *const column = row + n;
    T p = eliminate(n, a, u, row, column);
    const std::ptrdiff_t last = n - 1;
    bool none = false;
    for (std::ptrdiff_t k = 0; k < last; ++k) none = none || u[k * (n + 1)] == 0, p = p * u[k * (n + 1)];
    for (std::ptrdiff_t k = 0; k < n * n; ++k) z[k] = T(0);
    if (none) return put_back(n, z, T(1), row, column, out);
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
    times_inverse_of_lower(n, u, z);
    put_back(n, z, T(1), row, column, out);
  }

  /// The derivative of the cofactors of a along g: see [note: cofactors by elimination].   scratch: 2 n n + 5 n.
  static constexpr void slope(std::ptrdiff_t n, const T* a, const T* g, T* out, T* scratch) {
    T *const u = scratch, *const e = u + n * n, *const row = e + n * n, *const column = row + n, *const d = column + n;
    const T sign = eliminate(n, a, u, row, column);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      d[i] = u[i * (n + 1)];
      for (std::ptrdiff_t j = i + 1; j < n; ++j) u[i * n + j] = d[i] == 0 ? T(0) : u[i * n + j] / d[i];
      for (std::ptrdiff_t j = 0; j < n; ++j) e[i * n + j] = g[place(n, row, column, i, j)];
    }
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k < i; ++k)
        for (std::ptrdiff_t j = 0; j < n; ++j) e[i * n + j] = lane::fma(-u[i * n + k], e[k * n + j], e[i * n + j]);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k < n; ++k)
        for (std::ptrdiff_t j = k + 1; j < n; ++j) e[i * n + j] = lane::fma(-e[i * n + k], u[k * n + j], e[i * n + j]);
    along_diagonal(n, d, d + n, d + 2 * n, e);
    times_inverse_of_lower(n, u, e);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = n - 1; j >= 0; --j)
        for (std::ptrdiff_t k = j + 1; k < n; ++k) e[i * n + j] = lane::fma(-e[i * n + k], u[j * n + k], e[i * n + j]);
    put_back(n, e, sign, row, column, out);
  }

 private:
  /// u becomes the factors of a by complete pivoting, L below the diagonal; row and column say where its elements were. If a pivot is 0,
  /// the rest is 0. Returns the sign of both permutations.
  static constexpr T eliminate(std::ptrdiff_t n, const T* a, T* u, T* row, T* column) {
    for (std::ptrdiff_t k = 0; k < n * n; ++k) u[k] = a[k];
    for (std::ptrdiff_t k = 0; k < n; ++k) row[k] = column[k] = static_cast<T>(k);
    T sign = T(1);
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      if (bring_pivot(n, u, k, row, column)) sign = -sign;
      const T by = u[k * (n + 1)];
      if (k == n - 1 || by == 0) break;
      for (std::ptrdiff_t i = k + 1; i < n; ++i) {
        const T l = u[i * n + k] = u[i * n + k] / by;
        for (std::ptrdiff_t j = k + 1; j < n; ++j) u[i * n + j] = lane::fma(-l, u[k * n + j], u[i * n + j]);
      }
    }
    return sign;
  }
  /// z becomes L^-T z.
  static constexpr void times_inverse_of_lower(std::ptrdiff_t n, const T* u, T* z) {
    for (std::ptrdiff_t k = n - 1; k > 0; --k)
      for (std::ptrdiff_t i = 0; i < k; ++i)
        for (std::ptrdiff_t j = 0; j < n; ++j) z[i * n + j] = lane::fma(-u[k * n + i], z[k * n + j], z[i * n + j]);
  }
  /// The former place of element (i, j) of the factored matrix.
  static constexpr std::ptrdiff_t place(std::ptrdiff_t n, const T* row, const T* column, std::ptrdiff_t i, std::ptrdiff_t j) {
    return static_cast<std::ptrdiff_t>(row[i]) * n + static_cast<std::ptrdiff_t>(column[j]);
  }
  static constexpr void put_back(std::ptrdiff_t n, const T* z, T sign, const T* row, const T* column, T* out) {
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) out[place(n, row, column, i, j)] = sign * z[i * n + j];
  }
  /// e becomes the derivative along e of the cofactors of the diagonal matrix of d.   after, sum: n numbers each.
  static constexpr void along_diagonal(std::ptrdiff_t n, const T* d, T* after, T* sum, T* e) {
    T end = T(1);
    for (std::ptrdiff_t k = n - 1; k >= 0; --k) {
      after[k] = end;
      end = end * d[k];
      sum[k] = T(0);
    }
    T before = T(1);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      T between = T(1);
      for (std::ptrdiff_t j = i + 1; j < n; ++j) {
        const T p = before * between * after[j], other = e[i * n + j];
        e[i * n + j] = -e[j * n + i] * p;
        e[j * n + i] = -other * p;
        sum[i] = lane::fma(e[j * (n + 1)], p, sum[i]);
        sum[j] = lane::fma(e[i * (n + 1)], p, sum[j]);
        between = between * d[j];
      }
      before = before * d[i];
    }
    for (std::ptrdiff_t i = 0; i < n; ++i) e[i * (n + 1)] = sum[i];
  }
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

struct det;

/// The derivative of the cofactors of a along g, which is the gradient of sum(g * cofactors(a)) too: all second derivatives of a
/// determinant are symmetric. The operand is a above g.
/// Saves: the operand. A backward pass computes the inverse of a: a singular matrix is an error there.
/// Error: see [note: cofactors by elimination].
struct cofactor_slope : of_several_squares {
  static constexpr std::string_view name = "cofactor_slope";
  static constexpr std::ptrdiff_t scratch(std::ptrdiff_t, std::ptrdiff_t n) { return 2 * n * n + 5 * n; }
  template <class T>
  static constexpr std::ptrdiff_t compute(const matrix_call<T>& c) {
    const std::ptrdiff_t n = c.columns;
    detail::expansion<T>::slope(n, c.a, c.a + n * n, c.out, c.scratch);
    return -1;
  }
  template <class T>
  static constexpr operand<T> along(operand<T> a, operand<T> g) {
    return of_matrices<cofactor_slope>(above(a, g));
  }
  // The second derivative of det(a) along g and h is det(a) (tr(x) tr(y) - tr(x y)) with x = a^-1 g and y = a^-1 h.
  template <class T>
  static constexpr auto pull(operand<T> h, operand<T> both, operand<T>) {
    const auto a = part(both, 0), g = part(both, 1);
    const int rank = a.rank();
    const std::int64_t matrix = axis_run(rank - 2, rank);
    const auto inverted = emit_on<inverse>({}, a);
    const auto x = product_of(inverted, g, 0), y = product_of(inverted, h, 0);
    const auto trace = [&](auto m) { return sum_over(emit_on<where>({}, is_on_diagonal(m), m, literal_like(m, 0)), matrix); };
    const auto times = [&](auto number, auto m) { return repeat(number, m, matrix) * m; };
    const auto xy = product_of(x, y, 0), yx = product_of(y, x, 0);
    const auto tx = trace(x), ty = trace(y);
    const auto inner = identity_times(tx * ty - trace(xy), a) - times(tx, y) - times(ty, x) + xy + yx;
    const auto of_a = times(of_matrices<det>(a), product_of(inverted, inner, left_transposed | right_transposed));
    return grads(above(of_a, along(a, h)));
  }
};

/// The cofactors of a square matrix: the derivatives of its determinant by its elements.
/// Saves: a.   Error: see [note: cofactors by elimination]; up to 4 x 4 that of sums of products.
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
  static constexpr auto pull(operand<T> g, operand<T> a, operand<T>) {
    const int n = a.extent(a.rank() - 1);
    // Up to 3 x 3 the derivative is a polynomial: row i of the cofactors of a 3 x 3 matrix is the cross
    // product of the two other rows.
    if (n == 0 || n == 1) return grads(literal_like(a, 0));
    if (n == 2) return grads(of_matrices<cofactors>(g));
    if (n == 3) {
      const auto next = [](auto x) { return turned<-2, 1>(x); };
      const auto after = [](auto x) { return turned<-2, 2>(x); };
      return grads(functions::cross<-1>::apply(next(a), after(g)) + functions::cross<-1>::apply(next(g), after(a)));
    }
    return grads(cofactor_slope::along(a, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op
