// test/link/any.cpp — the translation unit compiled for any machine of the architecture.
// SPDX-License-Identifier: BSL-1.0
#include "work.hpp"

report work_any() { return work(); }

// A derivative computed at run time by rules that passes.cpp has compiled as well.
std::string derivative_of_derivative(double& second) {
  const auto run = [&] {
    const ebb::variable x(0.5);
    const ebb::variable y = ebb::compile([](auto a) { return ebb::tanh(a) * a; })(x);
    const auto first = ebb::grad(y, ebb::wrt(x), {.create_graph = true});
    first.backward();
    second = x.grad().item();
  };
#if EBB_EXCEPTIONS
  try {
    run();
  } catch (const ebb::error& e) {
    return e.what();
  }
#else
  run();
#endif
  return "";
}
