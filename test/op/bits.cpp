// test/op/bits.cpp — bits of integers and bools: recorded values, shifts by any count, loops and constant expressions.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "golden.hpp"

#include <ebb/ebb.hpp>

namespace {

using integers = golden::of<std::int64_t, ebb::dyn>;
const auto pair_of_bits = [](const char* name, auto f) { golden::check_wide<integers, integers>("bits", name, f); };

TEST_CASE("bits of integers give PyTorch's recorded values") {
  pair_of_bits("bitwise_and", [](auto x, auto y) { return x & y; });
  pair_of_bits("bitwise_or", [](auto x, auto y) { return x | y; });
  pair_of_bits("bitwise_xor", [](auto x, auto y) { return x ^ y; });
  pair_of_bits("bitwise_not", [](auto x, auto) { return ~x; });
  pair_of_bits("shift_left", [](auto x, auto y) { return x << y; });
  pair_of_bits("shift_right", [](auto x, auto y) { return x >> y; });
}

TEMPLATE_TEST_CASE("shifts by any count: beyond the width nothing is left but the sign", "", std::int32_t, std::int64_t) {
  using T = TestType;
  constexpr int width = 8 * sizeof(T);
  constexpr std::size_t n = 37;  // two registers and a rest
  ebb::tensor<T, n> x, count;
  for (std::size_t i = 0; i < n; ++i) {
    const T k = static_cast<T>(i);
    x.at(i) = i % 2 ? static_cast<T>(-1000 - k) : static_cast<T>(77 * k + 1), count.at(i) = static_cast<T>(2 * k - 5);
  }
  const ebb::tensor<T, n> left = ebb::compile([](auto a, auto b) { return a << b; })(x, count), right = x >> count;
  for (std::size_t i = 0; i < n; ++i) {
    const T a = x(i), b = count(i);
    const bool within = b >= 0 && b < width;
    CHECK(left(i) == (within ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << b) : 0));
    CHECK(right(i) == (within ? static_cast<T>(a >> b) : a < 0 ? -1 : 0));
  }
}

TEST_CASE("bits of bools, of numbers, of two widths, and of all elements in constant expressions") {
  const ebb::tensor<bool, 4> a{false, false, true, true}, b{false, true, false, true};
  CHECK(ebb::all_equal(a & b, ebb::tensor<bool, 4>{false, false, false, true}));
  CHECK(ebb::all_equal(a | b, ebb::tensor<bool, 4>{false, true, true, true}));
  CHECK(ebb::all_equal(a ^ b, ebb::tensor<bool, 4>{false, true, true, false}));
  CHECK(ebb::all_equal(~a, ebb::tensor<bool, 4>{true, true, false, false}));
  CHECK(ebb::all_equal(ebb::compile([](auto u, auto v) { return ~(u & v) ^ u; })(a, b), ebb::tensor<bool, 4>{true, true, false, true}));
  static_assert(ebb::bitwise_and(6, 3) == 2 && ebb::bitwise_or(6, 3) == 7 && ebb::bitwise_xor(6, 3) == 5 && ebb::bitwise_not(6) == -7);
  static_assert(ebb::shift_left(1, 31) == std::numeric_limits<int>::min() && ebb::shift_left(1, 32) == 0 && ebb::shift_right(-8, 99) == -1);
  const ebb::tensor<int, 2> small{5, -5};
  const ebb::tensor<std::int64_t, 2> wide{std::int64_t{1} << 40, -1};
  CHECK(ebb::all_equal(small | wide, ebb::tensor<std::int64_t, 2>{(std::int64_t{1} << 40) + 5, -1}));
  CHECK(ebb::all_equal(small & 1, ebb::tensor<int, 2>{1, 1}));
}

TEST_CASE("the bits of an index select elements inside of a differentiated function") {
  const auto even = [](auto x) { return ebb::sum(ebb::where((ebb::arange_like<0>(x) & 1) == 0, x * x, 0.0)); };
  CHECK(ebb::all_equal(ebb::grad(even)(ebb::tensor<double, 4>{1, 2, 3, 4}), ebb::tensor<double, 4>{2, 0, 6, 0}));
}

TEMPLATE_TEST_CASE("bits of zeros, of all ones and of the ends of the range; empty arrays", "", std::int32_t, std::int64_t) {
  using T = TestType;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const ebb::tensor<T, 5> x{0, -1, least, most, 6}, zero = ebb::tensor<T, 5>::full(0), ones = ebb::tensor<T, 5>::full(-1);
  CHECK((ebb::all_equal(ebb::bitwise_and(x, zero), zero) && ebb::all_equal(ebb::bitwise_and(x, ones), x)));
  CHECK((ebb::all_equal(ebb::bitwise_or(x, zero), x) && ebb::all_equal(ebb::bitwise_or(x, ones), ones)));
  CHECK((ebb::all_equal(ebb::bitwise_xor(x, zero), x) && ebb::all_equal(ebb::bitwise_xor(x, x), zero)));
  CHECK((ebb::all_equal(ebb::bitwise_xor(x, ones), ebb::bitwise_not(x)) &&
         ebb::all_equal(ebb::bitwise_not(x), ebb::tensor<T, 5>{-1, 0, most, least, -7})));
  CHECK((ebb::all_equal(ebb::shift_left(x, zero), x) && ebb::all_equal(ebb::shift_right(x, zero), x)));
  CHECK(ebb::all_equal(ebb::shift_left(x, T(1)), ebb::tensor<T, 5>{0, -2, 0, -2, 12}));
  CHECK(ebb::all_equal(ebb::shift_right(x, T(1)), ebb::tensor<T, 5>{0, -1, least / 2, most / 2, 3}));
  // Counts at the ends of the range leave nothing but the sign.
  const ebb::tensor<T, 5> signs{0, -1, -1, 0, 0};
  for (const T count : {least, most})
    CHECK((ebb::all_equal(ebb::shift_left(x, count), zero) && ebb::all_equal(ebb::shift_right(x, count), signs)));
  const ebb::tensor<T, ebb::dyn> none(0);
  CHECK((ebb::bitwise_and(none, none).size() == 0 && ebb::bitwise_or(none, none).size() == 0 && ebb::bitwise_xor(none, none).size() == 0));
  CHECK((ebb::bitwise_not(none).size() == 0 && ebb::shift_left(none, none).size() == 0 && ebb::shift_right(none, none).size() == 0));
}

}  // namespace
