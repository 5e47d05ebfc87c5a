// test/exec/strided_loads.cpp — loops that read columns, steps and permutations where they lie: the bits of loops that read copies.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/view.hpp plan/fuse.hpp plan/plan.hpp kernel/part.hpp kernel/every.hpp kernel/nest_step.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../normal_array.hpp"
#include "../same_bits.hpp"

#include <algorithm>
#include <tuple>

namespace {

using ebb::dyn, test::normal_array;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto product_sum = ebb::compile([](auto x, auto y) { return ebb::sum(x * y); });

constexpr auto row = [](auto a) { return ebb::tanh(ebb::select<0, 1>(a)) * ebb::softmax(ebb::slice<0, 0, ebb::to_end, 2>(a)); };

}  // namespace

TEMPLATE_TEST_CASE("columns of rows of any length have the bits of copies", "", float, double, ebb::bf16) {
  constexpr auto columns = ebb::compile([](auto x) { return ebb::select<1, 0>(x) * ebb::select<1, 1>(x); });
  constexpr auto last = ebb::compile([](auto x, auto y) { return ebb::select<1, -1>(x) * y; });
  const auto check = [&](const auto& x) {
    const auto a = ebb::select<1, 0>(x), b = ebb::select<1, 1>(x), c = ebb::select<1, -1>(x);
    CHECK(test::same_bits(columns(x), product(a, b)));
    CHECK(test::same_bits(last(x, a), product(c, a)));
  };
  for (const std::size_t n : {1u, 7u, 16u, 17u, 40u, 333u}) {
    CAPTURE(n);
    check(normal_array<TestType, dyn, 2>(n, n));
    check(normal_array<TestType, dyn, 3>(n, n));
    check(normal_array<TestType, dyn, 40>(n, n));
    check(normal_array<TestType, dyn, dyn>(n, n, n + 1));
  }
  check(normal_array<TestType, 29, 3>(1));
}

TEMPLATE_TEST_CASE("columns that lie side by side, with gaps and without, have the bits of copies", "", float, double, ebb::bf16, int) {
  constexpr auto sum_of = ebb::compile([](auto... c) { return (c + ...); });
  const auto check = [&]<int... C>(const auto& x, std::integer_sequence<int, C...>) {
    constexpr auto columns = ebb::compile([](auto a) { return (ebb::select<-1, C>(a) + ...); });
    CHECK(test::same_bits(columns(x), sum_of(ebb::select<-1, C>(x)...)));
  };
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 31u, 48u, 333u}) {
    CAPTURE(n);
    const auto two = normal_array<TestType, dyn, 2>(n, n);
    check(two, std::integer_sequence<int, 1, 0>());
    const auto three = normal_array<TestType, dyn, 3>(n + 1, n);
    check(three, std::integer_sequence<int, 0, 1, 2>());
    check(three, std::integer_sequence<int, 2, 0>());
    check(three, std::integer_sequence<int, 1, 2>());
    const auto four = normal_array<TestType, dyn, 4>(n + 2, n);
    check(four, std::integer_sequence<int, 0, 1, 2, 3>());
    check(four, std::integer_sequence<int, 3, 1, 0>());
    check(four, std::integer_sequence<int, 0, 3>());
    check(four, std::integer_sequence<int, 3, 2, 1>());
    check(four, std::integer_sequence<int, 2>());
    check(normal_array<TestType, 3, dyn, 4>(n + 3, n), std::integer_sequence<int, 0, 1, 2, 3>());
    // Elements of one line, in groups of four: these begin at the second one.
    constexpr auto of_line = ebb::compile([](auto a, auto b) {
      return ebb::slice<0, 1, ebb::to_end, 4>(a) * ebb::slice<0, 4, ebb::to_end, 4>(a) + ebb::slice<0, 2, -2, 4>(a) * b;
    });
    constexpr auto of_copies = ebb::compile([](auto a, auto b, auto c, auto d) { return a * b + c * d; });
    const auto line = normal_array<TestType, dyn>(n + 4, 4 * n + 1), b = normal_array<TestType, dyn>(n + 5, n);
    const auto every = ebb::compile([](auto a) {
      return std::tuple(ebb::slice<0, 1, ebb::to_end, 4>(a), ebb::slice<0, 4, ebb::to_end, 4>(a), ebb::slice<0, 2, -2, 4>(a));
    })(line);
    CHECK(test::same_bits(of_line(line, b), of_copies(std::get<0>(every), std::get<1>(every), std::get<2>(every), b)));
  }
}

