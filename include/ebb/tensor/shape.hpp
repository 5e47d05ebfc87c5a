// ebb/tensor/shape.hpp — shapes as values: static extents are numbers, dynamic ones are symbols that can be unified.
// SPDX-License-Identifier: BSL-1.0
//
// [note: extents are symbols]
// While a function is traced, the value of a `dyn` extent is unknown, but some are known to be equal: the operands of an elementwise
// operation have the same extents. Each dyn extent is a *symbol*; `symbols` is a union-find over them. A symbol stores the origin of its
// value (axis b of argument a, or arithmetic on other extents), so that a call can compute and check all of them. It also stores the
// operation that required it to equal another one, so that an error can name it.
#pragma once

#include "../base/hash_index.hpp"
#include "../base/vec.hpp"
#include "extents.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ebb::inline EBB_ABI {

inline constexpr int max_rank = 8;

/// e[i] >= 0 is a static extent, e[i] < 0 is symbol number ~e[i]. A shape rule that rejects its operands returns `refused(code)`.
struct shape {
  int rank = 0;
  int e[max_rank] = {};

  constexpr bool operator==(const shape& other) const {
    if (rank != other.rank) return false;
    for (int i = 0; i < rank; ++i)
      if (e[i] != other.e[i]) return false;
    return true;
  }
  constexpr void push(int extent) { e[rank++] = extent; }
  constexpr bool is_refused() const { return rank < 0; }
  constexpr int code() const { return rank < 0 ? e[0] : 0; }
};

constexpr shape refused(int code) {
  shape s;
  s.rank = -1;
  s.e[0] = code;
  return s;
}

/// The origin of a symbol's value. `argument`: axis b of operand a; or the value of operand a, an integer, if b is `own_value`. Else
/// arithmetic on the extents a and b. Subscripts use `after` and `before`: the number of places after place b of extent a, and before
/// its b-th place from the end. `root` is root_of_extent(a).
enum class extent_rule : std::uint8_t { argument, sum, difference, product, quotient, remainder, after, before, least, root };

struct extent_origin {
  extent_rule rule = extent_rule::argument;
  int a = 0, b = 0;
  static constexpr int own_value = -1;
  constexpr bool is_value() const { return rule == extent_rule::argument && b == own_value; }
  constexpr bool operator==(const extent_origin&) const = default;
};

/// The root of an extent below 2^60, rounded up; at least 1.
constexpr std::int64_t root_of_extent(std::int64_t n) {
  std::int64_t below = 0;  // the largest number whose square is below n
  for (std::int64_t bit = std::int64_t{1} << 29; bit > 0; bit /= 2)
    if ((below + bit) * (below + bit) < n) below += bit;
  return below + 1;
}

constexpr std::int64_t apply(extent_rule rule, std::int64_t a, std::int64_t b) {
  switch (rule) {
    case extent_rule::sum: return a + b;
    case extent_rule::difference: case extent_rule::before: return a - b;
    case extent_rule::after: return a - b - 1;
    case extent_rule::product: return a * b;
    case extent_rule::quotient: return b ? (a + b - 1) / b : 0;  // rounded up: the length of a slice with step b
    case extent_rule::remainder: return b ? a % b : 0;
    case extent_rule::least: return a < b ? a : b;
    case extent_rule::root: return root_of_extent(a);
    default: return 0;
  }
}

class symbols {
 public:
  constexpr symbols() = default;
  /// Without the table of `derive`, which makes it when it is called.
  constexpr symbols(const symbols& other) : asking(other.asking), items_(other.items_) {}
  constexpr symbols(symbols&&) = default;
  constexpr symbols& operator=(const symbols& other) { return *this = symbols(other); }
  constexpr symbols& operator=(symbols&&) = default;

