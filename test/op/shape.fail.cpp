// test/op/shape.fail.cpp — lists that cannot be joined.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#include <array>
#include <tuple>
#include <vector>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, 3>;

[[maybe_unused]] constexpr int fits = traced_on<vector>([](auto x) {
  return ebb::stack<0>(std::array{x, x}) + ebb::stack<0>(std::tuple(x, 2 * x));
});
int main() {}

#if EBB_CASE == 1  // how long it is, a type does not say
// EXPECT: E0522 concat, stack: the length of a std::vector is no part of its type
constexpr int refused = traced_on<vector>([](auto x) {
  std::vector<decltype(x)> list;
  list.push_back(x);
  return ebb::concat<0>(list);  // LINE
});
#elif EBB_CASE == 2  // nothing
// EXPECT: E0523 concat, stack: a list without arrays has neither dtype nor extents
const auto refused = ebb::stack<0>(std::tuple());  // LINE
#elif EBB_CASE == 3  // another axis
// EXPECT: E0103 there is no such axis
const auto refused = ebb::concat<1>(std::vector<ebb::tensor<float, 3>>(2));  // LINE
#elif EBB_CASE == 4  // other extents
// EXPECT: E0114 concat: the extents differ beside the axis that is joined
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::stack<0>(std::tuple(x, ebb::slice<0, 1>(x)));  // LINE
});
#endif
