// test/exec/eager.cpp — functions and operators on arrays of any library, outside of traced functions.
// SPDX-License-Identifier: BSL-1.0
// covers: eager.hpp op/call.hpp trace/operators.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace user {
struct excess : ebb::elementwise<2> {
  static constexpr std::string_view name = "excess";
  static constexpr auto value(auto x, auto y) { return x * y - x; }
};
struct farthest_from_zero : ebb::reduction {
  static constexpr std::string_view name = "farthest";
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto value(auto accumulated, auto x) { return ebb::lane::maximum(accumulated, ebb::lane::abs(x)); }
  static constexpr auto pull(auto g, auto x, auto out) {
    const auto along = [&](auto y) { return ebb::broadcast_to(y, x.shape_number(), ebb::axis_run(0, x.rank())); };
    return ebb::grads(ebb::where(ebb::equal(ebb::abs(x), along(out)), ebb::sign(x) * along(g), 0));
  }
};
inline constexpr ebb::call<farthest_from_zero> farthest{};
}  // namespace user

namespace {

using vector = ebb::tensor<float, ebb::dyn>;

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<float, 2, 3>;
  using row = Array<float, 3>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (row, b));
};
template <template <class, std::size_t...> class Array>
struct network {
  using first_layer = layer<Array>;
  using number = Array<float>;
  BOOST_HANA_DEFINE_STRUCT(network, (first_layer, first), (number, scale));
};

template <class T>
using tanh_program = ebb::executable<ebb::frozen<
    ebb::detail::forward_program<ebb::detail::traced_call<ebb::detail::broadcasting<ebb::op::tanh>>, ebb::term<T, ebb::dyn>>>>;

TEST_CASE("conditions are combined by operators and select between numbers") {
  const ebb::tensor<double, 3> x{-1, 0, 2};
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::where(!(a > 0), a, 7 * a); })(x), ebb::tensor<double, 3>{-1, 0, 14}));
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::where(a > -2 && a < 1, a, 7 * a); })(x), ebb::tensor<double, 3>{-1, 0, 14}));
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::where(a < 0 || a > 1 || false, 5 * a, a + 1); })(x),
                       ebb::tensor<double, 3>{-5, 1, 10}));
  CHECK(ebb::all_equal(((x > -1 && !(x > 1)) || x < 0), ebb::tensor<bool, 3>{true, true, false}));
  constexpr auto half = [](auto a) { return ebb::where(a > 0, 1.5, 0.5); };
  CHECK(ebb::all_equal(half(x), ebb::tensor<float, 3>{0.5f, 0.5f, 1.5f}));  // as in PyTorch, numbers alone have its default dtypes
  CHECK(ebb::all_equal(ebb::compile(half)(x), half(x)));
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::where(a > 0, 1, 2); })(x), ebb::tensor<std::int64_t, 3>{2, 2, 1}));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::where(a > 0, 1.5, 0.5) * a); })(x),
                       ebb::tensor<double, 3>{0.5, 0.5, 1.5}));
}

TEST_CASE("functions take arrays of any library") {
  const std::vector<double> x{0.5, -1, 2};
  const auto y = ebb::tanh(x);
  static_assert(std::is_same_v<decltype(y), const ebb::tensor<double, ebb::dyn>>);
  REQUIRE(y.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(y(i) - std::tanh(x[i])) < 1e-15);
  CHECK(std::abs(ebb::tanh(std::vector<float>{0.5f})(0) - std::tanh(0.5f)) < 1e-6f);
  static_assert(!std::is_same_v<ebb::nest_step<tanh_program<float>, 0>::locals, ebb::nest_step<tanh_program<double>, 0>::locals>);
  CHECK(ebb::sum(std::span<const double>(x)) == 1.5);
  CHECK(ebb::max(std::array<float, 3>{1, 7, 3}) == 7);
  CHECK(ebb::dot(x, std::span<const double, 3>(x.data(), 3)) == 5.25);
  const std::array<int, 2> rows{2, 0};
  CHECK(ebb::take(x, rows)(0) == 2);
}

