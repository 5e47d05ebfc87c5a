// bench/ops/equations.cpp — systems, also with bands, Cholesky's factors, Riccati's equations and matrix_log beside Eigen and LAPACKE.
// SPDX-License-Identifier: BSL-1.0
#include "matrices.hpp"
#include "rows.hpp"

#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include <tuple>
#include <type_traits>

namespace {

using ops::matrices, ops::of, ops::vectors, ops::with_extent;

template <class T>
void solve(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::solve(x, y); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<vectors, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<vectors, N>(b, n, batch));
  });
}
template <class T>
void cholesky(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x) { return ebb::cholesky(x); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch));
  });
}
template <class T>
void solve_triangular(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::solve_triangular(x, y); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<vectors, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<vectors, N>(b, n, batch));
  });
}
template <class T>
void matrix_log(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x) { return ebb::matrix_log(x); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch));
  });
}
/// The three diagonals are made of the right sides.
template <class T>
void tridiagonal_solve(const T*, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto y) { return ebb::tridiagonal_solve(y, y + 4, y, y); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<vectors, N>(out, n, batch)), of<vectors, N>(b, n, batch));
  });
}
/// The first row of the factor of a matrix with three diagonals, which are made of the right sides.
template <class T>
void banded_cholesky(const T*, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto y) {
    return std::get<0>(ebb::unbind<-2>(ebb::slice<-2, 0, 2>(ebb::banded_cholesky(ebb::stack<-2>(ebb::abs(y) + 4, y)))));
  });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<vectors, N>(out, n, batch)), of<vectors, N>(b, n, batch));
  });
}
/// The weights are symmetric and positive definite, and the loops are stable.
template <class T>
void dare(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::dare(y * 0.1f, x, x, x); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<matrices, N>(b, n, batch));
  });
}
template <class T>
void care(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::care(y - x, x, x, x); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<matrices, N>(b, n, batch));
  });
}
/// The main diagonal is larger than the sum of the others.
template <class T>
void toeplitz_solve(const T*, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto y) {
    const auto row = y * 0.01f;
    return ebb::toeplitz_solve(ebb::concat<-1>(ebb::slice<-1, 0, 1>(y) + 4, ebb::slice<-1, 1, ebb::to_end>(row)), row, y);
  });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<vectors, N>(out, n, batch)), of<vectors, N>(b, n, batch));
  });
}

}  // namespace

void ops::equations(session& s) {
  const matrices_of_all_sizes rows(s, peers_of_linalg());
  rows.add("solve", &solve<float>, &solve<double>);
  rows.add("cholesky", &cholesky<float>, &cholesky<double>);
  rows.add("solve_triangular", &solve_triangular<float>, &solve_triangular<double>);
  rows.add("tridiagonal_solve", &tridiagonal_solve<float>, &tridiagonal_solve<double>);
  rows.add("banded_cholesky", &banded_cholesky<float>, &banded_cholesky<double>);
  rows.add("toeplitz_solve", &toeplitz_solve<float>, &toeplitz_solve<double>);
  rows.add("dare", &dare<float>, &dare<double>, 16);
  rows.add("care", &care<float>, &care<double>, 16);
  rows.add("matrix_log", &matrix_log<float>, &matrix_log<double>, 16);
}
