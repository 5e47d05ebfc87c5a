// ebb/op/moments.hpp — variances, standard deviations and norms, over any axes.
// SPDX-License-Identifier: BSL-1.0
//
// Shape, for all of them: x's without the given axes; [] if none is given.
//   var<1>(x)                                  axes as for sums; the divisor is n - 1
//   stddev(x, correction<0>, keep_dims)        tags in any order
//   norm<-1>(x, order<3>)                      also order<1, 2>, that is 1/2, order_inf and order_minus_inf
//
// [note: why stddev]
// PyTorch and NumPy call it std. A function of that name in namespace ebb would hide namespace std from all code in ebb.
#pragma once

#include "extremum.hpp"
#include "power.hpp"
#include "reduce.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// Tag of var and stddev: the divisor is n - Count, at least 0.
template <int Count>
struct correction_tag {
  static constexpr int count = Count;
};
template <int Count>
inline constexpr correction_tag<Count> correction{};

/// Tag of norm: its order is P / Q; infinite, with the sign of P, if Q is 0.
template <int P, int Q>
struct order_tag {
  static constexpr int p = P, q = Q;
};
template <int P, int Q = 1>
inline constexpr order_tag<P, Q> order{};
inline constexpr order_tag<1, 0> order_inf{};
inline constexpr order_tag<-1, 0> order_minus_inf{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// (x - m)^2, where m is the mean of the x over which it is summed. Moving m away from the mean does not change that sum to first order, so
/// m gets no gradient. The gradient of x depends on m, so the second derivative is complete.
/// Saves: x, m.   Error: that of a difference, squared.
struct squared_offset : elementwise<2> {
  static constexpr std::string_view name = "squared_offset";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x, auto m) {
    auto d = x - m;
    return d * d;
  }
  static constexpr auto pull(auto g, auto x, auto m, auto) { return grads(g * (2 * (x - m)), nothing); }
};

/// The square root of a sum of squares. At 0 its derivative is 0, as that of each square is.   Saves: out.   Error: 0.5 ulp.
struct root_of_squares : transcendental {
  static constexpr std::string_view name = "root_of_squares";
  static constexpr auto value(auto x) { return lane::sqrt(x); }
  static constexpr auto pull(auto g, auto, auto out) {
    const auto zero = literal_like(out, 0);
    const auto is_zero = emit_on<equal>({}, out, zero);
    return grads(emit_on<where>({}, is_zero, zero, g / (2 * emit_on<where>({}, is_zero, literal_like(out, 1), out))));
  }
};

