// test/linalg/tridiagonal.cpp — eigenvalues and vectors by a tridiagonal form: residuals and known values of all kinds of matrices.
// SPDX-License-Identifier: BSL-1.0
// covers: tridiagonal.hpp bisection.hpp reflection.hpp rotations.hpp
#include "oracle.hpp"

#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

template <class T>
using matrix = ebb::tensor<T, dyn, dyn>;

/// Only the lower triangle has the elements: above are other numbers, which are not read.
template <class T>
matrix<T> lower_of(std::size_t n, const auto& element) {
  matrix<T> a(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a.mutable_data()[i * n + j] = j > i ? T(77) : static_cast<T>(element(i, j));
  return a;
}

/// a v = v w and orthonormal v, in units of epsilon times 8 n; w rises and is that of eigvalsh; the gauge.
template <class T>
void check_eigen(const char* name, const matrix<T>& a) {
  const std::size_t n = a.extent(0);
  CAPTURE(name, n, sizeof(T));
  const auto [w, v] = ebb::eigh(a);
  const auto alone = ebb::eigvalsh(a);
  const long double unit = std::numeric_limits<T>::epsilon() * static_cast<long double>(8 * n);
  const auto at = [&](std::size_t i, std::size_t j) { return static_cast<long double>(i < j ? a(j, i) : a(i, j)); };
  long double largest = 0;
  for (std::size_t i = 0; i < n * n; ++i) largest = std::max(largest, std::fabs(at(i / n, i % n)));
  for (std::size_t k = 0; k < n; ++k) {
    if (!(alone(k) == w(k) && (k == 0 || w(k) >= w(k - 1)))) FAIL_CHECK("value " << k);
    T top = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double sum = 0, product = 0;
      for (std::size_t l = 0; l < n; ++l) sum += at(i, l) * v(l, k), product += static_cast<long double>(v(l, i)) * v(l, k);
      if (!(std::fabs(sum - static_cast<long double>(w(k)) * v(i, k)) <= unit * largest)) FAIL_CHECK("row " << i << " of vector " << k);
      if (!(std::fabs(product - (i == k)) <= unit)) FAIL_CHECK("vectors " << i << " and " << k);
      if (std::fabs(v(i, k)) > std::fabs(top)) top = v(i, k);
    }
    if (!(top > 0)) FAIL_CHECK("the sign of vector " << k);
  }
}

template <class T>
void check_all_kinds(std::size_t n, double extreme) {
  const numbers x = random_numbers(n * n, n);
  const auto at = [&](std::size_t i, std::size_t j) { return x[i * n + j]; };
  const auto power = [](double base, std::size_t e) { return std::pow(base, static_cast<double>(e)); };
  check_eigen("random", lower_of<T>(n, at));
  check_eigen("large", lower_of<T>(n, [&](auto i, auto j) { return extreme * at(i, j); }));
  check_eigen("small", lower_of<T>(n, [&](auto i, auto j) { return at(i, j) / extreme; }));
  check_eigen("zero", lower_of<T>(n, [](auto, auto) { return 0; }));
  check_eigen("ones", lower_of<T>(n, [](auto, auto) { return 1; }));
  check_eigen("rank 1", lower_of<T>(n, [&](auto i, auto j) { return x[i] * x[j]; }));
  check_eigen("graded down", lower_of<T>(n, [&](auto i, auto j) { return at(i, j) * power(0.1, i + j); }));
  check_eigen("graded up", lower_of<T>(n, [&](auto i, auto j) { return at(i, j) * power(1.5, i + j); }));
  check_eigen("one pair", lower_of<T>(n, [](auto i, auto j) { return i == 5 && j == 2 ? -3 : 0; }));
  check_eigen("diagonal", lower_of<T>(n, [&](auto i, auto j) { return i == j ? x[i] : 0; }));
  check_eigen("two blocks", lower_of<T>(n, [&](auto i, auto j) { return (i < 3) == (j < 3) ? at(i, j) : 0; }));
  check_eigen("path", lower_of<T>(n, [](auto i, auto j) { return i == j + 1 ? 1 : 0; }));
  check_eigen("Wilkinson", lower_of<T>(n, [n](auto i, auto j) {
    return i == j ? std::fabs(static_cast<double>(i) - static_cast<double>(n / 2)) : i == j + 1 ? 1 : 0;
  }));
  check_eigen("reflection", lower_of<T>(n, [n](auto i, auto j) { return (i == j ? 1 : 0) - 2. / static_cast<double>(n); }));
}

TEST_CASE("eigenvectors of more than 6 rows are orthonormal and give the matrix back, whatever the matrix") {
  for (const std::size_t n : {7u, 8u, 15u, 16u, 17u, 32u, 34u, 65u}) {
    check_all_kinds<double>(n, 1e300);
    check_all_kinds<float>(n, 1e35);
  }
}

