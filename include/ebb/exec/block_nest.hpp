// ebb/exec/block_nest.hpp — interprets one loop nest of a plan at run time: block by block, each op by its block function.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a nest in blocks]
// The innermost loop is cut into blocks that fit into the first-level cache. For each block all ops of the nest run one after the other,
// from arrays and blocks in an arena into blocks. Values, the order of sums included, are those of the compiled nest: both follow
// [note: one nest for each group] and [note: logical reduction tree], and no block function crosses elements.
#pragma once

#include "../graph/graph.hpp"
#include "../kernel/move.hpp"
#include "../kernel/workspace.hpp"
#include "../plan/plan.hpp"
#include "block_run.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI::detail {

class block_nest {
 public:
  EBB_ONCE_CTOR block_nest(const graph& g, const plan& p, int number, std::size_t block)
      : g_(&g), p_(&p), n_(&p.nests[number]), block_(block) {
    in_ = vec<const char*>(n_->loads.count, nullptr);
    filled_ = in_;
    red_ = vec<char*>(n_->reduces.count, nullptr);
    out_ = vec<char*>(n_->stores.count, nullptr);
    runs_ = vec<block_run>(n_->reduces.count, block_run{});
    int slots = 0;
    for (int t = 0; t < 7; ++t) {
      first_slot_[t] = slots;
      slots += n_->slots[t];
    }
    at_ = vec<char*>(slots, nullptr);
    own_ = vec<std::ptrdiff_t>(slots, -1);
    place_constants();
    place_values(slots);
  }

  /// The bytes of run()'s arena. Nests share one: its contents live for one run.
  std::size_t arena_bytes() const { return arena_bytes_; }

  EBB_ONCE void run(void* const* buffer, const std::size_t* symbol, char* arena) {
    for (int l = 0; l < n_->loops; ++l) {
      extent_[l] = 1;
      for (int a = n_->axis[l]; a < n_->axis[l + 1]; ++a) extent_[l] *= extent_value(g_->shapes[n_->shape].e[a], symbol);
      index_[l] = 0;
    }
    for (int i = 0; i < at_.size(); ++i)
      if (own_[i] >= 0) at_[i] = arena + own_[i];
    for (int i = 0; i < in_.size(); ++i) {
      const nest_load& x = load(i);
      in_[i] = x.source == nest_load::from::array ? static_cast<const char*>(buffer[x.buffer]) : nullptr;
      filled_[i] = nullptr;
      if (x.source == nest_load::from::literal) at(x.to) = constants_ + static_cast<std::ptrdiff_t>(i) * constant_bytes();
    }
    for (int i = 0; i < red_.size(); ++i) red_[i] = static_cast<char*>(buffer[reduce(i).buffer]);
    for (int i = 0; i < out_.size(); ++i) out_[i] = static_cast<char*>(buffer[store(i).buffer]);
    symbol_ = symbol;
    walk(0);
  }

 private:
  const nest_load& load(int i) const { return p_->loads[n_->loads.first + i]; }
  const nest_compute& compute(int i) const { return p_->computes[n_->computes.first + i]; }
  const nest_reduce& reduce(int i) const { return p_->reduces[n_->reduces.first + i]; }
  const nest_store& store(int i) const { return p_->stores[n_->stores.first + i]; }
  int number_of(slot s) const { return first_slot_[static_cast<int>(s.type)] + s.number; }
  char*& at(slot s) { return at_[number_of(s)]; }
  /// f(number) for each slot that store i writes.
  void each_stored(int i, auto&& f) const {
    const nest_store& x = store(i);
    if (x.joined.count == 0) f(number_of(x.from));
    for (int c = 0; c < x.joined.count; ++c) f(number_of({x.from.type, p_->joined[x.joined.first + c]}));
  }
  int inner() const { return n_->loops - 1; }
  int all_loops() const { return (1 << n_->loops) - 1; }
  static int kept_loops(const nest& n, const nest_reduce& r) {
    return ((1 << n.loops) - 1) & ~(((1 << r.last) - 1) & ~((1 << r.first) - 1));
  }
  EBB_ONCE bool has_run() const {
    for (int i = 0; i < red_.size(); ++i)
      if (reduce(i).run) return true;
    return false;
  }
  /// Whether lanes are loaded with a step, or backwards, or with zeros around.
  bool has_step(const nest_load& x) const {
    return x.view >= 0 && (x.along >> inner() & 1) && (!p_->views[x.view].along[inner()].is(1) || has_zeros(p_->views[x.view]));
  }
  bool is_array(int i) const {
    return load(i).source == nest_load::from::array && (load(i).along >> inner() & 1) && !has_step(load(i));
  }
  std::ptrdiff_t constant_bytes() const { return static_cast<std::ptrdiff_t>(block_ * 8); }

