// test/op/replace.cpp — parts of arrays replaced by others, and boxes that begin at terms.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <limits>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;

TEST_CASE("masked_fill and placed have PyTorch's recorded values and derivatives") {
  const auto filled = [](auto x) { return ebb::masked_fill(x, x > 0, 2.0); };
  golden::check<of<real, 2, 3, 4>>("indexing", "masked_fill", filled, {.grad = 0});
  const auto columns = [](auto x, auto u) { return ebb::placed<1, 1, 4>(x, u); };
  golden::check_wide<of<real, 4, 5>, of<real, 4, 3>>("indexing", "slice_set", columns, {.grad = 0});
  golden::check_wide<of<real, dyn, dyn>, of<real, dyn, dyn>>("indexing", "slice_set", columns, {.grad = 0});
  const auto row = [](auto x, auto u) { return ebb::placed<0, 1, 2>(x, u); };
  golden::check_wide<of<real, dyn, dyn>, of<real, dyn>>("indexing", "select_set", row, {.grad = 0});
}

TEST_CASE("derivatives of boxes that begin at terms are those of loops") {
  // A box of 2 x 2 at (1, 2), moved to (0, 1), and every other column.
  const auto f = [](auto x) {
    const auto one = ebb::extent<0>(x) - 2;
    const auto box = ebb::dynamic_slice<2, 2>(ebb::sin(x), one, ebb::cast<int>(one) + 1);
    const auto moved = ebb::dynamic_update_slice(x * x, box * ebb::dynamic_slice<2, 2>(x, 0, one), one - one, 1);
    return ebb::placed<-1, 0, -1, 2>(moved, ebb::slice<1, 2>(x * moved)) + ebb::masked_fill(x * x, x > 0, box(0, 0));
  };
  const auto oracle = [](const std::vector<long double>& x) {
    const auto at = [](std::size_t i, std::size_t j) { return i * 4 + j; };
    std::vector<long double> moved(12), all(12);
    for (std::size_t e = 0; e < 12; ++e) moved[e] = x[e] * x[e];
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) moved[at(i, j + 1)] = std::sin(x[at(i + 1, j + 2)]) * x[at(i, j + 1)];
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        const std::size_t from = at(i, j / 2 + 2);
        all[at(i, j)] = (j == 0 || j == 2 ? x[from] * moved[from] : moved[at(i, j)]);
        all[at(i, j)] += x[at(i, j)] > 0 ? std::sin(x[at(1, 2)]) : x[at(i, j)] * x[at(i, j)];
      }
    return all;
  };
  auto x = linalg_test::random_numbers(12, 5);
  for (double& e : x) e += e > 0 ? 0.1 : -0.1;
  linalg_test::against_differences<ebb::term<double, 3, 4>>("static", f, x, linalg_test::extents_of({3, 4}), oracle, 1e-10L, 1e-8L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", f, x, linalg_test::extents_of({3, 4}), oracle, 1e-10L, 1e-8L);
}

TEST_CASE("boxes on arrays: map, dtypes, errors before anything is written") {
  using matrix = ebb::tensor<double, dyn, dyn>;
  const auto x = test::random_array<matrix>(1, 4, 5);
  const ebb::tensor<std::int32_t> at(2);
  const auto box = ebb::dynamic_slice<2, 3>(x, at, ebb::tensor<std::int64_t>(1));
  static_assert(std::is_same_v<decltype(box), const ebb::tensor<double, 2, 3>>);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(box(i, j) == x(i + 2, j + 1));
  constexpr auto put = ebb::compile([](auto a, auto u, auto i) { return ebb::dynamic_update_slice(a, u, i, 2); });
  const auto moved = put(x, box, at);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) CHECK(moved(i, j) == (i >= 2 && j >= 2 ? box(i - 2, j - 2) : x(i, j)));
  // Each row of a map has a start of its own.
  const ebb::tensor<int, dyn> starts{0, 3, 1, 2};
  const auto each = ebb::map([](auto row, auto i) { return ebb::dynamic_slice<2>(row, i); }, x, starts);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 2; ++j) CHECK(each(i, j) == x(i, static_cast<std::size_t>(starts(i)) + j));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::dynamic_slice<2, 3>(x, ebb::tensor<int>(3), at)); }),
                   {"ebb::dynamic_slice: the index is 3, and there are 3 places where the box fits"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::dynamic_slice<2, 3>(x, ebb::tensor<int>(-1), at)); }), {"is -1"}));
  auto out = x;
  CHECK(test::says(test::raised([&] { put(ebb::into(out), x, box, ebb::tensor<std::int32_t>(3)); }),
                   {"dynamic_update_slice: the index is 3, and there are 3 places"}));
  CHECK(ebb::all_equal(out, x));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::placed<1, 4, 6>(x, ebb::tensor<double>(2.0))); }),
                   {"ebb::placed<1, 4, 6>", "[4, 5]"}));
  CHECK(ebb::all_equal(ebb::masked_fill(starts, starts > 1, 7.9), ebb::tensor<int, dyn>{0, 7, 1, 7}));
  CHECK(ebb::placed<0, 0, 0>(matrix(0, 3), matrix(0, 3)).size() == 0);
  // The tape.
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::variable w(test::random_array<ebb::tensor<double, 4, 3>>(2));
    ebb::backward(ebb::sum(ebb::square(ebb::placed<1, 1, 4>(ebb::masked_fill(v, v > 0, 0.0), w))), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(w.grad().value(), 2 * w.value()));
    const auto g = v.grad().value();
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 5; ++j) CHECK(g(i, j) == ((j == 0 || j == 4) && x(i, j) < 0 ? 2 * x(i, j) : 0));
  }
}

