// test/linalg/band.cpp — systems with three diagonals against elimination in long double, and their derivatives.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace linalg_test;

constexpr auto tridiagonal = [](auto x) {
  const auto [below, d, above, b] = ebb::unbind<0>(x);
  return ebb::tridiagonal_solve(below, d, above, b);
};

/// x has four rows: below, d, above, b. The matrix is written out, and eliminated with exchanges of rows.
long_numbers by_elimination(const long_numbers& x) {
  const std::size_t n = x.size() / 4;
  std::vector<long_numbers> a(n, long_numbers(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) a[i][i - 1] = x[i];
    a[i][i] = x[n + i];
    if (i + 1 < n) a[i][i + 1] = x[2 * n + i];
    a[i][n] = x[3 * n + i];
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[best][k])) best = i;
    std::swap(a[k], a[best]);
    for (std::size_t i = 0; i < n; ++i) {
      const long double by = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= n && i != k; ++j) a[i][j] -= by * a[k][j];
    }
  }
  long_numbers r(n);
  for (std::size_t i = 0; i < n; ++i) r[i] = a[i][n] / a[i][i];
  return r;
}

TEST_CASE("tridiagonal systems have the solutions and the first and second derivatives of elimination in long double") {
  for (const std::size_t n : {1u, 2u, 5u}) {
    numbers x = random_numbers(4 * n, n);
    for (std::size_t i = 0; i < n; ++i) x[n + i] += x[n + i] < 0 ? -2 : 2;
    against_differences<wide<4, dyn>>("tridiagonal_solve", tridiagonal, x, extents_of({4, n}), by_elimination, 1e-11L, 1e-6L);
    if (n == 5) against_differences<wide<4, 5>>("static", tridiagonal, x, extents_of({4, n}), by_elimination, 1e-11L, 1e-6L);
  }
  const ebb::tensor<double, 4, 3> x{{9.0, 1.0, 1.0}, {4.0, 4.0, 4.0}, {1.0, 1.0, 9.0}, {1.0, 2.0, 3.0}};
  const auto gradient = ebb::grad([](auto p) { return ebb::sum(tridiagonal(p)); })(x);
  CHECK((gradient(0, 0) == 0 && gradient(2, 2) == 0 && gradient(0, 1) != 0));  // two elements are not read
}

TEST_CASE("batches of tridiagonal systems have the bits of single ones, and name a system whose pivot is 0") {
  const std::size_t n = 6, batch = 19;
  const auto filled = [&](std::uint64_t key, double more) {
    ebb::tensor<double, dyn, dyn> r(batch, n);
    const numbers from = random_numbers(batch * n, key);
    for (std::size_t i = 0; i < from.size(); ++i) r.mutable_data()[i] = from[i] + more;
    return r;
  };
  const auto below = filled(1, 0), above = filled(2, 0), b = filled(3, 0);
  auto d = filled(4, 4);
  const auto x = ebb::tridiagonal_solve(below, d, above, b);
  for (std::size_t k = 0; k < batch; ++k) {
    const auto one = ebb::tridiagonal_solve(below[k], d[k], above[k], b[k]);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(one(i) == x(k, i));
      const double left = (i > 0 ? below(k, i) * x(k, i - 1) : 0) + d(k, i) * x(k, i) + (i + 1 < n ? above(k, i) * x(k, i + 1) : 0);
      CHECK(left == Approx(b(k, i)).margin(1e-14));
    }
  }
  // One matrix, whose diagonals are constant, and a batch of right sides; what is not read may be NaN.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, dyn> minus{nan, -1.0, -1.0, -1.0, -1.0, -1.0};
  const auto laplace = ebb::tridiagonal_solve(minus, ebb::tensor<double, 1>{2.0}, ebb::flip<0>(minus), b);
  for (std::size_t k = 0; k < batch; ++k) CHECK(2 * laplace(k, 5) - laplace(k, 4) == Approx(b(k, 5)).margin(1e-14));
  d.at(17, 0) = 0;
  CHECK(test::raised([&] { ebb::tridiagonal_solve(below, d, above, b); }) ==
        "ebb::tridiagonal_solve: matrix 17 of 19 has the pivot 0 in row 0: no rows are exchanged here, ebb::solve does that");
  d.at(17, 0) = nan;
  const auto with_nan = ebb::tridiagonal_solve(below, d, above, b);
  CHECK((std::isnan(with_nan(17, 0)) && with_nan(18, 5) == x(18, 5)));
  CHECK(ebb::tridiagonal_solve(ebb::tensor<double, dyn>(0), ebb::tensor<double, dyn>(0), ebb::tensor<double, dyn>(0),
                               ebb::tensor<double, dyn>(0)).extent(0) == 0);
  CHECK(test::says(test::raised([&] { ebb::tridiagonal_solve(below[0], d[0], above[0], ebb::tensor<double, dyn>(5)); }),
                   {"ebb::tridiagonal_solve", "[5]"}));
  constexpr auto of_rows = [](auto a) {
    const auto [p, q, r, s] = ebb::unbind<-2>(ebb::slice<-2, 0, 4>(a));
    return ebb::tridiagonal_solve(p, q + 4, r, s);
  };
  same_bits_everywhere<ebb::bfloat16>(of_rows, 2, 4, 3);
  same_bits_everywhere<double>(of_rows, 11, 4, 3);
}

}  // namespace
