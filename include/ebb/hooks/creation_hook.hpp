// ebb/hooks/creation_hook.hpp — a hook that is called with each new node: for names, profilers, contexts by region.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "node_handle.hpp"

#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// While it lives, f(node) is called with each node that this thread records, including those of create_graph:
///   const ebb::node_creation_hook scope([&](const ebb::node_handle& node) { count[node.name()] += 1; });
/// The node has its edges and saved values. f may register hooks on it: captured backwards contain them. Scopes nest: the innermost hook is
/// called first. Nodes that a running hook makes are not reported.
/// Throws: f's exceptions, from the call that made the node; that call has recorded nothing.
template <class F>
class node_creation_hook : detail::creation_hook {
 public:
  static constexpr bool fits = std::is_invocable_v<F&, const node_handle&>;
  static_assert(fits, "[ebb E0220] a node creation hook takes const ebb::node_handle&");

  EBB_SCOPE explicit node_creation_hook(F f) : creation_hook{run, this_tape().created}, f_(std::move(f)) { this_tape().created = this; }
  node_creation_hook(const node_creation_hook&) = delete;
  node_creation_hook& operator=(const node_creation_hook&) = delete;
  ~node_creation_hook() { this_tape().created = outer; }

 private:
  static void run([[maybe_unused]] detail::creation_hook& self, [[maybe_unused]] node& n) {
    if constexpr (fits) static_cast<node_creation_hook&>(self).f_(node_handle(counted<vertex>(&n)));
  }

  F f_;
};

}  // namespace ebb::inline EBB_ABI
