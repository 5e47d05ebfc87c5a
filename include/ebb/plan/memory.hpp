// ebb/plan/memory.hpp — the memory of temporaries: that of a result that is not written yet, or a place that several share.
// SPDX-License-Identifier: BSL-1.0
//
// [note: memory is handed over]
// A buffer may take the memory of another one of its shape and element size: after the last step that uses the other, or in this very step
// if it is a nest that reads the other element by element at the place where it stores. A result's memory is free until the result is
// written: a temporary there is one array less in the caches. But a temporary must not take it so early that the result can no longer be
// written over an argument, see exec/alias.hpp. The steps of a band take turns and count as one: a vector that a product reads whole in
// each turn must outlive the band, even if its last reader reads it element by element. A buffer that all blocks of a run use lives from
// the first step of the run to the last.
//
// Each buffer gets the first room that it fits into. All is found in a few walks over the steps, because programs have hundreds of results
// and thousands of temporaries: a room that is free only after some band waits in the list of that band.
#pragma once

#include "step.hpp"

#include <bit>

namespace ebb::inline EBB_ABI::detail {

/// f(buffer) for each buffer that step s of a plan reads, then for each that it writes.
constexpr void each_buffer(const plan& p, const plan_step& s, auto&& f) {
  if (s.nest < 0) {
    for (int j = s.joined.first; j < s.joined.first + s.joined.count; ++j) f(p.joined.data()[j]);
    for (int j = s.made.first; j < s.made.first + s.made.count; ++j) f(p.joined.data()[j]);
    if (s.out >= 0) f(s.out);
    return;
  }
  const nest& n = p.nests.data()[s.nest];
  for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i)
    if (const int b = p.loads.data()[i].buffer; b >= 0) f(b);
  for (int i = n.reduces.first; i < n.reduces.first + n.reduces.count; ++i) f(p.reduces.data()[i].buffer);
  for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i) f(p.stores.data()[i].buffer);
}

/// f(step, buffer) for each buffer that a step of a plan writes.
constexpr void each_written(const plan& p, auto&& f) {
  for (int s = 0; s < p.steps.size(); ++s) {
    const plan_step& x = p.steps.data()[s];
    if (x.nest < 0) {
      for (int j = x.made.first; j < x.made.first + x.made.count; ++j) f(s, p.joined.data()[j]);
      if (x.out >= 0) f(s, x.out);
      continue;
    }
    const nest& n = p.nests.data()[x.nest];
    for (int i = n.reduces.first; i < n.reduces.first + n.reduces.count; ++i) f(s, p.reduces.data()[i].buffer);
    for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i) f(s, p.stores.data()[i].buffer);
  }
}

/// Whether the memory of a buffer has the rows of one block at a time: another block never looks at it. Other buffers that are used in
/// blocks are used by all of them, from the first step of the blocks to the last one.
constexpr bool is_by_block(const plan_buffer& b) {
  return b.rows == row_use::within || b.rows == row_use::result || (b.rows == row_use::beyond && b.is == plan_buffer::role::argument);
}

/// The first step of the band that each step belongs to, the step itself if there is none; one more for the end.
constexpr vec<int> bands_of_steps(const auto& p, int steps, int bands) {
  vec<int> r;
  r.reserve(steps + 1);
  for (int s = 0; s <= steps; ++s) r.push(s);
  for (int i = 0; i < bands; ++i) {
    const plan_band& b = p.bands.data()[i];
    for (int s = 0; s < b.count; ++s) r[b.first + s] = b.first;
  }
  return r;
}

/// A step that uses memory: the last one that reads it, or the first one that writes it.
struct step_use {
  int step = -1, band = -1;
  bool in_place = false;  // a nest, which does it element by element
  bool alone = true;      // no other step of its band does it
};

/// Whether `written` may write to the memory that `read` reads: all of it has been read before, or the writing step reads each element at
/// the place where it stores one. Steps of a band take turns: a reader has not finished when another step of its band writes.
constexpr bool may_follow(const step_use& read, const step_use& written) {
  return read.band < written.band || (read.step == written.step && read.in_place && written.in_place && read.alone && written.alone);
}

class memory_planner {
 public:
  constexpr explicit memory_planner(plan& p)
      : p_(p), steps_(p.steps.size()), band_(bands_of_steps(p, steps_, p.bands.size())), waiting_(steps_ + 2, -1) {}

  EBB_COLD constexpr void run() {
    find_uses();
    open_results();
    const auto settle_new = [&](int s, bool only_through) {
      each_buffer(p_, p_.steps[s], [&](int part) {
        const int b = owner_of(p_.buffers, part);
        if (p_.buffers[b].is == plan_buffer::role::temporary && p_.buffers[b].number < 0 && (!only_through || uses_[b].through)) settle(b);
      });
    };
    for (int s = 0; s < steps_; ++s) {
      free_until(band_[s]);
      for (const part& run : p_.blocks)
        for (int i = 0; i < run.count && run.first == s; ++i) settle_new(s + i, true);
      settle_new(s, false);
    }
  }

