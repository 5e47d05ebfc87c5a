// ebb/stats/sample.hpp — random arrays of probability distributions, from a key.
// SPDX-License-Identifier: BSL-1.0
//
//   auto x = ebb::sample<double, 1000>(key, ebb::gamma_distribution{2.5, 0.5});
//   auto y = ebb::sample<float, ebb::dyn, 3>(key, n, ebb::dirichlet_distribution{{1, 2, 0.5}});
// All of [note: random numbers] holds: the bits are the same on every machine and for any number of threads, and element i depends on the
// key and on i alone. Numbers are computed in double and rounded once. Parameters are those of the log densities.
// Normal and uniform numbers are those of random/random.hpp. Parameters are numbers. stats/draw.hpp has samples of arrays of parameters, in
// traced functions, with derivatives.
#pragma once

#include "portable.hpp"

#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_parameter(const char* what) { raise(std::string("ebb::sample: ") + what); }
inline void require_parameter(bool fits, const char* what) {
  if (!fits) raise_parameter(what);
}
constexpr bool is_positive(double x) { return x > 0 && x <= std::numeric_limits<double>::max(); }

/// Whether samples of How are made by inversion: each element takes 64 bits.
template <class How>
concept by_inversion = requires(const How& how, double u) { how.quantile(u); };
/// Whether How makes vectors along the last axis.
template <class How>
concept by_rows = requires(const How& how) { how.size(); };

template <element T, std::size_t... E, class How>
tensor<T, E...> sampled(random_key key, const layout<E...>& shape, const How& how) {
  how.check();
  if constexpr (by_inversion<How>) {
    const auto take = [&](std::uint64_t bits) { return as_element<T>(how.quantile(between_0_and_1(bits))); };
    return draw_tensor<64, T>(key, shape, take);
  } else if constexpr (by_rows<How>) {
    static_assert(sizeof...(E) > 0, "[ebb E0491] sample: the vectors of this distribution lie along the last axis, and there is none");
    auto result = tensor<T, E...>::uninitialized(shape);
    const std::size_t n = how.size();
    require_parameter(shape.extent(static_cast<int>(sizeof...(E)) - 1) == n, "the last extent is not the length of the vectors");
    std::vector<double> row(n);
    for (std::size_t i = 0; n != 0 && i < result.size() / n; ++i) {
      random_source source(key, i);
      how.fill(source, row.data());
      for (std::size_t j = 0; j < n; ++j) result.mutable_data()[i * n + j] = as_element<T>(row[j]);
    }
    return result;
  } else {
    auto result = tensor<T, E...>::uninitialized(shape);
    T* to = result.mutable_data();
    for (std::size_t i = 0; i < result.size(); ++i) {
      random_source source(key, i);
      to[i] = as_element<T>(how.number(source));
    }
    return result;
  }
}

/// The logarithm of a number of the gamma distribution with rate 1. For a shape below 1, that of shape + 1 times u^(1 / shape).
/// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
constexpr double log_of_gamma(random_source& source, double shape) {
  double boost = 0;
  if (shape < 1) {
    boost = portable_log(source.uniform()) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / lane::sqrt(9 * d);
  for (;;) {
    const double x = source.normal(), u = source.uniform(), w = 1 + c * x, v = w * w * w;
    if (!(v > 0)) continue;
    const double l = portable_log(v);
    if (portable_log(u) < 0.5 * x * x + d * (1 - v + l)) return portable_log(d) + l + boost;
  }
}

/// The first k for which the probabilities up to k add up to more than u. The first is p, and each is next(k) times that before it.
template <class Next>
constexpr double by_search(double u, double p, double most, Next next) {
  double k = 0, sum = p;
  while (u > sum && k < most) {
    k += 1;
    p *= next(k);
    sum += p;
  }
  return k;
}

}  // namespace detail

/// An array of random numbers of the distribution `how`.
/// Shape: as for normal; vectors of a distribution lie along the last axis, whose extent is their length.
/// Throws: error if a parameter is outside of its domain.
template <element T, std::size_t... E, class How>
  requires(extents<E...>::is_static)
tensor<T, E...> sample(random_key key, const How& how) {
  return detail::sampled<T>(key, layout<E...>(), how);
}
template <element T, std::size_t... E, class How>
  requires(!extents<E...>::is_static)
tensor<T, E...> sample(random_key key, dynamic_extents<extents<E...>::dynamic_rank> n, const How& how) {
  return detail::sampled<T>(key, layout<E...>(n, "ebb::sample"), how);
}

