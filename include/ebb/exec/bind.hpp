// ebb/exec/bind.hpp — arguments and results of a call: from arrays to pointers, and from extents to arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "evaluate.hpp"
#include "run.hpp"

#include "../base/repeat.hpp"
#include "../tensor/borrow.hpp"
#include "../trace/lengths.hpp"

#include <array>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

// Functions that visit leaves are structs where they can be, not lambdas: all programs with arguments of the same types share them.

/// Inlined, also where all programs share it: each_leaf is not.
template <class A>
EBB_INLINE constexpr void visit_leaves(auto& f, const A& a) {
  if constexpr (form_of<A>::is_leaf) f(a);
  else each_leaf(f, a);
}
/// The leaves of all arguments, in order.
template <class... A>
EBB_INLINE constexpr void each_argument_leaf(auto&& f, const A&... a) {
  (visit_leaves(f, a), ...);
}
template <class... A>
inline constexpr int leaves_of = (0 + ... + argument<A>::leaves);

template <class Leaf>
extent_list extents_of_leaf(const Leaf& leaf) {
  extent_list r;
  r.rank = borrowed_extents<Leaf>::rank;
  for (int a = 0; a < r.rank; ++a) r.e[a] = borrow<Leaf>::extent(leaf, a);
  return r;
}

/// The dynamic axes of a leaf, as bits.
template <std::size_t... E>
constexpr int dynamic_axes(extents<E...>) {
  int mask = 0, axis = 0;
  ((mask |= (E == dyn) << axis++), ...);
  return mask;
}
/// Writes the address of each leaf, and its extents if one is dynamic.
struct leaf_reader {
  void** data;
  std::size_t (*extents)[max_rank];
  int number = 0;

  template <class Leaf>
  EBB_INLINE constexpr void operator()(const Leaf& leaf) {
    data[number] = const_cast<void*>(static_cast<const void*>(borrow<Leaf>::data(leaf)));
    if constexpr (dynamic_axes(borrowed_extents<Leaf>{}) != 0) {
      constexpr int rank = borrowed_extents<Leaf>::rank;
      repeat<rank>([&]<int Axis>() EBB_LAMBDA { extents[number][Axis] = borrow<Leaf>::extent(leaf, Axis); });
    }
    ++number;
  }
};
/// Writes the address of each leaf that a call writes to.
struct address_writer {
  void** to;

  template <class Leaf>
  EBB_INLINE void operator()(Leaf& leaf) {
    *to++ = borrow<std::remove_const_t<Leaf>>::mutable_data(leaf);
  }
};

/// The addresses of a call's arguments, and the values of all symbols.
template <class P, class... A>
class bound_arguments {
 public:
  // No tuple of leaves and no fold over them: their compile time is quadratic.
  explicit constexpr bound_arguments(const A&... a) {
    each_argument_leaf(leaf_reader{data, extents_}, a...);
    read_extents<0>(numbers_of_fold<0, of_extents.count>{});
    if constexpr (of_extents.count < P::symbols)
      repeat<P::symbols>([&]<int S>() {
        constexpr extent_origin o = P::g.syms[static_cast<std::size_t>(S)].origin;
        if constexpr (o.is_value()) symbols.value[S] = count_at(type_of_argument(o.a), data[o.a]);
      });
  }
  /// Computes the other symbols. False if extents that must be equal are not, or one would be negative.
  constexpr bool complete() {
    bool fits = symbols.complete();
    if constexpr (demands.count > 0) fits = fits & meets_from<0>(numbers_of_fold<0, demands.count>{});
    return fits;
  }

  void* data[P::arguments + 1];
  symbol_values_of<P> symbols;

 private:
  /// The symbols that are extents of arguments.
  static constexpr auto of_extents = [] {
    number_list<P::symbols> r;
    for (int s = 0; s < P::symbols; ++s)
      if (const extent_origin& o = P::g.syms[static_cast<std::size_t>(s)].origin; !o.is_value() && o.rule == extent_rule::argument)
        r.push(s);
    return r;
  }();
  template <int S>
  static constexpr extent_origin origin = P::g.syms[static_cast<std::size_t>(S)].origin;

