// test/exec/map_axes.cpp — map along chosen axes: each row has the bits of a call on that row, and so have its derivatives.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <array>
#include <tuple>

namespace {

using ebb::dyn, ebb::in, ebb::out, ebb::tensor, ebb::unmapped;

template <std::size_t... E>
tensor<double, E...> given(std::uint64_t seed) {
  tensor<double, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = r.between(-1, 1);
  return x;
}

constexpr auto f = [](auto x, auto w, auto y) { return std::tuple(ebb::tanh(ebb::matmul(w, x)) * y, ebb::sum(x) * y); };
constexpr auto along = [](auto x, auto w, auto y) { return ebb::map<in<1, unmapped, 0>, out<1, 0>>(f, x, w, y); };
constexpr auto loss = [](auto x, auto w, auto y) {
  const auto [a, b] = along(x, w, y);
  return ebb::sum(a * a) + ebb::sum(b * b * b);
};
constexpr auto loss_of_row = [](auto x, auto w, auto y) {
  const auto [a, b] = f(x, w, y);
  return ebb::sum(a * a) + b * b * b;
};
constexpr auto product = [](auto v, auto u) { return ebb::matmul(u, v); };

template <template <class, std::size_t...> class Array>
struct fields {
  using matrix = Array<double, 2, 4>;
  using vector = Array<double, 3, 4>;
  BOOST_HANA_DEFINE_STRUCT(fields, (matrix, a), (vector, b));
};

tensor<double, 3> column(const tensor<double, 3, 4>& x, std::size_t j) { return {x(0, j), x(1, j), x(2, j)}; }

}  // namespace

TEST_CASE("map with axes has the bits of each row and puts the results where out says") {
  const auto x = given<3, 4>(1);
  const auto w = given<2, 3>(2);
  const auto y = given<4>(3);
  const auto check = [&](const auto& results) {
    const auto& [a, b] = results;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto [of_row, sum] = ebb::compile(f)(column(x, j), w, y(j));
      for (std::size_t i = 0; i < 2; ++i) CHECK(a(i, j) == of_row(i));
      CHECK(b(j) == sum);
    }
  };
  check(along(x, w, y));
  check(ebb::compile(along)(x, w, y));
  check(ebb::map<in<-1, unmapped, -1>, out<-1, -1>>(f, x, w, y));
  const auto [rows, sums] = ebb::map<in<1, unmapped, 0>>(f, x, w, y);
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(rows)>, tensor<double, 4, 2>>);
  CHECK(ebb::all_equal(tensor<double, 2, 4>(ebb::transpose(rows)), std::get<0>(along(x, w, y))));
  const tensor<double, 3, dyn> wide = tensor<double, 3, dyn>(x);
  CHECK(ebb::all_equal(std::get<0>(along(wide, w, y)), std::get<0>(along(x, w, y))));
  CHECK(std::get<0>(along(tensor<double, 3, dyn>(ebb::layout<3, dyn>{0}), w, tensor<double, dyn>(ebb::layout<dyn>{0}))).size() == 0);
  constexpr auto doubled = ebb::map<in<1>, out<1>>([](auto v) { return v + v; }, tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6}});
  static_assert(doubled(1, 2) == 12);
}

TEST_CASE("map with axes has the derivatives of each row, of both orders") {
  const auto x = given<3, 4>(4);
  const auto w = given<2, 3>(5);
  const auto y = given<4>(6);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(loss)(x, w, y);
  double sum = 0;
  tensor<double, 2, 3> summed;
  for (std::size_t i = 0; i < 6; ++i) summed.mutable_data()[i] = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    const auto [of_row, of_x, of_w] = ebb::value_and_grad<0, 1>(loss_of_row)(column(x, j), w, y(j));
    sum += of_row;
    for (std::size_t i = 0; i < 3; ++i) CHECK(dx(i, j) == Approx(of_x(i)).epsilon(1e-13));
    for (std::size_t i = 0; i < 6; ++i) summed.mutable_data()[i] += of_w.data()[i];
  }
  CHECK(value == Approx(sum).epsilon(1e-13));
  for (std::size_t i = 0; i < 6; ++i) CHECK(dw.data()[i] == Approx(summed.data()[i]).epsilon(1e-13));
  const auto h = ebb::hessian<0>(loss)(x, w, y);
  for (std::size_t j = 0; j < 4; ++j) {
    const auto of_row = ebb::hessian<0>(loss_of_row)(column(x, j), w, y(j));
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) CHECK(h(i, j, k, j) == Approx(of_row(i, k)).epsilon(1e-12).margin(1e-13));
  }
  CHECK(h(0, 1, 2, 3) == 0);
}

TEST_CASE("map with axes takes tuples, structs, arrays of arrays and numbers; in maps, in contexts, on variables") {
  const auto x = given<3, 4>(7);
  const std::array<tensor<double, 3, 4>, 2> both{x, given<3, 4>(8)};
  const auto sums = ebb::map<in<1>>([](auto p) { return p[0] + p[1]; }, both);
  CHECK(sums(3, 2) == both[0](2, 3) + both[1](2, 3));
  fields<tensor> p;
  p.a = given<2, 4>(9);
  p.b = x;
  const auto q = ebb::map<in<1, unmapped>, out<1>>([](auto s, auto k) {
    auto r = s;
    r.a = s.a * k;
    return r;
  }, p, 0.5);
  CHECK(q.a(1, 2) == p.a(1, 2) * 0.5);
  CHECK(ebb::all_equal(q.b, p.b));
  const auto [first, second] = ebb::map<in<1>, out<0, 1>>([](auto t) { return t; }, std::tuple(p.a, p.b));
  CHECK(first(2, 1) == p.a(1, 2));
  CHECK(ebb::all_equal(second, p.b));

  const auto deep = given<5, 3, 4>(10);
  const auto all = ebb::map([](auto m) { return ebb::map<in<1>, out<1>>([](auto v) { return v / ebb::sum(v * v); }, m); }, deep);
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) squares += deep(4, i, 1) * deep(4, i, 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(all(4, i, 1) == Approx(deep(4, i, 1) / squares));

  constexpr auto products = [](auto m, auto u) { return ebb::map<in<1, unmapped>, out<1>>(product, m, u); };
  const tensor<float, 3, 4> narrow = ebb::cast<float>(x);
  const tensor<float, 2, 3> w = ebb::cast<float>(given<2, 3>(11));
  using low = ebb::autocast<ebb::bf16>;
  constexpr auto of_columns = [](auto m, auto u) {
    return ebb::transpose(ebb::map(product, ebb::transpose(m), ebb::whole(u)));
  };
  const auto inside = ebb::compile(ebb::under<low>(products))(narrow, w);
  CHECK(ebb::all_equal(inside, ebb::compile(ebb::under<low>(of_columns))(narrow, w)));
  ebb::variable v(w);
  ebb::backward(ebb::sum(products(narrow, v)));
  CHECK(v.grad().value()(1, 2) == Approx(narrow(2, 0) + narrow(2, 1) + narrow(2, 2) + narrow(2, 3)));
}

TEST_CASE("map with axes whose extents differ at the call is an error of map") {
  const auto x = tensor<double, 3, dyn>(given<3, 4>(1));
  const auto y = tensor<double, dyn>{1, 2, 3};
  const auto said = test::raised([&] { ebb::map<in<1, 0>>([](auto a, auto b) { return a * b; }, x, y); });
  CHECK(test::says(said, {"ebb::map", "[3, 4]", "[3]"}));
}
