// bench/gradbench/by_hand.hpp — registers of doubles, for the versions that are vectorized by hand.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../row_sums.hpp"

#include <ebb/kernel/fold.hpp>
#include <ebb/kernel/instructions.hpp>
#include <ebb/kernel/transpose.hpp>
#include <ebb/num/exponential.hpp>
#include <ebb/num/logarithm.hpp>

#include <cstddef>
#include <utility>

namespace gradbench::by_hand {

/// Two registers, for functions such as exp.
using V = ebb::lanes<double>;
/// One register, of `lanes` numbers.
using R = ebb::simd::vector<double>;
inline constexpr int lanes = ebb::simd::count_of<double>;
inline constexpr bool many_registers = ebb::simd::register_bytes == 64;  // AVX-512 has 32, others have 16

EBB_INLINE R load(const double* p) { return ebb::simd::load(p); }
/// Zeros after the first count numbers.
EBB_INLINE R load(const double* p, int count) { return ebb::simd::load_first(p, count); }
EBB_INLINE void store(double* p, R x) { ebb::simd::store(p, x); }
EBB_INLINE void store(double* p, R x, int count) { ebb::simd::store_first(p, x, count); }
EBB_INLINE R all(double x) { return ebb::simd::all(x); }
EBB_INLINE R fma(R a, R b, R c) { return ebb::simd::fma(a, b, c); }
EBB_INLINE double sum_of(V x) {
  return ebb::fold_halves(x, [](V a, V b) EBB_LAMBDA { return a + b; });
}
EBB_INLINE double sum_of(R x) { return sum_of(V{{x, all(0)}}); }

/// f(0), f(1), ... f(N - 1), whose arguments are constants.
template <int N, class F>
EBB_INLINE void unrolled(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

/// Lane i of the result is the sum of all lanes of x[i].
EBB_INLINE R sums_of(R (&x)[lanes]) { return bench::row_sums<lanes / 2, double>(x); }

/// Element c of the rows of N numbers that begin at row(0), row(1), ..., one for each lane, as x[c].
template <int N>
EBB_INLINE void load_columns(auto row, R (&x)[N]) {
  unrolled<(N + lanes - 1) / lanes>([&](auto b) EBB_LAMBDA {
    constexpr int first = b * lanes;
    R square[lanes];
    unrolled<lanes>([&](auto r) EBB_LAMBDA { square[r] = first + lanes <= N ? load(row(r) + first) : load(row(r) + first, N - first); });
    ebb::simd::transpose<double>(square);
    unrolled<lanes>([&](auto r) EBB_LAMBDA {
      if constexpr (first + r < N) x[first + r] = square[r];
    });
  });
}
/// The other way, for at least as many columns as a register has lanes. The last ones are stored with some before them.
template <int N>
EBB_INLINE void store_columns(auto row, const R (&x)[N]) {
  unrolled<(N + lanes - 1) / lanes>([&](auto b) EBB_LAMBDA {
    constexpr int first = (b + 1) * lanes <= N ? b * lanes : N - lanes;
    R square[lanes];
    unrolled<lanes>([&](auto r) EBB_LAMBDA { square[r] = x[first + r]; });
    ebb::simd::transpose<double>(square);
    unrolled<lanes>([&](auto r) EBB_LAMBDA { store(row(r) + first, square[r]); });
  });
}

}  // namespace gradbench::by_hand
