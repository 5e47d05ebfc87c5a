// bench/suite/streams.cpp — fused groups with little arithmetic, which show the cost around it: cheap ops only, and two widths in one
// group.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::convert, ebb::fold_halves, ebb::into, ebb::lane_count, ebb::lanes;
namespace lane = ebb::lane;

constexpr auto cheap_gradient = ebb::value_and_grad<0, 1>([](auto x, auto w) { return ebb::sum((x * w + x) * (w - x) * w); });
constexpr auto mixed_gradient = ebb::value_and_grad<0, 1>([](auto x, auto y) {
  auto d = ebb::cast<double>(x);
  return ebb::sum(ebb::exp(d * y) * d);
});

// The reference computes the program's products and sums: without contraction they are not fused in either.
template <class T>
EBB_INLINE lanes<T> cheap_element(lanes<T> x, lanes<T> w, lanes<T>& dx, lanes<T>& dw) {
  const lanes<T> a = x * w + x, b = w - x, ab = a * b, gb = w * a, ga = w * b;
  dx = (ga - gb) + ga * w;
  dw = (ab + gb) + ga * x;
  return ab * w;
}
template <class T>
[[gnu::noinline]] T cheap_by_hand(const T* x, const T* w, T* dx, T* dw, std::size_t n) {
  using V = lanes<T>;
  V sum0 = V::all(0), sum1 = V::all(0), dx0, dw0, dx1, dw1;
  std::size_t i = 0;
  for (; i + 2 * lane_count <= n; i += 2 * lane_count) {
    sum0 = sum0 + cheap_element(V::load(x + i), V::load(w + i), dx0, dw0);
    sum1 = sum1 + cheap_element(V::load(x + i + lane_count), V::load(w + i + lane_count), dx1, dw1);
    dx0.store(dx + i);
    dw0.store(dw + i);
    dx1.store(dx + i + lane_count);
    dw1.store(dw + i + lane_count);
  }
  for (; i < n; i += lane_count) {
    const int rest = n - i < lane_count ? static_cast<int>(n - i) : lane_count;
    sum0 = sum0 + cheap_element(V::load(x + i, rest), V::load(w + i, rest), dx0, dw0);  // 0 in lanes after the end
    dx0.store(dx + i, rest);
    dw0.store(dw + i, rest);
  }
  return fold_halves(sum0 + sum1, [](V a, V b) EBB_LAMBDA { return a + b; });
}

[[gnu::noinline]] double mixed_by_hand(const float* x, const double* y, float* dx, double* dy, std::size_t n) {
  using V = lanes<double>;
  V sum = V::all(0);
  const auto element = [&](V d, V v, lanes<float>& dxi, V& dyi) EBB_LAMBDA {
    const V e = lane::exp(d * v), g = d * e;
    sum = sum + g;
    dxi = convert<float>(e + g * v);
    dyi = g * d;
  };
  lanes<float> dxi;
  V dyi;
  std::size_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    element(convert<double>(lanes<float>::load(x + i)), V::load(y + i), dxi, dyi);
    dxi.store(dx + i);
    dyi.store(dy + i);
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    element(convert<double>(lanes<float>::load(x + i, rest)), V::load(y + i, rest), dxi, dyi);
    dxi.store(dx + i, rest);
    dyi.store(dy + i, rest);
  }
  return fold_halves(sum, [](V a, V b) EBB_LAMBDA { return a + b; });
}

/// 16 elements are hardly any work: such a row shows the cost of the call itself.
constexpr double goal_of(std::size_t n) { return n < 1000 ? 0 : 1.05; }

