// ebb/kernel/lanes.hpp — lane_count elements of one type, handled together.
// SPDX-License-Identifier: BSL-1.0
//
// Every element type of a program has the same number of lanes: float and int32 fill one register, double and int64 two, bool a mask.
// Code names both registers of a wide value and never loops over them: g++ unrolls such a loop too late and leaves them in memory.
// lanes<T> is a batch for lane.hpp. Half-width types are in narrow.hpp, conversions in convert.hpp, sums over lanes in fold.hpp.
#pragma once

#include "../num/dtype.hpp"
#include "../num/lane.hpp"
#include "instructions.hpp"

namespace ebb::inline EBB_ABI {

template <class T>
struct lanes;

/// One bool a lane. In memory: bytes 0 and 1.
template <>
struct lanes<bool> {
  using element = bool;
  static constexpr int size = lane_count;

  simd::mask<float> mask;

  static EBB_INLINE lanes load(const bool* p) { return {simd::load_mask(p)}; }
  static EBB_INLINE lanes load(const bool* p, int count) {
    bool buffer[lane_count] = {};
    for (int i = 0; i < count; ++i) buffer[i] = p[i];
    return load(buffer);
  }
  static EBB_INLINE lanes all(bool x) { return from_bits(x ? ~0u : 0u); }
  /// True in the first count lanes.
  static EBB_INLINE lanes first(int count) { return {simd::first_lanes(count)}; }
  /// Lane i is bit i.
  static EBB_INLINE lanes from_bits(std::uint32_t bits) { return {simd::from_bits(bits)}; }
  EBB_INLINE std::uint32_t to_bits() const { return simd::to_bits(mask); }
  EBB_INLINE void store(bool* p) const { simd::store_mask(p, mask); }
  EBB_INLINE void store(bool* p, int count) const {
    bool buffer[lane_count];
    store(buffer);
    for (int i = 0; i < count; ++i) p[i] = buffer[i];
  }
  bool operator[](int i) const { return (to_bits() >> i & 1u) != 0; }

  static EBB_INLINE lanes select(lanes m, lanes a, lanes b) { return (m & a) | (b & !m); }

  friend EBB_INLINE lanes operator!(lanes a) { return {static_cast<simd::mask<float>>(~a.mask)}; }
  friend EBB_INLINE lanes operator&(lanes a, lanes b) { return {static_cast<simd::mask<float>>(a.mask & b.mask)}; }
  friend EBB_INLINE lanes operator|(lanes a, lanes b) { return {static_cast<simd::mask<float>>(a.mask | b.mask)}; }
  friend EBB_INLINE lanes operator^(lanes a, lanes b) { return {static_cast<simd::mask<float>>(a.mask ^ b.mask)}; }
  friend EBB_INLINE lanes operator&&(lanes a, lanes b) { return a & b; }
  friend EBB_INLINE lanes operator||(lanes a, lanes b) { return a | b; }
  friend EBB_INLINE lanes operator+(lanes a, lanes b) { return a | b; }
  friend EBB_INLINE lanes operator*(lanes a, lanes b) { return a & b; }
  friend EBB_INLINE lanes operator==(lanes a, lanes b) { return !(a ^ b); }
  friend EBB_INLINE lanes operator!=(lanes a, lanes b) { return a ^ b; }
  friend EBB_INLINE lanes operator<(lanes a, lanes b) { return b & !a; }
  friend EBB_INLINE lanes operator<=(lanes a, lanes b) { return b | !a; }
  friend EBB_INLINE lanes operator>(lanes a, lanes b) { return b < a; }
  friend EBB_INLINE lanes operator>=(lanes a, lanes b) { return b <= a; }
};

namespace lane::detail {
template <>
struct mask<lanes<bool>> { using type = lanes<bool>; };
}  // namespace lane::detail

/// The mask of a comparison of eight-byte elements, in two parts. It converts to lanes<bool>.
struct wide_mask {
  using part_type = simd::mask<double>;
  part_type part[2];

