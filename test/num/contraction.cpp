// test/num/contraction.cpp — fails if the compiler contracts a * b + c to an fma: fused and scalar results would then differ.
// SPDX-License-Identifier: BSL-1.0
// covers: lane.hpp
#include "../catch.hpp"

namespace {

// These functions are inlined, as kernels are: g++ contracts across inlined functions too.
inline float times(float a, float b) { return a * b; }
inline float plus(float a, float b) { return a + b; }

[[gnu::noinline]] void multiply_add(const float* a, const float* b, const float* c, float* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = plus(times(a[i], b[i]), c[i]);
}

}  // namespace

TEST_CASE("a product is rounded before it is added") {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: rounding the product to float loses the last term, an fma keeps it.
  float a[19], c[19], out[19];
  for (int i = 0; i < 19; ++i) {
    a[i] = 1.0f + 0x1p-12f;
    c[i] = -1.0f - 0x1p-11f;
  }
  multiply_add(a, a, c, out, 19);
  for (float x : out) CHECK(x == 0.0f);
}
