// examples/calibration/main.cpp — the SABR model calibrated to options on the DAX: Greeks, and how they depend on the quotes.
// SPDX-License-Identifier: BSL-1.0
//
// main [picture.svg]
#include <ebb/ebb.hpp>
#include <ebb/solvers.hpp>

#include "../plot.hpp"
#include "quotes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

/// A volatility for each strike.
using volatilities = ebb::tensor<double, ebb::dyn>;
/// The parameters alpha, rho and nu: the level of volatility, its correlation with the index, and the volatility of volatility.
using model = ebb::tensor<double, 3>;

/// The implied volatility of the SABR model with beta = 1, for strikes with k = log(forward / strike). P. Hagan et al., Managing Smile
/// Risk, Wilmott Magazine (2002), formula (2.17).
constexpr auto implied = [](auto m, auto k, auto years) {
  const auto alpha = m[0], rho = m[1], nu = m[2];
  const auto z = nu / alpha * k;
  // x = log((sqrt(1 + u) + z - rho) / (1 - rho)) without cancellation for small z. z / x is 0 / 0 at z = 0: there its series is taken.
  const auto u = z * z - 2 * rho * z;
  const auto x = ebb::log1p((u / (ebb::sqrt(1 + u) + 1) + z) / (1 - rho));
  const auto near = ebb::abs(z) < 1e-4;
  const auto ratio = ebb::where(near, 1 - rho * z / 2 + (2 - 3 * rho * rho) / 12 * z * z, z / ebb::where(near, 1.0, x));
  return alpha * ratio * (1 + (rho * nu * alpha / 4 + (2 - 3 * rho * rho) * nu * nu / 24) * years);
};

/// The parameters from any three numbers: alpha and nu are positive, rho is between -1 and 1.
constexpr auto bounded = [](auto p) { return ebb::stack<0>(ebb::exp(p[0]), ebb::tanh(p[1]), ebb::exp(p[2])); };
constexpr auto errors = [](auto p, auto quoted, auto k, auto years) { return implied(bounded(p), k, years) - quoted; };
constexpr auto loss = [](auto p, auto quoted, auto k, auto years) { return ebb::sum(ebb::square(errors(p, quoted, k, years))) / 2; };

/// The errors, and the equations for the p at which they would be least if they were linear.
constexpr auto equations = [](auto p, auto quoted, auto k, auto years) {
  const auto e = errors(p, quoted, k, years);
  const auto by_p = ebb::transpose(ebb::jacobian<0>(errors)(p, quoted, k, years));
  return std::tuple(e, ebb::sum(ebb::square(e)), ebb::matmul(by_p, ebb::transpose(by_p)), ebb::matmul(by_p, e));
};
constexpr auto slopes = [](auto p, auto quoted, auto k, auto years) { return ebb::grad<0>(loss)(p, quoted, k, years); };
/// The parameters with the least loss as a function of the quotes: there its slopes are 0. ebb::solved says that p is the place.
constexpr auto calibrated = [](auto quoted, auto p, auto k, auto years) {
  return bounded(ebb::implicit_root(slopes, ebb::solved, p, quoted, k, years));
};

/// The price of a call, by Black's formula.
constexpr auto price_of_call = [](auto m, auto spot, auto strike, auto years, auto rate) {
  const auto forward = spot * ebb::exp(rate * years);
  const auto k = ebb::log(forward / strike), width = implied(m, k, years) * ebb::sqrt(years), d = k / width + width / 2;
  return ebb::exp(-rate * years) * (forward * ebb::ndtr(d) - strike * ebb::ndtr(d - width));
};

/// The largest relative difference between derivatives and central differences.
struct check {
  double worst = 0;
  void operator()(double derivative, double left, double right, double h) {
    const double difference = (right - left) / (2 * h);
    worst = std::max(worst, std::abs(derivative - difference) / (1e-3 + std::abs(difference)));
  }
};

/// The quotes of a maturity.
struct smile {
  double years, rate, forward;
  volatilities quoted, k;

  explicit smile(std::size_t maturity)
      : years(dax::days[maturity] / 365.0), rate(dax::rate[maturity]), forward(dax::spot * ebb::exp(rate * years)),
        quoted(volatilities::generate([&](std::size_t i) { return dax::volatility[i][maturity]; }, dax::strikes)),
        k(volatilities::generate([&](std::size_t i) { return ebb::log(forward / dax::strike[i]); }, dax::strikes)) {}
};
/// The method of Levenberg and Marquardt.
struct fit {
  model p{-1.4, -0.5, 0};
  volatilities error;
  int steps = 0;
  bool converged = false;

  fit(const smile& s, const volatilities& quoted) {
    constexpr auto region = ebb::compile(equations);
    auto [e, square, normal, gradient] = region(p, quoted, s.k, s.years);
    for (double damping = 1e-3; steps < 200 && !converged; ++steps) {
      auto damped = normal;
      for (std::size_t n = 0; n < 3; ++n) damped.at(n, n) *= 1 + damping;
      const model change = ebb::solve(damped, gradient), there = p - change;
      const auto [new_e, new_square, new_normal, new_gradient] = region(there, quoted, s.k, s.years);
      converged = std::abs(change(0)) + std::abs(change(1)) + std::abs(change(2)) < 1e-12;
      if (new_square <= square * (1 + 1e-14)) {
        p = there, e = new_e, square = new_square, normal = new_normal, gradient = new_gradient, damping /= 8;
      } else damping *= 4;
    }
    error = e;
  }
  model parameters() const { return {ebb::exp(p(0)), ebb::tanh(p(1)), ebb::exp(p(2))}; }
};

