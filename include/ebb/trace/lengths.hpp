// ebb/trace/lengths.hpp — std::vector of arrays, tuples or structs: its length is part of the call.
// SPDX-License-Identifier: BSL-1.0
//
// [note: lengths of vectors]
// A function is traced while the program is compiled: a loop over layers is unrolled, and the program has a fixed number of arrays. The
// length of a std::vector is known at run time only. So the caller declares the lengths that programs are compiled for, and each call runs
// the program of its length:
//
//   std::vector<layer<ebb::tensor>> layers = ...;
//   auto [value, d] = ebb::value_and_grad(loss)(ebb::lengths<2, 3, 4>(layers), x, t);    // d is a std::vector, too
//
// The function receives a std::array of terms. ebb::lengths<2, 3, 4>(model) does the same for the vectors in a struct: they have one
// length in a call, the function receives the struct with std::vectors of terms, and the gradient is the struct again.
// Each length costs the compile time of one program; other lengths throw. Vectors with the same list have one length in a call; vectors
// with different lists are independent. Use a std::array if the length is known. On the tape, code that is not traced may loop over a
// std::vector of variables.
// Vectors of different lengths in one struct throw: each combination would be a program of its own, and the lists do not say which ones
// the user needs. Pass such vectors as separate arguments, each with its list, or make one of them a std::array.
#pragma once

#include "refused.hpp"
#include "sized.hpp"

#include "../base/error.hpp"

#include <string>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 254, 256>
struct refuse_function<Code> {
  static_assert(Code != 254, "[ebb E0254] a std::vector has its length at run time: declare those that are compiled, "
                             "ebb::lengths<2, 3>(layers), or use std::array");
  static_assert(Code != 256, "[ebb E0256] a struct with a std::vector in it has its length at run time: declare those that are compiled, "
                             "ebb::lengths<2, 3>(model), or use std::array; vectors in vectors have none");
};

/// A std::vector that has one of the lengths L... in a call.
template <class V, int... L>
struct of_lengths {
  V* vector;
};

/// Whether a call of A needs a length.
template <class A>
inline constexpr bool has_lengths = false;
template <class V, int... L>
inline constexpr bool has_lengths<of_lengths<V, L...>> = true;

/// A std::vector of arrays, and one in a struct: refused without a length, 254 and 256.
template <class A>
inline constexpr bool is_vector_of_arguments = false;
template <class A, class Allocator>
inline constexpr bool is_vector_of_arguments<std::vector<A, Allocator>> = !element<A>;
template <class A>
using is_a_vector = std::bool_constant<is_vector_of_arguments<A>>;
template <class A>
inline constexpr bool has_vector_member = false;
template <class A>
  requires(boost::hana::Struct<A>::value)
inline constexpr bool has_vector_member<A> = any_is<is_a_vector>(typename form<A>::parts{});
template <class... A>
constexpr int code_of_vectors() {
  if constexpr ((traced_argument<A> && ...)) return 0;
  else return (is_vector_of_arguments<A> || ...) ? 254 : (has_vector_member<A> || ...) ? 256 : 0;
}

[[noreturn]] EBB_COLD void raise_length(const char* call, std::size_t n, std::initializer_list<int> declared) {
  std::string text = std::string(call) + ": a vector of " + std::to_string(n) + ", but it is compiled for vectors of";
  int number = 0;
  for (const int l : declared) text += (number++ ? ", " : " ") + std::to_string(l);
  raise(std::move(text));
}
[[noreturn]] EBB_COLD void raise_lengths(const char* call, std::size_t n, std::size_t other) {
  raise(std::string(call) + ": vectors with the same list of lengths have one length in a call, but there is one of " + std::to_string(n) +
        " and one of " + std::to_string(other));
}

/// Results of any length as one type.
template <class R>
constexpr R as_vectors(R r) {
  return r;
}
template <class T, int L>
std::vector<T> as_vectors(vector_of<T, L> r) {
  return std::move(r.elements());
}
template <class S, int L>
S as_vectors(sized<S, L> r) {
  return static_cast<S&&>(r);
}
template <class... R>
constexpr auto as_vectors(std::tuple<R...> r) {
  return std::apply([](auto&... x) { return std::tuple(as_vectors(std::move(x))...); }, r);
}

template <class A, class Lengths>
inline constexpr bool has_list = false;
template <class V, int... L>
inline constexpr bool has_list<of_lengths<V, L...>, std::integer_sequence<int, L...>> = true;

template <class Lengths>
struct call_by_length;
template <int... L>
struct call_by_length<std::integer_sequence<int, L...>> {
  /// The length of all vectors with this list.
  template <class... A>
  static std::size_t find(const char* call, const A&... a) {
    std::size_t n = 0;
    bool first = true;
    const auto look = [&]<class B>(const B& b) {
      if constexpr (has_this_list<B>) {
        each_length(*b.vector, [&](std::size_t length) {
          if (!first && length != n) raise_lengths(call, n, length);
          n = length;
          first = false;
        });
      }
    };
    (look(a), ...);
    if (((n != static_cast<std::size_t>(L)) && ...)) raise_length(call, n, {L...});
    return n;
  }
  template <int Length, class A>
  static constexpr decltype(auto) at(A& a) {
    if constexpr (has_this_list<std::remove_const_t<A>>) return with<Length>(a);
    else return (a);
  }
  /// f(integral_constant<int, length>), for the length that is found.
  template <int First, int... More>
  static auto select(std::size_t n, auto&& f) {
    if constexpr (sizeof...(More) > 0)
      if (n != static_cast<std::size_t>(First)) return select<More...>(n, f);
    return f(std::integral_constant<int, First>{});
  }

