// test/op/whole.cpp — linear systems compiled, block by block and in constant expressions, and calls with a singular matrix.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <ebb/exec/blocks.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"

namespace {

constexpr auto dyn = ebb::dyn;
using test::random_array;
template <std::size_t... E>
using array = ebb::tensor<double, E...>;

/// A loss with elementwise work before, between and after systems, one of them transposed. Each statement has one call: operands are traced
/// in the order of the calls, and their gradients are added in that order.
constexpr auto loss = [](auto a, auto b) {
  const auto t = ebb::tanh(a);
  const auto i = ebb::inverse(a);
  const auto x = ebb::solve(t + 2 * i, b * b);
  return ebb::sum(ebb::square(ebb::solve(ebb::transpose(a), x)));
};

TEST_CASE("systems have the same bits compiled, block by block and evaluated") {
  const auto check = []<class T>(T, std::size_t n, std::size_t m) {
    using square = ebb::tensor<T, dyn, dyn>;
    const square a = random_array<square>(n, n, n), b = random_array<square>(m, n, m);
    using traced = ebb::trace_of<decltype(loss), ebb::term<T, dyn, dyn>, ebb::term<T, dyn, dyn>>;
    const ebb::graph g = ebb::lower(ebb::value_and_gradient(traced::make(), {0, 1}));
    ebb::extent_list ea, eb;
    ea.rank = eb.rank = 2;
    ea.e[0] = ea.e[1] = eb.e[0] = n;
    eb.e[1] = m;
    const auto symbols = ebb::symbol_values(g, {ea, eb});
    const auto cells = [](auto& x) {
      ebb::cell_array r;
      for (T e : x) r.push(ebb::to_cell(e));
      return r;
    };
    const auto want = ebb::evaluate(g, {cells(a), cells(b)}, symbols);
    if constexpr (std::is_arithmetic_v<T>) {  // the other dtypes would only take long to compile
      const auto [value, of_a, of_b] = ebb::value_and_grad<0, 1>(loss)(a, b);
      CHECK(ebb::to_cell(value) == want[0][0]);
      CHECK((cells(of_a) == want[1]));
      CHECK((cells(of_b) == want[2]));
    }

    T v{};
    square block_a(n, n), block_b(n, m);
    void* arguments[] = {const_cast<T*>(a.data()), const_cast<T*>(b.data())};
    void* results[] = {&v, block_a.mutable_data(), block_b.mutable_data()};
    ebb::block_program blocks(g, 7);
    blocks.run(arguments, results, symbols.data());
    CHECK(ebb::to_cell(v) == want[0][0]);
    CHECK((cells(block_a) == want[1]));
    CHECK((cells(block_b) == want[2]));
  };
  check(0.0, 3, 2);
  check(0.0, 17, 5);
  check(0.0f, 5, 1);
  check(0.0f, 34, 40);
  check(ebb::bfloat16{}, 6, 3);
  check(ebb::float16{}, 19, 2);
}

TEST_CASE("derivatives of systems of every kind agree with each other and with differences") {
  using matrix = array<3, 3>;
  const matrix a = random_array<matrix>(1), u = random_array<matrix>(2);
  const array<3> b = random_array<array<3>>(3), v = random_array<array<3>>(4);
  constexpr auto f = [](auto x, auto y) { return ebb::solve(x, y); };
  constexpr auto norm = [](auto x, auto y) { return ebb::sum(ebb::square(ebb::solve(x, y))); };

  const auto moved = [&](double t) {
    matrix at = a;
    array<3> bt = b;
    for (std::size_t i = 0; i < 9; ++i) at.mutable_data()[i] += t * u.data()[i];
    for (std::size_t i = 0; i < 3; ++i) bt.mutable_data()[i] += t * v.data()[i];
    return std::pair(at, bt);
  };
  const double h = 1e-4;
  const auto [right_a, right_b] = moved(h);
  const auto [left_a, left_b] = moved(-h);
  const auto right = ebb::solve(right_a, right_b), left = ebb::solve(left_a, left_b);
  const auto [value, pushed] = ebb::jvp(f)(a, b, u, v);
  const auto [of_a, of_b] = ebb::jacobian<0, 1>(f)(a, b);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(pushed(i) == Approx((right(i) - left(i)) / (2 * h)).epsilon(1e-5));
    double sum = 0;
    for (std::size_t j = 0; j < 9; ++j) sum += of_a.data()[i * 9 + j] * u.data()[j];
    for (std::size_t j = 0; j < 3; ++j) sum += of_b.data()[i * 3 + j] * v.data()[j];
    CHECK(pushed(i) == Approx(sum).epsilon(1e-12));
  }

