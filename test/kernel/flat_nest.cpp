// test/kernel/flat_nest.cpp — loops over short rows that lanes run across give what one element after the other gives.
// SPDX-License-Identifier: BSL-1.0
// covers: flat_nest.hpp nest_loads.hpp part.hpp
#include <ebb/functional.hpp>
#include <ebb/tensor/reduction_tree.hpp>

#include "../catch.hpp"
#include "../same_bits.hpp"
#include "filled.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace {

using ebb::dyn, test::filled;

// Each returns [n, E] or a number. The second operand has E elements, the third one n.
constexpr auto shifted = [](auto x, auto c, auto) { return x - c; };
constexpr auto scaled = [](auto x, auto, auto w) { return x * ebb::unsqueeze<1>(w); };
constexpr auto both = [](auto x, auto c, auto w) { return ebb::where(x > c, ebb::unsqueeze<1>(w) - c, x * 3); };
constexpr auto distance = [](auto x, auto c, auto) { return ebb::sum((x - c) * (x - c)); };
constexpr auto weighed = [](auto x, auto c, auto w) { return ebb::sum((x - c) * ebb::unsqueeze<1>(w)); };

template <class T, std::size_t E>
int differing(std::size_t rows) {
  using matrix = ebb::tensor<T, dyn, E>;
  const auto x = filled<matrix>(3, rows);
  const auto c = filled<ebb::tensor<T, E>>(50);
  const auto w = filled<ebb::tensor<T, dyn>>(90, rows);
  const auto at = [&](const auto& f, std::size_t i) {
    const T e = x.data()[i], a = c.data()[i % E], b = w.data()[i / E];
    return static_cast<T>(f(e, a, b));
  };
  const auto matches = [&](const auto& f, const auto& element) {
    auto y = x;
    for (std::size_t i = 0; i < x.size(); ++i) y.mutable_data()[i] = at(element, i);
    return test::same_bits(ebb::compile(f)(x, c, w), y);
  };
  const auto adds = [&](const auto& f, const auto& element) {
    const T sum = ebb::reduce_in_order<T>(x.size(), [&](std::size_t i) { return at(element, i); }, T(0), [](T a, T b) { return T(a + b); });
    const T got = ebb::compile(f)(x, c, w);
    return std::memcmp(&got, &sum, sizeof sum) == 0;
  };
  int r = !matches(shifted, [](T e, T a, T) { return e - a; });
  r += !matches(scaled, [](T e, T, T b) { return e * b; });
  r += !matches(both, [](T e, T a, T b) { return e > a ? b - a : e * 3; });
  r += !adds(distance, [](T e, T a, T) { return (e - a) * (e - a); });
  r += !adds(weighed, [](T e, T a, T b) { return (e - a) * b; });
  return r;
}
template <class T, std::size_t E>
void check(std::size_t rows) {
  CAPTURE(rows, E);
  CHECK(differing<T, E>(rows) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("short rows are one long row", "", float, double, std::int64_t) {
  for (const std::size_t rows : {0u, 1u, 2u, 3u, 5u, 8u, 15u, 16u, 17u, 33u, 100u, 1367u})
    [rows]<std::size_t... E>(std::index_sequence<E...>) {
      (check<TestType, E>(rows), ...);
    }(std::index_sequence<2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 24, 31, 32, 33>{});
}

TEST_CASE("the index along short rows, and rows of other loops around them") {
  using cube = ebb::tensor<float, dyn, dyn, 3>;
  const auto f = [](auto x, auto c, auto d) {
    return x * c + d + ebb::cast<float>(ebb::arange_like<2>(x)) - ebb::cast<float>(ebb::arange_like<0>(x));
  };
  for (const std::size_t outer : {1u, 2u, 3u})
    for (const std::size_t rows : {0u, 1u, 5u, 6u, 50u}) {
      const auto x = filled<cube>(0, outer, rows);
      const auto c = filled<ebb::tensor<float, 3>>(20);
      const auto d = filled<ebb::tensor<float, dyn, 3>>(40, rows);
      auto y = x;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto k = static_cast<float>(i % 3), b = static_cast<float>(i / (3 * rows));
        y.mutable_data()[i] = x.data()[i] * c.data()[i % 3] + d.data()[i % (3 * rows)] + k - b;
      }
      CAPTURE(outer, rows);
      CHECK(test::same_bits(ebb::compile(f)(x, c, d), y));
    }
}

TEST_CASE("short rows of bools and of narrow elements") {
  using ebb::bfloat16;
  for (const std::size_t rows : {1u, 7u, 40u}) {
    const auto x = filled<ebb::tensor<bfloat16, dyn, 5>>(0, rows);
    const auto c = filled<ebb::tensor<bfloat16, 5>>(20);
    const auto m = ebb::tensor<bool, 5>{true, false, false, true, true};
    auto y = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.mutable_data()[i] = m.data()[i % 5] ? bfloat16(float(x.data()[i]) + float(c.data()[i % 5])) : c.data()[i % 5];
    CHECK(test::same_bits(ebb::compile([](auto a, auto b, auto k) { return ebb::where(k, a + b, b); })(x, c, m), y));
  }
}
