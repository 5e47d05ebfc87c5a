// ebb/pass/loop.hpp — the pull-back of a loop: one more loop, in the other direction.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a loop pulled back]
// The body of the pull-back is the pull-back of one step:
//   carries    the cotangents of the carries, then the sums of the wholes' gradients
//   rows       those of the loop, the history of its carries, the cotangents of its rows, the saved values of the step
//   wholes     those of the loop
//   results    cotangents of the carries before the first step, gradients of the wholes, gradients of each row
// A step is a function with two halves, see [note: saved or recomputed]: the saved values of the first half become rows of the loop. With
// loop_parts::recomputes the step is computed again instead, from the carries before it. The loop that is pulled back stays in its place;
// `prune` removes its unused results. The new loop is a loop like any other, and is pulled back again by this function.
//
// The order of sums is part of the contract. It is that of the unrolled program, as far as possible. Inside of a step cotangents are added
// as in any function, that of the carry after the step first. The gradient of a whole is one sum over all steps. It begins with the
// cotangent from equations after the loop, or with -0. Then it adds the contributions of the last step, use by use in falling order, and so
// on back to the first step. A whole that the loop takes twice begins with -0 each time. The cotangent of a carry whose final value is
// unused begins with zero.
//
// The pull-back of a guarded loop has the same guard. It is the last operand of both: the last whole.
//
// Saves: the carries before each step, and the saved values of each step.
#pragma once

#include "partition.hpp"
#include "pull_back.hpp"

#include "../graph/splice.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Rules: those of the equations of the body that have sub-graphs, see pull_back_by.
template <class Rules>
class pulled_loop {
 public:
  constexpr pulled_loop(graph& g, int loop, int* cotangent, int count, const char* active)
      : g_(g), loop_(loop), cotangent_(cotangent), e_(g.eq[loop]), parts_(loop_parts::of(e_)), body_(g.subs[e_.sub]),
        at_end_(parts_.carries, -1), history_(parts_.carries, -1), of_row_(body_.out.size() - parts_.carries, -1) {
    for (int k = loop + 1; k < count; ++k) {
      if (cotangent[k] < 0 || g.op(k).what != kind::result || g.operand(k, 0) != loop) continue;
      const loop_result what = kind_of_result(g.eq[k]);
      vec<int>& of = what == loop_result::carry ? at_end_ : what == loop_result::row ? of_row_ : history_;
      const int i = static_cast<int>(g.eq[k].attr[0]);
      of[i] = of[i] < 0 ? cotangent[k] : g.op(k).kit->add(g, of[i], cotangent[k]);
    }
    for (int j = 0; j < e_.count; ++j) {
      const int in = g.operand(loop, j);
      pulled_.push(is_real(g.op(in).result) && (parts_.is_carry(j) || active[in]));
    }
  }

  constexpr void run(int* out) {
    graph step = body_;
    step.out = {};
    pull_step(step);
    const int made = add_loop(static_cast<graph&&>(step));
    int carry = 0, row = 0;
    for (int j = 0; j < parts_.carries; ++j)
      if (pulled_[j]) out[j] = result(made, loop_result::carry, carry++, g_.operand(loop_, j));
    for (int j : summed_) {
      const int w = g_.operand(loop_, j), sum = result(made, loop_result::carry, carry++, w);
      (goes_on(j) ? cotangent_[w] : out[j]) = sum;
    }
    for (int j : with_rows_) out[j] = result(made, loop_result::row, row++, g_.operand(loop_, j));
  }

 private:
  /// Adds an argument to the step, with the dtype and shape of its equation `like`.
  constexpr int argument(graph& step, int like, vec<int>& list) {
    list.push(step.inputs);
    return step.op(like).kit->input(step, step.eq[like].shape, step.inputs++);
  }

