// ebb/autograd/operators.hpp — operators on variables: arithmetic, comparisons, updates in place.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "expression.hpp"

namespace ebb::inline EBB_ABI {

template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator+(A&& a, B&& b) { return apply_function(detail::broadcasting<op::add>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator-(A&& a, B&& b) { return apply_function(detail::broadcasting<op::sub>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator*(A&& a, B&& b) { return apply_function(detail::broadcasting<op::mul>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator/(A&& a, B&& b) { return apply_function(detail::broadcasting<op::div>{}, std::forward<A>(a), std::forward<B>(b)); }
/// The remainder with the sign of a, as in C++: see op::fmod.
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator%(A&& a, B&& b) { return apply_function(detail::broadcasting<op::fmod>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A>
  requires detail::on_tape<A>
auto operator-(A&& a) { return apply_function(detail::broadcasting<op::neg>{}, std::forward<A>(a)); }

template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator<(A&& a, B&& b) { return apply_function(detail::broadcasting<op::less>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator<=(A&& a, B&& b) { return apply_function(detail::broadcasting<op::less_equal>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator>(A&& a, B&& b) { return apply_function(detail::broadcasting<op::greater>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator>=(A&& a, B&& b) { return apply_function(detail::broadcasting<op::greater_equal>{}, std::forward<A>(a), std::forward<B>(b)); }

/// Element by element; see [note: equal means elements]. a.is_same(b) tells whether two handles are one variable.
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator==(A&& a, B&& b) { return apply_function(detail::broadcasting<op::equal>{}, std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B>
  requires detail::tape_pair<A, B>
auto operator!=(A&& a, B&& b) { return apply_function(detail::broadcasting<op::not_equal>{}, std::forward<A>(a), std::forward<B>(b)); }

namespace detail {

/// Assigns the new value: v becomes another result, or, under no_grad, the same leaf with another value.
template <class T, std::size_t... E, class Next>
variable<T, E...>& update_in_place(variable<T, E...>& v, const Next& next) {
  constexpr bool same = std::is_same_v<std::remove_cvref_t<decltype(next.get())>, variable<T, E...>>;
  static_assert(same, "[ebb E0158] an update in place keeps dtype and extents");
  if constexpr (same) {
    if (!v.is_leaf() || !v.requires_grad() || v.was_leaf()) v = next.get();
    else if (this_tape().records)
      raise("ebb::variable: " + v.name() + " was updated in place while calls are recorded: use no_grad, or assign");
    else v.assign(next.value());
  }
  return v;
}

/// An undefined sum becomes its first operand, with its present value. The next += makes it a result, even if the operand is a leaf.
template <class T, std::size_t... E, class B>
variable<T, E...>& begin_sum(variable<T, E...>& v, const B& b) {
  using V = variable<T, E...>;
  const auto constant = [](const auto& a) { return V(a.layout(), to_storage(a), nullptr, 0); };
  if constexpr (is_expression<B>) return begin_sum(v, b.get());
  else if constexpr (std::is_same_v<B, V>) {
    if (!b.defined()) raise_variable("operator+=", ": both sides are undefined");
    v = this_tape().records && b.requires_grad() ? b.as_of_now() : constant(b);
  } else if constexpr (number<B> && V::rank == 0) v = constant(tensor<T>(as_element<T>(b)));
  else if constexpr (!is_tracked<B> && !number<B> && may_become<B, T, extents<E...>>) v = constant(to_tensor_of<tensor<T, E...>>(b));
  else raise_variable("operator+=", ": the variable is undefined, and what is added has not its dtype and extents");
  return v;
}
/// Throws: error if v is undefined: only += accepts that.
template <class T, std::size_t... E>
variable<T, E...>& updatable(variable<T, E...>& v, const char* call) {
  if (!v.defined()) [[unlikely]] raise_variable(call, ": the variable is undefined, and only += begins with nothing");
  return v;
}

template <class E>
concept an_expression = is_expression<E>;
template <class E>
E& refuse_update(E& e) {
  constexpr bool changes = sizeof(E) == 0;
  static_assert(changes, "[ebb E0199] what `auto` names here is an expression, not a variable: write ebb::variable in place of auto");
  return e;
}

}  // namespace detail

/// In place. Hooks stay with the value that they were registered for, and see its gradient. A sum may begin undefined: the first += assigns
/// its operand. The other operators refuse an undefined variable, which more often is a forgotten value.
/// Throws: error for a leaf that needs a gradient, unless under no_grad; for an undefined variable, except += of its dtype and extents.
template <class T, std::size_t... E, detail::tape_operand B>
variable<T, E...>& operator+=(variable<T, E...>& v, B&& b) {
  return v.defined() ? detail::update_in_place(v, v + std::forward<B>(b)) : detail::begin_sum(v, b);
}
template <class T, std::size_t... E, detail::tape_operand B>
variable<T, E...>& operator-=(variable<T, E...>& v, B&& b) {
  return detail::update_in_place(v, detail::updatable(v, "operator-=") - std::forward<B>(b));
}
template <class T, std::size_t... E, detail::tape_operand B>
variable<T, E...>& operator*=(variable<T, E...>& v, B&& b) {
  return detail::update_in_place(v, detail::updatable(v, "operator*=") * std::forward<B>(b));
}
template <class T, std::size_t... E, detail::tape_operand B>
variable<T, E...>& operator/=(variable<T, E...>& v, B&& b) {
  return detail::update_in_place(v, detail::updatable(v, "operator/=") / std::forward<B>(b));
}

/// Refused: an expression is a temporary.
template <detail::an_expression E, detail::tape_operand B>
E& operator+=(E& e, B&&) { return detail::refuse_update(e); }
template <detail::an_expression E, detail::tape_operand B>
E& operator-=(E& e, B&&) { return detail::refuse_update(e); }
template <detail::an_expression E, detail::tape_operand B>
E& operator*=(E& e, B&&) { return detail::refuse_update(e); }
template <detail::an_expression E, detail::tape_operand B>
E& operator/=(E& e, B&&) { return detail::refuse_update(e); }

}  // namespace ebb::inline EBB_ABI
