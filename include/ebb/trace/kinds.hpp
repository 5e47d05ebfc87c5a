// ebb/trace/kinds.hpp — kinds of array: what stands at the places of a struct's members.
// SPDX-License-Identifier: BSL-1.0
//
// [note: structs of derivatives]
// A jacobian by a params<tensor> is a params again: in the place of a member of extents F... is an array of extents [E..., F...], with the
// result's E... in front; in a hessian by it each place holds a whole params. Such structs are params<Array>, too, for an Array made by
// steps: each says what becomes of a form of terms, from an array of the member's own extents on (`of`), and Leaf says of what kind arrays
// are in the end. So what belongs to a struct of terms, of tensors and of variables differs by one name.
#pragma once

#include "term.hpp"

#include <array>
#include <tuple>

namespace ebb::inline EBB_ABI::detail {

template <class... Step>
struct steps {};

/// In place of an element type it asks a kind of array for its steps: the class is named and never defined.
struct which_steps;

template <class Steps, template <class, std::size_t...> class Leaf, class T, std::size_t... E>
struct array_after;

template <template <class, std::size_t...> class Leaf, class... Step>
struct kind_after {
  template <class T, std::size_t... E>
  using array = typename array_after<steps<Step...>, Leaf, T, E...>::type;
};

template <class Answer>
struct steps_answered {
  using type = steps<>;
};
template <class... Step>
struct steps_answered<steps<Step...>> {
  using type = steps<Step...>;
};
/// Tensors refuse the question by their constraint.
template <template <class, std::size_t...> class Array>
struct asked_for_steps {
  using type = steps<>;
};
template <template <class, std::size_t...> class Array>
  requires requires { typename Array<which_steps>; }
struct asked_for_steps<Array> {  // no base: g++ would warn of steps that name a type of an anonymous namespace
  using type = typename steps_answered<Array<which_steps>>::type;
};
template <template <class, std::size_t...> class Array>
using steps_of = typename asked_for_steps<Array>::type;

/// The struct whose members are made by these steps: Struct<Leaf> itself, where there is none.
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Leaf, class... Step>
struct struct_after {
  using type = Struct<kind_after<Leaf, Step...>::template array>;
};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Leaf>
struct struct_after<Struct, Leaf> {
  using type = Struct<Leaf>;
};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Leaf, class... Step,
          class... More>
struct struct_after<Struct, Leaf, steps<Step...>, More...> : struct_after<Struct, Leaf, Step..., More...> {};

/// The same form with arrays of kind Leaf: of a term, a tuple, a std::array, or a struct over any kind.
template <class Form, template <class, std::size_t...> class Leaf>
struct with_leaves;
template <class T, std::size_t... E, template <class, std::size_t...> class Leaf>
struct with_leaves<term<T, E...>, Leaf> {
  using type = Leaf<T, E...>;
};
template <class... Form, template <class, std::size_t...> class Leaf>
struct with_leaves<std::tuple<Form...>, Leaf> {
  using type = std::tuple<typename with_leaves<Form, Leaf>::type...>;
};
template <class Form, std::size_t N, template <class, std::size_t...> class Leaf>
struct with_leaves<std::array<Form, N>, Leaf> {
  using type = std::array<typename with_leaves<Form, Leaf>::type, N>;
};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array,
          template <class, std::size_t...> class Leaf>
struct with_leaves<Struct<Array>, Leaf> : struct_after<Struct, Leaf, steps_of<Array>> {};

template <class Form, class... Step>
struct after_steps {
  using type = Form;
};
template <class Form, class First, class... Step>
struct after_steps<Form, First, Step...> : after_steps<typename First::template of<Form>, Step...> {};

template <class... Step, template <class, std::size_t...> class Leaf, class T, std::size_t... E>
struct array_after<steps<Step...>, Leaf, T, E...> : with_leaves<typename after_steps<term<T, E...>, Step...>::type, Leaf> {};
template <class... Step, template <class, std::size_t...> class Leaf>
struct array_after<steps<Step...>, Leaf, which_steps> {
  using type = steps<Step...>;
};

}  // namespace ebb::inline EBB_ABI::detail
