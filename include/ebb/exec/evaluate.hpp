// ebb/exec/evaluate.hpp — evaluates any graph element by element on erased cells: in constant expressions, and as the tests' reference.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "own_cells.hpp"
#include "symbol_values.hpp"

#include "../base/error.hpp"
#include "../graph/custom.hpp"
#include "../graph/loop.hpp"
#include "../num/lane.hpp"
#include "../tensor/bfloat16_order.hpp"
#include "../tensor/product_order.hpp"
#include "../tensor/reduction_tree.hpp"
#include "../tensor/solve_order.hpp"
#include "../tensor/triangle_order.hpp"

#include <bit>
#include <concepts>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

template <std::same_as<graph> G>
class evaluator {
 public:
  constexpr evaluator(const G& g, const vec<cell_array>& arguments, const vec<std::size_t>& symbol_values)
      : g_(g), arguments_(arguments), symbol_values_(symbol_values), values_(g.size(), cell_array{}), loops_(g.size(), vec<cell_array>{}) {
    for (int k = 0; k < g.size(); ++k) {
      if (g.op(k).what == kind::loop) loops_[k] = loop(k);
      values_[k] = compute(k);
    }
  }
  constexpr const cell_array& value(int k) const { return values_[k]; }

 private:
  template <class T>
  using wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;  // sums of 16-bit floats are floats
  constexpr extent_list extents(int k) const { return extents_at(g_.shape_of(k), symbol_values_.data()); }
  constexpr const cell_array& in(int k, int j) const { return values_[g_.operand(k, j)]; }

  constexpr cell_array compute(int k) const {
    const equation& e = g_.eq[k];
    const extent_list out = extents(k);
    const int n = static_cast<int>(out.volume());
    switch (e.op->what) {
      case kind::input: return arguments_[static_cast<int>(e.attr[0])];
      case kind::literal: return cell_array(n, static_cast<cell>(e.attr[0]));
      case kind::index: return indices(k, out, n);
      case kind::elementwise: return elementwise(k, n);
      case kind::broadcast: return broadcast(k, out, n);
      case kind::reduce: return reduce(k, n);
      case kind::scan: return scan(k, out, n);
      case kind::reshape: return in(k, 0);
      case kind::move: return move(k, out, n);
      case kind::gather: return gather(k, extents(g_.operand(k, 0)), n);
      case kind::scatter: return scatter(k, out, n);
      case kind::contract: return contract(k, out, n);
      case kind::solve:  // no conditional expression: g++ 12 frees its array twice in a constant expression
        if (g_.eq[k].attr[1] & triangular) return solve_triangle(k, out, n);
        return solve(k, out, n);
      case kind::factor: return factor(k, n);
      case kind::rows: return rows(k, out, n);
      case kind::own: case kind::triangle: return cells_of_own(g_, k, values_, symbol_values_.data());
      case kind::loop: case kind::custom: return {};  // their results are arrays
      case kind::result:
        if (g_.op(g_.operand(k, 0)).what == kind::custom) return values_[value_of_custom(g_, k)];
        return loops_[g_.operand(k, 0)][number_of_result(k)];
    }
    return {};
  }

