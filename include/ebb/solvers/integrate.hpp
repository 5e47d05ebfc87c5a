// ebb/solvers/integrate.hpp — integrate: integrals to a given error, by ordinary C++ around a compiled integrand.
// SPDX-License-Identifier: BSL-1.0
//
//   const ebb::integral i = ebb::integrate(f, 0.0, 1.0, w);                            i.value, i.error, i.evaluations, i.converged
//   const auto j = ebb::integrate<ebb::tolerance<6>>(f, -infinity, infinity, w);       relative to the integral of |f|
//
// [note: parts of an infinite interval]
// Next to an infinite end the variable is t = 1 / |x - a|, from 1 to 0. Parts are halved towards t = 0, where numbers are dense, so an f
// that falls slowly has as many parts as it needs. The rest, of length 1, has its end at t = 0 too: x = a + t is exact next to an a of 0.
#pragma once

#include "dopri5.hpp"

#include "../exec/function.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 565>
struct refuse_function<Code> {
  static_assert(Code != 565, "[ebb E0565] integrate: f(x, w...) is a double, and options are one ebb::tolerance<n>, n at most 12, and one "
                             "ebb::at_most<n>");
};

}  // namespace detail

/// The result of integrate: the value, the estimate of its error, the number of values of f, and whether the estimate is small enough.
struct integral {
  double value, error;
  int evaluations;
  bool converged;
};

namespace detail {

/// x = origin + t, or origin - t if it falls, or origin + 1 / t and origin - 1 / t next to an infinite end.
struct line_of_integral {
  double origin;
  bool falls, infinite;
  double at(double t) const {
    const double distance = infinite ? 1 / t : t;
    return falls ? origin - distance : origin + distance;
  }
  /// y |dx/dt|. Two quotients: the square of a small t is 0.
  double scaled(double y, double t) const { return infinite ? y / t / t : y; }
};
/// An interval of t on a line. `absolute` is the integral of |f|.
struct part_of_integral {
  line_of_integral line;
  double from, to, value, error, absolute;
  friend bool operator<(const part_of_integral& a, const part_of_integral& b) { return a.error < b.error; }
};
/// The rule of Kronrod with 15 nodes, every second of which is a node of Gauss's. Piessens et al., QUADPACK (1983), qk15.
struct kronrod {
  static constexpr std::array<double, 8> node{0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                              0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                              0.586087235467691130294144691693829, 0.405845151377397166906606412076961,
                                              0.207784955007898467600689403773245, 0};
  static constexpr std::array<double, 8> weight{0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                                                0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                                                0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                                                0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
  static constexpr std::array<double, 4> of_gauss{0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                                                  0.381830050505118944950369775488975, 0.417959183673469387755102040816327};
  /// Node i of 15 in rising order, on [-1, 1].
  static constexpr double at(std::size_t i) { return i < 8 ? -node[i] : node[14 - i]; }
  /// The part with the integral of the 15 values y.
  static part_of_integral applied(const line_of_integral& line, double from, double to, const std::array<double, 15>& y) {
    const double half = (to - from) / 2;
    double sum = 0, gauss = 0, absolute = 0, deviation = 0;
    for (std::size_t i = 0; i < 15; ++i) {
      const std::size_t j = i < 8 ? i : 14 - i;
      sum += weight[j] * y[i];
      absolute += weight[j] * std::abs(y[i]);
      if (j % 2 == 1) gauss += of_gauss[j / 2] * y[i];
    }
    for (std::size_t i = 0; i < 15; ++i) deviation += weight[i < 8 ? i : 14 - i] * std::abs(y[i] - sum / 2);
    double error = std::abs((sum - gauss) * half);
    deviation *= half;
    absolute *= half;
    if (deviation != 0 && error != 0) error = deviation * std::min(1.0, std::pow(200 * error / deviation, 1.5));
    return {line, from, to, sum * half, std::max(error, 50 * std::numeric_limits<double>::epsilon() * absolute), absolute};
  }
};
/// The parts of the interval that a call begins with, without values.
inline std::vector<part_of_integral> first_parts(double a, double b) {
  if (!std::isinf(a) && !std::isinf(b)) return {{{0, false, false}, a, b, 0, 0, 0}};
  std::vector<part_of_integral> r;
  const double origin = !std::isinf(a) ? a : !std::isinf(b) ? b : 0;
  for (const bool falls : {false, true})
    if (std::isinf(falls ? a : b))
      for (const bool infinite : {false, true}) r.push_back({{origin, falls, infinite}, 0, 1, 0, 0, 0});
  return r;
}

template <class F>
struct values_at {
  constexpr auto operator()(auto x, auto... w) const { return ebb::map(F{}, x, ebb::whole(w)...); }
};
template <class Options>
inline constexpr bool are_options_of_integral = false;
template <int Digits, int Most>
inline constexpr bool are_options_of_integral<ode_options<Digits, Most>> = Digits <= 12;
template <class F, class Options, class... W>
constexpr int code_of_integral() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr (!are_options_of_integral<Options>) return 565;
  else {
    using result = decltype(ebb::compile(values_at<F>{})(std::declval<const tensor<double, 15>&>(), std::declval<const W&>()...));
    return std::is_same_v<result, refused_result> ? already_reported : std::is_same_v<result, tensor<double, 15>> ? 0 : 565;
  }
}

}  // namespace detail

