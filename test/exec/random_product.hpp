// test/exec/random_product.hpp — random programs of products whose operands and results are parts of arrays in any order.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "random_program.hpp"

#include <ebb/op/shaping.hpp>

namespace test {

/// An operand of a product is made from an array by up to four slices, permutations, reshapes and broadcasts. Its result is
/// turned, reshaped, joined with others, placed within zeros, or a result. Now and then something else reads an operand, too.
class random_product_maker {
 public:
  constexpr explicit random_product_maker(std::uint64_t seed) : random_(seed) {
    by_rows_ = random_.below(4) == 0;
    const int type = random_.below(8), products = 1 + random_.below(3);
    for (int i = 0; i < products; ++i) switch (type) {
      case 0: add_product<double>(); break;
      case 1: add_product<ebb::bfloat16>(); break;
      case 2: add_product<ebb::float16>(); break;
      case 3: add_product<std::int32_t>(); break;
      default: add_product<float>(); break;
    }
  }
  constexpr random_program take() {
    r_.g = ebb::prune(ebb::canonical_shapes(g_));
    return static_cast<random_program&&>(r_);
  }
  /// Only products of floats, whose results have one sum.
  constexpr random_program take_sum() {
    operand<float> all{&g_, -1};
    for (int k : g_.out) {
      const operand<float> x{&g_, k};
      const auto sum = ebb::emit_on<ebb::op::sum>({0, x.rank()}, x * x);
      all = all.id < 0 ? sum : all + sum;
    }
    g_.out = {all.id};
    return take();
  }

 private:
  static constexpr int most = 6;
  struct list {
    int rank = 0;
    int e[ebb::max_rank] = {};
    bool fixed[ebb::max_rank] = {};  // a static extent
    constexpr void insert(int at, int extent, bool is_fixed) {
      for (int i = rank++; i > at; --i) e[i] = e[i - 1], fixed[i] = fixed[i - 1];
      e[at] = extent, fixed[at] = is_fixed;
    }
    constexpr void remove(int at) {
      for (int i = at + 1; i < rank; ++i) e[i - 1] = e[i], fixed[i - 1] = fixed[i];
      --rank;
    }
  };
  /// A step from the array to the operand; found from the last one to the first.
  struct step {
    enum class to { slice, permute, split, merge, drop, repeat } what = to::slice;
    int axis = 0, extent = 0, lost = 0, factor = 1;
    std::int64_t start = 0, by = 1;
    int order[ebb::max_rank] = {};
  };

  constexpr int size() {
    constexpr int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 31, 33, 40};
    return sizes[random_.below(by_rows_ ? 6 : 14)];
  }

