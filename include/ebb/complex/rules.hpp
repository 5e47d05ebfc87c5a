// ebb/complex/rules.hpp — operators and functions of complex arrays, in forms that neither overflow nor cancel without need.
// SPDX-License-Identifier: BSL-1.0
//
// [note: complex functions]
// A function reaches apply_function with a complex argument, where complex_rule<function> says what it does: ebb::exp and the operators are
// the same names for real and for complex arrays. Rules are made of functions of the parts, so derivatives of every order follow from them.
//
// Errors are those of a value as a whole: |computed - exact| / |exact|. A part that is small beside the other one may have fewer digits.
// Branch cuts are C99's, with signed zeros: log, arg, sqrt and pow have theirs on the negative real axis, continuous from the side that the
// sign of the imaginary part says. Infinite and NaN parts follow the real functions: C99's annex G is not followed.
#pragma once

#include "complex.hpp"

#include "../op/arithmetic.hpp"
#include "../op/arrange.hpp"
#include "../op/compare.hpp"
#include "../op/exponential.hpp"
#include "../op/hyperbolic.hpp"
#include "../op/like.hpp"
#include "../op/linear.hpp"
#include "../op/nonfinite.hpp"
#include "../op/power.hpp"
#include "../op/reduce.hpp"
#include "../op/shape.hpp"
#include "../op/shaping.hpp"
#include "../op/solve.hpp"
#include "../op/trigonometric.hpp"
#include "../trace/functions.hpp"
#include "../trace/operators.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class F>
struct complex_rule;

/// length (cos y + i sin y). An infinite length is left out of the sine's part where y is 0, since inf * 0 is NaN.
template <class M, class Y>
constexpr auto turned(const M& length, const Y& y) {
  const auto safe = ebb::where(ebb::logical_and(ebb::isinf(length), y == 0), 1, length);
  return complex{length * ebb::cos(y), safe * ebb::sin(y)};
}
/// |z|^2 - 1 near the circle |z| = 1, without the square root and without the square of the larger part.
template <class Re, class Im>
constexpr auto beyond_the_circle(const complex<Re, Im>& z) {
  const auto flat = ebb::abs(z.re) >= ebb::abs(z.im);
  const auto large = ebb::where(flat, z.re, z.im), small = ebb::where(flat, z.im, z.re);
  return (large - 1) * (large + 1) + small * small;
}

template <>
struct complex_rule<broadcasting<op::add>> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    if constexpr (!is_complex<A>) return complex{a + b.re, b.im};
    else if constexpr (!is_complex<B>) return complex{a.re + b, a.im};
    else return complex{a.re + b.re, a.im + b.im};
  }
};
template <>
struct complex_rule<broadcasting<op::sub>> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    if constexpr (!is_complex<A>) return complex{a - b.re, -b.im};
    else if constexpr (!is_complex<B>) return complex{a.re - b, a.im};
    else return complex{a.re - b.re, a.im - b.im};
  }
};
template <>
struct complex_rule<broadcasting<op::mul>> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    if constexpr (!is_complex<A>) return complex{a * b.re, a * b.im};
    else if constexpr (!is_complex<B>) return complex{a.re * b, a.im * b};
    else return complex{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};