 private:
  /// The steps that use a buffer.
  struct use {
    int first = 0, last = -1;
    bool stored = false;         // the first one is a nest that stores it
    bool read_in_place = false;  // the last one is a nest that reads it element by element
    bool alone = true;           // and no other step of its band reads the memory's old contents
    bool through = false;        // used by all blocks of a run
    int kind = 0;                // equal: of one shape and element size, and both by block or not
    int room = -1;               // of a result
  };
  /// The last ones to read arguments of a kind: their band, and their step if it is one for all and reads them in place.
  struct readers {
    int band = -1, step = -1;
  };
  struct room_kind {
    readers now, before;        // in the band of the last one, and in the bands before that
    int read_in_place = -1;     // the last step that reads an argument in place
    vec<std::uint64_t> free;    // bits: the rooms that no buffer waits for
  };
  /// Memory for one buffer at a time.
  struct room {
    plan_buffer of;
    int kind = 0;
    int result = -1;  // the buffer that is there in the end; -1: a place
    int owner = -1;   // the one that was there last
    readers after{};  // of the arguments that the result may be written over
    int next = -1;    // in its list of those that wait
  };

  constexpr void find_uses() {
    int shapes = 0;
    for (const plan_buffer& b : p_.buffers) {
      use u;
      u.first = steps_;
      u.kind = 8 * b.shape + 4 * is_by_block(b) + std::countr_zero(size_of(b.type));
      uses_.push(u);
      if (b.shape >= shapes) shapes = b.shape + 1;
    }
    kinds_ = vec<room_kind>(8 * shapes, {});
    for (int s = 0; s < steps_; ++s)
      each_buffer(p_, p_.steps[s], [&](int part) {
        const int b = owner_of(p_.buffers, part);
        use& u = uses_.data()[b];
        if (s < u.first) u.first = s;
        const bool of_band = p_.buffers[b].is != plan_buffer::role::argument && band_[u.first] == band_[s];
        if (u.last != s) u.alone = u.last < 0 || band_[u.last] != band_[s] || of_band;
        u.last = s;
      });
    for (const plan_copy& c : p_.copies) uses_[owner_of(p_.buffers, c.buffer)].last = steps_;
    for (int s = 0; s < steps_; ++s) {
      if (p_.steps[s].nest >= 0) find_what_is_in_place(s, p_.nests[p_.steps[s].nest]);
      if (p_.steps[s].onto >= 0) add_in_place(s, p_.steps[s]);
    }
    for (const part& run : p_.blocks)
      for (int b = 0; b < uses_.size(); ++b) extend_over(run, b);
  }
  constexpr void extend_over(const part& run, int b) {
    use& u = uses_[b];
    const int first = run.first, last = first + run.count - 1;
    if (is_by_block(p_.buffers[b]) || u.first > last || u.last < first) return;
    u.through = true;
    if (u.first >= first) {
      u.first = first;
      u.stored = false;
    }
    if (u.last <= last) {
      u.last = last;
      u.read_in_place = false;
    }
  }
  constexpr void find_what_is_in_place(int s, const nest& n) {
    const int all = (1 << n.loops) - 1;
    const auto each_last_load = [&](auto&& f) {
      for (int i = n.loads.first; i < n.loads.first + n.loads.count; ++i) {
        const nest_load& x = p_.loads.data()[i];
        if (x.buffer < 0) continue;
        const int b = owner_of(p_.buffers, x.buffer);
        if (uses_.data()[b].last == s) f(uses_.data()[b], b == x.buffer && x.along == all);
      }
    };
    each_last_load([](use& u, bool) { u.read_in_place = true; });
    each_last_load([](use& u, bool in_place) {
      if (!in_place) u.read_in_place = false;
    });
    for (int i = n.stores.first; i < n.stores.first + n.stores.count; ++i)
      uses_.data()[p_.stores.data()[i].buffer].stored = p_.stores.data()[i].joined.count == 0;
  }

  /// A product is added to an array element by element.
  constexpr void add_in_place(int s, const plan_step& product) {
    const int onto = owner_of(p_.buffers, product.onto);
    bool alone = onto == product.onto;
    for (int in : product.in) alone = alone && owner_of(p_.buffers, in) != onto;
    if (uses_[onto].last == s) uses_[onto].read_in_place = alone;
    uses_[product.out].stored = true;
  }

