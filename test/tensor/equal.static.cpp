// test/tensor/equal.static.cpp — whole arrays compared in constant expressions, and the standard library's view of array comparisons.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <array>
#include <concepts>
#include <limits>

using ebb::all_equal, ebb::same_bits, ebb::tensor, ebb::dyn;

constexpr double quiet = std::numeric_limits<double>::quiet_NaN();
constexpr tensor<double, 2, 2> square_of_four{{1, 2}, {3, 4}};

// Values: a NaN equals nothing, zeros of either sign are equal, and extents count.
static_assert(all_equal(square_of_four, tensor<double, 2, 2>{1, 2, 3, 4}) && !all_equal(square_of_four, tensor<double, 2, 2>{1, 2, 3, 5}));
static_assert(!all_equal(square_of_four, tensor<double, 2, 3>{}) && !all_equal(tensor<double, 2, 3>{}, tensor<double, 3, 2>{}));
static_assert(!all_equal(tensor<double, 2>{1, quiet}, tensor<double, 2>{1, quiet}));
static_assert(all_equal(tensor<double, 1>{0.0}, tensor<double, 1>{-0.0}));
static_assert(all_equal(tensor<float, 3>{1, 2, 3}, std::array{1.f, 2.f, 3.f}) && all_equal(tensor<double>(2), 2.0));
static_assert(all_equal(tensor<bool, 2>{true, false}, tensor<bool, 2>{true, false}));
static_assert(all_equal(tensor<float, 0, 3>{}, tensor<float, 0, 3>{}) && !all_equal(tensor<float, 0, 3>{}, tensor<float, 0, 2>{}));

// Bits of each width.
static_assert(same_bits(tensor<double, 2>{1, quiet}, tensor<double, 2>{1, quiet}) &&
              !same_bits(tensor<double, 1>{0.0}, tensor<double, 1>{-0.0}));
static_assert(same_bits(0.f, 0.f) && !same_bits(0.f, -0.f) && !same_bits(tensor<float, 2>{}, tensor<float, 3>{}));
static_assert(!same_bits(ebb::bfloat16(0.f), ebb::bfloat16(-0.f)) && !same_bits(ebb::float16(0.f), ebb::float16(-0.f)));
static_assert(same_bits(tensor<bool, 2>{true, false}, tensor<bool, 2>{true, false}) && !same_bits(1, 2));

// Elements: == and != compare them as the other comparisons do, also in constant expressions.
static_assert(all_equal(square_of_four == tensor<double, 2>{1, 4}, tensor<bool, 2, 2>{true, false, false, true}));
static_assert(all_equal(square_of_four != 3, tensor<bool, 2, 2>{true, true, false, true}));
static_assert(ebb::sum(square_of_four) == 10 && 10.0 == ebb::sum(square_of_four) && ebb::sum(square_of_four) != 9 &&
              !(ebb::sum(square_of_four) != 10));
static_assert(std::same_as<decltype(square_of_four == square_of_four), tensor<bool, 2, 2>> &&
              std::same_as<decltype(square_of_four != 3), decltype(square_of_four < 3)>);
static_assert(std::same_as<decltype(tensor<double>(2) == 2), bool> && tensor<float>(0.1f) == 0.1 && tensor<int>(2) != 2.5);

// One element is a condition, several are not: only arrays of rank 0 are equality comparable.
static_assert((tensor<float, 1, 1>{{2}} == 2) ? true : false);
static_assert((tensor<float, 1>{2} == 3) ? false : true);
static_assert(std::equality_comparable<tensor<double>> && !std::equality_comparable<tensor<double, 2>>);
static_assert(!std::equality_comparable<tensor<float, dyn>> && !std::is_convertible_v<tensor<bool, 1>, bool>);
static_assert(!std::is_constructible_v<bool, tensor<float, 1>> && !std::is_constructible_v<int, tensor<bool, 1>>);
