// test/kernel/triangle.cpp — triangular systems, Cholesky factors, determinants: the bits of the reference, also in place, and small
// residuals.
// SPDX-License-Identifier: BSL-1.0
// covers: triangle.hpp solved_rows.hpp tensor/triangle_order.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/triangle.hpp>

#include <random>

using ebb::bfloat16, ebb::float16;
using std::ptrdiff_t;

namespace {

template <class T>
using wide = std::conditional_t<ebb::half_width<T>, float, T>;

/// A diagonally dominant matrix, so that no solution overflows; symmetric or not.
template <class T>
std::vector<T> random_matrix(ptrdiff_t rows, ptrdiff_t columns, bool dominant, std::mt19937_64& next) {
  std::vector<T> r;
  for (ptrdiff_t i = 0; i < rows; ++i)
    for (ptrdiff_t j = 0; j < columns; ++j) {
      const float x = static_cast<float>(static_cast<int>(next() % 2001) - 1000) / 1024.f;
      r.push_back(T(dominant && i == j ? x + static_cast<float>(rows) + 1 : x));
    }
  return r;
}
template <class T>
std::vector<wide<T>> widened(const std::vector<T>& x) {
  std::vector<wide<T>> r;
  for (T e : x) r.push_back(static_cast<wide<T>>(e));
  return r;
}
template <class T>
std::size_t differing(const T* got, const std::vector<wide<T>>& want) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) wrong += !test::same_bits(got[i], static_cast<T>(want[i]));
  return wrong;
}

template <class T>
void check_system(ptrdiff_t n, ptrdiff_t m) {
  std::mt19937_64 next(static_cast<std::uint64_t>(n * 1009 + m));
  const std::vector<T> t = random_matrix<T>(n, n, true, next), b = random_matrix<T>(n, m, false, next);
  test::guarded<T> from_t(t.size()), from_b(b.size()), to(b.size());
  std::copy(t.begin(), t.end(), from_t.at_end());
  for (const bool transposed : {false, true})
    for (const std::int64_t flags : {ebb::triangular, ebb::triangular | ebb::upper_triangle}) {
      const ebb::kernel::triangular_system s{n, m, transposed, flags};
      CAPTURE(n, m, transposed, flags, sizeof(T));
      // Elements that are not read may hold anything.
      for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t j = 0; j < n; ++j)
          from_t.at_end()[i * n + j] = (flags & ebb::upper_triangle ? j < i : j > i) ? T(std::numeric_limits<float>::quiet_NaN())
                                                                                       : t[static_cast<std::size_t>(i * n + j)];
      std::copy(b.begin(), b.end(), from_b.at_end());
      test::guarded<char> scratch((ebb::kernel::triangle_scratch_bytes<T>(s) + 63) / 64 * 64);
      ebb::kernel::solve_triangle(s, from_t.at_end(), from_b.at_end(), to.at_end(), scratch.at_end());
      std::vector<wide<T>> want = widened(b);
      ebb::solve_triangle_in_order(widened(t).data(), want.data(), static_cast<int>(n), static_cast<int>(m), transposed, flags);
      REQUIRE(differing(to.at_end(), want) == 0);
      ebb::kernel::solve_triangle(s, from_t.at_end(), from_b.at_end(), from_b.at_end(), scratch.at_end());
      REQUIRE(differing(from_b.at_end(), want) == 0);
      // With a unit diagonal no element of it is read.
      const ebb::kernel::triangular_system unit{n, m, transposed, flags | ebb::unit_diagonal_bit};
      for (ptrdiff_t i = 0; i < n; ++i) from_t.at_end()[i * n + i] = T(std::numeric_limits<float>::quiet_NaN());
      std::copy(b.begin(), b.end(), from_b.at_end());
      ebb::kernel::solve_triangle(unit, from_t.at_end(), from_b.at_end(), to.at_end(), scratch.at_end());
      want = widened(b);
      ebb::solve_triangle_in_order(widened(t).data(), want.data(), static_cast<int>(n), static_cast<int>(m), transposed, unit.flags);
      REQUIRE(differing(to.at_end(), want) == 0);
    }
}

