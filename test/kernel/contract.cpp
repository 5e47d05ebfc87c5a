// test/kernel/contract.cpp — products give the bits of each element's sum written out.
// SPDX-License-Identifier: BSL-1.0
// covers: contract.hpp contract_bf16.hpp fours.hpp matvec.hpp product.hpp row_products.hpp thin.hpp tile.hpp
// covers: tensor/product_order.hpp tensor/bfloat16_order.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/contract.hpp>
#include <ebb/tensor/bfloat16_order.hpp>
#include <ebb/tensor/product_order.hpp>

#include <memory>

using ebb::bfloat16, ebb::float16, ebb::kernel::product;
using std::ptrdiff_t;

namespace {

template <class T>
T link(T a, T b, T acc) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(U(a) * U(b) + U(acc));
  } else if constexpr (ebb::lane::fused) return std::fma(a, b, acc);
  else return a * b + acc;
}

/// A sum of pairs, as the note on the order of a bfloat16 product defines it. Numbers that the instruction flushes to zero are zero here.
float pair_link(const float (&a)[2], const float (&b)[2], float acc) {
#if defined(__AVX512BF16__)
  const auto flush = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; };
#else
  const auto flush = [](float x) { return x; };
#endif
  for (const int odd_first : {1, 0}) acc = flush(link(flush(a[odd_first]), flush(b[odd_first]), flush(acc)));
  return acc;
}
float pair_element(ptrdiff_t k, bool lanes, auto left, auto right) {
  float lane[32] = {};
  const auto at = [k](auto of, ptrdiff_t i) { return i < k ? of(i) : 0.f; };
  for (ptrdiff_t q = 0; q < k; q += 2) {
    float& acc = lane[lanes ? q / 2 % 32 : 0];
    acc = pair_link({at(left, q), at(left, q + 1)}, {at(right, q), at(right, q + 1)}, acc);
  }
  if (!lanes) return lane[0];
  for (int half = 16; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0] + 0.f;
}

/// One element by its definition in the notes on the order of a product.
template <class T>
T element(const product& p, const T* a, const T* b, ptrdiff_t i, ptrdiff_t j) {
  using Acc = std::conditional_t<ebb::half_width<T>, float, T>;
  const auto left = [&](ptrdiff_t q) { return static_cast<Acc>(p.transpose_a ? a[q * p.lda + i] : a[i * p.lda + q]); };
  const auto right = [&](ptrdiff_t q) { return static_cast<Acc>(p.transpose_b ? b[j * p.ldb + q] : b[q * p.ldb + j]); };
  if constexpr (std::is_same_v<T, bfloat16>) return T(pair_element(p.k, p.lanes, left, right));
  if (!p.lanes) {
    Acc acc = 0;
    for (ptrdiff_t q = 0; q < p.k; ++q) acc = link(left(q), right(q), acc);
    return T(acc);
  }
  Acc lane[32] = {};
  for (ptrdiff_t q = 0; q < p.k; ++q) lane[q % 32] = link(left(q), right(q), lane[q % 32]);
  for (int half = 16; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] = link(lane[l], Acc(1), lane[l + half]);
  return T(link(lane[0], Acc(1), Acc(0)));
}

template <class T>
void fill(T* p, std::size_t n, std::mt19937_64& next) {
  for (std::size_t i = 0; i < n; ++i) {
    const int x = static_cast<int>(next() % 2001) - 1000;
    if constexpr (std::is_integral_v<T>) p[i] = static_cast<T>(x * 97);
    else p[i] = T(static_cast<float>(x) / 37.f);
  }
}

