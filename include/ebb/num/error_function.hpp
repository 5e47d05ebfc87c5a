// ebb/num/error_function.hpp — e^(-x^2), erf and erfc, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// Below 3/4, erf x = x + x p(x^2). Above, erfc x = e^(-x^2) s(x), where s(x) (x + c) is a polynomial of t = (x - c) / (x + c): t maps
// the half line to an interval, and s is smooth on it. Both factors have twice the precision; only the polynomial has plain precision.
// x^2 is a sum of two numbers: rounding it to one would cost x^2 units in the last place of e^(-x^2).
// erf x is 1 - 2^l(x) above 3/4, with a polynomial l: 2^l(x) is at most 0.41 of the result, and so are its errors.
// Source: W. J. Cody, Rational Chebyshev approximations for the error function (1969), for the ranges; M. M. Shepherd, J. G. Laframboise,
// Chebyshev approximation of (1 + 2x) exp(x^2) erfc x (1981), for t. The coefficients are ebb's own, by interpolation at Chebyshev nodes.
// The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "exponential.hpp"
#include "lane.hpp"
#include "polynomial.hpp"
#include "twofold.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct error_function;

template <>
struct error_function<float> {
  static constexpr float greatest = 10.24f;  // from here on e^(-x^2) and erfc are 0
  static constexpr float center = 3;
  static constexpr float near[] = {0x1.06eba8p-3f, -0x1.81273ap-2f, 0x1.ce2ae2p-4f, -0x1.b7aaap-6f, 0x1.4f3d08p-8f, -0x1.623bfp-11f};
  static constexpr float tail_first = 0x1.12f21ep+0f;
  static constexpr float tail[] = {-0x1.c44c48p-1f, 0x1.2e3266p-1f, -0x1.3deb12p-2f, 0x1.e9985cp-4f, -0x1.b794fap-6f, -0x1.433dcep-10f,
                                   0x1.8ef526p-9f, -0x1.edecf8p-12f, -0x1.2436fp-12f};
  // log2(erfc x) from 3/4 to where erf x rounds to 1; (2^x - 1) / x from -1/2 to 1/2.
  static constexpr float one_from = 4;
  static constexpr float log_tail[] = {-0x1.02fffp-15f, -0x1.a0c3a8p+0f, -0x1.d5abaep-1f, -0x1.36b966p-3f, 0x1.0e091ap-5f, -0x1.2f1a4cp-8f,
                                       0x1.427b02p-12f};
  static constexpr float power[] = {0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6af7ap-5f, 0x1.3b2dd2p-7f, 0x1.5f0948p-10f, 0x1.417a9ap-13f};
};
template <>
struct error_function<double> {
  static constexpr double greatest = 27.3125;
  static constexpr double center = 2.5;
  static constexpr double near[] = {0x1.06eba8214db69p-3, -0x1.812746b0379ep-2, 0x1.ce2f21a0424c3p-4, -0x1.b82ce31257412p-6,
                                    0x1.565bcd03657cp-8, -0x1.c02db1220cfe6p-11, 0x1.f9a2afa3a8f86p-14, -0x1.f4c5debf1228ap-17,
                                    0x1.b90ecd4aeec12p-20, -0x1.564f71bbc0d35p-23, 0x1.8a312cb07e6ccp-27};
  static constexpr double tail_first = 0x1.0dd50785280a5p+0;
  static constexpr double tail[] = {-0x1.9bfb53c4039d7p-1, 0x1.d0cedcb8c904dp-2, -0x1.5eb8eba1dfddep-3, 0x1.d0acf691f29bbp-6,
                                    0x1.1305f56574902p-7, -0x1.3bcdce3851eadp-8, -0x1.cc8b12169a891p-12, 0x1.7069f383986aap-11,
                                    0x1.e91ef0f663f7ap-15, -0x1.d84c398c6554ep-14, -0x1.47b01f37bdca8p-16, 0x1.320f5bc9a2a83p-16,
                                    0x1.c52267971a547p-18, -0x1.38017d815521bp-19, -0x1.06ff90d15f9a7p-19, -0x1.c4bac8ab34755p-26,
                                    0x1.e644a295fcfe7p-22, 0x1.65a79dee347b8p-23, -0x1.91c2238d08e01p-24, -0x1.116265f5654d6p-24,
                                    0x1.f04522ff87976p-26};
  static constexpr double one_from = 5.95;
  static constexpr double log_tail[] = {0x1.1a577a97f5df1p-26, -0x1.a0be87b8a7acap+0, -0x1.d63ea4168147dp-1, -0x1.2fab3d2ceb175p-3,
                                        0x1.c470e31b5e374p-6, 0x1.12f46a7111992p-12, -0x1.380c4315f17f4p-9, 0x1.90154dacea51bp-11,
                                        0x1.dfd043301565dp-15, -0x1.6f767192fce96p-13, 0x1.a75e7d2eb6373p-14, -0x1.3e9e75eb06993p-15,
                                        0x1.67b62491c9607p-17, -0x1.3c0f4ff24c42bp-19, 0x1.b2086dd0be8d5p-22, -0x1.caffec8d1db21p-25,
                                        0x1.69c8b879b2d11p-28, -0x1.90a24e26cff6ap-32, 0x1.16109010fbaf7p-36, -0x1.6be55ae19072ep-42};
  static constexpr double power[] = {0x1.62e42fefa39f3p-1, 0x1.ebfbdff82c598p-3, 0x1.c6b08d7048f31p-5, 0x1.3b2ab6fba1e1cp-7,
                                     0x1.5d87fe7bbbf81p-10, 0x1.4309130961175p-13, 0x1.ffcbee3a97e51p-17, 0x1.62bfd49ebe17cp-20,
                                     0x1.b5416889d5cd8p-24, 0x1.e605f9afdd4fcp-28, 0x1.c062358bb13f2p-32};
};

