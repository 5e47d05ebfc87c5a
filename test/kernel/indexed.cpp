// test/kernel/indexed.cpp — rows by index against loops over elements.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/indexed.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace {

template <class Index>
ebb::kernel::row_list<Index> list_of(const std::vector<Index>& index) {
  return {index.data(), index.size()};
}

}  // namespace

TEMPLATE_TEST_CASE("the first bad index is found at each place", "", std::int32_t, std::int64_t) {
  constexpr TestType least = std::numeric_limits<TestType>::min(), most = std::numeric_limits<TestType>::max();
  for (std::size_t count : {0u, 1u, 63u, 64u, 65u, 200u}) {
    std::vector<TestType> index(count);
    for (std::size_t i = 0; i < count; ++i) index[i] = static_cast<TestType>(i % 9);
    const auto bad = [&](std::size_t rows) { return ebb::kernel::first_bad_index(index.data(), count, rows); };
    CHECK(bad(9) == count);
    CHECK(bad(std::size_t{1} << 63) == count);
    CHECK(bad(0) == 0);
    CHECK(bad(8) == std::min<std::size_t>(8, count));
    for (std::size_t i = 0; i < count; ++i)
      for (const TestType x : {TestType{9}, TestType{-1}, least, most}) {
        const TestType before = std::exchange(index[i], x);
        CHECK(bad(9) == i);
        CHECK(bad(std::size_t{1} << 63) == (x < 0 ? i : count));
        index[i] = before;
      }
  }
}

TEMPLATE_TEST_CASE("a gather copies the rows that an index names", "", std::int32_t, std::int64_t) {
  const std::vector<TestType> index{4, 0, 4, 2, 4, 1};
  const std::vector<TestType> bad{0, 5, -1};
  CHECK(ebb::kernel::first_bad_index(index.data(), index.size(), 5) == 6);
  CHECK(ebb::kernel::first_bad_index(index.data(), index.size(), 4) == 0);
  CHECK(ebb::kernel::first_bad_index(bad.data(), bad.size(), 6) == 2);
  CHECK(ebb::kernel::first_bad_index(bad.data(), bad.size(), 5) == 1);
  for (std::size_t length : {0u, 1u, 2u, 3u, 4u, 6u, 16u, 37u}) {
    std::vector<float> x(5 * length), picked(6 * length), sums(5 * length, .1f), expected = sums;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 1.7f;
    ebb::kernel::gather_rows(picked.data(), x.data(), list_of(index), length * sizeof(float));
    std::vector<float> turned(6 * length);
    ebb::kernel::gather_turned(turned.data(), x.data(), index.data(), index.size(), length * sizeof(float), sizeof(float));
    for (std::size_t i = 0; i < picked.size(); ++i) REQUIRE(turned[i % length * 6 + i / length] == picked[i]);
    ebb::kernel::add_rows(sums.data(), picked.data(), list_of(index), length);
    for (std::size_t i = 0; i < index.size(); ++i)
      for (std::size_t j = 0; j < length; ++j) {
        REQUIRE(picked[i * length + j] == x[static_cast<std::size_t>(index[i]) * length + j]);
        expected[static_cast<std::size_t>(index[i]) * length + j] += picked[i * length + j];
      }
    REQUIRE(sums == expected);
  }
}

TEMPLATE_TEST_CASE("elements of groups of every length are gathered, and nothing beside them", "", std::int32_t, std::int64_t) {
  constexpr std::uint32_t untouched = 0xdeadbeef;
  for (std::size_t rows = 1; rows <= 70; ++rows)
    for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 64u, 75u})
      for (const std::size_t times : {1u, 3u}) {
        std::vector<std::uint32_t> x(rows * times), picked(count * times + 32, untouched);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint32_t>(i * 2654435761u);  // among them NaN
        std::vector<TestType> index(count * times);
        for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<TestType>((i * i * 7 + i / 3) % rows);
        index.back() = static_cast<TestType>(rows - 1);
        const ebb::kernel::row_list<TestType> list{index.data(), count, times, rows};
        ebb::kernel::gather_rows(picked.data() + 16, x.data(), list, sizeof(float));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < picked.size(); ++i) {
          const bool inside = i >= 16 && i < count * times + 16;
          wrong += picked[i] != (inside ? x[(i - 16) / count * rows + static_cast<std::size_t>(index[i - 16])] : untouched);
        }
        REQUIRE(wrong == 0);
      }
}