/// Checks all of c, the gaps between its rows too, with operands that end at a page without access.
template <class T>
void check(product p) {
  CAPTURE(p.m, p.k, p.n, p.transpose_a, p.transpose_b, p.batch, p.lda, p.ldb, p.ldc, p.lanes);
  std::mt19937_64 next(static_cast<std::uint64_t>(p.m * 1000003 + p.k * 1009 + p.n));
  const auto size = [&](ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t stride) {
    return static_cast<std::size_t>(rows && cols ? (p.batch - 1) * stride + (rows - 1) * ld + cols : 0);
  };
  const std::size_t na = p.transpose_a ? size(p.k, p.m, p.lda, p.stride_a) : size(p.m, p.k, p.lda, p.stride_a);
  const std::size_t nb = p.transpose_b ? size(p.n, p.k, p.ldb, p.stride_b) : size(p.k, p.n, p.ldb, p.stride_b);
  const std::size_t nc = size(p.m, p.n, p.ldc, p.stride_c);
  test::guarded<T> a(na), b(nb), c(nc);
  fill(a.at_end(), na, next);
  fill(b.at_end(), nb, next);
  fill(c.at_end(), nc, next);
  std::vector<T> expected(c.at_end(), c.at_end() + nc);
  for (ptrdiff_t z = 0; z < p.batch; ++z)
    for (ptrdiff_t i = 0; i < p.m; ++i)
      for (ptrdiff_t j = 0; j < p.n; ++j)
        expected[static_cast<std::size_t>(z * p.stride_c + i * p.ldc + j)] =
            element(p, a.at_end() + z * p.stride_a, b.at_end() + z * p.stride_b, i, j);

  const std::size_t bytes = ebb::kernel::contract_scratch_bytes<T>(p);
  test::guarded<char> scratch((bytes + 63) / 64 * 64);
  ebb::kernel::contract(p, a.at_end(), b.at_end(), c.at_end(), scratch.at_end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < nc; ++i) wrong += !test::same_bits(c.at_end()[i], expected[i]);
  REQUIRE(wrong == 0);
}

/// Checks sums of an array and a product: in memory of their own, and over the array.
template <class T>
void check_onto(product p) {
  CAPTURE(p.m, p.k, p.n, p.transpose_a, p.transpose_b, p.batch, p.lanes);
  std::mt19937_64 next(static_cast<std::uint64_t>(p.m * 1000003 + p.k * 1009 + p.n));
  const auto size = [](ptrdiff_t n) { return static_cast<std::size_t>(n); };
  const std::size_t na = size((p.batch - 1) * p.stride_a + p.m * p.k), nb = size((p.batch - 1) * p.stride_b + p.k * p.n);
  const std::size_t nc = size(p.batch * p.m * p.n);
  test::guarded<T> a(na), b(nb), onto(nc), c(nc);
  fill(a.at_end(), na, next);
  fill(b.at_end(), nb, next);
  fill(onto.at_end(), nc, next);
  std::vector<T> expected;
  for (ptrdiff_t z = 0; z < p.batch; ++z)
    for (ptrdiff_t i = 0; i < p.m; ++i)
      for (ptrdiff_t j = 0; j < p.n; ++j)
        expected.push_back(onto.at_end()[expected.size()] + element(p, a.at_end() + z * p.stride_a, b.at_end() + z * p.stride_b, i, j));
  const std::size_t bytes = ebb::kernel::contract_onto_scratch_bytes<T>(p);
  test::guarded<char> scratch((bytes + 63) / 64 * 64);
  const auto wrong = [&](const T* got) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < nc; ++i) count += !test::same_bits(got[i], expected[i]);
    return count;
  };
  ebb::kernel::contract_onto(p, onto.at_end(), a.at_end(), b.at_end(), c.at_end(), scratch.at_end());
  REQUIRE(wrong(c.at_end()) == 0);
  ebb::kernel::contract_onto(p, onto.at_end(), a.at_end(), b.at_end(), onto.at_end(), scratch.at_end());
  REQUIRE(wrong(onto.at_end()) == 0);
}

/// Checks each order that the equation may ask for.
template <class T>
void check_orders(product p) {
  check<T>(p);
  p.lanes = true;
  check<T>(p);
}
template <class T>
void check_flags(ptrdiff_t m, ptrdiff_t k, ptrdiff_t n) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) check_orders<T>(product::compact(m, k, n, ta, tb));
}

}  // namespace

