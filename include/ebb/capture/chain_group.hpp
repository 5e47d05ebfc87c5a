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
    arguments_ = vec<reading>(interface_.arguments.size(), reading{});
    word_of_result_ = vec<int>(interface_.results.size(), -1);
    for (const chain_program::place& p : p_.places) {
      if (p.is == place_kind::result) word_of_result_[p.number] = p.word;
      else if (p.is != place_kind::block) arguments_[p.number] = {p.word, p.is == place_kind::element, p.use == chain_use::mask};
    }
    const auto name_those = [&](auto&& are_used) {
      const int before = places_.size();
      for (int w = 0; w < p_.code.size(); ++w)
        if (const int i = p_.place_of[w]; i >= 0 && p_.places[i].is != place_kind::element && are_used(p_.places[i].use))
          places_.push({w, i, p_.places[i].use});
      return places_.size() - before;
    };
    name_those([](chain_use u) { return u == chain_use::written; });
    name_those([](chain_use u) { return u == chain_use::read || u == chain_use::mask; });
    blocks_ = name_those([](chain_use u) { return u == chain_use::block; });
    for (int w = 0; w < p_.code.size(); ++w)
      if (const int i = p_.place_of[w]; i >= 0 && w != p_.places[i].word && p_.places[i].is != place_kind::block)
        same_.push({w, p_.places[i].word});
    arena_ = chain_arena_bytes(p_.places.size(), places_.size());
    int calls = last - first;
    for (int i = first; i < last; ++i) calls += 2 * r.node_at(i).hook_count;
    if (calls <= few_calls) gauge_ = gauge();
  }

  const char* kind() const override { return "one chain in registers"; }

 private:
  using place_kind = chain_program::place::kind;

  /// So many nodes, a hook counting as two, are as fast one by one where arrays are shorter than a step.
  static constexpr int few_calls = 3;

  /// Where an argument is read first, if it is.
  struct reading {
    int word = -1;
    bool is_element = false, is_mask = false;
  };

  /// An argument whose length is seen at once, or -1.
  int gauge() const {
    for (const auto kind : {capture_place::kind::slot, capture_place::kind::leaf_gradient})
      for (int a = 0; a < arguments_.size(); ++a)
        if (arguments_[a].word >= 0 && !arguments_[a].is_element && interface_.arguments[a].is == kind) return a;
    return -1;
  }
  bool pays(walk& w) const override {
    if (gauge_ < 0) return true;
    const capture_place& p = interface_.arguments[gauge_];
    const gradient& g = p.is == capture_place::kind::slot ? w.gradients()[r_.visit_at(p.at).first + p.number] : leaf_at(w, p.at).grad;
    return g.value.bytes() >= chain_bytes;
  }

  bool run_program(backward_pass& pass, group_scratch& s) override {
    chain_word* const code = p_.code.data();
    std::size_t bytes = 0;
    bool known = false;
    const auto agree = [&](std::size_t n) { return std::exchange(known, true) ? n == bytes : (bytes = n, true); };
    const auto take = [&](int argument, const group_source& x) {
      const reading& r = arguments_[argument];
      if (r.word < 0) return true;
      code[r.word].stand_at(x.data());
      if (r.is_element) return x.is_bound() || x.bytes() == size_;
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
      if (const int w = word_of_result_[r]; w >= 0) code[w].stand_at(result->data());
    }
    char* const arena = s.arena.take(arena_);
    for (const auto& [word, first] : same_) code[word].base = code[first].base;
    const auto run = [&]<class T>(T) { run_chain<T>(code, {places_.data(), places_.size() - blocks_, blocks_}, bytes, arena); };
    if (p_.type == dtype::f64) run(double{});
    else run(float{});
    return true;
  }

  chain_program p_;
  std::size_t size_, arena_;
  vec<reading> arguments_;
  vec<int> word_of_result_;
  vec<std::pair<int, int>> same_;  // a word, and the first that names the same place
  vec<chain_place> places_;
  int blocks_ = 0;  // of them
  int gauge_ = -1;
  std::size_t pays_from_;
};

}  // namespace ebb::inline EBB_ABI