  /// Writes literals, once, and places the states of reductions.
  EBB_ONCE void place_constants() {
    std::size_t bytes = static_cast<std::size_t>(in_.size()) * block_ * 8;
    const std::size_t states = bytes;
    for (int i = 0; i < red_.size(); ++i)
      if (reduce(i).run) bytes += block_run::bytes(8);
    constants_ = own_memory_.take(bytes);
    for (int i = 0; i < in_.size(); ++i)
      if (load(i).source == nest_load::from::literal)
        fill(constants_ + static_cast<std::ptrdiff_t>(i) * constant_bytes(), load(i).bits, size_of(load(i).to.type), block_);
    char* state = constants_ + states;
    for (int i = 0; i < red_.size(); ++i) {
      if (!reduce(i).run) continue;
      runs_[i] = {state, logical_lanes * size_of(reduce(i).type)};
      state += block_run::bytes(8);
    }
  }

  /// Assigns a block of the arena to each slot that is not an array. A block is free again after its slot's last reader.
  EBB_ONCE void place_values(int slots) {
    vec<int> last(slots, -1);
    for (int c = 0; c < n_->computes.count; ++c)
      for (int j = 0; j < compute(c).count; ++j) last[number_of(compute(c).in[j])] = c;
    const int end = n_->computes.count;
    for (int i = 0; i < red_.size(); ++i) last[number_of(reduce(i).in)] = end;
    for (int i = 0; i < out_.size(); ++i) each_stored(i, [&](int s) { last[s] = end; });
    for (int i = 0; i < in_.size(); ++i)
      if (!is_array(i) && load(i).source != nest_load::from::literal) own_[number_of(load(i).to)] = new_block(load(i).to.type);
    vec<char> computed(slots, 0);
    vec<std::ptrdiff_t> free[9];  // by the size of an element
    for (int c = 0; c < end; ++c) {
      const nest_compute& x = compute(c);
      for (int j = 0; j < x.count; ++j) {
        const int s = number_of(x.in[j]);
        bool repeated = false;
        for (int k = 0; k < j; ++k) repeated = repeated || number_of(x.in[k]) == s;
        if (last[s] == c && computed[s] && !repeated) free[size_of(x.in[j].type)].push(own_[s]);
      }
      vec<std::ptrdiff_t>& available = free[size_of(x.to.type)];
      own_[number_of(x.to)] = available.empty() ? new_block(x.to.type) : available.pop();
      computed[number_of(x.to)] = 1;
    }
  }
  EBB_ONCE std::ptrdiff_t new_block(dtype type) {
    const std::size_t at = arena_bytes_;
    arena_bytes_ += (block_ * size_of(type) + 63) / 64 * 64;
    return static_cast<std::ptrdiff_t>(at);
  }

  /// Bytes between two indices of loop l, for an array that varies along the loops in `along`.
  EBB_ONCE std::ptrdiff_t stride(std::size_t size, int along, int l) const {
    if (!(along >> l & 1)) return 0;
    for (int k = l + 1; k < n_->loops; ++k)
      if (along >> k & 1) size *= extent_[k];
    return static_cast<std::ptrdiff_t>(size);
  }
  /// The same, but with the strides of that view if there is one.
  EBB_ONCE std::ptrdiff_t stride_of(int number, dtype type, int along, int l) const {
    const std::size_t size = size_of(type);
    return number < 0 ? stride(size, along, l) : p_->views[number].along[l].value(symbol_) * static_cast<std::ptrdiff_t>(size);
  }
  EBB_ONCE std::ptrdiff_t stride_of_load(int i, int l) const { return stride_of(load(i).view, load(i).to.type, load(i).along, l); }
  /// Moves all pointers by `count` indices of loop l.
  EBB_ONCE void advance(int l, std::ptrdiff_t count) {
    for (int i = 0; i < in_.size(); ++i)
      if (load(i).source == nest_load::from::array) in_[i] += count * stride_of_load(i, l);
    for (int i = 0; i < red_.size(); ++i) red_[i] += count * stride(size_of(reduce(i).type), kept_loops(*n_, reduce(i)), l);
    for (int i = 0; i < out_.size(); ++i) out_[i] += count * stride_of(store(i).view, store(i).from.type, all_loops(), l);
    index_[l] += static_cast<std::size_t>(count);
  }

