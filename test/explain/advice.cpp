// test/explain/advice.cpp — the advice of explanations, and that what it says takes the cost away.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/explain.hpp>
#include <ebb/functional.hpp>
#include <ebb/shapes.hpp>

#include <algorithm>

namespace {

using advised_vector = ebb::tensor<float, ebb::dyn>;
using advised_matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
using advised_points = ebb::tensor<float, ebb::dyn, 3>;
using advised_cube = ebb::tensor<float, ebb::dyn, ebb::dyn, ebb::dyn>;

constexpr auto first_times_square = [](auto p) { return ebb::map([](auto a) { return ebb::sum(ebb::square(a)) * a[0]; }, p); };

/// Two loops read the first column: it is copied.
constexpr auto first_by_sum = [](auto p) {
  const auto first = ebb::select<1, 0>(p);
  return first * ebb::sum(first);
};

/// The differences along rows, all in one sum.
constexpr auto natural = [](auto x) { return ebb::sum(ebb::square(ebb::slice<1, 1>(x) - ebb::slice<1, 0, -1>(x))); };

/// All advice of an explanation.
std::vector<std::string> advice_in(const ebb::explanation& e) {
  std::vector<std::string> all;
  for (const auto& s : e.steps())
    if (!s.advice.empty()) all.push_back(s.what.substr(0, s.what.find(' ')) + ": " + s.advice);
  return all;
}
using advice_list = std::vector<std::string>;

}  // namespace

TEST_CASE("an element of a row of dyn length: give the axis a static extent") {
  CHECK(advice_in(ebb::explain<advised_matrix>(first_times_square)).empty());  // one loop reads the column where it lies
  CHECK(advice_in(ebb::explain<advised_matrix>(first_by_sum)) ==
        advice_list{"slice: if rows have at most 32 elements, give axis 1 of argument 0 a static extent: they are taken apart once, and no "
                    "part is a copy; else put axis 1 first: parts along the first axis need no copy, this saves 8*n bytes"});
  CHECK(advice_in(ebb::explain(first_times_square, advised_matrix::ones(1000, 3))) ==
        advice_list{"a: give axis 1 of argument 0 a static extent: then lanes run along another axis"});
  CHECK(advice_in(ebb::explain(first_by_sum, advised_matrix::ones(1000, 3))) ==
        advice_list{"slice: give axis 1 of argument 0 a static extent: short rows are taken apart once, and no part is a copy"});
  CHECK(advice_in(ebb::explain(first_by_sum, advised_matrix::ones(10, 50))) ==
        advice_list{"slice: put axis 1 first: parts along the first axis need no copy, this saves 80 bytes"});
  CHECK(advice_in(ebb::explain<advised_points>(first_times_square)).empty());
}

TEST_CASE("a ring whose neighbours are read by several turns is padded once instead") {
  constexpr auto by_roll = [](auto u) { return u + 0.1f * (ebb::roll<0>(u, 1) - 2 * u + ebb::roll<0>(u, -1)); };
  constexpr auto by_slices = [](auto u) {
    const auto before = ebb::concat<0>(ebb::slice<0, -1>(u), ebb::slice<0, 0, -1>(u));
    const auto after = ebb::concat<0>(ebb::slice<0, 1>(u), ebb::slice<0, 0, 1>(u));
    return u + 0.1f * (before - 2 * u + after);
  };
  constexpr auto by_pad = [](auto u) {
    const auto around = ebb::pad<0, 1, 1>(u, ebb::circular);
    return u + 0.1f * (ebb::slice<0, 0, -2>(around) - 2 * u + ebb::slice<0, 2>(around));
  };
  const std::string text = "concat: one array is turned 2 times: continue it once, by pad<0, before, after>(x, ebb::circular), and read "
                           "slices of that: this saves 8*n bytes";
  CHECK(advice_in(ebb::explain<advised_vector>(by_roll)) == advice_list{text});
  CHECK(advice_in(ebb::explain<advised_vector>(by_slices)) == advice_list{text});
  CHECK(advice_in(ebb::explain<advised_vector>(by_pad)).empty());
  CHECK(ebb::explain<advised_vector>(by_pad).steps().size() + 1 == ebb::explain<advised_vector>(by_roll).steps().size());
  constexpr auto once = [](auto u) { return ebb::square(u - ebb::roll<0>(u, 1)); };
  CHECK(advice_in(ebb::explain<advised_vector>(once)).empty());
  constexpr auto columns = [](auto u) { return ebb::roll<1>(u, 1) + ebb::roll<1>(u, -1) + ebb::roll<1>(u, 2) + ebb::roll<0>(u, 1); };
  CHECK(advice_in(ebb::explain<advised_matrix>(columns)) ==
        advice_list{"concat: one array is turned 3 times: continue it once, by pad<1, before, after>(x, ebb::circular), and read slices of "
                    "that: this saves 8*n*m bytes for each other turn"});
}

