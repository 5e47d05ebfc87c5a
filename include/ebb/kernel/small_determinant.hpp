// ebb/kernel/small_determinant.hpp — signs and logarithms of determinants of small matrices: a batch with one matrix in each lane.
// SPDX-License-Identifier: BSL-1.0
//
// Pivots, and the order in which their logarithms are added, are those of single matrices: so the bits do not depend on the batch.
#pragma once

#include "../num/logarithm.hpp"
#include "lanes.hpp"
#include "small.hpp"
#include "triangle.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::kernel {

namespace small {

/// The bytes of scratch for determinants of n rows, 64-byte aligned.
constexpr std::size_t determinant_bytes(std::ptrdiff_t n) { return scratch_bytes(linear_system{n, 1}); }

template <class T>
EBB_INLINE simd::vector<T> log_of(simd::vector<T> x) {
  lanes<T> all;
  for (auto& part : all.part) part = x;
  return lane::log(all).part[0];
}

/// The sign and logarithm of the determinant of one matrix of N rows, whose elements are variables: logarithms are computed side by side.
template <int N, class T>
[[gnu::noinline]] void log_determinant_known(const T* a, T* to) {
  constexpr int lanes = simd::count_of<T>;
  T w[N][N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) w[i][j] = a[i * N + j];
  T sign = T(1), log = T(0);
  if (!eliminate_known<N>(w, [&](int, int) EBB_LAMBDA { sign = -sign; })) {
    to[0] = T(0), to[1] = -std::numeric_limits<T>::infinity();
    return;
  }
  repeat<(N + lanes - 1) / lanes>([&]<int R>() EBB_LAMBDA {
    constexpr int first = R * lanes, count = N - first < lanes ? N - first : lanes;
    simd::vector<T> size = simd::all(T(1));
    repeat<count>([&]<int I>() EBB_LAMBDA { size[I] = lane::abs(w[first + I][first + I]); });
    const simd::vector<T> logs = log_of<T>(size);
    repeat<count>([&]<int I>() EBB_LAMBDA { log = log + logs[I]; });
  });
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) sign = w[i][i] < 0 ? -sign : sign;
  to[0] = log == log ? sign : log, to[1] = log;
}

/// The signs and logarithms of as many determinants as there are lanes, from their factors and the numbers that rows had.
template <class T>
[[gnu::noinline]] void signs_and_logs(std::ptrdiff_t n, const spread_matrix<T>& factors, const spread_matrix<T>& from, simd::vector<T> zero,
                                      simd::vector<T>& signs, simd::vector<T>& logs) {
  using V = simd::vector<T>;
  V sign = simd::all(T(1)), log = {};
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t j = i + 1; j < n; ++j) sign = simd::select<T>(simd::less<T>(from(j, 0), from(i, 0)), -sign, sign);
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    const V pivot = factors(k, k);
    sign = simd::select<T>(simd::less<T>(pivot, V{}), -sign, sign);
    log = log + log_of<T>(simd::abs<T>(pivot));
  }
  sign = simd::select<T>(simd::equal<T>(log, log), sign, log);
  const auto regular = simd::equal<T>(zero, V{});
  signs = simd::select<T>(regular, sign, V{});
  logs = simd::select<T>(regular, log, simd::all(-std::numeric_limits<T>::infinity()));
}

}  // namespace small

/// Computes up to `batch` signs and logarithms, see log_determinant, and returns how many: a few that are left are better computed one by
/// one.   scratch: determinant_bytes.
template <class T>
[[gnu::noinline]] std::ptrdiff_t log_determinants_small(std::ptrdiff_t n, std::ptrdiff_t batch, const T* a, T* to, void* scratch) {
  constexpr std::ptrdiff_t lanes = small::lanes_of<T>;
  T* const w = static_cast<T*>(scratch);
  const small::spread_matrix<T> factors{w, n, 1}, from{w + n * n * lanes, 1, 1};
  std::ptrdiff_t done = 0;
  for (; batch - done >= small::enough_to_expand<T>; done += std::min(lanes, batch - done)) {
    const std::ptrdiff_t count = std::min(lanes, batch - done);
    small::spread(w, a + done * n * n, n * n, count);
    for (std::ptrdiff_t i = 0; i < n; ++i) simd::store(from.at(i, 0), simd::all(static_cast<T>(i)));
    const simd::vector<T> zero = small::eliminate_lanes<T>(n, n, factors, from);
    simd::vector<T> signs, logs;
    small::signs_and_logs<T>(n, factors, from, zero, signs, logs);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      to[2 * (done + k)] = signs[k];
      to[2 * (done + k) + 1] = logs[k];
    }
  }
  return done;
}
/// One of up to four rows.
template <class T>
void log_determinant_known(std::ptrdiff_t n, const T* a, T* to) {
  small::with_known(n, [&]<int N>() EBB_LAMBDA {
    small::log_determinant_known<N>(a, to);
    return true;
  });
}
EBB_ONCE_FOR_ALL(void log_determinant_known<float>(std::ptrdiff_t, const float*, float*))
EBB_ONCE_FOR_ALL(void log_determinant_known<double>(std::ptrdiff_t, const double*, double*))

/// All of a batch.   scratch: that of log_determinant, and determinant_bytes for matrices that are small.
template <element T>
void log_determinants(std::ptrdiff_t n, std::ptrdiff_t batch, const T* a, T* to, void* scratch) {
  std::ptrdiff_t done = 0;
  if constexpr (!half_width<T>) {
    if (n <= small::most) done = log_determinants_small(n, batch, a, to, scratch);
    if (n > 0 && n <= 4)
      for (; done < batch; ++done) log_determinant_known(n, a + done * n * n, to + 2 * done);
  }
  for (; done < batch; ++done) log_determinant(n, a + done * n * n, to + 2 * done, scratch);
}

}  // namespace ebb::inline EBB_ABI::kernel
