// ebb/op/op.hpp — the definition of an op: one struct with a name, a shape rule, a value and a pull.
// SPDX-License-Identifier: BSL-1.0
//
// [note: one op, one place]
//   struct square : ebb::elementwise<1> {
//     static constexpr std::string_view name = "square";
//     static constexpr auto value(auto x)                    { return x * x; }                     // for scalars and SIMD lanes
//     static constexpr auto pull (auto g, auto x, auto)      { return ebb::grads(2 * x * g); }     // gradient, operands, result
//   };
//   inline constexpr ebb::call<square> squared{};
// There is no registry and no list of ops: using an op instantiates it, and a user's op has the same rights as a built-in one.
//
// [note: saved is used]
// `pull` gets the operands and the result, and a backward pass saves the values that the pulled equations mention. exp::pull uses its
// result, so exp saves its result. There is no save list to get wrong.
#pragma once

#include "operand.hpp"

#include "../base/error.hpp"
#include "../num/lane.hpp"

#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The element types that an op computes in. Other operands are converted first: integers to float if the op is real. bool has no sign:
/// signed_number refuses it. bits: integers and bool, integer: without bool; both refuse floats.
enum class domain : std::uint8_t { any, number, signed_number, real, boolean, bits, integer };

/// Defaults of every op. T is the dtype for which an op is instantiated.
struct op_base {
  template <class T>
  using result = T;
  template <class T, int J>
  using operand_type = T;
  static constexpr int dtype_from = 0;  // the first operand of dtype T; earlier ones have dtypes of their own
  static constexpr arithmetic computes = arithmetic::other;
  static constexpr precision autocast = precision::as_is;
  static constexpr bool pulled_as_called = false;  // its pull runs in the autocast context of its call, under every policy
  static constexpr domain accepts = domain::number;
  static constexpr bool heavy = false;
  static constexpr bool branch_free = false;     // elementwise: the value of one element has no branches
  static constexpr bool needs_elements = false;  // a reduction that has no result over zero elements
  static constexpr bool names_places = false;    // operand 1, or the only one, holds indices along an axis of the result or of operand 0
  // An op may declare `asker`, the name of the function that emits it: errors about its operands then name that function.
};

// [note: a sentence beside its rule]
// A shape rule returns `refused(code)`, a function `refuse<T>(g, code)`. The sentence of the code is a specialization of `refusal` in the
// same header. Call is the function with the terms that it was called with: the compiler prints them next to the sentence. A function
// passes on the code of a function that it calls, so a sentence belongs to a code and not to the function that the user called. Codes up to
// 900 are those of the library; a user's function has sentences for its own codes, see trace/lift.hpp.
template <int Code, class Call>
struct refusal : Call {
  static_assert(Code != 119 && Code <= 900, "[ebb E0119] the op's own shape rule refuses these operands");
};

template <class Call>
struct refusal<102, Call> : Call {
  static_assert(Call::code != 102, "[ebb E0102] the extents differ: only a static extent of 1 or a missing leading axis is broadcast");
};

/// An op whose operands and result have one shape; it defines value, for scalars and lanes, and pull.
template <int Arity>
struct elementwise : op_base {
  static constexpr kind what = kind::elementwise;
  static constexpr int arity = Arity;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) {
    for (int j = 1; j < Arity; ++j)
      if (!s.unify(in[0], in[j])) return refused(102);
    return s.find(in[0]);
  }
};

template <class Call>
struct refusal<103, Call> : Call {
  static_assert(Call::code != 103, "[ebb E0103] there is no such axis");
};

/// Combines a run of adjacent axes [attr 0, attr 1) with `value(accumulated, x)`, starting from `identity<T>()`. With `combined`, which
/// emits the equation that does the same to arrays, it can be computed by components: see pass/unpack.hpp.
struct reduction : op_base {
  static constexpr kind what = kind::reduce;
  static constexpr int arity = 1;
  static constexpr bool heavy = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    if (attr[0] < 0 || attr[0] > attr[1] || attr[1] > in[0].rank) return refused(103);
    const shape x = s.find(in[0]);
    shape r;
    for (int i = 0; i < x.rank; ++i)
      if (i < attr[0] || i >= attr[1]) r.push(x.e[i]);
    return r;
  }
};

namespace detail {

/// Narrow floats are storage types: an op computes in float and rounds its result.
template <class T>
using computed_in = std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;

template <class T>
constexpr auto widened(T x) {
  return static_cast<computed_in<T>>(x);
}
template <class T>
constexpr T narrowed(auto x) {
  return static_cast<T>(x);
}

}  // namespace detail

/// Identifies an op regardless of its dtype. All instances of a template may be declared one family: see op::cast.
template <class Op>
inline constexpr std::uint64_t family_of = hash_text(full_name_of<Op>());
/// Whether an equation's op is one of these, for any dtype.
template <class... Op>
constexpr bool is_op(const op_info& op) {
  const std::uint64_t family = op.family;
  return (false || ... || (family == family_of<Op>));
}

}  // namespace ebb::inline EBB_ABI
