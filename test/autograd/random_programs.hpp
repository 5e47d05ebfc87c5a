// test/autograd/random_programs.hpp — random programs for a tape: lists of steps of which any may be left out.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace random_programs {

/// The action of a step. A step that makes variables numbers them `id` and `id + 1`; a step with a missing operand does nothing.
enum class op {
  leaf,                                                          // id
  mul, plus, tanh_c, scale, two, through, blocked, split, total, // id = op(a, b); flag `unrecorded`
  hook,                                                          // id: a hook of kind b on variable a
  unhook, retain, drop, assign, write, set_grad, zero_grad, hold_grad,  // a
  backward, grad,                                                // roots a (array) and b (scalar), `list`: inputs or wrt
  masked, leaf_wide, widen, mul_wide, narrowed                   // id = op(a, b), of variety mixed: see capture/random_mixed.hpp
};
inline constexpr const char* op_names[] = {"leaf",  "mul",     "plus",  "tanh_c", "scale",  "two",  "through",
                                           "blocked", "split", "total", "hook",   "unhook", "retain", "drop",
                                           "assign", "write", "set_grad", "zero_grad", "hold_grad", "backward", "grad",
                                          "masked", "leaf_wide", "widen", "mul_wide", "narrowed"};

enum class hook_kind {
  look, look_and_double, keep, once, adds_another, throws, queues, nested,  // opaque, also on scalars
  half, plus_bound, on_tape,                                                // traced; on variables
  before_look, before_double, before_clear, after_look, after_double, after_throws,  // of nodes
  accumulated_look, accumulated_double, accumulated_step,                   // of leaves
  plus_number, traced_step, traced_clear, traced_gradient,                  // traced; of a variable, then of leaves
  meddles,                                                                  // opaque: does something to another variable
  before_both, after_mixed                                                  // traced; of nodes, see several gradients
};
inline constexpr int hook_kinds[] = {20, 25, 27};  // by variety
constexpr bool is_of_leaf(hook_kind k) {
  return k == hook_kind::traced_step || k == hook_kind::traced_clear || k == hook_kind::traced_gradient ||
         (k >= hook_kind::accumulated_look && k <= hook_kind::accumulated_step);
}

enum flag {
  retain_graph = 1, create_graph = 2, seed_a = 4, seed_b = 8, with_inputs = 16, allow_unused = 32, materialize = 64, unrecorded = 128
};

struct step {
  op what{};
  int id = 0, a = -1, b = -1, flags = 0;
  std::vector<int> list{};
};

/// The step that a hook of kind `nested` runs.
inline step nested_grad(const step& s) {
  const int flags = retain_graph | seed_a | allow_unused | (s.id % 3 ? 0 : create_graph);
  return {op::grad, s.id, s.list[0], -1, flags, {s.list[1], s.list[2]}};
}

/// The step that a hook of kind `meddles` runs: list holds the kind of step, its variable, and its further operands.
inline step meddling(const step& s) { return {static_cast<op>(s.list[0]), s.id + 1, s.list[1], s.list[2]}; }

/// The variety of programs. wide: all kinds of hooks, arrays of several blocks; mixed: wide, and arrays of double and of bool.
enum class variety { narrow, wide, mixed };

struct program {
  std::uint64_t seed = 0;
  std::size_t extent = 0;
  std::vector<step> steps{};

  /// The program as C++, to be pasted into a test.
  std::string text() const {
    std::string s = "{" + std::to_string(seed) + ", " + std::to_string(extent) + ", {\n";
    for (const step& x : steps) {
      s += "  {op::" + std::string(op_names[static_cast<int>(x.what)]);
      for (int i : {x.id, x.a, x.b, x.flags}) s += ", " + std::to_string(i);
      s += ", {";
      for (std::size_t i = 0; i < x.list.size(); ++i) s += (i ? ", " : "") + std::to_string(x.list[i]);
      s += "}},\n";
    }
    return s + "}}";
  }
};

/// The elements that a step makes up: small numbers of both signs.
inline std::vector<float> values_of(const program& p, int id, std::size_t n) {
  std::mt19937_64 r(p.seed * 1000003 + static_cast<std::uint64_t>(id));
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(static_cast<int>(r() % 4001) - 2000) / 1536.f;
  return v;
}