  EBB_INLINE wide_mask(part_type low, part_type high) : part{low, high} {}
  EBB_INLINE wide_mask(lanes<bool> m) : part{simd::part_of<0>(m.mask), simd::part_of<1>(m.mask)} {}
  EBB_INLINE operator lanes<bool>() const { return {simd::join(part[0], part[1])}; }
  bool operator[](int i) const { return lanes<bool>(*this)[i]; }

  friend EBB_INLINE wide_mask operator!(wide_mask a) { return {static_cast<part_type>(~a.part[0]), static_cast<part_type>(~a.part[1])}; }
  friend EBB_INLINE wide_mask operator&(wide_mask a, wide_mask b) {
    return {static_cast<part_type>(a.part[0] & b.part[0]), static_cast<part_type>(a.part[1] & b.part[1])};
  }
  friend EBB_INLINE wide_mask operator|(wide_mask a, wide_mask b) {
    return {static_cast<part_type>(a.part[0] | b.part[0]), static_cast<part_type>(a.part[1] | b.part[1])};
  }
  friend EBB_INLINE wide_mask operator^(wide_mask a, wide_mask b) {
    return {static_cast<part_type>(a.part[0] ^ b.part[0]), static_cast<part_type>(a.part[1] ^ b.part[1])};
  }
  friend EBB_INLINE wide_mask operator&&(wide_mask a, wide_mask b) { return a & b; }
  friend EBB_INLINE wide_mask operator||(wide_mask a, wide_mask b) { return a | b; }
};

/// An element type that is computed in its own width: float, double and the integers of these sizes. Unsigned ones hold bits.
template <class T>
concept full_width = std::is_arithmetic_v<T> && sizeof(T) >= 4;
template <class T>
concept full_integer = full_width<T> && std::is_integral_v<T>;
template <class T>
concept full_real = full_width<T> && std::is_floating_point_v<T>;

namespace simd {

/// f on the registers of lanes of one size.
template <class R, class F, class... T>
EBB_INLINE lanes<R> each(F f, const lanes<T>&... x) {
  if constexpr (lanes<R>::parts == 1) return {{f(x.part[0]...)}};
  else return {{f(x.part[0]...), f(x.part[1]...)}};
}
template <class F, class T>
EBB_INLINE typename lanes<T>::mask each_mask(F f, const lanes<T>& x, const lanes<T>& y) {
  if constexpr (lanes<T>::parts == 1) return {f(x.part[0], y.part[0])};
  else return {f(x.part[0], y.part[0]), f(x.part[1], y.part[1])};
}

/// The type in which T is added: unsigned for integers, so that they wrap around.
template <class T>
struct wrapping_of { using type = T; };
template <full_integer T>
struct wrapping_of<T> { using type = std::make_unsigned_t<T>; };
template <class T>
EBB_INLINE auto wrap(vector<T> x) { return reinterpret_cast<vector<typename wrapping_of<T>::type>>(x); }
template <class T, class W>
EBB_INLINE vector<T> unwrap(W x) { return reinterpret_cast<vector<T>>(x); }

}  // namespace simd

template <full_width T>
struct lanes<T> {
  using element = T;
  using vector = simd::vector<T>;
  using mask = std::conditional_t<sizeof(T) == 4, lanes<bool>, wide_mask>;
  using bits = lanes<std::make_unsigned_t<simd::int_of<T>>>;
  static constexpr int size = lane_count, parts = lane_count / simd::count_of<T>;

  vector part[parts];

