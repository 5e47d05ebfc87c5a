// test/exec/factors.cpp — Cholesky factors and triangular systems compiled: equal bits everywhere, batches, maps, the tape, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: op/whole.hpp op/triangle.hpp kernel/triangle.hpp
#include <ebb/ebb.hpp>

#include <ebb/exec/blocks.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

constexpr auto dyn = ebb::dyn;
using test::random_array;

/// All functions on one matrix, which is first made positive definite: K = a a^T + d. Each statement has one call: operands are traced in
/// the order of the calls, and their gradients are added in that order.
constexpr auto loss = [](auto a, auto d, auto y) {
  const auto product = ebb::matmul(a, ebb::transpose(a));
  const auto k = product + d;
  const auto l = ebb::cholesky(k);
  const auto x = ebb::cholesky_solve(y, l);
  const auto of_transpose = ebb::solve_triangular(ebb::transpose(l), y, ebb::upper);
  const auto of_unit = ebb::solve_triangular(a + 4 * d, y, ebb::unit_diagonal);
  const auto squares = ebb::sum(ebb::square(of_transpose + of_unit));
  const auto quadratic = ebb::sum(y * x);
  const auto of_k = ebb::logdet_spd(k);
  const auto of_a = ebb::logdet(a + 3 * d);
  return quadratic + squares + of_k + of_a;
};

template <class T>
ebb::tensor<T, dyn, dyn> identity(std::size_t n) {
  ebb::tensor<T, dyn, dyn> r(n, n);
  for (std::size_t i = 0; i < n; ++i) r.mutable_data()[i * (n + 1)] = ebb::as_element<T>(1.0);
  return r;
}

TEST_CASE("factors have the same bits compiled, block by block and evaluated") {
  const auto check = []<class T>(T, std::size_t n, std::size_t m) {
    using matrix = ebb::tensor<T, dyn, dyn>;
    const matrix a = random_array<matrix>(n, n, n), d = identity<T>(n), y = random_array<matrix>(m, n, m);
    using any = ebb::term<T, dyn, dyn>;
    const ebb::graph g =
        ebb::lower(ebb::value_and_gradient(ebb::trace_of<std::remove_const_t<decltype(loss)>, any, any, any>::make(), {0, 2}));
    ebb::extent_list ea, ey;
    ea.rank = ey.rank = 2;
    ea.e[0] = ea.e[1] = ey.e[0] = n;
    ey.e[1] = m;
    const auto symbols = ebb::symbol_values(g, {ea, ea, ey});
    const auto cells = [](auto& x) {
      ebb::cell_array r;
      for (T e : x) r.push(ebb::to_cell(e));
      return r;
    };
    const auto want = ebb::evaluate(g, {cells(a), cells(d), cells(y)}, symbols);
    const auto [value, of_a, of_y] = ebb::value_and_grad<0, 2>(loss)(a, d, y);
    CHECK(ebb::to_cell(value) == want[0][0]);
    CHECK((cells(of_a) == want[1]));
    CHECK((cells(of_y) == want[2]));
    T v{};
    matrix block_a(n, n), block_y(n, m);
    void* arguments[] = {const_cast<T*>(a.data()), const_cast<T*>(d.data()), const_cast<T*>(y.data())};
    void* results[] = {&v, block_a.mutable_data(), block_y.mutable_data()};
    ebb::block_program blocks(g, 7);
    blocks.run(arguments, results, symbols.data());
    CHECK(ebb::to_cell(v) == want[0][0]);
    CHECK((cells(block_a) == want[1]));
    CHECK((cells(block_y) == want[2]));
  };
  check(0.0, 3, 2);
  check(0.0, 37, 5);
  check(0.0f, 34, 1);
}

