// ebb/capture/pruned_backward.hpp — the backward of a node without the products for gradients that are not needed.
// SPDX-License-Identifier: BSL-1.0
//
// [note: pruned backwards]
// A segment's backward gives the gradients of all operands that are variables. If a pass does not want some of them, as `grad` of one
// factor does not, their matrix products are left out. The rest of the graph runs block by block: the program was made at run time, since
// a node has too many sets of operands to compile a program for each. Between 128 x 128 matrices one product out of two takes 0.52 of the
// time, between 512 x 512 0.50. Smaller arrays run the compiled backward: blocks cost more than the product.
// A segment whose backward has a product brings what makes and runs such programs: see partial_run. So a program without
// products contains neither the planner nor the blocks.
#pragma once

#include "progress.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

class pruned_backward final : public other_run {
 public:
  /// Null if all products of node i of a recording are needed, or if the user could notice that one is left out.
  EBB_ONCE static owned<pruned_backward> of(const recording& r, int i, const capture_progress& at, piece_table& pieces) {
    if (r.options().graph || !r.visit_at(i).needed || !r.is_open(i)) return nullptr;
    for (const hook_key& h : r.hooks_of(i))
      if (h.kind == hook_kind::node_post) return nullptr;
    const partial_run* const parts = r.node_at(i).program->graphs->parts;
    if (!parts) return nullptr;
    const detail::backward_piece& whole = *pieces.find(r.node_at(i).program);
    if (!fits(whole.g)) return nullptr;
    const std::uint64_t arrived = at.seeds_of(i, whole);
    graph g = whole.g;
    vec<int> edges;
    g.out = {};
    for (int j = 0; j < whole.g.out.size(); ++j)
      if (const int to = r.edge_at(i, j).to; to >= 0 && r.visit_at(to).is_reached() && whole.depends[j] & arrived) {
        g.out.push(whole.g.out[j]);
        edges.push(j);
      }
    const fewer_arguments fewer = used_arguments(parts->pruned(g));
    if (edges.empty() || products(fewer.g) == products(whole.g)) return nullptr;
    vec<int> arguments, seeds;
    for (int a : fewer.kept) arguments.push(a < whole.kept.size() ? a : ~whole.seeds[a - whole.kept.size()]);
    for (int a : arguments)
      if (a < 0 && !at.defined(i, ~a)) return nullptr;  // it would need zeros
    vec<char> expected;
    for (int o = 0; o < r.visit_at(i).outputs; ++o) expected.push(at.defined(i, o));
    const distinct_results d = parts->distinct(fewer.g);
    owned<runnable_graph> program = parts->in_blocks(d.g);
    return owned<pruned_backward>(
        new pruned_backward(std::move(program), d.from, std::move(edges), std::move(arguments), std::move(expected)));
  }

  EBB_ONCE bool run(node& n, gradient* in, gradient* out) override {
    if (n.hooks && n.hooks->has(hook_kind::node_post)) return false;  // a pre-hook has added it
    for (int o = 0; o < expected_.size(); ++o)
      if (in[o].defined != static_cast<bool>(expected_[o])) return false;
    const forgetting at_the_end{arrays_, results_};
    std::size_t most = 0;
    for (int a = 0; a < arguments_.size(); ++a) {
      arrays_[a] = arguments_[a] < 0 ? in[~arguments_[a]].value : detail::saved_value(n, arguments_[a]);
      from_[a] = arrays_[a].data();
      most = std::max(most, arrays_[a].bytes());
    }
    if (most < pays_from) return false;
    const graph& g = program_->program();
    detail::put_all_symbols(g.syms, n.symbols(), symbols_.data());
    for (int o = 0; o < results_.size(); ++o) {
      results_[o] = storage(volume(g.shape_of(g.out[o]), symbols_.data()) * size_of(g.op(g.out[o]).result));
      to_[o] = results_[o].data();
    }
    program_->run(from_.data(), to_.data(), symbols_.data(), n.program->name);
    for (int j = 0; j < edges_.size(); ++j) {
      const int o = distinct_[j];
      out[edges_[j]] = {o < 0 ? arrays_[~o] : results_[o], nullptr, 0, true};
    }
    return true;
  }

 private:
  /// From how many bytes of an argument on a product costs more than blocks do.
  static constexpr std::size_t pays_from = std::size_t{32} << 10;

  struct forgetting {
    vec<storage>&arrays, &results;
    ~forgetting() {
      for (storage& x : arrays) x = {};
      for (storage& x : results) x = {};
    }
  };

  EBB_ONCE static int products(const graph& g) {
    int n = 0;
    for (int k = 0; k < g.size(); ++k) n += g.op(k).what == kind::contract;
    return n;
  }
  /// Whether it has no sub-graphs, and nothing of it can fail.
  EBB_ONCE static bool fits(const graph& g) {
    for (int k = 0; k < g.size(); ++k) {
      const op_info& op = g.op(k);
      if (op.what == kind::solve || op.what == kind::factor || op.what == kind::gather || op.what == kind::scatter) return false;
      if (op.needs_elements || op.names_places || g.eq[k].sub >= 0) return false;
    }
    return true;
  }

  EBB_ONCE_CTOR pruned_backward(owned<runnable_graph> program, const vec<int>& distinct, vec<int> edges, vec<int> arguments,
                                vec<char> expected)
      : program_(std::move(program)), distinct_(distinct), edges_(std::move(edges)), arguments_(std::move(arguments)),
        expected_(std::move(expected)), arrays_(arguments_.size(), storage()), results_(program_->program().out.size(), storage()),
        from_(arguments_.size() + 1, nullptr), to_(results_.size() + 1, nullptr),
        symbols_(program_->program().syms.count() + 1, 0) {}

  owned<runnable_graph> program_;
  vec<int> distinct_;   // by edge that is wanted: the program's result, or ~ its argument
  vec<int> edges_;      // those that are wanted
  vec<int> arguments_;  // numbers of saved values, or ~ of outputs
  vec<char> expected_;  // which gradients arrive
  vec<storage> arrays_, results_;
  vec<void*> from_, to_;
  vec<std::size_t> symbols_;
};

}  // namespace ebb::inline EBB_ABI
