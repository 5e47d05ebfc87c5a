// ebb/sparse/jacobian.hpp — sparse_jacobian and sparse_hessian: elements that may differ from zero, by few derivatives.
// SPDX-License-Identifier: BSL-1.0
//
//   constexpr auto jacobian = ebb::sparse_jacobian(f);
//   const ebb::sparse_pattern p = jacobian.pattern(x, w);            once for these extents
//   ebb::tensor<double, ebb::dyn> values = jacobian(p, x, w);        the elements, in the order of p
//   jacobian(ebb::into(values), p, x, w);                            the same, into given memory
//   jacobian.pattern(x, ebb::fixed(w))                               a smaller pattern, for calls with the same w
//   jacobian(x), jacobian(ebb::into(values), x)                      static extents: the pattern is a constant
//
// [note: one direction at a time]
// Each color runs one program, the derivative along one direction; up to 16 results are then read in one pass over the pattern. A program
// for several directions, the `map` of that one, was measured and is not taken: 12 directions of bench/gradbench's ht took 9 to 18 times as
// long (12 products of a matrix with 12 columns become batches of small ones), 3 of a banded Jacobian as long for 10,000 columns and 2.3
// times as long for a million, since the values that all directions share are written to memory and read again.
// With a sparse_pattern, colors were found when the program ran: extents, integers and fixed arguments decide it.
#pragma once

#include "block_rows.hpp"
#include "columns.hpp"

#include "../exec/direction.hpp"
#include "../trace/functions.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace ebb::inline EBB_ABI {

namespace detail {

template <int Code>
  requires is_one_of<Code, 447, 504, 505, 516>
struct refuse_function<Code> {
  static_assert(Code != 447, "[ebb E0447] sparse_jacobian, sparse_hessian: pattern: the argument that the derivative is by is not "
                             "ebb::fixed: its elements differ from call to call");
  static_assert(Code != 504, "[ebb E0504] sparse_jacobian, sparse_hessian: the argument and the result are an array of floats each, with "
                             "one axis or more, or a tuple or struct of arrays and numbers of one dtype");
  static_assert(Code != 505, "[ebb E0505] sparse_jacobian, sparse_hessian: they are called on arrays, outside of traced functions: the "
                             "pattern is found when the program runs");
  static_assert(Code != 516, "[ebb E0516] sparse_jacobian, sparse_hessian: a call without a pattern has static extents, no integers, no "
                             "loop, at most 4,096 elements in 256 rows and columns, and a compiler whose limit for constants suffices: "
                             "else pass jacobian.pattern(x)");
};

}  // namespace detail

/// An argument of `pattern` whose elements are those of all calls with the pattern.
template <class A>
struct fixed_argument {
  const A& value;
};
/// In jacobian.pattern(x, ebb::fixed(w)): each call with the pattern has the same w. Then the zeros of w, and of all that is computed from
/// w and integers alone, leave places out: a product with a zero depends on nothing.
template <class A>
constexpr fixed_argument<A> fixed(const A& a) {
  return {a};
}

