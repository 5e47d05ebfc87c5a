// ebb/dual/number.hpp — the operators of duals: written out for numbers, calls of ebb's functions for arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "push.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Two sides of an operator that are numbers or duals of numbers: one of them is a dual.
template <class A, class B>
concept number_pair = (dual_number<A> || dual_number<B>) && (dual_number<A> || number<A>) && (dual_number<B> || number<B>);
/// Those with an array.
template <class A, class B>
concept array_pair = (is_dual<A> || is_dual<B>) && !number_pair<A, B>;

template <class A, int Depth>
struct nested_dual {
  using type = dual<typename nested_dual<A, Depth - 1>::type>;
};
template <class A>
struct nested_dual<A, 0> {
  using type = A;
};
/// The type of a result: of the deeper side, with the wider element. A number beside a dual is weak.
template <class A, class B>
struct dual_of_pair {
  static constexpr int depth = dual_depth<A> > dual_depth<B> ? dual_depth<A> : dual_depth<B>;
  using a = typename dual_base<A>::type;
  using b = typename dual_base<B>::type;
  using base = std::conditional_t<number<A>, b, std::conditional_t<number<B>, a, std::conditional_t<(sizeof(a) > sizeof(b)), a, b>>>;
  using type = typename nested_dual<base, depth>::type;
};

/// a with the element and the depth of To; new levels have the tangent 0.
template <class To, class A>
constexpr To as_dual(const A& a) {
  if constexpr (std::is_same_v<A, To>) return a;
  else if constexpr (dual_depth<To> == 0) return static_cast<To>(a);
  else if constexpr (dual_depth<A> == dual_depth<To>)
    return {as_dual<decltype(To::value)>(a.value), as_dual<decltype(To::value)>(a.tangent)};
  else return {as_dual<decltype(To::value)>(a), decltype(To::value)()};
}

/// A side of an operator whose result is a To. A constant of the outermost level has no tangent there.
template <class To, class A>
struct side_of {
  static constexpr bool varies = dual_depth<A> == dual_depth<To>;
  static constexpr auto value(const A& a) {
    if constexpr (varies) return as_dual<To>(a).value;
    else if constexpr (number<A>) return static_cast<typename dual_base<To>::type>(a);
    else return as_dual<decltype(To::value)>(a);
  }
  static constexpr auto tangent(const A& a)
    requires varies
  {
    return as_dual<To>(a).tangent;
  }
};

/// The value of a number, of a dual, of a dual of duals.
template <class A>
constexpr const auto& innermost(const A& a) {
  if constexpr (dual_depth<A> > 0) return innermost(a.value);
  else return a;
}

}  // namespace detail