TEST_CASE("eigenvalues of paths are those of the closed form, and diagonal matrices have their own elements") {
  const auto check = []<class T>(T, std::size_t n) {
    CAPTURE(n, sizeof(T));
    const long double unit = std::numeric_limits<T>::epsilon();
    const auto w = ebb::eigvalsh(lower_of<T>(n, [](auto i, auto j) { return i == j ? 2 : i == j + 1 ? -1 : 0; }));
    for (std::size_t k = 1; k <= n; ++k) {
      const long double want = 2 - 2 * std::cos(std::acos(-1.0L) * static_cast<long double>(k) / static_cast<long double>(n + 1));
      if (!(std::fabs(w(k - 1) - want) <= 4 * unit)) FAIL_CHECK("value " << k << " is " << static_cast<double>(w(k - 1)));
    }
    const auto d = ebb::eigvalsh(lower_of<T>(n, [](auto i, auto j) { return i == j ? -std::pow(0.1, i) : 0; }));
    for (std::size_t k = 0; k < n; ++k) CHECK(d(k) == static_cast<T>(-std::pow(0.1, k)));
  };
  for (const std::size_t n : {7u, 16u, 17u, 33u, 70u}) {
    check(0.0, n);
    check(0.0f, n);
  }
}

TEST_CASE("larger eigenproblems have the same bits everywhere, also in constant expressions; NaN gives NaN") {
  for (const std::size_t n : {7u, 18u}) {
    same_bits_everywhere<double>([](auto x) { return ebb::eigh(x); }, 3, n, n);
    same_bits_everywhere<float>([](auto x) { return ebb::eigh(x); }, 2, n, n);
    same_bits_everywhere<ebb::bfloat16>([](auto x) { return ebb::eigvalsh(x); }, 2, n, n);
  }
  static constexpr auto packed = [] {
    ebb::tensor<float, 8, 8> a;
    for (std::size_t i = 0; i < 64; ++i) a.mutable_data()[i] = static_cast<float>(i * 37 % 23) - 11 + static_cast<float>(i % 7) / 8;
    const auto [w, v] = ebb::eigh(a);
    std::array<float, 72> all{};
    for (std::size_t i = 0; i < 8; ++i) all[i] = w.data()[i];
    for (std::size_t i = 0; i < 64; ++i) all[8 + i] = v.data()[i];
    return all;
  };
  constexpr auto want = packed();
  CHECK(packed() == want);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto in_triangle = [bad](std::size_t p, std::size_t q) {
      return lower_of<double>(9, [=](auto i, auto j) { return i == p && j == q ? bad : 1. / static_cast<double>(1 + i + j); });
    };
    for (const auto& [p, q] : {std::pair<std::size_t, std::size_t>{0, 0}, {8, 0}, {8, 8}, {4, 3}}) {
      const auto [w, v] = ebb::eigh(in_triangle(p, q));
      CHECK((std::isnan(w(0)) && std::isnan(w(8)) && std::isnan(v(0, 8)) && std::isnan(v(8, 0))));
      CHECK(std::isnan(ebb::eigvalsh(in_triangle(p, q))(4)));
    }
    CHECK(std::isfinite(ebb::eigvalsh(in_triangle(0, 8))(4)));  // above the diagonal nothing is read
  }
}

TEST_CASE("roots and derivatives of larger symmetric matrices") {
  const std::size_t n = 20;
  const numbers x = random_numbers(n * n, 9);
  matrix<double> b(n, n);
  std::copy(x.begin(), x.end(), b.mutable_data());
  const auto a = ebb::matmul(b, ebb::transpose(b));
  const auto root = ebb::matrix_sqrt(a), square = ebb::matmul(root, root);
  for (std::size_t i = 0; i < n * n; ++i) CHECK(square.data()[i] == Approx(a.data()[i]).margin(1e-12));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(root(i, j) == root(j, i));
  // The gradient of the sum of squares of the values is 2 a, by values and by values with vectors.
  const auto by_values = ebb::grad([](auto y) { return ebb::sum(ebb::square(ebb::eigvalsh(y))); })(a);
  const auto by_vectors = ebb::grad([](auto y) {
    const auto [w, v] = ebb::eigh(y);
    return ebb::sum(ebb::square(ebb::matmul(v * w, ebb::transpose(v))));
  })(a);
  for (std::size_t i = 0; i < n * n; ++i) {
    CHECK(by_values.data()[i] == Approx(2 * a.data()[i]).margin(1e-11));
    CHECK(by_vectors.data()[i] == Approx(2 * a.data()[i]).margin(1e-10));
  }
}

}  // namespace
