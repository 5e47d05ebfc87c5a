// ebb/solvers/quadrature.hpp — quadrature: integrals in traced functions, with derivatives by parameters and limits.
// SPDX-License-Identifier: BSL-1.0
//
//   auto i = ebb::quadrature<20>(f, a, b, w);                         f(x, w) from a to b, by Gauss's and Legendre's rule of 20 nodes
//   auto j = ebb::quadrature<ebb::tanh_sinh<61>>(f, 0, 1, w);         where f is infinite at an end, or has infinite derivatives there
//
// Nodes and weights are computed while compiling. A node is stored as its distance from the nearer end of the interval: next to an end that
// is 0, x has full relative precision. All values of f are computed at once, by map.
#pragma once

#include "implicit.hpp"

#include "../num/exponential.hpp"
#include "../num/hyperbolic.hpp"
#include "../num/trigonometric.hpp"
#include "../num/twofold.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 563>
struct refuse_function<Code> {
  static_assert(Code != 563, "[ebb E0563] quadrature: the rule is a number of nodes up to 256, or ebb::tanh_sinh<n> with an odd n; limits "
                             "are scalars; f(x, w...) returns an array of floats, and the limits and w have a float among them");
};

}  // namespace detail

/// The rule of quadrature that converges at ends where f is infinite but has an integral: Nodes nodes, an odd number.
template <int Nodes>
struct tanh_sinh_rule {};
template <int Nodes>
  requires(Nodes > 2 && Nodes % 2 == 1)
inline constexpr tanh_sinh_rule<Nodes> tanh_sinh{};

namespace detail {

/// The left half of the nodes of an interval of length 1, and the middle one of an odd number: distances from the left end, and weights.
/// The right half is as far from the right end.
template <std::size_t N>
struct nodes_of_rule {
  std::array<double, N - N / 2> distance{}, weight{};
};

/// The arithmetic of Legendre's polynomials. Products are made without fma, which compilers evaluate slowly.
using twofold_double = lane::twofold<double>;
constexpr twofold_double sum_of(twofold_double a, twofold_double b) {
  const double high = a.high + b.high, part = high - a.high;
  return lane::quick_sum(high, (a.high - (high - part)) + (b.high - part) + (a.low + b.low));
}
constexpr twofold_double product_of(twofold_double a, twofold_double b) {
  const twofold_double p = lane::product_by_halves(a.high, b.high);
  return lane::quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
constexpr twofold_double product_of(twofold_double a, double b) {
  const twofold_double p = lane::product_by_halves(a.high, b);
  return lane::quick_sum(p.high, p.low + a.low * b);
}
constexpr twofold_double quotient_of(twofold_double a, double b) {
  const double high = a.high / b;
  const twofold_double back = lane::product_by_halves(high, b);
  return lane::quick_sum(high, ((a.high - back.high) - back.low + a.low) / b);
}
/// Legendre's polynomials of degree n - 1 and n at x, with twice the precision of a double.
constexpr std::pair<twofold_double, twofold_double> legendre(int n, twofold_double x) {
  twofold_double before{1, 0}, p = x;
  for (int k = 1; k < n; ++k) {
    const twofold_double rising = product_of(product_of(x, p), 2.0 * k + 1), falling = product_of(before, -1.0 * k);
    before = p;
    p = quotient_of(sum_of(rising, falling), k + 1.0);
  }
  return {before, p};
}
/// Newton's method from Tricomi's approximation, for the nodes x >= 0 of [-1, 1], the largest first.
template <int N>
constexpr auto gauss_legendre() {
  nodes_of_rule<N> r;
  for (int i = 0; i < (N + 1) / 2; ++i) {
    twofold_double x{lane::cos(3.141592653589793 * (i + 0.75) / (N + 0.5)), 0};
    if (2 * i + 1 == N) x = {0, 0};
    for (int step = 0; step < 5 && x.high != 0; ++step) {
      const auto [before, p] = legendre(N, x);
      const double slope = N * (before.high - x.high * p.high) / (1 - x.high * x.high);
      x = sum_of(x, {-p.high / slope, -p.low / slope});
    }
    const twofold_double square = product_of(x, x), rest = sum_of({1, 0}, {-square.high, -square.low});
    const twofold_double before = legendre(N, x).first, below = product_of(product_of(before, before), 1.0 * N * N);
    const double weight = rest.high / below.high * (1 + (rest.low / rest.high - below.low / below.high));
    const twofold_double half = sum_of({0.5, 0}, {-x.high / 2, -x.low / 2});
    r.distance[static_cast<std::size_t>(i)] = half.high;
    r.weight[static_cast<std::size_t>(i)] = weight;
  }
  return r;
}
/// The distances (1 - x) / 2, where x = tanh(pi / 2 sinh t), for t from 4.5 down to 0 in equal steps. The least distance is 4e-62.
/// Takahasi and Mori, Publ. RIMS 9 (1974).
template <int N>
constexpr auto double_exponential() {
  constexpr double half_pi = 1.5707963267948966, step = 9.0 / (N - 1);
  nodes_of_rule<N> r;
  for (int i = 0; i <= N / 2; ++i) {
    const double t = step * (N / 2 - i), u = half_pi * lane::sinh(t), cosh = lane::cosh(u);
    r.distance[static_cast<std::size_t>(i)] = lane::exp(-u) / (2 * cosh);
    r.weight[static_cast<std::size_t>(i)] = step * half_pi * lane::cosh(t) / (2 * cosh * cosh);
  }
  return r;
}

template <class Rule>
struct rule_of {
  static constexpr bool known = false;
};
template <int N>
  requires(N > 0 && N <= 256)
struct rule_of<std::integral_constant<int, N>> {
  static constexpr bool known = true, reaches_ends = false;
  static constexpr std::size_t count = N;
  static constexpr auto nodes = gauss_legendre<N>();
};
template <int N>
struct rule_of<tanh_sinh_rule<N>> {
  static constexpr bool known = true, reaches_ends = true;
  static constexpr std::size_t count = N;
  static constexpr auto nodes = double_exponential<N>();
};
template <auto Rule>
constexpr auto type_of_rule() {
  using T = std::remove_const_t<decltype(Rule)>;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) return rule_of<std::integral_constant<int, static_cast<int>(Rule)>>{};
  else return rule_of<T>{};
}

/// The array of `count` values, the last half of which mirrors the first.
template <std::size_t Count>
constexpr auto mirrored(const auto& values, auto as_literal) {
  const auto first = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ebb::stack<0>(as_literal(values[I])...);
  }(std::make_index_sequence<(Count + 1) / 2>{});
  if constexpr (Count == 1) return first;
  else return ebb::concat<0>(first, ebb::flip<0>(ebb::slice<0, 0, static_cast<int>(Count / 2)>(first)));
}
/// x, with as many axes after its first one as y has.
constexpr auto along_rows_of(auto x, auto y) {
  if constexpr (decltype(x)::rank < decltype(y)::rank) return along_rows_of(ebb::unsqueeze<-1>(x), y);
  else return x;
}

