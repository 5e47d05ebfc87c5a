// test/exec/function.cpp — calls: destinations, overlaps, allocations, errors, forms of arguments and results.
// SPDX-License-Identifier: BSL-1.0
// covers: function.hpp bind.hpp check.hpp kernel/workspace.hpp
#include <ebb/ebb.hpp>

#include <ebb/op/gather.hpp>
#include <ebb/op/linear.hpp>
#include <ebb/op/reduce.hpp>

#include "../catch.hpp"

#include <cmath>
#include <cstdlib>
#include <new>
#include <span>
#include <tuple>
#include <vector>

namespace {
std::size_t allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (void* p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment)) return p;
  std::abort();
}
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) { return allocate(n, 16); }
[[gnu::noinline]] void* operator new[](std::size_t n) { return allocate(n, 16); }
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a) { return allocate(n, static_cast<std::size_t>(a)); }
[[gnu::noinline]] void* operator new[](std::size_t n, std::align_val_t a) { return allocate(n, static_cast<std::size_t>(a)); }
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 16); }
[[gnu::noinline]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 16); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using ebb::dyn, ebb::tensor, ebb::view;
using row = tensor<float, dyn>;
using matrix = tensor<float, dyn, dyn>;

constexpr auto scaled = ebb::compile([](auto x, auto y) { return x * 2.f + y; });
constexpr auto two = ebb::compile([](auto x, auto y) { return std::tuple{x + y, x - y}; });
constexpr auto centered = ebb::compile([](auto x) { return x - ebb::sum(x); });
constexpr auto loss = [](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); };

row counted(std::size_t n, float first = 0) {
  row r(n);
  float* p = r.mutable_data();
  for (std::size_t i = 0; i < n; ++i) p[i] = first + static_cast<float>(i);
  return r;
}

}  // namespace

TEST_CASE("a call returns its results") {
  const row x = counted(37), y = counted(37, 100);
  const row z = scaled(x, y);
  REQUIRE(z.extent(0) == 37);
  for (std::size_t i = 0; i < 37; ++i) CHECK(z.data()[i] == 3 * static_cast<float>(i) + 100);
}

TEST_CASE("into writes results to tensors, vectors, spans and views") {
  const row x = counted(10), y = counted(10, 5);
  std::vector<float> v(10);
  scaled(ebb::into(v), x, y);
  CHECK(v[3] == 14);
  float raw[10] = {};
  std::span<float> s(raw);
  scaled(ebb::into(s), v, y);
  CHECK(raw[3] == 36);
  view<float, dyn> w(raw, 10);
  scaled(ebb::into(w), x, s);
  CHECK(raw[3] == 42);
  row t(10);
  scaled(ebb::into(t), view<const float, dyn>(v.data(), 10), x);
  CHECK(t.data()[3] == 31);
}

TEST_CASE("a destination may be an argument") {
  row x = counted(100), y = counted(100, 50);
  const row expected = scaled(x, y);
  SECTION("elementwise, in place") {
    scaled(ebb::into(x), x, y);
    for (std::size_t i = 0; i < 100; ++i) REQUIRE(x.data()[i] == expected.data()[i]);
  }
  SECTION("two results over both arguments, swapped") {
    const row a = x, b = y;
    two(ebb::into(y, x), x, y);
    for (std::size_t i = 0; i < 100; ++i) {
      REQUIRE(y.data()[i] == a.data()[i] + b.data()[i]);
      REQUIRE(x.data()[i] == a.data()[i] - b.data()[i]);
    }
  }
  SECTION("a result that needs all of its argument first") {
    const float total = 99 * 100 / 2;
    centered(ebb::into(x), x);
    for (std::size_t i = 0; i < 100; ++i) REQUIRE(x.data()[i] == static_cast<float>(i) - total);
  }
  SECTION("a copy keeps its value") {
    const row before = x;
    scaled(ebb::into(x), x, y);
    for (std::size_t i = 0; i < 100; ++i) REQUIRE(before.data()[i] == static_cast<float>(i));
  }
}

TEST_CASE("into takes shifted views of the same memory") {
  for (const int shift : {-33, -16, -5, -1, 1, 3, 16, 40}) {
    std::vector<float> memory(400);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    const std::vector<float> before = memory;
    float* const from = memory.data() + 100;
    view<float, dyn> to(from + shift, 150);
    scaled(ebb::into(to), view<const float, dyn>(from, 150), view<const float, dyn>(from + 7, 150));
    for (std::size_t i = 0; i < 150; ++i) REQUIRE(to.data()[i] == before[100 + i] * 2 + before[107 + i]);
    for (int i = 0; i < 100 + shift; ++i) REQUIRE(memory[static_cast<std::size_t>(i)] == before[static_cast<std::size_t>(i)]);
    for (std::size_t i = static_cast<std::size_t>(250 + shift); i < 400; ++i) REQUIRE(memory[i] == before[i]);
  }
}