  // The Hessian by the right sides: 2 a^-T a^-1; by the matrix: a difference of gradients.
  const auto h_b = ebb::hessian<1>(norm)(array<2, 2>{4.0, 1.0, 2.0, 3.0}, array<2>{1.0, 2.0});
  const auto inverse = ebb::inverse(array<2, 2>{4.0, 1.0, 2.0, 3.0});
  const auto gram = ebb::matmul(ebb::transpose(inverse), inverse);
  for (std::size_t i = 0; i < 4; ++i) CHECK(h_b.data()[i] == Approx(2 * gram.data()[i]).epsilon(1e-13));

  const auto [hv_a, hv_b] = ebb::hvp(norm)(a, b, u, v);
  const auto [ga_right, gb_right] = ebb::grad<0, 1>(norm)(right_a, right_b);
  const auto [ga_left, gb_left] = ebb::grad<0, 1>(norm)(left_a, left_b);
  for (std::size_t i = 0; i < 9; ++i) CHECK(hv_a.data()[i] == Approx((ga_right.data()[i] - ga_left.data()[i]) / (2 * h)).epsilon(1e-4));
  for (std::size_t i = 0; i < 3; ++i) CHECK(hv_b(i) == Approx((gb_right(i) - gb_left(i)) / (2 * h)).epsilon(1e-4));

  // 1 / x as the inverse of a 1 x 1 matrix, differentiated four times: 24 / x^5.
  constexpr auto d0 = [](auto x) { return ebb::sum(ebb::inverse(ebb::reshape<1, 1>(x))); };
  constexpr auto d1 = [](auto x) { return ebb::grad(decltype(d0){})(x); };
  constexpr auto d2 = [](auto x) { return ebb::grad(decltype(d1){})(x); };
  constexpr auto d3 = [](auto x) { return ebb::grad(decltype(d2){})(x); };
  constexpr auto d4 = [](auto x) { return ebb::grad(decltype(d3){})(x); };
  CHECK(d1(2.0) == -0.25);
  CHECK(d2(2.0) == 0.25);
  CHECK(d4(2.0) == 0.75);
}

TEST_CASE("jacobians and maps solve systems in batches") {
  using matrix = array<3, 3>;
  const matrix a = random_array<matrix>(1);
  const auto out = ebb::inverse(a);
  const auto d = ebb::jacobian([](auto x) { return ebb::inverse(x); })(a);
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t l = 0; l < 3; ++l) worst = std::max(worst, std::fabs(d(i, j, k, l) + out(i, k) * out(l, j)));
  CHECK(worst < 1e-12);

  // A matrix for each row, one for all, and one vector for all.
  const auto many = random_array<array<dyn, 3, 3>>(2, 5);
  const auto rows = random_array<array<dyn, 3>>(3, 5);
  const auto row = random_array<array<3>>(4);
  constexpr auto each = ebb::compile([](auto m, auto x) { return ebb::map([](auto n, auto y) { return ebb::solve(n, y); }, m, x); });
  constexpr auto one_matrix = ebb::compile([](auto m, auto x) {
    return ebb::map([](auto y, auto n) { return ebb::solve(ebb::transpose(n), y); }, x, ebb::whole(m));
  });
  constexpr auto one_row = ebb::compile([](auto m, auto x) {
    return ebb::map([](auto n, auto y) { return ebb::solve(n, y); }, m, ebb::whole(x));
  });
  const auto x = each(many, rows), y = one_matrix(a, rows), z = one_row(many, row);
  for (std::size_t i = 0; i < 5; ++i) {
    const matrix own(many.row(i));
    const array<3> side(rows.row(i));
    CHECK(ebb::all_equal(array<3>(x.row(i)), ebb::solve(own, side)));
    CHECK(ebb::all_equal(array<3>(y.row(i)), ebb::solve(ebb::transpose(a), side)));
    CHECK(ebb::all_equal(array<3>(z.row(i)), ebb::solve(own, row)));
  }

  // Derivatives of maps are those of the rows.
  constexpr auto of_rows = ebb::grad<0, 1>([](auto m, auto v) {
    return ebb::sum(ebb::square(ebb::map([](auto b, auto n) { return ebb::solve(n, b); }, v, ebb::whole(m))));
  });
  constexpr auto of_row = ebb::grad<0, 1>([](auto m, auto v) { return ebb::sum(ebb::square(ebb::solve(m, v))); });
  const auto [gm, gv] = of_rows(a, rows);
  matrix sum{};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto [own_m, own_v] = of_row(a, array<3>(rows.row(i)));
    sum += own_m;
    for (std::size_t j = 0; j < 3; ++j) CHECK(gv(i, j) == Approx(own_v(j)).epsilon(1e-12));
  }
  for (std::size_t i = 0; i < 9; ++i) CHECK(gm.data()[i] == Approx(sum.data()[i]).epsilon(1e-12));
}

