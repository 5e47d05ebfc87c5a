// test/num/logarithm.cpp — log, log2, log10 and log1p against long double.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "oracle.hpp"

#include <ebb/num/logarithm.hpp>

#include <array>
#include <iterator>

namespace lane = ebb::lane;

namespace of {
constexpr auto log = [](auto x) { return lane::log(x); };
constexpr auto log2 = [](auto x) { return lane::log2(x); };
constexpr auto log10 = [](auto x) { return lane::log10(x); };
constexpr auto log1p = [](auto x) { return lane::log1p(x); };
}  // namespace of

namespace {

template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound) {
  test::check(name, f, oracle, bound, test::arguments<T>());
}

TEMPLATE_TEST_CASE("log1p of numbers from 0 to 1 has the bits of log1p, for lanes and scalars", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  std::vector<T> at{0, L::denorm_min(), L::min(), L::epsilon() / 2, T(0.25), T(0.5), T(0.5) - L::epsilon() / 4, T(0.5) + L::epsilon() / 2,
                    1, L::quiet_NaN()};
  std::mt19937_64 next(3);
  std::uniform_real_distribution<double> part(0, 1), size(-60, 0);
  for (int i = 0; i < 20000; ++i) at.push_back(static_cast<T>(i % 2 ? part(next) : std::exp2(size(next))));
  at.resize(at.size() / 4 * 4);
  int different = 0;
  for (std::size_t i = 0; i < at.size(); i += 4) {
    const test::four<T> z = lane::log1p_of_part(test::four<T>{{at[i], at[i + 1], at[i + 2], at[i + 3]}});
    for (std::size_t k = 0; k < 4; ++k)
      different += !test::same(z.v[k], lane::log1p(at[i + k])) || !test::same(lane::log1p_of_part(at[i + k]), lane::log1p(at[i + k]));
  }
  CHECK(different == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("logarithms keep their documented error", "", float, double) {
  check<TestType>("log", of::log, [](long double x) { return std::log(x); }, 1);
  check<TestType>("log2", of::log2, [](long double x) { return std::log2(x); }, 1);
  check<TestType>("log10", of::log10, [](long double x) { return std::log10(x); }, 1);
  check<TestType>("log1p", of::log1p, [](long double x) { return std::log1p(x); }, 1);
}

TEST_CASE("log2 of the float with the largest error of all floats keeps the documented error") {
  test::check_ulps("log2", of::log2, [](long double x) { return std::log2(x); }, 1.1, std::vector<float>{0x1.7fb15ep-1f});
}

TEMPLATE_TEST_CASE("logarithms are right at zeros, infinities, negative numbers and NaN", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  using test::same;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  CHECK((same(of::log(T(1)), T(0)) && same(of::log(T(0)), -inf) && same(of::log(T(-0.0)), -inf) && same(of::log(inf), inf)));
  CHECK((same(of::log(T(-1)), nan) && same(of::log(-L::denorm_min()), nan) && same(of::log(-inf), nan) && same(of::log(nan), nan)));
  CHECK((same(of::log1p(T(0)), T(0)) && same(of::log1p(T(-0.0)), T(-0.0)) && same(of::log1p(T(-1)), -inf) && same(of::log1p(inf), inf)));
  CHECK((same(of::log1p(T(-1) - L::epsilon()), nan) && same(of::log1p(-inf), nan) && same(of::log1p(nan), nan)));
  for (T x : {L::denorm_min(), L::min(), L::epsilon() * L::epsilon()}) CHECK((of::log1p(x) == x && of::log1p(-x) == -x));
}

TEMPLATE_TEST_CASE("log2 and log10 are right at zeros, infinities, negative numbers, NaN and powers of their base", "", float, double) {
  using T = TestType;
  using L = std::numeric_limits<T>;
  using test::same;
  const T inf = L::infinity(), nan = L::quiet_NaN();
  const auto special = [&](auto f) {
    CHECK((same(f(T(1)), T(0)) && same(f(T(0)), -inf) && same(f(T(-0.0)), -inf) && same(f(inf), inf)));
    CHECK((same(f(T(-1)), nan) && same(f(-L::denorm_min()), nan) && same(f(-inf), nan) && same(f(nan), nan)));
  };
  special(of::log2);
  special(of::log10);
  for (int n = L::min_exponent - L::digits; n < L::max_exponent; ++n) CHECK(of::log2(std::ldexp(T(1), n)) == static_cast<T>(n));
  T power = 1;
  for (int n = 0; n <= (sizeof(T) == 4 ? 10 : 22); ++n, power *= 10) CHECK(of::log10(power) == static_cast<T>(n));
}

TEST_CASE("logarithms never decrease where their formulas change") {
  const auto grows_around = [](auto f, auto x) {
    using T = decltype(x);
    for (int i = 0; i < 1000; ++i) x = std::nextafter(x, T(0));
    for (int i = 0; i < 2000; ++i) {
      const T next = std::nextafter(x, std::numeric_limits<T>::infinity());
      if (!(f(x) <= f(next))) return false;
      x = next;
    }
    return true;
  };
  for (float x : {0.75f, 1.f, 1.5f, 3.f, 0x1p-126f, 0x1p-148f}) CHECK(grows_around(of::log, x));
  for (double x : {0.75, 1.0, 1.5, 3.0, 0x1p-1022, 0x1p-1073}) CHECK(grows_around(of::log, x));
  for (float x : {0.75f, 1.f, 1.5f, 3.f, 0x1p-126f}) CHECK((grows_around(of::log2, x) && grows_around(of::log10, x)));
  for (double x : {0.75, 1.0, 1.5, 3.0, 0x1p-1022}) CHECK((grows_around(of::log2, x) && grows_around(of::log10, x)));
  for (float x : {0.5f, 2.f, 0x1p-24f, 0x1p+60f}) CHECK(grows_around(of::log1p, x));
  for (double x : {0.5, 2.0, 0x1p-53, 0x1p+60}) CHECK(grows_around(of::log1p, x));
}

TEST_CASE("logarithms in constant expressions have the bits of run time") {
  static constexpr double at[] = {0x1p-1074, 1e-310, 1e-9, 0.7, 0.75, 1, 1.4999999, 1.5, 3, 1e300};
  constexpr auto results = [](auto f) {
    std::array<double, std::size(at)> out{};
    for (std::size_t i = 0; double x : at) out[i++] = f(x);
    return out;
  };
  constexpr auto a = results(of::log), b = results(of::log1p), two = results(of::log2), ten = results(of::log10);
  for (std::size_t i = 0; volatile double x : at) {
    const double y = x;
    CHECK((test::same(a[i], of::log(y)) && test::same(b[i], of::log1p(y))));
    CHECK((test::same(two[i], of::log2(y)) && test::same(ten[i], of::log10(y))));
    ++i;
  }
}
