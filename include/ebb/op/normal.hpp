// ebb/op/normal.hpp — the error function and the normal distribution: erf, erfc, ndtr, log_ndtr.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "exponential.hpp"
#include "extremum.hpp"

#include "../num/error_function.hpp"
#include "../num/normal.hpp"

namespace ebb::inline EBB_ABI {

/// Inside rules: x bounded to +-60000, so that its product with e^(-x^2) at infinity is 0, not NaN. float16 has the number 60000 too.
template <class T>
constexpr operand<T> bounded(operand<T> x) {
  return emit_on<op::clamp>({}, x, literal_like(x, -60000), literal_like(x, 60000));
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// e^(-x^2).   Saves: x, out.   Error: 1 ulp.
struct gaussian : transcendental {
  static constexpr std::string_view name = "gaussian";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::exp_minus_square(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(-2 * g * (bounded(x) * out)); }
};

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x; keeps the sign of zero.   Saves: x.   Error: 2 ulp.
/// Source: as num/error_function.hpp.
struct erf : transcendental {
  static constexpr std::string_view name = "erf";
  static constexpr auto value(auto x) { return lane::erf(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * (two_over_root_pi * emit_on<gaussian>({}, x))); }
  static constexpr double two_over_root_pi = 0x1.20dd750429b6dp+0;
};

/// 1 - erf(x), without cancellation: the error is relative even for tiny results.   Saves: x.   Error: 2 ulp.   Source: as erf.
struct erfc : transcendental {
  static constexpr std::string_view name = "erfc";
  static constexpr auto value(auto x) { return lane::erfc(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(-g * (erf::two_over_root_pi * emit_on<gaussian>({}, x))); }
};

/// The density of the standard normal distribution.   Saves: x, out.   Error: 1.5 ulp.
struct normal_density : transcendental {
  static constexpr std::string_view name = "normal_density";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::normal_density(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(-g * (bounded(x) * out)); }
};

/// The probability of x or less in the standard normal distribution; the error is relative even in the tail.   Saves: x.   Error: 3 ulp.
/// Source: as num/normal.hpp.
struct ndtr : transcendental {
  static constexpr std::string_view name = "ndtr";
  static constexpr auto value(auto x) { return lane::ndtr(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<normal_density>({}, x)); }
};

struct mean_excess;

/// The density of the standard normal distribution divided by ndtr.   Saves: x, out.   Error: 3 ulp.
struct inverse_mills : transcendental {
  static constexpr std::string_view name = "inverse_mills";
  static constexpr auto value(auto x) { return lane::inverse_mills(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(-g * (out * emit_on<mean_excess>({}, x))); }
};

/// x + inverse_mills(x), without cancellation.   Saves: x, out.   Error: 3 ulp.
struct mean_excess : transcendental {
  static constexpr std::string_view name = "mean_excess";
  static constexpr auto value(auto x) { return lane::mean_excess(x); }
  static constexpr auto pull(auto g, auto x, auto out) { return grads(g * (1 - emit_on<inverse_mills>({}, x) * out)); }
};

/// log(ndtr(x)), without underflow.   Saves: x.   Error: 3 ulp.   Source: as ndtr.
struct log_ndtr : transcendental {
  static constexpr std::string_view name = "log_ndtr";
  static constexpr auto value(auto x) { return lane::log_ndtr(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<inverse_mills>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::erf> erf{};
inline constexpr call<op::erfc> erfc{};
inline constexpr call<op::ndtr> ndtr{};
inline constexpr call<op::log_ndtr> log_ndtr{};

}  // namespace ebb::inline EBB_ABI
