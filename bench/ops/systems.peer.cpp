// bench/ops/systems.peer.cpp — solutions, determinants, distances and powers of matrices by Eigen and LAPACKE, on one thread.
// SPDX-License-Identifier: BSL-1.0
#include "systems.peer.hpp"

#include <cmath>

#ifdef OPS_EIGEN
#include <Eigen/Cholesky>
#include <Eigen/LU>
#endif

namespace {

constexpr float half_log_two_pi = 0.91893853f;

#ifdef OPS_EIGEN
/// The squared length of y with l y = x.
template <int N>
float distance(const auto& l, const matrix<N, 1>& x) {
  return l.template triangularView<Eigen::Lower>().solve(x).squaredNorm();
}
template <int N>
float log_density(const auto& l, const float* x, Eigen::Index n) {
  const matrix<N, 1> centred = (vector_of<N>(x, n).array() - 0.5f).matrix();
  return -0.5f * distance<N>(l, centred) - l.diagonal().array().log().sum() - half_log_two_pi * static_cast<float>(n);
}

void systems_by_eigen(peers& all) {
  add_eigen<1, 1>(all, "cholesky_solve", []<int N>(const auto& a, const float* b, float* out, std::integral_constant<int, N>) {
    Eigen::Map<matrix<N, 1>> x(out, a.rows());
    x = a.template triangularView<Eigen::Lower>().solve(vector_of<N>(b, a.rows()));
    a.template triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  });
  add_eigen<1, 2>(all, "cholesky_inverse", []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    const matrix<N> inverse = a.template triangularView<Eigen::Lower>().solve(matrix<N>::Identity(a.rows(), a.rows()));
    square_of<N>(out, a.rows()).noalias() = inverse.transpose() * inverse;
  });
  const auto logarithm = []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    const Eigen::PartialPivLU<matrix<N>> f(a);
    float sign = static_cast<float>(f.permutationP().determinant()), sum = 0;
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      sum += std::log(std::fabs(f.matrixLU()(i, i)));
      sign = f.matrixLU()(i, i) < 0 ? -sign : sign;
    }
    *out = sign > 0 ? sum : -sum;
  };
  add_eigen<1, 0>(all, "slogdet", logarithm);
  add_eigen<1, 0>(all, "logdet", logarithm);
  add_eigen<1, 0>(all, "logdet_spd", []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    *out = 2 * Eigen::LLT<matrix<N>>(a).matrixLLT().diagonal().array().log().sum();
  });
  add_eigen<1, 0>(all, "mahalanobis", []<int N>(const auto& a, const float* x, float* out, std::integral_constant<int, N>) {
    *out = distance<N>(a, vector_of<N>(x, a.rows()));
  });
  const auto density = []<int N>(const auto& a, const float* x, float* out, std::integral_constant<int, N>) {
    *out = log_density<N>(a, x, a.rows());
  };
  add_eigen<1, 0>(all, "multivariate_normal_cholesky_lpdf", density);
  add_eigen<1, 0>(all, "multivariate_normal_lpdf", []<int N>(const auto& a, const float* x, float* out, std::integral_constant<int, N>) {
    *out = log_density<N>(Eigen::LLT<matrix<N>>(a).matrixLLT(), x, a.rows());
  });
  // Without overflow, as ebb's: the plain norm is one pass that squares all elements as they are.
  add_eigen<1, 0>(all, "matrix_norm", []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    *out = vector_of<(N > 0 ? N * N : N)>(a.data(), a.size()).stableNorm();
  });
  add_eigen<2, 2>(all, "matrix_power", []<int N>(const auto& a, const float* b, float* out, std::integral_constant<int, N>) {
    const matrix<N> square = square_of<N>(b, a.rows()) * square_of<N>(b, a.rows());
    square_of<N>(out, a.rows()).noalias() = square * square;
  });
  add_eigen<2, 2>(all, "multi_dot", []<int N>(const auto& a, const float* b, float* out, std::integral_constant<int, N>) {
    const matrix<N> first = a * square_of<N>(b, a.rows());
    square_of<N>(out, a.rows()).noalias() = first * a;
  });
}
#endif

