// bench/loops/main.cpp — the cost of a step of a loop beside its arithmetic, and a GRU by scan beside one region for each letter.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.loops [--smoke] [steps | mpc | gru]
#include "rows.hpp"

#include <string_view>

int main(int argc, char** argv) {
  int at = 1;
  const bool smoke = at < argc && std::string_view(argv[at]) == "--smoke";
  if (smoke) ++at;
  const std::string_view only = at < argc ? argv[at] : "";
  if (only.empty() || only == "steps") loops::steps(smoke);
  if (only.empty() || only == "mpc") loops::mpc(smoke);
  if (only.empty() || only == "gru") loops::gru(smoke);
  return loops::failures > 0;
}
