// ebb/reductions/moments.hpp — covariances and correlations of variables; central moments, skew and kurtosis.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "sums.hpp"

#include "../op/linear.hpp"
#include "../op/moments.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<377, Call> : Call {
  static_assert(Call::code != 377, "[ebb E0377] cov, corrcoef: an operand has no axis: each row is a variable, each column an observation");
};

template <class Call>
struct refusal<515, Call> : Call {
  static_assert(Call::code != 515, "[ebb E0515] cov: counts and weights are numbers, or vectors with one element for each observation");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The products of all pairs of rows: f(x, the mask of the last axis) makes them of the rows of x.
template <class T>
constexpr auto products_of_rows(operand<T> given, auto f) {
  using Real = promoted_to_real<T>;
  using Wide = detail::computed_in<Real>;
  if (given.is_refused() || given.rank() < 1) return refuse<Real>(*given.g, given.is_refused() ? -given.id : 377);
  const bool one = given.rank() == 1;
  const auto x = cast_to<Wide>(one ? view_as(given, with_axis(given.extents(), 0, 1)) : given);
  const std::int64_t last = std::int64_t{1} << (x.rank() - 1);
  const operand<Wide> r = f(x, last);
  return cast_to<Real>(one && !r.is_refused() ? view_as(r, shape{}) : r);
}

template <int Correction>
struct cov {
  static constexpr precision autocast = op::matmul::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return products_of_rows(x, []<class Wide>(operand<Wide> y, std::int64_t last) {
      const moments_of<Wide> m(y, last);
      const auto deviations = y - repeat(m.mean, y, last);
      const auto r = product_of(deviations, deviations, right_transposed);
      return r / repeat(m.divisor(Correction), r, last);
    });
  }
};

template <int Correction>
struct weighted_cov {
  static constexpr std::string_view name = "cov";
  static constexpr precision autocast = op::matmul::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x, auto counts, auto weights) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    graph& g = *x.g;
    const operand<Wide> f = to_operand<Wide>(g, counts), a = to_operand<Wide>(g, weights);
    for (const operand<Wide>& each : {f, a}) {
      if (each.is_refused()) return refuse<Real>(g, -each.id);
      if (x.is_refused() || x.rank() < 1 || each.rank() == 0) continue;
      if (each.rank() > 1 || !g.syms.unify(each.extent(0), x.extent(x.rank() - 1))) return refuse<Real>(g, 515);
    }
    return products_of_rows(x, [&](operand<Wide> y, std::int64_t last) {
      const shape row = axes_between(y.extents(), y.rank() - 1, y.rank());
      const auto reliable = detail::fit(a, row), w = detail::fit(f, row) * reliable, total = sum_over(w, 1);
      const auto everywhere = [](operand<Wide> scalar, operand<Wide> like) { return repeat(scalar, like, axis_run(0, like.rank())); };
      const auto of_rows = repeat(w, y, axis_run(0, y.rank() - 1));
      const auto sums = sum_over(of_rows * y, last), mean = sums / everywhere(total, sums);
      const auto deviations = y - repeat(mean, y, last);
      const auto r = product_of(deviations * of_rows, deviations, right_transposed);
      const auto divisor = total - Correction * (sum_over(w * reliable, 1) / total);
      return r / everywhere(emit_on<op::maximum>({}, divisor, literal_like(divisor, 0)), r);
    });
  }
  /// A number has no rows.
  static constexpr auto apply(number auto, auto counts, auto weights) {
    return refuse<float>(*detail::first_operand(counts, weights).g, 377);
  }
};

struct corrcoef {
  static constexpr precision autocast = op::matmul::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return products_of_rows(x, []<class Wide>(operand<Wide> y, std::int64_t last) {
      const moments_of<Wide> m(y, last);
      const auto deviations = y - repeat(m.mean, y, last);
      const auto z = deviations / repeat(emit_on<op::root_of_squares>({}, m.squares), deviations, last);
      const auto r = product_of(z, z, right_transposed);
      return emit_on<op::clamp>({}, r, literal_like(r, -1), literal_like(r, 1));  // rounding may leave the range
    });
  }
};