/// By Smith's method: both sides are divided by the larger part of b, after both are multiplied by -i if that is the imaginary one.
template <>
struct complex_rule<broadcasting<op::div>> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    if constexpr (!is_complex<B>) return complex{a.re / b, a.im / b};
    else {
      const auto steep = ebb::abs(b.re) < ebb::abs(b.im);
      const auto large = ebb::where(steep, b.im, b.re);
      const auto ratio = ebb::where(steep, -b.re, b.im) / large;
      const auto length = large + ebb::where(steep, -b.re, b.im) * ratio;
      if constexpr (!is_complex<A>) {
        const auto along = a / length, across = along * ratio;
        return complex{ebb::where(steep, -across, along), -ebb::where(steep, along, across)};
      } else {
        const auto re = ebb::where(steep, a.im, a.re), im = ebb::where(steep, -a.re, a.im);
        return complex{(re + im * ratio) / length, (im - re * ratio) / length};
      }
    }
  }
};
template <>
struct complex_rule<broadcasting<op::neg>> {
  static constexpr auto apply(const auto& z) { return complex{-z.re, -z.im}; }
};
template <>
struct complex_rule<broadcasting<op::reciprocal>> {
  static constexpr auto apply(const auto& z) { return complex_rule<broadcasting<op::div>>::apply(1, z); }
};
template <>
struct complex_rule<broadcasting<op::square>> {
  static constexpr auto apply(const auto& z) { return complex{(z.re - z.im) * (z.re + z.im), 2 * (z.re * z.im)}; }
};
/// The length of z: a real array.
template <>
struct complex_rule<broadcasting<op::abs>> {
  static constexpr auto apply(const auto& z) { return ebb::hypot(z.re, z.im); }
};
template <>
struct complex_rule<broadcasting<op::exp>> {
  static constexpr auto apply(const auto& z) { return turned(ebb::exp(z.re), z.im); }
};
template <>
struct complex_rule<broadcasting<op::log>> {
  static constexpr auto apply(const auto& z) {
    const auto length = ebb::hypot(z.re, z.im);
    const auto near = ebb::logical_and(length > 0.5, length < 2);
    return complex{ebb::where(near, 0.5 * ebb::log1p(ebb::where(near, beyond_the_circle(z), 0)), ebb::log(ebb::where(near, 1, length))),
                   ebb::atan2(z.im, z.re)};
  }
};
/// Kahan's form: the part without cancellation by a root, the other one by a division.
template <>
struct complex_rule<broadcasting<op::sqrt>> {
  static constexpr auto apply(const auto& z) {
    const auto negative = z.re < 0;
    const auto root = ebb::sqrt(0.5 * ebb::where(negative, -z.re, z.re) + 0.5 * ebb::hypot(z.re, z.im));
    const auto other = z.im / (2 * ebb::where(root == 0, 1, root));
    const auto side = ebb::copysign(1, z.im);
    return complex{ebb::where(negative, side * other, root), ebb::where(negative, side * root, other)};
  }
};
template <>
struct complex_rule<broadcasting<op::sinh>> {
  static constexpr auto apply(const auto& z) { return complex{ebb::sinh(z.re) * ebb::cos(z.im), ebb::cosh(z.re) * ebb::sin(z.im)}; }
};
template <>
struct complex_rule<broadcasting<op::cosh>> {
  static constexpr auto apply(const auto& z) { return complex{ebb::cosh(z.re) * ebb::cos(z.im), ebb::sinh(z.re) * ebb::sin(z.im)}; }
};
/// sinh 2x / (cosh 2x + cos 2y), with both sides multiplied by 2 q = 2 e^(-2|x|): nothing overflows, and the sum of squares below does not
/// cancel.
template <>
struct complex_rule<broadcasting<op::tanh>> {
  static constexpr auto apply(const auto& z) {
    const auto side = ebb::copysign(1, z.re);
    const auto twice = -2 * (side * z.re);
    const auto q = ebb::exp(twice), rest = -ebb::expm1(twice), c = ebb::cos(z.im);
    const auto below = rest * rest + 4 * (q * c * c);
    return complex{side * (rest * (1 + q) / below), 4 * (q * c * ebb::sin(z.im)) / below};
  }
};
template <>
struct complex_rule<broadcasting<op::sin>> {
  static constexpr auto apply(const auto& z) { return complex{ebb::sin(z.re) * ebb::cosh(z.im), ebb::cos(z.re) * ebb::sinh(z.im)}; }
};
template <>
struct complex_rule<broadcasting<op::cos>> {
  static constexpr auto apply(const auto& z) { return complex{ebb::cos(z.re) * ebb::cosh(z.im), -(ebb::sin(z.re) * ebb::sinh(z.im))}; }
};
/// tan z = -i tanh(i z)
template <>
struct complex_rule<broadcasting<op::tan>> {
  static constexpr auto apply(const auto& z) {
    const auto t = complex_rule<broadcasting<op::tanh>>::apply(complex{-z.im, z.re});
    return complex{t.im, -t.re};
  }
};
/// An integer as exponent gives products; another one e^(w log z). 0^w is 0, and 1 for w = 0.
template <>
struct complex_rule<functions::power> {
  using product = complex_rule<broadcasting<op::mul>>;

