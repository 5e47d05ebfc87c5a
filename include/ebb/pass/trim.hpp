// ebb/pass/trim.hpp — removes from loops the results that no equation names, and the operands that no result needs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../graph/copy.hpp"
#include "../graph/loop.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// The needed part of a loop: the results of the body that are read, and the arguments on which they depend. The dependences of an inner
/// loop's results are known once that loop is trimmed.
class trimmed_loop {
 public:
  constexpr trimmed_loop(const graph& g, int loop, auto prune)
      : parts_(loop_parts::of(g.eq[loop])), count_(g.eq[loop].count), source_(&g.subs[g.eq[loop].sub]), needed_(source_->out.size(), 0),
        read_(count_, 0) {
    each_result(g, loop, [&](int k) {
      const int i = static_cast<int>(g.eq[k].attr[0]);
      needed_[kind_of_result(g.eq[k]) == loop_result::row ? parts_.carries + i : i] = 1;
    });
    if (parts_.open) needed_[0] = 1;
    find_read(prune);
    find_origins();
    const int guard = parts_.guarded ? count_ - 1 : count_;
    for (int i = 0; i < guard; ++i)
      if (read_[i] && !becomes_whole(i)) argument_.push(i);
    for (int i = 0; i < parts_.carries; ++i)
      if (becomes_whole(i)) argument_.push(i);
    if (parts_.guarded) argument_.push(guard);
  }

  /// Whether something is removed.
  constexpr bool is_less() const {
    for (int i = 0; i < count_; ++i)
      if (!read_[i] || becomes_whole(i)) return true;
    for (char needed : needed_)
      if (!needed) return true;
    return false;
  }
  /// The operands that stay, by their numbers, in their new order.
  constexpr const vec<int>& operands() const { return argument_; }
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
  constexpr graph less(auto prune) const {
    vec<int> number(count_, -1);
    for (int i = 0; i < argument_.size(); ++i) number[argument_[i]] = i;
    const auto stays = [&](int k) {
      return used_[k] || (body().op(k).what == kind::input && number[static_cast<int>(body().eq[k].attr[0])] >= 0);
    };
    graph b = copied(body(), stays);
    symbols syms;
    for (int i = 0; i < body().syms.count(); ++i) {
      symbols::item item = body().syms.items()[i];
      item.origin = origin_[i];
      syms.push(item);
    }
    b.syms = static_cast<symbols&&>(syms);
    renumber_arguments(b, number, argument_.size());
    const vec<int> out = static_cast<vec<int>&&>(b.out);
    b.out = {};
    for (int i = 0; i < out.size(); ++i)
      if (needed_[i]) b.out.push(out[i]);
    return prune(b);
  }

 private:
  /// A carry is needed if a needed result depends on it: then its own result is needed, too.
  constexpr void find_read(auto prune) {
    for (bool changed = true; changed;) {
      changed = false;
      if (!source_->subs.empty()) own_ = prune(with_needed_outputs(*source_));
      used_ = vec<char>(body().size(), 0);
      for (int i = 0; i < needed_.size(); ++i)
        if (needed_[i]) used_[body().out[i]] = 1;
      for (int k = body().size() - 1; k >= 0; --k) {
        if (!used_[k]) continue;
        for (int i : body().operands(k)) used_[i] = 1;
        if (body().op(k).what != kind::input) continue;
        const int number = static_cast<int>(body().eq[k].attr[0]);
        read_[number] = 1;
        if (parts_.is_carry(number) && !needed_[number]) needed_[number] = changed = true;
      }
    }
    for (int i = 0; i < parts_.carries; ++i) read_[i] = read_[i] || needed_[i];
    if (parts_.guarded) read_[count_ - 1] = 1;
  }
  constexpr const graph& body() const { return source_->subs.empty() ? *source_ : own_; }
  constexpr graph with_needed_outputs(graph g) const {
    for (int i = 0; i < needed_.size(); ++i)
      if (!needed_[i]) g.out[i] = -1;
    return g;
  }
  /// Dyn extents are read from the arguments of the body. An unneeded argument stays if it is the only one with some extent.
  constexpr void find_origins() {
    for (int i = 0; i < body().syms.count(); ++i) {
      origin_.push(body().syms.origin(i));
      extent_origin& o = origin_[i];
      if (o.rule != extent_rule::argument || read_[o.a]) continue;
      for (int a = 0; a < count_ && !read_[o.a]; ++a) {
        const int in = read_[a] ? body().input(a) : -1;
        for (int axis = 0; in >= 0 && axis < body().shape_of(in).rank; ++axis)
          if (body().syms.find(body().shape_of(in).e[axis]) == body().syms.find(~i)) o = {extent_rule::argument, a, axis};
      }
      read_[o.a] = 1;
    }
  }
  /// A carry that stays only for its extents is constant over the steps.
  constexpr bool becomes_whole(int i) const { return parts_.is_carry(i) && read_[i] && !needed_[i]; }

  loop_parts parts_;
  int count_;
  const graph* source_;
  graph own_;  // the body pruned to what is needed, if it has loops
  vec<char> needed_, read_, used_;
  vec<int> argument_;
  vec<extent_origin> origin_;
};

}  // namespace detail

/// Trims the loops of a pruned graph: each keeps only results that are named, and operands that these depend on. `prune` is the function
/// prune, which calls this one.
constexpr graph trim(const graph& g, auto prune) {
  graph r = shell_of(g);
  vec<int> to(g.size(), -1), number(g.size(), -1);
  bool any = false;
  for (int k = 0; k < g.size(); ++k) {
    const equation& e = g.eq[k];
    if (e.op->what == kind::result && number[g.operand(k, 0)] >= 0) {
      to[k] = r.append_renumbered(g, k, to.data());
      r.eq.back().attr[0] = number[k];
      continue;
    }
    if (e.op->what == kind::loop) {
      const detail::trimmed_loop needed(g, k, prune);
      if (needed.is_less()) {
        any = true;
        equation trimmed = e;
        trimmed.attr[0] = needed.parts().attribute();
        trimmed.sub = add_sub(r.subs, needed.less(prune));
        vec<int> in;
        for (int j : needed.operands()) in.push(to[g.operand(k, j)]);
        to[k] = r.append(trimmed, range_of(in));
        number[k] = 0;
        each_result(g, k, [&](int i) { number[i] = static_cast<int>(needed.number(g.eq[i])); });
        continue;
      }
    }
    to[k] = r.append_renumbered(g, k, to.data());
  }
  if (!any) return g;
  r.out = outputs_at(g, to);
  r.simplified = g.simplified == g.size() ? r.size() : 0;
  return prune(r);
}

}  // namespace ebb::inline EBB_ABI
