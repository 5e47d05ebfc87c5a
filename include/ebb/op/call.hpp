// ebb/op/call.hpp — the function objects of ops and composite functions: one serves operands, terms, arrays and plain numbers.
// SPDX-License-Identifier: BSL-1.0
//
// [note: functions are written once, on operands]
// A traced function is a struct with a static `apply` on operands. Rules call `apply` directly. For terms, `call` runs it twice: on a
// scratch graph of the terms' shapes, which yields the type of the result or an error code, and on the graph that is being
// traced. For arrays it is traced, compiled and run. Elementwise ops get their `apply` here: promote, broadcast, emit.
//
// [note: defaults of an op's documentation]
// A missing field means: Shape: that of the operands, broadcast.   Dtype: theirs, promoted.   Saves: nothing.   Error: exact.
// Throws: error if extents known only at run time do not fit; if static extents do not fit, the call does not compile.
#pragma once

#include "convert.hpp"
#include "shaping.hpp"

#include "../base/text.hpp"
#include "../num/promote.hpp"
#include "../tensor/borrow.hpp"
#include "../tensor/broadcast.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<120, Call> : Call {
  static_assert(Call::code != 120, "[ebb E0120] truth values have no sign: write !x, x != y, or cast<int>(x) first");
};

template <class Call>
struct refusal<238, Call> : Call {
  static_assert(Call::code != 238, "[ebb E0238] bits are those of integers, and for &, |, ^ and ~ of bools: a float is cast first");
};

template <class Call>
struct refusal<176, Call> : Call {
  static_assert(Call::code != 176, "[ebb E0176] the function takes another number of operands");
};

template <class Call>
struct refusal<556, Call> : Call {
  static_assert(Call::code != 556, "[ebb E0556] the function takes other arguments: another number of them, or an array where a number is "
                                   "given, or a number where an array is");
};

namespace detail {

template <class T>
constexpr operand<T> first_operand(operand<T> a, auto...) {
  return a;
}
constexpr auto first_operand(number auto, auto... a) { return first_operand(a...); }

/// x repeated to `to`. Extents of 1 that are repeated are dropped first, so that a broadcast only ever adds axes.
template <class T>
constexpr operand<T> fit(operand<T> x, const shape& to) {
  graph& g = *x.g;
  const std::int64_t repeated = repeated_axes(g.syms, x.extents(), to);
  if (repeated == 0) return x;
  shape kept;
  for (int axis = 0; axis < to.rank; ++axis)
    if (!(repeated >> axis & 1)) kept.push(to.e[axis]);
  if (kept.rank != x.rank()) x = reshape_to(x, g.intern(kept));
  return broadcast_to(x, g.intern(to), repeated);
}
template <class T>
constexpr T fit(T x, const shape&) {
  return x;
}

/// The dtype that Op computes in, given the promoted dtype of its operands.
template <class Op, class T>
constexpr auto accepted() {
  if constexpr (Op::accepts == domain::real && !real_element<T>) return float{};
  else if constexpr (Op::accepts == domain::boolean) return bool{};
  else return T{};
}

template <class A>
struct dtype_of_argument {
  using type = A;
  static constexpr bool weak = true;
};
template <class T>
struct dtype_of_argument<operand<T>> {
  using type = T;
  static constexpr bool weak = false;
};

template <class T>
struct promotion {
  template <class A>
  static constexpr auto with() {
    using next = typename dtype_of_argument<A>::type;
    if constexpr (std::is_void_v<T>) return std::type_identity<next>{};
    else if constexpr (dtype_of_argument<A>::weak) return std::type_identity<promoted_weak<T, next>>{};
    else return std::type_identity<promoted<T, next>>{};
  }
};
template <class T>
constexpr auto promote_all(std::type_identity<T> t) {
  return t;
}
template <class T, class A, class... B>
constexpr auto promote_all(std::type_identity<T>, std::type_identity<A>, std::type_identity<B>... rest) {
  // Operands count before numbers: a leading number is moved to the end. Numbers alone promote as if beside a bool.
  if constexpr (!std::is_void_v<T> || !dtype_of_argument<A>::weak) return promote_all(promotion<T>::template with<A>(), rest...);
  else if constexpr ((dtype_of_argument<B>::weak && ...)) return promote_all(std::type_identity<bool>{}, std::type_identity<A>{}, rest...);
  else return promote_all(std::type_identity<T>{}, rest..., std::type_identity<A>{});
}

/// The dtype of Op for operands and numbers; those before Op::dtype_from do not count.
template <class Op, class A, class... B>
constexpr auto promote_arguments() {
  if constexpr (Op::dtype_from == 0)
    return promote_all(std::type_identity<void>{}, std::type_identity<A>{}, std::type_identity<B>{}...);
  else return promote_all(std::type_identity<void>{}, std::type_identity<B>{}...);
}
template <class Op, class... A>
using promoted_of = typename decltype(promote_arguments<Op, A...>())::type;

/// 0, or the code that refuses operands whose promoted dtype is T.
template <class Op, class T>
inline constexpr int code_of_dtype = Op::accepts == domain::signed_number && std::is_same_v<T, bool> ? 120
                                     : Op::accepts == domain::bits && real_element<T> ? 238
                                     : Op::accepts == domain::integer && (real_element<T> || std::is_same_v<T, bool>) ? 238
                                                                                                                      : 0;

/// An elementwise op as a function on operands and numbers of any shapes and dtypes.
template <class Op>
struct broadcasting {
  template <class... A>
  static constexpr auto apply(A... a) {
    graph& g = *first_operand(a...).g;
    constexpr int code = [] {
      if constexpr (sizeof...(A) != Op::arity) return 176;
      else return code_of_dtype<Op, promoted_of<Op, A...>>;
    }();
    // Operands of one shape need no shape rule, and shapes are slow to copy.
    if constexpr (code == 0)
      if (const int number = shape_of_all(g, a...); number >= 0) return emit_at<A...>(g, number, a...);
    const shape in[] = {extents_of_argument(a)...};
    for (const shape& s : in)
      if (s.is_refused()) return refuse<A...>(g, s.code());
    if constexpr (code != 0) {
      return refuse<A...>(g, code);
    } else {
      const shape common = broadcast_shapes(g.syms, in, sizeof...(A));
      if (common.is_refused()) return refuse<A...>(g, common.code());
      return emit_fitted<A...>(g, common, fit(a, common)...);
    }
  }

