// test/linalg/matrix.fail.cpp — operands that functions of square matrices and of factors refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <ebb/linalg.hpp>

#include <tuple>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using square = ebb::term<float, 3, 3>;
using oblong = ebb::term<float, 3, 4>;
using vector = ebb::term<float, 4>;

[[maybe_unused]] constexpr int fits = traced_on<square>([](auto a) { return ebb::det(a) + ebb::trace(ebb::cholesky_inverse(a)); });

#if EBB_CASE == 1  // a matrix that is not square
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<oblong>([](auto a) {
  return ebb::det(a);  // LINE
});
#elif EBB_CASE == 2  // a vector in place of a factor
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::cholesky_inverse(a);  // LINE
});
#elif EBB_CASE == 3  // a vector that is longer than the rows of its factor
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<vector, square>([](auto x, auto l) {
  return ebb::mahalanobis(x, l);  // LINE
});
#elif EBB_CASE == 4  // a vector has no factors
// EXPECT: E0420 a function of matrices: an operand has fewer than two axes
constexpr int refused = traced_on<vector>([](auto a) {
  return std::get<0>(ebb::qr(a));  // LINE
});
#elif EBB_CASE == 5  // right sides with another number of rows
// EXPECT: E0181 a system of linear equations: each right side has one element for each row of the matrix
constexpr int refused = traced_on<square, vector>([](auto a, auto b) {
  return ebb::lstsq(a, b);  // LINE
});
#elif EBB_CASE == 6  // a matrix with many solutions
// EXPECT: E0431 lstsq: the matrix has fewer rows than columns
constexpr int refused = traced_on<oblong, oblong>([](auto a, auto b) {
  return ebb::lstsq(a, b);  // LINE
});
#elif EBB_CASE == 7  // a bool in place of a tag
// EXPECT: E0432 eigh, eigvalsh: after the matrix comes nothing, or the tag ebb::rotations_ignored
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::eigvalsh(a, true);  // LINE
});
#elif EBB_CASE == 8  // a tolerance above 1
// EXPECT: E0433 pinv, matrix_rank: the tolerance is 2^Exponent with a negative exponent
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::pinv<3>(a);  // LINE
});
#elif EBB_CASE == 9  // an order that is no matrix norm
// EXPECT: E0434 matrix_norm: after the matrix comes nothing, or one of ebb::nuclear
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::matrix_norm(a, ebb::order<3>);  // LINE
});
#elif EBB_CASE == 10  // a vector has no singular values
// EXPECT: E0420 a function of matrices: an operand has fewer than two axes
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::condition_number(a);  // LINE
});
#elif EBB_CASE == 11  // a right side of another shape
// EXPECT: E0435 solve_sylvester: the operands do not fit: a is n x n, b is m x m, c is n x m
constexpr int refused = traced_on<square, oblong>([](auto a, auto c) {
  return ebb::solve_sylvester(a, a, c);  // LINE
});
#elif EBB_CASE == 13  // numbers in place of diagonals
// EXPECT: E0444 tridiagonal_solve: no operand has an axis, or one has eight
constexpr int refused = traced_on<ebb::term<float>>([](auto a) {
  return ebb::tridiagonal_solve(a, a, a, a);  // LINE
});
#elif EBB_CASE == 14  // other columns
// EXPECT: E0445 khatri_rao: the operands are matrices with the same number of columns
constexpr int refused = traced_on<square, oblong>([](auto a, auto b) {
  return ebb::khatri_rao(a, b);  // LINE
});
#elif EBB_CASE == 15  // weights of another shape
// EXPECT: E0446 dare, care: the operands do not fit: a and q are n x n, b is n x m, r is m x m
constexpr int refused = traced_on<square, oblong>([](auto a, auto b) {
  return ebb::dare(a, b, a, a);  // LINE
});
#elif EBB_CASE == 16  // a vector in place of a matrix
// EXPECT: E0446 dare, care: the operands do not fit: a and q are n x n, b is n x m, r is m x m
constexpr int refused = traced_on<square, vector>([](auto a, auto b) {
  return ebb::care(a, b, a, a);  // LINE
});
#elif EBB_CASE == 17  // fewer right sides than rows
// EXPECT: E0307 toeplitz_solve: the last axes of the operands, at most seven each, have the same extent
constexpr int refused = traced_on<square, vector>([](auto a, auto y) {
  return ebb::toeplitz_solve(a, y);  // LINE
});
#elif EBB_CASE == 18  // a bool in place of the tag of svd
// EXPECT: E0536 svd: after the matrix comes nothing, or the tag ebb::rotations_ignored
constexpr int refused = traced_on<oblong>([](auto a) {
  return std::get<1>(ebb::svd(a, true));  // LINE
});
#elif EBB_CASE == 12  // a matrix without a logarithm
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<oblong>([](auto a) {
  return ebb::matrix_log(a);  // LINE
});
#elif EBB_CASE == 19  // one diagonal without an axis of diagonals
// EXPECT: E0308 banded_cholesky: the operand has two axes or more: the diagonals of a band are its rows
constexpr int refused = traced_on<vector>([](auto a) {
  return ebb::banded_cholesky(a);  // LINE
});
#elif EBB_CASE == 20  // a tag of another function
// EXPECT: E0286 cholesky, logdet_spd, banded_cholesky: after the matrix comes nothing, or the tag ebb::nan_if_not
constexpr int refused = traced_on<square>([](auto a) {
  return ebb::banded_cholesky(a, ebb::upper);  // LINE
});
#elif EBB_CASE == 21  // a bool in place of a tag
// EXPECT: E0542 qr: after the matrix comes nothing, or the tag ebb::complete
constexpr int refused = traced_on<square>([](auto a) {
  return std::get<0>(ebb::qr(a, true));  // LINE
});
#elif EBB_CASE == 22  // a vector has no triangular factors
// EXPECT: E0420 a function of matrices: an operand has fewer than two axes
constexpr int refused = traced_on<vector>([](auto a) {
  return std::get<1>(ebb::lu(a));  // LINE
});
#elif EBB_CASE == 23  // factors of a matrix that is not square belong to no system
// EXPECT: E0180 a function of square matrices: an operand is no matrix, or its last two axes differ
constexpr int refused = traced_on<ebb::term<float, 3, 3>, ebb::term<float, 3, 3>, oblong>([](auto p, auto l, auto u) {
  return ebb::lu_solve(p, l, u, l);  // LINE
});
#endif
