// ebb/trace/line_search.hpp — the interval of a line search with the strong Wolfe conditions, for numbers and for terms.
// SPDX-License-Identifier: BSL-1.0
//
// [note: line search]
// f(a) is a function along a line, with f(0) = before and the slope f'(0) = slope < 0. A point a has the strong Wolfe conditions if
// f(a) <= before + 1e-4 a slope, and if |f'(a)| <= 0.9 |slope|. The search has a bracket, std::tuple(lo, f(lo), f'(lo), hi, f(hi), f'(hi)):
// lo is the best point that is low enough, at first 0; between lo and hi lies a point with both conditions; hi is infinite until such an
// interval is found. A value that is higher by rounding alone counts as equal: near the minimum the slopes decide.
// Source: Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6.
#pragma once

#include "functions.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI::detail {

/// The minimum of the cubic through two values and slopes: Nocedal and Wright, equation 3.59. The middle, if that is not well inside.
constexpr auto inner_minimum(auto a, auto fa, auto da, auto b, auto fb, auto db) {
  const auto width = b - a;
  const auto one = da + db - 3 * (fb - fa) / width;
  const auto root = ebb::sqrt(one * one - da * db);
  const auto two = ebb::where(width < 0, -root, root);
  const auto part = 1 - (db + two - one) / (db - da + 2 * two);
  return a + width * ebb::where(part > 0.1 && part < 0.9, part, 0.5);
}

/// The search after f(a) = f and f'(a) = d: std::tuple(whether a has both conditions, whether a is lo, the bracket, the next point).
constexpr auto searched(auto a, auto f, auto d, auto before, auto slope, auto noise, auto bracket) {
  const auto [lo, f_lo, d_lo, hi, f_hi, d_hi] = bracket;
  const auto low = f <= before + 1e-4 * a * slope + noise && f <= f_lo + noise;
  const auto turns = low && d * (hi - lo) >= 0;
  const auto b = ebb::where(low, ebb::where(turns, lo, hi), a), fb = ebb::where(low, ebb::where(turns, f_lo, f_hi), f),
             db = ebb::where(low, ebb::where(turns, d_lo, d_hi), d);
  const auto at = ebb::where(low, a, lo), fa = ebb::where(low, f, f_lo), da = ebb::where(low, d, d_lo);
  const auto next = ebb::where(ebb::isinf(b), 4 * a, inner_minimum(at, fa, da, b, fb, db));
  return std::tuple(low && ebb::abs(d) <= -0.9 * slope, low, std::tuple(at, fa, da, b, fb, db), next);
}

}  // namespace ebb::inline EBB_ABI::detail
