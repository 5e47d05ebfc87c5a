// ebb/capture/interface.hpp — what nodes that run as one read and give, whoever runs them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/vec.hpp"

#include <cstdint>

namespace ebb::inline EBB_ABI {

/// Where an argument comes from, or where a result goes: numbers of vertices are those of the recording.
struct capture_place {
  enum class kind : std::uint8_t { slot, saved, leaf_gradient, leaf_value, bound, state, opaque, retained, asked, edge, sum };
  kind is = kind::slot;
  int at = 0;      // the vertex; bound, state: whose hook
  int number = 0;  // slot, retained, sum: the output; saved, edge: which; bound, state: the hook among those of the vertex; asked: the wish
  int value = 0;   // bound, state: which

  bool operator==(const capture_place&) const = default;
};

struct group_interface {
  struct result {
    capture_place to;
    int shared = -1;           // the array of that other result, or of that argument; -1: its own
    bool is_argument = false;  // `shared` is one
    int over = -1;             // the argument that it may be written over, or -1
  };
  /// A hook that updates its leaf when node `behind` has run.
  struct update {
    int leaf, hook, behind;
    bool writes_value;
  };
  vec<capture_place> arguments;
  vec<result> results;
  vec<update> updates;
  vec<int> cleared;  // leaves whose gradient is undefined in the end
};

}  // namespace ebb::inline EBB_ABI