  /// The results of a loop: its carries, then the rows of its steps, then the histories of its carries.
  constexpr vec<cell_array> loop(int k) const;
  constexpr int number_of_result(int k) const {
    const equation &e = g_.eq[k], &loop = g_.eq[g_.operand(k, 0)];
    const int i = static_cast<int>(e.attr[0]);
    if (kind_of_result(e) == loop_result::carry) return i;
    return i + (kind_of_result(e) == loop_result::row ? loop_parts::of(loop).carries : g_.subs[loop.sub].out.size());
  }
  constexpr cell_array indices(int k, const extent_list& out, int n) const {
    const int axis = static_cast<int>(g_.eq[k].attr[0]);
    const int inner = static_cast<int>(out.volume(axis + 1, out.rank)), length = static_cast<int>(out.e[axis]);
    cell_array r(n, 0);
    with_dtype(g_.op(k).result, [&]<class T>(T) {
      for (int i = 0; i < n; ++i) {
        const int index = i / inner % length;
        if constexpr (std::is_arithmetic_v<T>) r[i] = to_cell(static_cast<T>(index));
        else r[i] = to_cell(static_cast<T>(static_cast<float>(index)));
      }
    });
    return r;
  }
  constexpr cell_array elementwise(int k, int n) const {
    cell_array r(n, 0);
    cell given[4] = {};
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < g_.eq[k].count; ++j) given[j] = in(k, j)[i];
      g_.op(k).scalar(given, &r[i]);
    }
    return r;
  }
  constexpr cell_array broadcast(int k, const extent_list& out, int n) const {
    const std::int64_t repeated = g_.eq[k].attr[0];
    int strides[max_rank] = {}, step = 1;
    for (int i = out.rank - 1; i >= 0; --i) {
      if (repeated >> i & 1) continue;
      strides[i] = step;
      step *= static_cast<int>(out.e[i]);
    }
    const int named = g_.op(k).names_places ? in(k, 0).size() : 0;
    for (int i = 0; i < named; ++i) place(k, i, out.e[std::countr_zero(static_cast<std::uint64_t>(repeated))]);
    cell_array r(n, 0);
    for (int i = 0; i < n; ++i) {
      int from = 0;
      for (int a = out.rank - 1, rest = i; a >= 0; rest /= static_cast<int>(out.e[a--]))
        from += rest % static_cast<int>(out.e[a]) * strides[a];
      r[i] = in(k, 0)[from];
    }
    return r;
  }
  constexpr cell_array reduce(int k, int n) const {
    const equation& e = g_.eq[k];
    const extent_list x = extents(g_.operand(k, 0));
    const int first = static_cast<int>(e.attr[0]), last = static_cast<int>(e.attr[1]);
    const std::size_t length = x.volume(first, last), inner = x.volume(last, x.rank);
    if (e.op->needs_elements && length == 0) raise("ebb::evaluate: " + std::string(e.op->name) + " over no elements");
    const auto combine = [&](cell a, cell b) {
      const cell pair[] = {a, b};
      cell c = 0;
      e.op->scalar(pair, &c);
      return c;
    };
    cell_array r(n, e.op->identity);
    for (int i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) / inner * length * inner + static_cast<std::size_t>(i) % inner;
      const auto element = [&](std::size_t q) { return in(k, 0)[static_cast<int>(at + q * inner)]; };
      if (last == x.rank) r[i] = reduce_in_order<cell>(length, element, e.op->identity, combine);
      else
        for (std::size_t q = 0; q < length; ++q) r[i] = combine(r[i], element(q));
    }
    return r;
  }
  constexpr cell_array scan(int k, const extent_list& out, int n) const {
    const equation& e = g_.eq[k];
    const int axis = static_cast<int>(e.attr[0]), length = static_cast<int>(out.e[axis]);
    const int inner = static_cast<int>(out.volume(axis + 1, out.rank));
    cell_array r(n, 0);
    for (int row = 0; row < (length > 0 ? n / length : 0); ++row) {
      cell sum[2] = {e.op->identity, 0};
      for (int step = 0; step < length; ++step) {
        const int at = (row / inner * length + (e.attr[1] & 1 ? length - 1 - step : step)) * inner + row % inner;
        sum[1] = in(k, 0)[at];
        cell after = 0;
        e.op->scalar(sum, &after);
        r[at] = e.attr[1] & 2 ? sum[0] : after;
        sum[0] = after;
      }
    }
    return r;
  }
  constexpr cell_array move(int k, const extent_list& out, int n) const {
    vec<extent_list> given;
    for (int i : g_.operands(k)) given.push(extents(i));
    const move_call call{given.data(), out, g_.eq[k].attr};
    cell_array r(n, 0);
    for (int j = 0; j < g_.eq[k].count; ++j)
      each_element(g_.op(k).copy(call, j), [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        r[static_cast<int>(to)] = in(k, j)[static_cast<int>(from)];
      });
    return r;
  }
  /// Element i of the last operand of k: an index below `places`.
  constexpr int place(int k, int i, std::size_t places) const {
    const int from = g_.operand(k, g_.eq[k].count > 1 ? 1 : 0);
    const cell c = values_[from][i];
    const std::int64_t p = g_.op(from).result == dtype::i32 ? from_cell<std::int32_t>(c) : from_cell<std::int64_t>(c);
    if (p < 0 || static_cast<std::size_t>(p) >= places)
      raise("ebb::evaluate: " + std::string(g_.op(k).name) + ": there is no place " + std::to_string(p));
    return static_cast<int>(p);
  }
  /// The place of element i of k's rows in the array `of`, whose rows are indexed. Each index of the leading axes has its own rows.
  constexpr int among_rows(int k, int i, const extent_list& of) const {
    const int own = static_cast<int>(g_.eq[k].attr[0]), width = static_cast<int>(of.volume(own + 1, of.rank));
    const extent_list names = extents(g_.operand(k, 1));
    const int count = static_cast<int>(names.volume(own, names.rank)), rows = static_cast<int>(of.e[own]);
    return (i / width / count * rows + place(k, i / width, of.e[own])) * width + i % width;
  }
  /// The place of element i of k's rows among these rows themselves, which may be turned. of: the array whose rows are indexed.
  constexpr int in_rows(int k, int i, const extent_list& of, int elements) const {
    const int width = g_.eq[k].attr[1] ? static_cast<int>(of.volume(1, of.rank)) : 1;
    return i / width + i % width * (elements / width);
  }
  constexpr cell_array gather(int k, const extent_list& x, int n) const {
    cell_array r(n, 0);
    for (int i = 0; i < n; ++i) r[in_rows(k, i, x, n)] = in(k, 0)[among_rows(k, i, x)];
    return r;
  }
  constexpr cell_array scatter(int k, const extent_list& out, int n) const {
    const op_info& op = g_.op(k);
    cell_array r(n, op.scalar ? op.identity : 0);
    if (op.arity > 2) r = in(k, 2);
    const int own = static_cast<int>(g_.eq[k].attr[0]), width = static_cast<int>(out.volume(own + 1, out.rank));
    with_dtype(op.result, [&]<class T>(T) {
      for (int i = 0; i < in(k, 0).size(); ++i) {
        if (op.left_out >= 0 && place(k, i / width, out.e[own]) == op.left_out) continue;
        cell& to = r[among_rows(k, i, out)];
        const cell both[] = {to, in(k, 0)[in_rows(k, i, out, in(k, 0).size())]};
        if (op.scalar) op.scalar(both, &to);
        else if constexpr (std::is_same_v<T, bool>) to |= both[1];
        else to = to_cell(static_cast<T>(static_cast<wide<T>>(from_cell<T>(to)) + static_cast<wide<T>>(from_cell<T>(both[1]))));
      }
    });
    return r;
  }
  constexpr cell_array contract(int k, const extent_list& out, int n) const {
    const extent_list x = extents(g_.operand(k, 0));
    const int r = out.rank, rows = static_cast<int>(out.e[r - 2]), columns = static_cast<int>(out.e[r - 1]);
    const std::int64_t flags = g_.eq[k].attr[0];
    const bool tx = flags & left_transposed, ty = flags & right_transposed, lanes = flags & in_lanes;
    const int length = static_cast<int>(x.e[tx ? r - 2 : r - 1]);
    cell_array result(n, 0);
    with_dtype(g_.op(k).result, [&]<class T>(T) {
      if constexpr (!std::is_same_v<T, bool>) {
        for (int i = 0; i < n; ++i) {
          const int batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
          // Element q of a factor, by its first element and the step to the next.
          const auto factor = [&](int j, int first, int step) {
            return [this, k, j, first, step](std::size_t q) {
              return static_cast<wide<T>>(from_cell<T>(in(k, j)[first + static_cast<int>(q) * step]));
            };
          };
          const int x0 = batch * rows * length, y0 = batch * length * columns;
          const auto left = tx ? factor(0, x0 + row, rows) : factor(0, x0 + row * length, 1);
          const auto right = ty ? factor(1, y0 + column * length, 1) : factor(1, y0 + column, columns);
          const auto count = static_cast<std::size_t>(length);
          wide<T> sum;
          if constexpr (std::is_same_v<T, bfloat16>) sum = multiply_pairs_in_order(count, left, right, lanes);
          else sum = multiply_in_order<wide<T>>(count, left, right, lanes);
          result[i] = to_cell(static_cast<T>(sum));
        }
      }
    });
    return result;
  }
  constexpr cell_array solve(int k, const extent_list& out, int n) const {
    const bool transposed = g_.eq[k].attr[0], inverts = g_.eq[k].count == 1;
    const int rows = static_cast<int>(out.e[out.rank - 2]), columns = static_cast<int>(out.e[out.rank - 1]), width = rows + columns;
    cell_array result(n, 0);
    with_dtype(g_.op(k).result, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>)
        for (int first = 0, matrix = 0; first < n; first += rows * columns, matrix += rows * rows) {
          vec<wide<T>> both(rows * width, 0);
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < rows; ++j)
              both[i * width + j] = static_cast<wide<T>>(from_cell<T>(in(k, 0)[matrix + (transposed ? j * rows + i : i * rows + j)]));
            for (int j = 0; j < columns; ++j)
              both[i * width + rows + j] = static_cast<wide<T>>(inverts ? T(i == j) : from_cell<T>(in(k, 1)[first + i * columns + j]));
          }
          if (!solved_in_order(both.data(), rows, columns, (g_.eq[k].attr[1] & nan_bit) != 0))
            raise("ebb::evaluate: " + std::string(g_.op(k).name) + ": a matrix is singular");
          for (int i = 0; i < rows * columns; ++i)
            result[first + i] = to_cell(static_cast<T>(both[i / columns * width + rows + i % columns]));
        }
    });
    return result;
  }
  constexpr cell_array solve_triangle(int k, const extent_list& out, int n) const {
    const int rows = static_cast<int>(out.e[out.rank - 2]), columns = static_cast<int>(out.e[out.rank - 1]);
    cell_array result(n, 0);
    with_dtype(g_.op(k).result, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>)
        for (int first = 0, matrix = 0; first < n; first += rows * columns, matrix += rows * rows) {
          vec<wide<T>> t(rows * rows, 0), b(rows * columns, 0);
          for (int i = 0; i < rows * rows; ++i) t[i] = static_cast<wide<T>>(from_cell<T>(in(k, 0)[matrix + i]));
          for (int i = 0; i < rows * columns; ++i) b[i] = static_cast<wide<T>>(from_cell<T>(in(k, 1)[first + i]));
          if (!solve_triangle_in_order(t.data(), b.data(), rows, columns, g_.eq[k].attr[0] != 0, g_.eq[k].attr[1]))
            raise("ebb::evaluate: solve_triangular: a matrix is singular");
          for (int i = 0; i < rows * columns; ++i) result[first + i] = to_cell(static_cast<T>(b[i]));
        }
    });
    return result;
  }
  constexpr cell_array factor(int k, int n) const {
    const extent_list x = extents(g_.operand(k, 0));
    const int rows = static_cast<int>(x.e[x.rank - 1]), batch = static_cast<int>(x.volume(0, x.rank - 2));
    cell_array result(n, 0);
    if (g_.eq[k].attr[0] == static_cast<std::int64_t>(factor_kind::own)) {
      g_.op(k).matrices(x, n, g_.eq[k].attr[1], in(k, 0).data(), result.data());
      return result;
    }
    with_dtype(g_.op(k).result, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>)
        for (int matrix = 0; matrix < batch; ++matrix) {
          vec<wide<T>> a(rows * rows, 0);
          for (int i = 0; i < rows * rows; ++i) a[i] = static_cast<wide<T>>(from_cell<T>(in(k, 0)[matrix * rows * rows + i]));
          if (g_.eq[k].attr[0] == static_cast<std::int64_t>(factor_kind::log_determinant)) {
            bool odd = false, singular = solve_in_order(a.data(), rows, 0, &odd) >= 0;
            const auto r = sign_and_log_of<wide<T>>(rows, singular, odd, [&](auto i) { return a[static_cast<int>(i) * (rows + 1)]; });
            result[2 * matrix] = to_cell(static_cast<T>(r.sign));
            result[2 * matrix + 1] = to_cell(static_cast<T>(r.log));
            continue;
          }
          const bool failed = factor_in_order(a.data(), rows) > 0;
          if (failed && !g_.eq[k].attr[1]) raise("ebb::evaluate: cholesky: a matrix is not positive definite");
          for (int i = 0; i < rows; ++i)
            for (int j = 0; j <= i && failed; ++j) a[i * rows + j] = std::numeric_limits<wide<T>>::quiet_NaN();
          for (int i = 0; i < rows; ++i)
            for (int j = 0; j < rows; ++j)
              result[(matrix * rows + i) * rows + j] = to_cell(static_cast<T>(j > i ? wide<T>(0) : a[i * rows + j]));
        }
    });
    return result;
  }
  constexpr cell_array rows(int k, const extent_list& out, int n) const {
    const equation& e = g_.eq[k];
    const std::size_t count = out.e[out.rank - 1], batch = out.volume(0, out.rank - 1);
    cell_array r(n, 0);
    for (std::size_t i = 0; i < batch; ++i) {
      const cell* from[2] = {};
      std::size_t length[2] = {};
      for (int j = 0; j < e.count; ++j) {
        const extent_list x = extents(g_.operand(k, j));
        length[j] = x.e[x.rank - 1];
        from[j] = in(k, j).data() + i * length[j];
      }
      e.op->row(from, length, r.data() + i * count, count, e.attr);
    }
    return r;
  }

  const G& g_;
  const vec<cell_array>& arguments_;
  const vec<std::size_t>& symbol_values_;
  vec<cell_array> values_;
  vec<vec<cell_array>> loops_;  // the results of each loop
};

}  // namespace detail

