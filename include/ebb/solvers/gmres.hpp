// ebb/solvers/gmres.hpp — bicgstab and gmres: linear equations that are not symmetric, by products with the matrix, with derivatives.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [x, steps, converged] = ebb::bicgstab(matvec, b, w);                    matvec(x, w) = b
//   auto [y, cycles, ok] = ebb::gmres<ebb::restart<30>>(matvec, b, w);           the same: 30 products in a cycle
//
// bicgstab keeps seven arrays like b, and a step makes two products. gmres keeps one array for each product of a cycle; its residual never
// grows, and it solves what bicgstab breaks down at. Both end where rounding ends them, not at the first digits that are right, since the
// derivatives are those of the exact solution: see [note: implicit functions].
#pragma once

#include "conjugate_gradient.hpp"

#include "../linalg/diagonal.hpp"
#include "../linalg/qr.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

/// The option of gmres that says how many products a cycle has.
template <int Products>
struct restart_option {};
template <int Products>
  requires(Products > 0)
inline constexpr restart_option<Products> restart{};

namespace detail {

template <int Most, int Restart, int Products, class... Option>
  requires(Restart > 0)
struct read_linear_options<linear_options<Most, Restart>, restart_option<Products>, Option...>
    : read_linear_options<linear_options<Most, Products>, Option...> {};

/// A step of BiCGSTAB: s holds l, r = b - M l, its shadow, the direction, <shadow, r>, the square norm of r, and the number of steps. If
/// the shadow is almost orthogonal to r, r is the new one: the method begins anew at l.
/// van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
template <class M>
struct stabilized_step {
  constexpr auto operator()(auto s, auto, auto... w) const {
    const auto [l, r, shadow, p, rho, square, n] = s;
    const auto v = M{}(p, w...);
    const auto alpha = quotient(rho, ebb::sum(shadow * v));
    const auto half = r - alpha * v;
    const auto t = M{}(half, w...);
    const auto omega = quotient(ebb::sum(t * half), ebb::sum(t * t));
    const auto next = half - omega * t;
    const auto after = ebb::sum(next * next), along = ebb::sum(shadow * next);
    const auto lost = ebb::square(along) <= 1e-20 * after * ebb::sum(shadow * shadow);
    const auto direction = next + quotient(along, rho) * quotient(alpha, omega) * (p - omega * v);
    return std::tuple(l + alpha * p + omega * half, next, ebb::where(lost, next, shadow), ebb::where(lost, next, direction),
                      ebb::where(lost, after, along), after, n + 1);
  }
  /// 0 for a denominator of 0: the part of the step that it scales is left out.
  static constexpr auto quotient(auto a, auto b) { return ebb::where(b != 0, a, 0) / ebb::where(b != 0, b, 1); }
};
template <class Options>
struct stabilized_method {
  static constexpr bool symmetric = false;
  static constexpr auto start(auto b, auto rho) { return std::tuple(b * 0, b, b, b, rho, rho, 0); }
  template <class M>
  static constexpr auto open(auto b, auto... w) {
    const auto rho = ebb::sum(b * b);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto first, auto...) {
      return std::get<6>(s) < Options::most && conjugate_remains(std::get<5>(s), first);
    }}, stabilized_step<M>{}, start(b, rho), ebb::whole(rho), ebb::whole(w)...);
    const auto square = std::get<5>(end);
    return std::tuple(std::get<0>(end), std::get<6>(end), !conjugate_remains(square, rho) && ebb::isfinite(square));
  }
  template <class M>
  static constexpr auto bounded(auto b, auto... w) {
    const auto rho = ebb::sum(b * b);
    return std::get<0>(ebb::while_loop<at_most<Options::most>>([](auto s, auto first, auto...) {
      return conjugate_remains(std::get<5>(s), first);
    }, stabilized_step<M>{}, start(b, rho), ebb::whole(rho), ebb::whole(w)...));
  }
};

