// ebb/graph/batch.hpp — a graph for many arguments at once: every array that depends on a batched one gets a new leading axis.
// SPDX-License-Identifier: BSL-1.0
//
// [note: batching]
// map, jacobian, hessian and vmap use it. Each kind of equation has one rule; single ops have none. An equation that does not depend on a
// batched argument is computed once, so work that is the same for all rows leaves the loop. Each row of an elementwise equation, a sum or a
// move has the bits that it would have alone: the runs that are summed keep their length and their place.
// A loop over some rows becomes a loop with a batched body: all its carries get the new axis, and in batched rows the axis of the steps is
// moved to the front again. A guarded loop whose guard differs from row to row runs for all rows: the equation that uses its results
// selects. A custom equation stays one, with a batched pull: see [note: custom pulls].
#pragma once

#include "box.hpp"
#include "custom.hpp"
#include "loop.hpp"
#include "splice.hpp"

#include "../tensor/product_order.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class batching {
 public:
  constexpr batching(graph& to, const graph& from, const vec<int>& arguments, const vec<char>& batched, int extent)
      : to_(to), from_(from), extent_(to.syms.find(extent)), at_(from.size(), -1), rows_(from.size(), 0) {
    if (const int code = find_extents(arguments, batched); code != 0) {
      code_ = code;
      return;
    }
    subs_ = to_.subs.size();
    for (const graph& sub : from_.subs) to_.subs.push(sub);
    for (int k = 0; k < from_.size() && code_ == 0; ++k) {
      const equation& e = from_.eq[k];
      if (e.op->what == kind::input) {
        const int number = static_cast<int>(e.attr[0]);
        at_[k] = arguments[number];
        rows_[k] = batched[number];
        continue;
      }
      for (int i : from_.operands(k)) rows_[k] = rows_[k] || rows_[i];
      at_[k] = rows_[k] ? batch(k) : copy(k);
      if (at_[k] < 0) code_ = -at_[k];
    }
  }

  /// The outputs. Those that depend on no batched argument are repeated, so that all have the new axis.
  constexpr vec<int> outputs() {
    if (code_ != 0) return vec<int>(from_.out.size(), -code_);
    vec<int> r;
    for (int o : from_.out) r.push(o < 0 ? o : with_rows(o));
    return r;
  }

 private:
  /// Finds the extent in `to` for each symbol of `from`: it is that of an argument, after the new axis. Also numbers the shapes. Returns a
  /// code, or 0.
  constexpr int find_extents(const vec<int>& arguments, const vec<char>& batched) {
    for (int i = 0; i < from_.syms.count(); ++i)
      if (from_.syms.origin(i).is_value() && batched[from_.syms.origin(i).a]) return 333;
    for (int i = 0; i < arguments.size(); ++i)
      if (batched[i] && !to_.syms.unify(to_.shape_of(arguments[i]).e[0], extent_)) return 102;
    const auto extent = [&](const extent_origin& o) { return extent_in(to_, arguments[o.a], o, batched[o.a] ? 1 : 0); };
    symbol_ = symbols_in(to_, from_, extent);
    if (symbol_.size() < from_.syms.count() || !unify_arguments(to_, from_, symbol_, extent)) return 102;
    extent_ = to_.syms.find(extent_);
    for (const shape& s : from_.shapes) {
      shape plain = s, rows;
      rows.push(extent_);
      for (int i = 0; i < s.rank; ++i) plain.e[i] = to_.syms.find(here(s.e[i]));
      for (int i = 0; i < s.rank && rows.rank < max_rank; ++i) rows.push(plain.e[i]);
      plain_.push(to_.intern(plain));
      rows_shape_.push(s.rank < max_rank ? to_.intern(rows) : -1);
    }
    return 0;
  }
  constexpr int here(int e) const { return e >= 0 ? e : symbol_[~e]; }

  EBB_ONCE constexpr int add(equation e, int shape, number_range in) {
    e.shape = shape;
    if (e.sub >= 0) e.sub += subs_;
    return to_.add(e, in);
  }
  EBB_COLD constexpr int copy(int k) {
    const vec<int> in = renumbered(from_, k, at_);
    return add(from_.eq[k], plain_[from_.eq[k].shape], range_of(in));
  }
  /// Equation k of `from`, repeated along the new axis if it has none.
  constexpr int with_rows(int k) {
    if (rows_[k]) return at_[k];
    if (rows_shape_[from_.eq[k].shape] < 0) return -125;
    return from_.op(k).kit->broadcast(to_, at_[k], rows_shape_[from_.eq[k].shape], 1);
  }
  constexpr const shape& shape_at(int k) const { return to_.shape_of(at_[k]); }

  EBB_COLD constexpr int batch(int k) {
    equation e = from_.eq[k];
    if (rows_shape_[e.shape] < 0) return -125;
    switch (e.op->what) {
      case kind::broadcast: e.attr[0] <<= 1; break;
      case kind::reduce: ++e.attr[0], ++e.attr[1]; break;
      case kind::scan: ++e.attr[0]; break;
      case kind::move:
        if (!e.op->batched) return -125;
        e.op->batch(e.attr, from_.shape_of(from_.operand(k, 0)).rank);
        break;
      case kind::elementwise: case kind::reshape: case kind::factor: case kind::rows: break;
      case kind::contract: return contract(k);
      case kind::solve: return solve(k);
      case kind::triangle: return triangle(k);
      case kind::gather: return gather(k);
      case kind::scatter: return each_its_own(k);
      case kind::own: return own(k);
      case kind::loop: return loop(k);
      case kind::custom: return custom(k);
      case kind::result: return result(k);
      default: return -125;  // an equation without operands depends on no argument
    }
    vec<int> in;
    for (int i : from_.operands(k)) {
      in.push(with_rows(i));
      if (in.back() < 0) return in.back();
    }
    return add(e, rows_shape_[e.shape], range_of(in));
  }

  /// [B, m, k] x [k, n] is [B m, k] x [k, n]: one product, each row of it as before. So is [m, k] x [B, k, 1], whose columns are the rows
  /// of [B, k] x [k, m]: factors trade places, sums keep their order. Else both sides become batched products.
  constexpr int contract(int k) {
    equation e = from_.eq[k];
    const int x = from_.operand(k, 0), y = from_.operand(k, 1);
    const shape &of_x = from_.shape_of(x), &of_y = from_.shape_of(y);
    const bool is_row = of_x.rank == 2 && of_x.e[e.attr[0] & left_transposed ? 1 : 0] == 1;
    const bool is_column = of_y.rank == 2 && of_y.e[e.attr[0] & right_transposed ? 0 : 1] == 1;
    const bool turns = !rows_[x] && rows_[y] && is_column;
    const bool folds = turns || (rows_[x] && !rows_[y] && of_x.rank == 2 && (is_row || !(e.attr[0] & left_transposed)));
    if (!folds) {
      const int in[] = {with_rows(x), with_rows(y)};
      return in[0] < 0 ? in[0] : in[1] < 0 ? in[1] : add(e, rows_shape_[e.shape], {in, 2});
    }
    const int rows = turns ? y : x, whole = turns ? x : y;
    const bool transposed = turns ? !(e.attr[0] & left_transposed) : (e.attr[0] & right_transposed) != 0;
    e.attr[0] = (e.attr[0] & ~(left_transposed | right_transposed)) | (transposed ? right_transposed : 0);
    const shape s = shape_at(rows), out = to_.shapes[rows_shape_[e.shape]];
    const int result_rows = turns ? 2 : 1, columns = turns ? 1 : 2;
    shape tall, result;
    tall.push(to_.syms.derive(extent_rule::product, s.e[0], out.e[result_rows]));
    tall.push(to_.shape_of(at_[whole]).e[transposed ? 1 : 0]);
    result.push(tall.e[0]);
    result.push(out.e[columns]);
    const int in[] = {e.op->kit->reshape(to_, at_[rows], to_.intern(tall)), at_[whole]};
    return e.op->kit->reshape(to_, add(e, to_.intern(result), {in, 2}), rows_shape_[e.shape]);
  }

  /// A matrix that all rows share is factored once: [B, n, m] -> [n, B m], solve, and back.
  constexpr int solve(int k) {
    const equation& e = from_.eq[k];
    const int a = from_.operand(k, 0), b = from_.operand(k, e.count - 1);
    const dtype_kit& kit = *e.op->kit;
    if (rows_[a] || from_.shape_of(a).rank != 2) {
      const int in[] = {with_rows(a), with_rows(b)};
      return in[0] < 0 ? in[0] : in[1] < 0 ? in[1] : add(e, rows_shape_[e.shape], {in, e.count});
    }
    const int apart = move_axis(at_[b], kit, 0, 1), columns = to_.eq[apart].shape;
    const shape s = to_.shape_of(apart);
    shape flat;
    flat.push(s.e[0]);
    flat.push(to_.syms.derive(extent_rule::product, s.e[1], s.e[2]));
    const int in[] = {at_[a], kit.reshape(to_, apart, to_.intern(flat))};
    return move_axis(kit.reshape(to_, add(e, to_.eq[in[1]].shape, {in, 2}), columns), kit, 1, 0);
  }

  /// A matrix that all rows share stays one: it takes any batch of the other operand.
  constexpr int triangle(int k) {
    const equation& e = from_.eq[k];
    int in[2] = {};
    for (int j = 0; j < 2; ++j) {
      const int x = from_.operand(k, j);
      in[j] = !rows_[x] && from_.shape_of(x).rank == 2 ? at_[x] : with_rows(x);
      if (in[j] < 0) return in[j];
    }
    return add(e, rows_shape_[e.shape], {in, 2});
  }

  /// If the rows are a batch already, [B, N, ...] becomes a longer batch, [B N, ...]. Else all operands get the new axis in front of
  /// theirs.
  constexpr int own(int k) {
    const equation& e = from_.eq[k];
    if (is_box(*e.op)) return boxes(k);
    const int first = from_.operand(k, 0);
    const int folded = e.op->folds ? e.op->folded(e.attr, from_.shape_of(first).rank) : -1;
    bool folds = folded >= 0;
    vec<int> in;
    for (int j = 0; j < e.count; ++j) folds = folds && rows_[from_.operand(k, j)] == (j == folded);
    for (int j = 0; j < e.count; ++j) {
      const int x = from_.operand(k, j);
      // By its own table: the result may have another dtype.
      const auto merge = [&] { return to_.op(at_[x]).kit->reshape(to_, at_[x], to_.intern(merged(shape_at(x)))); };
      in.push(!folds ? with_rows(x) : j == folded ? merge() : at_[x]);
      if (in.back() < 0) return in.back();
    }
    const int rows = rows_shape_[e.shape];
    if (!folds) return add(e, rows, range_of(in));
    return e.op->kit->reshape(to_, add(e, to_.intern(merged(to_.shapes[rows])), range_of(in)), rows);
  }
  /// Boxes of one array: more numbers, that is all. Else there is one more axis of batches.
  constexpr int boxes(int k) {
    equation e = from_.eq[k];
    const bool of_one = e.attr[0] == 0 && !rows_[from_.operand(k, 0)] && box_form::of(e.attr).what == box_form::reads;
    if (!of_one) ++e.attr[0];
    vec<int> in;
    for (int j = 0; j < e.count; ++j) {
      const int x = from_.operand(k, j);
      in.push(of_one && j == 0 ? at_[x] : with_rows(x));
      if (in.back() < 0) return in.back();
    }
    return add(e, rows_shape_[e.shape], range_of(in));
  }
  constexpr shape merged(const shape& s) {
    shape r;
    r.push(to_.syms.derive(extent_rule::product, s.e[0], s.e[1]));
    for (int i = 2; i < s.rank; ++i) r.push(s.e[i]);
    return r;
  }

  /// x with axis `from` in place `to`, and the others in their order.
  constexpr int move_axis(int x, const dtype_kit& kit, int from, int to) {
    int axes[max_rank] = {};
    const int rank = to_.shape_of(x).rank;
    for (int i = 0, next = 0; i < rank; ++i) {
      if (next == from) ++next;
      axes[i] = i == to ? from : next++;
    }
    return from == to ? x : kit.permute(to_, x, axes);
  }

  constexpr int gather(int k) {
    const equation& e = from_.eq[k];
    const int x = from_.operand(k, 0), indices = from_.operand(k, 1);
    const int result = rows_shape_[e.shape];
    if (e.attr[0] == 0 && !rows_[x]) {  // the rows are the same: more numbers, that is all
      const int in[] = {at_[x], at_[indices]};
      return add(e, result, {in, 2});
    }
    return each_its_own(k);
  }

  /// A gather or scatter with one more leading axis, along which rows and their numbers belong together.
  constexpr int each_its_own(int k) {
    equation e = from_.eq[k];
    ++e.attr[0];
    int in[3] = {};
    for (int j = 0; j < e.count; ++j) {
      in[j] = with_rows(from_.operand(k, j));
      if (in[j] < 0) return in[j];
    }
    return add(e, rows_shape_[e.shape], {in, e.count});
  }

  /// The sub-graph `body`, batched: its argument j gets the new axis if batched[j]. If it is refused, an output is below 0.
  constexpr graph batched_body(const graph& body, const vec<char>& batched) const {
    graph many;
    vec<int> arguments, of_symbol(body.syms.count(), 0);
    int extent = 0;
    for (int j = 0; j < batched.size(); ++j) {
      const shape s = body.shape_of(body.input(j));
      if (s.rank + batched[j] > max_rank) {
        many.out = {-125};
        return many;
      }
      shape rows;
      if (batched[j]) rows.push(extent = extent_ >= 0 ? extent_ : extent < 0 ? extent : many.syms.fresh({extent_rule::argument, j, 0}));
      for (int i = 0; i < s.rank; ++i) {
        int x_i = body.syms.find(s.e[i]);
        if (x_i < 0) {
          int& known = of_symbol[~x_i];
          if (known == 0) known = many.syms.fresh({extent_rule::argument, j, i + batched[j]});
          x_i = known;
        }
        rows.push(x_i);
      }
      arguments.push(body.op(body.input(j)).kit->input(many, many.intern(rows), many.inputs++));
    }
    many.out = batching(many, body, arguments, batched, extent).outputs();
    return many;
  }
  /// The first code among the outputs of a batched body, or 0.
  static constexpr int code_of(const graph& many, const graph& body) {
    if (many.out.size() < body.out.size()) return many.out[0];
    for (int i = 0; i < many.out.size(); ++i)
      if (many.out[i] < 0 && body.out[i] >= 0) return many.out[i];
    return 0;
  }

  /// All carries and results of a batched loop have the new axis; its rows and wholes have it if they have it outside of the loop.
  constexpr int loop(int k) {
    equation e = from_.eq[k];
    const loop_parts p = loop_parts::of(e);
    const graph& body = from_.subs[e.sub];
    vec<char> batched;
    vec<int> in;
    for (int j = 0; j < e.count; ++j) {
      const int x = from_.operand(k, j);
      batched.push(p.is_carry(j) || rows_[x]);
      if (!batched.back()) in.push(at_[x]);
      else in.push(p.is_row(j) ? move_axis(at_[x], *from_.op(x).kit, 0, 1) : with_rows(x));
      if (in.back() < 0) return in.back();
    }
    graph many = batched_body(body, batched);
    if (const int code = code_of(many, body); code < 0) return code;
    if (loop_parts every = p; p.guarded && rows_[from_.operand(k, e.count - 1)]) {
      every.guarded = false;
      e.attr[0] = every.attribute();
    }
    e.sub = to_.subs.push(static_cast<graph&&>(many)) - subs_;
    return add(e, plain_[e.shape], range_of(in));
  }
  /// All arguments and values of a batched custom equation have the new axis; a saved value has it if it depends on a batched argument.
  constexpr int custom(int k) {
    equation e = from_.eq[k];
    const custom_parts p = custom_parts::of(e);
    const graph& pull = from_.subs[e.sub];
    vec<char> batched;
    vec<int> in;
    for (int j = 0; j < e.count; ++j) {
      const int x = from_.operand(k, j);
      const bool saved = j >= p.first_saved();
      if (saved) batched.push(rows_[x]);
      in.push(saved ? at_[x] : with_rows(x));
      if (in.back() < 0) return in.back();
    }
    for (int i = 0; i < p.values; ++i) batched.push(1);
    graph many = batched_body(pull, batched);
    if (const int code = code_of(many, pull); code < 0) return code;
    for (int i = 0; i < p.arguments; ++i)
      if (pull.out[i] < 0) many.out[i] = -1;
    e.sub = to_.subs.push(static_cast<graph&&>(many)) - subs_;
    return add(e, plain_[e.shape], range_of(in));
  }
  constexpr int result(int k) {
    const equation& e = from_.eq[k];
    const dtype_kit& kit = *e.op->kit;
    const attributes_of_result which{e.attr[0], e.attr[1]};
    if (kind_of_result(e) == loop_result::carry) return kit.result(to_, at_[from_.operand(k, 0)], rows_shape_[e.shape], which);
    shape s = to_.shapes[rows_shape_[e.shape]];
    const int n = s.e[1];
    s.e[1] = s.e[0];
    s.e[0] = n;
    return move_axis(kit.result(to_, at_[from_.operand(k, 0)], to_.intern(s), which), kit, 0, 1);
  }

  graph& to_;
  const graph& from_;
  int extent_, subs_ = 0, code_ = 0;
  vec<int> symbol_, plain_, rows_shape_, at_;
  vec<char> rows_;
};

}  // namespace detail

/// Copies `from` into `to` with the given equations as its arguments, of which the batched ones have a leading axis of the given extent,
/// and returns the numbers of its outputs, all with that axis; -code where this cannot be. An extent is a number or a symbol of `to`.
constexpr vec<int> splice_batched(graph& to, const graph& from, const vec<int>& arguments, const vec<char>& batched, int batch_extent) {
  return detail::batching(to, from, arguments, batched, batch_extent).outputs();
}

}  // namespace ebb::inline EBB_ABI
