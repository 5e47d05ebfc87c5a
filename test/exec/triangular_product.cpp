// test/exec/triangular_product.cpp — products with triangles compiled: equal bits everywhere, batches, maps, the tape, dtypes, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: op/triangular_product.hpp kernel/triangular_product.hpp kernel/fours.hpp op/small_matrix.hpp graph/batch.hpp
#include <ebb/ebb.hpp>

#include <ebb/exec/blocks.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <string>
#include <tuple>

namespace {

using ebb::dyn;
using test::random_array;

/// All forms on one matrix. Each statement has one call: operands are traced in the order of the calls, and gradients are added in that
/// order.
constexpr auto loss = [](auto q, auto x) {
  const auto y = ebb::transpose(x);
  const auto a = ebb::matmul(ebb::lower(q), x);
  const auto b = ebb::matmul(ebb::transpose(ebb::upper(q)), x);
  const auto c = ebb::matmul(y, ebb::upper(q, ebb::unit_diagonal));
  const auto d = ebb::matmul(y, ebb::transpose(ebb::lower(q, ebb::unit_diagonal)));
  const auto e = ebb::matmul(ebb::upper(q), ebb::sum<1>(x));
  const auto f = ebb::matmul(ebb::sum<0>(y), ebb::lower(q));
  const auto left = ebb::sum(a * b);
  const auto right = ebb::sum(c * d);
  return left + right + ebb::sum(e * f);
};

TEST_CASE("products with triangles have the same bits compiled, block by block and evaluated") {
  const auto check = []<class T>(T, std::size_t n, std::size_t m) {
    using matrix = ebb::tensor<T, dyn, dyn>;
    const matrix q = random_array<matrix>(n, n, n), x = random_array<matrix>(m, n, m);
    using any = ebb::term<T, dyn, dyn>;
    const ebb::graph g = ebb::lower(ebb::value_and_gradient(ebb::trace_of<std::remove_const_t<decltype(loss)>, any, any>::make(), {0, 1}));
    ebb::extent_list eq, ex;
    eq.rank = ex.rank = 2;
    eq.e[0] = eq.e[1] = ex.e[0] = n;
    ex.e[1] = m;
    const auto symbols = ebb::symbol_values(g, {eq, ex});
    const auto cells = [](auto& array) {
      ebb::cell_array r;
      for (T e : array) r.push(ebb::to_cell(e));
      return r;
    };
    const auto want = ebb::evaluate(g, {cells(q), cells(x)}, symbols);
    const auto [value, of_q, of_x] = ebb::value_and_grad<0, 1>(loss)(q, x);
    CHECK(ebb::to_cell(value) == want[0][0]);
    CHECK((cells(of_q) == want[1]));
    CHECK((cells(of_x) == want[2]));
    T v{};
    matrix block_q(n, n), block_x(n, m);
    void* arguments[] = {const_cast<T*>(q.data()), const_cast<T*>(x.data())};
    void* results[] = {&v, block_q.mutable_data(), block_x.mutable_data()};
    ebb::block_program blocks(g, 7);
    blocks.run(arguments, results, symbols.data());
    CHECK(ebb::to_cell(v) == want[0][0]);
    CHECK((cells(block_q) == want[1]));
    CHECK((cells(block_x) == want[2]));
  };
  check(0.0, 3, 2);
  check(0.0, 37, 5);
  check(0.0f, 34, 1);
}

TEST_CASE("elements outside of the triangle count for nothing, and infinities meet no zeros") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const ebb::tensor<double, 3, 3> q{{1.0, nan, inf}, {2.0, 3.0, nan}, {4.0, 5.0, 6.0}};
  const ebb::tensor<double, 3> x{1.0, 2.0, inf};
  const auto y = ebb::matmul(ebb::lower(q), x);
  CHECK((y(0) == 1 && y(1) == 8 && y(2) == inf));
  const auto unit = ebb::matmul(x, ebb::transpose(ebb::lower(q, ebb::unit_diagonal)));
  CHECK((unit(0) == 1 && unit(1) == 4 && unit(2) == inf));
  const auto [of_q, of_x] = ebb::grad<0, 1>([](auto a, auto b) { return ebb::sum(ebb::matmul(ebb::lower(a), b)); })(q, x);
  CHECK((of_q(0, 0) == 1 && of_q(1, 0) == 1 && of_q(1, 1) == 2 && of_q(2, 0) == 1 && of_q(2, 1) == 2 && of_q(2, 2) == inf));
  CHECK((of_q(0, 1) == 0 && of_q(0, 2) == 0 && of_q(1, 2) == 0));
  CHECK((of_x(0) == 7 && of_x(1) == 8 && of_x(2) == 6));
}

