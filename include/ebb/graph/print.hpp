// ebb/graph/print.hpp — a graph as text: A-normal form, one equation a line, with types.
// SPDX-License-Identifier: BSL-1.0
//
//   a = input 0 : f32[n, 64]
//   b = exp a : f32[n, 64]
//   c = sum b over 1 : f32[n]
//   d = mul c 2.0 : f32[n]
//   return d
// Extents that are known at the call only are called n, m, k...; extents computed from them are shown as formulas: n*m, n+1.
#pragma once

#include "loop.hpp"

#include <charconv>
#include <string>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// The value of a literal as C++ would write it.
EBB_COLD std::string literal_text(dtype d, cell bits) {
  return with_dtype(d, [&]<class T>(T) -> std::string {
    if constexpr (std::is_same_v<T, bool>) return bits ? "true" : "false";
    else if constexpr (std::is_integral_v<T>) return std::to_string(from_cell<T>(bits));
    else {
      using shown = std::conditional_t<std::is_same_v<T, double>, double, float>;
      char text[64];
      const auto end = std::to_chars(text, text + sizeof text, static_cast<shown>(from_cell<T>(bits))).ptr;
      std::string s(text, end);
      return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
    }
  });
}

/// Names of equations and of extents, in their order.
EBB_COLD std::string letters(std::string_view from, int i) {
  const int n = static_cast<int>(from.size());
  return from[static_cast<std::size_t>(i % n)] + (i < n ? std::string() : std::to_string(i / n));
}
inline std::string letters_of_equation(int i) { return letters("abcdefghijlopqrstuvwxyz", i); }
inline std::string letters_of_extent(int i) { return letters("nmkpqrstuvw", i); }

/// The attributes of an equation; `numbers`: those that the op shows, if it has a `show`.
EBB_COLD std::string attribute_text(kind what, const std::int64_t* attr, const std::int64_t* numbers, int count) {
  std::string s;
  const auto axis = [&](std::int64_t a) { s += ' ' + std::to_string(a); };
  switch (what) {
    case kind::elementwise: return attr[0] != 0 ? " each use" : "";
    case kind::input: axis(attr[0]); break;
    case kind::index: s = " along", axis(attr[0]); break;
    case kind::reduce:
      s = " over";
      for (std::int64_t a = attr[0]; a < attr[1]; ++a) axis(a);
      break;
    case kind::broadcast:
      s = " along";
      for (int a = 0; a < max_rank; ++a)
        if (attr[0] >> a & 1) axis(a);
      break;
    case kind::scan:
      s = " along", axis(attr[0]);
      if (attr[1] & 1) s += " reversed";
      if (attr[1] & 2) s += " exclusive";
      break;
    case kind::solve: case kind::triangle:
      if (attr[1] & 1) s = attr[1] & 2 ? " upper" : " lower";
      if (attr[1] & 4) s += " unit";
      if (attr[1] & 8) s += " or NaN";
      if (attr[1] & 16) s += " checked";
      if (what == kind::triangle && (attr[0] & 2) != 0) s += attr[0] & 4 ? " of columns" : " from the right";
      break;
    case kind::factor:
      if (attr[0] == 0) return attr[1] != 0 ? " or NaN" : "";
      if (attr[1] != 0) s = " with", axis(attr[1]);
      break;
    case kind::loop: {
      const loop_parts p = loop_parts::of({.attr = {attr[0], attr[1]}});
      s = " carrying " + std::to_string(p.carries) + (p.reversed ? " backwards" : "") + (p.guarded ? " guarded" : "") +
          (p.open ? " open" : "");
      break;
    }
    case kind::custom: break;
    case kind::result: {
      constexpr const char* kinds[] = {" carry", " row", " history"};
      s = kinds[attr[1]] + (' ' + std::to_string(attr[0]));
      break;
    }
    case kind::contract: break;
    case kind::gather: case kind::scatter:
      if (attr[0] > 0) s = " each along";
      for (std::int64_t a = 0; a < attr[0]; ++a) axis(a);
      if (attr[1] != 0) s += " turned";
      break;
    case kind::move: case kind::own:
      if (count >= 0) {
        s = " by";
        for (int i = 0; i < count; ++i) axis(numbers[i]);
        break;
      }
      [[fallthrough]];
    default:
      if (attr[0] != 0 || attr[1] != 0) s = " with", axis(attr[0]);
      if (attr[1] != 0) axis(attr[1]);
  }
  return s;
}
/// Whether operand j of an equation is taken transposed.
constexpr bool is_transposed(kind what, const std::int64_t* attr, int j) {
  return (what == kind::contract || what == kind::solve || (what == kind::triangle && j == 0)) && (attr[0] >> j & 1);
}