TEMPLATE_TEST_CASE("rows of every length are gathered, written and combined, and nothing beside them", "", float, double, ebb::bfloat16,
                   bool) {
  const std::vector<std::int32_t> index{3, 0, 3, 1, 3, 2, 2, 0, 1, 3, 3};
  std::vector<std::size_t> lengths{200, 256, 257, 300};
  for (std::size_t n = 0; n <= 140; ++n) lengths.push_back(n);
  const auto element = [](std::size_t i) {
    if constexpr (std::is_same_v<TestType, bool>) return i % 3 == 1;
    else return TestType(static_cast<float>(i % 251) - 100.0f);
  };
  const auto sum = [](auto x, auto y) {
    if constexpr (std::is_same_v<decltype(x), bool>) return x != y;
    else return x + y + x;
  };
  const auto other = [](auto x, auto) { return x; };  // only for elements that are no NaN, and only for single ones
  for (const std::size_t length : lengths) {
    const std::size_t n = length * index.size();
    const auto x = std::make_unique<TestType[]>(n), first = std::make_unique<TestType[]>(4 * length + 1);
    for (std::size_t i = 0; i < n; ++i) x[i] = element(i * 7 + 1);
    for (std::size_t i = 0; i < 4 * length + 1; ++i) first[i] = element(i + 5);
    const auto copy = [&] {
      auto r = std::make_unique<TestType[]>(4 * length + 1);
      std::copy_n(first.get(), 4 * length + 1, r.get());
      return r;
    };
    const auto written = copy(), combined = copy(), expected = copy(), added = copy();
    ebb::kernel::write_rows(written.get(), x.get(), list_of(index), length * sizeof(TestType));
    ebb::kernel::combine_rows(combined.get(), x.get(), list_of(index), length, sum, sum);
    for (std::size_t i = 0; i < index.size(); ++i)
      for (std::size_t j = 0; j < length; ++j) {
        const std::size_t at = static_cast<std::size_t>(index[i]) * length + j;
        expected[at] = x[i * length + j];
        using wide = std::conditional_t<std::is_arithmetic_v<TestType>, TestType, float>;
        added[at] = static_cast<TestType>(sum(static_cast<wide>(added[at]), static_cast<wide>(x[i * length + j])));
      }
    const auto picked = std::make_unique<TestType[]>(n + 1);
    picked[n] = element(4);
    ebb::kernel::gather_rows(picked.get(), expected.get(), list_of(index), length * sizeof(TestType));
    INFO("length " << length);
    for (std::size_t i = 0; i < 4 * length + 1; ++i) {
      REQUIRE(written[i] == expected[i]);
      REQUIRE(combined[i] == added[i]);
    }
    for (std::size_t i = 0; i < n; ++i) REQUIRE(picked[i] == expected[static_cast<std::size_t>(index[i / length]) * length + i % length]);
    REQUIRE(picked[n] == element(4));
  }
  if constexpr (std::is_floating_point_v<TestType>) {
    const TestType nan = std::numeric_limits<TestType>::quiet_NaN(), from[] = {2, nan, 3};
    const std::int64_t at[] = {0, 1, 1};
    TestType to[] = {5, 6};
    ebb::kernel::combine_rows(to, from, ebb::kernel::row_list<std::int64_t>{at, 3}, 1, sum, other);
    CHECK(to[0] == 5);
    CHECK(std::isnan(to[1]));
  }
}

