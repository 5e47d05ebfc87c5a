// ebb/exec/program.hpp — an executable program of a graph: its stages as constants, under one short name.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/frozen.hpp"
#include "../pass/pipeline.hpp"
#include "../plan/frozen.hpp"
#include "../trace/refused.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 309>
struct refuse_function<Code> {
  static_assert(Code != 309, "[ebb E0309] this program is too large for clang's limit of constants: add -fconstexpr-steps=2147483647 "
                             "-fbracket-depth=4096 to its flags");
};

template <class G>
struct lowered_stage {
  static constexpr graph_size room = G::g.size_of_all.times(1);
  static constexpr graph make() { return lowered(G::g.thaw()); }
};

}  // namespace detail

/// G names a graph: it has a frozen graph `g`. One constant for each stage; the kernels are instantiated on this type.
template <class G>
class executable {
 public:
  using last_stage = frozen<detail::lowered_stage<G>>;
#if defined(__clang__)
  // For programs that no call has asked for, such as the body of a loop.
  static constexpr bool fits = !detail::too_large<detail::lowered_stage<G>> && !detail::too_large<plan_of<last_stage>>;
  static_assert(sizeof(detail::refuse_function<fits ? 0 : 309>) > 0);
#endif
  static constexpr const auto& g = last_stage::g;
  static constexpr const auto& plan = frozen<plan_of<last_stage>>::g;

  static constexpr const auto& shape_at(int number) { return shapes[static_cast<std::size_t>(number)]; }
  static constexpr const auto& result_shape(int number) { return shape_at(result_shapes[static_cast<std::size_t>(number)]); }
  static constexpr const auto& argument_shape(int number) { return shape_at(argument_shapes[static_cast<std::size_t>(number)]); }
  static constexpr int symbols = g.parts[0].count.symbols;
  static constexpr int arguments = g.inputs();
  static constexpr int results = g.outs();
  /// How many loops it is the body of, see exec/loop.hpp.
  static constexpr int depth = [] {
    if constexpr (requires { G::depth; }) return G::depth;
    else return 0;
  }();

  // Copies: a constant that is read at run time is emitted whole, and the equations name all functions of their ops.
  static constexpr auto shapes = g.shapes;
  static constexpr auto result_shapes = [] {
    std::array<int, static_cast<std::size_t>(g.outs()) + 1> r{};
    for (std::size_t o = 0; o + 1 < r.size(); ++o) r[o] = g.eq[static_cast<std::size_t>(g.out[o])].shape;
    return r;
  }();

 private:
  static constexpr auto argument_shapes = [] {
    std::array<int, static_cast<std::size_t>(arguments) + 1> r{};
    for (int k = 0; k < g.size(); ++k) {  // those of sub-graphs follow
      const equation& e = g.eq[static_cast<std::size_t>(k)];
      if (e.op->what == kind::input) r[static_cast<std::size_t>(e.attr[0])] = e.shape;
    }
    return r;
  }();
};

namespace detail {

#if defined(__clang__)
template <bool Planned, class G>
constexpr bool program_fits() {
  if constexpr (!fits_limit<G>) return false;
  else if constexpr (!Planned || !G::size.is_long()) return true;
  else if constexpr (too_large<lowered_stage<G>>) return false;
  else return !too_large<plan_of<frozen<lowered_stage<G>>>>;
}
#endif

/// 309 if one of the frozen graphs G... or, if it is to be planned, a later stage of it is too large for clang, else 0.
template <bool Planned, class... G>
constexpr int code_of_size() {
#if defined(__clang__)
  return (program_fits<Planned, G>() && ...) ? 0 : 309;
#else
  return 0;
#endif
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