/// Whole numbers from -2 to 2, for exact arithmetic.
inline std::vector<float> small_numbers(const program& p, int id, std::size_t n) {
  std::vector<float> v = values_of(p, id, n);
  for (float& x : v) x = static_cast<float>(static_cast<int>(x * 1.6f));
  return v;
}

class generator {
 public:
  explicit generator(std::uint64_t seed, variety v = variety::narrow) : r_(seed * 7919 + 1), variety_(v) {
    static constexpr std::size_t extents[][10] = {{0, 1, 1, 2, 3, 5, 8, 16, 19, 37}, {0, 1, 7, 7, 16, 19, 33, 128, 200, 300},
                                                  {0, 1, 7, 7, 16, 19, 33, 64, 130, 300}};
    p_.seed = seed;
    p_.extent = extents[static_cast<int>(v)][below(10)];
  }

  program make() {
    for (int i = 0, n = 1 + below(4); i < n; ++i) leaf();
    for (int i = 0, n = 6 + below(40); i < n; ++i) next();
    if (scalars_.empty()) reduce();
    walk(op::backward);
    return p_;
  }
  /// Uses only arithmetic that is exact on small whole numbers: for second derivatives.
  program make_polynomial() {
    for (int i = 0, n = 1 + below(3); i < n; ++i) leaf();
    for (int i = 0, products = 0, n = 2 + below(6); i < n; ++i) {
      static constexpr op ops[] = {op::plus, op::through, op::scale, op::mul, op::mul, op::two, op::split, op::blocked};
      const int which = below(products < 3 ? 8 : 3);  // each product at most doubles the degree
      products += which >= 3;
      region(ops[which]);
    }
    reduce();
    return p_;
  }

