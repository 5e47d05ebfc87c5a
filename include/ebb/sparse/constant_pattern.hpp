// ebb/sparse/constant_pattern.hpp — patterns that the compiler finds and colors: extents are static, and no integers decide.
// SPDX-License-Identifier: BSL-1.0
//
// [note: patterns as constants]
// jacobian(x) without a pattern has one that is a constant: jacobian.constant_pattern<X>(). The compiler finds the pattern and the colors.
// A call then compiles only one direction: pushed or pulled. There is a constant if all extents are static, no argument holds integers or
// bools, there is no loop, and the matrix has at most 256 rows, 256 columns and 4,096 elements, found in at most 32,768 elements of sets.
// A banded matrix of 30 columns takes compilers 0.15 s, one of 1,000 took 4 s: hence the limits. Without the flags for large constants
// (README.md) clang takes smaller ones only. Else jacobian.pattern(x) finds the pattern at run time.
#pragma once

#include "pattern.hpp"
#include "steps.hpp"

#include "../exec/gradient.hpp"

#include <array>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// A sparse_pattern as a constant; it converts to one.
template <std::size_t Rows, std::size_t Columns, std::size_t Size, bool Pulled, bool Mirrored>
struct constant_pattern {
  static constexpr std::size_t rows = Rows, columns = Columns;
  static constexpr bool pulled = Pulled;
  std::array<std::size_t, Rows + 1> starts{};
  std::array<std::size_t, Size> column{};
  std::array<int, Pulled ? Rows : Columns> color{};
  int colors = 0;
  std::array<char, Mirrored ? Size : 0> mirrored{};

  static constexpr std::size_t size() { return Size; }
  constexpr std::array<std::size_t, Size> row() const {
    std::array<std::size_t, Size> r{};
    for (std::size_t i = 0; i < Rows; ++i)
      for (std::size_t k = starts[i]; k < starts[i + 1]; ++k) r[k] = i;
    return r;
  }
  constexpr operator sparse_pattern() const {
    sparse_pattern p;
    p.rows = Rows;
    p.columns = Columns;
    p.starts.assign(starts.begin(), starts.end());
    p.column.assign(column.begin(), column.end());
    p.color.assign(color.begin(), color.end());
    p.colors = colors;
    p.pulled = Pulled;
    p.mirrored.assign(mirrored.begin(), mirrored.end());
    return p;
  }
};

namespace detail {

inline constexpr std::size_t most_constant_lines = 256, most_constant_elements = 4096, most_constant_sets = 32768;

/// Vectors cannot leave a constant expression: so the pattern is copied to arrays of the largest size, then to exact ones.
struct bounded_pattern {
  bool fits = false, pulled = false, mirrored = false;
  std::size_t rows = 0, columns = 0, size = 0;
  int colors = 0;
  std::array<std::uint16_t, most_constant_lines + 1> starts{};
  std::array<std::uint16_t, most_constant_elements> column{};
  std::array<std::int16_t, most_constant_lines> color{};
  std::array<char, most_constant_elements> is_mirrored{};
};

template <class T, std::size_t... E>
constexpr bool is_static_float(std::type_identity<term<T, E...>>) {
  return real_element<T> && ((E != dyn) && ...);
}
template <class... Term>
constexpr bool are_static_floats(types<Term...>) {
  return (is_static_float(std::type_identity<Term>{}) && ...);
}
template <class T, std::size_t... E>
constexpr extent_list extents_of_term(std::type_identity<term<T, E...>>) {
  return {static_cast<int>(sizeof...(E)), {E...}};
}
template <class... Term>
constexpr vec<extent_list> extents_of_terms(types<Term...>) {
  return {extents_of_term(std::type_identity<Term>{})...};
}
/// Whether the sets of g can be found in a constant expression.
constexpr bool has_constant_sets(const graph& g) {
  if (g.syms.count() > 0) return false;
  std::size_t n = 0;
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what == kind::loop) return false;
    n += extents_at(g.shape_of(k), nullptr).volume();
  }
  return n <= most_constant_sets;
}
/// The pattern of output after output of g by the arguments `leaves`, if it fits.
constexpr bounded_pattern find_bounded(const graph& g, const vec<int>& leaves, const vec<extent_list>& sizes, auto color) {
  bounded_pattern r;
  for (const int i : leaves) r.columns += sizes[i].volume();
  for (const int o : g.out) r.rows += extents_at(g.shape_of(o), nullptr).volume();
  if (r.rows > most_constant_lines || r.columns > most_constant_lines || !has_constant_sets(g)) return r;
  const dependence_finder found(g, leaves, sizes, vec<cell_array>(sizes.size(), cell_array{}), {}, most_constant_sets);
  if (!found.complete()) return r;
  sparse_pattern p = pattern_of_sets(found, g.out.size(), r.columns);
  if (p.size() > most_constant_elements) return r;
  color(p);
  r.fits = true;
  r.pulled = p.pulled;
  r.mirrored = !p.mirrored.empty();
  r.size = p.size();
  r.colors = p.colors;
  for (std::size_t i = 0; i <= p.rows; ++i) r.starts[i] = static_cast<std::uint16_t>(p.starts[i]);
  for (std::size_t k = 0; k < p.size(); ++k) {
    r.column[k] = static_cast<std::uint16_t>(p.column[k]);
    r.is_mirrored[k] = r.mirrored && p.mirrored[k];
  }
  for (std::size_t j = 0; j < p.color.size(); ++j) r.color[j] = static_cast<std::int16_t>(p.color[j]);
  return r;
}

template <class F, int I, class Call, class... T>
struct constant_sets {
  using terms = joined_types<typename argument<T>::terms...>;
  static constexpr bool is_static = are_static_floats(terms{});
  static constexpr bounded_pattern find() {
    return find_bounded(prune(traced<F, T...>::g.thaw()), leaf_numbers(wrt<I>{}, std::type_identity<std::tuple<T...>>{}),
                        extents_of_terms(terms{}), Call::color);
  }
};
/// Whether the compiler takes Sets::find() for a constant: clang has a limit.
template <class Sets>
constexpr bool can_be_found() {
#if defined(__clang__)
  if constexpr (!limit_is_raised<many_steps>) return requires { typename std::bool_constant<Sets::find().fits>; };
#endif
  return true;
}
template <class Sets>
inline constexpr bounded_pattern bounded = Sets::find();
template <class Sets>
inline constexpr bool has_constant_pattern = [] {
  if constexpr (!Sets::is_static) return false;
  else if constexpr (!can_be_found<Sets>()) return false;
  else return bounded<Sets>.fits;
}();
template <class Sets>
inline constexpr auto pattern_as_constant = [] {
  constexpr const bounded_pattern& b = bounded<Sets>;
  constant_pattern<b.rows, b.columns, b.size, b.pulled, b.mirrored> r;
  for (std::size_t i = 0; i <= b.rows; ++i) r.starts[i] = b.starts[i];
  for (std::size_t k = 0; k < b.size; ++k) {
    r.column[k] = b.column[k];
    if constexpr (b.mirrored) r.mirrored[k] = b.is_mirrored[k];
  }
  for (std::size_t j = 0; j < r.color.size(); ++j) r.color[j] = b.color[j];
  r.colors = b.colors;
  return r;
}();

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