template <class T>
void cheap(session& s, std::size_t n) {
  const row r{"cheap", name_of<T>, n, 0, 0, goal_of(n)};
  if (!s.wanted(r.key, r.type, n)) return;
  generator g(52);
  const array<T> x(g, n, -1, 1), w(g, n, -1, 1);
  array<T> dx(n), dw(n);
  T value = 0;
  const std::span<const T> x_in(x), w_in(w);
  const std::span<T> dx_out(dx.data(), n), dw_out(dw.data(), n);
  const auto by_ebb = [&] { cheap_gradient(into(value, dx_out, dw_out), x_in, w_in); };
  const auto by_hand = [&] { value = cheap_by_hand(x.data(), w.data(), dx.data(), dw.data(), n); };
  const auto by_plain = [&] { value = plain::cheap(x.data(), w.data(), dx.data(), dw.data(), n); };

  if (s.how != session::mode::count) {
    std::vector<long double> want_x(n), want_w(n);
    long double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double u = x[i], v = w[i];
      sum += (u * v + u) * (v - u) * v;
      magnitude += std::fabs((u * v + u) * (v - u) * v);
      want_x[i] = (v + 1) * (v - u) * v - (u * v + u) * v;
      want_w[i] = u * (v - u) * v + (u * v + u) * v + (u * v + u) * (v - u);
    }
    by_ebb();
    s.check(r, "ebb", "value", &value, &sum, 1, 16, magnitude);
    s.check(r, "ebb", "gradient by x", dx.data(), want_x.data(), n, 8);
    s.check(r, "ebb", "gradient by w", dw.data(), want_w.data(), n, 8);
    by_hand();
    s.check(r, "hand", "value", &value, &sum, 1, 500, magnitude);
    s.check(r, "hand", "gradient by x", dx.data(), want_x.data(), n, 8);
    s.check(r, "hand", "gradient by w", dw.data(), want_w.data(), n, 8);
  }
  s.measure(r, by_ebb, by_hand, by_plain);
}

void mixed(session& s, std::size_t n) {
  const row r{"mixed", "both", n, 0, 0, goal_of(n)};
  if (!s.wanted(r.key, r.type, n)) return;
  generator g(53);
  const array<float> x(g, n, -1, 1);
  const array<double> y(g, n, -1, 1);
  array<float> dx(n);
  array<double> dy(n);
  double value = 0;
  const std::span<const float> x_in(x);
  const std::span<const double> y_in(y);
  const std::span<float> dx_out(dx.data(), n);
  const std::span<double> dy_out(dy.data(), n);
  const auto by_ebb = [&] { mixed_gradient(into(value, dx_out, dy_out), x_in, y_in); };
  const auto by_hand = [&] { value = mixed_by_hand(x.data(), y.data(), dx.data(), dy.data(), n); };
  const auto by_plain = [&] { value = plain::mixed(x.data(), y.data(), dx.data(), dy.data(), n); };

  if (s.how != session::mode::count) {
    std::vector<long double> want_x(n), want_y(n);
    long double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double u = x[i], v = y[i], e = std::exp(u * v);
      sum += e * u;
      magnitude += std::fabs(e * u);
      want_x[i] = e + u * v * e;
      want_y[i] = u * u * e;
    }
    by_ebb();
    s.check(r, "ebb", "value", &value, &sum, 1, 16, magnitude);
    s.check(r, "ebb", "gradient by x", dx.data(), want_x.data(), n, 4);
    s.check(r, "ebb", "gradient by y", dy.data(), want_y.data(), n, 8);
    by_hand();
    s.check(r, "hand", "value", &value, &sum, 1, 500, magnitude);
    s.check(r, "hand", "gradient by x", dx.data(), want_x.data(), n, 4);
    s.check(r, "hand", "gradient by y", dy.data(), want_y.data(), n, 8);
  }
  s.measure(r, by_ebb, by_hand, by_plain);
}

}  // namespace

void streams(session& s) {
  for (const std::size_t n : {std::size_t{16}, std::size_t{1000}, std::size_t{1008}, std::size_t{4096}, std::size_t{100'000}}) {
    cheap<float>(s, n);
    cheap<double>(s, n);
    mixed(s, n);
  }
}

}  // namespace suite
