// bench/ops/densities.cpp — log densities and losses by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "brief.hpp"

#include <ebb/nn.hpp>
#include <ebb/stats.hpp>

void ops::densities(table& t) {
  const range wide{-6, 6}, above{0.1, 9}, part{0.05, 0.95};
  add_brief(t, "normal_lpdf", wide, [](auto x) { return ebb::normal_lpdf(x, 0.5, 2.0); });
  add_brief(t, "lognormal_lpdf", above, [](auto x) { return ebb::lognormal_lpdf(x, 0.5, 2.0); });
  add_brief(t, "half_normal_lpdf", above, [](auto x) { return ebb::half_normal_lpdf(x, 2.0); });
  add_brief(t, "truncated_normal_lpdf", {-3, 3}, [](auto x) { return ebb::truncated_normal_lpdf(x, 0.5, 2.0, -4.0, 4.0); });
  add_brief(t, "normal_cdf", wide, [](auto x) { return ebb::normal_cdf(x, 0.5, 2.0); });
  add_brief(t, "normal_lcdf", wide, [](auto x) { return ebb::normal_lcdf(x, 0.5, 2.0); });
  add_brief(t, "normal_lccdf", wide, [](auto x) { return ebb::normal_lccdf(x, 0.5, 2.0); });
  add_brief(t, "normal_icdf", part, [](auto p) { return ebb::normal_icdf(p, 0.5, 2.0); });
  add_brief(t, "normal_entropy", above, [](auto s) { return ebb::normal_entropy(s); });
  add_brief(t, "exponential_lpdf", above, [](auto x) { return ebb::exponential_lpdf(x, 1.5); });
  add_brief(t, "gamma_lpdf", above, [](auto x) { return ebb::gamma_lpdf(x, 2.5, 1.5); });
  add_brief(t, "chi_squared_lpdf", above, [](auto x) { return ebb::chi_squared_lpdf(x, 5.0); });
  add_brief(t, "inverse_gamma_lpdf", above, [](auto x) { return ebb::inverse_gamma_lpdf(x, 2.5, 1.5); });
  add_brief(t, "beta_lpdf", part, [](auto x) { return ebb::beta_lpdf(x, 2.5, 1.5); });
  add_brief(t, "weibull_lpdf", above, [](auto x) { return ebb::weibull_lpdf(x, 1.5, 2.0); });
  add_brief(t, "pareto_lpdf", {1, 9}, [](auto x) { return ebb::pareto_lpdf(x, 0.5, 2.5); });
  add_brief(t, "student_t_lpdf", wide, [](auto x) { return ebb::student_t_lpdf(x, 4.0, 0.5, 2.0); });
  add_brief(t, "cauchy_lpdf", wide, [](auto x) { return ebb::cauchy_lpdf(x, 0.5, 2.0); });
  add_brief(t, "half_cauchy_lpdf", above, [](auto x) { return ebb::half_cauchy_lpdf(x, 2.0); });
  add_brief(t, "laplace_lpdf", wide, [](auto x) { return ebb::laplace_lpdf(x, 0.5, 2.0); });
  add_brief(t, "logistic_lpdf", wide, [](auto x) { return ebb::logistic_lpdf(x, 0.5, 2.0); });
  add_brief(t, "gumbel_lpdf", wide, [](auto x) { return ebb::gumbel_lpdf(x, 0.5, 2.0); });
  add_brief(t, "uniform_lpdf", {-3.9, 3.9}, [](auto x) { return ebb::uniform_lpdf(x, -4.0, 4.0); });
  add_brief(t, "von_mises_lpdf", wide, [](auto x) { return ebb::von_mises_lpdf(x, 0.5, 2.0); });
  add_brief(t, "poisson_lpmf", above, [](auto rate) { return ebb::poisson_lpmf(3.0, rate); });
  add_brief(t, "bernoulli_lpmf", part, [](auto p) { return ebb::bernoulli_lpmf(1.0, p); });
  add_brief(t, "bernoulli_logit_lpmf", wide, [](auto x) { return ebb::bernoulli_logit_lpmf(1.0, x); });
  add_brief(t, "binomial_lpmf", part, [](auto p) { return ebb::binomial_lpmf(3.0, 10.0, p); });
  add_brief(t, "negative_binomial_lpmf", part, [](auto p) { return ebb::negative_binomial_lpmf(3.0, 2.5, p); });
  add_brief(t, "geometric_lpmf", part, [](auto p) { return ebb::geometric_lpmf(3.0, p); });

  add_brief(t, "uniform_sample", wide, [](auto lo) { return ebb::uniform_sample(7, lo, 8.0); });
  add_brief(t, "normal_sample", wide, [](auto mu) { return ebb::normal_sample(7, mu, 2.0); });
  add_brief(t, "exponential_sample", above, [](auto rate) { return ebb::exponential_sample(7, rate); });
  add_brief(t, "gamma_sample", above, [](auto shape) { return ebb::gamma_sample(7, shape, 2.0); });
  add_brief(t, "beta_sample", above, [](auto a) { return ebb::beta_sample(7, a, 2.0); });
  add_brief(t, "dirichlet_sample", above, [](auto alpha) { return ebb::dirichlet_sample(7, alpha); });
  add_brief(t, "student_t_sample", above, [](auto nu) { return ebb::student_t_sample(7, nu, 0.5, 2.0); });
  add_brief(t, "truncated_normal_sample", wide, [](auto mu) { return ebb::truncated_normal_sample(7, mu, 2.0, -4.0, 4.0); });
  add_brief(t, "poisson_sample", {1, 30}, [](auto rate) { return ebb::poisson_sample(7, rate); });
  add_brief(t, "binomial_sample", part, [](auto p) { return ebb::binomial_sample(7, 40, p); });
  add_brief_matrix<1>(t, "categorical_sample", wide, [](auto x) { return ebb::cast<float>(ebb::categorical_sample(7, x)); });

  add_brief<2>(t, "mse", wide, [](auto x, auto y) { return ebb::mse(x, y, ebb::unreduced); }, wide);
  add_brief<2>(t, "l1", wide, [](auto x, auto y) { return ebb::l1(x, y, ebb::unreduced); }, wide);
  add_brief<2>(t, "huber", wide, [](auto x, auto y) { return ebb::huber(x, y, 1.0, ebb::unreduced); }, wide);
  add_brief<2>(t, "smooth_l1", wide, [](auto x, auto y) { return ebb::smooth_l1(x, y, 2.0, ebb::unreduced); }, wide);
  add_brief<2>(t, "bce", part, [](auto p, auto y) { return ebb::bce(p, y, ebb::unreduced); }, part);
  add_brief<2>(t, "bce_with_logits", wide, [](auto x, auto y) { return ebb::bce_with_logits(x, y, ebb::unreduced); }, part);
  add_brief<2>(t, "kl_div", wide, [](auto x, auto y) { return ebb::kl_div(x, y, ebb::unreduced); }, part);
  add_brief<2>(t, "poisson_nll", wide, [](auto x, auto y) { return ebb::poisson_nll(x, y, ebb::unreduced); }, above);
  add_brief<2>(t, "soft_margin", wide, [](auto x, auto y) { return ebb::soft_margin(x, y, ebb::unreduced); }, {-1, 1});
}
