// test/linalg/products.cpp — kron, cross, matrix_power and multi_dot against recorded values and loops in long double.
// SPDX-License-Identifier: BSL-1.0
// covers: products.hpp
#include "oracle.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>

namespace {

using namespace linalg_test;
using golden::of;
using golden::real;

TEST_CASE("Kronecker, cross, power and chain products have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 8, .grad = 16, .second = 64, .spread = true};
  const auto kron = [](auto x, auto y) { return ebb::kron(x, y); };
  const auto cross = [](auto x, auto y) { return ebb::cross<0>(x, y); };
  const auto cube = [](auto x) { return ebb::matrix_power<3>(x); };
  const auto inverse_square = [](auto x) { return ebb::matrix_power<-2>(x); };
  const auto chain = [](auto x, auto y, auto z) { return ebb::multi_dot(x, y, z); };
  check_recorded<wide<2, 2>, wide<2, 3>>("ops2", "kron_batched", kron, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("ops2", "kron_batched", kron, b);
  check_recorded<wide<3, 2>, wide<3, 2>>("ops2", "cross_axis_0", cross, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("ops2", "cross_axis_0", cross, b);
  check_recorded<wide<3, 3>>("ops2", "matrix_power_-2", inverse_square, b);
  check_recorded<wide<dyn, dyn>>("ops2", "matrix_power_-2", inverse_square, b);
  golden::check<of<real, dyn, dyn>>("linear", "matrix_power_3", cube, b);
  golden::check<of<real, dyn, dyn>, of<real, dyn, dyn>, of<real, dyn, dyn>>("linear", "multi_dot", chain, b);
}

TEST_CASE("batches of Kronecker products are those of loops, and powers are repeated products") {
  const auto x = test::random_array<ebb::tensor<double, 2, 2, 3>>(1);
  const auto y = test::random_array<ebb::tensor<double, 4, 2>>(2);
  const auto r = ebb::kron(x, y);
  REQUIRE(r.extent(1) == 8);
  REQUIRE(r.extent(2) == 6);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 6; ++j) CHECK(r(b, i, j) == x(b, i / 4, j / 2) * y(i % 4, j % 2));
  const auto z = test::random_array<ebb::tensor<double, 4, 3>>(8);
  const auto columns = ebb::khatri_rao(x, z);
  REQUIRE(columns.extent(1) == 8);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 3; ++j) CHECK(columns(b, i, j) == x(b, i / 4, j) * z(i % 4, j));
  const auto a = test::random_array<ebb::tensor<double, 2, 3, 3>>(3);
  const auto seventh = ebb::matrix_power<7>(a);
  auto product = a;
  for (int k = 1; k < 7; ++k) product = ebb::matmul(product, a);
  for (std::size_t i = 0; i < 18; ++i) CHECK(seventh.data()[i] == Approx(product.data()[i]).margin(1e-14));
  const auto one = ebb::matrix_power<0>(a);
  for (std::size_t i = 0; i < 18; ++i) CHECK(one.data()[i] == (i % 9 % 4 == 0));
  CHECK(ebb::all_equal(ebb::matrix_power<1>(a), a));
  const ebb::tensor<std::int64_t, 2, 2> fibonacci{{1, 1}, {1, 0}};
  CHECK(ebb::matrix_power<10>(fibonacci)(0, 1) == 55);
  // The cheaper end is multiplied first: the result is that of the other order up to rounding.
  const auto tall = test::random_array<ebb::tensor<double, 9, 2>>(4);
  const auto flat = test::random_array<ebb::tensor<double, 2, 9>>(5);
  const auto thin = test::random_array<ebb::tensor<double, 9, 1>>(6);
  CHECK(ebb::all_equal(ebb::multi_dot(tall, flat, thin), ebb::matmul(tall, ebb::matmul(flat, thin))));
  CHECK(ebb::all_equal(ebb::multi_dot(flat, tall, flat), ebb::matmul(ebb::matmul(flat, tall), flat)));
}

TEST_CASE("the first and second derivatives of Khatri-Rao products are those of a loop in long double, with empty matrices too") {
  // Both factors depend on x, so the gradient has both parts.
  const auto f = [](auto x) { return ebb::khatri_rao(x, ebb::sin(x)); };
  against_differences<wide<dyn, dyn>>("khatri_rao", f, random_numbers(6, 3), extents_of({2, 3}), [](const long_numbers& x) {
    long_numbers r;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 3; ++j) r.push_back(x[i / 2 * 3 + j] * std::sin(x[i % 2 * 3 + j]));
    return r;
  }, 1e-12L, 1e-8L);
  CHECK(ebb::khatri_rao(ebb::tensor<double, dyn, dyn>(2, 0), ebb::tensor<double, dyn, dyn>(3, 0)).extent(0) == 6);
  const ebb::tensor<double, dyn, dyn> wide_one(2, 3), narrow_one(2, 1);
  CHECK(test::says(test::raised([&] { ebb::khatri_rao(wide_one, narrow_one); }), {"khatri_rao", "[2, 3]", "[2, 1]"}));
}

