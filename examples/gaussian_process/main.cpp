// examples/gaussian_process/main.cpp — a Gaussian process fitted to airline passengers by its marginal likelihood predicts the next year.
// SPDX-License-Identifier: BSL-1.0
//
// Data: monthly passengers of international airlines in thousands, January 1949 to December 1960. G. Box, G. Jenkins, Time Series Analysis:
// Forecasting and Control (1976), series G: published counts, which are facts. Eleven years are fitted and the twelfth is predicted.
//
// main [picture.svg]
#include "../plot.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <span>
#include <tuple>
#include <vector>

constexpr int passengers[] = {
    112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118, 115, 126, 141, 135, 125, 149, 170, 170, 158, 133, 114, 140,
    145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166, 171, 180, 193, 181, 183, 218, 230, 242, 209, 191, 172, 194,
    196, 196, 236, 235, 229, 243, 264, 272, 237, 211, 180, 201, 204, 188, 235, 227, 234, 264, 302, 293, 259, 229, 203, 229,
    242, 233, 267, 269, 270, 315, 364, 347, 312, 274, 237, 278, 284, 277, 317, 313, 318, 374, 413, 405, 355, 306, 271, 306,
    315, 301, 356, 348, 355, 422, 465, 467, 404, 347, 305, 336, 340, 318, 362, 348, 363, 435, 491, 505, 404, 359, 310, 337,
    360, 342, 406, 396, 420, 472, 548, 559, 463, 407, 362, 405, 417, 391, 419, 461, 472, 535, 622, 606, 508, 461, 390, 432};
constexpr std::size_t months = std::size(passengers), fitted = months - 12;

/// A row for each month: years since 1949, and the month as a point on a circle.
using inputs = ebb::tensor<double, ebb::dyn, 3>;
using targets = ebb::tensor<double, ebb::dyn>;
/// Logarithms of the kernel's parameters, in the order of `names`.
using parameters = ebb::tensor<double, 8>;
constexpr const char* names[] = {"trend, size", "trend, years", "season, size", "season, on the circle", "season, years", "rest, size",
                                 "rest, years", "noise"};

/// Squared distances between the rows of a and of b, in some of their columns.
constexpr auto distances = [](auto a, auto b) {
  return ebb::sum<2>(ebb::square(ebb::unsqueeze<1>(a) - ebb::unsqueeze<0>(b)));
};
/// A slow trend, a season that may change from year to year, and deviations that last for some months.
constexpr auto kernel = [](auto a, auto b, auto p) {
  const auto in_years = distances(ebb::slice<1, 0, 1>(a), ebb::slice<1, 0, 1>(b));
  const auto on_circle = distances(ebb::slice<1, 1>(a), ebb::slice<1, 1>(b));
  const auto size = ebb::exp(2 * p), of_length = -0.5 * ebb::exp(-2 * p);
  const auto trend = ebb::select<0, 0>(size) * ebb::exp(ebb::select<0, 1>(of_length) * in_years);
  const auto season =
      ebb::select<0, 2>(size) * ebb::exp(ebb::select<0, 3>(of_length) * on_circle + ebb::select<0, 4>(of_length) * in_years);
  return trend + season + ebb::select<0, 5>(size) * ebb::exp(ebb::select<0, 6>(of_length) * in_years);
};
/// The kernel's matrix, with the noise on its diagonal: the pairs at distance 0.
constexpr auto covariance = [](auto x, auto p) {
  const auto same = distances(x, x) == 0;
  return kernel(x, x, p) + ebb::where(same, ebb::select<0, 7>(ebb::exp(2 * p)) + 1e-10, 0.0);
};

/// -log of the probability of y. One Cholesky factor serves the value and its gradient. If rounding leaves a matrix that is not positive
/// definite, the result is NaN and the line search steps back.
constexpr auto loss = [](auto p, auto x, auto y) {
  const auto k = covariance(x, p);
  const auto alpha = ebb::cholesky_solve(y, ebb::cholesky(k, ebb::nan_if_not));
  const auto log_2_pi = ebb::sum(0 * y + 1.8378770664093453);
  return 0.5 * (ebb::sum(y * alpha) + ebb::logdet_spd(k, ebb::nan_if_not) + log_2_pi);
};

/// Means and deviations of the prediction at other rows.
constexpr auto predict = [](auto p, auto x, auto y, auto rows) {
  const auto l = ebb::cholesky(covariance(x, p));
  const auto between = kernel(x, rows, p);
  const auto mean = ebb::matmul(ebb::cholesky_solve(y, l), between);
  const auto known = ebb::sum<0>(ebb::square(ebb::solve_triangular(l, between)));
  const auto size = ebb::exp(2 * p);
  const auto prior = ebb::select<0, 0>(size) + ebb::select<0, 2>(size) + ebb::select<0, 5>(size);
  return std::tuple(mean, ebb::sqrt(ebb::maximum(prior - known, 0.0)));
};