TEST_CASE("two destinations that overlap are written in order") {
  std::vector<float> memory(20);
  view<float, dyn> a(memory.data(), 10), b(memory.data() + 5, 10);
  const row x = counted(10), y = counted(10, 1);
  two(ebb::into(a, b), x, y);
  for (int i = 0; i < 5; ++i) CHECK(memory[static_cast<std::size_t>(i)] == static_cast<float>(2 * i + 1));
  for (int i = 5; i < 15; ++i) CHECK(memory[static_cast<std::size_t>(i)] == -1);
}

TEST_CASE("a step of gradient descent runs in place any number of times without allocations") {
  constexpr auto step = ebb::compile([](auto x, auto w, auto rate) {
    auto [value, dw] = ebb::value_and_grad<1>(loss)(x, w);
    return std::tuple{value, w - rate * dw};
  });
  matrix x(30, 20), w(20, 7);
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < w.size(); ++i) w.mutable_data()[i] = std::cos(static_cast<float>(i));
  float value = 0;
  step(ebb::into(value, w), x, w, 0.01f);
  const float first = value;
  const std::size_t before = allocations;
  for (int i = 0; i < 20; ++i) step(ebb::into(value, w), x, w, 0.01f);
  CHECK(allocations == before);
  CHECK(value < first);
}

TEST_CASE("a call without into allocates its results and nothing else") {
  const row x = counted(5000), y = counted(5000);
  { const row warm = centered(x); }
  std::size_t before = allocations;
  { const row z = scaled(x, y); }
  const std::size_t one = allocations - before;
  before = allocations;
  { const row z = row::uninitialized(typename row::layout_type("test", {5000})); }
  CHECK(one == allocations - before);
  before = allocations;
  { const row z = centered(x); }
  CHECK(allocations - before == one);
}

TEST_CASE("the error for extents that differ names the call and both shapes, and nothing is written") {
  const row x = counted(10), y = counted(11);
  row to = counted(10, 500);
  const std::string said = test::raised([&] { scaled(ebb::into(to), x, y); });
  CHECK(said.find("ebb::compile") != std::string::npos);
  CHECK(said.find("[10]") != std::string::npos);
  CHECK(said.find("[11]") != std::string::npos);
  CHECK(test::raised([&] { scaled(x, y); }).find("[11]") != std::string::npos);

  row small = counted(9, 500);
  const std::string destination = test::raised([&] { scaled(ebb::into(small), x, x); });
  CHECK(destination.find("destination 0") != std::string::npos);
  CHECK(destination.find("[9]") != std::string::npos);
  CHECK(destination.find("[10]") != std::string::npos);
  for (std::size_t i = 0; i < 9; ++i) CHECK(small.data()[i] == 500 + static_cast<float>(i));
  for (std::size_t i = 0; i < 10; ++i) CHECK(to.data()[i] == 500 + static_cast<float>(i));
}

