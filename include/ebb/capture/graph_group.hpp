// ebb/capture/graph_group.hpp — a group as a graph: through the passes of a compiled function, then block by block.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "compose.hpp"
#include "group.hpp"

#include "../exec/alias.hpp"
#include "../pass/outputs.hpp"

namespace ebb::inline EBB_ABI {

class graph_group final : public merged_group {
 public:
  graph_group(const recording& r, const capture_progress& at, int first, int last, const composer& c)
      : graph_group(r, at, first, last, c, distinct_outputs(prune(canonical_shapes(c.g)))) {}

  const char* kind() const override { return "one graph, block by block"; }

  EBB_ONCE static int products(const graph& g) {
    int n = 0;
    for (int k = 0; k < g.size(); ++k) n += g.op(k).what == kind::contract;
    return n;
  }
  /// Whether all of it can run this way, and nothing of it can fail.
  EBB_ONCE static bool fits(const graph& g) {
    for (int k = 0; k < g.size(); ++k) {
      const op_info& op = g.op(k);
      if (op.what == kind::solve || op.what == kind::factor || op.what == kind::gather || op.what == kind::scatter) return false;
      if (op.needs_elements || op.names_places || g.eq[k].sub >= 0 || !op.kernels.there) return false;
    }
    return true;
  }

 private:
  EBB_ONCE graph_group(const recording& r, const capture_progress& at, int first, int last, const composer& c, const distinct_results& d)
      : merged_group(r, at, first, last, interface_of(c, d)), program_(d.g), pointers_(interface_.arguments.size() + 1, nullptr) {
    const plan& p = program_.steps();
    const detail::memory_uses uses(p, size_of(p), program_.program().out.size(), program_.program().inputs);
    int own = 0;
    for (group_interface::result& x : interface_.results) {
      if (x.shared >= 0) continue;
      if (x.over >= 0 && !detail::may_overwrite(uses.written[own], uses.read[x.over])) x.over = -1;
      ++own;
    }
    to_ = vec<void*>(own + 1, nullptr);
    const symbols& s = program_.program().syms;
    values_ = vec<std::size_t>(s.count() + 1, 0);
  }
  EBB_ONCE static group_interface interface_of(const composer& c, const distinct_results& d) {
    group_interface all{c.arguments, {}, {}, {}};
    vec<int> first(d.g.out.size(), -1);  // the result that has the array of each output
    for (int i = 0; i < c.results.size(); ++i) {
      group_interface::result x{c.results[i]};
      const int from = d.from[i];
      if (from < 0) x.shared = ~from, x.is_argument = true;
      else if (int& f = first[from]; f >= 0) x.shared = f;
      else f = i;
      for (int a = 0; a < c.arguments.size(); ++a)
        if (x.shared < 0 && c.arguments[a] == x.to) x.over = a;
      all.results.push(x);
    }
    return all;
  }

  /// From how many bytes of an argument on a product is dear enough.
  static constexpr std::size_t pays_from = std::size_t{32} << 10;

  EBB_ONCE bool run_program(backward_pass& pass, group_scratch& s) override {
    if (!find_arguments(pass.vertices(), s)) return false;
    const graph& g = program_.program();
    if (std::none_of(s.from.begin(), s.from.end(), [](const group_source& x) { return x.bytes() >= pays_from; })) return false;
    for (int i = 0; i < g.syms.count(); ++i) {
      const extent_origin& o = g.syms.origin(i);
      std::size_t& value = values_[i];
      if (o.rule == extent_rule::argument) value = static_cast<const node&>(*pass.vertices().at(o.a).at).symbols()[o.b];
      else {
        const auto operand = [&](int e) { return static_cast<std::int64_t>(extent_value(e, values_.data())); };
        value = static_cast<std::size_t>(apply(o.rule, operand(o.a), operand(o.b)));
      }
    }
    for (int a = 0; a < interface_.arguments.size(); ++a) pointers_[a] = s.from[a].data();
    int own = 0;
    for (int i = 0; i < interface_.results.size(); ++i) {
      if (interface_.results[i].shared >= 0) {
        s.results.push({});
        continue;
      }
      const int k = g.out[own];
      s.results.push(result_array(pass, s, i, volume(g.shape_of(k), values_.data()) * size_of(g.op(k).result)));
      to_[own++] = s.results.back().data();
    }
    program_.run(pointers_.data(), to_.data(), values_.data(), "ebb::backward");
    return true;
  }

  block_program program_;
  vec<void*> pointers_, to_;
  vec<std::size_t> values_;
};

}  // namespace ebb::inline EBB_ABI
