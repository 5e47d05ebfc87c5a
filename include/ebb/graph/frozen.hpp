// ebb/graph/frozen.hpp — a graph as a constant: arrays of exact size, which a constant expression may keep. Plans are frozen by it too.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one constant per stage]
// Memory that is allocated in a constant expression must be freed in it. The result of a stage is therefore frozen into
// arrays, and thawed there. Each stage is a constant of its own: compilers count steps per constant.
// The sizes of the arrays are known once the stage has been evaluated, and then it must be evaluated again. If a stage can guess them
// (`room`, from the graph it begins with), the first evaluation fills arrays of that size, and only they are cut.
// A type T can be frozen if size_of(T) and freeze<size>(T) are declared. The size knows whether it holds another one, and
// what is frozen whether it can be cut.
//
// [note: too large for clang]
// clang counts the steps of a constant and stops at 1,048,576, unless it is told otherwise. A trace beyond that is refused as E0126. If a
// trace fits and a later stage does not, the call is refused as E0309. That is asked for long graphs only, and then first whether the limit
// is raised: the question costs 10 ms, and each stage of a long graph is evaluated twice if it is not raised. A stage that is too large has
// a size with graphs = -1 and cannot be thawed, so that all stages after it are too large as well.
#pragma once

#include "graph.hpp"

#include <array>
#include <cstdlib>
#include <type_traits>

namespace ebb::inline EBB_ABI {

struct graph_size {
  int equations = 0, operands = 0, shapes = 0, outs = 0, symbols = 0, graphs = 0;

  constexpr bool holds(const graph_size& s) const {
    return s.equations <= equations && s.operands <= operands && s.shapes <= shapes && s.outs <= outs && s.symbols <= symbols &&
           s.graphs <= graphs;
  }
  /// A guess for the size of a graph of this size after a pass.
  constexpr graph_size times(int factor) const {
    return {factor * equations + 32, factor * operands + 64, factor * shapes + 8, factor * outs + 8, symbols + 8, graphs};
  }
  /// Whether a graph of this size may need more steps than clang allows: it takes up to a thousand for an equation and a stage.
  constexpr bool is_long() const { return equations >= 400 || graphs < 0; }
  /// That of a stage which is too large.
  static constexpr graph_size none() { return {.graphs = -1}; }
};

constexpr void add_size(const graph& g, graph_size& s) {
  s.equations += g.eq.size();
  s.operands += g.pool.size();
  s.shapes += g.shapes.size();
  s.outs += g.out.size();
  s.symbols += g.syms.count();
  ++s.graphs;
  for (const graph& sub : g.subs) add_size(sub, s);
}
constexpr graph_size size_of(const graph& g) {
  graph_size s;
  add_size(g, s);
  return s;
}

/// The place of a graph in the arrays.
struct frozen_part {
  graph_size first, count;
  int inputs = 0, subs = 0;
};

/// A frozen graph whatever its size: graph 0 is the program; sub-graphs follow in prefix order, each a range of the same arrays.
struct frozen_view {
  const equation* eq;
  const int* pool;
  const shape* shapes;
  const int* out;
  const symbols::item* syms;
  const frozen_part* parts;
  const graph_casts* casts;                   // of graph 0
  int simplified;                             // of graph 0
  own_pass brings;                             // of graph 0

  constexpr graph thaw() const {
    int number = 0;
    graph g = get(number);
    g.casts = *casts;
    g.simplified = simplified;
    g.brings = brings;
    return g;
  }

 private:
  EBB_ONCE constexpr graph get(int& number) const {
    const frozen_part& p = parts[number++];
    graph g;
    g.eq.append(eq + p.first.equations, p.count.equations);
    g.pool.append(pool + p.first.operands, p.count.operands);
    g.shapes.append(shapes + p.first.shapes, p.count.shapes);
    g.out.append(out + p.first.outs, p.count.outs);
    for (int i = 0; i < p.count.symbols; ++i) g.syms.push(syms[p.first.symbols + i]);
    g.inputs = p.inputs;
    for (int i = 0; i < p.subs; ++i) g.subs.push(get(number));
    return g;
  }
};

/// The arrays that a frozen_view refers to, of exact size.
template <graph_size Size>
struct frozen_graph {
  template <class T, int N>
  using items = std::array<T, static_cast<std::size_t>(N > 0 ? N : 1)>;