TEMPLATE_TEST_CASE("steps and reversed steps along the last axis have the bits of copies", "", float, double) {
  constexpr auto by_two = ebb::compile([](auto x, auto y) { return ebb::slice<0, 0, ebb::to_end, 2>(x) * y; });
  constexpr auto by_three = ebb::compile([](auto x, auto y) { return ebb::slice<0, 1, ebb::to_end, 3>(x) * y; });
  constexpr auto by_four = ebb::compile([](auto x, auto y) { return ebb::slice<0, 3, ebb::to_end, 4>(x) * y; });
  constexpr auto by_five = ebb::compile([](auto x, auto y) { return ebb::slice<0, 2, ebb::to_end, 5>(x) * y; });
  constexpr auto back_by_two = ebb::compile([](auto x, auto y) { return ebb::slice<0, 0, ebb::to_end, 2>(ebb::flip<0>(x)) * y; });
  for (const std::size_t n : {1u, 15u, 16u, 31u, 64u, 101u, 2000u}) {
    CAPTURE(n);
    const auto y = normal_array<TestType, dyn>(1, n);
    const auto two = normal_array<TestType, dyn>(2, 2 * n), three = normal_array<TestType, dyn>(3, 3 * n - 1);
    const auto five = normal_array<TestType, dyn>(4, 5 * n - 2), four = normal_array<TestType, dyn>(5, 4 * n);
    CHECK(test::same_bits(by_four(four, y), product(ebb::slice<0, 3, ebb::to_end, 4>(four), y)));
    CHECK(test::same_bits(by_two(two, y), product(ebb::slice<0, 0, ebb::to_end, 2>(two), y)));
    CHECK(test::same_bits(by_three(three, y), product(ebb::slice<0, 1, ebb::to_end, 3>(three), y)));
    CHECK(test::same_bits(by_five(five, y), product(ebb::slice<0, 2, ebb::to_end, 5>(five), y)));
    CHECK(test::same_bits(back_by_two(two, y), product(ebb::slice<0, 0, ebb::to_end, 2>(ebb::flip<0>(two)), y)));
  }
}

TEMPLATE_TEST_CASE("a sum over all elements reads and writes rows where they lie, and keeps its order", "", float, double) {
  const auto first = [](auto x) { return ebb::slice<1, 1>(x); };
  const auto second = [](auto x) { return ebb::slice<1, 0, -1>(x); };
  constexpr auto neighbours = ebb::compile([](auto x) { return ebb::sum(ebb::slice<1, 1>(x) * ebb::slice<1, 0, -1>(x)); });
  constexpr auto rows_too = ebb::compile([](auto x) {
    return ebb::sum(ebb::slice<0, 1>(ebb::slice<1, 1>(x)) * ebb::slice<0, 0, -1>(ebb::slice<1, 0, -1>(x)));
  });
  constexpr auto flipped = ebb::compile([](auto x) { return ebb::sum(ebb::flip<1>(x) * x); });
  constexpr auto both = ebb::compile([](auto x) {
    const auto z = ebb::slice<1, 1>(x) * ebb::slice<1, 0, -1>(x);
    return std::tuple(z, ebb::sum(z), ebb::max(z));
  });
  constexpr auto steps = ebb::compile([](auto x) {
    const auto every = ebb::slice<1, 0, ebb::to_end, 2>(x);
    return std::tuple(ebb::sum(every * every), ebb::sum(ebb::slice<1, 1, ebb::to_end, 3>(x)),
                      ebb::sum(ebb::slice<1, 0, ebb::to_end, 5>(x)));
  });
  constexpr auto joined = ebb::compile([](auto x, auto y) {
    const auto z = x * y;
    return std::tuple(ebb::concat<1>(z, y), ebb::sum(z));
  });
  constexpr auto padded = ebb::compile([](auto x) {
    return ebb::sum(ebb::pad<1, 2, 3>(x) * ebb::pad<1, 3, 2>(x) + ebb::pad<1, 0, 5>(x));
  });
  constexpr auto padded_after = ebb::compile([](auto x, auto y, auto z) { return ebb::sum(x * y + z); });
  constexpr auto sum_of = ebb::compile([](auto x) { return ebb::sum(x); });
  constexpr auto max_of = ebb::compile([](auto x) { return ebb::max(x); });
  for (const std::size_t n : {1u, 2u, 3u, 40u})
    for (const std::size_t m : {3u, 15u, 16u, 17u, 18u, 33u, 64u, 65u, 100u, 259u, 1030u}) {
      CAPTURE(n, m);
      const auto x = normal_array<TestType, dyn, dyn>(n + m, n, m), y = normal_array<TestType, dyn, dyn>(n, n, m);
      const auto a = first(x), b = second(x);
      CHECK(neighbours(x) == product_sum(a, b));
      CHECK(flipped(x) == product_sum(ebb::flip<1>(x), x));
      if (n > 1) CHECK(rows_too(x) == product_sum(ebb::slice<0, 1>(a), ebb::slice<0, 0, -1>(b)));
      const auto [z, sum, most] = both(x);
      CHECK(test::same_bits(z, product(a, b)));
      CHECK(sum == product_sum(a, b));
      CHECK(most == max_of(product(a, b)));
      const auto [two, three, five] = steps(x);
      const auto every = ebb::slice<1, 0, ebb::to_end, 2>(x);
      CHECK(two == product_sum(every, every));
      CHECK(three == sum_of(ebb::slice<1, 1, ebb::to_end, 3>(x)));
      CHECK(five == sum_of(ebb::slice<1, 0, ebb::to_end, 5>(x)));
      const auto [side, all] = joined(x, y);
      CHECK(test::same_bits(side, ebb::concat<1>(product(x, y), y)));
      CHECK(all == product_sum(x, y));
      CHECK(padded(x) == padded_after(ebb::pad<1, 2, 3>(x), ebb::pad<1, 3, 2>(x), ebb::pad<1, 0, 5>(x)));
    }
}

