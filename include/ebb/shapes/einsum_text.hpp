// ebb/shapes/einsum_text.hpp — reads and checks the string of einsum at compile time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/borrow.hpp"
#include "../tensor/shape.hpp"

#include <algorithm>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// The string of einsum, as a template argument.
template <std::size_t N>
struct einsum_text {
  char text[N] = {};
  consteval einsum_text(const char (&given)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = given[i];
  }
};

/// The letters of one operand or of the result. `batch` is the place of `...` among them, or -1.
struct einsum_letters {
  int count = 0, batch = -1;
  char letter[max_rank] = {};

  constexpr bool has(char c) const {
    for (int i = 0; i < count; ++i)
      if (letter[i] == c) return true;
    return false;
  }
};

inline constexpr int most_of_einsum = 8;

struct einsum_plan {
  bool valid = true, contracts = false;
  int count = 1;
  einsum_letters operand[most_of_einsum], result;
};

template <std::size_t N>
consteval einsum_plan read_einsum(const einsum_text<N>& s) {
  einsum_plan p;
  einsum_letters* now = &p.operand[0];
  bool arrow = false;
  for (std::size_t i = 0; i + 1 < N; ++i) {
    const char c = s.text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      p.valid = p.valid && now->count < max_rank && !(arrow && now->has(c));
      if (now->count < max_rank) now->letter[now->count++] = c;
    } else if (c == '.' && i + 3 < N && s.text[i + 1] == '.' && s.text[i + 2] == '.') {
      p.valid = p.valid && now->batch < 0;
      now->batch = now->count;
      i += 2;
    } else if (c == ',' && !arrow && p.count < most_of_einsum) now = &p.operand[p.count++];
    else if (c == '-' && !arrow && s.text[i + 1] == '>') {
      arrow = true;
      now = &p.result;
      ++i;
    } else p.valid = false;
  }
  const auto uses = [&](char c) {  // the number of operands that have c, and how often they have it in total
    std::pair<int, int> r{0, 0};
    for (int j = 0; j < p.count; ++j) {
      r.first += p.operand[j].has(c);
      for (int i = 0; i < p.operand[j].count; ++i) r.second += p.operand[j].letter[i] == c;
    }
    return r;
  };
  if (!arrow) {
    for (int j = 0; j < p.count; ++j)
      if (p.operand[j].batch >= 0) p.result.batch = 0;
    for (int c = 'A'; c <= 'z'; ++c)
      if (uses(static_cast<char>(c)).second == 1) {
        p.valid = p.valid && p.result.count < max_rank;
        if (p.result.count < max_rank) p.result.letter[p.result.count++] = static_cast<char>(c);
      }
  }
  for (int i = 0; i < p.result.count; ++i) p.valid = p.valid && uses(p.result.letter[i]).first > 0;
  for (int c = 'A'; c <= 'z'; ++c)
    if (uses(static_cast<char>(c)).first > 1 && !p.result.has(static_cast<char>(c))) p.contracts = true;
  return p;
}

/// The rank of an array or a term, and its extents as far as the type fixes them.
struct extents_of_type {
  int rank = 0;
  std::size_t extent[max_rank] = {};
};
template <std::size_t... E>
consteval extents_of_type listed(extents<E...>) {
  return {sizeof...(E), {E...}};
}
template <class X>
consteval extents_of_type extents_in_type_of() {
  if constexpr (requires { typename X::extents_type; }) return listed(typename X::extents_type{});
  else return listed(borrowed_extents<X>{});
}

/// The first letter with two extents, or 0.
struct letter_conflict {
  char letter = 0;
  std::size_t one = 0, other = 0;
};
template <class... X>
consteval letter_conflict conflict_in(const einsum_plan& p) {
  const extents_of_type in[] = {extents_in_type_of<X>()...};
  std::size_t known[128] = {};
  bool seen[128] = {};
  for (int j = 0; j < p.count; ++j)
    for (int i = 0; i < p.operand[j].count; ++i) {
      const einsum_letters& s = p.operand[j];
      const int axis = s.batch >= 0 && i >= s.batch ? in[j].rank - s.count + i : i;
      const std::size_t extent = in[j].extent[axis];
      const auto at = static_cast<std::size_t>(s.letter[i]);
      if (extent == dyn) continue;
      if (seen[at] && known[at] != extent) return {s.letter[i], known[at], extent};
      seen[at] = true;
      known[at] = extent;
    }
  return {};
}
template <class... X>
consteval bool ranks_fit(const einsum_plan& p) {
  const extents_of_type in[] = {extents_in_type_of<X>()...};
  if (p.count != sizeof...(X)) return false;
  int axes = 0;
  for (int j = 0; j < p.count; ++j) {
    if (p.operand[j].batch < 0 ? in[j].rank != p.operand[j].count : in[j].rank < p.operand[j].count) return false;
    if (p.operand[j].batch >= 0) axes = std::max(axes, in[j].rank - p.operand[j].count);
  }
  return p.result.count + (p.result.batch >= 0 ? axes : 0) <= max_rank;
}

/// Names a letter and both of its extents in the compiler's message.
template <char Letter, std::size_t Extent, std::size_t Other>
struct letter_of_einsum {
  static_assert(Letter == 0, "[ebb E0396] einsum: a letter has two extents");
  static constexpr bool fits = Letter == 0;
};

}  // namespace ebb::inline EBB_ABI::detail
