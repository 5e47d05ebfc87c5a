// ebb/op/operators.hpp — the operators inside rules: on operands of one dtype and one shape, and numbers.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "source.hpp"

namespace ebb::inline EBB_ABI::op {

struct add;
struct sub;
struct mul;
struct div;
struct neg;

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class A>
concept number = std::is_arithmetic_v<A>;

template <class Op, class T>
constexpr operand<T> binary(operand<T> a, operand<T> b) {
  return emit_on<Op>({}, a, b);
}

template <class T>
constexpr operand<T> operator+(operand<T> a, operand<T> b) { return binary<op::add>(a, b); }
template <class T>
constexpr operand<T> operator-(operand<T> a, operand<T> b) { return binary<op::sub>(a, b); }
template <class T>
constexpr operand<T> operator*(operand<T> a, operand<T> b) { return binary<op::mul>(a, b); }
template <class T>
constexpr operand<T> operator/(operand<T> a, operand<T> b) { return binary<op::div>(a, b); }
template <class T>
constexpr operand<T> operator-(operand<T> a) { return emit_on<op::neg>({}, a); }

template <class T>
constexpr operand<T> operator+(operand<T> a, number auto b) { return a + literal_like(a, b); }
template <class T>
constexpr operand<T> operator-(operand<T> a, number auto b) { return a - literal_like(a, b); }
template <class T>
constexpr operand<T> operator*(operand<T> a, number auto b) { return a * literal_like(a, b); }
template <class T>
constexpr operand<T> operator/(operand<T> a, number auto b) { return a / literal_like(a, b); }
template <class T>
constexpr operand<T> operator+(number auto a, operand<T> b) { return literal_like(b, a) + b; }
template <class T>
constexpr operand<T> operator-(number auto a, operand<T> b) { return literal_like(b, a) - b; }
template <class T>
constexpr operand<T> operator*(number auto a, operand<T> b) { return literal_like(b, a) * b; }
template <class T>
constexpr operand<T> operator/(number auto a, operand<T> b) { return literal_like(b, a) / b; }

}  // namespace ebb::inline EBB_ABI
