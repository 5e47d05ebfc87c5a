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

/// The sentences on functions, by code. A class, not a function: g++ instantiates it in place, which keeps the user's line near.
template <int Code>
struct refuse_function {
  static_assert(Code != 290, "[ebb E0290] map: the arguments have different numbers of rows");
  static_assert(Code != 104, "[ebb E0104] a traced lambda must not capture: pass the value as an argument");
  static_assert(Code != 306, "[ebb E0306] a traced lambda begins with []: also a [=] or [&] that captures nothing is refused");
  static_assert(Code != 106, "[ebb E0106] the function uses an op without a pull: write one beside its value, or use ebb::stop_gradient");
  static_assert(Code != 108, "[ebb E0108] an integer has no gradient: differentiate by arguments of floating-point type");
  static_assert(Code != 109, "[ebb E0109] only a scalar has a gradient: end the function with ebb::sum, or use ebb::jacobian");
  static_assert(Code != 111, "[ebb E0111] an argument is not an array, a number, a tuple, or a struct over arrays: a struct is a "
                             "template over Array, and BOOST_HANA_DEFINE_STRUCT names its members, see examples/parameters");
  static_assert(Code != 117, "[ebb E0117] there is no argument of that number to differentiate by");
  static_assert(Code != 124, "[ebb E0124] map: there must be an argument that is not whole(...), and none may be a scalar");
  static_assert(Code != 570, "[ebb E0570] map: ebb::in has an axis for each argument, one that all arrays in it have; ebb::unmapped stands "
                             "for whole(...)");
  static_assert(Code != 571, "[ebb E0571] map: ebb::out has an axis that all arrays of the result have, or one for each part of a tuple");
  static_assert(Code != 125, "[ebb E0125] map: an op in the function cannot take a leading axis, or an array has too many axes");
  static_assert(Code != 126, "[ebb E0126] a traced function calls what is not constexpr, or reads a variable, or is too large for the "
                             "compiler's limit (add -fconstexpr-ops-limit=2147483647 for g++, -fconstexpr-steps=2147483647 for clang): "
                             "the next error names it");
  static_assert(Code != 309, "[ebb E0309] this program is too large for clang's limit of constants: add -fconstexpr-steps=2147483647 "
                             "-fbracket-depth=4096 to its flags");
  static_assert(Code != 127, "[ebb E0127] the function cannot be called so: it takes another number of arguments, not all are auto, or it "
                             "has the error above");
  static_assert(Code != 128, "[ebb E0128] the parameters of a traced function are auto: it is called with terms, not with arrays");
  static_assert(Code != 129, "[ebb E0129] a traced function returns arrays, numbers, or tuples and structs of them: no void, no pair");
  static_assert(Code != 130, "[ebb E0130] an argument holds no element type: indices are int or std::int64_t, not size_t or unsigned");
  static_assert(Code != 143, "[ebb E0143] give the arguments, then as many directions of the same types");
  static_assert(Code != 147, "[ebb E0147] the function's results are integers or bools: they have no derivatives");
  static_assert(Code != 250, "[ebb E0250] with ebb::has_aux the function returns std::tuple(loss, aux...), and the loss is a scalar");
  static_assert(Code != 251, "[ebb E0251] the function returns a tuple: if only its first part is differentiated, add ebb::has_aux");
  static_assert(Code != 252, "[ebb E0252] give the arguments, then one direction for each that is named, of the same type");
  static_assert(Code != 253, "[ebb E0253] an Eigen expression holds no elements: evaluate it first, (a + b).eval()");
  static_assert(Code != 254, "[ebb E0254] a std::vector has its length at run time: declare those that are compiled, "
                             "ebb::lengths<2, 3>(layers), or use std::array");
  static_assert(Code != 256, "[ebb E0256] a struct with a std::vector in it has its length at run time: declare those that are compiled, "
                             "ebb::lengths<2, 3>(model), or use std::array; vectors in vectors have none");
  static_assert(Code != 235, "[ebb E0235] a plain function is of its own types, and is called with terms: pass a lambda with auto "
                             "parameters or a struct with a templated operator()");
  static_assert(Code != 320, "[ebb E0320] scan: there must be an argument that is not whole(...), and none may be a scalar");
  static_assert(Code != 321, "[ebb E0321] scan: the function returns std::tuple(carry, y); std::tuple<>() is an empty y");
  static_assert(Code != 322, "[ebb E0322] scan, fori: a step returns the carry in another form, dtype or shape than it receives: the next "
                             "step could not take it");
  static_assert(Code != 323, "[ebb E0323] scan: the arguments have different numbers of rows");
  static_assert(Code != 325, "[ebb E0325] scan, fori: an array has eight axes, and one is needed for the steps");
  static_assert(Code != 327, "[ebb E0327] fori: the arguments after the carry are whole(...): use scan to pass a row to each step");
  static_assert(Code != 328, "[ebb E0328] fori is called in a traced function: ebb::compile([](auto x) { return ebb::fori(n, f, x); })(x)");
  static_assert(Code != 331, "[ebb E0331] scan: variables are passed to a region that has the scan in it: "
                             "ebb::compile([](auto h, auto x) { return ebb::scan(f, h, x); })(h, x)");
  static_assert(Code != 332, "[ebb E0332] fori: the number of steps changes from step to step of another loop: pass it in whole(...)");
  static_assert(Code != 333, "[ebb E0333] map: the number of steps of a fori is not the same for all rows: pass it in whole(...)");
  static_assert(Code != 334, "[ebb E0334] fori: the number of steps is an integer without axes: int or std::int64_t");
  static_assert(Code != 336, "[ebb E0336] custom_vjp: the first function returns std::tuple(y, saved); std::tuple<>() saves nothing");
  static_assert(Code != 337, "[ebb E0337] custom_vjp: the pull returns a std::tuple with a gradient for each argument, in its form and "
                             "shape; ebb::nothing stands for none");
  static_assert(Code != 338, "[ebb E0338] custom_jvp: the push takes the arguments and then as many directions, and returns the "
                             "direction of the result, in its form and shape");
  static_assert(Code != 339, "[ebb E0339] custom_vjp, custom_jvp: they are called in a traced function: "
                             "ebb::compile([](auto x) { return ebb::custom_vjp(f, pull, x); })(x)");
  static_assert(Code != 345, "[ebb E0345] custom_jvp: the push is not linear in the directions: it has no transpose");
  static_assert(Code != 346, "[ebb E0346] cond: the condition is a bool without axes: ebb::any(c), ebb::all(c), or ebb::where for "
                             "elements");
  static_assert(Code != 348, "[ebb E0348] cond, switch_: the functions return different forms, dtypes or shapes");
  static_assert(Code != 349, "[ebb E0349] cond, switch_: a result has eight axes, and one is needed for the step");
  static_assert(Code != 508, "[ebb E0508] switch_: the index is an integer without axes, int or std::int64_t");
  static_assert(Code != 509, "[ebb E0509] switch_<n>: give the index, then n functions, at least one, then their arguments");
  static_assert(Code != 510, "[ebb E0510] cond, switch_: they are called in a traced function: elsewhere C++ branches, "
                             "if (p) y = f(x); else y = g(x);");
  static_assert(Code != 530, "[ebb E0530] once: an argument or a result has eight axes, and one is needed for the step");
  static_assert(Code != 347, "[ebb E0347] jvp, jacfwd: a pull of custom_vjp is not linear in the gradient that it receives: it gives "
                             "gradients only (grad, vjp, jacrev)");
  static_assert(Code != 436, "[ebb E0436] while_loop: a step returns the carry in another form, dtype or shape than it receives: the next "
                             "step could not take it");
  static_assert(Code != 437, "[ebb E0437] while_loop: the condition returns a bool without axes: ebb::any(c) or ebb::all(c), not an array, "
                             "a number or a tuple");
  static_assert(Code != 438, "[ebb E0438] a while_loop without a bound has no gradient: write ebb::while_loop<ebb::at_most<n>>(...), or "
                             "use jvp or jacfwd");
  static_assert(Code != 439, "[ebb E0439] while_loop: variables are passed to a region that has the loop in it, and a bound that is no "
                             "constant needs a traced function: ebb::compile([](auto x) { return ebb::while_loop(c, f, x); })(x)");
  static_assert(Code != 440, "[ebb E0440] while_loop: the arguments after the carry are whole(...), and options are one ebb::at_most<n> "
                             "and, with it, one of those of scan");
  static_assert(Code != 441, "[ebb E0441] a while_loop without a bound has one derivative along a direction and no second one: write "
                             "ebb::while_loop<ebb::at_most<n>>(...)");
  static_assert(Code != 442, "[ebb E0442] functions of <ebb/solvers.hpp>: they are called in a traced function: "
                             "ebb::compile([](auto x0, auto w) { return ebb::fixed_point(f, x0, w); })(x0, w)");
  static_assert(Code != 443, "[ebb E0443] functions of <ebb/solvers.hpp>: the solution is one array of floats, with one axis or none; "
                             "where there is an option ebb::by_cg<n>, it may have more axes with it");
  static_assert(Code != 447, "[ebb E0447] sparse_jacobian, sparse_hessian: pattern: the argument that the derivative is by is not "
                             "ebb::fixed: its elements differ from call to call");
  static_assert(Code != 502, "[ebb E0502] conjugate_gradient, bicgstab, gmres: matvec(v, w...) returns an array with the form and "
                             "dtype of v");
  static_assert(Code != 503, "[ebb E0503] bisection, brent: f(x, w...), the ends of the interval and x are floats of one dtype without "
                             "axes; ebb::map solves one equation for each row");
  static_assert(Code != 504, "[ebb E0504] sparse_jacobian, sparse_hessian: the argument and the result are an array of floats each, with "
                             "one axis or more, or a tuple or struct of arrays and numbers of one dtype");
  static_assert(Code != 505, "[ebb E0505] sparse_jacobian, sparse_hessian: they are called on arrays, outside of traced functions: the "
                             "pattern is found when the program runs");
  static_assert(Code != 506, "[ebb E0506] dopri5: f(t, y, w...) returns an array with the form and dtype of y, and t has that dtype");
  static_assert(Code != 507, "[ebb E0507] dopri5: options are one ebb::tolerance<n>, one ebb::at_most<n>, and one of "
                             "those of scan");
  static_assert(Code != 562, "[ebb E0562] conjugate_gradient, bicgstab, gmres: options are one ebb::at_most<n>, and for gmres one "
                             "ebb::restart<n>");
  static_assert(Code != 563, "[ebb E0563] quadrature: the rule is a number of nodes up to 256, or ebb::tanh_sinh<n> with an odd n; limits "
                             "are scalars; f(x, w...) returns an array of floats, and the limits and w have a float among them");
  static_assert(Code != 564, "[ebb E0564] constrained_minimizer: x has one axis, and the constraint returns floats of its dtype with one "
                             "axis or none, and no more of them than x has");
  static_assert(Code != 565, "[ebb E0565] integrate: f(x, w...) is a double, and options are one ebb::tolerance<n>, n at most 12, and one "
                             "ebb::at_most<n>");
  static_assert(Code != 561, "[ebb E0561] levenberg_marquardt: x0 and errors(x, w...) are arrays of floats with one axis; an option is "
                             "one of ebb::robust, or a lambda that returns the loss of each square, in its form and dtype");
  static_assert(Code != 516, "[ebb E0516] sparse_jacobian, sparse_hessian: a call without a pattern has static extents, no integers, no "
                             "loop, at most 4,096 elements in 256 rows and columns, and a compiler whose limit for constants suffices: "
                             "else pass jacobian.pattern(x)");
  static_assert(Code != 179, "[ebb E0179] the derivatives have more than eight axes, or an op in the function cannot take a leading axis");
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

/// Whether the compiler itself reports the error: the trace is not a constant.
constexpr bool is_named_next(int code) { return code == 126 || code == 230; }

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
