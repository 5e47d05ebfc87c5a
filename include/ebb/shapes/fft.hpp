// ebb/shapes/fft.hpp — Fourier transforms along the last axis, and along the last two, for any length: fft, rfft, fft2, rfft2, inverses.
// SPDX-License-Identifier: BSL-1.0
//
// Complex arrays are two arrays, of real and of imaginary parts:
//   const auto [re, im] = ebb::rfft(x);      re + i im = sum over j of x_j e^(-2 pi i j k / n), for k = 0 to n / 2
//   ebb::irfft<n>(re, im)                    x again
//   const auto [re, im] = ebb::fft(a, b);    the same sum of a_j + i b_j, for k = 0 to n - 1
//   ebb::ifft(re, im)                        a and b again
// With <ebb/complex.hpp> all of them take and return complex{re, im} too. Inverses divide by n, forward transforms do not divide: PyTorch's
// and NumPy's norm="backward".
#pragma once

#include "../op/arithmetic.hpp"
#include "../op/compare.hpp"
#include "../op/shape.hpp"
#include "fourier.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<499, Call> : Call {
  static_assert(Call::code != 499, "[ebb E0499] fft, rfft and relatives: the array has too few axes, or too many; irfft<n> and "
                                   "irfft2<n> take n / 2 + 1 frequencies");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The extents of x with the last two axes as one.
template <class T>
constexpr shape with_last_merged(operand<T> x) {
  const int last = x.rank() - 1;
  shape merged = axes_between(x.extents(), 0, last);
  merged.e[last - 1] = x.g->syms.derive(extent_rule::product, x.extent(last), x.extent(last - 1));
  return merged;
}
/// The transform of x [..., 2, n] along the last axis, or its adjoint.
template <class T>
constexpr operand<T> both_transformed(operand<T> x, bool is_adjoint) {
  const auto rows = view_as(x, with_last_merged(x));
  const int number = rows.shape_number();
  const int to = is_adjoint ? emit_as<op::fft_adjoint, T>(*x.g, number, {rows.id}) : emit_as<op::fft, T>(*x.g, number, {rows.id});
  return view_as(operand<T>{x.g, to}, x.extents());
}
/// The same for x [..., m, 2, n] along the axis of m: [..., 2, m, n].
template <class T>
constexpr operand<T> columns_transformed(operand<T> x, bool is_adjoint) {
  const int r = x.rank();
  const auto permuted = [r](operand<T> y, int a, int b, int c) {
    int order[max_rank] = {};
    for (int i = 0; i < r - 3; ++i) order[i] = i;
    order[r - 3] = r - 3 + a, order[r - 2] = r - 3 + b, order[r - 1] = r - 3 + c;
    return emit_on<op::permute>({pack_axes(order, r)}, y);
  };
  return permuted(both_transformed(permuted(x, 2, 1, 0), is_adjoint), 1, 2, 0);
}
/// Two arrays of equal extents [..., n], one after another along a new axis before the last one: [..., 2, n].
template <class T>
constexpr operand<T> side_by_side(operand<T> re, operand<T> im) {
  const shape apart = with_axis(re.extents(), re.rank() - 1, 1);
  return {re.g, emit<op::concat, T>(*re.g, {view_as(re, apart).id, view_as(im, apart).id}, {re.rank() - 1})};
}
/// x divided by the number of its elements along the last Axes axes.
template <int Axes, class T>
constexpr operand<T> divided_by_length(operand<T> x) {
  const auto length = cast_to<T>(count_along<std::int64_t>(x, axis_run(x.rank() - Axes, x.rank())));
  return x / ebb::broadcast_to(length, x.shape_number(), axis_run(0, x.rank()));
}

/// Real and imaginary parts in the promoted dtype. If they do not fit, `refused` says why: an operand, with its code.
template <class T>
struct complex_parts {
  operand<T> re, im, refused;
  template <class A, class B>
  constexpr complex_parts(operand<A> a, operand<B> b) : re(cast_to<T>(a)), im(cast_to<T>(b)), refused(re.is_refused() ? re : im) {
    if (!refused.is_refused() && !re.g->syms.unify(re.extents(), im.extents())) refused = refuse<T>(*re.g, 102);
  }
};

