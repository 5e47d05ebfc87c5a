// ebb/num/gamma.hpp — log |gamma|, digamma and its first three derivatives, for one element and for batches.
// SPDX-License-Identifier: BSL-1.0
//
// Stirling's series, whose part in 1/x^2 is a polynomial or quotient fitted from 2 or 8 on, not only an asymptotic series:
//   log gamma(x) = (x - 1/2) (log x - 1) + log(2 pi)/2 - 1/2 + s(1/x^2) / x,   x >= 8
//   psi(x) = log x - 1/(2x) - q(1/x^2) / x^2,   x >= 2, and its derivatives likewise.
// For smaller x, log gamma(y) / ((y - 1) (y - 2)) - 1/2 and psi(y) / (y - root) are quotients of polynomials of y - 3/4 and y - 1, whose
// denominators have positive terms: there is no cancellation, and the zeros are exact. The recurrence moves x to y. Negative x use the
// reflection formulas.
// Source: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions (1964), 6.1 to 6.4. The coefficients are ebb's own, by rational
// interpolation at Chebyshev nodes. The error bounds hold with fma; without it errors are up to twice as large.
#pragma once

#include "lane.hpp"
#include "logarithm.hpp"
#include "polynomial.hpp"
#include "trigonometric.hpp"
#include "twofold.hpp"

#include <limits>

