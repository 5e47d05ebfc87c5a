// test/trace/functions.fail.cpp — calls in traced functions that do not fit their arguments, and their errors.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 4>;
using matrix = ebb::term<float, 3, 4>;
using tall = ebb::term<float, ebb::dyn, 4>;
using classes = ebb::term<int, 3>;

constexpr int fits = traced_on<matrix, tall>([](auto x, auto y) { return ebb::matmul(x, ebb::transpose(y)); });

#if EBB_CASE == 1  // the inner extents of a product differ
// EXPECT: E0101 matmul: the inner extents differ
constexpr int refused = traced_on<matrix, matrix>([](auto x, auto y) {
  return ebb::matmul(x, y);  // LINE
});
#elif EBB_CASE == 2  // a column in place of a row
// EXPECT: E0102 only a static extent of 1 or a missing leading axis is broadcast
constexpr int refused = traced_on<matrix, classes>([](auto x, auto y) {
  return x + y;  // LINE
});
#elif EBB_CASE == 3  // an axis that does not exist
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::softmax<2>(x);  // LINE
});
#elif EBB_CASE == 4  // a scalar in a product
// EXPECT: E0105 an operand has no axis to multiply along
constexpr int refused = traced_on<matrix, ebb::term<float>>([](auto x, auto y) {
  return ebb::matmul(x, y);  // LINE
});
#elif EBB_CASE == 5  // 12 elements as 2 x 5
// EXPECT: E0112 reshape: the number of elements differs
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::reshape<2, 5>(x);  // LINE
});
#elif EBB_CASE == 6  // a slice past the end
// EXPECT: E0113 slice: the range leaves the axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::slice<1, 2, 6>(x);  // LINE
});
#elif EBB_CASE == 7  // a row after a matrix
// EXPECT: E0114 concat: the extents differ beside the axis that is joined
constexpr int refused = traced_on<matrix, row>([](auto x, auto y) {
  return ebb::concat<0>(x, y);  // LINE
});
#elif EBB_CASE == 8  // indices that are not integers
// EXPECT: E0115 an index must be an integer array of the right rank
constexpr int refused = traced_on<matrix, row>([](auto x, auto i) {
  return ebb::take(x, i);  // LINE
});
#elif EBB_CASE == 9  // a class for each column in place of each row
// EXPECT: E0115 an index must be an integer array of the right rank
constexpr int refused = traced_on<ebb::term<float, 4, 3>, classes>([](auto x, auto t) {
  return ebb::cross_entropy(x, t);  // LINE
});
#elif EBB_CASE == 10  // an extremum of no elements
// EXPECT: E0116 the largest or smallest of no elements
constexpr int refused = traced_on<ebb::term<float, 3, 0>>([](auto x) {
  return ebb::max<1>(x);  // LINE
});
#elif EBB_CASE == 11  // a new axis without a static extent
// EXPECT: E0118 a new axis needs a static extent
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::broadcast_to<ebb::dyn, 4>(x);  // LINE
});
#elif EBB_CASE == 12  // two axes for one place
// EXPECT: E0121 argmax and argmin take one axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::argmax<0, 1>(x);  // LINE
});
#elif EBB_CASE == 13  // a slice with a negative step
// EXPECT: E0122 the step must be positive
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::slice<0, 2, 0, -1>(x);  // LINE
});
#elif EBB_CASE == 14  // a padding that takes away more rows than there are
// EXPECT: E0113 slice: the range leaves the axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::pad<0, -9, 1>(x);  // LINE
});
#elif EBB_CASE == 15  // rows of a scalar
// EXPECT: E0124 there must be an argument that is not whole
constexpr int refused = traced_on<ebb::term<float>>([](auto x) {
  return ebb::map([](auto e) { return e; }, x);  // LINE
});
#elif EBB_CASE == 16  // different numbers of rows
// EXPECT: E0290 map: the arguments have different numbers of rows
constexpr int refused = traced_on<matrix, row>([](auto x, auto y) {
  return ebb::map([](auto a, auto b) { return a * b; }, x, y);  // LINE
});
#elif EBB_CASE == 17  // the row function captures a variable
// EXPECT: E0104 a traced lambda must not capture
constexpr int refused = traced_on<matrix>([](auto x) {
  const int twice = 2;
  return ebb::map([twice](auto row) { return twice * row; }, x);  // LINE
});
#elif EBB_CASE == 18  // rows with as many axes as an array can have
// EXPECT: E0125 map: an op in the function cannot take a leading axis, or an array has too many axes
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::map([](auto row) { return ebb::reshape<1, 1, 1, 1, 1, 1, 1, 4>(row); }, x);  // LINE
});
#elif EBB_CASE == 19  // an operand is missing
// EXPECT: E0176 the function takes another number of operands
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::where(x > 0, x);  // LINE
});
#elif EBB_CASE == 20  // an operand too many
// EXPECT: E0176 the function takes another number of operands
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::maximum(x, 1, x);  // LINE
});
#elif EBB_CASE == 21  // map without a mapped argument
// EXPECT: E0124 there must be an argument that is not whole
constexpr int refused = traced_on<matrix>([](auto) {
  return ebb::map([](auto row) { return row; });  // LINE
});
#elif EBB_CASE == 22  // a function of two arrays with three
// EXPECT: E0556 the function takes other arguments
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::matmul(x, x, x);  // LINE
});
#elif EBB_CASE == 23  // a number in place of an array
// EXPECT: E0556 or a number where an array is
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::matmul(x, 2);  // LINE
});
#endif
