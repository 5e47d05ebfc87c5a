// ebb/stats/normal.hpp — the normal distribution and its kin: lognormal, half normal, truncated normal.
// SPDX-License-Identifier: BSL-1.0
//
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "quantity.hpp"
#include "support.hpp"

#include "../op/logarithmic.hpp"
#include "../op/normal.hpp"
#include "../special/quantile.hpp"

namespace ebb::inline EBB_ABI::functions {

struct normal_lpdf : of_quantities<normal_lpdf, 3> {
  static constexpr std::string_view name = "normal_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    const auto z = (x - mu) / sigma;
    return -0.5 * emit_for<op::square>(z) - (emit_for<op::log>(emit_for<op::if_positive>(sigma)) + half_log_of_two_pi);
  }
};
/// Op of (x - mu) / sigma.
template <class Op, bool Mirrored = false>
struct of_standardized {
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    const auto s = emit_for<op::if_positive>(sigma);
    if constexpr (Mirrored) return emit_for<Op>((mu - x) / s);
    else return emit_for<Op>((x - mu) / s);
  }
};
struct normal_cdf : of_quantities<of_standardized<op::ndtr>, 3> {
  static constexpr std::string_view name = "normal_cdf";
};
struct normal_lcdf : of_quantities<of_standardized<op::log_ndtr>, 3> {
  static constexpr std::string_view name = "normal_lcdf";
};
struct normal_lccdf : of_quantities<of_standardized<op::log_ndtr, true>, 3> {
  static constexpr std::string_view name = "normal_lccdf";
};
struct normal_icdf : of_quantities<normal_icdf, 3> {
  static constexpr std::string_view name = "normal_icdf";
  static constexpr auto formula(auto p, auto mu, auto sigma) {
    return mu + emit_for<op::if_positive>(sigma) * emit_for<op::ndtri>(p);
  }
};
struct normal_entropy : of_quantities<normal_entropy, 1> {
  static constexpr std::string_view name = "normal_entropy";
  static constexpr auto formula(auto sigma) { return emit_for<op::log>(emit_for<op::if_positive>(sigma)) + (half_log_of_two_pi + 0.5); }
};
struct normal_kl : of_quantities<normal_kl, 4> {
  static constexpr std::string_view name = "normal_kl";
  static constexpr auto formula(auto mu_p, auto sigma_p, auto mu_q, auto sigma_q) {
    // With r = (s - t) / t: (s / t)^2 - 1 - 2 log(s / t) is r^2 + 2 (r - log(1 + r)), which does not cancel for equal deviations.
    const auto s = emit_for<op::if_positive>(sigma_p), t = emit_for<op::if_positive>(sigma_q), r = (s - t) / t;
    const auto near = emit_for<op::less>(emit_for<op::abs>(r), 0.5);
    const auto l = emit_for<op::log1p>(emit_for<op::where>(near, r, 0));
    const auto rest = r - emit_for<op::where>(near, l, emit_for<op::log>(s / t));
    return 0.5 * (emit_for<op::square>((mu_p - mu_q) / t) + emit_for<op::square>(r)) + rest;
  }
};

struct lognormal_lpdf : of_quantities<lognormal_lpdf, 3> {
  static constexpr std::string_view name = "lognormal_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    return on_support(emit_for<op::is_not_positive>(x), x, 1, [&](auto inside) {
      const auto l = emit_for<op::log>(inside);
      return normal_lpdf::formula(l, mu, sigma) - l;
    });
  }
};
struct half_normal_lpdf : of_quantities<half_normal_lpdf, 2> {
  static constexpr std::string_view name = "half_normal_lpdf";
  static constexpr auto formula(auto x, auto sigma) {
    return on_support(emit_for<op::is_negative>(x), x, 0, [&](auto inside) { return normal_lpdf::formula(inside, 0, sigma) + log_of_2; });
  }
};

