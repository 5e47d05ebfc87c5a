// test/linalg/bidiagonal.cpp — singular values and vectors by a bidiagonal form: residuals and known values of all kinds of matrices.
// SPDX-License-Identifier: BSL-1.0
// covers: bidiagonal.hpp bidiagonal_values.hpp bisection.hpp reflection.hpp rotations.hpp one_sided_jacobi.hpp
#include "oracle.hpp"

#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

template <class T>
using matrix = ebb::tensor<T, dyn, dyn>;

template <class T>
matrix<T> filled(std::size_t m, std::size_t n, const auto& element) {
  matrix<T> a(m, n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) a.mutable_data()[i * n + j] = static_cast<T>(element(i, j));
  return a;
}

/// The values fall and are those of svdvals; u s v^T is the matrix up to `bound` epsilon times its largest element; orthonormal vectors.
template <class T>
void check_triples(const char* name, const matrix<T>& a) {
  const std::size_t m = a.extent(0), n = a.extent(1), k = std::min(m, n);
  CAPTURE(name, m, n, sizeof(T));
  const auto [u, s, vt] = ebb::svd(a);
  const auto alone = ebb::svdvals(a);
  const long double unit = std::numeric_limits<T>::epsilon() * static_cast<long double>(4 * (m + n));
  long double largest = 0;
  for (std::size_t i = 0; i < m * n; ++i) largest = std::max(largest, std::fabs(static_cast<long double>(a.data()[i])));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<long double>(u(i, l)) * s(l) * vt(l, j);
      if (!(std::fabs(sum - a(i, j)) <= unit * largest)) FAIL_CHECK("element " << i << ", " << j << " is " << static_cast<double>(sum));
    }
  for (std::size_t i = 0; i < k; ++i) {
    if (!(alone(i) == s(i) && s(i) >= 0 && (i == 0 || s(i) <= s(i - 1)))) FAIL_CHECK("value " << i);
    T top = 0;
    for (std::size_t l = 0; l < m; ++l)
      if (std::fabs(u(l, i)) > std::fabs(top)) top = u(l, i);
    if (!(top > 0)) FAIL_CHECK("the sign of vector " << i);
    for (std::size_t j = 0; j <= i; ++j) {
      long double left = 0, right = 0;
      for (std::size_t l = 0; l < m; ++l) left += static_cast<long double>(u(l, i)) * u(l, j);
      for (std::size_t l = 0; l < n; ++l) right += static_cast<long double>(vt(i, l)) * vt(j, l);
      if (!(std::fabs(left - (i == j)) <= unit && std::fabs(right - (i == j)) <= unit)) FAIL_CHECK("vectors " << i << " and " << j);
    }
  }
}

template <class T>
void check_all_kinds(std::size_t m, std::size_t n, double extreme) {
  const numbers x = random_numbers(m * n, m * 100 + n);
  const auto at = [&](std::size_t i, std::size_t j) { return x[i * n + j]; };
  const auto power = [](double base, std::size_t e) { return std::pow(base, static_cast<double>(e)); };
  check_triples("random", filled<T>(m, n, at));
  check_triples("large", filled<T>(m, n, [&](auto i, auto j) { return extreme * at(i, j); }));
  check_triples("small", filled<T>(m, n, [&](auto i, auto j) { return at(i, j) / extreme; }));
  check_triples("zero", filled<T>(m, n, [](auto, auto) { return 0; }));
  check_triples("ones", filled<T>(m, n, [](auto, auto) { return 1; }));
  check_triples("rank 1", filled<T>(m, n, [&](auto i, auto j) { return x[i] * x[j]; }));
  check_triples("rank 3", filled<T>(m, n, [&](auto i, auto j) { return x[i] * x[j] + at(i, 0) * at(0, j) + at(i, 1) * at(1, j); }));
  check_triples("columns falling", filled<T>(m, n, [&](auto i, auto j) { return at(i, j) * power(0.01, j); }));
  check_triples("columns rising", filled<T>(m, n, [&](auto i, auto j) { return at(i, j) * power(2, j); }));
  check_triples("both falling", filled<T>(m, n, [&](auto i, auto j) { return at(i, j) * power(0.3, i + j); }));
  check_triples("a zero column and row", filled<T>(m, n, [&](auto i, auto j) { return i == 2 || j == 5 ? 0 : at(i, j); }));
  check_triples("one element", filled<T>(m, n, [](auto i, auto j) { return i == 3 && j == 4 ? -2 : 0; }));
  check_triples("identity", filled<T>(m, n, [](auto i, auto j) { return i == j ? 1 : 0; }));
  check_triples("bidiagonal", filled<T>(m, n, [](auto i, auto j) { return i == j || i + 1 == j ? 1 : 0; }));
  check_triples("nilpotent", filled<T>(m, n, [](auto i, auto j) { return i + 1 == j ? 1 : 0; }));
  check_triples("a zero on the diagonal", filled<T>(m, n, [](auto i, auto j) { return (i == j && i != 4) || i + 1 == j ? 1 : 0; }));
  check_triples("Kahan", filled<T>(m, n, [&](auto i, auto j) { return power(0.8, i) * (i == j ? 1 : j > i ? -0.6 : 0); }));
  check_triples("equal values", filled<T>(m, n, [](auto i, auto j) { return i / 2 == j / 2 ? (i == j ? 3 : i < j ? 4 : -4) : 0; }));
}

