// ebb/kernel/recurrence.hpp — recurrences along rows: y = a y + b, and running logarithms of sums of exponentials.
// SPDX-License-Identifier: BSL-1.0
//
// As in a scan, each element is one step of a chain, and rows run side by side: see [note: order of a scan].
#pragma once

#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"
#include "narrow.hpp"

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

}  // namespace ebb::inline EBB_ABI::kernel