TEST_CASE("triangles of 4 x 4 are products in registers, of one matrix and of many, and a triangle that a batch shares serves all of it") {
  const auto check = []<class T>(T) {
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    using matrix = ebb::tensor<T, 4, 4>;
    const auto x = random_array<ebb::tensor<T, 3, 4, 4>>(11);
    const auto numbers = random_array<matrix>(12);
    const auto in_lower = [&](std::size_t i) { return i % 4 <= i / 4; };
    const matrix low = matrix::generate([&](std::size_t i) { return in_lower(i) ? numbers.data()[i] : i % 2 ? nan : inf; });
    const matrix high = matrix::generate([&](std::size_t i) { return i % 5 == 0 || !in_lower(i) ? numbers.data()[i] : i % 2 ? nan : inf; });
    const auto want = [&](std::size_t b, bool upper, bool transposed, bool right) {
      return matrix::generate([&](std::size_t e) {
        T sum = 0;
        for (std::size_t p = 0; p < 4; ++p) {
          const std::size_t row = right ? p : e / 4, column = right ? e % 4 : p, at = transposed ? column * 4 + row : row * 4 + column;
          if (upper ? at / 4 > at % 4 : at / 4 < at % 4) continue;
          sum = ebb::lane::fma(numbers.data()[at], x.data()[b * 16 + (right ? e / 4 * 4 + p : p * 4 + e % 4)], sum);
        }
        return sum;
      });
    };
    constexpr auto all = [](auto l, auto u, auto y) {
      return std::tuple(ebb::matmul(ebb::lower(l), y), ebb::matmul(ebb::upper(u), y), ebb::matmul(ebb::transpose(ebb::lower(l)), y),
                        ebb::matmul(ebb::transpose(ebb::upper(u)), y), ebb::matmul(y, ebb::lower(l)), ebb::matmul(y, ebb::upper(u)),
                        ebb::matmul(y, ebb::transpose(ebb::lower(l))), ebb::matmul(y, ebb::transpose(ebb::upper(u))));
    };
    const auto many = ebb::compile(all)(low, high, x);
    for (std::size_t b = 0; b < 3; ++b) {
      const auto one = ebb::compile(all)(low, high, matrix(x.row(b)));
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        const auto same = [&](const auto& single, const auto& batch, std::size_t k) {
          const matrix expected = want(b, k % 2 != 0, k / 2 % 2 != 0, k / 4 != 0);
          CHECK(test::same_bits(single, expected));
          CHECK(test::same_bits(matrix(batch.row(b)), expected));
        };
        (same(std::get<K>(one), std::get<K>(many), K), ...);
      }(std::make_index_sequence<8>{});
    }
  };
  check(0.0);
  check(0.0f);
}

