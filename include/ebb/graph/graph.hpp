// ebb/graph/graph.hpp — a traced computation as a value: equations in order, shared while it is built.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a graph is a value]
//   graph     = equation...  with  out = number...          (A-normal form: operands are numbers of earlier equations)
//   equation  = op operands : shape [attr] [sub-graph]
// Expression *types* describe a tree, and computations are not trees: their names grow exponentially with sharing. So a graph is
// a constexpr value, and passes are constexpr functions from graph to graph, which run at run time as well. A type of a
// graph exists only for users who inspect a program: see program.hpp.
#pragma once

#include "../base/hash_index.hpp"
#include "../base/vec.hpp"
#include "equation.hpp"

#include <initializer_list>

namespace ebb::inline EBB_ABI {

/// A few adjacent numbers in somebody's array.
struct number_range {
  const int* data = nullptr;
  int count = 0;
  constexpr int size() const { return count; }
  constexpr int operator[](int i) const { return data[i]; }
  constexpr const int* begin() const { return data; }
  constexpr const int* end() const { return data + count; }
};

/// A pass that a function brings along, as ebb::relaxed does: it follows the exact rules. Programs that bring none do not contain it.
struct own_pass {
  bool there = false;
  graph (*run)(const graph&) = nullptr;
};

/// The casts that autocast contexts would have made in a graph: while it was traced, and in pulls that assume each of the contexts.
struct graph_casts {
  casts_asked asked, in_pulls[contexts];

  constexpr void ask(const graph_casts& more) {
    asked.ask(more.asked);
    for (int c = 0; c < contexts; ++c) in_pulls[c].ask(more.in_pulls[c]);
  }
};

struct graph {
  vec<equation> eq;
  vec<int> pool;  // operands of all equations
  vec<shape> shapes;
  vec<int> out;
  int inputs = 0;
  symbols syms;
  vec<graph> subs;
  bool tolerant = false;  // where only shapes are asked for: a subscript outside of its axis is not refused, see op/subscript.hpp
  own_pass brings;     // of the function that the graph is of
  int simplified = 0;  // how many equations there were when simplify was done: if all are, it finds nothing more

  // Of autocast, see op/context.hpp: the context of the function or pull that runs now, and the one that new equations store for theirs.
  maybe_context context, pulled_in;
  graph_casts casts;
  constexpr cast_question ask(precision p, dtype d, std::string_view op_name) {
    if (!context) casts.asked.ask(p, d, op_name);
    else if (context->assumed) {
      casts.in_pulls[context->number].ask(p, d, op_name);
      return cast_question::about(context->number, p, d);
    }
    return {};
  }
  /// Equation k was given after that question.
  constexpr void note(int k, cast_question q) {
    if (k >= 0 && q && !eq.data()[k].asked) eq.data()[k].asked = q;
  }

  constexpr int size() const { return eq.size(); }
  constexpr number_range operands(int k) const { return {pool.data() + eq[k].first, eq[k].count}; }
  constexpr int operand(int k, int j) const { return pool[eq[k].first + j]; }
  constexpr const op_info& op(int k) const { return *eq[k].op; }
  constexpr const shape& shape_of(int k) const { return shapes[eq[k].shape]; }

  /// The number of a shape, the same one for equal shapes.
  EBB_ONCE constexpr int intern(const shape& s) {
    // Most equations have the shape of the one before, and most graphs have few shapes.
    if (last_shape_ < shapes.size() && shapes.data()[last_shape_] == s) return last_shape_;
    for (int i = 0; i < few_shapes && i < shapes.size(); ++i)
      if (shapes.data()[i] == s) return last_shape_ = i;
    const auto hash = [&](int i) { return hash_of(shapes.data()[i]); };
    if (shapes_seen_ < few_shapes) shapes_seen_ = few_shapes;
    for (; shapes_seen_ < shapes.size(); ++shapes_seen_) shapes_by_hash_.add(hash(shapes_seen_), shapes_seen_, hash);
    const int found = shapes_by_hash_.find(hash_of(s), [&](int i) { return shapes.data()[i] == s; });
    return last_shape_ = found >= 0 ? found : shapes.push(s);
  }

  /// Appends an equation, or finds the equal one that is there already.
  EBB_ONCE constexpr int add(const equation& e, number_range in) {
    if (eq.size() >= room_) rehash();
    // Plain pointers: a call of vec's operator[] costs a constant expression two steps.
    int* const table = table_.data();
    const unsigned mask = mask_;
    unsigned at = hash_of(e, in.data, in.count) & mask;
    for (; table[at] > 0; at = (at + 1) & mask)
      if (equal(eq.data()[table[at] - 1], e, in)) {
        if (e.asked) note(table[at] - 1, e.asked);
        return table[at] - 1;
      }
    table[at] = append(e, in) + 1;
    return table[at] - 1;
  }
  constexpr int add(const equation& e, std::initializer_list<int> in) {
    return add(e, number_range{in.begin(), static_cast<int>(in.size())});
  }
  /// The equation that adding this one would find, or -1.
  EBB_ONCE constexpr int find(const equation& e, number_range in) {
    if (eq.size() >= room_) rehash();
    const int* const table = table_.data();
    unsigned at = hash_of(e, in.data, in.count) & mask_;
    while (table[at] > 0 && !equal(eq.data()[table[at] - 1], e, in)) at = (at + 1) & mask_;
    return table[at] - 1;
  }
  /// Appends without looking: for passes that only leave out or renumber. Neither the equation nor its operands may be this graph's own.
  constexpr int append(const equation& e, number_range in) {
    const int first = pool.size(), k = eq.size();
    int* operands = pool.extend(in.count);
    for (int j = 0; j < in.count; ++j) operands[j] = in.data[j];
    equation& added = *eq.extend(1);
    added = e;
    added.first = first;
    added.count = in.count;
    if (pulled_in && !e.pulled_in) added.pulled_in = pulled_in;
    return k;
  }
  /// Appends equation k of another graph; `to` has the new numbers of its operands.
  constexpr int append_renumbered(const graph& from, int k, const int* to) {
    const equation& e = from.eq.data()[k];
    const int* in = from.pool.data() + e.first;
    const int first = pool.size();
    int* operands = pool.extend(e.count);
    for (int j = 0; j < e.count; ++j) operands[j] = to[in[j]];
    equation& added = *eq.extend(1);
    added = e;
    added.first = first;
    return eq.size() - 1;
  }

