// ebb/capture/options.hpp — what may be said of compiled autograd, for a scope or for one call.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/engine.hpp"

namespace ebb::inline EBB_ABI {

class captured_graph;

/// What becomes of a captured graph: `merge` fuses what can be fused, `eager` runs it node by node.
enum class backend : std::uint8_t { merge, eager };

struct capture_options {
  bool fullgraph = false;  // an opaque hook or function in the backward is an error that names it
  bool dynamic = true;     // sizes are none of the key; false: they are until they change
  backend (*compiler)(const captured_graph&) = nullptr;  // sees each graph when it is captured, and says what becomes of it

  policy_choice backward_policy = {};  // regions that declare it run under it: see [note: another policy]

  bool operator==(const capture_options&) const = default;
};

/// An engine that captures.
struct capturing_engine : backward_engine {
  capture_options options;
  bool tells_reasons = false;  // a scope looks once, when it is entered, whether somebody listens
};

}  // namespace ebb::inline EBB_ABI
