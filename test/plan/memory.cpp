// test/plan/memory.cpp — memory of temporaries: the plans of many random graphs equal those of a simple rule that tries each buffer in each
// place, and a simulation finds every array where it was stored.
// SPDX-License-Identifier: BSL-1.0
#include "random_plan.hpp"
#include "simulate.hpp"

#include "../catch.hpp"

namespace {

using ebb::plan, ebb::plan_buffer;
using role = plan_buffer::role;

/// The plain rule: a buffer gets the first place that it fits into.
class rule {
 public:
  explicit rule(plan& p) : p_(p), first_(p.buffers.size(), p.steps.size()), last_(p.buffers.size(), -1) {
    for (int s = 0; s < p_.steps.size(); ++s)
      for (int b : buffers_of(p_.steps[s])) {
        if (s < first_[b]) first_[b] = s;
        last_[b] = s;
      }
    for (const ebb::plan_copy& c : p_.copies) last_[owner(c.buffer)] = p_.steps.size();
    for (int b = 0; b < p_.buffers.size(); ++b) outlives_blocks(b);
    for (int b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].is == role::result) rooms_.push({p_.buffers[b], b, -1});
    for (int s = 0; s < p_.steps.size(); ++s) {
      for (const ebb::part& run : p_.blocks)
        for (int i = 0; i < run.count && run.first == s; ++i) settle_new(s + i, true);
      settle_new(s, false);
    }
  }
  /// Whether all blocks of a run use the buffer.
  bool is_through(int b) const { return through_[b]; }
  int first(int b) const { return first_[b]; }
  int last(int b) const { return last_[b]; }

 private:
  struct room {
    plan_buffer of;
    int result = -1, owner = -1;
  };

  int owner(int b) const { return ebb::owner_of(p_.buffers, b); }
  ebb::vec<int> buffers_of(const ebb::plan_step& s) const {
    ebb::vec<int> r;
    if (s.nest < 0) {
      for (int j = 0; j < s.joined.count; ++j) r.push(owner(p_.joined[s.joined.first + j]));
      r.push(owner(s.out));
      return r;
    }
    const ebb::nest& n = p_.nests[s.nest];
    for (int i = 0; i < n.loads.count; ++i)
      if (p_.loads[n.loads.first + i].buffer >= 0) r.push(owner(p_.loads[n.loads.first + i].buffer));
    for (int i = 0; i < n.reduces.count; ++i) r.push(owner(p_.reduces[n.reduces.first + i].buffer));
    for (int i = 0; i < n.stores.count; ++i) r.push(owner(p_.stores[n.stores.first + i].buffer));
    return r;
  }
  /// A buffer that is not by block lasts from the first step of a run of blocks to the last one, and no step hands it over.
  void outlives_blocks(int b) {
    const auto lies_in = [](const ebb::part& run, int s) { return run.first <= s && s < run.first + run.count; };
    through_.push(false), made_.push(false), gone_.push(false);
    if (ebb::detail::is_by_block(p_.buffers[b])) return;
    for (const ebb::part& run : p_.blocks) {
      const bool made = lies_in(run, first_[b]), gone = lies_in(run, last_[b]);
      through_[b] = through_[b] || (first_[b] < run.first + run.count && last_[b] >= run.first);
      made_[b] = made_[b] || made;
      gone_[b] = gone_[b] || gone;
      if (made) first_[b] = run.first;
      if (gone) last_[b] = run.first + run.count - 1;
    }
  }
  void settle_new(int s, bool only_through) {
    for (int b : buffers_of(p_.steps[s]))
      if (p_.buffers[b].is == role::temporary && p_.buffers[b].number < 0 && (!only_through || through_[b])) settle(b);
  }
  void settle(int b) {
    plan_buffer& x = p_.buffers[b];
    int found = -1;
    for (int i = 0; i < rooms_.size() && found < 0; ++i)
      if (fits(b, rooms_[i])) found = i;
    if (found < 0) found = rooms_.push({{role::temporary, p_.places.push({x.type, x.shape, x.rows}), x.type, x.shape, x.rows}, -1, -1});
    x.is = rooms_[found].of.is;
    x.number = rooms_[found].of.number;
    rooms_[found].owner = b;
  }
  bool fits(int b, const room& r) const {
    if (!is_alike(p_.buffers[b], r.of) || (r.owner >= 0 && !hands_over(r.owner, b))) return false;
    if (r.result < 0) return true;
    if (!hands_over(b, r.result)) return false;
    for (int a = 0; a < p_.buffers.size(); ++a)
      if (p_.buffers[a].is == role::argument && hands_over(a, r.result) && !hands_over(a, b)) return false;
    return true;
  }
  static bool is_alike(const plan_buffer& x, const plan_buffer& y) {
    return x.shape == y.shape && size_of(x.type) == size_of(y.type) && ebb::detail::is_by_block(x) == ebb::detail::is_by_block(y);
  }
  bool hands_over(int from, int to) const {
    if (!is_alike(p_.buffers[from], p_.buffers[to])) return false;
    return band_of(last_[from]) < band_of(first_[to]) || (last_[from] == first_[to] && !gone_[from] && !made_[to] &&
                                                          is_in_place(p_.steps[first_[to]], from, to) && is_read_by_one_of_its_band(from));
  }
  /// A value that a band computes is read by rows, as it is written; an older one may be read whole, once for each part of the band.
  bool is_read_by_one_of_its_band(int b) const {
    const int band = band_of(last_[b]);
    if (p_.buffers[b].is != role::argument && band_of(first_[b]) == band) return true;
    for (int s = 0; s < p_.steps.size(); ++s) {
      if (s == last_[b] || band_of(s) != band) continue;
      for (int read : buffers_of(p_.steps[s]))
        if (read == b) return false;
    }
    return true;
  }
  int band_of(int s) const {
    for (const ebb::plan_band& b : p_.bands)
      if (s >= b.first && s < b.first + b.count) return b.first;
    return s;
  }
  bool is_in_place(const ebb::plan_step& s, int from, int to) const {
    if (s.nest < 0) return s.onto == from && s.out == to && owner(s.in[0]) != from && owner(s.in[1]) != from;
    const ebb::nest& n = p_.nests[s.nest];
    bool loaded = false, stored = false;
    for (int i = 0; i < n.loads.count; ++i) {
      const ebb::nest_load& x = p_.loads[n.loads.first + i];
      if (x.buffer < 0 || owner(x.buffer) != from) continue;
      if (x.buffer != from || x.along != (1 << n.loops) - 1) return false;
      loaded = true;
    }
    for (int i = 0; i < n.reduces.count; ++i)
      if (owner(p_.reduces[n.reduces.first + i].buffer) == from) return false;
    for (int i = 0; i < n.stores.count; ++i) {
      if (owner(p_.stores[n.stores.first + i].buffer) == from) return false;
      stored = stored || p_.stores[n.stores.first + i].buffer == to;
    }
    return loaded && stored;
  }

