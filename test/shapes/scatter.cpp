// test/shapes/scatter.cpp — elements written and combined at indices: loops in hyper-dual numbers, ties, zeros, repeated places, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../geometry/oracle.hpp"

#include <ebb/shapes.hpp>

namespace {

using ebb::combination;
using geometry_test::against_duals, geometry_test::duals, test::hyper_dual;
using ebb::dyn;
using numbers16 = ebb::term<double, 16>;
using vector = ebb::tensor<double, dyn>;
using indices = ebb::tensor<std::int64_t, dyn>;

/// Row k of u goes to row index_of(k) of x. Nothing goes to row 1.
std::size_t index_of(std::size_t k) { return k % 2 ? 2 : 0; }

hyper_dual combined(combination how, const duals& all) {
  hyper_dual r = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (how == combination::prod) r = r * all[i];
    else if (how == combination::amax) r = all[i].v > r.v ? all[i] : r;
    else if (how == combination::amin) r = all[i].v < r.v ? all[i] : r;
    else r = r + all[i];
  }
  return how == combination::mean ? (1.0L / static_cast<long double>(all.size())) * r : r;
}
/// x is the first three rows of two elements, u the other five.
duals reduced(combination how, bool with_self, const duals& a) {
  duals r;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t k = 0; k < 2; ++k) {
      duals all;
      for (std::size_t e = 0; e < 5; ++e)
        if (index_of(e) == row) all.push_back(a[6 + 2 * e + k]);
      if (with_self || all.empty()) all.insert(all.begin(), a[2 * row + k]);
      r.push_back(combined(how, all));
    }
  return r;
}
template <combination How>
constexpr auto both_forms = [](auto a) {
  const auto rows = ebb::reshape<8, 2>(a);
  const auto x = ebb::slice<0, 0, 3>(rows);
  const auto u = ebb::slice<0, 3>(rows);
  const auto i = ebb::broadcast_like(ebb::unsqueeze<1>(2 * (ebb::iota<0>(u) % 2)), u);
  return ebb::concat<0>(ebb::scatter_reduce<0, How>(x, i, u), ebb::scatter_reduce<0, How, false>(x, i, u));
};

TEST_CASE("scatter_reduce and its derivatives are those of loops, products with zeros too") {
  auto x = linalg_test::random_numbers(16, 11);
  const auto check = [&]<combination How>(std::integral_constant<combination, How>) {
    const auto f = both_forms<How>;
    against_duals<numbers16>("combine", f, x, [](const duals& a) {
      return geometry_test::joined(reduced(How, true, a), reduced(How, false, a));
    }, 1e-15L, 1e-14L);
  };
  check(std::integral_constant<combination, combination::sum>{});
  check(std::integral_constant<combination, combination::mean>{});
  check(std::integral_constant<combination, combination::amax>{});
  check(std::integral_constant<combination, combination::amin>{});
  constexpr std::integral_constant<combination, combination::prod> product;
  check(product);
  x[6] = 0;  // one zero of row 0, then two, then three
  check(product);
  x[10] = 0;
  check(product);
  x[0] = 0;
  check(product);
}

