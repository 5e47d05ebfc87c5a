// ebb/stats/location.hpp — log densities by location and scale: student_t, cauchy, laplace, logistic, gumbel, uniform, von_mises.
// SPDX-License-Identifier: BSL-1.0
//
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "quantity.hpp"
#include "support.hpp"

#include "../op/power.hpp"
#include "../op/trigonometric.hpp"
#include "../special/bessel.hpp"

namespace ebb::inline EBB_ABI::functions {

struct student_t_lpdf : of_quantities<student_t_lpdf, 4> {
  static constexpr std::string_view name = "student_t_lpdf";
  static constexpr auto formula(auto x, auto nu, auto mu, auto sigma) {
    const auto n = emit_for<op::if_positive>(nu), s = emit_for<op::if_positive>(sigma), root = emit_for<op::sqrt>(n);
    const auto tail = 0.5 * (n + 1) * emit_for<op::log1p_sq>((x - mu) / (s * root));
    // gamma((n + 1) / 2) / gamma(n / 2) is sqrt(pi) / beta(n / 2, 1 / 2).
    return -tail - (emit_for<op::lbeta>(0.5 * n, 0.5) + emit_for<op::log>(root) + emit_for<op::log>(s));
  }
};
struct cauchy_lpdf : of_quantities<cauchy_lpdf, 3> {
  static constexpr std::string_view name = "cauchy_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    const auto s = emit_for<op::if_positive>(sigma);
    return -emit_for<op::log1p_sq>((x - mu) / s) - (emit_for<op::log>(s) + log_of_pi);
  }
};
struct half_cauchy_lpdf : of_quantities<half_cauchy_lpdf, 2> {
  static constexpr std::string_view name = "half_cauchy_lpdf";
  static constexpr auto formula(auto x, auto sigma) {
    return on_support(emit_for<op::is_negative>(x), x, 0, [&](auto inside) { return cauchy_lpdf::formula(inside, 0, sigma) + log_of_2; });
  }
};
struct laplace_lpdf : of_quantities<laplace_lpdf, 3> {
  static constexpr std::string_view name = "laplace_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    const auto s = emit_for<op::if_positive>(sigma);
    return -emit_for<op::abs>((x - mu) / s) - (emit_for<op::log>(s) + log_of_2);
  }
};
struct logistic_lpdf : of_quantities<logistic_lpdf, 3> {
  static constexpr std::string_view name = "logistic_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    const auto s = emit_for<op::if_positive>(sigma), z = (x - mu) / s;
    return emit_for<op::log_sigmoid>(z) + emit_for<op::log_sigmoid>(-z) - emit_for<op::log>(s);
  }
};
struct gumbel_lpdf : of_quantities<gumbel_lpdf, 3> {
  static constexpr std::string_view name = "gumbel_lpdf";
  static constexpr auto formula(auto x, auto mu, auto sigma) {
    return on_support(emit_for<op::isinf>(x), x, 0, [&](auto inside) {
      const auto s = emit_for<op::if_positive>(sigma), z = (inside - mu) / s;
      return -(z + emit_for<op::exp>(-z)) - emit_for<op::log>(s);
    });
  }
};
struct uniform_lpdf : of_quantities<uniform_lpdf, 3> {
  static constexpr std::string_view name = "uniform_lpdf";
  static constexpr auto formula(auto x, auto lo, auto hi) {
    const auto outside = emit_for<op::logical_or>(emit_for<op::less>(x, lo), emit_for<op::greater>(x, hi));
    // 0 x is NaN for a NaN.
    return on_support(outside, x, 0, [&](auto inside) { return 0 * inside - emit_for<op::log>(emit_for<op::if_positive>(hi - lo)); });
  }
};
struct von_mises_lpdf : of_quantities<von_mises_lpdf, 3> {
  static constexpr std::string_view name = "von_mises_lpdf";
  static constexpr auto formula(auto x, auto mu, auto kappa) {
    const auto k = emit_for<op::if_not_negative>(kappa), s = emit_for<op::sin>(0.5 * (x - mu));
    // cos(x - mu) - 1 is -2 sin((x - mu) / 2)^2.
    return -2 * k * emit_for<op::square>(s) - (emit_for<op::log>(emit_for<op::i0e>(k)) + 2 * half_log_of_two_pi);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

// In all of them z = (x - mu) / sigma, and sigma > 0. See [note: log densities].

/// student_t_lpdf(x, nu, mu, sigma): Student's t distribution with nu > 0 degrees of freedom. An infinite x gives -inf.
/// Saves: z, nu, sigma.   Error: 8 ulp of the largest of 1, |out|, |log(nu)| and |log(sigma)|.
/// Source: Stan's student_t_lpdf, torch.distributions.StudentT.
inline constexpr call<functions::student_t_lpdf> student_t_lpdf{};
/// cauchy_lpdf(x, mu, sigma). An infinite x gives -inf.   Saves: z, sigma.   Error: 4 ulp of the largest of 2, |out| and |log(sigma)|.
/// Source: scipy.stats.cauchy.logpdf.
inline constexpr call<functions::cauchy_lpdf> cauchy_lpdf{};
/// half_cauchy_lpdf(x, sigma): the magnitude of a Cauchy number around 0. Support: 0 <= x < inf.   Saves, Error: as cauchy_lpdf.
inline constexpr call<functions::half_cauchy_lpdf> half_cauchy_lpdf{};
/// laplace_lpdf(x, mu, sigma): Stan's double exponential distribution. The derivative by x is 0 at mu. An infinite x gives -inf.
/// Saves: z, sigma.   Error: 3 ulp of the largest of 1, |z| and |log(sigma)|.   Source: scipy.stats.laplace.logpdf.
inline constexpr call<functions::laplace_lpdf> laplace_lpdf{};
/// logistic_lpdf(x, mu, sigma). An infinite x gives -inf.   Saves: z, sigma.   Error: 4 ulp of the largest of 1, |z| and |log(sigma)|.
/// Source: scipy.stats.logistic.logpdf.
inline constexpr call<functions::logistic_lpdf> logistic_lpdf{};
/// gumbel_lpdf(x, mu, sigma): the distribution of largest values. Support: finite x.   Saves: z, e^-z, sigma.
/// Error: 4 ulp of the largest of |z|, e^-z (1 + |z|) and |log(sigma)|.   Source: scipy.stats.gumbel_r.logpdf.
inline constexpr call<functions::gumbel_lpdf> gumbel_lpdf{};
/// uniform_lpdf(x, lo, hi): -log(hi - lo). Support: lo <= x <= hi, both finite. The derivative by x is 0.   Saves: hi - lo.   Error: 2 ulp.
/// Source: torch.distributions.Uniform, whose support is without hi.
inline constexpr call<functions::uniform_lpdf> uniform_lpdf{};
/// von_mises_lpdf(x, mu, kappa): the density e^(kappa cos(x - mu)) / (2 pi i0(kappa)) of an angle, for kappa >= 0. Each x is an angle, so
/// that the support is all finite numbers; an infinite x gives NaN.   Saves: x - mu, kappa.
/// Error: 8 ulp of the largest of 2, kappa and |log(kappa)|.   Source: scipy.stats.vonmises.logpdf.
inline constexpr call<functions::von_mises_lpdf> von_mises_lpdf{};

}  // namespace ebb::inline EBB_ABI
