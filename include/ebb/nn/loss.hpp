// ebb/nn/loss.hpp — losses by element: l1, huber, smooth_l1, bce, kl_div, gaussian_nll, poisson_nll, soft_margin, hinge_embedding.
// SPDX-License-Identifier: BSL-1.0
//
// Shape, for all of them: as mse.   Dtype: promoted; integers give float.
// Each compares x with a target of the same rank, element by element. Narrow floats are computed in float, and results are rounded once.
// Arrays of one rank are broadcast; numbers are repeated. For tags see [note: options of losses]. Other numbers (delta, beta, margin,
// epsilon) follow the arrays; delta, beta and the epsilon of gaussian_nll get no gradient.
#pragma once

#include "../op/activation.hpp"
#include "../op/gradient.hpp"
#include "../op/logarithmic.hpp"
#include "../op/loss.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::op {

/// d^2 / 2 for |d| <= delta, delta (|d| - delta / 2) beyond.   Saves: d, delta.   Error: 1 ulp.
/// The derivative is d, at most delta in size; the second is 1 for |d| < delta, else 0. delta gets no gradient.
struct huber : elementwise<2> {
  static constexpr std::string_view name = "huber";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto d, auto delta) {
    auto half = lane::all<decltype(d)>(0.5), size = lane::abs(d);
    return lane::select(size <= delta, d * (half * d), delta * (size - half * delta));
  }
  static constexpr auto pull(auto g, auto d, auto delta, auto) { return grads(g * emit_on<hardtanh>({}, d, -delta, delta), nothing); }
};

/// d^2 / (2 beta) for |d| < beta, |d| - beta / 2 beyond; |d| for beta = 0.   Saves: d, beta.   Error: 1.5 ulp.
/// The derivative is d / beta between -1 and 1, and 0 at d = 0. beta gets no gradient.
struct smooth_l1 : elementwise<2> {
  static constexpr std::string_view name = "smooth_l1";
  static constexpr domain accepts = domain::real;
  static constexpr auto value(auto d, auto beta) {
    auto half = lane::all<decltype(d)>(0.5), size = lane::abs(d);
    auto inside = size < beta;
    return lane::select(inside, d * (half * d) / lane::select(inside, beta, lane::all<decltype(d)>(1)), size - half * beta);
  }
  static constexpr auto pull(auto g, auto d, auto beta, auto) {
    // The divisor is selected before the division, which would be by 0 for beta = 0.
    const auto inside = emit_on<less>({}, emit_on<abs>({}, d), beta);
    const auto slope = d / emit_on<where>({}, inside, beta, literal_like(d, 1));
    return grads(g * emit_on<where>({}, inside, slope, emit_on<sign>({}, d)), nothing);
  }
};