  template <int First, int... I>
  EBB_INLINE constexpr void read_extents(std::integer_sequence<int, I...>) {
    using std::integral_constant;
    ((symbols.value[integral_constant<int, of_extents.number[First + I]>::value] =
          extents_[integral_constant<int, origin<of_extents.number[First + I]>.a>::value]
                  [integral_constant<int, origin<of_extents.number[First + I]>.b>::value]), ...);
    if constexpr (constexpr int next = First + most_in_fold; next < of_extents.count)
      read_extents<next>(numbers_of_fold<next, of_extents.count>{});
  }
  template <int First, int... I>
  EBB_INLINE constexpr bool meets_from(std::integer_sequence<int, I...>) const {
    using std::integral_constant;
    bool r = true;
    ((r = r & (extents_[integral_constant<int, demands.of[First + I].leaf>::value]
                       [integral_constant<int, demands.of[First + I].axis>::value] ==
               extent_value(integral_constant<int, demands.of[First + I].wanted>::value, symbols.value))), ...);
    if constexpr (constexpr int next = First + most_in_fold; next < demands.count)
      r = r & meets_from<next>(numbers_of_fold<next, demands.count>{});
    return r;
  }
  static constexpr dtype type_of_argument(int number) {
    for (int k = 0; k < P::g.size(); ++k)
      if (const equation& e = P::g.eq[static_cast<std::size_t>(k)]; e.op->what == kind::input && e.attr[0] == number) return e.op->result;
    return dtype::i64;
  }
  template <class... Term>
  static constexpr std::array<int, sizeof...(Term) + 1> dynamic_axes_of(types<Term...>) {
    return {dynamic_axes(typename Term::extents_type{})..., 0};
  }
  static constexpr auto dynamic = dynamic_axes_of(joined_types<typename argument<A>::terms...>{});
  static constexpr bool any_dynamic = [] {
    for (int mask : dynamic)
      if (mask) return true;
    return false;
  }();

  /// An extent of an argument that must equal another extent.
  struct demand {
    int leaf = 0, axis = 0, wanted = 0;
  };
  struct demand_list {
    int count = 0;
    demand of[any_dynamic ? P::arguments * max_rank + 1 : 1];
  };
  static constexpr demand_list demands = [] {
    demand_list r;
    for (int leaf = 0; any_dynamic && leaf < P::arguments; ++leaf)
      for (int axis = 0; axis < max_rank; ++axis) {
        const int wanted = P::argument_shape(leaf).e[axis];
        const extent_origin here{extent_rule::argument, leaf, axis};
        const bool origin = wanted < 0 && P::g.syms[static_cast<std::size_t>(~wanted)].origin == here;
        if ((dynamic[static_cast<std::size_t>(leaf)] >> axis & 1) && !origin) r.of[r.count++] = {leaf, axis, wanted};
      }
    return r;
  }();

  std::size_t extents_[any_dynamic ? P::arguments + 1 : 1][max_rank];  // of leaves with dynamic extents
};

/// The name of an array in messages, if its type has one.
std::string given_name(const auto&) { return {}; }

/// ", argument 1 (bias) is [5]": the same code for all calls.
EBB_COLD void append_argument(std::string& text, int number, const std::string& name, const extent_list& x) {
  text += number ? ", argument " : " argument ";
  text += std::to_string(number);
  if (!name.empty()) text += " (" + name + ")";
  text += " is ";
  text += text_of(x);
}

struct argument_text {
  std::string so_far;
  int number = 0;

  void operator()(const auto& leaf) { append_argument(so_far, number++, given_name(leaf), extents_of_leaf(leaf)); }
};

