// test/op/subscript.cpp — elements and rows by numbers: traced, eager and on the tape, in loops, with gradients, in and out of range.
// SPDX-License-Identifier: BSL-1.0
// covers: subscript.hpp trace/subscript.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using ebb::dyn;
using matrix = ebb::tensor<double, 2, 3>;
using tall = ebb::tensor<double, dyn, 3>;
using wide = ebb::tensor<double, 2, dyn>;
using any = ebb::tensor<double, dyn, dyn>;
using vector = ebb::tensor<double, 3>;
using cube = ebb::tensor<double, 2, 3, 4>;

std::string raised(auto f) {
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
  return "nothing";
}

const matrix m{{1, 2, 3}, {4, 5, 6}};

// f(x) = sum_ij (i + 2 j + 1) x_ij x_(1-i)(2-j) + x_00 x_12: every element twice, with indices from both ends.
constexpr auto form = [](auto x) {
  auto s = x(0, 0) * x[1][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) s = s + (i + 2 * j + 1) * x(i, j) * x(-1 - i, -1 - j);
  return s;
};
double value_of_form(const double (&x)[2][3]) {
  double s = x[0][0] * x[1][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) s += (i + 2 * j + 1) * x[i][j] * x[1 - i][2 - j];
  return s;
}
matrix gradient_of_form(const double (&x)[2][3]) {
  matrix g;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) g.at(i, j) = ((i + 2 * j + 1) + (1 - i + 2 * (2 - j) + 1)) * x[1 - i][2 - j];
  g.at(0, 0) += x[1][2];
  g.at(1, 2) += x[0][0];
  return g;
}
constexpr double elements[2][3] = {{1, 2, 3}, {4, 5, 6}};

TEST_CASE("a subscript of a term gives an element, a row or a part along other axes") {
  const auto parts = ebb::compile([](auto x) {
    return std::tuple(x(1, 2, 3), x(-1, 0), x[1], x[0][2][-4], x(1)(2, 1), ebb::take(x, -2), x(1, 2)(0));
  });
  const auto c = cube::iota();
  const auto [a, b, d, e, f, g, h] = parts(c);
  CHECK(a == 23);
  CHECK(ebb::all_equal(b, ebb::tensor<double, 4>{12, 13, 14, 15}));
  CHECK(ebb::all_equal(d, ebb::tensor<double, 3, 4>(c.row(1))));
  CHECK(e == 8);
  CHECK(f == 21);
  CHECK(ebb::all_equal(g, ebb::tensor<double, 3, 4>(c.row(0))));
  CHECK(h == 20);
  CHECK(ebb::compile([](auto x) { return x(2) + x[-1]; })(vector{1, 2, 4}) == 8);
  CHECK(ebb::compile([](auto x) { return x() + 1; })(2.0) == 3);
  CHECK(ebb::compile([](auto x) { return x[std::size_t{1}] * x(std::int8_t{-1}) * x[2u]; })(vector{1, 3, 5}) == 75);
}

TEST_CASE("subscripts give the same elements for all combinations of static and dyn extents") {
  const auto all = [](const auto& x) {
    CHECK(ebb::compile(form)(x) == value_of_form(elements));
    CHECK(form(x) == value_of_form(elements));
    CHECK(ebb::all_equal(matrix(ebb::grad(form)(x)), gradient_of_form(elements)));
    const auto [value, gradient] = ebb::value_and_grad(form)(x);
    CHECK(value == value_of_form(elements));
    CHECK(ebb::all_equal(matrix(gradient), gradient_of_form(elements)));
    // The form is quadratic: its Hessian times x is the gradient at x.
    CHECK(ebb::all_equal(matrix(std::get<0>(std::tuple(ebb::hvp(form)(x, x)))), gradient_of_form(elements)));
  };
  all(m);
  all(tall(m));
  all(wide(m));
  all(any(m));
}