TEMPLATE_TEST_CASE("products of small matrices have the bits of the definition", "", float, double, bfloat16) {
  for (ptrdiff_t m = 1; m <= 20; ++m)
    for (ptrdiff_t n = 1; n <= 20; ++n)
      for (const ptrdiff_t k : {1, 2, 3, 7, 8, 13}) check_flags<TestType>(m, k, n);
}

TEMPLATE_TEST_CASE("products of 4 x 4 matrices have the bits of the definition", "", float, double, std::int32_t) {
  check_flags<TestType>(4, 4, 4);
  for (const int flags : {0, 1, 2, 3}) {
    product p = product::compact(4, 4, 4, (flags & 1) != 0, (flags & 2) != 0, 5);
    check<TestType>(p);
    p.stride_b = 0;
    check<TestType>(p);
    p.stride_a = 0;
    check<TestType>(p);
    p.stride_b = 16;
    p.lda = 7;
    check<TestType>(p);
    p.lda = 4;
    p.ldc = p.ldb = 5;
    p.stride_b = p.stride_c = 20;
    check<TestType>(p);
  }
}

TEMPLATE_TEST_CASE("products of matrices of all kinds have the bits of the definition", "", float, double, bfloat16) {
  for (const ptrdiff_t m : {1, 2, 6, 9, 33, 64, 100})
    for (const ptrdiff_t n : {1, 2, 3, 5, 17, 31, 33, 64, 100})
      for (const ptrdiff_t k : {0, 1, 20, 33, 100}) check_flags<TestType>(m, k, n);
}

TEMPLATE_TEST_CASE("products of few rows or columns and many others have the bits of the definition", "", float, double) {
  for (const ptrdiff_t few : {1, 2, 3})
    for (const ptrdiff_t k : {1, 5, 40}) {
      check_flags<TestType>(600, k, few);
      check_flags<TestType>(few, k, 600);
      product p = product::compact(300, k, few, true, true);
      p.ldc += 2;
      check<TestType>(p);
    }
}

TEMPLATE_TEST_CASE("products whose right operand is read panel by panel where it lies have the bits of the definition", "", float, double) {
  check_flags<TestType>(64, 120, 70);
  check_flags<TestType>(37, 450, 61);
  check_flags<TestType>(40, 30, 600);  // its rows are far apart, so it is packed
  product p = product::compact(75, 110, 90);
  p.lda += 3;
  p.ldb += 5;
  p.ldc += 7;
  check<TestType>(p);
}

TEMPLATE_TEST_CASE("products large enough to be cut into blocks have the bits of the definition", "", float, double, bfloat16) {
  check_flags<TestType>(70, 500, 90);
  check<TestType>(product::compact(40, 20, 2100, false, true));
  check<TestType>(product::compact(700, 300, 33, true, false));
  check<TestType>(product::compact(35, 800, 70));
  check<TestType>(product::compact(70, 1801, 200));
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {  // in other matrices
      product p = product::compact(150, 420, 140, ta, tb);
      p.lda += 9;
      check<TestType>(p);
      p.ldb += 5;
      p.ldc += 3;
      check<TestType>(p);
    }
}

TEMPLATE_TEST_CASE("products that are added to arrays have the bits of a product and a sum", "", float, double) {
  for (const ptrdiff_t m : {1, 2, 4, 7, 8, 11, 33})
    for (const ptrdiff_t n : {1, 2, 3, 4, 10, 31, 33, 70})
      for (const ptrdiff_t k : {0, 1, 4, 8, 40})
        for (const bool ta : {false, true})
          for (const bool tb : {false, true}) {
            product p = product::compact(m, k, n, ta, tb);
            check_onto<TestType>(p);
            p.lanes = true;
            check_onto<TestType>(p);
            p = product::compact(m, k, n, ta, tb, 3);
            check_onto<TestType>(p);
            p.stride_b = 0;
            check_onto<TestType>(p);
          }
  check_onto<TestType>(product::compact(70, 500, 90));  // k is cut
  check_onto<TestType>(product::compact(150, 300, 140, true, true));
}