TEST_CASE("the error for extents that differ names the function that needs them equal, also inside a compiled one") {
  const row x = counted(3), y = counted(4);
  const matrix m(3, 4), square(4, 4);
  constexpr auto sum_and_product = ebb::compile([](auto a, auto b, auto c) { return ebb::tanh(a + b) * c; });
  CHECK(test::raised([&] { sum_and_product(x, y, y); }) ==
        "ebb::compile: add: the extents of the arguments do not fit: argument 0 is [3], argument 1 is [4], argument 2 is [4]");
  CHECK(test::says(test::raised([&] { sum_and_product(x, x, y); }), {"ebb::compile: mul: the extents"}));
  constexpr auto slope = ebb::grad(ebb::compile([](auto a, auto b) { return ebb::sum(a / b); }));
  CHECK(test::says(test::raised([&] { slope(x, y); }), {"ebb::grad: div: the"}));

  static constexpr auto inner = ebb::compile([](auto a, auto b) { return ebb::maximum(a, b); });
  constexpr auto outer = ebb::compile([](auto a, auto b, auto c) { return inner(a * a, b) - c; });
  CHECK(test::says(test::raised([&] { outer(x, y, y); }), {"ebb::compile: maximum: the"}));
  CHECK(test::says(test::raised([&] { outer(x, x, y); }), {"ebb::compile: sub: the"}));
  constexpr auto rows = ebb::compile([](auto a, auto b) { return ebb::map([](auto p, auto q) { return p + q; }, a, b); });
  CHECK(test::says(test::raised([&] { rows(m, square); }), {"ebb::compile: map: the"}));
  CHECK(test::says(test::raised([&] { rows(m, matrix(3, 5)); }), {"ebb::compile: add: the"}));

  constexpr auto halves = ebb::compile([](auto a) { return ebb::reshape<2, dyn>(ebb::concat<0>(ebb::slice<0, 0, 2>(a), a)); });
  CHECK(halves(y).size() == 6);
  CHECK(test::says(test::raised([&] { halves(x); }), {"ebb::compile: reshape<2, dyn>: the", "argument 0 is [3]"}));
  CHECK(test::says(test::raised([&] { halves(row(1)); }), {"ebb::compile: slice<0, 0, 2>: the", "argument 0 is [1]"}));
  constexpr auto flat = ebb::compile([](auto a) { return ebb::reshape<12>(a); });
  CHECK(test::says(test::raised([&] { flat(square); }), {"ebb::compile: reshape<12>: the", "argument 0 is [4, 4]"}));
}

TEST_CASE("the error for a result larger than any memory names the call") {
  const std::size_t many = std::size_t{1} << 40;
  const auto product = ebb::compile([](auto x, auto y) { return ebb::matmul(x, y); });
  CHECK(test::raised([&] { product(ebb::tensor<float, ebb::dyn, 0>(many), ebb::tensor<float, 0, ebb::dyn>(many)); }) ==
        "ebb::compile: shape [1099511627776, 1099511627776] is too large");
}

TEST_CASE("an error about elements names the function that was called, not the functions it is made of") {
  constexpr auto place = ebb::compile([](auto a) { return ebb::argmax<0>(a) + ebb::argmin<0>(a); });
  CHECK(test::raised([&] { place(matrix(0, 5)); }) == "ebb::compile: argmax over no elements: the operand is [0, 5]");
  constexpr auto losses = ebb::compile([](auto a, auto t) { return ebb::cross_entropy(a, t); });
  tensor<std::int32_t, dyn> labels(3);
  labels.mutable_data()[1] = 4;
  CHECK(test::raised([&] { losses(matrix(3, 4), labels); }) ==
        "ebb::compile: cross_entropy: number 1 of the indices of shape [3] is 4, and there are 4 classes");
  constexpr auto hot = ebb::compile([](auto t) { return ebb::one_hot<4>(t); });
  CHECK(test::says(test::raised([&] { hot(labels); }), {"ebb::compile: one_hot: number 1", "is 4, and there are 4 classes"}));
}

TEST_CASE("the error for inner extents that differ names the gradient's call") {
  const matrix x(3, 4), w(5, 2);
  const std::string said = test::raised([&] { ebb::value_and_grad<1>(loss)(x, w); });
  CHECK(said.find("ebb::value_and_grad") != std::string::npos);
  CHECK(said.find("[3, 4]") != std::string::npos);
  CHECK(said.find("[5, 2]") != std::string::npos);
}

TEST_CASE("the error for extents that differ names the hessian's call") {
  constexpr auto product = [](auto a, auto b) { return ebb::sum(a * b); };
  const tensor<float, dyn> x{1, 2, 3}, y{1, 2};
  CHECK(test::says(test::raised([&] { ebb::hessian(product)(x, y); }), {"ebb::hessian: mul: the", "[3]", "[2]"}));
  CHECK(test::says(test::raised([&] { ebb::jacobian<0, 1>([](auto a, auto b) { return a * b; })(x, y); }), {"ebb::jacobian: mul: the"}));
}

TEST_CASE("a row number out of range is found before the first result is written") {
  constexpr auto f = ebb::compile([](auto x, auto i) { return std::tuple{x + 1.f, ebb::take(x, i)}; });
  matrix x(4, 3);
  for (std::size_t i = 0; i < 12; ++i) x.mutable_data()[i] = static_cast<float>(i);
  tensor<std::int64_t, dyn> rows(2);
  rows.mutable_data()[0] = 3;
  rows.mutable_data()[1] = 1;
  const auto [plus, taken] = f(x, rows);
  CHECK(taken.data()[0] == 9);
  CHECK(taken.data()[5] == 5);
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    rows.mutable_data()[1] = bad;
    matrix a(4, 3), b(2, 3);
    for (std::size_t i = 0; i < 12; ++i) a.mutable_data()[i] = -7;
    const std::string said = test::raised([&] { f(ebb::into(a, b), x, rows); });
    CHECK(said.find("ebb::compile: take") != std::string::npos);
    CHECK(said.find(std::to_string(bad)) != std::string::npos);
    CHECK(said.find("[2]") != std::string::npos);
    for (std::size_t i = 0; i < 12; ++i) CHECK(a.data()[i] == -7);
  }
}

