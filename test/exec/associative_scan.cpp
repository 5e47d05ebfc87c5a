// test/exec/associative_scan.cpp — associative scans against the same combinations one after another: orders, forms, derivatives, contexts.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <vector>

namespace {

using ebb::dyn, ebb::tensor;

template <class T, std::size_t... E>
tensor<T, E...> given(std::uint64_t seed) {
  tensor<T, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(-1, 1));
  return x;
}

/// h = a h + b, one map after the other.
constexpr auto affine = [](auto p, auto q) {
  const auto& [a, b] = p;
  const auto& [c, d] = q;
  return std::tuple(a * c, c * b + d);
};
constexpr auto recurrence = [](auto a, auto b) { return ebb::associative_scan(affine, std::tuple(a, b)); };
constexpr auto in_order = [](auto a, auto b) {
  const auto step = [](auto h, auto row) {
    const auto next = affine(h, row);
    return std::tuple(next, next);
  };
  const auto [end, rest] = ebb::scan(step, std::tuple(ebb::select<0, 0>(a), ebb::select<0, 0>(b)),
                                     std::tuple(ebb::slice<0, 1>(a), ebb::slice<0, 1>(b)));
  const auto& [c, d] = rest;
  return std::tuple(ebb::concat<0>(ebb::slice<0, 0, 1>(a), c), ebb::concat<0>(ebb::slice<0, 0, 1>(b), d));
};
template <class F>
struct loss_of {
  constexpr auto operator()(auto a, auto b) const {
    const auto [c, d] = F{}(a, b);
    return ebb::sum(d * d) + ebb::sum(c);
  }
};
constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto product = [](auto a, auto b) { return ebb::matmul(a, b); };

/// The order that the note of associative_scan.hpp says, for numbers.
template <class T>
std::vector<T> in_chains(const std::vector<T>& x, auto f) {
  std::vector<T> r = x;
  const std::size_t n = x.size(), length = n >= 256 ? n / 16 : n;
  if (length == 0) return r;
  const std::size_t chains = n / length >= 16 ? 16 : 1;
  for (std::size_t c = 0; c < chains; ++c)
    for (std::size_t i = 1; i < length; ++i) r[c * length + i] = f(r[c * length + i - 1], x[c * length + i]);
  std::vector<T> before;
  for (std::size_t c = 0; c + 1 < chains; ++c) before.push_back(c == 0 ? r[length - 1] : f(before.back(), r[(c + 1) * length - 1]));
  for (std::size_t c = 1; c < chains; ++c)
    for (std::size_t i = 0; i < length; ++i) r[c * length + i] = f(before[c - 1], r[c * length + i]);
  for (std::size_t i = chains * length; i < n; ++i) r[i] = f(r[i - 1], x[i]);
  return r;
}

template <std::size_t N>
void check_sums() {
  const auto x = given<float, N>(N);
  const std::vector<float> rows(x.data(), x.data() + N), turned(rows.rbegin(), rows.rend());
  const auto plus = [](float a, float b) { return a + b; };
  const auto sums = ebb::associative_scan(add, x), from_end = ebb::associative_scan<ebb::reversed>(add, x);
  const std::vector<float> expected = in_chains(rows, plus), expected_from_end = in_chains(turned, plus);
  for (std::size_t i = 0; i < N; ++i) {
    CHECK(sums(i) == expected[i]);
    CHECK(from_end(i) == expected_from_end[N - 1 - i]);
  }
}

template <template <class, std::size_t...> class Array>
struct motions {
  using matrix = Array<double, dyn, 2, 2>;
  using vector = Array<double, dyn, 2>;
  BOOST_HANA_DEFINE_STRUCT(motions, (matrix, turn), (vector, shift));
};

}  // namespace

