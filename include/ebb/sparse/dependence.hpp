// ebb/sparse/dependence.hpp — the elements of an argument that each element of a result depends on, found from the graph.
// SPDX-License-Identifier: BSL-1.0
//
// [note: dependence by elements]
// The graph is evaluated on sets of element numbers, not on numbers. An elementwise op unites the sets of its operands, element by element;
// a sum those that it adds; a move takes them along. A value is known if it is computed from integers and fixed arguments alone: rows by
// index go where known indices say, a known condition of `where` chooses one operand, and a number that is zero in each call makes a
// product zero, which then depends on nothing. A loop runs step by step, each step on the sets of the one before, until nothing changes. A
// loop whose number of steps only the call knows unites the sets of all steps; so does one that may not run. A custom function has the
// derivative that its user wrote, which may be another one than that of its values: its pull runs on sets of cotangents, and an element of
// a value depends on the elements of arguments whose gradients its cotangent reaches. Unknown indices and decompositions make each element
// of a result depend on all that their operands depend on. So a set may be too large. It is too small in one case only: 0 / x counts as
// zero, though it is NaN at x = 0. The pattern is that of the integers and the fixed arguments in the call, for all values of the other
// floats.
#pragma once

#include "boxes.hpp"
#include "element_sets.hpp"
#include "known.hpp"

#include "../op/arithmetic.hpp"
#include "../tensor/product_order.hpp"
#include "../tensor/triangle_order.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

class dependence_finder {
 public:
  /// The sets of the outputs of g by the elements of the arguments `wrt`, which are numbered one after another. cells: the arguments.
  /// fixed: by argument, whether its elements are those of all calls. limit: it gives up when sets have more elements.
  constexpr dependence_finder(const graph& g, const vec<int>& wrt, const vec<extent_list>& arguments, const vec<cell_array>& cells,
                              const std::vector<char>& fixed = {}, std::size_t limit = static_cast<std::size_t>(-1))
      : dependence_finder(g, ebb::symbol_values(g, arguments, cells), known_arguments(g, fixed)) {
    limit_ = limit;
    std::vector<element_sets> given;
    given.reserve(at(arguments.size()));
    for (int i = 0; i < arguments.size(); ++i) given.push_back(empty_sets(arguments[i].volume()));
    std::uint32_t next = 0;
    for (const int i : wrt) {
      given[at(i)].number.resize(given[at(i)].size(), 0);
      for (std::size_t e = 0; e < given[at(i)].size(); ++e) {
        given[at(i)].number[e] = next++;
        given[at(i)].starts[e + 1] = e + 1;
      }
    }
    std::vector<const element_sets*> pointers;
    pointers.reserve(given.size());
    for (const element_sets& s : given) pointers.push_back(&s);
    run(pointers, cells);
  }
  constexpr dependence_finder(const graph& g, const vec<std::size_t>& symbols, const std::vector<char>& known)
      : g_(g), symbols_(symbols), known_(g, known), of_(at(g.size())), last_(at(g.size()), 0), loops_(at(g.size())),
        inside_(at(g.size())) {
    for (int k = 0; k < g.size(); ++k) {
      for (const int j : g.operands(k)) last_[at(j)] = k;
      if (g.op(k).what == kind::result && g.op(g.operand(k, 0)).what == kind::custom) last_[at(value_of_custom(g, k))] = k;
    }
    for (const int o : g.out)
      if (o >= 0) last_[at(o)] = g.size();
  }
  /// Finds the sets of the outputs from those of the arguments.
  constexpr void run(const std::vector<const element_sets*>& given, const vec<cell_array>& cells) {
    given_ = &given;
    known_.evaluate(cells, symbols_);
    for (int k = 0; k < g_.size() && complete(); ++k) {
      of_[at(k)] = find(k);
      found_ += of_[at(k)].number.size();
      mark_zeros(k);
      for (const int j : g_.operands(k))
        if (last_[at(j)] == k) {
          of_[at(j)] = {};
          loops_[at(j)] = {};
        }
    }
  }
  /// Whether all sets were found, within the limit.
  constexpr bool complete() const { return found_ <= limit_; }
  constexpr const element_sets& output(int i) const { return of_[at(g_.out[i])]; }
  constexpr const cell_array& value_of_output(int i) const { return known_.value(g_.out[i]); }
  /// Whether known values decide sets: then they may differ from step to step.
  constexpr bool reads_values() const { return known_.decide(); }

