// test/linalg/qr.cpp — QR factors and least squares: residuals in long double, recorded values, derivatives of Gram-Schmidt.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto qr = [](auto x) { return ebb::qr(x); };
constexpr auto lstsq = [](auto x, auto b) { return ebb::lstsq(x, b); };

TEST_CASE("QR factors and least squares have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 64, .grad = 1024, .second = 16384, .spread = true};
  check_named<wide<5, 3>>("linalg", "qr_3", qr, {"Q", "R"}, b);
  for (const char* name : {"qr_3", "qr_6", "qr_wide_3", "qr_wide_6", "qr_square_3", "qr_square_6"})
    check_named<wide<dyn, dyn>>("linalg", name, qr, {"Q", "R"}, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("linalg", "lstsq_3", lstsq, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("linalg", "lstsq_6", lstsq, b);
}

/// |a - q r| and |q^T q - 1| in units of the roundoff of T times the largest element, and whether r is as promised.
template <class T>
void check_factors(std::size_t m, std::size_t n, const std::vector<T>& from) {
  CAPTURE(m, n, sizeof(T));
  const std::size_t k = std::min(m, n);
  ebb::tensor<T, dyn, dyn> a(m, n);
  std::copy(from.begin(), from.end(), a.mutable_data());
  const auto [q, r] = ebb::qr(a);
  REQUIRE(q.extent(0) == m);
  REQUIRE(q.extent(1) == k);
  REQUIRE(r.extent(0) == k);
  REQUIRE(r.extent(1) == n);
  const long double unit = std::numeric_limits<T>::epsilon() * static_cast<long double>(m + n);
  for (std::size_t j = 0; j < n; ++j) {
    long double wrong = 0, size = 0;
    for (std::size_t i = 0; i < m; ++i) {
      long double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<long double>(q(i, l)) * r(l, j);
      wrong = std::max(wrong, std::fabs(sum - a(i, j)));
      size = std::max(size, std::fabs(static_cast<long double>(a(i, j))));
    }
    CHECK(wrong <= 4 * unit * size);
    for (std::size_t i = 0; i < k; ++i) {
      if (i > j) CHECK(r(i, j) == 0);
      if (i == j) CHECK(r(i, j) >= 0);
    }
  }
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      long double sum = 0;
      for (std::size_t l = 0; l < m; ++l) sum += static_cast<long double>(q(l, i)) * q(l, j);
      CHECK(std::fabs(sum - (i == j)) <= 4 * unit);
    }
}

TEST_CASE("QR factors give the matrix back, and Q is orthonormal: graded, deficient and empty matrices too") {
  const auto all = []<class T>(T, long double large) {
    for (const auto& [m, n] : {std::pair(1u, 1u), {1u, 4u}, {4u, 1u}, {3u, 3u}, {7u, 4u}, {4u, 7u}, {40u, 33u}}) {
      std::vector<T> a;
      for (double x : random_numbers(m * n, m * 10 + n)) a.push_back(static_cast<T>(x));
      check_factors<T>(m, n, a);
      std::vector<T> graded = a, deficient = a;
      for (std::size_t i = 0; i < m * n; ++i) {
        graded[i] *= static_cast<T>(i % n % 2 ? large : 1 / large);
        if (i % n > 0) deficient[i] = deficient[i - i % n];
      }
      check_factors<T>(m, n, graded);
      check_factors<T>(m, n, deficient);
      check_factors<T>(m, n, std::vector<T>(m * n));
    }
  };
  all(0.0, 1e150L);
  all(0.0f, 1e18L);
  check_factors<double>(0, 3, {});
  check_factors<double>(3, 0, {});
}

/// Gram-Schmidt with reorthogonalization: Q, then R, k columns of m; the columns of a from k on are projected.
long_numbers gram_schmidt(std::size_t m, std::size_t n, const long_numbers& a) {
  const std::size_t k = std::min(m, n);
  long_numbers q(m * k), r(k * n);
  for (std::size_t j = 0; j < n; ++j) {
    long_numbers v(m);
    for (std::size_t i = 0; i < m; ++i) v[i] = a[i * n + j];
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t l = 0; l < std::min(j, k); ++l) {
        long double sum = 0;
        for (std::size_t i = 0; i < m; ++i) sum += q[i * k + l] * v[i];
        for (std::size_t i = 0; i < m; ++i) v[i] -= sum * q[i * k + l];
        r[l * n + j] += sum;
      }
    if (j >= k) continue;
    long double sum = 0;
    for (long double x : v) sum += x * x;
    r[j * n + j] = std::sqrt(sum);
    for (std::size_t i = 0; i < m; ++i) q[i * k + j] = v[i] / r[j * n + j];
  }
  q.insert(q.end(), r.begin(), r.end());
  return q;
}

