// test/order/sort.cpp — sort, argsort, topk and kthvalue: recorded values, axes, dtypes, batches, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../op/golden.hpp"

#include "../random_array.hpp"

#include <ebb/functional.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/order.hpp>

namespace {

using ebb::dyn;
template <std::size_t... E>
using wide_term = ebb::term<double, E...>;

const golden::bounds exactly{.value = 0, .grad = 0, .sign_is_open = true};

template <class... A, class F>
void sorts_as_recorded(const std::string& name, F) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  REQUIRE_FALSE(ebb::first_error(g));
  golden::check_traced("ops2", name, "", g, exactly);
}

TEST_CASE("sorted elements, their places and gradients are PyTorch's") {
  const auto rising = [](auto x) { return ebb::sort(x); };
  const auto falling = [](auto x) { return ebb::sort(x, ebb::descending); };
  const auto least = [](auto x) { return ebb::topk<-1, 3>(x, ebb::smallest); };
  const auto largest = [](auto x) { return ebb::topk<0, 2>(x); };
  const auto second = [](auto x) { return ebb::kthvalue<-1, 2>(x); };
  sorts_as_recorded<wide_term<3, 5>>("sort_descending", falling);
  sorts_as_recorded<wide_term<dyn, dyn>>("sort_descending", falling);
  sorts_as_recorded<wide_term<dyn, dyn>>("sort_special", rising);
  sorts_as_recorded<wide_term<dyn, dyn>>("sort_descending_special", falling);
  sorts_as_recorded<wide_term<dyn, dyn>>("topk_smallest", least);
  sorts_as_recorded<wide_term<3, 5>>("topk_axis_0", largest);
  sorts_as_recorded<wide_term<dyn, dyn>>("topk_axis_0", largest);
  sorts_as_recorded<wide_term<dyn, dyn>>("kthvalue", second);
  sorts_as_recorded<ebb::term<std::int64_t, 6>>("argsort_int", [](auto x) { return ebb::argsort(x); });
}

TEST_CASE("the graph of a sort names what it does") {
  const auto f = [](auto x) { return ebb::topk<-1, 2>(x); };
  CHECK(ebb::to_string(ebb::trace_of<decltype(f), ebb::term<float, dyn, 4>>::make()) ==
        "a = input 0 : f32[n, 4]\nb = argsort a with 1 2 : i64[n, 2]\nc = gather a b each along 0 : f32[n, 2]\nreturn c b\n");
}

TEST_CASE("arrays are sorted along any axis, in any dtype, also inside a map") {
  const auto x = test::random_array<ebb::tensor<float, dyn, dyn, dyn>>(1, std::size_t{3}, std::size_t{500}, std::size_t{2});
  const auto [values, places] = ebb::sort<1>(x);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t c = 0; c < 2; ++c) {
      std::vector<float> column;
      for (std::size_t b = 0; b < 500; ++b) column.push_back(x(a, b, c));
      std::sort(column.begin(), column.end());
      for (std::size_t b = 0; b < 500; ++b) {
        REQUIRE(values(a, b, c) == column[b]);
        REQUIRE(x(a, static_cast<std::size_t>(places(a, b, c)), c) == column[b]);
      }
    }
  const auto each = ebb::map([](auto row) { return std::get<0>(ebb::sort<0>(row)); }, x);
  CHECK(ebb::all_equal(each, values));
  const ebb::tensor<std::int64_t, 5> whole{5, 2, 9, 2, 7};
  const auto [numbers, at] = ebb::topk<-1, 2>(whole, ebb::smallest);
  CHECK(ebb::all_equal(numbers, ebb::tensor<std::int64_t, 2>{2, 2}));
  CHECK(ebb::all_equal(at, ebb::tensor<std::int64_t, 2>{1, 3}));
  const auto [second, place] = ebb::kthvalue<0, 3>(whole);
  CHECK((second == 5 && place == 0));
  const ebb::tensor<ebb::bf16, 3> narrow{ebb::bf16(2.f), ebb::bf16(-1.f), ebb::bf16(0.5f)};
  CHECK(ebb::all_equal(std::get<0>(ebb::sort(narrow)), ebb::tensor<ebb::bf16, 3>{ebb::bf16(-1.f), ebb::bf16(0.5f), ebb::bf16(2.f)}));
  CHECK(ebb::argsort(ebb::tensor<float, dyn>(0)).size() == 0);
  CHECK(ebb::argsort(ebb::tensor<float, 4, 0>()).size() == 0);
  // The evaluator of constants agrees with the kernel.
  static_assert(std::get<0>(ebb::sort(ebb::tensor<double, 3>{3.0, 1.0, 2.0}, ebb::descending))(2) == 1);
  static_assert(std::get<1>(ebb::topk<0, 1>(ebb::tensor<int, 2>{4, 6}))(0) == 1);
}

TEST_CASE("second derivatives of sorted elements are those of the elements") {
  const ebb::tensor<double, 4> start{0.5, -1, 3, 2};
  const auto cubes = [](auto x) { return ebb::sum(ebb::pow(std::get<0>(ebb::sort(x)), 3)); };
  const auto h = ebb::hessian(cubes)(start);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) CHECK(h(i, j) == (i == j ? 6 * start(i) : 0));
}

TEST_CASE("an axis that is too short for topk is an error of the call") {
  const ebb::tensor<double, dyn> two(2);
  CHECK(test::says(test::raised([&] { ebb::topk<-1, 3>(two); }), {"ebb::topk<-1, 3>", "[2]"}));
  CHECK(test::says(test::raised([&] { ebb::kthvalue<0, 3>(two); }), {"ebb::kthvalue<0, 3>", "[2]"}));
}

}  // namespace
