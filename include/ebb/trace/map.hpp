// ebb/trace/map.hpp — a function of one row, applied to all rows at once.
// SPDX-License-Identifier: BSL-1.0
//
//   map([](auto x, auto w) { return matmul(w, x); }, rows, whole(w))
// The function is traced once, on the types of single rows, and its equations get a leading axis (see [note: batching]). So a row has the
// bits that it would have alone, and what is the same for all rows is computed once. It is differentiated like anything else.
#pragma once

#include "trace.hpp"

#include "../graph/batch.hpp"

#include <initializer_list>
#include <tuple>

namespace ebb::inline EBB_ABI {

/// An argument of map that each row gets as a whole.
template <class A>
struct whole_argument {
  const A& value;
};
template <class A>
constexpr whole_argument<A> whole(const A& a) {
  return {a};
}

namespace functions {

/// F on the rows of its arguments; Whole: which of them are not taken apart.
template <class F, bool... Whole>
struct map {};

}  // namespace functions

namespace detail {

template <class A>
inline constexpr bool is_whole = false;
template <class A>
inline constexpr bool is_whole<whole_argument<A>> = true;

constexpr const auto& unwrapped(const auto& a) { return a; }
template <class A>
constexpr const A& unwrapped(const whole_argument<A>& a) { return a.value; }

/// One row of a term, and a term of which R is one row.
template <class A, bool Whole>
struct row {
  using type = A;
  static constexpr bool exists = true;
  static constexpr std::size_t count = dyn;
};
template <class T, std::size_t N, std::size_t... E>
struct row<term<T, N, E...>, false> {
  using type = term<T, E...>;
  static constexpr bool exists = true;
  static constexpr std::size_t count = N;
};
template <class T>
struct row<term<T>, false> {
  using type = term<T>;
  static constexpr bool exists = false;
  static constexpr std::size_t count = dyn;
};

template <class R, std::size_t N>
struct rows {
  using type = term<R, N>;  // of a number
};
template <class T, std::size_t... E, std::size_t N>
struct rows<term<T, E...>, N> {
  using type = term<T, N, E...>;
};
template <class... R, std::size_t N>
struct rows<std::tuple<R...>, N> {
  using type = std::tuple<typename rows<R, N>::type...>;
};

template <class F, class Flags, class... A>
struct mapped;
template <class F, bool... Whole, class... A>
struct mapped<F, std::integer_sequence<bool, Whole...>, A...> {
  static constexpr bool has_rows = !(Whole && ...) && (row<A, Whole>::exists && ...);

  static constexpr std::size_t count_rows() {
    std::size_t n = dyn;
    for (const std::size_t count : std::initializer_list<std::size_t>{row<A, Whole>::count...})
      if (count != dyn) n = count;
    return n;
  }
  using trace = trace_of<F, typename row<A, Whole>::type...>;
  using body = frozen<trace>;
  template <class Trace = trace>  // named only where the function can be called
  using result = typename rows<typename Trace::result, count_rows()>::type;

  static constexpr vec<int> splice_into(graph& g, const vec<int>& arguments) {
    const vec<char> batched{static_cast<char>(!Whole)...};
    int extent = -1;
    for (int i = 0; i < arguments.size(); ++i)
      if (batched[i]) extent = g.shape_of(arguments[i]).e[0];
    return splice_batched(g, body::g.thaw(), arguments, batched, extent);
  }
  static constexpr int find_code() {
    if constexpr (!has_rows) return 124;
    else if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace>{}); of_function != 0) return of_function;
    else if constexpr (is_refused<body>) return -1;
    else {
      graph g;
      int number = 0;
      const vec<int> out = splice_into(g, vec<int>{add_argument<A>(g, number++).id...});
      for (int o : out)
        if (o < 0) return o == -102 ? 102 : 125;
      return 0;
    }
  }
  static constexpr int code = find_code();
};

}  // namespace detail

/// On terms; on arrays it is traced like all functions.
template <class F, bool... Whole, class... A>
  requires(is_term<A> && ...)
constexpr auto apply_function(functions::map<F, Whole...>, const A&... a) {
  using mapped = detail::mapped<F, std::integer_sequence<bool, Whole...>, A...>;
  static_assert(mapped::code != 102, "[ebb E0102] map: the arguments have different numbers of rows");
  static_assert(mapped::code != 124, "[ebb E0124] map: there must be an argument that is not whole(...), and none may be a scalar");
  static_assert(mapped::code != 125, "[ebb E0125] map: an op in the function cannot take a leading axis, or an array has too many axes");
  static_cast<void>(detail::refuse_function<mapped::code>{});
  if constexpr (mapped::code == 126) detail::name_what_is_not_constant<typename mapped::trace>();
  if constexpr (mapped::code != 0) return refused_result{};
  else {
    graph* g = detail::graph_of(a...);
    g->syms.asking = "map";
    const vec<int> out = mapped::splice_into(*g, vec<int>{a.id...});
    int number = 0;
    return argument<typename mapped::template result<>>::trace([&]<class Term>() { return Term{g, out[number++]}; });
  }
}

/// f for each row along the first axis of the arguments; those in whole(...) are the same for all rows. f must not capture.
/// Shape: f's result with the leading axis in front.   Error: each row has the bits that f gives for it alone.
template <class F, class... A>
constexpr auto map(F, const A&... a) {
  static_cast<void>(detail::refuse_function<std::is_empty_v<F> ? 0 : 104>{});
  return apply_function(functions::map<F, detail::is_whole<A>...>{}, detail::unwrapped(a)...);
}

}  // namespace ebb::inline EBB_ABI
