// test/op/arrange.cpp — parts in tuples, axes in another order, elements turned round or repeated: values, arrays, errors, the tape.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "golden.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using arranged_cube = of<real, 2, 3, 4>;
using arranged_any = of<real, dyn, dyn, dyn>;
using arranged_matrix = of<real, 4, 5>;

TEST_CASE("parts and other orders of elements have PyTorch's recorded values and derivatives") {
  const golden::bounds exact{.grad = 1};
  golden::check<arranged_cube>("shaping", "split", [](auto x) { return std::get<1>(ebb::split<1, 1>(x)); }, exact);
  const auto half = [](auto x) { return std::get<1>(ebb::chunk<2, 2>(x)) * 2; };
  golden::check_wide<arranged_any>("shaping", "chunk_sum", half, exact);
  const auto three = [](auto x) {
    const auto [a, b, c] = ebb::split<-1, 1, 2, 2>(x);
    return ebb::concat<1>(c, b, a);
  };
  golden::check_wide<of<real, dyn, dyn>>("shaping", "split_sizes", three, exact);
  golden::check_wide<arranged_cube>("shaping", "unbind", [](auto x) { return std::get<1>(ebb::unbind<1>(x)); }, exact);
  golden::check_wide<arranged_any>("shaping", "movedim", [](auto x) { return ebb::movedim<0, -1>(x); }, exact);
  golden::check_wide<arranged_any>("shaping", "roll", [](auto x) { return ebb::roll<1>(x, 1); }, exact);
  golden::check_wide<arranged_cube>("shaping", "roll_two", [](auto x) { return ebb::roll<2>(ebb::roll<0>(x, 1), -1); }, exact);
  golden::check_wide<arranged_matrix>(
      "shaping", "roll_back", [](auto x) { return ebb::roll<1>(ebb::roll<0>(x, 13), ebb::extent<1>(x) - 7); }, exact);
  golden::check_wide<arranged_any>("shaping", "repeat_interleave", [](auto x) { return ebb::repeat_interleave<1, 2>(x); }, exact);
  golden::check_wide<arranged_any>("shaping", "repeat", [](auto x) { return ebb::tile<2, 1, 3>(x); }, {.grad = 2, .spread = true});
  golden::check_wide<arranged_cube>("shaping", "rot90", [](auto x) { return ebb::rot90<1>(x); }, exact);
  golden::check_wide<arranged_matrix>("shaping", "rot90_3", [](auto x) { return ebb::rot90<-1>(x); }, exact);
}

TEST_CASE("parts of arrays are tuples, also where they are empty or uneven") {
  const auto x = test::random_array<ebb::tensor<double, 7, 2>>(1);
  const auto [a, b, c] = ebb::split<0, 3>(x);
  static_assert(std::is_same_v<decltype(c), const ebb::tensor<double, 1, 2>>);
  CHECK(ebb::all_equal(ebb::concat<0>(a, b, c), x));
  const auto thirds = ebb::chunk<0, 5>(x);  // parts of two rows: four of them, as in PyTorch
  static_assert(std::tuple_size_v<decltype(thirds)> == 4);
  CHECK(ebb::all_equal(std::get<3>(thirds), c));
  const auto [left, right] = ebb::unbind<1>(x);
  for (std::size_t i = 0; i < 7; ++i) CHECK((left(i) == x(i, 0) && right(i) == x(i, 1)));
  const auto [none] = ebb::split<0, 2>(ebb::tensor<float, 0, 3>{});
  CHECK(none.size() == 0);
  const auto m = test::random_array<ebb::tensor<double, dyn, dyn>>(2, 6, 2);
  const auto [first, second] = ebb::chunk<0, 2>(m);
  for (std::size_t i = 0; i < 3; ++i) CHECK((first(i, 1) == m(i, 1) && second(i, 1) == m(i + 3, 1)));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::chunk<0, 4>(m)); }), {"ebb::chunk", "[6, 2]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::split<0, 4, 1>(m)); }), {"ebb::split", "[6, 2]"}));
}

