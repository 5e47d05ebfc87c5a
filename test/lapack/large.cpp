// test/lapack/large.cpp — large matrices with the target ebb::lapack: residuals in long double, refusals, derivatives.
// SPDX-License-Identifier: BSL-1.0
// covers: kernel/lapack.hpp
#include "../catch.hpp"

#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using ebb::dyn;
template <class T>
using matrix = ebb::tensor<T, dyn, dyn>;
template <class T>
using stack = ebb::tensor<T, dyn, dyn, dyn>;

template <class A>
void fill(A& a, std::uint64_t key) {
  std::mt19937_64 next(key);
  std::uniform_real_distribution<double> number(-1, 1);
  for (std::size_t i = 0; i < a.size(); ++i) a.mutable_data()[i] = static_cast<typename A::value_type>(number(next));
}
template <class A>
typename A::value_type& at(A& a, auto... i) {
  return a.mutable_data()[&std::as_const(a)(i...) - std::as_const(a).data()];
}
template <class T>
matrix<T> random_matrix(std::size_t m, std::size_t n, std::uint64_t key) {
  matrix<T> a(m, n);
  fill(a, key);
  return a;
}
/// Its eigenvalues are between n / 2 and 3 n / 2 or so; what is above its diagonal counts for no function of symmetric matrices.
template <class T>
matrix<T> random_symmetric(std::size_t n, std::uint64_t key) {
  auto a = random_matrix<T>(n, n, key);
  for (std::size_t i = 0; i < n; ++i) {
    at(a, i, i) = static_cast<T>(n);
    for (std::size_t j = 0; j < i; ++j) at(a, j, i) = a(i, j);
  }
  return a;
}

using entry = std::function<long double(std::size_t, std::size_t)>;
/// The largest |x y - z| of m x k and k x n matrices, in up to 16 rows.
long double residual(std::size_t m, std::size_t k, std::size_t n, const entry& x, const entry& y, const entry& z) {
  long double worst = 0;
  for (std::size_t i = 0; i < m; i += (m + 15) / 16)
    for (std::size_t j = 0; j < n; ++j) {
      long double sum = -z(i, j);
      for (std::size_t l = 0; l < k; ++l) sum += x(i, l) * y(l, j);
      if (!(std::fabs(sum) <= worst)) worst = std::fabs(sum);
    }
  return worst;
}
template <class A>
entry of(const A& a) {
  return [&a](std::size_t i, std::size_t j) { return static_cast<long double>(a(i, j)); };
}
entry transposed(entry a) {
  return [a](std::size_t i, std::size_t j) { return a(j, i); };
}
long double one(std::size_t i, std::size_t j) { return i == j; }
template <class T>
constexpr long double unit = std::numeric_limits<T>::epsilon();

/// Runs f for float and double.
void for_both(auto f) {
  SECTION("float") { f(float()); }
  SECTION("double") { f(double()); }
}

constexpr std::size_t n = 80, large = 520;  // large for factors of symmetric matrices and for orthogonal ones; for all

constexpr auto product = ebb::compile([](auto x, auto y) { return ebb::matmul(x, y); });
constexpr auto gram = ebb::compile([](auto x) { return ebb::matmul(ebb::transpose(x), x); });
constexpr auto outer = ebb::compile([](auto x) { return ebb::matmul(x, ebb::transpose(x)); });
constexpr auto solution = ebb::compile([](auto x, auto y) { return ebb::solve(x, y); });
constexpr auto inverse = ebb::compile([](auto x) { return ebb::inverse(x); });
constexpr auto factor = ebb::compile([](auto x) { return ebb::cholesky(x); });

