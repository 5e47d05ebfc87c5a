// test/complex/rules.fail.cpp — functions that have no form for complex numbers.
// ERRORS: 1
// SPDX-License-Identifier: BSL-1.0
#include <ebb/complex.hpp>
#include <ebb/functional.hpp>

int main() {
  const ebb::complex z{ebb::tensor<double, 3>{1, 2, 3}, ebb::tensor<double, 3>{0, 1, 0}};
#if EBB_CASE == 0
  [[maybe_unused]] const auto good = ebb::compile([](auto w) { return ebb::exp(w); })(z);
#elif EBB_CASE == 1
  // EXPECT: E0531 this function has no form for complex numbers: apply it to z.re and z.im, or to both by ebb::parts
  auto r = ebb::compile([](auto w) { return ebb::maximum(w, w); })(z);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0531 this function has no form for complex numbers
  auto r = ebb::grad([](auto w) { return ebb::sum(ebb::floor(w)); })(z);  // LINE
#endif
}
