// ebb/capture/chain_group.hpp — a group as a chain: one pass over memory, from what the backward has to what it gives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chain.hpp"
#include "group.hpp"

namespace ebb::inline EBB_ABI {

class chain_group : public merged_group {
 public:
  /// `pays_from`: how many bytes an array must have, or the nodes run one by one.
  chain_group(const recording& r, const capture_progress& at, int first, int last, chain_builder& b, std::size_t pays_from = 0)
      : merged_group(r, at, first, last, b.interface()), p_(std::move(b).code()), pays_from_(pays_from) {
    size_ = size_of(p_.type);
    first_block_ = chain_arena_bytes(p_.places.size());
    arena_ = first_block_ + static_cast<std::size_t>(p_.blocks) * chain_bytes;
    arguments_ = vec<reading>(interface_.arguments.size(), reading{});
    place_of_result_ = vec<int>(interface_.results.size(), -1);
    for (int i = 0; i < p_.places.size(); ++i) {
      const chain_program::place& p = p_.places[i];
      if (p.is == place_kind::block) blocks_.push(i);
      else if (p.is == place_kind::result) place_of_result_[p.number] = i;
      else arguments_[p.number] = {i, p.is == place_kind::element, p_.use[i] == chain_use::mask};
    }
    int calls = last - first;
    for (int i = first; i < last; ++i) calls += 2 * r.node_at(i).hook_count;
    if (calls <= few_calls) gauge_ = gauge();
  }

  const char* kind() const override { return "one chain in registers"; }

 private:
  using place_kind = chain_program::place::kind;

  /// So many nodes, a hook counting as two, are as fast one by one where arrays are shorter than a step.
  static constexpr int few_calls = 3;

  /// Where an argument is read, if it is.
  struct reading {
    int place = -1;
    bool is_element = false, is_mask = false;
  };

  /// An argument whose length is seen at once, or -1.
  int gauge() const {
    for (const auto kind : {capture_place::kind::slot, capture_place::kind::leaf_gradient})
      for (int a = 0; a < arguments_.size(); ++a)
        if (arguments_[a].place >= 0 && !arguments_[a].is_element && interface_.arguments[a].is == kind) return a;
    return -1;
  }
  bool pays(walk& w) const override {
    if (gauge_ < 0) return true;
    const capture_place& p = interface_.arguments[gauge_];
    const gradient& g = p.is == capture_place::kind::slot ? w.gradients()[r_.visit_at(p.at).first + p.number] : leaf_at(w, p.at).grad;
    return g.value.bytes() >= chain_bytes;
  }

  bool run_program(backward_pass& pass, group_scratch& s) override {
    s.places.shrink(0);
    chain_place* const places = s.places.extend(p_.places.size());
    std::size_t bytes = 0;
    bool known = false;
    const auto agree = [&](std::size_t n) { return std::exchange(known, true) ? n == bytes : (bytes = n, true); };
    const auto take = [&](int argument, const group_source& x) {
      const reading& r = arguments_[argument];
      if (r.place < 0) return true;
      if (r.is_element) {
        places[r.place] = chain_place::element(x.data());
        return x.is_bound() || x.bytes() == size_;
      }
      places[r.place] = chain_place::array(x.array().data());
      return agree(r.is_mask ? x.array().bytes() * size_ : x.array().bytes());
    };
    if (!gather(pass.vertices(), s, take)) return false;
    for (const auto& [v, o] : p_.extents)
      if (!agree(extents_of(*pass.vertices().at(v).at, static_cast<std::uint32_t>(o)).volume() * size_)) return false;
    if (bytes < pays_from_) return false;
    storage* result = s.results.extend(interface_.results.size());
    for (int r = 0; r < interface_.results.size(); ++r, ++result) {
      const group_interface::result& x = interface_.results[r];
      if (x.shared >= 0) continue;
      *result = result_array(pass, s, x, bytes);
      if (const int i = place_of_result_[r]; i >= 0) places[i] = chain_place::array(result->data());
    }
    char* const arena = s.arena.take(arena_);
    char* block = arena + first_block_;
    for (int i : blocks_) places[i] = chain_place::block(std::exchange(block, block + chain_bytes));
    const auto run = [&]<class T>(T) { run_chain<T>(p_.code.data(), places, p_.use.data(), p_.places.size(), bytes / size_, arena); };
    if (p_.type == dtype::f64) run(double{});
    else run(float{});
    return true;
  }

  chain_program p_;
  std::size_t size_, first_block_, arena_;
  vec<reading> arguments_;
  vec<int> place_of_result_, blocks_;  // places
  int gauge_ = -1;
  std::size_t pays_from_;
};

}  // namespace ebb::inline EBB_ABI
