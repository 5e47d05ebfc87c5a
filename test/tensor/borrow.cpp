// test/tensor/borrow.cpp — other libraries' arrays, read and written in place; a user's own array type.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/tensor/equal.hpp>
#include <ebb/tensor/borrow.hpp>

#include "../catch.hpp"

#include <vector>

namespace {
struct points {  // as a foreign library might define it
  std::vector<double> numbers;
  std::size_t count;
};
}  // namespace

template <>
struct ebb::borrow<points> {
  using element = double;
  using extents_type = ebb::extents<ebb::dyn, 3>;
  static const double* data(const points& a) { return a.numbers.data(); }
  static double* mutable_data(points& a) { return a.numbers.data(); }
  static std::size_t extent(const points& a, int axis) { return axis == 0 ? a.count : 3; }
};

using namespace ebb;

TEST_CASE("each kind of array is borrowed without a copy") {
  const tensor<float, dyn> owner{1, 2, 3};
  CHECK(borrowed_view(owner).data() == owner.data());
  CHECK_FALSE(owner.is_shared());
  std::vector<float> numbers{1, 2, 3};
  CHECK(borrowed_view(numbers).data() == numbers.data());
  CHECK(ebb::all_equal(borrowed_view(numbers), borrowed_view(owner)));
  CHECK(borrowed_view(std::span(numbers)).data() == numbers.data());
  const view<const float, 3> fixed(numbers.data());
  CHECK(borrowed_view(fixed).data() == numbers.data());
  const float number = 5;
  CHECK(borrowed_view(number).data() == &number);
  CHECK(borrowed_view(number)() == 5);
}

TEST_CASE("outputs are written in place, and a tensor's copies keep their elements") {
  std::vector<float> numbers(2);
  borrowed_mutable_view(numbers)(1) = 4;
  CHECK(numbers[1] == 4);
  borrowed_mutable_view(std::span(numbers))(0) = 3;
  CHECK(numbers[0] == 3);
  double scalar = 0;
  borrowed_mutable_view(scalar)() = 2;
  CHECK(scalar == 2);
  tensor<float, dyn> x{1, 2};
  const auto kept = x;
  borrowed_mutable_view(x)(0) = 10;
  CHECK(x(0) == 10);
  CHECK(kept(0) == 1);
}

TEST_CASE("a user's own array type is borrowed") {
  points p{{1, 2, 3, 4, 5, 6}, 2};
  static_assert(mutable_array_like<points&> && std::is_same_v<value_of<points>, tensor<double, dyn, 3>>);
  CHECK(borrowed_view(p)(1, 2) == 6);
  borrowed_mutable_view(p)(0, 0) = -1;
  CHECK(p.numbers[0] == -1);
  CHECK(tensor<double, 2, 3>(borrowed_view(p))(0, 0) == -1);
}