/// A, B and W are outside of autocast contexts.
template <class Rule, class F, class A, class B, class... W>
constexpr int code_of_quadrature() {
  using T = promoted_among<A, B, W...>;
  if constexpr (!Rule::known || !real_element<T>) return 563;
  else if constexpr (!std::is_same_v<decltype(std::declval<term<T>>() + std::declval<A>() + std::declval<B>()), term<T>>) return 563;
  else if constexpr (constexpr int code = detail::code_of_trace(std::type_identity<trace_of<F, term<T>, W...>>{}); code != 0) return code;
  else if constexpr (holds_refused<result_of_trace<F, term<T>, W...>>) return already_reported;
  else return is_one_array<typename argument<result_of_trace<F, term<T>, W...>>::traced> ? 0 : 563;
}
template <class Rule, class F, class... A>
constexpr int code_of_quadrature_in_trace() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_refused<A> || ...)) return already_reported;
  else if constexpr (!are_traced<A...>) return 442;
  else return code_of_quadrature<Rule, F, decltype(into_context<off>(std::declval<const A&>()))...>();
}

}  // namespace detail

/// The integral of f(x, w...) from a to b by the rule of Gauss and Legendre with n nodes, which is exact for polynomials of degree 2 n - 1.
/// In a traced function; f takes one x, returns a number or an array, and must not capture: the parameters w are arrays, tuples and
/// structs. Limits are numbers or scalars, and finite; b may be below a.
///   auto arc = ebb::quadrature<32>([](auto t, auto m) { return 1 / ebb::sqrt(1 - m * ebb::square(ebb::sin(t))); }, 0, phi, m);
/// quadrature<ebb::tanh_sinh<n>> is the double exponential rule, for an f that is infinite at an end or has infinite derivatives there; 41
/// to 101 nodes suffice in double. f may grow like x^(-3/4) at an end of 0. At another end it should grow less: numbers next to it are far
/// apart, and nodes that round to it are left out. Integrals over parts follow an f that varies in one place.
/// It has derivatives by w, a and b, of all orders. They are derivatives of the sum, so they converge with the nodes as the value does.
/// Shape: f's.   Dtype: promoted.   Saves: as map.   Error: of Gauss's nodes and weights, 2 ulp; of the others, 2^-45.
/// Source: Davis and Rabinowitz, Methods of Numerical Integration (1984); Takahasi and Mori, Publ. RIMS 9 (1974).
template <auto Rule, class F, class A, class B, class... W>
constexpr auto quadrature(F, const A& a, const B& b, const W&... w) {
  using rule = decltype(detail::type_of_rule<Rule>());
  constexpr int code = detail::code_of_quadrature_in_trace<rule, F, A, B, W...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return refused_result{};
  else {
    const auto as_literal = [&](double value) {
      graph& g = *detail::first_graph(a, b, w...);
      return detail::into_context<detail::context_among<A, B, W...>>(detail::as_term<detail::promoted_among<A, B, W...>>(g, value));
    };
    const auto from = as_literal(0) + a, to = as_literal(0) + b, length = to - from;
    const auto distance = length * detail::mirrored<rule::count>(rule::nodes.distance, as_literal);
    const auto near = ebb::where(ebb::iota<0>(distance) < static_cast<int>(rule::count / 2), from + distance, to - distance);
    const auto weight = detail::mirrored<rule::count>(rule::nodes.weight, as_literal);
    const auto sum_over = [&](auto x, auto weights) {
      const auto values = ebb::map(F{}, x, ebb::whole(w)...);
      return length * ebb::sum<0>(detail::along_rows_of(weights, values) * values);
    };
    if constexpr (!rule::reaches_ends) return sum_over(near, weight);
    else {  // nodes that round to an end are left out, but not those of an interval without length: its derivatives need f
      const auto lost = length != 0 && (near == from || near == to);
      return sum_over(ebb::where(lost, from / 2 + to / 2, near), ebb::where(lost, 0, weight));
    }
  }
}

}  // namespace ebb::inline EBB_ABI
