// examples/hmc/main.cpp — Hamiltonian Monte Carlo of a logistic regression, checked by Metropolis' method and Laplace's approximation.
// SPDX-License-Identifier: BSL-1.0
//
// main [picture.svg]
#include <ebb/ebb.hpp>
#include <ebb/stats.hpp>

#include "../plot.hpp"
#include "chain.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <tuple>

/// A constant, then a weight for each of four measurements.
using weights = ebb::tensor<double, 5>;
using flowers = ebb::tensor<double, ebb::dyn, 4>;
using species = ebb::tensor<int, ebb::dyn>;
constexpr const char* names[] = {"constant", "sepal length", "sepal width", "petal length", "petal width"};

/// The logarithm of the posterior density, up to a constant: the regression's likelihood and a wide normal prior.
constexpr auto log_density = [](auto w, auto x, auto y) {
  const auto logits = ebb::matmul(x, ebb::slice<0, 1>(w)) + w[0];
  return ebb::sum(ebb::bernoulli_logit_lpmf(y, logits)) + ebb::sum(ebb::normal_lpdf(w, 0.0, 5.0));
};
constexpr auto energy = [](auto w, auto p, auto x, auto y) { return ebb::sum(ebb::square(p)) / 2 - log_density(w, x, y); };

/// `steps` leapfrog steps of a particle at w with momentum p. Returns where it is then, and by how much its energy has changed.
constexpr auto move = [](auto w, auto p, auto steps, auto size, auto x, auto y) {
  const auto [w_end, p_end] = ebb::fori(steps, [](auto, auto particle, auto by, auto rows, auto kinds) {
    const auto [at, momentum] = particle;
    const auto half_way = at + by / 2 * momentum;
    const auto pushed = momentum + by * ebb::grad<0>(log_density)(half_way, rows, kinds);
    return std::tuple(half_way + by / 2 * pushed, pushed);
  }, std::tuple(w, p), ebb::whole(size), ebb::whole(x), ebb::whole(y));
  return std::tuple(w_end, energy(w_end, p_end, x, y) - energy(w, p, x, y));
};

/// Versicolor (0) and virginica (1), the two species that overlap. Each measurement has mean 0 and deviation 1.
void load(const std::string& path, flowers& x, species& y) {
  std::ifstream file(path);
  double row[4];
  int kind = 0;
  for (std::size_t i = 0; file >> row[0] >> row[1] >> row[2] >> row[3] >> kind;) {
    if (kind == 0) continue;
    for (std::size_t j = 0; j < 4; ++j) x.at(i, j) = row[j];
    y.at(i++) = kind - 1;
  }
  x = ebb::compile([](auto rows) { return (rows - ebb::mean<0>(rows)) / ebb::stddev<0>(rows); })(x);
}

struct sampled {
  std::vector<weights> draws;
  double accepted = 0;
};

/// Hoffman and Gelman, The No-U-Turn Sampler, JMLR 15 (2014), section 3.2: the size of steps at which `wanted` are accepted.
class dual_averaging {
 public:
  dual_averaging(double size, double wanted) : wanted_(wanted), centre_(ebb::log(10 * size)) {}

  void see(double accepted) {
    const double n = ++count_;
    missing_ += (wanted_ - accepted - missing_) / (n + 10);
    log_size_ = centre_ - std::sqrt(n) / 0.05 * missing_;
    average_ += ebb::pow(n, -0.75) * (log_size_ - average_);
  }
  double size() const { return ebb::exp(log_size_); }
  double average() const { return ebb::exp(average_); }

 private:
  double wanted_, centre_, missing_ = 0, log_size_ = centre_, average_ = 0;
  int count_ = 0;
};

sampled hamiltonian(weights w, const flowers& x, const species& y, int warm_up, int draws, ebb::random_key key) {
  constexpr double length = 5;
  constexpr auto region = ebb::compile(move);
  dual_averaging size(0.1, 0.8);
  sampled result;
  for (int i = 0; i < warm_up + draws; ++i) {
    const auto [of_momentum, of_length, of_choice] = key.fold_in(i).split<3>();
    const double step = i < warm_up ? size.size() : size.average();
    // Paths of one length could come back to where they began.
    const double path = ebb::uniform<double>(of_length, 0.5 * length, 1.5 * length);
    const int steps = std::clamp(static_cast<int>(path / step), 1, 200);
    const auto [there, change] = region(w, ebb::normal<double, 5>(of_momentum), steps, step, x, y);
    const double chance = change < 0 ? 1 : change == change ? ebb::exp(-change) : 0;
    if (ebb::uniform<double>(of_choice) < chance) w = there;
    if (i < warm_up) size.see(chance);
    else {
      result.draws.push_back(w);
      result.accepted += chance / draws;
    }
  }
  std::printf("%d warm-up steps, then %d draws: step size %.3f, %.0f %% accepted\n", warm_up, draws, size.average(),
              100 * result.accepted);
  return result;
}