namespace ebb::inline EBB_ABI::lane {

// Every formula is computed for every x, and its argument is bounded where it does not hold: constant expressions must not overflow.

namespace detail {

template <class T>
struct gamma;
template <class T>
struct digamma;
template <int N, class T>
struct polygamma;

template <>
struct gamma<float> {
  static constexpr float near_over[] = {0x1.3438d8p-3f, 0x1.817c64p-8f, -0x1.1d095p-2f, -0x1.29470ap-3f, -0x1.b3bd22p-7f};
  static constexpr float near_under[] = {0x1.30af7ep+1f, 0x1.c4fbb2p+0f, 0x1.c929e2p-2f, 0x1.c9ec96p-6f};
  static constexpr float far[] = {0x1.555556p-4f, -0x1.6c1418p-9f, 0x1.98f67cp-11f};
  static constexpr float constant = 0x1.acfe3ap-2f;  // log(2 pi) / 2 - 1/2
};
template <>
struct gamma<double> {
  static constexpr double near_over[] = {0x1.3438d7d46862cp-3, 0x1.b3ad4fc423bc4p-2, 0x1.f91582df9f20bp-4, -0x1.8c567474ced94p-1,
                                         -0x1.1c8035a376d5fp+0, -0x1.4deb2eb0cae97p-1, -0x1.7f89322228ccbp-3, -0x1.a4687b17b60cap-6,
                                         -0x1.7b6f5b5eacc9p-10, -0x1.7c831d60f3fd6p-16};
  static constexpr double near_under[] = {0x1.4ac5897457453p+2, 0x1.5ee7071553897p+3, 0x1.8b38672dadc2fp+3, 0x1.fefb72bfc15c5p+2,
                                          0x1.7f9795cd3a727p+1, 0x1.43785b60497c1p-1, 0x1.1a065d42f40bep-4, 0x1.adda53136269dp-9,
                                          0x1.814cdb5ced346p-15};
  static constexpr double far[] = {0x1.5555555555555p-4, -0x1.6c16c16c149f4p-9, 0x1.a01a017dcf9e1p-11, -0x1.38134d4f8896fp-11,
                                   0x1.b92c33f9445e5p-11, -0x1.ef8d748aeb0f2p-10, 0x1.4bffc9d8b455bp-8};
  static constexpr double constant = 0x1.acfe390c97d69p-2;  // log(2 pi) / 2 - 1/2
};
template <>
struct digamma<float> {
  static constexpr float root_high = 0x1.762d86p+0f, root_low = 0x1.ab5f2p-27f;
  static constexpr float near_over[] = {0x1.4018eap+0f, 0x1.204c12p+0f, 0x1.a9c5e8p-3f, 0x1.3e09f6p-9f};
  static constexpr float near_under[] = {0x1.958e3ap+0f, 0x1.4b71dcp-1f, 0x1.0018bep-4f};
  static constexpr float far_over[] = {0x1.555556p-4f, 0x1.5f2146p-2f, 0x1.144cb2p-2f, 0x1.87da44p-6f};
  static constexpr float far_under[] = {0x1.0dbf5ap+2f, 0x1.ce4de4p+1f, 0x1.fd42cap-2f};
};
template <>
struct digamma<double> {
  static constexpr double root_high = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
  static constexpr double near_over[] = {0x1.4018e9a62525ep+0, 0x1.de1a8af2745b4p+0, 0x1.f1384fe93553ep-1, 0x1.bb02df58e8a54p-3,
                                         0x1.47176e9e0baf9p-6, 0x1.30abbc0abe46ap-11, 0x1.2473a928133bep-20};
  static constexpr double near_under[] = {0x1.16ad65259c04ep+1, 0x1.a9bf32a0bb7acp+0, 0x1.246015d6a895ep-1, 0x1.7539385d2a729p-4,
                                          0x1.8fd563129c5eap-8, 0x1.f92059df5b1d1p-14};
  static constexpr double far_over[] = {0x1.5555555555555p-4, 0x1.0de1be12eb17dp+1, 0x1.23936456a46e5p+4, 0x1.0e5a27eddb65ap+6,
                                        0x1.bb462aeff22fp+6, 0x1.28be6b278b696p+6, 0x1.fe06f5247e041p+3, 0x1.f6c67cd81603ap-2};
  static constexpr double far_under[] = {0x1.966c36b5fa3c8p+4, 0x1.ba594277be54ap+7, 0x1.a001d676e1473p+9, 0x1.5eeaedceb172fp+10,
                                         0x1.f3fd9ef63befdp+9, 0x1.f6ae68fd502eap+7, 0x1.baf1a294a3db7p+3};
};
template <>
struct polygamma<1, float> {
  static constexpr float far_over[] = {0x1.555556p-3f, 0x1.9c8b76p-1f, 0x1.843c96p-1f, 0x1.430f6p-4f};
  static constexpr float far_under[] = {0x1.423564p+2f, 0x1.5a7a6p+2f, 0x1.0934fp+0f};
};
template <>
struct polygamma<1, double> {
  static constexpr double far_over[] = {0x1.5555555555554p-3, 0x1.26fe3d33754b4p+2, 0x1.5ea1dba0d7373p+5, 0x1.68461ab2da959p+7,
                                        0x1.49caa379a1ecfp+8, 0x1.f0557eeb7a085p+7, 0x1.e033dd9e4f719p+5, 0x1.0170117fd80fep+1};
  static constexpr double far_under[] = {0x1.bdb08f00631d3p+4, 0x1.0c67076c4b6f6p+8, 0x1.1aae3ff61afefp+10, 0x1.0f755a0a700bcp+11,
                                         0x1.c315d2e0dde1dp+10, 0x1.131dc29cdd58bp+9, 0x1.3e583f17297cap+5};
};
template <>
struct polygamma<2, float> {
  static constexpr float far_over[] = {0x1p-1f, 0x1.3df4a8p+2f, 0x1.98a8b8p+3f, 0x1.108e6ap+3f, 0x1.5ee5b2p-1f};
  static constexpr float far_under[] = {0x1.489f54p+3f, 0x1.ca189ep+4f, 0x1.7c14bep+4f, 0x1.0fd1e6p+2f};
};
template <>
struct polygamma<2, double> {
  static constexpr double far_over[] = {0x1p-1, 0x1.386513001c1abp+4, 0x1.133aebcf09c2dp+8, 0x1.bf7837a164076p+10,
                                        0x1.63d692a023829p+12, 0x1.0e2c35da790e7p+13, 0x1.6016ef52ad732p+12, 0x1.2e9da10b9816cp+10,
                                        0x1.21e965a89563dp+5};
  static constexpr double far_under[] = {0x1.3b0fbdaac6c45p+5, 0x1.19a09517ee02ap+9, 0x1.d55f624457aep+11, 0x1.85c58bd25326cp+13,
                                         0x1.3fef69078a01ep+14, 0x1.e387f9920b8f7p+13, 0x1.1c3f39d9c9cf4p+12, 0x1.53514ff9312b5p+8};
};
template <>
struct polygamma<3, float> {
  static constexpr float far_over[] = {0x1p+1f, 0x1.62ed28p+4f, 0x1.ffab42p+5f, 0x1.7e9e8cp+5f, 0x1.11d39ep+2f};
  static constexpr float far_under[] = {0x1.72ed28p+3f, 0x1.28ddf8p+5f, 0x1.21ea6ep+5f, 0x1.fba9d4p+2f};
};
template <>
struct polygamma<3, double> {
  static constexpr double far_over[] = {0x1.ffffffffffffep+0, 0x1.4fae51c2d35d3p+6, 0x1.3eb4a4046d3a8p+10, 0x1.17ee50f294f1ap+13,
                                        0x1.e20ff0a2de1f8p+14, 0x1.8cb46754863cfp+15, 0x1.17f6a25a1942fp+15, 0x1.03ceadddaf107p+13,
                                        0x1.0ca7bc16e774fp+8};
  static constexpr double far_under[] = {0x1.53ae51c2d3585p+5, 0x1.48fcc13d2f03ep+9, 0x1.2ad134995807cp+12, 0x1.107248474371ep+14,
                                         0x1.ef96c9ba7caa5p+14, 0x1.a3df89503852ap+14, 0x1.190301b553166p+13, 0x1.8563a73c9b9d6p+9};
};

template <class V, class T, std::size_t N, std::size_t M>
EBB_INLINE constexpr V quotient(V x, const T (&over)[N], const T (&under)[M]) {
  return horner(x, over) / fma(x, horner(x, under), all<V>(1));
}

template <class T>
struct pi;
template <>
struct pi<float> {
  static constexpr float high = 0x1.921fb6p+1f, low = -0x1.777a5cp-24f, reciprocal = 0x1.45f306p-2f;
};
template <>
struct pi<double> {
  static constexpr double high = 0x1.921fb54442d18p+1, low = 0x1.1a62633145c07p-53, reciprocal = 0x1.45f306dc9c883p-2;
};

/// sin and cos of pi f for f = x - rint(x): sin and cos of pi x up to a common sign. NaN at infinity.
template <class V>
struct half_turn {
  V sine, cosine;
  EBB_INLINE constexpr explicit half_turn(V x) {
    using T = element_of<V>;
    using C = pi<T>;
    V f = x - rint(x), magnitude = abs(f), rounder = all<V>(format<T>::rounder);
    V shifted = magnitude + magnitude + rounder, rest = fma(shifted - rounder, all<V>(T(-0.5)), magnitude);
    twofold<V> r = product(rest, all<V>(C::high));
    angle<V> a{r.high, fma(rest, all<V>(C::low), r.low), to_bits(shifted)};
    sine = circular_at<0>(a, f);
    cosine = circular_at<1>(a, f);
  }
};

/// log gamma(x) for x >= 0.
template <class V>
EBB_INLINE constexpr V lgamma_positive(V x) {
  using T = element_of<V>;
  using C = gamma<T>;
  V one = all<V>(1);
  auto small = x < all<V>(T(0.75)), far = x >= all<V>(8);
  // x below 8 is reduced to [1.5, 2.5) by at most six factors; x below 3/4 is raised by 1.
  V y = at_most(select(small, x + one, x), all<V>(8)), factors = one;
  for (int i = 0; i < 6; ++i) {
    auto above = y >= all<V>(T(2.5));
    y = select(above, y - one, y);
    factors = select(above, factors * y, factors);
  }
  V log_of_it = log(select(small || far, x, factors));
  y = at_most(y, all<V>(T(2.5)));
  V slope = all<V>(T(0.5)) + quotient(y - all<V>(T(0.75)), C::near_over, C::near_under), core = ((y - one) * (y - all<V>(2))) * slope;
  V inverse = one / at_least(x, one), rest = fma(inverse, horner(inverse * inverse, C::far), all<V>(C::constant));
  V stirling = fma(x - all<V>(T(0.5)), log_of_it - one, rest);
  return select(far, stirling, core + select(small, -log_of_it, log_of_it));
}

/// psi(x) for x >= 0.
template <class V>
EBB_INLINE constexpr V digamma_positive(V x) {
  using T = element_of<V>;
  using C = digamma<T>;
  V one = all<V>(1), two = all<V>(2);
  auto below_one = x < one;
  V y = at_most(select(below_one, x + one, x), two), inverse = one / x, far = at_most(inverse, one), square = far * far;
  V core = ((y - all<V>(C::root_high)) - all<V>(C::root_low)) * quotient(y - one, C::near_over, C::near_under);
  V tail = fma(far, all<V>(T(0.5)), square * quotient(square, C::far_over, C::far_under));
  return select(x < two, select(below_one, core - inverse, core), log(x) - tail);
}

/// x^Times, for an exponent known at compile time.
template <int Times, class V>
EBB_INLINE constexpr V power_of(V x) {
  if constexpr (Times == 1) return x;
  else if constexpr (Times % 2 == 0) return power_of<Times / 2>(x * x);
  else return power_of<Times - 1>(x) * x;
}

/// The magnitude of the Nth derivative of psi, for x >= 0: the sum of N! / (x + i)^(N+1).
template <int N, class V>
EBB_INLINE constexpr V polygamma_positive(V x) {
  using T = element_of<V>;
  using C = polygamma<N, T>;
  constexpr T before = N == 3 ? 2 : 1, factorial = N * before;  // (N-1)!, N!
  V one = all<V>(1), zero = all<V>(0);
  auto below_one = x < one, below_two = x < all<V>(2);
  V next = x + one, z = select(below_one, x + all<V>(2), select(below_two, next, x)), r = one / z, square = r * r;
  V rest = fma(all<V>(factorial / 2), r, square * quotient(square, C::far_over, C::far_under));
  V sum = power_of<N>(r) * (all<V>(before) + rest);
  V second = all<V>(factorial) * power_of<N + 1>(one / next), first = all<V>(factorial) * power_of<N + 1>(one / x);
  return (sum + select(below_one, second, zero)) + select(below_two, first, zero);
}

/// The Nth derivative of psi.
template <int N, class V>
EBB_INLINE constexpr V polygamma_of(V x) {
  using T = element_of<V>;
  auto negative = x < all<V>(0);
  V value = polygamma_positive<N>(select(negative, all<V>(1) - x, x));
  if constexpr (N == 2) value = -value;
  if (in_no_lane<V>(negative)) return value;
  half_turn<V> turn(x);
  V q = all<V>(pi<T>::high) / turn.sine, squared = q * q, reflected;
  if constexpr (N == 1) reflected = squared - value;
  else if constexpr (N == 2) reflected = fma(squared * q, all<V>(-2) * turn.cosine, value);
  else reflected = fma(squared, fma(squared * all<V>(6), turn.cosine * turn.cosine, all<V>(2 * pi<T>::high * pi<T>::high)), -value);
  return select(negative, reflected, value);
}

}  // namespace detail

/// log |gamma(x)|: infinite at 0, the negative integers and both infinities.
/// Error: 4 ulp for x > 0; for x < 0, 8 ulp of the larger of 1 and log gamma(1 - x).
template <class V>
EBB_INLINE constexpr V lgamma(V x) {
  using T = element_of<V>;
  V infinity = all<V>(std::numeric_limits<T>::infinity());
  auto negative = x < all<V>(0);
  V value = detail::lgamma_positive(select(negative, all<V>(1) - x, x));
  if (detail::in_no_lane<V>(negative)) return value;
  V sine = abs(detail::half_turn<V>(x).sine), reflected = -log(sine * all<V>(detail::pi<T>::reciprocal)) - value;
  return select(negative, select(sine == all<V>(0) || x == -infinity, infinity, reflected), value);
}

/// The derivative of lgamma: -infinity at 0, infinity at -0, NaN at negative integers.
/// Error: 4 ulp for x > 0; for x < 0, 8 ulp of the larger of the result and 1.
template <class V>
EBB_INLINE constexpr V digamma(V x) {
  using T = element_of<V>;
  auto negative = x < all<V>(0);
  V value = detail::digamma_positive(select(negative, all<V>(1) - x, x));
  if (detail::in_no_lane<V>(negative)) return value;
  detail::half_turn<V> turn(x);
  V nan = all<V>(std::numeric_limits<T>::quiet_NaN()), reflected = value - all<V>(detail::pi<T>::high) * turn.cosine / turn.sine;
  return select(negative, select(turn.sine == all<V>(0), nan, reflected), value);
}

/// The derivative of digamma: infinite at 0 and the negative integers.   Error: 8 ulp.
template <class V>
EBB_INLINE constexpr V trigamma(V x) {
  return detail::polygamma_of<1>(x);
}
/// The second derivative of digamma.   Error: 8 ulp; for x < 0, of the larger of the result and 1.
template <class V>
EBB_INLINE constexpr V tetragamma(V x) {
  return detail::polygamma_of<2>(x);
}
/// The third derivative of digamma.   Error: 8 ulp for x > 0, 12 ulp for x < 0.
template <class V>
EBB_INLINE constexpr V pentagamma(V x) {
  return detail::polygamma_of<3>(x);
}

}  // namespace ebb::inline EBB_ABI::lane
