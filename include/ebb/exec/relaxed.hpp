// ebb/exec/relaxed.hpp — relaxed: a function whose program may be rewritten by rules that are true up to rounding.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what is relaxed]
// relaxed(f) is a transform, as compile(f) is, and another type than f: nothing else in a program is relaxed.
//   relaxed(f)(x)                     the program of f
//   relaxed(value_and_grad(f))        the program of value and gradient
//   value_and_grad(relaxed(f))        likewise: a derivative of a relaxed function is relaxed; so of compile, vjp, jvp, hvp, jacobian,
//                                     hessian, checkpoint, patch, under, of regions on the tape, and of backwards with a graph
//   map(relaxed(f), rows)             the program of one row, before it is mapped
//   a call of relaxed(f) in g         the equations of f, before they are part of g. The derivatives of g begin with them, and are not
//                                     relaxed; nor is what g does with the result. relaxed(g) relaxes all
// The rules, and what they change in values: see [note: relaxed rules].
#pragma once

#include "jacobian.hpp"
#include "region.hpp"

#include "../pass/relax.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class F>
inline constexpr own_pass relaxing{true, &relax<F>};

template <class F, class... T>
struct relaxed_program {
  static constexpr graph_size room = traced<F, T...>::size.times(2);
  template <bool Watched = false>
  static constexpr graph make() {
    graph g = traced<F, T...>::g.thaw();
    g.brings = relaxing<F>;
    return exact<Watched>(g);
  }
};
template <class F, class... T>
inline constexpr bool holds_derivatives<frozen<relaxed_program<F, T...>>> = false;

template <class F>
struct relaxed_spec : transform_of<F> {
  static constexpr const char* name = "ebb::relaxed";
  template <class... T>
  using program = frozen<relaxed_program<F, T...>>;
  template <class... T>
  using asking = traced<F, T...>;
  template <class R, class... A>
  using returned = R;
};

template <class F>
struct entry_of<relaxed_spec<F>> : entry_of<F> {};
template <class F>
struct declared_policies<program_function<relaxed_spec<F>>> : declared_policies<F> {};

// Transforms of a relaxed function bring the pass along.
template <class F>
inline constexpr own_pass pass_of<program_function<relaxed_spec<F>>> = relaxing<F>;
template <class Spec>
inline constexpr own_pass pass_of<program_function<Spec>> = pass_of<typename Spec::function>;
template <class F, int... I>
inline constexpr own_pass pass_of<gradient_of<F, I...>> = pass_of<F>;
template <class C, class F>
inline constexpr own_pass pass_of<entered<C, F>> = pass_of<F>;
template <class C, class F>
inline constexpr own_pass pass_of<variant<C, F>> = pass_of<F>;
template <class Policy, class F>
inline constexpr own_pass pass_of<patched<Policy, F>> = pass_of<F>;
template <class F, class... C>
inline constexpr own_pass pass_of<region_in<F, C...>> = pass_of<F>;

}  // namespace detail

/// f, and all derivatives of it, with relaxed arithmetic: a division by a repeated number is a product with its reciprocal, factors move
/// out of sums and products of matrices, sums of scaled terms are one, products with a literal zero are zero. An ordinary function, to be
/// called, compiled, differentiated or mapped; its type says that it is relaxed.   See [note: what is relaxed].
///   auto step = ebb::value_and_grad<1>(ebb::relaxed(loss));
/// Error: at most twice the bound of f as written, as long as nothing overflows or is subnormal: see [note: what relaxed arithmetic
/// changes].   Throws: as compile.
template <class F>
constexpr auto relaxed(F) {
  return detail::callable_of<F, program_function<detail::relaxed_spec<F>>>();
}

}  // namespace ebb::inline EBB_ABI