TEMPLATE_TEST_CASE("sums of strided elements keep their order", "", float, double) {
  constexpr auto columns = ebb::compile([](auto x) { return ebb::sum(ebb::select<1, 0>(x) * ebb::select<1, 2>(x)); });
  // The nest has a loop of its own for the rows of w: sums join rows, which begin in any lane.
  constexpr auto joined = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::slice<1, 1, ebb::to_end, 2>(x) * w); });
  constexpr auto backwards = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::flip<0>(ebb::flip<1>(x)) * w); });
  constexpr auto rows = ebb::compile([](auto x) { return ebb::sum<1>(ebb::slice<1, 0, ebb::to_end, 3>(x)); });
  constexpr auto chains = ebb::compile([](auto x) { return ebb::sum<0>(ebb::slice<1, 0, ebb::to_end, 2>(x)); });
  for (const std::size_t n : {1u, 2u, 17u, 100u, 5000u}) {
    CAPTURE(n);
    const auto x = normal_array<TestType, dyn, 3>(n, n);
    CHECK(columns(x) == product_sum(ebb::select<1, 0>(x), ebb::select<1, 2>(x)));
  }
  for (const std::size_t n : {1u, 3u, 60u}) {
    CAPTURE(n);
    const auto x = normal_array<TestType, dyn, 42>(n, n);
    const auto w = normal_array<TestType, 21>(1);
    const auto wide = normal_array<TestType, 42>(1);
    CHECK(joined(x, w) == product_sum(ebb::slice<1, 1, ebb::to_end, 2>(x), w));
    CHECK(backwards(x, wide) == product_sum(ebb::flip<0>(ebb::flip<1>(x)), wide));
    constexpr auto sum_of_rows = ebb::compile([](auto a) { return ebb::sum<1>(a); });
    constexpr auto sum_of_columns = ebb::compile([](auto a) { return ebb::sum<0>(a); });
    const auto y = normal_array<TestType, dyn, 60>(n, n);
    CHECK(test::same_bits(rows(y), sum_of_rows(ebb::slice<1, 0, ebb::to_end, 3>(y))));
    CHECK(test::same_bits(chains(x), sum_of_columns(ebb::slice<1, 0, ebb::to_end, 2>(x))));
  }
}

