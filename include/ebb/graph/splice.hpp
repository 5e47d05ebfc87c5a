// ebb/graph/splice.hpp — one graph inside another, and the end of each trace.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "copy.hpp"

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
  r.asked = g.asked;
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

/// The symbols of `from` as symbols of `to`, given those that are extents of its arguments. Extents that `from` found equal are equal here.
/// Fewer than it has where they cannot be.
constexpr vec<int> symbols_in(graph& to, const graph& from, auto&& extent_of_argument) {
  vec<int> symbol;
  const auto here = [&](int e) { return e >= 0 ? e : symbol[~e]; };
  for (int i = 0; i < from.syms.count(); ++i) {
    const extent_origin o = from.syms.origin(i);
    to.syms.asking = from.syms.items()[i].by;
    if (o.rule == extent_rule::argument) symbol.push(to.syms.find(extent_of_argument(o)));
    else symbol.push(to.syms.derive(o.rule, here(o.a), here(o.b)));
  }
  for (int i = 0; i < from.syms.count(); ++i) {
    to.syms.asking = from.syms.items()[i].by;
    if (!to.syms.unify(symbol[i], here(from.syms.find(~i)))) return {};
  }
  return symbol;
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
  to.asked.ask(from.asked);
  const int subs = to.subs.size();
  for (const graph& sub : from.subs) to.subs.push(sub);
  copy_equations<equal_equations::become_one>(to, from, at, but_arguments(from), [&](int, equation& e) {
    e.shape = number[e.shape];
    if (e.sub >= 0) e.sub += subs;
    e.asked = {};  // its caller answers
  });
  return outputs_at(from, at);
}

/// Copies `from` into `to` with the given equations as its arguments, and returns the numbers of its outputs. The extents of the
/// arguments say what the symbols of `from` are. Refuses (-102) where they cannot be.
constexpr vec<int> splice(graph& to, const graph& from, const vec<int>& arguments) {
  const vec<int> symbol = symbols_in(to, from, [&](const extent_origin& o) { return to.shape_of(arguments[o.a]).e[o.b]; });
  if (symbol.size() < from.syms.count()) return vec<int>(from.out.size(), -102);
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
