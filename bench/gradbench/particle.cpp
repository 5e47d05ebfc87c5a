// bench/gradbench/particle.cpp — particle: a parameter of two charges is searched so that a particle that flies by hits the origin.
// SPDX-License-Identifier: BSL-1.0
//
// Each step of the flight takes the gradient of a potential, and the search takes the derivative of the flight.
// `natural` is what GradBench calls fr: the potential is a function compiled by ebb, its gradient in reverse mode takes duals, and these go
// forward through the flight. `duals` is ff: both derivatives in forward mode, by duals of duals. `finite` takes both by differences.
#include "manual.hpp"
#include "search.hpp"
#include "session.hpp"

// only: natural, duals
#include <ebb/dual.hpp>
#include <ebb/functional.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural, duals, finite
/// The square of the place where the particle crosses the axis: force(x, w) pushes it.
template <class T, class Force>
T miss(const T& w, const Force& force) {
  place<T, 2> x{0.0, 8.0}, speed{0.75, 0.0};
  for (;;) {
    const place<T, 2> push = force(x, w), next{x[0] + 0.1 * speed[0], x[1] + 0.1 * speed[1]};
    if (next[1] <= 0.0) {
      const T at = next[0] - next[1] / speed[1] * speed[0];
      return at * at;
    }
    x = next;
    speed = {speed[0] + 0.1 * push[0], speed[1] + 0.1 * push[1]};
  }
}
// lines: duals, finite
template <class S, class T>
S potential(const place<S, 2>& x, const T& w) {
  return 1.0 / length_of(place<S, 2>{x[0] - 10.0, x[1] - (10.0 - w)}) + 1.0 / length_of(place<S, 2>{x[0] - 10.0, x[1]});
}
// lines: duals
constexpr auto pushed = [](const auto& f, const auto& x) {  // a gradient in forward mode: f along each direction
  auto g = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::array<ebb::dual<std::remove_cvref_t<decltype(x[0])>>, std::tuple_size_v<std::remove_cvref_t<decltype(x)>>> at;
    for (std::size_t k = 0; k < x.size(); ++k) at[k] = {x[k], k == i ? 1.0 : 0.0};
    g[i] = f(at).tangent;
  }
  return g;
};
constexpr auto force_by_duals = [](const auto& x, const auto& w) {
  const auto g = pushed([&](const auto& at) { return potential(at, w); }, x);
  return std::remove_cvref_t<decltype(g)>{-g[0], -g[1]};
};
constexpr auto duals = [](double w) {
  return least([](const auto& at) { return miss(at[0], force_by_duals); }, pushed, place<double, 1>{w})[0];
};
// lines: natural
constexpr auto slope = ebb::grad<0, 1>([](auto x, auto y, auto w) {
  return ebb::rsqrt(ebb::square(x - 10.0) + ebb::square(y - (10.0 - w))) + ebb::rsqrt(ebb::square(x - 10.0) + ebb::square(y));
});
constexpr auto natural_force = [](const auto& x, const auto& w) {
  const auto [by_x, by_y] = slope(x[0], x[1], w);
  return std::remove_cvref_t<decltype(x)>{-by_x, -by_y};
};
constexpr auto natural = [](double w) {
  const auto derivative = [](const auto&, const place<double, 1>& at) {
    return place<double, 1>{miss(ebb::dual<double>(at[0], 1.0), natural_force).tangent};
  };
  return least([](const auto& at) { return miss(at[0], natural_force); }, derivative, place<double, 1>{w})[0];
};
// lines: finite
constexpr auto finite_force = [](const auto& x, const auto& w) {
  const auto g = differences{}([&](const auto& at) { return potential(at, w); }, x);
  return std::remove_cvref_t<decltype(g)>{-g[0], -g[1]};
};
constexpr auto finite = [](double w) {
  return least([](const auto& at) { return miss(at[0], finite_force); }, differences{}, place<double, 1>{w})[0];
};
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
struct value_and_slope {
  T value, slope;
};
/// The force r / |r|^3 of a charge, and how it changes along dr, both added to what is there.
template <class T>
inline void add_force(const T r[2], const T dr[2], T a[2], T da[2]) {
  const T square = r[0] * r[0] + r[1] * r[1], over = 1 / (square * std::sqrt(square)), along = 3 * (r[0] * dr[0] + r[1] * dr[1]) / square;
  for (int i = 0; i < 2; ++i) {
    a[i] += r[i] * over;
    da[i] += (dr[i] - r[i] * along) * over;
  }
}
template <class T>
[[gnu::noinline]] value_and_slope<T> manual_miss(T w) {
  T x[2] = {0, 8}, dx[2] = {0, 0}, v[2] = {T(0.75), 0}, dv[2] = {0, 0};
  const T step = T(0.1);
  for (;;) {
    T a[2] = {0, 0}, da[2] = {0, 0};
    const T first[2] = {x[0] - 10, x[1] - (10 - w)}, d_first[2] = {dx[0], dx[1] + 1}, second[2] = {x[0] - 10, x[1]};
    add_force(first, d_first, a, da);
    add_force(second, dx, a, da);
    for (int i = 0; i < 2; ++i) {
      x[i] += step * v[i];
      dx[i] += step * dv[i];
    }
    if (x[1] <= 0) {
      const T time = -x[1] / v[1], d_time = (-dx[1] - time * dv[1]) / v[1];
      const T at = x[0] + time * v[0], d_at = dx[0] + time * dv[0] + d_time * v[0];
      return {at * at, 2 * at * d_at};
    }
    for (int i = 0; i < 2; ++i) {
      v[i] += step * a[i];
      dv[i] += step * da[i];
    }
  }
}
/// The same without the derivative.
template <class T>
[[gnu::noinline]] T manual_value(T w) {
  T x[2] = {0, 8}, v[2] = {T(0.75), 0};
  const T step = T(0.1);
  for (;;) {
    const T r[2] = {x[0] - 10, x[1] - (10 - w)}, first = r[0] * r[0] + r[1] * r[1], second = r[0] * r[0] + x[1] * x[1];
    const T by_first = 1 / (first * std::sqrt(first)), by_second = 1 / (second * std::sqrt(second));
    const T a[2] = {r[0] * (by_first + by_second), r[1] * by_first + x[1] * by_second};
    for (int i = 0; i < 2; ++i) x[i] += step * v[i];
    if (x[1] <= 0) {
      const T at = x[0] - x[1] / v[1] * v[0];
      return at * at;
    }
    for (int i = 0; i < 2; ++i) v[i] += step * a[i];
  }
}
template <class T>
[[gnu::noinline]] T manual(T w) {
  const auto derivative = [](const auto&, const place<T, 1>& at) { return place<T, 1>{manual_miss(at[0]).slope}; };
  return least([](const place<T, 1>& at) { return manual_value(at[0]); }, derivative, place<T, 1>{w})[0];
}
// lines: end
GRADBENCH_MANUAL_END

