// ebb/capture/chain_sink.hpp — nodes in a row, or one leaf, as a chain of links: register code.
// SPDX-License-Identifier: BSL-1.0
//
// [note: a group as a chain]
// Each node of the group is a compiled link, and so are its hooks; the gradient at one edge travels on in registers. The sink hears the
// walk and notes, in eager order, which link reads which value; every value is made once. chain_code.hpp makes code of that. It stores a
// value only if another link reads it later, or if it is a result. If the backward of one node is no link, or needs a gradient that has not
// come, the whole group is no chain.
// If the backward is recorded, every gradient is a result, and the engine goes through the leaves (chain_group.hpp).
#pragma once

#include "captured_walk.hpp"
#include "chain_code.hpp"

namespace ebb::inline EBB_ABI {

/// The inputs and outputs of a group of nodes.
struct group_interface {
  struct result {
    capture_place to;
    int shared = -1;           // the array of that other result, or of that argument; -1: its own
    bool is_argument = false;  // `shared` is one
    int over = -1;             // the argument that it may be written over, or -1
  };
  /// A hook that updates its leaf when node `last` has run.
  struct update {
    int leaf, hook, last;
    bool writes_value;
  };
  vec<capture_place> arguments;
  vec<result> results;
  vec<update> updates;
  vec<int> cleared;  // leaves whose gradient is undefined in the end
};

/// A value is the number of a chain_value.
class chain_sink final : public capture_sink {
 public:
  static constexpr int longest = 64;

  explicit chain_sink(const recording& r) : r_(r) {}

  const group_interface& interface() const { return interface_; }
  /// How many links it has, sums among them.
  int length() const { return has_type_ ? steps_.size() : 0; }
  EBB_ONCE chain_program code() && {
    chain_writer(p_, values_).write(steps_);
    return std::move(p_);
  }

