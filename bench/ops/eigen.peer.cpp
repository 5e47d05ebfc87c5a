// bench/ops/eigen.peer.cpp — Eigen's array functions.
// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#ifdef OPS_EIGEN
#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

namespace {

template <class T>
using array = Eigen::Array<T, Eigen::Dynamic, 1>;
template <class T>
using in_array = Eigen::Map<const array<T>>;

template <class T, class F, int Arity>
void run(const T* const* in, void* const* out, std::size_t n) {
  const auto size = static_cast<Eigen::Index>(n);
  Eigen::Map<array<T>> to(static_cast<T*>(out[0]), size);
  const auto at = [&](int i) { return in_array<T>(in[i], size); };
  if constexpr (Arity == 1) to = F{}(at(0));
  else if constexpr (Arity == 2) to = F{}(at(0), at(1));
  else to = F{}(at(0), at(1), at(2));
}
template <int Arity = 1, class F>
void add(ops::table& t, const char* name, F, bool gradient = false) {
  t.peers.push_back({name, "Eigen", gradient, &run<float, F, Arity>, &run<double, F, Arity>});
}

}  // namespace

void ops::peers_by_eigen(table& t) {
  add(t, "exp", [](const auto& x) { return x.exp(); });
  add(t, "expm1", [](const auto& x) { return x.expm1(); });
  add(t, "log", [](const auto& x) { return x.log(); });
  add(t, "log2", [](const auto& x) { return x.log2(); });
  add(t, "log10", [](const auto& x) { return x.log10(); });
  add(t, "log1p", [](const auto& x) { return x.log1p(); });
  add(t, "tanh", [](const auto& x) { return x.tanh(); });
  add(t, "sigmoid", [](const auto& x) { return x.logistic(); });
  add(t, "sinh", [](const auto& x) { return x.sinh(); });
  add(t, "cosh", [](const auto& x) { return x.cosh(); });
  add(t, "asinh", [](const auto& x) { return x.asinh(); });
  add(t, "acosh", [](const auto& x) { return x.acosh(); });
  add(t, "atanh", [](const auto& x) { return x.atanh(); });
  add(t, "sin", [](const auto& x) { return x.sin(); });
  add(t, "cos", [](const auto& x) { return x.cos(); });
  add(t, "tan", [](const auto& x) { return x.tan(); });
  add(t, "asin", [](const auto& x) { return x.asin(); });
  add(t, "acos", [](const auto& x) { return x.acos(); });
  add(t, "atan", [](const auto& x) { return x.atan(); });
  add(t, "sqrt", [](const auto& x) { return x.sqrt(); });
  add(t, "rsqrt", [](const auto& x) { return x.rsqrt(); });
  add(t, "square", [](const auto& x) { return x.square(); });
  add(t, "reciprocal", [](const auto& x) { return x.inverse(); });
  add(t, "abs", [](const auto& x) { return x.abs(); });
  add(t, "sign", [](const auto& x) { return x.sign(); });
  add(t, "floor", [](const auto& x) { return x.floor(); });
  add(t, "ceil", [](const auto& x) { return x.ceil(); });
  add(t, "round", [](const auto& x) { return x.rint(); });
  add<2>(t, "pow", [](const auto& x, const auto& y) { return x.pow(y); });
  add<2>(t, "add", [](const auto& x, const auto& y) { return x + y; });
  add<2>(t, "sub", [](const auto& x, const auto& y) { return x - y; });
  add<2>(t, "mul", [](const auto& x, const auto& y) { return x * y; });
  add<2>(t, "div", [](const auto& x, const auto& y) { return x / y; });
  add<2>(t, "maximum", [](const auto& x, const auto& y) { return x.max(y); });
  add<2>(t, "minimum", [](const auto& x, const auto& y) { return x.min(y); });
  add(t, "erf", [](const auto& x) { return x.erf(); });
  add(t, "erfc", [](const auto& x) { return x.erfc(); });
  add(t, "ndtri", [](const auto& x) { return x.ndtri(); });
  add(t, "lgamma", [](const auto& x) { return x.lgamma(); });
  add(t, "lgamma", [](const auto& x) { return x.digamma(); }, true);
  add(t, "digamma", [](const auto& x) { return x.digamma(); });
  add(t, "tgamma", [](const auto& x) { return x.lgamma().exp() * x.digamma(); }, true);
  add(t, "i0", [](const auto& x) { return Eigen::bessel_i0(x); });
  add(t, "i0", [](const auto& x) { return Eigen::bessel_i1(x); }, true);
  add(t, "i0e", [](const auto& x) { return Eigen::bessel_i0e(x); });
  add(t, "i1", [](const auto& x) { return Eigen::bessel_i1(x); });
  add(t, "i1", [](const auto& x) { return Eigen::bessel_i0(x) - Eigen::bessel_i1(x) / x; }, true);
  add(t, "i1e", [](const auto& x) { return Eigen::bessel_i1e(x); });
  add<2>(t, "gammainc", [](const auto& a, const auto& x) { return Eigen::igamma(a, x); });
  add<2>(t, "gammaincc", [](const auto& a, const auto& x) { return Eigen::igammac(a, x); });
  add<3>(t, "betainc", [](const auto& a, const auto& b, const auto& x) { return Eigen::betainc(a, b, x); });
}
#else
void ops::peers_by_eigen(table&) {}
#endif