namespace detail {

template <class F, int I>
struct along_direction {
  constexpr auto operator()(const auto&... a) const { return std::get<1>(ebb::jvp<I>(F{})(a...)); }
};
/// The sum over a form without leaves, such as an empty tuple.
struct no_sum {
  friend constexpr no_sum operator+(no_sum, no_sum) { return {}; }
  template <class Term>
  friend constexpr Term operator+(no_sum, const Term& y) { return y; }
  template <class Term>
  friend constexpr Term operator+(const Term& y, no_sum) { return y; }
};
/// The sum of all elements of y, each times that of u.
template <class Y, class U>
constexpr auto weighted_sum(const Y& y, const U& u) {
  if constexpr (is_term<Y>) {
    if constexpr (Y::rank == 0) return y * u;
    else return ebb::sum(y * u);
  } else
    return [&]<std::size_t... Part>(std::index_sequence<Part...>) {
      return (no_sum{} + ... + weighted_sum(form_of<Y>::template get<Part>(y), form_of<U>::template get<Part>(u)));
    }(std::make_index_sequence<std::size_t{form_of<Y>::count}>{});
}
template <class F>
struct weighted_result {
  constexpr auto operator()(const auto& u, const auto&... a) const { return weighted_sum(F{}(a...), u); }
};
template <class F, int I>
struct against_direction {
  constexpr auto operator()(const auto&... a) const { return ebb::grad<I + 1>(weighted_result<F>{})(a...); }
};
template <class F, int I>
struct gradient_by {
  constexpr auto operator()(const auto&... a) const { return ebb::grad<I>(F{})(a...); }
};

/// The dtype of all leaves of a form of terms; void if they differ or are no floats, or if there is a number that is no array.
template <class Leaves>
struct dtype_of_all {
  using type = void;
};
template <class T, std::size_t... E, class... More>
  requires real_element<T> && (std::is_same_v<T, typename More::value_type> && ...) && (sizeof...(E) + sizeof...(More) > 0)
struct dtype_of_all<types<term<T, E...>, More...>> {
  using type = T;
};
template <class Traced>
using dtype_of_leaves = typename dtype_of_all<leaves_in<Traced>>::type;
template <class Traced>
inline constexpr bool has_one_dtype = !std::is_void_v<dtype_of_leaves<Traced>>;

/// The code that refuses a call on A..., or 0.
template <class F, int I, class... A>
constexpr int code_of_sparse() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_terms<A> || ...) || (holds_variables<A> || ...) || (holds_duals<A> || ...)) return 505;
  else if constexpr (!are_arguments<A...>) return 111;
  else if constexpr (I >= static_cast<int>(sizeof...(A))) return code_of_wrt<wrt<I>, A...>();
  else if constexpr (!has_one_dtype<traced_type<numbered<I, std::tuple<A...>>>>) return 504;
  else if constexpr (constexpr int of_trace = detail::code_of_trace(std::type_identity<trace_of<F, traced_type<A>...>>{}); of_trace != 0)
    return of_trace;
  else if constexpr (holds_refused<result_of_trace<F, traced_type<A>...>>) return already_reported;
  else return has_one_dtype<typename argument<result_of_trace<F, traced_type<A>...>>::traced> ? 0 : 504;
}

template <class A>
inline constexpr bool is_pattern = std::is_same_v<A, sparse_pattern>;
template <std::size_t Rows, std::size_t Columns, std::size_t Size, bool Pulled, bool Mirrored>
inline constexpr bool is_pattern<constant_pattern<Rows, Columns, Size, Pulled, Mirrored>> = true;
template <class A>
inline constexpr bool is_fixed_argument = false;
template <class A>
inline constexpr bool is_fixed_argument<fixed_argument<A>> = true;
template <class A>
constexpr const A& not_wrapped(const A& a) { return a; }
template <class A>
constexpr const A& not_wrapped(const fixed_argument<A>& a) { return a.value; }

struct call_of_jacobian {
  static constexpr const char* name = "ebb::sparse_jacobian";
  static constexpr auto color = &color_pattern;
  static constexpr bool has_rows = true;
};
struct call_of_hessian {
  static constexpr const char* name = "ebb::sparse_hessian";
  static constexpr auto color = &color_symmetric_pattern;
  static constexpr bool has_rows = false;
};

template <class F, int I, class Call>
struct sparse_derivatives {
  template <class... A>
  using result = typename argument<result_of_trace<F, traced_type<A>...>>::value;
  template <class... A>
  using given = typename argument<numbered<I, std::tuple<A...>>>::value;
  template <class... A>
  using element = dtype_of_leaves<traced_type<numbered<I, std::tuple<A...>>>>;
  template <class... A>
  using element_of_result = dtype_of_leaves<typename argument<result_of_trace<F, traced_type<A>...>>::traced>;

