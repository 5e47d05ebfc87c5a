// ebb/stats/discrete.hpp — logarithms of probabilities of counts: poisson, bernoulli, binomial, negative_binomial, geometric.
// SPDX-License-Identifier: BSL-1.0
//
// Counts are integers, bools or floats; a float that is no count is outside of the support. The gradient by a float count is that of the
// formula, which goes through the gamma function.
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "quantity.hpp"
#include "support.hpp"

#include "../op/logarithmic.hpp"

namespace ebb::inline EBB_ABI::functions {

struct poisson_lpmf : of_quantities<poisson_lpmf, 2> {
  static constexpr std::string_view name = "poisson_lpmf";
  static constexpr auto formula(auto k, auto rate) {
    return on_support(emit_for<op::is_no_count>(k), k, 0, [&](auto inside) {
      return log_poisson(inside, emit_for<op::if_not_negative>(rate));
    });
  }
};
struct bernoulli_lpmf : of_quantities<bernoulli_lpmf, 2> {
  static constexpr std::string_view name = "bernoulli_lpmf";
  static constexpr auto formula(auto k, auto probability) {
    return on_support(emit_for<op::is_no_bit>(k), k, 0, [&](auto inside) {
      const auto p = emit_for<op::if_probability>(probability);
      return emit_for<op::xlogy>(inside, p) + emit_for<op::xlog1py>(1 - inside, -p);
    });
  }
};
struct bernoulli_logit_lpmf : of_quantities<bernoulli_logit_lpmf, 2> {
  static constexpr std::string_view name = "bernoulli_logit_lpmf";
  static constexpr auto formula(auto k, auto logit) {
    return on_support(emit_for<op::is_no_bit>(k), k, 0, [&](auto inside) {
      return emit_for<op::log_sigmoid>((2 * inside - 1) * logit);
    });
  }
};
struct binomial_lpmf : of_quantities<binomial_lpmf, 3> {
  static constexpr std::string_view name = "binomial_lpmf";
  static constexpr auto formula(auto k, auto trials, auto probability) {
    const auto n = emit_for<op::if_not_negative>(trials), p = emit_for<op::if_probability>(probability);
    const auto outside = emit_for<op::logical_or>(emit_for<op::is_no_count>(k), emit_for<op::greater>(k, n));
    return on_support(outside, k, 0, [&](auto inside) {
      const auto failures = log_poisson(n - inside, n * (1 - p));
      return log_poisson(inside, n * p) + failures - log_poisson(n, n);
    });
  }
};
struct negative_binomial_lpmf : of_quantities<negative_binomial_lpmf, 3> {
  static constexpr std::string_view name = "negative_binomial_lpmf";
  static constexpr auto formula(auto k, auto successes, auto probability) {
    return on_support(emit_for<op::is_no_count>(k), k, 0, [&](auto inside) {
      const auto r = emit_for<op::if_positive>(successes), p = emit_for<op::if_probability>(probability), n = inside + r;
      const auto both = log_poisson(inside, n * (1 - p)) + log_poisson(r - 1, n * p);
      return both - (log_poisson(n - 1, n) - emit_for<op::log>(p));
    });
  }
};
struct geometric_lpmf : of_quantities<geometric_lpmf, 2> {
  static constexpr std::string_view name = "geometric_lpmf";
  static constexpr auto formula(auto k, auto probability) {
    return on_support(emit_for<op::is_no_count>(k), k, 0, [&](auto inside) {
      const auto p = emit_for<op::if_probability>(probability);
      return emit_for<op::log>(p) + emit_for<op::xlog1py>(inside, -p);
    });
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

// See [note: log densities]. Supports are the counts 0, 1, 2, ... where nothing else is said.

/// poisson_lpmf(k, rate): rate^k e^-rate / k!, for rate >= 0.   Saves: k, rate.   Error: as log_poisson.
/// Source: torch.distributions.Poisson; the form is that of [note: logarithms of Poisson probabilities].
inline constexpr call<functions::poisson_lpmf> poisson_lpmf{};
/// bernoulli_lpmf(k, p): log p for k = 1, log(1 - p) for k = 0, for a probability p. Support: 0, 1. For k = p the derivative by p is 1
/// or -1.   Saves: k, p.   Error: 2.5 ulp.   Source: Stan's bernoulli_lpmf. Use bernoulli_logit_lpmf where you can: it does not cancel.
inline constexpr call<functions::bernoulli_lpmf> bernoulli_lpmf{};
/// bernoulli_logit_lpmf(k, x): bernoulli_lpmf for p = sigmoid(x), without overflow or cancellation. Support: 0, 1.   Saves: k, x.
/// Error: as log_sigmoid.   Source: Stan's bernoulli_logit_lpmf.
inline constexpr call<functions::bernoulli_logit_lpmf> bernoulli_logit_lpmf{};
/// binomial_lpmf(k, n, p): k of n trials with the probability p succeed. Support: 0, ..., n. At p = 0 or 1, -inf for all k but one.
/// Saves: k, n, p.   Error: as log_poisson, for each of k, n - k and n.   Source: scipy.stats.binom.logpmf, with Loader's form.
inline constexpr call<functions::binomial_lpmf> binomial_lpmf{};
/// negative_binomial_lpmf(k, r, p): k failures before success number r, whose probability is p each time; r > 0 is any real number.
/// Saves: k, r, p.   Error: as log_poisson, for k, r and k + r.   Source: scipy.stats.nbinom.logpmf. PyTorch's p is 1 - p.
inline constexpr call<functions::negative_binomial_lpmf> negative_binomial_lpmf{};
/// geometric_lpmf(k, p): k failures before the first success.   Saves: k, p.   Error: 2.5 ulp of each term.
/// Source: torch.distributions.Geometric. The count of scipy.stats.geom is k + 1.
inline constexpr call<functions::geometric_lpmf> geometric_lpmf{};

}  // namespace ebb::inline EBB_ABI
