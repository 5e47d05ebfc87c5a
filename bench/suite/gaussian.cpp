// bench/suite/gaussian.cpp — rows c1 and c2: the logarithm of a Gaussian's density, with its gradient by the parameters and by the points.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::fold_halves, ebb::into, ebb::lane_count, ebb::lanes;

constexpr auto density = [](auto mu, auto sigma, auto x) {
  return -0.5 * ebb::sum(ebb::square((x - mu) / sigma)) - ebb::extent<0>(x) * ebb::log(sigma);
};
constexpr auto by_parameters = ebb::value_and_grad<0, 1>(density);
constexpr auto relaxed_by_parameters = ebb::value_and_grad<0, 1>(ebb::relaxed(density));
constexpr auto by_points = ebb::value_and_grad<2>(density);
constexpr auto relaxed_by_points = ebb::value_and_grad<2>(ebb::relaxed(density));

/// The sums of x - mu and of its squares, in two registers each. Points: the gradient by them is written, too.
template <bool Points, class T>
[[gnu::noinline]] T gaussian_by_hand(T mu, T sigma, const T* x, std::size_t n, T* by_mu, T* by_sigma, T* dx) {
  using V = lanes<T>;
  const V shift = V::all(mu);
  const T reciprocal = 1 / sigma;
  const V slope = V::all(-reciprocal * reciprocal);
  V sum0 = V::all(0), sum1 = V::all(0), squares0 = V::all(0), squares1 = V::all(0);
  std::size_t i = 0;
  for (; i + 2 * lane_count <= n; i += 2 * lane_count) {
    const V d0 = V::load(x + i) - shift, d1 = V::load(x + i + lane_count) - shift;
    squares0 = squares0 + d0 * d0;
    squares1 = squares1 + d1 * d1;
    if constexpr (Points) {
      (d0 * slope).store(dx + i);
      (d1 * slope).store(dx + i + lane_count);
    } else {
      sum0 = sum0 + d0;
      sum1 = sum1 + d1;
    }
  }
  for (; i < n; i += lane_count) {
    const int rest = n - i < lane_count ? static_cast<int>(n - i) : lane_count;
    const V d = ebb::lane::select(ebb::lanes<bool>::first(rest), V::load(x + i, rest) - shift, V::all(0));
    squares0 = squares0 + d * d;
    if constexpr (Points) (d * slope).store(dx + i, rest);
    else sum0 = sum0 + d;
  }
  const auto add = [](V a, V b) EBB_LAMBDA { return a + b; };
  const T s = fold_halves(sum0 + sum1, add), q = fold_halves(squares0 + squares1, add);
  const T count = static_cast<T>(n), z = q * reciprocal * reciprocal;
  if constexpr (!Points) {
    *by_mu = s * reciprocal * reciprocal;
    *by_sigma = (z - count) * reciprocal;
  }
  return -z / 2 - count * std::log(sigma);
}

template <class T>
void rows_of(session& s, std::size_t n, double plain1, double limit1, double plain2, double limit2) {
  generator g(44);
  const array<T> x(g, n, -3, 3);
  array<T> dx(n);
  const T mu = T(0.3), sigma = T(1.4);
  T value = 0, by_mu = 0, by_sigma = 0;
  const std::span<const T> in(x);
  const std::span<T> out(dx.data(), n);
  long double sum = 0, magnitude = 0, squares = 0;
  std::vector<long double> want(n);
  for (std::size_t i = 0; i < n; ++i) {
    const long double d = static_cast<long double>(x[i]) - mu, w = sigma;
    sum += d / (w * w);
    magnitude += std::fabs(d / (w * w));
    squares += d * d / (w * w);
    want[i] = -d / (w * w);
  }
  const long double count = static_cast<long double>(n), want_value = -squares / 2 - count * std::log(static_cast<long double>(sigma));
  const long double want_sigma = (squares - count) / sigma, scale = squares + count;
  const auto check = [&](const row& r, const char* who, bool points, long double ulps) {
    s.check(r, who, "value", &value, &want_value, 1, ulps, scale);
    if (points) return s.check(r, who, "gradient", dx.data(), want.data(), n, 8);
    s.check(r, who, "gradient by mu", &by_mu, &sum, 1, ulps, magnitude);
    s.check(r, who, "gradient by sigma", &by_sigma, &want_sigma, 1, ulps, scale);
  };
  const auto run = [&](const row& r, bool points, auto by_ebb, auto by_hand, auto by_plain) {
    if (!s.wanted(r.key, r.type, n)) return;
    if (s.how != session::mode::count) {
      by_ebb();
      check(r, "ebb", points, 32);
      by_hand();
      check(r, "hand", points, 1000);
    }
    s.measure(r, by_ebb, by_hand, by_plain);
  };
  const auto hand1 = [&] { value = gaussian_by_hand<false>(mu, sigma, x.data(), n, &by_mu, &by_sigma, dx.data()); };
  const auto hand2 = [&] { value = gaussian_by_hand<true>(mu, sigma, x.data(), n, &by_mu, &by_sigma, dx.data()); };
  const auto plain_1 = [&] { value = plain::gaussian(mu, sigma, x.data(), n, &by_mu, &by_sigma); };
  const auto plain_2 = [&] { value = plain::gaussian(mu, sigma, x.data(), n, dx.data()); };
  run({"c1", name_of<T>, n, plain1, limit1, 7}, false, [&] { by_parameters(into(value, by_mu, by_sigma), mu, sigma, in); }, hand1, plain_1);
  run({"c1-relaxed", name_of<T>, n, plain1, limit1, 1.4}, false,
      [&] { relaxed_by_parameters(into(value, by_mu, by_sigma), mu, sigma, in); }, hand1, plain_1);
  run({"c2", name_of<T>, n, plain2, limit2, 3}, true, [&] { by_points(into(value, out), mu, sigma, in); }, hand2, plain_2);
  run(
      {"c2-relaxed", name_of<T>, n, plain2, limit2, 1.4}, true, [&] { relaxed_by_points(into(value, out), mu, sigma, in); }, hand2,
      plain_2);
}

}  // namespace

void gaussian(session& s) {
  rows_of<double>(s, 1000, 823, 85.5, 806, 110);
  rows_of<double>(s, 100'000, 82.7e3, 8.86e3, 82.2e3, 18.6e3);
  rows_of<float>(s, 1000, 814, 76, 790, 82.9);
  rows_of<float>(s, 100'000, 82.1e3, 3.96e3, 81.9e3, 8.01e3);
}

}  // namespace suite
