// test/pass/relax.cpp — rules of the reals: applied by relax, and by nothing else; equal on ordinary numbers.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/exponential.hpp>
#include <ebb/pass/relax.hpp>

namespace {

using test::graph;
using test::n;

void rule(auto left, auto right) {
  const auto side = [](auto f) {
    return test::build([&](test::builder& b) {
      const auto x = b.in<double>({n, 3}), y = b.in<double>({n, 3});
      return b.returns(f(x, y));
    });
  };
  const graph before = side(left), after = side(right), relaxed = ebb::prune(ebb::relax(before));
  CHECK(ebb::to_string(relaxed) == ebb::to_string(ebb::prune(after)));
  CHECK(test::error_text(relaxed) == "");
  CHECK(ebb::to_string(ebb::prune(ebb::simplify(before))) != ebb::to_string(relaxed));
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto c = test::random_call(before, seed, 4, false);
    for (auto& argument : c.arguments)  // positive, for log
      for (auto& cell : argument) cell = ebb::to_cell(std::abs(ebb::from_cell<double>(cell)) + 0.1);
    const auto a = ebb::evaluate(before, c.arguments, c.symbols), b = ebb::evaluate(relaxed, c.arguments, c.symbols);
    for (int j = 0; j < a[0].size(); ++j) CHECK(ebb::from_cell<double>(a[0][j]) == Approx(ebb::from_cell<double>(b[0][j])));
  }
}

}  // namespace

TEST_CASE("rules of the reals are applied on request only") {
  using ebb::literal_like;
  rule([](auto x, auto) { return x + 0; }, [](auto x, auto) { return x; });
  rule([](auto x, auto) { return 0 + x; }, [](auto x, auto) { return x; });
  rule([](auto x, auto) { return 0 - x; }, [](auto x, auto) { return -x; });
  rule([](auto x, auto) { return x * 0; }, [](auto x, auto) { return literal_like(x, 0); });
  rule([](auto x, auto) { return 0 * x; }, [](auto x, auto) { return literal_like(x, 0); });
  rule([](auto x, auto) { return 0 / x; }, [](auto x, auto) { return literal_like(x, 0); });
  rule([](auto x, auto) { return x - x; }, [](auto x, auto) { return literal_like(x, 0); });
  rule([](auto x, auto) { return x / x; }, [](auto x, auto) { return literal_like(x, 1); });
  rule([](auto x, auto y) { return x * y / y; }, [](auto x, auto) { return x; });
  rule([](auto x, auto y) { return x / y * y; }, [](auto x, auto) { return x; });
  rule([](auto x, auto y) { return x + y - y; }, [](auto x, auto) { return x; });
  rule([](auto x, auto y) { return x - y + y; }, [](auto x, auto) { return x; });
  rule([](auto x, auto) { return ebb::exp(ebb::log(x)); }, [](auto x, auto) { return x; });
  rule([](auto x, auto) { return ebb::log(ebb::exp(x)); }, [](auto x, auto) { return x; });
  rule([](auto x, auto) { return x + 2 + 3; }, [](auto x, auto) { return x + 5; });
  rule([](auto x, auto) { return x * 2 * 3; }, [](auto x, auto) { return x * 6; });
  rule([](auto x, auto) { return ebb::sum_over(-x, 2); }, [](auto x, auto) { return -ebb::sum_over(x, 2); });
  rule([](auto x, auto) { return ebb::sum_over(x * 3, 2); }, [](auto x, auto) { return ebb::sum_over(x, 2) * 3; });
  rule([](auto x, auto) { return ebb::sum_over(3 * x, 3); }, [](auto x, auto) { return ebb::sum_over(x, 3) * 3; });
}

TEST_CASE("a wildcard is not a literal") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({n, 3});
    return b.returns(ebb::sum_over(x * x, 2));
  });
  CHECK(ebb::to_string(ebb::prune(ebb::relax(g))) == ebb::to_string(g));
}
