// ebb/kernel/recurrence.hpp — recurrences along rows: y = a y + b, and running logarithms of sums of exponentials.
// SPDX-License-Identifier: BSL-1.0
//
// As in a scan, each element is one step of a chain, and rows run side by side: see [note: order of a scan].
#pragma once

#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"
#include "narrow.hpp"
#include "transpose.hpp"
#include "workspace.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI::kernel {

/// The steps along a row of `length` elements. late: each step takes the factor at the element of the step before.
struct recurrence {
  std::size_t length = 0;
  bool reversed = false, late = false;

  constexpr std::size_t at(std::size_t k) const { return reversed ? length - 1 - k : k; }
};

/// out = y for each of Rows adjacent rows: y = b in the first step, then y = a y + b, with two roundings. Narrow floats are computed in
/// float, and each result is rounded once.
template <int Rows, class T>
constexpr void linear_rows(const recurrence& r, const T* a, const T* b, T* out) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  wide y[Rows] = {};
  for (std::size_t k = 0; k < r.length; ++k) {
    const std::size_t i = r.at(k), factor = r.late && k > 0 ? r.at(k - 1) : i;
    for (std::size_t row = 0; row < Rows; ++row) {
      const std::size_t first = row * r.length;
      const wide more = static_cast<wide>(b[first + i]);
      y[row] = k == 0 ? more : static_cast<wide>(a[first + factor]) * y[row] + more;
      out[first + i] = static_cast<T>(y[row]);
    }
  }
}

template <class T>
void linear_rows(const recurrence& r, const T* a, const T* b, T* out, std::size_t rows) {
  constexpr std::size_t together = 8;
  std::size_t row = 0;
  for (; row + together <= rows; row += together) linear_rows<together>(r, a + row * r.length, b + row * r.length, out + row * r.length);
  for (; row < rows; ++row) linear_rows<1>(r, a + row * r.length, b + row * r.length, out + row * r.length);
}

/// out = the logarithm of the sum of e^x over the steps so far. It keeps a running maximum, and the sum relative to it.
template <class T>
constexpr void logcumsumexp_row(const recurrence& r, const T* x, T* out) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  wide top = 0, sum = 0;
  for (std::size_t k = 0; k < r.length; ++k) {
    const std::size_t i = r.at(k);
    const wide next = static_cast<wide>(x[i]);
    if (k == 0 || next == top) {  // infinities are equal: their difference is NaN
      sum += 1;
      top = next;
    } else if (next > top) {
      sum = sum * lane::exp(top - next) + 1;
      top = next;
    } else sum += lane::exp(next - top);
    out[i] = static_cast<T>(top + lane::log(sum));
  }
}

/// The same of so many rows. As many as there are lanes are turned, so that each lane is a row, and turned back.
template <class T>
void logcumsumexp_rows(const recurrence& r, const T* x, T* out, std::size_t rows) {
  std::size_t row = 0;
  if constexpr (full_real<T>) {
    constexpr std::size_t size = sizeof(T), columns = lane_count * size;
    const std::size_t bytes = r.length * size;
    T* const turned = rows < lane_count ? nullptr : reinterpret_cast<T*>(thread_scratch().take(r.length * columns));
    const lanes<T> zero = lanes<T>::all(0), one = lanes<T>::all(1);
    for (; row + lane_count <= rows; row += lane_count) {
      char* const to = reinterpret_cast<char*>(turned);
      const T* const first = x + row * r.length;
      transpose<size>(to, columns, reinterpret_cast<const char*>(first), static_cast<std::ptrdiff_t>(bytes), lane_count, r.length);
      lanes<T> top = zero, sum = zero;
      for (std::size_t k = 0; k < r.length; ++k) {
        T* const at = turned + r.at(k) * lane_count;
        const lanes<T> next = lanes<T>::load(at);
        if (k == 0) top = next;
        const auto is_more = next > top;
        const lanes<T> below = lanes<T>::select(is_more, top - next, next - top);
        const lanes<T> e = lane::exp(lanes<T>::select(next == top, zero, below));  // e^0 is 1
        sum = k == 0 ? one : lanes<T>::select(is_more, sum * e + one, sum + e);
        top = lanes<T>::select(is_more, next, top);
        (top + lane::log(sum)).store(at);
      }
      transpose<size>(reinterpret_cast<char*>(out + row * r.length), static_cast<std::ptrdiff_t>(bytes), to, columns, r.length, lane_count);
    }
  }
  for (; row < rows; ++row) logcumsumexp_row(r, x + row * r.length, out + row * r.length);
}

}  // namespace ebb::inline EBB_ABI::kernel
