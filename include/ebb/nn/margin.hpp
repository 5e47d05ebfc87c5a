// ebb/nn/margin.hpp — losses of pairs and of classes with a margin: margin_ranking, cosine_embedding, triplet, multi_margin.
// SPDX-License-Identifier: BSL-1.0
//
// max(0, ...) has the derivative 0 at its kink. For tags see [note: options of losses]. The margin follows the operands.
// Dtype, for all of them: promoted; integers give float.
#pragma once

#include "loss.hpp"

#include "../op/gather.hpp"
#include "../op/moments.hpp"

namespace ebb::inline EBB_ABI {

/// triplet takes the smaller of the distances of the negative from the anchor and from the positive.
inline constexpr detail::loss_flag<loss_option::swap> swapped{};

template <class Call>
struct refusal<488, Call> : Call {
  static_assert(Call::code != 488, "[ebb E0488] cosine_embedding, triplet: vectors lie along the last axis, and a number has none");
};

namespace functions {

template <class How, class>
struct margin_ranking {
  static constexpr std::string_view name = "margin_ranking";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto a, auto b, auto y) { return apply(a, b, y, 0); }
  static constexpr auto apply(auto a, auto b, auto y, auto margin) {
    return loss_by_element<How>([](auto u, auto v, auto t, auto m) { return emit_on<op::relu>({}, m - t * (u - v)); }, a, b, y, margin);
  }
};

/// The sum of the products along the last axis.
template <class T>
constexpr operand<T> dot_along(operand<T> a, operand<T> b) {
  return sum_over(a * b, std::int64_t{1} << (a.rank() - 1));
}

/// A margin beside vectors of dtype T, which may be computed in a wider one.
template <class T>
constexpr auto parameter(number auto margin) {
  return beside<T>(margin);
}
template <class T, class X>
constexpr operand<X> parameter(operand<X> margin) {
  return margin;
}

template <class How, class>
struct cosine_embedding {
  static constexpr std::string_view name = "cosine_embedding";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto a, auto b, auto y) { return apply(a, b, y, 0); }
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b, auto y, auto margin) {
    using Real = promoted_to_real<promoted<A, B>>;
    using Wide = detail::computed_in<Real>;
    if (a.rank() == 0 || b.rank() == 0) return reduced_loss<How>(refuse<Real>(*a.g, a.is_refused() ? -a.id : b.is_refused() ? -b.id : 488));
    const auto u = cast_to<Wide>(a), v = cast_to<Wide>(b);
    const auto squares = (dot_along(u, u) + 1e-12) * (dot_along(v, v) + 1e-12);
    const auto cosine = dot_along(u, v) / emit_on<op::sqrt>({}, squares);
    return cast_to<Real>(loss_by_element<How>([](auto c, auto t, auto m) {
      const auto one = literal_like(c, 1), zero = literal_like(c, 0);
      const auto apart = emit_on<op::where>({}, emit_on<op::equal>({}, t, -one), emit_on<op::relu>({}, c - m), zero);
      return emit_on<op::where>({}, emit_on<op::equal>({}, t, one), one - c, apart);
    }, cosine, y, parameter<Real>(margin)));
  }
};

template <class How, class Options, int Order>
struct triplet {
  static constexpr std::string_view name = "triplet";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto a, auto p, auto n) { return apply(a, p, n, 1); }
  template <class A, class P, class N>
  static constexpr auto apply(operand<A> a, operand<P> p, operand<N> n, auto margin) {
    using Real = promoted_to_real<promoted<promoted<A, P>, N>>;
    using Wide = detail::computed_in<Real>;
    if (a.rank() == 0 || p.rank() == 0 || n.rank() == 0)
      return reduced_loss<How>(refuse<Real>(*a.g, a.is_refused() ? -a.id : p.is_refused() ? -p.id : n.is_refused() ? -n.id : 488));
    const auto anchor = cast_to<Wide>(a), near = cast_to<Wide>(p), far = cast_to<Wide>(n);
    auto apart = distance(anchor, far);
    if constexpr (Options::has(loss_option::swap)) apart = emit_on<op::minimum>({}, apart, distance(near, far));
    const auto loss = [](auto u, auto v, auto m) { return emit_on<op::relu>({}, u - v + m); };
    return cast_to<Real>(loss_by_element<How>(loss, distance(anchor, near), apart, parameter<Real>(margin)));
  }

 private:
  /// As torch.nn.functional.pairwise_distance, which adds 1e-6 to each difference. Unlike ebb::pairwise_distance it does not broadcast.
  template <class T>
  static constexpr operand<T> distance(operand<T> a, operand<T> b) {
    return norm<Order, 1, false, -1>::apply(a - b + 1e-6);
  }
};

