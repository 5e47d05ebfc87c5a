// test/geometry/pose.cpp — rigid motions against power series of 4 x 4 matrices in hyper-dual numbers.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace geometry_test;
using vector6 = ebb::term<double, 6>;
using vector9 = ebb::term<double, 9>;

std::vector<linalg_test::numbers> twists(std::initializer_list<double> angles) {
  std::vector<linalg_test::numbers> r;
  for (const double angle : angles) r.push_back({0.7, -1.2, 0.4, angle * 0.48, angle * -0.6, angle * 0.64});
  return r;
}
/// The exponential of [W, v; 0, 0].
duals matrix_of_twist(const duals& x) {
  const duals w = hat(part(x, 3, 3));
  duals m(16);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) m[4 * i + j] = w[3 * i + j];
    m[4 * i + 3] = x[i];
  }
  return power_series(m, 4, 0);
}

TEST_CASE("poses of twists are exponentials of 4 x 4 matrices, with their derivatives, from the angle 0 on") {
  const auto f = [](auto x) { return ebb::se3_matrix(ebb::se3_exp(x)); };
  for (const auto& x : twists({0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.5, 3.14159, 3.17, 5.0}))
    against_duals<vector6>("exp", f, x, matrix_of_twist, 1e-14L, 1e-13L);
}

TEST_CASE("the twist of a pose is that it was made from, with derivatives, up to pi") {
  const auto f = [](auto x) { return ebb::se3_log(ebb::se3_exp(x)); };
  for (const auto& x : twists({0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.5, 1.7, 3.0, 3.141}))
    against_duals<vector6>("log", f, x, [](const duals& y) { return y; }, 4e-14L, 1e-12L);
  const auto half = ebb::se3_log(ebb::tensor<double, 7>{0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0});
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::isfinite(half(i)));
  CHECK(half(4) == Approx(static_cast<double>(pi)).epsilon(1e-15));
}

TEST_CASE("motions compose, go back, act and are transposed into other frames as their matrices do") {
  const auto f = [](auto a) {
    const auto x = ebb::slice<0, 0, 6>(a);
    const auto p = ebb::slice<0, 6>(a);
    const auto pose = ebb::se3_exp(x), other = ebb::se3_exp(0.5 * ebb::flip(x));
    const auto both = ebb::se3_compose(pose, other);
    const auto adjoint = ebb::matmul(ebb::se3_adjoint(pose), ebb::concat<0>(p, p));
    return ebb::concat<0>(ebb::se3_act(both, p), ebb::se3_act(ebb::se3_inverse(pose), p), adjoint);
  };
  const auto oracle = [](const duals& a) {
    const duals x = part(a, 0, 6), p = part(a, 6, 3), back = scaled(x, hyper_dual{-1});
    const duals other = {0.5L * x[5], 0.5L * x[4], 0.5L * x[3], 0.5L * x[2], 0.5L * x[1], 0.5L * x[0]};
    const duals m = matrix_of_twist(x), to = matmul(m, matrix_of_twist(other), 4), point = joined(p, {hyper_dual{1}});
    // M X M^-1 is the matrix of the twist in the other frame.
    duals twist(16);
    const duals w = hat(p);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) twist[4 * i + j] = w[3 * i + j];
      twist[4 * i + 3] = p[i];
    }
    const duals t = matmul(matmul(m, twist, 4), matrix_of_twist(back), 4);
    return joined(joined(part(matmul(to, point, 4), 0, 3), part(matmul(matrix_of_twist(back), point, 4), 0, 3)),
                  {t[3], t[7], t[11], t[9], t[2], t[4]});
  };
  for (auto x : twists({0.0, 1e-8, 0.8, 3.0})) {
    for (const double e : {0.3, -1.0, 0.7}) x.push_back(e);
    against_duals<vector9>("motions", f, x, oracle, 1e-13L, 1e-12L);
  }
}

TEST_CASE("Jacobians of rigid motions are power series of 6 x 6 matrices, with their derivatives, from the angle 0 on") {
  // The series of ad(x) = [W, P; 0, W].
  const auto series = [](const duals& x, long double sign) {
    const duals w = hat(part(x, 3, 3)), p = hat(part(x, 0, 3));
    duals m(36);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        m[6 * i + j] = m[6 * (i + 3) + j + 3] = hyper_dual{sign} * w[3 * i + j];
        m[6 * i + j + 3] = hyper_dual{sign} * p[3 * i + j];
      }
    return power_series(m, 6, 1);
  };
  for (const auto& x : twists({0.0, 1e-300, 1e-8, 1e-4, 0.5, 3.14159, 5.0})) {
    against_duals<vector6>(
        "left", [](auto v) { return ebb::se3_left_jacobian(v); }, x, [&](const duals& y) { return series(y, 1); }, 2e-14L, 1e-13L);
    against_duals<vector6>(
        "right", [](auto v) { return ebb::se3_right_jacobian(v); }, x, [&](const duals& y) { return series(y, -1); }, 2e-14L, 1e-13L);
  }
}

