// test/exec/zeros_around.cpp — loops that read places where their operands lie: the elements of places that were copied.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/readers.hpp plan/view.hpp plan/fuse.hpp block_nest.hpp
// covers: kernel/nest_step.hpp kernel/nest_loads.hpp kernel/nest_places.hpp kernel/part.hpp
#include <ebb/ebb.hpp>
#include <ebb/explain.hpp>

#include "../catch.hpp"
#include "../normal_array.hpp"
#include "../same_bits.hpp"

#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using ebb::dyn, test::normal_array;

constexpr auto twice = ebb::compile([](auto x) { return x + x; });
constexpr auto difference = ebb::compile([](auto x, auto y) { return x - y; });
constexpr auto sums = ebb::compile([](auto x) { return std::tuple(ebb::sum(x), ebb::sum<0>(x), ebb::max(x)); });

template <class... A>
bool is_one_step(auto f) {
  return ebb::explain<A...>(f).steps().size() == 1;
}

}  // namespace

TEMPLATE_TEST_CASE("a loop reads a padded array where it lies", "", float, double, ebb::bf16, std::int32_t, bool) {
  constexpr auto padded = [](auto x) { return ebb::pad<0, 2, 3>(x) == ebb::pad<0, 2, 3>(x); };
  constexpr auto f = ebb::compile([](auto x) { return ebb::pad<0, 2, 3>(x) + ebb::pad<0, 3, 2>(x); });
  constexpr auto add = ebb::compile([](auto x, auto y) { return x + y; });
  if constexpr (!std::is_same_v<TestType, bool>) {
    for (const std::size_t n : {0u, 1u, 5u, 11u, 12u, 16u, 27u, 32u, 100u}) {
      CAPTURE(n);
      const auto x = normal_array<TestType, dyn>(n, n);
      CHECK(test::same_bits(f(x), add(ebb::pad<0, 2, 3>(x), ebb::pad<0, 3, 2>(x))));
    }
  } else {
    const auto x = normal_array<float, dyn>(1, 100u) > 0;
    CHECK(ebb::sum(ebb::cast<int>(ebb::compile(padded)(x))) == 105);
  }
}

TEMPLATE_TEST_CASE("rows and columns of zeros around a matrix", "", float, double) {
  constexpr auto around = [](auto x) { const auto p = ebb::pad<1, 2, 1>(ebb::pad<0, 1, 2>(x)); return p + p; };
  constexpr auto cube = ebb::compile([](auto x) {
    const auto p = ebb::pad<2, 1, 1>(ebb::pad<1, 1, 1>(ebb::pad<0, 1, 1>(x)));
    return p + p;
  });
  CHECK(is_one_step<ebb::tensor<TestType, dyn, dyn>>(around));
  constexpr auto f = ebb::compile(around);
  for (const auto& [rows, columns] : {std::pair(1u, 1u), {3u, 7u}, {0u, 9u}, {5u, 0u}, {4u, 16u}, {3u, 31u}, {2u, 64u}, {7u, 130u}}) {
    CAPTURE(rows, columns);
    const auto x = normal_array<TestType, dyn, dyn>(rows + columns, rows, columns);
    CHECK(test::same_bits(f(x), twice(ebb::pad<1, 2, 1>(ebb::pad<0, 1, 2>(x)))));
    const auto y = normal_array<TestType, dyn, dyn, dyn>(rows * columns, rows, 2u, columns);
    CHECK(test::same_bits(cube(y), twice(ebb::pad<2, 1, 1>(ebb::pad<1, 1, 1>(ebb::pad<0, 1, 1>(y))))));
  }
  constexpr auto rows_of = ebb::compile([](auto x) { const auto p = ebb::pad<1, 2, 1>(x); return p + p; });
  const auto x = normal_array<TestType, 5, 100>(1);
  CHECK(test::same_bits(rows_of(x), twice(ebb::pad<1, 2, 1>(x))));
  const auto y = normal_array<TestType, 5, 20>(1);
  CHECK(test::same_bits(rows_of(y), twice(ebb::pad<1, 2, 1>(y))));
}

