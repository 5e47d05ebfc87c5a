// test/op/along.cpp — rows and elements by index along any axis, sums at indices: recorded values, derivatives, arrays, map, errors, tape.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using along_matrix = ebb::tensor<double, dyn, dyn>;
using along_places = ebb::tensor<std::int64_t, dyn, dyn>;

const auto along_first = [](auto x, auto i) { return ebb::take_along_axis<0>(x, i); };
const auto along_second = [](auto x, auto i) { return ebb::take_along_axis<-1>(x, i); };
const auto added_first = [](auto x, auto i, auto u) { return ebb::scatter_add<0>(x, i, u); };
const auto added_second = [](auto x, auto i, auto u) { return ebb::scatter_add<1>(x, i, u); };
const auto rows_added = [](auto x, auto i, auto u) { return ebb::index_add<0>(x, i, u); };

TEST_CASE("elements along an axis and sums at indices have PyTorch's recorded values and derivatives") {
  using any = of<real, dyn, dyn>;
  using places = of<std::int64_t, dyn, dyn>;
  const golden::bounds sums{.value = 2, .grad = 1, .spread = true};
  golden::check<of<real, 3, 4>, of<std::int64_t, 2, 4>>("indexing", "gather", along_first, {.grad = 1});
  golden::check<any, places>("indexing", "take_along", along_first, {.grad = 1});
  golden::check<of<real, 3, 4>, of<std::int64_t, 2, 4>, of<real, 2, 4>>("indexing", "scatter_add", added_first, sums);
  golden::check<any, of<std::int64_t, dyn>, any>("indexing", "index_add", rows_added, sums);
  golden::check_wide<any, places>("indexing", "take_along_axis_1", along_second, {.grad = 1});
  golden::check_wide<of<real, 4, 5>, of<std::int64_t, 4, 3>, any>("indexing", "scatter_add_axis_1", added_second, sums);
}

TEST_CASE("derivatives of sums at indices are those of loops") {
  // The indices along the second of three axes: 2 (j + k) mod 3.
  const auto f = [](auto x) {
    const auto i = (2 * (ebb::arange_like<1>(x) + ebb::arange_like<2>(x))) % 3;
    const auto taken = ebb::take_along_axis<1>(ebb::sin(x), i);
    const auto row = ebb::select<1, 0>(ebb::select<0, 0>(i));
    return ebb::scatter_add<1>(ebb::square(x), i, taken * x) * ebb::take<1>(x, row) + ebb::index_add<1>(x, row, x * x * x);
  };
  const auto oracle = [](const std::vector<long double>& x) {
    std::vector<long double> added(x.size()), all(x.size());
    const auto at = [](std::size_t a, std::size_t j, std::size_t k) { return (a * 3 + j) * 2 + k; };
    const auto place = [](std::size_t j, std::size_t k) { return 2 * (j + k) % 3; };
    for (std::size_t e = 0; e < x.size(); ++e) added[e] = x[e] * x[e], all[e] = x[e];
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 2; ++k) {
          const std::size_t e = at(a, j, k), to = at(a, place(j, k), k);
          added[to] += std::sin(x[to]) * x[e];
          all[at(a, place(j, 0), k)] += x[e] * x[e] * x[e];
        }
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 2; ++k) all[at(a, j, k)] += added[at(a, j, k)] * x[at(a, place(j, 0), k)];
    return all;
  };
  const auto x = linalg_test::random_numbers(12, 3);
  linalg_test::against_differences<ebb::term<double, dyn, dyn, dyn>>("dyn", f, x, linalg_test::extents_of({2, 3, 2}), oracle, 1e-10L,
                                                                     1e-8L);
}

