// test/op/like.cpp — extents in traced functions, indices along an axis, and arrays with the extents of another, static and dyn.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using ebb::dyn;
using matrix = ebb::tensor<double, 2, 3>;
using any = ebb::tensor<double, dyn, dyn>;
using integers = ebb::tensor<std::int64_t, 2, 3>;

const matrix m{{1, 2, 3}, {4, 5, 6}};

/// Checks f compiled and called on arrays: both give `wanted`, whichever extents are static.
void agree(auto f, const auto& wanted) {
  const auto one = [&](const auto& x) {
    CHECK(ebb::all_equal(std::remove_cvref_t<decltype(wanted)>(ebb::compile(f)(x)), wanted));
    CHECK(ebb::all_equal(std::remove_cvref_t<decltype(wanted)>(f(x)), wanted));
  };
  one(m);
  one(any(m));
  one(ebb::tensor<double, dyn, 3>(m));
  one(ebb::tensor<double, 2, dyn>(m));
}

TEST_CASE("an extent is a number if it is static, else a term") {
  constexpr auto mean = [](auto x) {
    return ebb::sum(x) / ebb::cast<double>(ebb::extent<0>(x)) / ebb::cast<double>(ebb::extent<-1>(x));
  };
  CHECK(ebb::compile(mean)(m) == 3.5);
  CHECK(ebb::compile(mean)(any(m)) == 3.5);
  CHECK(mean(m) == 3.5);
  CHECK(mean(any(m)) == 3.5);
  CHECK(ebb::all_equal(any(ebb::grad(mean)(any(m))), any{{1. / 2 / 3, 1. / 2 / 3, 1. / 2 / 3}, {1. / 2 / 3, 1. / 2 / 3, 1. / 2 / 3}}));
  // A loop over rows with the same code for arrays and terms; the extent is a constant.
  constexpr auto weighted = [](auto x) {
    constexpr auto rows = ebb::extent<0>(x);
    auto s = 0 * x[0];
    for (int i = 0; i < rows; ++i) s = s + (i + 1) * x[i];
    return s;
  };
  CHECK(ebb::all_equal(ebb::compile(weighted)(m), ebb::tensor<double, 3>{9, 12, 15}));
  CHECK(ebb::all_equal(weighted(m), ebb::tensor<double, 3>{9, 12, 15}));
  CHECK(ebb::compile([](auto x) { return ebb::extent<0>(x); })(std::vector<float>{1, 2, 3}) == 3);
  CHECK(ebb::extent<0>(std::vector<float>{1, 2, 3}) == 3);
  CHECK(ebb::compile([](auto x) { return ebb::extent<1>(x); })(any()) == 0);
  static_assert(std::is_same_v<decltype(ebb::extent<0>(m)), std::int64_t>);
}

TEST_CASE("numel is a number if all extents are static, else a term") {
  constexpr auto mean = [](auto x) { return ebb::sum(x) / ebb::cast<double>(ebb::numel(x)); };
  CHECK(ebb::compile(mean)(m) == 3.5);
  CHECK(ebb::compile(mean)(any(m)) == 3.5);
  CHECK(mean(any(m)) == 3.5);
  static_assert(ebb::numel(matrix{}) == 6);
  CHECK(ebb::compile([](auto x) { return ebb::numel(x); })(any(0, 7)) == 0);  // empty
  CHECK(ebb::numel(std::vector<float>{1, 2, 3}) == 3);
  CHECK(ebb::numel(any(m)) == 6);
}

TEST_CASE("iota and arange_like give indices along an axis") {
  agree([](auto x) { return ebb::iota<-1>(x); }, ebb::tensor<std::int64_t, 3>{0, 1, 2});
  agree([](auto x) { return ebb::iota<0>(x); }, ebb::tensor<std::int64_t, 2>{0, 1});
  agree([](auto x) { return ebb::arange_like<0>(x); }, integers{{0, 0, 0}, {1, 1, 1}});
  agree([](auto x) { return ebb::arange_like<1>(x); }, integers{{0, 1, 2}, {0, 1, 2}});
  agree([](auto x) { return ebb::where(ebb::arange_like<0>(x) < ebb::arange_like<1>(x), x, 0.0); }, matrix{{0, 2, 3}, {0, 0, 6}});
  agree([](auto x) { return x * ebb::cast<double>(ebb::iota<1>(x)); }, matrix{{0, 2, 6}, {0, 5, 12}});
  CHECK(ebb::all_equal(ebb::grad([](auto x) { return ebb::sum(x * ebb::cast<double>(ebb::iota<1>(x))); })(any(m)),
                       any{{0, 1, 2}, {0, 1, 2}}));
}