TEST_CASE("rolls by numbers of a call, swapped and dropped axes, map, the tape") {
  const auto x = test::random_array<ebb::tensor<double, dyn, 3>>(1, 4);
  for (const int k : {0, 1, -1, 4, 9, -11}) {
    const auto r = ebb::roll<0>(x, k);
    for (int i = 0; i < 4; ++i) CHECK(r(((i + k) % 4 + 4) % 4, 2) == x(i, 2));
  }
  const auto each = ebb::map([](auto row, auto k) { return ebb::roll<0>(row, k); }, x, ebb::tensor<int, dyn>{0, 1, 2, -1});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) CHECK(each(i, (j + (i < 3 ? i : 2)) % 3) == x(i, j));
  CHECK(ebb::roll<0>(ebb::tensor<double, dyn>(0), 3).size() == 0);
  const auto swapped = ebb::swap_axes<0, -1>(ebb::unsqueeze<1>(x));
  static_assert(std::is_same_v<decltype(swapped), const ebb::tensor<double, 3, 1, dyn>>);
  CHECK(ebb::all_equal(ebb::squeeze(swapped), ebb::permute<1, 0>(x)));
  CHECK(ebb::all_equal(ebb::expand<2, dyn, 3>(x)(1), x));
  CHECK(ebb::tile<2, 1>(ebb::tensor<int, 2>{1, 2}).extent(0) == 2);
  CHECK(ebb::all_equal(ebb::rot90<2>(x), ebb::flip<0, 1>(x)));
  CHECK(ebb::repeat_interleave<0, 0>(x).size() == 0);
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    const auto [a, b, c] = ebb::unbind<1>(ebb::roll<0>(v, 1));
    ebb::backward(ebb::sum(a * b + c), {.compiled_autograd = captured});
    const auto g = v.grad().value();
    for (std::size_t i = 0; i < 4; ++i) CHECK((g(i, 0) == x(i, 1) && g(i, 1) == x(i, 0) && g(i, 2) == 1));
  }
}

TEST_CASE("a roll of elements computes no index for each of them, a roll of long rows one for each row") {
  constexpr auto turned = [](auto x, auto k) { return ebb::roll<0>(x, k); };
  const auto count = [](const ebb::graph& g, std::string_view name, int rank) {
    int r = 0;
    for (int k = 0; k < g.size(); ++k) r += g.op(k).name == name && g.shape_of(k).rank == rank;
    return r;
  };
  using steps = ebb::term<std::int64_t>;
  const ebb::graph elements = ebb::trace_of<decltype(turned), ebb::tensor<double, dyn>, steps>::make();
  const ebb::graph short_rows = ebb::trace_of<decltype(turned), ebb::tensor<double, dyn, 4, 4>, steps>::make();
  const ebb::graph long_rows = ebb::trace_of<decltype(turned), ebb::tensor<double, dyn, dyn>, steps>::make();
  for (const ebb::graph* g : {&elements, &short_rows, &long_rows}) CHECK(count(*g, "remainder", 0) == 1);
  CHECK((count(elements, "box", 1) == 1 && count(elements, "gather", 1) == 0));
  CHECK((count(short_rows, "box", 3) == 1 && count(short_rows, "gather", 3) == 0));
  CHECK((count(long_rows, "gather", 2) == 1 && count(long_rows, "remainder", 1) == 0));
}

TEST_CASE("rolls of dyn extents are those of plain loops, with their gradients") {
  constexpr auto f = [](auto x, auto k) { return ebb::roll<0>(x, k) * x + ebb::roll<0>(x, -3); };
  constexpr auto slope = ebb::grad([](auto x, auto k) { return ebb::sum(ebb::roll<0>(x * x, k) * x); });
  for (const int n : {1, 2, 3, 17, 100})
    for (const int k : {0, 1, -1, 16, -250}) {
      CAPTURE(n, k);
      const auto at = [n](int i) { return static_cast<std::size_t>((i % n + n) % n); };
      const ebb::tensor<std::int64_t> steps(k);
      const auto check = [&](const auto& x, std::size_t columns) {
        const auto y = ebb::compile(f)(x, steps);
        const auto d = slope(x, steps);
        int differing = 0;
        for (int i = 0; i < n; ++i)
          for (std::size_t j = 0; j < columns; ++j) {
            const auto v = [&](int row) { return x.data()[at(row) * columns + j]; };
            differing += y.data()[at(i) * columns + j] != v(i - k) * v(i) + v(i + 3);
            differing += d.data()[at(i) * columns + j] != Approx(v(i - k) * v(i - k) + 2 * v(i) * v(i + k)).margin(1e-14);
          }
        CHECK(differing == 0);
      };
      const auto rows = static_cast<std::size_t>(n);
      check(test::random_array<ebb::tensor<double, dyn>>(2, rows), 1);
      check(test::random_array<ebb::tensor<double, dyn, 3>>(3, rows), 3);
      check(test::random_array<ebb::tensor<double, dyn, dyn>>(4, rows, 20), 20);
    }
}

/// Rows of 3 columns, rolled by Steps, with the gradient, for few rows and many.
template <int Steps>
void rolls_of_dyn_axes() {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 40u}) {
    const auto x = test::random_array<ebb::tensor<double, dyn, 3>>(n + 1, n);
    const auto place = [&](std::size_t i, int by) {
      const int length = static_cast<int>(n);
      return static_cast<std::size_t>(((static_cast<int>(i) - by) % length + length) % length);
    };
    const auto r = ebb::compile([](auto a) { return ebb::roll<0>(a, Steps) * a; })(x);
    const auto g = ebb::grad([](auto a) { return ebb::sum(ebb::roll<0>(a, Steps) * a); })(x);
    const auto by_value = ebb::roll<0>(x, Steps);  // by an argument
    REQUIRE((r.extent(0) == n && g.extent(0) == n && by_value.extent(0) == n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        REQUIRE(r(i, j) == x(place(i, Steps), j) * x(i, j));
        REQUIRE(by_value(i, j) == x(place(i, Steps), j));
        REQUIRE(g(i, j) == x(place(i, Steps), j) + x(place(i, -Steps), j));
      }
  }
}

