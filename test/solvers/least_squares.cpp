// test/solvers/least_squares.cpp — least squares and robust fits, against equations of the minimum in long double, with derivatives.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <limits>
#include <tuple>

namespace {

using ebb::tensor;

constexpr auto rosenbrock = [](auto p) { return ebb::stack<0>(10 * (p[1] - p[0] * p[0]), 1 - p[0]); };
constexpr auto powell = [](auto p) {
  const auto a = p[0], b = p[1], c = p[2], d = p[3];
  return ebb::stack<0>(a + 10 * b, 2.23606797749979 * (c - d), ebb::square(b - 2 * c), 3.1622776601683795 * ebb::square(a - d));
};
constexpr auto decay = [](auto p, auto t, auto y) { return p[0] * ebb::exp(-p[1] * t) - y; };
constexpr auto fitted_rate = [](auto p0, auto t, auto y) { return std::get<0>(ebb::levenberg_marquardt(decay, p0, t, y))[1]; };

/// The place of data y: the slope of the loss, times r, sums to 0.
constexpr auto distance = [](auto p, auto y, auto scale) { return (y - p[0]) / scale; };
template <auto Loss>
constexpr auto place = [](auto y, auto scale, auto p0) { return ebb::levenberg_marquardt<Loss>(distance, p0, y, scale); };
template <auto Loss>
constexpr auto place_alone = [](auto y, auto scale, auto p0) {
  return std::get<0>(ebb::levenberg_marquardt<Loss>(distance, p0, y, scale))[0];
};
constexpr auto arctan = [](auto s) { return ebb::atan(s); };

/// rho' r, and its derivative by r, by hand.
long double pull_of(int loss, long double r) {
  const long double s = r * r;
  switch (loss) {
    case 0: return r > 1 ? 1 : r < -1 ? -1 : r;
    case 1: return r / std::sqrt(1 + s);
    case 2: return r / (1 + s);
    case 3: return s < 1 ? r * (1 - s) * (1 - s) : 0;
    default: return r / (1 + s * s);
  }
}
long double bend_of(int loss, long double r) {
  const long double s = r * r;
  switch (loss) {
    case 0: return s > 1 ? 0 : 1;
    case 1: return 1 / ((1 + s) * std::sqrt(1 + s));
    case 2: return (1 - s) / ((1 + s) * (1 + s));
    case 3: return s < 1 ? (1 - s) * (1 - 5 * s) : 0;
    default: return (1 - 3 * s * s) / ((1 + s * s) * (1 + s * s));
  }
}
const tensor<double, 9> measured{1.1, 0.95, 1.3, 0.7, 1.02, 9.5, -14.0, 1.9, 0.9};

template <auto Loss>
void check_place(int loss, double scale) {
  const tensor<double, 1> start{1.2};
  const auto [x, steps, converged] = ebb::compile(place<Loss>)(measured, scale, start);
  CHECK(converged);
  CHECK(steps < 40);
  long double low = 0.5L, high = 1.6L;  // between them the sum falls
  for (int i = 0; i < 70; ++i) {
    const long double m = (low + high) / 2;
    long double sum = 0;
    for (std::size_t j = 0; j < 9; ++j) sum += pull_of(loss, (measured(j) - m) / scale);
    (sum > 0 ? low : high) = m;
  }
  CHECK(x(0) == Approx(static_cast<double>(low)).epsilon(1e-13));
  long double all = 0, by_scale = 0;
  for (std::size_t j = 0; j < 9; ++j) {
    const long double r = (measured(j) - low) / scale;
    all += bend_of(loss, r);
    by_scale -= bend_of(loss, r) * r;
  }
  const auto [value, by_data, slope] = ebb::value_and_grad<0, 1>(place_alone<Loss>)(measured, scale, start);
  CHECK(value == x(0));
  for (std::size_t j = 0; j < 9; ++j)
    CHECK(by_data(j) == Approx(static_cast<double>(bend_of(loss, (measured(j) - low) / scale) / all)).epsilon(1e-11).margin(1e-14));
  CHECK(slope == Approx(static_cast<double>(by_scale / all)).epsilon(1e-10));
}

}  // namespace

TEST_CASE("levenberg_marquardt finds the minima of Rosenbrock and Powell and fits a decay, whose rate has a gradient by the data") {
  const auto [x, n, ok] = ebb::compile([](auto p) { return ebb::levenberg_marquardt(rosenbrock, p); })(tensor<double, 2>{-1.2, 1});
  CHECK(ok);
  CHECK(n < 100);
  CHECK(x(0) == Approx(1).epsilon(1e-13));
  CHECK(x(1) == Approx(1).epsilon(1e-13));
  const auto [y, m, end] = ebb::compile([](auto p) { return ebb::levenberg_marquardt(powell, p); })(tensor<double, 4>{3, -1, 0, 1});
  static_cast<void>(end);  // its Jacobian is singular at the minimum: steps halve the distance
  CHECK(m <= 500);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(y(i)) < 1e-4);

  tensor<double, 8> t, data;
  for (std::size_t i = 0; i < 8; ++i) {
    t.mutable_data()[i] = 0.4 * static_cast<double>(i);
    data.mutable_data()[i] = 2.5 * std::exp(-0.8 * t(i)) + (i % 2 == 0 ? 0.02 : -0.03);
  }
  const tensor<double, 2> start{1, 1};
  const auto [rate, by_data] = ebb::value_and_grad<2>(fitted_rate)(start, t, data);
  CHECK(rate == Approx(0.8).epsilon(0.1));
  const auto fit = ebb::compile(fitted_rate);
  for (std::size_t i = 0; i < 8; i += 3) {
    tensor<double, 8> up = data, down = data;
    up.mutable_data()[i] += 1e-5;
    down.mutable_data()[i] -= 1e-5;
    CHECK(by_data(i) == Approx((fit(start, t, up) - fit(start, t, down)) / 2e-5).epsilon(1e-6));
  }
}