TEST_CASE("a computed row number out of range is found before it is used") {
  constexpr auto f = ebb::compile([](auto x, auto i) { return ebb::take(x, i + i); });
  const matrix x(4, 3);
  tensor<std::int32_t, dyn> rows(1);
  rows.mutable_data()[0] = 3;
  CHECK(test::raised([&] { f(x, rows); }).find("is 6, and there are 4 rows") != std::string::npos);
}

TEST_CASE("a map checks row numbers against its own row, for static and dyn extents") {
  static constexpr auto of_row = [](auto row, auto numbers) { return ebb::take(row, numbers); };
  static constexpr auto taken = [](auto x, auto i) { return ebb::map(of_row, x, i); };
  constexpr auto cubes = ebb::compile([](auto x, auto i) { return ebb::sum(ebb::pow(taken(x, i), 3)); });
  const matrix x{{1, 2, 3}, {4, 5, 6}};
  tensor<std::int32_t, dyn, dyn> i{{0, 2}, {1, 1}};
  CHECK(ebb::all_equal(ebb::compile(taken)(x, i), matrix{{1, 3}, {5, 5}}));
  CHECK(ebb::all_equal(ebb::grad(cubes)(x, i), matrix{{3, 0, 27}, {0, 150, 0}}));
  CHECK(ebb::all_equal(std::get<0>(ebb::hvp(cubes)(x, i, matrix{{1, 1, 1}, {1, 1, 1}}, i)), matrix{{6, 0, 18}, {0, 60, 0}}));
  i.at(0, 1) = 3;
  const tensor<float, 2, 3> known(x);
  for (const std::string& said : {test::raised([&] { ebb::compile(taken)(x, i); }), test::raised([&] { ebb::grad(cubes)(known, i); })})
    CHECK(test::says(said, {"take: number 1 of the indices of shape [2, 2] is 3, and there are 3 rows"}));
}