  constexpr void open_results() {
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].is == plan_buffer::role::result) {
        room r{p_.buffers[b], uses_[b].kind};
        r.result = b;
        uses_[b].room = rooms_.push(r);
      }
    for (int s = 0; s < steps_; ++s) {
      const int run = run_with(p_.blocks, p_.blocks.size(), s);
      if (run >= 0 && run_with(p_.blocks, p_.blocks.size(), s + 1) != run)  // arguments that all blocks read, also if this step does not
        for (int b = 0; b < p_.buffers.size(); ++b)
          if (const use& u = uses_[b]; u.through && u.last == s && p_.buffers[b].is == plan_buffer::role::argument)
            see_reader(kinds_[u.kind], s, false);
      each_buffer(p_, p_.steps[s], [&](int part) {
        const int b = owner_of(p_.buffers, part);
        const use& u = uses_.data()[b];
        room_kind& k = kinds_.data()[u.kind];
        const plan_buffer::role is = p_.buffers.data()[b].is;
        if (is == plan_buffer::role::argument && u.last == s) see_reader(k, s, u.read_in_place && u.alone);
        if (is != plan_buffer::role::result || u.first != s) return;
        room& r = rooms_.data()[u.room];
        if (u.stored && k.read_in_place == s) r.after.band = steps_;  // it may be written over what is read until then: no buffer fits
        else r.after = k.now.band == band_.data()[s] ? k.before : k.now;
      });
    }
    for (int r = 0; r < rooms_.size(); ++r) wait(r, rooms_[r].after.band);
  }
  constexpr void see_reader(room_kind& k, int s, bool in_place) const {
    const int band = band_.data()[s];
    if (k.now.band != band) {
      k.before = k.now;
      k.now = {band, in_place ? s : -1};
    } else if (k.now.step != s || !in_place) k.now.step = -1;
    if (in_place) k.read_in_place = s;
  }

  /// Room r is free after this band.
  constexpr void wait(int r, int band) {
    rooms_[r].next = waiting_[band + 1];
    waiting_[band + 1] = r;
  }
  constexpr void free_until(int band) {
    for (; freed_ <= band; ++freed_)
      for (int r = waiting_[freed_]; r >= 0; r = rooms_[r].next) {
        vec<std::uint64_t>& free = kinds_[rooms_[r].kind].free;
        while (free.size() <= r / 64) free.push(0);
        free[r / 64] |= std::uint64_t{1} << r % 64;
      }
  }

  EBB_COLD constexpr void settle(int b) {
    plan_buffer& x = p_.buffers[b];
    int found = take_room(b);
    if (found < 0) {
      room r{{plan_buffer::role::temporary, p_.places.push({x.type, x.shape, x.rows}), x.type, x.shape, x.rows}, uses_[b].kind};
      found = rooms_.push(r);
    }
    room& r = rooms_[found];
    x.is = r.of.is;
    x.number = r.of.number;
    r.owner = b;
    wait(found, band_[uses_[b].last]);
  }
  /// Takes the first room for b; -1 if there is none.
  constexpr int take_room(int b) {
    const int band = band_[uses_[b].first], free = first_free(b, band);
    int before = -1, found = -1;
    for (int r = waiting_[band + 1], last = -1; r >= 0; last = r, r = rooms_[r].next)
      if ((free < 0 || r < free) && (found < 0 || r < found) && fits_at_once(b, rooms_[r], band)) {
        found = r;
        before = last;
      }
    if (found >= 0) {
      (before < 0 ? waiting_[band + 1] : rooms_[before].next) = rooms_[found].next;
      return found;
    }
    if (free >= 0) kinds_[uses_[b].kind].free[free / 64] &= ~(std::uint64_t{1} << free % 64);
    return free;
  }
  constexpr int first_free(int b, int band) {
    vec<std::uint64_t>& free = kinds_[uses_[b].kind].free;
    for (int word = 0; word < free.size(); ++word)
      for (std::uint64_t rest = free[word]; rest; rest &= rest - 1) {
        const int number = 64 * word + std::countr_zero(rest);
        const room& r = rooms_.data()[number];
        if (r.result < 0 || hands_over(b, r.result)) return number;
        if (band_[uses_[r.result].first] < band) free[word] &= ~(rest & -rest);  // the result itself is there
      }
    return -1;
  }
  /// Whether b fits into a room that others use in the same band.
  constexpr bool fits_at_once(int b, const room& r, int band) const {
    const use& u = uses_.data()[b];
    if (r.kind != u.kind || (r.owner >= 0 && !hands_over(r.owner, b)) || (r.result >= 0 && !hands_over(b, r.result))) return false;
    return r.after.band < band || (r.after.step == u.first && u.stored);
  }
  EBB_COLD constexpr bool hands_over(int from, int to) const {
    const use &x = uses_.data()[from], &y = uses_.data()[to];
    return may_follow({x.last, band_.data()[x.last], x.read_in_place, x.alone}, {y.first, band_.data()[y.first], y.stored});
  }

  plan& p_;
  int steps_ = 0, freed_ = 0;
  vec<int> band_, waiting_;  // for each band, and for the steps before the first: the first room that waits for its end
  vec<use> uses_;            // of each buffer
  vec<room_kind> kinds_;
  vec<room> rooms_;
};

}  // namespace ebb::inline EBB_ABI::detail
