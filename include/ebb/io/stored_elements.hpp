// ebb/io/stored_elements.hpp — elements of a file become elements of an array, of the same dtype or, where asked, of another one.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "safetensors_header.hpp"

#include "../base/config.hpp"
#include "../num/dtype.hpp"
#include "../tensor/borrow.hpp"
#include "../tensor/tensor.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ebb::inline EBB_ABI::detail {

static_assert(std::endian::native == std::endian::little, "elements are read as they are in the file");

template <class Leaf>
inline constexpr bool is_tensor = false;
template <class Leaf>
  requires requires { typename Leaf::value_type; } && std::is_base_of_v<tensor_of<borrowed_element<Leaf>, borrowed_extents<Leaf>>, Leaf>
inline constexpr bool is_tensor<Leaf> = true;

/// f(an element) of the type that is stored, if C++ has it.
template <class F>
void with_stored(const stored_type& t, F&& f) {
  if (t.own >= 0) return with_dtype(static_cast<dtype>(t.own), f);
  if (t.name == "U8") f(std::uint8_t{});
  else if (t.name == "I8") f(std::int8_t{});
  else if (t.name == "U16") f(std::uint16_t{});
  else if (t.name == "I16") f(std::int16_t{});
  else if (t.name == "U32") f(std::uint32_t{});
}

/// Whether a From may become a To: floats are rounded to nearest, integers keep their value. No bool becomes a number.
template <class From, class To>
inline constexpr bool converts = [] {
  if constexpr (real_element<From> || real_element<To>) return real_element<From> && real_element<To>;
  else if constexpr (std::is_same_v<From, bool> || std::is_same_v<To, bool>) return std::is_same_v<From, To>;
  else return std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits;
}();

EBB_COLD bool converts_to(const stored_type& from, dtype to) {
  bool can = false;
  with_stored(from, [&]<class From>(From) { with_dtype(to, [&]<class To>(To) { can = converts<From, To>; }); });
  return can;
}

/// Copies `count` elements, which may be unaligned in the file. A bool is true if its byte is not 0.
template <class To>
void copy_elements(const stored_type& type, const std::byte* from, To* to, std::size_t count) {
  if constexpr (std::is_same_v<To, bool>) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i] != std::byte{0};
  } else if (type.is(dtype_of<To>)) {
    if (count) std::memcpy(to, from, count * sizeof(To));
  } else {
    with_stored(type, [&]<class From>(From x) {
      if constexpr (converts<From, To> && !std::is_same_v<From, To>)
        for (std::size_t i = 0; i < count; ++i) {
          std::memcpy(&x, from + i * sizeof x, sizeof x);
          to[i] = as_element<To>(x);
        }
    });
  }
}

}  // namespace ebb::inline EBB_ABI::detail