 private:
  int below(int n) { return static_cast<int>(r_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  int any(const std::vector<int>& v) {
    if (v.empty()) return -1;
    const int n = static_cast<int>(v.size());
    return v[static_cast<std::size_t>(one_in(3) ? n - 1 : below(n))];  // often the last
  }
  /// A gradient by an argument that a region passes on is refused where the region's other result is reached: see region.cpp.
  int wish(int v) { return std::count(passed_on_.begin(), passed_on_.end(), v) ? v + 1 : v; }
  int add(step s) {
    s.id = next_id_;
    next_id_ += 2;
    p_.steps.push_back(std::move(s));
    return p_.steps.back().id;
  }

  void leaf() { vectors_.push_back(leaves_.emplace_back(add({op::leaf}))); }
  void region(op what) {
    const bool binary = what == op::mul || what == op::plus || what == op::two || what == op::blocked || what == op::split;
    const int id = add({what, 0, any(vectors_), binary ? any(vectors_) : -1, one_in(25) ? int{unrecorded} : 0});
    vectors_.push_back(id);
    if (what == op::through) passed_on_.push_back(id);
    const bool is_double = what == op::two || what == op::through || what == op::split;
    if (is_double && !one_in(4)) vectors_.push_back(id + 1);  // else its second result is never used
  }
  void reduce() { scalars_.push_back(add({op::total, 0, any(vectors_)})); }
  void hook() {
    step s{op::hook, 0, any(vectors_), below(hook_kinds[static_cast<int>(variety_)])};
    if (variety_ == variety::wide && one_in(6)) s.b = static_cast<int>(hook_kind::meddles);
    const auto k = static_cast<hook_kind>(s.b);
    if (is_of_leaf(k) && !one_in(10)) s.a = any(leaves_);
    else if (one_in(6)) s.a = any(scalars_);
    if ((k == hook_kind::throws || k == hook_kind::after_throws) && one_in(2)) return;
    if (k == hook_kind::nested) s.list = {any(vectors_), any(leaves_), wish(any(vectors_))};
    if (k == hook_kind::meddles) {
      static constexpr op ops[] = {op::hook, op::hook, op::unhook, op::retain, op::assign, op::set_grad, op::zero_grad};
      static constexpr hook_kind added[] = {hook_kind::look, hook_kind::half, hook_kind::plus_number, hook_kind::before_look,
                                            hook_kind::after_double, hook_kind::accumulated_look, hook_kind::traced_step};
      const op what = ops[below(7)];
      const bool is_leafs = what == op::assign || what == op::set_grad || what == op::zero_grad;
      s.list = {static_cast<int>(what), what == op::unhook ? any(hooks_) : any(is_leafs ? leaves_ : vectors_),
                static_cast<int>(added[below(7)])};
    }
    hooks_.push_back(add(std::move(s)));
  }
  void walk(op what) {
    step s{what};
    if (one_in(3)) s.a = any(vectors_);
    if (s.a < 0 || one_in(3)) s.b = any(scalars_);
    s.flags |= one_in(2) ? retain_graph : 0;
    s.flags |= one_in(6) ? create_graph : 0;
    s.flags |= one_in(12) ? 0 : seed_a;
    s.flags |= one_in(3) ? seed_b : 0;
    if (what == op::grad) s.flags |= (one_in(2) ? allow_unused : 0) | (one_in(3) ? materialize : 0);
    else if (one_in(4)) s.flags |= with_inputs;
    if (what == op::grad || (s.flags & with_inputs))
      for (int i = 0, n = 1 + below(3); i < n; ++i) s.list.push_back(wish(any(one_in(2) ? leaves_ : vectors_)));
    add(std::move(s));
  }
  void drop() {
    std::vector<int>& from = one_in(6) ? scalars_ : vectors_;
    const int v = any(from);
    if (v < 0 || from.size() < 2) return;
    add({op::drop, 0, v});
    if (one_in(8)) return;  // used again, and missing
    std::erase(from, v);
    std::erase(leaves_, v);
  }
  /// Steps among arrays of double, and conversions from and to them.
  void mixed_step() {
    const auto make = [&](std::vector<int>& to, step s) { to.push_back(add(std::move(s))); };
    switch (wides_.empty() ? below(2) : below(12)) {
      case 0: return make(wides_, {op::leaf_wide});
      case 1: case 2: return make(wides_, {op::widen, 0, any(vectors_)});
      case 3: case 4: case 5: return make(wides_, {op::mul_wide, 0, any(wides_), any(wides_)});
      case 6: case 7: return make(vectors_, {op::narrowed, 0, any(wides_)});
      case 8: {
        static constexpr hook_kind kinds[] = {hook_kind::look, hook_kind::half, hook_kind::plus_number, hook_kind::before_double};
        return make(hooks_, {op::hook, 0, any(wides_), static_cast<int>(kinds[below(4)])});
      }
      case 9: add({one_in(2) ? op::retain : op::zero_grad, 0, any(wides_)}); return;
      default: return make(vectors_, {op::masked, 0, any(vectors_), any(vectors_)});
    }
  }
  void next() {
    if (variety_ == variety::mixed && one_in(3)) return mixed_step();
    switch (const int x = below(100); x / 4) {
      case 0: return leaf();
      case 1: case 2: case 3: return region(op::mul);
      case 4: case 5: return region(op::plus);
      case 6: return region(op::tanh_c);
      case 7: return region(op::scale);
      case 8: case 9: return region(op::two);
      case 10: return region(op::through);
      case 11: return region(op::blocked);
      case 12: return region(op::split);
      case 13: case 14: return reduce();
      case 15: case 16: case 17: return hook();
      case 18:
        if (!hooks_.empty()) add({op::unhook, 0, any(hooks_)});
        return;
      case 19: add({op::retain, 0, any(one_in(5) ? scalars_ : vectors_)}); return;
      case 20: return drop();
      case 21: {
        static constexpr op writes[] = {op::assign, op::write, op::set_grad, op::zero_grad, op::hold_grad, op::hold_grad};
        add({writes[below(6)], 0, any(one_in(8) ? vectors_ : leaves_)});
        return;
      }
      case 22: case 23: return walk(op::backward);
      default: return walk(op::grad);
    }
  }

  std::mt19937_64 r_;
  variety variety_;
  program p_;
  int next_id_ = 0;
  std::vector<int> vectors_, leaves_, scalars_, hooks_, wides_, passed_on_;
};

/// Leaves out the steps that the failure does not need.
template <class Fails>
program shrink(program p, Fails fails) {
  for (std::size_t size = std::max<std::size_t>(p.steps.size() / 2, 1);; size /= 2) {
    for (std::size_t at = 0; at + size <= p.steps.size();) {
      program fewer = p;
      const auto first = fewer.steps.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.steps.erase(first, first + static_cast<std::ptrdiff_t>(size));
      if (fails(fewer)) p = std::move(fewer);
      else at += size;
    }
    if (size == 1) return p;
  }
}

}  // namespace random_programs
