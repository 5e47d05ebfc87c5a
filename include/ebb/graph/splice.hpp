// ebb/graph/splice.hpp — one graph inside another, and the end of each trace.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "copy.hpp"

#include "../base/error.hpp"

namespace ebb::inline EBB_ABI {

/// Whether some equation of g is equal to another one but for its shape, where both shapes become one number. At least one of them has
/// a shape that changes.
constexpr bool shapes_divide_equals(graph& g, const vec<int>& number, const vec<char>& changes) {
  for (int k = 0; k < g.size(); ++k) {
    const int own = g.eq.data()[k].shape;
    if (!changes.data()[own]) continue;
    equation e = g.eq.data()[k];
    for (e.shape = 0; e.shape < number.size(); ++e.shape)
      if (e.shape != own && number[e.shape] == number[own] && g.find(e, g.operands(k)) >= 0) return true;
  }
  return false;
}

/// Replaces each symbol by its representative, so that equal shapes have one number. Part of the end of each trace.
EBB_COLD constexpr graph canonical_shapes(graph g) {
  graph r;
  vec<int> number;
  vec<char> changes;
  bool any = false;
  for (const shape& s : g.shapes) {
    const shape representative = g.syms.find(s);
    number.push(r.intern(representative));
    changes.push(!(representative == s));
    any = any || changes.back();
  }
  const bool divided = any && shapes_divide_equals(g, number, changes);
  r.inputs = g.inputs;
  r.syms = static_cast<symbols&&>(g.syms);
  r.subs.swap(g.subs);
  r.casts.asked = g.casts.asked;
  if (divided) {
    vec<int> at(g.size(), -1);
    r.eq.reserve(g.size());
    r.pool.reserve(g.pool.size());
    copy_equations<equal_equations::become_one>(r, g, at, all_equations, [&](int, equation& e) { e.shape = number.data()[e.shape]; });
    r.out = outputs_at(g, at);
  } else {
    if (any)
      for (equation& e : g.eq) e.shape = number.data()[e.shape];
    r.eq.swap(g.eq);
    r.pool.swap(g.pool);
    r.out.swap(g.out);
  }
  return r;
}

/// Of no symbol: the value of an integer that a program computes.
inline constexpr int computed_extent = -2147483647 - 1;
/// The value of a literal of integers as an extent, or computed_extent.
constexpr int value_of_literal(const graph& g, int x) {
  const equation& e = g.eq[x];
  if (e.op->what != kind::literal || (e.op->result != dtype::i32 && e.op->result != dtype::i64)) return computed_extent;
  const auto bits = static_cast<cell>(e.attr[0]);
  const std::int64_t n = e.op->result == dtype::i32 ? from_cell<std::int32_t>(bits) : from_cell<std::int64_t>(bits);
  return n >= 0 && n <= largest_value ? static_cast<int>(n) : computed_extent;
}
/// The value of x, an integer without axes, as an extent: a number if x is a literal, a symbol if x is an argument, an extent if x counts
/// the elements along an axis, else computed_extent.
EBB_COLD constexpr int value_as_extent(graph& g, int x) {
  const equation& e = g.eq[x];
  if (g.shape_of(x).rank != 0 || (e.op->result != dtype::i32 && e.op->result != dtype::i64)) return computed_extent;
  if (e.op->what == kind::literal) return value_of_literal(g, x);
  if (e.op->what == kind::reduce && e.op->computes == arithmetic::sum) {  // see count_along
    const int ones = g.operand(x, 0);
    if (g.op(ones).what == kind::literal && g.shape_of(ones).rank == 1 && value_of_literal(g, ones) == 1)
      return g.syms.find(g.shape_of(ones).e[0]);
  }
  if (e.op->what == kind::elementwise && e.op->computes == arithmetic::product) {
    const int a = g.operand(x, 0), b = g.operand(x, 1);
    if (value_of_literal(g, a) == 1) return value_as_extent(g, b);
  }
  if (e.op->what != kind::input) return computed_extent;
  const extent_origin origin{extent_rule::argument, static_cast<int>(e.attr[0]), extent_origin::own_value};
  for (int i = 0; i < g.syms.count(); ++i)
    if (g.syms.origin(i) == origin) return g.syms.find(~i);
  return g.syms.fresh(origin);
}
/// A compiler that evaluates it names it, with its argument: the number of steps of a loop is no constant and no argument.
[[noreturn]] inline void refuse_steps(const char* sentence) { raise(sentence); }
/// The extent of `to` that o is, where argument o.a is equation x of `to`, with `leading` axes more.
constexpr int extent_in(graph& to, int x, const extent_origin& o, int leading = 0) {
  return o.is_value() ? value_as_extent(to, x) : to.shape_of(x).e[o.b + leading];
}

/// The symbols of `from` as symbols of `to`, given those that are extents of its arguments. Extents that `from` found equal are equal here.
/// Fewer than it has where they cannot be.
constexpr vec<int> symbols_in(graph& to, const graph& from, auto&& extent_of_argument) {
  vec<int> symbol;
  const auto here = [&](int e) { return e >= 0 ? e : symbol[~e]; };
  for (int i = 0; i < from.syms.count(); ++i) {
    const extent_origin o = from.syms.origin(i);
    to.syms.asking = from.syms.items()[i].by;
    if (o.rule == extent_rule::argument) {
      const int e = extent_of_argument(o);
      if (e == computed_extent) return {};
      symbol.push(to.syms.find(e));
    } else symbol.push(to.syms.derive(o.rule, here(o.a), here(o.b)));
  }
  for (int i = 0; i < from.syms.count(); ++i) {
    to.syms.asking = from.syms.items()[i].by;
    if (!to.syms.unify(symbol[i], here(from.syms.find(~i)))) return {};
  }
  return symbol;
}

/// Makes extents of arguments equal that are one symbol in `from`: a derivative's direction has the extents of its argument. False where
/// that cannot be.
constexpr bool unify_arguments(graph& to, const graph& from, const vec<int>& symbol, auto&& extent_of_argument) {
  if (symbol.empty()) return true;
  for (int k = 0; k < from.size(); ++k) {
    if (from.op(k).what != kind::input) continue;
    const shape own = from.shape_of(k);
    for (int i = 0; i < own.rank; ++i) {
      const int here = own.e[i] >= 0 ? own.e[i] : symbol[~own.e[i]];
      if (!to.syms.unify(here, extent_of_argument({extent_rule::argument, static_cast<int>(from.eq[k].attr[0]), i}))) return false;
    }
  }
  return true;
}

/// A shape of `from` as it is in `to`.
constexpr shape shape_in(const graph& to, shape s, const vec<int>& symbol) {
  for (int i = 0; i < s.rank; ++i) s.e[i] = to.syms.find(s.e[i] >= 0 ? s.e[i] : symbol[~s.e[i]]);
  return s;
}

/// Copies `from` into `to` with the given equations as its arguments and the given symbols, and returns the numbers of its outputs.
constexpr vec<int> splice(graph& to, const graph& from, const vec<int>& arguments, const vec<int>& symbol) {
  vec<int> number, at = at_arguments(from, arguments);
  for (const shape& s : from.shapes) number.push(to.intern(shape_in(to, s, symbol)));
  to.casts.asked.ask(from.casts.asked);
  const int subs = to.subs.size();
  for (const graph& sub : from.subs) to.subs.push(sub);
  copy_equations<equal_equations::become_one>(to, from, at, but_arguments(from), [&](int, equation& e) {
    e.shape = number[e.shape];
    if (e.sub >= 0) e.sub += subs;
    e.asked = {};  // its caller answers
  });
  return outputs_at(from, at);
}

/// Copies `from` into `to` with the given equations as its arguments, and returns the numbers of its outputs. The symbols of `from` get
/// the extents of the arguments. If these do not fit, all numbers are -102: the code of the error, negated.
constexpr vec<int> splice(graph& to, const graph& from, const vec<int>& arguments) {
  bool computed = false;
  const auto extent = [&](const extent_origin& o) {
    const int e = extent_in(to, arguments[o.a], o);
    computed = computed || e == computed_extent;
    return e;
  };
  const vec<int> symbol = symbols_in(to, from, extent);
  if (computed && !to.tolerant) refuse_steps("[ebb E0335] fori: the number of steps is computed in the function");
  if (symbol.size() < from.syms.count() || !unify_arguments(to, from, symbol, extent)) return vec<int>(from.out.size(), -102);
  return splice(to, from, arguments, symbol);
}

/// The same of a program by element, made for rows: here the rows have this shape.
constexpr vec<int> splice_over(graph& to, const graph& from, const vec<int>& arguments, int shape) {
  vec<int> at = at_arguments(from, arguments);
  const int one = to.intern({}), rank = to.shapes[shape].rank;
  copy_equations<equal_equations::become_one>(to, from, at, but_arguments(from), [&](int k, equation& e) {
    e.shape = from.shape_of(k).rank == 0 ? one : shape;
    if (e.op->what == kind::broadcast) e.attr[0] = (std::int64_t{1} << rank) - 1;
    e.asked = {};  // its caller answers
  });
  return outputs_at(from, at);
}

}  // namespace ebb::inline EBB_ABI
