// ebb/special/scaled_error.hpp — the scaled complementary error function, erfcx, with its first and second derivative.
// SPDX-License-Identifier: BSL-1.0
//
// For x >= 0, erfcx(x) is z / 2 times a rational function of z = 2 / (x + 2), but a polynomial below 1/2. Its derivative is (z / 2)^2 and
// its second derivative (z / 2)^3 times a rational function of z: the formula 2 x erfcx(x) - 2 / sqrt(pi) would cancel. For x < 0 that
// formula does not cancel, and serves.
// Source: the coefficients are ebb's own, by rational interpolation. The bounds hold with fma; without it errors are twice as large.
#pragma once

#include "../num/gamma.hpp"
#include "../op/normal.hpp"

namespace ebb::inline EBB_ABI::lane {

namespace detail {

template <class T>
struct scaled_error;

template <>
struct scaled_error<float> {
  static constexpr float scaled_growth = 1.25f, slope_growth = 1.5f, bend_growth = 1.5f;
  static constexpr float near[] = {-0x1.20dd74p+0f, 0x1.ffff84p-1f, -0x1.8117b6p-1f, 0x1.fe8112p-2f, -0x1.2b321ep-2f, 0x1.1cacb2p-3f,
                                   -0x1.3cf91ep-5f};
  static constexpr float scaled_over[] = {0x1.20dd76p-1f, -0x1.ce495ap-5f, 0x1.f7f376p-1f, 0x1.53c494p-2f, 0x1.1c4daep-1f,
                                          0x1.312174p-2f, 0x1.31b9c8p-3f};
  static constexpr float scaled_under[] = {-0x1.199b0cp+0f, 0x1.f83858p+0f, -0x1.0b3f12p+0f, 0x1.63b8f8p-1f, -0x1.1aa5cp-3f,
                                           0x1.f8384p-6f};
  static constexpr float slope_over[] = {0x1.20dd76p-1f, 0x1.c96822p-2f, 0x1.8b709cp+0f, 0x1.9d8e0cp+0f, 0x1.e223ecp+0f, 0x1.7eab84p+0f,
                                         0x1.d3aa52p-1f};
  static constexpr float slope_under[] = {-0x1.35511cp+0f, 0x1.43c3a2p+1f, -0x1.85fddap+0f, 0x1.46e12cp+0f, -0x1.3d66f8p-2f,
                                          0x1.c3c856p-4f};
  static constexpr float bend_over[] = {0x1.20dd76p+0f, 0x1.67e316p+0f, 0x1.0cef9ap+2f, 0x1.70528ep+2f, 0x1.cb1f3ep+2f, 0x1.a0ba2ap+2f,
                                        0x1.10855ap+2f};
  static constexpr float bend_under[] = {-0x1.c10efp+0f, 0x1.de431ep+1f, -0x1.931e5p+1f, 0x1.58c4dap+1f, -0x1.e0e55cp-1f, 0x1.428a46p-2f};
};
template <>
struct scaled_error<double> {
  static constexpr double scaled_growth = 1.25, slope_growth = 1.5, bend_growth = 1.5;
  static constexpr double near[] = {-0x1.20dd750429b6dp+0, 0x1.fffffffffffb9p-1, -0x1.812746b035593p-1, 0x1.ffffffff1681ap-2,
                                    -0x1.341f6ba7a6849p-2, 0x1.5555523d718f8p-3, -0x1.6023a7f208657p-4, 0x1.5551b4e70c613p-5,
                                    -0x1.38df1d39c9322p-6, 0x1.100dfb3cbc41dp-7, -0x1.bd06fbfcbe5fdp-9, 0x1.476f673d5d8d8p-10,
                                    -0x1.7c93f13fa15c7p-12, 0x1.f43d95e995035p-15};
  static constexpr double scaled_over[] = {0x1.20dd750429b6dp-1, 0x1.6ce2af845b009p-2, 0x1.cd865a84f204cp+1, 0x1.61e78366a035cp+1,
                                           0x1.1b85b90fcee2dp+3, 0x1.d29d1accb23b8p+2, 0x1.6382c782cb0b6p+3, 0x1.12b22179a6075p+3,
                                           0x1.e4d659b7d6da8p+2, 0x1.270e4da7f9a48p+2, 0x1.2efba1f5722dcp+1, 0x1.8ed6aec7cf303p-1,
                                           0x1.6917d127e4b6p-4};
  static constexpr double scaled_under[] = {-0x1.7941dedd9ad57p-2, 0x1.7898243a4f67ep+2, -0x1.494b3e9438e5ap+0, 0x1.78cce26a5e2c1p+3,
                                            -0x1.478d3d9491b54p+0, 0x1.3d72ed43d9b4ap+3, -0x1.6c4fa0c0fac43p-2, 0x1.c1d0fb2b6795p+1,
                                            0x1.d0ab3f426a7aap-8, 0x1.cc757d0a8506p-2, 0x1.1b9eb5090ab8bp-8, 0x1.adebffc4f76a2p-7};
  static constexpr double slope_over[] = {0x1.20dd750429b6dp-1, 0x1.eef7cba7de416p-1, 0x1.371af4e784407p+2, 0x1.fa88333430454p+2,
                                          0x1.19e19ab44e1aap+4, 0x1.86c651eef3c44p+4, 0x1.0d31a928d113fp+5, 0x1.2068606e32beap+5,
                                          0x1.0b3bc88a00b1cp+5, 0x1.86b83ad667423p+4, 0x1.a935f2152c3ap+3, 0x1.12b96faf776c3p+2,
                                          -0x1.142e3e91999e1p-3};
  static constexpr double slope_under[] = {-0x1.2562614f315c9p-2, 0x1.a417c342e9165p+2, -0x1.b1fb2863b1c5p-1, 0x1.dd8a1e7808bd7p+3,
                                           -0x1.c80bfd4b97cdep-3, 0x1.d57889e1a47a3p+3, 0x1.a36b6cebb694cp-1, 0x1.9416afd67fb8bp+2,
                                           0x1.074d732c3fe4dp-1, 0x1.0bccfe995b02bp+0, 0x1.07debc0de6385p-4, 0x1.69d802f8fb197p-5};
  static constexpr double bend_over[] = {0x1.20dd750429b6dp+0, 0x1.1a2b5b791330dp+1, 0x1.752130933c60ap+3, 0x1.5d912e7f55434p+4,
                                         0x1.a153e2f528751p+5, 0x1.49610b426dbeep+6, 0x1.efde48acaf52dp+6, 0x1.29020df43448dp+7,
                                         0x1.2d55a05d6586cp+7, 0x1.e152000fe8dcbp+6, 0x1.17e1c4389d06p+6, 0x1.6e95a40c22c95p+4,
                                         -0x1.0a5a582f7b156p+1};
  static constexpr double bend_under[] = {-0x1.0bde29aa34267p+0, 0x1.0720c2e6ffc8ap+3, -0x1.84021718b0406p+2, 0x1.756007b052efbp+4,
                                          -0x1.736fa6d4422fap+3, 0x1.cbc4075c16f44p+4, -0x1.1c5fcab514196p+3, 0x1.f7fae8a2ba2c1p+3,
                                          -0x1.4b910df3dd6c7p+1, 0x1.be5a552ccccd8p+1, -0x1.b16dff9fa8f3p-3, 0x1.ce7f954c37e13p-3};
};

template <class T>
inline constexpr T two_over_root_pi = static_cast<T>(0x1.20dd750429b6d11ae3a914fed7fep+0L);
/// From here on e^(x^2) is infinite.
template <class T>
inline constexpr T square_overflows = sizeof(T) == 4 ? T(9.5) : T(26.75);

/// (1 / (a + 2))^Power over(z) / under(z), which is erfcx, its first or its second derivative at a >= 0, up to the sign.
/// `growth` corrects for the rounding of z: it is about how much faster than z^Power the result grows at z = 1.
template <int Power, class V, class T, std::size_t N, std::size_t M>
EBB_INLINE constexpr V on_half_line(V a, const T (&over)[N], const T (&under)[M], T growth) {
  V one = all<V>(1), two = all<V>(2), bounded = at_most(a, all<V>(std::numeric_limits<T>::max()));
  twofold<V> d = quick_sum(at_least(bounded, two), at_most(bounded, two));
  V inverse = one / (a + two), z = inverse + inverse, rough = power_of<Power>(inverse) * quotient(z, over, under);
  V missing = fma(-inverse, d.low, fma(-inverse, d.high, one));
  return fma(rough * missing, fma(z, all<V>(growth), all<V>(Power)), rough);
}

}  // namespace detail

/// e^(x^2) (1 - erf(x)): 1 / (x sqrt(pi)) for large x.   Error: 5 ulp.
template <class V>
EBB_INLINE constexpr V erfcx(V x) {
  using T = element_of<V>;
  using C = detail::scaled_error<T>;
  V zero = all<V>(0), a = abs(x), small = at_most(a, all<V>(T(0.5))), near = fma(small, horner(small, C::near), all<V>(1));
  V tail = select(a > small, detail::on_half_line<1>(a, C::scaled_over, C::scaled_under, C::scaled_growth), near);
  auto negative = x < zero;
  if (detail::in_no_lane<V>(negative)) return tail;
  V bounded = select(negative, at_most(a, all<V>(detail::square_overflows<T>)), zero);
  V grown = detail::exp_twofold(product(bounded, bounded)).times({all<V>(2), zero});
  return select(negative, grown - tail, tail);
}

/// The derivative of erfcx, which is negative.   Error: 5 ulp.
template <class V>
EBB_INLINE constexpr V erfcx_slope(V x) {
  using T = element_of<V>;
  using C = detail::scaled_error<T>;
  // Not a minus: for numbers g++ makes one instruction of that and the fma before it, and a product of -0 then gives +0.
  V right = copysign(detail::on_half_line<2>(abs(x), C::slope_over, C::slope_under, C::slope_growth), all<V>(-1));
  auto negative = x < all<V>(0);
  if (detail::in_no_lane<V>(negative)) return right;
  return select(negative, fma(x + x, erfcx(x), all<V>(-detail::two_over_root_pi<T>)), right);
}

/// The second derivative of erfcx, which is positive.   Error: 6 ulp.
template <class V>
EBB_INLINE constexpr V erfcx_bend(V x) {
  using C = detail::scaled_error<element_of<V>>;
  V right = detail::on_half_line<3>(abs(x), C::bend_over, C::bend_under, C::bend_growth);
  auto negative = x < all<V>(0);
  if (detail::in_no_lane<V>(negative)) return right;
  V y = erfcx(x);
  return select(negative, fma(x + x, erfcx_slope(x), y + y), right);
}

}  // namespace ebb::inline EBB_ABI::lane