/// The transform of complex numbers along one axis, [..., n]: [..., 2, n], or along two, [..., m, n]: [..., 2, m, n]. One argument is real.
template <bool IsInverse, int Axes>
struct fft {
  static constexpr std::string_view name = Axes == 2 ? (IsInverse ? "ifft2" : "fft2") : IsInverse ? "ifft" : "fft";
  static constexpr precision autocast = precision::full;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    return a.is_refused() ? operand<promoted_to_real<A>>{a.g, a.id} : apply(a, literal_like(a, 0));
  }
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted_to_real<promoted<A, B>>;
    const complex_parts<T> parts(a, b);
    const auto re = parts.re, im = parts.im;
    if (parts.refused.is_refused()) return parts.refused;
    graph& g = *re.g;
    if (re.rank() < Axes || re.rank() == max_rank) return refuse<T>(g, 499);
    auto r = both_transformed(side_by_side(re, im), IsInverse);
    if constexpr (Axes == 2) r = columns_transformed(r, IsInverse);
    if constexpr (IsInverse) return divided_by_length<Axes>(r);
    else return r;
  }
};

/// [..., n]: [..., 2, n / 2 + 1].
struct rfft {
  static constexpr precision autocast = precision::full;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    using T = promoted_to_real<A>;
    const auto x = cast_to<T>(a);
    if (x.is_refused()) return x;
    if (x.rank() == 0 || x.rank() == max_rank) return refuse<T>(*x.g, 499);
    graph& g = *x.g;
    const int last = x.rank() - 1, m = g.syms.derive(extent_rule::quotient, g.syms.derive(extent_rule::sum, x.extent(last), 1), 2);
    const shape packed = with_extent(x.extents(), last, g.syms.derive(extent_rule::product, m, 2));
    const operand<T> r{&g, emit_as<op::rfft, T>(g, g.intern(g.syms.find(packed)), {x.id})};
    return view_as(r, with_axis(with_extent(x.extents(), last, m), last, 2));
  }
};

/// N = 0: twice the frequencies but one.
template <int N>
struct irfft {
  static constexpr std::string_view name = "irfft";
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted_to_real<promoted<A, B>>;
    const complex_parts<T> parts(a, b);
    const auto re = parts.re, im = parts.im;
    if (parts.refused.is_refused()) return parts.refused;
    graph& g = *re.g;
    const int last = re.rank() - 1;
    if (last < 0 || (N > 0 && !g.syms.unify(re.extent(last), N / 2 + 1))) return refuse<T>(g, 499);
    const int m = re.extent(last);
    const int n = N > 0 ? N : g.syms.derive(extent_rule::product, g.syms.derive(extent_rule::difference, m, 1), 2);
    // Frequencies that are their own conjugate, the first and for even n the last, count once.
    const auto k = index_along<std::int64_t>(g, re.shape_number(), last);
    auto once = emit_on<op::equal>({}, k, literal_like(k, 0));
    if (N % 2 == 0) {
      const auto count = count_along<std::int64_t>(re, std::int64_t{1} << last);
      const auto all = ebb::broadcast_to(count, re.shape_number(), axis_run(0, re.rank()));
      once = emit_on<op::logical_or>({}, once, emit_on<op::equal>({}, k + 1, all));
    }
    const auto weight = emit_on<op::where>({}, once, literal_like(re, 1), literal_like(re, 2));
    const operand<T> packed{&g, emit<op::concat, T>(g, {(re * weight).id, (im * weight).id}, {last})};
    const operand<T> sum{&g, emit_as<op::rfft_adjoint, T>(g, g.intern(g.syms.find(with_extent(re.extents(), last, n))), {packed.id})};
    return divided_by_length<1>(sum);
  }
};