  static EBB_INLINE lanes load(const T* p) {
    if constexpr (parts == 1) return {{simd::load(p)}};
    else return {{simd::load(p), simd::load(p + size / 2)}};
  }
  /// The first count elements, zeros in the other lanes. Memory after them is not accessed.
  static EBB_INLINE lanes load(const T* p, int count) {
    if constexpr (parts == 1) return {{simd::load_first(p, count)}};
    else if (count > size / 2) return {{simd::load(p), simd::load_first(p + size / 2, count - size / 2)}};
    else return {{simd::load_first(p, count), simd::all(T{})}};
  }
  static EBB_INLINE lanes all(T x) {
    if constexpr (parts == 1) return {{simd::all(x)}};
    else return {{simd::all(x), simd::all(x)}};
  }
  /// Two elements, zeros after them. A second register has the same: then its values are computed once.
  static EBB_INLINE lanes two(T a, T b) {
    lanes r{{vector{a, b}}};
    if constexpr (parts == 2) r.part[1] = r.part[0];
    return r;
  }
  EBB_INLINE void store(T* p) const {
    simd::store(p, part[0]);
    if constexpr (parts == 2) simd::store(p + size / 2, part[1]);
  }
  EBB_INLINE void store(T* p, int count) const {
    if constexpr (parts == 2)
      if (count > size / 2) {
        simd::store(p, part[0]);
        return simd::store_first(p + size / 2, part[1], count - size / 2);
      }
    simd::store_first(p, part[0], count);
  }
  T operator[](int i) const { return part[i / simd::count_of<T>][i % simd::count_of<T>]; }

  static EBB_INLINE lanes select(mask m, lanes a, lanes b) {
    if constexpr (parts == 1) return {{simd::select<T>(m.mask, a.part[0], b.part[0])}};
    else return {{simd::select<T>(m.part[0], a.part[0], b.part[0]), simd::select<T>(m.part[1], a.part[1], b.part[1])}};
  }
  /// a < bound ? bound : a
  static EBB_INLINE lanes at_least(lanes a, lanes bound) {
    if constexpr (!std::is_floating_point_v<T>) return select(a < bound, bound, a);
    else return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::larger(y, x); }, a, bound);
  }
  /// bound < a ? bound : a
  static EBB_INLINE lanes at_most(lanes a, lanes bound) {
    if constexpr (!std::is_floating_point_v<T>) return select(bound < a, bound, a);
    else return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::smaller(y, x); }, a, bound);
  }
  static EBB_INLINE lanes abs(lanes a) {
    if constexpr (std::is_floating_point_v<T>) return simd::each<T>([](auto x) EBB_LAMBDA { return simd::abs<T>(x); }, a);
    else return select(a < all(0), -a, a);
  }

  static EBB_INLINE lanes fma(lanes a, lanes b, lanes c) requires full_real<T> {
    return simd::each<T>([](auto x, auto y, auto z) EBB_LAMBDA { return simd::fma(x, y, z); }, a, b, c);
  }
  static EBB_INLINE lanes sqrt(lanes a) requires full_real<T> {
    return simd::each<T>([](auto x) EBB_LAMBDA { return simd::sqrt(x); }, a);
  }
  // Without an instruction for them lane.hpp computes floor, trunc, rint, scale and split from others.
  static EBB_INLINE lanes floor(lanes a) requires (full_real<T> && target_has::rounding) {
    return simd::each<T>([](auto x) EBB_LAMBDA { return simd::floor(x); }, a);
  }
  static EBB_INLINE lanes trunc(lanes a) requires (full_real<T> && target_has::rounding) {
    return simd::each<T>([](auto x) EBB_LAMBDA { return simd::trunc(x); }, a);
  }
  /// To the nearest integer, ties to even.
  static EBB_INLINE lanes rint(lanes a) requires (full_real<T> && target_has::rounding) {
    return simd::each<T>([](auto x) EBB_LAMBDA { return simd::rint(x); }, a);
  }
  static EBB_INLINE lanes copysign(lanes magnitude, lanes signs) requires full_real<T> {
    return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::copysign<T>(x, y); }, magnitude, signs);
  }
  static EBB_INLINE mask isnan(lanes a) requires full_real<T> { return a != a; }
  static EBB_INLINE bool any(mask m) { return lanes<bool>(m).to_bits() != 0; }
  static EBB_INLINE bool every(mask m) { return lanes<bool>(m).to_bits() == ~std::uint32_t{0} >> (32 - size); }
  static EBB_INLINE bits to_bits(lanes a) requires full_real<T> {
    using B = typename bits::element;
    return simd::each<B>([](auto x) EBB_LAMBDA { return reinterpret_cast<simd::vector<B>>(x); }, a);
  }
  static EBB_INLINE lanes from_bits(bits b) requires full_real<T> {
    return simd::each<T>([](auto x) EBB_LAMBDA { return reinterpret_cast<vector>(x); }, b);
  }
  static EBB_INLINE lanes scale(lanes a, lanes n) requires (full_real<T> && target_has::scaling) {
    return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::scale(x, y); }, a, n);
  }
  static EBB_INLINE lane::parts<lanes> split(lanes a) requires (full_real<T> && target_has::scaling) {
    const auto exponent = [](lanes x) EBB_LAMBDA { return simd::each<T>([](auto y) EBB_LAMBDA { return simd::exponent(y); }, x); };
    lanes significand = simd::each<T>([](auto x) EBB_LAMBDA { return simd::significand(x); }, a);
    return {significand, exponent(a) - exponent(significand)};
  }
  static EBB_INLINE lanes quotient_down(lanes a, lanes b) requires (full_real<T> && target_has::directed_rounding) {
    return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::quotient_down(x, y); }, a, b);
  }
  static EBB_INLINE lanes quotient_to_zero(lanes a, lanes b) requires (full_real<T> && target_has::directed_rounding) {
    return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::quotient_to_zero(x, y); }, a, b);
  }
};