TEMPLATE_TEST_CASE("products of the other dtypes have the bits of the definition", "", std::int32_t, std::int64_t, float16) {
  for (const ptrdiff_t m : {1, 3, 17, 33})
    for (const ptrdiff_t n : {1, 2, 10, 33})
      for (const ptrdiff_t k : {0, 1, 7, 40}) check_flags<TestType>(m, k, n);
}

TEMPLATE_TEST_CASE("dot products have the bits of the definition", "", float, double, std::int32_t, bfloat16) {
  for (ptrdiff_t k = 0; k < 140; ++k) check_flags<TestType>(1, k, 1);
  product strided = product::compact(1, 77, 1, true, false);
  strided.lda = 3;
  strided.ldb = 5;
  check_orders<TestType>(strided);
}

TEMPLATE_TEST_CASE("row-major matrix times vector has the bits of the definition", "", float, double, std::int64_t, bfloat16) {
  for (const ptrdiff_t m : {1, 2, 3, 4, 5, 8, 15, 16, 17, 40})
    for (const ptrdiff_t k : {0, 1, 3, 15, 16, 17, 31, 32, 33, 50, 64, 97}) check_flags<TestType>(m, k, 1), check_flags<TestType>(1, k, m);
}

template <int K, class T>
void check_known_row() {
  for (const ptrdiff_t m : {0, 1, 5, 16, 17, 40}) {
    CAPTURE(K, m);
    const auto size = static_cast<std::size_t>(m * K), rows = static_cast<std::size_t>(m);
    std::mt19937_64 next(static_cast<std::uint64_t>(m * 1009 + K));
    test::guarded<T> a(size), b(K), c(rows), left(rows), sum(K);
    fill(a.at_end(), size, next);
    fill(b.at_end(), K, next);
    fill(left.at_end(), rows, next);
    fill(sum.at_end(), K, next);
    product in_lanes = product::compact(m, K, 1);
    in_lanes.lanes = true;
    ebb::kernel::tile::multiply_known_rows<K>(m, a.at_end(), b.at_end(), c.at_end());
    std::size_t wrong = 0;
    for (ptrdiff_t i = 0; i < m; ++i) wrong += !test::same_bits(c.at_end()[i], element(in_lanes, a.at_end(), b.at_end(), i, 0));
    REQUIRE(wrong == 0);

    for (const bool more : {true, false}) {
      std::vector<T> expected(sum.at_end(), sum.at_end() + K);
      for (ptrdiff_t p = 0; p < K; ++p) {
        T& x = expected[static_cast<std::size_t>(p)];
        if (!more) x = 0;
        for (ptrdiff_t i = 0; i < m; ++i) x = link(left.at_end()[i], a.at_end()[i * K + p], x);
      }
      ebb::kernel::tile::known_strip<K>(m, ebb::kernel::matrix<T>{left.at_end(), 0, 1}, a.at_end(), sum.at_end(), more);
      for (std::size_t p = 0; p < expected.size(); ++p) wrong += !test::same_bits(sum.at_end()[p], expected[p]);
      REQUIRE(wrong == 0);
    }
  }
}

TEMPLATE_TEST_CASE("rows of a static length have the same bits", "", float, double, std::int64_t) {
  [&]<int... K>(std::integer_sequence<int, K...>) { (check_known_row<K, TestType>(), ...); }
  (std::integer_sequence<int, 1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 21, 31, 32, 33, 50, 64, 97, 127, 128>{});
}

TEST_CASE("a sum in lanes that vanishes is +0") {
  std::vector<float> a(20 * 64, -1e-30f), b(64, 1e-30f), c(20), d(20);
  product p = product::compact(20, 64, 1);
  p.lanes = true;
  ebb::kernel::contract(p, a.data(), b.data(), c.data(), nullptr);
  for (const float x : c) CHECK((x == 0 && !std::signbit(x)));
  ebb::kernel::tile::multiply_known_rows<64>(20, a.data(), b.data(), d.data());
  for (const float x : d) CHECK((x == 0 && !std::signbit(x)));
}

