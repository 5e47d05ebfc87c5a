// bench/ops/exponential.peer.cpp — exp, log, hyperbolic and logarithmic functions by others.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

constexpr double ln2 = 0.69314718055994530942, ln10 = 2.30258509299404568402;

auto logistic(auto x) { return 1 / (1 + exp(-x)); }

}  // namespace

void ops::peers_of_exponential(table& t) {
  add(t, "exp", [](auto x) { return exp(x); }, [](auto x) { return exp(x); });
  add(t, "exp2", [](auto x) { return exp2(x); }, [](auto x) { return ln2 * exp2(x); });
  add(t, "exp10", [](auto x) { return exp10(x); }, [](auto x) { return ln10 * exp10(x); });
  add(t, "expm1", [](auto x) { return expm1(x); }, [](auto x) { return exp(x); });
  add(t, "log", [](auto x) { return log(x); }, [](auto x) { return 1 / x; });
  add(t, "log2", [](auto x) { return log2(x); }, [](auto x) { return 1 / (ln2 * x); });
  add(t, "log10", [](auto x) { return log10(x); }, [](auto x) { return 1 / (ln10 * x); });
  add(t, "log1p", [](auto x) { return log1p(x); }, [](auto x) { return 1 / (1 + x); });
  add(t, "tanh", [](auto x) { return tanh(x); }, [](auto x) {
    const auto y = tanh(x);
    return 1 - y * y;
  });
  add(t, "sigmoid", [](auto x) { return logistic(x); }, [](auto x) {
    const auto y = logistic(x);
    return y * (1 - y);
  });
  add(t, "softplus", [](auto x) { return max(x, 0.0) + log1p(exp(-abs(x))); }, [](auto x) { return logistic(x); });
  add(t, "log_sigmoid", [](auto x) { return min(x, 0.0) - log1p(exp(-abs(x))); }, [](auto x) { return logistic(-x); });
  add(t, "sinh", [](auto x) { return sinh(x); }, [](auto x) { return cosh(x); });
  add(t, "cosh", [](auto x) { return cosh(x); }, [](auto x) { return sinh(x); });
  add(t, "asinh", [](auto x) { return asinh(x); }, [](auto x) { return 1 / sqrt(1 + x * x); });
  add(t, "acosh", [](auto x) { return acosh(x); }, [](auto x) { return 1 / sqrt((x - 1) * (x + 1)); });
  add(t, "atanh", [](auto x) { return atanh(x); }, [](auto x) { return 1 / ((1 - x) * (1 + x)); });

  add<by_all, 2>(t, "logaddexp", [](auto x, auto y) { return max(x, y) + log1p(exp(-abs(x - y))); }, [](auto x, auto y) {
    const auto s = logistic(x - y);
    return pair<decltype(x)>{s, 1 - s};
  });
  add<by_all, 2>(t, "logaddexp2", [](auto x, auto y) { return max(x, y) + log2(1 + exp2(-abs(x - y))); }, [](auto x, auto y) {
    const auto s = 1 / (1 + exp2(y - x));
    return pair<decltype(x)>{s, 1 - s};
  });
  add<by_all, 2>(t, "logsubexp", [](auto x, auto y) { return x + log(-expm1(y - x)); }, [](auto x, auto y) {
    const auto q = 1 / expm1(x - y);
    return pair<decltype(x)>{1 + q, -q};
  });
  add(t, "log1mexp", [](auto x) { return log(-expm1(x)); }, [](auto x) { return -1 / expm1(-x); });
  add<by_all, 2>(t, "xlogy", [](auto x, auto y) { return x * log(y); }, [](auto x, auto y) { return pair<decltype(x)>{log(y), x / y}; });
  add<by_all, 2>(
      t, "xlog1py", [](auto x, auto y) { return x * log1p(y); },
      [](auto x, auto y) {
        return pair<decltype(x)>{log1p(y), x / (1 + y)};
      });
  add(t, "entr", [](auto x) { return -x * log(x); }, [](auto x) { return -1 - log(x); });
  add(t, "logit", [](auto x) { return log(x / (1 - x)); }, [](auto x) { return 1 / (x * (1 - x)); });
  add(t, "logcosh", [](auto x) { return abs(x) + log1p(exp(-2 * abs(x))) - ln2; }, [](auto x) { return tanh(x); });
}