TEST_CASE("zeros_like and its relatives have the extents and dtype of an array and read none of its elements") {
  agree([](auto x) { return ebb::zeros_like(x); }, matrix());
  agree([](auto x) { return ebb::ones_like(x); }, matrix::ones());
  agree([](auto x) { return ebb::full_like(x, 2.5); }, matrix::full(2.5));
  agree([](auto x) { return ebb::full_like(x, ebb::max(x)); }, matrix::full(6));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(ebb::all_equal(ebb::compile([](auto x) { return ebb::zeros_like(x) + ebb::ones_like(x); })(matrix::full(nan)), matrix::ones()));
  static_assert(std::is_same_v<decltype(ebb::full_like(ebb::tensor<int, 2>{}, 2.5)), ebb::tensor<int, 2>>);
  CHECK(ebb::all_equal(ebb::full_like(ebb::tensor<int, 2>{}, 2.5), ebb::tensor<int, 2>{2, 2}));
  CHECK(ebb::all_equal(ebb::zeros_like(ebb::tensor<ebb::bfloat16, 2>{}), ebb::tensor<ebb::bfloat16, 2>{}));
  // The gradient of full_like goes to the scalar, one for each element; none goes to x.
  const auto [dx, ds] = ebb::grad<0, 1>([](auto x, auto s) { return ebb::sum(ebb::full_like(x, s * s) + ebb::ones_like(x)); })(any(m), 3.0);
  CHECK(ebb::all_equal(dx, any(matrix())));
  CHECK(ds == 6 * 2 * 3);
}

TEST_CASE("zeros, ones and full have given extents: dyn is that of an argument, which says the dtype too") {
  agree([](auto x) { return ebb::zeros<2>(x) + ebb::ones<2>(x); }, ebb::tensor<double, 2>{1, 1});
  agree([](auto x) { return ebb::ones<dyn, 3>(x) * ebb::full<dyn, dyn>(x, 2.5); }, matrix::full(2.5));
  agree([](auto x) { return ebb::full<2, 3>(ebb::max(x)); }, matrix::full(6));
  agree([](auto x) { return ebb::full<float, 3>(x, x[1][0]) + ebb::zeros<float, 3>(x); }, ebb::tensor<float, 3>{4, 4, 4});
  agree([](auto x) { return ebb::full<std::int64_t, dyn>(x, 2.5); }, ebb::tensor<std::int64_t, 2>{2, 2});
  agree([](auto x) { return ebb::full<double, dyn>(ebb::iota<0>(x), 0.1); }, ebb::tensor<double, 2>{0.1, 0.1});
  agree([](auto x) { return ebb::broadcast_to<2, 3>(ebb::ones<>(x)); }, matrix::ones());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(ebb::all_equal(ebb::compile([](auto x) { return ebb::zeros<2>(x); })(any(0, 0)), ebb::tensor<double, 2>{}));
  CHECK(ebb::all_equal(ebb::ones<2, 3>(matrix::full(nan)), matrix::ones()));
  CHECK(ebb::compile([](auto x) { return ebb::ones<dyn, 0>(x); })(m).size() == 0);
  // Without arrays they are tensors; the number says the dtype.
  CHECK(ebb::all_equal(ebb::full<2, 3>(2.5), matrix::full(2.5)));
  CHECK(ebb::all_equal(ebb::full<2>(3), ebb::tensor<int, 2>{3, 3}));
  CHECK(ebb::all_equal(ebb::zeros<float, 2>(), ebb::tensor<float, 2>{}));
  CHECK(ebb::all_equal(ebb::ones<ebb::bfloat16, 2>(), ebb::tensor<ebb::bfloat16, 2>::ones()));
  // A loop begins with zeros for each row of its argument. The gradient of full goes to the scalar, twice.
  const auto [dx, ds] = ebb::grad<0, 1>([](auto x, auto s) {
    return ebb::sum(ebb::full<dyn, 2>(x, s * s) * (ebb::zeros<dyn, 2>(x) + 3));
  })(any(m), 3.0);
  CHECK(ebb::all_equal(dx, any(matrix())));
  CHECK(ds == 3 * 2 * 3 * 4);
  CHECK(ebb::hvp([](auto s) { return ebb::sum(ebb::full<4>(s * s)); })(3.0, 1.0) == 8);
}

