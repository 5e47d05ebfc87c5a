// ebb/stats/vector.hpp — log densities of vectors and of classes: categorical, multinomial, dirichlet, multivariate normal.
// SPDX-License-Identifier: BSL-1.0
//
// Vectors and classes lie along the last axis; leading axes are batches, which are broadcast.
#pragma once

#include "quantity.hpp"
#include "support.hpp"

#include "../linalg/determinant.hpp"
#include "../linalg/diagonal.hpp"
#include "../op/gather.hpp"
#include "../op/loss.hpp"
#include "../op/triangle.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<490, Call> : Call {
  static_assert(Call::code != 490, "[ebb E0490] categorical, multinomial, dirichlet: an operand has no axis, along which its classes lie");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The sum along the last axis; if Kept, with an axis of extent 1 in its place.
template <bool Kept, class T>
constexpr quantity<T> sum_of_classes(quantity<T> x) {
  const operand<T> v = x.value;
  if (v.is_refused()) return x;
  if (v.rank() < 1) return {refuse<T>(*v.g, 490)};
  const auto sum = sum_over(v, std::int64_t{1} << (v.rank() - 1));
  if constexpr (Kept) return {view_as(sum, with_axis(sum.extents(), sum.rank(), 1))};
  else return {sum};
}
template <class T>
constexpr quantity<T> count_of_classes(quantity<T> x) {
  const operand<T> v = x.value;
  if (v.is_refused()) return x;
  if (v.rank() < 1) return {refuse<T>(*v.g, 490)};
  return {count_along<T>(v, std::int64_t{1} << (v.rank() - 1))};
}
/// f(x) if no element along the last axis is outside of its support, else -inf: f sees `safe` in place of all of them.
template <std::same_as<bool> B, class T>
constexpr quantity<T> on_support_of_all(quantity<B> outside, quantity<T> x, number auto safe, auto f) {
  const auto count = emit_for<op::where>(outside, 1.0, 0.0);
  const auto some = emit_for<op::greater>(sum_of_classes<true>(count), 0), any = emit_for<op::greater>(sum_of_classes<false>(count), 0);
  return emit_for<op::where>(any, -std::numeric_limits<double>::infinity(), f(emit_for<op::where>(some, safe, x)));
}

/// The logarithms of probabilities at the places that k names: F::after of what F::before has there. F::looks_up: one element of each row
/// is read by its index; else all are compared with it, which needs none of them in memory.
template <class F>
struct at_class {
  static constexpr precision autocast = precision::full;
  template <class K, class P>
  static constexpr auto apply(operand<K> k, operand<P> p) {
    using Real = promoted_to_real<P>;
    using Wide = detail::computed_in<Real>;
    if (p.is_refused() || k.is_refused()) return refuse<Real>(*p.g, p.is_refused() ? -p.id : -k.id);
    if (p.rank() < 1) return refuse<Real>(*p.g, 490);
    const auto all = F::before(cast_to<Wide>(p));
    if constexpr (!index_element<K>) return refuse<Real>(*p.g, 115);
    else if (p.rank() == 1) return cast_to<Real>(take::apply(F::after(all), k));  // there may be more places than classes
    else if constexpr (F::looks_up) return cast_to<Real>(F::after(looked_up(all, k)));
    else return cast_to<Real>(F::after(-nll<-1, unreduced_tag, void, detail::option_list<>>::template of<F>(all, k)));
  }
  template <class P>
  static constexpr auto apply(number auto k, operand<P> p) {
    const int place = emit_as<op::literal, std::int64_t>(*p.g, p.g->intern({}), {}, {static_cast<std::int64_t>(k)});
    return apply(operand<std::int64_t>{p.g, place}, p);
  }

 private:
  template <class T, class K>
  static constexpr operand<T> looked_up(operand<T> p, operand<K> k) {
    const int last = p.rank() - 1;
    if (!p.g->syms.unify(k.extents(), without_axes(p.extents(), std::int64_t{1} << last))) return refuse<T>(*p.g, 115);
    const auto at = emit_on<op::gather<K, F>, T>({last}, p, view_as(k, with_axis(k.extents(), last, 1)));
    return at.is_refused() ? at : view_as(at, k.extents());
  }
};
struct categorical_lpmf : at_class<categorical_lpmf> {
  static constexpr std::string_view name = "categorical_lpmf", counted = "classes";
  static constexpr bool looks_up = true;
  static constexpr auto before(auto p) { return p; }
  static constexpr auto after(auto p) { return emit_on<op::log>({}, p); }
};
struct categorical_logit_lpmf : at_class<categorical_logit_lpmf> {
  static constexpr std::string_view name = "categorical_logit_lpmf";
  static constexpr bool looks_up = false;
  static constexpr auto before(auto x) { return log_softmax<-1>::apply(x); }
  static constexpr auto after(auto logs) { return logs; }
};

