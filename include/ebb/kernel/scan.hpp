// ebb/kernel/scan.hpp — running sums and their relatives along one axis.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a scan]
// Each element is one step of a chain: combine(result so far, x), from the identity on, in rising order along the axis, or in falling order
// if the scan is reversed. So the bits of an element depend only on the elements before it: a scan of a part is a part of the scan.
// Lanes, and chains that run side by side, are different rows, never parts of one.
#pragma once

#include "narrow.hpp"
#include "transpose.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::kernel {

/// [outer, length, inner], row-major; the scan runs along the middle axis.
struct scan_call {
  std::size_t outer = 0, length = 0, inner = 0;
  bool reversed = false, exclusive = false;  // exclusive: each result without its own element, the first is the identity

  /// The element of the k-th step.
  EBB_INLINE std::size_t at(std::size_t k) const { return reversed ? length - 1 - k : k; }
};

namespace detail {

/// Rows [first, first + Rows), whose elements are adjacent in memory: one chain for each, side by side.
template <int Rows, class Wide, class T>
inline void scan_rows(const scan_call& c, const T* x, T* out, std::size_t first, T identity, auto combine) {
  Wide sum[Rows];
  for (Wide& s : sum) s = static_cast<Wide>(identity);
  for (std::size_t k = 0; k < c.length; ++k)
    for (std::size_t row = 0; row < Rows; ++row) {
      const std::size_t i = (first + row) * c.length + c.at(k);
      const Wide after = combine(sum[row], static_cast<Wide>(x[i]));
      const T rounded = static_cast<T>(c.exclusive ? sum[row] : after);
      sum[row] = static_cast<Wide>(static_cast<T>(after));
      out[i] = rounded;
    }
}

/// Some steps of as many rows as there are lanes, `length` apart. Squares of elements are turned, so each lane is a row, and turned back.
template <bool Reversed, full_width T, int... I>
EBB_INLINE void scan_block(const T* from, T* to, std::ptrdiff_t length, lanes<T>& sum, bool exclusive, auto combine,
                           std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  const auto step = [&sum, exclusive, combine](lanes<T> x) EBB_LAMBDA {
    const lanes<T> before = sum;
    sum = combine(before, x);
    return exclusive ? before : sum;
  };
  simd::vector<T> a[] = {simd::load(from + I * length)...};
  simd::transpose<T>(a);
  if constexpr (lanes<T>::parts == 1) {
    ((a[Reversed ? n - 1 - I : I] = step({{a[Reversed ? n - 1 - I : I]}}).part[0]), ...);
  } else {
    simd::vector<T> b[] = {simd::load(from + (I + n) * length)...};
    simd::transpose<T>(b);
    const auto both = [step](simd::vector<T>& low, simd::vector<T>& high) EBB_LAMBDA {
      const lanes<T> r = step({{low, high}});
      low = r.part[0], high = r.part[1];
    };
    (both(a[Reversed ? n - 1 - I : I], b[Reversed ? n - 1 - I : I]), ...);
    simd::transpose<T>(b);
    (simd::store(to + (I + n) * length, b[I]), ...);
  }
  simd::transpose<T>(a);
  (simd::store(to + I * length, a[I]), ...);
}
/// As many rows as there are lanes, from row `first` on.
template <full_width T>
inline void scan_turned(const scan_call& c, const T* x, T* out, std::size_t first, T identity, auto combine) {
  constexpr std::size_t n = simd::count_of<T>;
  constexpr auto all = std::make_integer_sequence<int, n>{};
  const auto length = static_cast<std::ptrdiff_t>(c.length);
  const std::size_t begin = first * c.length, whole = c.length / n * n;
  lanes<T> sum = lanes<T>::all(identity);
  for (std::size_t i = 0; i < whole; i += n) {
    const std::size_t at = begin + (c.reversed ? c.length - i - n : i);
    if (c.reversed) scan_block<true>(x + at, out + at, length, sum, c.exclusive, combine, all);
    else scan_block<false>(x + at, out + at, length, sum, c.exclusive, combine, all);
  }
  if (whole == c.length) return;
  T last[lane_count];
  sum.store(last);
  for (std::size_t row = 0; row < lane_count; ++row)
    for (std::size_t i = whole; i < c.length; ++i) {
      const std::size_t at = begin + row * c.length + c.at(i);
      const T before = last[row];
      last[row] = combine(before, x[at]);
      out[at] = c.exclusive ? before : last[row];
    }
}

}  // namespace detail

/// out = the scan of x, another array. combine(older, x) takes lanes and single elements of at least 32 bits; each step is rounded to T.
template <element T>
void scan(const scan_call& c, const T* x, T* out, T identity, auto combine) {
  using wide = std::conditional_t<half_width<T>, float, T>;
  if (c.inner == 1) {
    constexpr int together = 8;
    std::size_t row = 0;
    if constexpr (full_width<T>)
      if (c.length >= simd::count_of<T>)
        for (; row + lane_count <= c.outer; row += lane_count) detail::scan_turned(c, x, out, row, identity, combine);
    for (; row + together <= c.outer; row += together) detail::scan_rows<together, wide>(c, x, out, row, identity, combine);
    for (; row < c.outer; ++row) detail::scan_rows<1, wide>(c, x, out, row, identity, combine);
    return;
  }
  for (std::size_t o = 0; o < c.outer; ++o)
    for (std::size_t j = 0; j < c.inner; j += lane_count) {
      const int count = static_cast<int>(c.inner - j < lane_count ? c.inner - j : lane_count);
      const auto each = [&](auto load, auto store) {
        lanes<T> sum = lanes<T>::all(identity);
        for (std::size_t k = 0; k < c.length; ++k) {
          const std::size_t i = (o * c.length + c.at(k)) * c.inner + j;
          const lanes<T> before = sum;
          sum = combine(sum, load(x + i));
          store(c.exclusive ? before : sum, out + i);
        }
      };
      if (count == lane_count)
        each([](const T* p) EBB_LAMBDA { return lanes<T>::load(p); }, [](const lanes<T>& v, T* p) EBB_LAMBDA { v.store(p); });
      else
        each([=](const T* p) EBB_LAMBDA { return lanes<T>::load(p, count); },
             [=](const lanes<T>& v, T* p) EBB_LAMBDA { v.store(p, count); });
    }
}

}  // namespace ebb::inline EBB_ABI::kernel
