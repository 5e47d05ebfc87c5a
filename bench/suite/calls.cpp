// bench/suite/calls.cpp — the cost of a call without its work: programs so small that hardly any work is left.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <vector>

namespace suite {
namespace {

using ebb::into, ebb::lane_count, ebb::lanes;

constexpr auto twice = ebb::compile([](auto x) { return x * 2; });

[[gnu::noinline]] void twice_by(const float* x, float* y, std::size_t n) {
  using V = lanes<float>;
  std::size_t i = 0;
  for (; i + lane_count <= n; i += lane_count) (V::load(x + i) * V::all(2)).store(y + i);
  if (const int rest = static_cast<int>(n - i)) (V::load(x + i, rest) * V::all(2)).store(y + i, rest);
}

constexpr std::size_t width = 14;
template <template <class, std::size_t...> class Array>
struct state {
  using v = Array<double, width>;
  BOOST_HANA_DEFINE_STRUCT(state, (v, a), (v, b), (v, c), (v, d));
};
template <template <class, std::size_t...> class Array>
struct weights {
  using layer = state<Array>;
  BOOST_HANA_DEFINE_STRUCT(weights, (layer, a), (layer, b), (layer, c), (layer, d));
};
template <template <class, std::size_t...> class Array>
struct extras {
  using v = Array<double, width>;
  BOOST_HANA_DEFINE_STRUCT(extras, (v, a), (v, b), (v, c));
};
using vector = ebb::tensor<double, width>;

/// As many arrays as a step of an LSTM of two layers with its gradient: 29 arguments and 23 results, none of which may be written too
/// early.
constexpr auto many = ebb::compile([](auto w, auto e, auto s, auto seed, auto x, auto y) {
  ebb::each_leaf([&](auto& to, const auto& from) { to = to * x + from; }, s, seed);
  ebb::each_leaf([&](auto& to) { to = to * y; }, w);
  ebb::each_leaf([&](auto& to) { to = to - x; }, e);
  return std::tuple(s, std::tuple(w, e));
});

[[gnu::noinline]] void many_by(const std::vector<const double*>& in, const std::vector<double*>& out) {
  const double* const x = in[27];
  const double* const y = in[28];
  for (std::size_t k = 0; k < 23; ++k)
    for (std::size_t i = 0; i < width; ++i) {
      const double of = in[k][i];
      out[k][i] = k < 16 ? of * y[i] : k < 19 ? of - x[i] : of * x[i] + in[k + 4][i];
    }
}

void calls_with_many_arrays(session& s) {
  const row r{"arrays", "double", width, 0, 0, 0};
  if (!s.wanted(r.key, r.type, r.n)) return;
  generator g(55);
  const auto filled = [&](auto& of) {
    ebb::each_leaf([&](auto& leaf) {
      const array<double> a(g, width, -1, 1);
      std::copy_n(a.data(), width, leaf.mutable_data());
    }, of);
  };
  weights<ebb::tensor> w, d_w;
  extras<ebb::tensor> e, d_e;
  state<ebb::tensor> now, seed, d_now;
  vector x, y;
  filled(w), filled(e), filled(now), filled(seed), filled(x), filled(y);
  std::tuple d(d_w, d_e);
  const auto by_ebb = [&] { many(into(d_now, d), w, e, now, seed, x, y); };
  std::vector<const double*> in;
  const auto read = [&](const auto& of) { ebb::each_leaf([&](const auto& leaf) { in.push_back(leaf.data()); }, of); };
  read(w), read(e), read(now), read(seed), read(x), read(y);
  std::vector<double> memory(23 * width);
  std::vector<double*> out;
  for (std::size_t k = 0; k < 23; ++k) out.push_back(&memory[k * width]);
  const auto by = [&] { many_by(in, out); };
  by_ebb();
  by();
  const std::vector<long double> want(memory.begin(), memory.end());
  std::vector<double> got;
  const auto add = [&](const auto& of) { ebb::each_leaf([&](const auto& leaf) { got.insert(got.end(), leaf.begin(), leaf.end()); }, of); };
  add(std::get<0>(d)), add(std::get<1>(d)), add(d_now);
  s.check(r, "ebb", "results", got.data(), want.data(), got.size(), 0);
  s.measure(r, by_ebb, by, by);
}

/// The price of a European call option by Black and Scholes, and its derivatives by all but the strike: one program of numbers.
constexpr auto price = ebb::value_and_grad<0, 2, 3, 4>([](auto spot, auto strike, auto rate, auto volatility, auto time) {
  const auto deviation = volatility * ebb::sqrt(time);
  const auto d1 = (ebb::log(spot / strike) + (rate + volatility * volatility * 0.5) * time) / deviation;
  return spot * ebb::ndtr(d1) - strike * ebb::exp(-rate * time) * ebb::ndtr(d1 - deviation);
});
/// The same by the C library, with the derivatives in closed form: they share the density of d1.
[[gnu::noinline]] void price_by(const double* of, double* to) {
  const double spot = of[0], strike = of[1], rate = of[2], volatility = of[3], time = of[4];
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const double root = std::sqrt(time), deviation = volatility * root;
  const double d1 = (std::log(spot / strike) + (rate + volatility * volatility * 0.5) * time) / deviation;
  const double first = normal(d1), second = normal(d1 - deviation), paid = strike * std::exp(-rate * time);
  const double density = spot * std::exp(-0.5 * d1 * d1) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  to[0] = spot * first - paid * second;
  to[1] = first;
  to[2] = paid * time * second;
  to[3] = density * root;
  to[4] = density * volatility / (2 * root) + rate * paid * second;
}

void price_of_an_option(session& s) {
  const row r{"price", "double", 1, 0, 0, 1.15};
  if (!s.wanted(r.key, r.type, r.n)) return;
  const double of[] = {100, 105, 0.02, 0.25, 0.75};
  double by_hand[5], by_ebb[5];
  const auto hand = [&] { price_by(of, by_hand); };
  const auto ebb_call = [&] {
    const auto [value, d_spot, d_rate, d_volatility, d_time] = price(of[0], of[1], of[2], of[3], of[4]);
    by_ebb[0] = value;
    by_ebb[1] = d_spot;
    by_ebb[2] = d_rate;
    by_ebb[3] = d_volatility;
    by_ebb[4] = d_time;
  };
  hand();
  ebb_call();
  const std::vector<long double> want(by_hand, by_hand + 5);
  s.check(r, "ebb", "price and derivatives", by_ebb, want.data(), want.size(), 8);
  s.measure(r, ebb_call, hand, hand);
}

}  // namespace

void calls(session& s) {
  calls_with_many_arrays(s);
  price_of_an_option(s);
  for (const std::size_t n : {std::size_t{16}, std::size_t{10}}) {
    const row r{"call", "float", n, 0, 0, 0};
    if (!s.wanted(r.key, r.type, n)) continue;
    generator g(54);
    const array<float> x(g, n, -1, 1);
    array<float> y(n);
    const std::span<const float> in(x);
    const std::span<float> out(y.data(), n);
    const auto by_ebb = [&] { twice(into(out), in); };
    const auto by = [&] { twice_by(x.data(), y.data(), n); };
    const auto by_plain = [&] { plain::twice(x.data(), y.data(), n); };
    std::vector<long double> want(n);
    for (std::size_t i = 0; i < n; ++i) want[i] = 2 * static_cast<long double>(x[i]);
    by_ebb();
    by();
    s.check(r, "ebb", "result", y.data(), want.data(), n, 0);
    s.check(r, "hand", "result", y.data(), want.data(), n, 0);
    s.measure(r, by_ebb, by, by_plain);
  }
  if (s.how == session::mode::count) return;
  std::printf("\nbeside its work a call takes, in ns:\n");
  for (const auto& x : s.results)
    if (x.of.n > 1 && x.of.n <= 16) std::printf("  %-6s %-6s n = %-4zu %6.1f\n", x.of.key, x.of.type, x.of.n, x.ebb - x.hand);
}

}  // namespace suite
