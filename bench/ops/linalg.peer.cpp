// bench/ops/linalg.peer.cpp — products, solutions and factors by Eigen, OpenBLAS and LAPACKE, on one thread.
// SPDX-License-Identifier: BSL-1.0
#include "linalg.hpp"

#include <algorithm>

#ifdef OPS_EIGEN
#include <Eigen/Core>
#include <Eigen/Cholesky>
#include <Eigen/LU>
#endif
#ifdef OPS_BLAS
#include <cblas.h>
#endif
#ifdef OPS_LAPACKE
#include <lapacke.h>
#endif

namespace {

/// L and U out of the matrix that has both.
template <class T>
void split(const T* f, std::size_t rows, std::size_t columns, T* l, T* u) {
  const std::size_t least = std::min(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < least; ++j) l[i * least + j] = j < i ? f[i * columns + j] : T(i == j);
  for (std::size_t i = 0; i < least; ++i)
    for (std::size_t j = 0; j < columns; ++j) u[i * columns + j] = j < i ? T(0) : f[i * columns + j];
}

#ifdef OPS_EIGEN
/// For 4 x 4 Eigen knows the extents.
template <class T, int N>
using matrix = Eigen::Matrix<T, N, N, Eigen::RowMajor>;
template <class F, class T>
void by_eigen(const T* a, const T* b, T* out, std::size_t n, std::size_t batch, std::size_t step) {
  const auto each = [&]<int N>(std::integral_constant<int, N>) {
    const auto size = static_cast<Eigen::Index>(n);
    for (std::size_t k = 0; k < batch; ++k)
      F::template run<T, N>(Eigen::Map<const matrix<T, N>>(a + k * n * n, size, size), b + k * step, out + k * step, size);
  };
  if (n == 4) each(std::integral_constant<int, 4>{});
  else each(std::integral_constant<int, Eigen::Dynamic>{});
}
template <int Rank>
constexpr std::size_t size_of(std::size_t n) {
  return Rank == 0 ? 1 : Rank == 1 ? n : n * n;
}
struct product {
  template <class T, int N>
  static void run(const auto& a, const T* b, T* out, Eigen::Index n) {
    Eigen::Map<matrix<T, N>>(out, n, n).noalias() = a * Eigen::Map<const matrix<T, N>>(b, n, n);
  }
};
struct product_of_triangle {
  template <class T, int N>
  static void run(const auto& a, const T* b, T* out, Eigen::Index n) {
    Eigen::Map<matrix<T, N>>(out, n, n).noalias() = a.template triangularView<Eigen::Lower>() * Eigen::Map<const matrix<T, N>>(b, n, n);
  }
};
struct solution {
  template <class T, int N>
  static void run(const auto& a, const T* b, T* out, Eigen::Index n) {
    using vector = Eigen::Matrix<T, N, 1>;
    Eigen::Map<vector>(out, n) = a.partialPivLu().solve(Eigen::Map<const vector>(b, n));
  }
};
struct triangular_solution {
  template <class T, int N>
  static void run(const auto& a, const T* b, T* out, Eigen::Index n) {
    using vector = Eigen::Matrix<T, N, 1>;
    Eigen::Map<vector>(out, n) = a.template triangularView<Eigen::Lower>().solve(Eigen::Map<const vector>(b, n));
  }
};
struct determinant {
  template <class T, int N>
  static void run(const auto& a, const T*, T* out, Eigen::Index) {
    *out = a.determinant();
  }
};
struct factor {
  template <class T, int N>
  static void run(const auto& a, const T*, T* out, Eigen::Index n) {
    Eigen::Map<matrix<T, N>>(out, n, n) = a.llt().matrixL();
  }
};
template <class T>
void lu_eigen(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  const auto each = [&]<int N>(std::integral_constant<int, N>) {
    const auto size = static_cast<Eigen::Index>(n);
    Eigen::PartialPivLU<matrix<T, N>> f(size);
    for (std::size_t k = 0; k < batch; ++k) {
      f.compute(Eigen::Map<const matrix<T, N>>(a + k * n * n, size, size));
      split(f.matrixLU().data(), n, n, out + k * n * n, out + (batch + k) * n * n);
    }
  };
  if (n == 4) each(std::integral_constant<int, 4>{});
  else each(std::integral_constant<int, Eigen::Dynamic>{});
}
#endif

#ifdef OPS_BLAS
void multiply(const float* a, const float* b, float* out, int n) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, out, n);
}
void multiply(const double* a, const double* b, double* out, int n) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, out, n);
}
void solve_in_place(const float* a, float* x, int n) { cblas_strsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, a, n, x, 1); }
void solve_in_place(const double* a, double* x, int n) {
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, a, n, x, 1);
}
template <class T>
void triangular_blas(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  std::copy(b, b + n * batch, out);
  for (std::size_t k = 0; k < batch; ++k) solve_in_place(a + k * n * n, out + k * n, static_cast<int>(n));
}
void multiply_in_place(const float* a, float* x, int n) {
  cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, n, 1, a, n, x, n);
}
void multiply_in_place(const double* a, double* x, int n) {
  cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, n, 1, a, n, x, n);
}
template <class T>
void lower_matmul_blas(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  std::copy(b, b + n * n * batch, out);
  for (std::size_t k = 0; k < batch; ++k) multiply_in_place(a + k * n * n, out + k * n * n, static_cast<int>(n));
}
template <class T>
void matmul_blas(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  for (std::size_t k = 0; k < batch; ++k) multiply(a + k * n * n, b + k * n * n, out + k * n * n, static_cast<int>(n));
}
#endif

