// test/kernel/small.cpp — batches of small systems and factors: the bits of the reference at every place of a batch, and where they stop.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/small.hpp>
#include <ebb/tensor/solve_order.hpp>
#include <ebb/tensor/triangle_order.hpp>

using ebb::kernel::linear_system;
using std::ptrdiff_t;

namespace {

template <class T>
std::vector<T> small_numbers(ptrdiff_t count, std::mt19937_64& next) {
  std::vector<T> r;
  for (ptrdiff_t i = 0; i < count; ++i) r.push_back(static_cast<T>(static_cast<int>(next() % 2001) - 1000) / T(331));
  return r;
}
std::size_t small_room(const linear_system& s) { return (ebb::kernel::small::scratch_bytes(s) + 63) / 64 * 64; }

/// The solution of one system by the reference; empty if a pivot is 0.
template <class T>
std::vector<T> solved_in_order(const linear_system& s, const T* a, const T* b) {
  std::vector<T> rows, x;
  for (ptrdiff_t i = 0; i < s.n; ++i) {
    for (ptrdiff_t j = 0; j < s.n; ++j) rows.push_back(s.transposed ? a[j * s.n + i] : a[i * s.n + j]);
    for (ptrdiff_t j = 0; j < s.m; ++j) rows.push_back(b ? b[i * s.m + j] : T(i == j));
  }
  if (ebb::solve_in_order(rows.data(), static_cast<int>(s.n), static_cast<int>(s.m)) >= 0) return x;
  for (ptrdiff_t i = 0; i < s.n; ++i)
    for (ptrdiff_t j = 0; j < s.m; ++j) x.push_back(rows[static_cast<std::size_t>(i * (s.n + s.m) + s.n + j)]);
  return x;
}

/// Solves all systems, taking those that are refused by the reference, and checks all bits. In place, results are written over right sides,
/// or over matrices if there are no right sides.
template <class T>
void check_systems(const linear_system& s, ptrdiff_t batch, std::vector<T> a, const std::vector<T>* b, ptrdiff_t refused, bool in_place) {
  CAPTURE(s.n, s.m, s.transposed, batch, b != nullptr, in_place);
  const ptrdiff_t size = s.n * s.n, sides = s.n * s.m;
  test::guarded<T> from_a(a.size()), from_b(static_cast<std::size_t>(batch * sides)), to(static_cast<std::size_t>(batch * sides));
  std::copy(a.begin(), a.end(), from_a.at_end());
  if (b) std::copy(b->begin(), b->end(), from_b.at_end());
  T* const x = !in_place ? to.at_end() : b ? from_b.at_end() : from_a.at_end();
  test::guarded<char> room(small_room(s));
  ptrdiff_t seen = 0;
  for (ptrdiff_t i = 0; i < batch; ++i) {
    const T* const right = b ? from_b.at_end() + i * sides : nullptr;
    i += ebb::kernel::solve_small<T>(s, batch - i, from_a.at_end() + i * size, right, x + i * sides, room.at_end());
    if (i == batch) break;
    const std::vector<T> one = solved_in_order(s, a.data() + i * size, b ? b->data() + i * sides : nullptr);
    seen += one.empty();
    std::copy(one.begin(), one.end(), x + i * sides);
  }
  CHECK(seen == refused);
  std::size_t wrong = 0;
  for (ptrdiff_t i = 0; i < batch; ++i) {
    const std::vector<T> one = solved_in_order(s, a.data() + i * size, b ? b->data() + i * sides : nullptr);
    for (std::size_t e = 0; e < one.size(); ++e) wrong += !test::same_bits(x[static_cast<std::size_t>(i * sides) + e], one[e]);
  }
  CHECK(wrong == 0);
}

template <class T>
void check_factors(ptrdiff_t n, ptrdiff_t batch, const std::vector<T>& a, ptrdiff_t refused) {
  CAPTURE(n, batch);
  const ptrdiff_t size = n * n;
  test::guarded<T> from(a.size()), to(a.size());
  std::copy(a.begin(), a.end(), from.at_end());
  test::guarded<char> room(small_room({n, 0}));
  ptrdiff_t seen = 0;
  std::size_t wrong = 0;
  for (T* l : {to.at_end(), from.at_end()}) {
    for (ptrdiff_t i = 0; i < batch; ++i) {
      i += ebb::kernel::cholesky_small<T>(n, batch - i, from.at_end() + i * size, l + i * size, room.at_end());
      seen += i < batch;
    }
    for (ptrdiff_t i = 0; i < batch; ++i) {
      std::vector<T> one(a.begin() + i * size, a.begin() + (i + 1) * size);
      if (ebb::factor_in_order(one.data(), static_cast<int>(n)) > 0) continue;
      for (std::size_t e = 0; e < one.size(); ++e) wrong += !test::same_bits(l[static_cast<std::size_t>(i * size) + e], one[e]);
    }
  }
  CHECK(seen == 2 * refused);
  CHECK(wrong == 0);
}

/// n x n matrices that are positive definite; the upper triangle is NaN: it is not read.
template <class T>
std::vector<T> definite(ptrdiff_t n, ptrdiff_t batch, std::mt19937_64& next) {
  std::vector<T> a;
  for (ptrdiff_t i = 0; i < batch * n * n; ++i) {
    const ptrdiff_t row = i / n % n, column = i % n;
    const T x = static_cast<T>(static_cast<int>(next() % 2001) - 1000) / T(1031);
    a.push_back(column > row ? std::numeric_limits<T>::quiet_NaN() : column == row ? static_cast<T>(n) + x : x);
  }
  return a;
}

constexpr ptrdiff_t lanes = ebb::simd::count_of<float>;

}  // namespace

