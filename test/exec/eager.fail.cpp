// test/exec/eager.fail.cpp — functions and operators called on arrays whose types do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#include <iostream>
#include <vector>

namespace user {
template <template <class, std::size_t...> class Array>
struct rated {
  using matrix = Array<float, 2, 3>;
  using number = Array<float>;
  BOOST_HANA_DEFINE_STRUCT(rated, (matrix, rates), (number, base));
};
}  // namespace user

int main() {
  const ebb::tensor<float, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  [[maybe_unused]] const ebb::tensor<float, 4> four{1, 2, 3, 4};
  [[maybe_unused]] const ebb::tensor<float, ebb::dyn> row{1, 2, 3};
  std::cout << ebb::sum(a + row) * 2 << '\n';
#if EBB_CASE == 1
  // EXPECT: E0101 matmul: the inner extents differ
  auto r = ebb::matmul(a, a);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0102 the extents differ
  auto r = a + four;  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0103 there is no such axis
  auto r = ebb::sum<2>(a);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0112 reshape: the number of elements differs
  ebb::tensor<float, 4> r = ebb::reshape<4>(a) + four;  // LINE
  std::cout << r;
#elif EBB_CASE == 5
  // EXPECT: E0101 matmul: the inner extents differ
  auto product = ebb::matmul(a, a);  // LINE
  auto r = 2 * ebb::sum(product - a) / four;
  std::cout << r;
#elif EBB_CASE == 6
  const std::vector<float> places{0, 1};
  // EXPECT: E0115 an index must be an integer array
  auto r = ebb::take(a, places);  // LINE
#elif EBB_CASE == 7
  ebb::tensor<float, 2, 3> sum = a;
  // EXPECT: E0102 the extents differ
  sum += four;  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0102 the extents differ
  auto r = ebb::mse(a, ebb::tensor<float, 2, 4>{});  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0124 map: there must be an argument that is not whole
  auto r = ebb::map([](auto p) { return p.rates; }, user::rated<ebb::tensor>{});  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0290 map: the arguments have different numbers of rows
  auto r = ebb::map([](auto pair, auto y) { return std::get<0>(pair) * y; }, std::tuple(a, a), four);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = ebb::map([](auto pair) { return std::get<0>(pair); }, std::tuple(a, "text"));  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0211 the operands of a loss differ in rank: reshape one, or give a number
  auto r = ebb::mse(four, ebb::tensor<float, 4, 1>{});  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0211 the operands of a loss differ in rank
  auto r = ebb::bce_with_logits(a, row, ebb::summed);  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0302 axes are template arguments, sum<0, 1>(x): after x comes nothing, or the tag ebb::keep_dims
  std::cout << ebb::sum(a, 0);  // LINE
#endif
}
