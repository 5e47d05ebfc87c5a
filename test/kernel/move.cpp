// test/kernel/move.cpp — moves against a loop over elements.
// SPDX-License-Identifier: BSL-1.0
// covers: every.hpp move.hpp transpose.hpp tensor/strided.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/move.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

using ebb::strided_copy;

namespace {

/// Copies with the kernel and element by element; source and result end at pages without access.
template <class T>
void check(const strided_copy& c, std::size_t from_size, std::size_t to_size) {
  test::guarded<T> from(from_size), to(to_size);
  for (std::size_t i = 0; i < from_size; ++i) from.at_end()[i] = static_cast<T>(i * 7 + 1);
  for (std::size_t i = 0; i < to_size; ++i) to.at_end()[i] = static_cast<T>(i);
  std::vector<T> expected(to.at_end(), to.at_end() + to_size);
  ebb::each_element(c, [&](std::ptrdiff_t p, std::ptrdiff_t q) { expected[static_cast<std::size_t>(q)] = from.at_end()[p]; });
  ebb::kernel::copy(c, from.at_end(), to.at_end(), sizeof(T));
  REQUIRE(std::vector<T>(to.at_end(), to.at_end() + to_size) == expected);
}

/// The copy of a compact array with these extents whose axes change order: axis i of the result is axis order[i] of the source.
strided_copy permuted(const std::vector<std::size_t>& extents, const std::vector<int>& order) {
  strided_copy c;
  c.rank = static_cast<int>(extents.size());
  std::vector<std::ptrdiff_t> strides(extents.size());
  std::ptrdiff_t step = 1;
  for (std::size_t i = extents.size(); i-- > 0; step *= static_cast<std::ptrdiff_t>(extents[i])) strides[i] = step;
  step = 1;
  for (int i = c.rank - 1; i >= 0; --i) {
    const auto source = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    c.extent[i] = extents[source];
    c.from[i] = strides[source];
    c.to[i] = step;
    step *= static_cast<std::ptrdiff_t>(extents[source]);
  }
  return c;
}
std::size_t volume(const std::vector<std::size_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace

TEMPLATE_TEST_CASE("permutations of all axis orders copy every element", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const std::vector<std::size_t>& e :
       {std::vector<std::size_t>{3, 4, 5, 2}, {1, 17, 1, 33}, {16, 2, 16, 3}, {5, 1, 1, 7}, {2, 40, 3, 40}, {2, 0, 3, 4}}) {
    std::vector<int> order(e.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      CAPTURE(order, e);
      check<TestType>(permuted(e, order), volume(e), volume(e));
    } while (std::next_permutation(order.begin(), order.end()));
  }
  check<TestType>(strided_copy{}, 1, 1);
}

TEMPLATE_TEST_CASE("transposes of all sizes copy every element", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (std::size_t rows = 1; rows <= 40; rows += 1 + rows / 8)
    for (std::size_t cols = 1; cols <= 40; ++cols) check<TestType>(permuted({rows, cols}, {1, 0}), rows * cols, rows * cols);
  check<TestType>(permuted({130, 75}, {1, 0}), 130 * 75, 130 * 75);
  check<TestType>(permuted({5, 33, 18}, {0, 2, 1}), 5 * 33 * 18, 5 * 33 * 18);
}

TEMPLATE_TEST_CASE("slices, steps, pieces and broadcasts copy correctly", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  strided_copy c;
  c.rank = 2;
  c.extent[0] = 4, c.extent[1] = 9;
  c.from[0] = 40, c.from[1] = 3, c.from_offset = 45;  // rows 1 to 4 of a 6 x 40 array, every third column from the fifth on
  c.to[0] = 9, c.to[1] = 1;
  check<TestType>(c, 240, 36);
  c.from[1] = -3, c.from_offset = 79;  // backwards
  check<TestType>(c, 240, 36);
  c.from[0] = -40, c.from_offset = 199;
  check<TestType>(c, 240, 36);
  c.from[0] = 9, c.from[1] = 1, c.from_offset = 0;  // a piece of a concatenation along the last axis
  c.to[0] = 30, c.to_offset = 11;
  check<TestType>(c, 36, 120);
  c.from[0] = 0;  // one row, repeated
  check<TestType>(c, 9, 120);
  c.from[0] = 1, c.from[1] = 0;  // one column, repeated
  check<TestType>(c, 4, 120);
  c.from[0] = c.from[1] = 0;
  check<TestType>(c, 1, 120);
  c.to[0] = 1, c.to[1] = 4, c.to_offset = 0, c.from[0] = 9, c.from[1] = 1;  // the axes of the result are in reverse order
  check<TestType>(c, 36, 36);
}

TEMPLATE_TEST_CASE("rows of every length are copied backwards", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (std::size_t n = 2; n <= 70; ++n) {
    strided_copy c;
    c.rank = 2;
    c.extent[0] = 3, c.extent[1] = n;
    c.from[0] = static_cast<std::ptrdiff_t>(n) + 1, c.from[1] = -1, c.from_offset = static_cast<std::ptrdiff_t>(n) - 1;
    c.to[0] = static_cast<std::ptrdiff_t>(n), c.to[1] = 1;
    check<TestType>(c, 3 * (n + 1), 3 * n);
  }
}

TEMPLATE_TEST_CASE("every second element of rows of rows", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (std::size_t n = 2; n <= 70; ++n) {
    const auto columns = static_cast<std::ptrdiff_t>(n), row = 2 * columns + 1;
    strided_copy c;
    c.rank = 3;
    c.extent[0] = 2, c.extent[1] = 3, c.extent[2] = n;
    c.from[0] = 1, c.from[1] = row, c.from[2] = 2;  // the two halves lie between each other
    c.to[0] = 3 * columns, c.to[1] = columns, c.to[2] = 1;
    check<TestType>(c, static_cast<std::size_t>(3 * row), 6 * n);
  }
}

TEMPLATE_TEST_CASE("steps read nothing behind their last element", "", std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (std::size_t step = 1; step <= 5; ++step)
    for (std::size_t n = 2; n <= 70; ++n) {
      const std::size_t row = (n - 1) * step + 1;
      strided_copy c;
      c.rank = 2;
      c.extent[0] = 3, c.extent[1] = n;
      c.from[0] = static_cast<std::ptrdiff_t>(row), c.from[1] = static_cast<std::ptrdiff_t>(step);
      c.to[0] = static_cast<std::ptrdiff_t>(n), c.to[1] = 1;
      check<TestType>(c, 3 * row, 3 * n);
    }
}

TEMPLATE_TEST_CASE("long rows of two, three and four elements become columns, and the other way", "", std::uint32_t, std::uint64_t) {
  for (std::size_t cols = 2; cols <= 5; ++cols)
    for (std::size_t rows = 1; rows <= 150; ++rows) {
      check<TestType>(permuted({rows, cols}, {1, 0}), rows * cols, rows * cols);
      check<TestType>(permuted({cols, rows}, {1, 0}), rows * cols, rows * cols);
    }
}

TEMPLATE_TEST_CASE("columns of every number and length become rows, and nothing beside them", "", std::uint32_t, std::uint64_t) {
  for (std::size_t columns = 2; columns < 40; ++columns)
    for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{17}, std::size_t{48}}) {
      std::deque<test::guarded<TestType>> column;
      std::vector<const void*> from;
      for (std::size_t c = 0; c < columns; ++c) {
        column.emplace_back(rows);
        for (std::size_t i = 0; i < rows; ++i) column.back().at_end()[i] = static_cast<TestType>(i * columns + c + 1);
        from.push_back(column.back().at_end());
      }
      test::guarded<TestType> to(rows * columns);
      ebb::kernel::join_columns<sizeof(TestType)>(reinterpret_cast<char*>(to.at_end()), from.data(), columns, rows);
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < rows * columns; ++k) wrong += to.at_end()[k] != static_cast<TestType>(k + 1);
      CAPTURE(columns, rows);
      REQUIRE(wrong == 0);
    }
}

