// ebb/num/dtype.hpp — the seven element types as an enum, and the bits of an element of any type as a 64-bit cell.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "bfloat16.hpp"
#include "float16.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ebb::inline EBB_ABI {

enum class dtype : std::uint8_t { boolean, i32, i64, f16, bf16, f32, f64 };

template <class T>
struct dtype_trait;
template <> struct dtype_trait<bool> { static constexpr dtype value = dtype::boolean; };
template <> struct dtype_trait<std::int32_t> { static constexpr dtype value = dtype::i32; };
template <> struct dtype_trait<std::int64_t> { static constexpr dtype value = dtype::i64; };
template <> struct dtype_trait<float16> { static constexpr dtype value = dtype::f16; };
template <> struct dtype_trait<bfloat16> { static constexpr dtype value = dtype::bf16; };
template <> struct dtype_trait<float> { static constexpr dtype value = dtype::f32; };
template <> struct dtype_trait<double> { static constexpr dtype value = dtype::f64; };

template <class T>
inline constexpr dtype dtype_of = dtype_trait<T>::value;

/// One of the seven element types.
template <class T>
concept element = requires { dtype_trait<T>::value; };

/// An element type that can have a gradient.
template <class T>
concept real_element = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bfloat16> || std::same_as<T, float16>;

constexpr std::size_t size_of(dtype d) {
  constexpr std::size_t sizes[] = {1, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(d)];
}
constexpr std::string_view name_of(dtype d) {
  constexpr std::string_view names[] = {"bool", "i32", "i64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(d)];
}
constexpr bool is_real(dtype d) { return d >= dtype::f16; }

/// Calls f with a value of the element type that d names.
template <class F>
constexpr decltype(auto) with_dtype(dtype d, F&& f) {
  switch (d) {
    case dtype::boolean: return f(bool{});
    case dtype::i32: return f(std::int32_t{});
    case dtype::i64: return f(std::int64_t{});
    case dtype::f16: return f(float16{});
    case dtype::bf16: return f(bfloat16{});
    case dtype::f32: return f(float{});
    default: return f(double{});
  }
}

/// The bits of one element of any type, zero-extended.
using cell = std::uint64_t;

template <element T>
constexpr cell to_cell(T x) {
  if constexpr (std::is_same_v<T, bool>) return x ? 1u : 0u;
  else if constexpr (sizeof(T) == 2) return std::bit_cast<std::uint16_t>(x);
  else if constexpr (sizeof(T) == 4) return std::bit_cast<std::uint32_t>(x);
  else return std::bit_cast<std::uint64_t>(x);
}
template <element T>
constexpr T from_cell(cell c) {
  if constexpr (std::is_same_v<T, bool>) return c != 0;
  else if constexpr (sizeof(T) == 2) return std::bit_cast<T>(static_cast<std::uint16_t>(c));
  else if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(c));
  else return std::bit_cast<T>(c);
}

}  // namespace ebb::inline EBB_ABI
