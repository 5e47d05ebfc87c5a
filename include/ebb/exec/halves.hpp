// ebb/exec/halves.hpp — the forward and the backward half of a function: as types to inspect, and as programs to run.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "gradient.hpp"

#include "../graph/program.hpp"
#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The numbers of all leaves with real elements: the default arguments of a backward.
template <class... Term>
constexpr vec<int> real_leaves(types<Term...>) {
  vec<int> r;
  int number = 0;
  ((real_element<typename Term::value_type> ? void(r.push(number++)) : void(++number)), ...);
  return r;
}

/// In place of wrt<I...>: the second half pushes tangents of these arguments to the outputs.
template <class Wrt>
struct along : Wrt {};
template <class Wrt>
inline constexpr bool is_along = false;
template <class Wrt>
inline constexpr bool is_along<along<Wrt>> = true;

/// Everything in one graph: outputs, then gradients for seeds, or derivatives along tangents. Wrt: wrt<I...>, along<wrt<I...>>, or void
/// for all real arguments. Policy: a resolved one.
template <class F, class Policy, class Wrt, class... T>
struct joint_program {
  static constexpr graph_size room = traced<F, T...>::size.times(4);
  static constexpr graph make() {
    const graph g = traced<F, T...>::g.thaw();
    const cast_context& context = context_of_pulls<Policy>;
    if constexpr (std::is_void_v<Wrt>)
      return joint_of_region(g, real_leaves(joined_types<typename argument<T>::terms...>{}), context);
    else {
      vec<int> leaves;  // a push takes no tangents of integers
      for (int i : leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}))
        if (!is_along<Wrt> || is_real(g.op(g.input(i)).result)) leaves.push(i);
      return joint_of_region(g, leaves, context, is_along<Wrt>);
    }
  }
};
/// Whether the forward half of F saves values for the backward, which otherwise recomputes them from the arguments.
template <class F>
inline constexpr bool saves_values = true;

template <class F, class Policy, class Wrt, class... T>
constexpr halves halves_of() {
  return split(frozen<joint_program<F, Policy, Wrt, T...>>::g.thaw(), leaves_of<T...>, traced<F, T...>::g.outs(), saves_values<F>);
}
/// The backward decides which values are saved, and so does its policy.
template <class F, class Policy, class Wrt, class... T>
struct forward_half {
  static constexpr graph_size room = frozen<joint_program<F, Policy, Wrt, T...>>::size.times(1);
  static constexpr graph make() { return halves_of<F, Policy, Wrt, T...>().forward; }
};
template <class F, class Policy, class Wrt, class... T>
struct backward_half {
  static constexpr graph_size room = frozen<joint_program<F, Policy, Wrt, T...>>::size.times(1);
  static constexpr graph make() { return halves_of<F, Policy, Wrt, T...>().backward; }
};

/// The trace of a half's function.
template <class Half>
struct traced_whole;
template <class F, class Policy, class Wrt, class... T>
struct traced_whole<frozen<backward_half<F, Policy, Wrt, T...>>> {
  using type = traced<F, T...>;
};

}  // namespace detail

/// The forward half as a type: a flat list of equations. Its outputs are the user's results, then the saved values.
template <class F, class... A>
using forward_t = as_program<
    frozen<detail::forward_half<std::remove_const_t<F>, detail::policy_for<std::remove_const_t<F>>, void, detail::traced_type<A>...>>>;

/// The backward half as a type, under an autocast policy: from arguments, saved values and seeds to the gradients of all real arguments.
/// If the policy does not matter, all policies have one type: see [note: policies].
template <class F, class Policy, class... A>
using backward_t = as_program<frozen<
    // Resolved here and not deeper: errors about a policy are then printed near the user's line.
    detail::backward_half<
        std::remove_const_t<F>,
        typename detail::refuse_policy<Policy>::template resolved<typename detail::entry_of<std::remove_const_t<F>>::type>, void,
        detail::traced_type<A>...>>>;

/// Whether the backward of F would be another program under the policy or context Actual than under Assumed: decided from the programs.
///   static_assert(!ebb::policy_matters<decltype(f), ebb::off, ebb::autocast<ebb::bf16>, X, W>);
template <class F, class Assumed, class Actual, class... A>
inline constexpr bool policy_matters = !std::is_same_v<backward_t<F, Assumed, A...>, backward_t<F, Actual, A...>>;

}  // namespace ebb::inline EBB_ABI