/// The Order-th central moment, with the divisor n.
template <int Order, bool Keep, int... Axes>
struct moment {
  static constexpr detail::spelled name{"moment", Order};
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, [](auto y, std::int64_t mask) {
      const moments_of m(y, mask);
      const auto sum = sum_over(power(y - repeat(m.mean, y, mask), Order), mask);
      return sum / repeat(m.count, sum, axis_run(0, sum.rank()));
    });
  }

 private:
  template <class T>
  static constexpr operand<T> power(operand<T> x, int n) {
    if (n == 1) return x;
    const auto half = power(x, n / 2), square = half * half;
    return n % 2 ? square * x : square;
  }
};

/// The Order-th central moment divided by the Order-th power of the standard deviation, both with the divisor n.
template <int Order, bool Keep, int... Axes>
struct standardized_moment {
  static constexpr std::string_view name = Order == 3 ? "skew" : "kurtosis";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, [](auto y, std::int64_t mask) {
      const moments_of m(y, mask);
      // The deviations are divided by their root mean square: so no power of them overflows.
      const auto n = repeat(m.count, m.squares, axis_run(0, m.squares.rank()));
      const auto size = emit_on<op::root_of_squares>({}, m.squares / n);
      const auto z = (y - repeat(m.mean, y, mask)) / repeat(size, y, mask), square = z * z;
      if constexpr (Order == 3) return sum_over(square * z, mask) / n;
      else return sum_over(square * square, mask) / n - 3;
    });
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {
template <int Correction>
inline constexpr bool is_cast_in_rules<functions::cov<Correction>> = false;
template <int Correction>
inline constexpr bool is_cast_in_rules<functions::weighted_cov<Correction>> = false;
template <>
inline constexpr bool is_cast_in_rules<functions::corrcoef> = false;
}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The covariances of variables: rows of x are variables, columns are observations. The divisor is n - 1, or n - c with correction<c>.
///   cov(x)   cov(x, correction<0>)   cov(x, counts, weights)   cov(x, counts, 1)   cov(x, 1, weights, correction<0>)
/// Counts say how often an observation was made, weights how reliable it is: those of all observations, [n] or a number. They are
/// fweights and aweights of torch.cov, with its divisor: the sum of w = counts * weights, minus c sum(w * weights) / sum(w), at least 0.
/// NaN if all counts or weights are 0; negative ones are not refused.
/// Shape: x [..., k, n]: [..., k, k]; of a vector its variance, [].   Dtype: x's, integers give float; bf16 and f16 are computed in float.
/// Saves: the deviations.   Error: that of the product.
template <class X, int Count = 1>
constexpr auto cov(X&& x, correction_tag<Count> = {}) {
  return apply_function(functions::cov<Count>{}, std::forward<X>(x));
}
template <class X, class F, class A, int Count = 1>
constexpr auto cov(X&& x, F&& counts, A&& weights, correction_tag<Count> = {}) {
  return apply_function(functions::weighted_cov<Count>{}, std::forward<X>(x), std::forward<F>(counts), std::forward<A>(weights));
}
/// The correlations of variables, from -1 to 1; NaN for a variable that does not vary.   All other fields as cov.
inline constexpr call<functions::corrcoef> corrcoef{};
/// The central moment of a number, with the divisor n, as scipy.stats.moment: the mean of (x - mean)^Order.
///   moment<4>(x)   moment<3, 0>(x, keep_dims)
/// Shape, Dtype: as var.   Saves: the deviations and their powers.   Error: that of the sums.
template <int Order, int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto moment(X&& x, Keep = {}) {
  static_assert(Order >= 2, "[ebb E0545] moment: the order of a central moment is 2 or more; the first one is 0");
  return apply_function(functions::moment<(Order < 2 ? 2 : Order), detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The third central moment divided by the third power of the standard deviation, with divisors n, as scipy.stats.skew. NaN if the standard
/// deviation is 0.
/// Shape, Dtype: as var.   Saves: the deviations, their size.   Error: that of the sums.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto skew(X&& x, Keep = {}) {
  return apply_function(functions::standardized_moment<3, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}
/// The fourth central moment divided by the square of the variance, with divisors n, minus 3: 0 for a normal distribution, as
/// scipy.stats.kurtosis.
/// All other fields as skew.
template <int... Axes, class X, class Keep = drop_dims_tag>
constexpr auto kurtosis(X&& x, Keep = {}) {
  return apply_function(functions::standardized_moment<4, detail::keeps<Keep>::dims, Axes...>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