int main(int count, char** arguments) {
  std::vector<panel> panels;
  bool all_converged = true;

  std::printf("days     alpha      rho       nu   error of volatilities   steps\n");
  for (std::size_t j = 0; j < dax::maturities; ++j) {
    const smile s(j);
    const fit f(s, s.quoted);
    const model m = f.parameters();
    double square = 0;
    for (const double e : f.error) square += e * e;
    std::printf("%4d  %8.4f %8.4f %8.4f   %21.4f   %5d\n", dax::days[j], m(0), m(1), m(2), std::sqrt(square / dax::strikes), f.steps);
    all_converged = all_converged && f.converged;
    if (j % 2 == 1) {
      std::vector<double> quoted, fitted;
      for (std::size_t i = 0; i < dax::strikes; ++i) quoted.push_back(s.quoted(i)), fitted.push_back(s.quoted(i) + f.error(i));
      panel drawn(std::to_string(dax::days[j]) + " days", "strike", "volatility");
      drawn.points({dax::strike, dax::strike + dax::strikes}, quoted, "quoted");
      drawn.line({dax::strike, dax::strike + dax::strikes}, fitted, "SABR");
      panels.push_back(drawn);
    }
  }
  if (count > 1) std::ofstream(arguments[1]) << picture(panels);

  // A call of 165 days with a strike that is not quoted.
  const smile s(3);
  const fit f(s, s.quoted);
  const model m = f.parameters();
  constexpr auto greeks = ebb::value_and_grad<0, 1, 3, 4>(price_of_call);
  const auto call = [&](const model& by, double spot, double years, double rate) { return greeks(by, spot, 4700.0, years, rate); };
  const auto [price, by_model, delta, by_years, by_rate] = call(m, dax::spot, s.years, s.rate);
  const double gamma = ebb::grad<1>(ebb::grad<1>(price_of_call))(m, dax::spot, 4700.0, s.years, s.rate);
  std::printf("\ncall of %d days, strike 4700: %.2f\n", dax::days[3], price);
  std::printf("delta %.4f, gamma %.6f, theta %.2f a day, rho %.2f a percent\n", delta, gamma, -by_years / 365, by_rate / 100);
  std::printf("by alpha %.2f, by rho %.2f, by nu %.2f\n", by_model(0), by_model(1), by_model(2));

  // The calibrated parameters are functions of the quotes, and so is the price.
  const ebb::tensor<double, 3, ebb::dyn> by_quotes = ebb::jacobian<0>(calibrated)(s.quoted, f.p, s.k, s.years);
  const auto hedge = [&](std::size_t i) {
    return by_model(0) * by_quotes(0, i) + by_model(1) * by_quotes(1, i) + by_model(2) * by_quotes(2, i);
  };
  std::printf("\nstrike   quote    alpha      rho       nu    price, by a percent of the quote\n");
  for (std::size_t i = 0; i < dax::strikes; ++i)
    std::printf("%6.0f  %.4f   %6.3f  %7.3f  %7.3f   %7.3f\n", dax::strike[i], s.quoted(i), by_quotes(0, i), by_quotes(1, i),
                by_quotes(2, i), hedge(i) / 100);

  // Everything against central differences. For a difference of quotes the model is calibrated again.
  check of_call, of_quotes;
  const auto price_at = [&](const model& by, double spot, double years, double rate) { return std::get<0>(call(by, spot, years, rate)); };
  of_call(delta, price_at(m, dax::spot - 0.01, s.years, s.rate), price_at(m, dax::spot + 0.01, s.years, s.rate), 0.01);
  of_call(by_years, price_at(m, dax::spot, s.years - 1e-5, s.rate), price_at(m, dax::spot, s.years + 1e-5, s.rate), 1e-5);
  of_call(by_rate, price_at(m, dax::spot, s.years, s.rate - 1e-6), price_at(m, dax::spot, s.years, s.rate + 1e-6), 1e-6);
  of_call(gamma, std::get<2>(call(m, dax::spot - 1, s.years, s.rate)), std::get<2>(call(m, dax::spot + 1, s.years, s.rate)), 1);
  for (std::size_t n = 0; n < 3; ++n) {
    model left = m, right = m;
    left.at(n) -= 1e-5, right.at(n) += 1e-5;
    of_call(by_model(n), price_at(left, dax::spot, s.years, s.rate), price_at(right, dax::spot, s.years, s.rate), 1e-5);
  }
  for (std::size_t i = 0; i < dax::strikes; ++i) {
    volatilities left = s.quoted, right = s.quoted;
    left.at(i) -= 1e-4, right.at(i) += 1e-4;
    const model low = fit(s, left).parameters(), high = fit(s, right).parameters();
    for (std::size_t n = 0; n < 3; ++n) of_quotes(by_quotes(n, i), low(n), high(n), 1e-4);
    of_quotes(hedge(i), price_at(low, dax::spot, s.years, s.rate), price_at(high, dax::spot, s.years, s.rate), 1e-4);
  }
  const bool agree = of_call.worst < 1e-5 && of_quotes.worst < 1e-3;
  std::printf("\nGreeks and derivatives of the calibration %s with differences\n", agree ? "agree" : "do not agree");
  if (!agree) std::printf("%.1e %.1e\n", of_call.worst, of_quotes.worst);
  return agree && all_converged ? 0 : 1;
}