  /// The pattern of the Jacobian at arguments of these extents: rows are elements of the result, columns those of argument I.
  template <class... A>
  sparse_pattern pattern(const A&... a) const {
    constexpr bool fixed[] = {is_fixed_argument<A>..., false};
    constexpr bool fits = I >= static_cast<int>(sizeof...(A)) || !fixed[I];
    static_cast<void>(refuse_function<fits ? 0 : 447>{});
    if constexpr (!fits) return {};
    else return pattern_of<is_fixed_argument<A>...>(not_wrapped(a)...);
  }
  /// The elements at the places of p, in its order.
  template <class... A>
  auto operator()(const sparse_pattern& p, const A&... a) const {
    constexpr int code = code_of_sparse<F, I, A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code != 0) return refused_result{};
    else {
      tensor<element<A...>, dyn> values(p.size());
      (*this)(into(values), p, a...);
      return values;
    }
  }
  /// The same, written to an array of p.size() elements.
  template <class D, class... A>
  void operator()(const destinations<D>& d, const sparse_pattern& p, const A&... a) const {
    constexpr int code = code_of_sparse<F, I, A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code == 0) write_to(d, p, a...);
  }

  /// The pattern at arguments of these types, a constant: see [note: patterns as constants].
  template <class... A>
  static constexpr const auto& constant_pattern() {
    constexpr int code = code_of_constant<A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code != 0) return already_reported;
    else return pattern_as_constant<sets<A...>>;
  }
  /// The elements at the places of constant_pattern.
  template <class... A>
    requires(!is_pattern<A> && ...)
  auto operator()(const A&... a) const {
    constexpr int code = code_of_constant<A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code != 0) return refused_result{};
    else {
      constexpr const auto& p = pattern_as_constant<sets<A...>>;
      tensor<element<A...>, p.size()> values;
      write(values.mutable_data(), p, a...);
      return values;
    }
  }
  template <class D, class... A>
    requires(!is_pattern<A> && ...)
  void operator()(const destinations<D>& d, const A&... a) const {
    constexpr int code = code_of_constant<A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code == 0) write_to(d, pattern_as_constant<sets<A...>>, a...);
  }

 private:
  template <class... A>
  using sets = constant_sets<F, I, Call, traced_type<A>...>;
  template <class... A>
  using rows = block_rows<F, I, traced_type<A>...>;
  template <class... A>
  static constexpr bool has_rows() {
    if constexpr (!Call::has_rows) return false;
    else return has_block_rows<rows<A...>>();
  }
  template <class... A>
  static constexpr int code_of_constant() {
    constexpr int code = code_of_sparse<F, I, A...>();
    if constexpr (code != 0) return code;
    else return has_constant_pattern<sets<A...>> ? 0 : 516;
  }
  template <class D, class... A>
  static void write_to(const destinations<D>& d, const auto& p, const A&... a) {
    each_destination(d, [&]<class Leaf>(Leaf& leaf) {
      using values = std::remove_const_t<Leaf>;
      if (extents_of_leaf(leaf).volume() != p.size())
        raise(Call::name + (": the destination has " + std::to_string(extents_of_leaf(leaf).volume()) +
              " elements, the pattern has " + std::to_string(p.size())));
      write(borrow<values>::mutable_data(leaf), p, a...);
    });
  }
  template <bool... Fixed, class... A>
  static sparse_pattern pattern_of(const A&... a) {
    constexpr int code = code_of_sparse<F, I, A...>();
    static_cast<void>(refuse_function<code_without_reason(code)>{});
    if constexpr (code != 0) return {};
    else if constexpr ((has_strides<A> || ...)) return pattern_of<Fixed...>(as_rows(a)...);
    else {
      static_cast<void>(compile(F{})(a...));  // refuses extents that do not fit
      const graph g = prune(traced<F, traced_type<A>...>::g.thaw());
      vec<cell_array> cells;
      vec<extent_list> sizes;
      each_argument_leaf([&]<class Leaf>(const Leaf& leaf) {
        const extent_list x = extents_of_leaf(leaf);
        cell_array c;
        for (std::size_t i = 0; i < x.volume(); ++i) c.push(to_cell(borrow<Leaf>::data(leaf)[i]));
        cells.push(c);
        sizes.push(x);
      }, a...);
      std::vector<char> fixed;
      (fixed.resize(fixed.size() + static_cast<std::size_t>(argument<A>::leaves), Fixed), ...);
      const vec<int> leaves = leaf_numbers(wrt<I>{}, std::type_identity<std::tuple<traced_type<A>...>>{});
      const dependence_finder found(g, leaves, sizes, cells, fixed);
      sparse_pattern p = pattern_of_sets(found, g.out.size(), elements_of(std::get<std::size_t{I}>(std::tie(a...))));
      Call::color(p);
      if constexpr (has_rows<A...>()) p.by_rows = has_blocks<rows<A...>>(sizes, cells, fixed);
      return p;
    }
  }
  template <class... A>
  static void check(const auto& p, std::size_t rows, const A&... a) {
    const std::size_t columns = elements_of(std::get<std::size_t{I}>(std::tie(a...)));
    if (columns != p.columns || rows != p.rows || p.starts.size() != p.rows + 1)
      raise(Call::name + (": the pattern is of a matrix [" + std::to_string(p.rows) + ", " + std::to_string(p.columns) +
            "], the derivative is one [" + std::to_string(rows) + ", " + std::to_string(columns) + "]"));
  }
  template <class T, class P, class... A>
  static void write(T* to, const P& p, const A&... a) {
    if constexpr (std::is_same_v<P, sparse_pattern>) {
      if constexpr (std::is_same_v<T, element<A...>> && has_rows<A...>())
        if (p.by_rows) {
          const std::size_t n = number_of_rows<rows<A...>>(a...);
          check(p, n * static_cast<std::size_t>(block_of_rows<rows<A...>>.height), a...);
          return blocks_of_rows<rows<A...>, T>::write(to, n, a...);
        }
      if (p.pulled) pull(to, p, a...);
      else push(to, p, a...);
    } else if constexpr (P::pulled) pull(to, p, a...);
    else push(to, p, a...);
  }
  /// For each color the derivative along the sum of its columns. Several colors are read in one pass over p.
  template <class T, class... A>
  static void push(T* to, const auto& p, const A&... a) {
    const auto& x = std::get<std::size_t{I}>(std::tie(a...));
    auto v = filled<given<A...>>([]<class To>(const auto& leaf) { return zeros_like_leaf<To>(Call::name, leaf); }, x);
    if (elements_of(v) != p.columns || p.color.size() != p.columns) check(p, p.rows, a...);
    constexpr auto along = compile(along_direction<F, I>{});
    const std::size_t at_once = static_cast<std::size_t>(std::min(p.colors, 16));
    std::vector<result<A...>> r(at_once);
    std::vector<std::vector<element_of_result<A...>>> memory(at_once);
    std::vector<const element_of_result<A...>*> from;
    for (int c = 0, first = 0; c < p.colors; ++c) {
      const std::size_t place = static_cast<std::size_t>(c - first);
      set_to_color(v, p.color, c);
      if (first > 0) along(into(r[place]), a..., v);
      else r[place] = along(a..., v);
      if (c == 0) check(p, elements_of(r[place]), a...);
      from.push_back(adjacent_elements(r[place], memory[place]));
      if (from.size() < at_once && c + 1 < p.colors) continue;
      read_columns(to, p, from, first);
      from.clear();
      first = c + 1;
    }
  }
  /// For each color the gradient of the sum of its rows.
  template <class T, class... A>
  static void pull(T* to, const auto& p, const A&... a) {
    auto u = compile(F{})(a...);
    check(p, elements_of(u), a...);
    constexpr auto against = compile(against_direction<F, I>{});
    given<A...> r;
    std::vector<element<A...>> memory;
    for (int c = 0; c < p.colors; ++c) {
      set_to_color(u, p.color, c);
      if (c > 0) against(into(r), u, a...);
      else r = against(u, a...);
      const element<A...>* const from = adjacent_elements(r, memory);
      for (std::size_t i = 0; i < p.rows; ++i)
        if (p.color[i] == c)
          for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) to[k] = static_cast<T>(from[p.column[k]]);
    }
  }
};

}  // namespace detail