TEST_CASE("cross products: axes, broadcasts, errors, the tape") {
  const auto x = test::random_array<ebb::tensor<double, 4, 3>>(1), y = test::random_array<ebb::tensor<double, 4, 3>>(2);
  const auto r = ebb::cross(x, y);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t a = (k + 1) % 3, b = (k + 2) % 3;
      CHECK(r(i, k) == x(i, a) * y(i, b) - x(i, b) * y(i, a));
    }
  const ebb::tensor<double, 3> up{0.0, 0.0, 1.0};
  CHECK(ebb::cross(x, up)(2, 0) == x(2, 1));
  CHECK(ebb::cross(x, up)(2, 1) == -x(2, 0));
  CHECK(test::says(test::raised([&] { ebb::cross(ebb::tensor<double, dyn>(2), up); }), {"ebb::cross", "[2]"}));
  const ebb::tensor<double, 2, 2> singular{{1.0, 2.0}, {2.0, 4.0}};
  CHECK(test::says(test::raised([&] { ebb::matrix_power<-1>(singular); }), {"matrix_power<-1>", "singular"}));
  CHECK(test::says(test::raised([&] { ebb::matrix_power<2>(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::matrix_power<2>", "[2, 3]"}));
  const auto start = test::random_array<ebb::tensor<double, 3>>(5);
  ebb::tensor<double, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    const auto square = ebb::matrix_power<2>(ebb::outer(v, v));
    ebb::backward(ebb::sum(ebb::square(ebb::cross(v, up))) + ebb::trace(square), {.compiled_autograd = captured});
    gradient[captured] = v.grad().value();
  }
  const double squares = start(0) * start(0) + start(1) * start(1) + start(2) * start(2);
  CHECK(ebb::all_equal(gradient[0], gradient[1]));
  for (std::size_t i = 0; i < 3; ++i) CHECK(gradient[0](i) == Approx((i < 2 ? 2 * start(i) : 0) + 4 * squares * start(i)));
}

TEST_CASE("the triple product is the determinant of its vectors; its gradient and second derivatives are those of a formula in long double") {
  const auto f = [](auto x) { return ebb::triple(ebb::select<0, 0>(x), ebb::select<0, 1>(x), ebb::select<0, 2>(x)); };
  const auto oracle = [](const std::vector<long double>& x) {
    return std::vector<long double>{x[0] * (x[4] * x[8] - x[5] * x[7]) + x[1] * (x[5] * x[6] - x[3] * x[8]) + x[2] * (x[3] * x[7] - x[4] * x[6])};
  };
  against_differences<wide<dyn, dyn>>("triple", f, random_numbers(9, 5), extents_of({3, 3}), oracle, 1e-12L, 1e-8L);
  const ebb::tensor<int, 2, 3> a{{1, 0, 0}, {0, 2, 0}}, b{{0, 1, 0}, {0, 0, 3}};
  CHECK(ebb::all_equal(ebb::triple(a, b, ebb::tensor<int, 3>{4, 0, 5}), ebb::tensor<int, 2>{5, 24}));  // batches, broadcast
  CHECK(ebb::all_equal(ebb::triple<0>(ebb::transpose(a), ebb::transpose(b), ebb::transpose(b)), ebb::tensor<int, 2>{0, 0}));
}

}  // namespace