/// 0, 1, ... lane_count - 1.
template <full_width T>
EBB_INLINE lanes<T> lane_index() {
  if constexpr (lanes<T>::parts == 1) return {{simd::count_up<T>()}};
  else return {{simd::count_up<T>(), simd::count_up<T>() + static_cast<T>(lane_count / 2)}};
}

template <full_width T>
EBB_INLINE lanes<T> operator+(lanes<T> a, lanes<T> b) {
  return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::unwrap<T>(simd::wrap<T>(x) + simd::wrap<T>(y)); }, a, b);
}
template <full_width T>
EBB_INLINE lanes<T> operator-(lanes<T> a, lanes<T> b) {
  return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::unwrap<T>(simd::wrap<T>(x) - simd::wrap<T>(y)); }, a, b);
}
template <full_width T>
EBB_INLINE lanes<T> operator*(lanes<T> a, lanes<T> b) {
  return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return simd::unwrap<T>(simd::wrap<T>(x) * simd::wrap<T>(y)); }, a, b);
}
template <full_real T>
EBB_INLINE lanes<T> operator/(lanes<T> a, lanes<T> b) { return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return x / y; }, a, b); }
/// Towards zero, as in C++. x / 0 is 0, and the smallest number / -1 wraps: unused lanes must not trap.
template <full_integer T>
  requires std::is_signed_v<T>
EBB_INLINE lanes<T> operator/(lanes<T> a, lanes<T> b) {
  using V = lanes<T>;
  auto by_zero = b == V::all(0), by_minus_one = b == V::all(static_cast<T>(-1));
  const V safe = V::select(by_zero | by_minus_one, V::all(1), b);
  const V quotient = simd::each<T>([](auto x, auto y) EBB_LAMBDA { return x / y; }, a, safe);
  return V::select(by_zero, V::all(0), V::select(by_minus_one, -a, quotient));
}
/// Flips the sign, also that of zero and NaN.
template <full_width T>
EBB_INLINE lanes<T> operator-(lanes<T> a) {
  if constexpr (std::is_integral_v<T>) return lanes<T>::all(0) - a;
  else return simd::each<T>([](auto x) EBB_LAMBDA { return simd::flip_sign<T>(x); }, a);
}