/// The names of a graph's equations and extents, and its equations as text.
class graph_text {
 public:
  /// Named: the names of equations; one with an empty name gets letters.
  EBB_COLD_CTOR explicit graph_text(const graph& g, const vec<std::string>& named = {}) : g_(g) {
    vec<char> shown(g.size(), 0);
    for (int o : g.out)
      if (o >= 0) shown[o] = 1;
    int count = 0;
    for (int k = 0; k < g.size(); ++k) {
      // A literal is printed where it is used. A result has a line, so that its type is printed.
      inline_.push(g.op(k).what == kind::literal && !shown[k]);
      if (inline_.back()) names_.push(literal_text(g.op(k).result, static_cast<cell>(g.eq[k].attr[0])));
      else if (k < named.size() && !named[k].empty()) names_.push(named[k]);
      else names_.push(letters_of_equation(count++));
    }
    count = 0;
    for (int i = 0; i < g.syms.count(); ++i) {
      const bool is_named = g.syms.find(~i) == ~i && g.syms.origin(i).rule == extent_rule::argument;
      symbols_.push(is_named ? letters_of_extent(count++) : std::string());
    }
  }

  bool is_inline(int k) const { return inline_[k]; }
  const std::string& name(int k) const { return names_[k]; }

  EBB_COLD std::string extent(int e) const {
    e = g_.syms.find(e);
    if (e >= 0) return std::to_string(e);
    if (!symbols_[~e].empty()) return symbols_[~e];
    const extent_origin& o = g_.syms.origin(~e);
    constexpr char signs[] = " +-*/";
    return part(o.a) + signs[static_cast<int>(o.rule)] + part(o.b);
  }
  EBB_COLD std::string type(int k) const {
    if (g_.op(k).what == kind::loop) return extent(g_.shape_of(k).e[0]) + " steps";
    std::string s(name_of(g_.op(k).result));
    const shape& extents = g_.shape_of(k);
    for (int i = 0; i < extents.rank; ++i) s += (i ? ", " : "[") + extent(extents.e[i]);
    return extents.rank ? s + "]" : s;
  }
  /// `sum b over 1`
  EBB_COLD std::string application(int k) const {
    const equation& e = g_.eq[k];
    if (e.op->what == kind::literal) return literal_text(e.op->result, static_cast<cell>(e.attr[0]));
    std::string s(e.op->name);
    for (int j = 0; j < e.count; ++j) {
      s += ' ' + names_[g_.operand(k, j)];
      if (is_transposed(e.op->what, e.attr, j)) s += "^T";
    }
    return s + attributes(k);
  }
  std::string line(int k) const { return names_[k] + " = " + application(k) + " : " + type(k); }

 private:
  EBB_COLD std::string part(int e) const {
    const int found = g_.syms.find(e);
    return found >= 0 || !symbols_[~found].empty() ? extent(e) : '(' + extent(e) + ')';
  }
  EBB_COLD std::string attributes(int k) const {
    const equation& e = g_.eq[k];
    std::int64_t numbers[max_rank] = {};
    const int count = e.op->shows ? e.op->show(e.attr, g_.shape_of(k).rank, numbers) : -1;
    return attribute_text(e.op->what, e.attr, numbers, count);
  }

  const graph& g_;
  vec<char> inline_;
  vec<std::string> names_, symbols_;
};

EBB_COLD std::string to_string(const graph& g, const std::string& indent = "") {
  const graph_text text(g);
  std::string s;
  for (int k = 0; k < g.size(); ++k) {
    if (text.is_inline(k)) continue;
    s += indent + text.line(k) + '\n';
    if (g.eq[k].sub >= 0) s += to_string(g.subs[g.eq[k].sub], indent + "  ");
  }
  s += indent + "return";
  for (int o : g.out) s += ' ' + (o < 0 ? std::string("nothing") : text.name(o));
  return s + '\n';
}

}  // namespace ebb::inline EBB_ABI
