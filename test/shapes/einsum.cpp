// test/shapes/einsum.cpp — einsum and tensordot: recorded values and derivatives, loops, dtypes, strings, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: einsum.hpp einsum_text.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::wide;

template <class... A, class F>
void einsum_case(const char* name, F f) {
  linalg_test::check_recorded<A...>("contractions", name, f, {.value = 8, .grad = 8, .second = 16, .grad_floor = 1, .value_floor = 1, .spread = true});
}

TEST_CASE("einsum and tensordot have PyTorch's recorded values, derivatives and second derivatives") {
  using vector = wide<dyn>;
  using matrix = wide<dyn, dyn>;
  using cube = wide<dyn, dyn, dyn>;
  using four = wide<dyn, dyn, dyn, dyn>;
  einsum_case<wide<3, 4>, wide<4, 2>>("einsum_0", [](auto x, auto y) { return ebb::einsum<"ij,jk->ik">(x, y); });
  einsum_case<cube, cube>("einsum_1", [](auto x, auto y) { return ebb::einsum<"bij,bjk->bik">(x, y); });
  einsum_case<matrix, matrix>("einsum_2", [](auto x, auto y) { return ebb::einsum<"ij,ij->i">(x, y); });
  einsum_case<vector, vector, vector>("einsum_3", [](auto x, auto y, auto z) { return ebb::einsum<"i,j,k->ijk">(x, y, z); });
  einsum_case<matrix>("einsum_4", [](auto x) { return ebb::einsum<"ii->i">(x); });
  einsum_case<matrix>("einsum_5", [](auto x) { return ebb::einsum<"ii">(x); });
  einsum_case<matrix>("einsum_6", [](auto x) { return ebb::einsum<"ji">(x); });
  einsum_case<matrix, matrix>("einsum_7", [](auto x, auto y) { return ebb::einsum<"ij,kl->">(x, y); });
  einsum_case<four, four>("einsum_8", [](auto x, auto y) { return ebb::einsum<"bhqd, bhkd -> bhqk">(x, y); });
  einsum_case<wide<2, 1, 3, 2>, wide<3, 2, 4>>("einsum_9", [](auto x, auto y) { return ebb::einsum<"...ij,...jk->...ik">(x, y); });
  einsum_case<cube, matrix, matrix>("einsum_10", [](auto x, auto y, auto z) { return ebb::einsum<"abc,cd,be->ade">(x, y, z); });
  einsum_case<matrix, vector>("einsum_11", [](auto x, auto y) { return ebb::einsum<"ij,j">(x, y); });
  einsum_case<cube>("einsum_12", [](auto x) { return ebb::einsum<"iij->ij">(x); });
  einsum_case<matrix>("einsum_13", [](auto x) { return ebb::einsum<"ij->">(x); });
  einsum_case<vector, vector>("einsum_14", [](auto x, auto y) { return ebb::einsum<"i,i->">(x, y); });
  einsum_case<matrix, cube, matrix>("einsum_15", [](auto x, auto y, auto z) { return ebb::einsum<"bn,anm,bm->ba">(x, y, z); });
  einsum_case<cube>("einsum_16", [](auto x) { return ebb::einsum<"ijk->kji">(x); });
  einsum_case<matrix, matrix>("vecdot", [](auto x, auto y) { return ebb::einsum<"...i,...i->...">(x, y); });
  einsum_case<cube, cube>("tensordot_2", [](auto x, auto y) { return ebb::tensordot<2>(x, y); });
}