  template <class Z>
  static constexpr auto whole(const Z& z, int n) {
    auto square = product::apply(complex{1, 0}, z);
    auto r = complex{ebb::ones_like(square.re), ebb::zeros_like(square.im)};
    for (bool first = true; n > 0; n /= 2) {
      if (n % 2 == 1) r = first ? square : product::apply(r, square), first = false;
      if (n > 1) square = complex_rule<broadcasting<op::square>>::apply(square);
    }
    return r;
  }
  template <class Z, class W>
  static constexpr auto apply(const Z& z, const W& w) {
    if constexpr (!is_complex<Z>) return apply(complex{ebb::where(w.re == w.re, z, z), ebb::zeros_like(w.re)}, w);
    else if constexpr (std::is_integral_v<W>) {
      const auto r = whole(z, static_cast<int>(w < 0 ? -w : w));
      return w < 0 ? complex_rule<broadcasting<op::reciprocal>>::apply(r) : r;
    } else {
      const auto zero = ebb::logical_and(z.re == 0, z.im == 0);
      const auto log = complex_rule<broadcasting<op::log>>::apply(complex{ebb::where(zero, 1, z.re), z.im});
      const auto r = complex_rule<broadcasting<op::exp>>::apply(product::apply(w, log));
      if constexpr (is_complex<W>) {
        const auto none = ebb::logical_and(w.re == 0, w.im == 0);
        return complex{ebb::where(zero, ebb::where(none, 1, ebb::zeros_like(r.re)), r.re), ebb::where(zero, 0, r.im)};
      } else return complex{ebb::where(zero, w == 0 ? 1 : 0, r.re), ebb::where(zero, 0, r.im)};
    }
  }
};
template <>
struct complex_rule<broadcasting<op::pow>> : complex_rule<functions::power> {};

/// Four real products: three with sums of the parts would cancel.
template <>
struct complex_rule<functions::matmul> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    if constexpr (!is_complex<A>) return complex{ebb::matmul(a, b.re), ebb::matmul(a, b.im)};
    else if constexpr (!is_complex<B>) return complex{ebb::matmul(a.re, b), ebb::matmul(a.im, b)};
    else
      return complex{ebb::matmul(a.re, b.re) - ebb::matmul(a.im, b.im), ebb::matmul(a.re, b.im) + ebb::matmul(a.im, b.re)};
  }
};
/// The real system of twice the size: (re, -im; im, re) (x.re; x.im) = (b.re; b.im).
template <bool OrNaN>
struct complex_rule<functions::solve<OrNaN>> {
  template <class A, class B>
  static constexpr auto apply(const A& a, const B& b) {
    constexpr auto solution = [](const auto& x, const auto& y) { return apply_function(functions::solve<OrNaN>{}, x, y); };
    if constexpr (!is_complex<A>) return complex{solution(a, b.re), solution(a, b.im)};
    else if constexpr (!is_complex<B>) return apply(a, complex{b, ebb::zeros_like(b)});
    else {
      constexpr int axis = rank_in_type<decltype(b.re)>() < rank_in_type<decltype(a.re)>() ? -1 : -2;
      const auto both = ebb::concat<-2>(ebb::concat<-1>(a.re, -a.im), ebb::concat<-1>(a.im, a.re));
      const auto x = ebb::chunk<axis, 2>(solution(both, ebb::concat<axis>(b.re, b.im)));
      return complex{std::get<0>(x), std::get<1>(x)};
    }
  }
};
template <bool Keep, int... Axes>
struct complex_rule<functions::sum<Keep, Axes...>> {
  static constexpr auto apply(const auto& z) {
    return parts([](const auto& x) { return apply_function(functions::sum<Keep, Axes...>{}, x); }, z);
  }
};
template <bool Keep, int... Axes>
struct complex_rule<functions::mean<Keep, Axes...>> {
  static constexpr auto apply(const auto& z) {
    return parts([](const auto& x) { return apply_function(functions::mean<Keep, Axes...>{}, x); }, z);
  }
};