namespace ebb::inline EBB_ABI::op {

/// The second derivative of erfcx. Not differentiable.   Saves: nothing.   Error: 6 ulp.
struct erfcx_bend : transcendental {
  static constexpr std::string_view name = "erfcx_bend";
  static constexpr auto value(auto x) { return lane::erfcx_bend(x); }
};

/// The derivative of erfcx.   Saves: x.   Error: 5 ulp.
struct erfcx_slope : transcendental {
  static constexpr std::string_view name = "erfcx_slope";
  static constexpr auto value(auto x) { return lane::erfcx_slope(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<erfcx_bend>({}, x)); }
};

/// e^(x^2) erfc(x), without underflow: 1 / (x sqrt(pi)) for large x, inf from -26.7 (float: -9.4) down. Differentiable twice.
/// Saves: x.   Error: 5 ulp. PyTorch's derivative is 0 or has the wrong sign for large x.   Source: as special/scaled_error.hpp.
struct erfcx : transcendental {
  static constexpr std::string_view name = "erfcx";
  static constexpr auto value(auto x) { return lane::erfcx(x); }
  static constexpr auto pull(auto g, auto x, auto) { return grads(g * emit_on<erfcx_slope>({}, x)); }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

inline constexpr call<op::erfcx> erfcx{};

}  // namespace ebb::inline EBB_ABI
