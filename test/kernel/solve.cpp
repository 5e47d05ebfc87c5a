// test/kernel/solve.cpp — linear systems: the bits of elimination written out, small residuals, singular matrices.
// SPDX-License-Identifier: BSL-1.0
// covers: solve.hpp tensor/solve_order.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/solve.hpp>
#include <ebb/tensor/solve_order.hpp>

using ebb::bfloat16, ebb::float16, ebb::kernel::linear_system;
using std::ptrdiff_t;

namespace {

template <class T>
using wide = std::conditional_t<ebb::half_width<T>, float, T>;

template <class T>
std::vector<T> random_matrix(ptrdiff_t rows, ptrdiff_t columns, std::mt19937_64& next) {
  std::vector<T> r;
  for (ptrdiff_t i = 0; i < rows * columns; ++i) r.push_back(T(static_cast<float>(static_cast<int>(next() % 2001) - 1000) / 331.f));
  return r;
}

/// Each element by a sum of its own, one column of the result after another, as the note on the order of a solution defines it.
template <class T>
std::vector<T> eliminated(const linear_system& s, const std::vector<T>& given_a, const std::vector<T>* given_b) {
  using W = wide<T>;
  const auto n = static_cast<std::size_t>(s.n), m = static_cast<std::size_t>(s.m);
  const auto link = [](W a, W b, W c) { return ebb::lane::fused ? std::fma(a, b, c) : a * b + c; };
  std::vector<std::vector<W>> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) a[i].push_back(static_cast<W>(given_a[s.transposed ? j * n + i : i * n + j]));
    for (std::size_t j = 0; j < m; ++j) b[i].push_back(given_b ? static_cast<W>((*given_b)[i * m + j]) : i == j ? W(1) : W(0));
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t p = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[p][k])) p = i;
    a[k].swap(a[p]);
    b[k].swap(b[p]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const W l = a[i][k] / a[k][k];
      for (std::size_t j = k + 1; j < n; ++j) a[i][j] = link(-l, a[k][j], a[i][j]);
      for (std::size_t j = 0; j < m; ++j) b[i][j] = link(-l, b[k][j], b[i][j]);
    }
  }
  std::vector<T> x(n * m);
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = n; i-- > 0;) {
      W sum = b[i][j];
      for (std::size_t k = n; --k > i;) sum = link(a[i][k], -b[k][j], sum);
      b[i][j] = sum / a[i][i];
      x[i * m + j] = T(b[i][j]);
    }
  return x;
}

template <class T>
ptrdiff_t run(const linear_system& s, const T* a, const T* b, T* x) {
  test::guarded<char> scratch((ebb::kernel::solve_scratch_bytes<T>(s) + 63) / 64 * 64);
  return ebb::kernel::solve(s, a, b, x, scratch.at_end());
}

/// Checks all bits, with operands that end at a page without access.
template <class T>
void check(const linear_system& s, bool inverts) {
  CAPTURE(s.n, s.m, s.transposed, inverts);
  std::mt19937_64 next(static_cast<std::uint64_t>(s.n * 1009 + s.m));
  const std::vector<T> a = random_matrix<T>(s.n, s.n, next), b = random_matrix<T>(s.n, s.m, next);
  test::guarded<T> from_a(a.size()), from_b(b.size()), to(b.size());
  std::copy(a.begin(), a.end(), from_a.at_end());
  std::copy(b.begin(), b.end(), from_b.at_end());
  REQUIRE(run<T>(s, from_a.at_end(), inverts ? nullptr : from_b.at_end(), to.at_end()) == -1);
  const std::vector<T> expected = eliminated(s, a, inverts ? nullptr : &b);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < b.size(); ++i) wrong += !test::same_bits(to.at_end()[i], expected[i]);
  REQUIRE(wrong == 0);

  // Also in place and with the reference.
  if (inverts) return;
  REQUIRE(run<T>(s, from_a.at_end(), from_b.at_end(), from_b.at_end()) == -1);
  CHECK(std::memcmp(static_cast<const void*>(from_b.at_end()), static_cast<const void*>(to.at_end()), b.size() * sizeof(T)) == 0);
  const int n = static_cast<int>(s.n), m = static_cast<int>(s.m);
  const auto un = static_cast<std::size_t>(n), um = static_cast<std::size_t>(m);
  std::vector<wide<T>> rows;
  for (std::size_t i = 0; i < un; ++i) {
    for (std::size_t j = 0; j < un; ++j) rows.push_back(static_cast<wide<T>>(a[s.transposed ? j * un + i : i * un + j]));
    for (std::size_t j = 0; j < um; ++j) rows.push_back(static_cast<wide<T>>(b[i * um + j]));
  }
  REQUIRE(ebb::solve_in_order(rows.data(), n, m) == -1);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j)
      wrong += !test::same_bits(T(rows[static_cast<std::size_t>(i * (n + m) + n + j)]), expected[static_cast<std::size_t>(i * m + j)]);
  CHECK(wrong == 0);
}