TEST_CASE("jvp and jacobian differentiate subscripts") {
  constexpr double v[2][3] = {{1, 0, -1}, {2, 1, 0}};
  const matrix along{{1, 0, -1}, {2, 1, 0}}, g = gradient_of_form(elements);
  double slope = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) slope += g(i, j) * v[i][j];
  const auto [value, change] = ebb::jvp(form)(m, along);
  CHECK(value == value_of_form(elements));
  CHECK(ebb::all_equal(change, slope));
  // The jacobian of x -> x[1] is a block of ones, row by row.
  const auto j = ebb::jacobian([](auto x) { return x[1]; })(m);
  for (int row = 0; row < 3; ++row)
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 3; ++b) CHECK(j(row, a, b) == (a == 1 && b == row));
}

TEST_CASE("subscripts in map index each row, and an integer term indexes rows") {
  const auto each = [](auto row, auto all, auto i) { return row[0] * row(-1) + all(i, 0) + ebb::take(all, i)[2]; };
  const ebb::tensor<int, 2> which{1, 0};
  CHECK(ebb::all_equal(ebb::map(each, m, ebb::whole(m), which), ebb::tensor<double, 2>{1 * 3 + 4 + 6, 4 * 6 + 1 + 3}));
  CHECK(ebb::all_equal(ebb::map(each, any(m), ebb::whole(any(m)), which), ebb::tensor<double, dyn>{1 * 3 + 4 + 6, 4 * 6 + 1 + 3}));
  CHECK(ebb::compile([](auto x, auto i) { return x(i, -1) * x(i, i) + x(0, i); })(m, 1) == 6 * 5 + 2);
  CHECK(
      ebb::all_equal(ebb::compile([](auto x, auto i) { return x[i]; })(m, ebb::tensor<int, 3>{1, 0, 1}), m[ebb::tensor<int, 3>{1, 0, 1}]));
}

TEST_CASE("subscripts in an autocast context keep the dtype of their array") {
  const ebb::tensor<float, 2, 2> x{{1.f, 2.f}, {3.f, 4.f}};
  static constexpr auto f = [](auto a) { return ebb::matmul(a, a)[1] * a(0, 1) + ebb::take(a, 1); };
  const auto low = ebb::compile(ebb::under<ebb::autocast<ebb::bf16>>(f))(x);
  CHECK(ebb::all_equal(low, ebb::compile(f)(x)));  // small integers are exact in both dtypes
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::under<ebb::autocast<ebb::bf16>>(f)(a)); })(x),
                       ebb::grad([](auto a) { return ebb::sum(f(a)); })(x)));
}

TEST_CASE("tensors, views and spans take subscripts as terms do, and return copies") {
  const tall t(m);
  CHECK(ebb::all_equal(m[1], vector{4, 5, 6}));
  CHECK(ebb::all_equal(t[-1], vector{4, 5, 6}));
  CHECK(m(-1, -3) == 4);
  CHECK(t(0)[2] == 3);
  CHECK(ebb::all_equal(cube::iota()(1, -1), ebb::tensor<double, 4>{20, 21, 22, 23}));
  CHECK(ebb::view(m)[1](0) == 4);
  CHECK(ebb::view(m)(1).data() == m.data() + 3);
  const auto row = (m + m)[1];  // a copy, not a view of the temporary
  CHECK(ebb::all_equal(row, vector{8, 10, 12}));
  static_assert(std::is_same_v<decltype(m[0]), vector>);
  CHECK(ebb::all_equal(ebb::take(m, -1), vector{4, 5, 6}));
  CHECK(ebb::all_equal(ebb::take(t, 0), vector{1, 2, 3}));
  CHECK(ebb::take(std::vector<double>{1, 2, 3}, -1) == 3);
  CHECK(ebb::take(std::array<double, 2>{1, 2}, 0) == 1);
  constexpr ebb::tensor<int, 2, 2> c{{1, 2}, {3, 4}};
  static_assert(c[1][0] == 3 && c(-1, -1) == 4 && ebb::take(c, -1)(0) == 3 && ebb::all_equal(c[0], ebb::tensor<int, 2>{1, 2}));
  static_assert(
      ebb::all_equal(ebb::grad([](auto x) { return x[0] * x[1] * x[1]; })(ebb::tensor<double, 2>{2, 3}), ebb::tensor<double, 2>{9, 12}));
}

