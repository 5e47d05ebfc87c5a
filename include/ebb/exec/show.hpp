// ebb/exec/show.hpp — shows the program of a function: its equations as text, its loops as a picture.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "halves.hpp"
#include "stage_texts.hpp"

#include "../graph/dot.hpp"
#include "../graph/print.hpp"
#include "../graph/program.hpp"

#include <cstdio>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The program of Spec for arguments of types A..., as `lower` leaves it: before loops are hoisted, axes split and windows moved.
template <class Spec, class... A>
graph lowered_graph() {
  return lower(Spec::template program<traced_type<A>...>::g.thaw());
}

template <class G>
struct maker_of;
template <class Make>
struct maker_of<frozen<Make>> {
  using type = Make;
};
/// Makes a stage again, for a watch.
template <class Make>
void make_watched() {
  graph g;
  if constexpr (requires { Make::template make<watched>(); }) g = Make::template make<watched>();
  else g = Make::make();
  note_stage<watched>(stage::planned, lowered<watched>(g));
}
template <class Stage>
inline constexpr bool is_of_region = Stage::has(stage::partitioned) || std::is_same_v<Stage, stages::differentiated> ||
                                     std::is_same_v<Stage, stages::distinct>;

/// The stages of Spec's program; for ebb::compile, which is differentiated on the tape, also those of its halves.
template <class Stage, class Spec, class... T>
std::string stage_text() {
  constexpr bool headed = std::is_same_v<Stage, stages::all>;
  stage_texts seen(Stage::has, headed);
  note_stage<watched>(stage::traced, frozen<typename Spec::template trace<T...>>::g.thaw());
  make_watched<typename maker_of<typename Spec::template program<T...>>::type>();
  return seen.text;
}
template <class Stage, class... T, class F>
std::string stage_text_of_region(std::type_identity<compile_spec<F>>) {
  if constexpr (!is_of_region<Stage>) return stage_text<Stage, compile_spec<F>, T...>();
  else {
    std::string text;
    if constexpr (std::is_same_v<Stage, stages::all>) text = stage_text<Stage, compile_spec<F>, T...>() + "on the tape\n";
    stage_texts seen(Stage::has, std::is_same_v<Stage, stages::all>);
    run_stages_of_region(traced<F, T...>::g.thaw(), real_leaves(joined_types<typename argument<T>::terms...>{}),
                         context_of_pulls<policy_for<F>>, {}, saves_values<F>);
    return text + seen.text;
  }
}
template <class Stage, class... T, class Spec>
std::string stage_text_of_region(std::type_identity<Spec>) {
  return stage_text<Stage, Spec, T...>();
}

// A program type as a graph again, with names for all symbols.
template <const op_info& Op, int... Operands, int... Extents, std::int64_t... Attributes>
void append_to(graph& g, typed<named<Op, Operands...>, of_shape<Extents...>, Attributes...>) {
  shape s;
  for (const int e : {Extents..., 0}) {
    while (e < 0 && g.syms.count() <= ~e) g.syms.fresh({extent_rule::argument, 0, g.syms.count()});
    if (s.rank < static_cast<int>(sizeof...(Extents))) s.push(e);
  }
  equation e{.op = &Op, .shape = g.intern(s)};
  int i = 0;
  ((e.attr[i++] = Attributes), ...);
  const int in[] = {Operands..., 0};
  g.append(e, number_range{in, sizeof...(Operands)});
}
template <int... Results>
void append_to(graph& g, returns<Results...>) {
  (g.out.push(Results), ...);
}

}  // namespace detail

/// A program type as text: ebb::print(ebb::backward_t<decltype(loss), ebb::off, X, W>{});
template <class... Equation>
std::string to_string(program<Equation...>) {
  graph g;
  (detail::append_to(g, Equation{}), ...);
  return to_string(g);
}
template <class... Equation>
void print(program<Equation...> p) {
  std::fputs(to_string(p).c_str(), stdout);
}

// A refused call is refused here, too, by the function that the user called: that keeps the user's line near.

/// The program of a compiled function for arguments of types A..., one equation a line, with types:
///   ebb::print<X, W>(ebb::value_and_grad<1>(loss));
/// Three passes come after this text, which split and move equations: print<stages::lowered, X, W>(f) shows the program after them.
template <class... A, class Spec>
  requires(!(is_stage<A> || ...))
std::string to_string(program_function<Spec>) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) return to_string(detail::lowered_graph<Spec, A...>());
  else return {};
}
template <class... A, class Spec>
  requires(!(is_stage<A> || ...))
void print(program_function<Spec> f) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) std::fputs(to_string<A...>(f).c_str(), stdout);
}

/// One of the stages on the way to that program, or all of them: see [note: stages].
///   ebb::print<ebb::stages::differentiated, X, W>(ebb::value_and_grad<1>(loss));
/// Of ebb::compile, differentiated, partitioned and distinct are stages of the region on the tape, with all real arguments as variables.
template <class Stage, class... A, class Spec>
  requires is_stage<Stage>
std::string to_string(program_function<Spec>) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) return detail::stage_text_of_region<Stage, detail::traced_type<A>...>(std::type_identity<Spec>{});
  else return {};
}
template <class Stage, class... A, class Spec>
  requires is_stage<Stage>
void print(program_function<Spec> f) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) std::fputs(to_string<Stage, A...>(f).c_str(), stdout);
}

/// The same as a picture for Graphviz; equations that share a loop are in one box.
template <class... A, class Spec>
std::string to_dot(program_function<Spec>) {
  constexpr int code = detail::code_of<Spec, A...>();
  static_cast<void>(detail::refuse_function<code>{});
  if constexpr (detail::is_named_next(code))
    [[maybe_unused]] constexpr int size = detail::not_constant<detail::trace_in_call<Spec, A...>>::make().size();
  if constexpr (code == 0) {
    const graph g = detail::lowered_graph<Spec, A...>();
    const plan p = make_plan(g);
    return to_dot(g, [&](int k) { return p.group_of[k]; });
  } else {
    return {};
  }
}

}  // namespace ebb::inline EBB_ABI
