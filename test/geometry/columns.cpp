// test/geometry/columns.cpp — batches and broadcasts of quaternions, in map, on the tape, in narrow floats, and what does not fit.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace geometry_test;

TEST_CASE("quaternions: batches, broadcasts, narrow floats, integers, errors") {
  const auto f = [](auto a) { return ebb::quaternion_log(ebb::quaternion_product(a, ebb::quaternion_exp(ebb::slice<-1, 1>(a)))); };
  same_bits_everywhere<double>(f, random_rows<double>(21, 4, 1));
  // One quaternion and many vectors; a column of quaternions and a row of vectors.
  const auto q = ebb::quaternion_normalize(random_rows<double>(3, 4, 3));
  const auto v = random_rows<double>(5, 3, 4);
  const auto turned = ebb::quaternion_rotate(ebb::tensor<double, 4>(q.row(1)), v);
  const auto grid = ebb::quaternion_rotate(ebb::reshape<dyn, 1, 4>(q), v);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto one = ebb::quaternion_rotate(ebb::tensor<double, 4>(q.row(1)), ebb::tensor<double, 3>(v.row(i)));
    for (std::size_t k = 0; k < 3; ++k) CHECK((turned(i, k) == one(k) && grid(1, i, k) == one(k)));
  }
  const ebb::tensor<ebb::bfloat16, 4> narrow(ebb::tensor<ebb::bfloat16, 4>() + ebb::bfloat16(0.5f));
  static_assert(std::is_same_v<decltype(ebb::quaternion_log(narrow)), ebb::tensor<ebb::bfloat16, 3>>);
  CHECK(static_cast<float>(ebb::quaternion_log(narrow)(0)) == static_cast<float>(ebb::bfloat16(1.2091996f)));
  const auto low = ebb::under<ebb::autocast<ebb::bfloat16>>([](auto x) { return ebb::quaternion_product(x, x); });
  static_assert(std::is_same_v<decltype(low(ebb::tensor<float, 4>())), ebb::tensor<float, 4>>);
  static_assert(std::is_same_v<decltype(ebb::quaternion_product(ebb::tensor<int, 4>(), ebb::tensor<int, 4>())), ebb::tensor<float, 4>>);
  CHECK(test::says(test::raised([&] { ebb::quaternion_rotate(ebb::tensor<double, dyn>(3), v); }), {"quaternion_rotate", "[3]"}));
  CHECK(test::says(test::raised([&] { ebb::quaternion_product(q, ebb::tensor<double, dyn, dyn>(2, 4)); }), {"[3, 4]", "[2, 4]"}));
}

}  // namespace
