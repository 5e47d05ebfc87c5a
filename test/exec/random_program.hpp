// test/exec/random_program.hpp — random graphs from a seed, at compile time and at run time.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/exec/evaluate.hpp>
#include <ebb/graph/splice.hpp>
#include <ebb/op/contract.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/extremum.hpp>
#include <ebb/op/gather.hpp>
#include <ebb/op/move.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/pass/prune.hpp>
#include <ebb/shapes/scatter.hpp>

#include <cstdint>
#include <type_traits>

namespace test {

using ebb::dtype;
using ebb::operand;

struct random_numbers {
  std::uint64_t state;
  constexpr explicit random_numbers(std::uint64_t seed) : state(seed) { state = next() ^ seed << 32; }
  constexpr std::uint64_t next() {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  constexpr int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
};

/// A graph and the requirements on its arguments.
struct random_program {
  ebb::graph g;
  ebb::vec<ebb::extent_list> arguments;  // extents
  ebb::vec<dtype> types;
  ebb::vec<std::size_t> places;  // for integers that are positions: the number of positions; else 0
};

struct random_options {
  int equations = 40;
  int largest = 20000;      // elements of an array
  int longest = 13000;      // extent of an axis
  bool short_axes = false;  // the last two axes are static, with extents of at most 9
  bool moves = false;       // every third equation selects, cuts, joins, pads or transposes
};

/// Narrow: all dtypes; else float, double and bool, which saves compile time.
template <bool Narrow>
class random_program_maker {
 public:
  constexpr random_program_maker(std::uint64_t seed, random_options options) : random_(seed), options_(options) {
    choose_axes();
    const int arguments = 2 + random_.below(3);
    for (int i = 0; i < arguments; ++i) add_argument();
    while (g_.size() < options.equations && ++tries_ < 6 * options.equations) add_equation();
    choose_outputs();
  }
  constexpr random_program take() {
    r_.g = ebb::prune(ebb::canonical_shapes(g_));
    return static_cast<random_program&&>(r_);
  }

 private:
  static constexpr int axes = 3;
  template <class T>
  static constexpr bool is_taken = Narrow || std::is_floating_point_v<T> || std::is_same_v<T, bool>;

  constexpr void choose_axes() {
    constexpr int sizes[] = {1, 2, 3, 5, 7, 13, 16, 17, 31, 32, 33, 64, 100, 127, 257, 1000, 4099, 5000, 0, 8193, 9000, 12289};
    int volume = 1;
    for (int a = 0; a < axes; ++a) {
      int size = sizes[random_.below(22)];
      if (size == 0 && random_.below(3) != 0) size = 4;
      if (size > options_.longest || volume * size > options_.largest) size = 1 + random_.below(6);
      if (options_.short_axes && a > 0) size = 1 + random_.below(a == 1 ? 4 : 9);
      volume *= size > 0 ? size : 1;
      size_[a] = size;
      dynamic_[a] = random_.below(2) == 0 && size != 1 && !(options_.short_axes && a > 0);
      if (size == 0) dynamic_[a] = true;
    }
  }
  constexpr void add_argument() {
    const int number = g_.inputs++, rank = random_.below(axes + 1);
    int first = random_.below(axes);
    const bool rows = number > 0 && Narrow && random_.below(6) == 0;
    ebb::shape s;
    ebb::extent_list x;
    for (int i = 0; i < (rows ? 1 : rank); ++i) {
      const int a = (first + i) % axes;
      int e = size_[a];
      if (dynamic_[a]) {
        e = g_.syms.fresh({ebb::extent_rule::argument, number, i});
        if (symbol_[a] < 0) g_.syms.unify(symbol_[a], e);
        else symbol_[a] = e;
      }
      s.push(e);
      x.e[x.rank++] = static_cast<std::size_t>(size_[a]);
    }
    r_.arguments.push(x);
    r_.places.push(rows ? static_cast<std::size_t>(size_[first]) : 0);
    constexpr dtype real[] = {dtype::f32, dtype::f32, dtype::f64, dtype::f32};
    constexpr dtype any[] = {dtype::f32, dtype::f64, dtype::bf16, dtype::f16, dtype::i64, dtype::i32};
    const dtype type = rows                         ? (random_.below(2) ? dtype::i32 : dtype::i64)
                       : Narrow && random_.below(2) ? any[random_.below(6)]
                                                    : real[random_.below(4)];
    r_.types.push(type);
    const int shape = g_.intern(s);
    const int k = ebb::with_dtype(type, [&]<class T>(T) {
      if constexpr (!is_taken<T>) return -1;
      else return ebb::emit_as<ebb::op::input, T>(g_, shape, {}, {number});
    });
    if (rows) rows_.push(k);
    else add(k, 9);
  }

