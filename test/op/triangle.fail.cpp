// test/op/triangle.fail.cpp — matrices, right sides and tags that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using square = ebb::term<float, 3, 3>;
using wide = ebb::term<float, 3, 4>;

constexpr int fits = traced_on<square, wide>([](auto a, auto b) {
  return ebb::solve_triangular(ebb::cholesky(a, ebb::nan_if_not), b, ebb::upper, ebb::unit_diagonal, ebb::taken_transposed);
});

#if EBB_CASE == 1  // a matrix that is not square
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<wide>([](auto a) {
  return ebb::cholesky(a);  // LINE
});
#elif EBB_CASE == 2  // a vector in place of a matrix
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<ebb::term<float, 3>>([](auto a) {
  return ebb::logdet(a);  // LINE
});
#elif EBB_CASE == 3  // a right side that is too long
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, ebb::term<float, 4>>([](auto a, auto b) {
  return ebb::solve_triangular(a, b);  // LINE
});
#elif EBB_CASE == 4  // operands in the wrong order
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<square, wide>([](auto a, auto b) {
  return ebb::cholesky_solve(a, b);  // LINE
});
#elif EBB_CASE == 5  // a bool in place of a tag
// EXPECT: E0286 cholesky, logdet_spd, banded_cholesky: after the matrix comes nothing, or the tag ebb::nan_if_not
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::cholesky(a, false);  // LINE
});
#elif EBB_CASE == 6  // a tag of another function
// EXPECT: E0287 solve_triangular: the tags are ebb::upper
constexpr int refused = traced_on<square, wide>([](auto a, auto b) {
  return ebb::solve_triangular(a, b, ebb::nan_if_not);  // LINE
});
#elif EBB_CASE == 7  // a tag of another function
// EXPECT: E0288 cholesky_solve: after the operands comes nothing, or the tag ebb::upper
constexpr int refused = traced_on<square, wide>([](auto a, auto b) {
  return ebb::cholesky_solve(b, a, ebb::unit_diagonal);  // LINE
});
#elif EBB_CASE == 8  // a vector as right sides from the right
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, ebb::term<float, 3>>([](auto a, auto b) {
  return ebb::solve_triangular(a, b, ebb::from_right);  // LINE
});
#elif EBB_CASE == 9  // batches that do not fit
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<ebb::term<float, 2, 3, 3>, ebb::term<float, 4, 3, 1>>([](auto a, auto b) {
  return ebb::solve_triangular(a, b);  // LINE
});
#endif