TEST_CASE("batches and maps give the results of single matrices") {
  using matrix = ebb::tensor<double, 5, 5>;
  using side = ebb::tensor<double, 5, 3>;
  using vector = ebb::tensor<double, 5>;
  for (const std::size_t count : {1u, 4u, 37u}) {
    CAPTURE(count);
    const auto many = random_array<ebb::tensor<double, dyn, 5, 5>>(1, count);
    const auto sides = random_array<ebb::tensor<double, dyn, 5, 3>>(2, count);
    const auto vectors = random_array<ebb::tensor<double, dyn, 5>>(3, count);
    const auto one = random_array<matrix>(4);
    constexpr auto all = [](auto q, auto x, auto v) {
      return std::tuple(ebb::matmul(ebb::lower(q), x), ebb::matmul(ebb::transpose(x), ebb::upper(q)), ebb::matmul(ebb::upper(q), v),
                        ebb::matmul(v, ebb::lower(q, ebb::unit_diagonal)), ebb::sum(ebb::exp(ebb::matmul(ebb::lower(q), x))));
    };
    const auto each = ebb::compile([](auto q, auto x, auto v) { return ebb::map(decltype(all){}, q, x, v); })(many, sides, vectors);
    const auto shared =
        ebb::compile([](auto q, auto x, auto v) { return ebb::map(decltype(all){}, ebb::whole(q), x, v); })(one, sides, vectors);
    const auto batched = ebb::matmul(ebb::lower(many), sides), of_one = ebb::matmul(ebb::lower(one), sides);
    const auto rows = ebb::matmul(vectors, ebb::lower(one, ebb::unit_diagonal));
    for (std::size_t i = 0; i < count; ++i) {
      const matrix q(many.row(i));
      const side x(sides.row(i));
      const vector v(vectors.row(i));
      const auto want = ebb::compile(all)(q, x, v), want_shared = ebb::compile(all)(one, x, v);
      const auto same = [&]<std::size_t K>(const auto& got, const auto& single, std::integral_constant<std::size_t, K>) {
        using result = std::remove_cvref_t<decltype(std::get<K>(single))>;
        if constexpr (requires { std::get<K>(single).row(0); })
          CHECK(test::same_bits(result(std::get<K>(got).row(i)), std::get<K>(single)));
        else CHECK(std::get<K>(got)(i) == std::get<K>(single));
      };
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        (same(each, want, std::integral_constant<std::size_t, K>{}), ...);
        (same(shared, want_shared, std::integral_constant<std::size_t, K>{}), ...);
      }(std::make_index_sequence<5>{});
      CHECK(test::same_bits(side(batched.row(i)), std::get<0>(want)));
      CHECK(test::same_bits(side(of_one.row(i)), std::get<0>(want_shared)));
      CHECK(test::same_bits(vector(rows.row(i)), std::get<3>(want_shared)));
    }
    // Triangles of all rows with one matrix that they share, and the gradient by that matrix.
    constexpr auto by_rows = [](auto q, auto x) { return ebb::matmul(ebb::transpose(ebb::lower(q, ebb::unit_diagonal)), x); };
    const side same_side(sides.row(0));
    const auto with_one = ebb::compile([](auto q, auto x) { return ebb::map(decltype(by_rows){}, q, ebb::whole(x)); })(many, same_side);
    const auto eager = ebb::matmul(ebb::transpose(ebb::lower(many, ebb::unit_diagonal)), same_side);
    const auto of_one_side =
        ebb::grad<1>([](auto q, auto x) { return ebb::sum(ebb::exp(ebb::map(decltype(by_rows){}, q, ebb::whole(x)))); })(many, same_side);
    const auto of_each_q =
        ebb::grad<0>([](auto q, auto x) { return ebb::sum(ebb::exp(ebb::map(decltype(by_rows){}, q, ebb::whole(x)))); })(many, same_side);
    side sum_of_sides{};
    for (std::size_t i = 0; i < count; ++i) {
      const matrix q(many.row(i));
      const side want = ebb::compile(by_rows)(q, same_side);
      CHECK(test::same_bits(side(with_one.row(i)), want));
      CHECK(test::same_bits(side(eager.row(i)), want));
      const auto [of_q, of_x] = ebb::grad<0, 1>([](auto t, auto x) { return ebb::sum(ebb::exp(decltype(by_rows){}(t, x))); })(q, same_side);
      CHECK(test::same_bits(matrix(of_each_q.row(i)), of_q));
      for (std::size_t e = 0; e < 15; ++e) sum_of_sides.mutable_data()[e] += of_x.data()[e];
    }
    for (std::size_t e = 0; e < 15; ++e) CHECK(of_one_side.data()[e] == Approx(sum_of_sides.data()[e]).epsilon(1e-13));
    // Gradients of a mapped function are those of each row, and their sum for what all share.
    constexpr auto square = [](auto q, auto x) { return ebb::sum(ebb::square(ebb::matmul(ebb::lower(q), x))); };
    const auto [of_many, of_sides] =
        ebb::grad<0, 1>([](auto q, auto x) { return ebb::sum(ebb::map(decltype(square){}, q, x)); })(many, sides);
    const auto of_shared =
        ebb::grad<0>([](auto q, auto x) { return ebb::sum(ebb::map(decltype(square){}, ebb::whole(q), x)); })(one, sides);
    ebb::tensor<double, 5, 5> sum{};
    for (std::size_t i = 0; i < count; ++i) {
      const auto [of_q, of_x] = ebb::grad<0, 1>(square)(matrix(many.row(i)), side(sides.row(i)));
      CHECK(test::same_bits(matrix(of_many.row(i)), of_q));
      CHECK(test::same_bits(side(of_sides.row(i)), of_x));
      const auto own = ebb::grad<0>(square)(one, side(sides.row(i)));
      for (std::size_t e = 0; e < 25; ++e) sum.mutable_data()[e] += own.data()[e];
    }
    for (std::size_t e = 0; e < 25; ++e) CHECK(of_shared.data()[e] == Approx(sum.data()[e]).epsilon(1e-13).margin(1e-13));
  }
}

