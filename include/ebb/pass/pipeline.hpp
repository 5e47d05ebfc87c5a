// ebb/pass/pipeline.hpp — the order of the passes: the stages that the graph of a function goes through until it is planned.
// SPDX-License-Identifier: BSL-1.0
//
// [note: stages]
//   stage           the graph                                                       made by
//   traced          the function, as written; equal extents are one symbol          canonical_shapes, at the end of trace_of::make
//   differentiated  and the equations of its derivatives                            with_gradient, with_pull_back; with_push for jvp;
//                                                                                   gradients of pieces are joined by cuts.hpp
//   simplified      rewritten by exact rules, without what no output needs          simplify, prune
//   relaxed         rewritten by rules for real numbers: only the program of ebb::relaxed   relax
//   partitioned     a forward and a backward half, and what the first one saves     partition
//   distinct        halves without arguments they do not read and repeated outputs  used_arguments, distinct_outputs
//   lowered         without what only differentiation reads, what loops repeat ahead    lower, hoist, unpack, windows_first
//                   of them, short axes as components, windows of cheap values computed
//                   where loops read them
//   planned         loops, buffers, order; see plan/plan.hpp                        make_plan
// grad drops the value after the stage simplified, since nothing asks for it. In the program of ebb::relaxed(f) and in those of its
// derivatives, relaxed follows each simplified below: a graph names the pass, see `own_pass`.
//
//   ebb::compile                traced, simplified, lowered, planned
//   value_and_grad, grad        traced, differentiated, simplified, lowered, planned; so do jvp and hvp
//   jacobian, hessian           the same, with a differentiated and simplified graph inside, which is batched: pass/jacobian.hpp
//   vjp                         traced, differentiated, simplified, partitioned; each half lowered, planned
//   a region on the tape        traced, differentiated, simplified, partitioned; each half distinct, lowered, planned
//   a backward with a graph     at run time, from the halves: differentiated, simplified, partitioned, distinct, planned
//
// A stage of a compiled function is a constant of its own, see [note: one constant per stage]. The functions here run at run time as well:
// there a stage_watch sees the graph after each stage, see `watched`. EBB_LOGS=passes prints all stages of a region,
// ebb::print<ebb::stages::lowered, X, W>(f) one of them; tests check that graphs are valid.
//
// [note: rooms]
// A constant that can guess the size of its graph is made once, not twice: it names a `room`. The guesses, in sizes of the graph that the
// stage begins with:
//   simplified, partitioned, distinct, lowered   1   passes that only rewrite and leave out; a half has at most the size of both
//   differentiated and simplified                4   a pull is two to three equations, and casts and broadcasts come with it
//   planned                                          plan_size::room_for: lists of nests as long as the graph, of steps a quarter
// A wrong guess costs the second evaluation, nothing else. jvp, hvp, jacobian and the gradients alone make no guess: they are made twice.
#pragma once

#include "hoist.hpp"
#include "lower.hpp"
#include "outputs.hpp"
#include "partition.hpp"
#include "push_forward.hpp"
#include "unpack.hpp"
#include "windows.hpp"

#include "../base/look_up.hpp"

#include <concepts>
#include <iterator>
#include <string_view>

namespace ebb::inline EBB_ABI {

enum class stage : unsigned char { traced, differentiated, simplified, relaxed, partitioned, distinct, lowered, planned };

EBB_COLD constexpr std::string_view name_of(stage s) {
  constexpr const char* names[] = {"traced", "differentiated", "simplified", "relaxed", "partitioned", "distinct", "lowered", "planned"};
  static_assert(std::size(names) == static_cast<std::size_t>(stage::planned) + 1);
  return names[static_cast<int>(s)];
}

/// The stages as types, for ebb::print.
namespace stages {

template <stage S>
struct one {
  static constexpr bool has(stage s) { return s == S; }
};
using traced = one<stage::traced>;
using differentiated = one<stage::differentiated>;
using simplified = one<stage::simplified>;
using relaxed = one<stage::relaxed>;
using partitioned = one<stage::partitioned>;
using distinct = one<stage::distinct>;
using lowered = one<stage::lowered>;
using planned = one<stage::planned>;
/// All of them, in their order.
struct all {
  static constexpr bool has(stage) { return true; }
};

}  // namespace stages

template <class S>
concept is_stage = requires { { S::has(stage::traced) } -> std::same_as<bool>; };

/// The part of a region that a graph is; none for a function.
enum class part_of_region : unsigned char { none, both_halves, forward_half, backward_half };

/// Sees the graph after each stage that its thread runs while it lives. Stages of constants have run in the compiler.
class stage_watch {
 public:
  stage_watch(const stage_watch&) = delete;
  stage_watch& operator=(const stage_watch&) = delete;
  virtual void see(stage, part_of_region, const graph&) = 0;

 protected:
  EBB_SCOPE stage_watch();
  ~stage_watch();