TEST_CASE("large products are those of BLAS, small ones are ebb's, and both are right") {
  REQUIRE(ebb::kernel::lapack::linked);
  for_both([](auto t) {
    using T = decltype(t);
    for (const std::size_t size : {16u, 520u}) {
      CAPTURE(size);
      const auto a = random_matrix<T>(size, size, 1), b = random_matrix<T>(size, size, 2);
      const matrix<T> c = product(a, b);
      bool is_chain = true;
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; j += size / 8) {
          T sum = 0;
          for (std::size_t k = 0; k < size; ++k) sum = ebb::lane::fma(a(i, k), b(k, j), sum);
          is_chain = is_chain && c(i, j) == sum;
        }
      CHECK(is_chain == (size == 16));
      CHECK(residual(size, size, size, of(a), of(b), of(c)) <= unit<T> * static_cast<long double>(size));
    }
    const auto x = random_matrix<T>(520, 540, 3);
    const matrix<T> left = gram(x), right = outer(x);
    CHECK(residual(540, 520, 540, transposed(of(x)), of(x), of(left)) <= 1040 * unit<T>);
    CHECK(residual(520, 540, 520, of(x), transposed(of(x)), of(right)) <= 1080 * unit<T>);
  });
}

TEST_CASE("batches of large products: one matrix for each, and one for all") {
  stack<double> a(2, 520, 540), b(2, 540, 560);
  fill(a, 4), fill(b, 5);
  const auto shared = random_matrix<double>(540, 560, 6);
  const stack<double> each = product(a, b), all = product(a, shared);
  for (std::size_t k = 0; k < 2; ++k) {
    const entry x = [&](std::size_t i, std::size_t j) -> long double { return a(k, i, j); };
    const entry y = [&](std::size_t i, std::size_t j) -> long double { return b(k, i, j); };
    CHECK(residual(520, 540, 560, x, y, [&](std::size_t i, std::size_t j) -> long double { return each(k, i, j); }) <= 540 * unit<double>);
    CHECK(residual(520, 540, 560, x, of(shared), [&](std::size_t i, std::size_t j) -> long double { return all(k, i, j); }) <=
          540 * unit<double>);
  }
}

TEST_CASE("solutions and inverses of large matrices") {
  for_both([](auto t) {
    using T = decltype(t);
    auto a = random_matrix<T>(large, large, 7);
    for (std::size_t i = 0; i < large; ++i) at(a, i, (i + 5) % large) += T(60);  // rows have to be exchanged
    for (const std::size_t m : {1u, 30u}) {
      const auto b = random_matrix<T>(large, m, 8);
      const matrix<T> x = solution(a, b), turned = ebb::solve(ebb::transpose(a), b);
      CHECK(residual(large, large, m, of(a), of(x), of(b)) <= 64 * unit<T>);
      CHECK(residual(large, large, m, transposed(of(a)), of(turned), of(b)) <= 64 * unit<T>);
      const matrix<T> flat = T(0.01) * a, upper = ebb::solve_triangular(flat, b, ebb::upper, ebb::unit_diagonal, ebb::taken_transposed);
      const entry triangle = [&](std::size_t i, std::size_t j) {
        return i == j ? 1.0L : i < j ? static_cast<long double>(flat(i, j)) : 0.0L;
      };
      long double largest = 0;
      for (std::size_t i = 0; i < upper.size(); ++i) largest = std::max(largest, std::fabs(static_cast<long double>(upper.data()[i])));
      CHECK(residual(large, large, m, transposed(triangle), of(upper), of(b)) <= 100 * unit<T> * largest);
    }
    const matrix<T> i = inverse(a);
    CHECK(residual(large, large, large, of(a), of(i), one) <= 64 * unit<T>);
  });
}

TEST_CASE("Cholesky factors read the lower triangle alone, for static extents too") {
  for_both([](auto t) {
    using T = decltype(t);
    const auto symmetric = random_symmetric<T>(n, 9);
    auto a = symmetric;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) at(a, i, j) = std::numeric_limits<T>::quiet_NaN();
    const matrix<T> l = factor(a);
    CHECK(residual(n, n, n, of(l), transposed(of(l)), of(symmetric)) <= 4 * unit<T> * n);
    bool zeros = true;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) zeros = zeros && l(i, j) == 0;
    CHECK(zeros);
    if constexpr (sizeof(T) == 8) {
      const ebb::tensor<double, n, n> known = factor(ebb::view<const double, n, n>(a.data()));
      CHECK(std::memcmp(known.data(), l.data(), n * n * sizeof(T)) == 0);
    }
  });
}