  constexpr std::size_t value(int e) const {
    if (e >= 0) return static_cast<std::size_t>(e);
    const ebb::extent_origin o = g_.syms.origin(~e);
    if (o.rule == ebb::extent_rule::argument) return r_.arguments[o.a].e[o.b];
    return static_cast<std::size_t>(ebb::apply(o.rule, static_cast<std::int64_t>(value(o.a)), static_cast<std::int64_t>(value(o.b))));
  }
  constexpr std::size_t volume(const ebb::shape& s, int first, int last) const {
    std::size_t n = 1;
    for (int i = first; i < last; ++i) n *= value(s.e[i]);
    return n;
  }
  constexpr ebb::shape shape_of(int k) const { return g_.syms.find(g_.shape_of(k)); }
  constexpr bool fits(const ebb::shape& s) const { return volume(s, 0, s.rank) <= static_cast<std::size_t>(2 * options_.largest); }

  /// Lets later equations use equation k. Integers are at most `bound`.
  constexpr void add(int k, double bound) {
    if (k < 0) return;
    for (int v : values_)
      if (v == k) return;
    values_.push(k);
    bounds_.push(bound);
  }
  /// The number of a value: usually one of the last.
  constexpr int any() {
    const int n = values_.size();
    return random_.below(3) ? n - 1 - random_.below(n < 6 ? n : 6) : random_.below(n);
  }
  constexpr dtype type_of(int k) const { return g_.op(k).result; }
  static constexpr bool is_integer(dtype d) { return d == dtype::i32 || d == dtype::i64; }
  constexpr int limited(int k, double bound) {
    if (type_of(k) == dtype::i32 && bound > 1e9) return -1;
    if (type_of(k) == dtype::i64 && bound > 1e17) return -1;
    return k;
  }

  constexpr void add_equation() {
    const int v = any(), x = values_[v];
    const double bound = bounds_[v];
    ebb::with_dtype(type_of(x), [&]<class T>(T) {
      if constexpr (std::is_same_v<T, bool>) truth(x);
      else if constexpr (is_taken<T>) {
        const operand<T> a{&g_, x};
        if (options_.moves && random_.below(3) == 0) return rearrange(a, bound);
        switch (random_.below(16)) {
          case 0: case 1: return unary(a, bound);
          case 2: case 3: case 4: case 5: return binary(a, bound);
          case 6: case 7: return reduce(a, bound);
          case 8: return move(a, bound);
          case 9: return view(a, bound);
          case 10: return product(a, bound);
          case 11: return compare(a, bound);
          case 12: return cast(a, bound);
          case 13: return index(a, bound);
          case 14: return rows(a, bound);
          default: return literal(a, bound);
        }
      }
    });
  }

  template <class Op, class T>
  constexpr int on(operand<T> a) { return ebb::emit_on<Op>({}, a).id; }
  template <class Op, class T>
  constexpr int on(operand<T> a, operand<T> b) { return ebb::emit_on<Op>({}, a, b).id; }

  template <class T>
  constexpr void unary(operand<T> a, double bound) {
    const int what = random_.below(8);
    if (what < 2) return add(on<ebb::op::neg>(a), bound);
    if (what < 3) return add(on<ebb::op::abs>(a), bound);
    if constexpr (std::is_floating_point_v<T>) {
      if (what == 3) return add(on<ebb::op::exp>(a), 0);
      if (what == 4) return add(on<ebb::op::tanh>(a), 0);
      if (what == 5) return add(on<ebb::op::square>(a), 0);
      if (what == 6) return add(on<ebb::op::log>(operand<T>{&g_, on<ebb::op::abs>(a)}), 0);
      add(on<ebb::op::relu>(a), 0);
    } else if constexpr (ebb::is_real(ebb::dtype_of<T>)) add(on<ebb::op::square>(a), 0);
  }