 private:
  static constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }
  static constexpr std::vector<char> known_arguments(const graph& g, const std::vector<char>& fixed) {
    std::vector<char> r(at(g.inputs), 0);
    for (int i = 0; i < g.inputs; ++i) r[at(i)] = !is_real_dtype(g.op(g.input(i)).result) || (!fixed.empty() && fixed[at(i)]);
    return r;
  }
  constexpr extent_list extents(int k) const { return extents_at(g_.shape_of(k), symbols_.data()); }
  constexpr const element_sets& in(int k, int j) const { return of_[at(g_.operand(k, j))]; }
  constexpr bool is_real(int k) const { return is_real_dtype(g_.op(k).result); }
  constexpr bool chooses(int k) const { return g_.op(k).family == family_of<op::where>; }
  constexpr element_sets one_by_one(std::size_t n, auto&& unite) { return set_.one_by_one(n, unite); }

  /// The zeros of a known value.
  constexpr void mark_zeros(int k) {
    const cell_array& value = known_.value(k);
    element_sets& s = of_[at(k)];
    if (!is_real(k) || value.empty() || !s.number.empty()) return;
    for (int i = 0; i < value.size(); ++i)
      if (is_zero_cell(g_.op(k).result, value[i])) {
        if (s.zero.empty()) s.zero.assign(s.size(), 0);
        s.zero[at(i)] = 1;
      }
  }
  /// All arrays in this number of equal blocks: each element of a block depends on its block of each operand, or on all of an operand that
  /// has no such blocks. operands: how many of them count.
  constexpr element_sets by_blocks(int k, std::size_t n, std::size_t blocks, int operands) {
    if (blocks == 0 || n % blocks != 0) blocks = 1;
    element_sets block = one_by_one(blocks, [&](std::size_t b) {
      for (int j = 0; j < operands; ++j) {
        const element_sets& x = in(k, j);
        const bool divided = x.size() % blocks == 0;
        const std::size_t each = divided ? x.size() / blocks : x.size();
        for (std::size_t i = 0; i < each; ++i) set_.add(x, divided ? b * each + i : i);
      }
    });
    return one_by_one(n, [&](std::size_t i) { set_.add(block, i / (n / blocks)); });
  }

  /// Each element is one of an operand, source(i) says which, or zero if that says operand -1.
  constexpr element_sets taken(int k, std::size_t n, auto&& source) {
    return one_by_one(n, [&](std::size_t i) {
      const auto [j, x] = source(i);
      if (j < 0) return true;
      set_.add(in(k, j), x);
      return in(k, j).is_zero(x);
    });
  }
  constexpr element_sets find(int k) {
    const equation& e = g_.eq[k];
    const extent_list out = extents(k);
    const std::size_t n = out.volume();
    switch (e.op->what) {
      case kind::input: return *(*given_)[at(static_cast<int>(e.attr[0]))];
      case kind::literal: return empty_sets(n, is_real(k) && is_zero_cell(e.op->result, static_cast<cell>(e.attr[0])));
      case kind::index: return empty_sets(n);
      case kind::custom:
        if (custom_parts::of(e).forward) return united_operands(k);
        loops_[at(k)] = results_of_custom(k);
        return empty_sets(0);
      case kind::loop: loops_[at(k)] = results_of_loop(k); return empty_sets(0);
      case kind::result: return is_real(k) ? result(k, n) : empty_sets(n);
      default: break;
    }
    if (!is_real(k) || e.op->stops) return empty_sets(n);
    switch (e.op->what) {
      case kind::elementwise: return elementwise(k, n);
      case kind::broadcast: return broadcast(k, out, n);
      case kind::reduce: {
        const extent_list x = extents(g_.operand(k, 0));
        const std::size_t length = x.volume(static_cast<int>(e.attr[0]), static_cast<int>(e.attr[1]));
        const std::size_t inner = x.volume(static_cast<int>(e.attr[1]), x.rank);
        const bool sums = e.op->computes == arithmetic::sum;
        return one_by_one(n, [&](std::size_t i) {
          bool zero = sums;
          for (std::size_t q = 0; q < length; ++q) {
            const std::size_t from = (i / inner * length + q) * inner + i % inner;
            zero = zero && in(k, 0).is_zero(from);
            set_.add(in(k, 0), from);
          }
          return zero;
        });
      }
      case kind::scan: {
        const int axis = static_cast<int>(e.attr[0]);
        const std::size_t length = out.e[axis], inner = out.volume(axis + 1, out.rank);
        const bool reversed = e.attr[1] & 1;
        return one_by_one(n, [&](std::size_t i) {
          const std::size_t step = i / inner % length, row = i / inner / length;
          for (std::size_t q = reversed ? step : 0; q < (reversed ? length : step + 1); ++q)
            set_.add(in(k, 0), (row * length + q) * inner + i % inner);
        });
      }
      case kind::reshape: return taken(k, n, [](std::size_t i) { return std::pair(0, i); });
      case kind::move: return move(k, out, n);
      case kind::gather: case kind::scatter: return by_index(k, out, n);
      case kind::contract: return contract(k, out, n);
      case kind::rows: return by_blocks(k, n, out.volume(0, out.rank - 1), e.count);
      case kind::triangle: return triangle(k, out, n);
      case kind::solve: return by_blocks(k, n, out.volume(0, out.rank - 2), e.count);
      case kind::factor: {
        const extent_list x = extents(g_.operand(k, 0));
        return by_blocks(k, n, x.volume(0, x.rank - 2), e.count);
      }
      case kind::own:
        if (is_box(*e.op)) return boxes(k, n);
        [[fallthrough]];
      default: return by_blocks(k, n, 1, e.count);
    }
  }
  /// Boxes at unknown places may be anywhere, but box_put keeps the elements of operand 0 where they are.
  constexpr element_sets boxes(int k, std::size_t n) {
    const box_form f = box_form::of(g_.eq[k].attr);
    const extent_list whole = extents(whole_of_box(g_, k)), part = extents(part_of_box(g_, k));
    bool known = true;
    for (int j = f.first(); j < g_.eq[k].count; ++j) known = known && known_.is_known(g_.operand(k, j));
    if (!known) {
      const std::size_t batches = whole.volume(0, f.own);
      if (f.what != box_form::puts || batches == 0) return by_blocks(k, n, batches, 1);
      return one_by_one(n, [&](std::size_t i) {
        const std::size_t each = in(k, 1).size() / batches, first = i / (n / batches) * each;
        set_.add(in(k, 0), i);
        for (std::size_t q = 0; q < each; ++q) set_.add(in(k, 1), first + q);
        return false;
      });
    }
    const auto from = elements_of_box(g_, k, whole, part, known_);
    return one_by_one(n, [&](std::size_t i) {
      bool zero = true;
      for (const auto& [j, x] : from[i]) {
        zero = zero && in(k, j).is_zero(x);
        set_.add(in(k, j), x);
      }
      return zero;
    });
  }
  constexpr element_sets elementwise(int k, std::size_t n) {
    const equation& e = g_.eq[k];
    if (chooses(k)) {
      const cell_array& yes = known_.value(g_.operand(k, 0));
      if (!yes.empty()) return taken(k, n, [&](std::size_t i) { return std::pair(from_cell<bool>(yes[static_cast<int>(i)]) ? 1 : 2, i); });
      return united(in(k, 1), in(k, 2));
    }
    bool any = false;
    for (int j = 0; j < e.count; ++j) any = any || !in(k, j).zero.empty();
    const bool multiplies = e.op->computes == arithmetic::product;
    cell zeros[4] = {}, of_zeros = 1;
    if (any && !multiplies) e.op->scalar(zeros, &of_zeros);
    const bool keeps_zeros = any && !multiplies && is_zero_cell(e.op->result, of_zeros);
    const bool divides = e.op->family == family_of<op::div>;
    return one_by_one(n, [&](std::size_t i) {
      bool all = true, some = false;
      for (int j = 0; j < e.count; ++j) {
        const bool zero = in(k, j).is_zero(i);
        all = all && zero;
        some = some || zero;
        set_.add(in(k, j), i);
      }
      return multiplies ? some : divides ? in(k, 0).is_zero(i) && !in(k, 1).is_zero(i) : all && keeps_zeros;
    });
  }
  constexpr element_sets united(const element_sets& a, const element_sets& b) {
    return one_by_one(a.size(), [&](std::size_t i) {
      set_.add(a, i);
      set_.add(b, i);
      return a.is_zero(i) && b.is_zero(i);
    });
  }
  constexpr element_sets result(int k, std::size_t n) {
    const int from = g_.operand(k, 0);
    if (g_.op(from).what == kind::loop) return loops_[at(from)][at(number_of_loop_result(g_, k))];
    if (!loops_[at(from)].empty()) return loops_[at(from)][at(static_cast<int>(g_.eq[k].attr[0]))];
    // A loop without a bound is inside of a custom equation for its derivative, and depends on what its value depends on.
    const int value = value_of_custom(g_, k);
    const bool is_loop = custom_parts::of(g_.eq[from]).forward && g_.op(value).what == kind::result &&
                         g_.op(g_.operand(value, 0)).what == kind::loop && loop_parts::of(g_.eq[g_.operand(value, 0)]).open;
    if (is_loop) return of_[at(value)];
    return one_by_one(n, [&](std::size_t) { set_.add(of_[at(from)], 0); });
  }
  /// The sets of all results of a loop, by number_of_loop_result: see sparse/steps.hpp.
  constexpr std::vector<element_sets> results_of_loop(int k);
  /// The sets of all values of a custom function, by its pull: see sparse/steps.hpp.
  constexpr std::vector<element_sets> results_of_custom(int k);
  /// One set, of all that decides the results of a custom equation for a loop without a bound.
  constexpr element_sets united_operands(int k) {
    const equation& e = g_.eq[k];
    return one_by_one(1, [&](std::size_t) {
      for (int j = 0; j < e.count; ++j)
        for (std::size_t i = 0; i < in(k, j).size(); ++i) set_.add(in(k, j), i);
    });
  }
  constexpr element_sets broadcast(int k, const extent_list& out, std::size_t n) {
    const std::int64_t repeated = g_.eq[k].attr[0];
    std::size_t strides[max_rank] = {}, step = 1;
    for (int a = out.rank - 1; a >= 0; --a) {
      if (repeated >> a & 1) continue;
      strides[a] = step;
      step *= out.e[a];
    }
    return taken(k, n, [&](std::size_t i) {
      std::size_t from = 0;
      for (int a = out.rank - 1; a >= 0; i /= out.e[a--]) from += i % out.e[a] * strides[a];
      return std::pair(0, from);
    });
  }
  constexpr element_sets move(int k, const extent_list& out, std::size_t n) {
    vec<extent_list> given;
    for (const int i : g_.operands(k)) given.push(extents(i));
    const move_call call{given.data(), out, g_.eq[k].attr};
    std::vector<std::pair<int, std::size_t>> from(n, {-1, 0});
    for (int j = 0; j < g_.eq[k].count; ++j)
      each_element(g_.op(k).copy(call, j), [&](std::ptrdiff_t x, std::ptrdiff_t to) {
        from[static_cast<std::size_t>(to)] = {j, static_cast<std::size_t>(x)};
      });
    return taken(k, n, [&](std::size_t i) { return from[i]; });
  }
  constexpr element_sets by_index(int k, const extent_list& out, std::size_t n) {
    const bool gathers = g_.op(k).what == kind::gather;
    const int names = g_.operand(k, 1), own = static_cast<int>(g_.eq[k].attr[0]);
    const bool writes = g_.eq[k].count > 2;  // of equal indices the last; else operand 2 stays
    if (!known_.is_known(names)) return by_blocks(k, n, out.volume(0, own), writes ? 3 : 1);
    const extent_list x = gathers ? extents(g_.operand(k, 0)) : out, index = extents(names);
    const std::size_t width = x.volume(own + 1, x.rank), count = index.volume(own, index.rank), rows = x.e[own];
    const cell_array& place = known_.value(names);
    const bool is_short = g_.op(names).result == dtype::i32;
    const auto among_rows = [&](std::size_t i) {
      const cell c = place[static_cast<int>(i / width)];
      const std::int64_t p = is_short ? std::int64_t{from_cell<std::int32_t>(c)} : from_cell<std::int64_t>(c);
      if (p < 0 || static_cast<std::size_t>(p) >= rows)
        raise("ebb::sparse_jacobian, sparse_hessian: there is no place " + std::to_string(p));
      return (i / width / count * rows + static_cast<std::size_t>(p)) * width + i % width;
    };
    if (gathers) return taken(k, n, [&](std::size_t i) { return std::pair(0, among_rows(i)); });
    std::vector<std::vector<std::size_t>> from(n);
    for (std::size_t i = 0; i < in(k, 0).size(); ++i) from[among_rows(i)].push_back(i);
    if (writes)
      return taken(k, n, [&](std::size_t i) { return from[i].empty() ? std::pair(2, i) : std::pair(0, from[i].back()); });
    return one_by_one(n, [&](std::size_t i) {
      bool zero = g_.op(k).computes == arithmetic::sum || g_.op(k).scalar == nullptr;
      for (const std::size_t j : from[i]) {
        zero = zero && in(k, 0).is_zero(j);
        set_.add(in(k, 0), j);
      }
      return zero;
    });
  }
  /// An element of a product with a triangle depends on the part of a row, or of a column, that the triangle has.
  constexpr element_sets triangle(int k, const extent_list& out, std::size_t n) {
    const move_call call{nullptr, out, g_.eq[k].attr};
    const auto rank = [&](int j) { return g_.shape_of(g_.operand(k, j)).rank; };
    if (call.attr[0] & from_product) return by_blocks(k, n, 1, 2);
    const triangle_chains chains(call, rank(0), rank(1));
    return one_by_one(n, [&](std::size_t i) {
      chains.each_link(i, [&](std::size_t t, std::size_t x, bool is_one) {
        if (!is_one) set_.add(in(k, 0), t);
        set_.add(in(k, 1), x);
      });
      return false;
    });
  }
  /// An element of a product depends on a row of x and on a column of y.
  constexpr element_sets contract(int k, const extent_list& out, std::size_t n) {
    const extent_list x = extents(g_.operand(k, 0));
    const int r = out.rank;
    const bool tx = g_.eq[k].attr[0] & left_transposed, ty = g_.eq[k].attr[0] & right_transposed;
    const std::size_t rows = out.e[r - 2], columns = out.e[r - 1], length = x.e[tx ? r - 2 : r - 1];
    if (!in(k, 0).zero.empty() || !in(k, 1).zero.empty())  // only products without a zero count
      return one_by_one(n, [&](std::size_t i) {
        const std::size_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
        const std::size_t x0 = batch * rows * length, y0 = batch * length * columns;
        bool zero = true;
        for (std::size_t q = 0; q < length; ++q) {
          const std::size_t a = x0 + (tx ? q * rows + row : row * length + q), b = y0 + (ty ? column * length + q : q * columns + column);
          if (in(k, 0).is_zero(a) || in(k, 1).is_zero(b)) continue;
          zero = false;
          set_.add(in(k, 0), a);
          set_.add(in(k, 1), b);
        }
        return zero;
      });
    const element_sets of_rows = one_by_one(n / std::max<std::size_t>(columns, 1), [&](std::size_t i) {
      const std::size_t first = i / rows * rows * length + (tx ? i % rows : i % rows * length);
      for (std::size_t q = 0; q < length; ++q) set_.add(in(k, 0), first + q * (tx ? rows : 1));
    });
    const element_sets of_columns = one_by_one(n / std::max<std::size_t>(rows, 1), [&](std::size_t i) {
      const std::size_t first = i / columns * columns * length + (ty ? i % columns * length : i % columns);
      for (std::size_t q = 0; q < length; ++q) set_.add(in(k, 1), first + q * (ty ? 1 : columns));
    });
    return one_by_one(n, [&](std::size_t i) {
      set_.add(of_rows, i / columns);
      set_.add(of_columns, i / (rows * columns) * columns + i % columns);
    });
  }

  const graph& g_;
  vec<std::size_t> symbols_;
  known_values known_;
  std::vector<element_sets> of_;
  std::vector<int> last_;  // the last equation that reads each one
  std::vector<std::vector<element_sets>> loops_;
  std::vector<std::vector<dependence_finder>> inside_;  // of the body of a loop
  const std::vector<const element_sets*>* given_ = nullptr;
  united_set set_;
  std::size_t found_ = 0, limit_ = static_cast<std::size_t>(-1);  // elements of sets
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
