// test/exec/refused.fail.cpp — using the result of a refused call causes no further errors (clang adds that the function has an error).
// SPDX-License-Identifier: BSL-1.0
// covers: trace/refused.hpp
// ERRORS: 1, clang 2
#include <ebb/functional.hpp>

#include <tuple>

int main() {
  const ebb::tensor<double, 4, 3> x;
  constexpr auto f = [](auto a) {
    auto y = ebb::sum<1>(a);
    y += 1;
#if EBB_CASE == 1  // functions
    const auto z = ebb::matmul(a, a);  // LINE
    // EXPECT: E0101 matmul: the inner extents differ
    return ebb::sum(ebb::transpose(ebb::exp(z))) + ebb::cross_entropy(z, z) + ebb::pow(ebb::clamp(z, 0, 1), 2);
#elif EBB_CASE == 2  // operators
    auto z = ebb::concat<0>(a, ebb::transpose(a));  // LINE
    // EXPECT: E0114 concat: the extents differ beside the axis that is joined
    z += 1;
    y *= z;
    return ebb::where(z > 0 || !(z == a), -z, y / 2);
#elif EBB_CASE == 3  // transformations
    const auto z = ebb::softmax<2>(a);  // LINE
    // EXPECT: E0103 there is no such axis
    const auto [value, slope] = ebb::value_and_grad([](auto b) { return ebb::sum(b * b); })(z);
    return value + ebb::sum(slope) + ebb::sum(ebb::map([](auto row) { return ebb::sum(row); }, z));
#elif EBB_CASE == 4  // beside well-formed results
    const auto z = ebb::take(a, a);  // LINE
    // EXPECT: E0115 an index must be an integer array of the right rank
    return std::tuple(ebb::sum(a), ebb::sum(z));
#else
    return ebb::sum(y);
#endif
  };
  const auto result = ebb::compile(f)(x);
  static_cast<void>(result);
}
