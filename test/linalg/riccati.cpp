// test/linalg/riccati.cpp — solutions of Riccati equations: residuals, derivatives against iterations in long double, refusals.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace linalg_test;

// x is [2, 6]: a is its columns 0 and 1, b column 2, q columns 3 and 4, r the square of x(0, 5), plus 1.
constexpr auto parts_of_columns = [](auto x) {
  return std::tuple(ebb::slice<1, 0, 2>(x), ebb::slice<1, 2, 3>(x), ebb::slice<1, 3, 5>(x),
                    ebb::square(ebb::slice<0, 0, 1>(ebb::slice<1, 5, 6>(x))) + 1);
};
constexpr auto discrete = [](auto x) {
  const auto [a, b, q, r] = parts_of_columns(x);
  return ebb::dare(a, b, q, r);
};
constexpr auto continuous = [](auto x) {
  const auto [a, b, q, r] = parts_of_columns(x);
  return ebb::care(a, b, q, r);
};

struct two_by_two {
  long double a[2][2], g[2][2], q[2][2];
  explicit two_by_two(const long_numbers& x) {
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        a[i][j] = x[6 * i + j];
        g[i][j] = x[6 * i + 2] * x[6 * j + 2] / (x[5] * x[5] + 1);
        q[i][j] = (x[6 * i + 3 + j] + x[6 * j + 3 + i]) / 2;
      }
  }
};
/// 400 steps of x = a^T x (1 + g x)^-1 a + q, from 0 on.
long_numbers by_steps_in_time(const long_numbers& given) {
  const two_by_two s(given);
  long_numbers x(4);
  for (int step = 0; step < 400; ++step) {
    long double w[2][2], c[2][2] = {};
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) w[i][j] = (i == j) + s.g[i][0] * x[j] + s.g[i][1] * x[2 + j];
    const long double d = w[0][0] * w[1][1] - w[0][1] * w[1][0];
    for (std::size_t j = 0; j < 2; ++j) {
      c[0][j] = (w[1][1] * s.a[0][j] - w[0][1] * s.a[1][j]) / d;
      c[1][j] = (w[0][0] * s.a[1][j] - w[1][0] * s.a[0][j]) / d;
    }
    long_numbers next(4);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        next[2 * i + j] = s.q[i][j];
        for (std::size_t k = 0; k < 2; ++k)
          for (std::size_t l = 0; l < 2; ++l) next[2 * i + j] += s.a[k][i] * x[2 * k + l] * c[l][j];
      }
    x = next;
  }
  return x;
}
/// 20 of Newton's steps on the three equations for x00, x01 = x10 and x11, from 0 on: a is stable.
long_numbers by_newton(const long_numbers& given) {
  const two_by_two s(given);
  long double x[3] = {};
  for (int step = 0; step < 20; ++step) {
    const long double full[2][2] = {{x[0], x[1]}, {x[1], x[2]}};
    long double c[2][2], m[3][4];
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) c[i][j] = s.a[i][j] - s.g[i][0] * full[0][j] - s.g[i][1] * full[1][j];
    const auto residual = [&](std::size_t i, std::size_t j) {
      long double sum = s.q[i][j];
      for (std::size_t k = 0; k < 2; ++k) {
        sum += s.a[k][i] * full[k][j] + full[i][k] * s.a[k][j];
        for (std::size_t l = 0; l < 2; ++l) sum -= full[i][k] * s.g[k][l] * full[l][j];
      }
      return sum;
    };
    const long double rows[3][4] = {{2 * c[0][0], 2 * c[1][0], 0, -residual(0, 0)},
                                    {c[0][1], c[0][0] + c[1][1], c[1][0], -residual(0, 1)},
                                    {0, 2 * c[0][1], 2 * c[1][1], -residual(1, 1)}};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) m[i][j] = rows[i][j];
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < 3; ++i) {
        const long double by = m[i][k] / m[k][k];
        for (std::size_t j = k; j < 4 && i != k; ++j) m[i][j] -= by * m[k][j];
      }
    for (std::size_t i = 0; i < 3; ++i) x[i] += m[i][3] / m[i][i];
  }
  return {x[0], x[1], x[1], x[2]};
}

