// ebb/kernel/lapack.hpp — the functions of BLAS and LAPACK that ebb calls with the target ebb::lapack, and the least sizes for them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: large matrices by LAPACK]
// The CMake target ebb::lapack defines EBB_LAPACK and links LAPACKE and OpenBLAS. Then these libraries compute products, solutions,
// inverses, factors, determinants, eigenvalues and singular values of large matrices of float and double; `large` has the bounds. ebb's own
// kernels compute all others. EBB_ABI is another one, so that files with the target and files without it share no function.
// The results have other bits than those of ebb's kernels, and may have other bits on another processor or with another number of threads.
// The bounds of errors are of the same form.
// OpenBLAS has threads of its own: OPENBLAS_NUM_THREADS or openblas_set_num_threads says how many.
// LAPACK stores columns one after another: so it sees the transpose of a row-major matrix. A symmetric matrix is its own transpose,
// and LQ factors of the transpose are QR factors. Elimination looks for pivots in columns: there a matrix is transposed on its way into
// scratch, which costs n^2 beside n^3, and an error names the same pivot as without LAPACK.
// A matrix with a NaN or an infinity is left to ebb's kernels: LAPACK does not specify its result.
#pragma once

#include "lanes.hpp"

#if defined(EBB_LAPACK)
#include <cblas.h>
#include <lapacke.h>
#endif

#include <concepts>
#include <cstddef>

namespace ebb::inline EBB_ABI::kernel::lapack {

#if defined(EBB_LAPACK)
inline constexpr bool linked = true;
#else
inline constexpr bool linked = false;
#endif

/// Whether the program links LAPACK, and LAPACK has functions for T.
template <class T>
inline constexpr bool has = linked && (std::same_as<T, float> || std::same_as<T, double>);

/// The least number of rows of a large matrix; of a product, the least of its three extents. ebb's own kernels take less time below: their
/// products and eliminations are fast, so that LAPACK pays late there, with its threads. Beyond `most` rows, sizes of LAPACK's scratch
/// would be no int.
struct large {
  static constexpr std::ptrdiff_t product = 512, elimination = 512, inverse = 256;
  static constexpr std::ptrdiff_t cholesky = 32, triangle = 32, qr = 32, eigen = 33, svd = 33, most = 20000;

  static constexpr bool is(std::ptrdiff_t n, std::ptrdiff_t least) { return linked && n >= least && n <= most; }
};

/// The numbers of pivots take a part of scratch: this many elements of any type.
constexpr std::ptrdiff_t pivots_of(std::ptrdiff_t n) { return linked ? n : 0; }

/// A size as these libraries take it: `large` refuses those that are no int.
constexpr int number(std::ptrdiff_t n) { return static_cast<int>(n); }

/// The functions for one type; defined for float and double if LAPACK is linked.
template <class T>
struct calls;

#if defined(EBB_LAPACK)

struct constants {
  static constexpr int by_columns = LAPACK_COL_MAJOR;
  static constexpr auto by_rows = CblasRowMajor;
  static constexpr auto left = CblasLeft;
  static constexpr auto transposed(bool is) { return is ? CblasTrans : CblasNoTrans; }
  static constexpr auto triangle(bool is_upper) { return is_upper ? CblasUpper : CblasLower; }
  static constexpr auto diagonal(bool is_one) { return is_one ? CblasUnit : CblasNonUnit; }
};
static_assert(sizeof(lapack_int) == sizeof(int) && sizeof(blasint) == sizeof(int));

template <>
struct calls<float> : constants {
  static constexpr auto gemm = &cblas_sgemm;
  static constexpr auto trsm = &cblas_strsm;
  static constexpr auto potrf = &LAPACKE_spotrf_work;
  static constexpr auto getrf = &LAPACKE_sgetrf_work;
  static constexpr auto getrs = &LAPACKE_sgetrs_work;
  static constexpr auto getri = &LAPACKE_sgetri_work;
  static constexpr auto gelqf = &LAPACKE_sgelqf_work;
  static constexpr auto orglq = &LAPACKE_sorglq_work;
  static constexpr auto syevd = &LAPACKE_ssyevd_work;
  static constexpr auto gesdd = &LAPACKE_sgesdd_work;
};
template <>
struct calls<double> : constants {
  static constexpr auto gemm = &cblas_dgemm;
  static constexpr auto trsm = &cblas_dtrsm;
  static constexpr auto potrf = &LAPACKE_dpotrf_work;
  static constexpr auto getrf = &LAPACKE_dgetrf_work;
  static constexpr auto getrs = &LAPACKE_dgetrs_work;
  static constexpr auto getri = &LAPACKE_dgetri_work;
  static constexpr auto gelqf = &LAPACKE_dgelqf_work;
  static constexpr auto orglq = &LAPACKE_dorglq_work;
  static constexpr auto syevd = &LAPACKE_dsyevd_work;
  static constexpr auto gesdd = &LAPACKE_dgesdd_work;
};

#endif

/// Whether n elements are finite.
template <class T>
inline bool all_finite(std::ptrdiff_t n, const T* a) {
  constexpr std::ptrdiff_t lanes = simd::count_of<T>;
  simd::vector<T> sums = {};  // of zeros and NaN
  std::ptrdiff_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = simd::load(a + i);
    sums = sums + (x - x);
  }
  T sum = T(0), each[lanes];
  for (; i < n; ++i) sum = sum + (a[i] - a[i]);
  simd::store(each, sums);
  for (const T x : each) sum = sum + x;
  return sum == 0;
}

/// Factors a, m x n by columns, in place. Returns the number of the pivot that is 0, or -1.
template <class T>
inline std::ptrdiff_t eliminate(std::ptrdiff_t m, std::ptrdiff_t n, T* a, int* pivots) {
  return static_cast<std::ptrdiff_t>(calls<T>::getrf(calls<T>::by_columns, number(m), number(n), a, number(m), pivots)) - 1;
}
template <class T>
inline std::ptrdiff_t eliminate(std::ptrdiff_t n, T* a, int* pivots) {
  return eliminate(n, n, a, pivots);
}
/// Whether the number of exchanges is odd.
template <std::same_as<int> Int>
inline bool is_odd(std::ptrdiff_t n, const Int* pivots) {
  bool odd = false;
  for (std::ptrdiff_t k = 0; k < n; ++k) odd ^= pivots[k] != static_cast<int>(k) + 1;
  return odd;
}

}  // namespace ebb::inline EBB_ABI::kernel::lapack