/// A step of Arnoldi's process on arrays without axes or with one: row i + 1 of the basis is M times row i, orthogonal to the rows above it
/// by two projections, and row i of h has the coefficients. If nothing is left of the product the next row is 0; the row of h that
/// belongs to a row of 0 has a 1 after the diagonal, so that h has full rank.
template <class M>
struct arnoldi_step {
  constexpr auto operator()(auto i, auto s, auto like, auto... w) const {
    const auto [basis, h] = s;
    using T = typename decltype(basis)::value_type;
    const auto v = ebb::take<0>(basis, i);
    const auto product = ebb::flatten(M{}(ebb::reshape_like(v, like), w...));
    const auto first = ebb::matmul(basis, product);
    const auto once = product - ebb::matmul(ebb::transpose(basis), first);
    const auto second = ebb::matmul(basis, once);
    const auto left = once - ebb::matmul(ebb::transpose(basis), second);
    const auto parts = first + second;
    const auto length = ebb::sqrt(ebb::sum(left * left)), whole_length = ebb::sqrt(ebb::sum(parts * parts)) + length;
    const auto remains = length > 8 * std::numeric_limits<T>::epsilon() * whole_length;
    const auto next = ebb::where(remains, left / ebb::where(remains, length, 1), 0);
    const auto last = ebb::where(ebb::all(v == 0), 1, ebb::where(remains, length, 0));
    const auto row = ebb::iota<0>(basis);
    return std::tuple(ebb::where(ebb::unsqueeze<1>(row == i + 1), ebb::unsqueeze<0>(next), basis),
                      ebb::where(ebb::unsqueeze<1>(ebb::iota<0>(h) == i), ebb::unsqueeze<0>(ebb::where(row == i + 1, last, parts)), h));
  }
};
/// A cycle: s holds l, r = b - M l, the square norm of r, whether the last cycle made it smaller, and the number of cycles. The change of l
/// is the combination of the basis with the smallest residual. Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986).
template <class M, int Restart>
struct gmres_cycle {
  constexpr auto operator()(auto s, auto b, auto, auto... w) const {
    const auto [l, r, square, gains, n] = s;
    const auto length = ebb::sqrt(square);
    const auto h0 = ebb::zeros<Restart, Restart + 1>(r);
    const auto first = ebb::iota<1>(h0) == 0;
    const auto start = ebb::where(ebb::unsqueeze<1>(first), ebb::unsqueeze<0>(ebb::flatten(r) / length), 0);
    const auto [basis, h] = ebb::fori(Restart, arnoldi_step<M>{}, std::tuple(start, h0), ebb::whole(r), ebb::whole(w)...);
    const auto [q, triangle] = ebb::qr(ebb::transpose(h));
    const auto y = ebb::solve_triangular(triangle, ebb::matmul(ebb::transpose(q), ebb::where(first, length, 0)), upper);
    const auto to = l + ebb::reshape_like(ebb::matmul(ebb::transpose(ebb::slice<0, 0, -1>(basis)), y), r);
    const auto next = b - M{}(to, w...);
    const auto after = ebb::sum(next * next);
    const auto better = after < square;
    return std::tuple(ebb::where(better, to, l), ebb::where(better, next, r), ebb::where(better, after, square), better, n + 1);
  }
};
/// Whether the square norm is above 1e-24 of the first one, for floats 1e-10. The residual is b - M l itself, which rounding makes larger
/// than those that conjugate gradients carry along.
constexpr auto gmres_remains(auto square, auto first) {
  return square > (sizeof(typename decltype(square)::value_type) == 8 ? 1e-24 : 1e-10) * first;
}
template <class Options>
struct gmres_method {
  static constexpr bool symmetric = false;
  static constexpr auto start(auto b, auto rho) { return std::tuple(b * 0, b, rho, rho > 0, 0); }
  template <class M>
  static constexpr auto open(auto b, auto... w) {
    const auto rho = ebb::sum(b * b);
    const auto end = ebb::while_loop(without_derivative{[](auto s, auto, auto first, auto...) {
      return std::get<4>(s) < Options::most && std::get<3>(s) && gmres_remains(std::get<2>(s), first);
    }}, gmres_cycle<M, Options::restart>{}, start(b, rho), ebb::whole(b), ebb::whole(rho), ebb::whole(w)...);
    const auto square = std::get<2>(end);
    return std::tuple(std::get<0>(end), std::get<4>(end), !gmres_remains(square, rho) && ebb::isfinite(square));
  }
  template <class M>
  static constexpr auto bounded(auto b, auto... w) {
    const auto rho = ebb::sum(b * b);
    return std::get<0>(ebb::while_loop<at_most<Options::most>>([](auto s, auto, auto first, auto...) {
      return std::get<3>(s) && gmres_remains(std::get<2>(s), first);
    }, gmres_cycle<M, Options::restart>{}, start(b, rho), ebb::whole(b), ebb::whole(rho), ebb::whole(w)...));
  }
};

}  // namespace detail

/// The x with matvec(x, w...) = b by the method of van der Vorst: std::tuple(x, number of steps, whether it converged). matvec is linear in
/// its first argument, and the matrix is never made. It begins at 0 and ends when the residual has 1e-14 of the norm of b, for floats 1e-6,
/// or after 1,000 steps, each with two products: bicgstab<ebb::at_most<n>> says another number. In a traced function; matvec must not
/// capture: the parameters w are arrays, tuples and structs.
///   auto x = std::get<0>(ebb::bicgstab([](auto v, auto a, auto d) { return d * v + ebb::matmul(a, v); }, b, a, d));
/// x has derivatives by b and w: a gradient is one more solution, with the products of the transposed matrix, which the derivative of
/// matvec gives. So is a second derivative. Derivatives of third order differentiate the steps.
/// Shape, Dtype: those of b, any axes.   Saves: x, b, w.   Error: above limit times the condition number of the matrix.
/// If the method stalls or meets a NaN, converged is false; gmres may solve such equations.
/// Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
template <auto... Option, class M, class X, class... W>
constexpr auto bicgstab(M, const X& b, const W&... w) {
  using options = detail::read_linear_options<detail::linear_options<1000, 0>, std::remove_const_t<decltype(Option)>...>;
  return detail::linear_by<detail::stabilized_method, options, M>(b, w...);
}

/// As bicgstab, by generalized minimal residuals: cycles of 20 products, each of which gives the least residual in their span;
/// gmres<ebb::restart<n>> says another number. The second result is the number of cycles. It ends when the residual has 1e-12 of the norm
/// of b, for floats 1e-5, when a cycle does not make it smaller, or after 1,000 cycles, or as many as ebb::at_most<n> says. With as many
/// products as b has elements one cycle solves any regular equations, apart from rounding.
///   auto x = std::get<0>(ebb::gmres<ebb::restart<50>>(matvec, b, w));
/// If the matrix is singular or the cycles stall, converged is false and x has the least residual that was found.
/// Source: Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986).
template <auto... Option, class M, class X, class... W>
constexpr auto gmres(M, const X& b, const W&... w) {
  using options = detail::read_linear_options<detail::linear_options<1000, 20>, std::remove_const_t<decltype(Option)>...>;
  return detail::linear_by<detail::gmres_method, options, M>(b, w...);
}

}  // namespace ebb::inline EBB_ABI