TEST_CASE("Jacobians of rigid motions: empty batches, dtypes, errors") {
  const auto rows = ebb::se3_left_jacobian(ebb::tensor<ebb::bfloat16, dyn, 6>(0));
  static_assert(std::is_same_v<decltype(rows), const ebb::tensor<ebb::bfloat16, dyn, 6, 6>>);
  CHECK(rows.size() == 0);
  CHECK(test::says(test::raised([] { static_cast<void>(ebb::se3_right_jacobian(ebb::tensor<double, dyn>(4))); }),
                   {"se3_right_jacobian", "[4]"}));
}

TEST_CASE("poses: batches, dtypes, errors") {
  const auto x = random_rows<double>(5, 6, 1);
  const auto points = random_rows<double>(5, 3, 2);
  const auto poses = ebb::se3_exp(x);
  const auto moved = ebb::se3_act(poses, points), fixed = ebb::se3_act(ebb::tensor<double, 7>(poses.row(2)), points);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto one = ebb::se3_act(ebb::se3_exp(ebb::tensor<double, 6>(x.row(i))), ebb::tensor<double, 3>(points.row(i)));
    for (std::size_t k = 0; k < 3; ++k) CHECK(moved(i, k) == one(k));
  }
  CHECK((fixed(2, 0) == moved(2, 0) && fixed(1, 0) != moved(1, 0)));
  static_assert(std::is_same_v<decltype(ebb::se3_log(ebb::tensor<ebb::bfloat16, 4, 7>())), ebb::tensor<ebb::bfloat16, 4, 6>>);
  static_assert(std::is_same_v<decltype(ebb::se3_adjoint(ebb::tensor<float, 4, 7>())), ebb::tensor<float, 4, 6, 6>>);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::se3_act(poses, ebb::tensor<double, dyn>(4))); }), {"se3_act", "[4]"}));
}

TEST_CASE("a NaN stays in its row of poses; no rows give none; no motion is exact") {
  rows_apart([](auto x) {
    const auto a = ebb::slice<-1, 0, 7>(x), b = ebb::slice<-1, 7, 14>(x);
    const auto w = ebb::slice<-1, 14, 20>(x);
    const auto v = ebb::slice<-1, 20, 23>(x);
    return std::tuple(ebb::se3_act(a, v), ebb::se3_adjoint(a), ebb::se3_compose(a, b), ebb::se3_exp(w), ebb::se3_inverse(a),
                      ebb::se3_log(b), ebb::se3_matrix(b));
  }, "aaaaaaabbbbbbbwwwwwwvvv", {"av", "a", "ab", "w", "a", "b", "b"});
  using pose = ebb::tensor<double, 7>;
  const auto none = ebb::se3_exp(ebb::tensor<double, 6>{0, 0, 0, 0, 0, 0});
  const pose p{0.5, -0.5, 0.5, 0.5, 1, -2, 3};
  const ebb::tensor<double, 3> v{1, -2, 3};
  CHECK(ebb::all_equal(none, pose{1, 0, 0, 0, 0, 0, 0}));
  CHECK((ebb::all_equal(ebb::se3_compose(none, p), p) && ebb::all_equal(ebb::se3_compose(p, none), p) &&
         ebb::all_equal(ebb::se3_inverse(none), none)));
  CHECK((ebb::all_equal(ebb::se3_act(none, v), v) && ebb::all_equal(ebb::se3_log(none), ebb::tensor<double, 6>{0, 0, 0, 0, 0, 0})));
  const auto adjoint = ebb::se3_adjoint(none);
  for (std::size_t i = 0; i < 36; ++i) CHECK(adjoint.data()[i] == (i % 7 == 0 ? 1 : 0));
  // The matrix of a pose moves a point as the pose does.
  const auto m = ebb::se3_matrix(p);
  const auto moved = ebb::se3_act(p, v);
  for (std::size_t i = 0; i < 3; ++i) CHECK(m(i, 0) * v(0) + m(i, 1) * v(1) + m(i, 2) * v(2) + m(i, 3) == moved(i));
  CHECK((m(3, 0) == 0 && m(3, 1) == 0 && m(3, 2) == 0 && m(3, 3) == 1));
}

}  // namespace
