// test/linalg/diagonal.fail.cpp — operands that functions of matrices refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <ebb/linalg.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using square = ebb::term<float, 3, 3>;
using oblong = ebb::term<float, 3, 4>;
using vector = ebb::term<float, 4>;

[[maybe_unused]] constexpr int fits =
    traced_on<square, oblong>([](auto a, auto b) { return ebb::trace(b) + ebb::trace(ebb::matrix_power<2>(a)); });

#if EBB_CASE == 1  // a vector has no trace
// EXPECT: E0420 a function of matrices: an operand has fewer than two axes
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::trace(a);  // LINE
});
#elif EBB_CASE == 2  // a diagonal beyond the last column
// EXPECT: E0421 diagonal: the matrix has no such diagonal
constexpr int refused = traced_on<oblong>([](auto a) {
  return ebb::diagonal<5>(a);  // LINE
});
#elif EBB_CASE == 3  // a number has no axis
// EXPECT: E0422 diag_embed: an operand has no axis
constexpr int refused = traced_on<ebb::term<float>>([](auto a) {
  return ebb::diag_embed(a);  // LINE
});
#elif EBB_CASE == 4  // a vector in place of a matrix
// EXPECT: E0423 kron: an operand has fewer than two axes
constexpr int refused = traced_on<square, vector>([](auto a, auto b) {
  return ebb::kron(a, b);  // LINE
});
#elif EBB_CASE == 5  // four components
// EXPECT: E0424 cross, triple: the axis does not have three elements
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::cross(a, a);  // LINE
});
#elif EBB_CASE == 6  // a matrix that is not square
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<oblong>([](auto a) {
  return ebb::matrix_power<2>(a);  // LINE
});
#elif EBB_CASE == 7  // one factor
// EXPECT: E0426 multi_dot: a product needs two factors
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::multi_dot(a);  // LINE
});
#elif EBB_CASE == 8  // a batch is neither
// EXPECT: E0528 diag: an operand is a vector or a matrix
constexpr int refused = traced_on<ebb::term<float, 2, 3, 3>>([](auto a) {
  return ebb::diag(a);  // LINE
});
#elif EBB_CASE == 9  // four components
// EXPECT: E0424 cross, triple: the axis does not have three elements
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::triple(a, a, a);  // LINE
});
#endif
