// ebb/exec/halves.hpp — the forward and the backward half of a function: as types to inspect, and as programs to run.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "gradient.hpp"

#include "../graph/program.hpp"
#include "../pass/partition.hpp"

namespace ebb::inline EBB_ABI {

/// The autocast policy under which a backward is compiled. off: each op in the dtypes of its operands.
struct off {};

namespace detail {

/// The numbers of all leaves with real elements: what a backward gives gradients for, unless told otherwise.
template <class... Term>
constexpr vec<int> real_leaves(std::type_identity<std::tuple<Term...>>) {
  vec<int> r;
  int number = 0;
  ((real_element<typename Term::value_type> ? void(r.push(number++)) : void(++number)), ...);
  return r;
}

/// Everything in one graph: outputs, then gradients for seeds. Wrt: wrt<I...>, or void for all real arguments.
template <class F, class Wrt, class... T>
struct joint_program {
  static constexpr graph make() {
    const graph g = traced<F, T...>::g.thaw();
    if constexpr (std::is_void_v<Wrt>) return joint(g, real_leaves(std::type_identity<typename argument<std::tuple<T...>>::terms>{}));
    else return joint(g, leaf_numbers(Wrt{}, std::type_identity<std::tuple<T...>>{}));
  }
};
/// Whether the forward half of F saves anything for the backward, which else computes it again from the arguments.
template <class F>
inline constexpr bool saves_values = true;

template <class F, class Wrt, class... T>
constexpr halves halves_of() {
  return partition(frozen<joint_program<F, Wrt, T...>>::g.thaw(), leaves_of<T...>, traced<F, T...>::g.outs(), saves_values<F>);
}
template <class F, class Wrt, class... T>
struct forward_half {
  static constexpr graph make() { return halves_of<F, Wrt, T...>().forward; }
};
template <class F, class Policy, class Wrt, class... T>
struct backward_half {
  static constexpr graph make() { return halves_of<F, Wrt, T...>().backward; }
};

/// Named where a user names a policy: in backward_half its sentence would stand far from there.
template <class Policy>
struct known_policy {
  static_assert(std::is_same_v<Policy, off>, "[ebb E0145] there is no such autocast policy: only ebb::off");
  using type = off;
};

}  // namespace detail

/// The forward half as a type: a flat list of equations, the user's results first among its outputs, then what is saved.
template <class F, class... A>
using forward_t = as_program<frozen<detail::forward_half<std::remove_const_t<F>, void, detail::traced_type<A>...>>>;

/// The backward half as a type, under an autocast policy: from arguments, saved values and seeds to the gradients of all real arguments.
template <class F, class Policy, class... A>
using backward_t = as_program<
    frozen<detail::backward_half<std::remove_const_t<F>, typename detail::known_policy<Policy>::type, void, detail::traced_type<A>...>>>;

}  // namespace ebb::inline EBB_ABI