namespace duals {

template <class A, class B>
  requires detail::number_pair<A, B>
constexpr auto operator+(const A& a, const B& b) {
  using D = typename detail::dual_of_pair<A, B>::type;
  using left = detail::side_of<D, A>;
  using right = detail::side_of<D, B>;
  const auto value = left::value(a) + right::value(b);
  if constexpr (!left::varies) return D(value, right::tangent(b));
  else if constexpr (!right::varies) return D(value, left::tangent(a));
  else return D(value, left::tangent(a) + right::tangent(b));
}
template <class A, class B>
  requires detail::number_pair<A, B>
constexpr auto operator-(const A& a, const B& b) {
  using D = typename detail::dual_of_pair<A, B>::type;
  using left = detail::side_of<D, A>;
  using right = detail::side_of<D, B>;
  const auto value = left::value(a) - right::value(b);
  if constexpr (!left::varies) return D(value, -right::tangent(b));
  else if constexpr (!right::varies) return D(value, left::tangent(a));
  else return D(value, left::tangent(a) - right::tangent(b));
}
template <class A, class B>
  requires detail::number_pair<A, B>
constexpr auto operator*(const A& a, const B& b) {
  using D = typename detail::dual_of_pair<A, B>::type;
  using left = detail::side_of<D, A>;
  using right = detail::side_of<D, B>;
  const auto x = left::value(a);
  const auto y = right::value(b);
  if constexpr (!left::varies) return D(x * y, x * right::tangent(b));
  else if constexpr (!right::varies) return D(x * y, left::tangent(a) * y);
  else return D(x * y, left::tangent(a) * y + x * right::tangent(b));
}
template <class A, class B>
  requires detail::number_pair<A, B>
constexpr auto operator/(const A& a, const B& b) {
  using D = typename detail::dual_of_pair<A, B>::type;
  using left = detail::side_of<D, A>;
  using right = detail::side_of<D, B>;
  const auto y = right::value(b);
  const auto q = left::value(a) / y;
  if constexpr (!left::varies) return D(q, -(q * right::tangent(b)) / y);
  else if constexpr (!right::varies) return D(q, left::tangent(a) / y);
  else return D(q, (left::tangent(a) - q * right::tangent(b)) / y);
}
template <detail::dual_number A>
constexpr A operator-(const A& a) {
  return {-a.value, -a.tangent};
}

template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator+(const A& a, const B& b) {
  return apply_function(ebb::detail::broadcasting<op::add>{}, a, b);
}
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator-(const A& a, const B& b) {
  return apply_function(ebb::detail::broadcasting<op::sub>{}, a, b);
}
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator*(const A& a, const B& b) {
  return apply_function(ebb::detail::broadcasting<op::mul>{}, a, b);
}
template <class A, class B>
  requires detail::array_pair<A, B>
constexpr auto operator/(const A& a, const B& b) {
  return apply_function(ebb::detail::broadcasting<op::div>{}, a, b);
}
template <class A>
  requires(!detail::dual_number<dual<A>>)
constexpr auto operator-(const dual<A>& a) {
  return apply_function(ebb::detail::broadcasting<op::neg>{}, a);
}

template <class A, class B>
constexpr dual<A>& operator+=(dual<A>& a, const B& b) {
  return a = a + b;
}
template <class A, class B>
constexpr dual<A>& operator-=(dual<A>& a, const B& b) {
  return a = a - b;
}
template <class A, class B>
constexpr dual<A>& operator*=(dual<A>& a, const B& b) {
  return a = a * b;
}
template <class A, class B>
constexpr dual<A>& operator/=(dual<A>& a, const B& b) {
  return a = a / b;
}
template <class A>
  requires detail::dual_number<dual<A>>
constexpr dual<A>& operator++(dual<A>& a) {
  return a = a + 1;
}
template <class A>
  requires detail::dual_number<dual<A>>
constexpr dual<A>& operator--(dual<A>& a) {
  return a = a - 1;
}
template <class A>
  requires detail::dual_number<dual<A>>
constexpr dual<A> operator++(dual<A>& a, int) {
  return std::exchange(a, a + 1);
}
template <class A>
  requires detail::dual_number<dual<A>>
constexpr dual<A> operator--(dual<A>& a, int) {
  return std::exchange(a, a - 1);
}
template <class A>
  requires detail::dual_number<dual<A>>
constexpr dual<A> operator+(const dual<A>& a) {
  return a;
}

// Comparisons compare values: for numbers the result is a bool, for arrays an array of them.
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator<(const A& a, const B& b) {
  return detail::innermost(a) < detail::innermost(b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator<=(const A& a, const B& b) {
  return detail::innermost(a) <= detail::innermost(b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator>(const A& a, const B& b) {
  return detail::innermost(a) > detail::innermost(b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator>=(const A& a, const B& b) {
  return detail::innermost(a) >= detail::innermost(b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator==(const A& a, const B& b) {
  return detail::innermost(a) == detail::innermost(b);
}
template <class A, class B>
  requires detail::dual_operands<A, B>
constexpr auto operator!=(const A& a, const B& b) {
  return detail::innermost(a) != detail::innermost(b);
}

}  // namespace duals

}  // namespace ebb::inline EBB_ABI
