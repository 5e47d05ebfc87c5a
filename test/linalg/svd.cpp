// test/linalg/svd.cpp — singular values and vectors: residuals in long double, recorded values, derivatives.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto svd = [](auto x) { return ebb::svd(x); };
constexpr auto svdvals = [](auto x) { return ebb::svdvals(x); };

TEST_CASE("singular values and vectors have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 128, .grad = 4096, .second = 65536, .spread = true};
  check_named<wide<3, 5>>("linalg", "svd_wide_3", svd, {"U", "S", "Vh"}, b);
  for (const char* name : {"svd_tall_3", "svd_tall_6", "svd_wide_3", "svd_wide_6"})
    check_named<wide<dyn, dyn>>("linalg", name, svd, {"U", "S", "Vh"}, b);
  check_recorded<wide<dyn, dyn>>("linalg", "svdvals_3", svdvals, b);
  check_recorded<wide<dyn, dyn>>("linalg", "svdvals_6", svdvals, b);
  check_recorded<wide<2, 2>>("linalg", "svdvals_zero", [](auto x) { return ebb::sum(ebb::svdvals(x)); }, {.value = 4, .grad = -1});
}

/// a = u s v^T, u^T u = 1 and v^T v = 1 in units of the roundoff of T, s falling, the gauge.
template <class T>
void check_triples(std::size_t m, std::size_t n, const std::vector<T>& from) {
  CAPTURE(m, n, sizeof(T));
  const std::size_t k = std::min(m, n);
  ebb::tensor<T, dyn, dyn> a(m, n);
  std::copy(from.begin(), from.end(), a.mutable_data());
  const auto [u, s, vt] = ebb::svd(a);
  const auto alone = ebb::svdvals(a);
  REQUIRE((u.extent(0) == m && u.extent(1) == k && vt.extent(0) == k && vt.extent(1) == n && s.extent(0) == k));
  const long double unit = std::numeric_limits<T>::epsilon() * static_cast<long double>(8 * (m + n));
  long double norm = 0;
  for (T x : from) norm = std::max(norm, std::fabs(static_cast<long double>(x)));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<long double>(u(i, l)) * s(l) * vt(l, j);
      if (!(std::fabs(sum - a(i, j)) <= unit * norm)) FAIL_CHECK("element " << i << ", " << j << " is " << static_cast<double>(sum));
    }
  for (std::size_t i = 0; i < k; ++i) {
    CHECK(alone(i) == s(i));
    CHECK((s(i) >= 0 && (i == 0 || s(i) <= s(i - 1))));
    for (std::size_t j = 0; j < k; ++j) {
      long double left = 0, right = 0;
      for (std::size_t l = 0; l < m; ++l) left += static_cast<long double>(u(l, i)) * u(l, j);
      for (std::size_t l = 0; l < n; ++l) right += static_cast<long double>(vt(i, l)) * vt(j, l);
      if (!(std::fabs(left - (i == j)) <= unit && std::fabs(right - (i == j)) <= unit))
        FAIL_CHECK("product of vectors " << i << " and " << j);
    }
    T largest = 0;
    for (std::size_t l = 0; l < m; ++l)
      if (std::fabs(u(l, i)) > std::fabs(largest)) largest = u(l, i);
    CHECK(largest > 0);
  }
}

TEST_CASE("singular triples give the matrix back and are orthonormal: random, graded, deficient, zero and extreme matrices") {
  const auto all = []<class T>(T, double extreme) {
    for (const auto& [m, n] : {std::pair(1u, 1u), {1u, 4u}, {4u, 1u}, {3u, 3u}, {6u, 4u}, {4u, 6u}, {21u, 17u}}) {
      std::vector<T> a, graded, deficient, large, small;
      for (double x : random_numbers(m * n, m * 10 + n)) a.push_back(static_cast<T>(x));
      for (std::size_t i = 0; i < m * n; ++i) {
        graded.push_back(a[i] * static_cast<T>(std::pow(10., -2. * static_cast<double>(i % n))));
        deficient.push_back(static_cast<T>(static_cast<double>((1 + i / n) * (1 + i % n))));
        large.push_back(a[i] * static_cast<T>(extreme));
        small.push_back(a[i] * static_cast<T>(1 / extreme));
      }
      for (const auto& x : {a, graded, deficient, large, small, std::vector<T>(m * n)}) check_triples<T>(m, n, x);
    }
  };
  all(0.0, 1e300);
  all(0.0f, 1e35);
  check_triples<double>(0, 3, {});
  check_triples<double>(3, 0, {});
  // Columns that are far apart: each value has its own digits.
  const auto s = ebb::svdvals(ebb::tensor<double, 2, 2>{{1e20, 1.0}, {0.0, 1.0}});
  CHECK(s(0) == Approx(1e20).epsilon(1e-14));
  CHECK(s(1) == Approx(1.0).epsilon(1e-14));
}

/// Values of 2 x n by the trace and the determinant of a a^T.
long_numbers values_of_two_rows(const long_numbers& a) {
  const std::size_t n = a.size() / 2;
  long double p = 0, q = 0, r = 0;
  for (std::size_t i = 0; i < n; ++i) p += a[i] * a[i], q += a[i] * a[n + i], r += a[n + i] * a[n + i];
  const long double mean = (p + r) / 2, root = std::sqrt((p - r) * (p - r) / 4 + q * q);
  return {std::sqrt(mean + root), std::sqrt((p * r - q * q) / (mean + root))};
}