constexpr auto complete = [](auto x) { return ebb::qr(x, ebb::complete); };

TEST_CASE("complete QR factors have a square Q, the bits of the reduced ones, and zeros below: empty, deficient and NaN matrices too") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {4, 1}, {5, 3}, {3, 3}, {2, 4}, {3, 0}, {0, 3}}) {
    CAPTURE(m, n);
    for (const bool deficient : {false, true}) {
      ebb::tensor<double, dyn, dyn> a(m, n);
      const numbers from = random_numbers(m * n, 7 * m + n);
      for (std::size_t i = 0; i < m * n; ++i) a.mutable_data()[i] = deficient ? static_cast<double>(i / n == 0) : from[i];
      const auto [q, r] = complete(a);
      const auto [some, top] = ebb::qr(a);
      REQUIRE((q.extent(0) == m && q.extent(1) == m && r.extent(0) == m && r.extent(1) == n));
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < m; ++j) {
          if (j < some.extent(1)) CHECK(q(i, j) == some(i, j));
          long double columns = 0, rows = 0;
          for (std::size_t k = 0; k < m; ++k) {
            columns += static_cast<long double>(q(k, i)) * q(k, j);
            rows += static_cast<long double>(q(i, k)) * q(j, k);
          }
          CHECK(std::fabs(columns - (i == j)) < 1e-14L);
          CHECK(std::fabs(rows - (i == j)) < 1e-14L);
        }
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) CHECK(r(i, j) == (i < top.extent(0) ? top(i, j) : 0));
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto [q, r] = complete(ebb::tensor<double, 3, 2>{{nan, 1.0}, {0.0, 1.0}, {1.0, 2.0}});
  CHECK((std::isnan(q(0, 0)) && std::isnan(r(0, 0)) && r(2, 1) == 0));
  const auto many = test::random_array<ebb::tensor<double, 3, 4, 2>>(5);
  const auto [each, upper] = complete(many);
  for (std::size_t b = 0; b < 3; ++b) {
    const auto [own, top] = complete(ebb::tensor<double, 4, 2>(many.row(b)));
    for (std::size_t i = 0; i < 16; ++i) CHECK(each.data()[16 * b + i] == own.data()[i]);
  }
  const auto deficient = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(std::get<0>(complete(y))); })(x); };
  CHECK(test::says(test::raised([&] { deficient(ebb::tensor<double, 2, 1>{{1.0}, {0.0}}); }), {"singular"}));
}

TEST_CASE("complete QR factors have the first and second derivatives of Gram-Schmidt of [a, 1] in long double") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{3, 1}, {4, 2}, {2, 2}, {2, 3}}) {
    CAPTURE(m, n);
    numbers a = random_numbers(m * n, m * 10 + n);
    for (std::size_t i = 0; i < std::min(m, n); ++i) a[(m - 1 - i) * n + i] += 2;
    against_differences<wide<dyn, dyn>>("complete", complete, a, extents_of({m, n}), [m = m, n = n](const long_numbers& x) {
      long_numbers both(m * (n + m));
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) both[i * (n + m) + j] = x[i * n + j];
        both[i * (n + m) + n + i] = 1;
      }
      const long_numbers factors = gram_schmidt(m, n + m, both);
      long_numbers r(factors.begin(), factors.begin() + static_cast<std::ptrdiff_t>(m * m));
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) r.push_back(factors[m * m + i * (n + m) + j]);
      return r;
    }, 1e-11L, 1e-6L);
  }
}

TEST_CASE("QR factors and least squares have the derivatives of Gram-Schmidt in long double") {
  for (const auto& [m, n] : {std::pair(1u, 1u), {4u, 2u}, {3u, 3u}, {2u, 4u}}) {
    CAPTURE(m, n);
    numbers a = random_numbers(m * n, m * 10 + n);
    for (std::size_t i = 0; i < std::min(m, n); ++i) a[i * n + i] += 2;
    against_differences<wide<dyn, dyn>>("qr", qr, a, extents_of({m, n}), [m = m, n = n](const long_numbers& x) {
      return gram_schmidt(m, n, x);
    }, 1e-11L, 1e-6L);
  }
  // Columns 0 and 1 are the matrix, column 2 is the right side.
  const auto solution = [](auto x) { return ebb::lstsq(ebb::slice<1, 0, 2>(x), ebb::select<1, 2>(x)); };
  against_differences<wide<4, 3>>("lstsq", solution, random_numbers(12, 5), extents_of({4, 3}), [](const long_numbers& x) {
    long double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
    for (std::size_t i = 0; i < 12; i += 3)
      aa += x[i] * x[i], ab += x[i] * x[i + 1], bb += x[i + 1] * x[i + 1], ay += x[i] * x[i + 2], by += x[i + 1] * x[i + 2];
    const long double d = aa * bb - ab * ab;
    return long_numbers{(bb * ay - ab * by) / d, (aa * by - ab * ay) / d};
  }, 1e-10L, 1e-6L);
}

