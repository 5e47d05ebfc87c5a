// bench/ops/arithmetic.peer.cpp — arithmetic, powers, rounding and comparisons by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

template <class T, class F, int Arity>
[[gnu::noinline]] void run_truth(const T* const* in, void* const* out, std::size_t n) {
  const T* __restrict x = in[0];
  const T* __restrict y = in[Arity - 1];
  bool* __restrict to = static_cast<bool*>(out[0]);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (Arity == 1) to[i] = F{}(x[i]);
    else to[i] = F{}(x[i], y[i]);
  }
}
template <int Arity, class F>
void add_truth(ops::table& t, const char* name, F) {
  t.peers.push_back({name, "plain", false, &run_truth<float, F, Arity>, &run_truth<double, F, Arity>});
}

/// The gradient of a choice: 1 for the operand that is the result.
template <class N>
ops::pair<N> first_if(bool mask, N) {
  return {select(mask, N(1.0), N(0.0)), select(mask, N(0.0), N(1.0))};
}

/// lerp has three operands.
template <class T>
[[gnu::noinline]] void run_lerp(const T* const* in, void* const* out, std::size_t n) {
  const T* __restrict a = in[0];
  const T* __restrict b = in[1];
  const T* __restrict w = in[2];
  T* __restrict r = static_cast<T*>(out[0]);
  for (std::size_t i = 0; i < n; ++i) r[i] = w[i] < T(0.5) ? a[i] + w[i] * (b[i] - a[i]) : b[i] - (b[i] - a[i]) * (1 - w[i]);
}
template <class T>
[[gnu::noinline]] void run_lerp_gradient(const T* const* in, void* const* out, std::size_t n) {
  const T* __restrict a = in[0];
  const T* __restrict b = in[1];
  const T* __restrict w = in[2];
  T* __restrict da = static_cast<T*>(out[0]);
  T* __restrict db = static_cast<T*>(out[1]);
  T* __restrict dw = static_cast<T*>(out[2]);
  for (std::size_t i = 0; i < n; ++i) {
    da[i] = 1 - w[i];
    db[i] = w[i];
    dw[i] = b[i] - a[i];
  }
}

}  // namespace