struct multinomial_lpmf : of_quantities<multinomial_lpmf, 2> {
  static constexpr std::string_view name = "multinomial_lpmf";
  static constexpr auto formula(auto counts, auto probabilities) {
    const auto p = emit_for<op::if_probability>(probabilities);
    return on_support_of_all(emit_for<op::is_no_count>(counts), counts, 0, [&](auto k) {
      const auto n = sum_of_classes<false>(k);
      const auto each = log_poisson(k, sum_of_classes<true>(k) * p);
      // The scale n drops out if the probabilities add up to 1; if not, the formula has log p as it is.
      return sum_of_classes<false>(each) - log_poisson(n, n) + n * (sum_of_classes<false>(p) - 1);
    });
  }
};
struct dirichlet_lpdf : of_quantities<dirichlet_lpdf, 2> {
  static constexpr std::string_view name = "dirichlet_lpdf";
  static constexpr auto formula(auto x, auto alpha) {
    const auto a = emit_for<op::if_positive>(alpha);
    return on_support_of_all(emit_for<op::is_not_in_unit>(x), x, 0.5, [&](auto inside) {
      const auto total = sum_of_classes<false>(a), each = log_poisson(a - 1, sum_of_classes<true>(a) * inside);
      const auto scale = (count_of_classes(a) - 1) * emit_for<op::log>(total) + total * (sum_of_classes<false>(inside) - 1);
      return sum_of_classes<false>(each) - log_poisson(total - 1, total) + scale;
    });
  }
};

struct multivariate_normal_cholesky_lpdf : of_quantities<multivariate_normal_cholesky_lpdf, 3> {
  static constexpr std::string_view name = "multivariate_normal_cholesky_lpdf";
  template <class T>
  static constexpr auto formula(quantity<T> x, quantity<T> mu, quantity<T> factor) {
    const quantity<T> distance{mahalanobis::apply((x - mu).value, factor.value)}, on_diagonal{diagonal<0>::apply(factor.value)};
    const auto logs = emit_for<op::log>(on_diagonal);
    return -0.5 * distance - (sum_of_classes<false>(logs) + half_log_of_two_pi * count_of_classes(logs));
  }
};
struct multivariate_normal_lpdf : of_quantities<multivariate_normal_lpdf, 3> {
  static constexpr std::string_view name = "multivariate_normal_lpdf";
  template <class T>
  static constexpr auto formula(quantity<T> x, quantity<T> mu, quantity<T> covariance) {
    return multivariate_normal_cholesky_lpdf::formula(x, mu, quantity<T>{cholesky<false>::apply(covariance.value)});
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

// See [note: log densities].

/// categorical_lpmf(k, p): log p[k], for probabilities along the last axis that add up to 1.
/// Shape: k [...], p [..., classes]: [...]; a vector of probabilities serves every k.   Saves: p, k.   Error: as log.
/// Throws: error if there is no class k.   Source: Stan's categorical_lpmf, whose classes begin at 1.
inline constexpr call<functions::categorical_lpmf> categorical_lpmf{};
/// categorical_logit_lpmf(k, x): log_softmax(x)[k].   Saves: as log_softmax.   Error: as log_softmax.   Else as categorical_lpmf.
inline constexpr call<functions::categorical_logit_lpmf> categorical_logit_lpmf{};
/// multinomial_lpmf(counts, p): log(n! / (k_1! k_2! ...)) + sum of k_i log p_i, where n is the sum of the counts. -inf if one is no count.
/// Shape: [..., classes] both, broadcast: [...].   Saves: counts, p.   Error: as log_poisson for each count, and a sum.
/// Source: scipy.stats.multinomial.logpmf, in the form of [note: logarithms of Poisson probabilities].
inline constexpr call<functions::multinomial_lpmf> multinomial_lpmf{};
/// dirichlet_lpdf(x, alpha), for alpha > 0 and x whose elements add up to 1: that is not checked. -inf if an element is not in [0, 1].
/// The derivatives are those by independent elements of x.   Shape: [..., classes] both, broadcast: [...].   Saves: x, alpha.
/// Error: as log_poisson for each class, and a sum.   Source: torch.distributions.Dirichlet.
inline constexpr call<functions::dirichlet_lpdf> dirichlet_lpdf{};
/// multivariate_normal_cholesky_lpdf(x, mu, l): the normal distribution with the covariance l l^T, for a lower triangular factor l with
/// positive diagonal; elements above its diagonal are not read, and get the gradient 0.
/// Shape: x and mu [..., n], l [..., n, n]: [...].   Saves: l, the scaled x - mu.   Error: that of mahalanobis and of sums.
/// Throws: as solve_triangular.   Source: Stan's multi_normal_cholesky_lpdf.
inline constexpr call<functions::multivariate_normal_cholesky_lpdf> multivariate_normal_cholesky_lpdf{};
/// multivariate_normal_lpdf(x, mu, covariance): the same for a covariance, which cholesky factors.
/// Shape, Saves, Error: as multivariate_normal_cholesky_lpdf and cholesky.   Throws: as cholesky, if it is not positive definite.
/// Source: scipy.stats.multivariate_normal.logpdf.
inline constexpr call<functions::multivariate_normal_lpdf> multivariate_normal_lpdf{};

}  // namespace ebb::inline EBB_ABI
