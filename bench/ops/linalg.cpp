// bench/ops/linalg.cpp — matmul, also of triangles, det and lu beside Eigen, OpenBLAS and LAPACKE.
// SPDX-License-Identifier: BSL-1.0
#include "matrices.hpp"
#include "rows.hpp"

#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace {

using ops::matrices, ops::of, ops::with_extent;

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
  const matrices_of_all_sizes rows(s, peers_of_linalg());
  rows.add("matmul", &matmul<float>, &matmul<double>, 256, {2, 4, 8, 10, 16, 64, 100, 256});
  rows.add("lower matmul", &lower_matmul<float>, &lower_matmul<double>);
  rows.add("det", &det<float>, &det<double>, 16);  // those of larger matrices are infinite in float
  rows.add("lu", &lu<1, 1, float>, &lu<1, 1, double>);
  rows.add("lu tall", &lu<1, 2, float>, &lu<1, 2, double>);
  rows.add("lu wide", &lu<2, 1, float>, &lu<2, 1, double>);
}
