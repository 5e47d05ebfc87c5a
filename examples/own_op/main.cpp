// examples/own_op/main.cpp — a skeleton for your own op: copy it and change its functions.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <cmath>
#include <cstdio>

namespace mine::op {
namespace lane = ebb::lane;

/// x / (1 + |x|): between -1 and 1, and nearly x around 0.   Saves: x.
struct softsign : ebb::elementwise<1> {
  static constexpr std::string_view name = "softsign";
  static constexpr auto accepts = ebb::domain::real;  // integers are converted to float first
  static constexpr auto value(auto x) { return x / (lane::all<decltype(x)>(1) + lane::abs(x)); }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g / ebb::square(1 + ebb::abs(x))); }
};

/// sqrt(x^2 + y^2), for moderate x and y.   Saves: x, y, out.
struct length : ebb::elementwise<2> {
  static constexpr std::string_view name = "length";
  static constexpr auto accepts = ebb::domain::real;
  static constexpr auto value(auto x, auto y) { return lane::sqrt(x * x + y * y); }
  static constexpr auto pull(auto g, auto x, auto y, auto out) { return ebb::grads(g * x / out, g * y / out); }
};
}  // namespace mine::op
namespace mine {
inline constexpr ebb::call<op::softsign> softsign{};  // what users call, on arrays and in traced functions
inline constexpr ebb::call<op::length> length{};
}  // namespace mine
static_assert(mine::softsign(1.0) == 0.5 && ebb::grad(mine::softsign)(1.0) == 0.25);
static_assert(ebb::grad<0, 1>([](auto x, auto y) { return mine::length(x, y); })(3.0, 4.0) == std::tuple(0.6, 0.8));

constexpr auto f = [](auto x, auto y) { return ebb::sum(mine::softsign(x * mine::length(x, y))); };
constexpr auto slope = [](auto x, auto y) { return ebb::sum(ebb::grad(f)(x, y)); };  // its gradient contains second derivatives

/// Prints the gradient by the first argument beside central differences, and returns the largest error.
double check(const char* what, auto function) {
  using points = ebb::tensor<double, 6>;
  const points x{-2, -0.7, -0.1, 0.3, 1.1, 2.5}, y{0.2, -1, 0.5, 0.9, -0.4, 3};
  const points exact = ebb::grad(function)(x, y);
  double worst = 0;
  std::printf("%s\n", what);
  for (int i = 0; i < 6; ++i) {
    points above = x, below = x;
    above.at(i) += 1e-5;
    below.at(i) -= 1e-5;
    const double difference = (ebb::compile(function)(above, y) - ebb::compile(function)(below, y)) / 2e-5;
    worst = std::fmax(worst, std::abs(exact(i) - difference));
    std::printf("  x = %4.1f, y = %4.1f: %13.10f, by differences %13.10f\n", x(i), y(i), exact(i), difference);
  }
  return worst;
}

int main() {
  const double first = check("first derivatives", f), second = check("second derivatives", slope);
  std::printf("largest errors %.1e and %.1e\n", first, second);
  return first < 1e-8 && second < 1e-8 ? 0 : 1;
}
