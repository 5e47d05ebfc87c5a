// test/geometry/planar.cpp — rotations and motions of the plane against power series of matrices in hyper-dual numbers.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

namespace {

using namespace geometry_test;
using plane3 = ebb::term<double, 3>;
using plane5 = ebb::term<double, 5>;

/// The exponential of [0, -t, x; t, 0, y; 0, 0, 0].
duals motion_of(const duals& a) { return power_series({{}, -a[2], a[0], a[2], {}, a[1], {}, {}, {}}, 3, 0); }

TEST_CASE("motions of the plane are exponentials of 3 x 3 matrices, with derivatives, from the angle 0 on") {
  const auto f = [](auto x) { return ebb::se2_exp(x); };
  const auto oracle = [](const duals& a) {
    const duals m = motion_of(a);
    return duals{m[0], m[3], m[2], m[5]};
  };
  const auto back = [](auto x) { return ebb::se2_log(ebb::se2_exp(x)); };
  for (const double angle : {0.0, 1e-300, 1e-12, 1e-8, -1e-4, 0.5, -3.1, 3.141}) {
    const linalg_test::numbers x{0.7, -1.2, angle};
    against_duals<plane3>("exp", f, x, oracle, 4e-15L, 2e-14L);
    against_duals<plane3>("log", back, x, [](const duals& a) { return a; }, 2e-14L, 2e-13L);
  }
}

TEST_CASE("motions of the plane compose, go back and act as their matrices do") {
  const auto f = [](auto a) {
    const auto pose = ebb::se2_exp(ebb::slice<0, 0, 3>(a));
    const auto p = ebb::slice<0, 3>(a);
    return ebb::concat<0>(ebb::se2_act(ebb::se2_compose(pose, pose), p), ebb::se2_act(ebb::se2_inverse(pose), p),
                          ebb::so2_rotate(ebb::so2_exp(ebb::select<0, 2>(a)), p));
  };
  const auto oracle = [](const duals& a) {
    const duals m = motion_of(a), back = motion_of(scaled(part(a, 0, 3), hyper_dual{-1})), p{a[3], a[4], {1}}, v{a[3], a[4], {}};
    const duals twice = matmul(m, matmul(m, p, 3), 3);
    return joined(joined(part(twice, 0, 2), part(matmul(back, p, 3), 0, 2)), part(matmul(m, v, 3), 0, 2));
  };
  for (const double angle : {0.0, 1e-9, 2.0}) against_duals<plane5>("motions", f, {0.7, -1.2, angle, 0.3, -1.0}, oracle, 1e-14L, 1e-13L);
}

TEST_CASE("rotations of the plane: batches, angles at pi, dtypes, errors") {
  const ebb::tensor<double, dyn> angles{-3, 0, 1.5};
  const auto r = ebb::so2_exp(angles);
  REQUIRE((r.extent(0) == 3 && r.extent(1) == 2));
  const auto same = ebb::so2_log(r);
  for (std::size_t i = 0; i < 3; ++i) CHECK(same(i) == Approx(angles(i)).epsilon(1e-15));
  CHECK(ebb::so2_log(ebb::tensor<double, 2>{-1, 0}) == Approx(static_cast<double>(pi)).epsilon(1e-15));
  static_assert(std::is_same_v<decltype(ebb::se2_log(ebb::tensor<ebb::bfloat16, 6, 4>())), ebb::tensor<ebb::bfloat16, 6, 3>>);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::so2_rotate(r, ebb::tensor<double, dyn>(3))); }), {"so2_rotate", "[3]"}));
}

TEST_CASE("the angle of a vector of the plane has the derivatives of atan2, for any length") {
  const auto oracle_of_angle = [](const duals& r) { return duals{oracle(ebb::op::atan2{}, r[1], r[0])}; };
  for (const linalg_test::numbers& r : {linalg_test::numbers{1, 0}, {0.6, -0.8}, {-3, 1e-3}, {-1e-3, -2}, {0, 5}})
    against_duals<ebb::term<double, 2>>("so2_log", [](auto v) { return ebb::so2_log(v); }, r, oracle_of_angle, 4e-16L, 4e-15L);
}

TEST_CASE("a NaN stays in its row of motions of the plane; no rows give none; no motion is exact, with signs of zeros") {
  rows_apart([](auto x) {
    const auto a = ebb::slice<-1, 0, 4>(x), b = ebb::slice<-1, 4, 8>(x);
    const auto w = ebb::slice<-1, 8, 11>(x);
    const auto v = ebb::slice<-1, 11, 13>(x), r = ebb::slice<-1, 13, 15>(x);
    const auto angle = ebb::select<-1, 15>(x);
    return std::tuple(ebb::se2_act(a, v), ebb::se2_compose(a, b), ebb::se2_exp(w), ebb::se2_inverse(a), ebb::se2_log(b),
                      ebb::so2_exp(angle), ebb::so2_log(r), ebb::so2_rotate(r, v));
  }, "aaaabbbbwwwvvrrt", {"av", "ab", "w", "a", "b", "t", "r", "rv"});
  using four = ebb::tensor<double, 4>;
  using two = ebb::tensor<double, 2>;
  const auto none = ebb::se2_exp(ebb::tensor<double, 3>{0, 0, 0});
  const four p{0.6, -0.8, 1, -2};
  const two v{1, -2};
  CHECK(ebb::all_equal(none, four{1, 0, 0, 0}));
  CHECK((ebb::all_equal(ebb::se2_compose(none, p), p) && ebb::all_equal(ebb::se2_compose(p, none), p) &&
         ebb::all_equal(ebb::se2_inverse(none), none)));
  CHECK((ebb::all_equal(ebb::se2_act(none, v), v) && ebb::all_equal(ebb::se2_log(none), ebb::tensor<double, 3>{0, 0, 0})));
  CHECK((ebb::all_equal(ebb::so2_exp(0.0), two{1, 0}) && std::signbit(ebb::so2_exp(-0.0)(1)) && std::signbit(ebb::so2_log(two{1, -0.0}))));
  CHECK((ebb::all_equal(ebb::so2_rotate(two{1, 0}, v), v) && ebb::so2_log(two{-1, -0.0}) == -static_cast<double>(pi)));
}

}  // namespace
