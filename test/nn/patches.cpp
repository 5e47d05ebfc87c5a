// test/nn/patches.cpp — unfold2d and fold2d: recorded values, convolutions by a product, derivatives, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>

namespace {

using ebb::dyn, ebb::patches;
using linalg_test::check_recorded, linalg_test::long_numbers, linalg_test::wide;

constexpr patches tall{.size = {3, 2}, .stride = 2, .padding = 1, .dilation = {1, 2}};
constexpr patches around{.size = 3, .padding = 1};
// Of images of 3 x 4: rows 0 and 1, 1 and 2; columns -1 and 1, 1 and 3.
constexpr patches few{.size = 2, .stride = {1, 2}, .padding = {0, 1}, .dilation = {1, 2}};
constexpr patches apart{.size = {2, 3}, .stride = {2, 1}, .padding = {1, 2}, .dilation = {3, 2}};

TEST_CASE("unfold2d and fold2d have PyTorch's recorded values and gradients") {
  const auto unfolded = [](auto x) { return ebb::unfold2d<tall>(x); };
  check_recorded<wide<1, 2, 7, 6>>("patches", "unfold", unfolded, {.grad = 1});
  check_recorded<wide<dyn, dyn, dyn, dyn>>("patches", "unfold", unfolded, {.grad = 1});
  const auto both = [](auto x) { return ebb::fold2d<7, 6, around>(ebb::unfold2d<around>(x)); };
  check_recorded<wide<1, 2, 7, 6>>("patches", "fold", both, {.value = 4, .grad = 4});
  check_recorded<wide<dyn, dyn, dyn, dyn>>("patches", "fold", both, {.value = 4, .grad = 4});
  const auto folded = [](auto x) { return ebb::fold2d<6, 7, apart>(x); };
  check_recorded<wide<2, 12, 21>>("patches", "fold_dilated", folded, {.value = 4, .grad = 1, .value_floor = 1});
  check_recorded<wide<dyn, dyn, dyn>>("patches", "fold_dilated", folded, {.value = 4, .grad = 1, .value_floor = 1});
}

TEST_CASE("a product of weights and unfold2d is conv2d; one image; no images; bf16; zeros, infinities and NaN keep their bits") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 6, 5>>(1);
  const auto w = test::random_array<ebb::tensor<double, 4, 3, 3, 2>>(2);
  const auto product = ebb::matmul(ebb::reshape<4, 18>(w), ebb::unfold2d<patches{.size = {3, 2}, .stride = {2, 1}, .padding = 1}>(x));
  const auto conv = ebb::conv2d<ebb::conv{.stride = {2, 1}, .padding = 1}>(x, w);
  CHECK(ebb::allclose(ebb::reshape_like(product, conv), conv, 1e-13, 1e-13));
  const auto one = ebb::select<0, 1>(x);
  CHECK(ebb::all_equal(ebb::unfold2d<tall>(one), ebb::select<0, 1>(ebb::unfold2d<tall>(x))));
  const auto columns = ebb::unfold2d<around>(x);
  CHECK(ebb::all_equal(ebb::fold2d<6, 5, around>(ebb::select<0, 1>(columns)), ebb::select<0, 1>(ebb::fold2d<6, 5, around>(columns))));
  CHECK(ebb::unfold2d<around>(ebb::tensor<float, dyn, 3, 6, 5>(0)).size() == 0);
  CHECK(ebb::fold2d<6, 5, around>(ebb::tensor<float, dyn, 27, 30>(0)).size() == 0);
  // 256 + 1 + 1 in bf16: each sum is rounded once, not after each summand.
  const auto sums = ebb::fold2d<1, 1, patches{.size = 3, .stride = 2, .padding = 1}>(ebb::tensor<ebb::bf16, 9, 1>::ones());
  CHECK(sums(0, 0, 0) == ebb::bf16(1.0f));
  ebb::tensor<ebb::bf16, 4, 4> parts = ebb::tensor<ebb::bf16, 4, 4>::ones();
  parts.mutable_data()[3] = ebb::bf16(256.0f);
  CHECK(ebb::fold2d<1, 1, patches{.size = 2, .padding = 1}>(parts)(0, 0, 0) == ebb::bf16(260.0f));
  ebb::tensor<float, 1, 2, 2> odd{-0.0f, NAN, INFINITY, 1};
  CHECK(ebb::same_bits(ebb::flatten(ebb::unfold2d<patches{.size = 2}>(odd)), ebb::flatten(odd)));
}

TEST_CASE("unfold2d and fold2d have the first and second derivatives of long double code, on the tape too") {
  const auto f = [](auto x) { return ebb::fold2d<3, 4, few>(ebb::unfold2d<few>(x) * ebb::unfold2d<few>(ebb::sin(x))); };
  const auto oracle = [](const long_numbers& v) {
    long_numbers r(12);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (int a = 0; a < 2; ++a)
          for (int b = 0; b < 2; ++b) {
            const int row = i + a, column = 2 * j + 2 * b - 1;
            if (column < 0 || column > 3) continue;
            const auto at = static_cast<std::size_t>(row * 4 + column);
            r[at] += v[at] * std::sin(v[at]);
          }
    return r;
  };
  const auto x = linalg_test::random_numbers(12, 5);
  linalg_test::against_differences<wide<1, 3, 4>>("static", f, x, linalg_test::extents_of({1, 3, 4}), oracle, 1e-11L, 1e-6L);
  linalg_test::against_differences<wide<dyn, dyn, dyn>>("dyn", f, x, linalg_test::extents_of({1, 3, 4}), oracle, 1e-11L, 1e-6L);
  const auto y = test::random_array<ebb::tensor<float, 2, 2, 4, 4>>(3);
  const auto want = ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::unfold2d<around>(a))); })(y);
  for (const bool captured : {false, true}) {
    ebb::variable v(y);
    ebb::backward(ebb::sum(ebb::square(ebb::unfold2d<around>(v))), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(v.grad().value(), want));
  }
  const auto thrown =
      test::raised([&] { static_cast<void>(ebb::unfold2d<patches{.size = 5}>(ebb::tensor<float, dyn, dyn, dyn>(1, 4, 4))); });
  CHECK(test::says(thrown, {"ebb::unfold2d", "[1, 4, 4]"}));
  const ebb::tensor<float, dyn, dyn> columns(9, 15);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::fold2d<4, 4, around>(columns)); }), {"ebb::fold2d", "[9, 15]"}));
}

}  // namespace
