// test/autograd/segment.cpp — a user's ops with a pull on the tape: they work as the library's ops do.
// SPDX-License-Identifier: BSL-1.0
// covers: segment.hpp segment_node.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace mine::op {
namespace lane = ebb::lane;

/// 1 / (1 + x^2)
struct bell : ebb::elementwise<1> {
  static constexpr std::string_view name = "bell";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x) { return lane::all<decltype(x)>(1) / (lane::all<decltype(x)>(1) + x * x); }
  static constexpr auto pull(auto g, auto x, auto out) { return ebb::grads(-2 * g * x * ebb::square(out)); }
};
/// x / (x + y)
struct share : ebb::elementwise<2> {
  static constexpr std::string_view name = "share";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x, auto y) { return x / (x + y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    const auto each = g / (x + y);
    return ebb::grads(each * (1 - out), -each * out);
  }
};
}  // namespace mine::op
namespace mine {
inline constexpr ebb::call<op::bell> bell{};
inline constexpr ebb::call<op::share> share{};
}  // namespace mine

namespace {

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;

void near(const array& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got(i) - want[i]) <= 4e-16 * std::fabs(want[i]));
}

}  // namespace

TEST_CASE("CA-81: a user's op in a region is recorded, named, hooked and differentiated twice") {
  constexpr auto region = ebb::compile([](auto x, auto y) { return mine::bell(mine::share(x, y)); });
  const var x(array{1, 3}), y(array{3, 1});  // shares of 1/4 and 3/4
  const var z = region(x, y);
  CHECK(z.name() == "share+bell");
  z.register_hook([](auto g) { return mine::bell(g) * 2; });  // of ones: ones
  near(z.value(), {16. / 17, 16. / 25});
  const auto [gx, gy] = ebb::grad(ebb::sum(z), ebb::wrt(x, y), {.create_graph = true});
  near(gx.value(), {-24. / 289, -24. / 625});
  near(gy.value(), {8. / 289, 72. / 625});
  // With s the share and b its bell, (x + y) = 4: b'' s_x^2 + b' s_xx, where b' = -2 s b^2 and b'' = 8 s^2 b^3 - 2 b^2.
  const auto second = [](double s) {
    const double b = 1 / (1 + s * s), slope = (1 - s) / 4;
    return (8 * s * s * b - 2) * b * b * slope * slope + 2 * s * b * b * slope / 2;
  };
  const array gxx = ebb::grad(ebb::sum(gx), ebb::wrt(x)).value();
  CHECK(gxx(0) == Approx(second(0.25)).epsilon(1e-14));
  CHECK(gxx(1) == Approx(second(0.75)).epsilon(1e-14));
}

TEST_CASE("a user's op in eager code is part of one node, with its saved values") {
  const var x(array{1, 3}), y(array{3, 1});
  const var z = mine::share(x, y) * 2 + mine::bell(x);
  CHECK(ebb::execution_order(ebb::variable(ebb::sum(z))).size() == 4);  // the sum, one node, two leaves
  ebb::sum(z).backward();
  near(y.grad().value(), {-1. / 8, -3. / 8});
  near(x.grad().value(), {-1. / 8, 13. / 200});
}