 private:
  template <class A>
  static constexpr bool has_this_list = has_list<A, std::integer_sequence<int, L...>>;
  template <int Length, class V>
  static constexpr of_length<V, Length> with(const of_lengths<V, L...>& a) {
    return {a.vector};
  }
};

/// The first list among arguments.
template <class... A>
struct first_lengths;
template <class A, class... B>
struct first_lengths<A, B...> : first_lengths<B...> {};
template <class V, int... L, class... B>
struct first_lengths<of_lengths<V, L...>, B...> {
  using type = std::integer_sequence<int, L...>;
};

template <class... A>
using lengths_in = typename first_lengths<std::remove_const_t<A>...>::type;

/// f(a...) for the lengths of the vectors among a; f handles the other lists.
template <class F, class... A>
auto call_at_length(const char* call, const F& f, const A&... a) {
  using lengths = lengths_in<A...>;
  using by = call_by_length<lengths>;
  const auto at = [&]<int Length>(std::integral_constant<int, Length>) { return as_vectors(f(by::template at<Length>(a)...)); };
  return [&]<int First, int... More>(std::integer_sequence<int, First, More...>) {
    using result = decltype(at(std::integral_constant<int, First>{}));
    constexpr bool one_type = (std::is_same_v<result, decltype(at(std::integral_constant<int, More>{}))> && ...);
    static_assert(one_type, "[ebb E0255] the type of the result depends on the length of a vector: call it for one length at a time");
    if constexpr (one_type) return by::template select<First, More...>(by::find(call, a...), at);
    else return at(std::integral_constant<int, First>{});
  }(lengths{});
}
/// Destinations that are named here.
template <template <class...> class Destinations, class... To>
constexpr Destinations<std::remove_reference_t<To>...> rebound(To&&... to) {
  return {{to...}};
}
/// The same with results written to d. No lambdas and no std::apply: each would be a line of every diagnostic.
template <class By, int First, int... More, std::size_t... I, class F, template <class...> class Destinations, class... D, class... A>
void write_at_length_of(std::size_t n, std::index_sequence<I...> order, const F& f, const Destinations<D...>& d, const A&... a) {
  if constexpr (sizeof...(More) > 0)
    if (n != static_cast<std::size_t>(First)) return write_at_length_of<By, More...>(n, order, f, d, a...);
  f(rebound<Destinations>(By::template at<First>(std::get<I>(d.of))...), By::template at<First>(a)...);
}
template <int... L, class F, template <class...> class Destinations, class... D, class... A>
void write_at_length(std::integer_sequence<int, L...>, const char* call, const F& f, const Destinations<D...>& d, const A&... a) {
  using by = call_by_length<std::integer_sequence<int, L...>>;
  const std::size_t n = std::apply([&](const auto&... x) { return by::find(call, x..., a...); }, d.of);
  write_at_length_of<by, L...>(n, std::index_sequence_for<D...>{}, f, d, a...);
}

}  // namespace detail

/// A vector as an argument, or a destination, of programs that are compiled for the lengths L...; see [note: lengths of vectors].
/// Throws: error, by the call, if it has another length.
template <int... L, class A, class Allocator>
  requires(!element<A>)
constexpr auto lengths(const std::vector<A, Allocator>& v) {
  static_assert(sizeof...(L) > 0 && ((L >= 0) && ...), "[ebb E0257] ebb::lengths<2, 3>(v) names the lengths that a vector may have");
  return detail::of_lengths<const std::vector<A, Allocator>, L...>{&v};
}
template <int... L, class A, class Allocator>
  requires(!element<A>)
constexpr auto lengths(std::vector<A, Allocator>& v) {
  static_assert(sizeof...(L) > 0 && ((L >= 0) && ...), "[ebb E0257] ebb::lengths<2, 3>(v) names the lengths that a vector may have");
  return detail::of_lengths<std::vector<A, Allocator>, L...>{&v};
}
template <int... L, class A, class Allocator>
void lengths(const std::vector<A, Allocator>&&) = delete;  // the vector must outlive the call
/// A struct with vectors, which all have one length in a call. S may be const.
template <int... L, class S>
  requires(boost::hana::Struct<std::remove_const_t<S>>::value)
constexpr auto lengths(S& s) {
  static_assert(sizeof...(L) > 0 && ((L >= 0) && ...), "[ebb E0257] ebb::lengths<2, 3>(v) names the lengths that a vector may have");
  constexpr bool has_vectors = detail::is_struct_with_vectors<std::remove_const_t<S>>;
  static_assert(has_vectors, "[ebb E0269] ebb::lengths of a struct that has no std::vector in it");
  return detail::of_lengths<S, L...>{&s};
}
template <int... L, class S>
  requires(boost::hana::Struct<S>::value)
void lengths(const S&&) = delete;

}  // namespace ebb::inline EBB_ABI
