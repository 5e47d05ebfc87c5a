// test/stats/oracle.hpp — compares log densities and their derivatives with formulas in long double.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../linalg/oracle.hpp"
#include "../op/everywhere.hpp"

#include <ebb/stats.hpp>

#include <cmath>
#include <limits>

namespace stats_test {

using linalg_test::long_numbers, linalg_test::numbers;
inline constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr long double pi = 3.14159265358979323846264338327950288L;

/// f of K numbers x[0] ... x[K - 1] at one place: its value, then its derivative by each of them.
template <std::size_t K, class F>
numbers point(F, const numbers& at) {
  const ebb::graph g = ebb::prune(ebb::joint(ebb::trace_of<F, ebb::term<double, K>>::make(), {0}));
  const auto out = linalg_test::evaluated(g, {at, {1}}, {linalg_test::extents_of({K}), linalg_test::extents_of({})});
  numbers r{out[0][0]};
  r.insert(r.end(), out[1].begin(), out[1].end());
  return r;
}

/// The largest error of f at many places, in ulp of T and of the larger of 1 and what the oracle says with its second number.
template <class T, std::size_t K, std::size_t N, class F, class Oracle>
double worst_error(F, const numbers& x, Oracle oracle) {
  ebb::cell_array given;
  for (double e : x) given.push(ebb::to_cell(static_cast<T>(e)));
  const ebb::graph g = ebb::lower(ebb::trace_of<F, ebb::term<T, K, N>>::make());
  const auto out = ebb::evaluate(g, {given}, ebb::symbol_values(g, {linalg_test::extents_of({K, N})}));
  REQUIRE(out[0].size() == static_cast<int>(N));
  double worst = 0;
  for (std::size_t i = 0; i < N; ++i) {
    long_numbers v;
    for (std::size_t k = 0; k < K; ++k) v.push_back(static_cast<T>(x[k * N + i]));
    const auto [want, size] = oracle(v);
    const T got = ebb::from_cell<T>(out[0][static_cast<int>(i)]);
    if (std::isinf(want) && got == want) continue;
    const double error =
        static_cast<double>(std::fabs(got - want) / (std::numeric_limits<T>::epsilon() * std::max({1.0L, std::fabs(want), size})));
    worst = error <= worst ? worst : error;
    if (!(error <= 1e6)) worst = 1e6;
  }
  return worst;
}

struct valued {
  long double value, size = 0;
};

/// Checks a log density at N places, K numbers each, the first N of x being the first number: values in float and double within `bound`
/// ulp, first and second derivatives by all numbers against central differences. The oracle takes K numbers.
template <std::size_t K, std::size_t N, class F, class Oracle>
void check_density(const char* name, F f, const numbers& x, Oracle oracle, double bound, long double second = 1e-6L) {
  INFO(name);
  REQUIRE(x.size() == K * N);
  CHECK((worst_error<float, K, N>(f, x, oracle)) <= bound);
  CHECK((worst_error<double, K, N>(f, x, oracle)) <= bound);
  linalg_test::against_differences<ebb::term<double, K, N>>(name, f, x, linalg_test::extents_of({K, N}), [&](const long_numbers& v) {
    long_numbers r;
    for (std::size_t i = 0; i < N; ++i) {
      long_numbers at;
      for (std::size_t k = 0; k < K; ++k) at.push_back(v[k * N + i]);
      r.push_back(oracle(at).value);
    }
    return r;
  }, 1e-10L, second);
}

}  // namespace stats_test