  constexpr int fresh(extent_origin origin) {
    const int number = items_.push({items_.size(), -1, origin, asking});
    return ~number;
  }
  /// The representative of e: a number if that is known, else the oldest symbol equal to it.
  EBB_ONCE constexpr int find(int e) const {
    if (e >= 0) return e;
    int s = ~e;
    while (items_[s].parent != s) s = items_[s].parent;
    return items_[s].bound >= 0 ? items_[s].bound : ~s;
  }
  EBB_ONCE constexpr shape find(shape s) const {
    for (int i = 0; i < s.rank; ++i) s.e[i] = find(s.e[i]);
    return s;
  }
  /// Whether find(s) is s.
  constexpr bool knows_no_better(const shape& s) const {
    for (int i = 0; i < s.rank; ++i)
      if (s.e[i] < 0 && (items_.data()[~s.e[i]].parent != ~s.e[i] || items_.data()[~s.e[i]].bound >= 0)) return false;
    return true;
  }
  /// False if a and b are different numbers.
  EBB_ONCE constexpr bool unify(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b) return true;
    if (a >= 0 && b >= 0) return false;
    if (a < b) std::swap(a, b);  // numbers first, then older symbols
    forget_derived_of(~b);
    item& follows = items_[~b];
    (a >= 0 ? follows.bound : follows.parent) = a >= 0 ? a : ~a;
    follows.by = asking;
    see_derived_of(~b);
    return true;
  }
  EBB_ONCE constexpr bool unify(const shape& a, const shape& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (!unify(a.e[i], b.e[i])) return false;
    return true;
  }
  /// The extent `a rule b`: a number if both are, else a symbol, the same one for the same operands.
  EBB_ONCE constexpr int derive(extent_rule rule, int a, int b) {
    a = find(a);
    b = find(b);
    if (a >= 0 && b >= 0) return static_cast<int>(apply(rule, a, b));
    if (rule == extent_rule::product && a == 1) return b;
    if ((rule == extent_rule::product || rule == extent_rule::quotient) && b == 1) return a;
    if (rule == extent_rule::difference && b == 0) return a;
    if (rule == extent_rule::sum)
      if (const int whole = whole_of(a, b); whole != 0) return whole;
    if (rule == extent_rule::least && a == b) return a;
    for (; seen_ < items_.size(); ++seen_) see_item(seen_);
    const int found = find_derived({rule, a, b});
    return found >= 0 ? find(~found) : fresh({rule, a, b});
  }
  /// Whether e is a - b.
  constexpr bool is_difference(int e, int a, int b) const {
    if (e >= 0) return false;
    const extent_origin& o = items_[~e].origin;
    return o.rule == extent_rule::difference && find(o.a) == a && find(o.b) == b;
  }
  constexpr int count() const { return items_.size(); }
  constexpr const extent_origin& origin(int number) const { return items_[number].origin; }

  struct item {
    int parent = 0, bound = -1;
    extent_origin origin;
    std::string_view by;  // the operation that created it or required it to be equal
  };
  constexpr const vec<item>& items() const { return items_; }
  constexpr void push(const item& i) { items_.push(i); }

  /// The operation whose symbols and equalities come next.
  std::string_view asking;

 private:
  /// a + b, if one of them is what the other leaves of an extent, or 0; else 0.
  constexpr int whole_of(int a, int b) const {
    if (a == 0 || b == 0) return a + b;
    for (const int rest : {a, b})
      if (rest < 0 && items_[~rest].origin.rule == extent_rule::difference && find(items_[~rest].origin.b) == a + b - rest)
        return find(items_[~rest].origin.a);
    return 0;
  }
  // [note: derived extents are found by hash]
  // The key of a derived extent is its rule and what its operands are found to be; of several with one key the first counts. A key changes
  // when a symbol in it is unified with an older one or with a number. So each symbol has a list of the extents that are derived from it,
  // and these get their new keys then.
  constexpr extent_origin key_of(int i) const {
    const extent_origin& o = items_[i].origin;
    return {o.rule, find(o.a), find(o.b)};
  }
  static constexpr unsigned hash_of(const extent_origin& o) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    const std::uint64_t operands = static_cast<std::uint64_t>(static_cast<std::uint32_t>(o.a)) << 32 | static_cast<std::uint32_t>(o.b);
    return static_cast<unsigned>((operands * odd ^ static_cast<std::uint64_t>(o.rule)) * odd >> 32);
  }
  constexpr int find_derived(const extent_origin& key) const {
    return derived_.find(hash_of(key), [&](int i) { return key_of(i) == key; });
  }
  constexpr void add_derived(int i) {
    const extent_origin key = key_of(i);
    const int first = find_derived(key);
    if (first >= 0 && first <= i) return;
    if (first >= 0) derived_.erase(hash_of(key), first);
    derived_.add(hash_of(key), i, [&](int k) { return hash_of(key_of(k)); });
  }
  EBB_ONCE constexpr void see_item(int i) {
    first_use_.push(-1);
    next_use_.push(-1);
    next_use_.push(-1);
    const extent_origin& o = items_[i].origin;
    if (o.rule == extent_rule::argument) return;
    link(find(o.a), 2 * i);
    link(find(o.b), 2 * i + 1);
    add_derived(i);
  }
  /// Use 2 i + j of extent e is that as operand j of item i.
  constexpr void link(int e, int use) {
    if (e >= 0) return;
    next_use_[use] = first_use_[~e];
    first_use_[~e] = use;
  }
  constexpr void forget_derived_of(int s) {
    if (s >= seen_) return;
    for (int use = first_use_[s]; use >= 0; use = next_use_[use]) derived_.erase(hash_of(key_of(use / 2)), use / 2);
  }
  constexpr void see_derived_of(int s) {
    if (s >= seen_) return;
    for (int use = first_use_[s], next = -1; use >= 0; use = next) {
      next = next_use_[use];
      link(find(~s), use);
      add_derived(use / 2);
    }
    first_use_[s] = -1;
  }

  vec<item> items_;
  hash_index derived_;  // of the first `seen_` items
  vec<int> first_use_, next_use_;
  int seen_ = 0;
};

