// bench/gradbench/llsq.cpp — llsq: half the sum of squared differences between a polynomial and the sign, and its gradient by the
// coefficients.
// SPDX-License-Identifier: BSL-1.0
//
// `shaped` takes 16 coefficients at a time: a product by the powers below t^16 makes a polynomial in t^16 of them.
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, shaped
#include <ebb/functional.hpp>
// only: end
// only: shaped
#include <ebb/shapes/window.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural
constexpr auto objective = [](auto x, auto t) {
  const auto horner = [](auto p, auto coefficient, auto at) { return std::tuple(p * at + coefficient, std::tuple<>()); };
  const auto [p, none] = ebb::scan<ebb::reversed>(horner, ebb::zeros_like(t), x, ebb::whole(t));
  return 0.5 * ebb::sum(ebb::square(ebb::sign(t) - p));
};
constexpr auto value = ebb::compile(objective);
constexpr auto gradient = ebb::grad(objective);
// lines: end

// lines: shaped
constexpr auto shaped_objective = [](auto x, auto t) {
  const auto t2 = t * t, t4 = t2 * t2, t8 = t4 * t4, t16 = t8 * t8;
  const auto two = ebb::stack<0>(ebb::ones_like(t), t);
  const auto four = ebb::concat<0>(two, two * t2);
  const auto eight = ebb::concat<0>(four, four * t4);
  const auto powers = ebb::concat<0>(eight, eight * t8);
  const auto rows = ebb::matmul(ebb::unfold<0, 16, 16>(ebb::pad<0, 0, 15>(x, 0.0)), powers);
  const auto horner = [](auto p, auto row, auto at) { return std::tuple(p * at + row, std::tuple<>()); };
  const auto [p, none] = ebb::scan<ebb::reversed>(horner, ebb::zeros_like(t), rows, ebb::whole(t16));
  return 0.5 * ebb::sum(ebb::square(ebb::sign(t) - p));
};
constexpr auto shaped_value = ebb::compile(shaped_objective);
constexpr auto shaped_gradient = ebb::grad(shaped_objective);
// lines: end

void fill_with_places(vector& t) {
  const double n = static_cast<double>(t.size());
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = -1 + static_cast<double>(i) * 2 / (n - 1);
}

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
T residual(const T* x, std::size_t m, T t) {
  T r = static_cast<T>((t > 0) - (t < 0)), power = 1;
  for (std::size_t j = 0; j < m; ++j) {
    r -= x[j] * power;
    power *= t;
  }
  return r;
}
template <class T>
[[gnu::noinline]] T manual(const T* x, std::size_t m, std::size_t n) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T r = residual(x, m, -1 + static_cast<T>(i) * 2 / static_cast<T>(n - 1));
    sum += r * r;
  }
  return sum / 2;
}
template <class T>
[[gnu::noinline]] void manual_gradient(const T* x, T* dx, std::size_t m, std::size_t n) {
  for (std::size_t j = 0; j < m; ++j) dx[j] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T t = -1 + static_cast<T>(i) * 2 / static_cast<T>(n - 1);
    T g = -residual(x, m, t);
    for (std::size_t j = 0; j < m; ++j) {
      dx[j] += g;
      g *= t;
    }
  }
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;
constexpr std::size_t width = ebb::lane_count, block = 2 * width;