  /// b broadcast to the shape of a if possible, else none.
  template <class T, class L>
  constexpr operand<T> fitted(operand<T> b, operand<L> a) {
    const ebb::shape from = shape_of(b.id), to = shape_of(a.id);
    if (from == to) return b.shape_number() == a.shape_number() ? b : operand<T>{&g_, -1};
    if (from.rank >= to.rank) return {&g_, -1};
    std::int64_t repeated = 0;
    int at = from.rank;
    for (int i = to.rank - 1; i >= 0; --i) {
      const bool needed = at == i + 1;  // no axis left to leave out
      if (at > 0 && from.e[at - 1] == to.e[i] && (needed || random_.below(4) != 0)) --at;
      else repeated |= std::int64_t{1} << i;
    }
    if (at > 0) return {&g_, -1};
    return ebb::broadcast_to(b, a.shape_number(), repeated);
  }
  template <class T>
  constexpr operand<T> partner(operand<T> a, double& bound) {
    for (int i = 0; i < 12; ++i) {
      const int v = random_.below(values_.size());
      if (type_of(values_[v]) != ebb::dtype_of<T>) continue;
      const operand<T> b = fitted(operand<T>{&g_, values_[v]}, a);
      if (b.id < 0) continue;
      bound = bounds_[v];
      return b;
    }
    return a;
  }
  template <class T>
  constexpr void binary(operand<T> a, double bound) {
    double other = bound;
    operand<T> b = partner(a, other);
    if (random_.below(2)) std::swap(a, b);
    if (limited(a.id, bound + other) < 0) return;
    if (random_.below(12) == 0) add(b.id, other);  // b is available as a value too
    const double sum = bound + other;
    const int what = random_.below(8);
    if (what < 2) return add(on<ebb::op::add>(a, b), sum);
    if (what == 2) return add(on<ebb::op::sub>(a, b), sum);
    if (what == 3) return add(on<ebb::op::maximum>(a, b), sum);
    if constexpr (ebb::is_real(ebb::dtype_of<T>)) {
      if (what < 6) return add(on<ebb::op::mul>(a, b), 0);
      if constexpr (std::is_floating_point_v<T>)
        if (what == 6) return add(on<ebb::op::div>(a, b), 0);
    }
    add(on<ebb::op::minimum>(a, b), sum);
  }

