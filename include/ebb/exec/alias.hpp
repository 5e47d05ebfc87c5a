// ebb/exec/alias.hpp — whether a result may be written over an argument of the same call.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The first write to a result's memory, by temporaries in it too (see [note: memory is handed over]), or the last read of an argument.
struct memory_use : step_use {
  int shape = -1;         // -1: no step writes the result (it is a copy), or no step reads the argument
  std::size_t bytes = 0;  // of an element
};

/// Whether result `o` may be in the memory of argument `a`: then p = p - lr * g needs no copy of p.
constexpr bool may_overwrite(const memory_use& o, const memory_use& a) {
  if (a.shape < 0) return true;
  return o.shape == a.shape && o.bytes == a.bytes && may_follow(a, o);
}

/// The uses of all results and arguments, found in one walk over the steps. `p` is a plan or a frozen plan, n are the sizes of its lists.
class memory_uses {
 public:
  constexpr memory_uses(const auto& p, const plan_size& n, int results, int arguments)
      : written(results, memory_use{}), read(arguments, memory_use{}), runs_(n.blocks) {
    const vec<int> band = bands_of_steps(p, n.steps, n.bands);
    for (int b = 0; b < n.buffers; ++b) {
      const plan_buffer& x = p.buffers.data()[b];
      const bool result = x.is == plan_buffer::role::result;
      if (!result && x.is != plan_buffer::role::argument) continue;
      memory_use& u = result ? written[x.number] : read[x.number];
      u.shape = x.shape;
      u.bytes = size_of(x.type);
      if (result) u.step = u.band = n.steps;
    }
    for (int s = 0; s < n.steps; ++s) see_step(p, s, n.steps, band[s]);
    for (int c = 0; c < n.copies; ++c)
      if (const plan_buffer& x = p.buffers.data()[owner_of(p.buffers, p.copies.data()[c].buffer)]; x.is == plan_buffer::role::argument)
        read[x.number].step = read[x.number].band = n.steps;  // after all others
  }

  vec<memory_use> written, read;

 private:
  constexpr void see_step(const auto& p, int s, int steps, int band) {
    const int run = run_with(p.blocks, runs_, s);
    const auto reads = [&](int part, bool in_place) {
      const int b = part < 0 ? part : owner_of(p.buffers, part);
      if (b < 0 || p.buffers.data()[b].is != plan_buffer::role::argument) return;
      if (b != part) in_place = false;
      memory_use& u = read[p.buffers.data()[b].number];
      if (run >= 0 && p.buffers.data()[part].rows == row_use::none) {
        u.step = u.band = p.blocks.data()[run].first + p.blocks.data()[run].count - 1;
        u.in_place = false;
      } else if (u.step > s) return;  // all blocks read it
      else if (u.step == s) u.in_place = u.in_place && in_place;
      else {
        u.alone = u.band != band;
        u.step = s;
        u.band = band;
        u.in_place = in_place;
      }
    };
    // Blocks that write all of a result need no rule: an argument of its shape has no rows either, so it is read until the last block ends.
    const auto writes = [&](int part, bool in_place) {
      const int b = owner_of(p.buffers, part);
      if (p.buffers.data()[b].is != plan_buffer::role::result) return;
      memory_use& u = written[p.buffers.data()[b].number];
      if (u.step == steps) {
        u.step = s;
        u.band = band;
        u.in_place = in_place;
      } else if (u.band == band) u.alone = false;
    };
    const plan_step& x = p.steps.data()[s];
    if (x.nest < 0) {
      for (int j = 0; j < x.joined.count; ++j) reads(p.joined.data()[x.joined.first + j], x.onto >= 0 && j == 2);
      for (int j = x.made.first; j < x.made.first + x.made.count; ++j) writes(p.joined.data()[j], false);
      if (x.out >= 0) writes(x.out, x.onto >= 0);
      return;
    }
    const nest& n = p.nests.data()[x.nest];
    const int all = (1 << n.loops) - 1;
    for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i) reads(p.loads.data()[i].buffer, p.loads.data()[i].along == all);
    for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i) {
      const nest_store& to = p.stores.data()[i];
      writes(to.buffer, to.joined.count == 0);
    }
    for (int i = n.reduces.first; i < n.reduces.first + n.reduces.count; ++i) writes(p.reduces.data()[i].buffer, false);
  }

  int runs_;
};

/// The same as constants of a program.
template <class P>
class overwrites {
  struct uses {
    std::array<memory_use, static_cast<std::size_t>(P::results) + 1> written{};
    std::array<memory_use, static_cast<std::size_t>(P::arguments) + 1> read{};
  };
  static constexpr uses all = [] {
    const memory_uses found(P::plan, P::plan.size, P::results, P::arguments);
    uses u;
    for (int o = 0; o < P::results; ++o) u.written[static_cast<std::size_t>(o)] = found.written[o];
    for (int a = 0; a < P::arguments; ++a) u.read[static_cast<std::size_t>(a)] = found.read[a];
    return u;
  }();

 public:
  static constexpr const memory_use* written() { return all.written.data(); }
  static constexpr const memory_use* read() { return all.read.data(); }
  static constexpr bool may(int o, int a) {
    return may_overwrite(all.written[static_cast<std::size_t>(o)], all.read[static_cast<std::size_t>(a)]);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