/// The residuals at 2 lanes of places; none beyond the last place.
void residuals(const double* x, std::size_t m, const double* t, std::size_t count, V& r0, V& r1) {
  const int n0 = static_cast<int>(std::min(count, width)), n1 = static_cast<int>(count) - n0;
  const V t0 = V::load(t, n0), t1 = n1 ? V::load(t + width, n1) : V::all(0), zero = V::all(0), one = V::all(1);
  V p0 = zero, p1 = zero;
  for (std::size_t j = m; j-- > 0;) {
    p0 = ebb::lane::fma(p0, t0, V::all(x[j]));
    p1 = ebb::lane::fma(p1, t1, V::all(x[j]));
  }
  const auto sign = [&](V u) EBB_LAMBDA { return ebb::lane::select(u > zero, one, ebb::lane::select(u < zero, zero - one, zero)); };
  r0 = ebb::lane::select(ebb::lanes<bool>::first(n0), sign(t0) - p0, zero);
  r1 = n1 ? ebb::lane::select(ebb::lanes<bool>::first(n1), sign(t1) - p1, zero) : zero;
}
[[gnu::noinline]] double simd(const double* x, std::size_t m, const double* t, std::size_t n) {
  V sum = V::all(0), r0, r1;
  for (std::size_t i = 0; i < n; i += block) {
    residuals(x, m, t + i, std::min(block, n - i), r0, r1);
    sum = sum + r0 * r0 + r1 * r1;
  }
  return sum_of(sum) / 2;
}
[[gnu::noinline]] void simd_gradient(const double* x, double* dx, double* sums, std::size_t m, const double* t, std::size_t n) {
  std::fill(sums, sums + m * width, 0);
  for (std::size_t i = 0; i < n; i += block) {
    V g0, g1;
    const std::size_t count = std::min(block, n - i);
    const int n0 = static_cast<int>(std::min(count, width)), n1 = static_cast<int>(count) - n0;
    residuals(x, m, t + i, count, g0, g1);
    const V t0 = V::load(t + i, n0), t1 = n1 ? V::load(t + i + width, n1) : V::all(0);
    for (std::size_t j = 0; j < m; ++j) {
      (V::load(sums + j * width) - (g0 + g1)).store(sums + j * width);
      g0 = g0 * t0;
      g1 = g1 * t1;
    }
  }
  for (std::size_t j = 0; j < m; ++j) dx[j] = sum_of(V::load(sums + j * width));
}
// lines: end

void size_of(session& s, std::size_t m, std::size_t n) {
  generator g(32);
  const vector x = uniform(g, m, 0, 1);
  const std::span<const double> in(x);
  vector dx(m), t(n);
  // only: simd
  vector sums(m * width);
  // only: end
  const std::span<double> out(dx);
  double y = 0;
  const auto places = [&] {
    fill_with_places(t);
    return std::span<const double>(t);
  };
  const std::vector<candidate> all = {
      {"manual", [&] { y = manual(x.data(), m, n); }, [&] { manual_gradient(x.data(), dx.data(), m, n); }},
      {"natural", [&] { value(ebb::into(y), in, places()); }, [&] { gradient(ebb::into(out), in, places()); }},
      {"shaped", [&] { shaped_value(ebb::into(y), in, places()); }, [&] { shaped_gradient(ebb::into(out), in, places()); }},
      {"simd", [&] { y = simd(x.data(), m, places().data(), n); },
       [&] { simd_gradient(x.data(), dx.data(), sums.data(), m, places().data(), n); }},
  };
  const std::vector<long double> exact_x(x.begin(), x.end());
  std::vector<long double> want(m);
  const long double exact = manual(exact_x.data(), m, n);
  manual_gradient(exact_x.data(), want.data(), m, n);
  for (const std::size_t j : {std::size_t{0}, m / 2, m - 1}) {  // the exact derivative itself: the objective is quadratic
    std::vector<long double> low = exact_x, high = exact_x;
    low[j] -= 1;
    high[j] += 1;
    const long double slope = (manual(high.data(), m, n) - manual(low.data(), m, n)) / 2;
    session::check("llsq differences", vector{static_cast<double>(slope)}, std::vector<long double>{want[j]}, 1e-12);
  }
  const std::string size = "m = " + std::to_string(m) + ", n = " + std::to_string(n);
  for (const candidate& c : all) {
    y = 0;
    std::fill(dx.begin(), dx.end(), 0);
    c.primal();
    c.derivative();
    s.check("llsq " + size + ", " + c.name + ", value", vector{y}, std::vector<long double>{exact}, 1e-11);
    s.check("llsq " + size + ", " + c.name + ", gradient", dx, want, 1e-10);
  }
  // only: peer
  if (s.has_peers()) s.add_peer("llsq", size, {{n}, {x}, {}}, std::vector<long double>{exact}, want);
  // only: end
  s.time(size, all);
}

}  // namespace

void llsq(session& s) {
  if (s.smoke) {
    for (const std::size_t m : {1u, 2u, 7u, 128u})
      for (const std::size_t n : {2u, 3u, 16u, 33u, 100u}) size_of(s, m, n);
  } else
    for (const std::size_t n : {16u, 32u, 64u, 128u, 256u, 512u, 1024u, 2048u, 4096u, 8196u, 16392u}) size_of(s, 128, n);
  s.total("llsq");
}

}  // namespace gradbench
