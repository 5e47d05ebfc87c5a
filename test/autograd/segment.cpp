// test/autograd/segment.cpp — ops of the user's, with a pull, on the tape: they have the rights of those that come with the library.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace mine::op {
namespace lane = ebb::lane;

/// x / (1 + |x|)
struct softsign : ebb::elementwise<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x) { return x / (lane::all<decltype(x)>(1) + lane::abs(x)); }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g / ebb::square(1 + ebb::abs(x))); }
};
/// sqrt(x^2 + y^2)
struct length : ebb::elementwise<2> {
  static constexpr std::string_view name = "length";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x, auto y) { return lane::sqrt(x * x + y * y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) { return ebb::grads(g * x / out, g * y / out); }
};
}  // namespace mine::op
namespace mine {
inline constexpr ebb::call<op::softsign> softsign{};
inline constexpr ebb::call<op::length> length{};
}  // namespace mine

namespace {

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;

void near(const array& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got(i) - want[i]) <= 4e-16 * std::fabs(want[i]));
}

}  // namespace

TEST_CASE("CA-81: an op of the user's in a region: recorded, named, hooked, differentiated twice") {
  constexpr auto region = ebb::compile([](auto x, auto y) { return mine::softsign(mine::length(x, y)); });
  const var x(array{3, -5}), y(array{4, 12});  // of lengths 5 and 13
  const var z = region(x, y);
  CHECK(z.name() == "length+softsign");
  z.register_hook([](auto g) { return mine::softsign(g) * 2; });  // of ones: ones
  near(z.value(), {5. / 6, 13. / 14});
  const auto [gx, gy] = ebb::grad(ebb::sum(z), ebb::wrt(x, y), {.create_graph = true});
  near(gx.value(), {3. / 5 / 36, -5. / 13 / 196});
  near(gy.value(), {4. / 5 / 36, 12. / 13 / 196});
  // With r the length and s = 1 / (1 + r)^2: d(x s / r) / dx = s / r - x^2 s / r^3 - 2 x^2 s / (r^2 (1 + r)).
  const auto second = [](double a, double r) {
    const double s = 1 / ((1 + r) * (1 + r));
    return s / r - a * a * s / (r * r * r) - 2 * a * a * s / (r * r * (1 + r));
  };
  const array gxx = ebb::grad(ebb::sum(gx), ebb::wrt(x)).value();
  CHECK(gxx(0) == Approx(second(3, 5)).epsilon(1e-14));
  CHECK(gxx(1) == Approx(second(-5, 13)).epsilon(1e-14));
}

TEST_CASE("an op of the user's in eager code: part of one node, saved values and all") {
  const var x(array{3, -5}), y(array{4, 12});
  const var z = mine::length(x, y) * 2 + mine::softsign(x);
  CHECK(ebb::execution_order(ebb::variable(ebb::sum(z))).size() == 4);  // the sum, one node, two leaves
  ebb::sum(z).backward();
  near(y.grad().value(), {8. / 5, 24. / 13});
  near(x.grad().value(), {6. / 5 + 1. / 16, -10. / 13 + 1. / 36});
}