/// Metropolis' method needs no gradient. Its steps have the shape of the matrix `root`.
sampled metropolis(weights w, const ebb::tensor<double, 5, 5>& root, const flowers& x, const species& y, int draws, int thinned,
                   ebb::random_key key) {
  constexpr auto region = ebb::compile(log_density);
  sampled result;
  double here = region(w, x, y);
  for (int i = 0; i < draws * thinned; ++i) {
    const auto [of_step, of_choice] = key.fold_in(i).split<2>();
    const weights there = w + ebb::matmul(root, ebb::normal<double, 5>(of_step));
    const double value = region(there, x, y);
    if (ebb::log(ebb::uniform<double>(of_choice)) < value - here) {
      w = there, here = value;
      result.accepted += 1.0 / (draws * thinned);
    }
    if (i % thinned == 0) result.draws.push_back(w);
  }
  std::printf("Metropolis: %d steps, %.0f %% accepted\n", draws * thinned, 100 * result.accepted);
  return result;
}

int main(int count, char** arguments) {
  flowers x(100);
  species y(100);
  load(EBB_DATA "/iris/iris.txt", x, y);

  // The mode by Newton's method, and the normal distribution that has the same curvature there.
  weights mode{};
  for (int step = 0; step < 20; ++step)
    mode -= ebb::solve(ebb::hessian<0>(log_density)(mode, x, y), ebb::grad<0>(log_density)(mode, x, y));
  const ebb::tensor<double, 5, 5> covariance = ebb::inverse(-ebb::hessian<0>(log_density)(mode, x, y));

  const ebb::random_key key = 1;
  const auto hmc = hamiltonian(weights{}, x, y, 500, 4000, key.fold_in(0));
  const auto check = metropolis(mode, ebb::cholesky(covariance), x, y, 20000, 10, key.fold_in(1));

  std::printf("\n                   HMC              effective   Metropolis       mode and curvature\n"
              "                  mean       sd       draws      mean       sd       mode       sd\n");
  double worst = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto a = component(hmc.draws, i), b = component(check.draws, i);
    std::printf("%-14s %7.2f  %7.2f     %7.0f   %7.2f  %7.2f    %7.2f  %7.2f\n", names[i], mean(a), deviation(a), effective_size(a),
                mean(b), deviation(b), mode(i), std::sqrt(covariance(i, i)));
    const double expected = std::hypot(deviation(a) / std::sqrt(effective_size(a)), deviation(b) / std::sqrt(effective_size(b)));
    worst = std::max(worst, std::abs(mean(a) - mean(b)) / expected);
  }
  std::printf("\nthe means differ by at most %.1f standard errors\n", worst);

  if (count > 1) {
    std::vector<panel> panels;
    panel trace("petal width: 400 draws", "draw", "weight");
    const auto petals = component(hmc.draws, 4);
    trace.line(numbers(400), {petals.begin(), petals.begin() + 400});
    panels.push_back(trace);
    for (std::size_t i = 0; i < 5; ++i) {
      panel p(names[i], "weight", "density");
      const auto [at, height] = histogram(component(hmc.draws, i), 40);
      p.area(at, height, i == 0 ? "HMC" : "");
      const auto [at_check, height_check] = histogram(component(check.draws, i), 40);
      p.line(at_check, height_check, i == 0 ? "Metropolis" : "");
      std::vector<double> normal;
      for (const double w : at) normal.push_back(ebb::exp(ebb::normal_lpdf(w, mode(i), std::sqrt(covariance(i, i)))));
      p.line(at, normal, i == 0 ? "normal" : "", true);
      panels.push_back(p);
    }
    std::ofstream(arguments[1]) << picture(panels, 3);
  }
  return worst < 4 ? 0 : 1;
}