TEST_CASE(
    "clamped starts move a box to where it fits, as XLA does; first and second derivatives, and an error for boxes that are too large") {
  const auto x = test::random_array<ebb::tensor<double, 3, 4>>(1);
  const ebb::tensor<double, dyn, dyn> free(x);
  const auto u = ebb::tensor<double, 2, 2>{{1, 2}, {3, 4}};
  for (const int i : {-7, -1, 0, 1, 2, 9})
    for (const int j : {-2, 1, 3}) {
      INFO(i << ", " << j);
      const auto a = static_cast<std::size_t>(std::clamp(i, 0, 1)), b = static_cast<std::size_t>(std::clamp(j, 0, 2));
      const ebb::tensor<int> row(i);
      const ebb::tensor<std::int64_t> column(j);
      const auto box = ebb::dynamic_slice<2, 2>(x, ebb::clamped, row, column);
      const auto put = ebb::dynamic_update_slice(x, u, ebb::clamped, row, column);
      for (std::size_t k = 0; k < 4; ++k) CHECK(box(k / 2, k % 2) == x(a + k / 2, b + k % 2));
      for (std::size_t k = 0; k < 12; ++k) {
        const std::size_t r = k / 4 - a, c = k % 4 - b;  // wraps where the place is before the box
        CHECK(put(k / 4, k % 4) == (r < 2 && c < 2 ? u(r, c) : x(k / 4, k % 4)));
      }
      CHECK(ebb::all_equal(ebb::dynamic_slice<2, 2>(free, ebb::clamped, row, column), box));
      CHECK(ebb::all_equal(ebb::dynamic_update_slice(free, ebb::tensor<double, dyn, dyn>(u), ebb::clamped, row, column), put));
    }
  const auto f = [](auto v) {
    const auto far = ebb::extent<0>(v) + 5;
    const auto box = ebb::dynamic_slice<2, 2>(ebb::sin(v), ebb::clamped, far, 0 - far);
    return ebb::dynamic_update_slice(v * v, box * box, ebb::clamped, 0 - far, far);
  };
  const auto oracle = [](const std::vector<long double>& v) {
    std::vector<long double> r;
    for (std::size_t k = 0; k < 12; ++k) {
      const std::size_t i = k / 4, j = k % 4;
      const long double s = i < 2 && j > 1 ? std::sin(v[(i + 1) * 4 + j - 2]) : v[k];
      r.push_back(s * s);
    }
    return r;
  };
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", f, linalg_test::random_numbers(12, 5),
                                                                linalg_test::extents_of({3, 4}), oracle, 1e-10L, 1e-8L);
  linalg_test::against_differences<ebb::term<double, 3, 4>>("static", f, linalg_test::random_numbers(12, 6),
                                                            linalg_test::extents_of({3, 4}), oracle, 1e-10L, 1e-8L);
  CHECK(ebb::dynamic_slice<2, 2>(x, ebb::clamped, 2, -1)(1, 0) == x(2, 0));  // integers
  const ebb::tensor<int> zero(0);
  const auto large = test::raised([&] { static_cast<void>(ebb::dynamic_slice<4, 2>(free, ebb::clamped, zero, zero)); });
  CHECK(test::says(large, {"ebb::dynamic_slice", "is -1"}));
  const ebb::tensor<double, dyn, dyn> wide(3, 5);
  const auto wider = test::raised([&] { static_cast<void>(ebb::dynamic_update_slice(free, wide, ebb::clamped, zero, zero)); });
  CHECK(test::says(wider, {"ebb::dynamic_update_slice", "is -1"}));
}

