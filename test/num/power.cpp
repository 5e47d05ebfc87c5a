// test/num/power.cpp — pow against long double and against C's table of special values.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/power.hpp>

namespace lane = ebb::lane;

namespace {

template <class T>
struct pair {
  T x, y;
};

/// Bases of any size, bases close to 1 and whole ones, each with exponents that reach from underflow to overflow.
template <class T>
std::vector<pair<T>> pairs() {
  std::vector<pair<T>> out;
  std::mt19937_64 next(3);
  const auto unit = [&] { return static_cast<double>(next() >> 11) * 0x1p-53; };
  const double width = sizeof(T) == 4 ? 280 : 2100, least = sizeof(T) == 4 ? -152 : -1076;
  for (int i = 0; i < 60000; ++i) {
    const T any = lane::abs(lane::from_bits<T>(static_cast<lane::bits_of<T>>(next())));
    const T near = static_cast<T>(1 + (unit() - 0.5) * std::ldexp(1.0, -static_cast<int>(next() % (sizeof(T) == 4 ? 20 : 50))));
    const T x = i % 3 == 0 ? any : i % 3 == 1 ? near : static_cast<T>(static_cast<int>(next() % 61) - 30);
    const double log2 = std::log2(std::fabs(static_cast<double>(x)));
    const T y = i % 3 == 2 ? static_cast<T>(static_cast<int>(next() % 81) - 40)
                           : static_cast<T>((unit() * width + least) / (log2 != 0 && std::isfinite(log2) ? log2 : 1));
    out.push_back({x, y});
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("pow keeps its documented error", "", float, double) {
  using T = TestType;
  double worst = 0;
  pair<T> at{};
  int different = 0;
  const std::vector<pair<T>> all = pairs<T>();
  for (std::size_t i = 0; i + 4 <= all.size(); i += 4) {
    test::four<T> x{}, y{};
    for (std::size_t k = 0; k < 4; ++k) x.v[k] = all[i + k].x, y.v[k] = all[i + k].y;
    const test::four<T> four = lane::pow(x, y);
    for (std::size_t k = 0; k < 4; ++k) {
      const T one = lane::pow(x.v[k], y.v[k]);
      different += !test::same(four.v[k], one);
      const double e = test::ulps(one, std::pow(static_cast<long double>(x.v[k]), static_cast<long double>(y.v[k])));
      if (e > worst) worst = e, at = {x.v[k], y.v[k]};
    }
  }
  INFO("worst at " << at.x << " to the " << at.y);
  CHECK(worst <= (lane::fused ? 1.5 : 2));
  CHECK(different == 0);
}

TEMPLATE_TEST_CASE("pow of special values follows C", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  const T odd = T(1) / L::epsilon() * 2 - 1;  // the largest odd number
  std::vector<T> values;
  for (T x : {T(0), T(1), T(2), T(3), T(0.5), T(0.75), T(1.5), T(2.5), T(7), T(1e10), L::infinity(), L::denorm_min(), L::min(), L::max(),
              T(1) + L::epsilon(), T(1) - L::epsilon() / 2, odd, odd + 1, odd / 2}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(L::quiet_NaN());
  for (T x : values)
    for (T y : values) {
      const T got = lane::pow(x, y), want = std::pow(x, y);
      if (test::same(got, want) || (std::isfinite(want) && test::ulps(got, static_cast<long double>(want)) <= 2)) continue;
      CAPTURE(x, y, got, want);
      CHECK(false);
    }
}
