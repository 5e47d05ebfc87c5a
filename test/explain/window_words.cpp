// test/explain/window_words.cpp — explanations of slices and pads: those that are computed again, their cost, and why others are not.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/explain.hpp>
#include <ebb/functional.hpp>

#include <tuple>

namespace {

using windowed_vector = ebb::tensor<double, ebb::dyn>;
using windowed_matrix = ebb::tensor<double, ebb::dyn, ebb::dyn>;

constexpr auto difference_of_neighbours = [](auto z) { return ebb::slice<0, 1>(z) - ebb::slice<0, 0, -1>(z); };

constexpr auto dear = [](auto x, auto y) { return x * y * x + y - x * x; };

/// The lines of a step, or of what comes before the steps, that speak of slices, and its advice.
std::string about_slices(const ebb::explanation& e) {
  std::string text = e.text(), r;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.find("computed again") != std::string::npos || line.find(" again ") != std::string::npos) r += line;
    at = end;
  }
  return r;
}
std::string about(auto f) { return about_slices(ebb::explain<windowed_vector, windowed_vector>(f)); }

}  // namespace

TEST_CASE("slices of a cheap value are computed again: how many operations, and what the program would be without") {
  CHECK(about([](auto x, auto y) { return difference_of_neighbours(x * y + x); }) ==
        "slices computed again: without that 2 steps, 3*n - 1 operations\n"
        "  computes 2 slices of f64[n] again instead of reading them: 2 mul, 2 add, 4 operations an element\n");
  CHECK(about([](auto x, auto y) { return ebb::exp(x) - difference_of_neighbours(y)[0]; }) == "");  // of an argument
}

TEST_CASE("a value is kept for its slices, for a reason") {
  CHECK(about([](auto x, auto y) { return difference_of_neighbours(ebb::exp(x * y)); }) ==
        "  exp is not computed again for 2 slices of f64[n]: to read it takes less time than exp\n");
  CHECK(about([](auto x, auto y) { return difference_of_neighbours(ebb::exp(x) * y); }) ==
        "  mul is not computed again for 2 slices of f64[n]: to read it takes less time than exp\n");
  CHECK(about([](auto x, auto y) {
          const auto z = x * y;
          return std::tuple(z, difference_of_neighbours(z));
        }) == "  mul is not computed again for 2 slices of f64[n]: a result is in memory anyway\n");
  CHECK(about_slices(ebb::explain<windowed_vector, windowed_matrix>([](auto x, auto m) {
          const auto z = x * x;
          return ebb::matmul(m, z) + ebb::sum(difference_of_neighbours(z));
        })) == "  mul is not computed again for 2 slices of f64[n]: matmul needs it in memory\n");
  CHECK(about([](auto x, auto y) {
          const auto z = x * y;
          const auto e = ebb::exp(difference_of_neighbours(z));
          return std::tuple(e, z + ebb::pad<0, 1, 0>(e));  // z waits for e
        }) == "  mul is not computed again for 2 slices of f64[n]: a later loop reads it from memory anyway\n"
              "  exp is not computed again for 1 pad of f64[n - 1]: a result is in memory anyway\n");
}

TEST_CASE("one pad that a sum over all axes computes again") {
  CHECK(about_slices(ebb::explain<windowed_matrix>([](auto x) {
          return ebb::sum(x + ebb::pad<1, 1, 0>(ebb::square(ebb::slice<1, 1>(x))));
        })) ==
        "slices computed again: without that 3 steps, 3*n*m - n operations\n"
        "  computes 1 pad of f64[n, m - 1] again instead of reading it: square, where, 2 operations an element\n");
}

TEST_CASE("slices that take too many operations: the rewrite that the advice names is one loop") {
  const std::string advice =
      "  advice: to compute f64[n] again where slices of it are read, slice what it is computed from: f(slice(x)) for slice(f(x))\n";
  const ebb::explanation e = ebb::explain<windowed_vector, windowed_vector>([](auto x, auto y) {
    return difference_of_neighbours(dear(x, y));
  });
  CHECK(about_slices(e) ==
        "  sub is not computed again for 2 slices of f64[n]: each takes 7 operations and arrays, and 2 of them more than 12\n" + advice);
  CHECK(e.steps().size() == 2);
  CHECK(ebb::explain<windowed_vector, windowed_vector>([](auto x, auto y) {
          return dear(ebb::slice<0, 1>(x), ebb::slice<0, 1>(y)) - dear(ebb::slice<0, 0, -1>(x), ebb::slice<0, 0, -1>(y));
        }).steps().size() == 1);
  CHECK(about([](auto x, auto y) { return -ebb::slice<0, 1>(dear(dear(dear(x, y), y), y)); }) ==
        "  sub is not computed again for 1 slice of f64[n]: each takes more than 12 operations and arrays\n" + advice);
}

TEST_CASE("slices that the body of a loop computes again are those of one run") {
  CHECK(about([](auto x, auto y) {
          return ebb::fori(3, [](auto, auto c, auto w) {
            return c + ebb::sum(difference_of_neighbours(c * w));
          }, x, ebb::whole(y));
        }) == "slices computed again: without that 4 steps, 12*n - 6 operations\n"
              "      computes 2 slices of f64[n] again instead of reading them: 2 mul, 2 operations an element\n");
}