TEST_CASE("a large matrix that is singular or not positive definite is refused as a small one, with its number in the batch") {
  stack<double> a(3, large, large);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < large; ++i)
      for (std::size_t j = 0; j < large; ++j) at(a, k, i, j) = i == j ? 3 : i > j ? 0.001 : 0.002;
  const auto why = [&](auto f) { return test::raised([&] { static_cast<void>(f(a)); }); };
  const auto says = [](const std::string& said, const char* what) {
    INFO(said);
    CHECK(said.find(what) != std::string::npos);
  };
  auto indefinite = a;
  at(indefinite, 2, 17, 17) = -1;
  says(test::raised([&] { static_cast<void>(ebb::cholesky(indefinite)); }),
       "cholesky: matrix 2 of 3 is not positive definite: its leading minor of order 18 is not positive");
  const stack<double> tagged = ebb::cholesky(indefinite, ebb::nan_if_not);
  CHECK((tagged(1, 17, 17) > 0 && std::isnan(tagged(2, 0, 0)) && std::isnan(tagged(2, 519, 519)) && tagged(2, 0, 1) == 0));
  for (std::size_t i = 0; i < large; ++i) at(a, 1, i, 40) = 0;
  says(why([](const auto& x) { return ebb::inverse(x); }), "inverse: matrix 1 of 3 is singular: pivot 40 is 0");
  says(why([](const auto& x) { return ebb::solve(x, x); }), "solve: matrix 1 of 3 is singular: pivot 40 is 0");
  const auto determinants = ebb::det(a);
  const auto [sign, log] = ebb::slogdet(a);
  CHECK((determinants(0) > 0 && determinants(1) == 0 && sign(1) == 0 && log(1) == -std::numeric_limits<double>::infinity()));
  const auto [p, l, u] = ebb::lu(a);
  CHECK((u(1, 40, 40) == 0 && u(0, 40, 40) != 0));
  const ebb::tensor<double, dyn, dyn> b(3, large);
  says(test::raised([&] { static_cast<void>(ebb::lstsq(a, b)); }),
       "qr: matrix 1 of 3 is rank deficient: up to rounding, column 40 is a combination of those before it");
}

TEST_CASE("a large matrix with a NaN gives NaN, and no factor") {
  auto a = random_symmetric<double>(large, 10);
  at(a, 20, 20) = std::numeric_limits<double>::quiet_NaN();
  const matrix<double> x = solution(a, random_matrix<double>(large, 2, 11));
  CHECK(std::isnan(x(0, 0)));
  CHECK(std::isnan(ebb::det(a)));
  auto small = random_symmetric<double>(n, 10);
  at(small, 70, 20) = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(ebb::eigvalsh(small)(79)));
  CHECK(std::isnan(ebb::svdvals(small)(0)));
  CHECK(test::raised([&] { static_cast<void>(factor(a)); }).find("minor of order 21 is not positive") != std::string::npos);
}