TEST_CASE("systems work in constant expressions") {
  static_assert(ebb::solve(ebb::tensor<double, 2, 2>{4.0, 1.0, 2.0, 3.0}, ebb::tensor<double, 2>{6.0, 8.0})(1) == 2);
  static_assert(ebb::inverse(ebb::tensor<float, 2, 2>{0.f, 2.f, -4.f, 2.f})(1, 0) == 0.5f);
  constexpr auto slope = ebb::grad([](auto x) { return ebb::sum(ebb::inverse(x)); })(ebb::tensor<double, 2, 2>{2.0, 0.0, 0.0, 4.0});
  static_assert(slope(0, 0) == -0.25 && slope(0, 1) == -0.125 && slope(1, 1) == -0.0625);
}

TEST_CASE("a singular matrix is an error of the call, which writes no result") {
  const array<2, 2> singular{1.0, 2.0, 2.0, 4.0}, good{4.0, 1.0, 2.0, 3.0};
  constexpr auto f = ebb::compile([](auto x, auto y) { return std::tuple{ebb::solve(x, y), ebb::inverse(x)}; });
  const std::string sentence = test::raised([&] { f(singular, array<2>{1.0, 1.0}); });
  CHECK(sentence.find("solve: the matrix is singular: pivot 1 is 0") + 1 != 0);
  CHECK(test::raised([&] { static_cast<void>(ebb::inverse(singular)); }).find("inverse: the matrix is singular: pivot 1 is 0") + 1 != 0);

  // The failing step writes none of its results; here it is the only step.
  array<2> x{7.0, 8.0};
  constexpr auto one = ebb::compile([](auto a, auto b) { return ebb::solve(a, b); });
  CHECK(test::raised([&] { one(ebb::into(x), singular, array<2>{1.0, 1.0}); }) != "");
  CHECK((x(0) == 7 && x(1) == 8));
  one(ebb::into(x), good, x);
  CHECK((x(0) == Approx(1.3) && x(1) == Approx(1.8)));

  // The error names the matrix of a batch, also of one that fills lanes.
  const auto batch = [](std::size_t count, std::size_t zero) {
    return array<dyn, 2, 2>::generate([=](std::size_t i) { return i != 4 * zero && (i % 4 == 0 || i % 4 == 3) ? 1 : 0; }, count);
  };
  const auto why = [](const array<dyn, 2, 2>& a) { return test::raised([&] { static_cast<void>(ebb::inverse(a)); }); };
  CHECK(why(batch(3, 2)).find("inverse: matrix 2 of 3 is singular: pivot 0 is 0") + 1 != 0);
  CHECK(why(batch(50, 37)).find("inverse: matrix 37 of 50 is singular: pivot 0 is 0") + 1 != 0);

  // Block by block gives the same error, and the next call works.
  const ebb::graph g = ebb::trace_of<decltype([](auto a) { return ebb::inverse(a); }), ebb::term<double, 2, 2>>::make();
  ebb::block_program blocks(g);
  array<2, 2> out;
  void *to = out.mutable_data(), *from = const_cast<double*>(singular.data());
  CHECK(test::raised([&] { blocks.run(&from, &to, nullptr, "here"); }) == "here: inverse: the matrix is singular: pivot 1 is 0");
  from = const_cast<double*>(good.data());
  blocks.run(&from, &to, nullptr);
  CHECK(out(0, 0) == Approx(0.3));
}

TEST_CASE("systems take no elements, and refuse extents that differ") {
  CHECK(ebb::inverse(array<0, 0>{}).size() == 0);
  CHECK(ebb::solve(array<dyn, dyn>(2, 2), array<dyn, dyn>(2, 0)).size() == 0);
  CHECK(ebb::inverse(array<dyn, 2, 2>(0)).size() == 0);
  CHECK(test::raised([] { static_cast<void>(ebb::inverse(array<dyn, dyn>(2, 3))); }).find("extents of the arguments do not fit") + 1 != 0);
  CHECK(test::raised([] { static_cast<void>(ebb::solve(array<dyn, dyn>(2, 2), array<dyn>(3))); }).find("do not fit") + 1 != 0);
}

TEST_CASE("systems work on the tape") {
  const ebb::variable<double, 2, 2> a(array<2, 2>{4.0, 1.0, 2.0, 3.0});
  const ebb::variable y = ebb::sum(ebb::inverse(a));
  y.backward();
  const auto want = ebb::grad([](auto x) { return ebb::sum(ebb::inverse(x)); })(array<2, 2>{4.0, 1.0, 2.0, 3.0});
  for (std::size_t i = 0; i < 4; ++i) CHECK(a.grad().data()[i] == want.data()[i]);
}

}  // namespace
