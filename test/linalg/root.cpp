// test/linalg/root.cpp — square roots of symmetric matrices: squares, recorded values, derivatives where eigenvalues are equal.
// SPDX-License-Identifier: BSL-1.0
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

}  // namespace
