// ebb/sparse/block_rows.hpp — Jacobians in rows of small blocks: each row of the result depends on one row of gathered operands.
// SPDX-License-Identifier: BSL-1.0
//
// [note: rows of blocks]
// f takes rows of its unknown by index, with ebb::take, or reads an array of the unknown that has as many rows as the results. Row i of
// each result depends on the rows taken for i alone, as the residuals of observations, edges or mesh elements do. The Jacobian by the taken
// rows is then one small block for each row, all with the same nonzeros. One function writes them in the order of CSR. It pulls once for
// each number in a row of a result, whatever the number of colors is.
// The compiler cuts f's graph at the taken rows and finds the nonzeros of a block with short extents. `pattern` then finds the sets of the
// cut graph for the extents of the call: p.by_rows is true if they are those of the block in each row.
// Conditions: each array is taken from in one place; taken arrays and results have one or two axes; only their number of rows may be
// dynamic; a row of all results has at most 16 numbers, a row of the taken arrays at most 64; there are no loops. Otherwise colors are
// used, as where the compiler's limit for constants is too low for the cut graph (README.md has the flags).
#pragma once

#include "constant_pattern.hpp"

#include "../exec/gradient.hpp"
#include "../trace/custom.hpp"
#include "../trace/functions.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

inline constexpr int most_taken = 8, most_block_rows = 16, most_block_columns = 64;

/// Rows of leaf `leaf` of the unknown that are taken for the rows of the results: equation `at`, of `width` numbers a row, which are
/// columns [first, first + width) of a block.
struct taken_rows {
  int at = -1, leaf = -1, width = 0, first = 0;
  bool is_flat = false;  // one axis
};
/// A row of blocks, if there is one.
struct row_of_blocks {
  bool exists = false;
  int taken = 0, width = 0, results = 0, height = 0, extent = 0;  // extent: the number of rows or its symbol
  int counted = -1, axis = 0;                                     // the argument, and its axis, that says how many rows there are
  taken_rows of[most_taken]{};
  int first[most_block_rows + 1]{};                     // by result: its first row in a block
  bool is_flat[most_block_rows]{};                      // results with one axis
  bool has[most_block_rows][most_block_columns]{};      // whether an element may differ from zero
  constexpr int elements(int result) const {
    int n = 0;
    for (int r = first[result]; r < first[result + 1]; ++r)
      for (int c = 0; c < width; ++c) n += has[r][c];
    return n;
  }
};

