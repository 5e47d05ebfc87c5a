// test/tensor/tensor.static.cpp — inline tensors in constant expressions, and the guarantees of the types.
// SPDX-License-Identifier: BSL-1.0
// covers: tensor.hpp extents.hpp
#include <ebb/tensor/equal.hpp>
#include <ebb/tensor/tensor.hpp>

using namespace ebb;

namespace {

// Construction.
constexpr tensor<float, 2, 3> nested{{1, 2, 3}, {4, 5, 6}};
constexpr tensor<float, 2, 3> flat{1, 2, 3, 4, 5, 6};
constexpr tensor<float, 3, 1> column{{1}, {2}, {3}};
constexpr tensor<int, 2, 1, 2> cube{{{1, 2}}, {{3, 4}}};
constexpr tensor<int, 1, 1> one{{5}};
constexpr tensor<bool, 2> mask{true, false};
constexpr tensor<double, 0, 3> nothing;
static_assert(nested(0, 0) == 1 && nested(1, 2) == 6 && ebb::all_equal(nested, flat));
static_assert(column(2, 0) == 3 && cube(1, 0, 1) == 4 && one(0, 0) == 5 && mask(0) && !mask(1));
static_assert(nothing.size() == 0 && nothing.begin() == nothing.end() && ebb::all_equal(nothing, tensor<double, 0, 3>()));
static_assert(ebb::all_equal(tensor<double, 2, 2>(), tensor<double, 2, 2>{0, 0, 0, 0}));
static_assert(tensor<bfloat16, 2>()(1) == bfloat16(0.f));
static_assert(ebb::all_equal(tensor<float, 2, 2>::full(7), tensor<float, 2, 2>{7, 7, 7, 7}));
static_assert(tensor<float16, 2>::ones()(1) == float16(1.f));
static_assert(ebb::all_equal(tensor<std::int64_t, 2, 2>::iota(), tensor<std::int64_t, 2, 2>{{0, 1}, {2, 3}}));
static_assert(tensor<int, 2, 3>::generate([](auto i, auto j) { return static_cast<int>(10 * i + j); })(1, 2) == 12);
static_assert(tensor<int, 2, 3>::generate([](std::size_t k) { return static_cast<int>(k * k); })(1, 2) == 25);
constexpr float numbers[] = {3, 1, 4, 1};
static_assert(ebb::all_equal(tensor<float, 2, 2>(std::span<const float>(numbers)), tensor<float, 2, 2>{{3, 1}, {4, 1}}));

// An array of rank 0 is its element.
constexpr tensor<float> scalar = 3.f;
constexpr float back = scalar;
static_assert(back == 3 && scalar == 3 && 3.0 == scalar && scalar != 4 && scalar() == 3 && scalar.size() == 1);

// Reading.
static_assert(nested.size() == 6 && nested.extent(0) == 2 && nested.extent(1) == 3 && nested.shape()[1] == 3 && nested.rank == 2);
static_assert(nested.span()[4] == 5 && nested.end() - nested.begin() == 6 && !nested.is_shared() && nested.use_count() == 1);
static_assert(nested.row(1)(0) == 4 && cube.row(1).row(0)(1) == 4 && tensor<int, 2>{7, 8}.row(1)() == 8);
constexpr double quiet = __builtin_nan("");
static_assert(!ebb::all_equal(tensor<double, 2>{1, quiet}, tensor<double, 2>{1, quiet}));
static_assert(ebb::all_equal(tensor<double, 1>{0.0}, tensor<double, 1>{-0.0}));

// A changed copy leaves the original alone.
constexpr auto changed = [] {
  auto copy = nested;
  copy.at(0, 1) = 20;
  copy.mutable_data()[5] = 60;
  copy.mutable_view()(1, 0) = 40;
  auto other = copy;
  copy = nested;
  copy = std::move(other);
  return copy;
}();
static_assert(ebb::all_equal(changed, tensor<float, 2, 3>{1, 20, 3, 40, 5, 60}) && nested(0, 1) == 2);

// Layout of the elements in memory.
static_assert(sizeof(tensor<double, 3>) == 24 && sizeof(tensor<float>) == 4 && sizeof(tensor<bool, 3>) == 3);
static_assert(sizeof(tensor<float, 16>) == 64 && alignof(tensor<float, 16>) == 64);
static_assert(alignof(tensor<float, 4>) == 16 && alignof(tensor<double, 3>) == 8);
static_assert(tensor<float, 256>::is_inline && tensor<double, 8, 16>::is_inline);
static_assert(!tensor<float, 257>::is_inline && !tensor<float, dyn>::is_inline);
static_assert(sizeof(tensor<float, 1000>) == sizeof(void*) && sizeof(tensor<float, dyn, 64>) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<tensor<double, 3>> && std::is_trivially_destructible_v<tensor<double, 3>>);
static_assert(std::is_nothrow_move_constructible_v<tensor<float, dyn>> && std::is_nothrow_move_assignable_v<tensor<float, dyn>>);

// Conversions that must not exist.
static_assert(!std::is_convertible_v<std::span<const float>, tensor<float, dyn>>);
static_assert(!std::is_convertible_v<std::size_t, tensor<float, dyn>>);
static_assert(!std::is_constructible_v<tensor<float, 6>, tensor<float, 2, 3>>);
static_assert(!std::is_constructible_v<tensor<float, dyn, dyn>, int> && std::is_constructible_v<tensor<float, dyn, dyn>, int, int>);
static_assert(!std::is_assignable_v<decltype(nested(0, 0)), float> && !std::is_invocable_v<decltype(nested)&, int, int, int>);
static_assert(nested(-1, -1) == nested(1, 2) && ebb::all_equal(nested[1], tensor<float, 3>(nested.row(1))) && nested(1)[0] == nested(1, 0));

}  // namespace
