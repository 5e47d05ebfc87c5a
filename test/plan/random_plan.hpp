// test/plan/random_plan.hpp — random graphs of similar arrays: their memory is shared, handed on and overwritten.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../exec/random_program.hpp"

#include <ebb/plan/frozen.hpp>

namespace test {

/// Graphs over one shape, or over the rows of a matrix that is read twice, see [note: bands of rows].
class alike_graph {
 public:
  explicit alike_graph(std::uint64_t seed) : random_(seed) {
    const bool banded = random_.below(2) == 0;
    const int arguments = 2 + random_.below(4), equations = 4 + random_.below(40), results = 1 + random_.below(8);
    ebb::shape alike, one_row;
    if (banded) alike.push(4000);
    else alike.push(6), alike.push(6);
    if (!banded) one_row.push(6);
    // Rows of a square matrix are as long as what is computed row by row, and may be multiplied by it.
    if (banded && random_.below(2) == 0) columns_ = 4000;
    alike_ = g_.intern(alike);
    row_ = g_.intern(one_row);
    for (int i = 0; i < arguments; ++i) values_.push(argument<float>(alike_).id);
    if (random_.below(2)) wide_.push(argument<std::int32_t>(alike_).id);
    for (int i = random_.below(3); banded && i >= 0; --i) {
      ebb::shape matrix;
      matrix.push(4000);
      matrix.push(columns_);
      matrices_.push(argument<float>(g_.intern(matrix)).id);
    }
    for (int i = 0; i < equations; ++i) banded ? add_over_rows() : add_square();
    const auto result = [&](const ebb::vec<int>& from) {
      const int n = from.size();
      g_.out.push(from[n - 1 - random_.below(n < 12 ? n : 12)]);
    };
    for (int i = 0; i < results; ++i) result(values_);
    if (!wide_.empty()) result(wide_);
    if (!others_.empty()) result(others_);
  }
  ebb::graph take() { return ebb::prune(ebb::canonical_shapes(g_)); }

 private:
  template <class T>
  operand<T> argument(int shape) {
    const int number = g_.inputs++;
    return {&g_, ebb::emit_as<ebb::op::input, T>(g_, shape, {}, {number})};
  }
  /// Usually one of the last values.
  operand<float> any() {
    const int n = values_.size();
    return {&g_, values_[random_.below(3) ? n - 1 - random_.below(n < 4 ? n : 4) : random_.below(n)]};
  }
  int rank() const { return g_.shapes[alike_].rank; }

  /// The equations that both kinds of graph have.
  bool add_by_element() {
    const auto x = any(), y = any();
    switch (random_.below(8)) {
      case 0: values_.push((x * y).id); return true;
      case 1: values_.push((x + y).id); return true;
      case 2: values_.push(ebb::emit_on<ebb::op::exp>({}, x).id); return true;
      case 3: {
        const auto total = ebb::emit_on<ebb::op::sum>({0, rank()}, x * y);
        others_.push(total.id);
        values_.push((y - ebb::broadcast_to(total, alike_, (1 << rank()) - 1)).id);
        return true;
      }
      case 4:
        if (!wide_.empty()) values_.push(ebb::cast_to<float>(operand<std::int32_t>{&g_, wide_.back()}).id);
        else wide_.push(ebb::cast_to<std::int32_t>(x).id);
        return true;
      case 5:
        if (!wide_.empty())
          wide_.push(ebb::emit_on<ebb::op::add>({}, operand<std::int32_t>{&g_, wide_.back()}, ebb::cast_to<std::int32_t>(x)).id);
        return true;
      default: return false;
    }
  }
  void add_square() {
    if (add_by_element()) return;
    const auto x = any(), y = any();
    switch (random_.below(4)) {
      case 0: return values_.push(ebb::emit_on<ebb::op::matmul>({random_.below(4)}, x, y).id), void();
      case 1: return values_.push(ebb::emit_on<ebb::op::permute>({ebb::pack_axes(turned, 2)}, x).id), void();
      case 2: {
        const auto row = ebb::emit_on<ebb::op::sum>({random_.below(2), 2}, x);
        const auto last = row.rank() == 1 ? row : ebb::broadcast_to(row, row_, 1);
        others_.push(last.id);
        return values_.push((y + ebb::broadcast_to(last, alike_, 1 + random_.below(2))).id), void();
      }
      default: return values_.push(ebb::slice_as(x, {random_.below(2), -1, -1}, alike_).id), void();
    }
  }
  void add_over_rows() {
    if (add_by_element()) return;
    const operand<float> x{&g_, matrices_[random_.below(matrices_.size())]};
    ebb::shape column, weights;
    column.push(4000), column.push(1);
    weights.push(columns_), weights.push(1);
    if (random_.below(2)) {
      operand<float> w{&g_, -1};
      if (columns_ == 4000 && random_.below(2)) w = ebb::reshape_to(any(), g_.intern(column));
      for (int k : others_)
        if (w.id < 0 && g_.eq[k].shape == g_.intern(weights) && random_.below(2)) w.id = k;
      if (w.id < 0) w = argument<float>(g_.intern(weights));
      values_.push(ebb::reshape_to(ebb::emit_on<ebb::op::matmul>({}, x, w), alike_).id);
    } else {
      const auto g = ebb::reshape_to(any(), g_.intern(column));
      others_.push(ebb::emit_on<ebb::op::matmul>({ebb::left_transposed}, x, g).id);
    }
  }