template <class F, class... A>
concept has_complex_rule = requires(const A&... a) { complex_rule<F>::apply(as_pair(a)...); };

}  // namespace detail

/// A function of complex arrays: see [note: complex functions].
template <class F, class... A>
  requires(complex_like<A> || ...)
constexpr auto apply_function(F, const A&... a) {
  constexpr bool known = detail::has_complex_rule<F, A...>;
  static_assert(known, "[ebb E0531] this function has no form for complex numbers: apply it to z.re and z.im, or to both by ebb::parts");
  if constexpr (!known) return refused_result{};
  else return detail::complex_rule<F>::apply(detail::as_pair(a)...);
}

namespace detail {

/// Two sides of an operator: one is complex, and one is ebb's.
template <class A, class B>
concept complex_pair = (complex_like<A> || complex_like<B>) && (is_complex<A> || is_complex<B> || has_operators<A> || has_operators<B>) &&
                       (complex_like<A> || form<A>::is_leaf) && (complex_like<B> || form<B>::is_leaf);

}  // namespace detail

/// Sum, difference and product.   Shape: broadcast.   Dtype: promoted; numbers and std::complex are weak.
/// Saves: the factors of a product.   Error: 1.5 ulp of |a| + |b|, or of |a b|.
template <class A, class B>
  requires detail::complex_pair<A, B>
constexpr auto operator+(const A& a, const B& b) {
  return apply_function(detail::broadcasting<op::add>{}, a, b);
}
template <class A, class B>
  requires detail::complex_pair<A, B>
constexpr auto operator-(const A& a, const B& b) {
  return apply_function(detail::broadcasting<op::sub>{}, a, b);
}
template <class A, class B>
  requires detail::complex_pair<A, B>
constexpr auto operator*(const A& a, const B& b) {
  return apply_function(detail::broadcasting<op::mul>{}, a, b);
}
/// By Smith's method: it does not overflow where the quotient does not.   Shape, Dtype: as the product.   Saves: both, the quotient.
/// Error: 5 ulp of |a / b|.
template <class A, class B>
  requires detail::complex_pair<A, B>
constexpr auto operator/(const A& a, const B& b) {
  return apply_function(detail::broadcasting<op::div>{}, a, b);
}
template <class Re, class Im>
constexpr auto operator-(const complex<Re, Im>& z) {
  return apply_function(detail::broadcasting<op::neg>{}, z);
}

/// The angle of z, from -pi to pi; the gradient at 0 is 0.   Shape, Dtype: z's.   Saves: z.   Error: as atan2.
template <class Re, class Im>
constexpr auto arg(const complex<Re, Im>& z) {
  return ebb::atan2(z.im, z.re);
}
/// re^2 + im^2.   Shape, Dtype: z's.   Saves: z.   Error: 1.5 ulp.
template <class Re, class Im>
constexpr auto abs_squared(const complex<Re, Im>& z) {
  return z.re * z.re + z.im * z.im;
}
/// length (cos angle + i sin angle).   Shape: broadcast.   Dtype: promoted.   Saves: both, sine and cosine.   Error: that of sin and cos.
template <class R, class A>
constexpr auto polar(const R& length, const A& angle) {
  return detail::turned(length, angle);
}

}  // namespace ebb::inline EBB_ABI
