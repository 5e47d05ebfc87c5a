// ebb/exec/eager.hpp — functions and operators called on arrays outside of any traced function: each is a small program of its own.
// SPDX-License-Identifier: BSL-1.0
//
// Use it for set-up, checks and reports. Put code that must be fast into one ebb::compile or value_and_grad, which fuses it.
// Functions take arrays of any owner, ebb::tanh(std::span<const float>(x)). Operators need a tensor or a view on one side.
#pragma once

#include "gradient.hpp"

#include "../tensor/equal.hpp"
#include "../trace/operators.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ebb::inline EBB_ABI {

namespace detail {

/// F as a traced function.
template <class F>
struct traced_call {
  constexpr auto operator()(auto... x) const { return apply_function(F{}, x...); }
};
/// "ebb::tanh", or the user's own function without a namespace.
template <class F>
inline constexpr auto eager_name = [] {
  std::array<char, 128> text{};
  std::size_t size = 0;
  for (const std::string_view part : {std::string_view(is_ours<F> ? "ebb::" : ""), called<F>})
    for (const char c : part)
      if (size + 1 < text.size()) text[size++] = c;
  return text;
}();
template <class F>
struct eager_spec : compile_spec<traced_call<F>> {
  static constexpr const char* name = eager_name<F>.data();
};
template <class F>
using eager_function = program_function<eager_spec<F>>;

/// The promoted dtype of the arrays among arguments.
template <class T, class... A>
struct dtype_of_arrays {
  using type = T;
};
template <class T, class A, class... B>
struct dtype_of_arrays<T, A, B...> : dtype_of_arrays<promoted<T, borrowed_element<A>>, B...> {};
template <class T, number A, class... B>
struct dtype_of_arrays<T, A, B...> : dtype_of_arrays<T, B...> {};

/// The dtype beside which numbers are weak when F is called on arguments of these types; void if F keeps them.
template <class F, class... A>
using weak_beside = std::conditional_t<keeps_numbers<F>, void, typename dtype_of_arrays<bool, A...>::type>;

/// As an argument a number has a dtype. That of a real number is weak here, like a literal's: x * 0.5 has the dtype of x. So is that of an
/// integer beside bools. T: see weak_beside.
template <class T, class A>
constexpr decltype(auto) as_eager_argument(const A& a) {
  constexpr bool counts = number<A> && std::is_same_v<T, bool> && !std::is_same_v<A, bool>;
  if constexpr (std::is_void_v<T> && std::is_floating_point_v<A>) return static_cast<double>(a);
  else if constexpr (std::is_floating_point_v<A> || counts) return as_element<promoted_weak<T, A>>(a);
  else return (a);
}

/// Decides whether F accepts terms of these types. For map only its trace can tell.
template <class F, class... A>
struct acceptance {
  using type = accepted_in_call<F, A...>;
};
template <class F, bool... Whole, class... A>
struct acceptance<functions::map<F, Whole...>, A...> {
  using type = acceptance;
  using lift = acceptance;
  static constexpr int code = 0;
};

template <class F, class Options, bool... Whole, class... A>
struct acceptance<functions::scan<F, Options, Whole...>, A...> : acceptance<functions::map<F>, A...> {};

template <class T, class A>
using eager_term = traced_type<std::remove_cvref_t<decltype(as_eager_argument<T>(std::declval<const A&>()))>>;
template <class F, class... A>
using accepted_eagerly = typename acceptance<F, eager_term<weak_beside<F, A...>, A>...>::type;

/// A call of a function that takes functions on arrays, duals, tuples and structs of them.
template <class F, class... A>
constexpr auto call_eagerly(const A&... a) {
  if constexpr ((holds_duals<A> || ...)) return pushed_call<eager_function<F>>::run(a...);
  else return eager_function<F>{}(as_eager_argument<promoted_among<A...>>(a)...);
}

/// Runs in place, if the result has a's dtype and may have its extents.
template <class A, class B>
  requires arrays<A, B>
constexpr auto assign_function(auto f, A& a, const B& b) {
  if constexpr (accepted_eagerly<decltype(f), std::remove_const_t<A>, B>::lift::code == 0) {
    using result = typename argument<decltype(apply_function(f, a, b))>::traced;
    using own = typename argument<A>::traced;
    constexpr bool fits = std::is_same_v<typename result::value_type, typename own::value_type> && result::rank == own::rank;
    static_assert(fits, "[ebb E0133] a compound assignment cannot change dtype or extents: write a = a + b with a name of its own");
    if constexpr (fits) {
      if (__builtin_is_constant_evaluated()) {
        const auto r = apply_function(f, std::as_const(a), b);
        const auto* from = borrow<std::remove_const_t<decltype(r)>>::data(r);
        std::copy(from, from + layout_in(r).size(), borrow<A>::mutable_data(a));
      } else eager_function<decltype(f)>{}(into(a), std::as_const(a), as_eager_argument<typename dtype_of_arrays<bool, A, B>::type>(b));
    }
  }
}

}  // namespace detail

template <class F, class... A>
  requires arrays<A...>
constexpr auto apply_function(F, const A&... a) {
  // Checked here and not deeper: the sentence is then printed near the user's line.
  if constexpr (detail::accepted_eagerly<F, A...>::lift::code != 0) return refused_result{};
  else return detail::eager_function<F>{}(detail::as_eager_argument<detail::weak_beside<F, A...>>(a)...);
}

template <class F, number A, number... B>
  requires detail::is_composite<F>
constexpr auto apply_function(F f, A a, B... b) {
  using T = std::conditional_t<element<A>, A, std::conditional_t<std::is_floating_point_v<A>, double, std::int64_t>>;
  return apply_function(f, tensor<T>(static_cast<T>(a)), b...);
}

template <class F, bool... Whole, class... A>
  requires detail::have_forms_or_duals<A...>
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a) {
  return detail::call_eagerly<functions::map<F, Whole...>>(a...);
}
template <class F, class Options, bool... Whole, class... A>
  requires detail::have_forms_or_duals<A...>
constexpr auto apply_function(functions::scan<F, Options, Whole...>, const A&... a) {
  return detail::call_eagerly<functions::scan<F, Options, Whole...>>(a...);
}

}  // namespace ebb::inline EBB_ABI
