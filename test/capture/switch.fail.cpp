// test/capture/switch.fail.cpp — scopes that end before they have begun.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#pragma GCC diagnostic error "-Wunused-value"
#pragma GCC diagnostic error "-Wunused-result"

int main() {
#if EBB_CASE == 0
  const ebb::compiled_autograd::enable on, fully({.fullgraph = true});
  const ebb::compiled_autograd::disable off;
  const ebb::no_grad scope;
  const ebb::enable_grad again;
  const ebb::detect_anomaly checked;
  const ebb::autocast_scope<ebb::bf16> narrow;
  const ebb::no_autocast_scope wide;
#elif EBB_CASE == 1
  // EXPECT: E0200 a scope without a name ends at once
  ebb::compiled_autograd::enable();  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0200 a scope without a name ends at once
  ebb::compiled_autograd::disable();  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0200 a scope without a name ends at once
  ebb::no_grad();  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0200 a scope without a name ends at once
  ebb::enable_grad();  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0200 a scope without a name ends at once
  ebb::detect_anomaly();  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0200 a scope without a name ends at once
  ebb::saved_tensors_hooks([](const ebb::any_tensor& x) { return x; }, [](const ebb::any_tensor& x) { return x; });  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0200 a scope without a name ends at once
  ebb::autocast_scope<ebb::bf16>();  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0200 a scope without a name ends at once
  ebb::no_autocast_scope();  // LINE
#endif
}
