// ebb/capture/chain_group.hpp — runs a group as a chain: one pass over memory, from the group's arguments to its results.
// SPDX-License-Identifier: BSL-1.0
//
// [note: merged and recorded]
// With create_graph, the record keeps every gradient on the way, so none can live in registers alone. One chain still computes all of them:
// it reads saved values once, and passes gradients from link to link. Then the engine goes through the nodes as always, with hooks on the
// way to leaves, finds each gradient computed, and records: the graph is that of the plain engine. Short arrays are in the first-level
// cache anyway: their nodes run one by one.
#pragma once

#include "group.hpp"

#include "../kernel/chain.hpp"

namespace ebb::inline EBB_ABI {

class chain_group : public merged_group {
 public:
  EBB_ONCE_CTOR chain_group(const recording& r, const capture_progress& at, int first, int last, chain_sink& chain)
      : merged_group(r, at, first, last, chain.interface()), p_(std::move(chain).code()), is_recorded_(r.options().graph != nullptr) {
    for (int i = first; is_recorded_ && i < last; ++i) {
      first_edge_.push(edges_);
      edges_ += r.node_at(i).program->edges;
    }
    size_ = size_of(p_.type);
    const int words = p_.place_of.size();
    vec<int> word_of_result(interface_.results.size(), -1);
    for (const chain_program::place& p : p_.places) {
      if (p.is == place_kind::result) word_of_result[p.number] = p.word;
      else if (p.is == place_kind::element) elements_.push({source_of(p.number), p.number, p.word});
      else if (p.is == place_kind::argument) (p.use == chain_use::mask ? masks_ : arrays_).push({source_of(p.number), p.number, p.word});
    }
    for (int i = 0; i < interface_.results.size(); ++i)
      if (const group_interface::result& x = interface_.results[i]; x.shared < 0) made_.push({i, word_of_result[i], shares_ ? -1 : x.over});
    const auto name_those = [&](auto&& are_used) {
      const int before = places_.size();
      for (int w = 0; w < words; ++w)
        if (const int i = p_.place_of[w]; i >= 0 && p_.places[i].is != place_kind::element && are_used(p_.places[i].use))
          places_.push({w, i, p_.places[i].use});
      return places_.size() - before;
    };
    all_places_.written = name_those([](chain_use u) { return u == chain_use::written; });
    all_places_.read = name_those([](chain_use u) { return u == chain_use::read || u == chain_use::mask; });
    all_places_.blocks = name_those([](chain_use u) { return u == chain_use::block; });
    for (int w = 0; w < words; ++w)
      if (const int i = p_.place_of[w]; i >= 0 && w != p_.places[i].word && p_.places[i].is != place_kind::block)
        same_.push({w, p_.places[i].word});
    all_places_.first = places_.data();
    all_places_.numbers = p_.places.size();
    EBB_PROBE(describe(first, last);)
    arena_ = chain_arena_bytes(p_.places.size(), places_.size());
    is_plain_ = !arrays_.empty() && elements_.empty() && masks_.empty() && p_.extents.empty();
  }

  /// Its description in plans that are shown.
  const char* kind() const { return is_recorded_ ? "one chain, each gradient stored and recorded" : "one chain in registers"; }

  /// False if it cannot run now: nothing has been done then.
  EBB_ONCE bool run(backward_pass& pass) {
    walk& w = pass.vertices();
    if (!is_time(w)) return false;
    group_scratch& s = group_scratch::of_thread();
    const leaf_locks locks(*this, w, s);
    if (!is_still_time(w)) return false;
    const forgetting at_the_end(s);
    if (!run_program(pass, s)) return false;
    if (shares_) share(w, s);
    if (is_recorded_) hand_over(pass, s);
    else publish(pass, s);
    s.results.shrink(0);  // they have been handed on
    return true;
  }
  /// Leaves that wait for nothing more run, and nodes are recorded: called when the group's locks are gone.
  void finish(backward_pass& pass) {
    if (is_recorded_) pass.record_computed(first_, last_);
    else complete(pass);
  }

 private:
  using place_kind = chain_program::place::kind;

  /// An argument, and the first word with its address.
  struct reading {
    source from;
    int number, word;
  };
  /// A result, the first word with its address, or -1; and the argument that it may be written over, or -1.
  struct making {
    int number, word, over;
  };

  /// From how many bytes of an array on one chain is faster than its nodes, if all gradients are stored.
  static constexpr std::size_t pays_if_recorded = std::size_t{16} << 10;

