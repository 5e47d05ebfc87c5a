// ebb/random/random.hpp — random arrays: uniform, normal, bernoulli, permutation.
// SPDX-License-Identifier: BSL-1.0
//
// [note: random numbers]
// An array depends only on its key and its arguments: not on the machine, the number of threads or the width of SIMD registers. Element i,
// counted in row-major order, depends on i alone. Dynamic extents follow the key, one as a number, several in braces:
//
//   auto w = ebb::normal<float, 64, 10>(key, 0.f, 0.1f);
//   auto x = ebb::uniform<float, ebb::dyn, 64>(key, n);
//   auto y = ebb::uniform<float, ebb::dyn, ebb::dyn>(key, {n, m}, -1.f, 1.f);
//   float z = ebb::normal<float>(key);
#pragma once

#include "../base/config.hpp"
#include "../base/error.hpp"
#include "../num/dtype.hpp"
#include "../num/exact.hpp"
#include "../tensor/layout.hpp"
#include "philox.hpp"
#include "quantile.hpp"
#include "../tensor/tensor.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// floor(bits * range / 2^64): one of 0 ... range - 1, each with a probability within 2^-64 of 1 / range.
constexpr std::uint64_t scale_random(std::uint64_t bits, std::uint64_t range) { return lane::exact::wide::product(bits, range).high; }

/// (k + 1/2) / 2^32 for a k of 32 random bits, (k + 1/2) / 2^52 for the first 52 bits of 64: never 0 nor 1, and exact, as is 1 minus it.
template <std::unsigned_integral Bits>
constexpr double between_0_and_1(Bits bits) {
  constexpr int drawn = std::numeric_limits<Bits>::digits, digits = drawn == 64 ? 52 : drawn;
  constexpr double unit = 1.0 / static_cast<double>(std::uint64_t{1} << digits);
  return (static_cast<double>(bits >> (drawn - digits)) + 0.5) * unit;
}
/// A number of the standard normal distribution by inversion, from 32 or 64 random bits: symmetric, and never infinite.
constexpr double standard_normal(std::unsigned_integral auto bits) { return normal_quantile(between_0_and_1(bits) - 0.5); }

/// The digits of uniform numbers: as many as the significand has, so that fractions are exact.
template <real_element T>
inline constexpr int uniform_digits = std::is_same_v<T, bfloat16>  ? 8
                                      : std::is_same_v<T, float16> ? 11
                                                                   : std::numeric_limits<T>::digits;

/// An array of any extents, filled with take(bits), which gets 32 or 64 random bits for each element.
template <int Bits, class T, std::size_t... E, class Take>
constexpr tensor<T, E...> draw_tensor(random_key key, const layout<E...>& shape, Take take) {
  auto result = tensor<T, E...>::uninitialized(shape);
  T* to = result.mutable_data();
  draw<Bits>(key, result.size(), [&](std::size_t i, auto bits) { to[i] = take(bits); });
  return result;
}

template <element T, std::size_t... E>
constexpr tensor<T, E...> draw_uniform(random_key key, const layout<E...>& shape, T lo, T hi) {
  if constexpr (std::is_integral_v<T>) {
    if (!(lo < hi)) raise("ebb::uniform: no integer from " + number_text(lo) + " up to but without " + number_text(hi));
    const std::uint64_t range = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
    return draw_tensor<64, T>(
        key, shape, [=](std::uint64_t bits) { return static_cast<T>(static_cast<std::uint64_t>(lo) + scale_random(bits, range)); });
  } else {
    // Narrow floats are computed as floats and rounded.
    using wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    constexpr int digits = uniform_digits<T>, drawn = digits > 32 ? 64 : 32;
    constexpr wide unit = wide(1) / static_cast<wide>(std::uint64_t{1} << digits);
    const wide from = static_cast<wide>(lo), to = static_cast<wide>(hi);
    if (!(from <= to && to - from <= std::numeric_limits<wide>::max()))
      raise("ebb::uniform: there is no range from " + number_text(from) + " to " + number_text(to));
    return draw_tensor<drawn, T>(key, shape, [=](auto bits) {
      const T x = as_element<T>(from + static_cast<wide>(bits >> (drawn - digits)) * unit * (to - from));
      return static_cast<wide>(x) >= to ? lo : x;  // rounding may reach `to`
    });
  }
}

