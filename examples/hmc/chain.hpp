// examples/hmc/chain.hpp — statistics of the draws of a Markov chain: mean, deviation, effective size, histogram.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

inline std::vector<double> component(const auto& draws, std::size_t i) {
  std::vector<double> values;
  for (const auto& w : draws) values.push_back(w(i));
  return values;
}
inline double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
/// The mean product of deviations that are `lag` draws apart.
inline double covariance_at(const std::vector<double>& x, std::size_t lag) {
  const double centre = mean(x);
  double sum = 0;
  for (std::size_t i = 0; i + lag < x.size(); ++i) sum += (x[i] - centre) * (x[i + lag] - centre);
  return sum / static_cast<double>(x.size());
}
inline double deviation(const std::vector<double>& x) { return std::sqrt(covariance_at(x, 0)); }

/// The number of independent draws whose mean would have the same error. Correlations are added in pairs of lags while a pair is positive:
/// C. J. Geyer, Practical Markov Chain Monte Carlo, Statistical Science 7 (1992).
inline double effective_size(const std::vector<double>& x) {
  const double variance = covariance_at(x, 0);
  double sum = -1;
  for (std::size_t lag = 0; lag + 1 < x.size(); lag += 2) {
    const double pair = (covariance_at(x, lag) + covariance_at(x, lag + 1)) / variance;
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  return static_cast<double>(x.size()) / sum;
}

/// Centres of bins, and the density of the draws in them.
inline std::pair<std::vector<double>, std::vector<double>> histogram(const std::vector<double>& x, std::size_t bins) {
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const double low = *least, size = (*greatest - *least) / static_cast<double>(bins);
  std::vector<double> centres(bins), density(bins);
  for (std::size_t i = 0; i < bins; ++i) centres[i] = low + (static_cast<double>(i) + 0.5) * size;
  for (const double v : x)
    density[std::min(bins - 1, static_cast<std::size_t>((v - low) / size))] += 1 / (size * static_cast<double>(x.size()));
  return {centres, density};
}
inline std::vector<double> numbers(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i);
  return x;
}
