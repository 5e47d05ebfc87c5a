// ebb/autograd/derivation.hpp — a node's forward and backward as graphs, for a backward of its backward.
// SPDX-License-Identifier: BSL-1.0
//
// [note: differentiating a backward]
// A backward is a function of the arguments and saved values that its node kept, and of the gradients that arrive. When it is recorded, it
// becomes a node. The edges of that node lead to the nodes that made the kept arguments, to the nodes that made the arriving gradients,
// and, for saved values, back to the node itself: saved values are hidden outputs of its forward half. So a node that has been
// differentiated has more outputs than its program: one for each kept value. If a gradient arrives at such an output, the *extended*
// backward runs: the pull-back of the user's results and of the saved values together. It needs only kept values: the pulls between the
// arguments and a saved value are pulls of the backward, too, and their operands were kept for it. (A pull that reads an operand without
// giving it a gradient would break this, and is refused by name.)
#pragma once

#include "packed.hpp"

#include "../exec/blocks.hpp"
#include "../exec/chainable.hpp"
#include "../graph/frozen.hpp"
#include "../pass/pipeline.hpp"

namespace ebb::inline EBB_ABI {

class graph_function;

/// A node's forward and backward as graphs, and which values it kept.
struct derivation {
  graph forward;       // arguments -> results, then saved values
  graph backward;      // kept values, then seeds -> one gradient for each edge
  int arguments = 0, results = 0;
  vec<int> kept;       // by number: an argument, or `arguments` + a saved value
  vec<int> read_seeds; // the seeds after the kept values in `backward`, by number among the real results
  vec<int> edges;      // the arguments that get gradients
  vec<int> outputs;    // for each seed the node's output, or -1

  int seeds() const { return outputs.size(); }
};

/// Functions that make and run a graph of some of a backward's results. A segment names them if its backward has a product: other
/// segments do not bring them into a program.
struct partial_run {
  graph (*pruned)(const graph&);  // only what the results need
  distinct_results (*distinct)(const graph&);
  owned<runnable_graph> (*in_blocks)(const graph&);
};
inline constexpr partial_run runs_in_blocks{&prune, &distinct_outputs, &run_in_blocks};

/// The same as constants, for a segment.
struct segment_graphs {
  frozen_view forward, backward;
  int arguments, results, saves;
  number_range read;  // by the backward: arguments, then saved values, then seeds
  number_range edges, outputs;
  number_range gradient_from;  // for each edge the result of the compiled backward, or ~ the value that it passes on
  const chainable* chain;      // the compiled backward as a link
  const casts_assumed* follows;  // if not null: in a context that contradicts this another backward runs
  frozen_view traced;            // the function and its stages, for EBB_LOGS=passes
  maybe_context pulls;           // the context of its pulls, if it is `off`
  bool saves_values;
  const partial_run* parts;  // how a part of the backward runs, or null: nothing is gained by leaving some of it out
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

/// The derivation of a function with respect to some of its arguments.
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

/// The kept saved values of real dtype, by their place in `kept`: the extended backward has a seed for each, after those of the results.
EBB_ONCE vec<int> kept_with_gradient(const derivation& d) {
  vec<int> r;
  for (int i = 0; i < d.kept.size(); ++i)
    if (const int s = d.kept[i] - d.arguments; s >= 0 && is_real(d.forward.op(d.forward.out[d.results + s]).result)) r.push(i);
  return r;
}

/// The graph from kept values, seeds of results and, if `of_saved`, seeds of saved values to the gradients of the edges, with pulls in the
/// given autocast context. It has no outputs if a value is missing.
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

/// The same derivation, with pulls in another autocast context.
EBB_ONCE derivation in_other_context(derivation d, const cast_context& context) {
  d.backward = backward_from_kept(d, false, context);
  d.read_seeds = {};
  for (int s = 0; s < d.seeds(); ++s) d.read_seeds.push(s);
  return d;
}

/// The values of all symbols from the extents of the arguments, which `kept` has in order.
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
