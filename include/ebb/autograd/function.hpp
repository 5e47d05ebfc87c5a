// ebb/autograd/function.hpp — custom functions: a struct with the user's forward and backward, and the values it saves.
// SPDX-License-Identifier: BSL-1.0
//
// [note: custom functions]
//   struct scaled_exp {
//     vector y;                                                                      // what backward needs, forward stores
//     vector forward(const vector& x, float k) { return y = ebb::exp(x) * k; }
//     vector backward(const vector& g) { return g * y; }
//   };
//   ebb::variable y = ebb::apply(scaled_exp{}, x, 3.f);
//
//   forward    is called with values: a variable arrives as its tensor, other arguments unchanged. It is not recorded. It returns an array
//              or a tuple: arrays of real elements become variables, other results stay as they are. It may return an argument.
//   backward   is called with one gradient for each of those variables: a tensor (zeros if no gradient has arrived) or a std::optional of
//              one. After them it may take the values of all operands that are variables. It returns a gradient for each of these
//              operands, in a tuple if there are several: an array, std::optional of one, or ebb::nothing.
//   members    live as long as the node keeps its saved values. A member `std::array<bool, N> needs_input_grad` is set before each call:
//              whether operand i needs a gradient. `static constexpr const char* name` is the name in messages.
// A gradient must have the extents of its operand: nothing is summed to fit.
// If backward can be called with variables (a template can), create_graph records it. It may then read its arguments only: so forward is
// const, or backward takes the operands. Other custom functions cannot be differentiated twice.
// Several threads that walk one graph call backward concurrently.
// Products of arrays in forward and backward do not follow an autocast scope: they name a policy, with
// ebb::under<ebb::autocast<ebb::bf16>>(f) or ebb::no_autocast(f), or are refused.
#pragma once

#include "function_node.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether F has no needs_input_grad, or one of N elements.
template <class F, std::size_t N>
inline constexpr bool asks_for = true;
template <class F, std::size_t N>
  requires requires(F& f) { f.needs_input_grad; }
inline constexpr bool asks_for<F, N> = std::is_same_v<decltype(F::needs_input_grad), std::array<bool, N>>;

/// 0 if backward's results fit the operands X, else an error code.
template <class F, class Passed, class X>
inline constexpr int code_of_backward = 165;
template <class F, class... P, class... X>
  requires has_backward<F, std::tuple<P...>>
inline constexpr int code_of_backward<F, std::tuple<P...>, variable_list<X...>> = [] {
  using R = typename list_of_results<std::remove_cvref_t<decltype(std::declval<F&>().backward(std::declval<P>()...))>>::type;
  if constexpr (std::tuple_size_v<R> != sizeof...(X)) return 162;
  else
    return []<class... G>(std::type_identity<std::tuple<G...>>) {
      return (is_gradient_for<G, X> && ...) ? 0 : 163;
    }(std::type_identity<R>{});
}();

template <class A>
decltype(auto) forward_argument(const A& a) {
  if constexpr (is_variable<A>) return a.value();
  else return (a);
}
template <class A>
auto variable_operand(const A& a) {
  if constexpr (is_variable<A>) return std::tuple<const A&>(a);
  else return std::tuple<>();
}
template <class R>
auto result_variable(const R& r, const counted<vertex>& history, std::uint32_t& output) {
  if constexpr (becomes_variable<R>)
    return variable_of<borrowed_element<R>, borrowed_extents<R>>(layout_in(r), to_storage(r), history, history ? output++ : 0);
  else return r;
}

template <class F, class... A>
auto call_function(F f, const A&... a) {
  using X = variables_among<variables_of_operand, A...>;
  using R = std::remove_cvref_t<decltype(f.forward(forward_argument(a)...))>;
  using list = typename list_of_results<R>::type;
  using Y = decltype([]<class... Each>(std::type_identity<std::tuple<Each...>>) {
    return variables_among<variables_of_result, Each...>{};
  }(std::type_identity<list>{}));
  using node_type = user_node<F, requires(const F& c) { c.forward(forward_argument(a)...); }, Y, X>;
  if constexpr (X::count == 0 || Y::count == 0) {
    const recording_scope off(false);
    return R(f.forward(forward_argument(a)...));
  } else {
    constexpr int code = asks_for<F, X::count> ? code_of_backward<F, typename node_type::values, X> : 166;
    static_assert(code != 165, "[ebb E0165] ebb::apply: backward takes one gradient for each real result, a tensor or std::optional of "
                               "one, and after them perhaps the operands that are variables");
    static_assert(code != 162, "[ebb E0162] ebb::apply: backward returns one gradient for each operand that is a variable");
    static_assert(code != 163, "[ebb E0163] ebb::apply: a gradient has the dtype and rank of its operand, or is ebb::nothing");
    static_assert(code != 166, "[ebb E0166] needs_input_grad is a std::array<bool, N>, N the number of operands that are variables");
    if constexpr (code == 0) {
      const auto operands = std::tuple_cat(variable_operand(a)...);
      std::array<bool, X::count> needed{};
      bool tracks = false;
      std::size_t j = 0;
      const auto look = [&](const auto& v) {
        require_defined(function_name<F>(), v, static_cast<int>(j));
        tracks |= needed[j++] = this_tape().records && v.requires_grad();
      };
      std::apply([&](const auto&... v) { (look(v), ...); }, operands);
      const counted<kept_function<F>> k(new kept_function<F>(std::move(f)));
      tell_what_is_needed(k->f, needed);
      const list results = [&] {
        const recording_scope off(false);
        return list(k->f.forward(forward_argument(a)...));
      }();
      std::array<extent_list, Y::count> shapes;
      std::size_t i = 0;
      const auto measure = [&]<class Each>(const Each& r) {
        if constexpr (becomes_variable<Each>) shapes[i++] = extents_of_layout(layout_in(r));
      };
      std::apply([&](const auto&... r) { (measure(r), ...); }, results);
      const counted<vertex> history = tracks ? node_type::make(*k, operands, shapes) : counted<vertex>();
      std::uint32_t output = 0;
      auto made = std::apply([&](const auto&... r) { return std::tuple{result_variable(r, history, output)...}; }, results);
      if constexpr (std::is_same_v<R, list>) return made;
      else return std::get<0>(std::move(made));
    } else return refused_result{};
  }
}

}  // namespace detail

/// Calls f.forward on the values of the operands. If one of them is a variable with a history, the call is one node, whose backward is
/// f.backward: see [note: custom functions].
/// Saves: f; and the operands, if backward takes them.
/// Throws: error if a variable is undefined; in the backward, if a gradient has other extents than its operand.
template <class F, class... A>
  requires std::is_class_v<F>
auto apply(F f, const A&... a) {
  constexpr bool fits = requires { f.forward(detail::forward_argument(as_region_argument(a))...); };
  static_assert(fits, "[ebb E0164] ebb::apply: forward cannot be called with the values of these operands");
  if constexpr (fits) return detail::call_function(std::move(f), as_region_argument(a)...);
  else return refused_result{};
}

}  // namespace ebb::inline EBB_ABI
