// bench/gradbench/ode.cpp — ode: y_i' = x_i y_(i-1), y_0' = x_0, from 0 to t = 2 by Runge-Kutta of order 4, and the gradient of the last
// element.
// SPDX-License-Identifier: BSL-1.0
//
// `shaped` uses that the rate is linear in y: a step is a polynomial of four terms in the rate, whose products of neighbours in x are the
// same in each step.
// only: simd, stepwise
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, shaped
#include <ebb/functional.hpp>
// only: end

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

// lines: shaped
constexpr auto linear_step = [](auto y, auto h, auto c1, auto c2, auto c3, auto c4) {
  const auto w = ebb::pad<0, 4, 0>(y, 1.0);  // numbers before the first stay 1
  const auto z1 = ebb::slice<0, 3, -1>(w), z2 = ebb::slice<0, 2, -2>(w), z3 = ebb::slice<0, 1, -3>(w), z4 = ebb::slice<0, 0, -4>(w);
  return std::tuple(y + h * (c1 * z1 + h / 2 * (c2 * z2 + h / 3 * (c3 * z3 + h / 4 * (c4 * z4)))), std::tuple<>());
};
constexpr auto shaped_solve = [](auto x, auto h) {
  const auto w = ebb::pad<0, 3, 0>(x, 0.0);
  const auto c2 = x * ebb::slice<0, 2, -1>(w), c3 = c2 * ebb::slice<0, 1, -2>(w), c4 = c3 * ebb::slice<0, 0, -3>(w);
  return std::get<0>(ebb::scan(linear_step, ebb::zeros_like(x), h, ebb::whole(x), ebb::whole(c2), ebb::whole(c3), ebb::whole(c4)));
};
constexpr auto shaped_solution = ebb::compile(shaped_solve);
constexpr auto shaped_gradient = ebb::grad([](auto x, auto h) { return ebb::select<0, -1>(shaped_solve(x, h)); });
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

// lines: simd, stepwise
using namespace by_hand;

/// The neighbours before the elements of x, of which the first is the last of `earlier`.
EBB_INLINE R shifted_up(R earlier, R x) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(earlier, x, (I + lanes - 1)...);
  }(std::make_integer_sequence<int, lanes>{});
}
/// The neighbours after the elements of x, of which the last is the first of `later`.
EBB_INLINE R shifted_down(R x, R later) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x, later, (I + 1)...);
  }(std::make_integer_sequence<int, lanes>{});
}