TEST_CASE("the tape gives the gradients of the compiled function, with an eager triangle and in a region") {
  using matrix = ebb::tensor<double, dyn, dyn>;
  const matrix a = random_array<matrix>(5, 6u, 6u), b = random_array<matrix>(6, 6u, 4u);
  constexpr auto f = [](auto q, auto x) {
    const auto y = ebb::matmul(ebb::transpose(ebb::lower(q)), x);
    return ebb::sum(y * ebb::matmul(ebb::upper(q, ebb::unit_diagonal), x));
  };
  const auto [of_a, of_b] = ebb::grad<0, 1>(f)(a, b);
  for (const bool captured : {false, true}) {
    ebb::variable q(a), x(b);
    for (int step = 0; step < 3; ++step) {
      q.zero_grad();
      x.zero_grad();
      const auto y = ebb::matmul(ebb::transpose(ebb::lower(q)), x);
      ebb::backward(ebb::sum(y * ebb::matmul(ebb::upper(q, ebb::unit_diagonal), x)), {.compiled_autograd = captured});
      for (std::size_t i = 0; i < 36; ++i) CHECK(q.grad().data()[i] == Approx(of_a.data()[i]).epsilon(1e-13).margin(1e-13));
      for (std::size_t i = 0; i < 24; ++i) CHECK(x.grad().data()[i] == Approx(of_b.data()[i]).epsilon(1e-13).margin(1e-13));
    }
    q.zero_grad();
    x.zero_grad();
    ebb::backward(ebb::compile(f)(q, x), {.compiled_autograd = captured});
    for (std::size_t i = 0; i < 36; ++i) CHECK(q.grad().data()[i] == Approx(of_a.data()[i]).epsilon(1e-13).margin(1e-13));
    for (std::size_t i = 0; i < 24; ++i) CHECK(x.grad().data()[i] == Approx(of_b.data()[i]).epsilon(1e-13).margin(1e-13));
  }
}

TEST_CASE("second derivatives and directional ones agree with those of the masked product") {
  using matrix = ebb::tensor<double, 4, 4>;
  const auto q = random_array<matrix>(7), d = random_array<matrix>(8);
  const auto x = random_array<ebb::tensor<double, 4, 2>>(9);
  constexpr auto f = [](auto a, auto b) { return ebb::sum(ebb::exp(ebb::matmul(ebb::lower(a), b))); };
  constexpr auto masked = [](auto a, auto b, auto mask) { return ebb::sum(ebb::exp(ebb::matmul(a * mask, b))); };
  const auto mask = matrix::generate([](std::size_t i) { return i % 4 <= i / 4 ? 1.0 : 0.0; });
  const auto got = ebb::hvp<0>(f)(q, x, d), want = ebb::hvp<0>(masked)(q, x, mask, d);
  for (std::size_t i = 0; i < 16; ++i) CHECK(got.data()[i] == Approx(want.data()[i]).epsilon(1e-12).margin(1e-12));
  const auto [value, slope] = ebb::jvp<0>(f)(q, x, d);
  const auto [value_of_mask, slope_of_mask] = ebb::jvp<0>(masked)(q, x, mask, d);
  CHECK(value == Approx(value_of_mask));
  CHECK(slope == Approx(slope_of_mask));
}

TEST_CASE("dtypes are those of triangular systems, and an error names extents that differ") {
  const ebb::tensor<int, 2, 2> whole{{1, 2}, {3, 4}};
  const auto of_integers = ebb::matmul(ebb::lower(whole), whole);
  static_assert(std::is_same_v<decltype(of_integers)::value_type, float>);
  CHECK((of_integers(0, 0) == 1 && of_integers(0, 1) == 2 && of_integers(1, 0) == 15 && of_integers(1, 1) == 22));
  const auto narrow = random_array<ebb::tensor<ebb::bfloat16, 3, 3>>(10);
  const auto of_narrow = ebb::matmul(narrow, ebb::upper(narrow));
  static_assert(std::is_same_v<decltype(of_narrow), const ebb::tensor<ebb::bfloat16, 3, 3>>);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      float sum = 0;
      for (std::size_t p = 0; p <= j; ++p) sum = ebb::lane::fma(static_cast<float>(narrow(i, p)), static_cast<float>(narrow(p, j)), sum);
      CHECK(static_cast<float>(of_narrow(i, j)) == static_cast<float>(ebb::bfloat16(sum)));
    }
  using matrix = ebb::tensor<double, dyn, dyn>;
  CHECK(test::says(test::raised([&] { ebb::matmul(ebb::lower(matrix(3, 3)), matrix(4, 2)); }), {"ebb::matmul", "3", "4"}));
  CHECK(test::says(test::raised([&] { ebb::matmul(ebb::lower(matrix(3, 2)), matrix(3, 2)); }), {"ebb::matmul", "3", "2"}));
  CHECK(ebb::matmul(ebb::lower(matrix(0, 0)), matrix(0, 3)).size() == 0);
  CHECK(ebb::matmul(matrix(0, 3), ebb::upper(matrix(3, 3))).size() == 0);
}

// Constant expressions.
constexpr ebb::tensor<double, 2, 2> square{{1.0, 2.0}, {3.0, 4.0}};
static_assert(ebb::all_equal(ebb::compile([](auto q) { return ebb::matmul(ebb::lower(q), q); })(square),
                             ebb::tensor<double, 2, 2>{{1.0, 2.0}, {15.0, 22.0}}));
static_assert(ebb::all_equal(ebb::matmul(ebb::tensor<double, 2>{1.0, 10.0}, ebb::transpose(ebb::upper(square, ebb::unit_diagonal))),
                             ebb::tensor<double, 2>{21.0, 10.0}));

}  // namespace