TEST_CASE("one_hot marks indices along any new axis, in any dtype") {
  const ebb::tensor<int, 2, dyn> i{{0, 2}, {1, 0}};
  const auto both = [](auto f, auto x, const auto& wanted) {
    using result = std::remove_cvref_t<decltype(wanted)>;
    CHECK(ebb::all_equal(result(ebb::compile(f)(x)), wanted));
    CHECK(ebb::all_equal(result(f(x)), wanted));
  };
  both([](auto x) { return ebb::one_hot<3>(x); }, i, ebb::tensor<std::int64_t, 2, 2, 3>{{{1, 0, 0}, {0, 0, 1}}, {{0, 1, 0}, {1, 0, 0}}});
  both([](auto x) { return ebb::one_hot<3, 0, bool>(x); }, i,
       ebb::tensor<bool, 3, 2, 2>{{{true, false}, {false, true}}, {{false, false}, {true, false}}, {{false, true}, {false, false}}});
  both([](auto x) { return ebb::one_hot<3, -2, ebb::bf16>(x); }, i,
       ebb::cast<ebb::bf16>(ebb::tensor<float, 2, 3, 2>{{{1, 0}, {0, 0}, {0, 1}}, {{0, 1}, {1, 0}, {0, 0}}}));
  both([](auto x) { return ebb::one_hot<2, double>(x(0, 0)); }, i, ebb::tensor<double, 2>{1, 0});
  both([](auto x) { return ebb::one_hot<4, 0>(x); }, ebb::tensor<std::int64_t, dyn>{}, ebb::tensor<std::int64_t, 4, 0>{});
  CHECK_THROWS_WITH((ebb::one_hot<2, 0>(i)), Catch::Contains("one_hot") && Catch::Contains("is 2, and there are 2 classes"));
  const auto wide = [](auto x) { return ebb::one_hot<40>(x); };
  const ebb::tensor<std::int64_t, dyn> far{3, std::int64_t{1} << 32};  // compared in 32 bits, checked in 64
  CHECK_THROWS_WITH(wide(far), Catch::Contains("number 1 of the indices of shape [2] is 4294967296, and there are 40 classes"));
  const auto marks = ebb::compile(wide)(ebb::tensor<std::int64_t, dyn>{39, 0, 17});
  for (std::size_t k = 0; k < 120; ++k) CHECK(marks(k / 40, k % 40) == (k == 39 || k == 40 || k == 97));
  // A choice of rows with a gradient: the dtype is that of the weights, without a cast.
  const auto f = [](auto w, auto x) { return ebb::sum(ebb::one_hot<2, 0, double>(x) * w * w); };
  CHECK(ebb::all_equal(ebb::grad(f)(ebb::tensor<double, 2>{3, 5}, ebb::tensor<int, 2>{1, 0}), ebb::tensor<double, 2>{6, 10}));
}

TEMPLATE_TEST_CASE("numbers of elements counted in the dtype of a cast are those of integers", "", float, double, ebb::bf16, std::int32_t) {
  using T = TestType;
  const auto check = []<std::size_t N>(std::integral_constant<std::size_t, N>) {
    const ebb::tensor<float, 3, N> fixed{};
    const ebb::tensor<float, dyn, dyn> free(fixed);
    const auto f = [](auto x) {
      return std::tuple(ebb::cast<T>(ebb::arange_like<1>(x)), ebb::cast<T>(ebb::arange_like<0>(x)), ebb::cast<T>(ebb::iota<1>(x)));
    };
    const auto same = [](const auto& r) {
      const auto& [columns, rows, line] = r;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < N; ++j) {
          const auto counted = [](std::size_t k) { return static_cast<T>(static_cast<float>(k)); };
          REQUIRE(columns(i, j) == counted(j));
          REQUIRE(rows(i, j) == counted(i));
          REQUIRE(line(j) == counted(j));
        }
    };
    same(ebb::compile(f)(fixed));
    same(ebb::compile(f)(free));
  };
  check(std::integral_constant<std::size_t, 1>{});
  check(std::integral_constant<std::size_t, 7>{});
  check(std::integral_constant<std::size_t, 64>{});
  check(std::integral_constant<std::size_t, 131>{});
}

TEST_CASE("reshape_like takes the extents of another array") {
  static constexpr auto f = [](auto x, auto like) { return ebb::reshape_like(x, like) * like; };
  const ebb::tensor<double, 3, 2> y{{1, 2}, {3, 4}, {5, 6}};
  const ebb::tensor<double, dyn> flat{1, 2, 3, 4, 5, 6};
  const matrix wanted{{1, 4, 9}, {16, 25, 36}};
  CHECK(ebb::all_equal(ebb::compile(f)(y, m), wanted));
  CHECK(ebb::all_equal(f(y, m), wanted));
  CHECK(ebb::all_equal(ebb::compile(f)(flat, m), wanted));
  CHECK(ebb::all_equal(matrix(ebb::compile(f)(flat, any(m))), wanted));
  CHECK(ebb::all_equal(matrix(f(flat, any(m))), wanted));
  CHECK(ebb::all_equal(ebb::grad([](auto x, auto like) { return ebb::sum(f(x, like)); })(flat, any(m)), flat));
  std::string text;
  try {
    ebb::compile(f)(ebb::tensor<double, dyn>{1, 2, 3}, any(m));
  } catch (const ebb::error& e) {
    text = e.what();
  }
  CHECK(text == "ebb::compile: reshape_like: the extents of the arguments do not fit: argument 0 is [3], argument 1 is [2, 3]");
}