TEST_CASE("an extent that is computed is named by what it is computed from") {
  constexpr auto reversed = [](auto x, auto y) { return ebb::concat<1>(ebb::flip<1>(x), ebb::flip<1>(y)); };
  CHECK(advice_in(ebb::explain<advised_matrix, advised_matrix>(reversed)) ==
        advice_list{"concat: put axis 1 first: parts along the first axis need no copy, this saves 8*n*m + 8*n*k bytes"});
  constexpr auto used = [](auto x, auto y) { return ebb::exp(ebb::concat<1>(ebb::flip<1>(x), ebb::flip<1>(y))); };
  CHECK(advice_in(ebb::explain<advised_matrix, advised_matrix>(used)) ==
        advice_list{"concat: if rows have at most 32 elements, give axis 1 of argument 0, axis 1 of argument 1 static extents: they are "
                    "taken apart once, and no part is a copy; else put axis 1 first: parts along the first axis need no copy, this saves "
                    "8*n*m + 8*n*k bytes"});
  const auto parts = ebb::explain<advised_points, ebb::tensor<float, ebb::dyn, 4>>(used);
  CHECK(std::none_of(parts.steps().begin(), parts.steps().end(), [](const auto& x) { return x.text.find(" copies") < x.text.size(); }));
}

TEST_CASE("a sum over all axes of differences along rows reads the slices where they lie") {
  for (const std::size_t columns : {20u, 200u}) {
    const ebb::explanation e = ebb::explain(natural, advised_matrix::ones(1000, columns));
    CHECK(advice_in(e).empty());
    CHECK(e.steps().size() == 1);
  }
}

TEST_CASE("a transposed array: for a reduction, for a product") {
  CHECK(advice_in(ebb::explain<advised_matrix>([](auto x) { return ebb::sum<1>(ebb::exp(ebb::transpose(x))); })) ==
        advice_list{"permute: reduce along the other axis instead of transposing: this saves 8*n*m bytes"});
  CHECK(advice_in(ebb::explain<advised_matrix>([](auto x) { return ebb::sum<0>(ebb::exp(x)); })).empty());
  using numbers = ebb::tensor<float, ebb::dyn>;
  CHECK(advice_in(ebb::explain<advised_matrix, numbers>([](auto x, auto w) { return ebb::sum<1>(ebb::transpose(x) * w); })).size() == 1);
  CHECK(advice_in(ebb::explain<advised_matrix, advised_matrix>([](auto x, auto w) {
          return ebb::sum<1>(ebb::transpose(x) * w);  // w would be transposed instead
        })).empty());
  CHECK(advice_in(ebb::explain<advised_cube, advised_cube>([](auto x, auto y) { return ebb::matmul(ebb::transpose<2, 1, 0>(x), y); })) ==
        advice_list{
            "permute: a product reads an array where it lies if its last axis is one of the last two of the operand: keep it there, this "
            "saves 8*n*m*k bytes"});
  CHECK(advice_in(ebb::explain<advised_cube, advised_cube>([](auto x, auto y) {
          return ebb::matmul(ebb::transpose<0, 2, 1>(x), ebb::transpose<1, 2, 0>(y));
        })).empty());
  CHECK(advice_in(ebb::explain<advised_cube, advised_cube>([](auto x, auto y) {  // a loop reads it, too
          const auto turned = ebb::transpose<1, 0, 2>(x);
          return std::tuple(ebb::matmul(turned, y), ebb::exp(turned));
        })).empty());
  CHECK(advice_in(ebb::explain<advised_matrix>([](auto x) { return x + ebb::transpose(x); })).empty());  // there is no other way
}

TEST_CASE("a part of what was computed, and pieces of unknown places") {
  CHECK(advice_in(ebb::explain<advised_matrix>([](auto x) { return ebb::slice<0, 1, 3>(ebb::exp(x)); })) ==
        advice_list{"slice: slice what it is computed from, so that only these elements are computed: this saves 16*m bytes"});
  CHECK(advice_in(ebb::explain<advised_vector, advised_vector, advised_vector>([](auto x, auto y, auto z) {
          return ebb::concat<0>(x + 1, y + 1, z + 1);
        })) == advice_list{"concat: give all pieces but one static extents, then it is known where each one lies"});
}

TEST_CASE("reductions along a short axis, and the gradient of a maximum") {
  using points = ebb::tensor<float, ebb::dyn, ebb::dyn, 3>;
  CHECK(advice_in(ebb::explain<points, advised_matrix>([](auto x, auto y) { return ebb::any<2>(x * ebb::unsqueeze<2>(y) > 1); })) ==
        advice_list{"a: any along a short axis keeps lanes along it: combine its parts by an elementwise function"});
  // The axis that is summed is long, and nothing can be done about the other one.
  CHECK(advice_in(ebb::explain<ebb::tensor<double, ebb::dyn, ebb::dyn, 3>>([](auto x) { return ebb::sum<1>(x * x); })).empty());
  CHECK(advice_in(ebb::explain<points, advised_matrix>([](auto x, auto y) { return ebb::max<2>(x * ebb::unsqueeze<2>(y)); })).empty());
  CHECK(advice_in(ebb::explain<ebb::tensor<float, ebb::dyn, 3>>([](auto x) { return ebb::softmax(x); })).empty());
  CHECK(advice_in(ebb::explain<advised_matrix>(ebb::grad([](auto x) { return ebb::sum(ebb::max<1>(x * x)); }))) ==
        advice_list{"a: the gradient of max reads all elements again, since ties share it: argmax and take, before the function is "
                    "differentiated, compute the chosen ones only"});
  CHECK(advice_in(ebb::explain<advised_matrix>([](auto x) { return ebb::argmin<1>(x); })).empty());
}
