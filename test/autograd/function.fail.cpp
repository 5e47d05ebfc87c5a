// test/autograd/function.fail.cpp — ill-formed custom functions and their errors.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

using array = ebb::tensor<float, 2>;

struct good {
  array forward(const array& a) { return a; }
  array backward(const array& g) { return g; }
};
struct one_of_two : good {
  array forward(const array& a, const array&) { return a; }
};
struct wide : good {
  ebb::tensor<double, 2> backward(const array&) { return {1, 2}; }
};
struct flat : good {
  float backward(const array&) { return 1; }
};
struct no_parameter : good {
  array backward() { return {1, 2}; }
};
struct asks_for_three : good {
  std::array<bool, 3> needs_input_grad;
};

int main() {
  const ebb::variable<float, 2> x(array{1, 2});
  static_cast<void>(ebb::apply(good{}, x));

#if EBB_CASE == 1
// EXPECT: E0162 backward returns one gradient for each operand that is a variable
  ebb::apply(one_of_two{}, x, x);  // LINE
#endif
#if EBB_CASE == 2
// EXPECT: E0163 a gradient has the dtype and rank of its operand
  ebb::apply(wide{}, x);  // LINE
#endif
#if EBB_CASE == 3
// EXPECT: E0163 a gradient has the dtype and rank of its operand
  ebb::apply(flat{}, x);  // LINE
#endif
#if EBB_CASE == 4
// EXPECT: E0164 forward cannot be called with the values of these operands
  ebb::apply(good{}, x, 3);  // LINE
#endif
#if EBB_CASE == 5
// EXPECT: E0165 backward takes one gradient for each real result
  ebb::apply(no_parameter{}, x);  // LINE
#endif
#if EBB_CASE == 6
// EXPECT: E0166 needs_input_grad is a std::array<bool, N>
  ebb::apply(asks_for_three{}, x);  // LINE
#endif
}
