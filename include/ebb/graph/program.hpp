// ebb/graph/program.hpp — the inspection form: a program as a type, a flat list; equal programs are equal types.
// SPDX-License-Identifier: BSL-1.0
//
//   program<typed<named<info<input, float>>, of_shape<-1>, 0>, ..., typed<named<info<mul, float>, 0, 1>, of_shape<-1>>, returns<2>>
// Nothing is instantiated on these types but questions about them: kernels have short names of their own.
#pragma once

#include "frozen.hpp"

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <utility>

namespace ebb::inline EBB_ABI {

/// An op for a dtype, on the equations with these numbers.
template <const op_info& Op, int... Operands>
struct named {};

/// Extents: numbers, or -1, -2... for the symbols 0, 1...
template <int... Extents>
struct of_shape {};

/// An equation in full: name, shape, and its attributes if there are any.
template <class Named, class Shape, std::int64_t... Attributes>
struct typed {};

/// The last item of a program: the numbers of its results.
template <int... Results>
struct returns {};

template <class... Equations>
struct program {};

namespace detail {

template <class T>
struct type_is {
  using type = T;
};

template <class P, int K>
constexpr bool has_attributes = P::g.eq[K].attr[0] != 0 || P::g.eq[K].attr[1] != 0;

// Functions that are only asked for their type: cheaper than class templates for g++, and no symbol is left of them.
template <class P, int K, int... J>
auto name_of_equation(std::integer_sequence<int, J...>)
    -> named<*P::g.eq[K].op, P::g.pool[static_cast<std::size_t>(P::g.eq[K].first + J)]...>;
template <class P, int S, int... I>
auto shape_type(std::integer_sequence<int, I...>) -> of_shape<P::g.shapes[S].e[I]...>;
template <class P, int S>
using shape_type_of = decltype(shape_type<P, S>(std::make_integer_sequence<int, P::g.shapes[S].rank>{}));

template <class P, int K>
constexpr auto equation_type() {
  using name = decltype(name_of_equation<P, K>(std::make_integer_sequence<int, P::g.eq[K].count>{}));
  using shape = shape_type_of<P, P::g.eq[K].shape>;
  if constexpr (has_attributes<P, K>) return type_is<typed<name, shape, P::g.eq[K].attr[0], P::g.eq[K].attr[1]>>{};
  else return type_is<typed<name, shape>>{};
}

// clang stops at folds and packs of some 250: a program is put together from blocks.
inline constexpr int block_length = 64;
template <class P, int First, int... I>
auto block_type(std::integer_sequence<int, I...>) -> program<typename decltype(equation_type<P, First + I>())::type...>;
constexpr int rest_or_block(int rest) { return rest < block_length ? rest : block_length; }
template <class P, int First>
using block_from = decltype(block_type<P, First>(std::make_integer_sequence<int, rest_or_block(P::g.size() - First)>{}));
template <class P, int... B>
auto blocks_type(std::integer_sequence<int, B...>) -> boost::mp11::mp_append<program<>, block_from<P, B * block_length>...>;
template <class P, int... I>
auto returns_type(std::integer_sequence<int, I...>) -> returns<P::g.out[I]...>;

template <class Equation>
struct name_in {
  using type = Equation;
};
template <class Named, class Shape, std::int64_t... Attributes>
struct name_in<typed<Named, Shape, Attributes...>> {
  using type = Named;
};
template <class Equation>
using name_in_t = typename name_in<Equation>::type;

template <class P>
struct without_loops {
  static_assert(P::g.size_of_all.graphs == 1, "[ebb E0330] forward_t, backward_t: a program with a loop is no flat list of equations: "
                                              "ebb::print shows its stages");
  using type = P;
};

}  // namespace detail

/// The program of a constant P::g (see frozen.hpp) as a type. It has no loops.
template <class P>
using as_program = boost::mp11::mp_push_back<
    decltype(detail::blocks_type<typename detail::without_loops<P>::type>(
        std::make_integer_sequence<int, (P::g.size() + detail::block_length - 1) / detail::block_length>{})),
    decltype(detail::returns_type<P>(std::make_integer_sequence<int, P::g.outs()>{}))>;

/// A program without shapes and attributes: tests compare it with lists of eq<op, dtype, operands...>, see op/eq.hpp.
template <class Program>
using names_of = boost::mp11::mp_transform<detail::name_in_t, Program>;

}  // namespace ebb::inline EBB_ABI
