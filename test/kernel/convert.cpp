// test/kernel/convert.cpp — all pairs of element types against static_cast.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
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

/// Whether the value of x, truncated, is one of To.
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

TEMPLATE_TEST_CASE("conversion to", "", bool, std::int32_t, std::int64_t, float16, bfloat16, float, double) {
  check_all<TestType, bool, std::int32_t, std::int64_t, float16, bfloat16, float, double>();
}