 private:
  stage_watch* outer_;
};

namespace detail {
inline constinit thread_local stage_watch* innermost_watch = nullptr;
}
inline stage_watch::stage_watch() : outer_(detail::innermost_watch) { detail::innermost_watch = this; }
inline stage_watch::~stage_watch() { detail::innermost_watch = outer_; }

/// Passes that are called as watched, joint<watched>(...), show the graph after each stage to the watch of this thread. They do not ask
/// std::is_constant_evaluated instead: then g++ evaluates stages twice, which is 3 % of its time.
inline constexpr bool watched = true;
template <bool Watched>
constexpr void note_stage(stage s, const graph& g, part_of_region part = part_of_region::none) {
  if constexpr (Watched)
    if (stage_watch* const watch = detail::look_up(detail::innermost_watch)) watch->see(s, part, g);
}

/// Simplified, and pruned; then by the pass that the graph brings.
template <bool Watched = false>
constexpr graph exact(const graph& g, part_of_region part = part_of_region::none) {
  graph r = prune(simplify(g));
  note_stage<Watched>(stage::simplified, r, part);
  if (r.brings.there) {
    r = r.brings.run(r);
    note_stage<Watched>(stage::relaxed, r, part);
  }
  return r;
}
/// g with other outputs: some of its own, in another order.
constexpr graph with_outputs(graph g, const vec<int>& out) {
  g.out = out;
  return prune(g);
}

/// The outputs of g, then the gradients of out 0, a scalar, with respect to the given arguments.
template <bool Watched = false>
constexpr graph value_and_gradient(graph g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  g = with_gradient(static_cast<graph&&>(g), arguments, context);
  note_stage<Watched>(stage::differentiated, g);
  return exact<Watched>(g);
}

/// The outputs of g, then the pull-back of seeds, which become further arguments, one for each real output: of all, or of the first ones.
template <bool Watched = false>
constexpr graph joint(graph g, const vec<int>& arguments, maybe_context context = context_of<off>, int seeded = -1) {
  g = with_pull_back(static_cast<graph&&>(g), arguments, context, seeded);
  note_stage<Watched>(stage::differentiated, g, part_of_region::both_halves);
  return exact<Watched>(g, part_of_region::both_halves);
}

/// The outputs of g, then their derivatives along tangents of the given arguments: further arguments, after those of g. The pulls run in
/// the given autocast context.
template <bool Watched = false>
constexpr graph push_forward(graph g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  const int first = g.inputs, outputs = g.out.size();
  g = with_push(static_cast<graph&&>(g), arguments, context);
  note_stage<Watched>(stage::differentiated, g);
  return drop_inputs(exact<Watched>(g), first, first + outputs);
}

/// The gradients of <gradient of out 0, v>: a Hessian times v, without the Hessian. v are further arguments, after those of g.
template <bool Watched = false>
constexpr graph hessian_vector_product(graph g, const vec<int>& arguments, maybe_context context = context_of<off>) {
  g = with_hessian_product(static_cast<graph&&>(g), arguments, context);
  note_stage<Watched>(stage::differentiated, g);
  return exact<Watched>(g);
}

/// Both halves of a region in one graph, for split. Pulls have run in the given autocast context, and the graph names no context any more.
/// pushes: the second half takes tangents of the arguments, not seeds of the outputs.
template <bool Watched = false>
constexpr graph joint_of_region(const graph& g, const vec<int>& arguments, const cast_context& context, bool pushes = false) {
  if (pushes) return without_contexts(push_forward<Watched>(g, arguments, context));
  return without_contexts(joint<Watched>(g, arguments, context));
}
/// The halves of a joint graph, see partition.
template <bool Watched = false>
constexpr halves split(const graph& joint, int arguments, int outputs, bool saves = true) {
  halves h = partition(joint, arguments, outputs, saves);
  note_stage<Watched>(stage::partitioned, h.forward, part_of_region::forward_half);
  note_stage<Watched>(stage::partitioned, h.backward, part_of_region::backward_half);
  return h;
}

/// The forward half keeps its argument list: it is the call's.
template <bool Watched = false>
constexpr distinct_results distinct_forward(const graph& half) {
  distinct_results r = distinct_outputs(half);
  note_stage<Watched>(stage::distinct, r.g, part_of_region::forward_half);
  return r;
}
/// The backward half takes only what it reads: see used_arguments.
template <bool Watched = false>
constexpr distinct_results distinct_backward(const graph& half) {
  distinct_results r = distinct_outputs(used_arguments(half).g);
  note_stage<Watched>(stage::distinct, r.g, part_of_region::backward_half);
  return r;
}

/// The graph of which windows_first makes the one that is planned.
constexpr graph lowered_but_windows(const graph& g) { return unpack(hoist(lower(g))); }
/// The graph that is planned.
template <bool Watched = false>
constexpr graph lowered(const graph& g, part_of_region part = part_of_region::none) {
  graph r = windows_first(lowered_but_windows(g));
  r.brings = {};  // it has run: constants that are emitted need not name it
  note_stage<Watched>(stage::lowered, r, part);
  return r;
}

}  // namespace ebb::inline EBB_ABI
