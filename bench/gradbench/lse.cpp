// bench/gradbench/lse.cpp — lse: the logarithm of a sum of e^x, and its gradient.
// SPDX-License-Identifier: BSL-1.0
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural
#include <ebb/functional.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural
constexpr auto value = ebb::compile([](auto x) { return ebb::logsumexp(x); });
constexpr auto gradient = ebb::grad([](auto x) { return ebb::logsumexp(x); });
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
[[gnu::noinline]] double manual(const double* x, std::size_t n) {
  double peak = x[0], sum = 0;
  for (std::size_t i = 1; i < n; ++i) peak = peak < x[i] ? x[i] : peak;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[i] - peak);
  return peak + std::log(sum);
}
[[gnu::noinline]] void manual_gradient(const double* x, double* dx, std::size_t n) {
  double peak = x[0], sum = 0;
  for (std::size_t i = 1; i < n; ++i) peak = peak < x[i] ? x[i] : peak;
  for (std::size_t i = 0; i < n; ++i) sum += dx[i] = std::exp(x[i] - peak);
  for (std::size_t i = 0; i < n; ++i) dx[i] /= sum;
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;
constexpr std::size_t width = ebb::lane_count;

/// The peak, and the sum of e^(x - peak); the terms go to `terms` unless it is null.
std::pair<double, double> peak_and_sum(const double* x, double* terms, std::size_t n) {
  const V least = V::all(-std::numeric_limits<double>::infinity());
  const std::size_t whole = n / width * width;
  const int rest = static_cast<int>(n - whole);
  V peak = least, sum = V::all(0);
  for (std::size_t i = 0; i < whole; i += width) peak = V::at_least(V::load(x + i), peak);
  if (rest) peak = V::at_least(ebb::lane::select(ebb::lanes<bool>::first(rest), V::load(x + whole, rest), least), peak);
  const double top = ebb::fold_halves(peak, [](V a, V b) EBB_LAMBDA { return V::at_least(a, b); });
  for (std::size_t i = 0; i < whole; i += width) {
    const V e = ebb::lane::exp(V::load(x + i) - V::all(top));
    if (terms) e.store(terms + i);
    sum = sum + e;
  }
  if (rest) {
    const V e = ebb::lane::exp(V::load(x + whole, rest) - V::all(top));
    if (terms) e.store(terms + whole, rest);
    sum = sum + ebb::lane::select(ebb::lanes<bool>::first(rest), e, V::all(0));
  }
  return {top, sum_of(sum)};
}
[[gnu::noinline]] double simd(const double* x, std::size_t n) {
  const auto [top, sum] = peak_and_sum(x, nullptr, n);
  return top + std::log(sum);
}
[[gnu::noinline]] void simd_gradient(const double* x, double* dx, std::size_t n) {
  const V scale = V::all(1 / peak_and_sum(x, dx, n).second);
  std::size_t i = 0;
  for (; i + width <= n; i += width) (V::load(dx + i) * scale).store(dx + i);
  if (const int rest = static_cast<int>(n - i)) (V::load(dx + i, rest) * scale).store(dx + i, rest);
}
// lines: end

void size_of(session& s, std::size_t n, double low, double high) {
  generator g(31);
  const vector x = uniform(g, n, low, high);
  const std::span<const double> in(x);
  vector dx(n);
  const std::span<double> out(dx);
  double y = 0;
  const std::vector<candidate> all = {
      {"manual", [&] { y = manual(x.data(), n); }, [&] { manual_gradient(x.data(), dx.data(), n); }},
      {"natural", [&] { value(ebb::into(y), in); }, [&] { gradient(ebb::into(out), in); }},
      {"simd", [&] { y = simd(x.data(), n); }, [&] { simd_gradient(x.data(), dx.data(), n); }},
  };
  std::vector<long double> want(n);
  long double peak = x[0], sum = 0;
  for (const double e : x) peak = std::max(peak, static_cast<long double>(e));
  for (std::size_t i = 0; i < n; ++i) sum += want[i] = std::exp(x[i] - peak);
  for (long double& w : want) w /= sum;
  const std::string size = "n = " + std::to_string(n);
  for (const candidate& c : all) {
    y = 0;
    std::fill(dx.begin(), dx.end(), 0);
    c.primal();
    c.derivative();
    s.check("lse " + size + ", " + c.name + ", value", vector{y}, std::vector<long double>{peak + std::log(sum)}, 1e-13);
    s.check("lse " + size + ", " + c.name + ", gradient", dx, want, 1e-11);
  }
  // only: peer
  if (s.has_peers() && peak > -700) {  // GradBench's takes zero for the peak of negative numbers
    s.add_peer("lse", size, {{}, {x}, {}}, std::vector<long double>{peak + std::log(sum)}, want);
  }
  // only: end
  s.time(size, all);
}

}  // namespace

void lse(session& s) {
  if (s.smoke)
    for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 1000u, 4099u}) {
      size_of(s, n, -100, 100);
      size_of(s, n, -1010, -1000);
    }
  else
    for (std::size_t n = 2500; n <= 1'280'000; n *= 2) size_of(s, n, 0, 1);
  s.total("lse");
}

}  // namespace gradbench