TEST_CASE("least squares: vectors, batches, one matrix for a batch, errors that name the column") {
  const auto a = test::random_array<ebb::tensor<double, 2, 5, 3>>(1);
  const auto b = test::random_array<ebb::tensor<double, 2, 5>>(2);
  const auto sides = test::random_array<ebb::tensor<double, 5, 4>>(3);
  const auto x = ebb::lstsq(a, b);
  const auto y = ebb::lstsq(a, sides);
  const auto shared = ebb::lstsq(ebb::tensor<double, 5, 3>(a.row(0)), sides);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      // The residual is orthogonal to each column.
      double of_x = 0, of_y = 0;
      for (std::size_t r = 0; r < 5; ++r) {
        double rest = b(i, r), other = sides(r, 2);
        for (std::size_t c = 0; c < 3; ++c) rest -= a(i, r, c) * x(i, c), other -= a(i, r, c) * y(i, c, 2);
        of_x += rest * a(i, r, j);
        of_y += other * a(i, r, j);
      }
      CHECK(std::fabs(of_x) < 1e-13);
      CHECK(std::fabs(of_y) < 1e-13);
      CHECK(shared(j, 2) == Approx(y(0, j, 2)).epsilon(1e-13));
    }
  ebb::tensor<double, 2, 3, 2> deficient{};
  for (std::size_t i = 0; i < 12; ++i) deficient.mutable_data()[i] = i < 6 ? static_cast<double>(i * i) : static_cast<double>(1 + i % 2);
  CHECK(test::raised([&] { ebb::lstsq(deficient, ebb::tensor<double, 3>{1.0, 2.0, 3.0}); }) ==
        "ebb::lstsq: qr: matrix 1 of 2 is rank deficient: up to rounding, column 1 is a combination of those before it");
  CHECK(test::says(test::raised([&] { ebb::lstsq(ebb::tensor<double, dyn, dyn>(2, 3), ebb::tensor<double, dyn>(2)); }),
                   {"ebb::lstsq", "[2, 3]"}));
  CHECK(test::says(test::raised([&] { ebb::lstsq(ebb::tensor<double, dyn, dyn>(3, 2), ebb::tensor<double, dyn, dyn>(2, 2)); }),
                   {"ebb::lstsq", "[3, 2]", "[2, 2]"}));
  const auto squares = ebb::grad([](auto m) {
    const auto [q, r] = ebb::qr(m);
    return ebb::sum(ebb::square(r)) + ebb::sum(q);
  });
  CHECK(test::says(test::raised([&] { squares(ebb::tensor<double, 2, 2>{{3.0, 2.0}, {0.0, 0.0}}); }), {"singular", "pivot 1 is 0"}));
}

TEST_CASE("QR factors have the same bits everywhere; NaN stays; the tape gives the gradient of the function") {
  same_bits_everywhere<double>(qr, 3, 5, 3);
  same_bits_everywhere<double>(qr, 2, 3, 5);
  same_bits_everywhere<ebb::float16>(qr, 2, 3, 3);
  same_bits_everywhere<double>(qr, 0, 3, 3);
  const auto unknown = ebb::qr(ebb::tensor<double, 2, 2>{{std::numeric_limits<double>::quiet_NaN(), 1.0}, {2.0, 3.0}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isnan(std::get<0>(unknown).data()[i]));
  static_assert(ebb::lstsq(ebb::tensor<double, 2, 2>{{2.0, 0.0}, {0.0, 4.0}}, ebb::tensor<double, 2>{2.0, 2.0})(1) == 0.5);
  const auto loss = [](const auto& x, const auto& y) {
    const auto [q, r] = ebb::qr(x);
    return ebb::sum(ebb::square(ebb::lstsq(x, y))) + ebb::sum(q) + ebb::sum(ebb::square(r));
  };
  const auto start = test::random_array<ebb::tensor<double, 4, 3>>(1);
  const auto y = test::random_array<ebb::tensor<double, 4>>(2);
  ebb::tensor<double, 4, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    ebb::backward(loss(x, y), {.compiled_autograd = captured});
    gradient[captured] = x.grad().value();
  }
  const auto functional = ebb::grad<0>(loss)(start, y);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(gradient[0].data()[i] == gradient[1].data()[i]);
    CHECK(gradient[0].data()[i] == Approx(functional.data()[i]).epsilon(1e-10));
  }
}

}  // namespace