TEST_CASE("levenberg_marquardt with a robust loss finds where the pulls of the data sum to 0, and its gradients by data and scale") {
  check_place<ebb::robust::huber>(0, 0.5);
  check_place<ebb::robust::soft_l1>(1, 0.5);
  check_place<ebb::robust::cauchy>(2, 0.5);
  check_place<ebb::robust::tukey>(3, 2.0);
  check_place<arctan>(4, 0.7);
}

TEST_CASE("robust losses: values, slopes and second derivatives at 0, at the kink, far away, at infinity and NaN") {
  const auto both = [](auto loss, double s) {
    const auto [value, slope] = ebb::value_and_grad(loss)(s);
    return std::tuple(value, slope, ebb::grad(ebb::grad(loss))(s));
  };
  using three = std::tuple<double, double, double>;
  CHECK(both(ebb::robust::huber, 0.0) == three(0, 1, 0));
  CHECK(both(ebb::robust::huber, 1.0) == three(1, 1, 0));
  CHECK(both(ebb::robust::huber, 4.0) == three(3, 0.5, -0.0625));
  CHECK(both(ebb::robust::soft_l1, 0.0) == three(0, 1, -0.5));
  CHECK(std::get<0>(both(ebb::robust::soft_l1, 1e-30)) == 1e-30);
  CHECK(std::get<0>(both(ebb::robust::soft_l1, 3.0)) == 2);
  CHECK(both(ebb::robust::cauchy, 0.0) == three(0, 1, -1));
  CHECK(std::get<0>(both(ebb::robust::cauchy, 3.0)) == Approx(2 * std::log(2)).epsilon(1e-15));
  const auto [value, slope, bend] = both(ebb::robust::tukey, 0.0);
  CHECK(value == 0);
  CHECK(slope == Approx(1).epsilon(1e-15));
  CHECK(bend == Approx(-2).epsilon(1e-15));
  CHECK(both(ebb::robust::tukey, 1.0) == three(1.0 / 3, 0, 0));
  CHECK(both(ebb::robust::tukey, 5.0) == three(1.0 / 3, 0, 0));
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(std::get<0>(both(ebb::robust::huber, inf)) == inf);
  CHECK(std::get<0>(both(ebb::robust::tukey, inf)) == 1.0 / 3);
  CHECK(std::isnan(std::get<0>(both(ebb::robust::huber, std::nan("")))));
  CHECK(std::isnan(std::get<0>(both(ebb::robust::tukey, std::nan("")))));
}

TEST_CASE("a fit of a decay with outliers is at rest, converges from far away in few steps, and without outliers it is that of squares") {
  tensor<double, 12> t, data;
  for (std::size_t i = 0; i < 12; ++i) {
    t.mutable_data()[i] = 0.3 * static_cast<double>(i);
    data.mutable_data()[i] = 40 * std::exp(-0.8 * t(i)) + (i % 2 == 0 ? 0.2 : -0.3);
  }
  const auto clean = ebb::compile([](auto p0, auto x, auto y) {
    return std::tuple(ebb::levenberg_marquardt(decay, p0, x, y), ebb::levenberg_marquardt<ebb::robust::huber>(decay, p0, x, y));
  });
  const auto [squares, huber] = clean(tensor<double, 2>{38, 0.7}, t, data);
  CHECK(std::get<0>(squares)(0) == Approx(std::get<0>(huber)(0)).epsilon(1e-13));
  CHECK(std::get<0>(squares)(1) == Approx(std::get<0>(huber)(1)).epsilon(1e-12));  // a last step may be one of rounding

  data.mutable_data()[3] += 60;
  data.mutable_data()[7] -= 25;
  const auto robust = ebb::compile([](auto p0, auto x, auto y) { return ebb::levenberg_marquardt<ebb::robust::cauchy>(decay, p0, x, y); });
  const auto [p, steps, converged] = robust(tensor<double, 2>{38, 0.7}, t, data);
  CHECK(converged);
  CHECK(steps < 50);
  CHECK(p(0) == Approx(40).epsilon(0.01));
  CHECK(p(1) == Approx(0.8).epsilon(0.01));
  long double by_height = 0, by_rate = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const long double e = std::exp(static_cast<long double>(-p(1)) * t(i)), r = p(0) * e - data(i);
    by_height += pull_of(2, r) * e;
    by_rate += pull_of(2, r) * e * p(0) * t(i);
  }
  CHECK(std::abs(by_height) < 1e-12);
  CHECK(std::abs(by_rate) < 1e-11);
  const auto [far, n, ok] = ebb::compile([](auto p0, auto x, auto y) {
    return ebb::levenberg_marquardt<ebb::robust::huber>(decay, p0, x, y);
  })(tensor<double, 2>{1, 0.1}, t, data);  // every error is an outlier
  CHECK(ok);
  CHECK(n < 100);
  CHECK(far(0) == Approx(40).epsilon(0.02));
  data.mutable_data()[1] = std::nan("");
  CHECK(!std::get<2>(robust(tensor<double, 2>{38, 0.7}, t, data)));
}

TEST_CASE("the second derivative of a robust fit by its scale is that of its first derivative") {
  const tensor<double, 1> start{1.2};
  const auto slope = ebb::grad<1>(place_alone<ebb::robust::cauchy>);
  const auto second = ebb::grad<1>(ebb::grad<1>(place_alone<ebb::robust::cauchy>))(measured, 0.5, start);
  CHECK(second == Approx((slope(measured, 0.5 + 1e-5, start) - slope(measured, 0.5 - 1e-5, start)) / 2e-5).epsilon(1e-7));
}
