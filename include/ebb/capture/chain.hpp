// ebb/capture/chain.hpp — a group of nodes as a chain of links: what reads what, in eager order.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a group as a chain]
// Each node of the group is a compiled link, and so are its hooks; what arrives at one edge travels on in registers. Two passes: what
// reads what, in eager order, with every value made once; then code, which stores a value only if somebody else reads it later, or if it
// is a result. A node whose backward is no link, or that needs a gradient that has not come, makes the whole group none.
// Where the backward is recorded, every gradient is a result, and leaves are left to who records (recorded_group.hpp).
#pragma once

#include "chain_code.hpp"
#include "compose.hpp"

namespace ebb::inline EBB_ABI {

class chain_builder {
 public:
  chain_builder(const recording& r, capture_progress& at, piece_table& pieces) : r_(r), at_(at), pieces_(pieces), slots_(at.slots()) {}

  static constexpr int longest = 64;

  /// Takes nodes as long as they are a chain. Returns the number of the first that is none of it.
  EBB_ONCE int take(int first, int last) {
    slots_.begin();
    const capture_progress::trial only(at_);
    for (int i = first; i < last; ++i) {
      add_node(i);
      if (!fits_ || steps_.size() > longest) return i;
    }
    if (records_) arrived_.shrink(0);
    std::sort(arrived_.begin(), arrived_.end());
    for (const auto& [v, o] : arrived_)
      if (const slot_table::slot s = std::exchange(slot(v, o), {}); s.changed && s.value >= 0)
        give({capture_place::kind::slot, v, o}, s.value);
    return fits_ ? last : first;
  }
  /// Takes leaf l, whose gradient is complete now that the node before has run. Returns whether it is a chain.
  EBB_ONCE bool take_leaf(int l, int behind) {
    if (!can_finish(l)) return false;
    slots_.begin();
    slot(l, 0).value = argument({capture_place::kind::slot, l, 0}, false);
    accumulate(l, behind);
    return fits_;
  }
  const group_interface& interface() const { return interface_; }
  /// How many links it has, sums among them.
  int length() const { return has_type_ ? steps_.size() : 0; }
  EBB_ONCE chain_program code() && {
    chain_writer(p_, values_).write(steps_);
    return std::move(p_);
  }

 private:
  slot_table::slot& slot(int at, int output) { return slots_[r_.visit_at(at).first + output]; }
  EBB_ONCE int new_value(int argument = -1, bool is_element = false) {
    values_.push({argument, is_element});
    return values_.size() - 1;
  }
  EBB_ONCE int argument(const capture_place& from, bool is_element) {
    for (int v = 0; v < values_.size(); ++v)
      if (const int a = values_[v].argument; a >= 0 && interface_.arguments[a] == from) {
        fits_ = fits_ && values_[v].is_element == is_element;
        return v;
      }
    interface_.arguments.push(from);
    return new_value(interface_.arguments.size() - 1, is_element);
  }
  EBB_ONCE int value_at(int v, int output, bool is_element) {
    slot_table::slot& s = slot(v, output);
    if (s.value < 0 && !s.changed && at_.defined(v, output)) s.value = argument({capture_place::kind::slot, v, output}, is_element);
    fits_ = fits_ && (s.value < 0 || values_[s.value].is_element == is_element);
    return s.value;
  }
  EBB_ONCE void give(const capture_place& to, int v) {
    chain_value& x = values_[v];
    group_interface::result r{to};
    if (x.argument >= 0) r.shared = x.argument, r.is_argument = true;
    else if (x.result >= 0) r.shared = x.result;
    else x.result = interface_.results.size();
    fits_ = fits_ && !x.is_element;
    interface_.results.push(r);
  }
  /// All links are of one type, and of one length, as far as lengths are known beforehand.
  bool agrees(const chainable& link) const {
    return (!has_type_ || p_.type == link.type) && (length_ < 0 || link.length < 0 || length_ == link.length);
  }
  EBB_ONCE void put_link(const chainable& link) {
    fits_ = fits_ && agrees(link);
    p_.type = link.type;
    length_ = std::max(length_, link.length);
    has_type_ = true;
  }

