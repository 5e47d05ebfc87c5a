// ebb/linalg/reflection.hpp — reflections of rows and columns, and the sums over rows that apply them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/matvec.hpp"
#include "../num/lane.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of reflections in lanes]
/// Sums along a row have 32 lanes, as the rows of a product with a vector; those over rows are chains of fma in rising order from 0 on. A
/// vector x becomes beta and zeros with beta = -sign(x0) |x|, v = x / (x0 - beta), v0 = 1, and tau = (beta - x0) / beta: 1 - tau v v^T is
/// the reflection. If the squares of all elements but the first add up to less than `least`, they count as 0.
template <class T>
struct reflection {
  /// Replaces x by v. The result is tau.
  static constexpr T of(std::ptrdiff_t n, T* x, T& beta, T least) {
    const T below = dot(n - 1, x + 1, x + 1), first = x[0];
    x[0] = T(1);
    if (!(below >= least)) {
      for (std::ptrdiff_t i = 1; i < n; ++i) x[i] = T(0);
      beta = first;
      return T(0);
    }
    const T size = lane::sqrt(lane::fma(first, first, below));
    beta = first > 0 ? -size : size;
    scale(n - 1, x + 1, 1 / (first - beta));
    return (beta - first) / beta;
  }
  /// Applies 1 - tau v v^T to the m x n matrix a, whose rows are `row` apart, from the left. sums: n.
  static constexpr void apply(std::ptrdiff_t m, std::ptrdiff_t n, T tau, const T* v, T* a, std::ptrdiff_t row, T* sums) {
    if (tau == 0) return;
    add_rows(m, n, v, a, row, sums);
    scale(n, sums, tau);
    subtract<false>(m, n, a, row, v, sums);
  }

  static constexpr void scale(std::ptrdiff_t n, T* x, T by) {
    std::ptrdiff_t i = 0;
    if (!__builtin_is_constant_evaluated())
      for (; i + count <= n; i += count) simd::store(x + i, simd::load(x + i) * simd::all(by));
    for (; i < n; ++i) x[i] = x[i] * by;
  }
  static constexpr T dot(std::ptrdiff_t n, const T* x, const T* y) {
    if (!__builtin_is_constant_evaluated()) return kernel::tile::dot(n, x, 1, y, 1);
    T sums[logical_lanes]{};
    for (std::ptrdiff_t i = 0; i < n; ++i) sums[i % logical_lanes] = lane::fma(x[i], y[i], sums[i % logical_lanes]);
    for (int half = logical_lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    return sums[0] + T(0);
  }
  /// to[i]: row i of the m x n matrix a, times x.
  static constexpr void times(std::ptrdiff_t m, std::ptrdiff_t n, const T* a, std::ptrdiff_t row, const T* x, T* to) {
    if (!__builtin_is_constant_evaluated()) return kernel::tile::multiply_in_lanes(m, n, kernel::matrix<T>{a, row, 1}, x, 1, to, 1);
    for (std::ptrdiff_t i = 0; i < m; ++i) to[i] = dot(n, a + i * row, x);
  }
  /// to: the sum of all rows i of a, times x[i].
  static constexpr void add_rows(std::ptrdiff_t m, std::ptrdiff_t n, const T* x, const T* a, std::ptrdiff_t row, T* to) {
    if (!__builtin_is_constant_evaluated()) return kernel::tile::strip<1>(m, kernel::matrix<T>{x, 0, 1}, a, row, to, n, n, {});
    for (std::ptrdiff_t j = 0; j < n; ++j) to[j] = T(0);
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) to[j] = lane::fma(x[i], a[i * row + j], to[j]);
  }
  /// Subtracts x[i] y from row i of a, and with Both then p[i] q.
  template <bool Both>
  static constexpr void subtract(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t row, const T* x, const T* y,
                                 const T* p = nullptr, const T* q = nullptr) {
    if (!__builtin_is_constant_evaluated()) {
      std::ptrdiff_t j = 0;
      const auto columns = [&]<int Registers>(std::integral_constant<int, Registers>, int last) EBB_LAMBDA {
        subtract_columns<Registers, Both>(m, a + j, row, x, y + j, p, Both ? q + j : nullptr, last);
        j += Registers * count;
      };
      while (j + 4 * count <= n) columns(std::integral_constant<int, 4>{}, 0);
      if (j + 2 * count <= n) columns(std::integral_constant<int, 2>{}, 0);
      if (j + count <= n) columns(std::integral_constant<int, 1>{}, 0);
      if (j < n) columns(std::integral_constant<int, 0>{}, static_cast<int>(n - j));
      return;
    }
    for (std::ptrdiff_t i = 0; i < m; ++i)
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        const T first = lane::fma(-x[i], y[j], a[i * row + j]);
        a[i * row + j] = Both ? lane::fma(-p[i], q[j], first) : first;
      }
  }

 private:
  static constexpr int count = simd::count_of<T>;

  /// For some registers of columns, or for the first `last` elements of one.
  template <int Registers, bool Both>
  static inline void subtract_columns(std::ptrdiff_t m, T* a, std::ptrdiff_t row, const T* x, const T* y, const T* p,
                                      const T* q, int last) {
    using V = simd::vector<T>;
    [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
      const auto load = [=](const T* from) EBB_LAMBDA { return Registers ? simd::load(from) : simd::load_first(from, last); };
      const V first[] = {load(y + J * count)...};
      const V second[] = {Both ? load(q + J * count) : V{}...};
      for (std::ptrdiff_t i = 0; i < m; ++i, a += row) {
        const V of_first = simd::all(-x[i]), of_second = simd::all(Both ? -p[i] : T(0));
        const auto part = [&](int k) EBB_LAMBDA {
          V sum = simd::fma(of_first, first[k], load(a + k * count));
          if constexpr (Both) sum = simd::fma(of_second, second[k], sum);
          if constexpr (Registers > 0) simd::store(a + k * count, sum);
          else simd::store_first(a, sum, last);
        };
        (part(J), ...);
      }
    }(std::make_integer_sequence<int, Registers ? Registers : 1>{});
  }
};

/// The least sum of squares whose root has all digits, for elements that are not much larger than 1.
template <class T>
inline constexpr T least_square = std::numeric_limits<T>::digits > 24 ? static_cast<T>(0x1p-600) : T(0x1p-80);

}  // namespace ebb::inline EBB_ABI::detail