  static constexpr graph_size size_of_all = Size;
  items<equation, Size.equations> eq{};
  items<int, Size.operands> pool{};
  items<shape, Size.shapes> shapes{};
  items<int, Size.outs> out{};
  items<symbols::item, Size.symbols> syms{};
  items<frozen_part, Size.graphs> parts{};
  graph_casts casts{};                              // of graph 0
  int simplified = 0;                               // of graph 0
  own_pass brings{};                                // of graph 0

  constexpr int size() const { return parts[0].count.equations; }
  constexpr int outs() const { return parts[0].count.outs; }
  constexpr int inputs() const { return parts[0].inputs; }

  constexpr frozen_view view() const {
    return {eq.data(), pool.data(), shapes.data(), out.data(), syms.data(), parts.data(), &casts, simplified, brings};
  }
  constexpr graph thaw() const {
    if constexpr (Size.graphs < 0) std::abort();  // no constant
    return view().thaw();
  }

  template <graph_size Less>
  constexpr frozen_graph<Less> cut_to() const {
    frozen_graph<Less> r;
    const auto copy = [](const auto& from, auto& to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i];
    };
    copy(eq, r.eq);
    copy(pool, r.pool);
    copy(shapes, r.shapes);
    copy(out, r.out);
    copy(syms, r.syms);
    copy(parts, r.parts);
    r.remember(*this);
    return r;
  }
  /// The autocast questions of g, how far it is simplified, and the pass that it brings.
  constexpr void remember(const auto& g) {
    simplified = g.simplified;
    brings = g.brings;
    casts = g.casts;
  }
  constexpr void put(const graph& g, graph_size& at) {
    frozen_part& p = parts[static_cast<std::size_t>(at.graphs++)];
    p.first = at;
    p.count = {g.eq.size(), g.pool.size(), g.shapes.size(), g.out.size(), g.syms.count(), 1};
    p.inputs = g.inputs;
    p.subs = g.subs.size();
    copy(g.eq, eq, at.equations);
    copy(g.pool, pool, at.operands);
    copy(g.shapes, shapes, at.shapes);
    copy(g.out, out, at.outs);
    copy(g.syms.items(), syms, at.symbols);
    for (const graph& sub : g.subs) put(sub, at);
  }

 private:
  static constexpr void copy(const auto& from, auto& to, int& at) {
    for (const auto& x : from) to[static_cast<std::size_t>(at++)] = x;
  }
};

template <graph_size Size>
constexpr frozen_graph<Size> freeze(const graph& g) {
  frozen_graph<Size> f;
  graph_size at;
  f.put(g, at);
  f.remember(g);
  return f;
}

namespace detail {

template <class Make>
constexpr graph_size size_made() {
  return size_of(Make::make());
}
// By way of a function: clang 16 does not take an expression with a temporary that has a destructor for a constant here.
template <class Make, graph_size Size = size_made<Make>()>
constexpr graph_size size_if_constant(int) {
  return Size;
}
template <class Make>
constexpr graph_size size_if_constant(...) {
  return graph_size::none();
}

#if defined(__clang__)
/// More steps than clang allows by default: an empty statement is one. Called by way of a template parameter.
struct many_steps {
  static constexpr int take(int turns) {
    for (int i = 0; i < turns; ++i) {
      ;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;
    }
    return turns;
  }
};
template <class Steps>
inline constexpr bool limit_is_raised = requires { typename std::integral_constant<int, Steps::take(8400)>; };

template <class Make, graph_size Size>
constexpr bool is_frozen() {
  return freeze<Size>(Make::make()).parts[0].inputs >= 0;
}
#endif

/// Size, the size of Make::make(), if it can be frozen.
template <class Make, graph_size Size>
constexpr graph_size size_if_frozen() {
#if defined(__clang__)
  if constexpr (Size.graphs > 0 && Size.is_long())
    if constexpr (!limit_is_raised<many_steps>)
      if constexpr (!requires { typename std::bool_constant<is_frozen<Make, Size>()>; }) return graph_size::none();
#endif
  return Size;
}

}  // namespace detail

