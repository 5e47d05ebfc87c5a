// ebb/pass/pattern.hpp — rewrite rules that are written as equations: matching, building, and the proof that rewriting ends.
// SPDX-License-Identifier: BSL-1.0
//
// Words of this file:
//   pattern    a tree of ops over wildcards and literals, as a type: the compiler sees through it, so that a rule costs a few comparisons
//   rule       left = right: an equation that the left side matches is replaced by what the right side builds
//   x y z c    wildcards: any equation, the same one at each place of the letter;  c0 c1: any literal
//
// [note: rewriting ends]
// Each side of a rule has a weight, a linear polynomial in the weights of its wildcards: one for each op and literal, twice the weight
// of its operand for a reduction. A rule is only accepted if its right side weighs less than its left side, whatever the wildcards
// weigh. So every rewrite makes the program smaller, or moves work below a reduction, and there is no endless rewriting.
#pragma once

#include "../graph/graph.hpp"
#include "../op/op.hpp"
#include "../op/source.hpp"

#include <cstddef>
#include <cstdint>

namespace ebb::inline EBB_ABI::op {

// Rules only name ops: declarations are enough, and families of ops need not be included.
struct add;
struct sub;
struct mul;
struct div;
struct neg;

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::rewriting {

/// An equation that is to be added to g, which has its operands, and the equations that the wildcards matched.
struct match {
  graph& g;
  const equation& e;
  const int* in;
  int bound[6] = {-1, -1, -1, -1, -1, -1};  // x y z c, then c0 c1

  constexpr const equation& x() const { return g.eq[bound[0]]; }
  constexpr const equation& literal(int number) const { return g.eq[bound[4 + number]]; }
  /// The equation of the left side that applies the op of this family: the head or one of its operands.
  constexpr const equation& like(std::uint64_t family) const {
    for (int j = 0; j < e.count; ++j)
      if (g.op(in[j]).family == family && e.op->family != family) return g.eq[in[j]];
    return e;
  }
};

/// One byte for the constant, then one for each wildcard: weights are added as numbers.
using weight = std::uint64_t;
/// Whether a is less than b whatever the wildcards weigh; each weighs one or more.
constexpr bool is_lighter(weight a, weight b) {
  int least = 0;
  for (int i = 0; i < 5; ++i) {
    const int more = static_cast<int>(b >> 8 * i & 255) - static_cast<int>(a >> 8 * i & 255);
    if (i > 0 && more < 0) return false;
    least += more;
  }
  return least > 0;
}

/// The factor of the operands' weight in the weight of an op.
template <class Op>
inline constexpr weight weighs_operands = 1;
template <class Op>
  requires(Op::what == kind::reduce)
inline constexpr weight weighs_operands<Op> = 2;

struct pattern {
  static constexpr bool possible(const match&) { return true; }
};
/// Whether P derives from pattern: then it has the injected name. std::is_base_of would be a class and a variable for each rule's types.
template <class P>
concept is_pattern = requires { typename P::pattern; };

template <int I>
struct wildcard : pattern {
  static constexpr std::uint64_t family = 0;
  static constexpr weight weighs = weight{1} << 8 * (I + 1);
  static constexpr bool matches(match& m, int k) { return m.bound[I] < 0 ? (m.bound[I] = k, true) : m.bound[I] == k; }
  static constexpr int build(match& m) { return m.bound[I]; }
};

/// A literal, whatever its value.
template <int I>
struct constant : pattern {
  static constexpr std::uint64_t family = family_of<op::literal>;
  static constexpr weight weighs = 1;
  static constexpr bool matches(match& m, int k) { return m.g.op(k).what == kind::literal && wildcard<4 + I>::matches(m, k); }
  static constexpr int build(match& m) { return m.bound[4 + I]; }
};

/// The literal of this value in any dtype. Minus zero is the neutral element of sums; of integers it is zero.
template <int Value, bool Minus = false>
struct literal_of : pattern {
  static constexpr std::uint64_t family = family_of<op::literal>;
  static constexpr weight weighs = 1;
  static constexpr cell bits[7] = {literal_bits<bool>(Value == 1), literal_bits<std::int32_t>(Value), literal_bits<std::int64_t>(Value),
                                  literal_bits<float16>(Minus ? -0.0f : static_cast<float>(Value)),
                                  literal_bits<bfloat16>(Minus ? -0.0f : static_cast<float>(Value)),
                                  literal_bits<float>(Minus ? -0.0f : static_cast<float>(Value)),
                                  literal_bits<double>(Minus ? -0.0 : static_cast<double>(Value))};
  static constexpr bool matches(match& m, int k) {
    return m.g.op(k).what == kind::literal && static_cast<cell>(m.g.eq[k].attr[0]) == bits[static_cast<int>(m.g.op(k).result)];
  }
  static constexpr int build(match& m) { return m.e.op->kit->constant(m.g, m.e.shape, bits[static_cast<int>(m.e.op->result)]); }
};

struct as_they_are {
  static constexpr bool changes = false;
};

/// Op on operands. On a right side: the op and its attributes come from the left side, or from `Attributes`, a function of the match.
template <class Op, class Attributes, class... P>
struct node_with : pattern {
  using head = Op;
  static constexpr std::uint64_t family = family_of<Op>;
  static constexpr weight weighs = 1 + weighs_operands<Op> * (weight{0} + ... + P::weighs);
  static constexpr bool operands_match(match& m, const int* in) { return (P::matches(m, *in++) && ...); }
  static constexpr bool matches(match& m, int k) { return m.g.op(k).family == family && operands_match(m, m.g.operands(k).data); }
  static constexpr int build(match& m) {
    const int in[] = {P::build(m)...};
    if constexpr (std::is_same_v<Op, op::add>) return m.e.op->kit->add(m.g, in[0], in[1]);
    else if constexpr (std::is_same_v<Op, op::sub>) return m.e.op->kit->sub(m.g, in[0], in[1]);
    else if constexpr (std::is_same_v<Op, op::neg>) return m.e.op->kit->neg(m.g, in[0]);
    else {
      equation r = m.like(family);
      r.shape = m.e.shape;
      if constexpr (!std::is_same_v<Attributes, as_they_are>) {
        const attributes a = Attributes{}(m);
        r.attr[0] = a.a;
        r.attr[1] = a.b;
      }
      return m.g.add(r, number_range{in, sizeof...(P)});
    }
  }
  template <class F>
  constexpr node_with<Op, F, P...> with(F) const {
    return {};
  }
};
template <class Op, class... P>
using node = node_with<Op, as_they_are, P...>;

/// Right sides: a literal in the shape of the left side.
template <int I>
struct filled : pattern {
  static constexpr weight weighs = 1;
  static constexpr int build(match& m) {
    equation l = m.literal(I);
    l.shape = m.e.shape;
    return m.g.add(l, {});
  }
};

/// Operands of a folded op are at most 2^n and at least 2^-n, or zero: the n for each dtype.
constexpr int tame_exponent(dtype d) {
  constexpr int exponents[] = {60, 15, 31, 15, 60, 60, 500};
  return exponents[static_cast<int>(d)];
}
constexpr double number_of(dtype d, cell bits) {
  return with_dtype(d, [&]<class T>(T) {
    using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    return static_cast<double>(static_cast<wide>(from_cell<T>(bits)));
  });
}
constexpr bool is_tame(double number, int exponent) {
  double large = 1;
  for (int i = 0; i < exponent; ++i) large *= 2;
  const double size = number < 0 ? -number : number;
  return size == 0 || (size >= 1 / large && size <= large);
}

/// Right sides: the value of an op on literals.
///
/// [note: folding keeps out of trouble]
/// A constant expression must not overflow, divide by zero or make a NaN. An equation that could is not folded, by passes at run time
/// either: a program must not depend on where its passes ran. Vector functions are not folded: without fma their bits may differ.
constexpr bool can_fold(const match& m, const op_info& op, bool divides) {
  int exponent = tame_exponent(op.result);
  for (int j = 0; j < op.arity; ++j)
    if (tame_exponent(op.operands[j]) < exponent) exponent = tame_exponent(op.operands[j]);
  double number[2] = {1, 1};
  for (int i = 0; i < 2; ++i) {
    if (m.bound[4 + i] < 0) continue;
    number[i] = number_of(m.literal(i).op->result, static_cast<cell>(m.literal(i).attr[0]));
    if (!is_tame(number[i], exponent)) return false;
  }
  return !divides || number[1] != 0;
}
constexpr int fold_literals(match& m, const op_info& op, const int* in, int count) {
  cell given[3] = {}, bits = 0;
  for (int j = 0; j < count; ++j) given[j] = static_cast<cell>(m.g.eq[in[j]].attr[0]);
  op.scalar(given, &bits);
  return op.kit->constant(m.g, m.e.shape, bits);
}

template <class Node>
struct folded;
template <class Op, class... P>
struct folded<node<Op, P...>> : pattern {
  static constexpr weight weighs = 1;
  static constexpr bool possible(const match& m) { return can_fold(m, *m.like(family_of<Op>).op, std::is_same_v<Op, op::div>); }
  static constexpr int build(match& m) {
    const int in[] = {P::build(m)...};
    return fold_literals(m, *m.like(family_of<Op>).op, in, sizeof...(P));
  }
};

/// A rule without its types.
struct erased_rule {
  std::uint64_t head = 0, operands[3] = {};  // families; 0: any
  int (*apply)(match&) = nullptr;  // the number of the equation that replaces it, or -1
};

inline constexpr auto always = [](const match&) { return true; };

template <class Left, class Right, class Condition>
struct rule_of;
template <class Op, class... P, class Right, class Condition>
struct rule_of<node<Op, P...>, Right, Condition> {
  static_assert(is_lighter(Right::weighs, node<Op, P...>::weighs), "a rule must make the program smaller: see [note: rewriting ends]");

  static constexpr int apply(match& m) {
    return node<Op, P...>::operands_match(m, m.in) && Condition{}(m) && Right::possible(m) ? Right::build(m) : -1;
  }
  static constexpr erased_rule erased{family_of<Op>, {P::family...}, &apply};
};

/// left = right if the condition, a function of the match, holds.
template <is_pattern Left, is_pattern Right, class Condition = decltype(always)>
constexpr erased_rule rule(Left, Right, Condition = {}) {
  return rule_of<Left, Right, Condition>::erased;
}

/// Rules as data. Those of one op are adjacent and found by a hash: an equation takes one look-up. The order of the rules of an op counts.
template <int N>
class rule_list {
 public:
  constexpr explicit rule_list(const erased_rule (&rules)[static_cast<std::size_t>(N)]) {
    for (int& f : first_) f = N;
    int count = 0;
    for (int i = 0; i < N; ++i) {
      const std::uint64_t head = rules[i].head;
      int at = slot(head);
      while (first_[at] < N && rules_[first_[at]].head != head) at = (at + 1) % slots;
      if (first_[at] < N) continue;
      first_[at] = count;
      for (int j = i; j < N; ++j)
        if (rules[j].head == head) rules_[count++] = rules[j];
    }
  }

  /// The equation that replaces e, which is to be added to g, or -1. The first rule that matches decides.
  constexpr int apply(graph& g, const equation& e, const int* in) const {
    const std::uint64_t family = e.op->family;
    int at = slot(family);
    while (rules_[first_[at]].head != family) {
      if (first_[at] == N) return -1;
      at = (at + 1) % slots;
    }
    const equation* eq = g.eq.data();
    const std::uint64_t families[] = {eq[in[0]].op->family, e.count > 1 ? eq[in[1]].op->family : 0, e.count > 2 ? eq[in[2]].op->family : 0};
    for (const erased_rule* r = rules_ + first_[at]; r->head == family; ++r)
      if ((!r->operands[0] || r->operands[0] == families[0]) && (!r->operands[1] || r->operands[1] == families[1]) &&
          (!r->operands[2] || r->operands[2] == families[2]))
      {
        match m{g, e, in};
        if (const int to = r->apply(m); to >= 0) return to;
      }
    return -1;
  }
  constexpr const erased_rule* begin() const { return rules_; }
  constexpr const erased_rule* end() const { return rules_ + N; }

 private:
  static constexpr int slots = 128;
  static constexpr int slot(std::uint64_t family) { return static_cast<int>(family >> 57); }

  erased_rule rules_[N + 1] = {};  // the last one belongs to no op
  int first_[slots] = {};
};
template <std::size_t N>
rule_list(const erased_rule (&)[N]) -> rule_list<static_cast<int>(N)>;

template <int N, int M>
constexpr rule_list<N + M> operator+(const rule_list<N>& a, const rule_list<M>& b) {
  erased_rule all[static_cast<std::size_t>(N + M)] = {};
  std::size_t count = 0;
  for (const erased_rule& r : a) all[count++] = r;
  for (const erased_rule& r : b) all[count++] = r;
  return rule_list<N + M>(all);
}

inline constexpr wildcard<0> x{};
inline constexpr wildcard<1> y{};
inline constexpr wildcard<2> z{};
inline constexpr wildcard<3> c{};
inline constexpr constant<0> c0{};
inline constexpr constant<1> c1{};
inline constexpr literal_of<0> zero{};
inline constexpr literal_of<0, true> minus_zero{};
inline constexpr literal_of<1> one{};
inline constexpr literal_of<-1> minus_one{};

template <is_pattern A, is_pattern B>
constexpr node<op::add, A, B> operator+(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::sub, A, B> operator-(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::mul, A, B> operator*(A, B) { return {}; }
template <is_pattern A, is_pattern B>
constexpr node<op::div, A, B> operator/(A, B) { return {}; }
template <is_pattern A>
constexpr node<op::neg, A> operator-(A) { return {}; }

/// An op by its name: an object, because a function would be ambiguous with the one that users call.
template <class Op>
struct applied {
  template <is_pattern... P>
  constexpr node<Op, P...> operator()(P...) const { return {}; }
};

/// The value of an op on literals, and a literal in the shape of the left side.
template <is_pattern Node>
constexpr folded<Node> fold(Node) { return {}; }
template <int I>
constexpr filled<I> fill(constant<I>) { return {}; }

/// Applies rules to an equation that a rule has built, until none matches.
template <int N>
constexpr int again(graph& g, int k, const rule_list<N>& rules) {
  for (;;) {
    const equation e = g.eq[k];
    if (e.count == 0 || e.count > 3) return k;
    int in[3] = {};
    for (int j = 0; j < e.count; ++j) in[j] = g.operand(k, j);
    const int next = rules.apply(g, e, in);
    if (next < 0 || next == k) return k;
    k = next;
  }
}

/// Goes once from the first equation to the last: operands are rewritten before the equations that use them, and equal results are shared.
template <int N>
constexpr graph rewrite(const graph& g, const rule_list<N>& rules) {
  graph r = shell_of(g);
  vec<int> to(g.size(), -1), many;
  int few[4] = {};
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq.data()[k];
    const int* from = g.pool.data() + e.first;
    int* in = few;
    if (e.count > 4) {
      if (many.size() < e.count) many.extend(e.count - many.size());
      in = many.data();
    }
    for (int j = 0; j < e.count; ++j) in[j] = to.data()[from[j]];
    int same = -1;
    if (e.count > 0) same = rules.apply(r, e, in);
    to.data()[k] = same < 0 ? r.add(e, number_range{in, e.count}) : again(r, same, rules);
  }
  for (int o : g.out) r.out.push(o < 0 ? -1 : to[o]);
  return r;
}

}  // namespace ebb::inline EBB_ABI::rewriting