TEST_CASE("determinants and triangular factors of large matrices") {
  for_both([](auto t) {
    using T = decltype(t);
    const auto a = random_matrix<T>(large, large, 12);
    const auto [p, l, u] = ebb::lu(a);
    const matrix<T> rows = ebb::matmul(ebb::transpose(p), a);
    CHECK(residual(large, large, large, of(l), of(u), of(rows)) <= unit<T> * large);
    long double log = 0, sign = 1, largest = 0;
    for (std::size_t i = 0; i < large; ++i) {
      log += std::log(std::fabs(static_cast<long double>(u(i, i))));
      if (u(i, i) < 0) sign = -sign;
      for (std::size_t j = 0; j < i; ++j) largest = std::max(largest, std::fabs(static_cast<long double>(l(i, j))));
    }
    CHECK(largest <= 1);
    std::vector<std::size_t> from(large);  // the sign of the permutation, by its exchanges
    for (std::size_t i = 0; i < large; ++i)
      for (std::size_t j = 0; j < large; ++j)
        if (p(i, j) == 1) from[i] = j;
    for (std::size_t i = 0; i < large; ++i)
      for (; from[i] != i; sign = -sign) std::swap(from[i], from[from[i]]);
    const auto [of_sign, of_log] = ebb::slogdet(a);
    CHECK(static_cast<long double>(of_sign) == sign);
    CHECK(std::fabs(static_cast<long double>(of_log) - log) <= 1000 * unit<T> * std::fabs(log));
    const auto size = static_cast<T>(std::exp(log / large));
    const matrix<T> scaled = a / size;  // its determinant is near 1
    const long double expected = sign * std::exp(log - large * std::log(static_cast<long double>(size)));
    // A relative change of element a_ij by e changes the determinant by the part e a_ij (a^-1)_ji.
    const matrix<T> inverted = ebb::inverse(a);
    long double parts = 0;
    for (std::size_t i = 0; i < large; ++i)
      for (std::size_t j = 0; j < large; ++j) parts += std::fabs(static_cast<long double>(a(i, j)) * inverted(j, i));
    CHECK(std::fabs(static_cast<long double>(ebb::det(scaled)) - expected) <= 4 * unit<T> * parts * std::fabs(expected));
    CHECK(parts <= 100.0L * large);
  });
}

TEST_CASE("triangular factors of large tall and wide matrices, singular ones too") {
  for_both([](auto t) {
    using T = decltype(t);
    for (const auto& [m, k] : {std::pair<std::size_t, std::size_t>{700, large}, {large, 700}})
      for (const bool singular : {false, true}) {
        CAPTURE(m, k, singular);
        auto a = random_matrix<T>(m, k, 18);
        for (std::size_t i = 0; i < m && singular; ++i) at(a, i, 40) = 0;
        const auto [p, l, u] = ebb::lu(a);
        REQUIRE((p.extent(1) == m && l.extent(1) == large && u.extent(0) == large));
        const matrix<T> rows = ebb::matmul(ebb::transpose(p), a);
        CHECK(residual(m, large, k, of(l), of(u), of(rows)) <= unit<T> * large);
        CHECK((u(40, 40) == 0) == singular);
        long double largest = 0;
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < i && j < large; ++j) largest = std::max(largest, std::fabs(static_cast<long double>(l(i, j))));
        CHECK(largest <= 1);
      }
  });
  // With threads or without, blocks of the same size are the same factors up to rounding: those of ebb's kernel, in order.
  const auto a = random_matrix<double>(large + 9, large, 19);
  std::vector<double> packed((large + 9 + 4) * large), scratch(large + 9);
  ebb::op::lu::compute(ebb::matrix_call<double>{large + 9, large, 0, a.data(), packed.data(), scratch.data()});
  const auto [p, l, u] = ebb::lu(a);
  long double worst = 0;
  for (std::size_t i = 0; i < large; ++i)
    for (std::size_t j = i; j < large; ++j)
      worst = std::max(worst, std::fabs(static_cast<long double>(u(i, j)) - packed[(4 + i) * large + j]));
  CHECK(worst <= 1e-9L);
}

TEST_CASE("QR factors of large tall and wide matrices") {
  for_both([](auto t) {
    using T = decltype(t);
    for (const auto& [rows, columns] : {std::pair{120u, 70u}, std::pair{70u, 120u}}) {
      CAPTURE(rows, columns);
      const auto a = random_matrix<T>(rows, columns, 13);
      const auto [q, r] = ebb::qr(a);
      CHECK(residual(rows, 70, columns, of(q), of(r), of(a)) <= 70 * unit<T>);
      CHECK(residual(70, rows, 70, transposed(of(q)), of(q), one) <= 70 * unit<T>);
      bool is_upper = true;
      for (std::size_t i = 0; i < 70; ++i)
        for (std::size_t j = 0; j <= i; ++j) is_upper = is_upper && (j < i ? r(i, j) == 0 : r(i, j) > 0);
      CHECK(is_upper);
    }
  });
}

