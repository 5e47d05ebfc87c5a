// test/shapes/construct.fail.cpp — operands of other ranks.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 3>;
using vector = ebb::term<float, 3>;

[[maybe_unused]] constexpr int fits =
    traced_on<matrix, vector>([](auto x, auto y) { return ebb::tril(x) + ebb::toeplitz(y) + ebb::eye<3>(y); });
int main() {}

#if EBB_CASE == 1  // a vector has no triangle
// EXPECT: E0394 an operand has the wrong rank: triangles and blocks are matrices
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::tril(x);  // LINE
});
#elif EBB_CASE == 2  // one number is not one row
// EXPECT: E0394 an operand has the wrong rank
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::linspace<3>(x, 1.0);  // LINE
});
#elif EBB_CASE == 3  // less than none
// EXPECT: E0395 arange, linspace, logspace, geomspace, vander: a number of elements is not negative
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::vander<-1>(x);  // LINE
});
#elif EBB_CASE == 4  // a matrix in place of a column
// EXPECT: E0394 an operand has the wrong rank
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::hankel(x);  // LINE
});
#elif EBB_CASE == 5  // a matrix in place of a column
// EXPECT: E0394 an operand has the wrong rank
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::circulant(x);  // LINE
});
#elif EBB_CASE == 6  // a vector in place of a number
// EXPECT: E0394 an operand has the wrong rank
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::geomspace<3>(x, 1.0);  // LINE
});
#endif