  /// Turns the body into its pull-back: the outputs are the carries of the new loop, then its rows.
  constexpr void pull_step(graph& step) {
    vec<int> wrt, outs, seeds, sums(e_.count, -1);
    for (int j = 0; j < e_.count; ++j) {
      if (!pulled_[j]) continue;
      wrt.push(step.input(j));
      if (is_whole(j)) sums[j] = step.op(wrt.back()).kit->input(step, step.eq[wrt.back()].shape, step.inputs++);
    }
    for (int i = 0; i < body_.out.size(); ++i) {
      const int o = body_.out[i], row = i - parts_.carries;
      if (row < 0 ? !pulled_[i] : of_row_[row] < 0) continue;
      outs.push(o);
      seeds.push(argument(step, o, row < 0 ? carried_ : given_));
    }
    for (int j = 0; j < e_.count; ++j)
      if (sums[j] >= 0) {
        outs.push(step.input(j));
        seeds.push(sums[j]);
      }
    const vec<int> gradients = pull_back_by<Rules>(step, wrt, outs, seeds, g_.context);
    vec<int> rows;
    vec<char> unused(step.size(), 0);
    for (int j = 0, i = 0; j < e_.count; ++j) {
      if (!pulled_[j]) continue;
      const int in = wrt[i], gradient = gradients[i++];
      const dtype_kit& kit = *step.op(in).kit;
      if (parts_.is_carry(j)) {
        int before = or_zeros(step, gradient, in);
        if (history_[j] >= 0) before = kit.add(step, before, argument(step, in, histories_));
        step.out.push(before);
      } else if (parts_.is_row(j)) {
        if (gradient < 0) continue;
        with_rows_.push(j);
        rows.push(gradient);
      } else if (gradient == sums[j]) {
        unused[gradient] = 1;
      } else {
        summed_.push(j);
        sums_.push(static_cast<int>(step.eq[sums[j]].attr[0]));
        step.out.push(gradient);
      }
    }
    for (int o : rows) step.out.push(o);
    step = copied(step, [&](int k) { return k >= unused.size() || !unused[k]; });
    if (parts_.extended) take_rows(step);
    else if (!parts_.recomputes) save(step);
    g_.casts.ask(step.casts);
    renumber(step);
    step = prune(simplify(step));
  }

  /// Adds the saved values of a step to the rows of the loop, as arguments of `step`, the pull-back.
  constexpr void save(graph& step) {
    const vec<int> gradients = step.out;
    step.out = body_.out;
    for (int o : gradients) step.out.push(o);
    halves h = partition(prune(simplify(step)), e_.count, body_.out.size());
    for (vec<int>* list : {&carried_, &sums_, &given_, &histories_})
      for (int& number : *list) number += h.saved;
    vec<int> out = body_.out;
    for (int i = 0; i < out.size(); ++i) out[i] = h.forward.out[i];
    for (int i = 0; i < h.saved; ++i) {
      const int o = h.forward.out[body_.out.size() + i];
      int row = parts_.carries;
      while (row < out.size() && out[row] != o) ++row;
      if (row == out.size()) out.push(o);
      saved_.push(e_.count + i);
      saved_rows_.push(row - parts_.carries);
    }
    h.backward.casts = step.casts;
    step = static_cast<graph&&>(h.backward);
    h.forward.out = out;
    g_.eq[loop_].sub = add_sub(g_.subs, h.forward);  // other loops may have the body as it was
    loop_parts extended = parts_;
    extended.extended = true;
    g_.eq[loop_].attr[0] = extended.attribute();
  }
  /// A loop that has been pulled back before gets no further rows: another pull-back reads the values that the first one kept, see
  /// [note: differentiating a backward]. It reads the existing rows and recomputes other values.
  constexpr void take_rows(graph& step) {
    graph r = shell_of(step);
    vec<int> to(step.size(), -1);
    for (int i = parts_.carries; i < body_.out.size(); ++i) {
      const int o = body_.out[i];
      if (to[o] >= 0 || step.eq[o].count == 0) continue;
      saved_.push(r.inputs);
      saved_rows_.push(i - parts_.carries);
      to[o] = step.op(o).kit->input(r, step.eq[o].shape, r.inputs++);
    }
    copy_equations(r, step, to, all_equations, as_they_are);
    r.out = outputs_at(step, to);
    step = static_cast<graph&&>(r);
  }
  /// Adds the rows of the loop that the step reads.
  constexpr void push_saved(vec<int>& in) const {
    const graph body = g_.subs[g_.eq[loop_].sub];
    const vec<int> symbol = symbols_in(g_, body, [&](const extent_origin& o) {
      return extent_around(g_, g_.operand(loop_, o.a), parts_, o);
    });
    for (int row : saved_rows_) {
      const int o = body.out[parts_.carries + row];
      const shape all = rows_of_shape(g_.shapes[e_.shape].e[0], shape_in(g_, body.shape_of(o), symbol));
      in.push(body.op(o).kit->result(g_, loop_, g_.intern(all), {row, static_cast<std::int64_t>(loop_result::row)}));
    }
  }

