// test/kernel/small_product.cpp — a small product alone has the bits of contract, which contract.cpp compares with the definition.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/contract.hpp>
#include <ebb/kernel/small_product.hpp>

#include <cstdint>
#include <random>
#include <vector>

using std::ptrdiff_t;

namespace {

/// Operands and result end at a page without access. Returns whether the product was one that the kernel serves.
template <class T>
bool check(ptrdiff_t m, ptrdiff_t k, ptrdiff_t n, bool left_transposed, bool right_transposed) {
  CAPTURE(m, k, n, left_transposed, right_transposed);
  const auto size = [](ptrdiff_t x) { return static_cast<std::size_t>(x); };
  test::guarded<T> a(size(m * k)), b(size(k * n)), c(size(m * n));
  std::mt19937_64 next(static_cast<std::uint64_t>(m * 10007 + k * 101 + n));
  const auto fill = [&](T* x, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; ++i) x[i] = static_cast<T>(static_cast<int>(next() % 2001) - 1000) / T(37);
  };
  fill(a.at_end(), m * k);
  fill(b.at_end(), k * n);
  fill(c.at_end(), m * n);
  const std::vector<T> before(c.at_end(), c.at_end() + m * n);
  const bool served = ebb::kernel::multiply_small(m, k, n, left_transposed, right_transposed, a.at_end(), b.at_end(), c.at_end());
  std::size_t wrong = 0;
  for (ptrdiff_t i = 0; i < m; ++i)
    for (ptrdiff_t j = 0; j < n; ++j) {
      T sum = 0;
      for (ptrdiff_t p = 0; p < k; ++p)
        sum = ebb::lane::fma(left_transposed ? a.at_end()[p * m + i] : a.at_end()[i * k + p],
                             right_transposed ? b.at_end()[j * k + p] : b.at_end()[p * n + j], sum);
      wrong += !test::same_bits(c.at_end()[i * n + j], served ? sum : before[size(i * n + j)]);
    }
  REQUIRE(wrong == 0);
  return served;
}

}  // namespace

TEMPLATE_TEST_CASE("small products alone have the bits of their chains", "", float, double) {
  int served = 0, all = 0;
  for (ptrdiff_t m = 0; m <= 14; ++m)
    for (ptrdiff_t n = 0; n <= 36; ++n)
      for (const ptrdiff_t k : {0, 1, 2, 3, 4, 5, 8, 13, 17})
        for (const int flags : {0, 1, 2, 3}) {
          served += check<TestType>(m, k, n, (flags & 1) != 0, (flags & 2) != 0);
          ++all;
        }
  CHECK(served > all * 3 / 4);
}

TEMPLATE_TEST_CASE("squares up to 32 rows and thin products are served, and larger ones are refused", "", float, double) {
  for (const ptrdiff_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 20, 31, 32})
    for (const int flags : {0, 1, 2, 3}) CHECK(check<TestType>(n, n, n, (flags & 1) != 0, (flags & 2) != 0));
  CHECK_FALSE(check<TestType>(90, 90, 90, false, false));
  CHECK_FALSE(check<TestType>(90, 90, 90, true, true));
  CHECK(check<TestType>(5, 300, 90, true, false));
  for (const int flags : {0, 1, 2, 3})
    for (const ptrdiff_t few : {1, 2, 3}) {
      CHECK(check<TestType>(300, 90, few, (flags & 1) != 0, (flags & 2) != 0));
      CHECK(check<TestType>(few, 90, 300, (flags & 1) != 0, (flags & 2) != 0));
    }
}