/// The inverse Hessian that quasi-Newton steps approximate, after a step s that changed the gradient by y.
constexpr auto updated = [](auto h, auto s, auto y) {
  const auto along = ebb::dot(s, y);
  const auto hy = ebb::matmul(h, y);
  return h + ebb::outer(s, s) * ((along + ebb::dot(y, hy)) / (along * along)) - (ebb::outer(hy, s) + ebb::outer(s, hy)) / along;
};

int main(int count, char** arguments) {
  inputs x(months);
  targets y(months);
  double mean = 0;
  for (std::size_t i = 0; i < months; ++i) {
    const double year = static_cast<double>(i) / 12, angle = 6.283185307179586 * year;
    double* row = x.mutable_data() + 3 * i;
    row[0] = year, row[1] = std::cos(angle), row[2] = std::sin(angle);
    y.mutable_data()[i] = std::log(passengers[i]);
    if (i < fitted) mean += y(i) / static_cast<double>(fitted);
  }
  y = y - mean;
  const inputs known(std::span(x.data(), 3 * fitted), fitted), next_year(std::span(x.data() + 3 * fitted, 36), 12);
  const targets seen(std::span(y.data(), fitted), fitted);

  constexpr auto of_loss = ebb::value_and_grad<0>(loss);
  parameters p{0, 1, -1, 0, 1.5, -2, -1, -3};
  auto [value, gradient] = of_loss(p, known, seen);

  // The gradient against central differences.
  double worst = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const double h = 1e-5;
    parameters left = p, right = p;
    left.mutable_data()[i] -= h, right.mutable_data()[i] += h;
    const double difference = (std::get<0>(of_loss(right, known, seen)) - std::get<0>(of_loss(left, known, seen))) / (2 * h);
    worst = std::max(worst, std::fabs(gradient(i) - difference) / (1 + std::fabs(difference)));
  }
  std::printf("gradient against differences: %.1e\n\nstep   log likelihood   |gradient|\n", worst);

  ebb::tensor<double, 8, 8> h{};
  for (std::size_t i = 0; i < 8; ++i) h.mutable_data()[9 * i] = 0.01;
  int step = 0;
  for (; step < 100 && ebb::norm(gradient, ebb::order_inf) > 1e-4; ++step) {
    if (step % 10 == 0) std::printf("%4d   %14.4f   %10.2e\n", step, -value, ebb::norm(gradient));
    const parameters direction = -ebb::matmul(h, gradient);
    double length = 1 / std::max(1.0, ebb::norm(direction));
    for (int halvings = 0; halvings < 40; ++halvings, length /= 2) {
      const parameters there = p + length * direction;
      const auto [new_value, new_gradient] = of_loss(there, known, seen);
      // NaN is no progress.
      if (!(new_value < value + 1e-4 * length * ebb::dot(direction, gradient))) continue;
      const parameters s = there - p, change = new_gradient - gradient;
      if (ebb::dot(s, change) > 1e-12) h = updated(h, s, change);
      p = there, value = new_value, gradient = new_gradient;
      break;
    }
    if (length < 1e-11) break;
  }
  std::printf("%4d   %14.4f   %10.2e\n\n", step, -value, ebb::norm(gradient));
  for (std::size_t i = 0; i < 8; ++i) std::printf("%-22s %8.4f\n", names[i], std::exp(p(i)));

  const auto [predicted, deviation] = ebb::compile(predict)(p, known, seen, next_year);
  std::printf("\n1960   counted   predicted   95 %% of the time between\n");
  double error = 0;
  std::vector<double> expected, low, high;
  for (std::size_t i = 0; i < 12; ++i) {
    const double centre = predicted(i) + mean, spread = 1.96 * std::hypot(deviation(i), std::exp(p(7)));
    error += std::fabs(std::exp(centre) / passengers[fitted + i] - 1) / 12;
    expected.push_back(std::exp(centre)), low.push_back(std::exp(centre - spread)), high.push_back(std::exp(centre + spread));
    std::printf("%4zu   %7d   %9.1f   %7.1f and %.1f\n", i + 1, passengers[fitted + i], std::exp(centre), std::exp(centre - spread),
                std::exp(centre + spread));
  }
  std::printf("\naverage error %.1f %%\n", 100 * error);

  if (count > 1) {
    constexpr std::size_t shown = 60;
    std::vector<double> time, counted;
    for (std::size_t i = months - shown; i < months; ++i)
      time.push_back(1949 + static_cast<double>(i) / 12), counted.push_back(passengers[i]);
    const std::vector<double> predicted_months(time.end() - 12, time.end());
    panel year("five years of passengers, the last one predicted", "year", "thousands");
    year.points(time, counted, "counted");
    year.line(predicted_months, expected, "predicted");
    year.line(predicted_months, low, "", true);
    year.line(predicted_months, high, "", true);
    std::ofstream(arguments[1]) << picture({year}, 1);
  }
  return worst < 1e-6 && error < 0.06 ? 0 : 1;
}