/// Rows of n numbers in whole registers, with room before each of them: zeros, or ones.
struct padded_rows {
  static constexpr std::size_t room = 8;
  std::size_t n, stride;
  vector memory;
  padded_rows(std::size_t n_, std::size_t rows, double before) : n(n_), stride((n + room - 1) / room * room + room), memory(rows * stride) {
    for (std::size_t r = 0; r < rows; ++r) std::fill_n(&memory[r * stride], room, before);
  }
  double* operator[](std::size_t row) { return &memory[row * stride + room]; }
};
/// f(s, i) for each step s and register i of n numbers, where step s follows s registers behind the first step: the steps of a round do not
/// wait for each other.
template <int Steps, class F>
EBB_INLINE void in_rounds(std::size_t n, F f) {
  const std::size_t count = (n + lanes - 1) / lanes;
  for (std::size_t round = 0; round + 1 < count + Steps; ++round) {
    const bool whole = round + 1 >= Steps && round < count;
    unrolled<Steps>([&](auto before) EBB_LAMBDA {
      constexpr std::integral_constant<std::size_t, Steps - 1 - before> s;
      if (whole || (round >= s && round - s < count)) f(s, (round - s) * lanes);
    });
  }
}
/// Some steps in one sweep over the elements: each number depends on the one before it only. y[s] becomes the result of step s; all are the
/// same array if only the last is wanted.
template <std::size_t Steps>
[[gnu::noinline]] void steps_forward(const double* x, const double* from, double* const* y, std::size_t n, double h) {
  const R half = all(h / 2), whole = all(h), sixth = all(h / 6);
  R result[Steps] = {}, y_before[Steps], k1_before[Steps] = {}, k2_before[Steps] = {}, k3_before[Steps] = {};
  for (R& e : y_before) e = all(1);
  const auto moved = [](R& before, R now) EBB_LAMBDA {
    const R m = shifted_up(before, now);
    before = now;
    return m;
  };
  in_rounds<Steps>(n, [&](auto s, std::size_t i) EBB_LAMBDA {
    const R xi = load(x + i), yi = s == 0 ? load(from + i) : result[s - (s > 0)];
    const R z = moved(y_before[s], yi), k1 = xi * z, k2 = xi * fma(half, moved(k1_before[s], k1), z);
    const R k3 = xi * fma(half, moved(k2_before[s], k2), z), k4 = xi * fma(whole, moved(k3_before[s], k3), z), middle = k2 + k3;
    result[s] = fma(sixth, (k1 + k4) + (middle + middle), yi);
    store(y[s] + i, result[s]);
  });
}
/// The same backward, from the last element to the first: adds to dx, and moves the seed from after the steps to before them. y[s] is what
/// step s began with.
template <std::size_t Steps>
[[gnu::noinline]] void steps_back(const double* x, double* const* y, double* seed, double* dx, std::size_t n, double h) {
  const R half = all(h / 2), whole = all(h), sixth = all(h / 6), third = all(h / 3);
  R seeds[Steps] = {}, sums[Steps] = {}, later[Steps][4] = {};
  const std::size_t last = (n - 1) / lanes * lanes;
  in_rounds<Steps>(n, [&](auto r, std::size_t distance) EBB_LAMBDA {
    constexpr std::size_t s = Steps - 1 - r;
    const std::size_t i = last - distance;
    const R xi = load(x + i), x1 = load(x + i - 1), x2 = load(x + i - 2), x3 = load(x + i - 3);
    const R z1 = load(y[s] + i - 1), y2 = load(y[s] + i - 2), y3 = load(y[s] + i - 3), y4 = load(y[s] + i - 4);
    const R z2 = fma(half, x1 * y2, z1), z3 = fma(half, x1 * fma(half, x2 * y3, y2), z1);
    const R z4 = fma(whole, x1 * fma(half, x2 * fma(half, x3 * y4, y3), y2), z1);
    const R g = r == 0 ? load(seed + i) : seeds[r - (r > 0)];
    R sum = r == 0 ? load(dx + i) : sums[r - (r > 0)];
    const auto back = [&](int k, R gk, R z) EBB_LAMBDA {
      sum = fma(gk, z, sum);
      const R product = gk * xi, moved = shifted_down(product, later[r][k]);
      later[r][k] = product;
      return moved;
    };
    const R outer = third * g, g4 = back(3, sixth * g, z4), g3 = back(2, fma(whole, g4, outer), z3);
    const R g2 = back(1, fma(half, g3, outer), z2), g1 = back(0, fma(half, g2, sixth * g), z1);
    seeds[r] = g + ((g1 + g2) + (g3 + g4));
    sums[r] = sum;
    if (r + 1 < Steps) return;
    store(seed + i, seeds[r]);
    store(dx + i, sum);
  });
}
struct simd_space {
  padded_rows x, history, seed, dx;
  simd_space(std::size_t n, std::size_t s) : x(n, 1, 0), history(n, s + 1, 1), seed(n, 1, 0), dx(n, 1, 0) {}
};
template <std::size_t Most, class F>
void in_groups(std::size_t s, F f) {  // of `Most` steps
  std::size_t e = 0;
  for (; e + Most <= s; e += Most) f(std::integral_constant<std::size_t, Most>{}, e);
  for (; e < s; ++e) f(std::integral_constant<std::size_t, 1>{}, e);
}
/// Steps = 4 sweeps over the elements once for four steps, and backward once for two. Steps = 1 is one vectorized loop for each step.
template <std::size_t Steps>
[[gnu::noinline]] void simd(const double* x, double* y, std::size_t n, std::size_t s, simd_space& m) {
  double* const at[] = {m.seed[0], m.seed[0], m.seed[0], m.seed[0]};
  std::copy_n(x, n, m.x[0]);
  std::fill_n(at[0], n, 0.0);
  in_groups<Steps>(s, [&](auto count, std::size_t) { steps_forward<count>(m.x[0], at[0], at, n, 2 / static_cast<double>(s)); });
  std::copy_n(at[0], n, y);
}
template <std::size_t Steps>
[[gnu::noinline]] void simd_gradient(const double* x, double* dx, std::size_t n, std::size_t s, simd_space& m) {
  const double h = 2 / static_cast<double>(s);
  std::copy_n(x, n, m.x[0]);
  std::fill_n(m.history[0], n, 0.0);
  in_groups<Steps>(s, [&](auto count, std::size_t e) {
    double* y[4];
    for (std::size_t i = 0; i < count; ++i) y[i] = m.history[e + 1 + i];
    steps_forward<count>(m.x[0], m.history[e], y, n, h);
  });
  std::fill_n(m.seed[0], n, 0.0);
  std::fill_n(m.dx[0], n, 0.0);
  m.seed[0][n - 1] = 1;
  std::size_t e = s;
  while (e > 0) {
    const auto back = [&](auto count) {
      double* y[4];
      e -= count;
      for (std::size_t i = 0; i < count; ++i) y[i] = m.history[e + i];
      steps_back<count>(m.x[0], y, m.seed[0], m.dx[0], n, h);
    };
    if (Steps > 1 && e >= 2) back(std::integral_constant<std::size_t, 2>{});
    else back(std::integral_constant<std::size_t, 1>{});
  }
  std::copy_n(m.dx[0], n, dx);
}
// lines: end

void size_of(session& s, std::size_t n, std::size_t steps) {
  generator g(34);
  const vector x = uniform(g, n, s.smoke ? 0.5 : 0, s.smoke ? 2 : 1), h(steps, 2 / static_cast<double>(steps));
  const std::span<const double> in(x), lengths(h);
  vector y(n), dx(n), other(n), sum(n);
  const std::span<double> y_out(y), dx_out(dx);
  space<double> memory(n, steps);
  // only: simd, stepwise
  simd_space lanes_of_memory(n, steps);
  // only: end
  const std::vector<candidate> all = {
      {"manual", [&] { manual(x.data(), n, steps, memory); }, [&] { manual_gradient(x.data(), dx.data(), n, steps, memory, other, sum); }},
      {"natural", [&] { solution(ebb::into(y_out), in, lengths); }, [&] { gradient(ebb::into(dx_out), in, lengths); }},
      {"shaped", [&] { shaped_solution(ebb::into(y_out), in, lengths); }, [&] { shaped_gradient(ebb::into(dx_out), in, lengths); }},
      {"stepwise", [&] { simd<1>(x.data(), y.data(), n, steps, lanes_of_memory); },
       [&] { simd_gradient<1>(x.data(), dx.data(), n, steps, lanes_of_memory); }},
      {"simd", [&] { simd<4>(x.data(), y.data(), n, steps, lanes_of_memory); },
       [&] { simd_gradient<4>(x.data(), dx.data(), n, steps, lanes_of_memory); }},
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