/// The outputs of g. symbol_values: the value of each symbol of g, in order.
template <std::same_as<graph> G>  // see [note: compiled where used]
constexpr vec<cell_array> evaluate(const G& g, const vec<cell_array>& arguments, const vec<std::size_t>& symbol_values) {
  const detail::evaluator<G> e(g, arguments, symbol_values);
  vec<cell_array> out;
  for (int o : g.out) out.push(e.value(o));
  return out;
}

namespace detail {

template <std::same_as<graph> G>
constexpr vec<cell_array> evaluator<G>::loop(int k) const {
  const equation& e = g_.eq[k];
  const loop_parts p = loop_parts::of(e);
  const G& body = g_.subs[e.sub];
  const int all = static_cast<int>(extents(k).e[0]), given = body.out.size();
  const int steps = p.guarded && !from_cell<bool>(this->in(k, e.count - 1)[0]) ? 0 : all;
  vec<cell_array> in;
  vec<extent_list> sizes;
  for (int j = 0; j < e.count; ++j) {
    in.push(this->in(k, j));
    shape s = g_.shape_of(g_.operand(k, j));
    sizes.push(extents_at(p.is_row(j) ? row_of_shape(s) : s, symbol_values_.data()));
  }
  const vec<std::size_t> values = ebb::symbol_values(body, sizes, in);
  vec<cell_array> r(given + p.carries, cell_array{});
  const auto rows = [&](int length) { return cell_array(all * length, 0); };
  const auto put = [](cell_array& to, int row, const cell_array& from) {
    for (int i = 0; i < from.size(); ++i) to[row * from.size() + i] = from[i];
  };
  for (int j = 0; j < p.carries; ++j) {
    r[j] = in[j];
    r[given + j] = rows(in[j].size());
  }
  for (int i = p.carries; i < given; ++i) r[i] = rows(static_cast<int>(extents_at(body.shape_of(body.out[i]), values.data()).volume()));
  const auto trues = [](const cell_array& x) { int n = 0; for (const cell c : x) n += from_cell<bool>(c); return n; };
  for (int step = 0; p.open ? trues(r[0]) > 0 : step < steps; ++step) {
    const int row = p.reversed ? steps - 1 - step : step;
    for (int j = 0; j < p.carries; ++j) {
      in[j] = r[j];
      if (!p.open) put(r[given + j], row, r[j]);
    }
    for (int j = p.carries; j < p.carries + p.rows; ++j) {
      const int length = static_cast<int>(sizes[j].volume());
      in[j] = cell_array(length, 0);
      for (int i = 0; i < length; ++i) in[j][i] = this->in(k, j)[row * length + i];
    }
    const vec<cell_array> out = evaluate(body, in, values);
    for (int j = 0; j < p.carries; ++j) r[j] = out[j];
    for (int i = p.carries; i < given; ++i) put(r[i], row, out[i]);
  }
  return r;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