TEMPLATE_TEST_CASE("the neighbours of a padded grid", "", float, double) {
  constexpr auto laplacian = [](auto x) {
    const auto p = ebb::pad<1, 1, 1>(ebb::pad<0, 1, 1>(x));
    const auto columns = ebb::slice<1, 1, -1>(p), rows = ebb::slice<0, 1, -1>(p);
    return ebb::slice<0, 0, -2>(columns) + ebb::slice<0, 2>(columns) + ebb::slice<1, 0, -2>(rows) + ebb::slice<1, 2>(rows) - 4 * x;
  };
  CHECK(is_one_step<ebb::tensor<TestType, dyn, dyn>>(laplacian));
  constexpr auto f = ebb::compile(laplacian);
  for (const auto& [n, m] : {std::pair(1u, 1u), {1u, 40u}, {40u, 1u}, {2u, 2u}, {9u, 17u}, {3u, 200u}}) {
    CAPTURE(n, m);
    const auto x = normal_array<TestType, dyn, dyn>(n + m, n, m);
    const auto r = f(x);
    const auto at = [&](std::size_t i, std::size_t j) { return i < n && j < m ? x(i, j) : TestType(0); };
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) REQUIRE(r(i, j) == at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * at(i, j));
  }
}

TEMPLATE_TEST_CASE("sums of padded arrays, and one row of them", "", float, double) {
  constexpr auto f = ebb::compile([](auto x) {
    const auto p = ebb::pad<1, 1, 2>(ebb::pad<0, 2, 1>(x));
    return std::tuple(ebb::sum(p), ebb::sum<0>(p), ebb::max(p));
  });
  constexpr auto first = ebb::compile([](auto x) { return ebb::slice<0, 0, 1>(ebb::pad<0, 1, 1>(x)) + 1; });
  constexpr auto second = ebb::compile([](auto x) { return ebb::select<0, 1>(ebb::pad<0, 1, 1>(x)) + 1; });
  for (const std::size_t n : {1u, 2u, 19u, 90u}) {
    CAPTURE(n);
    const auto x = normal_array<TestType, dyn, dyn>(n, n, 50u) - 9;
    const auto [total, columns, largest] = f(x);
    const auto [known_total, known_columns, known_largest] = sums(ebb::pad<1, 1, 2>(ebb::pad<0, 2, 1>(x)));
    CHECK((total == known_total && test::same_bits(columns, known_columns) && largest == known_largest));
    for (std::size_t j = 0; j < 50; ++j) REQUIRE((first(x)(0, j) == 1 && second(x)(j) == x(0, j) + 1));
  }
}

TEMPLATE_TEST_CASE("gradients of slices, and results over arguments", "", float, double) {
  constexpr auto energy = [](auto x) {
    const auto d = ebb::slice<0, 1>(x) - ebb::slice<0, 0, -1>(x);
    return ebb::sum(d * d);
  };
  constexpr auto smooth = ebb::compile([](auto x) {
    const auto p = ebb::pad<0, 1, 1>(x);
    return ebb::slice<0, 0, -2>(p) + ebb::slice<0, 2>(p);
  });
  for (const std::size_t n : {2u, 3u, 17u, 300u}) {
    CAPTURE(n);
    auto x = normal_array<TestType, dyn>(n, n);
    const auto g = ebb::grad(energy)(x);
    for (std::size_t i = 0; i < n; ++i) {
      const TestType before = i > 0 ? x(i) - x(i - 1) : 0, after = i + 1 < n ? x(i + 1) - x(i) : 0;
      CHECK(g(i) == 2 * before - 2 * after);
    }
    const auto known = difference(smooth(x), x - x);
    x = smooth(std::move(x));
    CHECK(test::same_bits(x, known));
  }
}

