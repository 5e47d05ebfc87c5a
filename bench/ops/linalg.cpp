// bench/ops/linalg.cpp — matmul, also of triangles, solve, cholesky, solve_triangular, det and others beside Eigen, OpenBLAS and LAPACKE.
// SPDX-License-Identifier: BSL-1.0
#include "matrices.hpp"
#include "rows.hpp"

#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace {

using ops::matrices, ops::of, ops::vectors, ops::with_extent;

template <class T>
void matmul(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::matmul(x, y); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<matrices, N>(b, n, batch));
  });
}
template <class T>
void lower_matmul(const T* a, const T* b, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::matmul(ebb::lower(x), y); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(of<matrices, N>(out, n, batch)), of<matrices, N>(a, n, batch), of<matrices, N>(b, n, batch));
  });
}
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
template <class T>
void det(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x) { return ebb::det(x); });
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    f(ebb::into(ebb::view<T, ebb::dyn>(out, batch)), of<matrices, N>(a, n, batch));
  });
}
/// L and U of matrices with n / Rows rows and n / Columns columns: those of all matrices, one after another, then these.
template <std::size_t Rows, std::size_t Columns, class T>
void lu(const T* a, const T*, T* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto x) {
    const auto [p, l, u] = ebb::lu(x);
    return std::tuple(l, u);
  });
  const std::size_t rows = n / Rows, columns = n / Columns, least = std::min(rows, columns);
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    constexpr std::size_t m = N == ebb::dyn ? N : N / Rows, k = N == ebb::dyn ? N : N / Columns, both = std::min(m, k);
    const auto to = [&]<std::size_t M, std::size_t K>(T* data, std::size_t r, std::size_t c, std::index_sequence<M, K>) {
      if constexpr (M == ebb::dyn) return ebb::view<T, ebb::dyn, M, K>(data, batch, r, c);
      else return ebb::view<T, ebb::dyn, M, K>(data, batch);
    };
    const auto from = [&] {
      if constexpr (m == ebb::dyn) return ebb::view<const T, ebb::dyn, m, k>(a, batch, rows, columns);
      else return ebb::view<const T, ebb::dyn, m, k>(a, batch);
    }();
    f(ebb::into(to(out, rows, least, std::index_sequence<m, both>{}),
                to(out + batch * rows * least, least, columns, std::index_sequence<both, k>{})), from);
  });
}

}  // namespace

void ops::linalg(session& s) {
  const auto peers = peers_of_linalg();
  const auto all_sizes = [&](const char* name, matrix_kernel<float> f, matrix_kernel<double> d, std::size_t most = 256) {
    if (!s.wanted(name)) return;
    for (const std::size_t n : {4u, 16u, 64u, 256u})
      for (const std::size_t batch : {1u, 100u}) {
        if (n > most) continue;
        if (n == 256 && batch > 1 && s.smoke) continue;
        matrix_rows<float>(s, peers, name, f, &matrix_peer::f, n, batch);
        matrix_rows<double>(s, peers, name, d, &matrix_peer::d, n, batch);
      }
  };
  all_sizes("matmul", &matmul<float>, &matmul<double>);
  all_sizes("lower matmul", &lower_matmul<float>, &lower_matmul<double>);
  all_sizes("solve", &solve<float>, &solve<double>);
  all_sizes("cholesky", &cholesky<float>, &cholesky<double>);
  all_sizes("solve_triangular", &solve_triangular<float>, &solve_triangular<double>);
  all_sizes("det", &det<float>, &det<double>, 16);  // those of larger matrices are infinite in float
  all_sizes("lu", &lu<1, 1, float>, &lu<1, 1, double>);
  all_sizes("lu tall", &lu<1, 2, float>, &lu<1, 2, double>);
  all_sizes("lu wide", &lu<2, 1, float>, &lu<2, 1, double>);
  all_sizes("tridiagonal_solve", &tridiagonal_solve<float>, &tridiagonal_solve<double>);
  all_sizes("banded_cholesky", &banded_cholesky<float>, &banded_cholesky<double>);
  all_sizes("toeplitz_solve", &toeplitz_solve<float>, &toeplitz_solve<double>);
  all_sizes("dare", &dare<float>, &dare<double>, 16);
  all_sizes("care", &care<float>, &care<double>, 16);
  all_sizes("matrix_log", &matrix_log<float>, &matrix_log<double>, 16);
}
