// test/nn/embedding.cpp — bags of rows of a table. Rows alone are tested in test/nn/cell.cpp.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using ebb::dyn, ebb::bag;
using linalg_test::check_recorded, linalg_test::wide;
using list = ebb::tensor<std::int64_t, dyn>;
using table = ebb::tensor<double, dyn, dyn>;

TEST_CASE("bags of rows have PyTorch's recorded values and gradients, without their padding") {
  const golden::bounds b{.value = 4, .grad = 8, .spread = true, .sign_is_open = true};
  using many = wide<dyn, dyn>;
  using all = ebb::term<std::int64_t, dyn>;
  const auto mean = [](auto x, auto k, auto... o) { return ebb::embedding_bag<bag::mean, 1>(x, k, o...); };
  const auto largest = [](auto x, auto k, auto... o) { return ebb::embedding_bag<bag::max, 1>(x, k, o...); };
  check_recorded<many, all, all>("cell", "embedding_bag_mean", mean, b);
  check_recorded<wide<5, 3>, ebb::term<std::int64_t, 7>, ebb::term<std::int64_t, 4>>("cell", "embedding_bag_mean", mean, b);
  check_recorded<many, all, all>(
      "cell", "embedding_bag_sum", [](auto x, auto k, auto o) { return ebb::embedding_bag<bag::sum, 1>(x, k, o); }, b);
  check_recorded<many, all, all>("cell", "embedding_bag_max", largest, b);
  check_recorded<many, ebb::term<std::int64_t, dyn, dyn>>("cell", "embedding_bag_rows_mean", mean, b);
  check_recorded<many, ebb::term<std::int64_t, dyn, dyn>>("cell", "embedding_bag_rows_max", largest, b);
}

TEST_CASE("bags that are empty give 0, at the end and in the middle, and infinite rows of padding do not show") {
  const table x{{1, -2}, {INFINITY, NAN}, {3, -8}};
  const auto largest = [](auto w, auto k, auto o) { return ebb::embedding_bag<bag::max, 1>(w, k, o); };
  CHECK(ebb::all_equal(largest(x, list{2, 0, 1, 1}, list{0, 2, 2, 4}), table{{3, -2}, {0, 0}, {0, 0}, {0, 0}}));
  const auto mean = [](auto w, auto k, auto o) { return ebb::embedding_bag<bag::mean, 1>(w, k, o); };
  CHECK(ebb::all_equal(mean(x, list{2, 0, 1}, list{0, 3}), table{{2, -5}, {0, 0}}));
  CHECK(ebb::all_equal(mean(x, list(0), list(0)), table(0, 2)));
  CHECK(ebb::all_equal(mean(x, list(0), list{0}), table{{0, 0}}));
  const auto g = ebb::grad<0>([](auto w, auto k, auto o) { return ebb::sum(ebb::embedding_bag<bag::mean, 1>(w, k, o)); });
  CHECK(ebb::all_equal(g(x, list{2, 0, 1, 1, 2}, list{0, 2, 4}), table{{0.5, 0.5}, {0, 0}, {1.5, 1.5}}));
  // The second derivative of a function of the rows, by hand: y = (a^2 of row 0 + a^2 of row 2) / 2 in the only bag.
  constexpr static auto square = [](auto w, auto k, auto o) { return ebb::sum(ebb::embedding_bag<bag::mean, 1>(w * w, k, o)); };
  const auto second = ebb::grad<0>([](auto w, auto k, auto o) { return ebb::sum(ebb::grad<0>(square)(w, k, o)); });
  CHECK(ebb::all_equal(second(table{{1, 2}, {3, 4}, {5, 6}}, list{0, 1, 2}, list{0}), table{{1, 1}, {0, 0}, {1, 1}}));
}

TEST_CASE("narrow tables are summed in float, and wrong indices and offsets are refused") {
  ebb::tensor<ebb::bfloat16, dyn, 1> ones(300);
  for (std::size_t i = 0; i < 300; ++i) ones.mutable_data()[i] = ebb::bfloat16(i == 0 ? 256.0f : 1.0f);
  ebb::tensor<std::int64_t, 1, dyn> all(300);
  for (std::size_t i = 0; i < 300; ++i) all.mutable_data()[i] = static_cast<std::int64_t>(i);
  CHECK(static_cast<float>(ebb::embedding_bag<bag::sum>(ones, all)(0, 0)) == 556);  // in bf16 it would stay 256
  const table x{{1, 2}, {3, 4}};
  const auto says = [&](const list& k, const list& o, const char* part) {
    return test::says(test::raised([&] { static_cast<void>(ebb::embedding_bag(x, k, o)); }), {"ebb::embedding_bag", part});
  };
  CHECK(says({0, 2}, {0}, "is 2, and there are 2"));
  CHECK(says({0, 1}, {1}, "is -1"));
  CHECK(says({0, 1}, {0, 3}, "is 3, and there are 3"));
}

