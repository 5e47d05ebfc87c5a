// bench/ops/spectra.peer.cpp — eigenvalues, singular values and functions of them, and least squares by Eigen and LAPACKE, on one thread.
// SPDX-License-Identifier: BSL-1.0
#include "systems.peer.hpp"

#include <cmath>
#include <limits>

#ifdef OPS_EIGEN
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <unsupported/Eigen/MatrixFunctions>
#endif

namespace {

#ifdef OPS_EIGEN
void spectra_by_eigen(peers& all) {
  add_eigen<1, 1>(all, "eigvalsh", []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    Eigen::Map<matrix<N, 1>>(out, a.rows()) = Eigen::SelfAdjointEigenSolver<matrix<N>>(a, Eigen::EigenvaluesOnly).eigenvalues();
  });
  add_eigen<1, 2>(all, "matrix_sqrt", []<int N>(const auto& a, const float*, float* out, std::integral_constant<int, N>) {
    square_of<N>(out, a.rows()) = Eigen::SelfAdjointEigenSolver<matrix<N>>(a).operatorSqrt();
  });
  // With known extents, too, these take the compiler a minute.
  using square = Eigen::Map<const matrix<Eigen::Dynamic>>;
  all.push_back({"matrix_exp", "Eigen", [](const float*, const float* b, float* out, std::size_t n, std::size_t batch) {
                   const auto size = static_cast<Eigen::Index>(n);
                   for (std::size_t k = 0; k < batch; ++k)
                     square_of<Eigen::Dynamic>(out + k * n * n, size) = square(b + k * n * n, size, size).exp();
                 }, nullptr});
  all.push_back({"lstsq", "Eigen", [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                   const auto rows = static_cast<Eigen::Index>(n);
                   for (std::size_t k = 0; k < batch; ++k) {
                     const Eigen::HouseholderQR<matrix<Eigen::Dynamic>> f(square(a + k * n * n / 2, rows, rows / 2));
                     Eigen::Map<Eigen::VectorXf>(out + k * n / 2, rows / 2) = f.solve(vector_of<Eigen::Dynamic>(b + k * n, rows));
                   }
                 }, nullptr});
}
#endif

#ifdef OPS_FACTORS
/// The singular values, and the vectors: u in s.b and v^T in s.c.
void singular(const float* a, float* values, int n, scratch& s, char what) {
  copy(a, s.a, n);
  LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, what, n, n, s.a.data(), n, values, s.b.data(), n, s.c.data(), n, s.work.data(), s.size_of_work(),
                      s.pivots.data());
}
void eigen(const float* a, std::vector<float>& vectors, float* values, int n, scratch& s, char what) {
  copy(a, vectors, n);
  LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, what, 'U', n, vectors.data(), n, values, s.work.data(), s.size_of_work(), s.pivots.data(),
                      static_cast<int>(s.pivots.size()));
}
/// scale(i) times column i of the vectors, in s.d.
void scaled(const std::vector<float>& vectors, int n, scratch& s, auto scale) {
  for (int i = 0; i < n; ++i) {
    const float x = scale(i);
    for (int j = 0; j < n; ++j) s.d[static_cast<std::size_t>(i * n + j)] = x * vectors[static_cast<std::size_t>(i * n + j)];
  }
}

void spectra_by_lapack(peers& all) {
  add_lapack<1, 1>(all, "eigvalsh", [](const float* a, const float*, float* out, int n, scratch& s) { eigen(a, s.a, out, n, s, 'N'); });
  add_lapack<1, 2>(all, "matrix_sqrt", [](const float* a, const float*, float* out, int n, scratch& s) {
    eigen(a, s.b, s.c.data(), n, s, 'V');
    scaled(s.b, n, s, [&](int i) { return std::sqrt(std::max(0.0f, s.c[static_cast<std::size_t>(i)])); });
    multiply(s.b.data(), s.d.data(), out, n, CblasTrans);
  });
  add_lapack<1, 1>(all, "svdvals", [](const float* a, const float*, float* out, int n, scratch& s) { singular(a, out, n, s, 'N'); });
  add_lapack<1, 0>(all, "condition_number", [](const float* a, const float*, float* out, int n, scratch& s) {
    singular(a, s.d.data(), n, s, 'N');
    *out = s.d[0] / s.d[static_cast<std::size_t>(n - 1)];
  });
  add_lapack<1, 0>(all, "matrix_rank", [](const float* a, const float*, float* out, int n, scratch& s) {
    singular(a, s.d.data(), n, s, 'N');
    const float least = static_cast<float>(n) * std::numeric_limits<float>::epsilon() * s.d[0];
    *out = static_cast<float>(std::count_if(s.d.begin(), s.d.begin() + n, [least](float x) { return x > least; }));
  });
  add_lapack<1, 2>(all, "pinv", [](const float* a, const float*, float* out, int n, scratch& s) {
    static std::vector<float> values;
    values.resize(static_cast<std::size_t>(n));
    singular(a, values.data(), n, s, 'S');
    const float least = static_cast<float>(n) * std::numeric_limits<float>::epsilon() * values[0];
    scaled(s.b, n, s, [&](int i) { return values[static_cast<std::size_t>(i)] > least ? 1 / values[static_cast<std::size_t>(i)] : 0.0f; });
    // In columns a is transposed, and so are u and v: the result in rows is u diag(1 / s) v^T of these.
    cblas_sgemm(CblasColMajor, CblasTrans, CblasTrans, n, n, n, 1, s.c.data(), n, s.d.data(), n, 0, out, n);
  });
  all.push_back({"lstsq", "LAPACK", [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                   scratch& s = scratch::of(n);
                   const int rows = static_cast<int>(n), columns = rows / 2;
                   for (std::size_t k = 0; k < batch; ++k) {
                     const float* const from = a + k * n * n / 2;
                     for (std::size_t i = 0; i < n; ++i)
                       for (std::size_t j = 0; j < n / 2; ++j) s.a[j * n + i] = from[i * n / 2 + j];
                     std::copy(b + k * n, b + (k + 1) * n, s.b.begin());
                     LAPACKE_sgels_work(LAPACK_COL_MAJOR, 'N', rows, columns, 1, s.a.data(), rows, s.b.data(), rows, s.work.data(),
                                        s.size_of_work());
                     std::copy(s.b.begin(), s.b.begin() + columns, out + k * n / 2);
                   }
                 }, nullptr});
}
#endif

}  // namespace

std::vector<ops::matrix_peer> ops::peers_of_spectra() {
  peers all;
#ifdef OPS_EIGEN
  spectra_by_eigen(all);
#endif
#ifdef OPS_FACTORS
  spectra_by_lapack(all);
#endif
  return all;
}
