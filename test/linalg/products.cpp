// test/linalg/products.cpp — kron, cross, matrix_power and multi_dot against recorded values and loops in long double.
// SPDX-License-Identifier: BSL-1.0
// covers: products.hpp chain_order.hpp op/product_cost.hpp
#include "oracle.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace {

using namespace linalg_test;
using golden::of;
using golden::real;

TEST_CASE("Kronecker, cross, power and chain products have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 8, .grad = 16, .second = 64, .spread = true};
  const auto kron = [](auto x, auto y) { return ebb::kron(x, y); };
  const auto cross = [](auto x, auto y) { return ebb::cross<0>(x, y); };
  const auto cube = [](auto x) { return ebb::matrix_power<3>(x); };
  const auto inverse_square = [](auto x) { return ebb::matrix_power<-2>(x); };
  const auto chain = [](auto x, auto y, auto z) { return ebb::multi_dot(x, y, z); };
  check_recorded<wide<2, 2>, wide<2, 3>>("ops2", "kron_batched", kron, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("ops2", "kron_batched", kron, b);
  check_recorded<wide<3, 2>, wide<3, 2>>("ops2", "cross_axis_0", cross, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("ops2", "cross_axis_0", cross, b);
  check_recorded<wide<3, 3>>("ops2", "matrix_power_-2", inverse_square, b);
  check_recorded<wide<dyn, dyn>>("ops2", "matrix_power_-2", inverse_square, b);
  golden::check<of<real, dyn, dyn>>("linear", "matrix_power_3", cube, b);
  golden::check<of<real, dyn, dyn>, of<real, dyn, dyn>, of<real, dyn, dyn>>("linear", "multi_dot", chain, b);
}

TEST_CASE("batches of Kronecker products are those of loops, and powers are repeated products") {
  const auto x = test::random_array<ebb::tensor<double, 2, 2, 3>>(1);
  const auto y = test::random_array<ebb::tensor<double, 4, 2>>(2);
  const auto r = ebb::kron(x, y);
  REQUIRE(r.extent(1) == 8);
  REQUIRE(r.extent(2) == 6);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 6; ++j) CHECK(r(b, i, j) == x(b, i / 4, j / 2) * y(i % 4, j % 2));
  const auto z = test::random_array<ebb::tensor<double, 4, 3>>(8);
  const auto columns = ebb::khatri_rao(x, z);
  REQUIRE(columns.extent(1) == 8);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 3; ++j) CHECK(columns(b, i, j) == x(b, i / 4, j) * z(i % 4, j));
  const auto a = test::random_array<ebb::tensor<double, 2, 3, 3>>(3);
  const auto seventh = ebb::matrix_power<7>(a);
  auto product = a;
  for (int k = 1; k < 7; ++k) product = ebb::matmul(product, a);
  for (std::size_t i = 0; i < 18; ++i) CHECK(seventh.data()[i] == Approx(product.data()[i]).margin(1e-14));
  const auto one = ebb::matrix_power<0>(a);
  for (std::size_t i = 0; i < 18; ++i) CHECK(one.data()[i] == (i % 9 % 4 == 0));
  CHECK(ebb::all_equal(ebb::matrix_power<1>(a), a));
  const ebb::tensor<std::int64_t, 2, 2> fibonacci{{1, 1}, {1, 0}};
  CHECK(ebb::matrix_power<10>(fibonacci)(0, 1) == 55);
  const auto tall = test::random_array<ebb::tensor<double, 9, 2>>(4);
  const auto flat = test::random_array<ebb::tensor<double, 2, 9>>(5);
  const auto thin = test::random_array<ebb::tensor<double, 9, 1>>(6);
  CHECK(ebb::all_equal(ebb::multi_dot(tall, flat, thin), ebb::matmul(tall, ebb::matmul(flat, thin))));
  CHECK(ebb::all_equal(ebb::multi_dot(flat, tall, flat), ebb::matmul(ebb::matmul(flat, tall), flat)));
}

/// The products of numbers in the matrix products of a graph whose extents are known or given.
std::size_t multiplications(const ebb::graph& g, std::initializer_list<ebb::extent_list> in) {
  ebb::vec<ebb::extent_list> shapes;
  for (const ebb::extent_list& e : in) shapes.push(e);
  const auto symbols = ebb::symbol_values(g, shapes);
  std::size_t r = 0;
  for (int k = 0; k < g.size(); ++k) {
    if (g.op(k).what != ebb::kind::contract) continue;
    const auto first = ebb::extents_at(g.shape_of(g.operand(k, 0)), symbols.data());
    r += ebb::extents_at(g.shape_of(k), symbols.data()).volume() * first.e[first.rank - (g.eq[k].attr[0] & ebb::left_transposed ? 2 : 1)];
  }
  return r;
}
template <class... A>
std::size_t multiplications_of(auto f, std::initializer_list<ebb::extent_list> in) {
  return multiplications(ebb::trace_of<decltype(f), A...>::make(), in);
}
constexpr auto chain_of = [](const auto&... x) { return ebb::multi_dot(x...); };

/// The graph of a chain of N matrices with these extents: N + 1 of the matrices, and the batch of each, 0 for none.
template <std::size_t N>
ebb::graph graph_of_chain(const std::array<int, N + 1>& extents, const std::array<int, N>& batch) {
  ebb::graph g;
  std::array<ebb::operand<double>, N> in;
  for (std::size_t j = 0; j < N; ++j) {
    ebb::shape s;
    if (batch[j] > 0) s.push(batch[j]);
    s.push(extents[j]), s.push(extents[j + 1]);
    in[j] = {&g, ebb::emit_as<ebb::op::input, double>(g, g.intern(s), {}, {static_cast<int>(j)})};
    ++g.inputs;
  }
  g.out.push(std::apply([](auto... x) { return ebb::functions::multi_dot::apply(x...); }, in).id);
  return g;
}
/// The least number of multiplications of all orders, by trying all of them.
template <std::size_t N>
std::size_t least_of_chain(const std::array<int, N + 1>& extents, const std::array<int, N>& batch) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  const auto volume = [&](std::size_t first, std::size_t end) {
    return static_cast<std::size_t>(std::max(
        1, *std::max_element(batch.begin() + static_cast<std::ptrdiff_t>(first), batch.begin() + static_cast<std::ptrdiff_t>(end))));
  };
  const std::function<std::size_t(std::size_t, std::size_t)> least = [&](std::size_t first, std::size_t end) -> std::size_t {
    if (end - first == 1) return 0;
    if (const auto at = known.find({first, end}); at != known.end()) return at->second;
    std::size_t best = ~std::size_t{0};
    for (std::size_t cut = first + 1; cut < end; ++cut)
      best = std::min(best, least(first, cut) + least(cut, end) +
                                volume(first, end) * static_cast<std::size_t>(extents[first] * extents[cut] * extents[end]));
    return known[{first, end}] = best;
  };
  return least(0, N);
}
template <std::size_t N>
void check_random_chains(std::mt19937_64& next) {
  int reordered = 0;
  for (int turn = 0; turn < 60; ++turn) {
    std::array<int, N + 1> extents{};
    std::array<int, N> batch{};
    for (int& e : extents) e = 1 + static_cast<int>(next() % 20);
    // One batch for all, for some, or for none.
    for (int& b : batch) b = turn % 3 == 0 ? 0 : turn % 3 == 1 ? 3 : next() % 2 ? 3 : 0;
    const ebb::graph g = graph_of_chain<N>(extents, batch);
    const std::size_t cost = multiplications(g, {});
    CHECK(cost == least_of_chain<N>(extents, batch));
    std::size_t from_left = 0, volume = static_cast<std::size_t>(std::max(1, batch[0]));
    for (std::size_t j = 1; j < N; ++j) {
      volume = std::max(volume, static_cast<std::size_t>(batch[j]));
      from_left += volume * static_cast<std::size_t>(extents[0] * extents[j] * extents[j + 1]);
    }
    reordered += cost < from_left;
  }
  CHECK(reordered > 20);
}

TEST_CASE("multi_dot multiplies in the cheapest order of neighbours if extents are known, else from left to right") {
  // Cormen et al., Introduction to Algorithms, section 15.2: ((0(12))((34)5)).
  const auto known = multiplications_of<wide<30, 35>, wide<35, 15>, wide<15, 5>, wide<5, 10>, wide<10, 20>, wide<20, 25>>(chain_of, {});
  CHECK(known == 15125);
  const auto e = [](std::size_t a, std::size_t b) { return extents_of({a, b}); };
  const auto open = multiplications_of<wide<dyn, 35>, wide<35, 15>, wide<15, 5>, wide<5, 10>, wide<10, 20>, wide<20, 25>>(
      chain_of, {e(30, 35), e(35, 15), e(15, 5), e(5, 10), e(10, 20), e(20, 25)});
  CHECK(open == 30 * (35 * 15 + 15 * 5 + 5 * 10 + 10 * 20 + 20 * 25));
  // Vectors at the ends, a batch whose extent all factors share, one that a factor lacks, and a vector in between.
  using vector = ebb::term<double, 9>;
  CHECK(multiplications_of<wide<9, 9>, wide<9, 9>, vector>(chain_of, {}) == 162);
  CHECK(multiplications_of<vector, wide<9, 9>, wide<9, 9>, vector>(chain_of, {}) == 171);
  const auto b = [](std::size_t n, std::size_t k, std::size_t m) { return extents_of({n, k, m}); };
  const auto batches = {b(2, 9, 2), b(2, 2, 9), b(2, 9, 1)};
  CHECK(multiplications_of<wide<dyn, 9, 2>, wide<dyn, 2, 9>, wide<9, 1>>(chain_of, {b(2, 9, 2), b(2, 2, 9), e(9, 1)}) == 2 * (162 + 81));
  CHECK(multiplications_of<wide<1, 9, 2>, wide<2, 2, 9>, wide<2, 9, 1>>(chain_of, {}) == 2 * (18 + 18));
  // Another operand knows the extent: the call checks it.
  CHECK(multiplications_of<wide<dyn, 9, 2>, wide<2, 2, 9>, wide<2, 9, 1>>(chain_of, batches) == 2 * (18 + 18));
  CHECK(multiplications_of<wide<9, 2>, wide<dyn, 9>, wide<dyn, 1>>(chain_of, {e(9, 2), e(2, 9), e(9, 1)}) == 18 + 18);
  constexpr auto one_batch = [](auto x) { return ebb::multi_dot(x, ebb::transpose(x), x); };
  CHECK(multiplications_of<wide<dyn, 9, 2>>(one_batch, {b(5, 9, 2)}) == 5 * (2 * 9 * 2 + 9 * 2 * 2));
  CHECK(multiplications_of<wide<100, 4, 4>, wide<4, 4>, wide<4, 4>>(chain_of, {}) == 64 + 100 * 64);
  // As matmul of matmul, where a batch of vectors is a matrix.
  CHECK(multiplications_of<vector, wide<2, 9, 9>, wide<2, 9, 1>>(chain_of, {}) == 2 * (81 + 2 * 9));
  CHECK(multiplications_of<wide<3, 9>, vector, wide<3, 3>>(chain_of, {}) == 27 + 9);
  std::mt19937_64 next(5);
  check_random_chains<3>(next);
  check_random_chains<4>(next);
  check_random_chains<7>(next);
  check_random_chains<12>(next);
  const auto eye = test::random_array<ebb::tensor<double, 1, 1>>(5);
  const auto power = [&]<std::size_t... I>(std::index_sequence<I...>) { return ebb::multi_dot((static_cast<void>(I), eye)...); };
  CHECK(power(std::make_index_sequence<60>{})(0, 0) == Approx(std::pow(eye(0, 0), 60)));
  const ebb::tensor<int, 2, 2> fibonacci{{1, 1}, {1, 0}};
  CHECK(ebb::multi_dot(fibonacci, fibonacci, fibonacci, ebb::tensor<float, 2, 1>{{0.5f}, {0.0f}})(0, 0) == 1.5f);
  CHECK(ebb::multi_dot(ebb::tensor<double, 3, 0>(), ebb::tensor<double, 0, 2>(), ebb::tensor<double, 2, 4>())(2, 3) == 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(ebb::multi_dot(ebb::tensor<double, 1, 1>{{nan}}, ebb::tensor<double, 1, 2>{{0.0, 1.0}},
                                  ebb::tensor<double, 2, 1>{{1.0}, {0.0}})(0, 0)));
  CHECK(test::says(test::raised([&] {
                     ebb::multi_dot(ebb::tensor<double, dyn, dyn>(2, 3), ebb::tensor<double, dyn, dyn>(2, 3),
                                    ebb::tensor<double, dyn, dyn>(3, 3));
                   }),
                   {"multi_dot", "[2, 3]"}));
}

/// One chain of matrices that depend on x, in which the cheapest order is not from left to right: x x^T (s x) x^T x.
constexpr auto chain_of_one = [](auto x) { return ebb::multi_dot(x, ebb::transpose(x), ebb::sin(x), ebb::transpose(x), x); };
long_numbers chain_in_long_double(const long_numbers& x) {
  const auto product = [](const long_numbers& a, const long_numbers& b, std::size_t inner) {
    const std::size_t rows = a.size() / inner, columns = b.size() / inner;
    long_numbers r(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t k = 0; k < inner; ++k) r[i * columns + j] += a[i * inner + k] * b[k * columns + j];
    return r;
  };
  long_numbers turned(x.size()), s;
  for (std::size_t i = 0; i < 5; ++i) turned[i] = x[2 * i], turned[5 + i] = x[2 * i + 1];
  for (const long double e : x) s.push_back(std::sin(e));
  return product(product(product(product(x, turned, 2), s, 5), turned, 2), x, 5);
}

TEST_CASE("chains of products have the values, first and second derivatives of loops in long double, in either order") {
  CHECK(multiplications_of<wide<5, 2>>(chain_of_one, {}) == 20 + 20 + 8 + 20);
  against_differences<wide<5, 2>>("multi_dot", chain_of_one, random_numbers(10, 7), extents_of({5, 2}), chain_in_long_double, 1e-11L,
                                  1e-7L);
  against_differences<wide<dyn, dyn>>("multi_dot", chain_of_one, random_numbers(10, 8), extents_of({5, 2}), chain_in_long_double, 1e-11L,
                                      1e-7L);
  const auto x = test::random_array<ebb::tensor<double, 5, 2>>(9);
  const auto functional = ebb::grad([](auto y) { return ebb::sum(ebb::square(chain_of_one(y))); })(x);
  ebb::variable v(x);
  ebb::backward(ebb::sum(ebb::square(chain_of_one(v))));
  for (std::size_t i = 0; i < 10; ++i) CHECK(v.grad().value().data()[i] == Approx(functional.data()[i]));
}

TEST_CASE("the first and second derivatives of Khatri-Rao products are those of a loop in long double, with empty matrices too") {
  // Both factors depend on x, so the gradient has both parts.
  const auto f = [](auto x) { return ebb::khatri_rao(x, ebb::sin(x)); };
  against_differences<wide<dyn, dyn>>("khatri_rao", f, random_numbers(6, 3), extents_of({2, 3}), [](const long_numbers& x) {
    long_numbers r;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 3; ++j) r.push_back(x[i / 2 * 3 + j] * std::sin(x[i % 2 * 3 + j]));
    return r;
  }, 1e-12L, 1e-8L);
  CHECK(ebb::khatri_rao(ebb::tensor<double, dyn, dyn>(2, 0), ebb::tensor<double, dyn, dyn>(3, 0)).extent(0) == 6);
  const ebb::tensor<double, dyn, dyn> wide_one(2, 3), narrow_one(2, 1);
  CHECK(test::says(test::raised([&] { ebb::khatri_rao(wide_one, narrow_one); }), {"khatri_rao", "[2, 3]", "[2, 1]"}));
}

TEST_CASE("cross products: axes, broadcasts, errors, the tape") {
  const auto x = test::random_array<ebb::tensor<double, 4, 3>>(1), y = test::random_array<ebb::tensor<double, 4, 3>>(2);
  const auto r = ebb::cross(x, y);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t a = (k + 1) % 3, b = (k + 2) % 3;
      CHECK(r(i, k) == x(i, a) * y(i, b) - x(i, b) * y(i, a));
    }
  const ebb::tensor<double, 3> up{0.0, 0.0, 1.0};
  CHECK(ebb::cross(x, up)(2, 0) == x(2, 1));
  CHECK(ebb::cross(x, up)(2, 1) == -x(2, 0));
  CHECK(test::says(test::raised([&] { ebb::cross(ebb::tensor<double, dyn>(2), up); }), {"ebb::cross", "[2]"}));
  const ebb::tensor<double, 2, 2> singular{{1.0, 2.0}, {2.0, 4.0}};
  CHECK(test::says(test::raised([&] { ebb::matrix_power<-1>(singular); }), {"matrix_power<-1>", "singular"}));
  CHECK(test::says(test::raised([&] { ebb::matrix_power<2>(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::matrix_power<2>", "[2, 3]"}));
  const auto start = test::random_array<ebb::tensor<double, 3>>(5);
  ebb::tensor<double, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    const auto square = ebb::matrix_power<2>(ebb::outer(v, v));
    ebb::backward(ebb::sum(ebb::square(ebb::cross(v, up))) + ebb::trace(square), {.compiled_autograd = captured});
    gradient[captured] = v.grad().value();
  }
  const double squares = start(0) * start(0) + start(1) * start(1) + start(2) * start(2);
  CHECK(ebb::all_equal(gradient[0], gradient[1]));
  for (std::size_t i = 0; i < 3; ++i) CHECK(gradient[0](i) == Approx((i < 2 ? 2 * start(i) : 0) + 4 * squares * start(i)));
}

TEST_CASE(
    "the triple product is the determinant of its vectors; its gradient and second derivatives are those of a formula in long double") {
  const auto f = [](auto x) { return ebb::triple(ebb::select<0, 0>(x), ebb::select<0, 1>(x), ebb::select<0, 2>(x)); };
  const auto oracle = [](const std::vector<long double>& x) {
    return std::vector<long double>{x[0] * (x[4] * x[8] - x[5] * x[7]) + x[1] * (x[5] * x[6] - x[3] * x[8]) +
                                    x[2] * (x[3] * x[7] - x[4] * x[6])};
  };
  against_differences<wide<dyn, dyn>>("triple", f, random_numbers(9, 5), extents_of({3, 3}), oracle, 1e-12L, 1e-8L);
  const ebb::tensor<int, 2, 3> a{{1, 0, 0}, {0, 2, 0}}, b{{0, 1, 0}, {0, 0, 3}};
  CHECK(ebb::all_equal(ebb::triple(a, b, ebb::tensor<int, 3>{4, 0, 5}), ebb::tensor<int, 2>{5, 24}));  // batches, broadcast
  CHECK(ebb::all_equal(ebb::triple<0>(ebb::transpose(a), ebb::transpose(b), ebb::transpose(b)), ebb::tensor<int, 2>{0, 0}));
}

}  // namespace
