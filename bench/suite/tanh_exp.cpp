// bench/suite/tanh_exp.cpp — row a: the sum of tanh(0.7 x + 0.1) e^(-x^2), and its gradient.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::lane_count, ebb::lanes, ebb::fold_halves, ebb::into;
namespace lane = ebb::lane;

constexpr auto gradient = ebb::value_and_grad([](auto x) { return ebb::sum(ebb::tanh(0.7 * x + 0.1) * ebb::exp(-(x * x))); });

/// Fused: with fma wherever it saves an instruction. Otherwise with the separate products and sums of the program, which must not be fused.
template <bool Fused, class T>
EBB_INLINE lanes<T> element(lanes<T> x, lanes<T>& dx) {
  using V = lanes<T>;
  const V c = V::all(T(0.7)), d = V::all(T(0.1)), t = lane::tanh(Fused ? lane::fma(x, c, d) : x * c + d), e = lane::exp(-(x * x)),
          te = t * e;
  if constexpr (Fused) dx = lane::fma(e, lane::fma(-(c * t), t, c), -((x + x) * te));
  else dx = e * (V::all(1) - t * t) * c - (x + x) * te;
  return te;
}

/// Two registers of sums; lanes after the end count as 0.
template <bool Fused, class T>
[[gnu::noinline]] T hand(const T* x, T* dx, std::size_t n) {
  using V = lanes<T>;
  V sum0 = V::all(0), sum1 = V::all(0), d0, d1;
  std::size_t i = 0;
  for (; i + 2 * lane_count <= n; i += 2 * lane_count) {
    sum0 = sum0 + element<Fused>(V::load(x + i), d0);
    sum1 = sum1 + element<Fused>(V::load(x + i + lane_count), d1);
    d0.store(dx + i);
    d1.store(dx + i + lane_count);
  }
  if (i + lane_count <= n) {
    sum0 = sum0 + element<Fused>(V::load(x + i), d0);
    d0.store(dx + i);
    i += lane_count;
  }
  if (const int rest = static_cast<int>(n - i)) {
    const V te = element<Fused>(V::load(x + i, rest), d0);
    sum1 = sum1 + lane::select(lanes<bool>::first(rest), te, V::all(0));
    d0.store(dx + i, rest);
  }
  return fold_halves(sum0 + sum1, [](V a, V b) EBB_LAMBDA { return a + b; });
}

template <class T, bool Fused = true>
void rows_of(session& s, std::initializer_list<row> rows) {
  for (const row& r : rows) {
    if (!s.wanted(r.key, r.type, r.n)) continue;
    generator g(42);
    const array<T> x(g, r.n, -2, 2);
    array<T> dx(r.n);
    T value = 0;
    const std::span<const T> in(x);
    const std::span<T> out(dx.data(), r.n);
    const auto by_ebb = [&] { gradient(into(value, out), in); };
    const auto by_hand = [&] { value = hand<Fused>(x.data(), dx.data(), r.n); };
    const auto by_plain = [&] { value = plain::tanh_exp(x.data(), dx.data(), r.n); };

    if (s.how != session::mode::count) {
      std::vector<long double> want(r.n);
      long double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < r.n; ++i) {
        const long double v = x[i], c = T(0.7), d = T(0.1), t = std::tanh(c * v + d), e = std::exp(-v * v);
        sum += t * e;
        magnitude += std::fabs(t * e);
        want[i] = (1 - t * t) * c * e - 2 * v * t * e;
      }
      by_ebb();
      s.check(r, "ebb", "value", &value, &sum, 1, 16, magnitude);
      s.check(r, "ebb", "gradient", dx.data(), want.data(), r.n, 8);
      by_hand();
      s.check(r, "hand", "value", &value, &sum, 1, 1000, magnitude);  // the error of sums of 1e7 terms without a cascade
      s.check(r, "hand", "gradient", dx.data(), want.data(), r.n, 8);
    }
    s.measure(r, by_ebb, by_hand, by_plain);
  }
}

}  // namespace

void tanh_exp(session& s) {
  rows_of<double>(s, {{"a", "double", 16, 250, 33.7, 1.3},
                      {"a", "double", 1000, 15.4e3, 1.85e3, 1.15},
                      {"a", "double", 100'000, 2.16e6, 185e3, 1.15},
                      {"a", "double", 10'000'000, 218e6, 18.7e6, 1.15}});
  rows_of<float>(s, {{"a", "float", 16, 260, 14.3, 1.4},
                     {"a", "float", 1000, 16.3e3, 628, 1.2},
                     {"a", "float", 100'000, 2.06e6, 61.8e3, 1.2},
                     {"a", "float", 10'000'000, 207e6, 6.23e6, 1.2}});
  rows_of<double, false>(s, {{"a-unfused", "double", 1000, 0, 0, 1.05}, {"a-unfused", "double", 100'000, 0, 0, 1.05}});
  rows_of<float, false>(s, {{"a-unfused", "float", 1000, 0, 0, 1.05}, {"a-unfused", "float", 100'000, 0, 0, 1.05}});
}

}  // namespace suite
