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
/// signed_number refuses it.
enum class domain : std::uint8_t { any, number, signed_number, real, boolean };

/// Defaults of every op. T is the dtype for which an op is instantiated.
struct op_base {
  template <class T>
  using result = T;
  template <class T, int J>
  using operand_type = T;
  static constexpr int dtype_from = 0;  // the first operand of dtype T; earlier ones have dtypes of their own
  static constexpr precision autocast = precision::as_is;
  static constexpr bool pulled_as_called = false;  // its pull runs in the autocast context of its call, under every policy
  static constexpr domain accepts = domain::number;
  static constexpr bool heavy = false;
  static constexpr bool needs_elements = false;  // a reduction that has no result over zero elements
  static constexpr bool names_places = false;    // the last operand holds indices along an axis of the result or of operand 0
  // An op may declare `asker`, the name of the function that emits it: errors about its operands then name that function.
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

/// Combines a run of adjacent axes [attr 0, attr 1) with `value(accumulated, x)`, starting from `identity<T>()`.
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

/// The functions of Op for dtype T, with op_info's erased signatures.
template <class Op, class T>
struct erased {
  using result = typename Op::template result<T>;
  template <int J>
  using argument = typename Op::template operand_type<T, J>;
  using order = std::make_integer_sequence<int, (Op::arity > 0 ? Op::arity : 0)>;

  static constexpr void pull(graph& g, int cotangent, int y, int* out) {
    [&]<int... J>(std::integer_sequence<int, J...>) {
      const int in[] = {g.operand(y, J)..., 0};
      constexpr bool takes = requires(operand<result> r) { Op::pull(r, operand<argument<J>>{}..., r); };
      static_assert(takes, "[ebb E0177] an op's pull takes the gradient of the result, the operands, and the result");
      if constexpr (takes) {
        const auto given = Op::pull(operand<result>{&g, cotangent}, operand<argument<J>>{&g, in[J]}..., operand<result>{&g, y});
        constexpr bool for_each = std::is_same_v<decltype(given), const cotangents<Op::arity>>;
        static_assert(for_each, "[ebb E0178] an op's pull returns ebb::grads(...) of one gradient for each operand, or ebb::nothing");
        if constexpr (for_each) ((out[J] = given.id[J]), ...);
      }
    }(order{});
  }
  /// An op with any number of operands gets them as an array: pull(g, operands, out) -> vec<int>.
  static constexpr void pull_many(graph& g, int cotangent, int y, int* out) {
    vec<operand<T>> in;
    for (int i : g.operands(y)) in.push({&g, i});
    const vec<int> given = Op::pull(operand<result>{&g, cotangent}, in, operand<result>{&g, y});
    for (int j = 0; j < given.size(); ++j) out[j] = given[j];
  }

  static constexpr void scalar(const cell* in, cell* out) {
    if constexpr (Op::what == kind::reduce || Op::what == kind::scan) {
      *out = to_cell(narrowed<result>(Op::value(widened(from_cell<result>(in[0])), widened(from_cell<T>(in[1])))));
    } else {
      [&]<int... J>(std::integer_sequence<int, J...>) {
        *out = to_cell(narrowed<result>(value<computed_in<T>>(widened(from_cell<argument<J>>(in[J]))...)));
      }(order{});
    }
  }

  /// Calls value(x...), or value<To>(x...) for an op that needs its result's dtype (a cast).
  template <class To>
  static constexpr auto value(auto... x) {
    if constexpr (requires { Op::value(x...); }) return Op::value(x...);
    else return Op::template value<To>(x...);
  }
};

}  // namespace detail

/// Identifies an op regardless of its dtype. All instances of a template may be declared one family: see op::cast.
template <class Op>
inline constexpr std::uint64_t family_of = hash_text(full_name_of<Op>());

template <class T>
struct kit_of;  // completed in op/kit.hpp

template <class Op, class T>
struct vectorized;  // completed in exec/vectorized.hpp; incomplete if only passes are included

namespace detail {

// Whether Op has a member named pull, without instantiating it: if it has, the name is ambiguous in `probe`.
struct pull_fallback {
  int pull;
};
template <class Op>
struct pull_probe : Op, pull_fallback {};
template <class Op>
inline constexpr bool has_pull = !requires { &pull_probe<Op>::pull; };

template <class Op, class T>
constexpr op_info make_info() {
  using functions = erased<Op, T>;
  using result = typename Op::template result<T>;
  op_info i;
  i.name = Op::name;
  if constexpr (requires { Op::asker; }) i.asker = Op::asker;
  else i.asker = Op::name;
  i.id = hash_text(full_name_of<functions>());
  i.family = family_of<Op>;
  i.what = Op::what;
  i.autocast = Op::autocast;
  if constexpr (requires { Op::stops; }) i.stops = Op::stops;
  i.heavy = Op::heavy;
  i.needs_elements = Op::needs_elements;
  i.names_places = Op::names_places;
  i.arity = Op::arity;
  i.result = dtype_of<result>;
  i.operand = dtype_of<T>;
  [&]<int... J>(std::integer_sequence<int, J...>) {
    ((i.operands[J] = dtype_of<typename Op::template operand_type<T, J>>), ...);
  }(std::make_integer_sequence<int, (Op::arity < 0 ? 4 : Op::arity)>{});
  i.kit = &kit_of<result>::table;
  if constexpr (requires { i.infer = &Op::infer; }) i.infer = &Op::infer;
  constexpr bool combines = Op::what == kind::reduce || Op::what == kind::scan;
  if constexpr (Op::what == kind::elementwise || combines) i.scalar = &functions::scalar;
  if constexpr (Op::what == kind::move) {
    i.copy = &Op::copy;
    if constexpr (requires { &Op::batch; }) {
      i.batched = true;
      i.batch = &Op::batch;
    }
    if constexpr (requires { &Op::show; }) {
      i.shows = true;
      i.show = &Op::show;
    }
  }
  if constexpr (combines) i.identity = to_cell(narrowed<result>(Op::template identity<computed_in<result>>()));
  if constexpr (real_element<result> && has_pull<Op>) {
    i.differentiable = true;
    if constexpr (Op::arity >= 0) i.pull = &functions::pull;
    else i.pull = &functions::pull_many;
  }
  if constexpr (requires { sizeof(vectorized<Op, T>); }) i.kernels = vectorized<Op, T>::table;
  return i;
}

}  // namespace detail

/// The table of Op for dtype T. The last parameter keeps tables with and without kernels apart, in case one program has both.
template <class Op, class T, bool Kernels = requires { sizeof(vectorized<Op, T>); }>
inline constexpr op_info info = detail::make_info<Op, T>();

}  // namespace ebb::inline EBB_ABI