  EBB_ONCE int arrived(int v, int output, int like) override {
    return argument({capture_place::kind::slot, v, output}, like < 0 ? reads_element(v, output) : values_[like].is_element);
  }
  EBB_ONCE void retain(int v, int h, int k) override {
    show({capture_place::kind::retained, v, static_cast<int>(r_.hooks_of(v)[h].output)}, k);
  }
  /// The inputs of a backward are retained when it runs.
  EBB_ONCE void ask(int v, int wish, int k) override {
    if (!r_.options().accumulates) show({capture_place::kind::requested, v, wish}, k);
    else show({capture_place::kind::retained, v, static_cast<int>(r_.wishes()[wish].output)}, k);
  }
  EBB_ONCE vec<int> hook(int v, int h, const hook_program& p, const vec<int>& gradients) override {
    vec<int> in, made;
    for (int i = 0; i < p.values; ++i) in.push(argument({capture_place::kind::bound, v, h, i}, true));
    for (int k : gradients) {
      require(!values_[k].is_element);
      in.push(k);
    }
    for (int i = 0; i < p.written; ++i) {
      const chainable& link = p.link(i);
      require(!records_ && link.link && link.primary == p.values + i && link.results == 1);
      if (!goes_on_) break;
      made.push(put_link(link, vec<int>(in)).out[0]);
    }
    return made;
  }
  void call(int, int, vec<int>&) override { goes_on_ = false; }
  EBB_ONCE vec<int> piece(int i, const detail::backward_piece& piece, const vec<int>& gradients) override {
    const node_program& p = *r_.node_at(i).program;
    const chainable& link = *p.graphs->chain;
    const int kept = piece.kept.size(), seeds = piece.seeds.size();
    vec<int> in, given(p.edges, -1);
    for (int a = 0; a < kept; ++a) {
      in.push(argument({capture_place::kind::saved, i, a}, link.elements >> a & 1));
      values_[in.back()].is_mask = link.masks >> a & 1;
    }
    for (int s = 0; s < seeds; ++s) {
      const int k = piece.seeds[s] < 0 ? -1 : gradients[piece.seeds[s]];
      require(k >= 0 && values_[k].is_element == bool(link.elements >> (kept + s) & 1));
      in.push(k);
    }
    const auto give = [&](const vec<int>& read, const vec<int>& made) {
      for (int j = 0; j < p.edges; ++j) {
        const int from = p.graphs->gradient_from[j];
        given[j] = from >= 0 ? made[from] : read[~from];
      }
    };
    require(link.results == 0 || link.link);
    if (!goes_on_) return given;
    if (link.results == 0) give(in, {});
    else {
      const chain_call& c = put_link(link, std::move(in));
      give(c.in, c.out);
      for (int j = 0; link.primary < 0 && j < p.edges; ++j)
        if (const edge_key& e = r_.edge_at(i, j); e.to >= 0) p_.extents.push({e.to, e.output});
    }
    return given;
  }
  vec<int> function(int i, const vec<int>&) override {
    goes_on_ = false;
    return vec<int>(r_.node_at(i).program->edges, -1);
  }
  EBB_ONCE void give(int i, int j, int k) override {
    if (records_) put_result({capture_place::kind::edge, i, j}, k);
  }
  /// A chain has one dtype.
  int widen(int, int k) override {
    goes_on_ = false;
    return k;
  }
  EBB_ONCE int meet(int to, int output, int there, int k) override {
    const int r = sum(to, output, there, k);
    if (records_) put_result({capture_place::kind::sum, to, output}, r);
    return r;
  }
  /// Whether all that happens at a leaf is links of this chain.
  EBB_ONCE bool takes(int l, bool changed, bool observed) const override {
    if (records_ || !changed || observed || !goes_on_ || !r_.is_traced(l)) return false;
    for (const hook_key& h : r_.hooks_of(l))
      if (h.is_update()) {
        const chainable& link = h.program->chain;
        if (!link.link || link.primary != h.program->parameter + 1 || !agrees(link)) return false;
      }
    return true;
  }
  EBB_ONCE int accumulate(int l, int k) override {
    if (!r_.leaf_at(l).has_gradient) return k;
    return sum(l, 0, argument({capture_place::kind::leaf_gradient, l}, false), k);
  }
  EBB_ONCE void update(int l, int h, const hook_program& p, int& value, int& gradient, int last) override {
    require(!values_[gradient].is_element);
    vec<int> in(p.chain.arguments, -1);
    for (int i = 0; i < p.values; ++i) in[p.first_value + i] = argument({capture_place::kind::bound, l, h, i}, true);
    if (value < 0) value = argument({capture_place::kind::leaf_value, l}, false);
    in[p.parameter] = value;
    in[p.parameter + 1] = gradient;
    for (int i = 0; i < p.states; ++i) in[p.parameter + 2 + i] = argument({capture_place::kind::state, l, h, i}, false);
    const vec<int> out = put_link(p.chain, std::move(in)).out;
    int next = 0;
    if (p.writes_value) value = out[next++];
    if (p.writes_gradient) gradient = out[next++];
    else if (p.clears) gradient = -1;
    for (int i = 0; i < p.states; ++i) put_over({capture_place::kind::state, l, h, i}, out[next++]);
    require(next == p.chain.results);
    interface_.updates.push({l, h, last, p.writes_value});
  }
  EBB_ONCE void finish(int l, int value, int gradient) override {
    if (value >= 0 && values_[value].argument < 0) put_over({capture_place::kind::leaf_value, l}, value);
    if (gradient < 0) interface_.cleared.push(l);
    else put_over({capture_place::kind::leaf_gradient, l}, gradient);
  }
  EBB_ONCE void leave(int v, int output, int k) override {
    if (!records_) put_result({capture_place::kind::slot, v, output}, k);
  }