/// The Jacobian of f by argument I, the first one if none is named, where it may differ from zero. f is traced and must not capture. The
/// argument and the result are an array of floats with one axis or more, or a tuple or struct of arrays and numbers of one dtype: columns
/// are the elements of all of them in order, as each_leaf visits them, and so are rows. The object has
///   pattern(a...)             the places, as a sparse_pattern (CSR, and COO by row()), found from f's graph for these extents;
///                             an argument may be ebb::fixed(x)
///   (p, a...)                 the elements at the places of p, tensor<T, ebb::dyn>
///   (ebb::into(v), p, a...)   the same, written to v
///   constant_pattern<A...>()  if all extents are static: the pattern as a constant. Then (a...) and (ebb::into(v), a...) do without p:
///                             see [note: patterns as constants]
/// A banded matrix of any size needs as many derivatives as its band is wide: p.colors says how many. If p.by_rows, one program writes all
/// elements: see [note: rows of blocks]. The pattern holds for all floats that are not ebb::fixed, and for the integers in the call of
/// pattern: see [note: dependence by elements].
/// Dtype: that of the argument.   Error: each element as in jacfwd, or as in jacrev if p.pulled or p.by_rows.
/// An infinite or NaN derivative may make other elements of its row NaN, as 0 inf is NaN.
/// Throws: error if p is not a pattern of these extents, or v has another number of elements.   Source: see [note: colors of columns].
template <int I = 0, class F>
constexpr auto sparse_jacobian(F) {
  static_cast<void>(detail::refuse_function<detail::code_of_function<F>>{});
  return detail::sparse_derivatives<F, I, detail::call_of_jacobian>{};
}

/// The Hessian of f, a scalar, by argument I: sparse_jacobian of its gradient. Its elements are parts of products with the Hessian: (i, j)
/// and (j, i) agree to rounding. The symmetry saves products: an arrow takes two, see [note: colors of a symmetric matrix].
template <int I = 0, class F>
constexpr auto sparse_hessian(F) {
  static_cast<void>(detail::refuse_function<detail::code_of_function<F>>{});
  return detail::sparse_derivatives<detail::gradient_by<F, I>, I, detail::call_of_hessian>{};
}

}  // namespace ebb::inline EBB_ABI
