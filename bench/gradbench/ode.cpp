// bench/gradbench/ode.cpp — ode: y_i' = x_i y_(i-1), y_0' = x_0, from 0 to t = 2 by Runge-Kutta of order 4, and the gradient of the last
// element.
// SPDX-License-Identifier: BSL-1.0
#include "manual.hpp"
#include "session.hpp"

#include <ebb/functional.hpp>

namespace gradbench {
namespace {

// lines: natural
constexpr auto rate = [](auto x, auto y) { return x * ebb::pad<0, 1, 0>(ebb::slice<0, 0, -1>(y), 1.0); };
constexpr auto step = [](auto y, auto h, auto x) {
  const auto k1 = rate(x, y), k2 = rate(x, y + h / 2 * k1), k3 = rate(x, y + h / 2 * k2), k4 = rate(x, y + h * k3);
  return std::tuple(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), std::tuple<>());
};
constexpr auto solve = [](auto x, auto h) { return std::get<0>(ebb::scan(step, ebb::zeros_like(x), h, ebb::whole(x))); };
constexpr auto solution = ebb::compile(solve);
constexpr auto gradient = ebb::grad([](auto x, auto h) { return ebb::select<0, -1>(solve(x, h)); });
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
struct space {  // memory that is kept from call to call
  std::vector<T> k1, k2, k3, z, history, seed, back;
  space(std::size_t n, std::size_t s) : k1(n), k2(n), k3(n), z(n), history(n * (s + 1)), seed(n), back(n) {}
};
/// z = y + h k, to = F(z).
template <class T>
[[gnu::noinline]] void stage(const T* __restrict x, const T* __restrict y, T h, const T* __restrict k, T* __restrict to, std::size_t n) {
  to[0] = x[0];
  for (std::size_t i = 1; i < n; ++i) to[i] = x[i] * (y[i - 1] + h * k[i - 1]);
}
template <class T>
[[gnu::noinline]] void first_stage(const T* __restrict x, const T* __restrict y, T* __restrict to, std::size_t n) {
  to[0] = x[0];
  for (std::size_t i = 1; i < n; ++i) to[i] = x[i] * y[i - 1];
}
template <class T>
[[gnu::noinline]] void last_stage(const T* __restrict x, const T* __restrict y, T h, const T* __restrict k1, const T* __restrict k2,
                                  const T* __restrict k3, T* __restrict to, std::size_t n) {
  to[0] = y[0] + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + x[0]);
  for (std::size_t i = 1; i < n; ++i)
    to[i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + x[i] * (y[i - 1] + h * k3[i - 1]));
}
/// The history ends with the solution.
template <class T>
[[gnu::noinline]] void manual(const T* x, std::size_t n, std::size_t s, space<T>& m) {
  const T h = T(2) / static_cast<T>(s);
  for (std::size_t i = 0; i < n; ++i) m.history[i] = 0;
  for (std::size_t e = 0; e < s; ++e) {
    const T* const y = m.history.data() + e * n;
    first_stage(x, y, m.k1.data(), n);
    stage(x, y, h / 2, m.k1.data(), m.k2.data(), n);
    stage(x, y, h / 2, m.k2.data(), m.k3.data(), n);
    last_stage(x, y, h, m.k1.data(), m.k2.data(), m.k3.data(), m.history.data() + (e + 1) * n, n);
  }
}
/// For the cotangent g = a seed + b back of F(y + h k): dx += g (y + h k) shifted, to = g x shifted back, sum += to.
template <class T>
[[gnu::noinline]] void stage_back(const T* __restrict x, const T* __restrict y, T h, const T* __restrict k, T a, const T* __restrict seed,
                                  T b, const T* __restrict back, T* __restrict dx, T* __restrict to, T* __restrict sum, std::size_t n) {
  dx[0] += a * seed[0] + b * back[0];
  for (std::size_t i = 1; i < n; ++i) {
    const T g = a * seed[i] + b * back[i];
    dx[i] += g * (y[i - 1] + h * k[i - 1]);
    to[i - 1] = g * x[i];
    sum[i - 1] += g * x[i];
  }
  to[n - 1] = 0;
}
template <class T>
[[gnu::noinline]] void manual_gradient(const T* x, T* dx, std::size_t n, std::size_t s, space<T>& m, std::vector<T>& other,
                                       std::vector<T>& sum) {
  manual(x, n, s, m);
  const T h = T(2) / static_cast<T>(s);
  for (std::size_t i = 0; i < n; ++i) dx[i] = m.seed[i] = 0;
  m.seed[n - 1] = 1;
  for (std::size_t e = s; e-- > 0;) {
    const T* const y = m.history.data() + e * n;
    first_stage(x, y, m.k1.data(), n);
    stage(x, y, h / 2, m.k1.data(), m.k2.data(), n);
    stage(x, y, h / 2, m.k2.data(), m.k3.data(), n);
    std::copy(m.seed.begin(), m.seed.end(), sum.begin());
    stage_back(x, y, h, m.k3.data(), h / 6, m.seed.data(), T(0), m.seed.data(), dx, m.back.data(), sum.data(), n);
    stage_back(x, y, h / 2, m.k2.data(), h / 3, m.seed.data(), h, m.back.data(), dx, other.data(), sum.data(), n);
    stage_back(x, y, h / 2, m.k1.data(), h / 3, m.seed.data(), h / 2, other.data(), dx, m.back.data(), sum.data(), n);
    stage_back(x, y, T(0), m.k1.data(), h / 6, m.seed.data(), h / 2, m.back.data(), dx, other.data(), sum.data(), n);
    m.seed.swap(sum);
  }
}
// lines: end
GRADBENCH_MANUAL_END

