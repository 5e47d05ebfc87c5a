// test/autograd/checkpoint.fail.cpp — refused checkpoints and their errors.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

using array = ebb::tensor<float, 2>;
using var = ebb::variable<float, 2>;

int main() {
  const var x(array{1, 2});
  const auto f = ebb::checkpoint([](const var& v) { return v; });
  static_cast<void>(f(x));

#if EBB_CASE == 1
// EXPECT: E0168 the function cannot be called with these arguments
  f(x, 3);  // LINE
#endif
}