void ops::peers_of_arithmetic(table& t) {
  constexpr unsigned p = by_plain;
  add<p, 2>(t, "add", [](auto x, auto y) { return x + y; }, [](auto x, auto) { return pair<decltype(x)>{1.0, 1.0}; });
  add<p, 2>(t, "sub", [](auto x, auto y) { return x - y; }, [](auto x, auto) { return pair<decltype(x)>{1.0, -1.0}; });
  add<p, 2>(t, "mul", [](auto x, auto y) { return x * y; }, [](auto x, auto y) { return pair<decltype(x)>{y, x}; });
  add<p, 2>(t, "div", [](auto x, auto y) { return x / y; }, [](auto x, auto y) {
    const auto r = 1 / y;
    return pair<decltype(x)>{r, -(x / y) * r};
  });
  add<p>(t, "neg", [](auto x) { return -x; }, [](auto x) { return decltype(x)(-1.0); });
  const auto sign = [](auto x) { return select(x > 0.0, decltype(x)(1.0), select(x < 0.0, decltype(x)(-1.0), decltype(x)(0.0))); };
  add<p>(t, "abs", [](auto x) { return abs(x); }, sign);  // the slope at 0 is 0
  add<p>(t, "sign", sign,
         [](auto x) { return decltype(x)(0.0); });
  add<p>(t, "square", [](auto x) { return x * x; }, [](auto x) { return 2 * x; });
  add<p>(t, "reciprocal", [](auto x) { return 1 / x; }, [](auto x) {
    const auto r = 1 / x;
    return -r * r;
  });
  add<p>(t, "sqrt", [](auto x) { return sqrt(x); }, [](auto x) { return 0.5 / sqrt(x); });
  add<p>(t, "rsqrt", [](auto x) { return 1 / sqrt(x); }, [](auto x) { return -0.5 / (x * sqrt(x)); });
  add<by_all, 2>(t, "pow", [](auto x, auto y) { return pow(x, y); }, [](auto x, auto y) {
    const auto z = pow(x, y);
    return pair<decltype(x)>{y * z / x, z * log(x)};
  });
  add<p, 2>(t, "maximum", [](auto x, auto y) { return max(x, y); }, [](auto x, auto y) { return first_if(x > y, x); });
  add<p, 2>(t, "minimum", [](auto x, auto y) { return min(x, y); }, [](auto x, auto y) { return first_if(x < y, x); });
  add<p, 2>(t, "fmax", [](auto x, auto y) { return max(x, y); }, [](auto x, auto y) { return first_if(x > y, x); });
  add<p, 2>(t, "fmin", [](auto x, auto y) { return min(x, y); }, [](auto x, auto y) { return first_if(x < y, x); });
  add<p, 2>(t, "where", [](auto x, auto y) { return select(x > 0.0, x, y); }, [](auto x, auto) { return first_if(x > 0.0, x); });
  add<p>(
      t, "clamp", [](auto x) { return min(max(x, -1.0), 1.0); },
      [](auto x) { return select(abs(x) > 1.0, decltype(x)(0.0), decltype(x)(1.0)); });
  add<p>(t, "clamp_min", [](auto x) { return max(x, -1.0); }, [](auto x) { return select(x < -1.0, decltype(x)(0.0), decltype(x)(1.0)); });
  add<p>(t, "clamp_max", [](auto x) { return min(x, 1.0); }, [](auto x) { return select(x > 1.0, decltype(x)(0.0), decltype(x)(1.0)); });

  t.peers.push_back({"lerp", "plain", false, &run_lerp<float>, &run_lerp<double>});
  t.peers.push_back({"lerp", "plain", true, &run_lerp_gradient<float>, &run_lerp_gradient<double>});
  add<p>(t, "floor", [](auto x) { return floor(x); }, nullptr);
  add<p>(t, "ceil", [](auto x) { return ceil(x); }, nullptr);
  add<p>(t, "trunc", [](auto x) { return trunc(x); }, nullptr);
  add<p>(t, "round", [](auto x) { return rint(x); }, nullptr);
  add<p>(t, "frac", [](auto x) { return x - trunc(x); }, [](auto x) { return decltype(x)(1.0); });
  add<p>(t, "round_to", [](auto x) { return rint(x * 100) / 100; }, nullptr);
  add<p, 2>(t, "fmod", [](auto x, auto y) { return fmod(x, y); }, [](auto x, auto y) { return pair<decltype(x)>{1.0, -trunc(x / y)}; });
  add<p, 2>(t, "remainder", [](auto x, auto y) {
    const auto r = fmod(x, y);
    return select(r * y < 0.0, r + y, r);
  }, [](auto x, auto y) { return pair<decltype(x)>{1.0, -floor(x / y)}; });
  add<p, 2>(t, "floor_divide", [](auto x, auto y) { return floor(x / y); }, nullptr);
  add<p, 2>(t, "copysign", [](auto x, auto y) { return copysign(x, y); }, nullptr);
  add<p>(t, "ldexp", [](auto x) { return 8 * x; }, [](auto x) { return decltype(x)(8.0); });
  add<p>(t, "nan_to_num", [](auto x) { return select(abs(x) < 3e38, x, decltype(x)(0.0)); },
         [](auto x) { return select(abs(x) < 3e38, decltype(x)(1.0), decltype(x)(0.0)); });
  add<p, 2>(t, "nextafter", [](auto x, auto y) { return nextafter(x, y); }, nullptr);
  add_truth<2>(t, "less", [](auto x, auto y) { return x < y; });
  add_truth<2>(t, "less_equal", [](auto x, auto y) { return x <= y; });
  add_truth<2>(t, "greater", [](auto x, auto y) { return x > y; });
  add_truth<2>(t, "greater_equal", [](auto x, auto y) { return x >= y; });
  add_truth<2>(t, "equal", [](auto x, auto y) { return x == y; });
  add_truth<2>(t, "not_equal", [](auto x, auto y) { return x != y; });
  add_truth<1>(t, "isnan", [](auto x) { return x != x; });
  add_truth<1>(t, "isinf", [](auto x) { return std::fabs(x) == decltype(x)(INFINITY); });
  add_truth<1>(t, "isfinite", [](auto x) { return std::fabs(x) < decltype(x)(INFINITY); });
  add_truth<1>(t, "isposinf", [](auto x) { return x == decltype(x)(INFINITY); });
  add_truth<1>(t, "isneginf", [](auto x) { return x == -decltype(x)(INFINITY); });
  add_truth<1>(t, "signbit", [](auto x) { return std::signbit(x); });
}
