// test/special/logarithmic.cpp — logit, logcosh, logaddexp2 and logsubexp against long double and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "../op/everywhere.hpp"
#include "../op/golden.hpp"
#include "exact.hpp"
#include "oracle.hpp"

#include <ebb/special.hpp>

namespace {

namespace lane = ebb::lane;
constexpr auto log_odds = [](auto x) { return lane::logit(x); };
constexpr auto smooth_abs = [](auto x) { return lane::logcosh(x); };

long double log_odds_of(long double x) {
  return std::fabs(x - 0.5L) < 0.2L ? std::log1p((2 * x - 1) / (1 - x)) : std::log(x / (1 - x));
}
long double smooth_abs_of(long double x) {
  const long double a = std::fabs(x), s = std::sinh(std::min(a, 1.0L) / 2);
  return a < 1 ? std::log1p(2 * s * s) : a + std::log1p(std::exp(-2 * a)) - 0.693147180559945309417232121458176568L;
}

TEMPLATE_TEST_CASE("logit and logcosh keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  std::vector<T> inside = test::special_values<T>();
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> place(0, 1), near(0.49, 0.51);
  for (int i = 0; i < 8000; ++i)
    for (double x : {place(next), near(next), std::exp2(-60 * place(next)), 1 - std::exp2(-20 * place(next))})
      inside.push_back(static_cast<T>(x));
  test::check("logit", log_odds, log_odds_of, 3, inside);
  test::check("logcosh", smooth_abs, smooth_abs_of, 5, test::places_around<T>(3, {1}));
}

TEMPLATE_TEST_CASE("logaddexp2 keeps its documented error", "", float, double) {
  using T = TestType;
  std::mt19937_64 next(5);
  std::uniform_real_distribution<double> place(-50, 50), apart(-3, 3);
  double worst = 0, share = 0;
  for (int i = 0; i < 10000; ++i) {
    const T x = static_cast<T>(place(next)), y = static_cast<T>(i % 2 ? x + static_cast<T>(apart(next)) : static_cast<T>(place(next)));
    const long double high = std::max(x, y), d = -std::fabs(static_cast<long double>(x) - y);
    const long double want = high + std::log1p(std::exp2(d)) / 0.693147180559945309417232121458176568L;
    const long double part = 1 / (1 + std::exp2(static_cast<long double>(y) - x)), unit = std::numeric_limits<T>::epsilon();
    worst = std::max(worst, static_cast<double>(std::fabs(lane::logaddexp2(x, y) - want) /
                                                (unit * std::max({std::fabs(want), std::fabs(high), -std::min<long double>(x, y)}))));
    share = std::max(share, static_cast<double>(std::fabs(lane::share_of_exp2(x, y) - part) / (unit * part)));
  }
  CHECK(worst < 3);
  CHECK(share < 4);
}

TEST_CASE("logarithmic functions of special.hpp have exact first and second derivatives") {
  golden::check_wide<golden::any_vector>("special", "logit", [](auto x) { return ebb::logit(x); }, {.value = 3, .grad = 4, .second = 8});
  golden::check_wide<golden::any_vector>("special", "kinks_logit_eps", [](auto x) { return ebb::logit(x, 0.25); },
                                         {.value = 3, .grad = 4, .second = 8, .sign_is_open = true, .nan_is_open = "second"});
  test::both("logcosh", [](auto x, auto y) { return ebb::logcosh(x) * y; }, -3, 3);
  test::both("logaddexp2", [](auto x, auto y) { return ebb::logaddexp2(x, y) * x; }, -3, 3);
  test::both("logsubexp", [](auto x, auto y) { return ebb::logsubexp(x + 3.0, y); }, 0, 2);
}

TEMPLATE_TEST_CASE("logarithmic functions are right at the ends of their domains", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK((log_odds(T(0)) == -inf && log_odds(T(1)) == inf && log_odds(T(0.5)) == 0));
  CHECK((std::isnan(log_odds(T(1.5))) && std::isnan(log_odds(-inf))));
  CHECK((smooth_abs(inf) == inf && smooth_abs(-inf) == inf && smooth_abs(T(0)) == 0 && std::isnan(smooth_abs(T(NAN)))));
  const ebb::tensor<T, 5> x{inf, -inf, 3, 3, inf}, y{inf, -inf, -inf, 3, 1}, sums = ebb::logaddexp2(x, y), rests = ebb::logsubexp(x, y);
  CHECK((sums(0) == inf && sums(1) == -inf && sums(2) == 3 && sums(3) == 4 && sums(4) == inf));
  CHECK((rests(2) == 3 && rests(3) == -inf && rests(4) == inf));
  const ebb::tensor<T, 5> slopes = ebb::grad([](auto a, auto b) { return ebb::sum(ebb::logaddexp2(a, b)); })(x, y);
  CHECK((slopes(0) == T(0.5) && slopes(1) == T(0.5) && slopes(2) == 1 && slopes(3) == T(0.5)));
  CHECK(std::isnan(ebb::logsubexp(ebb::tensor<T, 1>{1}, 2)(0)));
  static_assert(ebb::logit(T(0.5)) == 0 && ebb::logcosh(T(0)) == 0 && ebb::logaddexp2(T(3), T(3)) == 4);
}

TEMPLATE_TEST_CASE("logarithmic functions of special.hpp have the same bits in loops, map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(0.01), T(0.3), T(0.31), T(0.5), T(0.6), T(0.7), T(0.71), T(0.99), T(1e-9), T(0.2), T(0.25)};
  test::check_everywhere<T>([](auto a) {
    return ebb::logit(a) * ebb::logcosh(a) + ebb::logaddexp2(a, a * 3) * ebb::logsubexp(a, a * 0.5);
  }, x);
}

}  // namespace