TEMPLATE_TEST_CASE("one number of a padded array for each row", "", float, double) {
  // The gradient of the sum of a row is one element of a slice of the place that is the gradient of the other slice.
  constexpr auto f = ebb::grad([](auto x, auto w) {
    const auto p = ebb::pad<0, 16, 5>(ebb::sum<1>(x * x));
    return ebb::sum(ebb::slice<0, 11, 44>(p) * w);
  });
  const auto x = normal_array<TestType, 33, 9>(1);
  const auto w = normal_array<TestType, 33>(2);
  const auto g = f(x, w);
  for (std::size_t i = 0; i < 33; ++i)
    for (std::size_t j = 0; j < 9; ++j) CHECK(g(i, j) == 2 * (x(i, j) * (i + 5 < 33 ? w(i + 5) : 0)));
}

namespace {

constexpr auto flow = [](auto x, auto y) { return x * ebb::pad<0, 1, 0>(ebb::slice<0, 0, -1>(y), 0.75f); };
constexpr auto four_stages = [](auto x, auto y) {
  const auto a = flow(x, y), b = flow(x, y + 0.5f * a), c = flow(x, y + 0.5f * b), d = flow(x, y + c);
  return y + 0.125f * (a + 2.0f * b + 2.0f * c + d);
};
constexpr auto from_both_sides = [](auto x) {
  const auto y = x * x - x;
  const auto later = ebb::pad<0, 0, 1>(ebb::slice<0, 1, ebb::to_end>(y), -2.0f), earlier = ebb::pad<0, 3, 0>(ebb::slice<0, 0, -3>(y));
  return ebb::pad<0, 1, 2>(ebb::slice<0, 2, -1>(y)) - earlier * later;
};

}  // namespace

TEMPLATE_TEST_CASE("values at other places are computed again: rows of every length have the bits of single operations", "", float,
                   double) {
  constexpr auto stages = ebb::compile(four_stages);
  constexpr auto sides = ebb::compile(from_both_sides);
  CHECK(is_one_step<ebb::tensor<TestType, dyn>>(from_both_sides));
  CHECK(ebb::explain<ebb::tensor<TestType, dyn>, ebb::tensor<TestType, dyn>>(four_stages).steps().size() == 2);
  for (const std::size_t n : {3u, 4u, 7u, 15u, 16u, 17u, 31u, 33u, 95u, 96u, 97u, 99u, 111u, 112u, 113u, 128u, 200u, 1001u}) {
    CAPTURE(n);
    const auto x = normal_array<TestType, dyn>(n, n), y = normal_array<TestType, dyn>(n + 1, n);
    CHECK(test::same_bits(stages(x, y), four_stages(x, y)));
    CHECK(test::same_bits(sides(x), from_both_sides(x)));
  }
  for (const std::size_t n : {1u, 2u}) {
    const auto x = normal_array<TestType, dyn>(n, n), y = normal_array<TestType, dyn>(n + 1, n);
    CHECK(test::same_bits(stages(x, y), four_stages(x, y)));
  }
}

TEMPLATE_TEST_CASE("a literal with zeros around is made where loops read it, in rows of every length", "", float, double, ebb::bf16) {
  constexpr auto share = [](auto x) {  // softmax of all elements but the first and the last two, beside zeros
    const auto y = x * ebb::pad<0, 1, 2>(ebb::ones_like(ebb::slice<0, 1, -2>(x)));
    return y / ebb::sum(y);
  };
  constexpr auto f = ebb::compile(share);
  for (const std::size_t n : {3u, 4u, 8u, 15u, 16u, 17u, 32u, 33u, 100u, 130u}) {
    CAPTURE(n);
    const auto x = normal_array<TestType, dyn>(n, n);
    CHECK(test::same_bits(f(x), share(x)));
  }
  constexpr auto frame = [](auto x) {  // along both axes, with a sum over rows
    const auto inside = ebb::pad<0, 1, 1>(ebb::pad<1, 2, 0>(ebb::ones_like(ebb::slice<0, 1, -1>(ebb::slice<1, 2, ebb::to_end>(x)))));
    return ebb::sum<0>(x * inside) + ebb::sum<0>(inside);
  };
  constexpr auto g = ebb::compile(frame);
  for (const auto& [rows, columns] : {std::pair(2u, 2u), {3u, 7u}, {4u, 16u}, {5u, 70u}, {400u, 9u}, {300u, 130u}}) {
    CAPTURE(rows, columns);
    const auto x = normal_array<TestType, dyn, dyn>(rows + columns, rows, columns);
    CHECK(test::same_bits(g(x), frame(x)));
  }
}