/// Density rate e^(-rate x), by inversion.
struct exponential_distribution {
  double rate = 1;
  void check() const { detail::require_parameter(detail::is_positive(rate), "the rate of an exponential distribution is not above 0"); }
  double quantile(double u) const { return -portable_log(1 - u) / rate; }
};
/// Location mu, scale sigma, by inversion.
struct laplace_distribution {
  double mu = 0, sigma = 1;
  void check() const { detail::require_parameter(detail::is_positive(sigma), "the scale of a Laplace distribution is not above 0"); }
  double quantile(double u) const { return u < 0.5 ? mu + sigma * portable_log(2 * u) : mu - sigma * portable_log(2 * (1 - u)); }
};
/// Location mu, scale sigma, by inversion.
struct logistic_distribution {
  double mu = 0, sigma = 1;
  void check() const { detail::require_parameter(detail::is_positive(sigma), "the scale of a logistic distribution is not above 0"); }
  double quantile(double u) const { return mu + sigma * (portable_log(u) - portable_log(1 - u)); }
};
/// The distribution of largest values with location mu and scale sigma, by inversion.
struct gumbel_distribution {
  double mu = 0, sigma = 1;
  void check() const { detail::require_parameter(detail::is_positive(sigma), "the scale of a Gumbel distribution is not above 0"); }
  double quantile(double u) const { return mu - sigma * portable_log(-portable_log(u)); }
};
/// Location mu, scale sigma: the quotient of two normal numbers.
struct cauchy_distribution {
  double mu = 0, sigma = 1;
  void check() const { detail::require_parameter(detail::is_positive(sigma), "the scale of a Cauchy distribution is not above 0"); }
  double number(random_source& source) const {
    const double x = source.normal();
    return mu + sigma * (x / source.normal());
  }
};

/// Shape and rate, any above 0. A shape near 0 gives numbers that underflow to 0.
struct gamma_distribution {
  double shape = 1, rate = 1;
  void check() const {
    const bool fits = detail::is_positive(shape) && detail::is_positive(rate);
    detail::require_parameter(fits, "a parameter of a gamma distribution is not above 0");
  }
  double number(random_source& source) const { return portable_exp(detail::log_of_gamma(source, shape)) / rate; }
};
/// nu degrees of freedom, any number above 0.
struct chi_squared_distribution {
  double nu = 1;
  void check() const { detail::require_parameter(detail::is_positive(nu), "the degrees of freedom of a distribution are not above 0"); }
  double number(random_source& source) const { return 2 * portable_exp(detail::log_of_gamma(source, nu / 2)); }
};
/// nu degrees of freedom, location mu, scale sigma.
struct student_t_distribution {
  double nu = 1, mu = 0, sigma = 1;
  void check() const {
    detail::require_parameter(detail::is_positive(nu) && detail::is_positive(sigma), "a parameter of a t distribution is not above 0");
  }
  double number(random_source& source) const {
    const double z = source.normal();
    return mu + sigma * (z * portable_exp(0.5 * (portable_log(nu / 2) - detail::log_of_gamma(source, nu / 2))));
  }
};
/// a and b, any above 0: the share of one gamma number in the sum of two, from their logarithms, which do not underflow.
struct beta_distribution {
  double a = 1, b = 1;
  void check() const {
    detail::require_parameter(detail::is_positive(a) && detail::is_positive(b), "a parameter of a beta distribution is not above 0");
  }
  double number(random_source& source) const {
    const double x = detail::log_of_gamma(source, a), y = detail::log_of_gamma(source, b);
    return 1 / (1 + portable_exp(y - x));
  }
};
/// Vectors of numbers in [0, 1] that add up to 1 but for rounding: the shares of gamma numbers in their sum.
struct dirichlet_distribution {
  std::vector<double> alpha;
  std::size_t size() const { return alpha.size(); }
  void check() const {
    for (double a : alpha) detail::require_parameter(detail::is_positive(a), "a parameter of a Dirichlet distribution is not above 0");
  }
  void fill(random_source& source, double* to) const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      to[i] = detail::log_of_gamma(source, alpha[i]);
      largest = to[i] > largest ? to[i] : largest;
    }
    for (std::size_t i = 0; i < size(); ++i) sum += to[i] = portable_exp(to[i] - largest);
    for (std::size_t i = 0; i < size(); ++i) to[i] /= sum;
  }
};
/// Vectors with the given means and the covariance l l^T, for a lower triangular l in rows.
struct multivariate_normal_distribution {
  std::vector<double> mu, factor;
  std::size_t size() const { return mu.size(); }
  void check() const {
    detail::require_parameter(factor.size() == size() * size(), "the factor of a normal distribution is not as large as its means");
  }
  void fill(random_source& source, double* to) const {
    for (std::size_t i = 0; i < size(); ++i) to[i] = source.normal();
    for (std::size_t i = size(); i-- > 0;) {
      double sum = mu[i];
      for (std::size_t j = 0; j <= i; ++j) sum += factor[i * size() + j] * to[j];
      to[i] = sum;
    }
  }
};

