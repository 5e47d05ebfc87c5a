// ebb/pass/live.hpp — finds what outputs need: equations, and of loops the results that are named and the operands that these depend on.
// SPDX-License-Identifier: BSL-1.0
//
// One walk from the last equation to the first: when it comes to a loop, it knows which of the loop's results are needed. Nothing is copied
// before the whole graph is known: a graph with loops in loops would be copied many times.
#pragma once

#include "../graph/loop.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

class live_loop;

/// The equations that some outputs of a graph need.
struct live_part {
  vec<char> is_live;     // of each equation
  vec<live_loop> loops;  // those that are live; the last one in the graph comes first
};

/// The part of a live loop that is needed.
class live_loop {
 public:
  constexpr live_loop() = default;
  /// is_live: of the equations after the loop.
  constexpr live_loop(const graph& g, int loop, const vec<char>& is_live)
      : at_(loop), parts_(loop_parts::of(g.eq[loop])), count_(g.eq[loop].count), needed_(body_in(g).out.size(), 0), read_(count_, 0) {
    each_result(g, loop, [&](int k) {
      if (!is_live[k]) return;
      const int i = static_cast<int>(g.eq[k].attr[0]);
      needed_[kind_of_result(g.eq[k]) == loop_result::row ? parts_.carries + i : i] = 1;
    });
    if (parts_.open) needed_[0] = 1;
    find_read(body_in(g));
    find_origins(body_in(g));
    const int guard = parts_.guarded ? count_ - 1 : count_;
    for (int i = 0; i < guard; ++i)
      if (read_[i] && !becomes_whole(i)) operands_.push(i);
    for (int i = 0; i < parts_.carries; ++i)
      if (becomes_whole(i)) operands_.push(i);
    if (parts_.guarded) operands_.push(guard);
    keep_arguments(body_in(g));
  }

  /// The equation.
  constexpr int at() const { return at_; }
  constexpr const live_part& body() const { return body_; }
  /// Whether something is removed.
  constexpr bool is_less() const {
    for (int i = 0; i < count_; ++i)
      if (!read_[i] || becomes_whole(i)) return true;
    for (char needed : needed_)
      if (!needed) return true;
    return false;
  }
  /// The operands that stay, by their numbers, in their new order.
  constexpr const vec<int>& operands() const { return operands_; }
  constexpr loop_parts parts() const {
    loop_parts p = parts_;
    p.carries = p.rows = 0;
    for (int i = 0; i < count_; ++i)
      if (read_[i] && !becomes_whole(i)) {
        p.carries += parts_.is_carry(i);
        p.rows += parts_.is_row(i);
      }
    return p;
  }
  /// The new number of a result.
  constexpr std::int64_t number(const equation& result) const {
    const bool row = kind_of_result(result) == loop_result::row;
    std::int64_t r = 0;
    for (int i = row ? parts_.carries : 0, n = 0; n < result.attr[0]; ++i, ++n) r += needed_[i];
    return r;
  }
  /// Makes the signature of the body that of what stays. b: the body with the arguments of all operands that stay.
  constexpr void cut_signature(graph& b) const {
    vec<int> number(count_, -1);
    for (int i = 0; i < operands_.size(); ++i) number[operands_[i]] = i;
    symbols syms;
    for (int i = 0; i < b.syms.count(); ++i) {
      symbols::item item = b.syms.items()[i];
      item.origin = origin_[i];
      syms.push(item);
    }
    b.syms = static_cast<symbols&&>(syms);
    renumber_arguments(b, number, operands_.size());
    vec<int> out;
    for (int i = 0; i < b.out.size(); ++i)
      if (needed_[i]) out.push(b.out[i]);
    b.out = static_cast<vec<int>&&>(out);
  }

 private:
  constexpr const graph& body_in(const graph& g) const { return g.subs[g.eq[at_].sub]; }
  /// A carry is needed if a needed result depends on it: then its own result is needed, too.
  constexpr void find_read(const graph& body);
  /// Dyn extents are read from the arguments of the body. An unneeded argument stays if it is the only one with some extent.
  constexpr void find_origins(const graph& body) {
    for (int i = 0; i < body.syms.count(); ++i) {
      origin_.push(body.syms.origin(i));
      extent_origin& o = origin_[i];
      if (o.rule != extent_rule::argument || read_[o.a]) continue;
      for (int a = 0; a < count_ && !read_[o.a]; ++a) {
        const int in = read_[a] ? body.input(a) : -1;
        for (int axis = 0; in >= 0 && axis < body.shape_of(in).rank; ++axis)
          if (body.syms.find(body.shape_of(in).e[axis]) == body.syms.find(~i)) o = {extent_rule::argument, a, axis};
      }
      read_[o.a] = 1;
    }
  }
  constexpr void keep_arguments(const graph& body) {
    for (int k = 0; k < body.size(); ++k)
      if (body.op(k).what == kind::input) body_.is_live[k] = read_[static_cast<int>(body.eq[k].attr[0])];
  }
  /// A carry that stays only for its extents is constant over the steps.
  constexpr bool becomes_whole(int i) const { return parts_.is_carry(i) && read_[i] && !needed_[i]; }

  int at_ = -1;
  loop_parts parts_;
  int count_ = 0;
  vec<char> needed_, read_;
  vec<int> operands_;
  vec<extent_origin> origin_;
  live_part body_;
};

/// The part of g that its outputs i need for which is_needed(i) holds. An output may be -1: none.
EBB_COLD constexpr live_part live_part_of(const graph& g, const vec<char>& is_needed) {
  const int n = g.size();
  const equation* const eq = g.eq.data();
  const int* const pool = g.pool.data();
  live_part r;
  r.is_live = vec<char>(n, 0);
  char* const live = r.is_live.data();
  for (int i = 0; i < g.out.size(); ++i)
    if (is_needed[i] && g.out[i] >= 0) live[g.out[i]] = 1;
  for (int k = n - 1; k >= 0; --k) {
    if (!live[k]) continue;
    const int* const in = pool + eq[k].first;
    if (eq[k].op->what == kind::loop) {
      const live_loop& loop = r.loops[r.loops.push(live_loop(g, k, r.is_live))];
      for (int j : loop.operands()) live[in[j]] = 1;
    } else
      for (int j = 0; j < eq[k].count; ++j) live[in[j]] = 1;
  }
  return r;
}

constexpr void live_loop::find_read(const graph& body) {
  for (bool changed = true; changed;) {
    changed = false;
    body_ = live_part_of(body, needed_);
    for (int k = 0; k < body.size(); ++k) {
      if (!body_.is_live[k] || body.op(k).what != kind::input) continue;
      const int number = static_cast<int>(body.eq[k].attr[0]);
      read_[number] = 1;
      if (parts_.is_carry(number) && !needed_[number]) needed_[number] = changed = true;
    }
  }
  for (int i = 0; i < parts_.carries; ++i) read_[i] = read_[i] || needed_[i];
  if (parts_.guarded) read_[count_ - 1] = 1;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