TEST_CASE("triples of matrices with more than 6 rows and columns give the matrix back and are orthonormal, whatever the rank") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{7, 7}, {8, 7}, {9, 16}, {16, 16}, {33, 9}, {31, 32}, {17, 50}}) {
    check_all_kinds<double>(m, n, 1e300);
    check_all_kinds<float>(m, n, 1e35);
  }
  check_triples("random", filled<double>(70, 67, [x = random_numbers(70 * 67, 3)](auto i, auto j) { return x[i * 67 + j]; }));
  check_triples("random", filled<float>(64, 130, [x = random_numbers(64 * 130, 3)](auto i, auto j) { return x[i * 130 + j]; }));
}

/// The values of the n x n matrix of ones on the diagonal and beside it, from those of a path: 2 cos(pi k / (2 n + 1)).
TEST_CASE("singular values of bidiagonal and diagonal matrices are exact up to rounding, also tiny ones") {
  const auto check = []<class T>(T, std::size_t n) {
    CAPTURE(n, sizeof(T));
    const long double unit = std::numeric_limits<T>::epsilon();
    const auto s = ebb::svdvals(filled<T>(n, n, [](auto i, auto j) { return i == j || i + 1 == j ? 1 : 0; }));
    for (std::size_t k = 1; k <= n; ++k) {
      const long double want = 2 * std::cos(std::acos(-1.0L) * static_cast<long double>(k) / static_cast<long double>(2 * n + 1));
      if (!(std::fabs(s(k - 1) - want) <= 4 * unit)) FAIL_CHECK("value " << k << " is " << static_cast<double>(s(k - 1)));
    }
    // A diagonal matrix has its own elements, in falling order, and keeps digits that are far below the first one's.
    const auto d = ebb::svdvals(filled<T>(n, n, [](auto i, auto j) { return i == j ? (i % 2 ? -1 : 1) * std::pow(0.1, i) : 0; }));
    for (std::size_t k = 0; k < n; ++k) CHECK(d(k) == static_cast<T>(std::pow(0.1, k)));
    CHECK(ebb::svdvals(filled<T>(n, n, [](auto, auto) { return 0; }))(0) == 0);
    // The columns that are 0 have the value 0.
    const auto few = ebb::svdvals(filled<T>(n, n, [](auto i, auto j) { return j < 3 ? 1. / static_cast<double>(1 + i + j) : 0; }));
    CHECK((few(2) > 0 && few(3) == 0 && few(n - 1) == 0));
    CHECK(std::isinf(ebb::condition_number(filled<T>(n, n, [](auto i, auto j) { return i == j && i > 0 ? 2 : 0; }))));
  };
  for (const std::size_t n : {7u, 8u, 15u, 16u, 17u, 40u, 65u}) {
    check(0.0, n);
    check(0.0f, n);
  }
  // Two values of a form that is not diagonal, far below the error of the largest one: the last step finds their digits.
  const auto graded = ebb::svdvals(filled<double>(8, 8, [](auto i, auto j) {
    return i == j ? (i < 6 ? 1 : 1e-30) : i == 6 && j == 7 ? 1e-30 : i == 0 && j == 1 ? 0.5 : 0;
  }));
  CHECK(graded(6) == Approx(1e-30 * 1.6180339887498948).epsilon(1e-13));
  CHECK(graded(7) == Approx(1e-30 * 0.6180339887498948).epsilon(1e-13));
}

/// The eigenvalues of a^T a by Jacobi's method in long double.
long_numbers values_in_long_double(std::size_t m, std::size_t n, const numbers& x) {
  std::vector<long_numbers> column(n, long_numbers(m));
  for (std::size_t i = 0; i < m * n; ++i) column[i % n][i / n] = x[i];
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        long double a = 0, b = 0, c = 0;
        for (std::size_t i = 0; i < m; ++i) {
          a += column[p][i] * column[p][i];
          b += column[q][i] * column[q][i];
          c += column[p][i] * column[q][i];
        }
        if (std::fabs(c) <= 1e-18L * std::sqrt(a * b)) continue;
        const long double z = (b - a) / (2 * c), t = (z < 0 ? -1 : 1) / (std::fabs(z) + std::sqrt(1 + z * z)), k = 1 / std::sqrt(1 + t * t);
        for (std::size_t i = 0; i < m; ++i) {
          const long double old = column[p][i];
          column[p][i] = k * (old - t * column[q][i]);
          column[q][i] = k * (column[q][i] + t * old);
        }
      }
  long_numbers r;
  for (const auto& c : column) r.push_back(std::sqrt(std::inner_product(c.begin(), c.end(), c.begin(), 0.0L)));
  std::sort(r.rbegin(), r.rend());
  return r;
}