/// Uniform numbers, lo <= x < hi. Real ones are lo + (hi - lo) k / 2^p, where p is the precision of T. All integers are equally likely.
/// Throws: error if there is no integer in the range, or if lo is above hi, or one of them or their distance is infinite or NaN.
template <element T, std::size_t... E>
  requires(extents<E...>::is_static && !std::is_same_v<T, bool>)
constexpr tensor<T, E...> uniform(random_key key, T lo = as_element<T>(0), T hi = as_element<T>(1)) {
  return draw_uniform<T>(key, layout<E...>(), lo, hi);
}
template <element T, std::size_t... E>
  requires(!extents<E...>::is_static && !std::is_same_v<T, bool>)
constexpr tensor<T, E...> uniform(random_key key, dynamic_extents<extents<E...>::dynamic_rank> n, T lo = as_element<T>(0),
                                  T hi = as_element<T>(1)) {
  return draw_uniform<T>(key, layout<E...>(n, "ebb::uniform"), lo, hi);
}

template <real_element T, std::size_t... E>
constexpr tensor<T, E...> draw_normal(random_key key, const layout<E...>& shape, T mean, T deviation) {
  constexpr int drawn = std::is_same_v<T, double> ? 64 : 32;
  const auto centre = as_element<double>(mean), scale = as_element<double>(deviation);
  if (!(scale >= 0)) raise("ebb::normal: " + number_text(scale) + " is no standard deviation");
  return draw_tensor<drawn, T>(key, shape, [=](auto bits) { return as_element<T>(centre + scale * standard_normal(bits)); });
}

/// Normally distributed numbers by inversion, computed in double and rounded once; within 6.3 deviations of the mean, 8.3 for double.
/// Throws: error if the deviation is negative or NaN.
template <real_element T, std::size_t... E>
  requires(extents<E...>::is_static)
constexpr tensor<T, E...> normal(random_key key, T mean = as_element<T>(0), T deviation = as_element<T>(1)) {
  return draw_normal<T>(key, layout<E...>(), mean, deviation);
}
template <real_element T, std::size_t... E>
  requires(!extents<E...>::is_static)
constexpr tensor<T, E...> normal(random_key key, dynamic_extents<extents<E...>::dynamic_rank> n, T mean = as_element<T>(0),
                                 T deviation = as_element<T>(1)) {
  return draw_normal<T>(key, layout<E...>(n, "ebb::normal"), mean, deviation);
}

template <std::size_t... E>
constexpr tensor<bool, E...> draw_bernoulli(random_key key, const layout<E...>& shape, double p) {
  if (!(p >= 0 && p <= 1)) raise("ebb::bernoulli: " + number_text(p) + " is no probability");
  return draw_tensor<32, bool>(key, shape, [=](std::uint32_t bits) { return bits < p * 0x1p32; });
}

/// True with probability p, rounded up to a multiple of 2^-32.
/// Throws: error if p is not in [0, 1].
template <std::size_t... E>
  requires(extents<E...>::is_static)
constexpr tensor<bool, E...> bernoulli(random_key key, double p = 0.5) {
  return draw_bernoulli(key, layout<E...>(), p);
}
template <std::size_t... E>
  requires(!extents<E...>::is_static)
constexpr tensor<bool, E...> bernoulli(random_key key, dynamic_extents<extents<E...>::dynamic_rank> n, double p = 0.5) {
  return draw_bernoulli(key, layout<E...>(n, "ebb::bernoulli"), p);
}

/// 0 ... n - 1 in random order (Fisher and Yates, in Durstenfeld's form). All orders are equally likely, as far as 2^64 keys allow.
EBB_ONCE tensor<std::int64_t, dyn> permutation(random_key key, dynamic_extents<1> n) {
  auto result = tensor<std::int64_t, dyn>::iota(layout<dyn>(n, "ebb::permutation").size());
  std::int64_t* items = result.mutable_data();
  draw<64>(key, result.size(), [items](std::size_t i, std::uint64_t bits) { std::swap(items[i], items[scale_random(bits, i + 1)]); });
  return result;
}

}  // namespace ebb::inline EBB_ABI
