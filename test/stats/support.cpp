// test/stats/support.cpp — the ops of log densities against long double, in lanes and numbers, and at special points.
// SPDX-License-Identifier: BSL-1.0
#include "../special/oracle.hpp"
#include "oracle.hpp"

namespace {

namespace lane = ebb::lane;
using stats_test::inf, stats_test::nan, stats_test::numbers, stats_test::point;

constexpr auto log1p_sq_at = ebb::call<ebb::op::log1p_sq>{};
struct poisson_function : ebb::functions::of_quantities<poisson_function, 2> {
  static constexpr std::string_view name = "log_poisson";
  static constexpr auto formula(auto k, auto m) { return ebb::functions::log_poisson(k, m); }
};
constexpr auto log_poisson_at = ebb::call<poisson_function>{};
constexpr auto squared = [](auto x) { return lane::log1p_sq(x); };
constexpr auto slope = [](auto x) { return ebb::op::log1p_sq_slope::value(x); };

TEMPLATE_TEST_CASE("log1p_sq and its derivative keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  const auto at = test::places_around<T>(9, {0x1p+13, 0x1p+27, 1});
  test::check(
      "log1p_sq", squared, [](long double x) { return std::fabs(x) > 1e100L ? 2 * std::log(std::fabs(x)) : std::log1p(x * x); }, 3, at);
  test::check("log1p_sq_slope", slope, [](long double x) { return std::isinf(x) ? 1 / x : 2 * x / (1 + x * x); }, 3, at);
}

TEST_CASE("log1p_sq has its second derivative, log_poisson its first and second") {
  stats_test::check_density<1, 4>("log1p_sq", [](auto v) { return log1p_sq_at(v[0]); }, {0.25, -1, 3, 500}, [](const auto& v) {
    return stats_test::valued{std::log1p(v[0] * v[0])};
  }, 3);
  const numbers x{0.5, 2, 7.5, 9, 40, -0.5, 120, 7, 0.25, 2.5, 9, 8, 35, 0.125, 150, 12};
  stats_test::check_density<2, 8>("log_poisson", [](auto v) { return log_poisson_at(v[0], v[1]); }, x, [](const auto& v) {
    const long double l = v[0] * std::log(v[1]);
    return stats_test::valued{l - v[1] - std::lgamma(v[0] + 1), std::fabs(v[0] - v[1]) + (v[0] < 8 ? v[1] + std::fabs(l) : 0)};
  }, 8);
}

TEST_CASE("log_poisson at the ends of its domain") {
  const auto at = [](double k, double m) { return ebb::op::poisson_terms::value(k, m) - ebb::op::poisson_rest::value(k); };
  CHECK((at(0, 0) == 0 && at(1, 0) == -inf && at(-0.5, 0) == inf && at(20, 0) == -inf && at(3, inf) == -inf));
  CHECK((std::isnan(at(-1, 1)) && std::isnan(at(-2, 1)) && std::isnan(at(1, -1)) && std::isnan(at(nan, 1)) && std::isnan(at(1, nan))));
  CHECK(std::isnan(at(inf, 1)));
  CHECK(point<2>([](auto v) { return log_poisson_at(v[0], v[1]); }, {0, 0})[2] == -1);
}

TEST_CASE("ends of supports and domains of parameters: every special number") {
  const auto is = [](auto op, const std::vector<double>& inside, const std::vector<double>& outside) {
    for (double x : inside) CHECK_FALSE(decltype(op)::value(x));
    for (double x : outside) CHECK(decltype(op)::value(x));
    CHECK_FALSE(decltype(op)::value(nan));
  };
  const double least = 5e-324;
  is(ebb::op::is_not_positive{}, {least, 1, 1e308}, {0, -0., -1, inf, -inf});
  is(ebb::op::is_negative{}, {0, -0., least, 1e308}, {-least, inf, -inf});
  is(ebb::op::is_not_in_unit{}, {0, -0., 1, 0.5}, {-least, 1 + 0x1p-52, inf, -inf});
  is(ebb::op::is_no_bit{}, {0, -0., 1}, {0.5, 2, -1, inf, -inf});
  is(ebb::op::is_no_count{}, {0, -0., 1, 1e300}, {0.5, -1, inf, -inf, 1 - 0x1p-53});
  const auto keeps = [](auto op, const std::vector<double>& inside, const std::vector<double>& outside) {
    for (double x : inside) CHECK(decltype(op)::value(x) == x);
    for (double x : outside) CHECK(std::isnan(decltype(op)::value(x)));
    CHECK(std::isnan(decltype(op)::value(nan)));
  };
  keeps(ebb::op::if_positive{}, {least, 1e308}, {0, -1, inf, -inf});
  keeps(ebb::op::if_not_negative{}, {0, least, 1e308}, {-least, inf, -inf});
  keeps(ebb::op::if_probability{}, {0, 0.5, 1}, {-least, 1 + 0x1p-52, inf, -inf});
  // Lanes and numbers agree, and gradients pass.
  const std::vector<float> x{0, -1, 1, 0.5f, 2, 7, -0.25f, 3, 0.75f};
  test::check_everywhere<float>([](auto a) {
    const auto no = ebb::call<ebb::op::is_no_count>{}(a) || ebb::call<ebb::op::is_no_bit>{}(a);
    return ebb::where(no, ebb::call<ebb::op::if_probability>{}(ebb::where(a > 1, 0.5, a * a)), log_poisson_at(a * a, a * a + 1));
  }, x);
}

}  // namespace
