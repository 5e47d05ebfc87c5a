// ebb/hooks/hook_function.hpp — the functions that may be registered as hooks: traced ones, with bound values, and opaque ones.
// SPDX-License-Identifier: BSL-1.0
//
// [note: hooks]
//   traceable   a generic lambda, or ebb::bind(values..., generic lambda): traced on terms of the gradients' types and compiled. The
//               registration checks dtype and extents. Bound values are inputs: they may differ from call to call.
//   opaque      a callable whose parameters have types, or ebb::opaque(f): called with values. A tensor hook may return nothing, an array
//               of the same extents, or std::optional of one. In an autocast scope its products name a policy, ebb::no_autocast(f), or are
//               refused.
//   on the tape a callable that takes a variable: like opaque, but create_graph records it.
//
// [note: traced hooks]
// Their arguments and results are in [note: calls of traced hooks], autograd/hook_list.hpp.
// A node with one output or operand passes its gradient, a node with several passes a tuple. A function is traced for types, so the handle
// of a node has the types of its variables: y.grad_fn() that of its output y, y.grad_fn(x, w) also those of its operands,
// ebb::grad_fn(std::tie(y, z)) those of two outputs. A handle without types, one of next_functions, accepts opaque hooks only: others do
// not compile.
// An opaque tensor hook is called with defined gradients only. A traced hook sees zeros for an undefined gradient, which stays undefined
// whatever the hook returns. If all are undefined the hook is not called.
#pragma once

#include "../autograd/variable.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// Calls f with values before its other arguments: values that change from call to call reach a traced function this way.
template <class F, class... V>
struct bound {
  F f;
  std::tuple<V...> values;
};
/// ebb::bind(values..., f)
template <class... A>
constexpr auto bind(A... a) {
  return [&]<std::size_t... I, class... X>(std::index_sequence<I...>, std::tuple<X...> all) {
    using F = std::tuple_element_t<sizeof...(I), std::tuple<X...>>;
    constexpr bool captures = !detail::is_made_from_type<F>;
    static_assert(!captures, "[ebb E0104] a traced lambda must not capture: pass the value as an argument");
    constexpr bool tracks = (detail::holds_variables<std::tuple_element_t<I, std::tuple<X...>>> || ...);
    static_assert(!tracks, "[ebb E0169] ebb::bind takes numbers and arrays, to which no gradient flows: bind the variable's value()");
    if constexpr (captures || tracks) return refused_result{};
    else return bound<F, std::tuple_element_t<I, std::tuple<X...>>...>{std::get<sizeof...(I)>(all), {std::get<I>(all)...}};
  }(std::make_index_sequence<sizeof...(A) - 1>{}, std::tuple<A...>(std::move(a)...));
}

/// A generic callable that is called with arrays, not traced.
template <class F>
struct opaque_function {
  F f;
};
template <class F>
constexpr opaque_function<F> opaque(F f) {
  return {std::move(f)};
}

namespace detail {

template <class F>
inline constexpr bool has_fixed_parameters = std::is_pointer_v<F> || requires { &F::operator(); };

template <class F>
struct unbound {
  using function = F;
  static constexpr std::tuple<> values(const F&) { return {}; }
};
template <class F, class... V>
struct unbound<bound<F, V...>> {
  using function = F;
  static constexpr const std::tuple<V...>& values(const bound<F, V...>& b) { return b.values; }
};
template <class F>
using function_in = typename unbound<F>::function;
template <class F>
using bound_values = std::remove_cvref_t<decltype(unbound<F>::values(std::declval<const F&>()))>;

template <class F>
inline constexpr bool is_opaque_function = false;
template <class F>
inline constexpr bool is_opaque_function<opaque_function<F>> = true;
template <class F>
concept traceable_hook = !is_opaque_function<F> && !has_fixed_parameters<function_in<F>> && !has_refused<F>;

/// f without its `opaque` wrapper.
template <class F>
constexpr F to_callable(F f) {
  return f;
}
template <class F>
constexpr F to_callable(opaque_function<F> f) {
  return std::move(f.f);
}
template <class F>
using callable = decltype(to_callable(std::declval<F>()));

/// Whether F, which captures nothing, takes its values and these terms.
template <class F, class... Term>
inline constexpr bool takes_terms = []<class... V>(std::type_identity<std::tuple<V...>>) {
  return std::is_invocable_v<const function_in<F>&, traced_type<V>..., Term...>;
}(std::type_identity<bound_values<F>>{});
/// Its result for them.
template <class F, class... Term>
using hook_result = decltype(std::apply([](auto... v) { return function_in<F>{}(typename argument<decltype(v)>::traced{}..., Term{}...); },
                                        std::declval<bound_values<F>>()));

[[noreturn]] EBB_COLD void raise_hook_size(const any_tensor& was, const any_tensor& is) {
  raise("ebb::variable::register_hook: the hook changed the gradient from " + was.text() + " to " + is.text());
}
/// Throws: error if a hook has returned other extents than those of its gradient.
template <std::size_t... E>
void require_same_extents(const array_like auto& returned, const layout<E...>& shape) {
  const extent_list is = extents_of_layout(layout_in(returned)), was = extents_of_layout(shape);
  constexpr dtype type = dtype_of<borrowed_element<std::remove_cvref_t<decltype(returned)>>>;
  if (!same_extents(is, was)) raise_hook_size({type, was, {}}, {type, is, {}});
}
/// The elements of a block.
template <class T, std::size_t... E>
view<T, E...> as_view(const layout<E...>& shape, const storage& block) {
  return {reinterpret_cast<T*>(block.data()), shape};
}
template <class T>
storage zeros_of(std::size_t count) {
  storage z(count * sizeof(T));
  if (count) std::memset(z.data(), 0, z.bytes());
  return z;
}
/// A gradient of a result that does not depend on a variable.
gradient as_gradient(const array_like auto& constant) { return {to_storage(constant), nullptr, 0, true}; }

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
