// ebb/op/exponential.hpp — exp, log and their relatives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "arithmetic.hpp"

#include "../num/exponential.hpp"
#include "../num/logarithm.hpp"

namespace ebb::inline EBB_ABI::op {

/// An op of one real operand whose result is worth saving. Integers are converted to float first.
struct transcendental : elementwise<1> {
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
};

/// e to the x.   Saves: out.   Error: 1 ulp.
struct exp : transcendental {
  static constexpr std::string_view name = "exp";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::exp(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * out); }
};

/// 2 to the x, exact for integers.   Saves: out.   Error: 1 ulp.
struct exp2 : transcendental {
  static constexpr std::string_view name = "exp2";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::exp2(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (0.69314718055994530942 * out)); }
};

/// e^x - 1, without cancellation.   Saves: out.   Error: 2 ulp.
struct expm1 : transcendental {
  static constexpr std::string_view name = "expm1";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::expm1(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (out + 1)); }
};

/// Natural logarithm.   Saves: x.   Error: 1 ulp.   Domain: x >= 0; log(0) is -inf.
struct log : transcendental {
  static constexpr std::string_view name = "log";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::log(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g / x); }
};

/// Logarithm to base 2, exact for powers of two.   Saves: x.   Error: 1.1 ulp.   Domain: x >= 0; log2(0) is -inf.
struct log2 : transcendental {
  static constexpr std::string_view name = "log2";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::log2(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g / (0.69314718055994530942 * x)); }
};

/// Logarithm to base 10, exact for powers of ten.   Saves: x.   Error: 1 ulp.   Domain: x >= 0; log10(0) is -inf.
struct log10 : transcendental {
  static constexpr std::string_view name = "log10";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::log10(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g / (2.30258509299404568402 * x)); }
};

/// log(1 + x), without cancellation.   Saves: x.   Error: 2 ulp.   Domain: x >= -1; log1p(-1) is -inf.
struct log1p : transcendental {
  static constexpr std::string_view name = "log1p";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::log1p(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g / (1 + x)); }
};

/// Hyperbolic tangent.   Saves: out.   Error: 2 ulp.
struct tanh : transcendental {
  static constexpr std::string_view name = "tanh";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::tanh(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * (1 - out * out)); }
};

/// 1 / (1 + e^-x).   Saves: out.   Error: 2 ulp.
struct sigmoid : transcendental {
  static constexpr std::string_view name = "sigmoid";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) { return lane::sigmoid(x); }
  static constexpr auto pull(auto g, auto, auto out) { return grads(g * ((1 - out) * out)); }
};

/// log(1 + e^x), without overflow.   Saves: x.   Error: 3 ulp.
struct softplus : transcendental {
  static constexpr std::string_view name = "softplus";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) {
    return lane::at_least(x, lane::all<decltype(x)>(0)) + lane::log1p_of_part(lane::exp(-lane::abs(x)));
  }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sigmoid>({}, x)); }
};

/// log(sigmoid(x)), without underflow.   Saves: x.   Error: 3 ulp.
struct log_sigmoid : transcendental {
  static constexpr std::string_view name = "log_sigmoid";
  static constexpr bool branch_free = true;
  static constexpr auto value(auto x) {
    return lane::at_most(x, lane::all<decltype(x)>(0)) - lane::log1p_of_part(lane::exp(-lane::abs(x)));
  }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<sigmoid>({}, -x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::exp> exp{};
inline constexpr call<op::exp2> exp2{};
inline constexpr call<op::expm1> expm1{};
inline constexpr call<op::log> log{};
inline constexpr call<op::log2> log2{};
inline constexpr call<op::log10> log10{};
inline constexpr call<op::log1p> log1p{};
inline constexpr call<op::tanh> tanh{};
inline constexpr call<op::sigmoid> sigmoid{};

namespace functions {
struct scaled_softplus;
}
namespace detail {

struct softplus_call : call<op::softplus> {
  using call<op::softplus>::operator();
  template <class X, class Beta, class... Threshold>
  constexpr auto operator()(X&& x, Beta&& beta, Threshold&&... threshold) const {
    using function = std::conditional_t<sizeof...(Threshold) < 2, functions::scaled_softplus, X>;
    return apply_function(function{}, std::forward<X>(x), std::forward<Beta>(beta), std::forward<Threshold>(threshold)...);
  }
};

}  // namespace detail

/// softplus(x); softplus(x, beta) is log(1 + e^(beta x)) / beta; softplus(x, beta, threshold) is x where beta x > threshold, as PyTorch's
/// with its threshold of 20. Without one it is exact. The product beta x adds |beta x| / 2 ulp.
inline constexpr detail::softplus_call softplus{};
inline constexpr call<op::log_sigmoid> log_sigmoid{};

}  // namespace ebb::inline EBB_ABI
