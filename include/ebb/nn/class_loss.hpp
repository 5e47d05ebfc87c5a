// ebb/nn/class_loss.hpp — losses of several classes and of pairs: multilabel_soft_margin, focal, dice, info_nce.
// SPDX-License-Identifier: BSL-1.0
//
// For tags see [note: options of losses]. Other numbers (gamma, alpha, smooth, temperature) follow the arrays.
// Dtype, for all of them: promoted; integers give float. bf16 and f16 are computed in float and rounded once.
#pragma once

#include "margin.hpp"

#include "../op/contract.hpp"
#include "../op/power.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<455, Call> : Call {
  static_assert(Call::code != 455, "[ebb E0455] multilabel_soft_margin, dice, info_nce: an axis is missing: classes lie along the last "
                                   "axis, dice has axis 0 for the examples, and info_nce takes [..., n, size] twice");
};

namespace functions {

template <class How, class>
struct multilabel_soft_margin {
  static constexpr std::string_view name = "multilabel_soft_margin";
  static constexpr auto apply(auto x, auto y) { return of(x, y); }
  static constexpr auto apply(auto x, auto y, auto weights) { return of(x, y, weights); }

 private:
  /// -log(sigmoid(x)) for y = 1, -log(sigmoid(-x)) for y = 0.
  template <class T>
  static constexpr operand<T> each(operand<T> a, operand<T> b) {
    return (1 - b) * a - emit_on<op::log_sigmoid>({}, a);
  }
  static constexpr auto of(auto x, auto y, auto... weights) {
    const auto losses = loss_by_element<unreduced_tag>([](auto a, auto b, auto... w) { return (each(a, b) * ... * w); }, x, y, weights...);
    using Real = typename decltype(losses)::value_type;
    using Wide = detail::computed_in<Real>;
    if (losses.rank() == 0) return reduced_loss<How>(refuse<Real>(*losses.g, losses.is_refused() ? -losses.id : 455));
    return cast_to<Real>(reduced_loss<How>(mean<false, -1>::apply(cast_to<Wide>(losses))));
  }
};

template <class How, class>
struct focal {
  static constexpr std::string_view name = "focal";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto x, auto y) { return apply(x, y, 2, 0.25); }
  static constexpr auto apply(auto x, auto y, auto gamma) { return apply(x, y, gamma, 0.25); }
  static constexpr auto apply(auto x, auto y, auto gamma, auto alpha) {
    return loss_by_element<How>([](auto a, auto b, auto c, auto d) { return of_elements(a, b, c, d); }, x, y, gamma, alpha);
  }

 private:
  template <class T>
  static constexpr operand<T> of_elements(operand<T> x, operand<T> y, operand<T> gamma, operand<T> alpha) {
    const auto loss = (1 - y) * x - emit_on<op::log_sigmoid>({}, x);
    // The probability of the other class, as a sum of positive terms. If it underflows, its power has a derivative all the same.
    const auto other = (1 - y) * emit_on<op::sigmoid>({}, x) + y * emit_on<op::sigmoid>({}, -x);
    const auto least = literal_like(x, static_cast<double>(std::numeric_limits<T>::min()));
    const auto share = alpha * y + (1 - alpha) * (1 - y);
    return share * loss * emit_on<op::pow>({}, emit_on<op::clamp_min>({}, other, least), gamma);
  }
};

template <class How, class>
struct dice {
  static constexpr std::string_view name = "dice";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto p, auto y) { return apply(p, y, 1); }
  static constexpr auto apply(auto p, auto y, auto smooth) {
    const auto both = loss_by_element<unreduced_tag>([](auto a, auto b) { return a * b; }, p, y);
    const auto all = loss_by_element<unreduced_tag>([](auto a, auto b) { return a + b; }, p, y);
    using Real = typename decltype(both)::value_type;
    using Wide = detail::computed_in<Real>;
    if (both.rank() < 2) return reduced_loss<How>(refuse<Real>(*both.g, both.is_refused() ? -both.id : 455));
    const std::int64_t rest = axis_run(1, both.rank());
    const auto overlap = sum_over(cast_to<Wide>(both), rest), sizes = sum_over(cast_to<Wide>(all), rest);
    return cast_to<Real>(loss_by_element<How>([](auto o, auto s, auto e) { return (s - o - o) / (s + e); }, overlap, sizes,
                                              parameter<Real>(smooth)));
  }
};