/// Finds where the rows of the arguments `leaves` of g enter, without the elements of the block.
constexpr row_of_blocks find_taken(const graph& g, const vec<int>& leaves) {
  row_of_blocks r;
  bool gathers = false;
  for (int l = 0; l < leaves.size(); ++l) {
    const int x = g.input(leaves[l]);
    int at = -1, uses = 0;
    for (int k = 0; k < g.size(); ++k)
      for (int j = 0; j < g.eq[k].count; ++j) {
        if (g.operand(k, j) != x) continue;
        ++uses;
        if (j == 0 && g.op(k).what == kind::gather && g.eq[k].attr[0] == 0 && g.eq[k].attr[1] == 0) at = k;
      }
    for (const int o : g.out) uses += 2 * (o == x);
    if (uses == 0) continue;
    if (uses > 1) at = -1;
    gathers = gathers || at >= 0;
    if (at < 0) at = x;
    const shape& s = g.shape_of(at);
    if (r.taken == most_taken || s.rank < 1 || s.rank > 2 || (s.rank == 2 && s.e[1] <= 0)) return {};
    if (g.op(x).result != g.op(g.input(leaves[0])).result) return {};
    const int width = s.rank == 2 ? s.e[1] : 1;
    if (r.taken > 0 && s.e[0] != r.extent) return {};
    if (width > most_block_columns - r.width) return {};
    r.extent = s.e[0];
    r.of[r.taken++] = {at, l, width, r.width, s.rank == 1};
    r.width += width;
  }
  if (!gathers) return {};
  for (const int o : g.out) {
    const shape& s = g.shape_of(o);
    if (r.results == most_block_rows || s.rank < 1 || s.rank > 2 || s.e[0] != r.extent || (s.rank == 2 && s.e[1] <= 0)) return {};
    if (g.op(o).result != g.op(g.input(leaves[0])).result) return {};
    const int height = s.rank == 2 ? s.e[1] : 1;
    if (height > most_block_rows - r.height) return {};
    r.is_flat[r.results++] = s.rank == 1;
    r.first[r.results] = r.height += height;
  }
  for (int i = 0; i < g.inputs && r.counted < 0; ++i) {
    const shape& s = g.shape_of(g.input(i));
    for (int a = 0; a < s.rank; ++a)
      if (s.e[a] == r.extent) {
        r.counted = i;
        r.axis = a;
      }
  }
  r.exists = r.counted >= 0 && r.results > 0;
  return r;
}
/// g with the taken rows as further arguments.
constexpr graph cut_at(const graph& g, const row_of_blocks& b) {
  graph r = shell_of(g);
  vec<int> at(g.size(), -1);
  r.inputs = g.inputs;
  copy_equations(r, g, at, [&](int k) { return g.op(k).what == kind::input; }, as_they_are);
  for (int t = 0; t < b.taken; ++t) {
    const int k = b.of[t].at;
    at[k] = g.op(k).kit->input(r, g.eq[k].shape, r.inputs++);
  }
  copy_equations(r, g, at, all_equations, as_they_are);
  r.out = outputs_at(g, at);
  return prune(r);
}
/// The sets of the results of a cut graph by its taken rows.
constexpr dependence_finder sets_of_cut(const graph& cut, const row_of_blocks& b, const vec<extent_list>& sizes,
                                        const vec<cell_array>& cells, const std::vector<char>& fixed,
                                        std::size_t limit = static_cast<std::size_t>(-1)) {
  vec<int> taken;
  for (int t = 0; t < b.taken; ++t) taken.push(cut.inputs - b.taken + t);
  return dependence_finder(cut, taken, sizes, cells, fixed, limit);
}
/// f(result, row, row in the block, the columns there) for all sets; a column of another row is -1.
constexpr void each_block_row(const dependence_finder& found, const row_of_blocks& b, std::size_t rows, auto&& f) {
  for (int o = 0; o < b.results; ++o) {
    const element_sets& s = found.output(o);
    const int height = b.first[o + 1] - b.first[o];
    for (std::size_t i = 0; i < rows; ++i)
      for (int h = 0; h < height; ++h) {
        const std::size_t x = i * static_cast<std::size_t>(height) + static_cast<std::size_t>(h);
        for (const std::uint32_t* e = s.begin(x); e != s.end(x); ++e) {
          int column = -1;
          for (int t = 0; t < b.taken; ++t) {
            const std::size_t width = static_cast<std::size_t>(b.of[t].width), first = rows * static_cast<std::size_t>(b.of[t].first);
            const std::size_t own = first + i * width;
            if (*e >= own && *e < own + width) column = b.of[t].first + static_cast<int>(*e - own);
          }
          f(b.first[o] + h, column);
        }
      }
  }
}

template <class F, int I, class... T>
struct block_rows {
  static constexpr graph whole() { return prune(traced<F, T...>::g.thaw()); }
  static constexpr vec<int> leaves() { return leaf_numbers(wrt<I>{}, std::type_identity<std::tuple<T...>>{}); }
  /// With this value for each extent that is not static.
  template <std::size_t Short>
  static constexpr row_of_blocks find() {
    const graph g = whole();
    row_of_blocks b = find_taken(g, leaves());
    if (!b.exists) return {};
    for (int k = 0; k < g.size(); ++k)
      if (g.op(k).what == kind::loop) return {};
    const graph cut = cut_at(g, b);
    const vec<std::size_t> symbols(cut.syms.count(), Short);
    const std::size_t rows = extent_value(b.extent, symbols.data());
    vec<extent_list> sizes;
    vec<cell_array> cells;
    std::size_t all = 0;
    for (int i = 0; i < cut.inputs; ++i) {
      sizes.push(extents_at(cut.shape_of(cut.input(i)), symbols.data()));
      all += sizes.back().volume();
      if (all > most_constant_sets) return {};
      cells.push(cell_array(static_cast<int>(sizes.back().volume()), 0));
    }
    const dependence_finder found = sets_of_cut(cut, b, sizes, cells, {}, most_constant_sets);
    if (!found.complete()) return {};
    bool fits = true;
    each_block_row(found, b, rows, [&](int row, int column) {
      if (column < 0) fits = false;
      else b.has[row][column] = true;
    });
    int n = 0;
    for (int o = 0; o < b.results; ++o) n += b.elements(o);
    b.exists = fits && n > 0;
    return b;
  }
  static constexpr bool may_exist = std::is_same_v<typename entry_of<F>::type, off> && !pass_of<F>.there;
};
/// Whether it is a constant: the graph may read more rows of another argument, and compilers have limits.
template <class Rows, std::size_t Short>
inline constexpr bool can_be_found_with = requires { typename std::bool_constant<Rows::template find<Short>().exists>; };
template <class Rows>
inline constexpr row_of_blocks block_of_rows = [] {
  if constexpr (can_be_found_with<Rows, 2>) return Rows::template find<2>();
  else if constexpr (can_be_found_with<Rows, 16>) return Rows::template find<16>();
  else return row_of_blocks{};
}();
template <class Rows>
constexpr bool has_block_rows() {
  if constexpr (!Rows::may_exist) return false;
  else return block_of_rows<Rows>.exists;
}