/// -y log(p) - (1 - y) log(1 - p), with logarithms of at least -100.   Saves: p, y.   Error: 2 ulp of the larger term.
/// The derivative by p is (p - y) / max(p (1 - p), 1e-12), as PyTorch's: finite at 0 and 1.
struct bce : elementwise<2> {
  static constexpr std::string_view name = "bce";
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr auto value(auto p, auto y) {
    auto least = lane::all<decltype(p)>(-100), one = lane::all<decltype(p)>(1);
    return (y - one) * lane::maximum(least, lane::log1p(-p)) - y * lane::maximum(least, lane::log(p));
  }
  template <class T>
  static constexpr cotangents<2> pull(operand<T> g, operand<T> p, operand<T> y, operand<T>) {
    const auto variance = emit_on<maximum>({}, p * (1 - p), literal_like(p, 1e-12)), least = literal_like(p, -100);
    const auto by_y = emit_on<maximum>({}, emit_on<log1p>({}, -p), least) - emit_on<maximum>({}, emit_on<log>({}, p), least);
    return grads(g * ((p - y) / variance), g * by_y);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// The target of kl_div is a logarithm too.
inline constexpr detail::loss_flag<loss_option::log_target> log_target{};
/// The loss includes its terms that do not depend on x.
inline constexpr detail::loss_flag<loss_option::with_constants> with_constants{};
/// The x of poisson_nll is the rate, not its logarithm.
inline constexpr detail::loss_flag<loss_option::of_rates> of_rates{};

namespace functions {

inline constexpr double half_log_of_2pi = 0.91893853320467274178032973640562;

template <class A>
constexpr shape extents_of_operand(const A& a) {
  if constexpr (is_operand<A>) return a.is_refused() ? refused(-a.id) : a.extents();
  else return {};
}
/// Brings x, y and further operands to one shape and dtype, and reduces what f gives for them.
template <class How, class X, class Y, class... More>
constexpr auto loss_by_element(auto f, X x, Y y, More... more) {
  using Real = promoted_to_real<detail::promoted_of<op::add, X, Y, More...>>;
  using Wide = detail::computed_in<Real>;
  graph& g = *detail::first_operand(x, y, more...).g;
  const shape in[] = {extents_of_operand(x), extents_of_operand(y), extents_of_operand(more)...};
  for (const shape& s : in)
    if (s.is_refused()) return reduced_loss<How>(refuse<Real>(g, s.code()));
  const shape common = broadcast_shapes(g.syms, in, 2 + sizeof...(More));
  const int a = rank_of_operand(x), b = rank_of_operand(y);
  const bool fits = (a == b || a == 0 || b == 0) && common.rank <= std::max(a, b);
  const int code = common.is_refused() ? common.code() : fits ? 0 : 211;
  if (code) return reduced_loss<How>(refuse<Real>(g, code));
  const int number = g.intern(common);
  const auto at = [&]<class A>(A operand_or_number) -> operand<Wide> {
    if constexpr (is_operand<A>) return cast_to<Wide>(detail::fit(operand_or_number, common));
    else return literal_in<Wide>(g, number, beside<Real>(operand_or_number));
  };
  return cast_to<Real>(reduced_loss<How>(f(at(x), at(y), at(more)...)));
}

template <class How, class>
struct l1 {
  static constexpr std::string_view name = "l1";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) {
    return loss_by_element<How>([](auto a, auto b) { return emit_on<op::abs>({}, a - b); }, x, y);
  }
};

/// Op of the difference x - y and a number.
template <class Op, class How>
struct loss_of_difference {
  static constexpr std::string_view name = Op::name;
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) { return apply(x, y, 1); }
  static constexpr auto apply(auto x, auto y, auto width) {
    return loss_by_element<How>([](auto a, auto b, auto w) { return emit_on<Op>({}, a - b, w); }, x, y, width);
  }
};
template <class How, class>
struct huber : loss_of_difference<op::huber, How> {};
template <class How, class>
struct smooth_l1 : loss_of_difference<op::smooth_l1, How> {};

template <class How, class>
struct bce {
  static constexpr std::string_view name = "bce";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto p, auto y) {
    return loss_by_element<How>([](auto a, auto b) { return emit_on<op::bce>({}, a, b); }, p, y);
  }
  static constexpr auto apply(auto p, auto y, auto weights) {
    return loss_by_element<How>([](auto a, auto b, auto w) { return w * emit_on<op::bce>({}, a, b); }, p, y, weights);
  }
};

/// A term is 0, and so are its gradients, where the target has the probability 0: there a valid operand takes the place of the target.
template <class How, class Flags>
struct kl_div {
  static constexpr std::string_view name = "kl_div";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) {
    return loss_by_element<How>([](auto a, auto b) {
      constexpr bool is_log = Flags::has(loss_option::log_target);
      const auto zero = literal_like(b, 0), end = literal_like(b, is_log ? -op::infinity<double> : 0.);
      const auto there = emit_on<op::not_equal>({}, b, end);
      const auto safe = emit_on<op::where>({}, there, b, literal_like(b, 1));
      if constexpr (is_log) return emit_on<op::where>({}, there, emit_on<op::exp>({}, safe) * (safe - a), zero);
      else return emit_on<op::where>({}, there, safe * (emit_on<op::log>({}, safe) - a), zero);
    }, x, y);
  }
};

template <class How, class Flags>
struct gaussian_nll {
  static constexpr std::string_view name = "gaussian_nll";
  static constexpr auto apply(auto x, auto y, auto variance) {
    return loss_by_element<How>([](auto a, auto b, auto v) { return of_elements(a, b, v, literal_like(v, 1e-6)); }, x, y, variance);
  }
  static constexpr auto apply(auto x, auto y, auto variance, auto epsilon) {
    return loss_by_element<How>([](auto a, auto b, auto v, auto least) { return of_elements(a, b, v, least); }, x, y, variance, epsilon);
  }

 private:
  template <class T>
  static constexpr operand<T> of_elements(operand<T> a, operand<T> b, operand<T> v, operand<T> least) {
    // The gradient passes the bound unchanged: the derivative by v is taken at the bounded v.
    const auto s = emit_on<op::straight_through>({}, v, emit_on<op::clamp_min>({}, v, least));
    const auto twice = emit_on<op::log>({}, s) + emit_on<op::square>({}, a - b) / s;
    if constexpr (Flags::has(loss_option::with_constants)) return 0.5 * twice + half_log_of_2pi;
    else return 0.5 * twice;
  }
};

template <class How, class Flags>
struct poisson_nll {
  static constexpr std::string_view name = "poisson_nll";
  static constexpr precision autocast = precision::full;
  // The default is exact in the dtype of the computation: in f16 it would be 0.
  static constexpr auto apply(auto x, auto y) {
    return loss_by_element<How>([](auto a, auto b) { return with_constant(without_constant(a, b, literal_like(a, 1e-8)), b); }, x, y);
  }
  static constexpr auto apply(auto x, auto y, auto epsilon) {
    return loss_by_element<How>([](auto a, auto b, auto e) { return with_constant(without_constant(a, b, e), b); }, x, y, epsilon);
  }