  constexpr step undo(list& s) {
    step r;
    r.axis = random_.below(s.rank);
    const int a = r.axis;
    switch (random_.below(7)) {
      case 6:
        if (s.rank < 2 || (by_rows_ && a == 0)) return slice(s, r);
        r.axis = a < s.rank - 2 || random_.below(4) == 0 ? a : (by_rows_ ? 1 : 0);
        r.what = step::to::repeat;
        r.extent = s.e[r.axis];
        s.remove(r.axis);
        return r;
      case 0:
        r.what = step::to::permute;
        for (int i = 0; i < s.rank; ++i) r.order[i] = i;
        for (int i = s.rank - 1; i > (by_rows_ ? 1 : 0); --i) std::swap(r.order[i], r.order[random_.below(i + !by_rows_) + by_rows_]);
        {
          const list to = s;
          for (int i = 0; i < s.rank; ++i) s.e[r.order[i]] = to.e[i], s.fixed[r.order[i]] = to.fixed[i];
        }
        return r;
      case 1:
        if (s.rank < 2 || a + 1 == s.rank || (by_rows_ && a == 0)) return r.what = step::to::slice, slice(s, r);
        r.what = step::to::split;
        r.factor = s.e[a + 1];
        s.e[a] *= s.e[a + 1];
        s.fixed[a] = true;
        s.remove(a + 1);
        return r;
      case 2: {
        const int factor = s.e[a] % 4 == 0 ? 4 : s.e[a] % 3 == 0 ? 3 : s.e[a] % 2 == 0 ? 2 : 1;
        if (factor == 1 || s.rank == most || (by_rows_ && a == 0)) return slice(s, r);
        r.what = step::to::merge;
        s.e[a] /= factor;
        s.insert(a + 1, factor, true);
        return r;
      }
      case 3:
        if (s.rank == most || (by_rows_ && a == 0)) return slice(s, r);
        r.what = step::to::drop;
        s.insert(a, 1, true);
        return r;
      default: return slice(s, r);
    }
  }
  constexpr step slice(list& s, step r) {
    if (by_rows_ && r.axis == 0) {
      if (s.rank < 2) return r;
      r.axis = 1 + random_.below(s.rank - 1);
    }
    int& e = s.e[r.axis];
    r.what = step::to::slice;
    r.extent = e;
    const int before = random_.below(4), after = random_.below(4), way = random_.below(8);
    r.by = way == 0 ? 2 : way == 1 ? -1 : 1;
    const int length = r.by == 2 ? 2 * e - 1 : e, whole = before + length + after;
    r.lost = whole - e;
    r.start = r.by < 0 ? before + e - 1 : before;
    if (r.by != 1) s.fixed[r.axis] = true;
    else if (after == 0 && random_.below(2)) r.start = ebb::stride::at_the_end;
    if (r.start >= 0 && random_.below(3) == 0) r.start -= whole;
    e = whole;
    return r;
  }
  template <class T>
  constexpr operand<T> redo(operand<T> x, const step& s) {
    ebb::shape e = g_.syms.find(x.extents());
    switch (s.what) {
      case step::to::permute: return ebb::emit_on<ebb::op::permute>({ebb::pack_axes(s.order, e.rank)}, x);
      case step::to::slice: {
        if (s.extent == 0) return x;
        const int all = e.e[s.axis], kept = all < 0 ? g_.syms.derive(ebb::extent_rule::difference, all, s.lost) : s.extent;
        return ebb::slice_as(x, {s.axis, s.start, s.by}, g_.intern(ebb::with_extent(e, s.axis, kept)));
      }
      case step::to::split: {
        ebb::shape r = e;
        r.e[s.axis] = e.e[s.axis] / s.factor;
        return ebb::reshape_to(x, g_.intern(ebb::with_axis(r, s.axis + 1, s.factor)));
      }
      case step::to::repeat: return repeat(x, s.axis, s.extent);
      case step::to::merge: {
        ebb::shape r;
        for (int i = 0; i < e.rank; ++i)
          if (i != s.axis + 1) r.push(i == s.axis ? g_.syms.derive(ebb::extent_rule::product, e.e[i], e.e[i + 1]) : e.e[i]);
        return ebb::reshape_to(x, g_.intern(r));
      }
      default: {
        ebb::shape r;
        for (int i = 0; i < e.rank; ++i)
          if (i != s.axis) r.push(e.e[i]);
        return ebb::reshape_to(x, g_.intern(r));
      }
    }
  }

  template <class T>
  constexpr operand<T> repeat(operand<T> x, int axis, int extent) {
    return ebb::broadcast_to(x, g_.intern(ebb::with_axis(g_.syms.find(x.extents()), axis, extent)), std::int64_t{1} << axis);
  }

