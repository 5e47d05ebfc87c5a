// test/kernel/convert.cpp — all pairs of element types against static_cast.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../num/rounding.hpp"
#include "values.hpp"

#include <ebb/kernel/convert.hpp>

using ebb::bfloat16, ebb::float16, ebb::lanes, ebb::lane_count;

namespace {

template <class To, class From>
To scalar_convert(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (ebb::half_width<From>) return scalar_convert<To>(static_cast<float>(x));
  else if constexpr (ebb::half_width<To>) return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else return static_cast<To>(x);
}

/// Whether x, truncated, is a value of To.
template <class To, class From>
bool fits(From x) {
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && !std::is_integral_v<From>)
    return std::fabs(test::number(x)) < test::number(std::numeric_limits<To>::max());
  else return true;
}

template <class To, class From>
void check() {
  INFO(ebb::name_of(ebb::dtype_of<From>) << " to " << ebb::name_of(ebb::dtype_of<To>));
  std::vector<From> v;
  for (From x : test::values<From>(100))
    if (fits<To>(x)) v.push_back(x);
  for (std::size_t s = 0; s < v.size(); ++s) {
    From from[lane_count];
    for (std::size_t i = 0; i < lane_count; ++i) from[i] = v[(s + i) % v.size()];
    const lanes<To> got = ebb::convert<To>(lanes<From>::load(from));
    bool good = true;
    for (int i = 0; i < lane_count; ++i) good = good && test::same_bits(got[i], scalar_convert<To>(from[i]));
    CAPTURE(s, test::number(v[s]), test::number(got[0]));
    REQUIRE(good);
  }
}

template <class To, class... From>
void check_all() { (check<To, From>(), ...); }

}  // namespace

TEMPLATE_TEST_CASE("conversion of lanes is static_cast's", "", bool, std::int32_t, std::int64_t, float16, bfloat16, float, double) {
  check_all<TestType, bool, std::int32_t, std::int64_t, float16, bfloat16, float, double>();
}

TEMPLATE_TEST_CASE("integers of eight bytes at the bounds of four, in one lane or in all", "", std::int32_t, float, double) {
  constexpr std::int64_t end = std::int64_t{1} << 31;
  const std::int64_t bounds[] = {0, 1, -1, 4095, end - 1, end, -end, -end - 1, 2 * end, -2 * end, (end << 8) + 3, -(end << 20)};
  for (const std::int64_t x : bounds)
    for (int lane = 0; lane <= lane_count; ++lane) {
      std::int64_t from[lane_count];
      for (int i = 0; i < lane_count; ++i) from[i] = lane == lane_count || lane == i ? x : i - 3;
      const lanes<TestType> got = ebb::convert<TestType>(lanes<std::int64_t>::load(from));
      for (int i = 0; i < lane_count; ++i) REQUIRE(test::same_bits(got[i], static_cast<TestType>(from[i])));
    }
}

TEMPLATE_TEST_CASE("lanes of a half-width type agree with PyTorch", "", bfloat16, float16) {
  constexpr bool is_bfloat16 = std::is_same_v<TestType, bfloat16>;
  const auto round = [](auto x) {
    TestType memory[2 * lane_count];
    const lanes<TestType> rounded = ebb::convert<TestType>(lanes<decltype(x)>::all(x));
    rounded.store(memory);
    rounded.store(memory + lane_count, lane_count - 1);
    REQUIRE(test::same_bits(memory[0], rounded[lane_count - 1]));
    REQUIRE(test::same_bits(memory[0], memory[2 * lane_count - 2]));
    return memory[lane_count - 1];
  };
  const auto widen = [](TestType x) {
    const TestType memory[] = {TestType(0.f), x};
    return ebb::convert<float>(lanes<TestType>::load(memory, 2))[1];
  };
  test::check_recorded<TestType>(is_bfloat16 ? 0 : 1, is_bfloat16 ? "bfloat16" : "float16", round, widen);
}
