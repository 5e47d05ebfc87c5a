// ebb/exec/refusal.hpp — the errors for calls of other types than functions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../trace/lengths.hpp"
#include "../trace/trace.hpp"

namespace ebb::inline EBB_ABI::detail {

template <int Code>
  requires is_one_of<Code, 130, 253>
struct refuse_function<Code> {
  static_assert(Code != 130, "[ebb E0130] an argument holds no element type: indices are int or std::int64_t, not size_t or unsigned");
  static_assert(Code != 253, "[ebb E0253] an Eigen expression holds no elements: evaluate it first, (a + b).eval()");
};

template <int>
using refused_at = refused_result;

/// The types of arguments in programs: independent of an array's owner.
template <class A>
using traced_type = typename argument<A>::traced;

template <class Spec, class... A>
using trace_in_call = typename Spec::template trace<traced_type<A>...>;

/// 130 if an argument is an array with an unsupported element type, else 0.
template <class A>
inline constexpr bool has_other_elements = false;
template <class A>
  requires(!traced_argument<A> && requires(const A& a) {
            a.data();
            a.size();
            requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*a.data())>>;
            requires !element<std::remove_cvref_t<decltype(*a.data())>>;
          })
inline constexpr bool has_other_elements<A> = true;
template <class A>
  requires(std::is_arithmetic_v<A> && !element<A>)
inline constexpr bool has_other_elements<A> = true;

template <class... A>
constexpr int code_of_elements() {
  return (has_other_elements<A> || ...) ? 130 : (eigen_expression<A> || ...) ? 253 : code_of_vectors<A...>();
}

/// Callable, if F may be traced.
template <class F, class Callable>
constexpr auto callable_of() {
  constexpr int code = code_of_function<F>;
  static_cast<void>(refuse_function<code>{});
  if constexpr (code != 0) return refused_result{};
  else return Callable{};
}

}  // namespace ebb::inline EBB_ABI::detail