#ifdef OPS_LAPACKE
void factor_and_solve(float* a, int* pivots, float* b, int n) { LAPACKE_sgesv_work(LAPACK_COL_MAJOR, n, 1, a, n, pivots, b, n); }
void factor_and_solve(double* a, int* pivots, double* b, int n) { LAPACKE_dgesv_work(LAPACK_COL_MAJOR, n, 1, a, n, pivots, b, n); }
void factor_in_place(float* a, int n) { LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n); }
void eliminate(float* a, int* pivots, int m, int n) { LAPACKE_sgetrf_work(LAPACK_ROW_MAJOR, m, n, a, n, pivots); }
void eliminate(double* a, int* pivots, int m, int n) { LAPACKE_dgetrf_work(LAPACK_ROW_MAJOR, m, n, a, n, pivots); }
void factor_in_place(double* a, int n) { LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n); }

template <class T>
void solve_lapack(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  static std::vector<T> held;
  static std::vector<int> pivots;
  held.resize(n * n);
  pivots.resize(n);
  std::copy(b, b + n * batch, out);
  for (std::size_t k = 0; k < batch; ++k) {
    std::copy(a + k * n * n, a + (k + 1) * n * n, held.begin());
    factor_and_solve(held.data(), pivots.data(), out + k * n, static_cast<int>(n));
  }
}
template <std::size_t Rows, std::size_t Columns, class T>
void lu_lapack(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  static std::vector<T> held;
  static std::vector<int> pivots;
  const std::size_t rows = n / Rows, columns = n / Columns, least = std::min(rows, columns), size = rows * columns;
  held.resize(size);
  pivots.resize(least);
  for (std::size_t k = 0; k < batch; ++k) {
    std::copy(a + k * size, a + (k + 1) * size, held.begin());
    eliminate(held.data(), pivots.data(), static_cast<int>(rows), static_cast<int>(columns));
    split(held.data(), rows, columns, out + k * rows * least, out + batch * rows * least + k * least * columns);
  }
}
template <class T>
void cholesky_lapack(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  for (std::size_t k = 0; k < batch; ++k) {
    T* const l = out + k * n * n;
    for (std::size_t i = 0; i < n; ++i) {  // the other triangle is 0
      std::copy(a + k * n * n + i * n, a + k * n * n + i * n + i + 1, l + i * n);
      std::fill(l + i * n + i + 1, l + (i + 1) * n, T(0));
    }
    factor_in_place(l, static_cast<int>(n));
  }
}
#endif

}  // namespace

std::vector<ops::matrix_peer> ops::peers_of_linalg() {
  std::vector<matrix_peer> all;
#ifdef OPS_EIGEN
  // The results are `Rank` axes of n elements.
  const auto eigen = [&]<class F, int Rank>(const char* name, F, std::integral_constant<int, Rank>) {
    all.push_back({name, "Eigen",
                   [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                     by_eigen<F>(a, b, out, n, batch, size_of<Rank>(n));
                   },
                   [](const double* a, const double* b, double* out, std::size_t n, std::size_t batch) {
                     by_eigen<F>(a, b, out, n, batch, size_of<Rank>(n));
                   }});
  };
  eigen("matmul", product{}, std::integral_constant<int, 2>{});
  eigen("lower matmul", product_of_triangle{}, std::integral_constant<int, 2>{});
  eigen("solve", solution{}, std::integral_constant<int, 1>{});
  eigen("cholesky", factor{}, std::integral_constant<int, 2>{});
  eigen("solve_triangular", triangular_solution{}, std::integral_constant<int, 1>{});
  all.push_back({"lu", "Eigen", &lu_eigen<float>, &lu_eigen<double>});
  eigen("det", determinant{}, std::integral_constant<int, 0>{});
#endif
#ifdef OPS_BLAS
  openblas_set_num_threads(1);
  all.push_back({"solve_triangular", "BLAS", &triangular_blas<float>, &triangular_blas<double>});
  all.push_back({"lower matmul", "BLAS", &lower_matmul_blas<float>, &lower_matmul_blas<double>});
  all.push_back({"matmul", "BLAS", &matmul_blas<float>, &matmul_blas<double>});
#endif
#ifdef OPS_LAPACKE
  all.push_back({"solve", "LAPACK", &solve_lapack<float>, &solve_lapack<double>});
  all.push_back({"lu", "LAPACK", &lu_lapack<1, 1, float>, &lu_lapack<1, 1, double>});
  all.push_back({"lu tall", "LAPACK", &lu_lapack<1, 2, float>, &lu_lapack<1, 2, double>});
  all.push_back({"lu wide", "LAPACK", &lu_lapack<2, 1, float>, &lu_lapack<2, 1, double>});
  all.push_back({"cholesky", "LAPACK", &cholesky_lapack<float>, &cholesky_lapack<double>});
#endif
  return all;
}
