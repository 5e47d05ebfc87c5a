// test/kernel/triangular_product.cpp — products with triangles have the bits of their chains, whatever is outside of the triangle.
// SPDX-License-Identifier: BSL-1.0
// covers: triangular_product.hpp triangle_tile.hpp triangle_of_product.hpp tensor/triangle_order.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/triangle_of_product.hpp>
#include <ebb/kernel/triangular_product.hpp>

#include <random>

using ebb::bfloat16, ebb::float16;
using std::ptrdiff_t;

namespace {

template <class T>
using wide = std::conditional_t<ebb::half_width<T>, float, T>;

enum class elements { ordinary, with_infinities, tiny };

/// Infinities are a few; tiny elements have products that underflow to zeros of both signs.
template <class T>
void fill(T* to, std::size_t n, elements kind, std::mt19937_64& next) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = next();
    wide<T> x = static_cast<wide<T>>(static_cast<int>(bits % 2001) - 1000) / 1024;
    if (kind == elements::tiny && bits >> 60 != 0) x = x * std::numeric_limits<wide<T>>::min();
    if (kind == elements::with_infinities && bits >> 59 == 0) x = std::numeric_limits<wide<T>>::infinity() * (bits >> 50 & 1 ? -1 : 1);
    to[i] = static_cast<T>(x);
  }
}

/// Each element by its chain, in the type in which products are summed.
template <class T>
T chain_of(const ebb::kernel::triangular_product& s, const T* t, const T* x, ptrdiff_t i, ptrdiff_t j) {
  wide<T> sum = 0;
  for (ptrdiff_t p = 0; p < s.n; ++p) {
    const ptrdiff_t own = s.right ? j : i, row = s.right ? p : own, column = s.right ? own : p;  // of op(t)
    if (s.upper() ? column < row : column > row) continue;
    const wide<T> of_t =
        s.unit() && p == own ? wide<T>(1) : static_cast<wide<T>>(t[s.transposed ? column * s.n + row : row * s.n + column]);
    sum = ebb::lane::fma(of_t, static_cast<wide<T>>(x[s.right ? i * s.n + p : p * s.m + j]), sum);
  }
  return static_cast<T>(sum);
}

