// test/op/solve.fail.cpp — systems whose shapes do not fit, and their errors.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using square = ebb::term<float, 3, 3>;
using wide = ebb::term<float, 3, 4>;
using some = ebb::term<float, ebb::dyn, ebb::dyn>;

constexpr int fits = traced_on<some, wide>([](auto a, auto b) {
  return ebb::solve(ebb::inverse(a, ebb::nan_if_not), b, ebb::nan_if_not);
});

#if EBB_CASE == 1  // the inverse of a matrix that is not square
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<wide>([](auto a) {
  return ebb::inverse(a);  // LINE
});
#elif EBB_CASE == 2  // the inverse of a vector
// EXPECT: E0180 its last two axes differ
constexpr int refused = traced_on<ebb::term<float, 3>>([](auto a) {
  return ebb::inverse(a);  // LINE
});
#elif EBB_CASE == 3  // least squares are not solved
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<wide, ebb::term<float, 3>>([](auto a, auto b) {
  return ebb::solve(a, b);  // LINE
});
#elif EBB_CASE == 4  // a right side that is too long
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, ebb::term<float, 4>>([](auto a, auto b) {
  return ebb::solve(a, b);  // LINE
});
#elif EBB_CASE == 5  // right sides as rows
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, ebb::term<float, 4, 3>>([](auto a, auto b) {
  return ebb::solve(a, b);  // LINE
});
#elif EBB_CASE == 6  // a number
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, ebb::term<float>>([](auto a, auto b) {
  return ebb::solve(a, b);  // LINE
});
#elif EBB_CASE == 7  // batches that do not fit
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<ebb::term<float, 2, 3, 3>, ebb::term<float, 4, 3, 1>>([](auto a, auto b) {
  return ebb::solve(a, b);  // LINE
});
#elif EBB_CASE == 8  // a bool in place of the tag
// EXPECT: E0539 solve, inverse: after the operands comes nothing, or the tag ebb::nan_if_not
constexpr int refused = traced_on<square, square>([](auto a, auto b) {
  return ebb::solve(a, b, false);  // LINE
});
#elif EBB_CASE == 9  // a tag of another function
// EXPECT: E0539 solve, inverse: after the operands comes nothing, or the tag ebb::nan_if_not
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::inverse(a, ebb::matrix_tag<2>{});  // LINE
});
#endif
