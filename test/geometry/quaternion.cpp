// test/geometry/quaternion.cpp — quaternions and their derivatives against hyper-dual numbers, at the angles 0 and pi too.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace geometry_test;
using vector3 = ebb::term<double, 3>;
using vector4 = ebb::term<double, 4>;
using vector7 = ebb::term<double, 7>;
using vector9 = ebb::term<double, 9>;

/// Rotation vectors of these angles, and unit quaternions of half of them.
std::vector<linalg_test::numbers> turns() {
  std::vector<linalg_test::numbers> r;
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.3, 0.92, 0.93, 1.7, 3.0, 3.14159, 3.5, 6.0, 12.0})
    r.push_back({angle * 0.48, angle * -0.6, angle * 0.64});
  return r;
}
linalg_test::numbers half_turned(double angle) {
  const double s = std::sin(angle / 2);
  return {std::cos(angle / 2), 0.48 * s, -0.6 * s, 0.64 * s};
}

TEST_CASE("exp of rotation vectors has its value and derivatives at 0, near 0 and at any angle") {
  const auto f = [](auto w) { return ebb::quaternion_exp(w); };
  for (const auto& w : turns()) against_duals<vector3>("exp", f, w, quaternion_exp, 4e-15L, 2e-14L);
}

TEST_CASE("log of quaternions has its value and derivatives at the identity, at pi, and on both sides of its switch") {
  const auto f = [](auto q) { return ebb::quaternion_log(q); };
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.3, 0.92, 0.93, 1.7, 3.0, 3.1415, 3.14159265358979, 3.2, 5.0})
    against_duals<vector4>("log", f, half_turned(angle), quaternion_log, 4e-14L, 1e-12L);
  against_duals<vector4>("log at pi", f, {0, 0.48, -0.6, 0.64}, quaternion_log, 4e-15L, 1e-13L);
  against_duals<vector4>("log of 3 q", f, {3, 0, 0, 0}, quaternion_log, 4e-15L, 1e-14L);
  // The other sign of a quaternion is the same rotation.
  const ebb::tensor<double, 4> q{-0.5, 0.5, -0.5, 0.5};
  CHECK(ebb::all_equal(ebb::quaternion_log(q), ebb::quaternion_log(-q)));
  CHECK(std::isnan(ebb::quaternion_log(ebb::tensor<double, 4>{0.0, 0.0, 0.0, 0.0})(0)));
}

TEST_CASE("products, inverses and turned vectors have the values and derivatives of Hamilton's table") {
  const auto x = linalg_test::random_numbers(7, 3);
  const auto f = [](auto a) {
    const auto q = ebb::slice<0, 0, 4>(a), r = ebb::slice<0, 3>(a);
    return ebb::concat<0>(ebb::quaternion_product(q, r), ebb::quaternion_inverse(q), ebb::quaternion_conjugate(r),
                          ebb::quaternion_normalize(r));
  };
  against_duals<vector7>("product", f, x, [](const duals& a) {
    const duals q = part(a, 0, 4), r = part(a, 3, 4);
    const hyper_dual size = oracle(ebb::op::sqrt{}, dot(r, r));
    return joined(joined(joined(product(q, r), scaled(conjugate(q), reciprocal(dot(q, q)))), conjugate(r)), scaled(r, reciprocal(size)));
  }, 1e-14L, 1e-13L);
  // q v q^-1 for a quaternion that was normalized, so that derivatives are those of rotations.
  const auto g = [](auto a) {
    const auto q = ebb::quaternion_normalize(ebb::slice<0, 0, 4>(a));
    const auto v = ebb::slice<0, 4>(a);
    return ebb::concat<0>(ebb::quaternion_rotate(q, v), ebb::matmul(ebb::quaternion_to_matrix(q), v));
  };
  against_duals<vector7>("rotate", g, x, [](const duals& a) {
    const duals q = part(a, 0, 4), v = scaled(rotated(q, part(a, 4, 3)), reciprocal(dot(q, q)));
    return joined(v, v);
  }, 1e-14L, 1e-13L);
}

TEST_CASE("the quaternion of a matrix is right for each of its largest elements, with derivatives along rotations") {
  const auto f = [](auto w) {
    const auto q = ebb::quaternion_from_matrix(ebb::quaternion_to_matrix(ebb::quaternion_exp(w)));
    return ebb::concat<0>(q, ebb::quaternion_log(q));
  };
  const auto oracle = [](const duals& w) {
    duals q = quaternion_exp(w);
    if (q[0].v < 0) q = scaled(q, hyper_dual{-1});
    return joined(q, quaternion_log(q));
  };
  for (const double angle : {0.0, 1e-9, 0.5, 2.0, 3.1, 3.1415926, 4.0, 6.0})
    for (const linalg_test::numbers& axis : {linalg_test::numbers{0.48, -0.6, 0.64}, {0.96, 0.28, 0}, {0, 1, 0}, {0, 0.28, -0.96}}) {
      linalg_test::numbers w = axis;
      for (double& e : w) e *= angle;
      against_duals<vector3>("matrix", f, w, oracle, 1e-14L, 1e-12L);
    }
  // Half turns exactly.
  for (std::size_t i = 0; i < 3; ++i) {
    ebb::tensor<double, 3, 3> m{};
    for (std::size_t k = 0; k < 3; ++k) m.mutable_data()[4 * k] = k == i ? 1 : -1;
    const auto q = ebb::quaternion_from_matrix(m);
    for (std::size_t k = 0; k < 4; ++k) CHECK(q(k) == (k == i + 1));
    CHECK(ebb::quaternion_log(q)(i) == Approx(static_cast<double>(pi)).epsilon(1e-15));
  }
}