TEST_CASE("take along an axis: arrays of indices, scalars, integers, negative ones") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(1);
  const ebb::tensor<std::int32_t, 2, 2> i{{2, 0}, {1, 1}};
  const auto r = ebb::take<1>(x, i);
  static_assert(std::is_same_v<decltype(r), const ebb::tensor<double, 2, 2, 2, 4>>);
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t b = 0; b < 4; ++b) CHECK(r(a, p / 2, p % 2, b) == x(a, static_cast<std::size_t>(i(p / 2, p % 2)), b));
  const auto dropped = ebb::take<-1>(x, ebb::tensor<std::int64_t>(3));
  static_assert(std::is_same_v<decltype(dropped), const ebb::tensor<double, 2, 3>>);
  CHECK(ebb::all_equal(dropped, ebb::select<2, 3>(x)));
  CHECK(ebb::all_equal(ebb::take<2>(x, -1), dropped));
  constexpr auto traced =
      ebb::compile([](auto a, auto k) { return ebb::take<1>(ebb::take<2>(a, -1), k + 1) + ebb::take<1>(ebb::take<2>(a, 3), 2); });
  const auto last = traced(x, ebb::tensor<std::int64_t>(1));
  for (std::size_t a = 0; a < 2; ++a) CHECK(last(a) == 2 * x(a, 2, 3));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::take<1>(x, 3)); }), {"ebb::take: index [3]", "[3]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::take<1>(x, -4)); }), {"ebb::take: index [-4]", "[3]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(traced(x, ebb::tensor<std::int64_t>(2))); }),
                   {"take", "is 3, and there are 3 rows"}));
}

TEST_CASE("sums at indices: map, narrow floats, empty arrays, errors, the tape") {
  const auto x = test::random_array<along_matrix>(1, 3, 4), u = test::random_array<along_matrix>(2, 3, 6);
  const auto i = along_places::generate([](std::size_t k) { return static_cast<std::int64_t>(k * 7 % 4); }, 3, 6);
  auto wanted = x;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 6; ++b) wanted.at(a, i(a, b)) += u(a, b);
  const auto all = ebb::scatter_add<1>(x, i, u);
  for (std::size_t k = 0; k < 12; ++k) CHECK(all.data()[k] == Approx(wanted.data()[k]).margin(1e-15));
  CHECK(ebb::all_equal(ebb::map([](auto a, auto p, auto b) { return ebb::scatter_add<0>(a, p, b); }, x, i, u), all));
  CHECK(ebb::all_equal(ebb::map([](auto a, auto p) { return ebb::take_along_axis<0>(a, p); }, x, i), ebb::take_along_axis<1>(x, i)));
  // 1 + 256 times 2^-8: each sum that is rounded to bfloat16 stays 1.
  ebb::tensor<ebb::bf16, 1> one{ebb::bf16(1.0f)};
  const ebb::tensor<ebb::bf16, dyn> small =
      ebb::cast<ebb::bf16>(ebb::tensor<float, dyn>::generate([](std::size_t) { return 0.00390625f; }, 256));
  const ebb::tensor<std::int64_t, dyn> zeros(256);
  CHECK(static_cast<float>(ebb::scatter_add<0>(one, zeros, small)(0)) == 2);
  CHECK(static_cast<float>(ebb::index_add<0>(one, zeros, small)(0)) == 2);
  CHECK(ebb::all_equal(ebb::scatter_add<1>(x, along_places(3, 0), along_matrix(3, 0)), x));
  CHECK(ebb::take_along_axis<1>(along_matrix(0, 4), along_places(0, 2)).size() == 0);
  // Nothing is written by a call with a bad index.
  auto bad = i;
  bad.at(2, 1) = 4;
  auto out = x;
  CHECK(test::raised([&] { ebb::compile(added_second)(ebb::into(out), x, bad, u); }).find("scatter_add: number 13 of the indices") !=
        std::string::npos);
  CHECK(ebb::all_equal(out, x));
  bad.at(2, 1) = -1;
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::take_along_axis<1>(x, bad)); }),
                   {"ebb::take_along_axis", "is -1, and there are 4"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::index_add<0>(x, ebb::tensor<std::int64_t, dyn>{0, 1, 3}, x)); }),
                   {"ebb::index_add", "is 3, and there are 3"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::take_along_axis<0>(x, i)); }), {"ebb::take_along_axis", "[3, 4]", "[3, 6]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::index_add<1>(x, ebb::tensor<std::int64_t, dyn>{0, 1}, u)); }),
                   {"ebb::index_add", "[3, 6]", "[2]"}));
  // The tape, plain and captured.
  along_matrix gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(ebb::sum(ebb::square(ebb::take_along_axis<1>(ebb::scatter_add<1>(v, i, u), i)) * 0.5), {.compiled_autograd = captured});
    gradient[captured] = v.grad().value();
  }
  CHECK(test::same_bits(gradient[0], gradient[1]));
  along_matrix expected(3, 4);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 6; ++b) expected.at(a, i(a, b)) += all(a, i(a, b));
  for (std::size_t k = 0; k < 12; ++k) CHECK(gradient[0].data()[k] == Approx(expected.data()[k]).margin(1e-14));
}

}  // namespace