TEST_CASE("steps that a program knows make two slices, also where there are fewer rows than steps") {
  rolls_of_dyn_axes<1>();
  rolls_of_dyn_axes<-1>();
  rolls_of_dyn_axes<3>();
  rolls_of_dyn_axes<-7>();
  rolls_of_dyn_axes<0>();
  const auto f = [](auto x) { return ebb::roll<0>(x, 2) + x; };
  const ebb::graph g = ebb::trace_of<std::remove_const_t<decltype(f)>, ebb::term<double, dyn>>::make();
  int gathers = 0, slices = 0;
  for (int k = 0; k < g.size(); ++k) {
    gathers += g.op(k).what == ebb::kind::rows;
    slices += g.op(k).family == ebb::family_of<ebb::op::slice>;
  }
  CHECK((gathers == 0 && slices == 2));
}

TEST_CASE("several axes are rolled and padded in one call, and negative widths take elements away") {
  const ebb::tensor<double, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(ebb::all_equal(ebb::roll<0, 1>(x, 1, -1), ebb::tensor<double, 2, 3>{{5, 6, 4}, {2, 3, 1}}));
  CHECK(ebb::all_equal(ebb::pad<0, 1, 0, 1, -1, 1>(x), ebb::tensor<double, 3, 3>{{0, 0, 0}, {2, 3, 0}, {5, 6, 0}}));
  CHECK(ebb::all_equal(ebb::pad<0, -1, 1, 1, -1, -1>(x, 0.5), ebb::tensor<double, 2, 1>{{5}, {0.5}}));
  CHECK(ebb::all_equal(ebb::pad<1, 1, -3>(x, 7), ebb::tensor<double, 2, 1>{{7}, {7}}));
  const ebb::tensor<double, dyn, dyn> y(x);
  CHECK(ebb::all_equal(ebb::pad<0, -1, 1, 1, -1, -1>(y, 0.5), ebb::tensor<double, dyn, dyn>{{5}, {0.5}}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::pad<1, -2, -2>(y)); }), {"pad", "[2, 3]"}));
  const auto slope = ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::pad<1, -1, 2, 0, 1, -1>(ebb::roll<1, 0>(a, 1, 1)))); })(x);
  CHECK(ebb::all_equal(slope, ebb::tensor<double, 2, 3>{{0, 0, 0}, {8, 10, 0}}));
}

/// The squares of f(x^3) for x [2, 3], against those of the elements that `places` names, with first and second derivatives.
template <class F>
void moves_with_derivatives(const char* name, F, const std::vector<std::size_t>& places) {
  const auto squares = [](auto x) { return ebb::square(F{}(x * x * x)); };
  const auto oracle = [&](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers r;
    for (const std::size_t i : places) r.push_back(std::pow(x[i], 6.0L));
    return r;
  };
  const auto x = linalg_test::random_numbers(6, 11);
  const auto extents = linalg_test::extents_of({2, 3});
  linalg_test::against_differences<ebb::term<double, 2, 3>>(name, squares, x, extents, oracle, 1e-10L, 1e-6L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>(name, squares, x, extents, oracle, 1e-10L, 1e-6L);
}

TEST_CASE("second derivatives go through moves of elements to the places that they came from") {
  moves_with_derivatives("movedim", [](auto x) { return ebb::movedim<0, -1>(x); }, {0, 3, 1, 4, 2, 5});
  moves_with_derivatives("permute", [](auto x) { return ebb::permute<1, 0>(x); }, {0, 3, 1, 4, 2, 5});
  moves_with_derivatives("swap_axes", [](auto x) { return ebb::swap_axes<-1, 0>(x); }, {0, 3, 1, 4, 2, 5});
  moves_with_derivatives("expand", [](auto x) { return ebb::expand<2, dyn, dyn>(x); }, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  moves_with_derivatives("roll", [](auto x) { return ebb::roll<1>(x, -1); }, {1, 2, 0, 4, 5, 3});
  moves_with_derivatives("roll by a scalar", [](auto x) { return ebb::roll<1>(x, ebb::iota<0>(x)[1] + 4); }, {1, 2, 0, 4, 5, 3});
  moves_with_derivatives("rot90", [](auto x) { return ebb::rot90<1>(x); }, {2, 5, 1, 4, 0, 3});
  moves_with_derivatives("rot90 back", [](auto x) { return ebb::rot90<-1>(x); }, {3, 0, 4, 1, 5, 2});
  moves_with_derivatives("tile", [](auto x) { return ebb::tile<2, 1>(x); }, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  moves_with_derivatives("tile columns", [](auto x) { return ebb::tile<1, 2>(x); }, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
}

}  // namespace
