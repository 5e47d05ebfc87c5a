// ebb/sparse/dependence.hpp — which elements of an argument each element of a result depends on, found from the program.
// SPDX-License-Identifier: BSL-1.0
//
// [note: dependence by elements]
// The program runs on sets of element numbers instead of numbers. An elementwise op unites the sets of its operands, element by element; a
// sum those that it adds; a move takes them along. Rows by index go where the indices say, if these are computed from integers alone: then
// the pattern is that of the integers in the call. Other indices, loops, custom functions and decompositions make each element of a result
// depend on all that their operands depend on. So a set may be too large, and is never too small: no set depends on the value of a float.
#pragma once

#include "../exec/evaluate.hpp"
#include "../pass/prune.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A set of numbers for each element of an array, each in rising order.
struct element_sets {
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> number;
  std::size_t size() const { return starts.size() - 1; }
  const std::uint32_t* begin(std::size_t i) const { return number.data() + starts[i]; }
  const std::uint32_t* end(std::size_t i) const { return number.data() + starts[i + 1]; }
};

/// A set that is being united.
class united_set {
 public:
  void clear() { all_.clear(); }
  void add(const element_sets& s, std::size_t i) {
    const std::uint32_t *from = s.begin(i), *to = s.end(i);
    if (from == to || (static_cast<std::size_t>(to - from) == all_.size() && std::equal(from, to, all_.begin()))) return;
    sorted_ = all_.empty();
    all_.insert(all_.end(), from, to);
    if (all_.size() > limit_) sort();
  }
  void append_to(element_sets& s) {
    sort();
    s.number.insert(s.number.end(), all_.begin(), all_.end());
    s.starts.push_back(s.number.size());
  }

 private:
  void sort() {
    if (!sorted_) {
      std::sort(all_.begin(), all_.end());
      all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    }
    sorted_ = true;
    limit_ = 4 * all_.size() + 1024;
  }
  std::vector<std::uint32_t> all_;
  bool sorted_ = true;
  std::size_t limit_ = 1024;
};

class dependence_finder {
 public:
  /// The sets of the first output of g by the elements of argument `wrt`. cells: the arguments.
  dependence_finder(const graph& g, int wrt, const vec<extent_list>& arguments, const vec<cell_array>& cells)
      : g_(g), wrt_(wrt), symbols_(ebb::symbol_values(g, arguments, cells)), of_(static_cast<std::size_t>(g.size())),
        integers_(static_cast<std::size_t>(g.size())), last_(static_cast<std::size_t>(g.size()), 0) {
    for (int k = 0; k < g.size(); ++k) {
      for (const int j : g.operands(k)) last_[at(j)] = k;
      integers_[at(k)] = is_of_integers(k);
    }
    for (const int o : g.out) last_[at(o)] = g.size();
    evaluate_places(cells);
    for (int k = 0; k < g.size(); ++k) {
      of_[at(k)] = find(k);
      for (const int j : g.operands(k))
        if (last_[at(j)] == k) of_[at(j)] = {};
    }
  }
  const element_sets& result() const { return of_[at(g_.out[0])]; }

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  extent_list extents(int k) const { return extents_at(g_.shape_of(k), symbols_.data()); }
  const element_sets& in(int k, int j) const { return of_[at(g_.operand(k, j))]; }
  bool is_real(int k) const {
    const dtype d = g_.op(k).result;
    return d != dtype::i32 && d != dtype::i64 && d != dtype::boolean;
  }
  /// Whether no float decides the value of k.
  bool is_of_integers(int k) const {
    if (g_.op(k).what == kind::input) return !is_real(k);
    for (const int j : g_.operands(k))
      if (!integers_[at(j)]) return false;
    return true;
  }
  bool has_places(int k) const {
    const kind what = g_.op(k).what;
    return what == kind::gather || what == kind::scatter;
  }
  void evaluate_places(const vec<cell_array>& cells) {
    graph h = g_;
    h.out = {};
    for (int k = 0; k < g_.size(); ++k)
      if (has_places(k) && integers_[at(g_.operand(k, 1))]) h.out.push(g_.operand(k, 1));
    if (h.out.empty()) return;
    const vec<int> names = h.out;
    const vec<cell_array> values = evaluate(prune(h), cells, symbols_);
    places_.resize(at(g_.size()));
    for (int i = 0; i < names.size(); ++i) {
      const cell_array& v = values[i];
      const bool is_short = g_.op(names[i]).result == dtype::i32;
      std::vector<std::int64_t>& to = places_[at(names[i])];
      to.clear();
      for (int j = 0; j < v.size(); ++j)
        to.push_back(is_short ? std::int64_t{from_cell<std::int32_t>(v[j])} : from_cell<std::int64_t>(v[j]));
    }
  }

  element_sets none(std::size_t n) const {
    element_sets r;
    r.starts.assign(n + 1, 0);
    return r;
  }
  element_sets one_by_one(std::size_t n, auto&& unite) {
    element_sets r;
    r.starts.reserve(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      set_.clear();
      unite(i);
      set_.append_to(r);
    }
    return r;
  }
  /// All arrays in this number of equal blocks: each element of a block depends on its block of each operand, or on all of an operand that
  /// has no such blocks. operands: how many of them count.
  element_sets by_blocks(int k, std::size_t n, std::size_t blocks, int operands) {
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

  element_sets find(int k) {
    const equation& e = g_.eq[k];
    const extent_list out = extents(k);
    const std::size_t n = out.volume();
    switch (e.op->what) {
      case kind::input:
        if (static_cast<int>(e.attr[0]) != wrt_) return none(n);
        return identity(n);
      case kind::literal: case kind::index: return none(n);
      case kind::loop: case kind::custom: return united_operands(k);
      case kind::result: {
        element_sets& all = of_[at(g_.operand(k, 0))];
        return is_real(k) ? one_by_one(n, [&](std::size_t) { set_.add(all, 0); }) : none(n);
      }
      default: break;
    }
    if (!is_real(k) || e.op->stops) return none(n);
    switch (e.op->what) {
      case kind::elementwise:
        return one_by_one(n, [&](std::size_t i) {
          for (int j = 0; j < e.count; ++j) set_.add(in(k, j), i);
        });
      case kind::broadcast: return broadcast(k, out, n);
      case kind::reduce: {
        const extent_list x = extents(g_.operand(k, 0));
        const std::size_t length = x.volume(static_cast<int>(e.attr[0]), static_cast<int>(e.attr[1]));
        const std::size_t inner = x.volume(static_cast<int>(e.attr[1]), x.rank);
        return one_by_one(n, [&](std::size_t i) {
          for (std::size_t q = 0; q < length; ++q) set_.add(in(k, 0), (i / inner * length + q) * inner + i % inner);
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
      case kind::reshape: return one_by_one(n, [&](std::size_t i) { set_.add(in(k, 0), i); });
      case kind::move: return move(k, out, n);
      case kind::gather: case kind::scatter: return by_index(k, out, n);
      case kind::contract: return contract(k, out, n);
      case kind::rows: return by_blocks(k, n, out.volume(0, out.rank - 1), e.count);
      case kind::solve: return by_blocks(k, n, out.volume(0, out.rank - 2), e.count);
      case kind::factor: {
        const extent_list x = extents(g_.operand(k, 0));
        return by_blocks(k, n, x.volume(0, x.rank - 2), e.count);
      }
      default: return by_blocks(k, n, 1, e.count);
    }
  }
  static element_sets identity(std::size_t n) {
    element_sets r;
    for (std::size_t i = 0; i < n; ++i) {
      r.number.push_back(static_cast<std::uint32_t>(i));
      r.starts.push_back(i + 1);
    }
    return r;
  }
  /// One set, of all that decides the results of a loop or a custom function.
  element_sets united_operands(int k) {
    const equation& e = g_.eq[k];
    return one_by_one(1, [&](std::size_t) {
      for (int j = 0; j < e.count; ++j)
        for (std::size_t i = 0; i < in(k, j).size(); ++i) set_.add(in(k, j), i);
    });
  }
  element_sets broadcast(int k, const extent_list& out, std::size_t n) {
    const std::int64_t repeated = g_.eq[k].attr[0];
    std::size_t strides[max_rank] = {}, step = 1;
    for (int a = out.rank - 1; a >= 0; --a) {
      if (repeated >> a & 1) continue;
      strides[a] = step;
      step *= out.e[a];
    }
    return one_by_one(n, [&](std::size_t i) {
      std::size_t from = 0;
      for (int a = out.rank - 1; a >= 0; i /= out.e[a--]) from += i % out.e[a] * strides[a];
      set_.add(in(k, 0), from);
    });
  }
  element_sets move(int k, const extent_list& out, std::size_t n) {
    vec<extent_list> given;
    for (const int i : g_.operands(k)) given.push(extents(i));
    const move_call call{given.data(), out, g_.eq[k].attr};
    std::vector<std::pair<int, std::size_t>> from(n, {-1, 0});
    for (int j = 0; j < g_.eq[k].count; ++j)
      each_element(g_.op(k).copy(call, j), [&](std::ptrdiff_t x, std::ptrdiff_t to) {
        from[static_cast<std::size_t>(to)] = {j, static_cast<std::size_t>(x)};
      });
    return one_by_one(n, [&](std::size_t i) {
      if (from[i].first >= 0) set_.add(in(k, from[i].first), from[i].second);
    });
  }
  element_sets by_index(int k, const extent_list& out, std::size_t n) {
    const bool gathers = g_.op(k).what == kind::gather;
    const int names = g_.operand(k, 1), own = static_cast<int>(g_.eq[k].attr[0]);
    if (!integers_[at(names)]) return by_blocks(k, n, out.volume(0, own), 1);
    const extent_list x = gathers ? extents(g_.operand(k, 0)) : out, index = extents(names);
    const std::size_t width = x.volume(own + 1, x.rank), count = index.volume(own, index.rank), rows = x.e[own];
    const std::vector<std::int64_t>& place = places_[at(names)];
    const auto among_rows = [&](std::size_t i) {
      const std::int64_t p = place[i / width];
      if (p < 0 || static_cast<std::size_t>(p) >= rows)
        raise("ebb::sparse_jacobian, sparse_hessian: there is no place " + std::to_string(p));
      return (i / width / count * rows + static_cast<std::size_t>(p)) * width + i % width;
    };
    if (gathers) return one_by_one(n, [&](std::size_t i) { set_.add(in(k, 0), among_rows(i)); });
    std::vector<std::vector<std::size_t>> from(n);
    for (std::size_t i = 0; i < in(k, 0).size(); ++i) from[among_rows(i)].push_back(i);
    return one_by_one(n, [&](std::size_t i) {
      for (const std::size_t j : from[i]) set_.add(in(k, 0), j);
    });
  }
  /// An element of a product depends on a row of x and on a column of y.
  element_sets contract(int k, const extent_list& out, std::size_t n) {
    const extent_list x = extents(g_.operand(k, 0));
    const int r = out.rank;
    const bool tx = g_.eq[k].attr[0] & 1, ty = g_.eq[k].attr[0] & 2;
    const std::size_t rows = out.e[r - 2], columns = out.e[r - 1], length = x.e[tx ? r - 2 : r - 1];
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
  int wrt_;
  vec<std::size_t> symbols_;
  std::vector<element_sets> of_;
  std::vector<char> integers_;
  std::vector<int> last_;  // the last equation that reads each one
  std::vector<std::vector<std::int64_t>> places_;
  united_set set_;
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