TEST_CASE("equal extrema share the gradient of scatter_reduce evenly, with the element of x among them") {
  const vector x{3, 1}, u{3, 0, 3};
  const indices i{0, 1, 0};
  const auto f = [](auto a, auto k, auto b) { return ebb::sum(ebb::scatter_reduce<0, combination::amax>(a, k, b)); };
  const auto of_x = ebb::grad<0>(f)(x, i, u), of_u = ebb::grad<2>(f)(x, i, u);
  CHECK(ebb::all_equal(of_x, vector{1.0 / 3, 1}));
  CHECK(ebb::all_equal(of_u, vector{1.0 / 3, 0, 1.0 / 3}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(ebb::scatter_reduce<0, combination::amin>(x, i, vector{nan, 0, 1})(0)));
  const ebb::tensor<std::int64_t, dyn> whole{5, -7};
  CHECK(ebb::all_equal(ebb::scatter_reduce<0, combination::mean>(whole, i, ebb::tensor<std::int64_t, dyn>{2, -2, 1}), indices{2, -5}));
  const auto products = ebb::scatter_reduce<0, combination::prod, false>(whole, i, ebb::tensor<std::int64_t, dyn>{2, -2, 4});
  CHECK(ebb::all_equal(products, indices{8, -2}));
  CHECK(ebb::all_equal(ebb::scatter_reduce<0, combination::amax, false>(x, indices(0), vector(0)), x));
}

TEST_CASE("scatter writes the last of repeated places, and only that gets the gradient") {
  const vector x{1, 2, 3, 4}, u{10, 20, 30};
  const indices i{2, 0, 2};
  const auto f = [](auto a, auto k, auto b) { return ebb::scatter<0>(a, k, b); };
  CHECK(ebb::all_equal(ebb::compile(f)(x, i, u), vector{20, 2, 30, 4}));
  const auto loss = [](auto a, auto k, auto b) { return ebb::sum(ebb::square(ebb::scatter<0>(a, k, b))); };
  CHECK(ebb::all_equal(ebb::grad<0>(loss)(x, i, u), vector{0, 4, 0, 8}));
  CHECK(ebb::all_equal(ebb::grad<2>(loss)(x, i, u), vector{0, 40, 60}));
  CHECK(ebb::all_equal(ebb::scatter<0>(x, indices(0), vector(0)), x));
  const ebb::tensor<float, 2, 3> m{{1, 2, 3}, {4, 5, 6}}, v{{7, 8, 9}, {10, 11, 12}};
  const ebb::tensor<int, 2, 3> at{{2, 2, 0}, {1, 1, 1}};
  CHECK(ebb::all_equal(ebb::scatter<1>(m, at, v), ebb::tensor<float, 2, 3>{{9, 2, 8}, {4, 12, 6}}));
  CHECK(ebb::all_equal(ebb::map([](auto a, auto k, auto b) { return ebb::scatter<0>(a, k, b); }, m, at, v),
                       ebb::tensor<float, 2, 3>{{9, 2, 8}, {4, 12, 6}}));
  const ebb::tensor<int, 2, 3> rows{{1, 0, 1}, {1, 1, 0}};
  CHECK(ebb::all_equal(ebb::scatter<0>(m, rows, v), ebb::tensor<float, 2, 3>{{1, 8, 12}, {10, 11, 9}}));
  ebb::variable<double, dyn> leaf(u);
  for (const bool captured : {false, true}) {
    ebb::backward(ebb::sum(ebb::square(ebb::scatter<0>(x, i, leaf))), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(leaf.grad().value(), vector{0, 40, 60}));
    leaf.zero_grad();
  }
}

TEST_CASE("scatter and index_copy take every dtype, and arrays of which rows are long") {
  const auto check = []<class T>(T, std::size_t rows, std::size_t columns) {
    ebb::tensor<T, dyn, dyn> x(rows, columns), u(2 * rows, columns);
    ebb::tensor<std::int32_t, dyn> at(2 * rows);
    const auto number = [](std::size_t i) { return static_cast<T>(static_cast<float>(i % 120)); };
    for (std::size_t i = 0; i < rows * columns; ++i) x.mutable_data()[i] = number(i);
    for (std::size_t i = 0; i < 2 * rows * columns; ++i) u.mutable_data()[i] = number(i + 61);
    for (std::size_t i = 0; i < 2 * rows; ++i) at.mutable_data()[i] = static_cast<std::int32_t>(i * i % rows);
    ebb::tensor<T, dyn, dyn> want = x;
    for (std::size_t i = 0; i < 2 * rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) want.mutable_data()[static_cast<std::size_t>(at(i)) * columns + j] = u(i, j);
    CHECK(ebb::all_equal(ebb::index_copy<0>(x, at, u), want));
    const auto turned = [](const auto& y) { return ebb::transpose(y); };
    CHECK(ebb::all_equal(ebb::index_copy<1>(turned(x), at, turned(u)), turned(want)));
    const auto all = ebb::broadcast_like(ebb::unsqueeze<1>(at), u);
    CHECK(ebb::all_equal(ebb::scatter<0>(x, all, u), want));
    static constexpr auto f = ebb::compile([](auto a, auto k, auto b) { return ebb::index_copy<0>(a, k, b); });
    ebb::tensor<T, dyn, dyn> over = x;
    f(ebb::into(over), over, at, u);  // over its argument
    CHECK(ebb::all_equal(over, want));
  };
  for (const std::size_t rows : {1u, 3u, 8u})
    for (const std::size_t columns : {1u, 2u, 5u, 33u, 130u}) {
      check(float{}, rows, columns);
      check(double{}, rows, columns);
      check(std::int32_t{}, rows, columns);
      check(ebb::bfloat16{}, rows, columns);
    }
  CHECK(
      ebb::all_equal(ebb::scatter<0>(ebb::tensor<bool, 3>{true, false, true}, ebb::tensor<int, 2>{0, 1}, ebb::tensor<bool, 2>{false, true}),
                     ebb::tensor<bool, 3>{false, true, true}));
}

TEST_CASE("scatter and index_copy are differentiated forwards, twice, in batches, and by their pattern") {
  const indices i{2, 0, 2};
  const auto f = [](auto a) {
    const auto k = 2 * ebb::iota<0>(ebb::slice<0, 4>(a)) % 4;  // 0, 2, 0
    return ebb::scatter<0>(ebb::slice<0, 0, 4>(a) * ebb::slice<0, 0, 4>(a), k, ebb::sin(ebb::slice<0, 4>(a)));
  };
  const auto of_duals = [](const duals& a) {
    return duals{test::oracle(ebb::op::sin{}, a[6]), a[1] * a[1], test::oracle(ebb::op::sin{}, a[5]), a[3] * a[3]};
  };
  against_duals<ebb::term<double, 7>>("scatter", f, linalg_test::random_numbers(7, 3), of_duals, 1e-15L, 1e-15L);
  const auto g = [](auto a) {
    const auto rows = ebb::reshape<4, 2>(a);
    const auto k = 0 * ebb::iota<0>(ebb::slice<0, 2>(rows)) + 1;  // 1, 1
    return ebb::index_copy<0>(ebb::slice<0, 0, 2>(rows), k, ebb::exp(ebb::slice<0, 2>(rows)));
  };
  const auto copied = [](const duals& a) {
    return duals{a[0], a[1], test::oracle(ebb::op::exp{}, a[6]), test::oracle(ebb::op::exp{}, a[7])};
  };
  against_duals<ebb::term<double, 8>>("index_copy", g, linalg_test::random_numbers(8, 4), copied, 1e-15L, 1e-15L);
  const ebb::tensor<double, 2, 4> x{{1, 2, 3, 4}, {5, 6, 7, 8}};
  const ebb::tensor<double, 2, 3> u{{10, 20, 30}, {40, 50, 60}};
  const auto many = ebb::map([](auto a, auto b, auto k) { return ebb::scatter<0>(a, k, b); }, x, u, ebb::whole(i));
  CHECK(ebb::all_equal(many, ebb::tensor<double, 2, 4>{{20, 2, 30, 4}, {50, 6, 60, 8}}));
  const auto slopes =
      ebb::map(ebb::grad<1>([](auto a, auto b, auto k) { return ebb::sum(ebb::square(ebb::scatter<0>(a, k, b))); }), x, u, ebb::whole(i));
  CHECK(ebb::all_equal(slopes, ebb::tensor<double, 2, 3>{{0, 40, 60}, {0, 100, 120}}));
}

TEST_CASE("index_copy, index_fill and index_put write parts and elements") {
  const ebb::tensor<double, dyn, dyn> x{{1, 2, 3}, {4, 5, 6}}, u{{7, 8}, {9, 10}}, rows{{7, 8, 9}, {10, 11, 12}};
  const indices i{2, 0}, twice{1, 1};
  using matrix = ebb::tensor<double, dyn, dyn>;
  CHECK(ebb::all_equal(ebb::index_copy<1>(x, i, u), matrix{{8, 2, 7}, {10, 5, 9}}));
  CHECK(ebb::all_equal(ebb::index_copy<0>(x, twice, rows), matrix{{1, 2, 3}, {10, 11, 12}}));
  CHECK(ebb::all_equal(ebb::index_copy<1>(x, indices(0), matrix(2, 0)), x));
  CHECK(ebb::all_equal(ebb::index_fill<-1>(x, i, 0.5), matrix{{0.5, 2, 0.5}, {0.5, 5, 0.5}}));
  const auto copied = [](auto a, auto k, auto b) { return ebb::sum(ebb::square(ebb::index_copy<0>(a, k, b))); };
  CHECK(ebb::all_equal(ebb::grad<2>(copied)(x, twice, rows), matrix{{0, 0, 0}, {20, 22, 24}}));
  const auto kept = ebb::grad<0>([](auto a, auto k) { return ebb::sum(ebb::square(ebb::index_fill<1>(a, k, 3))); })(x, i);
  CHECK(ebb::all_equal(kept, matrix{{0, 4, 0}, {0, 10, 0}}));
  const indices r{1, 0, 1}, c{2, 1, 2};
  CHECK(ebb::all_equal(ebb::index_put(x, vector{7, 8, 9}, r, c), matrix{{1, 8, 3}, {4, 5, 9}}));
  CHECK(ebb::all_equal(ebb::index_put_add(x, vector{7, 8, 9}, r, c), matrix{{1, 10, 3}, {4, 5, 22}}));
  CHECK(ebb::all_equal(ebb::index_put(x, vector{7, 8, 9}, indices{1}), matrix{{1, 2, 3}, {7, 8, 9}}));
  const auto put = ebb::grad<1>([](auto a, auto b, auto k, auto l) { return ebb::sum(ebb::square(ebb::index_put(a, b, k, l))); });
  CHECK(ebb::all_equal(put(x, vector{7, 8, 9}, r, c), vector{0, 16, 18}));
  const auto says = [](auto f, std::initializer_list<const char*> parts) { CHECK(test::says(test::raised(f), parts)); };
  says([&] { static_cast<void>(ebb::scatter<0>(vector{1, 2}, indices{2}, vector{1})); }, {"scatter", "2"});
  says([&] { static_cast<void>(ebb::index_copy<1>(x, indices{3, 0}, u)); }, {"index_copy", "3"});
  says([&] { static_cast<void>(ebb::index_put(x, vector{7}, indices{0}, indices{3})); }, {"-1"});
  says([&] { static_cast<void>(ebb::index_put(x, vector{7}, indices{-1}, indices{0})); }, {"-1"});
  says([&] { static_cast<void>(ebb::scatter<0>(vector{1, 2}, indices{0}, vector{1, 2})); }, {"scatter", "[1]", "[2]"});
}

TEST_CASE("narrow floats are combined in float and rounded once") {
  const ebb::tensor<ebb::bfloat16, 1> x(ebb::tensor<ebb::bfloat16, 1>() + ebb::bfloat16(256.0f));
  const ebb::tensor<ebb::bfloat16, 4> u(ebb::tensor<ebb::bfloat16, 4>() + ebb::bfloat16(1.0f));
  const ebb::tensor<int, 4> i;
  CHECK(static_cast<float>(ebb::scatter_reduce<0, combination::sum>(x, i, u)(0)) == 260);
}

}  // namespace