TEST_CASE("a box whose start tracing knows is a slice: it needs no numbers; other axes of the box still have theirs") {
  using matrix = ebb::tensor<double, 4, 5>;
  const auto boxes = [](auto f) {
    const ebb::graph g = ebb::lower(ebb::trace_of<decltype(f), ebb::term<double, 4, 5>, ebb::term<double, 2, 3>, ebb::term<int>>::make());
    int n = 0;
    for (int k = 0; k < g.size(); ++k) n += ebb::is_box(g.op(k)) ? g.eq[k].count : 0;
    return n;
  };
  const auto known = [](auto x, auto u, auto) {
    return std::tuple(ebb::dynamic_slice<2, 3>(x, 2, 1), ebb::dynamic_update_slice(x, u, 2, 2));
  };
  const auto clamped = [](auto x, auto u, auto) {
    return std::tuple(ebb::dynamic_slice<2, 3>(x, ebb::clamped, 9, -1), ebb::dynamic_update_slice(x, u, ebb::clamped, -3, 9));
  };
  const auto rows = [](auto x, auto u, auto i) {
    const auto wide = ebb::concat<1>(u, ebb::slice<1, 0, 2>(u));
    return std::tuple(ebb::dynamic_slice<2, 5>(x, i, 0), ebb::dynamic_update_slice(x, wide, ebb::clamped, i, i));
  };
  CHECK(boxes(known) == 0);
  CHECK(boxes(clamped) == 0);
  CHECK(boxes(rows) == 5);  // x and the first row of the slice; x, the box and the first row of the update
  const auto x = test::random_array<matrix>(1);
  const auto u = test::random_array<ebb::tensor<double, 2, 3>>(2);
  const ebb::tensor<int> one(1);
  const auto check = [&](auto f, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    const auto [box, put] = ebb::compile(f)(x, u, one);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j) CHECK(box(i, j) == x(a + i, b + j));
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 5; ++j) CHECK(put(i, j) == (i - c < 2 && j - d < 3 ? u(i - c, j - d) : x(i, j)));
  };
  check(known, 2, 1, 2, 2);
  check(clamped, 2, 0, 0, 2);
  const auto [box, put] = ebb::compile(rows)(x, u, one);
  for (std::size_t j = 0; j < 5; ++j) CHECK((box(0, j) == x(1, j) && box(1, j) == x(2, j)));
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) CHECK(put(i, j) == (i == 1 || i == 2 ? u(i - 1, j % 3) : x(i, j)));
  // A start that does not fit is an error of the call, as one that the call gives.
  const auto bad = [](auto y) { return ebb::dynamic_slice<2, 3>(y, 3, 0); };
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::compile(bad)(x)); }), {"ebb::", "is 3, and there are 3 places"}));
}