/// The subscript of an error, or the number of steps.
EBB_COLD std::string text_of_unmet(const unmet_demand& unmet) {
  const extent_origin& o = unmet.of;
  if (o.is_value() && (unmet.value < 0 || unmet.value > largest_value))
    return "argument " + std::to_string(o.a) + ", the number of steps, is " + std::to_string(unmet.value) + ":";
  if (o.rule != extent_rule::after && o.rule != extent_rule::before) return "the extents of the arguments do not fit:";
  return "index " + std::to_string(o.rule == extent_rule::after ? o.b : -o.b) + " is out of range:";
}

/// "ebb::grad: add: the extents of the arguments do not fit: argument 0 is [3, 4], argument 1 (bias) is [5]".
template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_extents(const char* call, const char* why, const A&... a) {
  argument_text text{std::string(call) + ": " + why};
  each_argument_leaf(text, a...);
  raise(std::move(text.so_far));
}

template <class... A>
[[noreturn, gnu::cold, gnu::noinline]] void raise_unmet(const char* call, const unmet_demand& first, const A&... a) {
  raise_extents(call_and_op(call, first.by).c_str(), text_of_unmet(first).c_str(), a...);
}

/// The arguments of a call of P, checked.
/// Throws: error if their extents do not fit, or if one of them has an index out of range.
template <class P, class... A>
EBB_INLINE bound_arguments<P, A...> bind_arguments(const char* call, const A&... a) {
  bound_arguments<P, A...> bound(a...);
  if (!bound.complete()) [[unlikely]] raise_unmet(call, bound.symbols.unmet(), a...);
  if constexpr (has_checks<P>(-1)) check_arguments<P>(call, bound.data, bound.symbols.value);
  return bound;
}

template <class T, std::size_t... E>
tensor<T, E...> new_tensor(std::type_identity<tensor<T, E...>>, const char* call, const shape& s, const std::size_t* symbol) {
  std::array<std::size_t, sizeof...(E)> at{};
  for (std::size_t i = 0; i < sizeof...(E); ++i) at[i] = extent_value(s.e[i], symbol);
  return tensor<T, E...>::uninitialized(typename tensor<T, E...>::layout_type(call, at));
}
template <element T>
T new_tensor(std::type_identity<T>, const char*, const shape&, const std::size_t*) {
  return T{};
}
/// Makes the results of a program, one after the other.
struct tensor_maker {
  const char* call;
  const shape* shapes;
  const int* number;  // of the shape of the next result
  const std::size_t* symbol;

  template <class Array>
  Array operator()() {
    return new_tensor(std::type_identity<Array>{}, call, shapes[*number++], symbol);
  }
};

/// A destination, or a struct or tuple of them.
template <class D>
inline constexpr bool can_be_written = !std::is_const_v<D>;
template <array_like D>
inline constexpr bool can_be_written<D> = mutable_array_like<D&>;
template <class V, int L>
inline constexpr bool can_be_written<of_length<V, L>> = !std::is_const_v<V>;
template <class V, int... L>
inline constexpr bool can_be_written<of_lengths<V, L...>> = !std::is_const_v<V>;
template <strided_like D>
inline constexpr bool can_be_written<D> = mutable_strided_like<D&>;

}  // namespace detail

/// The memory for a call's results, in the order in which it returns them. See ebb::into.
template <class... A>
struct destinations {
  std::tuple<A&...> of;
};

/// As the first argument of a call: the results are written there, and nothing is returned or allocated.
///   ebb::value_and_grad<1>(loss)(ebb::into(value, dw), x, w, t);
/// A destination may overlap an argument: the results are those of a call that reads all arguments before it writes.
/// It refers to its arguments, also to views and tuples: name it only if they are named.
/// Throws: error if the extents differ.
template <class... A>
constexpr destinations<std::remove_reference_t<A>...> into(A&&... a EBB_LIFETIMEBOUND) {
  return {{a...}};
}

}  // namespace ebb::inline EBB_ABI
