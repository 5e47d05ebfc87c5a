// ebb/trace/kinds.hpp — kinds of array: the types of a struct's members.
// SPDX-License-Identifier: BSL-1.0
//
// [note: structs of derivatives]
// A jacobian by a params<tensor> is a params again: in place of a member of extents F... it has an array of extents [E..., F...], with the
// result's extents E... first. In a hessian by it, each member is a whole params. Such structs are params<Array>, too, for an Array made of
// steps: each step maps a form of terms (`of`), beginning with an array of the member's extents, and Leaf is the kind of the final arrays.
// So the structs of terms, of tensors and of variables differ by one name.
#pragma once

#include "form.hpp"
#include "term.hpp"

namespace ebb::inline EBB_ABI::detail {

template <class... Step>
struct steps {};

/// In place of an element type it asks a kind of array for its steps. The class is never defined.
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
struct asked_for_steps<Array> {  // no base: g++ warns about steps that name a type of an anonymous namespace
  using type = typename steps_answered<Array<which_steps>>::type;
};
template <template <class, std::size_t...> class Array>
using steps_of = typename asked_for_steps<Array>::type;

/// The struct whose members are made by these steps; without steps Struct<Leaf> itself.
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

/// A struct with numbers besides the kind of its arrays, dense<Array, 64, 10>, as one over the kind alone.
template <template <template <class, std::size_t...> class, std::size_t, std::size_t...> class Struct, std::size_t First, std::size_t... N>
struct numbered_struct {
  template <template <class, std::size_t...> class Array>
  using of = Struct<Array, First, N...>;
};

/// A form of terms after steps, each of which maps a term by `of`, with arrays of kind Leaf in the end. The kind of a struct's arrays does
/// not matter.
template <class Form, template <class, std::size_t...> class Leaf, class... Step>
struct form_after {
  struct map {
    template <class Part>
    using of = typename form_after<Part, Leaf, Step...>::type;
    template <class S>
    using of_struct = typename form_after<S, Leaf, Step...>::type;
  };
  using type = typename form<Form>::template with<map>;
};
template <class T, std::size_t... E, template <class, std::size_t...> class Leaf>
struct form_after<term<T, E...>, Leaf> {
  using type = Leaf<T, E...>;
};
template <class T, std::size_t... E, template <class, std::size_t...> class Leaf, class First, class... Step>
struct form_after<term<T, E...>, Leaf, First, Step...> : form_after<typename First::template of<term<T, E...>>, Leaf, Step...> {};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array,
          template <class, std::size_t...> class Leaf, class... Step>
struct form_after<Struct<Array>, Leaf, Step...> : struct_after<Struct, Leaf, steps_of<Array>, Step...> {};
template <template <template <class, std::size_t...> class, std::size_t, std::size_t...> class Struct,
          template <class, std::size_t...> class Array, std::size_t First, std::size_t... N, template <class, std::size_t...> class Leaf,
          class... Step>
struct form_after<Struct<Array, First, N...>, Leaf, Step...>
    : struct_after<numbered_struct<Struct, First, N...>::template of, Leaf, steps_of<Array>, Step...> {};

/// The same form with arrays of kind Leaf.
template <class Form, template <class, std::size_t...> class Leaf>
using with_leaves = form_after<Form, Leaf>;

/// A struct with arrays of kind Leaf. A struct that is not a template over the kind of array is unchanged.
template <class S, template <class, std::size_t...> class Leaf>
struct struct_of_kind {
  using type = S;
};
template <template <template <class, std::size_t...> class> class Struct, template <class, std::size_t...> class Array,
          template <class, std::size_t...> class Leaf>
struct struct_of_kind<Struct<Array>, Leaf> : with_leaves<Struct<Array>, Leaf> {};
template <template <template <class, std::size_t...> class, std::size_t, std::size_t...> class Struct,
          template <class, std::size_t...> class Array, std::size_t First, std::size_t... N, template <class, std::size_t...> class Leaf>
struct struct_of_kind<Struct<Array, First, N...>, Leaf> : with_leaves<Struct<Array, First, N...>, Leaf> {};
template <class S, template <class, std::size_t...> class Leaf>
using struct_with = typename struct_of_kind<S, Leaf>::type;

/// The same form of terms with Step::of<term> for each.
template <class Form, class Step>
using with_step = typename form_after<Form, term, Step>::type;

/// The step from a term to the term f(it).
template <class F>
struct step_by {
  template <class Term>
  using of = decltype(std::declval<const F&>()(std::declval<const Term&>()));
};
/// A form of terms with f(term) in place of each.
template <class F, class Form>
constexpr auto with_each_term(F f, const Form& a) {
  return filled<with_step<Form, step_by<F>>>([&]<class, class Term>(const Term& x) { return f(x); }, a);
}

template <class... Step, template <class, std::size_t...> class Leaf, class T, std::size_t... E>
struct array_after<steps<Step...>, Leaf, T, E...> : form_after<term<T, E...>, Leaf, Step...> {};
template <class... Step, template <class, std::size_t...> class Leaf>
struct array_after<steps<Step...>, Leaf, which_steps> {
  using type = steps<Step...>;
};

}  // namespace ebb::inline EBB_ABI::detail