TEMPLATE_TEST_CASE("the row of the padding gets no gradient, whatever arrives there, and others the sums of theirs", "", float, double) {
  using ebb::term;
  constexpr TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  for (const std::size_t d : {1u, 3u, 8u, 64u, 70u}) {
    ebb::tensor<TestType, 6, dyn> x(d), expected(d);
    ebb::tensor<std::int32_t, 2, 11> k;
    ebb::tensor<TestType, 2, 11, dyn> g(d);
    for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<TestType>(i % 23) - 9;
    for (std::size_t i = 0; i < k.size(); ++i) k.mutable_data()[i] = static_cast<std::int32_t>(i * i % 7 % 6);
    for (std::size_t i = 0; i < x.size(); ++i) expected.mutable_data()[i] = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const auto at = static_cast<std::size_t>(k.data()[i / d]);
      g.mutable_data()[i] = at == 2 ? nan : static_cast<TestType>(i % 31) / 3 - 4;
      if (at != 2) expected.mutable_data()[at * d + i % d] += g.data()[i] * x.data()[at * d + i % d];
    }
    constexpr static auto half = [](auto w, auto at, auto u) { return ebb::sum(u * ebb::square(ebb::embedding<2>(w, at)) * 0.5); };
    const auto slopes = ebb::grad<0>(half)(x, k, g);
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(slopes.data()[i] == Approx(expected.data()[i]).margin(1e-5));
    // The gradient of the sum of the gradient's squares: twice (the sum of u)^2 x, and 0 for the padding.
    for (std::size_t i = 0; i < g.size(); ++i) g.mutable_data()[i] = static_cast<TestType>(i % 31) / 16;
    const auto second = ebb::grad<0>([](auto w, auto at, auto u) { return ebb::sum(ebb::square(ebb::grad<0>(half)(w, at, u))); })(x, k, g);
    for (std::size_t row = 0; row < 6; ++row)
      for (std::size_t j = 0; j < d; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < k.size(); ++i) sum += k.data()[i] == static_cast<std::int32_t>(row) ? double(g.data()[i * d + j]) : 0;
        REQUIRE(second.data()[row * d + j] == Approx(row == 2 ? 0 : 2 * sum * sum * double(x.data()[row * d + j])).margin(1e-4));
      }
  }
}

TEST_CASE("gradients without the padding have the same bits compiled, evaluated and for each array of a map") {
  constexpr static auto loss = [](auto w, auto at) { return ebb::sum(ebb::square(ebb::embedding<1>(w, at))); };
  const auto w = test::random_array<ebb::tensor<float, dyn, dyn>>(3, 5, 9);
  ebb::tensor<std::int64_t, dyn> k(14);
  for (std::size_t i = 0; i < 14; ++i) k.mutable_data()[i] = static_cast<std::int64_t>(i * 3 % 5);
  const auto cells = [](const auto& x) {
    ebb::cell_array r;
    for (const auto& e : x) r.push(ebb::to_cell(e));
    return r;
  };
  using terms = ebb::trace_of<std::remove_const_t<decltype(loss)>, ebb::term<float, dyn, dyn>, ebb::term<std::int64_t, dyn>>;
  const ebb::graph g = ebb::lower(ebb::value_and_gradient(terms::make(), {0}));
  ebb::extent_list of_w, of_k;
  of_w.rank = 2, of_k.rank = 1;
  of_w.e[0] = 5, of_w.e[1] = 9, of_k.e[0] = 14;
  const auto want = ebb::evaluate(g, {cells(w), cells(k)}, ebb::symbol_values(g, {of_w, of_k}));
  const auto slope = ebb::grad<0>(loss)(w, k);
  CHECK((cells(slope) == want[1]));
  const auto many = test::random_array<ebb::tensor<float, dyn, dyn, dyn>>(4, 3, 5, 9);
  const auto of_many = ebb::map([](auto x, auto at) { return ebb::grad<0>(loss)(x, at); }, many, ebb::whole(k));
  for (std::size_t n = 0; n < 3; ++n) {
    const ebb::tensor<float, dyn, dyn> one(ebb::view<const float, dyn, dyn>(many.data() + n * 45, 5, 9));
    const auto of_one = ebb::grad<0>(loss)(one, k);
    CHECK(std::equal(of_one.data(), of_one.data() + 45, of_many.data() + n * 45));
  }
}

TEST_CASE("indices of rows that are not there are refused in the name of embedding") {
  const table x{{1, 2}, {3, 4}};
  const auto said = test::raised([&] { static_cast<void>(ebb::embedding<0>(x, list{0, 2})); });
  CHECK(test::says(said, {"ebb::embedding", "is 2, and there are 2 rows"}));
}

}  // namespace