TEST_CASE("sin and cos have one value in every kind of call, also if some lanes are huge") {
  std::vector<float> x;
  std::vector<double> y;
  for (int i = 0; i < 301; ++i) {
    x.push_back(std::ldexp(1.f + 0.003f * static_cast<float>(i), i % 131 - 6) * (i % 2 ? 1.f : -1.f));
    y.push_back(std::ldexp(1. + 0.003 * i, i % 1021 - 6));
  }
  const auto sx = ebb::sin(x), cx = ebb::cos(x);
  const auto sy = ebb::sin(y), cy = ebb::cos(y);
  int different = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    different += sx(i) != ebb::sin(x[i]) || cx(i) != ebb::cos(x[i]) || sy(i) != ebb::sin(y[i]) || cy(i) != ebb::cos(y[i]);
    CHECK(std::abs(sy(i) - std::sin(y[i])) <= 2.3e-16 * std::abs(std::sin(y[i])));
  }
  CHECK(different == 0);
  static_assert(ebb::grad([](auto a) { return ebb::sin(a); })(0.0) == 1.0);
  const auto g = ebb::grad([](auto a) { return ebb::sum(ebb::sin(a) * ebb::cos(a)); })(ebb::tensor<double, 2>{0.3, 1e30});
  CHECK(std::abs(g(0) - std::cos(0.6)) < 1e-15);
  CHECK(std::abs(g(1) - std::cos(2e30)) < 1e-15);
}

TEST_CASE("comparisons of arrays are masks") {
  const vector x{1, 2, 3};
  const std::vector<float> y{3, 2, 1};
  const auto less = x < y, at_most = x <= y, greater = x > 2, at_least = 2 >= x;
  const bool want[4][3] = {{true, false, false}, {true, true, false}, {false, false, true}, {true, true, false}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(less(i) == want[0][i]);
    CHECK(at_most(i) == want[1][i]);
    CHECK(greater(i) == want[2][i]);
    CHECK(at_least(i) == want[3][i]);
    CHECK((!less)(i) == !want[0][i]);
  }
  CHECK(ebb::sum(ebb::where(x > 1, x, 0)) == 5);
  CHECK(ebb::all_equal(x, vector{1, 2, 3}));  // compares the whole array
}

