// test/linalg/eigen.cpp — eigenvalues and vectors: residuals in long double, recorded values, derivatives of closed forms.
// SPDX-License-Identifier: BSL-1.0
// covers: eigen.hpp tridiagonal.hpp
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto eigen = [](auto x) { return ebb::eigh(x); };
constexpr auto half = [](auto x) { return (x + ebb::transpose<0, 2, 1>(x)) / 2; };
constexpr auto of_symmetric = [](auto x) { return ebb::eigh((x + ebb::transpose(x)) / 2); };
constexpr auto values = [](auto x) { return ebb::eigvalsh((x + ebb::transpose(x)) / 2); };

TEST_CASE("eigenvalues and eigenvectors have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 64, .grad = 2048, .second = 65536, .spread = true};
  check_named<wide<3, 3>>("linalg", "eigh_3", of_symmetric, {"w", "V"}, b);
  check_named<wide<dyn, dyn>>("linalg", "eigh_3", of_symmetric, {"w", "V"}, b);
  check_named<wide<dyn, dyn>>("linalg", "eigh_6", of_symmetric, {"w", "V"}, b);
  check_named<wide<dyn, dyn, dyn>>("linalg", "eigh_batched", [](auto x) { return ebb::eigh(half(x)); }, {"w", "V"}, b);
  check_recorded<wide<3, 3>>("linalg", "eigvalsh_3", values, b);
  check_recorded<wide<dyn, dyn>>("linalg", "eigvalsh_6", values, b);
  const auto sum_of_values = [](auto x) { return ebb::sum(values(x)); };
  check_recorded<wide<dyn, dyn>>("linalg", "eigvalsh_degenerate", sum_of_values, {.value = 0, .grad = 0, .spread = true});
  check_recorded<wide<dyn, dyn>>("linalg", "eigh_degenerate", [](auto x) {
    const auto [w, v] = of_symmetric(x);
    return ebb::sum(ebb::matmul(v * ebb::square(w), ebb::transpose(v)));
  }, {.value = 4, .grad = 0});
}

/// a v = v w and v^T v = 1 in units of the roundoff of T, w rising, the gauge. `relative`: each value within as many units of `wanted`.
template <class T>
void check_eigen(std::size_t n, const std::vector<T>& from) {
  CAPTURE(n, sizeof(T));
  ebb::tensor<T, dyn, dyn> a(n, n);
  std::copy(from.begin(), from.end(), a.mutable_data());
  const auto [w, v] = ebb::eigh(a);
  const auto alone = ebb::eigvalsh(a);
  const long double unit = std::numeric_limits<T>::epsilon() * static_cast<long double>(8 * n);
  long double norm = 0;
  const auto at = [&](std::size_t i, std::size_t j) { return static_cast<long double>(i < j ? a(j, i) : a(i, j)); };
  for (std::size_t i = 0; i < n * n; ++i) norm = std::max(norm, std::fabs(at(i / n, i % n)));
  for (std::size_t k = 0; k < n; ++k) {
    CHECK(alone(k) == w(k));
    if (k > 0) CHECK(w(k) >= w(k - 1));
    long double largest = 0, signed_largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double sum = 0, product = 0;
      for (std::size_t l = 0; l < n; ++l) sum += at(i, l) * v(l, k), product += static_cast<long double>(v(l, i)) * v(l, k);
      if (!(std::fabs(sum - static_cast<long double>(w(k)) * v(i, k)) <= unit * norm))
        FAIL_CHECK("residual in row " << i << " of vector " << k);
      if (!(std::fabs(product - (i == k)) <= unit)) FAIL_CHECK("product of vectors " << i << " and " << k);
      const long double part = v(i, k);
      if (std::fabs(part) > largest) largest = std::fabs(part), signed_largest = part;
    }
    CHECK(signed_largest > 0);
  }
}

TEST_CASE("eigenvectors are orthonormal and give the matrix back: random, graded, deficient, equal and extreme matrices") {
  const auto all = []<class T>(T, double extreme) {
    for (const std::size_t n : {1u, 2u, 3u, 8u, 33u, 60u}) {
      std::vector<T> a, graded, deficient, large, small, ones(n * n, T(1)), identity(n * n, T(0));
      for (double x : random_numbers(n * n, n)) a.push_back(static_cast<T>(x));
      for (std::size_t i = 0; i < n * n; ++i) {
        const std::size_t row = i / n, column = i % n;
        graded.push_back(a[i] * static_cast<T>(std::pow(10., -static_cast<double>(row + column))));
        deficient.push_back(static_cast<T>((1 + static_cast<double>(row)) * (1 + static_cast<double>(column))));
        large.push_back(a[i] * static_cast<T>(extreme));
        small.push_back(a[i] * static_cast<T>(1 / extreme));
        identity[i] = static_cast<T>(row == column ? 2 : 0);
      }
      for (const auto& m : {a, graded, deficient, large, small, ones, identity, std::vector<T>(n * n)}) check_eigen<T>(n, m);
    }
  };
  all(0.0, 1e300);
  all(0.0f, 1e35);
  check_eigen<double>(0, {});
  // A positive definite matrix whose values are 1e20 apart: each has its own digits.
  const auto w = ebb::eigvalsh(ebb::tensor<double, 2, 2>{{1e20, 1.0}, {1.0, 1.0}});
  CHECK(w(0) == Approx(1 - 1e-20).epsilon(1e-15));
  CHECK(w(1) == Approx(1e20).epsilon(1e-15));
}