TEST_CASE("batches, maps and one factor for all rows give the results of single matrices") {
  using many = ebb::tensor<double, 4, 3, 3>;
  using matrix = ebb::tensor<double, 3, 3>;
  using vector = ebb::tensor<double, 3>;
  const many a = random_array<many>(1);
  const auto rows = random_array<ebb::tensor<double, 4, 3>>(2);
  const matrix d{{3.0, 0.0, 0.0}, {0.0, 3.0, 0.0}, {0.0, 0.0, 3.0}};
  constexpr auto factor = [](auto x, auto e) { return ebb::cholesky(ebb::matmul(x, ebb::transpose<0, 2, 1>(x)) + e); };
  constexpr auto one_factor = [](auto x, auto e) { return ebb::cholesky(ebb::matmul(x, ebb::transpose(x)) + e); };
  const auto l = ebb::compile(factor)(a, d);
  const auto x = ebb::cholesky_solve(rows, l);
  const auto sizes = ebb::logdet_spd(ebb::compile([](auto b, auto e) { return ebb::matmul(b, ebb::transpose<0, 2, 1>(b)) + e; })(a, d));
  const auto mapped = ebb::compile([](auto b, auto e) {
    return ebb::map([](auto o, auto f) { return ebb::cholesky(ebb::matmul(o, ebb::transpose(o)) + f); }, b, ebb::whole(e));
  })(a, d);
  const auto shared = ebb::compile([](auto r, auto f) {
    return ebb::map([](auto o, auto t) { return ebb::solve_triangular(t, o, ebb::taken_transposed); }, r, ebb::whole(f));
  })(rows, matrix(l.row(0)));
  CHECK(test::same_bits(l, mapped));
  for (std::size_t i = 0; i < 4; ++i) {
    const matrix own(a.row(i)), own_l = ebb::compile(one_factor)(own, d);
    const vector side(rows.row(i));
    CHECK(test::same_bits(matrix(l.row(i)), own_l));
    CHECK(test::same_bits(vector(x.row(i)), ebb::cholesky_solve(side, own_l)));
    CHECK(test::same_bits(vector(shared.row(i)), ebb::solve_triangular(matrix(l.row(0)), side, ebb::taken_transposed)));
    CHECK(sizes(i) == Approx(2 * std::log(own_l(0, 0) * own_l(1, 1) * own_l(2, 2))).epsilon(1e-14));
    const auto [sign, size] = ebb::slogdet(own);
    CHECK(sign * std::exp(size) == Approx(own(0, 0) * (own(1, 1) * own(2, 2) - own(1, 2) * own(2, 1)) -
                                           own(0, 1) * (own(1, 0) * own(2, 2) - own(1, 2) * own(2, 0)) +
                                           own(0, 2) * (own(1, 0) * own(2, 1) - own(1, 1) * own(2, 0))));
  }
}

TEST_CASE("an error names the matrix that is not positive definite; with a tag the factor is NaN") {
  using many = ebb::tensor<double, dyn, 2, 2>;
  many a(3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) a.mutable_data()[4 * i + k] = k == 0 || k == 3 ? (i == 1 && k == 3 ? -1.0 : 4.0) : 0.0;
  CHECK(test::raised([&] { ebb::cholesky(a); }) ==
        "ebb::cholesky: matrix 1 of 3 is not positive definite: its leading minor of order 2 is not positive");
  CHECK(test::raised([&] { ebb::compile([](auto x) { return ebb::logdet_spd(x); })(ebb::tensor<double, 1, 1>{{0.0}}); }) ==
        "ebb::compile: cholesky: the matrix is not positive definite: its leading minor of order 1 is not positive");
  const auto l = ebb::cholesky(a, ebb::nan_if_not);
  CHECK(l(0, 0, 0) == 2);
  CHECK(l(2, 1, 1) == 2);
  // The same in a batch that fills lanes.
  const auto b = many::generate([](std::size_t i) { return i == 131 || i == 147 ? -1.0 : i % 4 == 0 || i % 4 == 3 ? 4.0 : 0.0; }, 50);
  CHECK(test::raised([&] { ebb::cholesky(b); }) ==
        "ebb::cholesky: matrix 32 of 50 is not positive definite: its leading minor of order 2 is not positive");
  const auto factors = ebb::cholesky(b, ebb::nan_if_not);
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(std::isnan(factors(i, 1, 1)) == (i == 32 || i == 36));
    CHECK((std::isnan(factors(i, 1, 1)) || factors(i, 1, 1) == 2));
    CHECK(factors(i, 0, 1) == 0);
  }
  const auto sizes = ebb::logdet_spd(a, ebb::nan_if_not);
  CHECK((sizes(0) == 2 * (std::log(2.0) + std::log(2.0)) && std::isnan(sizes(1))));
  CHECK((std::isnan(l(1, 0, 0)) && std::isnan(l(1, 1, 0)) && std::isnan(l(1, 1, 1)) && l(1, 0, 1) == 0));
  const auto wrong = ebb::tensor<double, dyn, dyn>(2, 3);
  CHECK(test::says(test::raised([&] { ebb::cholesky(wrong); }), {"ebb::cholesky", "2", "3"}));
}