  EBB_ONCE void add_node(int i) {
    const node_key& key = r_.node_at(i);
    const visit& v = r_.visit_at(i);
    const detail::backward_piece* const piece = pieces_.find(key.program);
    if (!piece) return void(fits_ = false);
    const std::uint64_t arrived = at_.seeds_of(i, *piece);
    const chainable& link = *key.program->graphs->chain;
    const int kept = piece->kept.size(), seeds = piece->seeds.size();
    chain_call here{&link, {}, {}};
    std::uint64_t seen = 0;  // outputs whose gradients are read
    vec<int> gradient(v.outputs, -1);  // that have arrived, behind their hooks
    for (int a = 0; arrived && fits_ && a < kept + seeds; ++a) {
      const bool is_element = link.elements >> a & 1;
      if (a < kept) {
        here.in.push(argument({capture_place::kind::saved, i, a}, is_element));
        values_[here.in.back()].is_mask = link.masks >> a & 1;
      } else {
        const int o = piece->seeds[a - kept];
        int s = o < 0 ? -1 : value_at(i, o, is_element);
        if (s < 0) return void(fits_ = false);
        s = run_hooks(hook_kind::tensor, i, o, s, key.hooks, key.hook_count);
        fits_ = fits_ && (records_ || show(i, o, s, key.hooks, key.hook_count)) && o < 64;
        seen |= std::uint64_t{1} << (o & 63);
        gradient[o] = s;
      }
    }
    if (arrived) run_node_hooks(hook_kind::node_pre, i, gradient, {});
    for (int s = 0; arrived && fits_ && s < seeds; ++s) here.in.push(gradient[piece->seeds[s]]);
    fits_ = fits_ && (records_ || shows_only(seen, i, key));
    int number = -1;  // among the steps, if it is one
    if (arrived && fits_ && link.results > 0) {
      if (!link.link) return void(fits_ = false);
      put_link(link);
      for (int o = 0; o < link.results; ++o) here.out.push(new_value());
      number = steps_.push(std::move(here));
      for (int j = 0; link.primary < 0 && j < key.program->edges; ++j)
        if (const edge_key& e = r_.edge_at(i, j); e.to >= 0) p_.extents.push({e.to, static_cast<int>(e.output)});
    }
    for (int o = 0; o < v.outputs; ++o) slot(i, o) = {};
    vec<int> given(key.program->edges, -1);
    for (int j = 0; arrived && fits_ && j < given.size(); ++j) {
      const int from = key.program->graphs->gradient_from[j];
      const chain_call& s = number < 0 ? here : steps_[number];
      if (piece->depends[j] & arrived) given[j] = from >= 0 ? s.out[from] : s.in[~from];
    }
    if (arrived) run_node_hooks(hook_kind::node_post, i, given, gradient);
    for (int j = 0; fits_ && j < given.size(); ++j) {
      if (given[j] < 0) continue;
      if (records_) give({capture_place::kind::edge, i, j}, given[j]);
      arrive(r_.edge_at(i, j), given[j]);
    }
    at_.run(i, piece);
    bool observed = false;  // an earlier leaf of this node is, so those behind it wait
    at_.each_completed_leaf(i, [&](int l) {
      observed = observed || composer::is_observed(r_, l);
      if (fits_ && !observed && !records_ && slot(l, 0).changed && can_finish(l)) accumulate(l, i);
    });
  }
  EBB_ONCE void arrive(const edge_key& e, int v) {
    if (e.to < 0 || !r_.visit_at(e.to).is_reached()) return;
    const int o = static_cast<int>(e.output), there = value_at(e.to, o, values_[v].is_element);
    slot_table::slot& s = slot(e.to, o);
    s.value = there < 0 ? v : add(there, v);
    if (there >= 0 && records_) give({capture_place::kind::sum, e.to, o}, s.value);
    if (!std::exchange(s.changed, true)) arrived_.push({e.to, o});
  }
  EBB_ONCE int add(int there, int v) {
    fits_ = fits_ && !values_[v].is_element;
    const int r = new_value();
    steps_.push({nullptr, {there, v}, {r}});
    return r;
  }
  /// What can be seen of a gradient once its hooks have run: it is retained, or asked for. False if it cannot be given.
  EBB_ONCE bool show(int v, int output, int k, int first, int count) {
    bool retains = false;
    for (int h = 0; h < count; ++h)
      if (const hook_key& key = r_.hook_at(first + h); static_cast<int>(key.output) == output) retains = retains || key.retains;
    for (int w = 0; r_.visit_at(v).wanted && w < r_.wishes().size(); ++w)
      if (const edge_key& wish = r_.wishes()[w]; wish.to == v && static_cast<int>(wish.output) == output) {
        if (r_.options().accumulates) retains = true;  // an input of backward, which is so when it runs
        else give({capture_place::kind::asked, v, w}, k);
      }
    if (retains) give({capture_place::kind::retained, v, output}, k);
    return fits_;
  }
  /// Whether nothing is to be seen of other outputs.
  EBB_ONCE bool shows_only(std::uint64_t outputs, int i, const node_key& key) const {
    const auto is_there = [&](std::uint32_t o) { return o < 64 && (outputs >> o & 1); };
    for (int h = 0; h < key.hook_count; ++h)
      if (const hook_key& k = r_.hook_at(key.hooks + h); k.retains && !is_there(k.output)) return false;
    for (int w = 0; r_.visit_at(i).wanted && w < r_.wishes().size(); ++w)
      if (r_.wishes()[w].to == i && !is_there(r_.wishes()[w].output)) return false;
    return true;
  }
  EBB_ONCE int run_hooks(hook_kind kind, int v, int output, int k, int first, int count) {
    for (int h = 0; h < count && fits_; ++h) {
      const hook_key& key = r_.hook_at(first + h);
      if (key.kind != kind || key.retains || static_cast<int>(key.output) != output) continue;
      vec<int> one{k};
      run_hook(*key.program, v, h, one, {});
      k = one[0];
    }
    return k;
  }
  /// Hooks of node i that see several gradients: those that they write, and those that they read.
  EBB_ONCE void run_node_hooks(hook_kind kind, int i, vec<int>& written, const vec<int>& read) {
    const node_key& key = r_.node_at(i);
    for (int h = 0; h < key.hook_count && fits_; ++h)
      if (const hook_key& k = r_.hook_at(key.hooks + h); k.kind == kind) run_hook(*k.program, i, h, written, read);
  }
  EBB_ONCE void run_hook(const hook_program& p, int at, int number, vec<int>& written, const vec<int>& read) {
    vec<int> in;
    for (int i = 0; i < p.values; ++i) in.push(argument({capture_place::kind::bound, at, number, i}, true));
    for (int i = 0; i < p.written + p.read; ++i) {
      const int v = i < p.written ? written[i] : read[i - p.written];
      fits_ = fits_ && v >= 0 && !values_[v].is_element;
      in.push(v);
    }
    for (int i = 0; i < p.written; ++i) {
      const chainable& link = p.link(i);
      fits_ = fits_ && !records_ && link.link && link.primary == p.values + i && link.results == 1;
      if (!fits_) return;
      put_link(link);
      steps_.push({&link, in, {written[i] = new_value()}});
    }
  }
  /// Whether all that happens at a leaf is links of this chain.
  EBB_ONCE bool can_finish(int l) const {
    const leaf_key& key = r_.leaf_at(l);
    if (!composer::is_traced(r_, l)) return false;
    for (int h = 0; h < key.hook_count; ++h)
      if (const hook_key& k = r_.hook_at(key.hooks + h); k.kind == hook_kind::post_accumulate) {
        const chainable& link = k.program->chain;
        if (!link.link || link.primary != k.program->parameter + 1 || !agrees(link)) return false;
      }
    return true;
  }
  EBB_ONCE void accumulate(int l, int behind) {
    const leaf_key& key = r_.leaf_at(l);
    const capture_place grad{capture_place::kind::leaf_gradient, l};
    const int had = key.has_gradient ? argument(grad, false) : -1;
    int g = run_hooks(hook_kind::tensor, l, 0, slot(l, 0).value, key.hooks, key.hook_count);
    g = run_hooks(hook_kind::node_pre, l, 0, g, key.hooks, key.hook_count);
    if (had >= 0) g = add(had, g);
    const capture_place parameter{capture_place::kind::leaf_value, l};
    int p = -1;
    for (int h = 0; h < key.hook_count && g >= 0; ++h)
      if (const hook_key& hook = r_.hook_at(key.hooks + h); hook.kind == hook_kind::post_accumulate) {
        update(l, h, *hook.program, p, g);
        interface_.updates.push({l, h, behind, hook.program->writes_value});
      }
    if (p >= 0 && values_[p].argument < 0) give_over(parameter, p, parameter);
    if (g < 0) interface_.cleared.push(l);
    else give_over(grad, g, grad);
    slot(l, 0) = {};
  }
  /// A result that may be written over an argument, if that is there.
  EBB_ONCE void give_over(const capture_place& to, int v, const capture_place& old) {
    give(to, v);
    for (int a = 0; a < interface_.arguments.size(); ++a)
      if (interface_.arguments[a] == old) interface_.results.back().over = a;
  }
  /// Hook number h of a leaf, an update of its value, or of its gradient, which is -1 then if it is cleared.
  EBB_ONCE void update(int l, int h, const hook_program& p, int& parameter, int& gradient) {
    fits_ = fits_ && !values_[gradient].is_element;
    vec<int> in(p.chain.arguments, -1), out;
    for (int i = 0; i < p.values; ++i) in[p.first_value + i] = argument({capture_place::kind::bound, l, h, i}, true);
    if (parameter < 0) parameter = argument({capture_place::kind::leaf_value, l}, false);
    in[p.parameter] = parameter;
    in[p.parameter + 1] = gradient;
    for (int i = 0; i < p.states; ++i) in[p.parameter + 2 + i] = argument({capture_place::kind::state, l, h, i}, false);
    put_link(p.chain);
    for (int o = 0; o < p.chain.results; ++o) out.push(new_value());
    steps_.push({&p.chain, in, out});
    int next = 0;
    if (p.writes_value) parameter = out[next++];
    if (p.writes_gradient) gradient = out[next++];
    else if (p.clears) gradient = -1;
    for (int i = 0; i < p.states; ++i) {
      const capture_place state{capture_place::kind::state, l, h, i};
      give_over(state, out[next++], state);
    }
    fits_ = fits_ && next == p.chain.results;
  }

  const recording& r_;
  capture_progress& at_;
  piece_table& pieces_;
  slot_table& slots_;
  vec<std::pair<int, int>> arrived_;  // vertices and outputs that have changed
  vec<chain_value> values_;
  vec<chain_call> steps_;
  group_interface interface_;
  chain_program p_;
  bool fits_ = true, has_type_ = false;
  std::ptrdiff_t length_ = -1;  // -1: not known beforehand
  const bool records_ = r_.options().graph != nullptr;
};

}  // namespace ebb::inline EBB_ABI