struct truncated_normal_lpdf : of_quantities<truncated_normal_lpdf, 5> {
  static constexpr std::string_view name = "truncated_normal_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma, auto lo, auto hi) {
    const auto outside = emit_for<op::logical_or>(emit_for<op::less>(x, lo), emit_for<op::greater>(x, hi));
    const auto inside = emit_for<op::where>(outside, mu, x), s = emit_for<op::if_positive>(sigma);
    // The mass between two points above mu is that between their mirror images below, where the logarithms do not cancel.
    const auto mirrored = emit_for<op::greater>(lo, mu);
    const auto below = log_below(mirrored, mu - hi, lo - mu, s), above = log_below(mirrored, mu - lo, hi - mu, s);
    const auto mass = above + emit_for<op::log1mexp>(below - above);
    const auto least = -std::numeric_limits<double>::infinity();
    return emit_for<op::where>(outside, least, normal_lpdf::formula(inside, mu, sigma) - mass);
  }

 private:
  /// log_ndtr of one of two distances in units of s. An infinite distance is selected before it is divided: its derivative is 0 * inf.
  static constexpr auto log_below(auto mirrored, auto yes, auto no, auto s) {
    const auto distance = emit_for<op::where>(mirrored, yes, no);
    const auto infinite = emit_for<op::isinf>(distance);
    const auto l = emit_for<op::log_ndtr>(emit_for<op::where>(infinite, 0, distance) / s), zero = 0 * l;
    const auto end = emit_for<op::where>(emit_for<op::less>(distance, 0), zero - std::numeric_limits<double>::infinity(), zero);
    return emit_for<op::where>(infinite, end, l);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The logarithm of the density of the normal distribution with mean mu and standard deviation sigma > 0; see [note: log densities].
/// normal_lpdf(x, mu, sigma). An infinite x gives -inf.   Saves: z = (x - mu) / sigma, sigma.
/// Error: 4 ulp of the largest of 1, z^2 and |log(sigma)|, and z^2 times that of x - mu.   Source: scipy.stats.norm.logpdf.
inline constexpr call<functions::normal_lpdf> normal_lpdf{};
/// normal_cdf(x, mu, sigma): the probability of a number up to x, which keeps its digits below mu.   Saves: z, sigma.
/// Error: as ndtr, and z^2 times that of x - mu.   Source: scipy.stats.norm.cdf.
inline constexpr call<functions::normal_cdf> normal_cdf{};
/// normal_lcdf(x, mu, sigma): the logarithm of normal_cdf, and lccdf that of 1 - normal_cdf, without cancellation or underflow.
/// Saves: z, sigma.   Error: as log_ndtr.   Source: scipy.stats.norm.logcdf, logsf.
inline constexpr call<functions::normal_lcdf> normal_lcdf{};
inline constexpr call<functions::normal_lccdf> normal_lccdf{};
/// normal_icdf(p, mu, sigma): the x with normal_cdf(x, mu, sigma) = p; -inf and inf at p = 0 and 1, NaN outside of [0, 1].
/// Saves: p, sigma.   Error: as ndtri, and an ulp of the sum.   Source: scipy.stats.norm.ppf.
inline constexpr call<functions::normal_icdf> normal_icdf{};
/// normal_entropy(sigma): log(sigma) + log(2 pi e) / 2.   Saves: sigma.   Error: 2 ulp of the larger of 2 and |log(sigma)|.
inline constexpr call<functions::normal_entropy> normal_entropy{};
/// normal_kl(mu_p, sigma_p, mu_q, sigma_q): the divergence of Kullback and Leibler from p to q, the mean of log p - log q under p.
/// At equal parameters it is 0 with the gradient 0.   Saves: all operands.   Error: 8 ulp of the larger of the result and |r|, where
/// r = (sigma_p - sigma_q) / sigma_q.   Source: torch.distributions.kl_divergence.
inline constexpr call<functions::normal_kl> normal_kl{};

/// lognormal_lpdf(x, mu, sigma): log x is normal with mean mu and deviation sigma. Support: 0 < x < inf; see [note: log densities].
/// Saves: x, z, sigma.   Error: as normal_lpdf of log x.   Source: torch.distributions.LogNormal.
inline constexpr call<functions::lognormal_lpdf> lognormal_lpdf{};
/// half_normal_lpdf(x, sigma): x is the magnitude of a normal number with mean 0. Support: 0 <= x < inf; see [note: log densities].
/// Saves: z, sigma.   Error: as normal_lpdf.   Source: torch.distributions.HalfNormal.
inline constexpr call<functions::half_normal_lpdf> half_normal_lpdf{};
/// truncated_normal_lpdf(x, mu, sigma, lo, hi): the normal distribution cut off outside of [lo, hi], for lo < hi, which may be infinite.
/// Support: lo <= x <= hi. The gradient of an infinite bound is 0. See [note: log densities].
/// Saves: x, mu, sigma, lo, hi.   Error: as normal_lpdf, log_ndtr and log1mexp.   Source: scipy.stats.truncnorm, whose bounds are in units
/// of sigma.
inline constexpr call<functions::truncated_normal_lpdf> truncated_normal_lpdf{};

}  // namespace ebb::inline EBB_ABI