  static constexpr int turned[] = {1, 0};
  random_numbers random_;
  ebb::graph g_;
  ebb::vec<int> values_, wide_, others_, matrices_;
  int alike_ = 0, row_ = 0, columns_ = 20;
};

/// Graphs over rows of three elements, any number of them, beside arrays of three elements without rows, and over arrays joined of two
/// parts: see [note: blocks of rows] and [note: parts of arrays].
class rows_graph {
 public:
  explicit rows_graph(std::uint64_t seed) : random_(seed) {
    const int arguments = 1 + random_.below(3), equations = 6 + random_.below(24), results = 1 + random_.below(3);
    for (int i = 0; i < arguments; ++i) {
      const int e = g_.syms.fresh({ebb::extent_rule::argument, g_.inputs, 0});
      if (i > 0) g_.syms.unify(rows_, e);
      else {
        rows_ = e;
        wide_ = shape({e, 3});
        column_ = shape({e});
        flat_ = shape({3});
      }
      wide_values_.push(argument(wide_));
    }
    for (int i = random_.below(3); i >= 0; --i) flat_values_.push(argument(flat_));
    for (int i = 0; i < equations; ++i) random_.below(3) ? add_wide() : add_flat();
    for (int i = 0; i < results; ++i) {
      const ebb::vec<int>& from = random_.below(2) ? wide_values_ : flat_values_;
      g_.out.push(from[from.size() - 1 - random_.below(from.size() < 4 ? from.size() : 4)]);
    }
  }
  ebb::graph take() { return ebb::prune(ebb::canonical_shapes(g_)); }

 private:
  int shape(std::initializer_list<int> extents) {
    ebb::shape s;
    for (int e : extents) s.push(e);
    return g_.intern(s);
  }
  int argument(int shape) {
    const int number = g_.inputs++;
    return ebb::emit_as<ebb::op::input, float>(g_, shape, {}, {number});
  }
  operand<float> one_of(const ebb::vec<int>& values) {
    const int n = values.size();
    return {&g_, values[random_.below(3) ? n - 1 - random_.below(n < 4 ? n : 4) : random_.below(n)]};
  }
  /// Some of the elements of x along an axis.
  operand<float> part(operand<float> x, int axis, int start, int count) {
    return ebb::slice_as(x, {axis, start}, g_.intern(ebb::with_extent(g_.shape_of(x.id), axis, count)));
  }
  operand<float> joined(operand<float> x, operand<float> y, int axis) {
    const int first = 1 + random_.below(2);
    auto a = part(x, axis, 0, first), b = part(y, axis, random_.below(first + 1), 3 - first);
    if (random_.below(3)) a = ebb::emit_on<ebb::op::exp>({}, a);
    if (random_.below(3)) b = ebb::emit_on<ebb::op::exp>({}, b);
    return ebb::emit_on<ebb::op::concat>({axis}, a, b);
  }
  void add_wide() {
    const auto x = one_of(wide_values_), y = one_of(wide_values_);
    const auto add = [&](operand<float> v) { wide_values_.push(v.id); };
    switch (random_.below(10)) {
      case 0: return add(x * y);
      case 1: return add(ebb::emit_on<ebb::op::exp>({}, x));
      case 2:
      case 3: return add(y - ebb::broadcast_to(ebb::emit_on<ebb::op::sum>({1, 2}, x), wide_, 2));
      case 4: return add(y * ebb::broadcast_to(one_of(flat_values_), wide_, 1));
      case 5: return add(y - ebb::broadcast_to(row_of(x), wide_, 1));
      case 6: return add(joined(x, y, 1));
      case 7: return add(product_of_rows(x, y));
      case 8: return add(product_of_rows(x + y, y * y));
      default: return add(ebb::emit_on<ebb::op::matmul>({}, x, ebb::broadcast_to(one_of(flat_values_), shape({3, 3}), 1)));
    }
  }
  /// Each row of x by a matrix whose rows are that row of y.
  operand<float> product_of_rows(operand<float> x, operand<float> y) {
    const auto left = ebb::reshape_to(x, shape({rows_, 1, 3})), right = ebb::broadcast_to(y, shape({rows_, 3, 3}), 5);
    return ebb::reshape_to(ebb::emit_on<ebb::op::matmul>({}, left, right), wide_);
  }
  /// The first or the second row of x: in blocks of rows, all of them read it.
  operand<float> row_of(operand<float> x) {
    return ebb::reshape_to(ebb::slice_as(x, {0, random_.below(2), 1}, g_.intern(ebb::with_extent(g_.shape_of(x.id), 0, 1))), flat_);
  }
  void add_flat() {
    const auto x = one_of(flat_values_), y = one_of(flat_values_);
    const auto add = [&](operand<float> v) { flat_values_.push(v.id); };
    switch (random_.below(6)) {
      case 0: return add(x + y);
      case 1: return add(ebb::emit_on<ebb::op::exp>({}, x));
      case 2: return add(joined(x, y, 0));
      case 3: return add(row_of(one_of(wide_values_)));
      default: return add(x * ebb::emit_on<ebb::op::sum>({0, 1}, one_of(wide_values_)));
    }
  }

  random_numbers random_;
  ebb::graph g_;
  ebb::vec<int> wide_values_, flat_values_;
  int rows_ = 0, wide_ = 0, column_ = 0, flat_ = 0;
};

/// A random graph: of similar arrays, of rows, or of any arrays.
inline ebb::graph graph_for_plans(std::uint64_t seed) {
  if (seed % 3 == 0) return alike_graph(seed).take();
  if (seed % 3 == 1) return rows_graph(seed).take();
  return make_random<true>(seed, {.equations = 10 + static_cast<int>(seed % 60)}).g;
}

}  // namespace test