template <class T>
void check_factor(ptrdiff_t n) {
  CAPTURE(n, sizeof(T));
  std::mt19937_64 next(static_cast<std::uint64_t>(n));
  const std::vector<T> a = random_matrix<T>(n, n, true, next);
  test::guarded<T> from(a.size()), to(a.size());
  std::copy(a.begin(), a.end(), from.at_end());
  test::guarded<char> scratch((ebb::kernel::solve_scratch_bytes<T>({n, 0}) + 63) / 64 * 64);
  std::vector<wide<T>> want = widened(a);
  REQUIRE(ebb::factor_in_order(want.data(), static_cast<int>(n)) == 0);
  for (ptrdiff_t i = 0; i < n; ++i)
    for (ptrdiff_t j = i + 1; j < n; ++j) want[static_cast<std::size_t>(i * n + j)] = 0;
  REQUIRE(ebb::kernel::cholesky(n, from.at_end(), to.at_end(), scratch.at_end()) == 0);
  REQUIRE(differing(to.at_end(), want) == 0);
  REQUIRE(ebb::kernel::cholesky(n, from.at_end(), from.at_end(), scratch.at_end()) == 0);
  REQUIRE(differing(from.at_end(), want) == 0);

  T sign_and_log[2];
  std::copy(a.begin(), a.end(), from.at_end());
  ebb::kernel::log_determinant(n, from.at_end(), sign_and_log, scratch.at_end());
  std::vector<wide<T>> rows = widened(a);
  bool odd = false;
  REQUIRE(ebb::solve_in_order(rows.data(), static_cast<int>(n), 0, &odd) == -1);
  const auto r = ebb::sign_and_log_of<wide<T>>(n, false, odd, [&](ptrdiff_t k) { return rows[static_cast<std::size_t>(k * (n + 1))]; });
  CHECK(test::same_bits(sign_and_log[0], static_cast<T>(r.sign)));
  CHECK(test::same_bits(sign_and_log[1], static_cast<T>(r.log)));
}

template <class T>
void check_all() {
  for (ptrdiff_t n : {1, 2, 3, 8, 31, 32, 33, 70})
    for (ptrdiff_t m : {1, 2, 17, 40}) check_system<T>(n, m);
  for (ptrdiff_t n : {16, 49, 127}) check_system<T>(n, 1);  // whole registers of rows, with and without a rest
  for (ptrdiff_t n : {1, 2, 3, 8, 31, 32, 33, 64, 70, 101}) check_factor<T>(n);
}

TEST_CASE("triangular solutions, factors and determinants have the bits of the reference") {
  check_all<float>();
  check_all<double>();
  check_system<bfloat16>(5, 3);
  check_system<float16>(40, 1);
  check_factor<bfloat16>(5);
  check_factor<float16>(40);
}

TEST_CASE("a failed factor reports the order of its bad minor, and the residual of a large factor is small") {
  for (ptrdiff_t n : {3, 33, 80})
    for (ptrdiff_t bad : {ptrdiff_t{0}, ptrdiff_t{1}, n - 1}) {
      std::mt19937_64 next(7);
      std::vector<double> a = random_matrix<double>(n, n, true, next), l(a.size(), 5.);
      a[static_cast<std::size_t>(bad * (n + 1))] = -1;
      test::guarded<char> scratch((ebb::kernel::solve_scratch_bytes<double>({n, 0}) + 63) / 64 * 64);
      CHECK(ebb::kernel::cholesky(n, a.data(), l.data(), scratch.at_end()) == bad + 1);
      CHECK(l == std::vector<double>(a.size(), 5.));
    }
  // The Hilbert matrix plus a small diagonal: |l l^T - a| <= (n + 1) u |l| |l^T|.
  const ptrdiff_t n = 60;
  std::vector<double> a(60 * 60), l(60 * 60);
  for (ptrdiff_t i = 0; i < n; ++i)
    for (ptrdiff_t j = 0; j < n; ++j) a[static_cast<std::size_t>(i * n + j)] = 1. / static_cast<double>(i + j + 1) + (i == j ? 1e-13 : 0);
  test::guarded<char> scratch((ebb::kernel::solve_scratch_bytes<double>({n, 0}) + 63) / 64 * 64);
  REQUIRE(ebb::kernel::cholesky(n, a.data(), l.data(), scratch.at_end()) == 0);
  for (ptrdiff_t i = 0; i < n; ++i)
    for (ptrdiff_t j = 0; j <= i; ++j) {
      long double sum = 0, size = 0;
      for (ptrdiff_t k = 0; k < n; ++k) {
        const long double product =
            static_cast<long double>(l[static_cast<std::size_t>(i * n + k)]) * l[static_cast<std::size_t>(j * n + k)];
        sum += product;
        size += std::fabs(product);
      }
      REQUIRE(std::fabs(sum - a[static_cast<std::size_t>(i * n + j)]) <= static_cast<long double>(n + 1) * 0x1p-53L * size);
    }
}

}  // namespace