/// Whether the first of the largest components of each column is positive.
bool points_up(std::size_t rows, std::size_t columns, const entry& v) {
  bool up = true;
  for (std::size_t j = 0; j < columns; ++j) {
    long double largest = 0, there = 0;
    for (std::size_t i = 0; i < rows; ++i)
      if (std::fabs(v(i, j)) > largest) largest = std::fabs(there = v(i, j));
    up = up && there > 0;
  }
  return up;
}

TEST_CASE("eigenvalues and singular values of large matrices") {
  for_both([](auto t) {
    using T = decltype(t);
    const auto a = random_symmetric<T>(n, 14);
    const auto [w, v] = ebb::eigh(a);
    const auto alone = ebb::eigvalsh(a);
    const entry scaled = [&](std::size_t i, std::size_t j) -> long double { return static_cast<long double>(v(i, j)) * w(j); };
    CHECK(residual(n, n, n, of(a), of(v), scaled) <= n * n * unit<T>);
    CHECK(residual(n, n, n, transposed(of(v)), of(v), one) <= 16 * unit<T>);
    CHECK(points_up(n, n, of(v)));
    for (std::size_t i = 0; i < n; ++i) {
      CHECK((i == 0 || w(i) >= w(i - 1)));
      CHECK(std::fabs(w(i) - alone(i)) <= n * n * unit<T>);
    }
    for (const auto& [rows, columns] : {std::pair{100u, 70u}, std::pair{70u, 100u}}) {
      CAPTURE(rows, columns);
      const auto x = random_matrix<T>(rows, columns, 15);
      const auto [u, s, vt] = ebb::svd(x);
      const auto values = ebb::svdvals(x);
      const entry us = [&](std::size_t i, std::size_t j) -> long double { return static_cast<long double>(u(i, j)) * s(j); };
      CHECK(residual(rows, 70, columns, us, of(vt), of(x)) <= 100 * unit<T>);
      CHECK(residual(70, rows, 70, transposed(of(u)), of(u), one) <= 32 * unit<T>);
      CHECK(residual(70, columns, 70, of(vt), transposed(of(vt)), one) <= 32 * unit<T>);
      CHECK(points_up(rows, 70, of(u)));
      for (std::size_t i = 0; i < 70; ++i) {
        CHECK((i == 0 || s(i) <= s(i - 1)));
        CHECK(std::fabs(s(i) - values(i)) <= 100 * unit<T>);
      }
    }
  });
}

TEST_CASE("large matrices have derivatives: of a solution, of a log-determinant") {
  const auto a = random_symmetric<double>(n, 16), b = random_matrix<double>(n, 20, 17);
  const auto [of_a, of_b] = ebb::grad<0, 1>([](auto x, auto y) { return ebb::sum(ebb::solve(x, y)); })(a, b);
  const matrix<double> x = solution(a, b);
  CHECK(residual(n, n, 20, transposed(of(a)), of(of_b), [](auto...) { return 1.0L; }) <= 32 * unit<double>);
  const entry minus = [&](std::size_t i, std::size_t j) { return -static_cast<long double>(of_a(i, j)); };
  CHECK(residual(n, 20, n, of(of_b), transposed(of(x)), minus) <= unit<double>);
  const matrix<double> of_log = ebb::grad([](auto y) { return ebb::logdet_spd(y); })(a);
  CHECK(residual(n, n, n, of(a), transposed(of(of_log)), one) <= 64 * unit<double>);
}

TEST_CASE("narrow floats stay with ebb") {
  ebb::tensor<ebb::bfloat16, dyn, dyn> a(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) at(a, i, j) = ebb::bfloat16(i == j ? 4.0f : j == i + 1 ? 1.0f : 0.0f);
  const auto i = inverse(a);
  CHECK((static_cast<float>(i(0, 0)) == 0.25f && static_cast<float>(i(0, 1)) == -0.0625f && static_cast<float>(i(1, 0)) == 0));
}

}  // namespace
