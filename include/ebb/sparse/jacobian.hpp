// ebb/sparse/jacobian.hpp — sparse_jacobian and sparse_hessian: elements that may differ from zero, by few derivatives.
// SPDX-License-Identifier: BSL-1.0
//
//   constexpr auto jacobian = ebb::sparse_jacobian(f);
//   const ebb::sparse_pattern p = jacobian.pattern(x, w);            once for these extents
//   ebb::tensor<double, ebb::dyn> values = jacobian(p, x, w);        the elements, in the order of p
//   jacobian(ebb::into(values), p, x, w);                            the same, into given memory
//   jacobian.pattern(x, ebb::fixed(w))                               a smaller pattern, for calls with the same w
#pragma once

#include "pattern.hpp"
#include "steps.hpp"

#include "../exec/direction.hpp"
#include "../trace/functions.hpp"

#include <array>
#include <string>

namespace ebb::inline EBB_ABI {

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
template <class F>
struct weighted_result {
  constexpr auto operator()(const auto& u, const auto&... a) const { return ebb::sum(F{}(a...) * u); }
};
template <class F, int I>
struct against_direction {
  constexpr auto operator()(const auto&... a) const { return ebb::grad<I + 1>(weighted_result<F>{})(a...); }
};
template <class F, int I>
struct gradient_by {
  constexpr auto operator()(const auto&... a) const { return ebb::grad<I>(F{})(a...); }
};

template <class T>
inline constexpr bool is_real_array = false;
template <class T, std::size_t... E>
inline constexpr bool is_real_array<term<T, E...>> = real_element<T> && sizeof...(E) > 0;

/// The code that refuses a call on A..., or 0.
template <class F, int I, class... A>
constexpr int code_of_sparse() {
  if constexpr (code_of_function<F> != 0) return code_of_function<F>;
  else if constexpr ((holds_terms<A> || ...) || (holds_variables<A> || ...) || (holds_duals<A> || ...)) return 505;
  else if constexpr (!are_arguments<A...>) return 111;
  else if constexpr (I >= static_cast<int>(sizeof...(A))) return code_of_wrt<wrt<I>, A...>();
  else if constexpr (!is_real_array<traced_type<numbered<I, std::tuple<A...>>>>) return 504;
  else if constexpr (constexpr int of_trace = code_of_trace(std::type_identity<trace_of<F, traced_type<A>...>>{}); of_trace != 0)
    return of_trace;
  else if constexpr (holds_refused<result_of_trace<F, traced_type<A>...>>) return already_reported;
  else return is_real_array<typename argument<result_of_trace<F, traced_type<A>...>>::traced> ? 0 : 504;
}

template <class A>
inline constexpr bool is_fixed_argument = false;
template <class A>
inline constexpr bool is_fixed_argument<fixed_argument<A>> = true;
template <class A>
constexpr const A& not_wrapped(const A& a) { return a; }
template <class A>
constexpr const A& not_wrapped(const fixed_argument<A>& a) { return a.value; }

/// An array of zeros with the form of x.
template <class T, std::size_t... E, class X>
tensor<T, E...> zeros_of_form(std::type_identity<tensor<T, E...>>, const char* call, const X& x) {
  std::array<std::size_t, sizeof...(E)> n{};
  for (std::size_t a = 0; a < n.size(); ++a) n[a] = borrow<X>::extent(x, static_cast<int>(a));
  auto r = tensor<T, E...>::uninitialized(typename tensor<T, E...>::layout_type(call, n));
  for (std::size_t i = 0; i < r.size(); ++i) r.mutable_data()[i] = T(0);
  return r;
}

struct call_of_jacobian {
  static constexpr const char* name = "ebb::sparse_jacobian";
  static constexpr auto color = &color_pattern;
};
struct call_of_hessian {
  static constexpr const char* name = "ebb::sparse_hessian";
  static constexpr auto color = &color_symmetric_pattern;
};

template <class F, int I, class Call>
struct sparse_derivatives {
  template <class... A>
  using result = typename argument<result_of_trace<F, traced_type<A>...>>::value;
  template <class... A>
  using given = typename argument<numbered<I, std::tuple<A...>>>::value;
  template <class... A>
  using element = typename given<A...>::value_type;

  /// Where the Jacobian at arguments of these extents may have elements: rows are elements of the result, columns those of argument I.
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
    static_cast<void>(refuse_function<code>{});
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
    static_cast<void>(refuse_function<code>{});
    if constexpr (code == 0) {
      each_destination(d, [&]<class Leaf>(Leaf& leaf) {
        using values = std::remove_const_t<Leaf>;
        if (extents_of_leaf(leaf).volume() != p.size())
          raise(Call::name + (": the destination has " + std::to_string(extents_of_leaf(leaf).volume()) +
                " elements, the pattern has " + std::to_string(p.size())));
        write(borrow<values>::mutable_data(leaf), p, a...);
      });
    }
  }

