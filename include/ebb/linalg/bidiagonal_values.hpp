// ebb/linalg/bidiagonal_values.hpp — singular values of bidiagonal matrices by bisection, many at a time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "bisection.hpp"

#include <cstddef>
#include <limits>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// [note: order of bidiagonal values]
/// If each f is at most epsilon / 8 times the norm, the values are the magnitudes of d. Else each is bisected by itself, from 0 and a bound
/// of all on: the number of values below x is that of negative pivots of B^T B - x^2, which are those of a stationary quotient-difference
/// transformation. So the steps of all values are the same arithmetic, and fill lanes. After as many steps as T has digits and one more,
/// the error is that of the largest value. If the lower bound is still 0, the upper one is then divided by 2^8, or 2^32 for double,
/// until it is a lower one, and bisection goes on to the value's own digits. Below 2^-36 or 2^-440 values are 0.
/// Source: K. V. Fernando, Accurately counting singular values of bidiagonal matrices (1998).
template <class T>
struct bidiagonal_values {
  std::ptrdiff_t n;
  T *squares_of_d, *squares_of_f;  // n; n

  static constexpr T unit = std::numeric_limits<T>::epsilon();
  static constexpr bool wide = std::numeric_limits<T>::digits > 24;

  /// The values of d and f in falling order. Elements are not larger than 2^8 or so, and one is not much smaller than 1.
  constexpr void run(const T* d, const T* f, T* values) const {
    T norm = T(0), beside = T(0), bound = T(0);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const T own = lane::abs(d[i]), after = lane::abs(f[i]), before = i > 0 ? lane::abs(f[i - 1]) : T(0);
      norm = larger(norm, own);
      beside = larger(beside, after);
      bound = larger(bound, own + larger(before, after));
      squares_of_d[i] = d[i] * d[i];
      squares_of_f[i] = f[i] * f[i];
    }
    if (beside <= unit / 8 * norm) return sort(d, values);
    bound = bound * (1 + 8 * unit);
    bisection<T>::each_groups(n, [&]<class V, int Groups>(std::ptrdiff_t k) { bisect<V, Groups>(k, bound, values); });
  }

 private:
  static constexpr T least_value = wide ? static_cast<T>(0x1p-440) : T(0x1p-36);
  static constexpr T larger(T a, T b) { return a > b ? a : b; }

  constexpr void sort(const T* d, T* values) const {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const T own = lane::abs(d[i]);
      std::ptrdiff_t at = i;
      for (; at > 0 && values[at - 1] < own; --at) values[at] = values[at - 1];
      values[at] = own;
    }
  }
  /// numbers: how many values are below x.
  template <class V, int Groups>
  constexpr void count(const V (&x)[Groups], V (&numbers)[Groups]) const {
    [&]<int... G>(std::integer_sequence<int, G...>) EBB_LAMBDA {
      const V minus_square[] = {-(x[G] * x[G])...};
      V shifted[] = {minus_square[G]...}, sum[] = {(x[G] - x[G])...};
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        const V of_d = lane::all<V>(squares_of_d[i]);
        const auto part = [&](int g) EBB_LAMBDA {
          const V pivot = of_d + shifted[g];
          sum[g] = sum[g] + bisection<T>::is_negative(pivot);
          shifted[g] = lane::fma(shifted[g], bisection<T>::quotient(squares_of_f[i], pivot), minus_square[g]);
        };
        (part(G), ...);
      }
      ((numbers[G] = sum[G]), ...);
    }(std::make_integer_sequence<int, Groups>{});
  }
  /// Values k, k + 1, ...: one for each lane of each group.
  template <class V, int Groups>
  constexpr void bisect(std::ptrdiff_t k, T bound, T* values) const {
    constexpr int size = bisection<T>::template values_of<V>;
    [&]<int... G>(std::integer_sequence<int, G...>) EBB_LAMBDA {
      // The number of smaller values. Lanes after the last value have that of the smallest one.
      const auto behind = [&](int g) EBB_LAMBDA {
        return lane::all<V>(static_cast<T>(n - 1 - k - g * size)) - bisection<T>::template lane_numbers<V>();
      };
      const V smaller[] = {lane::at_least(behind(G), lane::all<V>(0))...};
      V low[] = {(smaller[G] - smaller[G])...}, high[] = {(low[G] + lane::all<V>(bound))...}, x[Groups], numbers[Groups];
      const V half = lane::all<V>(T(0.5)), none = lane::all<V>(0);
      bisection<T>::halve(std::numeric_limits<T>::digits + 1, smaller, low, high,
                          [&](const V(&at)[Groups], V(&found)[Groups]) EBB_LAMBDA { count<V, Groups>(at, found); });
      V wanted[] = {lane::select(low[G] == none, half, none)...};
      const V floor = lane::all<V>(least_value), digits = lane::all<V>(2 * unit);
      for (int step = 0; step < 400; ++step) {
        const auto still = [&](int g) EBB_LAMBDA {
          const auto wide_enough = lane::select(high[g] - low[g] > digits * high[g], wanted[g], none);
          wanted[g] = lane::select(high[g] > floor, wide_enough, none);
          const V far = high[g] * lane::all<V>(wide ? static_cast<T>(0x1p-32) : T(0x1p-8));
          x[g] = lane::select(low[g] == none, far, half * (low[g] + high[g]));
          return !lane::detail::in_no_lane<V>(wanted[g] > none);
        };
        bool any = false;
        ((any = still(G) || any), ...);
        if (!any) break;
        count<V, Groups>(x, numbers);
        const auto halve = [&](int g) EBB_LAMBDA {
          const V above = lane::select(numbers[g] > smaller[g], wanted[g], none), below = wanted[g] - above;
          high[g] = lane::select(above > none, x[g], high[g]);
          low[g] = lane::select(below > none, x[g], low[g]);
        };
        (halve(G), ...);
      }
      (bisection<T>::put(lane::select(high[G] > floor, half * (low[G] + high[G]), none), k + G * size, n, values), ...);
    }(std::make_integer_sequence<int, Groups>{});
  }
};

}  // namespace ebb::inline EBB_ABI::detail
