// ebb/kernel/convert.hpp — lanes of one element type from lanes of another.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "every.hpp"
#include "lanes.hpp"
#include "narrow.hpp"

namespace ebb::inline EBB_ABI {

namespace simd {

template <class T>
using half_vector = vector<T, register_bytes / 2>;

/// Half number Part of a register.
template <int Part, class T>
EBB_INLINE half_vector<T> half_of(vector<T> x) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x, x, (I + Part * (count_of<T> / 2))...);
  }(std::make_integer_sequence<int, count_of<T> / 2>{});
}
template <class T>
EBB_INLINE vector<T> concat(half_vector<T> low, half_vector<T> high) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { return __builtin_shufflevector(low, high, I...); }
  (std::make_integer_sequence<int, count_of<T>>{});
}

/// The lower halves of integers of eight bytes, or the upper ones.
template <bool Upper>
EBB_INLINE vector<std::int32_t> halves_of_wide(lanes<std::int64_t> x) {
  using short_ones = vector<std::int32_t>;
  return halves_of<Upper, Upper, std::int32_t>(reinterpret_cast<short_ones>(x.part[0]), reinterpret_cast<short_ones>(x.part[1]));
}

template <class To, class From>
EBB_INLINE lanes<To> convert_numbers(lanes<From> x) {
  constexpr bool is_wide = std::is_same_v<From, std::int64_t> && !target_has::wide_conversions && target_has::quick_masks;
  if constexpr (is_wide && std::is_same_v<To, std::int32_t>) return {{halves_of_wide<false>(x)}};
  else if constexpr (is_wide && std::is_floating_point_v<To>) {
    // Without an instruction they are converted one by one. Places and counts fit into four bytes, from which there is one.
    const lanes<std::int32_t> low{{halves_of_wide<false>(x)}}, high{{halves_of_wide<true>(x)}};
    if (lanes<std::int32_t>::every((low >> 31) == high)) [[likely]] return convert_numbers<To>(low);
  }
  if constexpr (sizeof(To) == sizeof(From)) {
    return each<To>([](auto part) EBB_LAMBDA { return __builtin_convertvector(part, vector<To>); }, x);
  } else if constexpr (sizeof(To) > sizeof(From)) {
    return {{__builtin_convertvector((half_of<0, From>(x.part[0])), vector<To>),
             __builtin_convertvector((half_of<1, From>(x.part[0])), vector<To>)}};
  } else {
    return {{concat<To>(__builtin_convertvector(x.part[0], half_vector<To>), __builtin_convertvector(x.part[1], half_vector<To>))}};
  }
}

}  // namespace simd

/// static_cast of each lane, rounding to nearest even. Real to integer truncates towards zero; a NaN and a result that does not fit give
/// any number. To bool is true for all but zero, NaN included. A conversion to a narrow type goes through float.
template <class To, class From>
EBB_INLINE lanes<To> convert(lanes<From> x) {
  if constexpr (std::same_as<To, From>) return x;
  else if constexpr (half_width<From>) return convert<To>(x.wide);
  else if constexpr (half_width<To>) return lanes<To>::rounded(convert<float>(x));
  else if constexpr (std::same_as<From, bool>) return lanes<To>::select(x, lanes<To>::all(1), lanes<To>::all(0));
  else if constexpr (std::same_as<To, bool>) return x != lanes<From>::all(0);
  else return simd::convert_numbers<To>(x);
}

}  // namespace ebb::inline EBB_ABI