/// Long rows are copied, others are chosen element by element.
TEMPLATE_TEST_CASE("placed and add_at on long rows: bits, derivatives, map, errors", "", double, float, ebb::bf16) {
  using T = TestType;
  const auto wide = [](T e) { return static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(e)); };
  ebb::tensor<T, 4, 70> x{};
  ebb::tensor<T, 4, 30> u{};
  ebb::tensor<T, 2, 70> v{};
  for (std::size_t k = 0; k < x.size(); ++k) x.mutable_data()[k] = static_cast<T>(static_cast<float>(k % 23) - 11);
  for (std::size_t k = 0; k < u.size(); ++k) u.mutable_data()[k] = static_cast<T>(static_cast<float>(k % 7) - 3);
  for (std::size_t k = 0; k < v.size(); ++k) v.mutable_data()[k] = static_cast<T>(static_cast<float>(k % 5) - 2);
  x.at(0, 0) = u.at(0, 0) = static_cast<T>(-0.0f);
  x.at(3, 69) = v.at(1, 0) = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  const auto columns = [](auto a, auto b) { return ebb::placed<1, 8, 38>(a, b); };
  const auto rows = [](auto a, auto b) { return ebb::placed<0, 2>(a, b); };
  const auto added = [](auto a, auto b) { return ebb::add_at<-1, 40>(a, b); };
  auto of_columns = x, of_rows = x, of_added = x;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 30; ++j) {
      of_columns.at(i, 8 + j) = u(i, j);
      of_added.at(i, 40 + j) = static_cast<T>(static_cast<float>(wide(x(i, 40 + j)) + wide(u(i, j))));
    }
  for (std::size_t k = 0; k < v.size(); ++k) of_rows.at(2 + k / 70, k % 70) = v(k / 70, k % 70);
  using any = ebb::tensor<T, dyn, dyn>;
  const auto bits = [](const auto& a, const auto& b) { CHECK(ebb::same_bits(any(a), any(b))); };
  bits(columns(x, u), of_columns);
  bits(columns(any(x), any(u)), of_columns);
  bits(rows(x, v), of_rows);
  bits(rows(any(x), any(v)), of_rows);
  bits(added(x, u), of_added);
  bits(added(any(x), any(u)), of_added);
  constexpr auto of_row = [](auto a, auto b) { return ebb::placed<0, 8, 38>(a, b); };
  const auto each = ebb::map(of_row, ebb::tensor<T, dyn, 70>(x), ebb::tensor<T, dyn, 30>(u));
  CHECK(ebb::all_equal(ebb::slice<0, 0, 3>(each), ebb::slice<0, 0, 3>(ebb::tensor<T, dyn, 70>(of_columns))));
  // u gets the slope there, x that of the others.
  const auto total = [](auto a, auto b) { return ebb::sum(3 * ebb::placed<1, 8, 38>(a, b) + ebb::add_at<1, 40>(a, b)); };
  const auto [dx, du] = ebb::grad<0, 1>(total)(x, u);
  for (std::size_t k = 0; k < 280; ++k) CHECK(wide(dx(k / 70, k % 70)) == (k % 70 >= 8 && k % 70 < 38 ? 1 : 4));
  for (std::size_t k = 0; k < 120; ++k) CHECK(wide(du(k / 30, k % 30)) == 4);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::placed<1, 60, 90>(any(x), any(u))); }), {"ebb::placed<1, 60, 90>"}));
  bits(ebb::placed<1, 70>(any(x), any(4, 0)), x);
}

TEST_CASE("add_at adds to a slice and keeps the bits of all else; first and second derivatives, errors") {
  ebb::tensor<double, 5> x{-0.0, 1, std::numeric_limits<double>::quiet_NaN(), -2, -0.0};
  const auto y = ebb::add_at<0, 1, 4, 2>(x, ebb::tensor<double, 2>{0.5, 3});
  CHECK(ebb::same_bits(y, ebb::tensor<double, 5>{-0.0, 1.5, std::numeric_limits<double>::quiet_NaN(), 1, -0.0}));
  const ebb::tensor<int, dyn, dyn> whole(ebb::tensor<int, 2, 3>{{1, 2, 3}, {4, 5, 6}});
  CHECK(ebb::all_equal(ebb::add_at<-1, 1>(whole, 10), ebb::tensor<int, 2, 3>{{1, 12, 13}, {4, 15, 16}}));
  CHECK(ebb::all_equal(ebb::add_at<1, -3, -1>(whole, ebb::tensor<int, 2>{7, -7}), ebb::tensor<int, 2, 3>{{8, -5, 3}, {11, -2, 6}}));
  CHECK(ebb::all_equal(ebb::add_at<0, 0, 0>(whole, 1), whole));
  const auto f = [](auto v) { return ebb::add_at<0, 2, 5>(v * v, ebb::slice<0, 0, 3>(v) * ebb::slice<0, 1, 4>(v)); };
  const auto oracle = [](const std::vector<long double>& v) {
    std::vector<long double> r;
    for (std::size_t i = 0; i < 6; ++i) r.push_back(v[i] * v[i] + (i >= 2 && i < 5 ? v[i - 2] * v[i - 1] : 0));
    return r;
  };
  linalg_test::against_differences<ebb::term<double, 6>>("static", f, linalg_test::random_numbers(6, 5), linalg_test::extents_of({6}),
                                                         oracle, 1e-10L, 1e-8L);
  linalg_test::against_differences<ebb::term<double, dyn>>("dyn", f, linalg_test::random_numbers(6, 6), linalg_test::extents_of({6}),
                                                           oracle, 1e-10L, 1e-8L);
  // The adjoint of a slice: zeros with the slice's gradient in it.
  const ebb::tensor<double, 5> zeros{};
  const ebb::tensor<double, 2> weights{7, 8};
  const auto g = ebb::grad([](auto v, auto w) { return ebb::sum(ebb::slice<0, 1, 4, 2>(v) * w); })(zeros, weights);
  CHECK(ebb::all_equal(g, ebb::add_at<0, 1, 4, 2>(zeros, weights)));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::add_at<1, 4>(whole, 1)); }), {"ebb::add_at<1, 4>", "[2, 3]"}));
}

}  // namespace