 private:
  template <class T>
  static constexpr shape extents_of_argument(operand<T> x) {
    return x.id < 0 ? refused(-x.id) : x.extents();
  }
  static constexpr shape extents_of_argument(number auto) { return {}; }

  template <class... A>
  using parameter = decltype(accepted<Op, promoted_of<Op, A...>>());

  template <class... A>
  static constexpr auto refuse(graph& g, int code) {
    return operand<typename Op::template result<parameter<A...>>>{&g, -code};
  }
  /// The number of the shape common to all operands; -1 if they differ, or if its symbols have been unified with others since.
  template <class... A>
  static constexpr int shape_of_all(const graph& g, const A&... a) {
    int number = -1;
    bool same = true;
    const auto see = [&]<class X>(const X& x) {
      if constexpr (is_operand<X>) {
        const int own = x.shape_number();
        same = same && own >= 0 && (number < 0 || own == number);
        number = own;
      }
    };
    (see(a), ...);
    return same && g.syms.knows_no_better(g.shapes.data()[number]) ? number : -1;
  }
  template <class... A>
  static constexpr auto emit_fitted(graph& g, const shape& common, A... a) {
    return emit_at<A...>(g, g.intern(common), a...);
  }
  template <class... A>
  static constexpr auto emit_at(graph& g, int number, A... a) {
    using T = parameter<A...>;
    return [&]<int... J>(std::integer_sequence<int, J...>) {
      const int in[] = {fitted<typename Op::template operand_type<T, J>>(g, number, a)...};
      return operand<typename Op::template result<T>>{&g, emit<Op, T>(g, number_range{in, sizeof...(A)})};
    }(std::make_integer_sequence<int, sizeof...(A)>{});
  }
  template <class To, class From>
  static constexpr int fitted(graph&, int, operand<From> x) {
    return cast_to<To>(x).id;
  }
  template <class To>
  static constexpr int fitted(graph& g, int shape, number auto value) {
    return literal_in<To>(g, shape, value).id;
  }
};

}  // namespace detail

/// Inside rules: an elementwise op on operands and numbers of any shapes and dtypes.
template <class Op>
constexpr auto broadcast_on(auto... a) {
  return detail::broadcasting<Op>::apply(a...);
}

namespace detail {

/// A reduction over all axes, as a function.
template <class Op>
struct reducing {
  static constexpr std::string_view name = Op::name;
  static constexpr precision autocast = Op::autocast;
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Value = decltype(accepted<Op, T>());
    if (!x.is_refused() && x.rank() == 0) {
      shape one;
      one.push(1);
      x = reshape_to(x, x.g->intern(one));
    }
    const auto r = emit_on<Op>({0, x.is_refused() ? 0 : x.rank()}, cast_to<computed_in<Value>>(x));
    return cast_to<typename Op::template result<Value>>(r);
  }
};

