// bench/gradbench/peer.hpp — the interface between bench.gradbench and a shared object with one of GradBench's own programs, in C++17 as
// these. bench/peers/gradbench.sh makes the shared objects.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <vector>

namespace gradbench::peer {

/// A problem. Each eval has its own order of sizes and arrays.
struct given {
  std::vector<std::size_t> sizes;
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int>> indices;
};

struct results {
  std::vector<double> value, derivative;
  std::vector<int> places;  // of the elements of a sparse derivative
};

/// The functions call what GradBench times. Results stay in the program, whose memory the next call uses again, as in GradBench.
class program {
 public:
  virtual ~program() = default;
  virtual void primal() = 0;
  virtual void derivative() = 0;
  /// In the order of the candidate `manual`.
  virtual results read() const = 0;
};

/// Each shared object exports one, by the name `gradbench_program`. The caller owns the result.
using maker = program*(const given&);

}  // namespace gradbench::peer
