// ebb/dual/dual.hpp — a dual value: a number or an array, with its derivative along a direction.
// SPDX-License-Identifier: BSL-1.0
//
// [note: duals]
// A dual goes through templates of the user's that tracing cannot see: solvers, loops that end by a condition, code with branches.
//
//   auto root = [](auto a) { auto x = a; while (ebb::abs(x * x - a) > 1e-12) x = 0.5 * (x + a / x); return x; };
//   auto [y, slope] = root(ebb::dual{2.0, 1.0});
//
// Functions of ebb, operators, and functions compiled by ebb::compile, ebb::grad and so on take duals beside arrays and numbers: they run
// as ebb::jvp of themselves. So a compiled function is one program, and its value and its derivative share their loops. map, scan and
// while_loop take duals, too; cond and fori take them inside of a compiled function only. Comparisons compare values: a branch is that of
// the value.
//
// A dual of duals has second derivatives: the value and the tangent of dual<dual<A>> are dual<A>. A function on arguments of different
// depth differentiates the outermost level first; arguments of less depth are constants on it. So derivatives inside of a function that
// is differentiated itself do not mix.
#pragma once

#include "../exec/direction.hpp"
#include "../exec/eager.hpp"

#include <limits>
#include <ostream>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// Functions on duals are here: argument-dependent lookup finds them. Those named as in <cmath> would hide the objects ebb::exp, ebb::log.
namespace duals {

template <class A>
struct dual;

}  // namespace duals

using duals::dual;

namespace detail {

template <class A>
inline constexpr int dual_depth = 0;
template <class A>
inline constexpr int dual_depth<dual<A>> = 1 + dual_depth<A>;
template <class A>
inline constexpr bool is_dual<dual<A>> = true;

/// The number or array in a dual, or in a dual of duals.
template <class A>
struct dual_base {
  using type = A;
};
template <class A>
struct dual_base<dual<A>> : dual_base<A> {};

template <class A>
concept can_be_dual = std::is_floating_point_v<A> || (dual_depth<A> > 0) || (array_like<A> && real_element<borrowed_element<A>>);

template <class A>
concept dual_number = dual_depth<A> > 0 && std::is_floating_point_v<typename dual_base<A>::type>;

/// A zero with the extents of a.
template <class A>
constexpr A zero_like(const A& a) {
  if constexpr (std::is_arithmetic_v<A>) return A{};
  else if constexpr (dual_depth<A> > 0) return {zero_like(a.value), zero_like(a.tangent)};
  else {
    A r = a;
    for (std::size_t i = 0; i < layout_in(r).size(); ++i) borrow<A>::mutable_data(r)[i] = borrowed_element<A>{};
    return r;
  }
}

}  // namespace detail

/// A: float, double, a tensor of real numbers, or a dual. See [note: duals].
template <class A>
struct duals::dual {
  static_assert(detail::can_be_dual<A>, "[ebb E0511] a dual holds a float, a double, a tensor of real numbers, or a dual");

  A value{};
  A tangent{};

  constexpr dual() = default;
  constexpr dual(A v, A along) : value(std::move(v)), tangent(std::move(along)) { require_extents(); }
  /// A constant: its tangent is 0.
  constexpr dual(A v) : value(std::move(v)), tangent(detail::zero_like(value)) {}
  template <number N>
    requires(detail::dual_number<dual> && !std::is_same_v<N, A>)
  constexpr dual(N n) : value(static_cast<typename detail::dual_base<A>::type>(n)), tangent{} {}

 private:
  constexpr void require_extents() const {
    if constexpr (array_like<A>) {
      bool same = true;
      for (int axis = 0; axis < borrowed_extents<A>::rank; ++axis)
        same = same && borrow<A>::extent(value, axis) == borrow<A>::extent(tangent, axis);
      if (!same)
        raise("ebb::dual: the value is " + text_of(detail::extents_of_leaf(value)) + ", the tangent is " +
              text_of(detail::extents_of_leaf(tangent)));
    }
  }
};

namespace duals {

template <class A>
dual(A, A) -> dual<A>;
template <class A>
dual(A) -> dual<A>;

template <class Traits, class A>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const dual<A>& a) {
  return out << "dual(" << a.value << ", " << a.tangent << ")";
}

}  // namespace duals

/// The kind of array of structs of duals: params<ebb::dual_of>. See [note: structs are templates over the kind of array].
template <class T, std::size_t... E>
using dual_of = dual<tensor<T, E...>>;

}  // namespace ebb::inline EBB_ABI

/// Solvers that ask for the precision of their numbers get that of the value.
template <class A>
struct std::numeric_limits<ebb::dual<A>> : std::numeric_limits<A> {};