/// Counts with the given mean, 0 or more. By search for a mean below 10, else by transformed rejection.
/// W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993).
struct poisson_distribution {
  double rate = 1;
  constexpr bool fits() const { return rate >= 0 && rate < 1e15; }
  void check() const { detail::require_parameter(fits(), "the rate of a Poisson distribution is not in [0, 1e15)"); }
  constexpr double number(random_source& source) const {
    if (rate < 10) return detail::by_search(source.uniform(), portable_exp(-rate), 1000, [this](double k) { return rate / k; });
    const double b = 0.931 + 2.53 * lane::sqrt(rate), a = -0.059 + 0.02483 * b, scale = 1.1239 + 1.1328 / (b - 3.4);
    const double l = portable_log(rate);
    for (;;) {
      const double u = source.uniform() - 0.5, v = source.uniform(), edge = 0.5 - (u < 0 ? -u : u);
      const double k = lane::floor((2 * a / edge + b) * u + rate + 0.43);
      if (edge >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
      if (k < 0 || (edge < 0.013 && v > edge)) continue;
      if (portable_log(v * scale / (a / (edge * edge) + b)) <= k * l - rate - portable_log_factorial(k)) return k;
    }
  }
};
/// How many of n trials succeed, each with probability p. By search for n p or n (1 - p) below 10, else by transformed rejection.
/// W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46 (1993).
struct binomial_distribution {
  double trials = 1, p = 0.5;
  constexpr bool fits() const { return trials >= 0 && trials < 1e15 && lane::floor(trials) == trials && p >= 0 && p <= 1; }
  void check() const { detail::require_parameter(fits(), "a binomial distribution has a whole number of trials, and a probability"); }
  constexpr double number(random_source& source) const { return p <= 0.5 ? rare(source, p) : trials - rare(source, 1 - p); }

 private:
  /// For a probability s of at most 1/2.
  constexpr double rare(random_source& source, double s) const {
    const double n = trials, odds = s / (1 - s);
    if (n * s < 10) {
      const double none = portable_exp(n * portable_log(1 - s));
      return detail::by_search(source.uniform(), none, n < 1000 ? n : 1000, [=](double k) { return odds * ((n - k + 1) / k); });
    }
    const double spread = lane::sqrt(n * s * (1 - s)), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * s;
    const double mode = lane::floor((n + 1) * s), scale = (2.83 + 5.1 / b) * spread, l = portable_log(odds);
    const double top = portable_log_factorial(mode) + portable_log_factorial(n - mode);
    for (;;) {
      const double u = source.uniform() - 0.5, v = source.uniform(), edge = 0.5 - (u < 0 ? -u : u);
      const double k = lane::floor((2 * a / edge + b) * u + n * s + 0.5);
      if (edge >= 0.07 && v <= 0.92 - 4.2 / b) return k;
      if (k < 0 || k > n) continue;
      const double ratio = top - portable_log_factorial(k) - portable_log_factorial(n - k) + (k - mode) * l;
      if (portable_log(v * scale / (a / (edge * edge) + b)) <= ratio) return k;
    }
  }
};
/// Classes 0, 1, ... with probabilities in the ratio of the weights, by inversion.
struct categorical_distribution {
  std::vector<double> weights;
  void check() const {
    double sum = 0;
    for (double w : weights) {
      detail::require_parameter(w >= 0, "a weight of a class is negative or NaN");
      sum += w;
    }
    detail::require_parameter(detail::is_positive(sum), "the weights of the classes have no sum that is finite and above 0");
  }
  double quantile(double u) const {
    double sum = 0, last = 0;
    for (double w : weights) sum += w;
    const double at = u * sum;
    sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0) last = static_cast<double>(i);
      sum += weights[i];
      if (at < sum) break;
    }
    return last;
  }
};

}  // namespace ebb::inline EBB_ABI