 private:
  template <class T>
  static constexpr operand<T> without_constant(operand<T> x, operand<T> y, operand<T> epsilon) {
    if constexpr (Flags::has(loss_option::of_rates)) return x - y * emit_on<op::log>({}, x + epsilon);
    else return emit_on<op::exp>({}, x) - y * x;
  }
  /// With Stirling's approximation of log(y!) for y > 1.
  template <class T>
  static constexpr operand<T> with_constant(operand<T> losses, operand<T> y) {
    if constexpr (!Flags::has(loss_option::with_constants)) return losses;
    else {
      const auto large = emit_on<op::greater>({}, y, literal_like(y, 1));
      const auto n = emit_on<op::where>({}, large, y, literal_like(y, 1)), l = emit_on<op::log>({}, n);
      const auto stirling = n * l - n + (0.5 * l + half_log_of_2pi);
      return losses + emit_on<op::where>({}, large, stirling, literal_like(y, 0));
    }
  }
};

template <class How, class>
struct soft_margin {
  static constexpr std::string_view name = "soft_margin";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) {
    return loss_by_element<How>([](auto a, auto b) { return emit_on<op::softplus>({}, -b * a); }, x, y);
  }
};

template <class How, class>
struct hinge_embedding {
  static constexpr std::string_view name = "hinge_embedding";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) { return apply(x, y, 1); }
  static constexpr auto apply(auto x, auto y, auto margin) {
    return loss_by_element<How>([](auto a, auto b, auto m) {
      const auto zero = literal_like(a, 0), one = literal_like(a, 1);
      const auto near = emit_on<op::where>({}, emit_on<op::not_equal>({}, b, -one), a, zero);
      return near + emit_on<op::where>({}, emit_on<op::not_equal>({}, b, one), emit_on<op::relu>({}, m - a), zero);
    }, x, y, margin);
  }
};

}  // namespace functions

/// |x - y|.   Saves: x, y.   Error: that of the mean. The derivative is 0 at 0.
inline constexpr detail::loss_call<functions::l1> l1{};
/// (x - y)^2 / 2 within delta, delta (|x - y| - delta / 2) beyond.   huber(x, y), huber(x, y, 0.5); delta is 1 by default.
/// Saves: x - y.   Error: that of the mean, and 1 ulp.
inline constexpr detail::loss_call<functions::huber> huber{};
/// huber divided by beta: (x - y)^2 / (2 beta) within beta, |x - y| - beta / 2 beyond; l1 for beta = 0. beta is 1 by default.
/// Saves: x - y.   Error: that of the mean, and 1.5 ulp.
inline constexpr detail::loss_call<functions::smooth_l1> smooth_l1{};
/// -y log(p) - (1 - y) log(1 - p) for a probability p, with logarithms of at least -100.   bce(p, y), bce(p, y, weighted(w))
/// Saves: p, y.   Error: that of the mean, and 2 ulp of the larger term. Use bce_with_logits where you can: it does not cancel.
inline constexpr detail::loss_call<functions::bce, loss_option::weight> bce{};
/// y (log y - x), for x = log q: the divergence of q from y. At y = 0 it is 0, with the gradient 0: PyTorch's gradient of y is NaN there.
/// Flags: log_target, for e^y (y - x); batch_averaged, which divides the sum by the extent of axis 0.
/// Saves: x, y.   Error: that of the mean, and 2 ulp of the larger term.
inline constexpr detail::loss_call<functions::kl_div, loss_option::log_target> kl_div{};
/// (log v + (x - y)^2 / v) / 2 for the variance v, bounded below by epsilon: gaussian_nll(x, y, v), gaussian_nll(x, y, v, 1e-4).
/// Flag: with_constants adds log(2 pi) / 2. epsilon is 1e-6 by default. PyTorch refuses negative variances; here they count as epsilon.
/// Saves: x - y, v.   Error: that of the mean, and 3 ulp of the larger term.
inline constexpr detail::loss_call<functions::gaussian_nll, loss_option::with_constants> gaussian_nll{};
/// e^x - y x, for x the logarithm of the rate and y the count. Flags: of_rates, for x - y log(x + epsilon), with 1e-8 by default;
/// with_constants adds Stirling's approximation of log(y!) for y > 1.   Saves: e^x, y.   Error: that of the mean, and 2 ulp of a term.
inline constexpr detail::loss_call<functions::poisson_nll, loss_option::of_rates, loss_option::with_constants> poisson_nll{};
/// log(1 + e^(-y x)), for targets -1 and 1.   Saves: y, x.   Error: that of softplus and of the mean.
inline constexpr detail::loss_call<functions::soft_margin> soft_margin{};
/// x for target 1, max(0, margin - x) for target -1; the margin is 1 by default.   Saves: x, y.   Error: that of the mean.
inline constexpr detail::loss_call<functions::hinge_embedding> hinge_embedding{};

}  // namespace ebb::inline EBB_ABI