TEST_CASE("singular values have the derivatives of the closed form, and projectors on vectors those of its quotients") {
  for (const std::size_t n : {2u, 3u})
    against_differences<wide<dyn, dyn>>("svdvals", svdvals, random_numbers(2 * n, n), extents_of({2, n}), values_of_two_rows, 1e-10L,
                                        1e-6L);
  // u u^T of the first vector is (a a^T - s2^2) / (s1^2 - s2^2).
  const auto projector = [](auto x) {
    const auto [u, s, vt] = ebb::svd(x);
    const auto first = ebb::slice<1, 0, 1>(u);
    return ebb::matmul(first, ebb::transpose(first));
  };
  against_differences<wide<2, 3>>("svd", projector, random_numbers(6, 3), extents_of({2, 3}), [](const long_numbers& a) {
    const long_numbers s = values_of_two_rows(a);
    const long double least = s[1] * s[1], gap = s[0] * s[0] - least;
    long double p = 0, q = 0, r = 0;
    for (std::size_t i = 0; i < 3; ++i) p += a[i] * a[i], q += a[i] * a[3 + i], r += a[3 + i] * a[3 + i];
    return long_numbers{(p - least) / gap, q / gap, q / gap, (r - least) / gap};
  }, 1e-10L, 1e-6L);
}

/// The sums of the projectors on the spaces of the two largest values.
template <class... Tag>
constexpr auto spaces = [](auto x) {
  const auto [u, s, vt] = ebb::svd(x, Tag{}...);
  const auto left = ebb::slice<1, 0, 2>(u);
  const auto right = ebb::slice<0, 0, 2>(vt);
  return ebb::sum(ebb::matmul(left, ebb::transpose(left))) + 3 * ebb::sum(ebb::matmul(ebb::transpose(right), right));
};

TEST_CASE("equal singular values: the gradient of vectors is NaN, and 0 along rotations with the tag") {
  using matrix = ebb::tensor<double, dyn, dyn>;
  const auto both = [](const matrix& a) {
    return std::pair(ebb::grad(spaces<>)(a), ebb::grad(spaces<decltype(ebb::rotations_ignored)>)(a));
  };
  const auto check = [](const auto& g, std::initializer_list<double> want) {
    std::size_t i = 0;
    for (const double w : want) {
      INFO(i);
      CHECK(g.data()[i++] == Approx(w).margin(1e-14));
    }
  };
  // A = diag(5, 5, 2) + E: in first order the projectors change at (i, 2) for i < 2, the left one by (2 E_i2 + 5 E_2i) / (25 - 4), the
  // right one by (5 E_i2 + 2 E_2i) / 21. Each stands in its sum twice.
  const auto [strict, relaxed] = both(matrix{{5.0, 0.0, 0.0}, {0.0, 5.0, 0.0}, {0.0, 0.0, 2.0}});
  CHECK(std::isnan(strict(0, 1)));
  const double of_column = 2 * (2 + 3 * 5) / 21.0, of_row = 2 * (5 + 3 * 2) / 21.0;
  check(relaxed, {0, 0, of_column, 0, 0, of_column, of_row, of_row, 0});
  // Two values 0 and a row that is not in U: the gradient is that of the value 5 alone. The right space is everything.
  const auto [infinite, finite] = both(matrix{{5.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}});
  CHECK(!std::isfinite(infinite(2, 1)));
  check(finite, {0, 0, 0, 0, 0.4, 0});
  // If values differ the tag changes nothing.
  const auto [plain, tagged] = both(matrix{{5.0, 1.0, 0.5}, {0.0, 3.0, 1.0}, {1.0, 0.0, 2.0}});
  for (std::size_t i = 0; i < 9; ++i) CHECK(plain.data()[i] == tagged.data()[i]);
}

TEST_CASE("singular values have the same bits everywhere; equal values, NaN, errors, constant expressions, the tape") {
  same_bits_everywhere<double>(svd, 3, 4, 3);
  same_bits_everywhere<ebb::float16>(svd, 2, 2, 3);
  same_bits_everywhere<double>(svd, 0, 3, 3);
  // Equal values: the gradient of the sum of values is u v^T.
  const ebb::tensor<double, 2, 2> turned{{0.0, -2.0}, {2.0, 0.0}};
  const auto g = ebb::grad([](auto x) { return ebb::sum(ebb::svdvals(x)); })(turned);
  for (std::size_t i = 0; i < 4; ++i) CHECK(g.data()[i] == turned.data()[i] / 2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(ebb::svdvals(ebb::tensor<double, 2, 2>{{1.0, 0.0}, {nan, 1.0}})(1)));
  static_assert(ebb::svdvals(ebb::tensor<double, 2, 2>{{3.0, 0.0}, {0.0, -4.0}})(0) == 4);
  const auto loss = [](const auto& x) {
    const auto [u, s, vt] = ebb::svd(x);
    return ebb::sum(ebb::exp(s)) + ebb::sum(ebb::square(ebb::sum<0>(u))) + ebb::sum(ebb::square(ebb::sum<1>(vt)));
  };
  const auto start = test::random_array<ebb::tensor<double, 3, 2>>(1);
  ebb::tensor<double, 3, 2> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    ebb::backward(loss(x), {.compiled_autograd = captured});
    gradient[captured] = x.grad().value();
  }
  const auto functional = ebb::grad(loss)(start);
  CHECK(test::same_bits(gradient[0], gradient[1]));
  for (std::size_t i = 0; i < 6; ++i) CHECK(gradient[0].data()[i] == Approx(functional.data()[i]).epsilon(1e-10).margin(1e-12));
}

}  // namespace
