// test/autograd/listed.cpp — concat and stack of tuples, std::arrays and std::vectors: in traces, of arrays, of variables.
// SPDX-License-Identifier: BSL-1.0
// covers: listed.hpp exec/listed.hpp op/list.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace {

using ebb::dyn;
using rows_of_list = ebb::tensor<double, dyn>;
using table_of_list = ebb::tensor<double, dyn, dyn>;

std::string message_of_list(auto f) {
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("concat and stack of a tuple or a std::array are those of its elements, with first and second derivatives") {
  // A C++ loop over steps keeps its states in a std::array.
  constexpr auto powers = [](auto x) {
    std::array<decltype(x), 3> list{x, x, x};
    for (std::size_t i = 1; i < 3; ++i) list[i] = list[i - 1] * x;
    return ebb::stack<1>(list);
  };
  constexpr auto mixed = [](auto x) {
    return ebb::concat<-1>(std::tuple(x, ebb::cast<float>(x), ebb::stack<0>(std::tuple(x(0), 2 * x(1)))));
  };
  const rows_of_list x{2, 3};
  CHECK(ebb::all_equal(ebb::compile(powers)(x), table_of_list{{2, 4, 8}, {3, 9, 27}}));
  CHECK(ebb::all_equal(powers(x), table_of_list{{2, 4, 8}, {3, 9, 27}}));
  CHECK(ebb::all_equal(ebb::compile(mixed)(x), rows_of_list{2, 3, 2, 3, 2, 6}));
  const auto loss = [](auto y) { return ebb::sum(ebb::stack<1>(std::array{y, y * y})); };  // y + y^2: the second derivative is 2
  CHECK(ebb::all_equal(ebb::grad(loss)(x), rows_of_list{5, 7}));
  CHECK(ebb::all_equal(ebb::hvp(loss)(x, rows_of_list{1, 10}), rows_of_list{2, 20}));
  // In an autocast context narrow elements become the widest, as without a list.
  using context = ebb::autocast<ebb::bf16>;
  constexpr auto joined =
      ebb::under<context>([](auto a) { return ebb::concat<0>(std::tuple(ebb::cast<ebb::bf16>(a), ebb::cast<float>(a))); });
  CHECK(std::is_same_v<decltype(joined(x)), ebb::tensor<float, dyn>>);
}

TEST_CASE("a std::vector of arrays of any length is joined; an empty one is refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<rows_of_list> parts{{1}, {}, {2, -0.0}, {nan, 4, 5}};
  const auto all = ebb::concat<0>(parts);
  CHECK((all.size() == 6 && all(1) == 2 && std::signbit(all(2)) && std::isnan(all(3)) && all(5) == 5));
  CHECK(ebb::all_equal(ebb::concat<0>(std::vector<rows_of_list>{{7, 8}}), rows_of_list{7, 8}));
  const std::vector<ebb::tensor<double, 2>> pairs{{1, 2}, {3, 4}, {5, 6}};
  const ebb::tensor<double, 2, dyn> columns = ebb::stack<-1>(pairs);
  CHECK(ebb::all_equal(columns, ebb::tensor<double, 2, dyn>{{1, 3, 5}, {2, 4, 6}}));
  CHECK(ebb::all_equal(ebb::concat<0>(pairs), rows_of_list{1, 2, 3, 4, 5, 6}));
  CHECK(message_of_list([] { ebb::concat<0>(std::vector<rows_of_list>()); }) == "ebb::concat: the std::vector is empty: it has no extents");
  CHECK(message_of_list([] { ebb::stack<0>(std::vector<rows_of_list>{{1}, {1, 2}}); }).starts_with("ebb::concat: "));
}

TEST_CASE("a std::vector of variables is joined on the tape: gradients reach its elements, twice, with and without capture") {
  using variable = ebb::variable<double, 2>;
  const auto run = [] {
    const std::vector<variable> x{variable({1, 2}), variable({3, 4}), variable({5, 6})};
    std::vector<variable> list{x[0], x[1] * x[1], x[2], x[0]};  // an element twice, and one with a history
    const ebb::variable flat = ebb::concat<0>(list);
    static_assert(std::is_same_v<decltype(flat), const ebb::variable<double, dyn>>);
    CHECK(ebb::all_equal(flat.value(), rows_of_list{1, 2, 9, 16, 5, 6, 1, 2}));
    const ebb::variable rows = ebb::stack<0>(list);
    const ebb::variable weights(ebb::tensor<double, dyn, 1>{{1}, {10}, {100}, {1000}});
    const ebb::variable loss = ebb::sum(flat * flat) + ebb::sum(rows * weights);
    loss.backward();
    CHECK(ebb::all_equal(x[0].grad().value(), ebb::tensor<double, 2>{4 + 1001, 8 + 1001}));
    CHECK(ebb::all_equal(x[1].grad().value(), ebb::tensor<double, 2>{4 * 27 + 60, 4 * 64 + 80}));
    CHECK(ebb::all_equal(x[2].grad().value(), ebb::tensor<double, 2>{10 + 100, 12 + 100}));
    CHECK(ebb::all_equal(weights.grad().value(), ebb::tensor<double, dyn, 1>{{3}, {25}, {11}, {3}}));
  };
  run();
  const ebb::compiled_autograd::enable scope;
  run();
  run();
}

TEST_CASE("joined variables have second derivatives; leaves keep the values that were joined; undefined ones are refused") {
  ebb::variable a(ebb::tensor<double, 2>{1, 2});
  const std::vector<decltype(a)> list{a, a};
  const ebb::variable y = ebb::concat<0>(list);
  {
    const ebb::no_grad scope;
    a *= 100;
  }
  CHECK(ebb::all_equal(y.value(), rows_of_list{1, 2, 1, 2}));
  const ebb::variable z = ebb::concat<0>(std::vector<decltype(a)>{a * a, a});
  static_assert(std::is_same_v<decltype(z), const ebb::variable<double, dyn>>);
  const ebb::variable cube = ebb::sum(z * z * z);
  cube.backward({.create_graph = true});
  const ebb::variable slope = a.grad();
  a.set_grad(ebb::tensor<double, 2>{0, 0});
  ebb::sum(slope).backward();  // of a^6 + a^3: 30 a^4 + 6 a
  CHECK(a.grad().value()(0) == 30 * 1e8 + 600);
  CHECK(message_of_list([&] { ebb::concat<0>(std::vector{a, decltype(a)()}); }) != "");
  const ebb::no_grad scope;
  CHECK_FALSE(ebb::variable(ebb::stack<0>(list)).requires_grad());
}

}  // namespace