/// Values and vectors of 2 x 2 in closed form, with the gauge.
long_numbers of_two(const long_numbers& a) {
  const long double off = (a[1] + a[2]) / 2, mean = (a[0] + a[3]) / 2, d = (a[0] - a[3]) / 2, root = std::sqrt(d * d + off * off);
  long_numbers r{mean - root, mean + root, 0, 0, 0, 0};
  for (std::size_t k = 0; k < 2; ++k) {
    long double x = off, y = r[k] - a[0];
    if (std::fabs(r[k] - a[0]) < std::fabs(r[k] - a[3])) x = r[k] - a[3], y = off;
    const long double length = std::sqrt(x * x + y * y) * ((std::fabs(x) > std::fabs(y) ? x : y) < 0 ? -1 : 1);
    r[2 + k] = x / length;
    r[4 + k] = y / length;
  }
  return r;
}

TEST_CASE("eigenvalues and vectors have the derivatives of the closed form in long double") {
  const auto check = [](const numbers& a) {
    against_differences<wide<dyn, dyn>>("eigh", of_symmetric, a, extents_of({2, 2}), of_two, 1e-11L, 1e-6L);
    against_differences<wide<2, 2>>("eigvalsh", values, a, extents_of({2, 2}), [](const long_numbers& x) {
      const long_numbers r = of_two(x);
      return long_numbers{r[0], r[1]};
    }, 1e-11L, 1e-6L);
  };
  check({2, 0.5, 0.25, -1});
  check({-1, 0.75, 1, 0.5});
  against_differences<wide<1, 1>>("one", of_symmetric, {3}, extents_of({1, 1}), [](const long_numbers& x) {
    return long_numbers{x[0], 1};
  }, 1e-15L, 1e-8L);
}

/// The sum of the projector on the space of the two least values: if they are equal, it does not depend on the vectors in it.
template <class... Tag>
constexpr auto projected = [](auto x) {
  const auto [w, v] = ebb::eigh(x, Tag{}...);
  const auto space = ebb::slice<1, 0, 2>(v);
  return ebb::sum(ebb::matmul(space, ebb::transpose(space)));
};

TEST_CASE("equal eigenvalues: the gradient of values is finite, that of vectors NaN, and 0 along rotations with the tag") {
  const ebb::tensor<double, 3, 3> a{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 5.0}};
  const auto sum_of_values = ebb::grad([](auto x) { return ebb::sum(ebb::square(ebb::eigvalsh(x))); })(a);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(sum_of_values(i, j) == 2 * a(i, j));
  const auto strict = ebb::grad(projected<>)(a);
  CHECK(std::isnan(strict(0, 1)));
  const auto relaxed = ebb::grad(projected<decltype(ebb::rotations_ignored)>)(a);
  // Row 2 turns into the space by off / (2 - 5): the derivative of sum(P) is 2 (v v^T) per direction, symmetric.
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(relaxed(i, j) == Approx((i == 2) != (j == 2) ? -1 / 3.0 : 0).margin(1e-15));
}

TEST_CASE("eigenvalues have the same bits everywhere; NaN, errors, constant expressions, the tape") {
  same_bits_everywhere<double>(eigen, 3, 4, 4);
  same_bits_everywhere<ebb::bfloat16>(eigen, 2, 3, 3);
  same_bits_everywhere<double>(eigen, 0, 3, 3);
  same_bits_everywhere<double>(eigen, 1, 35, 35);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(ebb::eigvalsh(ebb::tensor<double, 2, 2>{{1.0, 0.0}, {nan, 1.0}})(0)));
  CHECK(ebb::eigvalsh(ebb::tensor<double, 2, 2>{{1.0, nan}, {0.0, 2.0}})(1) == 2);
  CHECK(test::says(test::raised([&] { ebb::eigvalsh(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::eigvalsh", "[2, 3]"}));
  static_assert(ebb::eigvalsh(ebb::tensor<double, 2, 2>{{3.0, 0.0}, {0.0, -1.0}})(0) == -1);
  const auto loss = [](const auto& x) {
    const auto [w, v] = ebb::eigh(x);
    return ebb::sum(ebb::exp(w)) + ebb::sum(ebb::square(ebb::sum<0>(v)));
  };
  const auto start = test::random_array<ebb::tensor<double, 3, 3>>(1);
  ebb::tensor<double, 3, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    ebb::backward(loss(x), {.compiled_autograd = captured});
    gradient[captured] = x.grad().value();
  }
  const auto functional = ebb::grad(loss)(start);
  CHECK(test::same_bits(gradient[0], gradient[1]));
  for (std::size_t i = 0; i < 9; ++i) CHECK(gradient[0].data()[i] == Approx(functional.data()[i]).epsilon(1e-10).margin(1e-12));
}

}  // namespace
