// ebb/autograd/derivation.hpp — the graphs behind a node, for a backward of its backward.
// SPDX-License-Identifier: BSL-1.0
//
// [note: differentiating a backward]
// A backward is a function too: of the arguments and the saved values that the node kept, and of the gradients that arrive. Recorded, it
// becomes a node whose edges lead to where the kept arguments came from, to what made the arriving gradients, and, for saved values, back
// to the node itself: they are outputs of its forward half that no user sees. So a node that has been differentiated has more outputs
// than its program says, one for each kept value; and when a gradient arrives at such an output, the *extended* backward runs, the
// pull-back of the user's results and of the saved values together. It needs nothing that was not kept: the pulls on the way from the
// arguments to a saved value are pulls of the backward as well, and what they mention was kept for it. (A pull that mentions an operand
// which it gives no gradient would break that, and is refused by name.)
#pragma once

#include "packed.hpp"

#include "../exec/chainable.hpp"
#include "../graph/frozen.hpp"
#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI {

class graph_function;

/// What a node kept and gives, as graphs.
struct derivation {
  graph forward;       // arguments -> results, then what is saved
  graph backward;      // kept values, then seeds -> one gradient for each edge
  int arguments = 0, results = 0;
  vec<int> kept;       // by number: an argument, or `arguments` + a saved value
  vec<int> read_seeds; // the seeds behind the kept values in `backward`, by number among the real results
  vec<int> edges;      // the arguments that gradients are for
  vec<int> outputs;    // for each seed the node's output, or -1

  int seeds() const { return outputs.size(); }
};

/// The same as a segment has it: in constants.
struct segment_graphs {
  frozen_view forward, backward;
  int arguments, results, saves;
  number_range read;  // by the backward: arguments, saved values and seeds, numbered on
  number_range edges, outputs;
  number_range gradient_from;  // of the compiled backward: its result that is the gradient of each edge, or ~ what it reads
  const chainable* chain;      // the compiled backward as a link
  const casts_assumed* follows;  // if there: where this is wrong in the context of a call, another backward runs
  frozen_view traced;            // of the function, and how it became the halves, for EBB_LOGS=passes
  maybe_context pulls;           // the context of its pulls, if it is `off`
  bool saves_values;
};

namespace detail {

EBB_ONCE derivation thaw(const segment_graphs& s) {
  derivation d;
  d.forward = s.forward.thaw();
  note_stage<watched>(stage::partitioned, d.forward, part_of_region::forward_half);
  d.backward = used_arguments(s.backward.thaw()).g;
  note_stage<watched>(stage::partitioned, d.backward, part_of_region::backward_half);
  d.arguments = s.arguments;
  d.results = s.results;
  for (int number : s.read)
    if (number < s.arguments + s.saves) d.kept.push(number);
    else d.read_seeds.push(number - s.arguments - s.saves);
  for (int number : s.edges) d.edges.push(number);
  for (int output : s.outputs) d.outputs.push(output);
  return d;
}

/// The halves of a function with respect to some of its arguments, as a derivation.
EBB_ONCE derivation derive(const graph& f, const vec<int>& wrt) {
  derivation d;
  d.arguments = f.inputs;
  d.results = f.out.size();
  d.edges = wrt;
  const halves h = split<watched>(joint<watched>(f, wrt), f.inputs, f.out.size());
  d.forward = h.forward;
  const fewer_arguments b = used_arguments(h.backward);
  d.backward = b.g;
  for (int number : b.kept)
    if (number < d.arguments + h.saved) d.kept.push(number);
    else d.read_seeds.push(number - d.arguments - h.saved);
  for (int o : f.out)
    if (is_real(f.op(o).result)) d.outputs.push(d.outputs.size());
  return d;
}

/// The seeds of the extended backward: those of the real results, then one for each real saved value that was kept, by its place there.
EBB_ONCE vec<int> kept_with_gradient(const derivation& d) {
  vec<int> r;
  for (int i = 0; i < d.kept.size(); ++i)
    if (const int s = d.kept[i] - d.arguments; s >= 0 && is_real(d.forward.op(d.forward.out[d.results + s]).result)) r.push(i);
  return r;
}

/// From kept values, seeds of results and, if `of_saved`, seeds of saved values to the gradients of the edges, with pulls in the given
/// autocast context. Without outputs if a value is missing.
EBB_ONCE graph backward_from_kept(const derivation& d, bool of_saved, const cast_context& context = context_of<off>) {
  const graph j = joint<watched>(d.forward, d.edges, context, of_saved ? d.forward.out.size() : d.results);
  const int saves = d.forward.out.size() - d.results;
  graph e = shell_of(j);
  vec<int> to(j.size(), -1);
  const auto take = [&](int k, int number) {
    if (to[k] < 0) to[k] = j.op(k).kit->input(e, j.eq[k].shape, number);
  };
  for (int i = 0; i < d.kept.size(); ++i) {
    const int number = d.kept[i];
    const int k = number < d.arguments ? j.input(number) : j.out[d.results + number - d.arguments];
    if (k >= 0) take(k, i);
  }
  int next = d.kept.size(), seed = d.arguments;
  for (int s = 0; s < d.seeds(); ++s, ++seed, ++next)
    if (const int k = j.input(seed); k >= 0) take(k, next);
  const vec<int> with_gradient = kept_with_gradient(d);
  for (int s = 0; of_saved && s < saves; ++s) {
    if (!is_real(d.forward.op(d.forward.out[d.results + s]).result)) continue;
    const int k = j.input(seed++);
    bool is_kept = false;
    for (int i : with_gradient) is_kept = is_kept || d.kept[i] == d.arguments + s;
    if (is_kept) take(k, next++);
    else to[k] = j.op(k).kit->literal(e, j.eq[k].shape, 0);
  }
  e.inputs = next;
  copy_equations(e, j, to, [&](int k) { return j.op(k).what != kind::input && has_operands(j, k, to); }, as_they_are);
  for (int o = d.results + saves; o < j.out.size(); ++o) {
    if (to[j.out[o]] < 0) {
      e.out = {};
      return e;
    }
    e.out.push(to[j.out[o]]);
  }
  return prune(e);
}

/// The same function, whose pulls run in another autocast context.
EBB_ONCE derivation in_other_context(derivation d, const cast_context& context) {
  d.backward = backward_from_kept(d, false, context);
  d.read_seeds = {};
  for (int s = 0; s < d.seeds(); ++s) d.read_seeds.push(s);
  return d;
}

/// The values of all symbols, given those that are extents of arguments, in order.
EBB_ONCE void put_all_symbols(const symbols& s, const std::size_t* kept, std::size_t* value) {
  put_symbol_values(s, value, [&](const extent_origin&) { return *kept++; });
}
EBB_ONCE vec<std::size_t> all_symbols(const symbols& s, const std::size_t* kept) {
  vec<std::size_t> value(s.count(), 0);
  put_all_symbols(s, kept, value.data());
  return value;
}
EBB_ONCE int argument_symbols(const symbols& s) {
  int n = 0;
  for (int i = 0; i < s.count(); ++i) n += s.origin(i).rule == extent_rule::argument;
  return n;
}
EBB_ONCE vec<int> real_inputs(const graph& g) {
  vec<int> r;
  for (int i = 0; i < g.inputs; ++i)
    if (const int k = g.input(i); k >= 0 && is_real(g.op(k).result)) r.push(i);
  return r;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
