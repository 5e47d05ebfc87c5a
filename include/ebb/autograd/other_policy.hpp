// ebb/autograd/other_policy.hpp — the backward of a node under another autocast policy than its own.
// SPDX-License-Identifier: BSL-1.0
//
// [note: another policy]
// A region may declare several backward policies: ebb::compile<ebb::backward_policies<ebb::as_recorded, ebb::off>>(f). Its calls save the
// values that its own backward reads, and the arguments: backwards under the other policies recompute values of the forward. Each backward
// is compiled; the options of compiled autograd choose one: {.backward_policy = ebb::off{}}. A region without a list keeps its one policy.
// A list without the chosen policy is an error, before anything has run.
#pragma once

#include "mismatch.hpp"

#include "../autocast/policy.hpp"

namespace ebb::inline EBB_ABI {

struct other_backward {
  int policy;
  void (*run)(node&, gradient* in, gradient* out);
  const casts_assumed* assumed;  // or null, as a node's
};
/// All policies of a node's region.
struct other_backwards {
  int own;
  const other_backward *begin, *end;
};
/// Whether nodes of this program run under another policy than their own where `chosen` is.
inline bool is_replaced(const node_program& p, policy_choice chosen) {
  return p.others && chosen.number() >= 0 && chosen.number() != p.others->own;
}

namespace detail {

[[noreturn]] EBB_COLD void raise_undeclared_policy(const char* call, const node& n, policy_choice chosen) {
  const other_backwards& all = *n.program->others;
  std::string list = policy_names[all.own];
  for (const other_backward* o = all.begin; o != all.end; ++o) list += std::string(", ") + policy_names[o->policy];
  raise(std::string(call) + ": " + n.program->name + " was not compiled under the policy " + chosen.name() +
        ", which compiled autograd was told to use: declare it, ebb::backward_policies<" + list + ", " + chosen.name() + ">");
}
[[noreturn]] EBB_COLD void raise_graph_of_other_policy(const char* call, const node& n, policy_choice chosen) {
  raise(std::string(call) + ": a backward of " + n.program->name + " under " + chosen.name() +
        " has no graph of its own: create_graph differentiates backwards under the region's own policy");
}

/// n's backward under this policy, or null: its own program.
/// Throws: error if n declares policies without this one.
EBB_COLD const other_backward* backward_under(policy_choice chosen, const char* call, const node& n) {
  if (!is_replaced(*n.program, chosen)) return nullptr;
  const other_backwards& all = *n.program->others;
  for (const other_backward* o = all.begin; o != all.end; ++o)
    if (o->policy == chosen.number()) return o;
  raise_undeclared_policy(call, n, chosen);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI
