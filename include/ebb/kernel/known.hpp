// ebb/kernel/known.hpp — single products, systems and factors of up to four rows, whose elements are variables.
// SPDX-License-Identifier: BSL-1.0
//
// The order of operations is that of [note: order of a product], [note: order of a solution] and of [note: order of a Cholesky factor].
#pragma once

#include "triangle.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::kernel {

namespace small {

/// Replaces the rows of one matrix, in variables, by the factors of elimination: -l below the diagonal, u above. exchanged(k, i) is told of
/// each exchange of rows. False: a pivot is 0.
template <int N, class T>
EBB_INLINE bool eliminate_known(T (&w)[N][N], auto exchanged) {
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) {
    T largest = lane::abs(w[k][k]);
    int best = k;
#pragma GCC unroll 4
    for (int i = k + 1; i < N; ++i)
      if (const T size = lane::abs(w[i][k]); size > largest) {
        largest = size;
        best = i;
      }
    if (largest == 0) return false;
#pragma GCC unroll 4
    for (int i = k + 1; i < N; ++i)
      if (best == i) {
        exchanged(k, i);
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) std::swap(w[k][j], w[i][j]);
      }
#pragma GCC unroll 4
    for (int i = k + 1; i < N; ++i) {
      const T l = w[i][k] = -(w[i][k] / w[k][k]);
#pragma GCC unroll 4
      for (int j = k + 1; j < N; ++j) w[i][j] = lane::fma(l, w[k][j], w[i][j]);
    }
  }
  return true;
}

template <int N, class T>
inline bool solve_known(const linear_system& s, const T* a, const T* b, T* x) {
  T w[N][N];
  std::ptrdiff_t from[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    from[i] = i;
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) w[i][j] = s.transposed ? a[j * N + i] : a[i * N + j];
  }
  if (!eliminate_known<N>(w, [&](int k, int i) EBB_LAMBDA { std::swap(from[k], from[i]); })) return false;
  // x may be b: a column is read before its solution is written.
  for (std::ptrdiff_t j = 0; j < s.m; ++j) {
    T y[N];
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) y[i] = b ? b[from[i] * s.m + j] : T(from[i] == j);
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k)
#pragma GCC unroll 4
      for (int i = k + 1; i < N; ++i) y[i] = lane::fma(w[i][k], y[k], y[i]);
#pragma GCC unroll 4
    for (int k = N - 1; k >= 0; --k) {
      y[k] = -(y[k] / w[k][k]);
#pragma GCC unroll 4
      for (int i = 0; i < k; ++i) y[i] = lane::fma(w[i][k], y[k], y[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) x[i * s.m + j] = -y[i];
  }
  return true;
}

template <int N, class T>
inline bool factor_known(const T* a, T* l) {
  T w[N][N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int j = 0; j <= i; ++j) w[i][j] = a[i * N + j];
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 4
    for (int i = j; i < N; ++i) {
      T s = w[i][j];
#pragma GCC unroll 4
      for (int k = 0; k < j; ++k) s = lane::fma(-w[i][k], w[j][k], s);
      if (i == j && !(s > 0)) return false;
      w[i][j] = i == j ? lane::sqrt(s) : s / w[j][j];
    }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) l[i * N + j] = j <= i ? w[i][j] : T(0);
  return true;
}

/// c = op(a) op(b), all N x N. c may be a or b.
template <int N, class T>
[[gnu::noinline]] void multiply_known(bool left_transposed, bool right_transposed, const T* a, const T* b, T* c) {
  const std::ptrdiff_t a_row = left_transposed ? 1 : N, a_column = left_transposed ? N : 1;
  const std::ptrdiff_t b_row = right_transposed ? 1 : N, b_column = right_transposed ? N : 1;
  T x[N][N], y[N][N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) x[i][j] = a[i * a_row + j * a_column], y[i][j] = b[i * b_row + j * b_column];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      T acc = T(0);
#pragma GCC unroll 4
      for (int k = 0; k < N; ++k) acc = lane::fma(x[i][k], y[k][j], acc);
      c[i * N + j] = acc;
    }
}

EBB_ONCE_FOR_ALL(void multiply_known<3>(bool, bool, const float*, const float*, float*))
EBB_ONCE_FOR_ALL(void multiply_known<3>(bool, bool, const double*, const double*, double*))

/// Calls f<N>() for n = N, which is 1 to 4.
EBB_INLINE bool with_known(std::ptrdiff_t n, auto f) {
  return n == 4 ? f.template operator()<4>() : n == 3 ? f.template operator()<3>() : n == 2 ? f.template operator()<2>()
                                                                                            : f.template operator()<1>();
}

}  // namespace small

/// One product of two matrices of up to four rows and columns, compact. c may be a or b.
template <class T>
inline void multiply_known(std::ptrdiff_t n, bool left_transposed, bool right_transposed, const T* a, const T* b, T* c) {
  small::with_known(n, [&]<int N>() EBB_LAMBDA {
    small::multiply_known<N>(left_transposed, right_transposed, a, b, c);
    return true;
  });
}
/// One system of up to four rows, see solve. False: it is singular, and nothing is written.
template <class T>
inline bool solve_known(const linear_system& s, const T* a, const T* b, T* x) {
  return small::with_known(s.n, [&]<int N>() { return small::solve_known<N>(s, a, b, x); });
}
/// One factor of up to four rows, see cholesky. False: there is none, and nothing is written.
template <class T>
inline bool factor_known(std::ptrdiff_t n, const T* a, T* l) {
  return small::with_known(n, [&]<int N>() { return small::factor_known<N>(a, l); });
}

}  // namespace ebb::inline EBB_ABI::kernel
