// test/exec/extrema.cpp — extrema of rows and columns of any length have the bits of their definition: NaNs, their payloads, signs of zero.
// SPDX-License-Identifier: BSL-1.0
// covers: kernel/nest.hpp kernel/nest_step.hpp kernel/instructions.hpp
#include <ebb/functional.hpp>

#include "../catch.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using ebb::dyn;

constexpr std::size_t lengths[] = {1,  2,  3,  7,  8,  9,   15,  16,  17,  31,   32,   33,   40,   63,
                                   64, 65, 95, 96, 97, 127, 128, 129, 200, 4095, 4096, 4097, 4129, 8193};

template <class T>
auto bits(T x) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(x);
}
template <class T>
T nan_number(unsigned k) {
  return std::bit_cast<T>(bits(std::numeric_limits<T>::quiet_NaN()) + k);
}
/// Few different numbers, so that there are ties; both zeros, infinities.
template <class T>
std::vector<T> some(std::size_t n, unsigned seed) {
  constexpr T values[] = {T(-0.0), T(0), T(-0.0), T(-1), T(-2), T(-3), -std::numeric_limits<T>::infinity(), T(-1e-30)};
  std::vector<T> r;
  for (std::size_t i = 0; i < n; ++i) r.push_back(values[(seed = seed * 1664525u + 1013904223u) >> 29]);
  return r;
}

/// The definition: a NaN in either is the result, of equal ones the older.
template <class T>
T larger(T older, T x) {
  return std::isnan(x) ? x : older < x ? x : older;
}
template <class T>
T smaller(T older, T x) {
  return std::isnan(x) ? x : x < older ? x : older;
}
template <class T>
T largest(const T* x, std::size_t n) {
  return ebb::reduce_in_order<T>(n, [x](std::size_t i) { return x[i]; }, -std::numeric_limits<T>::infinity(), larger<T>);
}
template <class T>
T smallest(const T* x, std::size_t n) {
  return ebb::reduce_in_order<T>(n, [x](std::size_t i) { return x[i]; }, std::numeric_limits<T>::infinity(), smaller<T>);
}

template <class T>
void check_row(const std::vector<T>& x) {
  static constexpr auto both = ebb::compile([](auto v) { return std::tuple{ebb::max(v), ebb::min(v)}; });
  static constexpr auto beside = ebb::compile([](auto v) { return std::tuple{ebb::max(v), -v, ebb::min(v)}; });
  T high, low;
  both(ebb::into(high, low), std::span<const T>(x));
  CHECK(bits(high) == bits(largest(x.data(), x.size())));
  CHECK(bits(low) == bits(smallest(x.data(), x.size())));
  std::vector<T> y = x;  // the elements are overwritten while they are read
  beside(ebb::into(high, std::span(y), low), std::span<const T>(y));
  CHECK(bits(high) == bits(largest(x.data(), x.size())));
  CHECK(bits(low) == bits(smallest(x.data(), x.size())));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (bits(y[i]) != bits(-x[i])) FAIL("element " << i);
}

template <class T>
void check_rows() {
  for (const std::size_t n : lengths) {
    INFO("n " << n);
    const std::vector<T> x = some<T>(n, static_cast<unsigned>(n));
    check_row(x);
    for (std::size_t i = 0; i < n; i += n < 300 ? 1 : 997) {
      std::vector<T> y = x;
      y[i] = nan_number<T>(1);
      check_row(y);
      y[n - 1 - i / 2] = nan_number<T>(2);
      y[n / 2] = -nan_number<T>(3);
      check_row(y);
    }
    check_row(std::vector<T>(n, nan_number<T>(4)));
    check_row(std::vector<T>(n, -std::numeric_limits<T>::infinity()));
  }
}