TEST_CASE("solutions of Riccati equations have the first and second derivatives of iterations in long double") {
  // The gradient comes from the equation. The first loop is unstable without control.
  const numbers unstable{1.2, 0.3, 1, 2, 0.1, 0.5, 0.1, 0.7, 0.4, 0.3, 1, 0}, stable{-1, 0.3, 1, 2, 0.1, 0.5, 0.1, -2, 0.4, 0.3, 1, 0};
  against_differences<wide<2, 6>>("dare", discrete, unstable, extents_of({2, 6}), by_steps_in_time, 1e-10L, 1e-6L);
  against_differences<wide<dyn, 6>>("care", continuous, stable, extents_of({2, 6}), by_newton, 1e-10L, 1e-6L);
}

TEST_CASE("solutions of Riccati equations fulfil them, in batches, and without one the matrix is named") {
  const std::size_t n = 4, m = 2;
  ebb::tensor<double, dyn, dyn, dyn> a(2, n, n);
  ebb::tensor<double, dyn, dyn> b(n, m), q(n, n), r(m, m);
  const auto fill = [](auto& x, std::uint64_t key) {
    const numbers from = random_numbers(x.size(), key);
    for (std::size_t i = 0; i < from.size(); ++i) x.mutable_data()[i] = from[i];
  };
  fill(a, 1);
  fill(b, 2);
  for (std::size_t i = 0; i < n; ++i) q.at(i, i) = 1;
  for (std::size_t i = 0; i < m; ++i) r.at(i, i) = 2;
  const auto x = ebb::dare(a, b, q, r), y = ebb::care(a, b, q, r);
  const auto t = [](const auto& z) { return ebb::transpose(z); };
  for (std::size_t k = 0; k < 2; ++k) {
    const auto own = a[k];
    const auto bx = ebb::matmul(t(b), x[k]), bxa = ebb::matmul(bx, own);
    const auto gain = ebb::solve(r + ebb::matmul(bx, b), bxa);
    const auto left = ebb::matmul(ebb::matmul(t(own), x[k]), own) - ebb::matmul(t(bxa), gain) + q - x[k];
    const auto by = ebb::matmul(t(b), y[k]);
    const auto second = ebb::matmul(t(own), y[k]) + ebb::matmul(y[k], own) - ebb::matmul(t(by), ebb::solve(r, by)) + q;
    for (std::size_t i = 0; i < n * n; ++i) {
      CHECK(left.data()[i] == Approx(0).margin(1e-12));
      CHECK(second.data()[i] == Approx(0).margin(1e-11));
    }
  }
  // For a = 2 and b = q = r = 1, both equations are x^2 - 4 x - 1 = 0.
  const ebb::tensor<double, 1, 1> one{{1.0}}, two{{2.0}}, none{{0.0}};
  CHECK(ebb::dare(two, one, one, one)(0, 0) == Approx(2 + std::sqrt(5.0)).epsilon(1e-14));
  CHECK(ebb::care(two, one, one, one)(0, 0) == Approx(2 + std::sqrt(5.0)).epsilon(1e-14));
  CHECK(std::isnan(ebb::dare(one * std::numeric_limits<double>::quiet_NaN(), one, one, one)(0, 0)));
  CHECK(test::raised([&] { ebb::dare(two, none, one, one); }) ==
        "ebb::dare: riccati: the matrix has no solution that makes the loop stable");
  CHECK(test::says(test::raised([&] { ebb::care(two, none, one, one); }), {"ebb::care", "no solution that makes the loop stable"}));
  CHECK(test::says(test::raised([&] { ebb::dare(two, one, one, none); }), {"ebb::dare", "is singular"}));
  CHECK(test::says(test::raised([&] { ebb::dare(a, q, q, r); }), {"ebb::dare", "[4, 4]", "[2, 2]"}));
}

}  // namespace