TEST_CASE("subscripts of variables and of their expressions are recorded") {
  for (const bool captured : {false, true}) {
    ebb::variable v(m);
    ebb::variable w(any{m});
    const auto form_of = [](const auto& x) {
      ebb::variable<double> s = x(0, 0) * x[1][2];
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) s += (i + 2 * j + 1) * x(i, j) * x(-1 - i, -1 - j);
      return s;
    };
    const ebb::variable<double> s = form_of(v) + form_of(w);
    CHECK(s.item() == 2 * value_of_form(elements));
    ebb::backward(s, {.compiled_autograd = captured});
    CHECK(ebb::all_equal(v.grad().value(), gradient_of_form(elements)));
    CHECK(ebb::all_equal(matrix(w.grad().value()), gradient_of_form(elements)));
    v.zero_grad();
    w.zero_grad();
    const auto doubled = 2 * v;
    const ebb::variable<double> t =
        (v * v)[1][2] + ebb::take(v * w, -1)(0) + doubled(0, 1) + ebb::take(doubled, 0)[1] + ebb::take(w, 1)[-1];
    CHECK(t.item() == 36 + 16 + 4 + 4 + 6);
    ebb::backward(t, {.compiled_autograd = captured});
    CHECK(ebb::all_equal(v.grad().value(), matrix{{0, 4, 0}, {4, 0, 12}}));
    CHECK(ebb::all_equal(w.grad().value(), any{{0, 0, 0}, {4, 0, 1}}));
  }
}

TEST_CASE("subscripts work in regions, with gradients of gradients") {
  const auto region = ebb::compile([](auto x) { return x(0, 1) * x(0, 1) * x[1][2] + ebb::take(x, 1)[0]; });
  const ebb::variable v(m);
  const ebb::variable<double> y = region(v);
  const auto g = ebb::grad(y, ebb::wrt(v), {.create_graph = true});
  CHECK(ebb::all_equal(g.value(), matrix{{0, 24, 0}, {1, 0, 4}}));
  const ebb::variable<double> second = g(0, 1);
  second.backward();
  CHECK(ebb::all_equal(v.grad().value(), matrix{{0, 12, 0}, {0, 0, 4}}));
}

TEST_CASE("the error of a subscript outside of a dyn extent names the call, the number and the extents") {
  const any d(m);
  CHECK(raised([&] { ebb::compile([](auto x) { return x(1, 7); })(d); }) ==
        "ebb::compile: subscript: index 7 is out of range: argument 0 is [2, 3]");
  CHECK(raised([&] { ebb::grad([](auto x) { return x[-3][0]; })(d); }) ==
        "ebb::grad: subscript: index -3 is out of range: argument 0 is [2, 3]");
  CHECK(raised([&] { ebb::compile([](auto x) { return ebb::take(x, 2); })(d); }) ==
        "ebb::compile: take: index 2 is out of range: argument 0 is [2, 3]");
  CHECK(raised([&] { ebb::take(d, 2); }) == "ebb::take: index [2] is out of range for shape [2]");
  CHECK(raised([&] { ebb::take(m, -3); }) == "ebb::take: index [-3] is out of range for shape [2]");
  CHECK(raised([&] { m[2]; }) == "ebb::tensor::operator(): index [2] is out of range for shape [2]");
  CHECK(raised([&] { d(-3, 0); }) == "ebb::tensor::operator(): index [-3, 0] is out of range for shape [2, 3]");
  const ebb::variable v(m);
  CHECK(raised([&] { v[2]; }) == "ebb::variable: index [2] is out of range for shape [2]");
  CHECK(raised([&] { v(0, -4); }) == "ebb::variable: index [0, -4] is out of range for shape [2, 3]");
  const auto region = ebb::compile([](auto x) { return x(5, 0); });
  CHECK(raised([&] { region(ebb::variable(d)); }) == "ebb::compile: subscript: index 5 is out of range: argument 0 is [2, 3]");
}

TEST_CASE("the error of a wrong index in a gradient names take, and index numbers are cast as arrays are") {
  const auto f = ebb::grad([](auto x, auto i) { return ebb::sum(ebb::take(x, i)); });
  CHECK(raised([&] {
          f(m, ebb::tensor<int, 2>{0, 2});
        }) == "ebb::grad: take: number 1 of the indices of shape [2] is 2, and there are 2 rows");
  CHECK(ebb::cast<double>(true) == 1.0);
  static_assert(std::is_same_v<decltype(ebb::cast<double>(true)), double> && ebb::cast<int>(2.9) == 2);
}