  /// An argument, or what is computed from one.
  template <class T>
  constexpr operand<T> array(const list& s) {
    const int number = g_.inputs++;
    ebb::shape shape;
    ebb::extent_list x;
    for (int i = 0; i < s.rank; ++i) {
      int e = s.e[i];
      if (i == 0 && by_rows_) {
        e = g_.syms.fresh({ebb::extent_rule::argument, number, i});
        if (rows_ < 0) g_.syms.unify(rows_, e);
        else rows_ = e;
      } else if (!s.fixed[i] && random_.below(3) == 0) e = g_.syms.fresh({ebb::extent_rule::argument, number, i});
      shape.push(e);
      x.e[x.rank++] = static_cast<std::size_t>(s.e[i]);
    }
    r_.arguments.push(x);
    r_.places.push(0);
    r_.types.push(ebb::dtype_of<T>);
    const operand<T> a{&g_, ebb::emit_as<ebb::op::input, T>(g_, g_.intern(shape), {}, {number})};
    return random_.below(3) ? a : -a;
  }
  template <class T>
  constexpr operand<T> part(list s) {
    if (by_rows_ && rows_ < 0 && random_.below(4) == 0) {  // the same for all rows
      s.remove(0);
      by_rows_ = false;
      const operand<T> x = part<T>(s);
      by_rows_ = true;
      const auto all = repeat(x, 0, rows_);
      if (random_.below(10) == 0) g_.out.push(random_.below(3) ? (-all).id : all.id);
      return all;
    }
    step steps[4];
    const int count = random_.below(5);
    for (int i = 0; i < count; ++i) steps[i] = undo(s);
    operand<T> x = array<T>(s);
    for (int i = count; i-- > 0;) {
      x = redo(x, steps[i]);
      if (random_.below(10) == 0) g_.out.push(random_.below(3) ? (-x).id : x.id);
    }
    return x;
  }
  template <class T>
  constexpr operand<T> product(const list& batch, int m, int n) {
    const int k = size();
    const bool tx = random_.below(2), ty = random_.below(2);
    list x = batch, y = batch;
    x.insert(batch.rank, tx ? k : m, random_.below(2));
    x.insert(batch.rank + 1, tx ? m : k, random_.below(2));
    y.insert(batch.rank, ty ? n : k, random_.below(2));
    y.insert(batch.rank + 1, ty ? k : n, random_.below(2));
    const operand<T> a = part<T>(x), b = part<T>(y);
    const std::int64_t attr = (tx ? ebb::left_transposed : 0) | (ty ? ebb::right_transposed : 0);
    const auto r = ebb::emit_on<ebb::op::matmul>({ebb::with_order(a, b, attr)}, a, b);
    if (random_.below(8) == 0) g_.out.push((-r).id);
    return r;
  }
  template <class T>
  constexpr void add_product() {
    list batch;
    if (by_rows_) batch.insert(0, rows, false);
    for (int i = random_.below(by_rows_ ? 2 : 3); i > 0; --i) batch.insert(batch.rank, 1 + random_.below(4), random_.below(2));
    const int m = size(), n = size(), pieces = 1 + random_.below(3);
    // The same steps for each piece, so that they can be joined.
    const int turned = random_.below(2), dropped = random_.below(3) == 0, rank = batch.rank + 2;
    step turn;
    turn.what = step::to::permute;
    for (int i = 0; i < rank; ++i) turn.order[i] = i;
    for (int i = rank - 1; i > by_rows_; --i) std::swap(turn.order[i], turn.order[random_.below(i + !by_rows_) + by_rows_]);
    operand<T> first{&g_, -1};
    for (int i = 0; i < pieces; ++i) {
      auto x = random_.below(6) ? product<T>(batch, m, n) : -product<T>(batch, m, n);
      if (turned) x = redo(x, turn);
      if (dropped) x = ebb::reshape_to(x, g_.intern(ebb::with_axis(x.extents(), rank > 2 ? 1 : 0, 1)));
      if (first.id < 0) first = x;
      else first = ebb::emit_on<ebb::op::concat>({axis_of_join(first.rank(), i)}, first, x);
    }
    if (random_.below(3) == 0) {
      const int axis = (by_rows_ ? 1 : 0) + random_.below(first.rank() - by_rows_), e = g_.syms.find(first.extent(axis));
      const int wide = e < 0 ? g_.syms.derive(ebb::extent_rule::sum, e, 3) : e + 3;
      first = ebb::place_in(first, {axis, random_.below(4)}, g_.intern(ebb::with_extent(g_.syms.find(first.extents()), axis, wide)));
    }
    g_.out.push(random_.below(3) ? first.id : (-first).id);
  }
  constexpr int axis_of_join(int rank, int piece) {
    if (piece == 1) joined_ = (by_rows_ ? 1 : 0) + random_.below(rank - by_rows_);
    return joined_;
  }

  static constexpr int rows = 150;  // more than one block
  random_numbers random_;
  ebb::graph g_;
  random_program r_;
  bool by_rows_ = false;  // all arrays have the same first axis, which is never cut
  int rows_ = 0, joined_ = 0;
};

}  // namespace test
