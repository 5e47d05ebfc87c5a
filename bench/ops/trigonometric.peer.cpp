// bench/ops/trigonometric.peer.cpp — trigonometric functions, their inverses, and functions of pi x by others.
// SPDX-License-Identifier: BSL-1.0
#include "peer.hpp"

namespace {

constexpr double pi = 3.14159265358979323846;

}  // namespace

void ops::peers_of_trigonometric(table& t) {
  add(t, "sin", [](auto x) { return sin(x); }, [](auto x) { return cos(x); });
  add(t, "cos", [](auto x) { return cos(x); }, [](auto x) { return -sin(x); });
  add(t, "tan", [](auto x) { return tan(x); }, [](auto x) {
    const auto y = tan(x);
    return 1 + y * y;
  });
  add(t, "asin", [](auto x) { return asin(x); }, [](auto x) { return 1 / sqrt((1 - x) * (1 + x)); });
  add(t, "acos", [](auto x) { return acos(x); }, [](auto x) { return -1 / sqrt((1 - x) * (1 + x)); });
  add(t, "atan", [](auto x) { return atan(x); }, [](auto x) { return 1 / (1 + x * x); });
  add<by_all, 2>(t, "atan2", [](auto x, auto y) { return atan2(x, y); }, [](auto x, auto y) {
    const auto r = 1 / (x * x + y * y);
    return pair<decltype(x)>{y * r, -x * r};
  });
  add<by_all, 2>(t, "hypot", [](auto x, auto y) { return hypot(x, y); }, [](auto x, auto y) {
    const auto r = 1 / sqrt(x * x + y * y);
    return pair<decltype(x)>{x * r, y * r};
  });
  constexpr unsigned who = by_plain | by_sleef;
  add<who>(t, "sinpi", [](auto x) { return sinpi(x); }, [](auto x) { return pi * cospi(x); });
  add<who>(t, "cospi", [](auto x) { return cospi(x); }, [](auto x) { return -pi * sinpi(x); });
  add<who>(t, "tanpi", [](auto x) { return sinpi(x) / cospi(x); }, [](auto x) {
    const auto c = cospi(x);
    return pi / (c * c);
  });
  add<who>(t, "sinc", [](auto x) { return sinpi(x) / (pi * x); }, [](auto x) { return (cospi(x) - sinpi(x) / (pi * x)) / x; });
}