TEST_CASE("== and != compare elements, on arrays of every kind as in compiled functions") {
  using bools = ebb::tensor<bool, 3>;
  const ebb::tensor<float, 3> x{1, 2, 3};
  std::vector<float> y{1, 0, 3};
  const bools same{true, false, true}, different{false, true, false};
  const ebb::view<float, 3> seen(y.data());
  CHECK(ebb::all_equal(x == y, same));
  CHECK(ebb::all_equal(y != x, different));
  CHECK(ebb::all_equal(seen == x, same));
  CHECK(ebb::all_equal(seen != seen, bools{}));
  CHECK(ebb::all_equal(x == std::span<const float>(y), same));
  CHECK(ebb::all_equal(x == 2, different));
  CHECK(ebb::all_equal(2.0 != x, same));
  CHECK(ebb::all_equal(same == true, same));
  CHECK(ebb::all_equal(ebb::equal(x, y), same));
  CHECK(ebb::all_equal(ebb::not_equal(x, y), different));

  // The result has the extents and dtype of the other comparisons.
  const ebb::tensor<float, 2, 1> column{{1}, {3}};
  CHECK(ebb::all_equal(x == column, ebb::tensor<bool, 2, 3>{{true, false, false}, {false, false, true}}));
  CHECK(ebb::all_equal(ebb::tensor<int, 3>{1, 2, 3} == y, same));
  CHECK(ebb::all_equal(ebb::tensor<int, 3>{1, 2, 3} == 2.5, bools{}));
  CHECK(ebb::all_equal(ebb::tensor<float, 3>::full(0.1f) == 0.1, bools{true, true, true}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ebb::tensor<float, 3> special{nan, 0.f, 1};
  CHECK(ebb::all_equal(special == special, bools{false, true, true}));
  CHECK(ebb::all_equal(special != ebb::tensor<float, 3>{nan, -0.f, 1}, bools{true, false, false}));
  CHECK(test::raised([&] { (void)(vector{1, 2} == y); }) ==
        "ebb::equal: the extents of the arguments do not fit: argument 0 is [2], argument 1 is [3]");

  // One lambda means the same traced and eager.
  constexpr auto masked = [](auto a, auto b) { return ebb::sum(ebb::where(a == b, a, 0)) + 10 * ebb::sum(a * (a != b)); };
  const vector a{1, 2, 3}, b{1, 0, 3};
  CHECK(masked(a, b) == 24);
  CHECK(ebb::compile(masked)(a, b) == 24);
  CHECK(ebb::all_equal(ebb::grad(masked)(a, b), vector{1, 10, 1}));
  CHECK(ebb::all_equal(ebb::where(a != b, 100, a), vector{1, 100, 3}));
  CHECK(ebb::mean(ebb::cast<float>(ebb::tensor<int, 4>{1, 2, 3, 4} == ebb::tensor<int, 4>{1, 2, 0, 4})) == 0.75f);
}

TEST_CASE("one bool is a condition, several are not") {
  const vector one{2}, two{1, 2};
  CHECK((one == one ? 1 : 0) == 1);
  CHECK((one == 3 ? 1 : 0) == 0);
  CHECK((one != 3 && one == 2 ? 1 : 0) == 1);
  CHECK(static_cast<bool>(ebb::tensor<bool, 1, 1>{true}));
  CHECK(bool(ebb::tensor<int, 1, ebb::dyn>{{7}} == 7));
  CHECK(test::raised([&] { (void)bool(two == two); }) == "ebb::tensor::operator bool: an array of bools of shape [2] is no condition: "
                                                        "ask ebb::any or ebb::all of them, ebb::all_equal of two arrays");
  CHECK(test::says(test::raised([&] { (void)bool(ebb::tensor<float, ebb::dyn, 1>(0) == 1); }), {"of shape [0, 1]"}));
  const ebb::tensor<float> number(2);
  int turns = 0;
  while (number == 2 && turns < 3) ++turns;
  CHECK(turns == 3);
  CHECK((number != number ? 1 : 0) == 0);
}

TEST_CASE("compound assignment writes in place") {
  vector x{1, 2, 3};
  const vector copy = x;
  x += std::vector<float>{1, 1, 1};
  CHECK(ebb::all_equal(x, vector{2, 3, 4}));
  CHECK(ebb::all_equal(copy, vector{1, 2, 3}));
  const float* place = x.data();
  x *= 2.0;
  x -= x / 2;
  x /= ebb::tensor<float, 1>{2};
  CHECK(ebb::all_equal(x, vector{1, 1.5, 2}));
  CHECK(x.data() == place);
  ebb::view<float, 2> first(x.mutable_data());
  first += 10;
  CHECK(ebb::all_equal(x, vector{11, 11.5, 2}));
  CHECK(test::raised([&] { x += vector{1, 2}; }) ==
        "ebb::add: the extents of the arguments do not fit: argument 0 is [3], argument 1 is [2]");
  CHECK(ebb::all_equal(x, vector{11, 11.5, 2}));
  constexpr auto constant = [] {
    ebb::tensor<float, 2> a{1, 2};
    a += 1;
    return a;
  }();
  static_assert(constant(1) == 3);
}

TEST_CASE("an error names the function that was called") {
  const vector x{1, 2, 3}, y{1, 2, 3, 4}, none(0);
  const ebb::tensor<float, ebb::dyn, ebb::dyn> m(3, 4), empty(0, 4);
  const ebb::tensor<int, ebb::dyn> labels{1, 7, 0};
  const auto unfit = [](const std::string& name, auto f) {
    INFO(name);
    CHECK(test::raised(f).find(name + ": the extents of the arguments do not fit: argument 0 is [") == 0);
  };
  unfit("ebb::mul", [&] { static_cast<void>(ebb::tanh(x * y)); });
  unfit("ebb::matmul", [&] { static_cast<void>(ebb::matmul(m, m)); });
  unfit("ebb::pow", [&] { static_cast<void>(ebb::pow(x, y)); });
  unfit("ebb::where", [&] { static_cast<void>(ebb::where(x > 0, x, y)); });
  unfit("ebb::mse", [&] { static_cast<void>(ebb::mse(x, y)); });
  unfit("ebb::concat", [&] { static_cast<void>(ebb::concat<0>(m, ebb::tensor<float, ebb::dyn, ebb::dyn>(3, 5))); });
  unfit("ebb::reshape<2, 3>", [&] { static_cast<void>(ebb::reshape<2, 3>(y)); });
  unfit("ebb::reshape<dyn, 3>", [&] { static_cast<void>(ebb::reshape<ebb::dyn, 3>(y)); });
  unfit("ebb::broadcast_to<2, 5>", [&] { static_cast<void>(ebb::broadcast_to<2, 5>(y)); });
  unfit("ebb::slice<0, -5>", [&] { static_cast<void>(ebb::slice<0, -5>(y)); });
  unfit("ebb::slice<0, 2, 9>", [&] { static_cast<void>(ebb::slice<0, 2, 9>(y)); });
  unfit("ebb::slice<0, -9, to_end, 2>", [&] { static_cast<void>(ebb::slice<0, -9, ebb::to_end, 2>(y)); });
  unfit("excess", [&] { static_cast<void>(ebb::call<user::excess>{}(x, y)); });  // a user's own function has its own name
  const auto says = [](const std::string& text, auto f) { CHECK(test::raised(f) == text); };
  says("ebb::max over no elements: the operand is [0]", [&] { static_cast<void>(ebb::max(none)); });
  says("ebb::argmax over no elements: the operand is [0, 4]", [&] { static_cast<void>(ebb::argmax<0>(empty)); });
  says("ebb::argmin over no elements: the operand is [0]", [&] { static_cast<void>(ebb::argmin(none)); });
  says("ebb::take: number 1 of the indices of shape [3] is 7, and there are 4 rows", [&] { static_cast<void>(ebb::take(y, labels)); });
  says("ebb::nll: number 1 of the indices of shape [3] is 7, and there are 4 classes", [&] { static_cast<void>(ebb::nll(m, labels)); });
  says("ebb::inverse: the matrix is singular: pivot 1 is 0",
       [&] { static_cast<void>(ebb::inverse(ebb::tensor<double, 2, 2>{{1, 1}, {1, 1}})); });
}

TEST_CASE("compound assignment of terms is traced") {
  const auto f = [](auto x, auto y) {
    x += y;
    x *= 3;
    x -= 1;
    x /= y;
    return ebb::sum(x);
  };
  // 3 + 3 x / y - 1 / y
  const auto [dx, dy] = ebb::grad<0, 1>(f)(ebb::tensor<double, 2>{1, 2}, ebb::tensor<double, 2>{4, 8});
  CHECK((dx(0) == 0.75 && dx(1) == 0.375));
  CHECK((dy(0) == -2. / 16 && dy(1) == -5. / 64));
}

TEST_CASE("a number beside integers gives float, as in PyTorch") {
  const ebb::tensor<int, 2> x{1, 2};
  static_assert(std::is_same_v<decltype(x * 2.5), ebb::tensor<float, 2>>);
  static_assert(std::is_same_v<decltype(x * 2), ebb::tensor<int, 2>>);
  static_assert(std::is_same_v<decltype(x * 2.5f), ebb::tensor<float, 2>>);
  static_assert(std::is_same_v<decltype(ebb::tensor<double, 2>{} * 2.5f), ebb::tensor<double, 2>>);
  static_assert(std::is_same_v<decltype(ebb::tensor<float, 2>{} * 2.5), ebb::tensor<float, 2>>);
  static_assert(std::is_same_v<decltype(ebb::tensor<float>{} * 2.5), float>);
  static_assert(std::is_same_v<decltype(ebb::tensor<bool, 2>{} * 2.5), ebb::tensor<float, 2>>);
  CHECK((x * 2.5)(1) == 5);
}

TEST_CASE("each_leaf visits arrays of structs in step") {
  network<ebb::tensor> p, g;
  g.first.w += 2;
  g.first.b += 3;
  g.scale += 4;
  int leaves = 0;
  ebb::each_leaf([&](auto& to, const auto& from) {
    to -= 0.5 * from;
    ++leaves;
  }, p, std::as_const(g));
  CHECK(leaves == 3);
  CHECK((p.first.w(1, 2) == -1 && p.first.b(2) == -1.5f && static_cast<float>(p.scale) == -2));

  const auto step = [](auto net, auto of) {
    auto slope = ebb::grad([](auto n, auto x) { return ebb::sum(ebb::matmul(x, n.first.w) + n.first.b) * n.scale; })(net, of);
    ebb::each_leaf([](auto& to, auto from) { to += from; }, net, slope);
    return net;
  };
  const auto moved = ebb::compile(step)(g, ebb::tensor<float, 2>{1, 10});
  CHECK((moved.first.w(0, 0) == 2 + 4 && moved.first.w(1, 0) == 2 + 40 && moved.first.b(1) == 3 + 4));
  int numbers = 0;
  ebb::each_leaf([&](int& a, int b) { numbers += a += b; }, std::tuple(1, 2), std::tuple(10, 20));
  CHECK(numbers == 33);
}

TEST_CASE("prod and its derivatives are right with zeros among the factors") {
  constexpr auto f = [](auto x) { return ebb::prod(x); };
  for (const std::array<double, 3>& x : {std::array{2., 3., 4.}, std::array{0., 3., 4.}, std::array{0., 3., 0.}, std::array{0., 0., 0.}}) {
    CHECK(ebb::prod(x) == x[0] * x[1] * x[2]);
    const auto g = ebb::grad(f)(x);
    const auto h = ebb::hessian(f)(x);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(g(i) == x[(i + 1) % 3] * x[(i + 2) % 3]);
      for (std::size_t j = 0; j < 3; ++j) CHECK(h(i, j) == (i == j ? 0 : x[3 - i - j]));
    }
  }
  const ebb::tensor<float, 2, 3> m{{1, 2, 3}, {4, 0, 6}};
  CHECK(ebb::all_equal(ebb::prod<1>(m), ebb::tensor<float, 2>{6, 0}));
  CHECK(ebb::all_equal(ebb::prod<0>(m), ebb::tensor<float, 3>{4, 0, 18}));
  const auto of_rows = ebb::grad([](auto x) { return ebb::sum(ebb::prod<1>(x)); })(m);
  CHECK(ebb::all_equal(of_rows, ebb::tensor<float, 2, 3>{{6, 3, 2}, {0, 24, 0}}));
  CHECK(ebb::prod(ebb::tensor<int, 3>{100000, 100000, 10}) == 100000000000);
  CHECK(ebb::prod(ebb::tensor<float, 0>{}) == 1);
}

TEST_CASE("a user's own reduction goes over all axes if it is called directly") {
  const ebb::tensor<double, ebb::dyn, 2> x{{1, -7}, {3, 2}};
  CHECK(user::farthest(x) == 7);
  CHECK(user::farthest(ebb::tensor<float>(-2.f)) == 2);
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return ebb::map([](auto row) { return user::farthest(row); }, a); })(x),
                       ebb::tensor<double, 2>{7, 3}));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return user::farthest(a * a); })(x), ebb::tensor<double, ebb::dyn, 2>{{0, -14}, {0, 0}}));
}

