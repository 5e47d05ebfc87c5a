// test/nn/position.cpp — sinusoidal and alibi: formulas in long double, derivatives, edges.
// SPDX-License-Identifier: BSL-1.0
#include "../op/golden.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn;
using position_matrix = ebb::tensor<float, dyn, dyn>;

long double frequency(std::size_t i) { return std::pow(10000.0L, -2.0L * static_cast<long double>(i) / 6); }

TEST_CASE("sinusoidal has the values and the derivatives of sin and cos, for whole and other positions, and NaN of infinite ones") {
  const ebb::tensor<double, dyn> p{0, 1, -2.5, 1000, INFINITY};
  const auto y = ebb::sinusoidal<6>(p);
  // The gradient of the sum and the second derivative along ones: each wave brings its frequency.
  const auto slope = ebb::grad([](auto x) { return ebb::sum(ebb::sinusoidal<6>(x)); })(p);
  const auto bend = ebb::hvp([](auto x) { return ebb::sum(ebb::sinusoidal<6>(x)); })(p, ebb::tensor<double, dyn>{1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i) {
    long double first = 0, second = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const long double w = frequency(k), angle = p(i) * w;
      CHECK(std::fabs(y(i, 2 * k) - std::sin(angle)) <= 1e-15L * (1 + std::fabs(angle)));
      CHECK(std::fabs(y(i, 2 * k + 1) - std::cos(angle)) <= 1e-15L * (1 + std::fabs(angle)));
      first += w * (std::cos(angle) - std::sin(angle));
      second -= w * w * (std::sin(angle) + std::cos(angle));
    }
    CHECK(slope(i) == Approx(static_cast<double>(first)).margin(1e-12));
    CHECK(bend(i) == Approx(static_cast<double>(second)).margin(1e-12));
  }
  CHECK(std::isnan(y(4, 0)));
  const auto whole = ebb::sinusoidal<2>(ebb::tensor<std::int64_t, dyn>{0, 3});
  CHECK((whole(0, 0) == 0 && whole(0, 1) == 1 && whole(1, 0) == Approx(std::sin(3.0))));
}

TEST_CASE("alibi has the slopes of the paper for powers of two and between them, and no gradient; no queries give no scores") {
  const position_matrix q(3, 2), k(4, 2), empty(0, 2);
  const auto eight = ebb::alibi<8>(q, k);
  const auto six = ebb::alibi<6>(q, k);
  const double slopes[] = {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      const double apart = std::fabs(static_cast<double>(i) - static_cast<double>(j));
      for (std::size_t h = 0; h < 8; ++h) CHECK(eight(h, i, j) == -std::ldexp(apart, -static_cast<int>(h) - 1));
      for (std::size_t h = 0; h < 6; ++h) CHECK(six(h, i, j) == -slopes[h] * apart);
    }
  CHECK(ebb::alibi<8>(empty, k).size() == 0);
  const auto slope = ebb::grad<0>([](auto a, auto b) { return ebb::sum(ebb::alibi<8>(a, b)) + ebb::sum(ebb::square(a)); })(q, k);
  CHECK(ebb::all_equal(slope, position_matrix(3, 2)));
}

}  // namespace