TEST_CASE("associative_scan combines rows in the order that its note says") {
  check_sums<1>();
  check_sums<2>();
  check_sums<255>();
  check_sums<256>();
  check_sums<301>();
  CHECK(ebb::associative_scan(add, tensor<float, 0>{}).size() == 0);
  const auto counts = ebb::associative_scan([](auto a, auto b) { return ebb::maximum(a, b); }, tensor<int, 5>{3, 1, 4, 1, 5});
  CHECK(ebb::all_equal(counts, tensor<int, 5>{3, 3, 4, 4, 5}));
}

TEST_CASE("associative_scan keeps the order of the operands: affine maps and matrices do not commute") {
  const auto a = given<double, 300>(1), b = given<double, 300>(2);
  const auto [c, d] = ebb::compile(recurrence)(a, b);
  long double factor = 1, h = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    factor *= static_cast<long double>(a(i));
    h = static_cast<long double>(a(i)) * h + static_cast<long double>(b(i));
    CHECK(static_cast<long double>(d(i)) == Approx(h).epsilon(1e-14).margin(1e-15));
    CHECK(static_cast<long double>(c(i)) == Approx(factor).epsilon(1e-13).margin(1e-300));
  }
  const auto [q, r] = ebb::associative_scan<ebb::reversed>(affine, std::tuple(a, b));
  factor = 1, h = 0;
  for (std::size_t i = 300; i-- > 0;) {
    factor *= static_cast<long double>(a(i));
    h = static_cast<long double>(a(i)) * h + static_cast<long double>(b(i));
    CHECK(static_cast<long double>(r(i)) == Approx(h).epsilon(1e-14).margin(1e-15));
    CHECK(static_cast<long double>(q(i)) == Approx(factor).epsilon(1e-13).margin(1e-300));
  }
  const auto check_products = []<std::size_t rows, std::size_t n>(const tensor<double, rows, n, n>& m) {
    const auto products = ebb::associative_scan(product, m);
    long double so_far[n][n] = {};
    for (std::size_t i = 0; i < n; ++i) so_far[i][i] = 1;
    for (std::size_t k = 0; k < rows; ++k) {
      long double next[n][n] = {};
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t l = 0; l < n; ++l) next[i][j] += so_far[i][l] * static_cast<long double>(m(k, l, j));
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          so_far[i][j] = next[i][j];
          CHECK(static_cast<long double>(products(k, i, j)) == Approx(next[i][j]).epsilon(1e-12).margin(1e-15));
        }
    }
  };
  check_products(given<double, 260, 2, 2>(3));
  check_products(given<double, 20, 4, 4>(4));
}

TEST_CASE("associative_scan takes structs, and numbers of rows that the call decides") {
  motions<tensor> p;
  p.turn = tensor<double, dyn, 2, 2>(given<double, 7, 2, 2>(5));
  p.shift = tensor<double, dyn, 2>(given<double, 7, 2>(6));
  const auto all = ebb::associative_scan([](auto first, auto then) {
    auto r = first;
    r.turn = ebb::matmul(then.turn, first.turn);
    r.shift = ebb::matmul(then.turn, first.shift) + then.shift;
    return r;
  }, p);
  double x = p.shift(0, 0), y = p.shift(0, 1);
  for (std::size_t i = 1; i < 7; ++i) {
    const double u = p.turn(i, 0, 0) * x + p.turn(i, 0, 1) * y + p.shift(i, 0),
                 v = p.turn(i, 1, 0) * x + p.turn(i, 1, 1) * y + p.shift(i, 1);
    x = u, y = v;
    CHECK(all.shift(i, 0) == Approx(x));
    CHECK(all.shift(i, 1) == Approx(y));
  }
  const auto [c, d] = recurrence(tensor<double, dyn>(given<double, 300>(1)), tensor<double, dyn>(given<double, 300>(2)));
  const auto [e, g] = ebb::compile(in_order)(given<double, 300>(1), given<double, 300>(2));
  CHECK(ebb::all_equal(c, e));
  CHECK(ebb::all_equal(d, g));
}

TEST_CASE("associative_scan has derivatives of both orders, in functions, maps, contexts and on variables") {
  const auto a = given<double, 258>(7), b = given<double, 258>(8);
  const auto [value, da, db] = ebb::value_and_grad<0, 1>(loss_of<decltype(recurrence)>{})(a, b);
  const auto [plain, pa, pb] = ebb::value_and_grad<0, 1>(loss_of<decltype(in_order)>{})(a, b);
  CHECK(value == Approx(plain).epsilon(1e-13));
  for (std::size_t i = 0; i < 258; ++i) {
    CHECK(da(i) == Approx(pa(i)).epsilon(1e-11).margin(1e-13));
    CHECK(db(i) == Approx(pb(i)).epsilon(1e-11).margin(1e-13));
  }
  const auto ha = ebb::hvp<0>(loss_of<decltype(recurrence)>{})(a, b, b), pha = ebb::hvp<0>(loss_of<decltype(in_order)>{})(a, b, b);
  for (std::size_t i = 0; i < 258; ++i) CHECK(ha(i) == Approx(pha(i)).epsilon(1e-10).margin(1e-12));
  CHECK(std::get<1>(ebb::jvp<1>(loss_of<decltype(recurrence)>{})(a, b, a)) ==
        Approx(std::get<1>(ebb::jvp<1>(loss_of<decltype(in_order)>{})(a, b, a))).epsilon(1e-12));

  const auto many = given<double, 3, 260>(9);
  const auto rows = ebb::map([](auto x) { return ebb::associative_scan(add, x); }, many);
  const auto second = ebb::associative_scan(add, tensor<double, 260>(ebb::select<0, 1>(many)));
  for (std::size_t i = 0; i < 260; ++i) CHECK(rows(1, i) == second(i));

  using low = ebb::autocast<ebb::bf16>;
  constexpr auto products = [](auto x) { return ebb::associative_scan(product, x); };
  const auto m = ebb::cast<ebb::bf16>(given<float, 5, 2, 2>(10));
  CHECK(ebb::all_equal(ebb::compile(ebb::under<low>(products))(m), ebb::compile(products)(m)));

  const auto f = ebb::cast<float>(given<double, 258>(11)), g = ebb::cast<float>(given<double, 258>(12));
  const auto [c, d] = ebb::compile(ebb::under<low>(recurrence))(f, g);  // products and sums of floats stay float in a context
  CHECK(ebb::all_equal(d, std::get<1>(ebb::compile(recurrence)(f, g))));

  ebb::variable v(given<double, 6>(13));
  ebb::variable w(a);
  ebb::backward(ebb::sum(ebb::associative_scan(add, v)));
  for (std::size_t i = 0; i < 6; ++i) CHECK(v.grad().value()(i) == static_cast<double>(6 - i));
  ebb::backward(ebb::compile(loss_of<decltype(recurrence)>{})(w, ebb::variable(b)));
  CHECK(ebb::all_equal(w.grad().value(), da));
}

TEST_CASE("associative_scan passes NaN and infinities on from their rows, and runs in constants") {
  tensor<double, 256> x = given<double, 256>(14);
  x.mutable_data()[100] = std::numeric_limits<double>::infinity();
  x.mutable_data()[200] = std::numeric_limits<double>::quiet_NaN();
  const auto sums = ebb::associative_scan(add, x);
  for (std::size_t i = 0; i < 256; ++i) CHECK((i < 100 ? std::isfinite(sums(i)) : i < 200 ? std::isinf(sums(i)) : std::isnan(sums(i))));
  constexpr auto known = ebb::associative_scan(add, tensor<int, 4>{1, 2, 3, 4});
  STATIC_REQUIRE(known(3) == 10);
}

TEST_CASE("associative_scan of rows whose numbers differ at the call is an error of the call") {
  const auto said = test::raised([] { recurrence(tensor<double, dyn>{1, 2, 3}, tensor<double, dyn>{1, 2}); });
  CHECK(test::says(said, {"[3]", "[2]"}));
  const auto empty = test::raised([] { ebb::associative_scan(add, tensor<double, dyn>(ebb::layout<dyn>{0})); });
  CHECK(test::says(empty, {"associative_scan", "[0]"}));
}