template <class T>
void check(ptrdiff_t n, ptrdiff_t m, elements kind) {
  std::mt19937_64 next(static_cast<std::uint64_t>(n * 1009 + m));
  const auto square = static_cast<std::size_t>(n * n), size = static_cast<std::size_t>(n * m);
  test::guarded<T> t(square), x(size), c(size);
  fill(x.at_end(), size, kind, next);
  for (int which = 0; which < 16; ++which) {
    const bool right = which & 1, transposed = which & 2;
    const std::int64_t flags = ebb::triangular | (which & 4 ? ebb::upper_triangle : 0) | (which & 8 ? ebb::unit_diagonal_bit : 0);
    const ebb::kernel::triangular_product s{n, m, right, transposed, flags};
    CAPTURE(n, m, right, transposed, flags, sizeof(T), kind);
    fill(t.at_end(), square, kind == elements::with_infinities ? elements::ordinary : kind, next);
    // Elements that are not read may hold anything.
    for (ptrdiff_t i = 0; i < n; ++i)
      for (ptrdiff_t j = 0; j < n; ++j)
        if ((which & 4 ? j < i : j > i) || (s.unit() && i == j))
          t.at_end()[i * n + j] = T((i + j) % 2 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity());
    test::guarded<char> scratch((ebb::kernel::multiply_triangle_scratch_bytes<T>(s) + 63) / 64 * 64);
    ebb::kernel::multiply_triangle(s, t.at_end(), x.at_end(), c.at_end(), scratch.at_end());
    std::size_t wrong = 0;
    const ptrdiff_t columns = right ? n : m;
    for (std::size_t e = 0; e < size; ++e) {
      const auto k = static_cast<ptrdiff_t>(e);
      wrong += !test::same_bits(c.at_end()[e], chain_of(s, t.at_end(), x.at_end(), k / columns, k % columns));
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void all_sizes() {
  for (const ptrdiff_t n : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33})
    for (const ptrdiff_t m : {1, 2, 3, 4, 5, 8, 9, 17, 34}) {
      check<T>(n, m, elements::ordinary);
      if (n == 5 || n == 17 || n == 33) {
        check<T>(n, m, elements::with_infinities);
        check<T>(n, m, elements::tiny);
      }
    }
  check<T>(65, 70, elements::ordinary);
  check<T>(70, 130, elements::with_infinities);
}

TEST_CASE("products with triangles have the bits of their chains; the other triangle and infinities beside it do not matter") {
  all_sizes<float>();
  all_sizes<double>();
}

TEST_CASE("products with narrow triangles are computed in float and rounded once") {
  for (const ptrdiff_t n : {1, 3, 8, 17})
    for (const ptrdiff_t m : {1, 4, 19}) {
      check<bfloat16>(n, m, elements::ordinary);
      check<float16>(n, m, elements::ordinary);
    }
}

TEST_CASE("triangles that are cut into blocks have the bits of their chains") {
  check<double>(400, 5, elements::ordinary);
  check<double>(390, 1, elements::tiny);
  check<float>(530, 26, elements::ordinary);
  check<float>(385, 3, elements::with_infinities);
}

template <class T>
void check_triangle_of_product(ptrdiff_t n, ptrdiff_t k) {
  std::mt19937_64 next(static_cast<std::uint64_t>(n * 1009 + k));
  const auto size = static_cast<std::size_t>(n * k);
  test::guarded<T> a(size), b(size), c(static_cast<std::size_t>(n * n));
  fill(a.at_end(), size, elements::with_infinities, next);
  fill(b.at_end(), size, elements::ordinary, next);
  for (int which = 0; which < 8; ++which) {
    const bool of_columns = which & 1;
    const std::int64_t flags = ebb::triangular | (which & 2 ? ebb::upper_triangle : 0) | (which & 4 ? ebb::unit_diagonal_bit : 0);
    const ebb::kernel::triangle_of_product s{n, k, of_columns, flags};
    CAPTURE(n, k, of_columns, flags, sizeof(T));
    test::guarded<char> scratch((ebb::kernel::multiply_to_triangle_scratch_bytes<T>(s) + 63) / 64 * 64);
    ebb::kernel::multiply_to_triangle(s, a.at_end(), b.at_end(), c.at_end(), scratch.at_end());
    std::size_t wrong = 0;
    for (ptrdiff_t i = 0; i < n; ++i)
      for (ptrdiff_t j = 0; j < n; ++j) {
        wide<T> sum = 0;
        const bool inside = (which & 2 ? i <= j : j <= i) && !(which & 4 && i == j);
        const auto at = [&](const T* x, ptrdiff_t row, ptrdiff_t p) {
          return static_cast<wide<T>>(x[of_columns ? p * n + row : row * k + p]);
        };
        for (ptrdiff_t p = 0; inside && p < k; ++p) sum = ebb::lane::fma(at(a.at_end(), i, p), at(b.at_end(), j, p), sum);
        wrong += !test::same_bits(c.at_end()[i * n + j], static_cast<T>(sum));
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the triangle of a product has the elements of the product, and zeros outside") {
  for (const ptrdiff_t n : {1, 2, 4, 5, 8, 15, 16, 17, 33, 70})
    for (const ptrdiff_t k : {1, 2, 3, 8, 33}) {
      check_triangle_of_product<float>(n, k);
      check_triangle_of_product<double>(n, k);
    }
  for (const ptrdiff_t n : {1, 7, 18}) {
    check_triangle_of_product<bfloat16>(n, 5);
    check_triangle_of_product<float16>(n, 5);
  }
  check_triangle_of_product<double>(19, 800);  // k is cut, and for the other one n
  check_triangle_of_product<float>(270, 400);
}

}  // namespace
