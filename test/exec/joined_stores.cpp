// test/exec/joined_stores.cpp — columns that a loop computes and stores side by side: the elements of columns that are stored alone.
// SPDX-License-Identifier: BSL-1.0
// covers: kernel/part.hpp kernel/every.hpp kernel/nest_step.hpp kernel/scalar_nest.hpp exec/block_nest.hpp exec/alias.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../same_bits.hpp"

#include <cstdint>
#include <utility>

namespace {

using ebb::dyn;

template <class T>
ebb::tensor<T, dyn> row_of(std::size_t n, int from) {
  const auto element = [from](std::size_t i) { return static_cast<T>(static_cast<float>(from + static_cast<int>(i * i % 23) - 7)); };
  return ebb::tensor<T, dyn>::generate(element, n);
}
/// Column `c` of `count`, as a function of two numbers.
constexpr auto column = [](auto x, auto y, auto c) {
  if constexpr (c % 3 == 0) return x + c.value;
  else if constexpr (c % 3 == 1) return x * y - c.value;
  else return y;  // an argument, which nothing computes
};
template <std::size_t... C>
constexpr auto columns(std::index_sequence<C...>) {
  return [](auto x, auto y) { return ebb::stack<-1>(column(x, y, std::integral_constant<int, static_cast<int>(C)>{})...); };
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("stacks of computed columns have the elements of the columns", "", ((class T, std::size_t Count), T, Count),
                       (float, 2), (float, 3), (float, 4), (float, 5), (float, 6), (float, 9), (float, 16), (double, 2), (double, 3),
                       (double, 8), (double, 12), (std::int32_t, 3), (std::int64_t, 4), (ebb::bf16, 3)) {
  constexpr auto f = ebb::compile(columns(std::make_index_sequence<Count>{}));
  for (const std::size_t n : {0u, 1u, 2u, 7u, 15u, 16u, 17u, 31u, 64u, 100u}) {
    CAPTURE(n);
    const auto x = row_of<T>(n, 1), y = row_of<T>(n, 2);
    const auto r = f(x, y);
    const auto each = [&]<std::size_t... C>(std::index_sequence<C...>) {
      const auto check = [&]<std::size_t I>() {
        using number = std::integral_constant<int, static_cast<int>(I)>;
        constexpr auto one = ebb::compile([](auto a, auto b) { return column(a, b, number{}) * 1; });
        return test::same_bits(ebb::select<1, I>(r), one(x, y));
      };
      return (check.template operator()<C>() && ...);
    };
    CHECK(each(std::make_index_sequence<Count>{}));
  }
}

TEMPLATE_TEST_CASE("a loop that stores columns also sums, and stores what others read", "", float, double) {
  constexpr auto f = ebb::compile([](auto x, auto y) {
    const auto p = ebb::exp(x), q = p * y;
    return std::tuple(ebb::stack<-1>(p, q, x), ebb::sum(q), p);
  });
  constexpr auto apart = ebb::compile([](auto x, auto y) {
    const auto p = ebb::exp(x);
    return std::tuple(p, p * y, ebb::sum(p * y));
  });
  for (const std::size_t n : {1u, 17u, 300u, 5000u}) {
    CAPTURE(n);
    const auto x = row_of<TestType>(n, 0) / TestType(8), y = row_of<TestType>(n, 3);
    const auto [joined, sum, p] = f(x, y);
    const auto [a, b, expected] = apart(x, y);
    CHECK(test::same_bits(ebb::select<1, 0>(joined), a));
    CHECK(test::same_bits(ebb::select<1, 1>(joined), b));
    CHECK(test::same_bits(ebb::select<1, 2>(joined), x));
    CHECK(test::same_bits(p, a));
    CHECK(sum == expected);
  }
}

TEMPLATE_TEST_CASE("columns of rows with sums along rows", "", float, double) {
  // Sums join rows, which begin in any lane.
  constexpr auto f = ebb::compile([](auto x, auto w) {
    const auto p = x * w;
    return std::tuple(ebb::stack<-1>(p, x), ebb::sum(p), ebb::sum<1>(p));
  });
  for (const std::size_t n : {1u, 3u, 60u}) {
    CAPTURE(n);
    const auto x = ebb::cast<TestType>(ebb::normal<float, dyn, 21>(n, {n}));
    const auto w = ebb::cast<TestType>(ebb::normal<float, 21>(1));
    const auto [joined, total, rows] = f(x, w);
    constexpr auto product = ebb::compile([](auto a, auto b) { return a * b; });
    constexpr auto sums = ebb::compile([](auto a, auto b) { return std::tuple(ebb::sum(a * b), ebb::sum<1>(a * b)); });
    const auto p = product(x, w);
    const auto [expected, expected_rows] = sums(x, w);
    CHECK(test::same_bits(ebb::select<2, 0>(joined), p));
    CHECK(test::same_bits(ebb::select<2, 1>(joined), x));
    CHECK(total == expected);
    CHECK(test::same_bits(rows, expected_rows));
  }
}

TEST_CASE("columns may be repeated, literals, indices, results of other loops, and parts of a larger array") {
  constexpr auto f = ebb::compile([](auto x, auto s) {
    const auto p = x * s, centred = p - ebb::sum(p);
    return ebb::concat<0>(ebb::stack<-1>(p, ebb::ones_like(x), p, ebb::full_like(x, s)), ebb::stack<-1>(x, p, centred, centred));
  });
  for (const std::size_t n : {1u, 19u, 64u}) {
    CAPTURE(n);
    const auto x = row_of<double>(n, 2);
    const double s = 0.75;
    const auto r = f(x, s);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x(i) * s;
    for (std::size_t i = 0; i < n; ++i) {
      const double p = x(i) * s;
      CHECK((r(i, 0) == p && r(i, 1) == 1 && r(i, 2) == p && r(i, 3) == s));
      CHECK((r(n + i, 0) == x(i) && r(n + i, 1) == p && r(n + i, 2) == p - sum && r(n + i, 3) == p - sum));
    }
  }
}

TEST_CASE("a stack is not written over the rows that it reads") {
  constexpr auto turned = ebb::compile([](auto x) {
    const auto a = ebb::select<1, 0>(x), b = ebb::select<1, 1>(x);
    return ebb::stack<-1>(a + b, a - b);
  });
  auto x = ebb::tensor<double, dyn, 2>::generate([](std::size_t i) { return static_cast<double>(i % 11); }, 100);
  auto expected = x;
  for (std::size_t i = 0; i < 100; ++i) {
    expected.at(i, 0) = x(i, 0) + x(i, 1);
    expected.at(i, 1) = x(i, 0) - x(i, 1);
  }
  x = turned(std::move(x));
  CHECK(test::same_bits(x, expected));
}

TEST_CASE("a single row and a program without a call's extents") {
  constexpr auto f = ebb::compile([](auto x, auto y) { return ebb::stack<-1>(x + y, x * y, x); });
  const auto r = f(ebb::tensor<float, 1, 1>{2.f}, ebb::tensor<float, 1, 1>{3.f});
  CHECK((r(0, 0, 0) == 5 && r(0, 0, 1) == 6 && r(0, 0, 2) == 2));
  const auto s = f(ebb::tensor<float, 5>{1.f, 2.f, 3.f, 4.f, 5.f}, ebb::tensor<float, 5>{2.f, 2.f, 2.f, 2.f, 2.f});
  for (std::size_t i = 0; i < 5; ++i) {
    const auto v = static_cast<float>(i + 1);
    CHECK((s(i, 0) == v + 2 && s(i, 1) == v * 2 && s(i, 2) == v));
  }
}
