// ebb/reductions/moments.hpp — covariances and correlations of variables; skew and kurtosis.
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

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The products of all pairs of rows, where f makes the rows of the deviations from their means.
template <class T>
constexpr auto products_of_rows(operand<T> given, auto f) {
  using Real = decltype(detail::accepted<op::exp, T>());
  using Wide = detail::computed_in<Real>;
  if (given.is_refused() || given.rank() < 1) return refuse<Real>(*given.g, given.is_refused() ? -given.id : 377);
  const bool one = given.rank() == 1;
  const auto x = cast_to<Wide>(one ? view_as(given, with_axis(given.extents(), 0, 1)) : given);
  const std::int64_t last = std::int64_t{1} << (x.rank() - 1);
  const moments_of<Wide> m(x, last);
  const operand<Wide> r = f(x - repeat(m.mean, x, last), m, last);
  return cast_to<Real>(one && !r.is_refused() ? view_as(r, shape{}) : r);
}

template <int Correction>
struct cov {
  static constexpr precision autocast = op::matmul::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return products_of_rows(x, [](auto deviations, const auto& m, std::int64_t last) {
      const auto r = product_of(deviations, deviations, right_transposed);
      return r / repeat(m.divisor(Correction), r, last);
    });
  }
};

struct corrcoef {
  static constexpr precision autocast = op::matmul::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return products_of_rows(x, [](auto deviations, const auto& m, std::int64_t last) {
      const auto z = deviations / repeat(emit_on<op::root_of_squares>({}, m.squares), deviations, last);
      const auto r = product_of(z, z, right_transposed);
      return emit_on<op::clamp>({}, r, literal_like(r, -1), literal_like(r, 1));  // rounding may leave the range
    });
  }
};

/// The Order-th central moment divided by the Order-th power of the standard deviation, both with the divisor n.
template <int Order, bool Keep, int... Axes>
struct standardized_moment {
  static constexpr std::string_view name = Order == 3 ? "skew" : "kurtosis";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Real = decltype(detail::accepted<op::exp, T>());
    using Wide = detail::computed_in<Real>;
    return cast_to<Real>(reduced<Keep, Axes...>(cast_to<Wide>(x), [](auto y, std::int64_t mask) {
      const moments_of<Wide> m(y, mask);
      // The deviations are divided by their root mean square: so no power of them overflows.
      const auto n = repeat(m.count, m.squares, axis_run(0, m.squares.rank()));
      const auto size = emit_on<op::root_of_squares>({}, m.squares / n);
      const auto z = (y - repeat(m.mean, y, mask)) / repeat(size, y, mask), square = z * z;
      if constexpr (Order == 3) return sum_over(square * z, mask) / n;
      else return sum_over(square * square, mask) / n - 3;
    }));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {
template <int Correction>
inline constexpr bool is_cast_in_rules<functions::cov<Correction>> = false;
template <>
inline constexpr bool is_cast_in_rules<functions::corrcoef> = false;
}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The covariances of variables: rows of x are variables, columns are observations. The divisor is n - 1, or n - c with correction<c>.
/// Shape: x [..., k, n]: [..., k, k]; of a vector its variance, [].   Dtype: x's, integers give float; bf16 and f16 are computed in float.
/// Saves: the deviations.   Error: that of the product.
template <class X, int Count = 1>
constexpr auto cov(X&& x, correction_tag<Count> = {}) {
  return apply_function(functions::cov<Count>{}, std::forward<X>(x));
}
/// The correlations of variables, from -1 to 1; NaN for a variable that does not vary.   All other fields as cov.
inline constexpr call<functions::corrcoef> corrcoef{};
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