  /// The number of the equation that holds argument `number`, or -1.
  constexpr int input(int number) const {
    for (int k = 0; k < eq.size(); ++k)
      if (eq[k].op->what == kind::input && eq[k].attr[0] == number) return k;
    return -1;
  }

 private:
  static constexpr int few_shapes = 8;
  static constexpr unsigned hash_of(const shape& s) {
    std::uint64_t h = static_cast<std::uint64_t>(s.rank);
    for (int i = 0; i < s.rank; ++i) h = (h ^ static_cast<std::uint32_t>(s.e[i])) * 0x9E3779B97F4A7C15u;
    return static_cast<unsigned>(h >> 32);
  }
  // One statement, not a call for each word: half of all steps of a pass were spent here.
  static constexpr unsigned hash_of(const equation& e, const int* in, int count) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    std::uint64_t h = ((e.op->id ^ static_cast<std::uint64_t>(e.attr[0])) * odd ^ static_cast<std::uint64_t>(e.attr[1])) * odd ^
                      (static_cast<std::uint64_t>(e.shape) << 32 ^ static_cast<std::uint64_t>(e.sub + 1));
    for (int j = 0; j < count; ++j) h = (h ^ static_cast<std::uint64_t>(in[j])) * odd;
    return static_cast<unsigned>(h * odd >> 32);
  }
  constexpr bool equal(const equation& o, const equation& e, number_range in) const {
    if (o.op->id != e.op->id || o.shape != e.shape || o.count != in.count || o.sub != e.sub || o.attr[0] != e.attr[0] ||
        o.attr[1] != e.attr[1] || !pulled_alike(o, e))
      return false;
    const int* there = pool.data() + o.first;
    for (int j = 0; j < in.count; ++j)
      if (there[j] != in.data[j]) return false;
    return true;
  }
  constexpr bool pulled_alike(const equation& there, const equation& e) const {
    const maybe_context own = e.pulled_in ? e.pulled_in : pulled_in;
    if (!own || !there.pulled_in) return !own && !there.pulled_in;
    const cast_context &a = *own.operator->(), &b = *there.pulled_in.operator->();
    return a.number == b.number && a.assumed == b.assumed && a.of_call == b.of_call;
  }
  EBB_ONCE constexpr void rehash() {
    int size = 64;
    while (size < eq.size() * 8 || size < eq.capacity() * 2) size *= 2;
    vec<int> table;
    table.extend(size);  // of zeros
    int* const to = table.data();
    const unsigned mask = static_cast<unsigned>(size - 1);
    for (int k = 0; k < eq.size(); ++k) {
      const equation& e = eq.data()[k];
      unsigned at = hash_of(e, pool.data() + e.first, e.count) & mask;
      while (to[at] > 0) at = (at + 1) & mask;
      to[at] = k + 1;
    }
    table_.swap(table);
    mask_ = mask;
    room_ = size / 2;
  }

  vec<int> table_;  // open addressing over numbers of equations, counted from 1
  unsigned mask_ = 0;
  int room_ = 0;  // how many equations the table is good for
  hash_index shapes_by_hash_;  // those from few_shapes to shapes_seen_
  int shapes_seen_ = 0, last_shape_ = 0;
};

/// A graph with the same arguments, symbols and shapes, and no equations yet.
EBB_ONCE constexpr graph shell_without_subs(const graph& g) {
  graph r;
  r.shapes = g.shapes;
  r.inputs = g.inputs;
  r.syms = g.syms;
  r.brings = g.brings;
  r.casts = g.casts;
  r.eq.reserve(g.eq.size());
  r.pool.reserve(g.pool.size());
  return r;
}
/// The same with its sub-graphs: where passes begin.
constexpr graph shell_of(const graph& g) {
  graph r = shell_without_subs(g);
  r.subs = g.subs;
  return r;
}

/// Operands of equation k of `from`, renumbered.
constexpr vec<int> renumbered(const graph& from, int k, const vec<int>& to) {
  vec<int> in;
  in.reserve(from.eq[k].count);
  for (int i : from.operands(k)) in.push(to[i]);
  return in;
}
constexpr number_range range_of(const vec<int>& v) { return {v.data(), v.size()}; }

}  // namespace ebb::inline EBB_ABI