  /// Numbers the arguments as operands of the new loop: carries, rows, wholes.
  constexpr void renumber(graph& step) const {
    vec<int> number(step.inputs, -1);
    int next = 0;
    const auto put = [&](const vec<int>& list) {
      for (int old : list) number[old] = next++;
    };
    const auto put_those = [&](auto is) {
      for (int j = 0; j < e_.count; ++j)
        if (is(j)) number[j] = next++;
    };
    put(carried_);
    put(sums_);
    put_those([&](int j) { return parts_.is_row(j); });
    put_those([&](int j) { return parts_.is_carry(j); });
    put(given_);
    put(histories_);
    put(saved_);
    put_those([&](int j) { return is_whole(j); });
    renumber_arguments(step, number, next);
  }

  constexpr bool is_whole(int j) const { return !parts_.is_carry(j) && !parts_.is_row(j); }
  /// Whether the sum for whole j begins with its present cotangent.
  constexpr bool goes_on(int j) const {
    const int w = g_.operand(loop_, j);
    int uses = 0;
    for (int i : g_.operands(loop_)) uses += i == w;
    return uses == 1 && !is_cast_of_each_use(g_.eq[w]) && cotangent_[w] >= 0;
  }

  constexpr int add_loop(graph step) {
    vec<int> in;
    for (int j = 0; j < parts_.carries; ++j)
      if (pulled_[j]) in.push(or_zeros(g_, at_end_[j], g_.operand(loop_, j)));
    for (int j : summed_) {
      const int w = g_.operand(loop_, j);
      in.push(goes_on(j) ? cotangent_[w] : g_.op(w).kit->literal(g_, g_.eq[w].shape, -0.0));
    }
    const int carries = in.size();
    for (int j = parts_.carries; j < parts_.carries + parts_.rows; ++j) in.push(g_.operand(loop_, j));
    for (int j = 0; j < parts_.carries; ++j) {
      const int x = g_.operand(loop_, j), shape = g_.intern(rows_of_shape(g_.shapes[e_.shape].e[0], g_.shape_of(x)));
      in.push(g_.op(x).kit->result(g_, loop_, shape, {j, static_cast<std::int64_t>(loop_result::history)}));
    }
    for (int c : of_row_)
      if (c >= 0) in.push(c);
    for (int j = 0; j < parts_.carries; ++j)
      if (history_[j] >= 0 && pulled_[j]) in.push(history_[j]);
    push_saved(in);
    const int rows = in.size() - carries;
    for (int j = parts_.carries + parts_.rows; j < e_.count; ++j) in.push(g_.operand(loop_, j));
    equation e{.op = e_.op, .shape = e_.shape};
    e.attr[0] = loop_parts{carries, rows, !parts_.reversed, parts_.recomputes, false, parts_.guarded}.attribute();
    e.sub = add_sub(g_.subs, step);
    return g_.add(e, range_of(in));
  }
  constexpr int result(int loop, loop_result what, int number, int like) const {
    return g_.op(like).kit->result(g_, loop, g_.eq[like].shape, {number, static_cast<std::int64_t>(what)});
  }

  graph& g_;
  int loop_;
  int* cotangent_;
  equation e_;
  loop_parts parts_;
  graph body_;
  vec<int> at_end_, history_, of_row_;  // the cotangents that have arrived
  vec<char> pulled_;                    // by operand: whether its gradient is needed
  vec<int> summed_, with_rows_;         // operands: the wholes and the rows with a gradient
  vec<int> carried_, sums_, given_, histories_, saved_;  // further arguments of the step
  vec<int> saved_rows_;                                  // the rows of the loop for its arguments saved_
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