  EBB_ONCE void walk(int l) {
    for (int i = 0; i < red_.size(); ++i)
      if (!reduce(i).run && reduce(i).first == l) begin_rows(i);
    const bool runs = l == n_->run_from && has_run();
    if (runs) begin_run();
    if (l == inner()) row();
    else {
      for (std::size_t i = 0; i < extent_[l]; ++i) {
        walk(l + 1);
        advance(l, 1);
      }
      advance(l, -static_cast<std::ptrdiff_t>(extent_[l]));
    }
    if (runs) end_run();
  }
  EBB_ONCE void begin_rows(int i) const {
    std::size_t count = 1;
    for (int k = reduce(i).last; k < n_->loops; ++k) count *= extent_[k];
    fill(red_[i], reduce(i).identity, size_of(reduce(i).type), count);
  }
  EBB_ONCE void begin_run() {
    run_index_ = leaves_ = 0;
    for (int i = 0; i < red_.size(); ++i)
      if (reduce(i).run) runs_[i].clear(reduce(i));
  }
  EBB_ONCE void end_run() {
    for (int i = 0; i < red_.size(); ++i)
      if (reduce(i).run) runs_[i].end(reduce(i), leaves_, red_[i]);
  }

  EBB_ONCE void row() {
    const std::size_t count = extent_[inner()];
    if (count == 0) return;
    for (int i = 0; i < in_.size(); ++i) repeat_value(i, std::min(block_, count));
    for (std::size_t j = 0; j < count; j += block_) step(j, std::min(block_, count - j));
  }
  /// Fills a block with a value that does not vary along the row.
  EBB_ONCE void repeat_value(int i, std::size_t n) {
    const nest_load& x = load(i);
    if (x.along >> inner() & 1) return;
    if (x.source == nest_load::from::index) {
      int l = 0;
      while (!(x.along >> l & 1)) ++l;
      fill_indices(at(x.to), x.to.type, index_[l], 0, n);
    } else if (x.source == nest_load::from::array && filled_[i] != in_[i]) {
      fill(at(x.to), in_[i], size_of(x.to.type), n);
      filled_[i] = in_[i];
    }
  }
  /// Elements [j, j + n) of the row.
  EBB_ONCE void step(std::size_t j, std::size_t n) {
    for (int i = 0; i < in_.size(); ++i) {
      const nest_load& x = load(i);
      if (!(x.along >> inner() & 1)) continue;
      if (has_step(x) && has_zeros(p_->views[x.view])) copy_placed(x, in_[i], j, n);
      else if (has_step(x)) copy_with_step(x, in_[i], stride_of_load(i, inner()), j, n);
      else if (x.source == nest_load::from::array) at(x.to) = const_cast<char*>(in_[i]) + j * size_of(x.to.type);
      if (x.source == nest_load::from::index) fill_indices(at(x.to), x.to.type, index_[inner()] + j, 1, n);
    }
    for (int c = 0; c < n_->computes.count; ++c) {
      const nest_compute& x = compute(c);
      const void* given[3] = {};
      for (int k = 0; k < x.count; ++k) given[k] = at(x.in[k]);
      x.block(given, at(x.to), n);
    }
    add_to_rows(j, n);
    add_to_runs(n);
    // Joined stores come first: they may copy operands from memory that the other stores overwrite.
    for (int i = 0; i < out_.size(); ++i)
      if (store(i).joined.count > 0) store_joined(i, j, n);
    for (int i = 0; i < out_.size(); ++i) {
      const std::size_t size = size_of(store(i).from.type);
      if (store(i).joined.count == 0) kernel::copy_row(out_[i] + j * size, at(store(i).from), n * size);
    }
  }
  EBB_ONCE void store_joined(int i, std::size_t j, std::size_t n) {
    const std::size_t size = size_of(store(i).from.type), count = static_cast<std::size_t>(store(i).joined.count);
    strided_copy box;
    box.rank = 1;
    box.extent[0] = n;
    box.from[0] = 1;
    box.to[0] = static_cast<std::ptrdiff_t>(count);
    char* to = out_[i] + j * count * size;
    each_stored(i, [&](int s) {
      kernel::copy(box, at_[s], to, size);
      to += size;
    });
  }
  /// The elements of a place, see [note: zeros around].
  EBB_ONCE void copy_placed(const nest_load& x, const char* row, std::size_t j, std::size_t n) {
    const std::size_t size = size_of(x.to.type);
    std::memset(at(x.to), 0, n * size);
    std::ptrdiff_t begin = 0, end = static_cast<std::ptrdiff_t>(n);
    for (int l = 0; l < n_->loops; ++l) {
      const placed_rows& rows = p_->views[x.view].placed[l];
      if (!rows.some) continue;
      const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index_[l] + (l == inner() ? j : 0)) - rows.first;
      const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(extent_value(rows.count, symbol_)) - first;
      if (l == inner()) {
        begin = std::max<std::ptrdiff_t>(begin, -first);
        end = std::min(end, left);
      } else if (first < 0 || left <= 0) end = 0;
    }
    if (begin < end && x.source == nest_load::from::placed) {
      fill(at(x.to) + static_cast<std::size_t>(begin) * size, x.bits, size, static_cast<std::size_t>(end - begin));
    } else if (begin < end) {
      const char* const from = row + (static_cast<std::ptrdiff_t>(j) + begin) * static_cast<std::ptrdiff_t>(size);
      kernel::copy_row(at(x.to) + static_cast<std::size_t>(begin) * size, from, static_cast<std::size_t>(end - begin) * size);
    }
  }
  EBB_ONCE void copy_with_step(const nest_load& x, const char* row, std::ptrdiff_t bytes, std::size_t j, std::size_t n) {
    strided_copy box;
    box.rank = 1;
    box.extent[0] = n;
    box.from[0] = p_->views[x.view].along[inner()].value(symbol_);
    box.to[0] = 1;
    kernel::copy(box, row + bytes * static_cast<std::ptrdiff_t>(j), at(x.to), size_of(x.to.type));
  }
  EBB_ONCE void add_to_rows(std::size_t j, std::size_t n) {
    for (int i = 0; i < red_.size(); ++i) {
      if (reduce(i).run) continue;
      const void* const x[] = {at(reduce(i).in)};
      reduce(i).block(x, red_[i] + j * size_of(reduce(i).type), n);
    }
  }
  EBB_ONCE void add_to_runs(std::size_t n) {
    if (!has_run()) return;
    for (std::size_t done = 0; done < n;) {
      const std::size_t room = leaf_length - run_index_ % leaf_length, count = std::min(n - done, room);
      for (int i = 0; i < red_.size(); ++i) {
        const nest_reduce& r = reduce(i);
        if (!r.run) continue;
        r.accumulate(runs_[i].rest, at(r.in) + done * size_of(r.in.type), count, run_index_ % logical_lanes);
        if (count == room) runs_[i].end_leaf(r, leaves_);
      }
      if (count == room) ++leaves_;
      done += count;
      run_index_ += count;
    }
  }

  const graph* g_;
  const plan* p_;
  const nest* n_;
  std::size_t block_, arena_bytes_ = 0;
  int first_slot_[7] = {};
  vec<char*> at_;                // the current address of each slot's elements
  vec<std::ptrdiff_t> own_;      // its block in the arena, or -1
  vec<const char*> in_, filled_;  // of each load: the current row, and the row that filled its block
  vec<char*> red_, out_;
  vec<block_run> runs_;
  workspace own_memory_;         // literals, states of reductions
  char* constants_ = nullptr;
  std::size_t extent_[max_rank] = {}, index_[max_rank] = {};
  const std::size_t* symbol_ = nullptr;
  std::size_t run_index_ = 0, leaves_ = 0;
};

}  // namespace ebb::inline EBB_ABI::detail
