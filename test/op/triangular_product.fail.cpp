// test/op/triangular_product.fail.cpp — triangles and operands that do not fit, and functions that take no triangle.
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
  return ebb::matmul(ebb::transpose(ebb::upper(a, ebb::unit_diagonal)), ebb::matmul(ebb::lower(a), b));
});

#if EBB_CASE == 1  // a matrix that is not square
// LINES: 20
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<wide>([](auto a) {
  return ebb::matmul(ebb::lower(a), a);  // LINE
});
#elif EBB_CASE == 2  // a vector in place of a matrix
// LINES: 20
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<ebb::term<float, 3>>([](auto a) {
  return ebb::matmul(ebb::upper(a), a);  // LINE
});
#elif EBB_CASE == 3  // inner extents that differ, on the left
// LINES: 20
// EXPECT: E0101 matmul: the inner extents differ
constexpr int refused = traced_on<square, ebb::term<float, 4, 3>>([](auto a, auto b) {
  return ebb::matmul(ebb::lower(a), b);  // LINE
});
#elif EBB_CASE == 4  // inner extents that differ, on the right
// LINES: 20
// EXPECT: E0101 matmul: the inner extents differ
constexpr int refused = traced_on<square, wide>([](auto a, auto b) {
  return ebb::matmul(b, ebb::transpose(ebb::lower(a)));  // LINE
});
#elif EBB_CASE == 5  // a vector that is too long
// LINES: 20
// EXPECT: E0101 matmul: the inner extents differ
constexpr int refused = traced_on<square, ebb::term<float, 4>>([](auto a, auto b) {
  return ebb::matmul(ebb::lower(a), b);  // LINE
});
#elif EBB_CASE == 6  // batches that do not fit
// LINES: 20
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<ebb::term<float, 2, 3, 3>, ebb::term<float, 4, 3, 1>>([](auto a, auto b) {
  return ebb::matmul(ebb::lower(a), b);  // LINE
});
#elif EBB_CASE == 7  // a scalar beside a triangle
// LINES: 20
// EXPECT: E0105 matmul: an operand has no axis to multiply along
constexpr int refused = traced_on<square, ebb::term<float>>([](auto a, auto b) {
  return ebb::matmul(ebb::lower(a), b);  // LINE
});
#elif EBB_CASE == 8  // a tag of another function
// EXPECT: E0572 lower, upper: after the matrix comes nothing, or the tag ebb::unit_diagonal
constexpr int refused = traced_on<square, wide>([](auto a, auto b) {
  return ebb::matmul(ebb::lower(a, ebb::from_right), b);  // LINE
});
#elif EBB_CASE == 9  // a function that takes arrays
// EXPECT: E0573 lower, upper: a triangle is one operand of ebb::matmul, or the operand of ebb::transpose
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::exp(ebb::lower(a));  // LINE
});
#elif EBB_CASE == 10  // two triangles
// EXPECT: E0573 lower, upper: a triangle is one operand of ebb::matmul, or the operand of ebb::transpose
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::matmul(ebb::lower(a), ebb::upper(a));  // LINE
});
#elif EBB_CASE == 11  // an order of axes for a triangle
// EXPECT: E0573 lower, upper: a triangle is one operand of ebb::matmul, or the operand of ebb::transpose
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::matmul(ebb::transpose<1, 0>(ebb::lower(a)), a);  // LINE
});
#endif
