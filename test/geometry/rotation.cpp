// test/geometry/rotation.cpp — rotation matrices, their logarithms and Jacobians against power series of matrices in hyper-dual numbers.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace geometry_test;
using vector3 = ebb::term<double, 3>;
using vector6 = ebb::term<double, 6>;

linalg_test::numbers along(double angle) { return {angle * 0.48, angle * -0.6, angle * 0.64}; }

TEST_CASE("rotation matrices and Jacobians are power series, with their derivatives, from the angle 0 on") {
  const auto f = [](auto w) {
    return ebb::stack<0>(ebb::so3_exp(w), ebb::so3_left_jacobian(w), ebb::so3_right_jacobian(w));
  };
  const auto oracle = [](const duals& w) {
    const duals m = hat(w), back = scaled(m, hyper_dual{-1});
    return joined(joined(power_series(m, 3, 0), power_series(m, 3, 1)), power_series(back, 3, 1));
  };
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.5, 3.14159, 3.16, 3.17, 5.0})
    against_duals<vector3>("exp", f, along(angle), oracle, 4e-15L, 4e-14L);
}

TEST_CASE("inverse Jacobians undo the Jacobians, with derivatives: the product with a vector does not depend on the rotation") {
  const auto f = [](auto a) {
    const auto w = ebb::slice<0, 0, 3>(a);
    const auto v = ebb::slice<0, 3>(a);
    return ebb::concat<0>(ebb::matmul(ebb::so3_left_jacobian_inverse(w), ebb::matmul(ebb::so3_left_jacobian(w), v)),
                          ebb::matmul(ebb::so3_right_jacobian(w), ebb::matmul(ebb::so3_right_jacobian_inverse(w), v)));
  };
  const auto oracle = [](const duals& a) { return joined(part(a, 3, 3), part(a, 3, 3)); };
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.5, 3.14159, 3.16, 3.17, 5.0}) {
    auto x = along(angle);
    for (const double e : {0.3, -1.0, 0.7}) x.push_back(e);
    against_duals<vector6>("inverse", f, x, oracle, 4e-14L, 4e-13L);
  }
}

TEST_CASE("the logarithm of a rotation matrix is its rotation vector, with derivatives, from 0 to pi") {
  const auto f = [](auto w) { return ebb::so3_log(ebb::so3_exp(w)); };
  const auto same = [](const duals& w) { return w; };
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.5, 1.57, 3.0, 3.141})
    against_duals<vector3>("log", f, along(angle), same, 4e-14L, 1e-12L);
  // Past pi the way is the shorter one, on the other side.
  const auto past = ebb::so3_log(ebb::so3_exp(ebb::tensor<double, 3>{0.0, 4.0, 0.0}));
  CHECK(past(1) == Approx(4 - 2 * static_cast<double>(pi)).epsilon(1e-14));
  // Half a turn exactly, and a permutation of axes.
  const auto half = ebb::so3_log(ebb::tensor<double, 3, 3>{{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}});
  CHECK((half(0) == 0 && std::fabs(half(1)) == Approx(static_cast<double>(pi)).epsilon(1e-15) && half(2) == 0));
  const auto third = ebb::so3_log(ebb::tensor<double, 3, 3>{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}});
  for (std::size_t i = 0; i < 3; ++i) CHECK(third(i) == Approx(static_cast<double>(pi) * 2 / 3 / std::sqrt(3)).epsilon(1e-15));
  const auto slopes =
      ebb::grad([](auto m) { return ebb::sum(ebb::so3_log(m)); })(ebb::tensor<double, 3, 3>{{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}});
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isfinite(slopes.data()[i]));
}

TEST_CASE("hat and vee are inverse to each other; batches of rotations, a floating point of 16 bits, NaN, errors") {
  const auto x = random_rows<double>(4, 3, 1);
  CHECK(ebb::all_equal(ebb::so3_vee(ebb::so3_hat(x)), x));
  CHECK(ebb::all_equal(ebb::so3_hat(x), ebb::skew_matrix(x)));
  const auto m = ebb::so3_exp(x);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(ebb::all_equal(ebb::so3_exp(ebb::tensor<double, 3>(x.row(i))), ebb::tensor<double, 3, 3>(m.row(i))));
  const auto product = ebb::matmul(m, ebb::transpose(m));
  for (std::size_t i = 0; i < 36; ++i) CHECK(product.data()[i] == Approx(i % 9 % 4 == 0 ? 1 : 0).margin(4e-16));
  static_assert(std::is_same_v<decltype(ebb::so3_exp(ebb::tensor<ebb::bfloat16, 3>())), ebb::tensor<ebb::bfloat16, 3, 3>>);
  CHECK(std::isnan(ebb::so3_exp(ebb::tensor<double, 3>{0.0, static_cast<double>(NAN), 0.0})(0, 0)));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::so3_log(ebb::tensor<double, dyn, dyn>(3, 2))); }), {"so3_log", "[3, 2]"}));
}

TEST_CASE("hat and vee have the first and second derivatives of the elements that they move") {
  const auto cubes = [](const duals& a) {
    duals r;
    for (const auto& e : a) r.push_back(e * e * e);
    return r;
  };
  against_duals<vector3>("so3_hat", [](auto w) { return ebb::square(ebb::so3_hat(w * w * w)); }, {0.5, -1.25, 0.75}, [&](const duals& w) {
    duals m = hat(cubes(w));
    for (auto& e : m) e = e * e;
    return m;
  }, 1e-15L, 1e-14L);
  // Of a matrix that is not skew: half of the difference from its transpose.
  const auto x = linalg_test::random_numbers(9, 3);
  against_duals<ebb::term<double, 9>>(
      "so3_vee", [](auto a) { return ebb::square(ebb::so3_vee(ebb::reshape<3, 3>(a * a * a))); }, x,
      [&](const duals& a) {
        const duals m = cubes(a), v{0.5L * (m[7] - m[5]), 0.5L * (m[2] - m[6]), 0.5L * (m[3] - m[1])};
        return duals{v[0] * v[0], v[1] * v[1], v[2] * v[2]};
      },
      1e-15L, 1e-14L);
}

TEST_CASE("a NaN stays in its row of rotations; no rows give none; the Jacobians of no rotation are the identity") {
  rows_apart([](auto w) {
    const auto m = ebb::so3_exp(w);
    return std::tuple(m, ebb::so3_log(m), ebb::so3_left_jacobian(w), ebb::so3_left_jacobian_inverse(w), ebb::so3_right_jacobian(w),
                      ebb::so3_right_jacobian_inverse(w), ebb::so3_hat(w), ebb::so3_vee(m));
  }, "www", {"w", "w", "w", "w", "w", "w", "w", "w"});
  const ebb::tensor<double, 3> zero{0, 0, 0};
  const ebb::tensor<double, 3, 3> one{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  CHECK((ebb::all_equal(ebb::so3_exp(zero), one) && ebb::all_equal(ebb::so3_log(one), zero)));
  CHECK((ebb::all_equal(ebb::so3_left_jacobian(zero), one) && ebb::all_equal(ebb::so3_left_jacobian_inverse(zero), one)));
  CHECK((ebb::all_equal(ebb::so3_right_jacobian(zero), one) && ebb::all_equal(ebb::so3_right_jacobian_inverse(zero), one)));
}

}  // namespace