/// The integral of f(x, w...) from a to b, which may be infinite: parts with the largest estimates of error are halved, by Kronrod's rule
/// of 15 nodes, until the sum of the estimates is 1e-10 of the integral of |f|. Outside of traced functions; f is a traced function of one
/// x that returns a double, and is compiled for 15 of them. It must not capture: the parameters w are arrays, tuples and structs. Options:
/// ebb::tolerance<n>, 10^-n in place of 1e-10, n at most 12, and ebb::at_most<n>, n parts in place of 500. An f that is infinite inside the
/// interval gives NaN or infinity, and has not converged: divide the interval there. An f that is infinite at an end converges if the end
/// is 0, or if it grows slowly.
///   const auto i = ebb::integrate([](auto x, auto s) { return ebb::exp(-s * x * x); }, 0.0, infinity, 2.0);
/// The derivative by a parameter is the integral of the derivative of f:
///   const auto d = ebb::integrate([](auto x, auto s) { return ebb::grad<1>(bell)(x, s); }, 0.0, infinity, 2.0);
/// Error: i.error, in most cases far below it.   Source: Piessens et al., QUADPACK (1983), qag.
template <auto... Option, class F, class... W>
integral integrate(F, double a, double b, const W&... w) {
  using options = typename detail::read_ode_options<detail::ode_options<10, 500>, std::remove_const_t<decltype(Option)>...>::type;
  constexpr int code = detail::code_of_integral<F, options, W...>();
  static_cast<void>(detail::refuse_function<detail::code_without_reason(code)>{});
  if constexpr (code != 0) return {};
  else {
    if (a == b) return {0, 0, 0, true};
    const auto values = ebb::compile(detail::values_at<F>{});
    int evaluations = 0;
    const auto part = [&](const detail::line_of_integral& line, double from, double to) {
      tensor<double, 15> x;
      std::array<double, 15> t, y;
      for (std::size_t i = 0; i < 15; ++i) {
        t[i] = (from + to) / 2 + (to - from) / 2 * detail::kronrod::at(i);
        x.mutable_data()[i] = line.at(t[i]);
      }
      const tensor<double, 15> f = values(x, w...);
      evaluations += 15;
      for (std::size_t i = 0; i < 15; ++i) y[i] = line.scaled(f(i), t[i]);
      return detail::kronrod::applied(line, from, to, y);
    };
    auto parts = a < b ? detail::first_parts(a, b) : detail::first_parts(b, a);
    for (auto& p : parts) p = part(p.line, p.from, p.to);
    std::make_heap(parts.begin(), parts.end());
    for (;;) {
      double value = 0, error = 0, absolute = 0;
      for (const auto& p : parts) value += p.value, error += p.error, absolute += p.absolute;
      const bool small = error <= options::tolerance * absolute;
      if (small || !std::isfinite(error) || static_cast<int>(parts.size()) >= options::most)
        return {a < b ? value : -value, error, evaluations, small && std::isfinite(value)};
      std::pop_heap(parts.begin(), parts.end());
      const auto worst = parts.back();
      const double middle = (worst.from + worst.to) / 2;
      parts.back() = part(worst.line, worst.from, middle);
      std::push_heap(parts.begin(), parts.end());
      parts.push_back(part(worst.line, middle, worst.to));
      std::push_heap(parts.begin(), parts.end());
    }
  }
}

}  // namespace ebb::inline EBB_ABI