/// mantissa 2^exponent
template <class V>
struct scaled {
  twofold<V> mantissa;
  V exponent;
  /// The product with s, rounded once if the result is normal.
  EBB_INLINE constexpr V times(twofold<V> s) const {
    V low = fma(mantissa.high, s.low, mantissa.low * s.high);
    return scale(fma(mantissa.high, s.high, low), exponent);
  }
};

/// e^(x.high + x.low), where x is in the range of exp.
template <class V>
EBB_INLINE constexpr scaled<V> exp_twofold(twofold<V> x) {
  auto reduced = reduce(x.high);
  V rest = reduced.rest + x.low, r = reduced.rough + rest;
  V curved = fma(r * r, horner(r, exponential<element_of<V>>::q), rest);
  twofold<V> p = quick_sum(reduced.rough, curved), e = quick_sum(all<V>(1), p.high);
  return {{e.high, e.low + p.low}, reduced.n};
}

/// e^(-x^2 / Parts), in the same form; Parts is a power of 2.
template <int Parts, class V>
EBB_INLINE constexpr scaled<V> gaussian(V x) {
  return exp_twofold(product(x, x * all<V>(element_of<V>(-1) / Parts)));
}

/// C::tail(t) / (x + C::center), for 0 <= x; only the polynomial is computed in plain precision.
template <class C, class V>
EBB_INLINE constexpr twofold<V> over_half_line(V x) {
  using T = element_of<V>;
  V center = all<V>(C::center), one = all<V>(1);
  twofold<V> d = quick_sum(at_least(x, center), at_most(x, center));
  V inverse = one / d.high;
  // t = 1 - 2 c / d, corrected once by the remainder x - c - t d.
  V rough = fma(inverse, all<V>(T(-2) * C::center), one), difference = x - center, lost = x - (difference + center);
  V t = fma(fma(-rough, d.high, difference) + fma(-rough, d.low, lost), inverse, rough);
  V rest = horner(t, C::tail), first = all<V>(C::tail_first);
  V g = fma(t, rest, first), g_low = fma(t, rest, first - g);
  V s = inverse * g, missing = fma(-inverse, d.high, one) - inverse * d.low;
  return {s, fma(inverse, g, -s) + fma(s, missing, inverse * g_low)};
}

}  // namespace detail

/// e^(-x^2).   Error: 1 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V exp_minus_square(V x) {
  using C = detail::error_function<element_of<V>>;
  auto e = detail::gaussian<1>(at_most(abs(x), all<V>(C::greatest)));
  return scale(e.mantissa.high, e.exponent);
}

/// The error function; keeps the sign of zero.   Error: 2 ulp.
template <class V>
EBB_INLINE constexpr V erf(V x) {
  using T = element_of<V>;
  using C = detail::error_function<T>;
  const auto polynomial = [](V at, const auto& terms) EBB_LAMBDA {
    if constexpr (sizeof(T) == 4) return horner(at, terms);
    else return horner_by_pairs(at, terms);
  };
  V a = at_most(abs(x), all<V>(C::greatest));
  V near = fma(a, polynomial(a * a, C::near), a), one = all<V>(1);
  constexpr T rounder = format<T>::rounder + format<T>::bias;  // leaves the exponent's bits in the low ones
  V exponent = polynomial(at_most(a, all<V>(C::one_from)), C::log_tail), shifted = exponent + all<V>(rounder);
  V rest = exponent - (shifted - all<V>(rounder)), power = from_bits<V>(to_bits(shifted) << format<T>::fraction_bits);
  V far = fma(-fma(polynomial(rest, C::power), rest, one), power, one);
  return copysign(select(a < all<V>(T(0.75)), near, far), x);
}

/// 1 - erf x, without cancellation.   Error: 2 ulp, gradual underflow included.
template <class V>
EBB_INLINE constexpr V erfc(V x) {
  using T = element_of<V>;
  using C = detail::error_function<T>;
  V greatest = all<V>(C::greatest), a = at_most(abs(x), greatest), bounded = copysign(a, x);
  return choose<V>(a < all<V>(T(0.75)), [&]() EBB_LAMBDA {
    twofold<V> head = quick_sum(all<V>(1), -bounded);
    return head.high + fma(-bounded, horner(a * a, C::near), head.low);
  }, [&]() EBB_LAMBDA {
    V far = detail::gaussian<1>(a).times(detail::over_half_line<C>(a));
    return select(x < all<V>(0), all<V>(2) - far, far);
  });
}

}  // namespace ebb::inline EBB_ABI::lane