TEST_CASE("an error names the singular matrix; with a tag its solution, its inverse, and their gradients are NaN, and others theirs") {
  using many = ebb::tensor<double, dyn, 2, 2>;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  // Matrix 1 and, in a batch that fills lanes, matrix 33 are singular; others are 2.
  for (const std::size_t batch : {3u, 50u}) {
    CAPTURE(batch);
    const auto is_singular = [](std::size_t i) { return i == 1 || i == 33; };
    const auto element = [&](std::size_t i) { return i % 4 == 0 || (i % 4 == 3 && !is_singular(i / 4)) ? 2.0 : 0.0; };
    const many a = many::generate(element, batch);
    const std::string named = "matrix 1 of " + std::to_string(batch) + " is singular: pivot 1 is 0";
    CHECK(test::raised([&] { ebb::solve(a, a); }) == "ebb::solve: " + named);
    CHECK(test::raised([&] { ebb::inverse(a); }) == "ebb::inverse: " + named);
    CHECK(test::raised([&] { ebb::solve_triangular(a, a, ebb::error_if_singular); }) == "ebb::solve_triangular: " + named);
    CHECK(test::raised([&] { ebb::solve_triangular(a, a, ebb::error_if_singular, ebb::upper, ebb::from_right); }) ==
          "ebb::solve_triangular: " + named);
    const auto x = ebb::solve(a, a, ebb::nan_if_not), inverse = ebb::inverse(a, ebb::nan_if_not);
    const auto of_a = ebb::grad<0>([](auto m) { return ebb::sum(ebb::inverse(m, ebb::nan_if_not)); })(a);
    const auto of_log = ebb::grad<0>([](auto m) { return ebb::sum(ebb::logdet(m)); })(a);
    const auto of_t = ebb::solve_triangular(a, a);
    for (std::size_t i = 0; i < 4 * batch; ++i) {
      const bool diagonal = i % 4 == 0 || i % 4 == 3, singular = is_singular(i / 4);
      const auto is = [&](double want, double got) { return std::isnan(want) ? std::isnan(got) : want == got; };
      CHECK(is(singular ? nan : diagonal ? 1 : 0, x.data()[i]));
      CHECK(is(singular ? nan : diagonal ? 0.5 : 0, inverse.data()[i]));
      CHECK(is(singular ? nan : -0.25, of_a.data()[i]));
      CHECK(is(singular ? inf : diagonal ? 0.5 : 0, of_log.data()[i]));
      CHECK(is(singular && i % 4 >= 2 ? nan : diagonal ? 1 : 0, of_t.data()[i]));
    }
  }
  // One matrix whose extents are constants has a way of its own, and large ones have another.
  const ebb::tensor<double, 2, 2> one{{1.0, 2.0}, {2.0, 4.0}};
  CHECK(test::raised([&] { ebb::solve_triangular(ebb::tensor<double, 2, 2>{{1.0, 2.0}, {2.0, 0.0}}, one, ebb::error_if_singular); }) ==
        "ebb::solve_triangular: the matrix is singular: pivot 1 is 0");
  const ebb::tensor<double, 2, 2> none = ebb::solve(one, one, ebb::nan_if_not), inverse = ebb::inverse(one, ebb::nan_if_not);
  for (std::size_t i = 0; i < 4; ++i) CHECK((std::isnan(none.data()[i]) && std::isnan(inverse.data()[i])));
  const auto large = ebb::tensor<float, dyn, dyn>::generate([](std::size_t) { return 1.0f; }, 70, 70);
  const auto of_large = ebb::inverse(large, ebb::nan_if_not);
  for (const std::size_t i : {0u, 1u, 4899u}) CHECK(std::isnan(of_large.data()[i]));
  const ebb::tensor<ebb::bfloat16, 2, 2> narrow{};
  CHECK(std::isnan(static_cast<float>(ebb::inverse(narrow, ebb::nan_if_not)(1, 1))));
  CHECK(ebb::solve(ebb::tensor<double, dyn, dyn>(0, 0), ebb::tensor<double, dyn, dyn>(0, 2), ebb::nan_if_not).size() == 0);
}

TEST_CASE("factors on the tape have the bits of the function, plain and captured") {
  const auto start = random_array<ebb::tensor<double, 4, 4>>(3);
  const auto y = random_array<ebb::tensor<double, 4, 2>>(4);
  ebb::tensor<double, 4, 4> d{};
  for (std::size_t i = 0; i < 4; ++i) d.mutable_data()[5 * i] = 2;
  ebb::tensor<double, 4, 4> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    for (int step = 0; step < 3; ++step) {
      x.zero_grad();
      const auto k = ebb::matmul(x, ebb::transpose(x)) + d;
      const auto l = ebb::cholesky(k);
      ebb::backward(ebb::sum(y * ebb::cholesky_solve(y, l)) + ebb::logdet_spd(k) + ebb::logdet(x + d), {.compiled_autograd = captured});
      gradient[captured] = x.grad().value();
    }
  }
  CHECK(test::same_bits(gradient[0], gradient[1]));
  const auto functional = ebb::grad<0>([](auto x, auto v, auto e) {
    const auto k = ebb::matmul(x, ebb::transpose(x)) + e;
    return ebb::sum(v * ebb::cholesky_solve(v, ebb::cholesky(k))) + ebb::logdet_spd(k) + ebb::logdet(x + e);
  })(start, y, d);
  for (std::size_t i = 0; i < 16; ++i) CHECK(gradient[0].data()[i] == Approx(functional.data()[i]).epsilon(1e-11));
}

// Constant expressions.
constexpr ebb::tensor<double, 2, 2> spd{{4.0, 2.0}, {2.0, 10.0}};
static_assert(ebb::all_equal(ebb::compile([](auto a) { return ebb::cholesky(a); })(spd),
                             ebb::tensor<double, 2, 2>{{2.0, 0.0}, {1.0, 3.0}}));
static_assert(ebb::all_equal(ebb::compile([](auto a, auto b) {
                               return ebb::cholesky_solve(b, ebb::cholesky(a));
                             })(spd, ebb::tensor<double, 2>{8.0, 22.0}),
                             ebb::tensor<double, 2>{1.0, 2.0}));

}  // namespace
