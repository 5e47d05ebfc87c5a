// ebb/train/manifold.hpp — a rule around a rule for parameters on a manifold: unit quaternions, rotation matrices, positive numbers.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::optimizer turns(ebb::on_manifold{ebb::adam{.lr = 0.1}, ebb::unit_quaternions{}}, pose.q);   // the others have their own optimizer
//
// [note: manifolds]
// A manifold is a struct with two functions on terms. Both know the array x of the parameter; d is a step from x, an array of x's extents:
//   struct spheres {
//     static constexpr bool by_element = false;                           // optional: whether elements are independent of each other
//     static constexpr auto pulled(auto x, auto g) { ... }                // the gradient of loss(retract(x, d)) by d at d = 0
//     static constexpr auto retract(auto x, auto d) { ... }               // the point of the manifold that the step leads to
//   };
// The rule sees a parameter 0 and the gradient `pulled`, and moves by d: so all rules work, and their states are those of steps.
// weight_decay, which pulls a parameter to 0, has no effect. <ebb/geometry.hpp> has manifolds.
#pragma once

#include "wrapped.hpp"

namespace ebb::inline EBB_ABI {

namespace rule {

template <class Manifold, class Update>
struct on_manifold : Update {
  static constexpr bool by_element = detail::is_by_element<Manifold> && detail::is_by_element<Update>;
  constexpr auto operator()(auto p, auto g, auto... others) const {
    const auto next = detail::as_results(Update{}(zeros_like(p), Manifold::pulled(p, g), others...));
    return std::apply([&](auto d, auto... kept) { return std::tuple(Manifold::retract(p, d), kept...); }, next);
  }
};

}  // namespace rule

namespace detail {

template <class Manifold>
struct moved_on {
  template <class Update>
  using update = ebb::rule::on_manifold<Manifold, Update>;
};

}  // namespace detail

/// A rule whose steps stay on a manifold: see [note: manifolds].
/// Source: Absil, Mahony and Sepulchre, Optimization Algorithms on Matrix Manifolds (2008), chapter 4: retractions.
template <class Rule, class Manifold>
struct on_manifold {
  Rule rule;
  [[no_unique_address]] Manifold manifold = {};

  using updates = typename detail::wrap_each<detail::moved_on<Manifold>::template update, typename detail::updates_of<Rule>::type>::type;
  int which() const { return detail::updates_of<Rule>::which(rule); }
  auto values(std::uint64_t step) const { return rule.values(step); }
  const char* problem() const {
    if constexpr (requires { rule.problem(); }) return rule.problem();
    else return nullptr;
  }
};
template <class Rule, class Manifold>
on_manifold(Rule, Manifold) -> on_manifold<Rule, Manifold>;

}  // namespace ebb::inline EBB_ABI
