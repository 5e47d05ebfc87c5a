// test/link/main.cpp — translation units with different flags in one program: each keeps its own code, and both give the same bits. A third
// one includes lower floors only, and compiles the same rules of ops: it makes no difference which of the copies the linker keeps.
// SPDX-License-Identifier: BSL-1.0
// covers: base/config.hpp
#include "report.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

int main() {
  double second = 0;
  const int equations = passes_alone();
  const std::string said = derivative_of_derivative(second);
  std::printf("%d equations; second derivative: %g %s\n", equations, second, said.c_str());
  const double t = std::tanh(0.5), slope = 1 - t * t;
  if (equations < 5) return 1;
  if (!said.empty() || !(std::abs(second - 2 * slope * (1 - 0.5 * t)) < 1e-12)) return 1;

  const report any = work_any(), native = work_native();
  std::printf("%s and %s: %zu results each\n", any.abi.c_str(), native.abi.c_str(), any.exact.size());
  if (any.exact.empty() || any.exact.size() != native.exact.size()) return 1;
  return std::memcmp(any.exact.data(), native.exact.data(), any.exact.size() * sizeof(float)) == 0 ? 0 : 1;
}
