// ebb/dual/cmath.hpp — the functions of <cmath> on duals: a template that calls sqrt(x), with `using std::sqrt` or without, takes duals.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "number.hpp"

#include "../trace/functions.hpp"

namespace ebb::inline EBB_ABI::duals {

template <class A>
constexpr auto exp(const dual<A>& a) {
  return ebb::exp(a);
}
template <class A>
constexpr auto expm1(const dual<A>& a) {
  return ebb::expm1(a);
}
template <class A>
constexpr auto exp2(const dual<A>& a) {
  return ebb::exp2(a);
}
template <class A>
constexpr auto log(const dual<A>& a) {
  return ebb::log(a);
}
template <class A>
constexpr auto log1p(const dual<A>& a) {
  return ebb::log1p(a);
}
template <class A>
constexpr auto log2(const dual<A>& a) {
  return ebb::log2(a);
}
template <class A>
constexpr auto log10(const dual<A>& a) {
  return ebb::log10(a);
}
template <class A>
constexpr auto sqrt(const dual<A>& a) {
  return ebb::sqrt(a);
}
template <class A>
constexpr auto sin(const dual<A>& a) {
  return ebb::sin(a);
}
template <class A>
constexpr auto cos(const dual<A>& a) {
  return ebb::cos(a);
}
template <class A>
constexpr auto tan(const dual<A>& a) {
  return ebb::tan(a);
}
template <class A>
constexpr auto asin(const dual<A>& a) {
  return ebb::asin(a);
}
template <class A>
constexpr auto acos(const dual<A>& a) {
  return ebb::acos(a);
}
template <class A>
constexpr auto atan(const dual<A>& a) {
  return ebb::atan(a);
}
template <class A>
constexpr auto sinh(const dual<A>& a) {
  return ebb::sinh(a);
}
template <class A>
constexpr auto cosh(const dual<A>& a) {
  return ebb::cosh(a);
}
template <class A>
constexpr auto tanh(const dual<A>& a) {
  return ebb::tanh(a);
}
template <class A>
constexpr auto asinh(const dual<A>& a) {
  return ebb::asinh(a);
}
template <class A>
constexpr auto acosh(const dual<A>& a) {
  return ebb::acosh(a);
}
template <class A>
constexpr auto atanh(const dual<A>& a) {
  return ebb::atanh(a);
}
template <class A>
constexpr auto erf(const dual<A>& a) {
  return ebb::erf(a);
}
template <class A>
constexpr auto erfc(const dual<A>& a) {
  return ebb::erfc(a);
}
template <class A>
constexpr auto lgamma(const dual<A>& a) {
  return ebb::lgamma(a);
}
template <class A>
constexpr auto abs(const dual<A>& a) {
  return ebb::abs(a);
}
template <class A>
constexpr auto ceil(const dual<A>& a) {
  return ebb::ceil(a);
}
template <class A>
constexpr auto floor(const dual<A>& a) {
  return ebb::floor(a);
}
template <class A>
constexpr auto round(const dual<A>& a) {
  return ebb::round(a);
}
template <class A>
constexpr auto trunc(const dual<A>& a) {
  return ebb::trunc(a);
}
/// As std::fabs.
template <class A>
constexpr auto fabs(const dual<A>& a) {
  return ebb::abs(a);
}

template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto pow(const A& a, const B& b) {
  return ebb::pow(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto atan2(const A& a, const B& b) {
  return ebb::atan2(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto hypot(const A& a, const B& b) {
  return ebb::hypot(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto fmax(const A& a, const B& b) {
  return ebb::fmax(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto fmin(const A& a, const B& b) {
  return ebb::fmin(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto fmod(const A& a, const B& b) {
  return ebb::fmod(a, b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto copysign(const A& a, const B& b) {
  return ebb::copysign(a, b);
}

// Of the value.
template <class A>
constexpr auto isnan(const dual<A>& a) {
  return ebb::isnan(detail::innermost(a));
}
template <class A>
constexpr auto isinf(const dual<A>& a) {
  return ebb::isinf(detail::innermost(a));
}
template <class A>
constexpr auto isfinite(const dual<A>& a) {
  return ebb::isfinite(detail::innermost(a));
}

}  // namespace ebb::inline EBB_ABI::duals
