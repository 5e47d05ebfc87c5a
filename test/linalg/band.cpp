// test/linalg/band.cpp — systems with three diagonals or with constant ones against elimination in long double, and their derivatives.
// SPDX-License-Identifier: BSL-1.0
// covers: band.hpp toeplitz.hpp
#include "oracle.hpp"

namespace {

using namespace linalg_test;

constexpr auto tridiagonal = [](auto x) {
  const auto [below, d, above, b] = ebb::unbind<0>(x);
  return ebb::tridiagonal_solve(below, d, above, b);
};

/// The rows of a have their right sides at their ends. Rows are exchanged.
long_numbers eliminated(std::vector<long_numbers> a) {
  const std::size_t n = a.size();
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
/// x has four rows: below, d, above, b.
long_numbers by_elimination(const long_numbers& x) {
  const std::size_t n = x.size() / 4;
  std::vector<long_numbers> a(n, long_numbers(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) a[i][i - 1] = x[i];
    a[i][i] = x[n + i];
    if (i + 1 < n) a[i][i + 1] = x[2 * n + i];
    a[i][n] = x[3 * n + i];
  }
  return eliminated(a);
}
/// x has three rows: the column, the row, y.
long_numbers of_constant_diagonals(const long_numbers& x) {
  const std::size_t n = x.size() / 3;
  std::vector<long_numbers> a(n, long_numbers(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i][j] = i >= j ? x[i - j] : x[n + j - i];
    a[i][n] = x[2 * n + i];
  }
  return eliminated(a);
}

TEST_CASE("tridiagonal systems have the solutions and the first and second derivatives of elimination in long double") {
  for (const std::size_t n : {1u, 2u, 5u}) {
    numbers x = random_numbers(4 * n, n);
    for (std::size_t i = 0; i < n; ++i) x[n + i] += x[n + i] < 0 ? -2 : 2;
    against_differences<wide<4, dyn>>("tridiagonal_solve", tridiagonal, x, extents_of({4, n}), by_elimination, 1e-11L, 1e-6L);
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
  static_assert(ebb::tridiagonal_solve(ebb::tensor<double, 1>{0.0}, ebb::tensor<double, 2>{2.0, 4.0}, ebb::tensor<double, 1>{0.0},
                                       ebb::tensor<double, 2>{1.0, 2.0})(1) == 0.5);
  same_bits_everywhere<double>(of_rows, 11, 4, 3);
}

TEST_CASE("Toeplitz systems have the solutions and the first and second derivatives of elimination in long double") {
  constexpr auto of_rows = [](auto x) {
    const auto [c, r, y] = ebb::unbind<-2>(ebb::slice<-2, 0, 3>(x));
    return ebb::toeplitz_solve(c, r, y);
  };
  for (const std::size_t n : {1u, 2u, 5u}) {
    numbers x = random_numbers(3 * n, n);
    x[0] += 3;
    against_differences<wide<3, dyn>>("toeplitz_solve", of_rows, x, extents_of({3, n}), of_constant_diagonals, 1e-11L, 1e-6L);
  }
  // A gradient of the symmetric form goes to the column twice; the first element of the row is not read.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, dyn> c{4.0, 1.0, 0.5}, r{nan, 1.0, 0.5}, y{1.0, 2.0, 3.0};
  CHECK(ebb::all_equal(ebb::toeplitz_solve(c, y), ebb::toeplitz_solve(c, r, y)));
  const auto both = ebb::grad<0, 1>([](auto p, auto q, auto z) { return ebb::sum(ebb::toeplitz_solve(p, q, z)); })(c, r, y);
  const auto one = ebb::grad([](auto p, auto z) { return ebb::sum(ebb::toeplitz_solve(p, z)); })(c, y);
  for (std::size_t i = 0; i < 3; ++i) CHECK(one(i) == Approx(std::get<0>(both)(i) + std::get<1>(both)(i)));
  CHECK(std::get<1>(both)(0) == 0);
  CHECK(ebb::toeplitz_solve(ebb::tensor<double, dyn>(0), ebb::tensor<double, dyn>(0)).extent(0) == 0);
  const ebb::tensor<double, 2, 2> some{{1.0, 0.5}, {1.0, 1.0}}, sides{{1.0, 2.0}, {3.0, 4.0}};
  CHECK(test::raised([&] { ebb::toeplitz_solve(some, sides); }) ==
        "ebb::toeplitz_solve: matrix 1 of 2 has a leading minor of order 2 that is 0");
  CHECK(test::says(test::raised([&] { ebb::toeplitz_solve(c, ebb::tensor<double, dyn>(2)); }), {"ebb::toeplitz_solve", "[3]", "[2]"}));
  same_bits_everywhere<double>([](auto x) {
    const auto [p, q, z] = ebb::unbind<-2>(ebb::slice<-2, 0, 3>(x));
    return ebb::toeplitz_solve(p + 4, q, z);
  }, 2, 3, 4);
}

}  // namespace