/// The graph of the taken rows.
template <class Rows>
struct taken_program {
  static constexpr graph make() {
    graph g = Rows::whole();
    g.out = {};
    for (int t = 0; t < block_of_rows<Rows>.taken; ++t) g.out.push(block_of_rows<Rows>.of[t].at);
    return prune(g);
  }
};
/// The cut graph.
template <class Rows>
struct rest_program {
  static constexpr graph make() { return cut_at(Rows::whole(), block_of_rows<Rows>); }
};
/// The rows of results and of taken arrays as terms of dtype U.
template <class U, std::size_t N, int Width, bool Flat>
using rows_term = typename std::conditional_t<Flat, std::type_identity<term<U, N>>,
                                              std::type_identity<term<U, N, static_cast<std::size_t>(Width)>>>::type;

template <class Rows, class U>
struct blocks_of_rows {
  static constexpr const row_of_blocks& b = block_of_rows<Rows>;
  static constexpr std::size_t rows = b.extent >= 0 ? static_cast<std::size_t>(b.extent) : dyn;
  static constexpr auto taken_types = []<std::size_t... P>(std::index_sequence<P...>) {
    return std::type_identity<std::tuple<rows_term<U, rows, b.of[P].width, b.of[P].is_flat>...>>{};
  }(std::make_index_sequence<static_cast<std::size_t>(b.taken)>{});
  static constexpr auto result_types = []<std::size_t... P>(std::index_sequence<P...>) {
    return std::type_identity<std::tuple<rows_term<U, rows, b.first[P + 1] - b.first[P], b.is_flat[P]>...>>{};
  }(std::make_index_sequence<static_cast<std::size_t>(b.results)>{});