  template <class T>
  constexpr void reduce(operand<T> a, double bound) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank == 0) return;
    const int first = random_.below(s.rank), last = random_.below(3) ? s.rank : first + 1 + random_.below(s.rank - first);
    const std::size_t length = volume(s, first, last);
    const int what = random_.below(4);
    const ebb::attributes attr{first, last};
    if (what == 0 && length > 0) return add(ebb::emit_on<ebb::op::max>(attr, a).id, bound);
    if (what == 1 && length > 0 && std::is_floating_point_v<T>) return add(ebb::emit_on<ebb::op::min>(attr, a).id, bound);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::int64_t>) {
      const double sum = bound * static_cast<double>(length + 1);
      if (limited(a.id, sum) >= 0) add(ebb::emit_on<ebb::op::sum>(attr, a).id, sum);
    }
  }

  template <class T>
  constexpr void move(operand<T> a, double bound) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank == 0) return;
    const int axis = random_.below(s.rank), what = random_.below(4), n = s.e[axis];
    if (what == 0 && s.rank > 1) {
      int order[ebb::max_rank] = {};
      for (int i = 0; i < s.rank; ++i) order[i] = i;
      for (int i = s.rank - 1; i > 0; --i) std::swap(order[i], order[random_.below(i + 1)]);
      return add(ebb::emit_on<ebb::op::permute>({ebb::pack_axes(order, s.rank)}, a).id, bound);
    }
    if (what == 1 && n > 2) {
      const int step = 1 + random_.below(2), start = random_.below(2);
      return add(ebb::slice_as(a, {axis, start, step}, g_.intern(ebb::with_extent(s, axis, (n - start + step - 1) / step))).id, bound);
    }
    if (what == 2) return add(ebb::slice_as(a, {axis, -1, -1}, a.shape_number()).id, bound);
    double other = bound;
    const operand<T> b = partner(a, other);
    ebb::shape joined = s;
    joined.e[axis] = g_.syms.derive(ebb::extent_rule::sum, s.e[axis], s.e[axis]);
    if (fits(joined) && b.shape_number() == a.shape_number()) add(ebb::emit_on<ebb::op::concat>({axis}, a, b).id, bound + other);
  }

  /// Rows [first, first + count) of a along an axis; a count that is not static is the extent less `lost`.
  template <class T>
  constexpr operand<T> cut(operand<T> a, int axis, int first, int lost) {
    const ebb::shape s = shape_of(a.id);
    const int e = s.e[axis], kept = e < 0 ? g_.syms.derive(ebb::extent_rule::difference, e, lost) : e - lost;
    // From the beginning, from the end, or the end itself.
    std::int64_t start = first;
    if (first == lost && random_.below(2)) start = ebb::stride::at_the_end;
    else if (random_.below(3) == 0) start = first - static_cast<std::int64_t>(value(e));
    return ebb::slice_as(a, {axis, start}, g_.intern(ebb::with_extent(s, axis, kept)));
  }
  /// Selects, slices, joins, pads and transposes, mostly along the first axis; what comes back often has the shape of a.
  template <class T>
  constexpr void rearrange(operand<T> a, double bound) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank == 0) return;
    const int axis = random_.below(3) ? 0 : random_.below(s.rank), extent = static_cast<int>(value(s.e[axis]));
    if (extent == 0) return;
    const int lost = random_.below(extent < 4 ? extent : 4), first = random_.below(lost + 1);
    switch (random_.below(5)) {
      case 0: {  // a row
        const int at = random_.below(extent);
        const int start = random_.below(2) && s.e[axis] > 0 ? at - extent : at;
        const auto row = ebb::slice_as(a, {axis, start}, g_.intern(ebb::with_extent(s, axis, 1)));
        ebb::shape r;
        for (int i = 0; i < s.rank; ++i)
          if (i != axis) r.push(s.e[i]);
        return add(ebb::reshape_to(row, g_.intern(r)).id, bound);
      }
      case 1: return add(cut(a, axis, first, lost).id, bound);
      case 2: {  // shifted: a cut, and other rows before and after it
        const auto middle = cut(a, axis, first, lost);
        const int before = random_.below(lost + 1);
        ebb::vec<operand<T>> pieces;
        const auto fill = [&](int count) {
          const operand<T> x{&g_, ebb::emit_as<ebb::op::literal, T>(g_, g_.intern(ebb::with_extent(s, axis, count)), {}, {0})};
          if (count > 0) pieces.push(random_.below(2) ? x : on_operand<ebb::op::neg>(x));
        };
        fill(before);
        pieces.push(random_.below(2) ? middle : on_operand<ebb::op::neg>(middle));
        fill(lost - before);
        operand<T> all = pieces[0];
        for (int i = 1; i < pieces.size(); ++i) all = ebb::emit_on<ebb::op::concat>({axis}, all, pieces[i]);
        return add(all.id, bound);
      }
      case 3: {  // zeros around
        const auto x = random_.below(2) ? a : on_operand<ebb::op::neg>(a);
        const int wide = s.e[axis] < 0 ? g_.syms.derive(ebb::extent_rule::sum, s.e[axis], lost) : s.e[axis] + lost;
        const ebb::shape to = ebb::with_extent(s, axis, wide);
        const std::int64_t start = first == lost && random_.below(2) ? ebb::stride::at_the_end : first;
        if (fits(to)) add(ebb::place_in(x, {axis, start}, g_.intern(to)).id, bound);
        return;
      }
      default: {
        double other = bound;
        const operand<T> b = partner(a, other);
        ebb::shape joined = s;
        joined.e[axis] = g_.syms.derive(ebb::extent_rule::sum, s.e[axis], s.e[axis]);
        if (!fits(joined) || b.shape_number() != a.shape_number()) return;
        const auto x = on_operand<ebb::op::neg>(b);
        return add(ebb::emit_on<ebb::op::concat>({axis}, random_.below(3) ? x : a, b).id, bound + other);
      }
    }
  }
  template <class Op, class T>
  constexpr operand<T> on_operand(operand<T> a) { return {&g_, on<Op>(a)}; }

  template <class T>
  constexpr void view(operand<T> a, double bound) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank == 0) return;
    ebb::shape r;
    if (s.rank > 1 && random_.below(3)) {
      const int axis = random_.below(s.rank - 1);
      for (int i = 0; i < s.rank; ++i) {
        if (i == axis + 1) continue;
        r.push(i == axis ? g_.syms.derive(ebb::extent_rule::product, s.e[i], s.e[i + 1]) : s.e[i]);
      }
    } else if (s.rank < 4) r = ebb::with_axis(s, random_.below(s.rank + 1), 1);
    else return;
    add(ebb::reshape_to(a, g_.intern(r)).id, bound);
  }

  template <class T>
  constexpr void product(operand<T> a, double bound) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank < 2) return;
    double other = bound;
    const operand<T> b = partner(a, other);
    if (b.shape_number() != a.shape_number()) return;
    const bool left = random_.below(2);
    const int m = s.e[s.rank - (left ? 1 : 2)], k = s.e[s.rank - (left ? 2 : 1)];
    ebb::shape r = s;
    r.e[s.rank - 2] = r.e[s.rank - 1] = m;
    const std::size_t work = volume(r, 0, r.rank) * value(k);
    if (!fits(r) || work > 300000) return;
    const double sum = bound * other * static_cast<double>(value(k) + 1);
    if (limited(a.id, sum) >= 0) add(ebb::emit_on<ebb::op::matmul>({left ? ebb::left_transposed : ebb::right_transposed}, a, b).id, sum);
  }

  template <class T>
  constexpr void compare(operand<T> a, double bound) {
    double other = bound;
    const operand<T> b = partner(a, other);
    const int c = random_.below(2) ? on<ebb::op::less>(a, b) : on<ebb::op::equal>(a, b);
    if (c < 0) return;
    add(c, 1);
    const operand<T> d = partner(a, other);
    add(ebb::emit_on<ebb::op::where>({}, operand<bool>{&g_, c}, a, d).id, bound + other);
  }
  constexpr void truth(int x) {
    const operand<bool> a{&g_, x};
    const ebb::shape s = shape_of(x);
    switch (random_.below(4)) {
      case 0: return add(ebb::emit_on<ebb::op::logical_not>({}, a).id, 1);
      case 1: return add(ebb::cast_to<float>(a).id, 1);
      case 2:
        if (s.rank == 0) return;
        if (random_.below(2)) return add(ebb::emit_on<ebb::op::any>({0, s.rank}, a).id, 1);
        return add(ebb::emit_on<ebb::op::all>({s.rank - 1, s.rank}, a).id, 1);
      default: {
        double bound = 0;
        const operand<bool> b = partner(a, bound);
        return add((random_.below(2) ? ebb::emit_on<ebb::op::logical_and>({}, a, b) : ebb::emit_on<ebb::op::logical_or>({}, a, b)).id, 1);
      }
    }
  }

  template <class T>
  constexpr void cast(operand<T> a, double bound) {
    if constexpr (!Narrow) add(ebb::cast_to<std::conditional_t<std::is_same_v<T, float>, double, float>>(a).id, bound);
    else cast_any(a, bound);
  }
  template <class T>
  constexpr void cast_any(operand<T> a, double bound) {
    const int what = random_.below(7);
    if (what < 2 && ebb::is_real(ebb::dtype_of<T>)) {
      // The conversion of a number that does not fit an integer is not tested.
      if constexpr (std::is_floating_point_v<T>) {
        const auto small = ebb::emit_on<ebb::op::less>({}, ebb::emit_on<ebb::op::abs>({}, a), ebb::literal_like(a, 1000));
        const auto kept = ebb::emit_on<ebb::op::where>({}, small, a, ebb::literal_like(a, 0));
        add(what == 0 ? ebb::cast_to<std::int32_t>(kept).id : ebb::cast_to<std::int64_t>(kept).id, 1000);
      }
      return;
    }
    if constexpr (std::is_same_v<T, std::int32_t>)
      if (what < 3) return add(ebb::cast_to<std::int64_t>(a).id, bound);
    if (what < 4) return add(ebb::cast_to<float>(a).id, bound);
    if (what < 5) return add(ebb::cast_to<double>(a).id, bound);
    if constexpr (!std::is_integral_v<T>) {
      if (what < 6) return add(ebb::cast_to<ebb::bfloat16>(a).id, bound);
      return add(ebb::cast_to<ebb::float16>(a).id, bound);
    } else add(ebb::cast_to<bool>(a).id, 1);
  }

  template <class T>
  constexpr void index(operand<T> a, double) {
    const ebb::shape s = shape_of(a.id);
    if (s.rank == 0) return;
    add(ebb::emit_as<ebb::op::index, T>(g_, a.shape_number(), {}, {random_.below(s.rank)}), 1e5);
  }
  template <class T>
  constexpr void literal(operand<T> a, double bound) {
    const auto c = ebb::literal_like(a, 1 + random_.below(3));
    if (random_.below(6) == 0) return add(c.id, 3);
    if (limited(a.id, bound + 3) >= 0) add(on<ebb::op::add>(a, c), bound + 3);
  }

  /// Rows by number: the numbers are an argument, or counted.
  template <class T>
  constexpr void rows(operand<T> a, double bound) {
    if constexpr (Narrow && std::is_floating_point_v<T>) {
      const ebb::shape s = shape_of(a.id);
      if (s.rank == 0) return;
      ebb::shape first;
      first.push(s.e[0]);
      const bool counted = rows_.empty() || random_.below(3) == 0;
      int by = counted ? ebb::emit_as<ebb::op::index, std::int64_t>(g_, g_.intern(first), {}, {0}) : rows_[random_.below(rows_.size())];
      if (!(shape_of(by) == first)) return;
      const bool back = random_.below(2);
      ebb::with_dtype(type_of(by), [&]<class I>(I) {
        if constexpr (std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t>) {
          using ebb::op::gather, ebb::op::scatter;
          if (back && values_.size() % 2 == 0)
            add(ebb::emit_as<ebb::op::put<I>, T>(g_, a.shape_number(), {a.id, by, like(a.id)}, {0}), bound);
          else if (back) add(ebb::emit_as<scatter<I>, T>(g_, a.shape_number(), {a.id, by}), bound);
          else add(ebb::emit_as<gather<I>, T>(g_, a.shape_number(), {a.id, by}), bound);
        }
      });
    }
  }

  /// The newest value of the type and shape of value a, or the one before it.
  constexpr int like(int a) {
    for (int i = values_.size(), skipped = random_.below(2); i-- > 0;)
      if (type_of(values_[i]) == type_of(a) && g_.eq[values_[i]].shape == g_.eq[a].shape && skipped-- <= 0) return values_[i];
    return a;
  }

  constexpr void choose_outputs() {
    const int count = 1 + random_.below(4);
    for (int i = 0; i < count; ++i) g_.out.push(values_[any()]);
    g_.out.push(values_.back());
  }

  random_numbers random_;
  random_options options_;
  ebb::graph g_;
  random_program r_;
  ebb::vec<int> values_, rows_;
  ebb::vec<double> bounds_;
  int size_[axes] = {}, symbol_[axes] = {};
  bool dynamic_[axes] = {};
  int tries_ = 0;
};

template <bool Narrow = true>
constexpr random_program make_random(std::uint64_t seed, random_options options = {}) {
  return random_program_maker<Narrow>(seed, options).take();
}

}  // namespace test
