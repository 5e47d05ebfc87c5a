// ebb/capture/recorded_group.hpp — a group in a backward that leaves a graph of itself: computed in one pass, then recorded node by node.
// SPDX-License-Identifier: BSL-1.0
//
// [note: merged and recorded]
// With create_graph every gradient on the way is kept by what is recorded, so none can live in registers alone; but all of them come out of
// one chain, which reads what was saved once and hands on what it has just computed. Then the engine goes through the nodes as it always
// does, hooks on the way to leaves and all, and finds each gradient made: it records. So what is recorded is the plain engine's graph.
// Shorter arrays are in the first cache whoever computes them: their nodes run one by one.
#pragma once

#include "chain_group.hpp"

namespace ebb::inline EBB_ABI {

class recorded_group final : public chain_group {
 public:
  EBB_ONCE recorded_group(const recording& r, const capture_progress& at, int first, int last, chain_builder& b)
      : chain_group(r, at, first, last, b, dear) {
    completes_ = true;
    for (int i = first; i < last; ++i) {
      first_edge_.push(edges_);
      edges_ += r.node_at(i).program->edges;
    }
  }

  const char* kind() const override { return "one chain, each gradient stored and recorded"; }

 private:
  void complete(backward_pass& pass) override { pass.record_computed(first_, last_); }

  static constexpr std::size_t dear = std::size_t{16} << 10;

  EBB_ONCE void publish(backward_pass& pass, group_scratch& s) override {
    computed_gradients c{objects<gradient>(static_cast<std::size_t>(edges_)), {}};  // edges that get nothing stay undefined
    for (int r = 0; r < s.results.size(); ++r) {
      const capture_place& to = interface_.results[r].to;
      storage& value = s.results[r];
      if (to.is == capture_place::kind::sum) c.sums.push_back(std::move(value));
      else c.edges[static_cast<std::size_t>(first_edge_[to.at - first_] + to.number)] = {std::move(value), nullptr, 0, true};
    }
    pass.know(std::move(c));
  }

  vec<int> first_edge_;
  int edges_ = 0;
};

}  // namespace ebb::inline EBB_ABI
