// test/linalg/contexts.static.cpp — the autocast class of each function of linalg.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: band.hpp determinant.hpp eigen.hpp exponential.hpp logarithm.hpp lu.hpp
// covers: products.hpp qr.hpp riccati.hpp root.hpp singular.hpp svd.hpp sylvester.hpp toeplitz.hpp
#include <ebb/linalg.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class;
using enum test::context_class;

static_assert(has_class<full>([](auto x) { return ebb::det(x); }));
static_assert(has_class<full>([](auto x) { return ebb::cholesky_inverse(x); }));
static_assert(has_class<full>([](auto x) { return ebb::trace(x); }));
static_assert(has_class<full>([](auto x) { return ebb::eigvalsh(x); }));
static_assert(has_class<full>([](auto x) { return ebb::matrix_exp(x); }));
static_assert(has_class<full>([](auto x) { return ebb::matrix_sqrt(x); }));
static_assert(has_class<full>([](auto x) { return ebb::matrix_log(x); }));
static_assert(has_class<full>([](auto x) { return ebb::pinv(x); }));
static_assert(has_class<full>([](auto x) { return ebb::condition_number(x); }));
static_assert(has_class<own>([](auto x) { return ebb::matrix_norm(x); }));
static_assert(has_class<own>([](auto x) { return ebb::matrix_norm(x, ebb::order_inf); }));
static_assert(has_class<full>([](auto x) { return ebb::matrix_norm(x, ebb::nuclear); }));
static_assert(has_class<full>([](auto x) { return ebb::matrix_norm(x, ebb::spectral); }));
static_assert(has_class<full>([](auto x) { return ebb::svdvals(x); }));
static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::lu(x)); }));
static_assert(has_class<full>([](auto x) { return std::get<1>(ebb::eigh(x)); }));
static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::qr(x)); }));
static_assert(has_class<full>([](auto x) { return std::get<1>(ebb::svd(x)); }));
static_assert(has_class<full>([](auto x) { return ebb::lstsq(x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::lu_solve(x, x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::mahalanobis(x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::solve_sylvester(x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::toeplitz_solve(x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::dare(x, x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::care(x, x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::tridiagonal_solve(x, x, x, x); }));
static_assert(has_class<full>([](auto x) { return ebb::banded_cholesky(x); }));
static_assert(has_class<low>([](auto x) { return ebb::matrix_power<2>(x); }));
static_assert(has_class<low>([](auto x) { return ebb::multi_dot(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::diagonal(x); }));
static_assert(has_class<own>([](auto x) { return ebb::diag_embed(x); }));
static_assert(has_class<own>([](auto x) { return ebb::kron(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::khatri_rao(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::cross<0>(ebb::slice<0, 0, 3>(x), ebb::slice<0, 0, 3>(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::diag(x); }));
static_assert(has_class<own>([](auto x) {
  return ebb::triple<0>(ebb::slice<0, 0, 3>(x), ebb::slice<0, 0, 3>(x), ebb::slice<0, 0, 3>(x));
}));
static_assert(has_class<fixed>([](auto x) { return ebb::matrix_rank(x); }));

}  // namespace
