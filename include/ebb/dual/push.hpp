// ebb/dual/push.hpp — calls with duals among the arguments: ebb::jvp of the function that is called.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dual.hpp"

#include <array>
#include <tuple>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

template <class... Leaf>
constexpr int deepest(types<Leaf...>) {
  int most = 0;
  for (const int depth : {0, dual_depth<Leaf>...}) most = depth > most ? depth : most;
  return most;
}
/// The depth of the deepest leaf of an argument.
template <class A>
inline constexpr int depth_in = deepest(leaf_types<A>{});

/// The form of an argument without the duals of a depth.
template <int Depth>
struct without_duals : form_map<without_duals<Depth>> {
  template <class S>
  using of_struct = struct_with<S, tensor>;
};
template <int Depth, class A>
  requires(dual_depth<dual<A>> == Depth)
struct mapped_form<without_duals<Depth>, dual<A>> {
  using type = A;
};

/// The form of a result: a dual in place of each array or number of real numbers.
struct with_tangents : form_map<with_tangents> {
  template <class S>
  using of_struct = struct_with<S, dual_of>;
};
template <can_be_dual A>
struct mapped_form<with_tangents, A> {
  using type = dual<A>;
};

template <int Depth, class A>
constexpr auto value_in(const A& a) {
  return filled<mapped_to<without_duals<Depth>, A>>(
      []<class To, class Leaf>(const Leaf& leaf) -> To {
        if constexpr (dual_depth<Leaf> == Depth) return leaf.value;
        else return leaf;
      },
      a);
}
/// Zero for the leaves that are constants.
template <int Depth, class A>
constexpr auto tangent_in(const A& a) {
  return filled<mapped_to<without_duals<Depth>, A>>(
      []<class To, class Leaf>(const Leaf& leaf) -> To {
        if constexpr (dual_depth<Leaf> == Depth) return leaf.tangent;
        else return zero_like(leaf);
      },
      a);
}
/// Results and their tangents as duals. Integers and bools have no tangent.
template <class R>
constexpr auto as_duals(const R& value, const R& tangent) {
  return filled<mapped_to<with_tangents, R>>(
      []<class To, class Leaf>(const Leaf& v, const Leaf& t) -> To {
        if constexpr (can_be_dual<Leaf>) return {v, t};
        else return v;
      },
      value, tangent);
}

/// The arguments that have the duals of the outermost level.
template <class... A>
struct outermost_of {
  static constexpr int depth = deepest(joined_types<leaf_types<A>...>{});
  static constexpr std::array numbers = [] {
    constexpr int depths[] = {depth_in<A>...};
    std::array<int, (std::size_t{depth_in<A> == depth} + ...)> r{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < sizeof...(A); ++i)
      if (depths[i] == depth) r[next++] = static_cast<int>(i);
    return r;
  }();
};

/// Calls F, a function object without members, with duals among the arguments.
template <class F, class... A>
constexpr auto push(const A&... a) {
  constexpr int depth = outermost_of<A...>::depth;
  constexpr auto numbers = outermost_of<A...>::numbers;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto pushed = jvp<numbers[I]...>(F{});
    const auto all = std::tie(a...);
    const auto r = pushed(value_in<depth>(a)..., tangent_in<depth>(std::get<static_cast<std::size_t>(numbers[I])>(all))...);
    if constexpr (holds_refused<std::remove_cvref_t<decltype(r)>>) return refused_result{};
    else return as_duals(std::get<0>(r), std::get<1>(r));
  }(std::make_index_sequence<numbers.size()>{});
}

/// An argument as the array that its function is traced with. Numbers beside duals stay numbers, whose dtype is weak.
template <class A>
struct array_for : dual_base<A> {};
template <dual_number A>
struct array_for<A> {
  using type = tensor<typename dual_base<A>::type>;
};

/// A compiled function, or a transform of one.
template <class Spec>
struct pushed_call<program_function<Spec>> {
  template <class... A>
  static constexpr auto run(const A&... a) {
    return push<program_function<Spec>>(a...);
  }
};

/// The dtype beside which numbers are weak, of duals and arrays in a call.
template <class Leaves>
struct dtype_beside_duals;
template <class... Leaf>
struct dtype_beside_duals<types<Leaf...>> : dtype_of_arrays<bool, typename array_for<Leaf>::type...> {};
/// A function that takes functions, outside of traced functions.
template <class F>
struct pushed_call<eager_function<F>> {
  template <class... A>
  static constexpr auto run(const A&... a) {
    using weak = typename dtype_beside_duals<joined_types<leaf_types<A>...>>::type;
    return push<eager_function<F>>(as_eager_argument<weak>(a)...);
  }
};

/// Operands of functions with a dual among them.
template <class... A>
concept dual_operands = (is_dual<A> || ...) && ((is_dual<A> || (borrowable<A> && !is_tracked<A>)) && ...);
/// Those that are refused.
template <class... A>
concept duals_and_variables = (is_dual<A> || ...) && (is_tracked<A> || ...);
template <class... A>
concept duals_and_terms = (is_dual<A> || ...) && (in_trace<A> || ...);

}  // namespace detail

namespace duals {

template <class F, class... A>
  requires detail::dual_operands<A...>
constexpr auto apply_function(F, const A&... a) {
  // Named here and not deeper: an error about the operands is then printed near the user's line.
  if constexpr (detail::accepted_eagerly<F, typename detail::array_for<A>::type...>::lift::code != 0) return refused_result{};
  else {
    using weak = detail::weak_beside<F, typename detail::array_for<A>::type...>;
    return detail::push<detail::traced_call<F>>(detail::as_eager_argument<weak>(a)...);
  }
}

template <class F, class... A>
  requires(detail::duals_and_variables<A...>)
constexpr auto apply_function(F, const A&...) {
  static_assert(!detail::duals_and_variables<A...>, "[ebb E0512] a variable has no tangent: pass its value() beside a dual");
  return refused_result{};
}
template <class F, class... A>
  requires(detail::duals_and_terms<A...>)
constexpr auto apply_function(F, const A&... a) {
  constexpr bool captured = detail::duals_and_terms<A...>;
  static_assert(!captured, "[ebb E0513] a traced function uses a dual that is not its argument: pass it to the function");
  return detail::first_in_trace(a...);
}

}  // namespace duals

}  // namespace ebb::inline EBB_ABI