TEMPLATE_TEST_CASE("masks of columns and rows, in short and long rows, also in a sum over all of them", "", float, double) {
  constexpr auto variation = [](auto x) { return ebb::sum(ebb::square(ebb::slice<1, 1>(x) - ebb::slice<1, 0, -1>(x))); };
  constexpr auto framed = [](auto x) { return ebb::pad<1, 2, 1>(ebb::pad<0, 1, 0>(x * x + TestType(1))) * TestType(3); };
  constexpr auto all = [](auto x) { return ebb::sum(ebb::pad<1, 2, 1>(ebb::pad<0, 1, 0>(x * x + TestType(1))) * TestType(3)); };
  using matrix = ebb::tensor<TestType, dyn, dyn>;
  CHECK(is_one_step<matrix>(ebb::grad(variation)));
  CHECK(is_one_step<ebb::tensor<TestType, dyn, 20>>(ebb::grad(variation)));
  CHECK(is_one_step<ebb::tensor<TestType, dyn, 10>>(ebb::grad(variation)));
  CHECK(is_one_step<matrix>(framed));
  CHECK(is_one_step<matrix>(all));
  for (const std::size_t rows : {1u, 3u})
    for (std::size_t columns = 1; columns < 70; ++columns) {
      CAPTURE(rows, columns);
      auto x = normal_array<TestType, dyn, dyn>(columns, rows, columns);
      for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<TestType>(i * i % 11);  // all results are exact
      const auto d = ebb::grad(variation)(x);
      const auto y = ebb::compile(framed)(x);
      TestType total = 0;
      int differing = 0;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
          const TestType left = j > 0 ? x(i, j) - x(i, j - 1) : TestType(0), right = j + 1 < columns ? x(i, j + 1) - x(i, j) : TestType(0);
          differing += d(i, j) != 2 * (left - right);
          differing += y(i + 1, j + 2) != 3 * (x(i, j) * x(i, j) + 1);
          total += 3 * (x(i, j) * x(i, j) + 1);
        }
      for (std::size_t i = 0; i <= rows; ++i)
        for (std::size_t j = 0; j < columns + 3; ++j) differing += (i == 0 || j < 2 || j == columns + 2) && y(i, j) != 0;
      CHECK(differing == 0);
      CHECK(ebb::compile(all)(x) == total);
    }
}

TEST_CASE("the gradient of four stages over neighbours") {
  constexpr auto loss = [](auto x, auto y) { return ebb::sum(ebb::square(four_stages(x, y))); };
  constexpr auto gradient = ebb::grad<0, 1>(loss);
  for (const std::size_t n : {1u, 2u, 5u, 17u, 40u, 130u}) {
    CAPTURE(n);
    const auto numbers = [n](std::uint64_t seed) {
      const auto a = normal_array<double, dyn>(seed, n);
      return std::vector<double>(a.data(), a.data() + n);
    };
    std::vector<double> x = numbers(n), y = numbers(n + 1);
    const auto value = [&] { return static_cast<double>(ebb::compile(loss)(std::span<const double>(x), std::span<const double>(y))); };
    const auto [by_x, by_y] = gradient(std::span<const double>(x), std::span<const double>(y));
    for (std::size_t i = 0; i < n; i += n < 20 ? 1 : 13) {
      const auto slope = [&](auto& a) {
        const double kept = a[i], step = 1e-5;
        a[i] = kept + step;
        const double high = value();
        a[i] = kept - step;
        const double low = value();
        a[i] = kept;
        return (high - low) / (2 * step);
      };
      CHECK(by_x[i] == Approx(slope(x)).epsilon(1e-6).margin(1e-7));
      CHECK(by_y[i] == Approx(slope(y)).epsilon(1e-6).margin(1e-7));
    }
  }
}