TEST_CASE("axes with angles and Euler angles are products of turns about axes") {
  const auto about = [](const duals& axis, hyper_dual angle) { return quaternion_exp(scaled(axis, angle)); };
  const duals x{{1}, {}, {}}, y{{}, {1}, {}}, z{{}, {}, {1}};
  const auto f = [](auto a) {
    return ebb::concat<0>(ebb::quaternion_from_euler<"xyz">(a), ebb::quaternion_from_euler<"ZYX">(a), ebb::quaternion_from_euler<"ZXZ">(a));
  };
  for (const linalg_test::numbers& angles : {linalg_test::numbers{0.4, -1.2, 2.5}, {0, 0, 0}, {0, 1.5707963267948966, 0}})
    against_duals<vector3>("euler", f, angles, [&](const duals& a) {
      const duals fixed = product(about(z, a[2]), product(about(y, a[1]), about(x, a[0])));
      const duals turning = product(product(about(z, a[0]), about(y, a[1])), about(x, a[2]));
      return joined(joined(fixed, turning), product(product(about(z, a[0]), about(x, a[1])), about(z, a[2])));
    }, 4e-15L, 1e-14L);
  const auto g = [](auto a) { return ebb::quaternion_from_axis_angle(ebb::slice<0, 0, 3>(a), ebb::select<0, 3>(a)); };
  against_duals<vector4>("axis", g, {0.48, -0.6, 0.64, 1.1}, [](const duals& a) {
    const hyper_dual half = 0.5L * a[3];
    return joined({oracle(ebb::op::cos{}, half)}, scaled(part(a, 0, 3), oracle(ebb::op::sin{}, half)));
  }, 4e-15L, 1e-14L);
  CHECK(ebb::quaternion_from_axis_angle(ebb::tensor<double, 3>{0.0, 0.0, 1.0}, 0.5)(3) == Approx(std::sin(0.25)).epsilon(1e-15));
}

TEST_CASE("slerp goes the shorter way at constant speed, and is smooth where its ends are equal") {
  const auto f = [](auto a) { return ebb::slerp(ebb::slice<0, 0, 4>(a), ebb::slice<0, 4, 8>(a), ebb::select<0, 8>(a)); };
  const auto oracle = [](const duals& a) {
    const duals from = part(a, 0, 4), to = part(a, 4, 4);
    return product(from, quaternion_exp(scaled(quaternion_log(product(conjugate(from), to)), a[8])));
  };
  const auto between = [&](double first, double second, double t) {
    auto x = half_turned(first);
    for (double e : half_turned(second)) x.push_back(e);
    x.push_back(t);
    against_duals<vector9>("slerp", f, x, oracle, 1e-13L, 1e-11L);
  };
  between(0.7, 0.7, 0.3);
  between(0.7, 0.7 + 1e-9, 0.3);
  between(-0.5, 2.2, 0.75);
  between(0.2, 3.2, 0);
  between(0.2, 5.2, 1);
  const ebb::tensor<double, 4> a{1.0, 0.0, 0.0, 0.0}, b{std::cos(0.5), 0.0, std::sin(0.5), 0.0};
  const auto middle = ebb::slerp(a, -b, 0.25);
  CHECK((middle(0) == Approx(std::cos(0.125)) && middle(2) == Approx(std::sin(0.125))));
}

TEST_CASE("a NaN stays in its row of quaternions; no rows give none; zeros and the identity are exact") {
  rows_apart([](auto x) {
    const auto q = ebb::slice<-1, 0, 4>(x), r = ebb::slice<-1, 4, 8>(x);
    const auto v = ebb::slice<-1, 8, 11>(x);
    const auto t = ebb::select<-1, 11>(x);
    return std::tuple(ebb::quaternion_conjugate(q), ebb::quaternion_exp(v), ebb::quaternion_from_axis_angle(v, t),
                      ebb::quaternion_from_euler<"xyz">(v), ebb::quaternion_from_matrix(ebb::quaternion_to_matrix(r)),
                      ebb::quaternion_inverse(q), ebb::quaternion_normalize(q), ebb::quaternion_product(q, r), ebb::quaternion_rotate(q, v),
                      ebb::quaternion_to_matrix(r), ebb::slerp(q, r, t));
  }, "qqqqrrrrvvvt", {"q", "v", "vt", "v", "r", "q", "q", "qr", "qv", "r", "qrt"});
  using four = ebb::tensor<double, 4>;
  using three = ebb::tensor<double, 3>;
  const four one{1, 0, 0, 0}, q{0.5, -0.5, 0.5, 0.5};
  const three zero{0, 0, 0}, v{1, -2, 3};
  CHECK((ebb::all_equal(ebb::quaternion_exp(zero), one) && ebb::all_equal(ebb::quaternion_from_euler<"ZYX">(zero), one)));
  CHECK((ebb::all_equal(ebb::quaternion_from_axis_angle(v, 0.0), one) && ebb::all_equal(ebb::quaternion_product(one, q), q)));
  CHECK((ebb::all_equal(ebb::quaternion_product(q, one), q) && ebb::all_equal(ebb::quaternion_conjugate(one), one)));
  CHECK((ebb::all_equal(ebb::quaternion_rotate(one, v), v) && ebb::all_equal(ebb::slerp(q, q, 0.25), q)));
  const auto identity = ebb::quaternion_to_matrix(one);
  for (std::size_t i = 0; i < 9; ++i) CHECK(identity.data()[i] == (i % 4 == 0 ? 1 : 0));
  CHECK(ebb::all_equal(ebb::quaternion_from_matrix(identity), one));
  for (std::size_t i = 0; i < 4; ++i)
    CHECK((std::isnan(ebb::quaternion_inverse(four{0, 0, 0, 0})(i)) && std::isnan(ebb::quaternion_normalize(four{0, 0, 0, 0})(i))));
}

}  // namespace
