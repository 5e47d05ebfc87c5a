// test/special/scaled_error.cpp — erfcx and its derivatives against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr auto scaled = [](auto x) { return lane::erfcx(x); };
constexpr auto scaled_slope = [](auto x) { return lane::erfcx_slope(x); };
constexpr auto scaled_bend = [](auto x) { return lane::erfcx_bend(x); };

TEMPLATE_TEST_CASE("erfcx and its derivatives keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  auto at = test::places_around<T>(sizeof(T) == 4 ? 9 : 26, {0.5, 1, 2, 3});
  CHECK(test::differences(scaled, at) == 0);
  CHECK(test::differences(scaled_slope, at) == 0);
  CHECK(test::differences(scaled_bend, at) == 0);
  test::check_ulps("erfcx", scaled, test::erfcx, 4, at);
  // If the derivatives overflow, 2 x e^(x^2) has done so earlier in one of its factors.
  std::erase_if(at, [](T x) { return x < (sizeof(T) == 4 ? -9 : -26) || x > std::numeric_limits<T>::max(); });
  test::check_ulps("erfcx_slope", scaled_slope, test::erfcx_slope, 5, at);
  test::check_ulps("erfcx_bend", scaled_bend, test::erfcx_bend, 6, at);
}

TEST_CASE("erfcx gives the recorded values and exact derivatives") {
  golden::check_wide<golden::any_vector>("special", "erfcx", [](auto x) { return ebb::erfcx(x); }, {.value = 4, .grad = 5, .second = 6});
}

TEMPLATE_TEST_CASE("erfcx is right at zeros, infinities and NaN", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK((scaled(T(0)) == 1 && scaled(T(-0.0)) == 1 && test::same(scaled(inf), T(0)) && scaled(-inf) == inf && std::isnan(scaled(T(NAN)))));
  CHECK((scaled_slope(inf) == 0 && scaled_slope(-inf) == -inf && scaled_bend(inf) == 0 && scaled_bend(-inf) == inf));
  CHECK((std::isnan(scaled_slope(T(NAN))) && std::isnan(scaled_bend(T(NAN)))));
  static_assert(ebb::erfcx(T(0)) == 1 && ebb::erfcx(T(1)) > T(0.4275) && ebb::erfcx(T(1)) < T(0.4277) && ebb::erfcx(-inf) == inf);
}

TEMPLATE_TEST_CASE("erfcx has the same bits in loops, map, on the tape and captured", "", float, double) {
  const std::vector<TestType> x{TestType(-2.5), -1, TestType(-0.3), 0, TestType(0.4), TestType(0.9), 2, 7, 1000, TestType(1e-9), 3};
  test::check_everywhere<TestType>([](auto a) { return ebb::erfcx(a); }, x);
}

}  // namespace