template <class T>
void check_matrix(std::vector<T> x, std::size_t rows, std::size_t columns) {
  static constexpr auto of_rows = ebb::compile([](auto v) { return std::tuple{ebb::max<1>(v), ebb::min<1>(v)}; });
  static constexpr auto of_columns = ebb::compile([](auto v) { return std::tuple{ebb::max<0>(v), ebb::min<0>(v)}; });
  static constexpr auto sums = ebb::compile([](auto v) { return ebb::sum<0>(v * v); });
  static constexpr auto of_all = ebb::compile([](auto v, auto w) { return std::tuple{ebb::max(v * w), ebb::sum<0>(v * w)}; });
  const ebb::view<const T, dyn, dyn> given(x.data(), rows, columns);
  std::vector<T> high(rows), low(rows), tops(columns), ends(columns), added(columns), scaled(columns);
  const std::vector<T> ones(columns, T(1));
  T top;
  of_rows(ebb::into(std::span(high), std::span(low)), given);
  of_columns(ebb::into(std::span(tops), std::span(ends)), given);
  sums(ebb::into(std::span(added)), given);
  of_all(ebb::into(top, std::span(scaled)), given, std::span(ones));
  CHECK(bits(top) == bits(largest(x.data(), x.size())));
  for (std::size_t i = 0; i < rows; ++i) {
    CHECK(bits(high[i]) == bits(largest(x.data() + i * columns, columns)));
    CHECK(bits(low[i]) == bits(smallest(x.data() + i * columns, columns)));
  }
  for (std::size_t j = 0; j < columns; ++j) {
    T a = -std::numeric_limits<T>::infinity(), b = std::numeric_limits<T>::infinity(), squares = 0, sum = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const T e = x[i * columns + j];
      a = larger(a, e);
      b = smaller(b, e);
      squares += e * e;
      sum += e;
    }
    CHECK(bits(tops[j]) == bits(a));
    CHECK(bits(ends[j]) == bits(b));
    if (!std::isnan(squares) || !std::isnan(added[j])) CHECK(bits(added[j]) == bits(squares));
    if (!std::isnan(sum) || !std::isnan(scaled[j])) CHECK(bits(scaled[j]) == bits(sum));
  }
}

template <class T>
void check_matrices() {
  for (const std::size_t rows : {1u, 2u, 15u, 16u, 17u, 33u, 50u})
    for (const std::size_t columns : {1u, 3u, 8u, 31u, 32u, 33u, 47u, 63u, 64u, 65u, 100u, 130u}) {
      INFO("rows " << rows << ", columns " << columns);
      std::vector<T> x = some<T>(rows * columns, static_cast<unsigned>(rows + columns));
      for (std::size_t i = 0; i < x.size(); i += 3) x[i] = T(0.1) * static_cast<T>(i % 17) - T(1);
      check_matrix(x, rows, columns);
      x[x.size() / 2] = nan_number<T>(5);
      x[x.size() - 1] = nan_number<T>(6);
      x[x.size() / 3] = nan_number<T>(7);
      check_matrix(x, rows, columns);
    }
}

}  // namespace

TEST_CASE("extrema of rows of any length, with NaNs at any place, have the bits of their definition") {
  check_rows<float>();
  check_rows<double>();
}

TEST_CASE("extrema and sums along either axis of a matrix have the bits of their definition") {
  check_matrices<float>();
  check_matrices<double>();
}

TEST_CASE("rows of static extents, and columns, have the bits of their definition") {
  static constexpr auto of_rows = ebb::compile([](auto v) { return ebb::max<1>(v); });
  static constexpr auto of_columns = ebb::compile([](auto v) { return std::tuple{ebb::min<0>(v), ebb::sum<0>(v)}; });
  const auto check = [&]<int Rows, int Columns>(std::integer_sequence<int, Rows, Columns>) {
    std::vector<float> x = some<float>(std::size_t{Rows * Columns}, 3);
    for (const bool with_nan : {false, true}) {
      if (with_nan) x[x.size() / 2 + 1] = nan_number<float>(9);
      float high[Rows], low[Columns], sums[Columns];
      of_rows(ebb::into(ebb::view<float, Rows>(high)), ebb::view<const float, Rows, Columns>(x.data()));
      of_columns(ebb::into(ebb::view<float, Columns>(low), ebb::view<float, Columns>(sums)),
                 ebb::view<const float, Rows, Columns>(x.data()));
      for (int i = 0; i < Rows; ++i) CHECK(bits(high[i]) == bits(largest(x.data() + i * Columns, std::size_t{Columns})));
      for (int j = 0; j < Columns; ++j) {
        float a = std::numeric_limits<float>::infinity(), sum = 0;
        for (int i = 0; i < Rows; ++i) {
          a = smaller(a, x[static_cast<std::size_t>(i * Columns + j)]);
          sum += x[static_cast<std::size_t>(i * Columns + j)];
        }
        CHECK(bits(low[j]) == bits(a));
        if (!std::isnan(sum) || !std::isnan(sums[j])) CHECK(bits(sums[j]) == bits(sum));
      }
    }
  };
  check(std::integer_sequence<int, 3, 10>{});
  check(std::integer_sequence<int, 5, 32>{});
  check(std::integer_sequence<int, 17, 64>{});
  check(std::integer_sequence<int, 20, 100>{});
  check(std::integer_sequence<int, 2, 129>{});
}
