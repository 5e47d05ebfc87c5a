// test/op/replace.cpp — parts of arrays replaced by others, and boxes that begin at terms.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>

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
                   {"ebb::dynamic_slice", "of the indices of shape [2] is 4, and there are 4 rows"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::dynamic_slice<2, 3>(x, ebb::tensor<int>(-1), at)); }), {"is -1"}));
  auto out = x;
  CHECK(test::says(test::raised([&] { put(ebb::into(out), x, box, ebb::tensor<std::int32_t>(3)); }), {"dynamic_update_slice", "is 4"}));
  CHECK(ebb::all_equal(out, x));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::placed<1, 4, 6>(x, ebb::tensor<double>(2.0))); }), {"ebb::placed<1, 4, 6>", "[4, 5]"}));
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

}  // namespace
