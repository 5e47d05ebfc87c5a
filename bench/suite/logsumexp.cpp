// bench/suite/logsumexp.cpp — row b: the logarithm of a sum of e^x, and its gradient, softmax.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::lane_count, ebb::lanes, ebb::fold_halves, ebb::into;
namespace lane = ebb::lane;

constexpr auto gradient = ebb::value_and_grad([](auto x) { return ebb::logsumexp(x); });

/// Three passes, of which the second leaves e^(x - m) in the gradient; or everything in registers.
template <class T>
[[gnu::noinline]] T hand(const T* x, T* dx, std::size_t n) {
  using V = lanes<T>;
  constexpr std::size_t two = 2 * lane_count;
  const auto rest_at = [=](std::size_t i) { return n - i < lane_count ? static_cast<int>(n - i) : lane_count; };
  const V least = V::all(-std::numeric_limits<T>::infinity());
  const auto larger = [](V a, V b) EBB_LAMBDA { return V::at_least(a, b); };
  const auto add = [](V a, V b) EBB_LAMBDA { return a + b; };
  if (n <= lane_count) {
    const int count = static_cast<int>(n);
    const V v = lane::select(lanes<bool>::first(count), V::load(x, count), least);
    const T m = fold_halves(v, larger);
    const V e = lane::exp(v - V::all(m));
    const T sum = fold_halves(e, add);
    (e * V::all(1 / sum)).store(dx, count);
    return lane::log(sum) + m;
  }
  std::size_t i = 0;
  V m0 = least, m1 = least;
  for (; i + two <= n; i += two) {
    m0 = V::at_least(V::load(x + i), m0);
    m1 = V::at_least(V::load(x + i + lane_count), m1);
  }
  for (; i < n; i += lane_count) {
    const int rest = rest_at(i);
    m0 = V::at_least(lane::select(lanes<bool>::first(rest), V::load(x + i, rest), least), m0);
  }
  const T m = fold_halves(V::at_least(m0, m1), larger);
  const V shift = V::all(m);
  V s0 = V::all(0), s1 = V::all(0);
  for (i = 0; i + two <= n; i += two) {
    const V e0 = lane::exp(V::load(x + i) - shift), e1 = lane::exp(V::load(x + i + lane_count) - shift);
    s0 = s0 + e0;
    s1 = s1 + e1;
    e0.store(dx + i);
    e1.store(dx + i + lane_count);
  }
  for (; i < n; i += lane_count) {
    const int rest = rest_at(i);
    const V e = lane::exp(V::load(x + i, rest) - shift);
    s0 = s0 + lane::select(lanes<bool>::first(rest), e, V::all(0));
    e.store(dx + i, rest);
  }
  const T sum = fold_halves(s0 + s1, add);
  const V scale = V::all(1 / sum);
  for (i = 0; i + lane_count <= n; i += lane_count) (V::load(dx + i) * scale).store(dx + i);
  if (i < n) (V::load(dx + i, rest_at(i)) * scale).store(dx + i, rest_at(i));
  return lane::log(sum) + m;
}

template <class T>
void rows_of(session& s, std::initializer_list<row> rows) {
  for (const row& r : rows) {
    if (!s.wanted(r.key, r.type, r.n)) continue;
    generator g(43);
    const array<T> x(g, r.n, -5, 5);
    array<T> dx(r.n);
    T value = 0;
    const std::span<const T> in(x);
    const std::span<T> out(dx.data(), r.n);
    const auto by_ebb = [&] { gradient(into(value, out), in); };
    const auto by_hand = [&] { value = hand(x.data(), dx.data(), r.n); };
    const auto by_plain = [&] { value = plain::logsumexp(x.data(), dx.data(), r.n); };

    if (s.how != session::mode::count) {
      std::vector<long double> want(r.n);
      long double sum = 0;
      for (std::size_t i = 0; i < r.n; ++i) sum += want[i] = std::exp(static_cast<long double>(x[i]));
      for (long double& w : want) w /= sum;
      const long double log_sum = std::log(sum);
      by_ebb();
      s.check(r, "ebb", "value", &value, &log_sum, 1, 16);
      s.check(r, "ebb", "gradient", dx.data(), want.data(), r.n, 32);
      by_hand();
      s.check(r, "hand", "value", &value, &log_sum, 1, 32);
      s.check(r, "hand", "gradient", dx.data(), want.data(), r.n, 200);
    }
    s.measure(r, by_ebb, by_hand, by_plain);
  }
}

}  // namespace

void logsumexp(session& s) {
  rows_of<double>(
      s, {{"b", "double", 10, 59, 28.7, 1.4}, {"b", "double", 1000, 5.54e3, 817, 1.15}, {"b", "double", 100'000, 555e3, 84.9e3, 1.15}});
  rows_of<float>(
      s, {{"b", "float", 10, 40.5, 17.8, 1.6}, {"b", "float", 1000, 3.58e3, 294, 1.2}, {"b", "float", 100'000, 360e3, 28.5e3, 1.2}});
}

}  // namespace suite
