// bench/ops/systems.cpp — solutions, logarithms of determinants, distances and powers of matrices by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "systems.hpp"

#include <ebb/stats.hpp>

namespace {

/// The factors are computed once for each size.
void lu_solve(const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto factors = ebb::compile([](auto x) { return ebb::lu(x); });
  [[maybe_unused]] static constexpr auto f = ebb::compile([](auto p, auto l, auto u, auto y) { return ebb::lu_solve(p, l, u, y); });
  static std::vector<float> p, l, u;
  static std::size_t rows = 0;
  ops::with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    const auto square = [&](auto* x) { return ops::of<ops::matrices, N>(x, n, batch); };
    if (rows != n || p.size() != n * n * batch) {
      rows = n;
      for (auto* x : {&p, &l, &u}) x->assign(n * n * batch, 0);
      factors(ebb::into(square(p.data()), square(l.data()), square(u.data())), square(a));
    }
    f(ebb::into(ops::of<ops::vectors, N>(out, n, batch)), square(std::as_const(p).data()), square(std::as_const(l).data()),
      square(std::as_const(u).data()), ops::of<ops::vectors, N>(b, n, batch));
  });
}

}  // namespace

void ops::systems(session& s) {
  const matrix_table rows(s, peers_of_systems());
  // a is a triangular factor, too: its upper triangle is not read.
  rows.add<vector, square, vector>("cholesky_solve", [](auto a, auto b) { return ebb::cholesky_solve(b, a); });
  rows.add<square, square>("cholesky_inverse", [](auto a) { return ebb::cholesky_inverse(a); });
  rows.add("lu_solve", &lu_solve);
  rows.add<number, square>("logdet", [](auto a) { return ebb::logdet(a); });
  rows.add<number, square>("slogdet", [](auto a) {
    const auto [sign, log] = ebb::slogdet(a);
    return sign * log;
  });
  rows.add<number, square>("logdet_spd", [](auto a) { return ebb::logdet_spd(a); });
  rows.add<number, square, vector>("mahalanobis", [](auto a, auto x) { return ebb::mahalanobis(x, a); });
  rows.add<number, square, vector>("multivariate_normal_cholesky_lpdf", [](auto a, auto x) {
    return ebb::multivariate_normal_cholesky_lpdf(x, 0.5, a);
  });
  rows.add<number, square, vector>("multivariate_normal_lpdf", [](auto a, auto x) { return ebb::multivariate_normal_lpdf(x, 0.5, a); });
  rows.add<number, square>("matrix_norm", [](auto a) { return ebb::matrix_norm(a); });
  rows.add<square, square, square>("matrix_power", [](auto, auto b) { return ebb::matrix_power<4>(b); });
  rows.add<square, square, square>("multi_dot", [](auto a, auto b) { return ebb::multi_dot(a, b, a); });
  rows.add<square, square, square>("solve_sylvester", [](auto a, auto c) { return ebb::solve_sylvester(a, a, c); }, 16);
}