// Comparisons with NaN are false, but != is true.
template <full_width T>
EBB_INLINE auto operator<(lanes<T> a, lanes<T> b) {
  return simd::each_mask([](auto x, auto y) EBB_LAMBDA { return simd::less<T>(x, y); }, a, b);
}
template <full_width T>
EBB_INLINE auto operator<=(lanes<T> a, lanes<T> b) {
  return simd::each_mask([](auto x, auto y) EBB_LAMBDA { return simd::less_equal<T>(x, y); }, a, b);
}
template <full_width T>
EBB_INLINE auto operator==(lanes<T> a, lanes<T> b) {
  return simd::each_mask([](auto x, auto y) EBB_LAMBDA { return simd::equal<T>(x, y); }, a, b);
}
template <full_width T>
EBB_INLINE auto operator>(lanes<T> a, lanes<T> b) { return b < a; }
template <full_width T>
EBB_INLINE auto operator>=(lanes<T> a, lanes<T> b) { return b <= a; }
template <full_width T>
EBB_INLINE auto operator!=(lanes<T> a, lanes<T> b) { return !(a == b); }

template <full_integer T>
EBB_INLINE lanes<T> operator&(lanes<T> a, lanes<T> b) { return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return x & y; }, a, b); }
template <full_integer T>
EBB_INLINE lanes<T> operator|(lanes<T> a, lanes<T> b) { return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return x | y; }, a, b); }
template <full_integer T>
EBB_INLINE lanes<T> operator^(lanes<T> a, lanes<T> b) { return simd::each<T>([](auto x, auto y) EBB_LAMBDA { return x ^ y; }, a, b); }
template <full_integer T>
EBB_INLINE lanes<T> operator~(lanes<T> a) { return simd::each<T>([](auto x) EBB_LAMBDA { return ~x; }, a); }
template <full_integer T>
EBB_INLINE lanes<T> operator<<(lanes<T> a, int count) {
  using W = typename simd::wrapping_of<T>::type;
  return simd::each<T>([=](auto x) EBB_LAMBDA { return simd::unwrap<T>(simd::wrap<T>(x) << static_cast<W>(count)); }, a);
}
/// Each lane by its own count, from 0 to the width - 1; signed integers keep their sign when shifted to the right.
template <full_integer T>
EBB_INLINE lanes<T> operator<<(lanes<T> a, lanes<T> count) {
  return simd::each<T>([](auto x, auto n) EBB_LAMBDA { return simd::unwrap<T>(simd::wrap<T>(x) << simd::wrap<T>(n)); }, a, count);
}
template <full_integer T>
EBB_INLINE lanes<T> operator>>(lanes<T> a, lanes<T> count) {
  return simd::each<T>([](auto x, auto n) EBB_LAMBDA { return x >> n; }, a, count);
}
/// Signed integers keep their sign.
template <full_integer T>
EBB_INLINE lanes<T> operator>>(lanes<T> a, int count) {
  return simd::each<T>([=](auto x) EBB_LAMBDA { return x >> static_cast<T>(count); }, a);
}

/// A number beside lanes, as in 1 - x: lanes have no conversion from numbers.
template <class N>
concept bare_number = std::is_arithmetic_v<N>;
template <class T>
constexpr lanes<T> refuse_number() {
  static_assert(sizeof(T) == 0, "[ebb E0190] a number in an op's value is lane::all<decltype(x)>(1): it also runs on lanes");
  return {};
}
template <bare_number N, class T>
constexpr lanes<T> operator+(N, lanes<T>) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator-(N, lanes<T>) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator*(N, lanes<T>) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator/(N, lanes<T>) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator+(lanes<T>, N) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator-(lanes<T>, N) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator*(lanes<T>, N) { return refuse_number<T>(); }
template <bare_number N, class T>
constexpr lanes<T> operator/(lanes<T>, N) { return refuse_number<T>(); }

}  // namespace ebb::inline EBB_ABI