TEMPLATE_TEST_CASE("small systems have the bits of the reference at every place of a batch", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(11);
  for (const ptrdiff_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16})
    for (const ptrdiff_t batch : {ptrdiff_t{1}, ptrdiff_t{3}, lanes - 1, 2 * lanes + 3})
      for (const bool transposed : {false, true}) {
        const ptrdiff_t m = 1 + (n + batch) % 3;
        const std::vector<T> a = small_numbers<T>(batch * n * n, next), b = small_numbers<T>(batch * n * m, next);
        check_systems<T>({n, m, transposed}, batch, a, &b, 0, transposed);
        check_systems<T>({n, n, transposed}, batch, a, nullptr, 0, !transposed);
      }
}

TEMPLATE_TEST_CASE("small systems stop at a singular matrix, and NaN and infinities are no errors", "", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  std::mt19937_64 next(12);
  for (const ptrdiff_t n : {1, 2, 4, 6, 16})
    for (const ptrdiff_t batch : {ptrdiff_t{5}, 2 * lanes + 3}) {
      std::vector<T> a = small_numbers<T>(batch * n * n, next);
      const std::vector<T> b = small_numbers<T>(batch * n, next);
      const auto matrix = [&](ptrdiff_t i) { return a.begin() + i * n * n; };
      for (const ptrdiff_t i : {ptrdiff_t{0}, ptrdiff_t{2}, batch - 1}) std::fill(matrix(i), matrix(i) + n, T(-0.0));  // a row of zeros
      if (n > 1) *(matrix(1) + n) = nan;
      *matrix(3) = nan;
      if (n > 1) *(matrix(batch - 2) + n * n - 1) = inf;
      check_systems<T>({n, 1}, batch, a, &b, 3, false);
      check_systems<T>({n, n, true}, batch, a, nullptr, 3, false);
    }
}

TEMPLATE_TEST_CASE("small factors have the bits of the reference and stop where there is none", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(13);
  for (const ptrdiff_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16})
    for (const ptrdiff_t batch : {ptrdiff_t{1}, ptrdiff_t{3}, lanes - 1, 2 * lanes + 3}) {
      std::vector<T> a = definite<T>(n, batch, next);
      check_factors<T>(n, batch, a, 0);
      const auto pivot = [&](ptrdiff_t i) -> T& { return a[static_cast<std::size_t>(i * n * n + n * n - 1)]; };
      pivot(batch - 1) = std::numeric_limits<T>::quiet_NaN();
      if (batch > 1) pivot(1) = T(-1);
      if (batch > 2) pivot(0) = T(0);
      check_factors<T>(n, batch, a, batch > 2 ? 3 : batch > 1 ? 2 : 1);
    }
}
