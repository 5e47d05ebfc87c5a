// bench/ops/activation.peer.cpp — activations by others.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

constexpr double root_half = 0.70710678118654752440, density_0 = 0.39894228040143267794;
constexpr double selu_scale = 1.0507009873554804934, selu_alpha = 1.6732632423543772848;
constexpr double tanh_scale = 0.79788456080286535588, cubic = 0.044715;

template <class N>
N one(N) {
  return 1.0;
}
template <class N>
N zero(N) {
  return 0.0;
}
auto logistic(auto x) { return 1 / (1 + exp(-x)); }

}  // namespace

void ops::peers_of_activation(table& t) {
  add(t, "silu", [](auto x) { return x * logistic(x); }, [](auto x) {
    const auto s = logistic(x);
    return s + x * s * (1 - s);
  });
  add(t, "quick_gelu", [](auto x) { return x * logistic(1.702 * x); }, [](auto x) {
    const auto s = logistic(1.702 * x);
    return s + 1.702 * x * s * (1 - s);
  });
  add(t, "mish", [](auto x) {
    const auto e = exp(x), n = e * (e + 2);
    return x * n / (n + 2);
  }, [](auto x) {
    const auto e = exp(x), n = e * (e + 2), y = n / (n + 2), s = e / (1 + e);
    return y + x * s * (1 - y * y);
  });
  add(t, "gelu", [](auto x) { return 0.5 * x * (1 + erf(root_half * x)); }, [](auto x) {
    return 0.5 * (1 + erf(root_half * x)) + x * density_0 * exp(-0.5 * x * x);
  });
  add(t, "gelu_tanh", [](auto x) { return 0.5 * x * (1 + tanh(tanh_scale * (x + cubic * x * x * x))); }, [](auto x) {
    const auto y = tanh(tanh_scale * (x + cubic * x * x * x));
    return 0.5 * (1 + y) + 0.5 * x * (1 - y * y) * tanh_scale * (1 + 3 * cubic * x * x);
  });
  add(t, "elu", [](auto x) { return select(x > 0.0, x, expm1(x)); }, [](auto x) { return select(x > 0.0, decltype(x)(1.0), exp(x)); });
  add(t, "selu", [](auto x) { return selu_scale * select(x > 0.0, x, selu_alpha * expm1(x)); },
      [](auto x) { return selu_scale * select(x > 0.0, decltype(x)(1.0), selu_alpha * exp(x)); });
  add(t, "celu", [](auto x) { return select(x > 0.0, x, expm1(x)); }, [](auto x) { return select(x > 0.0, decltype(x)(1.0), exp(x)); });
  add<by_plain>(t, "softsign", [](auto x) { return x / (1 + abs(x)); }, [](auto x) {
    const auto r = 1 / (1 + abs(x));
    return r * r;
  });
  add(t, "tanhshrink", [](auto x) { return x - tanh(x); }, [](auto x) {
    const auto y = tanh(x);
    return y * y;
  });
  add<by_plain>(
      t, "squareplus", [](auto x) { return 0.5 * (x + sqrt(x * x + 4)); }, [](auto x) { return 0.5 + 0.5 * x / sqrt(x * x + 4); });

  constexpr unsigned p = by_plain;
  add<p>(t, "relu", [](auto x) { return max(x, 0.0); }, [](auto x) { return select(x > 0.0, one(x), zero(x)); });
  add<p>(t, "relu6", [](auto x) { return min(max(x, 0.0), 6.0); }, [](auto x) { return select(abs(x - 3) < 3.0, one(x), zero(x)); });
  add<p>(
      t, "leaky_relu", [](auto x) { return select(x > 0.0, x, 0.01 * x); },
      [](auto x) { return select(x > 0.0, one(x), decltype(x)(0.01)); });
  add<p>(
      t, "prelu", [](auto x) { return select(x > 0.0, x, 0.25 * x); }, [](auto x) { return select(x > 0.0, one(x), decltype(x)(0.25)); });
  add<p>(t, "hardtanh", [](auto x) { return min(max(x, -1.0), 1.0); }, [](auto x) { return select(abs(x) < 1.0, one(x), zero(x)); });
  add<p>(t, "hardsigmoid", [](auto x) { return min(max(x + 3, 0.0), 6.0) / 6; },
         [](auto x) { return select(abs(x) < 3.0, decltype(x)(1.0 / 6), zero(x)); });
  add<p>(t, "hardswish", [](auto x) { return x * (min(max(x + 3, 0.0), 6.0) / 6); },
         [](auto x) { return select(abs(x) < 3.0, (2 * x + 3) / 6, select(x > 0.0, one(x), zero(x))); });
  add<p>(t, "softshrink", [](auto x) { return select(x > 0.5, x - 0.5, select(x < -0.5, x + 0.5, decltype(x)(0.0))); },
         [](auto x) { return select(abs(x) > 0.5, one(x), zero(x)); });
  add<p>(
      t, "hardshrink", [](auto x) { return select(abs(x) > 0.5, x, decltype(x)(0.0)); },
      [](auto x) { return select(abs(x) > 0.5, one(x), zero(x)); });
  add<p>(
      t, "threshold", [](auto x) { return select(x > 0.5, x, decltype(x)(0.0)); }, [](auto x) { return select(x > 0.5, one(x), zero(x)); });
}