TEMPLATE_TEST_CASE("rows times rows have the bits of the definition, and so has a batch that shares a matrix", "", float, double,
                   std::int32_t, std::int64_t, float16, bfloat16) {
  using T = TestType;
  for (const ptrdiff_t m : {1, 2, 3, 4, 7, 8, 9, 16, 17, 70})
    for (const ptrdiff_t n : {1, 2, 3, 4, 8, 11, 35})
      for (const ptrdiff_t k : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33}) {
        product p = product::compact(m, k, n, false, true);
        p.lanes = true;
        p.lda += 2, p.ldb += 3, p.ldc += 1;
        check<T>(p);
        for (const bool ta : {false, true})
          for (const bool tb : {false, true}) {
            p = product::compact(m, k, 1, ta, tb, n);
            p.stride_a = 0;
            check_orders<T>(p);
            p.stride_b += 3, p.stride_c += 2;
            check_orders<T>(p);
          }
      }
  product p = product::compact(67, 700, 40, false, true);  // several blocks of rows
  p.lanes = true;
  check<T>(p);
}

TEMPLATE_TEST_CASE("batches and leading dimensions give the bits of the definition", "", float, double, bfloat16) {
  using T = TestType;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const ptrdiff_t m : {1, 5, 19})
        for (const ptrdiff_t n : {1, 3, 19}) {
          product p = product::compact(m, 11, n, ta, tb, 3);
          check_orders<T>(p);
          p.stride_b = 0;
          check_orders<T>(p);
          p.stride_a = 0;
          check_orders<T>(p);
          p = product::compact(m, 11, n, ta, tb, 4);
          p.lda += 3, p.ldb += 2, p.ldc += 5;
          p.stride_a = p.lda * 25, p.stride_b = p.ldb * 25, p.stride_c = p.ldc * 20 + 1;
          check_orders<T>(p);
          p.stride_a = 0;
          check_orders<T>(p);
        }
}

TEMPLATE_TEST_CASE("the reference sums in the order of the kernel", "", float, double, std::int32_t) {
  using T = TestType;
  for (const ptrdiff_t k : {0, 1, 31, 32, 50})
    for (const ptrdiff_t n : {1, 2}) {
      std::mt19937_64 next(static_cast<std::uint64_t>(k));
      std::vector<T> a(static_cast<std::size_t>(k)), b(static_cast<std::size_t>(k * n));
      fill(a.data(), a.size(), next);
      fill(b.data(), b.size(), next);
      T c[2];
      product of = product::compact(1, k, n);
      of.lanes = n == 1;
      ebb::kernel::contract(of, a.data(), b.data(), c, nullptr);
      for (ptrdiff_t j = 0; j < n; ++j) {
        const auto right = [&](std::size_t p) { return b[p * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]; };
        REQUIRE(c[j] == ebb::multiply_in_order<T>(static_cast<std::size_t>(k), [&](std::size_t p) { return a[p]; }, right, n == 1));
      }
    }
}

TEST_CASE("NaN and infinity pass through a product") {
  float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1}, c[4];
  a[1] = std::numeric_limits<float>::quiet_NaN();
  b[4] = std::numeric_limits<float>::infinity();
  ebb::kernel::contract(product::compact(2, 3, 2), a, b, c, nullptr);
  CHECK(std::isnan(c[0]));
  CHECK(std::isnan(c[1]));
  CHECK(std::isinf(c[2]));
  CHECK(c[3] == 11);
}

