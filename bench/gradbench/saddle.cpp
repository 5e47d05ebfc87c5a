// bench/gradbench/saddle.cpp — saddle: where the maximum of f(p, q) over q is least: a search in a search, each with derivatives.
// SPDX-License-Identifier: BSL-1.0
//
// `natural` is what GradBench calls fr: f is compiled by ebb, its gradient in reverse mode takes duals, and these go forward through the
// inner search. `duals` is ff: both derivatives in forward mode, by duals of duals. `finite` takes both by differences.
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
using point = place<double, 2>;
constexpr auto f = [](auto px, auto py, auto qx, auto qy) { return (px * px + py * py) - (qx * qx + qy * qy); };
/// The q at which f is largest: the search begins at `start`. gradient(of_q, q) is that of -f by q; it may ask of_q for p.
template <class T>
struct inner {
  place<T, 2> p;
  template <class Q>
  auto operator()(const Q& q) const {
    return -f(p[0], p[1], q[0], q[1]);
  }
};
template <class T, class G>
place<T, 2> best_answer(const place<T, 2>& p, const point& start, const G& gradient) {
  return least(inner<T>{p}, gradient, place<T, 2>{start[0], start[1]});
}
template <class G>
constexpr auto largest(const point& start, const G& gradient) {
  return [=](const auto& p) {
    const auto q = best_answer(p, start, gradient);
    return f(p[0], p[1], q[0], q[1]);
  };
}
template <class G, class H>
std::array<double, 4> solve(const point& start, const G& gradient, const H& outer) {
  const point p = least(largest(start, gradient), outer, start), q = best_answer(p, start, gradient);
  return {p[0], p[1], q[0], q[1]};
}
// lines: natural, duals
constexpr auto pushed = [](const auto& of, const auto& x) {  // a gradient in forward mode: along each direction
  using T = std::remove_cvref_t<decltype(x[0])>;
  place<T, 2> g;
  for (std::size_t i = 0; i < 2; ++i) {
    const place<ebb::dual<T>, 2> at{ebb::dual<T>(x[0], i == 0 ? 1.0 : 0.0), ebb::dual<T>(x[1], i == 1 ? 1.0 : 0.0)};
    g[i] = of(at).tangent;
  }
  return g;
};
// lines: natural
constexpr auto slope = ebb::grad<2, 3>(f);
constexpr auto inner_slope = [](const auto& of, const auto& q) {
  const auto [x, y] = slope(of.p[0], of.p[1], q[0], q[1]);
  return std::remove_cvref_t<decltype(q)>{-x, -y};
};
constexpr auto natural = [](const point& start) { return solve(start, inner_slope, pushed); };
// lines: duals
constexpr auto duals = [](const point& start) { return solve(start, pushed, pushed); };
// lines: finite
constexpr auto finite = [](const point& start) { return solve(start, differences{}, differences{}); };
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
/// The inner search, with the derivatives of q along both coordinates of p.
template <class T>
struct answer {
  T q[2], dq[2][2];
};
template <class T>
[[gnu::noinline]] answer<T> manual_answer(const T p[2], const T start[2]) {
  answer<T> a{{start[0], start[1]}, {{0, 0}, {0, 0}}};
  T value = a.q[0] * a.q[0] + a.q[1] * a.q[1] - (p[0] * p[0] + p[1] * p[1]), g[2] = {2 * a.q[0], 2 * a.q[1]};
  double rate = 1e-5;
  for (int successes = 0; std::sqrt(g[0] * g[0] + g[1] * g[1]) > 1e-5;) {
    if (successes == 10) {
      rate *= 2;
      successes = 0;
      continue;
    }
    const T next[2] = {a.q[0] - rate * g[0], a.q[1] - rate * g[1]}, x = a.q[0] - next[0], y = a.q[1] - next[1];
    if (std::sqrt(x * x + y * y) <= 1e-5) break;
    const T there = next[0] * next[0] + next[1] * next[1] - (p[0] * p[0] + p[1] * p[1]);
    if (there < value) {
      value = there;
      for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 2; ++k) a.dq[i][k] -= rate * (2 * a.dq[i][k]);
        a.q[i] = next[i];
        g[i] = 2 * next[i];
      }
      ++successes;
    } else {
      rate /= 2;
      successes = 0;
    }
  }
  return a;
}
template <class T>
[[gnu::noinline]] std::array<T, 4> manual(const place<T, 2>& start) {
  const auto value = [&](const place<T, 2>& p) {
    const answer<T> a = manual_answer(p.data(), start.data());
    return p[0] * p[0] + p[1] * p[1] - (a.q[0] * a.q[0] + a.q[1] * a.q[1]);
  };
  const auto derivative = [&](const auto&, const place<T, 2>& p) {
    const answer<T> a = manual_answer(p.data(), start.data());
    place<T, 2> g;
    for (std::size_t k = 0; k < 2; ++k) g[k] = 2 * p[k] - 2 * (a.q[0] * a.dq[0][k] + a.q[1] * a.dq[1][k]);
    return g;
  };
  const place<T, 2> p = least(value, derivative, start);
  const answer<T> a = manual_answer(p.data(), start.data());
  return {p[0], p[1], a.q[0], a.q[1]};
}
// lines: end
GRADBENCH_MANUAL_END

void size_of(session& s, double x, double y) {
  const place<double, 2> start{x, y};
  std::array<double, 4> found{};
  const std::vector<candidate> all = {
      {"manual", {}, [&] { found = manual(start); }},
      {"natural", {}, [&] { found = natural(start); }},
      {"duals", {}, [&] { found = duals(start); }},
      {"finite", {}, [&] { found = finite(start); }},
  };
  const std::string size = "start = " + std::to_string(x) + ", " + std::to_string(y);
  const auto exact = manual(place<long double, 2>{x, y});
  const std::vector<long double> want(exact.begin(), exact.end());
  for (const candidate& c : all) {
    found = {9, 9, 9, 9};
    c.derivative();
    const vector got(found.begin(), found.end());
    const double rough = c.name == std::string("finite") ? 1e-4 : 1e-9;
    session::check("saddle " + size + ", " + c.name, got, want, rough);
    if (x != 1 || y != 1) continue;
    session::check("saddle, GradBench's result, " + std::string(c.name), got, vector(4, 8.246324826140356e-06), rough);
  }
  // only: peer
  if (s.has_peers()) s.add_peer("saddle", size, {{}, {{x, y}}, {}}, {}, want, 1e-4);
  // only: end
  s.time(size, all);
}

}  // namespace

void saddle(session& s) {
  size_of(s, 1, 1);
  if (s.smoke) {
    size_of(s, 0.5, -2);
    size_of(s, 3, 0);
  }
  s.total("saddle");
}

}  // namespace gradbench
