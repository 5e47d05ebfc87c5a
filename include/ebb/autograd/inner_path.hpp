// ebb/autograd/inner_path.hpp — the derivative of one result of a region by another result of it: refused by name.
// SPDX-License-Identifier: BSL-1.0
//
// [note: results of one region]
// A region is one node: its backward computes derivatives by the arguments. If the region computes result d from result z, the path from d
// to z lies inside the node, and no gradient flows along it. A gradient by z would silently lack this part (PyTorch returns None), so it
// is refused: two regions, one for each result, have the path on the tape. If a region returns its argument, the result is another
// variable than the argument: a gradient by the argument is complete, a gradient by that result is refused.
#pragma once

#include "derivation.hpp"
#include "hook_list.hpp"
#include "walk.hpp"

#include "../base/error.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace ebb::inline EBB_ABI::detail {

/// The results of a region, by output of its node.
class region_results {
 public:
  explicit region_results(const segment_graphs& s) : s_(s), g_(s.forward.thaw()) {}

  /// The first result of this output.
  int number(std::uint32_t output) const {
    int seed = 0;
    for (int r = 0; r < s_.results; ++r)
      if (is_real(g_.op(g_.out[r]).result) && s_.outputs[seed++] == static_cast<int>(output)) return r;
    return -1;
  }
  bool is_argument(int r) const { return g_.op(g_.out[r]).what == kind::input; }
  /// Whether result d is computed from result z, or is the same array.
  bool computes(int d, int z) const {
    vec<char> from(g_.size(), 0);
    from[g_.out[z]] = 1;
    for (int k = 0; k < g_.size(); ++k)
      for (int i : g_.operands(k)) from[k] = from[k] || from[i];
    return from[g_.out[d]];
  }

 private:
  const segment_graphs& s_;
  graph g_;
};

/// Throws: error if a gradient by an output of a region is wanted and the region computes another reached output from it.
EBB_COLD void refuse_inner_path(const char* call, const vec<endpoint>& roots, const node& n, std::uint32_t output) {
  const region_results results(*n.program->graphs);
  const int z = results.number(output);
  const auto refuse_if_computed = [&](std::uint32_t reached) {
    if (reached == output || reached >= n.program->outputs) return;
    const int d = results.number(reached);
    if (!results.computes(d, z)) return;
    if (results.is_argument(z))
      raise(std::string(call) + ": result " + std::to_string(z) + " of the region " + name_of(n) + ", by which a gradient is asked for, " +
            "is an argument passed on, and result " + std::to_string(d) + " is computed from that argument: ask for the gradient by the "
            "argument");
    raise(std::string(call) + ": result " + std::to_string(d) + " of the region " + name_of(n) + " is computed from its result " +
          std::to_string(z) + ", by which a gradient is asked for: a region has derivatives by its arguments only. Make the two results in "
          "two regions");
  };
  std::vector<const vertex*> rest;
  std::unordered_set<const vertex*> seen;
  const auto see = [&](const vertex* v, std::uint32_t at) {
    if (v == &n) refuse_if_computed(at);
    else if (!v->is_leaf && v->sequence > n.sequence && seen.insert(v).second) rest.push_back(v);
  };
  for (const endpoint& r : roots) see(&*r.at, r.output);
  while (!rest.empty()) {
    const node& m = static_cast<const node&>(*rest.back());
    rest.pop_back();
    for (int j = 0; j < m.program->edges; ++j)
      if (const edge e = m.edges()[j]; e.to) see(e.to, e.output);
  }
}

/// The same for all gradients that are wanted: most vertices have one output, and nothing to look for.
inline void refuse_inner_paths(const char* call, const vec<endpoint>& roots, const vec<endpoint>& wishes) {
  for (const endpoint& w : wishes) {
    if (w.at->is_leaf) continue;
    const node& n = static_cast<const node&>(*w.at);
    if (n.program->outputs > 1 && n.program->graphs) [[unlikely]] refuse_inner_path(call, roots, n, w.output);
  }
}

}  // namespace ebb::inline EBB_ABI::detail