TEST_CASE("einsum of arrays: letters in any order, dtypes, map, empty extents, errors") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(1);
  const auto y = test::random_array<ebb::tensor<double, 4, 2, 2>>(2);
  const auto r = ebb::einsum<"abc, cda -> dba">(x, y);
  static_assert(std::is_same_v<decltype(r), const ebb::tensor<double, 2, 3, 2>>);
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t d = 0; d < 2; ++d) {
        double sum = 0;
        for (std::size_t c = 0; c < 4; ++c) sum += x(a, b, c) * y(c, d, a);
        CHECK(r(d, b, a) == Approx(sum).margin(1e-15));
      }
  const ebb::tensor<int, dyn, dyn> m{{1, 2}, {3, 4}}, n(2, 0);
  CHECK(ebb::all_equal(ebb::einsum<"ba">(m), ebb::tensor<int, 2, 2>{{1, 3}, {2, 4}}));
  CHECK(static_cast<int>(ebb::einsum<"ij,ji">(m, m)) == 1 + 6 + 6 + 16);
  CHECK(ebb::all_equal(ebb::einsum<"ij,kj->ik">(n, n), ebb::tensor<int, 2, 2>{{0, 0}, {0, 0}}));
  const auto rows = ebb::map([](auto row, auto w) { return ebb::einsum<"i,ij->j">(row, w); }, m, ebb::whole(m));
  CHECK(ebb::all_equal(rows, ebb::tensor<int, 2, 2>{{7, 10}, {15, 22}}));
  CHECK(ebb::einsum<"ii->i">(ebb::tensor<double, 2, 2>{{-0.0, std::numeric_limits<double>::quiet_NaN()}, {1, 2}})(1) == 2);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::einsum<"ij,jk">(m, ebb::tensor<int, dyn, dyn>(3, 2))); }),
                   {"ebb::einsum", "[2, 2]", "[3, 2]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::einsum<"ii">(n)); }), {"ebb::einsum", "[2, 0]"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::tensordot<1>(m, ebb::tensor<int, dyn>(3))); }), {"ebb::tensordot", "[3]"}));
  // Products are rounded to the context's dtype, as matmul is; products of letters that stay are not.
  constexpr auto low = ebb::under<ebb::autocast<ebb::bf16>>([](auto a, auto b) {
    return std::tuple(ebb::einsum<"ij,jk->ik">(a, b), ebb::einsum<"ij,jk->ijk">(a, b), ebb::tensordot<1>(a, b));
  });
  const ebb::tensor<float, 2, 2> f{{1, 2}, {3, 4}};
  using result = decltype(low(f, f));
  static_assert(std::is_same_v<std::tuple_element_t<0, result>::value_type, ebb::bf16>);
  static_assert(std::is_same_v<std::tuple_element_t<1, result>::value_type, float>);
  static_assert(std::is_same_v<std::tuple_element_t<2, result>::value_type, ebb::bf16>);
}

TEST_CASE("inner pairs all rows, and outer has batches") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(1);
  const auto y = test::random_array<ebb::tensor<double, 5, 4>>(2);
  const auto r = ebb::inner(x, y);
  static_assert(std::is_same_v<std::remove_const_t<decltype(r)>, ebb::tensor<double, 2, 3, 5>>);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 5; ++k) {
        double sum = 0;
        for (std::size_t e = 0; e < 4; ++e) sum += x(i, j, e) * y(k, e);
        CHECK(r(i, j, k) == Approx(sum).margin(1e-15));
      }
  const ebb::tensor<double, ebb::dyn> a{1, 2, 3};
  CHECK(ebb::inner(a, a) == 14);
  const auto slope = ebb::grad<1>([](auto p, auto q) { return ebb::sum(ebb::inner(p, q)); })(x, y);
  for (std::size_t e = 0; e < 4; ++e) {
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += x.data()[4 * i + e];
    CHECK(slope(2, e) == Approx(sum).margin(1e-15));
  }
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::inner(a, ebb::tensor<double, ebb::dyn, ebb::dyn>(2, 2))); }), {"inner", "[3]", "[2, 2]"}));
  const auto products = ebb::outer(ebb::tensor<double, 5, 4>(y), ebb::tensor<double, 4>{1, 2, 3, 4});
  static_assert(std::is_same_v<std::remove_const_t<decltype(products)>, ebb::tensor<double, 5, 4, 4>>);
  CHECK(products(3, 1, 2) == y(3, 1) * 3);
}

}  // namespace
