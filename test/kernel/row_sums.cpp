// test/kernel/row_sums.cpp — reductions over rows have the bits of one chain for each column, for rows of all lengths.
// SPDX-License-Identifier: BSL-1.0
// covers: few.hpp part.hpp
#include <ebb/functional.hpp>

#include "../catch.hpp"
#include "../same_bits.hpp"
#include "filled.hpp"

#include <cstdint>
#include <limits>
#include <tuple>

namespace {

using ebb::dyn, test::filled;

constexpr auto sum = [](auto x) { return ebb::sum<0>(x); };
constexpr auto several = [](auto x, auto c) {
  const auto y = x * c;
  return std::tuple(y, ebb::sum<0>(y), ebb::max<0>(x));
};
constexpr auto slope = ebb::grad([](auto x, auto c) { return ebb::sum(ebb::square(ebb::sum<0>(x * c) - c)); });

/// The number of arrays that differ from one chain for each column. E is static or dyn.
template <class T, std::size_t E>
int differing(std::size_t rows, std::size_t columns) {
  using matrix = ebb::tensor<T, dyn, E>;
  using row = ebb::tensor<T, E>;
  const auto make = [&]<class A>(A, std::size_t first, auto... leading) {
    if constexpr (E == dyn) return filled<A>(first, leading..., columns);
    else return filled<A>(first, leading...);
  };
  const auto x = make(matrix(), 0, rows);
  const auto c = make(row(), 50);
  auto sums = make(row(), 0), products = sums, largest = sums;
  auto y = x;
  for (std::size_t j = 0; j < columns; ++j) {
    T a = 0, b = 0, m = std::numeric_limits<T>::lowest();
    for (std::size_t i = 0; i < rows; ++i) {
      const T e = x.data()[i * columns + j], p = static_cast<T>(e * c.data()[j]);
      a = static_cast<T>(a + e), b = static_cast<T>(b + p), m = m < e ? e : m;
      y.mutable_data()[i * columns + j] = p;
    }
    sums.mutable_data()[j] = a, products.mutable_data()[j] = b, largest.mutable_data()[j] = m;
  }
  int r = !test::same_bits(ebb::compile(sum)(x), sums);
  if (rows == 0) return r;
  const auto [stored, added, peak] = ebb::compile(several)(x, c);
  r += !test::same_bits(stored, y) + !test::same_bits(added, products) + !ebb::all_equal(peak, largest);
  if constexpr (std::is_floating_point_v<T>) {
    auto g = x;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const std::size_t j = i % columns;
      g.mutable_data()[i] = 2 * (products.data()[j] - c.data()[j]) * c.data()[j];
    }
    r += !ebb::all_equal(slope(x, c), g);
  }
  return r;
}

template <class T, std::size_t E>
void check(std::size_t rows, std::size_t columns) {
  CAPTURE(rows, columns, E);
  CHECK(differing<T, E>(rows, columns) == 0);
}
template <class T, std::size_t... E>
void check_all(std::index_sequence<E...>) {
  for (const std::size_t rows : {0u, 1u, 2u, 15u, 16u, 17u, 40u}) {
    (check<T, E>(rows, E), ...);
    for (const std::size_t columns : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 63u, 64u, 65u, 100u, 131u})
      check<T, dyn>(rows, columns);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("short rows and long ones are added in order", "", float, double, std::int64_t) {
  if constexpr (std::is_floating_point_v<TestType>)
    check_all<TestType>(std::index_sequence<1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 31, 40, 63, 64, 67, 100>{});
  else check_all<TestType>(std::index_sequence<1, 2, 3, 5, 8, 13, 20>{});
}