template <class How, int P>
struct multi_margin {
  static constexpr std::string_view name = "multi_margin";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto target) { return apply(x, target, 1); }
  template <class T, class I>
  static constexpr auto apply(operand<T> given, operand<I> target, auto margin) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    if constexpr (!index_element<I>) return reduced_loss<How>(refuse<Real>(*given.g, 115));
    else {
      const auto x = cast_to<Wide>(given);
      const int last = x.rank() - 1;
      if (last < 0) return reduced_loss<How>(refuse<Real>(*x.g, x.is_refused() ? -x.id : 103));
      const std::int64_t mask = std::int64_t{1} << last;
      const auto hit = marked<multi_margin>(target, x.extents(), last);
      const auto zero = literal_like(x, 0);
      const auto own = repeat(sum_over(emit_on<op::where>({}, hit, x, zero), mask), x, mask);
      const auto width = detail::repeated_number(parameter<Real>(margin), x, 482);
      const auto over = emit_on<op::where>({}, hit, zero, emit_on<op::relu>({}, width - own + x));
      const auto total = sum_over(P == 2 ? emit_on<op::square>({}, over) : over, mask);
      const auto classes = repeat(count_along<Wide>(x, mask), total, axis_run(0, total.rank()));
      return cast_to<Real>(reduced_loss<How>(total / classes));
    }
  }
};

}  // namespace functions

/// max(0, margin - y (a - b)): y is 1 where a should be larger, -1 where b should be. The margin is 0 by default.
/// Shape: as mse.   Saves: y, a - b.   Error: that of the mean, and 2 ulp of the larger term.
inline constexpr detail::loss_call<functions::margin_ranking> margin_ranking{};
/// 1 - c for target 1, max(0, c - margin) for target -1, where c is the cosine of the angle of the vectors a and b along the last axis; the
/// margin is 0 by default.   cosine_embedding(a, b, y), cosine_embedding(a, b, y, 0.5)
/// Shape: a, b [..., n], y [...].   Saves: a, b.   Error: that of the sums. 1e-12 is added to each sum of squares, as PyTorch does.
inline constexpr detail::loss_call<functions::cosine_embedding> cosine_embedding{};
/// max(0, |a - p| - |a - n| + margin) for an anchor, a positive and a negative, vectors along the last axis, with norms of order P; the
/// margin is 1 by default.   triplet(a, p, n), triplet<1>(a, p, n, 0.5)
/// Flag: swapped.   Shape: [..., n].   Saves: the differences.   Error: that of the norms.
/// Source: torch.nn.functional.triplet_margin_loss.
template <int P = 2, class Anchor, class Positive, class Negative, class... Options>
constexpr auto triplet(const Anchor& a, const Positive& p, const Negative& n, const Options&... margin_how) {
  using o = detail::arguments_of_loss<Options...>;
  using function = functions::triplet<typename o::how, typename o::options, P>;
  constexpr std::size_t more = detail::count_of_operands<Options...>;
  static_assert(P >= 1 && more <= 1,
                "[ebb E0537] triplet: the order of the norm is 1 or more; after three operands comes at most a margin");
  static_assert(detail::loss_takes<o, false, loss_option::swap>, "[ebb E0483] this loss has no such option");
  if constexpr (more == 0) return apply_function(function{}, a, p, n);
  else return apply_function(function{}, a, p, n, detail::nth_operand<0>(margin_how...));
}
/// The mean over all classes of max(0, margin - x[target] + x[class])^P, without the target itself; the margin is 1 by default.
///   multi_margin(x, t), multi_margin<2>(x, t, 0.5)
/// Shape: x [..., classes]; target [...], class indices.   Saves: x.   Error: that of the sums.   Throws: if there is no such class.
template <int P = 1, class X, class Target, class... Options>
constexpr auto multi_margin(const X& x, const Target& target, const Options&... margin_how) {
  using o = detail::arguments_of_loss<Options...>;
  using function = functions::multi_margin<typename o::how, P>;
  constexpr std::size_t more = detail::count_of_operands<Options...>;
  static_assert((P == 1 || P == 2) && more <= 1,
                "[ebb E0489] multi_margin: the power is 1 or 2; after two operands comes at most a margin");
  static_assert(detail::loss_takes<o, false>, "[ebb E0483] this loss has no such option");
  if constexpr (more == 0) return apply_function(function{}, x, target);
  else return apply_function(function{}, x, target, detail::nth_operand<0>(margin_how...));
}

}  // namespace ebb::inline EBB_ABI
