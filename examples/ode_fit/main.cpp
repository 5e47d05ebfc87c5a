// examples/ode_fit/main.cpp — the equations of Lotka and Volterra fitted to twenty years of hares and lynxes.
// SPDX-License-Identifier: BSL-1.0
//
// main [picture.svg]
//
// Data: pelts that the Hudson's Bay Company collected, in thousands, 1900 to 1920. C. G. Hewitt, The Conservation of the Wild Life of
// Canada (1921), as read off by P. Howard, Modeling Basics (2009), and used by B. Carpenter, Predator-Prey Population Dynamics (2018):
// published counts, which are facts.
#include <ebb/ebb.hpp>
#include <ebb/reductions.hpp>

#include "../plot.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <tuple>
#include <vector>

constexpr int first_year = 1900;
constexpr double hares[] = {30,   47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22,   25.4, 27.1,
                            40.3, 57,   76.6, 52.3, 19.5, 11.2, 7.6,  14.6, 16.2, 24.7};
constexpr double lynxes[] = {4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6};

/// Logarithms of the numbers of hares and lynxes: then they stay positive, and an error is a factor.
using state = ebb::tensor<double, 2>;
using counts = ebb::tensor<double, ebb::dyn, 2>;
/// Logarithms of the four rates, then the state in the first year.
using parameters = ebb::tensor<double, 6>;
using matrix = ebb::tensor<double, 6, 6>;
constexpr const char* names[] = {"births of hares", "hares caught by a lynx", "deaths of lynxes", "births of lynxes by a hare",
                                 "hares in 1900", "lynxes in 1900"};

/// hares' = hares (a - b lynxes), lynxes' = lynxes (d hares - c), in logarithms.
constexpr auto slope = [](auto s, auto rates) {
  return ebb::stack<0>(rates[0] - rates[1] * ebb::exp(s[1]), rates[3] * ebb::exp(s[0]) - rates[2]);
};
/// A tenth of a year, by Runge and Kutta's method of order 4.
constexpr auto stepped = [](auto s, auto rates) {
  constexpr double h = 0.1;
  const auto k1 = slope(s, rates);
  const auto k2 = slope(s + h / 2 * k1, rates);
  const auto k3 = slope(s + h / 2 * k2, rates);
  const auto k4 = slope(s + h * k3, rates);
  return s + h / 6 * (k1 + 2 * (k2 + k3) + k4);
};
/// The model minus the counts, in logarithms, for all years.
constexpr auto errors = [](auto p, auto counted) {
  const auto rates = ebb::exp(ebb::slice<0, 0, 4>(p));
  const auto start = ebb::slice<0, 4, 6>(p);
  const auto [end, of_years] = ebb::scan([](auto s, auto seen, auto by) {
    const auto next = ebb::fori(10, [](auto, auto now, auto r) { return stepped(now, r); }, s, ebb::whole(by));
    return std::tuple(next, s - seen);
  }, start, counted, ebb::whole(rates));
  return ebb::flatten(of_years);
};
/// The errors and their derivatives by the parameters, in one pass.
constexpr auto errors_and_slopes = [](auto p, auto counted) {
  return std::tuple(errors(p, counted), ebb::jacobian<0>(errors)(p, counted));
};

int main(int count, char** arguments) {
  constexpr std::size_t years = std::size(hares);
  const auto counted = counts::generate([](std::size_t i, std::size_t j) { return ebb::log(j == 0 ? hares[i] : lynxes[i]); }, years);
  const parameters start{ebb::log(0.5), ebb::log(0.02), ebb::log(0.9), ebb::log(0.03), counted(0, 0), counted(0, 1)};

  // Levenberg's and Marquardt's method: Newton's steps for squares of linear errors, damped as long as they do not help.
  constexpr auto region = ebb::compile(errors_and_slopes);
  parameters p = start;
  auto [e, slopes] = region(p, counted);
  double square = ebb::norm_squared(e), damping = 1e-2;
  std::printf("step   sum of squares\n%4d   %14.6f\n", 0, square);
  bool converged = false;
  for (int i = 1; i <= 100 && !converged; ++i) {
    matrix normal = ebb::matmul(ebb::transpose(slopes), slopes);
    for (std::size_t n = 0; n < p.size(); ++n) normal.at(n, n) *= 1 + damping;
    const parameters change = ebb::solve(normal, ebb::matmul(e, slopes)), there = p - change;
    const auto [new_e, new_slopes] = region(there, counted);
    const double new_square = ebb::norm_squared(new_e);
    converged = ebb::norm(change, ebb::order_inf) < 1e-9;
    if (!(new_square <= square)) {
      damping *= 4;
      continue;
    }
    p = there, e = new_e, slopes = new_slopes, square = new_square, damping /= 8;
    std::printf("%4d   %14.6f\n", i, square);
  }
  std::printf("%s\n\n", converged ? "converged" : "not converged");

  // Near the minimum the errors are linear: the parameters have the deviations of linear regression.
  const double noise = square / static_cast<double>(2 * years - p.size());
  const matrix covariance = noise * ebb::inverse(ebb::matmul(ebb::transpose(slopes), slopes));
  for (std::size_t i = 0; i < p.size(); ++i)
    std::printf("%-27s %8.4f   +- %.4f\n", names[i], ebb::exp(p(i)), ebb::exp(p(i)) * std::sqrt(covariance(i, i)));
  std::printf("counts differ from the model by a factor of %.2f\n", ebb::exp(std::sqrt(noise)));

  // The same steps as in `errors`, one by one.
  const ebb::tensor<double, 4> rates{ebb::exp(p(0)), ebb::exp(p(1)), ebb::exp(p(2)), ebb::exp(p(3))};
  state s{p(4), p(5)};
  std::vector<double> time, of_hares, of_lynxes;
  std::printf("\nyear    hares   model    lynxes   model\n");
  for (std::size_t i = 0; i <= 10 * (years - 1); ++i) {
    time.push_back(first_year + static_cast<double>(i) / 10);
    of_hares.push_back(ebb::exp(s(0))), of_lynxes.push_back(ebb::exp(s(1)));
    if (i % 10 == 0)
      std::printf("%zu  %7.1f %7.1f   %7.1f %7.1f\n", first_year + i / 10, hares[i / 10], of_hares.back(), lynxes[i / 10],
                  of_lynxes.back());
    s = ebb::compile(stepped)(s, rates);
  }

  if (count > 1) {
    std::vector<double> year;
    for (std::size_t i = 0; i < years; ++i) year.push_back(static_cast<double>(first_year + i));
    panel over_time("pelts, in thousands", "year", ""), circle("lynxes over hares", "hares", "lynxes");
    over_time.line(time, of_hares, "hares");
    over_time.line(time, of_lynxes, "lynxes");
    over_time.points(year, {hares, hares + years});
    over_time.points(year, {lynxes, lynxes + years});
    circle.line(of_hares, of_lynxes, "model");
    circle.points({hares, hares + years}, {lynxes, lynxes + years}, "counts");
    std::ofstream(arguments[1]) << picture({over_time, circle});
  }
  return converged ? 0 : 1;
}