TEST_CASE("extents and arrays like another work in map, in regions and on the tape") {
  constexpr auto f = [](auto x) {
    const auto places = ebb::cast<double>(ebb::iota<0>(x));
    return ebb::sum(ebb::reshape_like(x * places, ebb::ones_like(x)) + ebb::full_like(x, x[1])) / ebb::cast<double>(ebb::extent<0>(x));
  };
  const ebb::tensor<double, 2> wanted{(2 + 2 * 3 + 3 * 2) / 3., (5 + 2 * 6 + 3 * 5) / 3.};
  const ebb::tensor<double, 3> slope{0, 4 / 3., 2 / 3.};
  CHECK(ebb::all_equal(ebb::map(f, m), wanted));
  CHECK(ebb::all_equal(ebb::map(f, any(m)), ebb::tensor<double, dyn>(wanted)));
  for (const bool captured : {false, true}) {
    ebb::variable v(ebb::tensor<double, dyn>{1, 2, 3});
    const ebb::variable<double> y = ebb::compile(f)(v);
    CHECK(y.item() == wanted(0));
    ebb::backward(y, {.compiled_autograd = captured});
    const auto g = v.grad().value();
    for (int i = 0; i < 3; ++i) CHECK(std::abs(g(i) - slope(i)) <= 4e-16);
    ebb::variable s(2.0);
    const ebb::variable<double> z = ebb::sum(ebb::full_like(v, s) * ebb::reshape_like(v, ebb::ones_like(v)));
    ebb::backward(z, {.compiled_autograd = captured});
    CHECK(s.grad().item() == 6);
    CHECK(ebb::extent<0>(v) == 3);
  }
}

TEST_CASE("arrays with the extents of another have the first and second derivatives of their formulas") {
  // Each element of full_like is the cube of the sum; ones_like and zeros_like read no element.
  const auto f = [](auto x) {
    const auto total = ebb::sum(x);
    const auto filled = ebb::full_like(x, total * total * total) * x + ebb::ones_like(x * x) * x * x + ebb::zeros_like(x) * x * x;
    return ebb::reshape_like(filled, ebb::transpose(x)) * ebb::transpose(x);
  };
  const auto oracle = [](const linalg_test::long_numbers& x) {
    long double total = 0;
    for (const long double e : x) total += e;
    linalg_test::long_numbers r;
    for (std::size_t i = 0; i < 6; ++i) r.push_back((total * total * total * x[i] + x[i] * x[i]) * x[i % 2 * 3 + i / 2]);
    return r;
  };
  const auto x = linalg_test::random_numbers(6, 3);
  const auto extents = linalg_test::extents_of({2, 3});
  linalg_test::against_differences<ebb::term<double, 2, 3>>("static", f, x, extents, oracle, 1e-9L, 1e-5L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", f, x, extents, oracle, 1e-9L, 1e-5L);
}

TEST_CASE("broadcast_like repeats an array to the extents of another, and sums gradients over the copies") {
  const ebb::tensor<double, 3> row{1, -2, 3};
  const ebb::tensor<double, 2, 1> column{4, 5};
  CHECK(ebb::all_equal(ebb::broadcast_like(row, m), matrix{{1, -2, 3}, {1, -2, 3}}));
  CHECK(ebb::all_equal(any(ebb::compile([](auto x, auto y) { return ebb::broadcast_like(x, y); })(column, any(m))),
                       any{{4, 4, 4}, {5, 5, 5}}));
  CHECK(ebb::broadcast_like(row, any(0, 3)).size() == 0);
  const auto loss = [](auto x, auto y) { return ebb::sum(ebb::square(ebb::broadcast_like(x, y)) * y); };
  CHECK(ebb::all_equal(ebb::grad<0>(loss)(row, m), ebb::tensor<double, 3>{2 * 5., -4 * 7., 6 * 9.}));
  CHECK(ebb::all_equal(ebb::grad<0>(loss)(column, any(m)), ebb::tensor<double, 2, 1>{8 * 6., 10 * 15.}));
  CHECK(ebb::all_equal(ebb::hvp<0>(loss)(row, m, row), ebb::tensor<double, 3>{2 * 5., -4 * 7., 6 * 9.}));
}

}  // namespace
