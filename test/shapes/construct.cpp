// test/shapes/construct.cpp — triangles and arrays made of numbers: recorded values, derivatives, arrays, extents known at the call, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;

TEST_CASE("triangles and arrays made of numbers have PyTorch's recorded values and derivatives") {
  const golden::bounds exact{.grad = 1};
  golden::check<of<real, 2, 3, 4>>("shaping", "tril", [](auto x) { return ebb::tril(x); }, exact);
  golden::check_wide<of<real, dyn, dyn, dyn>>("shaping", "triu_1", [](auto x) { return ebb::triu<1>(x); }, exact);
  golden::check_wide<of<real, 4, 5>>("shaping", "triu_2", [](auto x) { return ebb::triu<2>(x); }, exact);
  const auto blocks = [](auto x) { return ebb::block_diag(x, ebb::slice<1, 0, 2>(ebb::slice<0, 0, 2>(x))); };
  golden::check_wide<of<real, 4, 5>>("shaping", "block_diag", blocks, exact);
  golden::check_wide<of<real, dyn, dyn>>("shaping", "block_diag", blocks, exact);
  const auto line = [](auto a, auto b) { return ebb::linspace<7>(a, b); };
  golden::check_wide<of<real>, of<real>>("shaping", "linspace_ends", line, {.value = 2, .grad = 4, .grad_floor = 4, .spread = true});
  const auto first = [](auto x) { return std::get<0>(ebb::meshgrid(ebb::select<0, 0>(ebb::select<0, 0>(x)), ebb::select<1, 0>(ebb::select<0, 0>(x)))) * 2; };
  golden::check_wide<of<real, dyn, dyn, dyn>>("shaping", "meshgrid", first, {.grad = 2, .spread = true});
  const auto grid = [](auto a, auto b) { return ebb::meshgrid(ebb::xy_indexing, a, b); };
  golden::check_wide<of<real, 3>, golden::any_vector>("shaping", "meshgrid_xy", grid, {.grad = 2, .spread = true});
}

TEST_CASE("derivatives of arrays made of numbers are those of loops") {
  const auto f = [](auto x) {
    const auto row = ebb::select<1, 0>(x);
    const auto t = ebb::toeplitz(ebb::select<1, 1>(x), row) * ebb::vander<3>(row);
    return ebb::tril<-1>(t * t) + ebb::eye<3>(x) * ebb::arange<3>(row(0), ebb::sin(row(1))) + ebb::triu(ebb::linspace<3>(row(2), 2.0) * t);
  };
  const auto oracle = [](const std::vector<long double>& x) {
    std::vector<long double> r(9);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const long double t = (i >= j ? x[(i - j) * 2 + 1] : x[(j - i) * 2]) * std::pow(x[i * 2], static_cast<long double>(j));
        const long double line = x[4] + static_cast<long double>(j) * (2 - x[4]) / 2;
        r[i * 3 + j] = (i > j ? t * t : line * t) + (i == j ? x[0] + static_cast<long double>(j) * std::sin(x[2]) : 0);
      }
    return r;
  };
  const auto x = linalg_test::random_numbers(6, 11);
  linalg_test::against_differences<ebb::term<double, 3, 2>>("static", f, x, linalg_test::extents_of({3, 2}), oracle, 1e-10L, 1e-8L);
}

TEST_CASE("arrays made of numbers alone, of integers, of calls, and without elements") {
  CHECK(ebb::all_equal(ebb::arange<4>(3), ebb::tensor<std::int64_t, 4>{3, 4, 5, 6}));
  CHECK(ebb::all_equal(ebb::arange<3>(1, 0.5), ebb::tensor<double, 3>{1, 1.5, 2}));
  CHECK(ebb::all_equal(ebb::linspace<5>(-1, 1), ebb::tensor<double, 5>{-1, -0.5, 0, 0.5, 1}));
  const auto tenths = ebb::linspace<11>(0.0, 1.0);
  CHECK((tenths(10) == 1 && tenths(3) == 3 * 0.1 && tenths(7) == 1 - 3 * 0.1));
  CHECK(ebb::linspace<1>(4.0, 9.0)(0) == 4);
  CHECK(ebb::linspace<0>(4.0, 9.0).size() == 0);
  const double decades[] = {0.1, 1, 10, 100};
  const auto logs = ebb::logspace<4>(-1.0, 2.0);
  for (std::size_t i = 0; i < 4; ++i) CHECK(logs(i) == Approx(decades[i]).epsilon(1e-15));
  // Narrow floats are computed in float: bfloat16 has no 257, and 1 + 256 * 1 is rounded once.
  CHECK(static_cast<float>(ebb::arange<300>(ebb::tensor<ebb::bf16>(ebb::bf16(1.0f)))(299)) == 300);
  const ebb::tensor<int, dyn> c{1, 2, 3}, r{9, 8};
  CHECK(ebb::all_equal(ebb::toeplitz(c, r), ebb::tensor<int, dyn, dyn>{{1, 8}, {2, 1}, {3, 2}}));
  CHECK(ebb::all_equal(ebb::toeplitz(r), ebb::tensor<int, dyn, dyn>{{9, 8}, {8, 9}}));
  CHECK(ebb::all_equal(ebb::vander<3>(c), ebb::tensor<int, dyn, 3>{{1, 1, 1}, {1, 2, 4}, {1, 3, 9}}));
  CHECK(ebb::all_equal(ebb::eye<2, 3>(c), ebb::tensor<int, 2, 3>{{1, 0, 0}, {0, 1, 0}}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, 2, 2> hidden{{1, nan}, {2, 3}};
  CHECK(ebb::all_equal(ebb::tril(hidden), ebb::tensor<double, 2, 2>{{1, 0}, {2, 3}}));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::tril(a)); })(hidden), ebb::tensor<double, 2, 2>{{1, 0}, {1, 1}}));
}

}  // namespace