TEST_CASE("products of any bfloat16 have the bits of the definition: subnormal, huge, infinite, NaN") {
  std::mt19937_64 next(11);
  const auto any = [&](std::uint16_t mask, std::uint16_t bits) {
    return std::bit_cast<bfloat16>(static_cast<std::uint16_t>((next() & mask) | bits));
  };
  for (const ptrdiff_t m : {1, 3, 9})
    for (const ptrdiff_t n : {1, 2, 33})
      for (int kind = 0; kind < 6; ++kind) {
        const ptrdiff_t k = 6;
        std::vector<bfloat16> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)), c(static_cast<std::size_t>(m * n));
        // Arbitrary bits; factors whose products and sums are about 2^-126; and about 2^128.
        const std::uint16_t mask = kind % 3 == 0 ? 0xffff : 0x81ff, exponents = kind % 3 == 0 ? 0 : kind % 3 == 1 ? 0x1f00 : 0x5e00;
        for (bfloat16& x : a) x = any(mask, exponents);
        for (bfloat16& x : b) x = any(mask, exponents);
        product p = product::compact(m, k, n);
        p.lanes = kind >= 3 && (m == 1 || n == 1);
        std::vector<char> scratch(ebb::kernel::contract_scratch_bytes<bfloat16>(p) + 64);
        void* room = scratch.data();
        std::size_t space = scratch.size();
        ebb::kernel::contract(p, a.data(), b.data(), c.data(), std::align(64, scratch.size() - 64, room, space));
        for (ptrdiff_t i = 0; i < m; ++i)
          for (ptrdiff_t j = 0; j < n; ++j) {
            CAPTURE(m, n, kind, i, j);
            REQUIRE(test::same_bits(c[static_cast<std::size_t>(i * n + j)], element(p, a.data(), b.data(), i, j)));
          }
      }
}

TEST_CASE("products of bfloat16 are as close to the exact ones as sums in float") {
  for (const ptrdiff_t k : {1, 5, 64, 300, 1000}) {
    const product p = product::compact(9, k, 20);
    std::mt19937_64 next(static_cast<std::uint64_t>(k));
    std::normal_distribution<float> normal;
    std::vector<bfloat16> a(static_cast<std::size_t>(9 * k)), b(static_cast<std::size_t>(k * 20)), c(9 * 20);
    for (bfloat16& x : a) x = bfloat16(normal(next));
    for (bfloat16& x : b) x = bfloat16(normal(next));
    std::vector<float> scratch(ebb::kernel::contract_scratch_bytes<bfloat16>(p) / sizeof(float) + 16);
    ebb::kernel::contract(p, a.data(), b.data(), c.data(), scratch.data());
    for (std::size_t i = 0; i < 9; ++i)
      for (std::size_t j = 0; j < 20; ++j) {
        long double exact = 0, size = 0;
        for (std::size_t q = 0; q < static_cast<std::size_t>(k); ++q) {
          const long double x =
              static_cast<long double>(static_cast<float>(a[i * static_cast<std::size_t>(k) + q])) * static_cast<float>(b[q * 20 + j]);
          exact += x;
          size += std::fabs(x);
        }
        const long double bound = static_cast<long double>(k) * 0x1p-24L * size + 0x1p-8L * std::fabs(exact) * 1.01L;
        CHECK(std::fabs(static_cast<float>(c[i * 20 + j]) - exact) <= bound);
      }
  }
}

TEST_CASE("the reference of bfloat16 sums in the order of the kernel") {
  for (const ptrdiff_t k : {0, 1, 2, 63, 64, 65, 200})
    for (const ptrdiff_t n : {1, 2}) {
      std::mt19937_64 next(static_cast<std::uint64_t>(k));
      std::vector<bfloat16> a(static_cast<std::size_t>(k)), b(static_cast<std::size_t>(k * n)), c(2);
      fill(a.data(), a.size(), next);
      fill(b.data(), b.size(), next);
      alignas(64) char scratch[8192];
      product p = product::compact(1, k, n);
      p.lanes = n == 1;
      REQUIRE(ebb::kernel::contract_scratch_bytes<bfloat16>(p) <= sizeof scratch);
      ebb::kernel::contract(p, a.data(), b.data(), c.data(), scratch);
      for (ptrdiff_t j = 0; j < n; ++j) {
        const auto right = [&](std::size_t q) { return b[q * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]; };
        const float want = ebb::multiply_pairs_in_order(static_cast<std::size_t>(k), [&](std::size_t q) { return a[q]; }, right, n == 1);
        REQUIRE(c[static_cast<std::size_t>(j)].bits == bfloat16(want).bits);
      }
    }
}