/// The shape of an array type; its dyn extents become fresh symbols of argument number `argument`.
template <std::size_t... E>
constexpr shape to_shape(extents<E...>, [[maybe_unused]] symbols& s, [[maybe_unused]] int argument) {
  shape r;
  ((r.e[r.rank] = E == dyn ? s.fresh({extent_rule::argument, argument, r.rank}) : static_cast<int>(E), ++r.rank), ...);
  return r;
}


namespace detail {
template <shape S, class I>
struct shape_to_extents;
template <shape S, std::size_t... I>
struct shape_to_extents<S, std::index_sequence<I...>> {
  using type = extents<(S.e[I] < 0 ? dyn : static_cast<std::size_t>(S.e[I]))...>;
};
}  // namespace detail

/// The inverse of to_shape: the extents<...> of a shape in a constant expression.
template <shape S>
using static_extents = typename detail::shape_to_extents<S, std::make_index_sequence<static_cast<std::size_t>(S.rank)>>::type;

/// The value of an extent at a call, given the values of all symbols.
constexpr std::size_t extent_value(int e, const std::size_t* values) { return e >= 0 ? static_cast<std::size_t>(e) : values[~e]; }
/// The largest extent that is the value of an argument.
inline constexpr std::int64_t largest_value = 2147483647;
/// The value of a derived extent, given those of the symbols before it.
constexpr std::int64_t derived_value(const extent_origin& o, const std::size_t* values) {
  const auto operand = [&](int e) { return static_cast<std::int64_t>(extent_value(e, values)); };
  return apply(o.rule, operand(o.a), operand(o.b));
}
/// Writes the values of all symbols; extent_of_argument(origin) gives those of the arguments, in order.
constexpr void put_symbol_values(const symbols& s, std::size_t* values, auto&& extent_of_argument) {
  for (int i = 0; i < s.count(); ++i) {
    const extent_origin& o = s.origin(i);
    values[i] = o.rule == extent_rule::argument ? extent_of_argument(o) : static_cast<std::size_t>(derived_value(o, values));
  }
}

EBB_ONCE constexpr std::size_t volume(const shape& s, const std::size_t* values) {
  std::size_t n = 1;
  for (int i = 0; i < s.rank; ++i) n *= extent_value(s.e[i], values);
  return n;
}

}  // namespace ebb::inline EBB_ABI
