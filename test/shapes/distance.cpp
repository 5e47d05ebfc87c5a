// test/shapes/distance.cpp — distances and angles: recorded values, derivatives, zero vectors, arrays, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::wide;

TEST_CASE("distances and cosines have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 8, .grad = 16, .second = 64, .second_floor = 1, .spread = true};
  using matrix = wide<dyn, dyn>;
  const auto plain = [](auto x, auto y) { return ebb::cdist(x, y); };
  linalg_test::check_recorded<matrix, matrix>("contractions", "cdist_1", [](auto x, auto y) { return ebb::cdist<1>(x, y); }, b);
  linalg_test::check_recorded<wide<3, 2>, wide<2, 2>>("contractions", "cdist_2", plain, b);
  linalg_test::check_recorded<matrix, matrix>("contractions", "cdist_3", [](auto x, auto y) { return ebb::cdist<3>(x, y); }, b);
  linalg_test::check_recorded<matrix, matrix>("contractions", "cdist_at_zero", plain, b);
  const auto cosine = [](auto x, auto y) { return ebb::cosine_similarity(x, y); };
  linalg_test::check_recorded<matrix, matrix>("contractions", "cosine_similarity_second", cosine, b);
}

TEST_CASE("derivatives of unit vectors and distances are those of loops") {
  const auto f = [](auto x) {
    const auto a = ebb::select<0, 0>(x), b = ebb::select<0, 1>(x);
    const auto turned = ebb::matmul(ebb::skew_matrix(a), b) * ebb::normalize(b);
    return ebb::concat<0>(turned, ebb::reshape<1>(ebb::pairwise_distance<3>(a, b, 0.25)));
  };
  const auto oracle = [](const std::vector<long double>& x) {
    const long double *a = x.data(), *b = a + 3, size = std::sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    std::vector<long double> r;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
      r.push_back((a[j] * b[k] - a[k] * b[j]) * b[i] / size);
    }
    long double cubes = 0;
    for (std::size_t i = 0; i < 3; ++i) cubes += std::pow(std::fabs(a[i] - b[i] + 0.25L), 3.0L);
    r.push_back(std::cbrt(cubes));
    return r;
  };
  const auto x = linalg_test::random_numbers(6, 13);
  linalg_test::against_differences<ebb::term<double, 2, 3>>("static", f, x, linalg_test::extents_of({2, 3}), oracle, 1e-10L, 1e-7L);
}

TEST_CASE("distances of arrays: vectors of zeros, large and small ones, integers, errors") {
  const ebb::tensor<double, dyn, dyn> x{{3, 4}, {0, 0}}, y{{0, 0}, {3e200, 4e200}, {3, 4}};
  const auto d = ebb::cdist(x, y);
  CHECK(d(0, 0) == 5);
  CHECK(d(0, 1) == Approx(5e200));
  CHECK((d(0, 2) == 0 && d(1, 0) == 0));
  const auto slope = ebb::grad([](auto a, auto b) { return ebb::sum(ebb::cdist(a, b)); })(x, x);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isfinite(slope.data()[i]));
  const auto units = ebb::normalize(x);
  CHECK((units(0, 0) == 0.6 && units(0, 1) == 0.8 && units(1, 0) == 0));
  const auto bend = ebb::grad([](auto a) { return ebb::sum(ebb::normalize(a, 1e-3)); })(x);
  CHECK((bend(1, 0) == Approx(1e3) && bend(1, 1) == Approx(1e3)));
  CHECK(ebb::cosine_similarity(x, x)(0) == Approx(1));
  CHECK(ebb::cosine_similarity(x, x)(1) == 0);
  CHECK(ebb::cosine_similarity<0>(ebb::tensor<int, dyn>{1, 0}, ebb::tensor<int, dyn>{1, 1}) == Approx(std::sqrt(0.5)));
  CHECK(ebb::cdist(ebb::tensor<float, dyn, dyn>(0, 2), ebb::tensor<float, dyn, dyn>(3, 2)).size() == 0);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::cdist(x, ebb::tensor<double, dyn, dyn>(2, 3))); }),
                   {"ebb::cdist", "[2, 2]", "[2, 3]"}));
  const ebb::tensor<double, 3> v{1, 2, 3}, u{-4, 5, 0.5};
  CHECK(ebb::all_equal(ebb::matmul(ebb::skew_matrix(v), u), ebb::tensor<double, 3>{2 * 0.5 - 3 * 5.0, 3 * -4.0 - 0.5, 5 + 8.0}));
}

}  // namespace