template <class How, class>
struct info_nce {
  static constexpr std::string_view name = "info_nce";
  static constexpr precision autocast = precision::full;
  static constexpr auto apply(auto q, auto k) { return apply(q, k, 0.1); }
  template <class Q, class K>
  static constexpr auto apply(operand<Q> q, operand<K> k, auto temperature) {
    using Real = promoted_to_real<promoted<Q, K>>;
    using Wide = detail::computed_in<Real>;
    graph& g = *q.g;
    if (q.is_refused() || k.is_refused()) return reduced_loss<How>(refuse<Real>(g, q.is_refused() ? -q.id : -k.id));
    if (q.rank() < 2 || k.rank() != q.rank()) return reduced_loss<How>(refuse<Real>(g, 455));
    if (!g.syms.unify(q.extents(), k.extents())) return reduced_loss<How>(refuse<Real>(g, 102));
    const auto cosines = product_of(of_length_1(cast_to<Wide>(q)), of_length_1(cast_to<Wide>(k)), right_transposed);
    const auto t = detail::repeated_number(parameter<Real>(temperature), cosines, 482);
    if (t.is_refused()) return reduced_loss<How>(refuse<Real>(g, -t.id));
    const int last = cosines.rank() - 1;
    const std::int64_t mask = std::int64_t{1} << last;
    const auto logits = cosines / t;
    const auto i = index_along<std::int64_t>(g, logits.shape_number(), last - 1);
    const auto j = index_along<std::int64_t>(g, logits.shape_number(), last);
    const auto own = sum_over(emit_on<op::where>({}, emit_on<op::equal>({}, i, j), logits, literal_like(logits, 0)), mask);
    return cast_to<Real>(reduced_loss<How>(logsumexp<false, -1>::apply(logits) - own));
  }

 private:
  template <class T>
  static constexpr operand<T> of_length_1(operand<T> x) {
    const auto length = norm<2, 1, true, -1>::apply(x);
    return x / detail::fit(emit_on<op::clamp_min>({}, length, literal_like(length, 1e-12)), x.extents());
  }
};

}  // namespace functions

/// The mean over the classes of -y log(sigmoid(x)) - (1 - y) log(sigmoid(-x)).   multilabel_soft_margin(x, y, weighted(w))
/// Shape: x, y [..., classes]; weights broadcast to them; losses [...].   Saves: x, y.   Error: that of log_sigmoid and of the mean.
inline constexpr detail::loss_call<functions::multilabel_soft_margin, loss_option::weight> multilabel_soft_margin{};
/// bce_with_logits times (1 - q)^gamma and times alpha for target 1, 1 - alpha for target 0, where q is the probability of the target.
///   focal(x, y), focal(x, y, 2.0, 0.25)
/// gamma is 2 by default, alpha 0.25. With alpha = 0.5 both classes count alike: the loss is half of the one without alpha.
/// Shape: as mse.   Saves: x, y, sigmoid(x).   Error: that of log_sigmoid and of the mean, plus 4 ulp times gamma.
/// Source: Lin et al., Focal loss for dense object detection, ICCV 2017, arXiv:1708.02002; torchvision.ops.sigmoid_focal_loss.
inline constexpr detail::loss_call<functions::focal> focal{};
/// 1 - (2 sum(p y) + smooth) / (sum(p) + sum(y) + smooth) for each index of axis 0, for probabilities p; smooth is 1 by default.
///   dice(p, y), dice(p, y, 1e-3)
/// Shape: p, y [n, ...]; losses [n].   Saves: p, y.   Error: that of the sums.
/// Source: Milletari, Navab and Ahmadi, V-Net, 3DV 2016, arXiv:1606.04797, with p and y instead of their squares.
inline constexpr detail::loss_call<functions::dice> dice{};
/// -log of softmax(cosines / temperature) at the own key. Row i of q belongs to row i of k, its key; the other rows of k are the negatives.
/// The temperature is 0.1 by default.   info_nce(q, k), info_nce(q, k, 0.07)
/// Shape: q, k [..., n, size]; losses [..., n].   Saves: q, k, their norms, the cosines.   Error: that of the products and of logsumexp.
/// A row of zeros has the cosine 0 with all others.
/// Source: van den Oord, Li and Vinyals, Representation learning with contrastive predictive coding, 2018, arXiv:1807.03748.
inline constexpr detail::loss_call<functions::info_nce> info_nce{};

}  // namespace ebb::inline EBB_ABI
