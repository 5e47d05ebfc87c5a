// test/plan/simulate.hpp — runs a plan on memory that knows only what is stored where: every read must find its own array.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/plan/plan.hpp>

#include <map>
#include <utility>
#include <vector>

namespace test {

/// Two blocks of rows stand for all. A place for the rows of one block is one cell, other memory is two: an array that blocks use by rows
/// touches the cell of its block, others touch both. Bands take turns in another way: plans with bands are not for this.
class plan_simulation {
 public:
  explicit plan_simulation(const ebb::plan& p) : p_(p) {}

  /// Whether all arrays survive until they are read last, if result `o` is in the memory of argument `a`; -1: in memory of its own.
  bool keeps_values(int o = -1, int a = -1) {
    over_ = o;
    argument_ = a;
    memory_.clear();
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].is == role::argument) put(b, -1);
    for (int s = 0; s < p_.steps.size(); ++s) {
      const int run = ebb::run_with(p_.blocks, p_.blocks.size(), s), steps = run < 0 ? 1 : p_.blocks[run].count;
      for (int k = 0; k < 2 && run >= 0; ++k)
        for (int t = 0; t < steps; ++t)
          if (!runs(s + t, k)) return false;
      if (run < 0 && !runs(s, -1)) return false;
      s += steps - 1;
    }
    for (const ebb::plan_copy& c : p_.copies)
      if (!holds(c.buffer, -1)) return false;
    std::vector<char> seen(static_cast<std::size_t>(p_.buffers.size()));
    for (int b = 0; b < p_.buffers.size(); ++b) {
      const ebb::plan_buffer& x = p_.buffers[b];
      if (x.is != role::result || seen[static_cast<std::size_t>(x.number)]++) continue;  // the first one is the result itself
      if (!holds(b, -1)) return false;
    }
    return true;
  }

 private:
  using role = ebb::plan_buffer::role;
  using address = std::pair<role, int>;
  struct touch {
    int buffer = -1;
    bool by_element = false;
  };

  int owner(int b) const { return ebb::owner_of(p_.buffers, b); }
  address memory_of(int b) const {
    const ebb::plan_buffer& x = p_.buffers[owner(b)];
    if (x.is == role::result && x.number == over_) return {role::argument, argument_};
    return {x.is, x.number};
  }
  bool is_one_cell(int b) const {
    const ebb::plan_buffer& x = p_.buffers[owner(b)];
    return x.is == role::temporary && p_.places[x.number].rows == ebb::row_use::within;
  }
  bool touches(int b, int block, int cell) const { return block < 0 || p_.buffers[b].rows == ebb::row_use::none || cell == block; }
  /// The value that is stored for rows `cell` of b.
  int& stored(int b, int cell) { return memory_.try_emplace({memory_of(b), is_one_cell(b) ? 0 : cell}, -1).first->second; }

  void put(int b, int block) {
    for (int cell = 0; cell < 2; ++cell)
      if (touches(b, block, cell)) stored(b, cell) = 2 * owner(b) + cell;
  }
  bool holds(int b, int block) {
    for (int cell = 0; cell < 2; ++cell)
      if (touches(b, block, cell) && stored(b, cell) != 2 * owner(b) + cell) return false;
    return true;
  }
  bool meet(int b, int c, int block) const {
    if (owner(b) == owner(c) || memory_of(b) != memory_of(c)) return false;
    for (int cell = 0; cell < 2; ++cell)
      if (touches(b, block, cell) && touches(c, block, cell)) return true;
    return false;
  }
  bool runs(int s, int block) {
    const ebb::plan_step& x = p_.steps[s];
    std::vector<touch> reads, writes;
    if (x.nest < 0) {
      for (int j = 0; j < x.joined.count; ++j) {
        const int b = p_.joined[x.joined.first + j];
        reads.push_back({b, j == 2 && x.onto >= 0 && owner(b) == b});  // a product adds element by element
      }
      for (int j = 0; j < x.made.count; ++j) writes.push_back({p_.joined[x.made.first + j]});
      if (x.out >= 0) writes.push_back({x.out, x.onto >= 0});
    } else {
      const ebb::nest& n = p_.nests[x.nest];
      for (int i = 0; i < n.loads.count; ++i) {
        const ebb::nest_load& l = p_.loads[n.loads.first + i];
        if (l.buffer >= 0) reads.push_back({l.buffer, owner(l.buffer) == l.buffer && l.along == (1 << n.loops) - 1});
      }
      for (int i = 0; i < n.reduces.count; ++i) writes.push_back({p_.reduces[n.reduces.first + i].buffer});
      for (int i = 0; i < n.stores.count; ++i) {
        const int b = p_.stores[n.stores.first + i].buffer;
        writes.push_back({b, owner(b) == b});
      }
    }
    for (const touch& r : reads)
      if (r.buffer >= 0 && !holds(r.buffer, block)) return false;
    for (const touch& w : writes) {
      for (const touch& r : reads)
        if (r.buffer >= 0 && meet(w.buffer, r.buffer, block) && !(w.by_element && r.by_element)) return false;
      for (const touch& other : writes)
        if (meet(w.buffer, other.buffer, block)) return false;
      const bool goes_on = block == 1 && p_.buffers[w.buffer].rows == ebb::row_use::none;  // a sum over rows
      if (goes_on && !holds(w.buffer, block)) return false;
      put(w.buffer, block);
    }
    return true;
  }

  const ebb::plan& p_;
  int over_ = -1, argument_ = -1;
  std::map<std::pair<address, int>, int> memory_;
};

}  // namespace test
