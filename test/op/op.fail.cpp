// test/op/op.fail.cpp — errors for ops of a user whose pull has a wrong form.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

namespace {

struct twice : ebb::elementwise<1> {
  static constexpr std::string_view name = "twice";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x) { return x + x; }
  static constexpr auto pull(auto g, auto, auto) { return ebb::grads(2 * g); }
};

#if EBB_CASE == 1
struct of_the_result : twice {
  static constexpr auto pull(auto g) { return ebb::grads(2 * g); }
};
// LINES: 40
// EXPECT: E0177 an op's pull takes the gradient of the result, the operands, and the result
const auto r = ebb::grad([](auto v) { return ebb::sum(ebb::call<of_the_result>{}(v)); })(ebb::tensor<float, 3>());  // LINE
#elif EBB_CASE == 2
struct of_two_operands : twice {
  static constexpr auto pull(auto g, auto, auto) { return ebb::grads(g, g); }
};
// LINES: 40
// EXPECT: E0178 an op's pull returns ebb::grads(...) of one gradient for each operand, or ebb::nothing
const auto r = ebb::grad([](auto v) { return ebb::sum(ebb::call<of_two_operands>{}(v)); })(ebb::tensor<float, 3>());  // LINE
#elif EBB_CASE == 3
struct of_a_number : twice {
  // LINES: 40
  // EXPECT: E0190 a number in an op's value is lane::all<decltype(x)>(1): it also runs on lanes
  static constexpr auto value(auto x) { return 1 - x * 2; }  // LINE
};
const auto r = ebb::grad([](auto v) { return ebb::sum(ebb::call<of_a_number>{}(v)); })(ebb::tensor<float, 3>());
#else
const auto r = ebb::grad([](auto v) { return ebb::sum(ebb::call<twice>{}(v)); })(ebb::tensor<float, 3>());
#endif

}  // namespace

int main() { return r(0) == 2 ? 0 : 1; }