TEST_CASE("singular values of random matrices are those of a Jacobi method in long double, batched and alone") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{7, 7}, {16, 16}, {20, 13}, {64, 64}, {33, 34}}) {
    CAPTURE(m, n);
    const numbers x = random_numbers(m * n, m + 1000 * n);
    const long_numbers want = m < n ? long_numbers{} : values_in_long_double(m, n, x);
    const auto wide = filled<double>(m, n, [&](auto i, auto j) { return x[i * n + j]; });
    const auto s = ebb::svdvals(wide), of_transpose = ebb::svdvals(ebb::transpose(wide));
    const auto near = ebb::svdvals(filled<float>(m, n, [&](auto i, auto j) { return x[i * n + j]; }));
    for (std::size_t k = 0; k < std::min(m, n); ++k) {
      const long double exact = m < n ? static_cast<long double>(of_transpose(k)) : want[k];
      if (!(std::fabs(s(k) - exact) <= 16e-16L * s(0) && std::fabs(of_transpose(k) - exact) <= 16e-16L * s(0)))
        FAIL_CHECK("value " << k << " is " << s(k));
      if (!(std::fabs(near(k) - exact) <= 5e-7L * s(0))) FAIL_CHECK("value " << k << " in float is " << near(k));
    }
  }
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{7, 9}, {18, 8}}) {
    same_bits_everywhere<double>([](auto x) { return ebb::svd(x); }, 3, m, n);
    same_bits_everywhere<float>([](auto x) { return ebb::svd(x); }, 2, m, n);
    same_bits_everywhere<ebb::float16>([](auto x) { return ebb::svdvals(x); }, 2, m, n);
  }
}

TEST_CASE("constant expressions give the bits of a program; a NaN or an infinity anywhere gives NaN") {
  constexpr auto element = [](std::size_t i) { return static_cast<float>(i * 37 % 23) - 11 + static_cast<float>(i % 7) / 8; };
  constexpr auto given = [element] {
    ebb::tensor<float, 9, 7> a;
    for (std::size_t i = 0; i < 63; ++i) a.mutable_data()[i] = element(i);
    return a;
  };
  static constexpr auto packed = [given] {
    const auto [u, s, vt] = ebb::svd(given());
    std::array<float, 63 + 7 + 49> all{};
    for (std::size_t i = 0; i < 63; ++i) all[i] = u.data()[i];
    for (std::size_t i = 0; i < 7; ++i) all[63 + i] = s.data()[i];
    for (std::size_t i = 0; i < 49; ++i) all[70 + i] = vt.data()[i];
    return all;
  };
  constexpr auto want = packed();
  CHECK(packed() == want);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
    for (const std::size_t place : {0u, 40u, 63u}) {
      const auto a = filled<double>(8, 8, [&](auto i, auto j) { return i * 8 + j == place ? bad : 1. / static_cast<double>(1 + i + j); });
      const auto [u, s, vt] = ebb::svd(a);
      CHECK((std::isnan(s(0)) && std::isnan(s(7)) && std::isnan(u(3, 3)) && std::isnan(vt(7, 0))));
      CHECK(std::isnan(ebb::svdvals(a)(7)));
      CHECK((std::isnan(ebb::pinv(a)(1, 1)) && ebb::matrix_rank(a) == 0));
    }
}

TEST_CASE("pseudoinverses, ranks and derivatives of larger matrices") {
  const std::size_t m = 12, n = 9;
  const numbers x = random_numbers(m * n, 5);
  const auto low = filled<double>(m, n, [&](auto i, auto j) { return x[i] * x[j] + x[20 + i] * x[40 + j]; });
  CHECK(ebb::matrix_rank(low) == 2);
  const auto p = ebb::pinv(low), back = ebb::matmul(ebb::matmul(low, p), low);
  for (std::size_t i = 0; i < m * n; ++i) CHECK(back.data()[i] == Approx(low.data()[i]).margin(1e-13));
  // The gradient of the sum of values is u v^T; that of the sum of squares is 2 a, through vectors and values.
  const auto a = filled<double>(m, n, [&](auto i, auto j) { return x[i * n + j]; });
  const auto [u, s, vt] = ebb::svd(a);
  const auto want = ebb::matmul(u, vt);
  const auto nuclear = ebb::grad([](auto y) { return ebb::sum(ebb::svdvals(y)); })(a);
  const auto squares = ebb::grad([](auto y) {
    const auto [left, values, right] = ebb::svd(y);
    const auto product = ebb::matmul(left * ebb::unsqueeze<0>(values), right);
    return ebb::sum(product * product);
  })(a);
  for (std::size_t i = 0; i < m * n; ++i) {
    CHECK(nuclear.data()[i] == Approx(want.data()[i]).margin(1e-13));
    CHECK(squares.data()[i] == Approx(2 * a.data()[i]).margin(1e-12));
  }
}

}  // namespace
