// ebb/autograd/expression.hpp — functions on variables: a small lazy expression, which becomes one segment.
// SPDX-License-Identifier: BSL-1.0
//
// [note: only rvalues nest]
// tanh(x * w) + b is one type that holds its operands. It becomes one segment with one fused backward on first use: when it is converted
// to a variable, passed to a region, or asked for its value. It keeps its operands' values, and whether calls are recorded, as of the line
// that wrote it: `auto e = x * w;` never dangles, and its value does not depend on the place of the first use. A named expression that is
// used as an operand becomes a variable first: a hook on it then sees the whole gradient, it is computed once, and type names grow with
// the length of a line, not of a program. An unnamed expression that a function returns from under no_grad, or from another autocast
// context, is refused as a part of a larger one: a segment is recorded or not, and has one context.
#pragma once

#include "followed.hpp"

#include "../exec/eager.hpp"
#include "../trace/functions.hpp"

#include <optional>

namespace ebb::inline EBB_ABI {

template <class T, class Extents, class F, class... A>
class expression;

namespace detail {

template <class A>
inline constexpr bool is_expression = false;
template <class T, class Extents, class F, class... A>
inline constexpr bool is_expression<expression<T, Extents, F, A...>> = true;
template <class T, class Extents, class F, class... A>
inline constexpr bool is_tracked<expression<T, Extents, F, A...>> = true;

template <class A>
concept on_tape = is_variable<std::remove_cvref_t<A>> || is_expression<std::remove_cvref_t<A>>;
template <class A>
concept tape_operand = on_tape<A> || array_like<A>;
template <class A, class B>
concept tape_pair = (on_tape<A> && tape_operand<B>) || (tape_operand<A> && on_tape<B>);

/// F on operands that may be expressions themselves, as one traced function of all their leaves.
template <class A>
struct flat {
  static constexpr int leaves = 1;
  template <int First>
  static constexpr auto pick(const auto& terms) {
    return std::get<First>(terms);
  }
};
template <class T, class Extents, class F, class... A>
struct flat<expression<T, Extents, F, A...>> {
  static constexpr int leaves = (0 + ... + flat<A>::leaves);
  template <int First>
  static constexpr auto pick(const auto& terms) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return apply_function(F{}, flat<A>::template pick<First + leaves_before<flat<A>...>(I)>(terms)...);
    }(std::index_sequence_for<A...>{});
  }
  constexpr auto operator()(auto... x) const { return pick<0>(std::tuple(x...)); }
};

/// How an expression holds an operand: handles and arrays by value, borrowed memory by copy, a named expression as a variable, a number in
/// the dtype that it takes beside arrays of the promoted dtype T: literals are weak, unless T is void, see weak_beside.
template <class T, class A>
auto held_operand(A&& a) {
  using B = std::remove_cvref_t<A>;
  if constexpr (is_expression<B>) {
    if constexpr (std::is_lvalue_reference_v<A>) return a.get();
    else {
      a.require_unused();
      return std::move(a);
    }
  } else if constexpr (std::is_void_v<T> && std::is_floating_point_v<B>) return static_cast<double>(a);
  else if constexpr (std::is_void_v<T> && number<B>) return as_element<promoted_weak<bool, B>>(a);
  else if constexpr (number<B>) return as_element<promoted_weak<T, B>>(a);
  else if constexpr (is_variable<B>) return a.as_of_now();
  else if constexpr (std::is_same_v<B, value_of<B>>) return B(a);
  else return value_of<B>(borrowed_view(a));
}

template <class A>
struct operand_term {
  using type = traced_type<A>;
};
template <class T, std::size_t... E, class F, class... A>
struct operand_term<expression<T, extents<E...>, F, A...>> {
  using type = term<T, E...>;
};

template <class Term, class F, class... A>
struct expression_from;
template <class T, std::size_t... E, class F, class... A>
struct expression_from<term<T, E...>, F, A...> {
  using type = expression<T, extents<E...>, F, A...>;
};

template <class A>
struct expression_leaves {
  using type = std::tuple<A>;
};
template <class T, class Extents, class F, class... A>
struct expression_leaves<expression<T, Extents, F, A...>> {
  using type = decltype(std::tuple_cat(std::declval<typename expression_leaves<A>::type>()...));
};

/// The result of an expression: a variable, or an array if no gradient can flow.
template <class Expression, class T, class Extents, class Leaves>
struct expression_result;
template <class Expression, class T, class Extents, class... Leaf>
struct expression_result<Expression, T, Extents, std::tuple<Leaf...>> {
  static constexpr bool is_recorded = [] {
    const graph g = traced<flat<Expression>, traced_type<Leaf>...>::g.thaw();
    return is_real(dtype_of<T>) && active_equations(g, equations_of_inputs(g, tracked_leaves<Leaf...>::type::numbers()))[g.out[0]];
  }();
  using type = typename std::conditional_t<is_recorded, make_variable<T, Extents>, std::type_identity<tensor_of<T, Extents>>>::type;
};