  /// The sum of one column of a result. Its gradient by the taken rows is that row of every block.
  template <std::size_t Result, int Row>
  struct number_of_rows {
    constexpr auto operator()(const auto& taken, const auto&... a) const {
      graph& g = *first_graph(taken);
      vec<int> in = ids_of(a...);
      for (const int x : ids_of(taken)) in.push(x);
      const vec<int> results = splice(g, frozen<rest_program<Rows>>::g.thaw(), in);
      const auto y = std::get<Result>(terms_at<typename decltype(result_types)::type>(g, results));
      if constexpr (b.is_flat[Result]) return ebb::sum(y);
      else return ebb::sum(ebb::select<1, Row>(y));
    }
  };
  /// Columns [Begin...) of a block's row that may differ from zero, as long as they are adjacent in one taken array.
  template <int Row, int Begin>
  static constexpr auto pieces(const auto& gradients) {
    constexpr int end_of_block = b.width;
    if constexpr (Begin == end_of_block) return std::tuple<>{};
    else if constexpr (!b.has[Row][Begin]) return pieces<Row, Begin + 1>(gradients);
    else {
      constexpr std::size_t part = [] {
        std::size_t t = 0;
        while (Begin >= b.of[t].first + b.of[t].width) ++t;
        return t;
      }();
      constexpr int first = b.of[part].first, last = [] {
        int c = Begin;
        while (c < b.of[part].first + b.of[part].width && b.has[Row][c]) ++c;
        return c;
      }();
      const auto& all = std::get<part>(gradients);
      const auto rest = pieces<Row, last>(gradients);
      if constexpr (b.of[part].is_flat) return std::tuple_cat(std::tuple(ebb::unsqueeze<1>(all)), rest);
      else return std::tuple_cat(std::tuple(ebb::slice<1, Begin - first, last - first>(all)), rest);
    }
  }
  template <std::size_t Result, int Row>
  static constexpr auto pieces_of_result(const auto& taken, const auto&... a) {
    if constexpr (Row == b.first[Result + 1] - b.first[Result]) return std::tuple<>{};
    else
      return std::tuple_cat(pieces<b.first[Result] + Row, 0>(ebb::grad<0>(number_of_rows<Result, Row>{})(taken, a...)),
                            pieces_of_result<Result, Row + 1>(taken, a...));
  }
  template <std::size_t Result>
  static constexpr auto joined(const auto& taken, const auto&... a) {
    if constexpr (b.elements(static_cast<int>(Result)) == 0) return std::tuple<>{};
    else
      return std::apply([](const auto&... piece) {
        if constexpr (sizeof...(piece) == 1) return std::tuple(piece...);
        else return std::tuple(ebb::concat<1>(piece...));
      }, pieces_of_result<Result, 0>(taken, a...));
  }
  constexpr auto operator()(const auto&... a) const {
    graph& g = *first_graph(a...);
    const auto taken = terms_at<typename decltype(taken_types)::type>(g, splice(g, frozen<taken_program<Rows>>::g.thaw(), ids_of(a...)));
    return [&]<std::size_t... P>(std::index_sequence<P...>) {
      return std::tuple_cat(joined<P>(taken, a...)...);
    }(std::make_index_sequence<static_cast<std::size_t>(b.results)>{});
  }
  /// Writes the elements in the order of CSR for this number of rows.
  template <class... A>
  static void write(U* to, std::size_t n, const A&... a) {
    constexpr auto program = compile(blocks_of_rows{});
    [&]<std::size_t... P>(std::index_sequence<P...>) {
      const auto place = [&]<std::size_t Result>(std::integral_constant<std::size_t, Result>) {
        constexpr std::size_t width = static_cast<std::size_t>(b.elements(static_cast<int>(Result)));
        constexpr std::size_t before = [] {
          int sum = 0;
          for (int o = 0; o < static_cast<int>(Result); ++o) sum += b.elements(o);
          return static_cast<std::size_t>(sum);
        }();
        U* const from = to + n * before;
        if constexpr (width == 0) return std::tuple<>{};
        else if constexpr (rows == dyn) return std::tuple(view<U, dyn, width>(from, n));
        else return std::tuple(view<U, rows, width>(from));
      };
      std::apply([&](const auto&... d) { program(into(d...), a...); }, std::tuple_cat(place(std::integral_constant<std::size_t, P>{})...));
    }(std::make_index_sequence<static_cast<std::size_t>(b.results)>{});
  }
};

/// The number of rows in a call.
template <class Rows, class... A>
std::size_t number_of_rows(const A&... a) {
  std::size_t n = 0;
  int number = 0;
  each_argument_leaf([&](const auto& leaf) {
    if (number++ == block_of_rows<Rows>.counted) n = extents_of_leaf(leaf).e[block_of_rows<Rows>.axis];
  }, a...);
  return n;
}
/// Whether the sets of the cut graph are the block in each row.
template <class Rows>
bool has_blocks(const vec<extent_list>& given, vec<cell_array> cells, const std::vector<char>& fixed) {
  constexpr const row_of_blocks& b = block_of_rows<Rows>;
  const graph cut = frozen<rest_program<Rows>>::g.thaw();
  const std::size_t rows = given[b.counted].e[b.axis];
  vec<extent_list> sizes = given;
  std::vector<char> all_fixed = fixed;
  all_fixed.resize(static_cast<std::size_t>(cut.inputs), 0);
  for (int t = 0; t < b.taken; ++t) {
    extent_list x;
    x.rank = b.of[t].is_flat ? 1 : 2;
    x.e[0] = rows;
    x.e[1] = static_cast<std::size_t>(b.of[t].width);
    sizes.push(x);
    cells.push({});
  }
  const dependence_finder found = sets_of_cut(cut, b, sizes, cells, all_fixed);
  bool fits = true;
  std::size_t elements = 0, all = 0;
  each_block_row(found, b, rows, [&](int row, int column) {
    ++elements;
    fits = fits && column >= 0 && b.has[row][column];
  });
  for (int o = 0; o < b.results; ++o) all += static_cast<std::size_t>(b.elements(o)) * rows;
  return fits && elements == all;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