TEST_CASE("softmax runs along the last axis by default") {
  const ebb::tensor<float, 2, 3> x{{1, 2, 3}, {0, 0, 0}};
  CHECK(ebb::all_equal(ebb::softmax(x), ebb::softmax<1>(x)));
  CHECK(ebb::all_equal(ebb::log_softmax(x), ebb::log_softmax<-1>(x)));
}

TEST_CASE("sums and products of bools are bools") {
  const ebb::tensor<bool, ebb::dyn> a{true, true, false, false}, b{true, false, true, false};
  CHECK(ebb::all_equal(a + b, ebb::tensor<bool, 4>{true, true, true, false}));
  CHECK(ebb::all_equal(a * b, ebb::tensor<bool, 4>{true, false, false, false}));
  CHECK(ebb::all_equal(ebb::square(a), a));
  CHECK(ebb::all_equal(a + 1, ebb::tensor<std::int64_t, 4>{2, 2, 1, 1}));
  constexpr ebb::tensor<bool, 2> c{true, false}, d{true, true};
  static_assert(ebb::all_equal(c + d, d) && ebb::all_equal(c * d, c));
}

TEST_CASE("functions of several ops take numbers alone, as in traced functions") {
  const ebb::tensor<double, ebb::dyn> x{1, 2, 6};
  constexpr auto distance = [](auto a) { return ebb::mse(ebb::mean(a), 1.0); };  // on an array, mean is a number
  CHECK(distance(x) == 4);
  CHECK(ebb::compile(distance)(x) == 4);
  CHECK(ebb::sum(ebb::sum(x)) == 9);
  CHECK(ebb::bce_with_logits(0.f, 1) == Approx(0.693147f));
  static_assert(std::is_same_v<decltype(ebb::mse(2.f, 0.5)), float>);
  static_assert(ebb::mse(2.0, 0.5) == 2.25);
}

TEST_CASE("a number beside bools gives a number") {
  const ebb::tensor<bool, ebb::dyn> a{true, false};
  CHECK(ebb::all_equal((a < 2), ebb::tensor<bool, 2>{true, true}));
  CHECK(ebb::all_equal(ebb::maximum(a, 3), ebb::tensor<std::int64_t, 2>{3, 3}));
  CHECK(ebb::all_equal(a * 2.5, ebb::tensor<float, 2>{2.5f, 0}));
  CHECK(ebb::all_equal(ebb::compile([](auto x, auto n) { return x + n; })(a, 2), ebb::tensor<int, 2>{3, 2}));
}

}  // namespace
