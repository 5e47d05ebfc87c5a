// test/linalg/root.cpp — square roots and logarithms of symmetric matrices: values, derivatives where eigenvalues are equal.
// SPDX-License-Identifier: BSL-1.0
// covers: root.hpp logarithm.hpp
#include "oracle.hpp"

#include "../random_array.hpp"

namespace {

using namespace linalg_test;

constexpr auto root_of_symmetric = [](auto x) { return ebb::matrix_sqrt((x + ebb::transpose(x)) / 2); };

/// (a + sqrt(det a)) / sqrt(trace a + 2 sqrt(det a)), for 2 x 2.
long_numbers root_of_two(const long_numbers& a) {
  const long double off = (a[1] + a[2]) / 2, d = std::sqrt(a[0] * a[3] - off * off), by = std::sqrt(a[0] + a[3] + 2 * d);
  return {(a[0] + d) / by, off / by, off / by, (a[3] + d) / by};
}

TEST_CASE("square roots of matrices have PyTorch's recorded values and the derivatives of the closed form, at equal eigenvalues too") {
  const golden::bounds b{.value = 128, .grad = 1024, .second = 8192, .spread = true};
  check_recorded<wide<3, 3>>("linalg", "matrix_sqrt_3", root_of_symmetric, b);
  check_recorded<wide<dyn, dyn>>("linalg", "matrix_sqrt_6", root_of_symmetric, b);
  for (const numbers& a : {numbers{3, 0.5, 0.25, 1}, numbers{2, 0, 0, 2}, numbers{1, 0.9, 0.9, 1}})
    against_differences<wide<dyn, dyn>>("matrix_sqrt", root_of_symmetric, a, extents_of({2, 2}), root_of_two, 1e-11L, 1e-6L);
}

TEST_CASE("square roots of matrices square to the matrix, and name a matrix that has none") {
  for (const std::size_t n : {1u, 2u, 5u, 20u}) {
    CAPTURE(n);
    const numbers x = random_numbers(n * n, n);
    ebb::tensor<double, dyn, dyn> a(n, n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < n; ++k) a.mutable_data()[i * n + j] += x[i * n + k] * x[j * n + k];
    const auto r = ebb::matrix_sqrt(a);
    const auto square = ebb::matmul(r, r);
    for (std::size_t i = 0; i < n * n; ++i) CHECK(square.data()[i] == Approx(a.data()[i]).margin(1e-13 * static_cast<double>(n)));
  }
  const auto deficient = ebb::matrix_sqrt(ebb::tensor<double, 2, 2>{{4.0, 4.0}, {4.0, 4.0}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(deficient.data()[i] == Approx(std::sqrt(2.0)));
  const ebb::tensor<double, 2, 2, 2> some{{{4.0, 0.0}, {0.0, 9.0}}, {{1.0, 2.0}, {2.0, 1.0}}};
  CHECK(test::raised([&] { ebb::matrix_sqrt(some); }) == "ebb::matrix_sqrt: matrix 1 of 2 has a negative eigenvalue");
  CHECK(std::isnan(ebb::matrix_sqrt(ebb::tensor<double, 1, 1>{{std::numeric_limits<double>::quiet_NaN()}})(0, 0)));
  CHECK(test::says(test::raised([&] { ebb::matrix_sqrt(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::matrix_sqrt", "[2, 3]"}));
  static_assert(ebb::matrix_sqrt(ebb::tensor<double, 2, 2>{{4.0, 0.0}, {0.0, 9.0}})(1, 1) == 3);
  // Dominated by its diagonal, so that the root exists.
  same_bits_everywhere<double>([](auto x) { return ebb::matrix_sqrt(x + 4 * ebb::matrix_power<0>(x)); }, 2, 3, 3);
}

constexpr auto log_of_symmetric = [](auto x) { return ebb::matrix_log((x + ebb::transpose(x)) / 2); };

long_numbers long_product(std::size_t n, const long_numbers& a, const long_numbers& b) {
  long_numbers r(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) r[i * n + j] += a[i * n + k] * b[k * n + j];
  return r;
}
/// By Gauss-Jordan: the matrices here are positive definite, so no row is exchanged.
long_numbers long_inverse(std::size_t n, long_numbers a) {
  for (std::size_t k = 0; k < n; ++k) {
    const long double pivot = a[k * n + k];
    a[k * n + k] = 1;
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const long double by = a[i * n + k];
      a[i * n + k] = 0;
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= by * a[k * n + j];
    }
  }
  return a;
}
/// Six square roots y by Newton's iteration, then 64 times the series of 2 atanh((y - 1) / (y + 1)).
long_numbers log_by_roots(std::size_t n, const long_numbers& a) {
  long_numbers y(n * n), sum(n * n);
  for (std::size_t i = 0; i < n * n; ++i) y[i] = (a[i] + a[i % n * n + i / n]) / 2;
  for (int root = 0; root < 6; ++root) {
    long_numbers z(n * n);
    for (std::size_t i = 0; i < n; ++i) z[i * (n + 1)] = 1;
    for (int step = 0; step < 12; ++step) {
      const long_numbers of_y = long_inverse(n, y), of_z = long_inverse(n, z);
      for (std::size_t i = 0; i < n * n; ++i) {
        y[i] = (y[i] + of_z[i]) / 2;
        z[i] = (z[i] + of_y[i]) / 2;
      }
    }
  }
  long_numbers below = y, above = y;
  for (std::size_t i = 0; i < n; ++i) below[i * (n + 1)] -= 1, above[i * (n + 1)] += 1;
  const long_numbers x = long_product(n, below, long_inverse(n, above)), square = long_product(n, x, x);
  long_numbers power = x;
  for (int k = 1; k < 30; k += 2, power = long_product(n, power, square))
    for (std::size_t i = 0; i < n * n; ++i) sum[i] += 128 * power[i] / k;
  return sum;
}

TEST_CASE("logarithms of matrices have the first and second derivatives of a series in long double, at equal and close eigenvalues too") {
  const auto check = [](std::size_t n, const numbers& a) {
    against_differences<wide<dyn, dyn>>("matrix_log", log_of_symmetric, a, extents_of({n, n}), [&](const long_numbers& x) {
      return log_by_roots(n, x);
    }, 1e-11L, 1e-6L);
  };
  for (const numbers& a : {numbers{3, 0.5, 0.25, 1}, numbers{2, 0, 0, 2}, numbers{1, 0.9, 0.9, 1}, numbers{1, 1e-7, 0, 1.0000001}})
    check(2, a);
  // The eigenvalues 1, 4 and 4, turned; three that are within 1.2 of each other; far ones.
  check(3, {3, 1, 1, 1, 3, -1, 1, -1, 3});
  check(3, {1, 0.05, 0.02, 0.05, 1.1, 0.01, 0.02, 0.01, 0.95});
  check(3, {40, 1, 2, 1, 0.5, 0.1, 2, 0.1, 5});
  // The gradient of the trace of log(a)^2 is 2 a^-1 log(a): its derivatives are the second and the third one of the logarithm.
  against_differences<wide<dyn, dyn>>("matrix_log", [](auto x) {
    return ebb::grad([](auto y) {
      const auto l = ebb::matrix_log((y + ebb::transpose(y)) / 2);
      return ebb::sum(l * l);
    })(x);
  }, {1, 0.05, 0.02, 0.05, 1.1, 0.01, 0.02, 0.01, 3}, extents_of({3, 3}), [](const long_numbers& x) {
    long_numbers a(9);
    for (std::size_t i = 0; i < 9; ++i) a[i] = (x[i] + x[i % 3 * 3 + i / 3]) / 2;
    long_numbers r = long_product(3, long_inverse(3, a), log_by_roots(3, a));
    for (long double& e : r) e *= 2;
    return r;
  }, 1e-11L, 1e-6L);
}

TEST_CASE("exponentials of logarithms are the matrix, and a matrix without a logarithm is named") {
  for (const std::size_t n : {0u, 1u, 2u, 5u, 40u}) {
    CAPTURE(n);
    const numbers x = random_numbers(n * n, n);
    ebb::tensor<double, dyn, dyn> a(n, n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) a.mutable_data()[i * n + j] += x[i * n + k] * x[j * n + k];
        if (i == j) a.mutable_data()[i * n + j] += 0.1;
      }
    const auto back = ebb::matrix_exp(ebb::matrix_log(a));
    for (std::size_t i = 0; i < n * n; ++i) CHECK(back.data()[i] == Approx(a.data()[i]).margin(1e-12 * static_cast<double>(n)));
  }
  // Values that are far apart, and a NaN.
  const auto graded = ebb::matrix_log(ebb::tensor<double, 2, 2>{{1e-150, 0.0}, {0.0, 1e150}});
  CHECK(graded(0, 0) == Approx(std::log(1e-150)));
  CHECK(graded(1, 1) == Approx(std::log(1e150)));
  CHECK(std::isnan(ebb::matrix_log(ebb::tensor<double, 1, 1>{{std::numeric_limits<double>::quiet_NaN()}})(0, 0)));
  const ebb::tensor<double, 2, 2, 2> some{{{4.0, 0.0}, {0.0, 9.0}}, {{1.0, 1.0}, {1.0, 1.0}}};
  CHECK(test::raised([&] { ebb::matrix_log(some); }) == "ebb::matrix_log: matrix 1 of 2 has an eigenvalue that is not positive");
  CHECK(test::says(test::raised([&] { ebb::matrix_log(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::matrix_log", "[2, 3]"}));
  static_assert(ebb::matrix_log(ebb::tensor<double, 2, 2>{{1.0, 0.0}, {0.0, 1.0}})(1, 1) == 0);
  same_bits_everywhere<double>([](auto x) { return ebb::matrix_log(x + 4 * ebb::matrix_power<0>(x)); }, 2, 3, 3);
}

}  // namespace
