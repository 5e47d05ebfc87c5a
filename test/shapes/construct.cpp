// test/shapes/construct.cpp — triangles and arrays made of numbers: values, derivatives, arrays, extents known at the call, errors.
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
  const auto first = [](auto x) {
    return std::get<0>(ebb::meshgrid(ebb::select<0, 0>(ebb::select<0, 0>(x)), ebb::select<1, 0>(ebb::select<0, 0>(x)))) * 2;
  };
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

TEST_CASE("first and second derivatives of geomspace, hankel and circulant are those of loops in long double") {
  const auto f = [](auto x) {
    const auto row = ebb::select<1, 0>(x), column = ebb::select<1, 1>(x);
    const auto first = ebb::geomspace<3>(row(0), row(1)), second = ebb::geomspace<3>(-row(2), -3.0);
    const auto both = first * ebb::hankel(column, row) + second * ebb::circulant(column);
    return both * ebb::hankel(row) + both;
  };
  const auto oracle = [](const std::vector<long double>& x) {
    const auto row = [&](std::size_t i) { return x[2 * i]; };
    const auto column = [&](std::size_t i) { return x[2 * i + 1]; };
    std::vector<long double> r(9);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const long double part = static_cast<long double>(j) / 2, first = row(0) * std::pow(row(1) / row(0), part);
        const long double second = -row(2) * std::pow(3 / row(2), part), of_column = i + j < 3 ? column(i + j) : row(i + j - 2);
        const long double both = first * of_column + second * column((i + 3 - j) % 3);
        r[i * 3 + j] = both * (i + j < 3 ? row(i + j) : 0) + both;
      }
    return r;
  };
  // The gradient of the weighted sum, and the one of its sum.
  auto x = linalg_test::random_numbers(6, 12);
  for (double& e : x) e += 2;
  linalg_test::against_differences<ebb::term<double, dyn, 2>>("dyn", f, x, linalg_test::extents_of({3, 2}), oracle, 1e-10L, 1e-7L);
}

TEST_CASE("geomspace has exact ends and no infinity between them; hankel and circulant of integers, of calls, and without elements") {
  const auto far = ebb::geomspace<5>(1e-300, 1e300);
  const double decades[] = {1e-300, 1e-150, 1, 1e150, 1e300};
  for (std::size_t i = 0; i < 5; ++i) CHECK(far(i) == Approx(decades[i]).epsilon(1e-13));
  CHECK((far(0) == 1e-300 && far(4) == 1e300));
  const auto back = ebb::geomspace<4>(ebb::tensor<float>(-8.0f), -1);
  CHECK((back(0) == -8 && back(1) == Approx(-4) && back(2) == Approx(-2) && back(3) == -1));
  CHECK(std::isnan(ebb::geomspace<3>(-1, 1)(1)));
  CHECK((ebb::geomspace<1>(4.0, 9.0)(0) == 4 && ebb::geomspace<0>(4.0, 9.0).size() == 0));
  const ebb::tensor<int, dyn> c{1, 2, 3}, r{9, 8};
  CHECK(ebb::all_equal(ebb::hankel(c, r), ebb::tensor<int, dyn, dyn>{{1, 2}, {2, 3}, {3, 8}}));
  CHECK(ebb::all_equal(ebb::hankel(c), ebb::tensor<int, dyn, dyn>{{1, 2, 3}, {2, 3, 0}, {3, 0, 0}}));
  CHECK(ebb::all_equal(ebb::circulant(c), ebb::tensor<int, dyn, dyn>{{1, 3, 2}, {2, 1, 3}, {3, 2, 1}}));
  CHECK((ebb::hankel(ebb::tensor<int, dyn>(0)).size() == 0 && ebb::circulant(ebb::tensor<int, dyn>(0)).size() == 0));
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

TEST_CASE("logspace has the first and second derivatives of powers of ten by both ends") {
  const auto oracle = [](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers r;
    for (int i = 0; i < 4; ++i) r.push_back(std::pow(10.0L, x[0] + static_cast<long double>(i) * (x[1] - x[0]) / 3));
    return r;
  };
  linalg_test::against_differences<ebb::term<double, 2>>("logspace", [](auto x) { return ebb::logspace<4>(x[0], x[1]); }, {-0.75, 0.5},
                                                         linalg_test::extents_of({2}), oracle, 1e-9L, 1e-6L);
}

TEST_CASE("blocks of static and of dyn extents lie along the diagonal") {
  const auto join = ebb::compile([](auto x, auto y, auto z) { return ebb::block_diag(x, y, z); });
  const ebb::tensor<double, 1, 2> x{1, 2};
  const ebb::tensor<double, 1, 1> z{6};
  using any = ebb::tensor<double, ebb::dyn, ebb::dyn>;
  const any y = any::ones(2, 1), none = any::ones(1, 0);
  const auto elements = [](const auto& r) { return std::vector<double>(r.data(), r.data() + r.size()); };
  CHECK(elements(join(x, y, z)) == std::vector<double>{1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 6});
  CHECK(elements(join(x, z, y)) == std::vector<double>{1, 2, 0, 0, 0, 0, 6, 0, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(elements(join(x, none, z)) == std::vector<double>{1, 2, 0, 0, 0, 0, 0, 0, 6});
}

}  // namespace
