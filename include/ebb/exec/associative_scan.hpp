// ebb/exec/associative_scan.hpp — the running results of an associative function, many rows at a time.
// SPDX-License-Identifier: BSL-1.0
//
//   auto sums = ebb::associative_scan([](auto a, auto b) { return a + b; }, x);          x0, x0 + x1, x0 + x1 + x2, ...
//
// [note: order of an associative scan]
// Few numbers in a row leave lanes of a register unused if one row follows the other. So from 256 rows on, if their number is static and an
// array of a row has fewer than 16 elements, 16 chains run side by side: chain i has rows i n / 16 to (i + 1) n / 16 - 1, with n / 16
// rounded down. Then the last row of each chain is combined with those of the chains before it, in order, and the result with each row of
// the next chain. The rows left over follow in order. Otherwise all rows are combined in order. Neither depends on the machine.
// Affine maps of 256 to 8,192 floats take 0.2 to 1 of the time of a scan, their gradients 0.25 to 0.5 (g++ 12, AVX2).
#pragma once

#include "eager.hpp"

#include "../op/arrange.hpp"
#include "../trace/scan.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 547, 548>
struct refuse_function<Code> {
  static_assert(Code != 547, "[ebb E0547] associative_scan: each array in the argument has rows, and all have the same number of them");
  static_assert(Code != 548, "[ebb E0548] associative_scan: the function takes two rows and returns one with the same form, dtypes and "
                             "extents");
};

/// a, and after its rows those of b, in the form To.
template <class To, int Axis = 0>
constexpr To with_rows_of(const auto& a, const auto& b) {
  return filled<To>([]<class>(const auto& x, const auto& y) { return ebb::concat<Axis>(x, y); }, a, b);
}
template <int First, int Last = to_end, int Axis = 0>
constexpr auto rows_between(const auto& a) {
  return with_each_term([](const auto& x) { return ebb::slice<Axis, First, Last>(x); }, a);
}
template <int Number>
constexpr auto row_at(const auto& a) {
  return with_each_term([](const auto& x) { return ebb::select<0, Number>(x); }, a);
}
/// x with its first axis split into two.
template <std::size_t N, std::size_t M, class T, std::size_t All, std::size_t... E>
constexpr auto first_axis_split(const term<T, All, E...>& x) {
  return ebb::reshape<N, M, E...>(x);
}

/// F as the step of a scan, whose carry is the result so far.
template <class F>
struct combining_step {
  constexpr auto operator()(const auto& so_far, const auto& row) const {
    const auto next = F{}(so_far, row);
    return std::tuple(next, next);
  }
};
/// F on the rows of two arrays.
template <class F>
struct combined_rows {
  constexpr auto operator()(const auto& a, const auto& b) const { return ebb::map(F{}, a, b); }
};
/// F with its operands exchanged: map takes whole arguments last.
template <class F>
struct combined_late {
  constexpr auto operator()(const auto& row, const auto& before) const { return F{}(before, row); }
};
template <class F, class A>
constexpr A combined_in_order(const A& a) {
  const auto [end, rest] = ebb::scan(combining_step<F>{}, row_at<0>(a), rows_between<1>(a));
  return with_rows_of<A>(rows_between<0, 1>(a), rest);
}

template <std::size_t Count>
struct rows_fit {
  template <class Leaf>
  using is = std::bool_constant<first_row::row_of<Leaf>::count == dyn || Count == dyn || first_row::row_of<Leaf>::count == Count>;
};
/// Whether an array has a static number of rows, with fewer than 16 elements in each.
template <class Leaf>
inline constexpr bool are_short_rows = false;
template <class T, std::size_t N, std::size_t... E>
inline constexpr bool are_short_rows<term<T, N, E...>> = N != dyn && ((E != dyn) && ...) && (std::size_t{1} * ... * E) < 16;
template <class Leaf>
using has_short_rows = std::bool_constant<are_short_rows<Leaf>>;

template <class F, bool Reversed>
struct associative_scan {
  static constexpr std::size_t chains = 16;