TEMPLATE_TEST_CASE("rows of every length are added in rising order, and nothing beside them", "", float, double, std::int32_t, std::int64_t,
                   ebb::float16, ebb::bfloat16) {
  using wide = std::conditional_t<std::is_arithmetic_v<TestType>, TestType, float>;
  constexpr std::size_t rows = 4;
  std::vector<std::size_t> lengths{200, 256, 257};
  for (std::size_t n = 1; n <= 140; ++n) lengths.push_back(n);
  // Sums that depend on their order; integers wrap around.
  const auto element = [](std::size_t i) {
    constexpr auto most = std::numeric_limits<TestType>::max();
    if constexpr (std::is_integral_v<TestType>) return static_cast<TestType>(most / 3 * static_cast<TestType>(1 + i % 2));
    else return TestType(static_cast<float>(i % 11) * .3f - (i % 5 == 1 ? 1e4f : i % 5 == 3 ? -1e4f : 0.f));
  };
  const auto sum = [](TestType x, TestType y) {
    if constexpr (std::is_integral_v<TestType>) {
      using U = std::make_unsigned_t<TestType>;
      return static_cast<TestType>(static_cast<U>(x) + static_cast<U>(y));
    } else return static_cast<TestType>(static_cast<wide>(x) + static_cast<wide>(y));
  };
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{19}}) {
    std::vector<std::int64_t> index(count);
    for (std::size_t i = 0; i < count; ++i) index[i] = static_cast<std::int64_t>(i * i % 7 % rows);
    for (const std::size_t length : lengths) {
      test::guarded<TestType> from(count * length), to(rows * length);
      std::vector<TestType> expected(rows * length);
      for (std::size_t i = 0; i < count * length; ++i) from.at_end()[i] = element(i * 7 + 1);
      for (std::size_t i = 0; i < rows * length; ++i) to.at_end()[i] = expected[i] = element(i + 5);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < length; ++j) {
          TestType& x = expected[static_cast<std::size_t>(index[i]) * length + j];
          x = sum(x, from.at_end()[i * length + j]);
        }
      ebb::kernel::add_rows(to.at_end(), from.at_end(), list_of(index), length);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < rows * length; ++i) wrong += !(to.at_end()[i] == expected[i]);
      CAPTURE(count, length);
      REQUIRE(wrong == 0);
    }
  }
}

TEMPLATE_TEST_CASE("each group of indices names rows of its own", "", float, double, ebb::bfloat16) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{11}})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{9}})
      for (const std::size_t times : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{19}}) {
        constexpr std::size_t rows = 5;
        std::vector<std::int32_t> index(times * count);
        for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int32_t>(i * i % 11 % rows);
        std::vector<TestType> x(times * rows * length), picked(index.size() * length), sums = x, written = x, combined = x;
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = TestType(static_cast<float>(i % 97) - 40.f);
        std::vector<TestType> expected_sums = sums, expected = written;
        const ebb::kernel::row_list<std::int32_t> list{index.data(), count, times, rows};
        ebb::kernel::gather_rows(picked.data(), x.data(), list, length * sizeof(TestType));
        ebb::kernel::add_rows(sums.data(), picked.data(), list, length);
        ebb::kernel::write_rows(written.data(), picked.data(), list, length * sizeof(TestType));
        const auto sum = [](auto a, auto b) { return a + b; };
        ebb::kernel::combine_rows(combined.data(), picked.data(), list, length, sum, sum);
        CAPTURE(length, count, times);
        for (std::size_t i = 0; i < index.size(); ++i)
          for (std::size_t j = 0; j < length; ++j) {
            const std::size_t at = (i / count * rows + static_cast<std::size_t>(index[i])) * length + j;
            REQUIRE(picked[i * length + j] == x[at]);
            expected[at] = x[at];
            expected_sums[at] = TestType(static_cast<float>(expected_sums[at]) + static_cast<float>(x[at]));
          }
        CHECK((sums == expected_sums && combined == expected_sums && written == expected));
        // The same, without the rows that index 3 names.
        std::vector<TestType> others(x.size());
        for (std::size_t t = 0; t < times; ++t)
          for (std::size_t j = 0; j < length; ++j) expected_sums[(t * rows + 3) * length + j] = TestType(0.f);
        const ebb::kernel::row_list<std::int32_t, 3> some{index.data(), count, times, rows};
        ebb::kernel::add_rows(others.data(), picked.data(), some, length);
        CHECK(others == expected_sums);
      }
}