/// One program has one context, is recorded or not, and has one pair of hooks for its saved values.
[[noreturn]] EBB_COLD void raise_written_elsewhere(const char* where) {
  raise(std::string("ebb: an expression holds one that was written ") + where + ": return that as a variable, or give it a name");
}

template <class Term, class F, class... A>
auto make_expression(A... a) {
  return typename expression_from<Term, F, A...>::type(std::move(a)...);
}
/// The term of a held operand.
template <class T, class A>
using held_term = typename operand_term<decltype(held_operand<T>(std::declval<A>()))>::type;

}  // namespace detail

/// An operation on variables, evaluated on first use: see [note: only rvalues nest]. It can be used as the variable that it becomes. If no
/// gradient can flow (a comparison, an argmax) it becomes an array.
template <class T, class Extents, class F, class... A>
class expression {
 public:
  using value_type = T;
  using extents_type = Extents;

  explicit expression(A... a) : operands_(std::move(a)...), context_(current_context()), records_(this_tape().records) {
    if (this_tape().packing) packing_ = detail::packing_scopes().back();
  }
  expression(expression&&) = default;
  /// Copies become one and the same variable.
  expression(const expression& other)
      : operands_(other.operands_), made_(other.get()), packing_(other.packing_), context_(other.context_), records_(other.records_) {}
  expression& operator=(const expression&) = delete;

  using result = detail::expression_result<expression, T, Extents, typename detail::expression_leaves<expression>::type>;
  using result_type = typename result::type;

  /// The variable, or array; computed by the first call.
  const result_type& get() const {
    if (!made_) made_.emplace(packing_.get() == this_tape().packing ? run() : run_in_scope());
    return *made_;
  }
  operator result_type() const { return get(); }

  /// Throws: error if it has become a variable already: that may have hooks, and must be used instead.
  void require_unused() const {
    if (made_) raise("ebb: an expression that has been looked at or has hooks was moved from: use it by its name, or make it a variable");
  }

  auto value() const {
    if constexpr (result::is_recorded) return get().value();
    else return get();
  }
  auto detach() const { return value(); }
  T item() const
    requires(Extents::rank == 0)
  {
    return value()();
  }
  /// Refused, as for the variable that it becomes.
  operator T() const
    requires(Extents::rank == 0 && result::is_recorded)
  {
    return get();
  }
  /// A comparison of single elements is a condition: `if (loss < 0.1)`. It evaluates its operands: a graph break.
  explicit operator bool() const {
    return static_cast<bool>(get());  // refuses more than one element
  }
  template <class... I>
    requires(sizeof...(I) > 0 && ((std::integral<I> || borrowable<I>) && ...))
  auto operator()(const I&... i) const {
    return detail::subscript_on_tape(*this, i...);
  }
  auto operator[](const auto& i) const { return detail::subscript_on_tape(*this, i); }

  const auto& layout() const { return get().layout(); }
  auto shape() const { return layout().shape(); }
  std::size_t extent(int axis) const { return layout().extent(axis); }
  std::size_t size() const { return layout().size(); }

  // The members of a variable.
  bool requires_grad() const { return get().requires_grad(); }
  bool is_leaf() const { return get().is_leaf(); }
  std::string name() const { return get().name(); }
  void set_name(std::string name) const { result_type(get()).set_name(std::move(name)); }
  vertex* history() const
    requires result::is_recorded
  {
    return get().history();
  }
  std::uint32_t output() const { return get().output(); }
  result_type grad() const { return get().grad(); }
  void retain_grad() const { get().retain_grad(); }
  void backward() const { get().backward(); }
  void backward(const auto& how) const { get().backward(how); }
  void backward(const backward_options& how) const { get().backward(how); }
  void backward(std::initializer_list<T> seed) const
    requires(Extents::rank == 1)
  {
    get().backward(seed);
  }
  template <class H>
  hook_handle register_hook(H h) const {
    return get().register_hook(std::move(h));
  }
  auto grad_fn(const auto&... operands) const { return get().grad_fn(operands...); }

 private:
  template <class, class, class, class...>
  friend class expression;

  auto leaves() const {
    const auto of = []<class B>(const B& b) {
      if constexpr (detail::is_expression<B>) return b.leaves();
      else return std::tie(b);
    };
    return std::apply([&](const auto&... a) { return std::tuple_cat(of(a)...); }, operands_);
  }