void size_of(session& s, std::size_t n, std::size_t steps) {
  generator g(34);
  const vector x = uniform(g, n, s.smoke ? 0.5 : 0, s.smoke ? 2 : 1), h(steps, 2 / static_cast<double>(steps));
  const std::span<const double> in(x), lengths(h);
  vector y(n), dx(n), other(n), sum(n);
  const std::span<double> y_out(y), dx_out(dx);
  space<double> memory(n, steps);
  const std::vector<candidate> all = {
      {"manual", [&] { manual(x.data(), n, steps, memory); }, [&] { manual_gradient(x.data(), dx.data(), n, steps, memory, other, sum); }},
      {"natural", [&] { solution(ebb::into(y_out), in, lengths); }, [&] { gradient(ebb::into(dx_out), in, lengths); }},
  };
  std::vector<long double> exact_x(x.begin(), x.end()), want_y(n), want(n);
  if (n <= 100) {  // long double, and its differences
    const long double size = 1e-6L;
    space<long double> exact(n, steps);
    const auto last = [&] {
      manual(exact_x.data(), n, steps, exact);
      return exact.history[n * (steps + 1) - 1];
    };
    for (std::size_t i = 0; i < n; ++i) {
      const long double kept = exact_x[i];
      exact_x[i] = kept + size;
      const long double high = last();
      exact_x[i] = kept - size;
      want[i] = (high - last()) / (2 * size);
      exact_x[i] = kept;
    }
    last();
    std::copy(exact.history.end() - static_cast<std::ptrdiff_t>(n), exact.history.end(), want_y.begin());
  } else {
    all[0].derivative();
    std::copy(memory.history.end() - static_cast<std::ptrdiff_t>(n), memory.history.end(), want_y.begin());
    std::copy(dx.begin(), dx.end(), want.begin());
  }
  const std::string size = "n = " + std::to_string(n) + ", s = " + std::to_string(steps);
  for (const candidate& c : all) {
    std::fill(dx.begin(), dx.end(), 1);
    std::fill(y.begin(), y.end(), 1);
    c.primal();
    if (c.name == std::string("manual")) std::copy(memory.history.end() - static_cast<std::ptrdiff_t>(n), memory.history.end(), y.begin());
    c.derivative();
    s.check("ode " + size + ", " + c.name + ", solution", y, want_y, 1e-11);
    s.check("ode " + size + ", " + c.name + ", gradient", dx, want, 1e-8);
  }
  s.time(size, all);
}

}  // namespace

void ode(session& s) {
  if (s.smoke) {
    for (const std::size_t n : {1u, 2u, 5u, 13u, 16u, 17u, 40u})
      for (const std::size_t steps : {1u, 3u, 10u, 20u}) size_of(s, n, steps);
    size_of(s, 1003, 3);
  } else
    for (const std::size_t n : {1000u, 10000u, 100000u})
      for (const std::size_t steps : {1u, 10u, 100u}) size_of(s, n, steps);
  s.total("ode");
}

}  // namespace gradbench