#ifdef OPS_FACTORS
float distance(const float* l, float* x, int n) {
  cblas_strsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, l, n, x, 1);
  return cblas_sdot(n, x, 1, x, 1);
}
/// x is (x - 1/2).
float log_density(const float* l, const float* x, int n, scratch& s) {
  float logs = 0;
  for (int i = 0; i < n; ++i) {
    s.b[static_cast<std::size_t>(i)] = x[i] - 0.5f;
    logs += std::log(l[i * (n + 1)]);
  }
  return -0.5f * distance(l, s.b.data(), n) - logs - half_log_two_pi * static_cast<float>(n);
}
void systems_by_lapack(peers& all) {
  add_lapack<1, 1>(all, "cholesky_solve", [](const float* a, const float* b, float* out, int n, scratch&) {
    std::copy(b, b + n, out);
    cblas_strsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, a, n, out, 1);
    cblas_strsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, a, n, out, 1);
  });
  add_lapack<1, 2>(all, "cholesky_inverse", [](const float* a, const float*, float* out, int n, scratch&) {
    std::copy(a, a + n * n, out);
    LAPACKE_spotri_work(LAPACK_COL_MAJOR, 'U', n, out, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) out[j * n + i] = out[i * n + j];
  });
  all.push_back({"lu_solve", "LAPACK", [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                   static std::vector<float> factors;
                   static std::vector<int> pivots;
                   static std::size_t rows = 0;
                   const int size = static_cast<int>(n);
                   if (rows != n || factors.size() != n * n * batch) {
                     rows = n;
                     factors.assign(a, a + n * n * batch);
                     pivots.resize(n * batch);
                     for (std::size_t k = 0; k < batch; ++k)
                       LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, size, size, factors.data() + k * n * n, size, pivots.data() + k * n);
                   }
                   std::copy(b, b + n * batch, out);
                   for (std::size_t k = 0; k < batch; ++k)
                     LAPACKE_sgetrs_work(LAPACK_COL_MAJOR, 'N', size, 1, &factors[k * n * n], size, &pivots[k * n], out + k * n, size);
                 }, nullptr});
  const auto logarithm = [](const float* a, const float*, float* out, int n, scratch& s) {
    copy(a, s.a, n);
    LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, n, n, s.a.data(), n, s.pivots.data());
    float sum = 0;
    bool negative = false;
    for (int i = 0; i < n; ++i) {
      const float x = s.a[static_cast<std::size_t>(i * (n + 1))];
      sum += std::log(std::fabs(x));
      negative ^= (x < 0) != (s.pivots[static_cast<std::size_t>(i)] != i + 1);
    }
    *out = negative ? -sum : sum;
  };
  add_lapack<1, 0>(all, "slogdet", logarithm);
  add_lapack<1, 0>(all, "logdet", logarithm);
  add_lapack<1, 0>(all, "logdet_spd", [](const float* a, const float*, float* out, int n, scratch& s) {
    copy(a, s.a, n);
    LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, s.a.data(), n);
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += std::log(s.a[static_cast<std::size_t>(i * (n + 1))]);
    *out = 2 * sum;
  });
  add_lapack<1, 0>(all, "mahalanobis", [](const float* a, const float* x, float* out, int n, scratch& s) {
    std::copy(x, x + n, s.b.begin());
    *out = distance(a, s.b.data(), n);
  });
  add_lapack<1, 0>(all, "multivariate_normal_cholesky_lpdf", [](const float* a, const float* x, float* out, int n, scratch& s) {
    *out = log_density(a, x, n, s);
  });
  add_lapack<1, 0>(all, "multivariate_normal_lpdf", [](const float* a, const float* x, float* out, int n, scratch& s) {
    copy(a, s.a, n);
    LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, s.a.data(), n);
    *out = log_density(s.a.data(), x, n, s);
  });
  add_lapack<1, 0>(all, "matrix_norm", [](const float* a, const float*, float* out, int n, scratch&) { *out = cblas_snrm2(n * n, a, 1); });
  add_lapack<2, 2>(all, "matrix_power", [](const float*, const float* b, float* out, int n, scratch& s) {
    multiply(b, b, s.a.data(), n);
    multiply(s.a.data(), s.a.data(), out, n);
  });
  add_lapack<2, 2>(all, "multi_dot", [](const float* a, const float* b, float* out, int n, scratch& s) {
    multiply(a, b, s.a.data(), n);
    multiply(s.a.data(), a, out, n);
  });
  // By the Schur forms of a and of b, which are the same here.
  add_lapack<2, 2>(all, "solve_sylvester", [](const float* a, const float* c, float* out, int n, scratch& s) {
    static std::vector<float> form, vectors;
    form.resize(s.a.size()), vectors.resize(s.a.size());
    int found = 0;
    float scale = 1;
    const auto schur = [&](std::vector<float>& triangle, std::vector<float>& q) {
      copy(a, triangle, n);
      float* const parts = s.work.data();
      LAPACKE_sgees_work(LAPACK_COL_MAJOR, 'V', 'N', nullptr, n, triangle.data(), n, &found, parts, parts + n, q.data(), n, parts + 2 * n,
                         static_cast<int>(s.work.size()) - 2 * n, nullptr);
    };
    schur(s.a, s.b);
    schur(form, vectors);
    // In rows a^T comes from the right: x^T a^T + b^T x^T = c^T.
    const auto product = [n](CBLAS_TRANSPOSE p, const float* x, CBLAS_TRANSPOSE q, const float* y, float* to) {
      cblas_sgemm(CblasColMajor, p, q, n, n, n, 1, x, n, y, n, 0, to, n);
    };
    product(CblasTrans, vectors.data(), CblasNoTrans, c, s.c.data());
    product(CblasNoTrans, s.c.data(), CblasNoTrans, s.b.data(), s.d.data());
    LAPACKE_strsyl_work(LAPACK_COL_MAJOR, 'N', 'N', 1, n, n, form.data(), n, s.a.data(), n, s.d.data(), n, &scale);
    product(CblasNoTrans, vectors.data(), CblasNoTrans, s.d.data(), s.c.data());
    product(CblasNoTrans, s.c.data(), CblasTrans, s.b.data(), out);
    for (int i = 0; i < n * n; ++i) out[i] /= scale;
  });
}
#endif

}  // namespace

std::vector<ops::matrix_peer> ops::peers_of_systems() {
  peers all;
#ifdef OPS_EIGEN
  systems_by_eigen(all);
#endif
#ifdef OPS_FACTORS
  systems_by_lapack(all);
#endif
  return all;
}