  plan& p_;
  ebb::vec<int> first_, last_;
  ebb::vec<char> through_, made_, gone_;
  ebb::vec<room> rooms_;
};

/// Whether what all blocks use shares its memory only with what is used before or after.
bool is_apart_in_blocks(const plan& p, const rule& of) {
  const auto overlap = [&](int a, int b) {
    return of.first(a) < of.last(b) && of.first(b) < of.last(a);
  };  // in one step: as in is_in_place
  for (int a = 0; a < p.buffers.size(); ++a)
    for (int b = 0; b < p.buffers.size(); ++b) {
      const bool one =
          a != b && p.buffers[a].is != role::part && p.buffers[a].is == p.buffers[b].is && p.buffers[a].number == p.buffers[b].number;
      if (one && of.is_through(a) && overlap(a, b)) return false;
    }
  return true;
}

/// The plan before its temporaries had memory: the first buffer of each result is the result itself.
plan unsettled(plan p) {
  ebb::vec<char> seen(p.buffers.size() + p.copies.size(), 0);
  for (plan_buffer& b : p.buffers) {
    if (b.is == role::argument || b.is == role::part || b.is == role::unused || (b.is == role::result && !seen[b.number]++)) continue;
    b.is = role::temporary;
    b.number = -1;
  }
  p.places = {};
  return p;
}

/// Counts of shared memory: temporaries in results, and temporaries in places that others had before.
struct shared {
  int in_results = 0, in_places = 0, bands = 0, blocks = 0, runs = 0, repeated = 0;
};

bool same_memory(const plan& p) {
  plan q = unsettled(p);
  const rule plain(q);
  bool same = is_apart_in_blocks(p, plain) && p.places.size() == q.places.size();
  for (int i = 0; same && i < p.places.size(); ++i) same = p.places[i].shape == q.places[i].shape && p.places[i].type == q.places[i].type;
  for (int b = 0; b < p.buffers.size(); ++b)
    same = same && p.buffers[b].is == q.buffers[b].is && p.buffers[b].number == q.buffers[b].number;
  return same;
}

}  // namespace

TEST_CASE("random graphs share memory as the rule that tries each buffer in each place does") {
  shared all;
  for (std::uint64_t seed = 1; seed <= 9000; ++seed) {
    const ebb::graph g = test::graph_for_plans(seed);
    const plan p = ebb::make_plan(g);
    INFO("seed " << seed);
    REQUIRE(same_memory(p));
    if (p.bands.empty()) REQUIRE(test::plan_simulation(p).keeps_values());
    int temporaries = 0;
    for (const plan_buffer& b : unsettled(p).buffers) temporaries += b.is == role::temporary;
    int in_memory = 0;
    for (const plan_buffer& b : p.buffers) in_memory += b.is == role::temporary && b.number >= 0;
    all.in_results += temporaries - in_memory;
    all.in_places += in_memory - p.places.size();
    all.bands += p.bands.size();
    all.blocks += !p.blocks.empty();
    all.runs += p.blocks.size() > 1;
    for (const ebb::plan_step& s : p.steps) all.repeated += s.repeats >= 0;
  }
  CHECK(all.in_results > 1000);
  CHECK(all.in_places > 1000);
  CHECK(all.bands > 300);
  CHECK(all.blocks > 300);
  CHECK(all.runs > 20);
  CHECK(all.repeated > 20);
}

TEST_CASE("if one argument is read in place and another is not, the other stays out of the memory of their result") {
  const auto made = [](bool turned) {
    ebb::graph g;
    const auto shape = [&](std::initializer_list<int> extents) {
      ebb::shape s;
      for (int e : extents) s.push(e);
      return g.intern(s);
    };
    const int cube = shape({1, 6, 6}), square = shape({6, 6});
    const auto argument = [&](int number) { return test::operand<float>{&g, ebb::emit_as<ebb::op::input, float>(g, cube, {}, {number})}; };
    g.inputs = 2;
    const auto x = argument(0), y = ebb::broadcast_to(ebb::reshape_to(argument(1), square), cube, 1);
    const auto sum = turned ? y + x : x + y, product = ebb::emit_on<ebb::op::matmul>({}, sum, sum);
    g.out.push(ebb::emit_on<ebb::op::exp>({}, product).id);
    return ebb::make_plan(g);
  };
  for (const bool turned : {false, true}) {
    const plan p = made(turned);
    CHECK(same_memory(p));
    CHECK(p.places.size() == 1);
  }
}
