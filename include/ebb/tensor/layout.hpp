// ebb/tensor/layout.hpp — the extents of an array at run time, and the row-major offset of each element.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "../base/error.hpp"
#include "extents.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// "[2, dyn]"
template <class Integer>
[[gnu::cold]] std::string list_text(const Integer* items, int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) {
    if (i) text += ", ";
    text += std::is_unsigned_v<Integer> && static_cast<std::size_t>(items[i]) == dyn ? "dyn" : std::to_string(items[i]);
  }
  return text += ']';
}
/// A number for a message: six digits, or as many as it takes to distinguish it from its neighbours.
[[gnu::cold]] inline std::string number_text(std::integral auto x) { return std::to_string(x); }
template <std::floating_point T>
[[gnu::cold]] std::string number_text(T x) {
  char text[40];
  for (const int digits : {6, 9, 12, 15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(x));
    if (static_cast<T>(std::strtod(text, nullptr)) == x) break;
  }
  return text;
}
template <std::size_t Rank>
std::string shape_text(const std::array<std::size_t, Rank>& shape) {
  return list_text(shape.data(), static_cast<int>(Rank));
}

// Out of line and not templates: a checked access then costs only a comparison and a jump.
[[noreturn]] EBB_COLD void raise_bad_index(const char* call, const std::int64_t* index,
                                           const std::size_t* shape, int rank) {
  raise(std::string(call) + ": index " + list_text(index, rank) + " is out of range for shape " + list_text(shape, rank));
}
[[noreturn]] EBB_COLD void raise_bad_shape(const char* call, const std::size_t* given,
                                           const std::size_t* wanted, int rank) {
  raise(std::string(call) + ": shape " + list_text(given, rank) + " was given for extents " + list_text(wanted, rank));
}
[[noreturn]] EBB_COLD void raise_bad_count(const char* call, std::size_t given, const std::size_t* shape,
                                           int rank) {
  raise(std::string(call) + ": " + std::to_string(given) + " elements were given for shape " + list_text(shape, rank));
}
[[noreturn]] EBB_COLD void raise_no_condition(const std::size_t* shape, int rank) {
  raise("ebb::tensor::operator bool: an array of bools of shape " + list_text(shape, rank) +
        " is no condition: ask ebb::any or ebb::all of them, ebb::all_equal of two arrays");
}
// Called for a negative extent or too many elements.
[[noreturn]] EBB_COLD void raise_bad_extents(const char* call, const std::size_t* shape, int rank) {
  const auto* given = reinterpret_cast<const std::int64_t*>(shape);
  bool negative = false;
  for (int axis = 0; axis < rank; ++axis) negative |= given[axis] < 0;
  const std::string text = list_text(given, rank);
  raise(std::string(call) + (negative ? ": negative extent in " + text : ": shape " + text + " is too large"));
}

/// The extents that a call supplies: one for each `dyn`, in order. `n` or `{n, m}` converts to it. Negative ones are not checked here:
/// `layout` throws.
template <std::size_t Count>
struct dynamic_extents {
  std::array<std::size_t, Count> values{};

  constexpr dynamic_extents() = default;
  template <std::integral... N>
    requires(sizeof...(N) == Count)
  constexpr dynamic_extents(N... n) : values{static_cast<std::size_t>(n)...} {}

  constexpr bool operator==(const dynamic_extents&) const = default;
};

template <>
struct dynamic_extents<0> {
  constexpr bool operator==(const dynamic_extents&) const = default;
};

/// All extents of an array, of which only the dynamic ones are stored. Elements are in row-major order without gaps.
template <std::size_t... E>
class layout {
 public:
  static constexpr int rank = sizeof...(E);
  static constexpr std::size_t dynamic_rank = extents<E...>::dynamic_rank;
  static constexpr std::array<std::size_t, sizeof...(E)> declared{E...};

  /// Dynamic extents are 0.
  constexpr layout() = default;
  /// Throws: error naming the call if an extent is negative, or if the number of elements does not fit a pointer difference.
  constexpr explicit layout(dynamic_extents<dynamic_rank> n, const char* call = "ebb::layout") : dynamic_(n) { check_size(call); }
  /// Throws: the same, and if a static extent differs.
  constexpr layout(const char* call, const std::array<std::size_t, sizeof...(E)>& given) {
    [[maybe_unused]] std::size_t next = 0;
    for (std::size_t k = 0; k < sizeof...(E); ++k) {
      if (declared[k] != dyn && declared[k] != given[k]) raise_bad_shape(call, given.data(), declared.data(), rank);
      if constexpr (dynamic_rank > 0)
        if (declared[k] == dyn) dynamic_.values[next++] = given[k];
    }
    check_size(call);
  }

  // Written out for each axis: g++ keeps the array of a loop in memory, and each call asks for every extent.
  constexpr std::array<std::size_t, sizeof...(E)> shape() const {
    if constexpr (dynamic_rank == 0) return declared;
    else if constexpr (dynamic_rank == sizeof...(E)) return dynamic_.values;
    else {
      std::size_t next = 0;
      return {(E == dyn ? dynamic_.values[next++] : E)...};
    }
  }
  constexpr std::size_t extent(int axis) const { return shape()[static_cast<std::size_t>(axis)]; }
  constexpr std::size_t size() const {
    if constexpr (dynamic_rank == 0) return (std::size_t{1} * ... * E);
    else {
      std::size_t count = 1, next = 0;
      ((count *= E == dyn ? dynamic_.values[next++] : E), ...);
      return count;
    }
  }
  /// The offset of an element from the first; negative indices count from the end of their axis.
  /// Throws: error naming the call, the index and the shape.
  template <std::integral... I>
    requires(sizeof...(I) == sizeof...(E))
  constexpr std::size_t offset(const char* call, I... index) const {
    std::size_t result = 0;
    if constexpr (rank > 0) {
      const auto extents = shape();
      std::size_t indices[] = {static_cast<std::size_t>(index)...};
      constexpr bool is_signed[] = {std::is_signed_v<I>...};
      bool inside = true;
      for (std::size_t k = 0; k < sizeof...(E); ++k) {
        if (is_signed[k] && static_cast<std::int64_t>(indices[k]) < 0) indices[k] += extents[k];
        inside &= indices[k] < extents[k];
        result = result * extents[k] + indices[k];
      }
      if (!inside) {
        const std::int64_t given[] = {static_cast<std::int64_t>(index)...};
        raise_bad_index(call, given, extents.data(), rank);
      }
    }
    return result;
  }

  constexpr bool operator==(const layout&) const = default;

 private:
  constexpr void check_size([[maybe_unused]] const char* call) const {
    if constexpr (dynamic_rank > 0) {
      std::size_t bytes = 16;  // at least twice the largest element
      bool empty = false, negative = false, overflow = false;
      const auto see = [&](std::size_t extent) EBB_LAMBDA {
        empty |= extent == 0;
        negative |= static_cast<std::int64_t>(extent) < 0;
        overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
      };
      std::size_t next = 0;
      (see(E == dyn ? dynamic_.values[next++] : E), ...);
      if (negative || (overflow && !empty)) [[unlikely]] raise_bad_extents(call, shape().data(), rank);
    }
  }

  [[no_unique_address]] dynamic_extents<dynamic_rank> dynamic_;
};

/// The layout for extents<E...>.
template <class Extents>
struct layout_for;
template <std::size_t... E>
struct layout_for<extents<E...>> {
  using type = layout<E...>;
};

}  // namespace ebb::inline EBB_ABI
