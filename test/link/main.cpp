// test/link/main.cpp — both translation units in one program: each keeps its own code, and both give the same bits.
// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <cstdio>
#include <cstring>

int main() {
  const report any = work_any(), native = work_native();
  std::printf("%s and %s: %zu results each\n", any.abi.c_str(), native.abi.c_str(), any.exact.size());
  if (any.exact.empty() || any.exact.size() != native.exact.size()) return 1;
  return std::memcmp(any.exact.data(), native.exact.data(), any.exact.size() * sizeof(float)) == 0 ? 0 : 1;
}
