// ebb/stats/positive.hpp — log densities of positive numbers and of proportions: exponential, gamma and its kin, beta, weibull, pareto.
// SPDX-License-Identifier: BSL-1.0
//
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "quantity.hpp"
#include "support.hpp"

#include "../op/logarithmic.hpp"
#include "../op/power.hpp"

namespace ebb::inline EBB_ABI::functions {

struct exponential_lpdf : of_quantities<exponential_lpdf, 2> {
  static constexpr std::string_view name = "exponential_lpdf";
  static constexpr auto formula(auto x, auto rate) {
    return on_support(emit_for<op::is_negative>(x), x, 0, [&](auto inside) {
      const auto r = emit_for<op::if_positive>(rate);
      return emit_for<op::log>(r) - r * inside;
    });
  }
};

struct gamma_lpdf : of_quantities<gamma_lpdf, 3> {
  static constexpr std::string_view name = "gamma_lpdf";
  static constexpr auto formula(auto x, auto shape, auto rate) {
    return on_support(emit_for<op::is_negative>(x), x, 1, [&](auto inside) {
      const auto r = emit_for<op::if_positive>(rate);
      return log_poisson(emit_for<op::if_positive>(shape) - 1, r * inside) + emit_for<op::log>(r);
    });
  }
};
struct chi_squared_lpdf : of_quantities<chi_squared_lpdf, 2> {
  static constexpr std::string_view name = "chi_squared_lpdf";
  static constexpr auto formula(auto x, auto nu) {
    return on_support(emit_for<op::is_negative>(x), x, 1, [&](auto inside) {
      return log_poisson(0.5 * emit_for<op::if_positive>(nu) - 1, 0.5 * inside) - log_of_2;
    });
  }
};
struct inverse_gamma_lpdf : of_quantities<inverse_gamma_lpdf, 3> {
  static constexpr std::string_view name = "inverse_gamma_lpdf";
  static constexpr auto formula(auto x, auto shape, auto scale) {
    return on_support(emit_for<op::is_not_positive>(x), x, 1, [&](auto inside) {
      const auto s = emit_for<op::if_positive>(scale);
      const auto inverse = log_poisson(emit_for<op::if_positive>(shape) - 1, s / inside);
      return inverse + (emit_for<op::log>(s) - 2 * emit_for<op::log>(inside));
    });
  }
};
struct beta_lpdf : of_quantities<beta_lpdf, 3> {
  static constexpr std::string_view name = "beta_lpdf";
  static constexpr auto formula(auto x, auto a, auto b) {
    return on_support(emit_for<op::is_not_in_unit>(x), x, 0.5, [&](auto inside) {
      const auto p = emit_for<op::if_positive>(a), q = emit_for<op::if_positive>(b), n = p + q;
      const auto both = log_poisson(p - 1, n * inside) + log_poisson(q - 1, n * (1 - inside));
      return both - (log_poisson(n - 1, n) - emit_for<op::log>(n));
    });
  }
};

struct weibull_lpdf : of_quantities<weibull_lpdf, 3> {
  static constexpr std::string_view name = "weibull_lpdf";
  static constexpr auto formula(auto x, auto shape, auto scale) {
    return on_support(emit_for<op::is_negative>(x), x, 1, [&](auto inside) {
      const auto k = emit_for<op::if_positive>(shape), s = emit_for<op::if_positive>(scale), z = inside / s;
      return emit_for<op::log>(k) - emit_for<op::log>(s) + emit_for<op::xlogy>(k - 1, z) - emit_for<op::pow>(z, k);
    });
  }
};
struct pareto_lpdf : of_quantities<pareto_lpdf, 3> {
  static constexpr std::string_view name = "pareto_lpdf";
  static constexpr auto formula(auto x, auto least, auto shape) {
    const auto m = emit_for<op::if_positive>(least), a = emit_for<op::if_positive>(shape);
    const auto outside = emit_for<op::logical_or>(emit_for<op::less>(x, m), emit_for<op::isinf>(x));
    return on_support(outside, x, 1, [&](auto inside) {
      const auto l = emit_for<op::log>(inside);
      return emit_for<op::log>(a) + a * (emit_for<op::log>(m) - l) - l;
    });
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

// Rates are inverse scales, as in Stan and PyTorch; those of SciPy are scales. See [note: log densities].

/// exponential_lpdf(x, rate): log(rate) - rate x. Support: 0 <= x < inf.   Saves: x, rate.
/// Error: 2 ulp of the larger of |log(rate)| and rate x.   Source: torch.distributions.Exponential.
inline constexpr call<functions::exponential_lpdf> exponential_lpdf{};
/// gamma_lpdf(x, shape, rate): rate^shape x^(shape - 1) e^(-rate x) / gamma(shape). Support: 0 <= x < inf; at 0 it is log(rate) for
/// shape 1, inf below, -inf above.   Saves: rate x, shape, rate.   Error: as log_poisson, and 1 ulp of log(rate).
/// Source: torch.distributions.Gamma; the form is that of [note: logarithms of Poisson probabilities].
inline constexpr call<functions::gamma_lpdf> gamma_lpdf{};
/// chi_squared_lpdf(x, nu): gamma_lpdf(x, nu / 2, 1 / 2).   All fields as gamma_lpdf.
inline constexpr call<functions::chi_squared_lpdf> chi_squared_lpdf{};
/// inverse_gamma_lpdf(x, shape, scale): 1 / x has the gamma distribution with rate `scale`. Support: 0 < x < inf.
/// Saves: x, scale / x, shape, scale.   Error: as gamma_lpdf, and 2 ulp of log x.   Source: scipy.stats.invgamma.logpdf.
inline constexpr call<functions::inverse_gamma_lpdf> inverse_gamma_lpdf{};
/// beta_lpdf(x, a, b): x^(a - 1) (1 - x)^(b - 1) / beta(a, b). Support: 0 <= x <= 1; at 0 it is log(b) for a = 1, inf below, -inf above.
/// Saves: x, a, b.   Error: as log_poisson.   Source: torch.distributions.Beta.
inline constexpr call<functions::beta_lpdf> beta_lpdf{};
/// weibull_lpdf(x, shape, scale), with k = shape, z = x / scale: log(k / scale) + (k - 1) log z - z^k. Support: 0 <= x < inf; at 0 it is
/// log(k / scale) for k = 1, inf below, -inf above. At x = 0 the derivative by the shape is infinite or NaN: z^k has none there.
/// Saves: z, shape, scale.   Error: 4 ulp of the largest term.   Source: scipy.stats.weibull_min.logpdf.
inline constexpr call<functions::weibull_lpdf> weibull_lpdf{};
/// pareto_lpdf(x, least, shape): shape least^shape / x^(shape + 1). Support: least <= x < inf.   Saves: x, least, shape.
/// Error: 4 ulp of the largest of |log(shape)|, shape |log(least)| and (shape + 1) |log x|.   Source: scipy.stats.pareto.logpdf.
inline constexpr call<functions::pareto_lpdf> pareto_lpdf{};

}  // namespace ebb::inline EBB_ABI