TEST_CASE("columns that are repeated, permutations, and what several loops read have the bits of copies") {
  constexpr auto centred = ebb::compile([](auto x) { return x - ebb::slice<1, 0, 1>(x) * ebb::unsqueeze<1>(ebb::select<1, -1>(x)); });
  constexpr auto heads = ebb::compile([](auto x, auto y) { return ebb::transpose<1, 0, 2>(x) * y; });
  constexpr auto turned = ebb::compile([](auto x, auto y) { return ebb::transpose(x) * y; });
  constexpr auto often = ebb::compile([](auto x, auto w) {
    const auto a = ebb::select<1, 3>(x);
    const auto first = ebb::sum(a * w);
    const auto second = ebb::sum(a * first);
    return std::tuple(ebb::exp(a) * second, first);
  });
  for (const std::size_t n : {1u, 16u, 19u, 70u}) {
    CAPTURE(n);
    const auto x = normal_array<float, dyn, 24>(n, n);
    const auto one = ebb::slice<1, 0, 1>(x);
    const auto last = ebb::unsqueeze<1>(ebb::select<1, -1>(x));
    CHECK(test::same_bits(centred(x), ebb::compile([](auto a, auto b, auto c) { return a - b * c; })(x, one, last)));
    const auto cube = normal_array<float, dyn, 5, 20>(n, n);
    const auto other = normal_array<float, 5, dyn, 20>(n + 1, n);
    CHECK(test::same_bits(heads(cube, other), product(ebb::transpose<1, 0, 2>(cube), other)));
    const auto points = normal_array<float, dyn, 3>(n, n);
    const auto columns = normal_array<float, 3, dyn>(n + 1, n);
    CHECK(test::same_bits(turned(points, columns), product(ebb::transpose(points), columns)));
    const auto w = normal_array<float, dyn>(n + 2, n);
    const auto [a, b] = often(x, w);
    const auto copy = ebb::select<1, 3>(x);
    const float first = product_sum(copy, w), second = product_sum(copy, ebb::tensor<float>(first));
    CHECK(b == first);
    CHECK(test::same_bits(a, ebb::compile([](auto c, auto s) { return ebb::exp(c) * s; })(copy, second)));
  }
}

TEST_CASE("bands and blocks of rows read columns where they lie") {
  constexpr auto loss = [](auto w, auto x, auto y) { return ebb::sum(ebb::square(ebb::matmul(x, w) - y)); };
  const auto x = normal_array<float, 700, 40>(1);
  const auto w = normal_array<float, 40>(2);
  const auto table = normal_array<float, 700, 4>(3);
  constexpr auto of_column = ebb::value_and_grad([](auto v, auto m, auto t) {
    return ebb::sum(ebb::square(ebb::matmul(m, v) - ebb::select<1, 2>(t)));
  });
  const auto [value, gradient] = of_column(w, x, table);
  const auto [known, known_gradient] = ebb::value_and_grad(loss)(w, x, ebb::select<1, 2>(table));
  CHECK(value == known);
  CHECK(test::same_bits(gradient, known_gradient));

  const auto rows = normal_array<float, dyn, 64>(4, 3000u);
  const auto all = ebb::compile([](auto a) { return ebb::map(row, a); })(rows);
  for (const std::size_t i : {0u, 1234u, 2999u}) {
    ebb::tensor<float, 64> one;
    std::copy_n(rows.data() + i * 64, 64, one.mutable_data());
    const auto expected = ebb::tanh(ebb::select<0, 1>(one)) * ebb::softmax(ebb::slice<0, 0, ebb::to_end, 2>(one));
    CHECK(std::equal(expected.begin(), expected.end(), all.data() + i * 32));
  }
}

TEST_CASE("a step that reads other rows than its own runs after all rows have been computed") {
  using vector = ebb::tensor<double, dyn>;
  constexpr auto flipped = [](auto x, auto w) {
    const auto y = ebb::matmul(x, w);
    return ebb::matmul(ebb::transpose(x), ebb::flip<0>(y) * y);
  };
  constexpr auto turned = [](auto x, auto w) { return ebb::matmul(ebb::transpose(x), ebb::flip<0>(ebb::matmul(x, w))); };
  constexpr auto next = [](auto x, auto w) {
    const auto y = ebb::sin(ebb::matmul(x, w));
    return ebb::matmul(ebb::transpose(x), ebb::slice<0, 2>(ebb::pad<0, 1, 1>(y)) * y);
  };
  const auto x = normal_array<double, dyn, dyn>(1, 400u, 50u);
  const auto w = normal_array<double, dyn>(2, 50u);
  const vector y = ebb::matmul(x, w), s = ebb::sin(y);
  constexpr auto of_rows = ebb::compile([](auto a, auto b) { return ebb::matmul(ebb::transpose(a), b); });
  const vector after = vector::generate([&](std::size_t i) { return (i + 1 < 400 ? s(i + 1) : 0) * s(i); }, 400u);
  CHECK(test::same_bits(ebb::compile(flipped)(x, w), of_rows(x, ebb::flip<0>(y) * y)));
  CHECK(test::same_bits(ebb::compile(turned)(x, w), of_rows(x, ebb::flip<0>(y))));
  CHECK(test::same_bits(ebb::compile(next)(x, w), of_rows(x, after)));
}
