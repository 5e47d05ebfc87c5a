// bench/ops/densities.peer.cpp — the formulas of log densities and losses as plain loops, and over libmvec's functions.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

constexpr double half_log_two_pi = 0.91893853320467274178, log_pi = 1.14472988584940017414, root_half = 0.70710678118654752440;

auto centred(auto x) { return (x - 0.5) * 0.5; }
/// The value of a log density with the support [low, high], which the formula has inside of it.
auto inside(auto x, double low, auto formula) { return select(x < low, -HUGE_VAL, formula); }
auto inside(auto x, double low, double high, auto formula) { return select(x > high, -HUGE_VAL, inside(x, low, formula)); }
auto softplus(auto x) { return max(x, 0.0) + log1p(exp(-abs(x))); }

template <int Arity = 1, class F>
void brief(ops::table& t, const char* name, F) {
  t.peers.push_back({name, "plain", false, &ops::run_plain<float, F, Arity>, nullptr});
#ifdef OPS_MVEC
  t.peers.push_back({name, "mvec", false, &ops::run<float, ops::mvec, F, Arity>, nullptr});
#endif
}

}  // namespace

// Terms of the parameters alone are constants here; ebb's functions take the parameters as constants, too.
void ops::peers_of_densities(table& t) {
  brief(t, "normal_lpdf", [](auto x) { return -0.5 * centred(x) * centred(x) - (std::log(2.0) + half_log_two_pi); });
  brief(t, "lognormal_lpdf", [](auto x) {
    const auto l = log(x);
    return inside(x, 0, -0.5 * centred(l) * centred(l) - l - (std::log(2.0) + half_log_two_pi));
  });
  brief(t, "half_normal_lpdf", [](auto x) { return inside(x, 0, -0.125 * x * x - half_log_two_pi); });
  brief(t, "truncated_normal_lpdf", [](auto x) {
    const double share = 0.5 * (std::erf(1.75 * root_half) + std::erf(2.25 * root_half));
    return inside(x, -4, 4, -0.5 * centred(x) * centred(x) - (std::log(2.0 * share) + half_log_two_pi));
  });
  brief(t, "normal_cdf", [](auto x) { return 0.5 * erfc(-root_half * centred(x)); });
  brief(t, "normal_lcdf", [](auto x) { return log(0.5 * erfc(-root_half * centred(x))); });
  brief(t, "normal_lccdf", [](auto x) { return log(0.5 * erfc(root_half * centred(x))); });
  brief(t, "normal_entropy", [](auto s) { return log(s) + (half_log_two_pi + 0.5); });
  brief(t, "exponential_lpdf", [](auto x) { return inside(x, 0, std::log(1.5) - 1.5 * x); });
  brief(t, "gamma_lpdf", [](auto x) { return inside(x, 0, 1.5 * log(x) - 1.5 * x + (2.5 * std::log(1.5) - std::lgamma(2.5))); });
  brief(t, "chi_squared_lpdf", [](auto x) { return inside(x, 0, 1.5 * log(x) - 0.5 * x + (2.5 * std::log(0.5) - std::lgamma(2.5))); });
  brief(t, "inverse_gamma_lpdf", [](auto x) { return inside(x, 0, -3.5 * log(x) - 1.5 / x + (2.5 * std::log(1.5) - std::lgamma(2.5))); });
  brief(t, "beta_lpdf", [](auto x) {
    return inside(x, 0, 1, 1.5 * log(x) + 0.5 * log1p(-x) + (std::lgamma(4.0) - std::lgamma(2.5) - std::lgamma(1.5)));
  });
  brief(t, "weibull_lpdf", [](auto x) {
    const auto l = log(0.5 * x);
    return inside(x, 0, std::log(0.75) + 0.5 * l - exp(1.5 * l));
  });
  brief(t, "pareto_lpdf", [](auto x) { return inside(x, 0.5, std::log(2.5) + 2.5 * std::log(0.5) - 3.5 * log(x)); });
  brief(t, "student_t_lpdf", [](auto x) {
    const double constant = std::lgamma(2.5) - std::lgamma(2.0) - 0.5 * (std::log(4.0) + log_pi) - std::log(2.0);
    return constant - 2.5 * log1p(0.25 * centred(x) * centred(x));
  });
  brief(t, "cauchy_lpdf", [](auto x) { return -(log_pi + std::log(2.0)) - log1p(centred(x) * centred(x)); });
  brief(t, "half_cauchy_lpdf", [](auto x) { return inside(x, 0, -log_pi - log1p(0.25 * x * x)); });
  brief(t, "laplace_lpdf", [](auto x) { return -std::log(4.0) - abs(centred(x)); });
  brief(t, "logistic_lpdf", [](auto x) {
    const auto a = abs(centred(x));
    return -a - 2 * log1p(exp(-a)) - std::log(2.0);
  });
  brief(t, "gumbel_lpdf", [](auto x) { return -centred(x) - exp(-centred(x)) - std::log(2.0); });
  brief(t, "uniform_lpdf", [](auto x) { return inside(x, -4, 4, x * 0 - std::log(8.0)); });
  brief(t, "von_mises_lpdf", [](auto x) { return 2 * cos(x - 0.5) - (std::log(2 * 2.27958530233606726744) + log_pi); });
  brief(t, "poisson_lpmf", [](auto rate) { return 3 * log(rate) - rate - std::log(6.0); });
  brief(t, "bernoulli_lpmf", [](auto p) { return log(p); });
  brief(t, "bernoulli_logit_lpmf", [](auto x) { return -softplus(-x); });
  brief(t, "binomial_lpmf", [](auto p) { return std::log(120.0) + 3 * log(p) + 7 * log1p(-p); });
  brief(t, "negative_binomial_lpmf", [](auto p) {
    return std::lgamma(5.5) - std::lgamma(2.5) - std::log(6.0) + 2.5 * log(p) + 3 * log1p(-p);
  });
  brief(t, "geometric_lpmf", [](auto p) { return log(p) + 3 * log1p(-p); });

  brief<2>(t, "mse", [](auto x, auto y) { return (x - y) * (x - y); });
  brief<2>(t, "l1", [](auto x, auto y) { return abs(x - y); });
  const auto huber = [](auto x, auto y) {
    const auto a = abs(x - y);
    return select(a < 1.0, 0.5 * a * a, a - 0.5);
  };
  brief<2>(t, "huber", huber);
  brief<2>(t, "smooth_l1", [](auto x, auto y) {
    const auto a = abs(x - y);
    return select(a < 2.0, 0.25 * a * a, a - 1.0);
  });
  brief<2>(t, "bce", [](auto p, auto y) { return -(y * max(log(p), -100.0)) - (1 - y) * max(log1p(-p), -100.0); });
  brief<2>(t, "bce_with_logits", [](auto x, auto y) { return softplus(x) - x * y; });
  brief<2>(t, "kl_div", [](auto x, auto y) { return y * (log(y) - x); });
  brief<2>(t, "poisson_nll", [](auto x, auto y) { return exp(x) - y * x; });
  brief<2>(t, "soft_margin", [](auto x, auto y) { return softplus(-(x * y)); });
}
