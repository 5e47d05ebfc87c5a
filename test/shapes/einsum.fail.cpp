// test/shapes/einsum.fail.cpp — strings that are none, and letters that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 3>;
using oblong = ebb::term<float, 4, 3>;

[[maybe_unused]] constexpr int fits =
    traced_on<matrix, oblong>([](auto x, auto y) { return ebb::einsum<"ij,kj->ki">(x, y) + ebb::tensordot<1>(y, x); });
int main() {}

#if EBB_CASE == 1  // 3 and 4
// EXPECT: E0396 einsum: a letter has two extents
constexpr int refused = traced_on<matrix, oblong>([](auto x, auto y) {
  return ebb::einsum<"ij,jk->ik">(x, y);  // LINE
});
#elif EBB_CASE == 2  // three letters for a matrix
// EXPECT: E0397 einsum: each operand has a group of letters, one for each axis, and a product at most eight
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::einsum<"ijk->k">(x);  // LINE
});
#elif EBB_CASE == 3  // a letter of no operand
// EXPECT: E0398 einsum: the string has letters, commas, `...`, and after `->` each letter of the result once
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::einsum<"ij->k">(x);  // LINE
});
#endif
