// test/random/initial.fail.cpp — arrays that have no fans, and ranks without a middle or a diagonal.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/random.hpp>

[[maybe_unused]] inline auto fits() { return ebb::initial<float, 8>(ebb::random_key(1), ebb::truncated_normal{}); }

#if EBB_CASE == 1  // a bias
// EXPECT: E0487 xavier, kaiming and lecun are for weights
inline auto refused() {
  return ebb::initial<float, 8>(ebb::random_key(1), ebb::kaiming_uniform{});  // LINE
}
#elif EBB_CASE == 2  // a matrix
// EXPECT: E0532 dirac is for weights of convolutions
inline auto refused() {
  return ebb::initial<float, 8, 4>(ebb::random_key(1), ebb::dirac{});  // LINE
}
#elif EBB_CASE == 3  // a convolution
// EXPECT: E0533 identity_matrix is for matrices
inline auto refused() {
  return ebb::initial<float, 8, 4, 3>(ebb::random_key(1), ebb::identity_matrix{});  // LINE
}
#elif EBB_CASE == 4  // a bias
// EXPECT: E0534 orthogonal is for weights
inline auto refused() {
  return ebb::initial<float, 8>(ebb::random_key(1), ebb::orthogonal{});  // LINE
}
#endif