TEST_CASE("sums over no elements are 0, and a maximum of none is an error") {
  constexpr auto sums = ebb::compile([](auto x) { return std::tuple{ebb::sum<0>(x), ebb::sum<1>(x), ebb::sum(x), x * x}; });
  constexpr auto largest = ebb::compile([](auto x) { return ebb::max<0>(x); });
  const matrix x(0, 5);
  const auto [columns, rows, all, squares] = sums(x);
  CHECK(columns.extent(0) == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(columns.data()[i] == 0);
  CHECK(rows.extent(0) == 0);
  CHECK(all == 0);
  CHECK(squares.size() == 0);
  const std::string said = test::raised([&] { largest(x); });
  CHECK(said.find("ebb::compile: max") != std::string::npos);
  CHECK(said.find("[0, 5]") != std::string::npos);
  const matrix none(5, 0);
  CHECK(largest(none).size() == 0);  // five elements each, of no column
}

TEST_CASE("a product over no elements is zero") {
  constexpr auto f = ebb::compile([](auto x, auto w) { return ebb::matmul(x, w); });
  const matrix r = f(matrix(3, 0), matrix(0, 4));
  REQUIRE(r.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(r.data()[i] == 0);
  CHECK(f(matrix(0, 3), matrix(3, 4)).size() == 0);
}

namespace {

template <template <class, std::size_t...> class Array>
struct params {
  using weights = Array<float, 4, 3>;
  using bias = Array<float, 3>;
  BOOST_HANA_DEFINE_STRUCT(params, (weights, w), (bias, b));
};
template <template <class, std::size_t...> class Array>
struct mixed {
  using weights = Array<float, 2>;
  using counts = Array<int, 2>;
  using flag = Array<bool>;
  BOOST_HANA_DEFINE_STRUCT(mixed, (weights, w), (counts, seen), (flag, on));
};

}  // namespace

TEST_CASE("the gradient of a struct of parameters is the same struct") {
  constexpr auto f = [](auto x, auto p) { return ebb::sum(ebb::matmul(x, p.w) * 2.f + p.b); };
  params<tensor> p;
  matrix unused(1, 1);
  tensor<float, dyn, 4> x(5);
  for (std::size_t i = 0; i < 20; ++i) x.mutable_data()[i] = static_cast<float>(i);
  const auto [value, d] = ebb::value_and_grad<1>(f)(x, p);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(d)>, params<tensor>>);
  CHECK(value == 0);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(d.w.data()[i * 3 + j] == 2 * (5 * static_cast<float>(i) + 40));
  for (std::size_t j = 0; j < 3; ++j) CHECK(d.b.data()[j] == 5);

  params<tensor> again;
  float v = 1;
  ebb::value_and_grad<1>(f)(ebb::into(v, again), x, p);
  CHECK(v == 0);
  CHECK(again.w.data()[4] == d.w.data()[4]);
  CHECK(again.b.data()[2] == 5);
}

TEST_CASE("a pull-back takes its seeds one by one, or in the form of the results") {
  constexpr auto f = [](auto p, auto x) {
    auto q = p;
    q.w = ebb::exp(p.w) * x;
    return std::tuple(ebb::sum(p.w), q, x * x, ebb::sum(p.seen));
  };
  const mixed<tensor> p{{0.25f, -1}, {3, 4}, true};
  const tensor<float, 2> x{2, 0.5f}, s{3, -7}, t{0.125f, 11};
  const auto [y, pull] = ebb::vjp<0, 1>(f)(p, x);
  const auto& [total, q, squares, seen] = y;
  CHECK(total == -0.75f);
  CHECK(seen == 7);
  const auto [dp, dx] = pull(5, s, t);
  CHECK(ebb::all_equal(dp.w, 5 + s * q.w));
  CHECK(ebb::all_equal(dp.seen, tensor<int, 2>{0, 0}));
  CHECK(ebb::all_equal(dx, s * ebb::exp(p.w) + 2 * x * t));

  auto seeds = y;
  std::get<0>(seeds) = 5;
  std::get<1>(seeds).w = s;
  std::get<2>(seeds) = t;
  const auto is_same = [&](const auto& of_p, const auto& of_x) {
    CHECK(ebb::all_equal(of_p.w, dp.w));
    CHECK(ebb::all_equal(of_x, dx));
  };
  std::apply(is_same, pull(seeds));
  std::apply(is_same, pull(5, std::get<1>(seeds), t));
  std::apply(is_same, pull(std::tuple(std::tuple(5.f, s), std::tuple(t))));
  constexpr auto traced = [](auto a, auto b, auto c) { return ebb::vjp<0, 1>(decltype(f){})(a, b).second(c); };
  std::apply(is_same, ebb::compile(traced)(p, x, seeds));
}

TEST_CASE("integers beside floats in a struct or a tuple have zeros in its gradient") {
  constexpr auto f = [](auto p) { return ebb::sum(p.w * p.w) * ebb::sum(ebb::cast<float>(p.seen)); };
  const mixed<tensor> p{{1, 2}, {3, 4}, true};
  const mixed<tensor> d = ebb::grad(f)(p);
  CHECK(ebb::all_equal(d.w, tensor<float, 2>{14, 28}));
  CHECK(ebb::all_equal(d.seen, tensor<int, 2>{0, 0}));
  CHECK(d.on == tensor<bool>(false));
  const auto [value, pull] = ebb::vjp(f)(p);
  CHECK(ebb::all_equal(pull(1.f).w, d.w));
  CHECK(ebb::all_equal(pull(1.f).seen, d.seen));
  CHECK(std::get<1>(ebb::jvp(f)(p, p)) == 70);  // the direction of an integer has no effect
  CHECK(ebb::all_equal(ebb::hvp(f)(p, p).w, d.w));
  CHECK(ebb::all_equal(ebb::hvp(f)(p, p).seen, d.seen));

  constexpr auto g = [](auto pair) { return ebb::sum(std::get<0>(pair) * std::get<1>(pair)); };
  const auto [dw, dn] = ebb::grad(g)(std::tuple{p.w, p.seen});
  CHECK(ebb::all_equal(dw, tensor<float, 2>{3, 4}));
  CHECK(ebb::all_equal(dn, tensor<int, 2>{0, 0}));
}

TEST_CASE("scalars are arguments and results, and tuples are arguments") {
  constexpr auto f = ebb::compile([](auto a, auto pair) { return a * std::get<0>(pair) + std::get<1>(pair); });
  const float y = f(2.f, std::tuple{3.f, 4.f});
  CHECK(y == 10);
  CHECK(ebb::grad([](auto x) { return x * x * x; })(2.0) == 12.0);
}
