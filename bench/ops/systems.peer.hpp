// bench/ops/systems.peer.hpp — the matrices of a batch, one after the other, in Eigen and LAPACKE.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "linalg.hpp"

#include <algorithm>
#include <type_traits>

#ifdef OPS_EIGEN
#include <Eigen/Core>
#endif
#if defined(OPS_LAPACKE) && defined(OPS_BLAS)
#define OPS_FACTORS
#include <cblas.h>
#include <lapacke.h>
#endif

namespace {

using peers = std::vector<ops::matrix_peer>;

#ifdef OPS_EIGEN
/// For 4 x 4 Eigen knows the extents.
template <int Rows, int Columns = Rows>
using matrix = Eigen::Matrix<float, Rows, Columns, Columns == 1 ? Eigen::ColMajor : Eigen::RowMajor>;

/// f(a, b, result) for each matrix; b and the result are pointers, n is the number of rows as a constant, if it is known.
template <class F>
void each_by_eigen(const float* a, const float* b, float* out, std::size_t n, std::size_t batch, std::size_t step_of_b, std::size_t step) {
  const auto run = [&]<int N>(std::integral_constant<int, N> known) {
    const auto size = static_cast<Eigen::Index>(n);
    for (std::size_t k = 0; k < batch; ++k)
      F{}(Eigen::Map<const matrix<N>>(a + k * n * n, size, size), b + k * step_of_b, out + k * step, known);
  };
  if (n == 4) run(std::integral_constant<int, 4>{});
  else run(std::integral_constant<int, Eigen::Dynamic>{});
}
/// The axes of b and of the result.
template <int OfB, int Out, class F>
void add_eigen(peers& all, const char* name, F) {
  all.push_back({name, "Eigen", [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                   each_by_eigen<F>(a, b, out, n, batch, OfB == 1 ? n : n * n, Out == 0 ? 1 : Out == 1 ? n : n * n);
                 }, nullptr});
}
template <int N>
auto vector_of(const float* b, Eigen::Index n) {
  return Eigen::Map<const matrix<N, 1>>(b, n);
}
template <int N>
auto square_of(auto* b, Eigen::Index n) {
  using held = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(b)>>, const matrix<N>, matrix<N>>;
  return Eigen::Map<held>(b, n, n);
}
#endif

#ifdef OPS_FACTORS
/// Memory that stays from call to call.
struct scratch {
  std::vector<float> a, b, c, d, work;
  std::vector<int> pivots;
  int size_of_work() const { return static_cast<int>(work.size()); }
  static scratch& of(std::size_t n) {
    static scratch s;
    for (auto* x : {&s.a, &s.b, &s.c, &s.d}) x->resize(n * n);
    s.work.resize(64 * n + 8 * n * n + 64);
    s.pivots.resize(16 * n);
    return s;
  }
};
/// f(a, b, result, n, scratch) for each matrix.
template <int OfB, int Out, class F>
void add_lapack(peers& all, const char* name, F) {
  all.push_back({name, "LAPACK", [](const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
                   scratch& s = scratch::of(n);
                   const std::size_t step = Out == 0 ? 1 : Out == 1 ? n : n * n;
                   for (std::size_t k = 0; k < batch; ++k)
                     F{}(a + k * n * n, b + k * (OfB == 1 ? n : n * n), out + k * step, static_cast<int>(n), s);
                 }, nullptr});
}
void multiply(const float* a, const float* b, float* out, int n, CBLAS_TRANSPOSE of_a = CblasNoTrans, CBLAS_TRANSPOSE of_b = CblasNoTrans) {
  cblas_sgemm(CblasRowMajor, of_a, of_b, n, n, n, 1, a, n, b, n, 0, out, n);
}
void copy(const float* from, std::vector<float>& to, int n) { std::copy(from, from + n * n, to.begin()); }
#endif

}  // namespace