 private:
  template <bool... Fixed, class... A>
  static sparse_pattern pattern_of(const A&... a) {
    constexpr int code = code_of_sparse<F, I, A...>();
    static_cast<void>(refuse_function<code>{});
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
      const int leaf = leaf_numbers(wrt<I>{}, std::type_identity<std::tuple<traced_type<A>...>>{})[0];
      const dependence_finder found(g, {leaf}, sizes, cells, fixed);
      sparse_pattern p;
      p.rows = found.output(0).size();
      p.columns = sizes[leaf].volume();
      p.starts = found.output(0).starts;
      p.column.assign(found.output(0).number.begin(), found.output(0).number.end());
      Call::color(p);
      return p;
    }
  }
  template <class... A>
  static void check(const sparse_pattern& p, std::size_t rows, const A&... a) {
    const std::size_t columns = extents_of_leaf(std::get<std::size_t{I}>(std::tie(a...))).volume();
    if (columns != p.columns || rows != p.rows || p.starts.size() != p.rows + 1)
      raise(Call::name + (": the pattern is of a matrix [" + std::to_string(p.rows) + ", " + std::to_string(p.columns) +
            "], the derivative is one [" + std::to_string(rows) + ", " + std::to_string(columns) + "]"));
  }
  template <class T, class... A>
  static void write(T* to, const sparse_pattern& p, const A&... a) {
    if (p.pulled) pull(to, p, a...);
    else push(to, p, a...);
  }
  /// For each color the derivative along the sum of its columns.
  template <class T, class... A>
  static void push(T* to, const sparse_pattern& p, const A&... a) {
    auto v = zeros_of_form(std::type_identity<given<A...>>{}, Call::name, std::get<std::size_t{I}>(std::tie(a...)));
    if (v.size() != p.columns || p.color.size() != p.columns) check(p, p.rows, a...);
    constexpr auto along = compile(along_direction<F, I>{});
    result<A...> r;
    for (int c = 0; c < p.colors; ++c) {
      for (std::size_t j = 0; j < p.columns; ++j) v.mutable_data()[j] = T(p.color[j] == c ? 1 : 0);
      if (c > 0) along(into(r), a..., v);
      else check(p, (r = along(a..., v)).size(), a...);
      for (std::size_t i = 0; i < p.rows; ++i)
        for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) {
          const bool mirrored = !p.mirrored.empty() && p.mirrored[k];
          const std::size_t row = mirrored ? p.column[k] : i, column = mirrored ? i : p.column[k];
          if (p.color[column] == c) to[k] = static_cast<T>(r.data()[row]);
        }
    }
  }
  /// For each color the gradient of the sum of its rows.
  template <class T, class... A>
  static void pull(T* to, const sparse_pattern& p, const A&... a) {
    auto u = compile(F{})(a...);
    check(p, u.size(), a...);
    constexpr auto against = compile(against_direction<F, I>{});
    given<A...> r;
    for (int c = 0; c < p.colors; ++c) {
      using weight = typename decltype(u)::value_type;
      for (std::size_t i = 0; i < p.rows; ++i) u.mutable_data()[i] = weight(p.color[i] == c ? 1 : 0);
      if (c > 0) against(into(r), u, a...);
      else r = against(u, a...);
      for (std::size_t i = 0; i < p.rows; ++i)
        if (p.color[i] == c)
          for (std::size_t k = p.starts[i]; k < p.starts[i + 1]; ++k) to[k] = static_cast<T>(r.data()[p.column[k]]);
    }
  }
};

}  // namespace detail

/// The Jacobian of f by argument I, the first one if none is named, where it may differ from zero. f and the argument: one array of floats
/// each, with one axis or more; f is traced and must not capture. The object has
///   pattern(a...)             the places, as a sparse_pattern (CSR, and COO by row()), found from f's program for these extents;
///                             an argument may be ebb::fixed(x)
///   (p, a...)                 the elements at the places of p, tensor<T, ebb::dyn>
///   (ebb::into(v), p, a...)   the same, written to v
/// A banded matrix of any size needs as many derivatives as its band is wide: p.colors says how many. The pattern holds for all
/// floats that are not ebb::fixed, and for the integers in the call of pattern: see [note: dependence by elements].
/// Dtype: that of the argument.   Error: each element as in jacfwd, or as in jacrev if p.pulled.
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