/// Make::make() as a constant. Make is a short nominal type; its name is all that ends up in symbols. If make() is no constant
/// expression, `size` says so, in a constant that is one, and the error is that of `g`.
template <class Make>
struct frozen {
  static constexpr graph_size size = detail::size_if_frozen<Make, detail::size_if_constant<Make>(0)>();
  static constexpr frozen_graph<size> g = freeze<size>(Make::make());
};

namespace detail {

/// A stage in arrays of the guessed size.
template <class Make>
struct first_attempt {
  template <auto Size>
  using of_size = decltype(freeze<Size>(Make::make()));
  static constexpr auto room = Make::room;

  decltype(Make::room) size;
  of_size<room> g;
  constexpr explicit first_attempt(const auto& made) : size(size_of(made)) {
    if (room.holds(size)) g = freeze<room>(made);
  }
};

template <class Make>
concept with_room = requires { Make::room; };

}  // namespace detail

template <detail::with_room Make>
struct frozen<Make> {
 private:
  using attempt = detail::first_attempt<Make>;
  static constexpr attempt first{Make::make()};

 public:
  static constexpr auto size = first.size;
  static constexpr typename attempt::template of_size<size> g = [] {
    if constexpr (attempt::room.holds(size)) return first.g.template cut_to<size>();
    else return freeze<size>(Make::make());
  }();
};

namespace detail {

#if defined(__clang__)

template <class Make>
constexpr bool makes_first() {
  const first_attempt<Make> first{Make::make()};
  return first.size.holds({});
}
template <class Make>
inline constexpr bool is_made = requires { typename std::bool_constant<makes_first<Make>()>; };
template <class Make>
constexpr bool exceeds_limit() {
  if constexpr (!Make::room.is_long()) return false;
  else if constexpr (limit_is_raised<many_steps>) return false;
  else return !is_made<Make>;
}

template <class Make>
concept too_large = with_room<Make> && exceeds_limit<Make>();

/// Whether a stage is a constant. Without a room its size tells: then a stage that is none for another reason is taken for too large.
template <class Frozen>
inline constexpr bool fits_limit = Frozen::size.graphs >= 0 || limit_is_raised<many_steps>;

#endif

}  // namespace detail

#if defined(__clang__)
template <detail::with_room Make>
  requires detail::too_large<Make>
struct frozen<Make> {
  static constexpr auto size = decltype(Make::room)::none();
  static constexpr typename detail::first_attempt<Make>::template of_size<size> g{};
};
#endif

template <class Frozen>
inline constexpr bool is_constant = Frozen::size.graphs > 0;

namespace detail {

/// The names of the ops that compute something, joined by '+'.
template <class Trace>
inline constexpr auto joined_names = [] {
  std::array<char, 48> text{};
  std::size_t at = 0;
  const auto put = [&](std::string_view s) {
    for (char c : s) text[at++] = c;
  };
  for (int k = 0; k < Trace::g.size(); ++k) {
    const op_info& op = *Trace::g.eq[static_cast<std::size_t>(k)].op;
    if (op.what == kind::input || op.what == kind::literal || op.what == kind::broadcast || op.what == kind::reshape) continue;
    if (at + op.name.size() + 5 > text.size()) {
      put("+...");
      break;
    }
    if (at > 0) put("+");
    put(op.name);
  }
  if (at == 0) put("identity");
  return text;
}();

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
