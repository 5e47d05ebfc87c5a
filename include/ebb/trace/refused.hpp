// ebb/trace/refused.hpp — error texts of ill-formed calls, and the placeholder that they return.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether the compiler itself reports the error: the trace is not a constant.
constexpr bool is_named_next(int code) { return code == 126 || code == 230; }

template <int Code, int... One>
inline constexpr bool is_one_of = ((Code == One) || ...);

/// The sentence on a function that is refused with this code. Each header has the sentences on what it refuses, in a specialization for its
/// codes. Classes, not functions: g++ instantiates them in place, which keeps the user's line near.
template <int Code>
struct refuse_function {
  static_assert(Code <= 0 || Code == 230,  // 230: the compiler's next error has the sentence
                "a header of ebb refuses a function with a code, and the header with its sentence is not included");
};
template <int Code>
  requires is_one_of<Code, 104, 306, 111, 235, 347, 554>
struct refuse_function<Code> {
  static_assert(Code != 104, "[ebb E0104] a traced lambda must not capture: pass the value as an argument");
  static_assert(Code != 306, "[ebb E0306] a traced lambda begins with []: also a [=] or [&] that captures nothing is refused");
  static_assert(Code != 111, "[ebb E0111] an argument is not an array, a number, a tuple, or a struct over arrays: a struct is a "
                             "template over Array, and BOOST_HANA_DEFINE_STRUCT names its members, see examples/parameters");
  static_assert(Code != 235, "[ebb E0235] a plain function is of its own types, and is called with terms: pass a lambda with auto "
                             "parameters or a struct with a templated operator()");
  static_assert(Code != 347, "[ebb E0347] jvp, jacfwd: a pull of custom_vjp is not linear in the gradient that it receives: it gives "
                             "gradients only (grad, vjp, jacrev)");
  static_assert(Code != 554, "[ebb E0554] the function that is passed on has a subscript outside of its axis");
};
/// The code of a function that is passed on to a solver, where nothing evaluates its trace again for the reason of 230.
constexpr int code_without_reason(int code) { return code == 230 ? 554 : code; }

/// Refuses a call with its code: reports the sentence, and for a trace that is not a constant the reason too. Call::show_reason() evaluates
/// that trace as a constant, so that the compiler says why it is none.
template <class Call, int Code = Call::code>
struct refuse_call : refuse_function<Code> {};
template <class Call, int Code>
  requires(is_named_next(Code))
struct refuse_call<Call, Code> : refuse_function<Code> {
  using reason = std::integral_constant<int, Call::show_reason()>;  // not a static_assert: for g++ that would be two errors
};

/// The code of a call that cannot be made because of an error in its arguments or its function that is reported already.
inline constexpr int already_reported = -1;

/// Whether F can be made from its type alone. A lambda with [=] or [&] cannot, even if it captures nothing.
template <class F>
inline constexpr bool is_made_from_type = std::is_empty_v<F> && std::is_default_constructible_v<F>;

/// The error code of an F that cannot be traced: it captures or could capture something, or is a pointer to a function.
template <class F>
inline constexpr int code_of_function = std::is_member_pointer_v<F> || std::is_function_v<std::remove_pointer_t<F>> ? 235
                                        : !std::is_empty_v<F>                                                       ? 104
                                        : !is_made_from_type<F>                                                     ? 306
                                                                                                                    : 0;

/// The error that F reports in a call on A... before the call is made. Functions of the library report here, so that the outermost call,
/// near the user's line, has the error: F::call_on<A...> has its code, and the trace of the user's function.
template <class F, class... A>
struct known_call {
  static constexpr int code = 0;
};
template <class F, class... A>
  requires requires { typename F::template call_on<A...>; }
struct known_call<F, A...> : F::template call_on<A...> {};

}  // namespace detail

/// The result of a refused call. It can be called, printed, assigned to anything and passed to every function of the library, so that one
/// mistake gives one error.
struct refused_result {
  constexpr refused_result operator()(const auto&...) const { return {}; }
  constexpr refused_result operator[](const auto&) const { return {}; }
  template <class T>
  constexpr operator T() const {
    if constexpr (std::is_default_constructible_v<T>) return T{};
    else std::abort();  // never run: the program does not compile
  }
  friend auto& operator<<(auto& stream, refused_result) { return stream; }
};

namespace detail {

/// Whether one of A... is the result of a refused call.
template <class... A>
inline constexpr bool has_refused = (std::is_same_v<A, refused_result> || ...);

}  // namespace detail

template <class F, class... A>
  requires detail::has_refused<A...>
constexpr refused_result apply_function(F, const A&...) { return {}; }

}  // namespace ebb::inline EBB_ABI