/// The name of a function in messages: its `name` if it has one, else the name of its struct.
template <class F>
constexpr std::string_view name_of_called(std::type_identity<F>) {
  if constexpr (requires { std::string_view(F::name); }) return F::name;
  else return short_name_of<F>();
}
template <class Op>
constexpr std::string_view name_of_called(std::type_identity<broadcasting<Op>>) {
  return Op::name;
}
template <class F>
inline constexpr std::string_view called = name_of_called(std::type_identity<F>{});
/// Whether F is part of the library.
template <class F>
inline constexpr bool is_ours = full_name_of<F>().starts_with("ebb::");
template <class Op>
inline constexpr bool is_ours<broadcasting<Op>> = is_ours<Op>;
template <class Op>
inline constexpr bool is_ours<reducing<Op>> = is_ours<Op>;

template <class F>
struct function_of {
  using type = F;
};
template <class F>
  requires requires { F::what; }
struct function_of<F> {
  using type = std::conditional_t<F::what == kind::reduce, reducing<F>, broadcasting<F>>;
};

}  // namespace detail

namespace detail {

/// The precision class of F: it decides which casts autocast applies to its operands.
template <class F>
inline constexpr precision autocast_class = precision::as_is;
template <class F>
  requires requires { F::autocast; }
inline constexpr precision autocast_class<F> = F::autocast;
template <class Op>
inline constexpr precision autocast_class<broadcasting<Op>> = Op::autocast;

/// Whether autocast casts the operands of F inside rules. Not for functions that join operands, nor for products, which cast by themselves.
template <class F>
inline constexpr bool is_cast_in_rules = autocast_class<F> == precision::low || autocast_class<F> == precision::full;

/// Calls F with the casts of its class; see [note: contexts in rules].
template <class F, class... A>
constexpr auto call_in_context(F f, A... a);

}  // namespace detail

/// For operands: inside rules.
template <class F, class... A>
  requires(is_operand<A> || ...) && ((is_operand<A> || number<A>) && ...)
constexpr auto apply_function(F f, A... a) {
  if constexpr (detail::is_cast_in_rules<F>) return detail::call_in_context(f, a...);
  else return F::apply(a...);
}

/// For plain numbers: the op's value.
template <class Op, number... A>
constexpr auto apply_function(detail::broadcasting<Op>, A... a) {
  using common = std::common_type_t<A...>;
  using computed = std::conditional_t<Op::accepts == domain::real && !std::is_floating_point_v<common>, double, common>;
  constexpr bool has_bits = detail::code_of_dtype<Op, common> != 238;
  static_assert(has_bits, "[ebb E0238] bits are those of integers, and for &, |, ^ and ~ of bools: a float is cast first");
  if constexpr (has_bits) return Op::value(static_cast<computed>(a)...);
}

namespace detail {

/// Whether A is a variable: the autograd floor specializes this for its variables and records calls that hold some.
template <class A>
inline constexpr bool is_tracked = false;
/// Whether A is a number or an array with a tangent: dual/dual.hpp specializes this.
template <class A>
inline constexpr bool is_dual = false;

}  // namespace detail

namespace detail {

/// Whether F is made of several ops: elementwise ops have values of numbers, without arrays.
template <class F>
inline constexpr bool is_composite = true;
template <class Op>
inline constexpr bool is_composite<broadcasting<Op>> = false;

}  // namespace detail

/// For numbers alone, functions of several ops: as for arrays without axes, see exec/eager.hpp.
template <class F, number A, number... B>
  requires detail::is_composite<F>
constexpr auto apply_function(F, A a, B... b);

/// Arrays of any type, possibly with numbers among them.
template <class... A>
concept arrays = (borrowable<A> && ...) && !(number<A> && ...) && !(detail::is_tracked<A> || ...);

/// For arrays: traced, compiled and run at once, see exec/eager.hpp. Declared here: argument-dependent lookup does not find it for a
/// std::span.
template <class F, class... A>
  requires arrays<A...>
constexpr auto apply_function(F, const A&... a);

namespace detail {

/// Whether F takes real numbers in double when it is called on arrays or variables: positions and the like, which are no elements. For
/// other functions numbers are weak: they take the dtype of the arrays beside them.
template <class F>
inline constexpr bool keeps_numbers = requires { F::keeps_numbers; };

}  // namespace detail

/// The callable of an op or of a function on operands. Terms have an apply_function of their own, found by argument-dependent lookup.
template <class F>
struct call {
  template <class... A>
  constexpr auto operator()(A&&... a) const {
    return apply_function(typename detail::function_of<F>::type{}, std::forward<A>(a)...);
  }
};

}  // namespace ebb::inline EBB_ABI