  void each_nested(const auto& f) const {
    const auto look = [&]<class B>(const B& b) {
      if constexpr (detail::is_expression<B>) f(b), b.each_nested(f);
    };
    std::apply([&](const auto&... a) { (look(a), ...); }, operands_);
  }

  // Runs as it would have run in the line that wrote it: recorded or not, packed or not.
  result_type run() const {
    const recording_scope as_then(records_);
    using function = detail::flat<expression>;
    return std::apply([&]<class... Leaf>(const Leaf&... leaf) -> result_type {
      constexpr bool asks = detail::asks_context<function, Leaf...>;
      each_nested([&](const auto& e) {
        if (records_ && !e.records_) detail::raise_written_elsewhere("under no_grad");
        if (records_ && e.packing_ != packing_) detail::raise_written_elsewhere("in another scope of saved_tensors_hooks");
        if (asks && e.context_ != context_) detail::raise_written_elsewhere("in another autocast context");
      });
      if constexpr (asks)
        if (context_ != 0 && detail::asked_by<function, Leaf...>.differs(0, context_)) [[unlikely]]
          return detail::run_in_context<result_type, T, Extents, function>(context_, leaf...);
      [[maybe_unused]] const std::conditional_t<asks, context_switch, int> as_there(context_);
      return detail::run_region<function>("ebb: an expression", leaf...);
    }, leaves());
  }
  result_type run_in_scope() const {
    const packing_scope as_then(packing_);
    return run();
  }

  std::tuple<A...> operands_;
  mutable std::optional<result_type> made_;
  std::shared_ptr<saved_hooks> packing_;
  int context_;
  bool records_;
};

template <class T, std::size_t... E, class F, class... A>
variable(const expression<T, extents<E...>, F, A...>&) -> variable<T, E...>;

template <class Traits, class T, class X, class F, class... A>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const expression<T, X, F, A...>& e) {
  return out << e.get();
}

namespace detail {

/// Numbers are arguments of the segment: tracing does not know an exponent's value.
template <class Expression>
  requires is_expression<Expression>
inline constexpr bool follows_context<flat<Expression>> = true;

template <class F>
struct on_tape_function {
  using type = F;
};
template <>
struct on_tape_function<functions::power> {
  using type = broadcasting<op::pow>;
};

}  // namespace detail

/// A function on operands, called with variables among its arguments.
template <class F, class... A>
  requires((detail::on_tape<A> || ...) && (detail::tape_operand<A> && ...))
auto apply_function(F, A&&... a) {
  using common = detail::weak_beside<F, std::remove_cvref_t<A>...>;
  using function = typename detail::on_tape_function<F>::type;
  // Named here and not deeper: an error about the operands is then printed near the user's line.
  using on_terms = typename detail::on_terms<function, detail::held_term<common, A>...>::type;
  using result = typename detail::accepted_on<on_terms, detail::held_term<common, A>...>::lift;
  if constexpr (result::code == 0)
    return detail::make_expression<typename result::type, function>(detail::held_operand<common>(std::forward<A>(a))...);
  else return refused_result{};
}

namespace detail {

/// Numbers are arguments of the node: a loop over rows is one compiled function.
template <class X, class... I>
auto subscript_on_tape(const X& x, const I&... i) {
  constexpr bool fits = X::extents_type::rank >= static_cast<int>(sizeof...(I));
  constexpr bool one_each = (std::integral<I> && ...) || (arrays<I> && ...) || (sizeof...(I) == 1 && (names_one_place<I> && ...));
  static_assert(fits, "[ebb E0231] there are more subscripts than axes");
  static_assert(one_each, "[ebb E0232] subscripts are integers, or arrays of integers");
  if constexpr (!fits || !one_each) return refused_result{};
  else if constexpr ((std::integral<I> && ...)) return subscript_array("ebb::variable", x, i...);
  else if constexpr (sizeof...(I) == 1) return apply_function(functions::take{}, x, i...);
  else return apply_function(functions::gather_nd{}, x, i...);
}

}  // namespace detail

template <class T, class X, class F, class... A>
const auto& as_region_argument(const expression<T, X, F, A...>& e) {
  return e.get();
}

template <class T, std::size_t... E, class F, class... A>
struct borrow<expression<T, extents<E...>, F, A...>> {
  using element = T;
  using extents_type = extents<E...>;
  static const T* data(const expression<T, extents<E...>, F, A...>& e) { return e.get().data(); }
  static std::size_t extent(const expression<T, extents<E...>, F, A...>& e, int axis) { return e.get().extent(axis); }
};

}  // namespace ebb::inline EBB_ABI