/// max over all elements of |b - a x| / (|a| |x| + |b|), in units of T's rounding.
template <class T>
double residual(const linear_system& s, const std::vector<T>& a, const std::vector<T>& b, const T* x) {
  const auto n = static_cast<std::size_t>(s.n), m = static_cast<std::size_t>(s.m);
  long double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      long double sum = b[i * m + j], size = std::fabs(sum);
      for (std::size_t k = 0; k < n; ++k) {
        const long double term = static_cast<long double>(a[s.transposed ? k * n + i : i * n + k]) * x[k * m + j];
        sum -= term;
        size += std::fabs(term);
      }
      worst = std::max(worst, std::fabs(sum) / size);
    }
  return static_cast<double>(worst / (std::numeric_limits<T>::epsilon() / 2));
}

}  // namespace

TEMPLATE_TEST_CASE("a solution has the bits of elimination written out", "", float, double, float16, bfloat16) {
  for (const bool transposed : {false, true}) {
    for (ptrdiff_t n = 1; n <= 18; ++n)
      for (const ptrdiff_t m : {1, 2, 7}) check<TestType>({n, m, transposed}, false);
    for (const ptrdiff_t n : {1, 2, 3, 5, 16, 31, 32, 33, 40, 64, 65, 97}) {
      check<TestType>({n, n, transposed}, true);
      for (const ptrdiff_t m : {1, 3, 17, 33, 70}) check<TestType>({n, m, transposed}, false);
    }
  }
}

TEMPLATE_TEST_CASE("the residual of a solution is small, however ill-conditioned the matrix", "", float, double) {
  using T = TestType;
  for (const ptrdiff_t n : {2, 3, 8, 20, 65, 150}) {
    std::mt19937_64 next(static_cast<std::uint64_t>(n));
    const linear_system s{n, 3, n % 2 == 1};
    std::vector<T> random = random_matrix<T>(n, n, next), hilbert, b = random_matrix<T>(n, 3, next), near_singular = random;
    for (ptrdiff_t i = 0; i < n * n; ++i) hilbert.push_back(static_cast<T>(1.0 / static_cast<double>(i / n + i % n + 1)));
    // The last row is the sum of the others up to the last bits.
    for (ptrdiff_t j = 0; j < n; ++j) {
      T sum = 0;
      for (ptrdiff_t i = 0; i + 1 < n; ++i) sum += near_singular[static_cast<std::size_t>(i * n + j)];
      near_singular[static_cast<std::size_t>((n - 1) * n + j)] = sum * (1 + 8 * std::numeric_limits<T>::epsilon() * static_cast<T>(j));
    }
    for (const auto& a : {random, near_singular, hilbert}) {
      std::vector<T> x(b.size());
      if (run<T>(s, a.data(), b.data(), x.data()) >= 0) continue;  // rounding has made the matrix singular
      CHECK(residual(s, a, b, x.data()) < 3 * static_cast<double>(n));
    }
  }
}

TEST_CASE("a zero pivot is reported and nothing is written") {
  const double a[] = {1, 2, 3, 2, 4, 6, 0, 1, -0.0}, b[] = {1, 2, 3};
  double x[] = {7, 7, 7};
  CHECK(run<double>({3, 1, false}, a, b, x) == 2);
  CHECK((x[0] == 7 && x[1] == 7 && x[2] == 7));
  const float zero[] = {0, -0.0f, 0, 0};
  float y[4] = {};
  CHECK(run<float>({2, 2, false}, zero, nullptr, y) == 0);
  const float one_zero[] = {0, 1, 0, 1};
  CHECK(run<float>({2, 2, false}, one_zero, nullptr, y) == 0);
  CHECK(run<float>({2, 2, true}, one_zero, nullptr, y) == 1);
  std::vector<float> large(100 * 100, 1);
  for (std::size_t i = 0; i < 100; ++i) large[i * 100 + i] = i == 70 ? 1.f : 2.f;
  std::vector<float> inverse(100 * 100);
  CHECK(run<float>({100, 100, false}, large.data(), nullptr, inverse.data()) == -1);
  for (std::size_t j = 0; j < 100; ++j) large[70 * 100 + j] = large[69 * 100 + j];
  CHECK(run<float>({100, 100, false}, large.data(), nullptr, inverse.data()) >= 0);
}

TEST_CASE("a solution handles NaN, infinity and pivots that are zero") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  float x[2], y[4];
  const float with_nan[] = {1, 2, nan, 4}, sides[] = {1, 2};
  CHECK(run<float>({2, 1, false}, with_nan, sides, x) == -1);
  CHECK((std::isnan(x[0]) && std::isnan(x[1])));
  const float with_infinity[] = {inf, 1, 1, 1};
  CHECK(run<float>({2, 1, false}, with_infinity, sides, x) == -1);
  CHECK((x[0] == 0 && x[1] == 2));
  const float exchanged[] = {0, 1, -2, 0}, nothing[] = {0, 1e-30f, 1, 1};
  CHECK(run<float>({2, 2, false}, exchanged, nullptr, y) == -1);
  CHECK((y[0] == 0 && y[1] == -0.5f && y[2] == 1 && y[3] == 0));
  CHECK(run<float>({2, 1, false}, nothing, sides, x) == -1);
  CHECK(std::isfinite(x[0]));
}
