// test/op/logarithmic.cpp — logaddexp, log1mexp, xlogy, xlog1py, entr: values, both derivatives, infinities and corners.
// SPDX-License-Identifier: BSL-1.0
#include "everywhere.hpp"
#include "exact_derivatives.hpp"
#include "golden.hpp"

namespace {

constexpr auto logarithmic = "logarithmic";
const auto exact_logarithmic = [](const char* name, auto f, golden::bounds b) {
  golden::check_wide<golden::any_vector>(logarithmic, name, f, b);
};
const auto both_widths = [](const char* name, auto f, golden::bounds b) {
  golden::check<golden::any_vector, golden::any_vector>(logarithmic, name, f, b);
};

const auto logaddexp = [](auto x, auto y) { return ebb::logaddexp(x, y); };
const auto xlogy = [](auto x, auto y) { return ebb::xlogy(x, y); };
const auto xlog1py = [](auto x, auto y) { return ebb::xlog1py(x, y); };
const auto entr = [](auto x) { return ebb::entr(x); };

// PyTorch's derivatives are NaN or infinite where two infinities are equal and at the corners of xlogy and xlog1py: tests below have ours.
// Its logaddexp rounds the difference of the operands, which costs the derivatives some digits.
TEST_CASE("logarithms of sums and products with logarithms give PyTorch's recorded values") {
  both_widths("logaddexp", logaddexp, {.value = 3, .grad = 6, .value_floor = 1, .nan_is_open = "derivatives"});
  both_widths("xlogy", xlogy,
              {.value = 1.5, .grad = 3, .second = 4, .sign_is_open = true, .nan_is_open = "derivatives", .open_at = {0, 1, 2, 3}});
  both_widths("xlog1py", xlog1py, {.value = 2.5, .grad = 4, .sign_is_open = true, .nan_is_open = "derivatives"});
  golden::check<golden::any_vector>(logarithmic, "entr", entr,
                                    {.value = 1.5, .grad = 2, .second = 2, .grad_floor = 1, .value_sign_is_open = true});
}

TEST_CASE("log1mexp and entr are exact, and so are their derivatives") {
  exact_logarithmic("log1mexp", [](auto x) { return ebb::log1mexp(x); }, {.value = 4, .grad = 3, .second = 6});
  exact_logarithmic("entr", entr, {.value = 1.5, .grad = 2, .second = 2, .grad_floor = 1, .value_sign_is_open = true});
}

TEST_CASE("logarithms of sums and products with logarithms have exact first and second derivatives") {
  using test::both;
  both("logaddexp", logaddexp, -4, 4);
  both("log1mexp", [](auto x, auto y) { return ebb::log1mexp(-x) * y; }, 0.1, 5);
  both("xlogy", xlogy, 0.2, 5);
  both("xlog1py", xlog1py, -0.7, 5);
  both("entr", [](auto x, auto y) { return ebb::entr(x) * y; }, 0.2, 5);
}

/// The gradients of f by both arguments, and the derivative of the sum of the first by the second.
template <class F>
struct slopes {
  double x, y, mixed;
  slopes(double a, double b) {
    constexpr auto total = [](auto u, auto v) { return ebb::sum(F{}(u, v)); };
    constexpr auto by_x = [](auto u, auto v) { return ebb::sum(ebb::grad<0>([](auto p, auto q) { return ebb::sum(F{}(p, q)); })(u, v)); };
    const ebb::tensor<double, 1> u{a}, v{b};
    x = ebb::grad<0>(total)(u, v)(0), y = ebb::grad<1>(total)(u, v)(0), mixed = ebb::grad<1>(by_x)(u, v)(0);
  }
};

TEST_CASE("equal infinities share the gradient of logaddexp evenly") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double e : {inf, -inf}) {
    const slopes<decltype(logaddexp)> d(e, e);
    CHECK((ebb::logaddexp(e, e) == e && d.x == 0.5 && d.y == 0.5 && d.mixed == -0.25));
  }
  const slopes<decltype(logaddexp)> one(inf, 3), far(1000, -1000);
  CHECK((one.x == 1 && one.y == 0 && one.mixed == 0 && far.x == 1 && far.y == 0 && far.mixed == 0));
}

TEST_CASE("at a zero factor and a zero argument the derivatives of xlogy and xlog1py are 0") {
  const slopes<decltype(xlogy)> corner(0, 0), flat(0, -2), edge(0, 4);
  CHECK((corner.x == 0 && corner.y == 0 && corner.mixed == 0));
  CHECK((flat.x == 0 && flat.y == 0 && edge.x == std::log(4.) && edge.y == 0 && edge.mixed == 0.25));
  const slopes<decltype(xlog1py)> corner_1(0, -1), flat_1(0, -2), edge_1(0, 3);
  CHECK((corner_1.x == 0 && corner_1.y == 0 && corner_1.mixed == 0));
  CHECK((flat_1.x == 0 && flat_1.y == 0 && edge_1.y == 0 && edge_1.mixed == 0.25));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK((std::isnan(ebb::xlogy(0., nan)) && std::isnan(ebb::xlogy(nan, 1.)) && std::isnan(ebb::xlog1py(0., nan))));
}

TEST_CASE("the derivatives of log1mexp are finite where e^-x overflows") {
  const auto second = ebb::grad([](auto a) { return ebb::sum(ebb::grad([](auto b) { return ebb::sum(ebb::log1mexp(b)); })(a)); });
  const ebb::tensor<double, 3> y = second(ebb::tensor<double, 3>{-800, -std::numeric_limits<double>::infinity(), -1});
  CHECK((y(0) == 0 && y(1) == 0 && std::fabs(y(2) + 0.92067359420779237) < 1e-15));
}

TEST_CASE("integers are computed in float, and numbers are constant expressions, in logarithms of sums") {
  const ebb::tensor<float, 2> y = ebb::logaddexp(ebb::tensor<int, 2>{1, 2}, 1);
  CHECK(y(0) == ebb::logaddexp(1.f, 1.f));
  static_assert(ebb::xlogy(0., 0.) == 0 && ebb::xlog1py(2., 0.) == 0 && ebb::entr(0.f) == 0 && ebb::entr(-1.) < -1e308);
  static_assert(std::is_same_v<decltype(ebb::entr(1.f)), float> && ebb::entr(1.) == 0);
}

TEMPLATE_TEST_CASE("logarithms of sums have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(0.1),  T(0.3),  T(0.9), 1, T(1.5), 2, T(2.5), 7, 30,    T(0.01),
                         T(1e-9), T(0.69), T(0.7), 3, T(3.3), 4, 5,      6, T(0.2)};
  test::check_everywhere<T>([](auto a) { return ebb::logaddexp(a, a * a) + ebb::log1mexp(-a) * ebb::entr(a); }, x);
  test::check_everywhere<T>([](auto a) { return ebb::xlogy(a, a + 0.5) - ebb::xlog1py(a * a, a); }, x);
}

}  // namespace
