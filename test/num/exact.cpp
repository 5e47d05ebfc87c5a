// test/num/exact.cpp — the emulations that constant expressions use, against the C library at run time.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/exact.hpp>

namespace exact = ebb::lane::exact;
using test::same;

namespace {

/// Numbers of all sizes, of sizes around 1, with few digits, and subnormal: sums of them cancel and tie.
template <class T>
struct source {
  std::mt19937_64 next{17};
  T operator()() {
    using F = ebb::lane::format<T>;
    using B = ebb::lane::bits_of<T>;
    B b = static_cast<B>(next());
    const B ordinary = static_cast<B>(static_cast<B>(F::bias) - 30 + next() % 60) << F::fraction_bits;
    if (next() % 3 == 0) b = (b & (F::sign | F::fraction)) | ordinary;
    if (next() % 7 == 0) b &= ~((B{1} << (next() % F::fraction_bits)) - 1);
    if (next() % 9 == 0) b &= F::sign | F::fraction;
    return ebb::lane::from_bits<T>(b);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("the emulated fma and sqrt are correctly rounded", "", float, double) {
  using T = TestType;
  source<T> any;
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const T a = any(), b = any();
    T c = any();
    if (i % 4 == 0) c = -a * b * (1 + static_cast<T>(i / 4 % 5 - 2) * std::numeric_limits<T>::epsilon());  // nearly everything cancels
    wrong += !same(exact::fma(a, b, c), std::fma(a, b, c));
    wrong += !same(exact::sqrt(std::fabs(a)), std::sqrt(std::fabs(a)));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("the emulations are right for special values", "", float, double) {
  using T = TestType;
  const std::vector<T> values = test::special_values<T>();
  int wrong = 0;
  for (T a : values) {
    wrong += !same(exact::sqrt(a), std::sqrt(a));
    for (T b : values)
      for (T c : values) wrong += !same(exact::fma(a, b, c), std::fma(a, b, c));
    for (int n = -300; n <= 300; ++n) wrong += std::isfinite(a) && !same(exact::scale(a, static_cast<T>(n)), std::ldexp(a, n));
  }
  CHECK(wrong == 0);
}