  /// Tells the engine the gradients of all edges: it records.
  EBB_ONCE_APART void hand_over(backward_pass& pass, group_scratch& s) const {
    computed_gradients c{objects<gradient>(static_cast<std::size_t>(edges_)), {}};  // edges that get nothing stay undefined
    for (int r = 0; r < s.results.size(); ++r) {
      const capture_place& to = interface_.results[r].to;
      storage& value = s.results[r];
      if (to.is == capture_place::kind::sum) c.sums.push_back(std::move(value));
      else c.edges[static_cast<std::size_t>(first_edge_[to.at - first_] + to.number)] = {std::move(value), nullptr, 0, true};
    }
    pass.know(std::move(c));
  }
  /// Gathers arguments and fills s.results; a result that may be written over its argument takes that array. Apart: inlined, it costs a
  /// chain of one node 1.5 ns.
  EBB_ONCE_APART bool run_program(backward_pass& pass, group_scratch& s) {
    walk& w = pass.vertices();
    std::size_t bytes = 0;
    chain_word* const code = p_.code.data();
    if (is_plain_ && finds_arrays()) {
      bytes = array_at(w, arrays_[0].from).bytes();
      if (bytes == 0) return false;  // nothing to do
      for (const reading& a : arrays_) {
        const storage& x = array_at(w, a.from);
        if (x.bytes() != bytes) return false;  // it cannot run now
        code[a.word].stand_at(x.data());
      }
    } else if (!read_arguments(w, s, bytes)) return false;
    if (is_recorded_ && bytes < pays_if_recorded) return false;
    s.results.extend(interface_.results.size());
    for (const making& m : made_) {
      const storage* to = m.over >= 0 ? &argument(w, s, m.over) : nullptr;
      if (!to || !fits_over(pass, s, m.number, *to, bytes)) to = &(s.results[m.number] = result_array(pass, s, m.number, bytes));
      if (m.word >= 0) code[m.word].stand_at(to->data());
    }
    for (const auto& [word, first] : same_) code[word].base = code[first].base;
    EBB_PROBE(const probe here({probed::chain, name_.c_str(), "", work_on(bytes)});)
    const bool is_narrow = takes_narrow_steps(bytes, all_places_.arrays());
    (p_.type == dtype::f64 ? run_chain<double> : run_chain<float>)(code, all_places_, bytes, s.arena.take(arena_), is_narrow);
    return true;
  }
  /// Puts the addresses of arguments into the code. False if lengths do not agree.
  EBB_ONCE_APART bool read_arguments(walk& w, group_scratch& s, std::size_t& bytes) {
    const bool finds = finds_arrays();
    if (!finds && !find_arguments(w, s)) return false;
    const auto stands = [&](const reading& a) { return finds ? group_source(&array_at(w, a.from)) : s.from[a.number]; };
    const auto length = [&](const std::pair<int, int>& e) {
      return extents_of(*w.at(e.first).at, static_cast<std::uint32_t>(e.second)).volume() * size_;
    };
    if (!arrays_.empty()) bytes = stands(arrays_[0]).bytes();
    else if (!masks_.empty()) bytes = stands(masks_[0]).bytes() * size_;
    else if (!p_.extents.empty()) bytes = length(p_.extents[0]);
    else return false;
    const auto take = [&](const vec<reading>& list, auto&& fits) {
      for (const reading& a : list) {
        const group_source x = stands(a);
        if (!fits(x)) return false;
        p_.code[a.word].stand_at(x.data());
      }
      return true;
    };
    if (!take(arrays_, [&](const group_source& x) { return x.bytes() == bytes; }) ||
        !take(elements_, [&](const group_source& x) { return x.is_bound() || x.bytes() == size_; }) ||
        !take(masks_, [&](const group_source& x) { return x.bytes() * size_ == bytes; }))
      return false;
    for (const auto& e : p_.extents)
      if (length(e) != bytes) return false;
    return true;
  }

#if defined(EBB_PROFILE)
  /// Its name, and what it does for each element: see [note: counted work].
  EBB_COLD void describe(int first, int last) {
    const auto add = [&](const hook_keys& hooks) {
      for (const hook_key& h : hooks)
        if (h.program) operations_ += operations_of_element(h.program->graph.thaw());
    };
    for (int i = first; i < last; ++i) {
      const node_program& p = *r_.node_at(i).program;
      name_ += (name_.empty() ? "" : ", ") + std::string(p.name);
      if (p.graphs) operations_ += operations_of_element(detail::piece_of(*p.graphs).g);
      add(r_.hooks_of(i));
    }
    if (name_.empty()) name_ = "what happens at a leaf";
    for (const group_interface::update& u : interface_.updates) add(r_.hooks_of(u.leaf));
  }
  EBB_COLD probed_work work_on(std::size_t bytes) const {
    const auto each = static_cast<double>(bytes);
    const double read = each * arrays_.size() + each / static_cast<double>(size_) * masks_.size();
    return {read, each * made_.size(), each / static_cast<double>(size_) * operations_};
  }

  std::string name_;
  double operations_ = 0;
#endif
  chain_program p_;
  std::size_t size_, arena_;
  vec<reading> arrays_, elements_, masks_;
  vec<making> made_;
  vec<std::pair<int, int>> same_;  // a word, and the first with the same address
  vec<chain_place> places_;
  chain_places all_places_{};
  bool is_plain_;  // its arguments are arrays of one length
  bool is_recorded_;
  vec<int> first_edge_;  // of each node, among all
  int edges_ = 0;
};

}  // namespace ebb::inline EBB_ABI