TEST_CASE("arrays of indices along several axes name elements or parts; they are broadcast, beside numbers too") {
  const ebb::tensor<int, dyn> i{1, 0, 1}, j{2, 0, 2};
  const ebb::tensor<std::int64_t, dyn, 1> down{{1}, {0}};
  const auto agree = [](auto f, const auto& wanted, const auto&... at) {
    using result = std::remove_cvref_t<decltype(wanted)>;
    CHECK(ebb::all_equal(result(ebb::compile(f)(any(m), at...)), wanted));
  };
  const ebb::tensor<double, dyn> wanted{6, 1, 6};
  agree([](auto x, auto a, auto b) { return x(a, b); }, wanted, i, j);
  CHECK(ebb::all_equal(ebb::gather_nd(m, i, j), wanted));
  const ebb::variable v(m);
  CHECK(ebb::all_equal(v(i, j).value(), wanted));
  CHECK(ebb::all_equal((-v)(i, j).value(), -wanted));
  agree([](auto x, auto a) { return x(a, -1); }, ebb::tensor<double, dyn>{6, 3, 6}, i);
  agree([](auto x, auto a, auto b) { return x(a, b); }, any{{6, 4, 6}, {3, 1, 3}}, down, j);
  agree([](auto x, auto a, auto b) { return ebb::stack<2>(std::tuple(x, -x))(a, b); }, any{{6, -6}, {1, -1}, {6, -6}}, i, j);  // parts
  CHECK(ebb::gather_nd(m, ebb::tensor<int, dyn>{}, ebb::tensor<int, dyn>{}).size() == 0);
  // An index outside of its axis does not become an element of the next row.
  CHECK(raised([&] { ebb::gather_nd(m, i, ebb::tensor<int, dyn>{2, 3, 0}); }).find("gather_nd: ") != std::string::npos);
  CHECK(raised([&] { ebb::gather_nd(m, i, ebb::tensor<int, dyn>{2, -1, 0}); }).find("gather_nd: ") != std::string::npos);
}

TEST_CASE("elements by arrays of indices have first and second gradients: a place that is named twice gets both") {
  const ebb::tensor<int, dyn> i{1, 0, 1}, j{2, 0, 2};
  const ebb::tensor<double, dyn> w{1, 10, 100};
  constexpr auto f = [](auto x, auto a, auto b, auto c) {
    const auto y = ebb::gather_nd(x, a, b);
    return ebb::sum(c * y * y * y);
  };
  // 3 w x^2 at (1, 2) for w = 101 and at (0, 0) for w = 10; along d: 6 w x d.
  CHECK(ebb::all_equal(ebb::grad(f)(any(m), i, j, w), any{{30, 0, 0}, {0, 0, 3 * 101 * 36}}));
  constexpr auto slope = [](auto x, auto a, auto b, auto c) {
    return ebb::sum(
        ebb::grad([](auto y, auto p, auto q, auto v) { return ebb::sum(v * ebb::pow(ebb::gather_nd(y, p, q), 3)); })(x, a, b, c) * x);
  };
  CHECK(ebb::all_equal(ebb::grad(slope)(any(m), i, j, w), any{{90, 0, 0}, {0, 0, 9 * 101 * 36}}));  // of 3 w x^3
  for (const bool captured : {false, true}) {
    ebb::variable v{any(m)};
    ebb::backward(ebb::variable(f(v, i, j, w)), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(v.grad().value(), any{{30, 0, 0}, {0, 0, 3 * 101 * 36}}));
  }
  // Rows of a batch by their own indices, in a map.
  const auto picked = ebb::map([](auto x, auto a) { return ebb::unsqueeze<0>(x)(a - a, a); }, m, ebb::tensor<int, 2, 2>{{2, 0}, {1, 1}});
  CHECK(ebb::all_equal(picked, ebb::tensor<double, 2, 2>{{3, 1}, {5, 5}}));
}

}  // namespace
