// test/tensor/borrow.static.cpp — the types that are arrays, and their traits.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/tensor/borrow.hpp>

#include <string>

using namespace ebb;

namespace {

template <class A, class T, class Extents, class Value>
constexpr bool borrows = array_like<A> && std::is_same_v<borrowed_element<A>, T> && std::is_same_v<borrowed_extents<A>, Extents> &&
                         std::is_same_v<value_of<A>, Value>;

static_assert(borrows<tensor<float, dyn, 3>, float, extents<dyn, 3>, tensor<float, dyn, 3>>);
static_assert(borrows<const tensor<bool, 2>&, bool, extents<2>, tensor<bool, 2>>);
static_assert(borrows<view<const double, 3, dyn>, double, extents<3, dyn>, tensor<double, 3, dyn>>);
static_assert(borrows<std::span<const float>, float, extents<dyn>, tensor<float, dyn>>);
static_assert(borrows<std::span<std::int32_t, 4>, std::int32_t, extents<4>, tensor<std::int32_t, 4>>);
static_assert(borrows<std::array<float, 3>&, float, extents<3>, tensor<float, 3>>);
static_assert(borrows<std::vector<std::int64_t>, std::int64_t, extents<dyn>, tensor<std::int64_t, dyn>>);
static_assert(borrows<float, float, extents<>, float> && borrows<const bool&, bool, extents<>, bool> && borrows<int, int, extents<>, int>);
static_assert(borrows<bfloat16, bfloat16, extents<>, bfloat16> && borrows<tensor<float>, float, extents<>, tensor<float>>);

static_assert(!array_like<std::string> && !array_like<std::vector<bool>> && !array_like<char> && !array_like<float*> && !array_like<void>);

// Writable are objects that are not const, and handles, const or not.
static_assert(mutable_array_like<tensor<float, 3>&> && !mutable_array_like<const tensor<float, 3>&>);
static_assert(mutable_array_like<float&> && !mutable_array_like<const float&>);
static_assert(mutable_array_like<std::vector<float>&> && !mutable_array_like<const std::vector<float>&>);
static_assert(mutable_array_like<const std::span<float>&> && !mutable_array_like<std::span<const float>&>);
static_assert(mutable_array_like<const view<float, 2>&> && !mutable_array_like<view<const float, 2>&>);

constexpr tensor<float, 2, 2> x{1, 2, 3, 4};
constexpr std::array<float, 2> pair{5, 6};
static_assert(borrowed_view(x)(1, 1) == 4 && borrowed_view(pair)(1) == 6 && borrowed_view(7.5)() == 7.5);
static_assert(layout_in(x).shape()[0] == 2 && layout_in(3).rank == 0);

}  // namespace