/// [..., m, n]: [..., 2, m, n / 2 + 1].
struct rfft2 {
  static constexpr precision autocast = precision::full;
  template <class A>
  static constexpr auto apply(operand<A> x) {
    using T = promoted_to_real<A>;
    if (!x.is_refused() && x.rank() < 2) return refuse<T>(*x.g, 499);
    const auto rows = rfft::apply(x);
    return rows.is_refused() ? rows : columns_transformed(rows, false);
  }
};
template <int N>
struct irfft2 {
  static constexpr std::string_view name = "irfft2";
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted_to_real<promoted<A, B>>;
    const complex_parts<T> parts(a, b);
    const auto re = parts.re, im = parts.im;
    if (parts.refused.is_refused()) return parts.refused;
    graph& g = *re.g;
    const int rank = re.rank();
    if (rank < 2 || rank == max_rank) return refuse<T>(g, 499);
    // [..., m, 2, k] from [..., m, k] each, then [..., 2, m, k] divided by m.
    const auto columns = columns_transformed(side_by_side(re, im), true);
    const auto height = cast_to<T>(count_along<std::int64_t>(re, std::int64_t{1} << (rank - 2)));
    const auto part = [&](int i) {
      const auto one = slice_as(columns, {rank - 2, i}, g.intern(g.syms.find(with_extent(columns.extents(), rank - 2, 1))));
      return view_as(one, re.extents()) / ebb::broadcast_to(height, re.shape_number(), axis_run(0, rank));
    };
    return irfft<N>::apply(part(0), part(1));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

namespace detail {

/// A real array, or real and imaginary parts.
template <class... X>
concept is_one_or_two = sizeof...(X) == 1 || sizeof...(X) == 2;

/// The parts of a transform along that many axes.
template <int Axes>
constexpr auto parts_of_transform(const auto& both) {
  return std::tuple(select<-1 - Axes, 0>(both), select<-1 - Axes, 1>(both));
}

}  // namespace detail

/// The Fourier transform of complex numbers along the last axis, in a tuple: real parts, imaginary parts. One argument is a real array.
///   const auto [re, im] = ebb::fft(a, b);
/// Shape: re, im [..., n]: twice [..., n].   Dtype: promoted; integers give float; narrow floats are computed in float.   Saves: nothing.
/// Error: 2 ulp of the sum of |re| + |im|, for each factor of n; a factor p adds p ulp.   Throws: if both extents differ in a call.
template <class... X>
  requires detail::is_one_or_two<X...>
constexpr auto fft(X&&... x) {
  return detail::parts_of_transform<1>(apply_function(functions::fft<false, 1>{}, std::forward<X>(x)...));
}
/// The complex numbers with this transform, in a tuple. It divides by n.   All fields as fft.
template <class... X>
  requires detail::is_one_or_two<X...>
constexpr auto ifft(X&&... x) {
  return detail::parts_of_transform<1>(apply_function(functions::fft<true, 1>{}, std::forward<X>(x)...));
}
/// The transform of complex numbers along the last two axes, in a tuple.   Shape: re, im [..., m, n]: twice [..., m, n].
/// Error: 2 ulp of the sum of |re| + |im|, for each factor of m and of n; a factor p adds p ulp.   All other fields as fft.
template <class... X>
  requires detail::is_one_or_two<X...>
constexpr auto fft2(X&&... x) {
  return detail::parts_of_transform<2>(apply_function(functions::fft<false, 2>{}, std::forward<X>(x)...));
}
/// The complex numbers with this transform, in a tuple. It divides by m n.   All fields as fft2.
template <class... X>
  requires detail::is_one_or_two<X...>
constexpr auto ifft2(X&&... x) {
  return detail::parts_of_transform<2>(apply_function(functions::fft<true, 2>{}, std::forward<X>(x)...));
}

/// The Fourier transform of real numbers along the last axis, at the frequencies 0 to n / 2, in a tuple: real parts, imaginary parts.
///   const auto [re, im] = ebb::rfft(x);
/// Shape: x [..., n]: twice [..., n / 2 + 1].   Dtype: x's; integers give float; narrow floats are computed in float.   Saves: nothing.
/// Error: 2 ulp of the sum of |x|, for each factor of n; a factor p adds p ulp.   Throws: if x has no axis.
template <class X>
constexpr auto rfft(X&& x) {
  return detail::parts_of_transform<1>(apply_function(functions::rfft{}, std::forward<X>(x)));
}
/// The n real numbers with this transform: irfft<n>(re, im); without n there are 2 (m - 1), for m frequencies. As in NumPy, the imaginary
/// part of frequency 0, and of n / 2 for even n, counts as 0 and has no gradient.
/// Shape: re, im [..., n / 2 + 1]: [..., n].   Dtype, Saves, Error: as rfft, of the sum of |re| and |im|.
/// Throws: if a call's frequencies do not fit n.
template <int N = 0, class Re, class Im>
constexpr auto irfft(Re&& re, Im&& im) {
  static_assert(N >= 0, "[ebb E0500] irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative");
  return apply_function(functions::irfft<(N > 0 ? N : 0)>{}, std::forward<Re>(re), std::forward<Im>(im));
}
/// The transform of real numbers along the last two axes, at the frequencies 0 to n / 2 of the last one, in a tuple.
/// Shape: x [..., m, n]: twice [..., m, n / 2 + 1].   Error: as fft2.   All other fields as rfft.
template <class X>
constexpr auto rfft2(X&& x) {
  return detail::parts_of_transform<2>(apply_function(functions::rfft2{}, std::forward<X>(x)));
}
/// The m n real numbers with this transform: irfft2<n>(re, im), as irfft along the last axis, after ifft along the one before.
/// Shape: re, im [..., m, n / 2 + 1]: [..., m, n].   Dtype, Saves: as rfft.   Error: as fft2.   Throws: as irfft.
template <int N = 0, class Re, class Im>
constexpr auto irfft2(Re&& re, Im&& im) {
  static_assert(N >= 0, "[ebb E0500] irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative");
  return apply_function(functions::irfft2<(N > 0 ? N : 0)>{}, std::forward<Re>(re), std::forward<Im>(im));
}

}  // namespace ebb::inline EBB_ABI
