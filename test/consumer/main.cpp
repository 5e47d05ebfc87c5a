// test/consumer/main.cpp — the smallest program that uses ebb.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/num/bfloat16.hpp>
#include <ebb/version.hpp>

#include <cstdio>

int main() {
  const float rounded = static_cast<float>(ebb::bfloat16(3.14159f));
  std::printf("ebb %d.%d.%d\n", EBB_VERSION_MAJOR, EBB_VERSION_MINOR, EBB_VERSION_PATCH);
  return rounded == 3.140625f ? 0 : 1;
}