void size_of(session& s, double w) {
  double found = 0;
  const std::vector<candidate> all = {
      {"manual", {}, [&] { found = manual(w); }},
      {"natural", {}, [&] { found = natural(w); }},
      {"duals", {}, [&] { found = duals(w); }},
      {"finite", {}, [&] { found = finite(w); }},
  };
  const std::string size = "w = " + std::to_string(w);
  for (const double at : {w, w + 0.03}) {
    const long double h = 1e-7L, exact = at;
    const std::vector<long double> want{(manual_value(exact + h) - manual_value(exact - h)) / (2 * h)};
    session::check("particle " + size + ", manual, slope", vector{manual_miss(at).slope}, want, 1e-9);
    // only: duals
    session::check("particle " + size + ", duals, slope", vector{miss(ebb::dual<double>(at, 1.0), force_by_duals).tangent}, want, 1e-9);
    // only: end
    // only: natural
    session::check("particle " + size + ", natural, slope", vector{miss(ebb::dual<double>(at, 1.0), natural_force).tangent}, want, 1e-9);
    // only: end
  }
  for (const candidate& c : all) {
    found = 0;
    c.derivative();
    const double rough = c.name == std::string("finite") ? 1e-4 : 1e-9;
    session::check("particle " + size + ", " + c.name, vector{found}, std::vector<long double>{manual(static_cast<long double>(w))}, rough);
    if (w == 0) session::check("particle, GradBench's result, " + std::string(c.name), vector{found}, vector{0.2071918746486116}, rough);
  }
  // only: peer
  if (s.has_peers())
    s.add_peer("particle", size, {{}, {{w}}, {}}, {}, std::vector<long double>{manual(static_cast<long double>(w))}, 1e-4);
  // only: end
  s.time(size, all);
}

}  // namespace

void particle(session& s) {
  size_of(s, 0);
  if (s.smoke)
    for (const double w : {0.1, 0.4, -0.2}) size_of(s, w);
  s.total("particle");
}

}  // namespace gradbench