  template <class A>
  using trace = trace_of<F, typename row<typename argument<A>::traced>::type, typename row<typename argument<A>::traced>::type>;
  /// A call. In a context the function is looked at later.
  template <class A>
  struct call {
    static constexpr int find_code() {
      if constexpr (code_of_function<F> != 0) return code_of_function<F>;
      else if constexpr (holds_refused<A>) return already_reported;
      else if constexpr (is_in_context<A>) return 0;
      else if constexpr (!are_arguments<A>) return 111;
      else {
        using rows = row<typename argument<A>::traced>;
        if constexpr (!rows::exists || !all_leaves<typename argument<A>::traced, rows_fit<rows::count>::template is>) return 547;
        else if constexpr (constexpr int of_function = detail::code_of_trace(std::type_identity<trace<A>>{}); of_function != 0)
          return of_function;
        else return std::is_same_v<typename argument<typename trace<A>::result>::traced, typename rows::type> ? 0 : 548;
      }
    }
    static constexpr int code = find_code();
    static constexpr int show_reason() { return not_constant<trace<A>>::make().size(); }
  };

  template <class A>
  constexpr auto operator()(const A& a) const {
    if constexpr (is_in_context<A>) {
      using C = context_among<A>;
      return into_context<C>(associative_scan<entered<C, F>, Reversed>{}(into_context<off>(a)));
    } else {
      static_cast<void>(refuse_call<call<A>>{});
      if constexpr (call<A>::code != 0) return refused_result{};
      else if constexpr (row<A>::count == 0) return a;
      else if constexpr (Reversed) return backwards(combined(backwards(a)));
      else return combined(a);
    }
  }

 private:
  static constexpr auto backwards(const auto& a) {
    return with_each_term([](const auto& x) { return ebb::flip<0>(x); }, a);
  }
  template <class A>
  static constexpr A combined(const A& a) {
    constexpr std::size_t count = row<A>::count;
    if constexpr (count == dyn || count < 256 || !all_leaves<A, has_short_rows>) return combined_in_order<F>(a);
    else {
      constexpr std::size_t length = count / chains, main = length * chains;
      const auto split = [](const auto& x) {
        return ebb::movedim<1, 0>(first_axis_split<chains, length>(ebb::slice<0, 0, static_cast<int>(main)>(x)));
      };
      const auto chain = combined_in_order<combined_rows<F>>(with_each_term(split, a));
      const auto before = combined_in_order<F>(rows_between<0, -1>(row_at<-1>(chain)));
      const auto after = ebb::map(combined_rows<combined_late<F>>{}, rows_between<1, to_end, 1>(chain), ebb::whole(before));
      const auto all = with_rows_of<std::remove_const_t<decltype(chain)>, 1>(rows_between<0, 1, 1>(chain), after);
      const auto done = with_each_term([](const auto& x) { return ebb::flatten<0, 1>(ebb::movedim<1, 0>(x)); }, all);
      if constexpr (main == count) return done;
      else {
        const auto [end, rest] = ebb::scan(combining_step<F>{}, row_at<-1>(done), rows_between<static_cast<int>(main)>(a));
        return with_rows_of<A>(done, rest);
      }
    }
  }
};

template <class Function>
struct associative_scan_spec : compile_spec<Function> {
  static constexpr const char* name = "ebb::associative_scan";
};

}  // namespace detail

/// f(...f(f(x0, x1), x2)..., xk) for each row k of x, where f is associative: f(f(a, b), c) is f(a, f(b, c)). f takes two rows, which are
/// arrays, numbers, tuples or structs, and returns one; it must not capture. associative_scan<ebb::reversed> begins with the last row.
///   auto [a, b] = ebb::associative_scan([](auto p, auto q) {              the recurrence h = a h + b, as affine maps one after the other
///     return std::tuple(std::get<0>(p) * std::get<0>(q), std::get<0>(q) * std::get<1>(p) + std::get<1>(q));
///   }, std::tuple(factors, terms));
/// A function that is not associative is not refused: its result depends on the order, see [note: order of an associative scan]. scan is
/// for steps in order.
/// Shape, Dtype: x's.   Saves: as scan and map.   Error: that of f, in the order of the note.
/// Throws: if a call has no rows and their number is not static.   Source: jax.lax.associative_scan.
template <auto... Option, class F, class X>
constexpr auto associative_scan(F, const X& x) {
  constexpr bool reverses = (std::is_same_v<std::remove_const_t<decltype(Option)>, reversed_tag> || ...);
  static_assert(sizeof...(Option) == (reverses ? 1 : 0), "[ebb E0549] associative_scan: the only option is ebb::reversed");
  using function = detail::associative_scan<F, reverses>;
  using call = typename function::template call<X>;
  static_cast<void>(detail::refuse_call<call>{});
  if constexpr (call::code != 0) return refused_result{};
  else if constexpr (detail::are_traced<X>) return function{}(x);
  else return program_function<detail::associative_scan_spec<function>>{}(x);
}

}  // namespace ebb::inline EBB_ABI
