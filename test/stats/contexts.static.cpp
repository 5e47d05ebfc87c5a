// test/stats/contexts.static.cpp — all functions of stats.hpp compute in float in autocast contexts.
// SPDX-License-Identifier: BSL-1.0
// covers: discrete.hpp draw.hpp location.hpp normal.hpp positive.hpp vector.hpp
#include <ebb/stats.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class, test::have_class;
using enum test::context_class;

static_assert(have_class<full, 2>(ebb::poisson_lpmf, ebb::bernoulli_lpmf, ebb::bernoulli_logit_lpmf, ebb::geometric_lpmf));
static_assert(have_class<full, 3>(ebb::binomial_lpmf, ebb::negative_binomial_lpmf));

static_assert(have_class<full, 4>(ebb::student_t_lpdf, ebb::normal_kl));
static_assert(have_class<full, 3>(ebb::cauchy_lpdf, ebb::laplace_lpdf, ebb::logistic_lpdf, ebb::gumbel_lpdf, ebb::uniform_lpdf,
                                  ebb::von_mises_lpdf));

static_assert(have_class<full, 3>(ebb::normal_lpdf, ebb::normal_cdf, ebb::normal_lcdf, ebb::normal_lccdf, ebb::normal_icdf,
                                  ebb::lognormal_lpdf));
static_assert(have_class<full, 1>(ebb::normal_entropy));
static_assert(have_class<full, 5>(ebb::truncated_normal_lpdf));
static_assert(have_class<full, 2>(ebb::half_normal_lpdf, ebb::half_cauchy_lpdf, ebb::exponential_lpdf, ebb::chi_squared_lpdf));
static_assert(have_class<full, 3>(ebb::gamma_lpdf, ebb::inverse_gamma_lpdf, ebb::beta_lpdf, ebb::weibull_lpdf, ebb::pareto_lpdf));

constexpr auto classes = [](auto x) { return ebb::cast<int>(ebb::select<0, 0>(x)); };
static_assert(has_class<full>([](auto x) { return ebb::categorical_lpmf(classes(x), x); }));
static_assert(has_class<full>([](auto x) { return ebb::categorical_logit_lpmf(classes(x), x); }));
static_assert(have_class<full, 2>(ebb::multinomial_lpmf, ebb::dirichlet_lpdf));
static_assert(have_class<full, 3>(ebb::multivariate_normal_cholesky_lpdf, ebb::multivariate_normal_lpdf));

// The key of a sample is an integer.
static_assert(has_class<full>([](auto a) { return ebb::exponential_sample(7, a); }) &&
              has_class<full>([](auto a) { return ebb::gamma_sample(7, a, a); }));
static_assert(has_class<full>([](auto a) { return ebb::uniform_sample(7, a, a); }) &&
              has_class<full>([](auto a) { return ebb::normal_sample(7, a, a); }));
static_assert(has_class<full>([](auto a) { return ebb::beta_sample(7, a, a); }) &&
              has_class<full>([](auto a) { return ebb::dirichlet_sample(7, a); }));
static_assert(has_class<full>([](auto a) { return ebb::student_t_sample(7, a, a, a); }));
static_assert(has_class<full>([](auto a) { return ebb::truncated_normal_sample(7, a, a, a, a); }));
static_assert(has_class<full>([](auto a) { return ebb::poisson_sample(7, a); }) &&
              has_class<full>([](auto a) { return ebb::binomial_sample(7, a, a); }));
static_assert(has_class<fixed>([](auto a) { return ebb::categorical_sample(7, a); }));

}  // namespace