TEST_CASE("rows of every length are copied from and to every place of a register") {
  constexpr std::size_t most = 40 * ebb::simd::register_bytes;
  test::guarded<std::uint8_t> from(most + 64), to(most + 64);
  for (std::size_t i = 0; i < most + 64; ++i) from.at_end()[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  for (std::size_t bytes = 0; bytes <= most; bytes += bytes < 70 ? 1 : 61)
    for (std::size_t first = 0; first < 64; first += 9)
      for (std::size_t place = 0; place <= 64; place += 16) {
        std::fill_n(to.at_end(), most + 64, std::uint8_t{1});
        const auto in = reinterpret_cast<const char*>(from.at_end() + first);
        ebb::kernel::copy_row(reinterpret_cast<char*>(to.at_end() + place), in, bytes);
        std::vector<std::uint8_t> expected(most + 64, 1);
        std::copy_n(from.at_end() + first, bytes, expected.begin() + static_cast<std::ptrdiff_t>(place));
        REQUIRE(std::equal(expected.begin(), expected.end(), to.at_end()));
      }
  std::vector<char> long_row(std::size_t{9} << 19), copy(long_row.size());
  for (std::size_t i = 0; i < long_row.size(); ++i) long_row[i] = static_cast<char>(i * 31 + i / 4096);
  ebb::kernel::copy_row(copy.data(), long_row.data(), copy.size());
  CHECK(copy == long_row);
}

// Some parts are halves of cache lines, or several registers; others begin at any element.
TEMPLATE_TEST_CASE("arrays of every length are joined row by row, and nothing is written beside them", "", std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  using T = TestType;
  int refused = 0;
  for (const std::size_t a : std::initializer_list<std::size_t>{1, 2, 3, 8, 15, 16, 24, 40, 56, 64, 100, 300})
    for (const std::size_t b : std::initializer_list<std::size_t>{1, 2, 4, 7, 8, 24, 32, 48, 57})
      for (const std::size_t rows : std::initializer_list<std::size_t>{1, 2, 5}) {
        test::guarded<T> x(rows * a), y(rows * b), to(rows * (a + b));
        std::vector<T> expected;
        for (std::size_t i = 0; i < rows * a; ++i) x.at_end()[i] = static_cast<T>(3 * i + 1);
        for (std::size_t i = 0; i < rows * b; ++i) y.at_end()[i] = static_cast<T>(5 * i + 2);
        for (std::size_t i = 0; i < rows; ++i) {
          expected.insert(expected.end(), x.at_end() + i * a, x.at_end() + (i + 1) * a);
          expected.insert(expected.end(), y.at_end() + i * b, y.at_end() + (i + 1) * b);
        }
        const void* const from[] = {x.at_end(), y.at_end()};
        const ebb::extent_list shapes[] = {{2, {rows, a}}, {2, {rows, b}}};
        char* const out = reinterpret_cast<char*>(to.at_end());
        if (!ebb::kernel::join_rows(out, from, shapes, nullptr, 2, 1, sizeof(T))) {
          ++refused;
          REQUIRE((a == 1 || b == 1));
          continue;
        }
        REQUIRE(std::vector<T>(to.at_end(), to.at_end() + expected.size()) == expected);
        // The rows of y in reverse order, and columns: these are refused.
        const std::ptrdiff_t backwards[] = {-static_cast<std::ptrdiff_t>(b), 1}, turned[] = {1, static_cast<std::ptrdiff_t>(rows)};
        const std::ptrdiff_t *const columns[] = {nullptr, turned}, *const reversed[] = {nullptr, backwards};
        const void* const last[] = {x.at_end(), y.at_end() + (rows - 1) * b};
        if (rows > 1) REQUIRE_FALSE(ebb::kernel::join_rows(out, from, shapes, columns, 2, 1, sizeof(T)));
        REQUIRE(ebb::kernel::join_rows(out, last, shapes, reversed, 2, 1, sizeof(T)));
        for (std::size_t i = 0; i < rows; ++i)
          std::copy_n(y.at_end() + (rows - 1 - i) * b, b, expected.begin() + static_cast<std::ptrdiff_t>(i * (a + b) + a));
        REQUIRE(std::vector<T>(to.at_end(), to.at_end() + expected.size()) == expected);
      }
  CHECK(refused == 60);
}

TEST_CASE("zeros around rows: before, after and on both sides, or nothing") {
  int cleared = 0;
  for (const std::size_t before : std::initializer_list<std::size_t>{0, 3, 64, 80, 128, 1000, 5000})
    for (const std::size_t after : std::initializer_list<std::size_t>{0, 5, 64, 100, 192})
      for (const std::size_t within : std::initializer_list<std::size_t>{1, 7, 64}) {
        const std::size_t rows = 3, row = before + within + after;
        test::guarded<char> to(rows * row);
        std::fill_n(to.at_end(), rows * row, 'x');
        std::vector<char> expected(rows * row, 'x');
        if (ebb::kernel::clear_around(to.at_end(), rows, row, before, after)) {
          ++cleared;
          for (std::size_t i = 0; i < rows; ++i) {
            std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(i * row), before, '\0');
            std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>((i + 1) * row - after), after, '\0');
          }
        }
        REQUIRE(std::vector<char>(to.at_end(), to.at_end() + rows * row) == expected);
      }
  CHECK(cleared >= 3 * 3 * 3);
}