/// The power of 2 by which a magnitude is divided so that its square neither overflows nor underflows; 1 for infinities and NaN. The power
/// and its reciprocal are normal numbers.   Saves: nothing, no gradient.   Error: exact.
struct binade : elementwise<1> {
  static constexpr std::string_view name = "binade";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto x) {
    using V = decltype(x);
    using T = lane::element_of<V>;
    using format = lane::format<T>;
    const auto exponent = static_cast<lane::bits_of<T>>(~(format::sign | format::fraction));
    V power = lane::from_bits<V>(lane::to_bits(x) & lane::all<lane::bits_of<V>>(exponent)), one = lane::all<V>(1);
    V least = lane::all<V>(std::numeric_limits<T>::min()), most = lane::all<V>(1 / std::numeric_limits<T>::min());
    return lane::select(power < lane::all<V>(infinity<T>), lane::at_most(lane::at_least(power, least), most), one);
  }
  static constexpr auto pull(auto, auto, auto) { return grads(nothing); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::detail {

/// The tags of a reduction, in any order.
template <class... Tag>
struct reduction_tags {
  static constexpr bool keeps = false;
  static constexpr int count = 1, p = 2, q = 1;  // defaults
  static constexpr bool are_of_moments = true, are_of_norms = true;
};
template <class... More>
struct reduction_tags<keep_dims_tag, More...> : reduction_tags<More...> {
  static constexpr bool keeps = true;
};
template <int Count, class... More>
struct reduction_tags<correction_tag<Count>, More...> : reduction_tags<More...> {
  static constexpr int count = Count;
  static constexpr bool are_of_norms = false;
};
template <int P, int Q, class... More>
struct reduction_tags<order_tag<P, Q>, More...> : reduction_tags<More...> {
  static constexpr int p = P, q = Q;
  static constexpr bool are_of_moments = false, are_of_norms = Q >= 0 && (P != 0 || Q != 0) && reduction_tags<More...>::are_of_norms;
};
template <class Other, class... More>
struct reduction_tags<Other, More...> : reduction_tags<More...> {
  static constexpr bool are_of_moments = false, are_of_norms = false;
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::functions {

/// The mean of x along the axes in the mask, and the sum of squared deviations from it, both without these axes.
template <class T>
struct moments_of {
  operand<T> mean, squares, count;

  constexpr moments_of(operand<T> x, std::int64_t mask) : count(count_along<T>(x, mask)) {
    const auto total = sum_over(x, mask);
    mean = total / repeat(count, total, axis_run(0, total.rank()));
    squares = sum_over(emit_on<op::squared_offset>({}, x, repeat(mean, x, mask)), mask);
  }
  /// The number of elements minus `taken`, at least 0, for each element of the result.
  constexpr operand<T> divisor(int taken) const {
    if (mean.is_refused()) return mean;
    operand<T> n = count;
    if (n.op().what == kind::literal) {
      const T known = from_cell<T>(static_cast<cell>(n.attribute(0))) - static_cast<T>(taken);
      n = literal_like(n, known > 0 ? known : T(0));
    } else n = emit_on<op::maximum>({}, n - taken, literal_like(n, 0));
    return repeat(n, mean, axis_run(0, mean.rank()));
  }
};

template <bool Root, int Correction, bool Keep, int... Axes>
struct variance {
  static constexpr std::string_view name = Root ? "stddev" : "var";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, [](auto y, std::int64_t mask) {
      const moments_of m(y, mask);
      const auto v = m.squares / m.divisor(Correction);
      if constexpr (Root) return emit_on<op::root_of_squares>({}, v);
      else return v;
    });
  }
};

template <int P, int Q, bool Keep, int... Axes>
struct norm {
  static constexpr std::string_view name = "norm";
  template <class T>
  static constexpr auto apply(operand<T> x) {
    return reduced_as<promoted_to_real<T>, Keep, Axes...>(x, [](auto y, std::int64_t mask) { return along(y, mask); });
  }

 private:
  template <class T>
  static constexpr operand<T> along(operand<T> x, std::int64_t mask) {
    const auto zero = literal_like(x, 0);
    if constexpr (P == 0) return sum_over(cast_to<T>(emit_on<op::not_equal>({}, x, zero)), mask);
    else if constexpr (P == Q) return sum_over(emit_on<op::abs>({}, x), mask);
    else if constexpr (Q == 0 || P < 0) {
      using extreme = std::conditional_t<(P > 0), op::max, op::min>;
      if (volume_of(x.g->syms, without_axes(x.extents(), ~mask)) == 0) return refuse<T>(*x.g, 116);
      const auto size = emit_on<op::abs>({}, x), end = reduce_over<extreme>(size, mask);
      if constexpr (Q == 0) return end;
      else return scaled(size, end, mask);
    } else {
      const auto size = emit_on<op::abs>({}, x), end = reduce_over<op::peak>(size, mask);
      return scaled(P == 2 * Q ? x : size, end, mask);
    }
  }
  /// The norm of x, computed from x / s: s is a power of 2 near `end`, the extremal element. No derivative depends on s.
  template <class T>
  static constexpr operand<T> scaled(operand<T> x, operand<T> end, std::int64_t mask) {
    const auto s = emit_on<op::binade>({}, end), part = x * repeat(emit_on<op::reciprocal>({}, s), x, mask);
    if constexpr (P == 2 * Q) return s * emit_on<op::root_of_squares>({}, sum_over(emit_on<op::square>({}, part), mask));
    else {
      // Zeros are left out of the powers: the derivatives of a power at 0 are infinite, or 0 times infinity.
      constexpr double p = static_cast<double>(P) / Q;
      const auto powers = select_then_raise(part, T(0), p, p > 0 ? T(0) : op::infinity<T>);
      const auto total = sum_over(powers, mask);
      return s * select_then_raise(total, p > 0 ? T(0) : op::infinity<T>, 1 / p, T(0));
    }
  }
  /// x^p, but `value` where x equals `special`.
  template <class T>
  static constexpr operand<T> select_then_raise(operand<T> x, T special, double p, T value) {
    const auto is_special = emit_on<op::equal>({}, x, literal_like(x, special));
    const auto safe = emit_on<op::where>({}, is_special, literal_like(x, 1), x);
    return emit_on<op::where>({}, is_special, literal_like(x, value), power_of(safe, p));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The variance: the sum of squared deviations from the mean over n - 1, or over n - c with the tag correction<c>. NaN if that is 0 over 0.
/// Two passes, the mean first: a large mean costs no digits.
/// Dtype: integers give float; bf16 and f16 are computed in float and rounded once.   Saves: x, the mean.
/// Error: that of the sums.
template <int... Axes, class X, class... Tag>
constexpr auto var(X&& x, Tag...) {
  using tags = detail::reduction_tags<Tag...>;
  static_assert(tags::are_of_moments, "[ebb E0280] var, stddev: after the array come tags: ebb::correction<0>, ebb::keep_dims");
  return apply_function(functions::variance<false, tags::count, tags::keeps, Axes...>{}, std::forward<X>(x));
}
/// The square root of var, PyTorch's std: see [note: why stddev]. If it is 0, so is its derivative.
/// Dtype, Error: as var.   Saves: x, the mean, out.
template <int... Axes, class X, class... Tag>
constexpr auto stddev(X&& x, Tag...) {
  using tags = detail::reduction_tags<Tag...>;
  static_assert(tags::are_of_moments, "[ebb E0280] var, stddev: after the array come tags: ebb::correction<0>, ebb::keep_dims");
  return apply_function(functions::variance<true, tags::count, tags::keeps, Axes...>{}, std::forward<X>(x));
}
/// The variance and the mean, in a tuple: inside a traced function the mean is computed once.   All fields as var and mean.
template <int... Axes, class X, class... Tag>
constexpr auto var_mean(const X& x, Tag... tag) {
  using keep = std::conditional_t<detail::reduction_tags<Tag...>::keeps, keep_dims_tag, drop_dims_tag>;
  return std::tuple(var<Axes...>(x, tag...), mean<Axes...>(x, keep{}));
}
/// The norm of order 2, or of the order given by a tag, as torch.linalg.vector_norm: (sum of |x|^p)^(1/p), the largest or smallest
/// magnitude for order_inf and order_minus_inf, the number of nonzero elements for order<0>.
/// No intermediate result overflows or underflows unless the norm does: elements are first divided by a power of 2, except for orders 0, 1
/// and infinity, which do not need it. Derivatives are 0 where the norm is 0 and at elements that are 0; equal largest ones share theirs.
/// Dtype: integers give float; bf16 and f16 are computed in float and rounded once.   Saves: x / s, its norm; order 1: x.
/// Error: that of the sum and 1 ulp, and that of pow for orders other than 1 and 2.
/// Throws: if there are no elements, for infinite and negative orders.
template <int... Axes, class X, class... Tag>
constexpr auto norm(X&& x, Tag...) {
  using tags = detail::reduction_tags<Tag...>;
  static_assert(tags::are_of_norms, "[ebb E0281] norm: after the array come tags: ebb::order<p> or order<p, q>, q > 0, ebb::keep_dims");
  return apply_function(functions::norm<tags::p, tags::q, tags::keeps, Axes...>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI
