// test/exec/map.cpp — map over and with tuples and structs: gradients for each example, and models side by side.
// SPDX-License-Identifier: BSL-1.0
// covers: trace/map.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"

namespace {

using std::get;

template <template <class, std::size_t...> class Array>
struct line {
  using matrix = Array<float, 2, 3>;
  using vector = Array<float, 2>;
  BOOST_HANA_DEFINE_STRUCT(line, (matrix, w), (vector, b));
};
/// Several structs, each with its own numbers.
template <template <class, std::size_t...> class Array>
struct lines {
  using matrices = Array<float, 4, 2, 3>;
  using vectors = Array<float, 4, 2>;
  BOOST_HANA_DEFINE_STRUCT(lines, (matrices, w), (vectors, b));
};
template <template <class, std::size_t...> class Array>
struct ensemble {
  using members = lines<Array>;
  using rates = std::tuple<Array<float, 4>>;
  BOOST_HANA_DEFINE_STRUCT(ensemble, (members, model), (rates, scale));
};

constexpr auto loss = [](auto p, auto x, auto t) { return ebb::mse(ebb::tanh(ebb::matmul(p.w, x) + p.b), t); };
constexpr auto scaled = [](auto e, auto x) { return get<0>(e.scale) * (ebb::matmul(e.model.w, x) + e.model.b); };

line<ebb::tensor> start() { return {{{0.5f, -1, 2}, {0.25f, 0.75f, -0.5f}}, {0.1f, -0.2f}}; }
const auto x = ebb::normal<float, 5, 3>(1);
const auto t = ebb::uniform<float, 5, 2>(2);

template <class T, std::size_t N, std::size_t... E>
ebb::tensor<T, E...> row_of(const ebb::tensor<T, N, E...>& a, std::size_t i) {
  ebb::tensor<T, E...> r;
  for (std::size_t k = 0; k < r.size(); ++k) r.mutable_data()[k] = a.data()[i * r.size() + k];
  return r;
}

}  // namespace

TEST_CASE("whole(...) holds temporaries by value and refers to names") {
  using vector = ebb::tensor<double, 3>;
  using longer = ebb::tensor<double, ebb::dyn>;
  const vector a{1, 2, 3}, b{1, 1, 1};
  const ebb::tensor<double, 2, 3> rows{{1, 0, 0}, {0, 0, 1}};
  const auto inside = ebb::whole(a + b);                                    // small enough to be stored in the object
  const auto block = [] { return ebb::whole(longer::iota(1000)); }();       // too large for that
  const auto pair = ebb::whole(std::tuple(a - b, 2.0));
  const auto seen = ebb::whole(std::span<const double>(a.data(), 3));       // the span is held, not its elements
  const auto named = ebb::whole(a);
  CHECK(&named.value == &a);
  static_assert(std::is_same_v<decltype(ebb::whole(a + b)), ebb::whole_argument<vector>>);
  static_assert(std::is_same_v<decltype(ebb::whole(std::move(a))), ebb::whole_argument<vector>>);
  const vector over[8] = {b, b, b, b, b, b, b, b};                          // overwrites the stack where the temporaries were
  constexpr auto dot = [](auto row, auto w) { return ebb::dot(row, w); };
  CHECK(ebb::all_equal(ebb::map(dot, rows, inside), ebb::tensor<double, 2>{2, 4}));
  CHECK(ebb::all_equal(ebb::map([](auto row, auto w) { return ebb::sum(row) * ebb::sum(w); }, rows, block),
                       ebb::tensor<double, 2>::full(499500)));
  CHECK(ebb::all_equal(ebb::map([](auto row, auto p) { return ebb::dot(row, std::get<0>(p)) * std::get<1>(p); }, rows, pair),
                       ebb::tensor<double, 2>{0, 4}));
  CHECK(ebb::all_equal(ebb::map(dot, rows, seen), ebb::tensor<double, 2>{1, 3}));
  CHECK(ebb::all_equal(ebb::map(dot, rows, named), ebb::tensor<double, 2>{1, 3}));
  CHECK(ebb::all_equal(ebb::map(dot, rows - 1, ebb::whole(over[3] * 2)), ebb::tensor<double, 2>{-4, -4}));
}

TEST_CASE("map gives a gradient for each example, in the form of the parameters") {
  const auto [values, each] = ebb::map(ebb::value_and_grad(loss), ebb::whole(start()), x, t);
  static_assert(std::is_same_v<decltype(each.w), ebb::tensor<float, 5, 2, 3>>);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto [value, one] = ebb::value_and_grad(loss)(start(), row_of(x, i), row_of(t, i));
    CHECK(values(i) == value);
    CHECK(ebb::all_equal(row_of(each.w, i), one.w));
    CHECK(ebb::all_equal(row_of(each.b, i), one.b));
  }
  // Also as a part of a function; the mean of all is the gradient of all.
  const auto mean = ebb::compile([](auto p, auto a, auto b) {
    const auto g = ebb::map(ebb::grad(loss), ebb::whole(p), a, b);
    return ebb::mean<0>(g.w);
  })(start(), x, t);
  const auto whole = ebb::grad([](auto p, auto a, auto b) { return ebb::mse(ebb::tanh(ebb::linear(a, p.w, p.b)), b); })(start(), x, t);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(mean(i, j) == Approx(whole.w(i, j)).epsilon(1e-5));
}

TEST_CASE("map over a struct gives each row a struct") {
  ensemble<ebb::tensor> all{{ebb::normal<float, 4, 2, 3>(3), ebb::normal<float, 4, 2>(4)}, {{1, 2, 3, 4}}};
  const auto input = row_of(x, 0);
  const auto y = ebb::map(scaled, all, ebb::whole(input));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto alone = ebb::compile([](auto w, auto b, auto s, auto a) { return s * (ebb::matmul(w, a) + b); })(
        row_of(all.model.w, i), row_of(all.model.b, i), static_cast<float>(i + 1), input);
    CHECK(ebb::all_equal(row_of(y, i), alone));
  }
  // Gradients: each row has its own, and those of the shared argument are summed; second derivatives by a struct are structs for each row.
  const auto sum = [](auto e, auto a) { return ebb::sum(ebb::map(scaled, e, ebb::whole(a))); };
  const auto d = ebb::grad(sum)(all, input);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(d.model.b(i, 0) == static_cast<float>(i + 1));
    CHECK(d.model.w(i, 1, 2) == static_cast<float>(i + 1) * input(2));
    CHECK(get<0>(d.scale)(i) == Approx(y(i, 0) / static_cast<float>(i + 1) + y(i, 1) / static_cast<float>(i + 1)).epsilon(1e-5));
  }
  const auto h = ebb::map(ebb::hessian([](auto e, auto a) { return ebb::sum(scaled(e, a)); }), all, ebb::whole(input));
  static_assert(std::is_same_v<decltype(get<0>(h.model.w.scale)), const ebb::tensor<float, 4, 2, 3>&>);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(get<0>(h.model.w.scale)(i, 1, 2) == input(2));
    CHECK(get<0>(get<0>(h.scale).scale)(i) == 0);
    CHECK(get<0>(h.scale).model.b(i, 1) == 1);
  }
}

TEST_CASE("a matrix that all rows share gives each row the bits of its own product") {
  const auto check = [](auto f, const auto& all, const auto& w) {
    const auto y = ebb::map(f, all, ebb::whole(w));
    for (std::size_t i = 0; i < all.shape()[0]; ++i) {
      const auto alone = ebb::compile(f)(row_of(all, i), w);
      CHECK(std::equal(alone.begin(), alone.end(), y.data() + i * alone.size(), [](auto a, auto b) { return ebb::same_bits(a, b); }));
    }
  };
  constexpr auto left = [](auto v, auto m) { return ebb::matmul(m, v); };
  constexpr auto left_of = [](auto v, auto m) { return ebb::matmul(ebb::transpose(m), v); };
  constexpr auto right = [](auto v, auto m) { return ebb::matmul(v, m); };
  constexpr auto right_of = [](auto v, auto m) { return ebb::matmul(v, ebb::transpose(m)); };
  const auto all = [&]<class T, std::size_t N>(T, std::integral_constant<std::size_t, N>) {
    const auto w = ebb::cast<T>(ebb::normal<float, N, N>(8));
    const auto v = ebb::cast<T>(ebb::normal<float, 21, N>(9));
    check(left, v, w);
    check(left_of, v, w);
    check(right, v, w);
    check(right_of, v, w);
  };
  all(1.f, std::integral_constant<std::size_t, 3>{});
  all(1., std::integral_constant<std::size_t, 7>{});
  all(1.f, std::integral_constant<std::size_t, 40>{});
  all(ebb::bf16{}, std::integral_constant<std::size_t, 40>{});
}

TEST_CASE("map takes tuples and variables, and works in contexts and constant expressions") {
  constexpr auto product = [](auto pair, auto c) { return std::tuple(get<0>(pair) * get<1>(pair), c); };
  constexpr ebb::tensor<int, 2> a{1, 2}, b{3, 4};
  constexpr auto r = ebb::map(product, std::tuple(a, b), ebb::whole(b));
  static_assert(ebb::all_equal(get<0>(r), ebb::tensor<int, 2>{3, 8}));
  static_assert(ebb::all_equal(get<1>(r), ebb::tensor<int, 2, 2>{{3, 4}, {3, 4}}));

  // A number does not make floats double, as beside arrays.
  const auto twice = ebb::compile([](auto rows) { return ebb::map([](auto row, auto k) { return row * k; }, rows, ebb::whole(2.5)); })(x);
  static_assert(std::is_same_v<decltype(twice), const ebb::tensor<float, 5, 3>>);
  CHECK(ebb::all_equal(twice, x * 2.5));
  const auto scaled_rows = ebb::map([](auto pair, auto k) { return get<0>(pair) * k; }, std::tuple(x), ebb::whole(2.5));
  static_assert(std::is_same_v<decltype(scaled_rows), const ebb::tensor<float, 5, 3>>);
  CHECK(ebb::all_equal(scaled_rows, x * 2.5));

  const auto p = start();
  const line<ebb::variable> v{ebb::variable(p.w), ebb::variable(p.b)};
  const auto losses = ebb::map(loss, ebb::whole(v), x, t);
  ebb::backward(ebb::mean(losses));
  const auto each = ebb::map(ebb::grad(loss), ebb::whole(p), x, t);
  for (std::size_t i = 0; i < 2; ++i) {
    float mean = 0;
    for (std::size_t k = 0; k < 5; ++k) mean += each.b(k, i) / 5;
    CHECK(v.b.grad().value()(i) == Approx(mean).epsilon(1e-5));
  }

  using low = ebb::autocast<ebb::bf16>;
  constexpr auto rows = [](auto q, auto at, auto to) { return ebb::map(loss, ebb::whole(q), at, to); };
  const auto inside = ebb::under<low>(rows)(p, x, t);
  for (std::size_t i = 0; i < 5; ++i) CHECK(inside(i) == ebb::under<low>(loss)(p, row_of(x, i), row_of(t, i)));
  CHECK_FALSE(ebb::all_equal(inside, ebb::map(loss, ebb::whole(p), x, t)));
}
