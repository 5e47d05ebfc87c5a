// test/build.hpp — graphs written by hand, random arguments for them, and comparison of their results.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/exec/evaluate.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/graph/splice.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/op/arithmetic.hpp>
#include <ebb/op/source.hpp>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

namespace test {

using ebb::graph;
using ebb::operand;

/// Extents that only the call decides, as arguments of builder::in.
enum : int { n = -1, m = -2 };

/// Builds a graph: `in` adds arguments, `out` adds results; operands have the operators that rules are written with.
struct builder {
  graph g;

  template <class T = float>
  constexpr operand<T> in(std::initializer_list<int> extents) {
    ebb::shape s;
    for (const int e : extents) s.push(e < 0 ? extent(e, s.rank) : e);
    const int number = g.inputs++;
    return {&g, ebb::emit_as<ebb::op::input, T>(g, g.intern(s), {}, {number})};
  }
  template <class... A>
  constexpr graph returns(A... results) {
    (g.out.push(results.id), ...);
    return ebb::canonical_shapes(g);
  }
  /// The number of the shape with these static extents.
  constexpr int shape(std::initializer_list<int> extents) {
    ebb::shape s;
    for (const int e : extents) s.push(e);
    return g.intern(s);
  }

 private:
  constexpr int extent(int label, int axis) {
    int& known = symbols_[label == n ? 0 : 1];
    const int fresh = g.syms.fresh({ebb::extent_rule::argument, g.inputs, axis});
    if (known == 0) known = fresh;
    g.syms.unify(known, fresh);
    return g.syms.find(fresh);
  }
  int symbols_[2] = {};
};

/// The graph that make(builder) builds.
constexpr graph build(auto&& make) {
  builder b;
  return make(b);
}

/// Random numbers (splitmix64): every platform gets the same ones.
struct random {
  std::uint64_t state;
  constexpr std::uint64_t next() {
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  constexpr int below(int count) { return static_cast<int>(next() % static_cast<unsigned>(count)); }
  constexpr bool chance(int of) { return below(of) == 0; }
  constexpr double between(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
};

/// One random element: usually an ordinary number, now and then a value that rewrite rules get wrong.
inline ebb::cell random_cell(random& r, ebb::dtype d, bool special) {
  const double values[] = {0.0, -0.0, 1.0, -1.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(), 1e-40};
  const double x = special && r.chance(3) ? values[r.below(8)] : r.between(-3, 3);
  return ebb::with_dtype(d, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) return ebb::to_cell(r.chance(2));
    else if constexpr (std::is_integral_v<T>) return ebb::to_cell(static_cast<T>(r.below(7) - 3));
    else if constexpr (std::is_same_v<T, double>) return ebb::to_cell(x);
    else return ebb::to_cell(static_cast<T>(static_cast<float>(x)));
  });
}

/// The arguments of one call of a graph.
struct call {
  ebb::vec<ebb::cell_array> arguments;
  ebb::vec<std::size_t> symbols;
};

/// Random arguments; each extent that only the call decides is `length`.
inline call random_call(const graph& g, std::uint64_t seed, std::size_t length = 3, bool special = true) {
  random r{seed};
  ebb::vec<ebb::extent_list> extents(g.inputs, ebb::extent_list{});
  ebb::vec<std::size_t> lengths;
  for (int i = 0; i < g.syms.count(); ++i) {
    const ebb::extent_origin& o = g.syms.origin(i);
    const auto value = [&](int e) { return static_cast<std::int64_t>(ebb::extent_value(e, lengths.data())); };
    const int bound = g.syms.find(~i);
    if (bound >= 0) lengths.push(static_cast<std::size_t>(bound));
    else lengths.push(o.rule == ebb::extent_rule::argument ? length : static_cast<std::size_t>(ebb::apply(o.rule, value(o.a), value(o.b))));
  }
  call c;
  c.arguments = ebb::vec<ebb::cell_array>(g.inputs, ebb::cell_array{});
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what != ebb::kind::input) continue;
    const int number = static_cast<int>(g.eq[k].attr[0]);
    extents[number] = ebb::extents_at(g.shape_of(k), lengths.data());
    for (std::size_t i = 0; i < extents[number].volume(); ++i) c.arguments[number].push(random_cell(r, g.op(k).result, special));
  }
  c.symbols = ebb::symbol_values(g, extents);
  return c;
}

/// Whether the bits are equal; any NaN equals any other.
inline bool same_cell(ebb::dtype d, ebb::cell a, ebb::cell b) {
  return a == b || ebb::with_dtype(d, [&]<class T>(T) {
    if constexpr (!ebb::real_element<T>) return false;
    else {
      using wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      return std::isnan(static_cast<wide>(ebb::from_cell<T>(a))) && std::isnan(static_cast<wide>(ebb::from_cell<T>(b)));
    }
  });
}

/// The first difference between the results of two graphs on one call; empty if there is none.
inline std::string difference(const graph& a, const graph& b, const call& c) {
  if (a.out.size() != b.out.size()) return "another number of results";
  const auto x = ebb::evaluate(a, c.arguments, c.symbols), y = ebb::evaluate(b, c.arguments, c.symbols);
  for (int i = 0; i < x.size(); ++i) {
    const ebb::dtype d = a.op(a.out[i]).result;
    if (b.op(b.out[i]).result != d || x[i].size() != y[i].size()) return "another type of result " + std::to_string(i);
    for (int j = 0; j < x[i].size(); ++j)
      if (!same_cell(d, x[i][j], y[i][j]))
        return "result " + std::to_string(i) + " element " + std::to_string(j) + ": " + ebb::literal_text(d, x[i][j]) + " and " +
               ebb::literal_text(d, y[i][j]);
  }
  return "";
}

/// The first error of a graph and the equation it is at, as text.
inline std::string error_text(const graph& g) {
  const ebb::graph_error e = ebb::first_error(g);
  return e ? std::string(e.what) + " in equation " + std::to_string(e.equation) + " of\n" + ebb::to_string(g) : "";
}

}  // namespace test
