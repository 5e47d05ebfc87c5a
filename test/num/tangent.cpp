// test/num/tangent.cpp — tan against long double, also next to its zeros and poles.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/tangent.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto tan = [](auto x) { return lane::tan(x); };
}  // namespace of

namespace {

/// Neighbours of multiples of pi/4: zeros, poles and changes of the quadrant.
template <class T>
std::vector<T> next_to_multiples() {
  return test::next_to_multiples<T>(0.785398163397448309615660845819875721L, lane::detail::trigonometric<T>::greatest);
}

}  // namespace

TEMPLATE_TEST_CASE("tan keeps its documented error, whatever the size of its argument", "", float, double) {
  const auto tan = [](long double x) { return std::isinf(x) ? NAN : std::tan(x); };
  for (const auto& at : {test::arguments<TestType>(), next_to_multiples<TestType>()}) test::check("tan", of::tan, tan, 2, at);
}

TEMPLATE_TEST_CASE("tan is right at zeros, infinities, NaN and tiny numbers", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  CHECK((test::same(of::tan(T(0)), T(0)) && test::same(of::tan(T(-0.0)), T(-0.0))));
  for (T x : {L::infinity(), -L::infinity(), L::quiet_NaN()}) CHECK(std::isnan(of::tan(x)));
  for (T x : {L::denorm_min(), L::min(), L::min() / 2, L::epsilon() * L::epsilon()}) CHECK((of::tan(x) == x && of::tan(-x) == -x));
}

TEST_CASE("tan is right next to its poles") {
  CHECK(of::tan(0x1.921fb54442d18p+0) == 16331239353195370.);  // the double nearest to pi/2
  CHECK(std::abs(of::tan(0x1.921fb6p+0f) / -22877332.43 - 1) < 2e-7);  // the float nearest to pi/2, which is larger than pi/2
  CHECK(std::abs(of::tan(0x1.6ac5b262ca1ffp+849) * -4.6871659242546277e-19 - 1) < 1e-15);  // the double nearest to any pole
}

TEST_CASE("tan in constant expressions has the bits of run time") {
  static constexpr double at[] = {-1e300, -1e22, -1000, -1.5, -1e-9, 0.0, 1e-300, 0.5, 0.8, 1.57, 3, 100, 1048576, 1e7, 1.7e308};
  constexpr auto t = [] {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = of::tan(x);
    return out;
  }();
  for (std::size_t i = 0; volatile double x : at) CHECK(test::same(t[i++], of::tan(static_cast<double>(x))));
}