 private:
  void require(bool so) { goes_on_ = goes_on_ && so; }
  EBB_ONCE int new_value(int argument = -1, bool is_element = false) {
    values_.push({argument, is_element});
    return values_.size() - 1;
  }
  EBB_ONCE int argument(const capture_place& from, bool is_element) {
    for (int v = 0; v < values_.size(); ++v)
      if (const int a = values_[v].argument; a >= 0 && interface_.arguments[a] == from) {
        require(values_[v].is_element == is_element);
        return v;
      }
    interface_.arguments.push(from);
    return new_value(interface_.arguments.size() - 1, is_element);
  }
  /// Whether a vertex reads the one element that its gradient has.
  EBB_ONCE bool reads_element(int v, int output) const {
    if (r_.is_leaf(v)) return false;
    const segment_graphs& s = *r_.node_at(v).program->graphs;
    int number = 0;  // among what its backward reads
    for (int n : s.read) {
      if (n >= s.arguments + s.saves && s.outputs[n - s.arguments - s.saves] == output) return s.chain->elements >> number & 1;
      ++number;
    }
    return false;
  }
  EBB_ONCE void put_result(const capture_place& to, int v) {
    chain_value& x = values_[v];
    group_interface::result r{to};
    if (x.argument >= 0) r.shared = x.argument, r.is_argument = true;
    else if (x.result >= 0) r.shared = x.result;
    else x.result = interface_.results.size();
    require(!x.is_element);
    interface_.results.push(r);
  }
  /// A result that may be written over the argument from the same place, if the group reads that.
  EBB_ONCE void put_over(const capture_place& to, int v) {
    put_result(to, v);
    for (int a = 0; a < interface_.arguments.size(); ++a)
      if (interface_.arguments[a] == to) interface_.results.back().over = a;
  }
  /// A gradient that can be seen on the way. The engine shows recorded ones.
  EBB_ONCE void show(const capture_place& to, int k) {
    if (records_) return;
    for (const group_interface::result& r : interface_.results)
      if (r.to == to) return;
    put_result(to, k);
  }
  /// All links and sums are of one type, and of one length, as far as lengths are known beforehand.
  bool agrees(const chainable& link) const {
    return ((!has_type_ && !has_sum_) || p_.type == link.type) && (length_ < 0 || link.length < 0 || length_ == link.length);
  }
  EBB_ONCE const chain_call& put_link(const chainable& link, vec<int>&& in) {
    require(agrees(link));
    p_.type = link.type;
    length_ = std::max(length_, link.length);
    has_type_ = true;
    steps_.push({&link, std::move(in), {}});
    require(steps_.size() <= longest);
    chain_call& c = steps_.back();
    for (int o = 0; o < link.results; ++o) c.out.push(new_value());
    return c;
  }
  /// Of gradients of v. A node that only passes its gradient on is a link of any type, so they may be of another type than the chain.
  EBB_ONCE int sum(int v, int output, int there, int k) {
    const auto type_of_node = [&](const node_program& p) { return output < p.outputs ? p.types[output] : dtype::boolean; };
    const dtype type = r_.is_leaf(v) ? r_.leaf_at(v).gradient_type : type_of_node(*r_.node_at(v).program);
    require(type == dtype::f32 || type == dtype::f64);
    require((!has_type_ && !has_sum_) || p_.type == type);
    p_.type = type;
    has_sum_ = true;
    require(!values_[there].is_element && !values_[k].is_element);
    const int r = new_value();
    steps_.push({nullptr, {there, k}, {r}});
    require(steps_.size() <= longest);
    return r;
  }

  const recording& r_;
  vec<chain_value> values_;
  vec<chain_call> steps_;
  group_interface interface_;
  chain_program p_;
  bool has_type_ = false, has_sum_ = false;
  std::ptrdiff_t length_ = -1;  // -1: not known beforehand
  const bool records_ = r_.options().graph != nullptr;
};

}  // namespace ebb::inline EBB_ABI
