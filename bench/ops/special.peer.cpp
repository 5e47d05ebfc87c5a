// bench/ops/special.peer.cpp — error functions, gamma functions and their relatives by others.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

constexpr double root_half = 0.70710678118654752440, density_0 = 0.39894228040143267794, two_over_root_pi = 1.12837916709551257390;

auto density(auto x) { return density_0 * exp(-0.5 * x * x); }
auto cdf(auto x) { return 0.5 * erfc(-root_half * x); }

}  // namespace

void ops::peers_of_special(table& t) {
  add(t, "erf", [](auto x) { return erf(x); }, [](auto x) { return two_over_root_pi * exp(-x * x); });
  add(t, "erfc", [](auto x) { return erfc(x); }, [](auto x) { return -two_over_root_pi * exp(-x * x); });
  add(t, "erfcx", [](auto x) { return exp(x * x) * erfc(x); }, [](auto x) { return 2 * x * (exp(x * x) * erfc(x)) - two_over_root_pi; });
  add(t, "ndtr", [](auto x) { return cdf(x); }, [](auto x) { return density(x); });
  add(t, "log_ndtr", [](auto x) { return log(cdf(x)); }, [](auto x) { return density(x) / cdf(x); });
  add(t, "cbrt", [](auto x) { return cbrt(x); }, [](auto x) {
    const auto y = cbrt(x);
    return 1 / (3 * y * y);
  });
  constexpr unsigned who = by_plain | by_sleef;
  add<who>(t, "lgamma", [](auto x) { return lgamma(x); }, nullptr);
  add<who>(t, "tgamma", [](auto x) { return tgamma(x); }, nullptr);
  add<who, 2>(t, "lbeta", [](auto x, auto y) { return lgamma(x) + lgamma(y) - lgamma(x + y); }, nullptr);
  add<who, 2>(t, "beta", [](auto x, auto y) { return exp(lgamma(x) + lgamma(y) - lgamma(x + y)); }, nullptr);
  add<who, 2>(t, "lchoose", [](auto x, auto y) { return lgamma(x + 1) - lgamma(y + 1) - lgamma(x - y + 1); }, nullptr);
  add<who>(t, "mvlgamma", [](auto x) { return lgamma(x) + lgamma(x - 0.5) + lgamma(x - 1) + 1.71709482690750752; }, nullptr);
}
