// test/tensor/view.cpp — views of memory, spans and tensors.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/tensor/equal.hpp>
#include <ebb/tensor/tensor.hpp>
#include <ebb/tensor/view.hpp>

#include "../catch.hpp"

#include <vector>

using namespace ebb;

TEST_CASE("a view reads and writes its memory") {
  float memory[6] = {1, 2, 3, 4, 5, 6};
  const view<float, dyn, 3> x(memory, 2);
  CHECK(x.data() == memory);
  CHECK(x.shape() == std::array<std::size_t, 2>{2, 3});
  CHECK(x(1, 0) == 4);
  x(1, 0) = 40;  // a const view still writes, as a span does
  CHECK(memory[3] == 40);
  x.row(1)(2) = 60;
  CHECK(memory[5] == 60);

  const view<const float, 6> all(memory);
  float sum = 0;
  for (float item : all) sum += item;
  CHECK(sum == 1 + 2 + 3 + 40 + 5 + 60);
  CHECK(all.span().size() == 6);
  static_assert(std::is_same_v<decltype(all(0)), const float&> && std::is_same_v<decltype(x(0, 0)), float&>);
}

TEST_CASE("views convert to views with more or fewer static extents, and to read-only views") {
  std::vector<double> memory{1, 2, 3, 4};
  const view<double, dyn> x = std::span(memory);
  const view<const double, dyn> reader = x;
  CHECK(reader.data() == memory.data());
  const view<const double, 4> known = reader;
  CHECK(known(3) == 4);
  static_assert(!std::is_constructible_v<view<double, dyn>, view<const double, dyn>>);

  const tensor<double, 2, 2> owner{1, 2, 3, 4};
  const view seen(owner);
  static_assert(std::is_same_v<decltype(seen), const view<const double, 2, 2>>);
  CHECK(seen.data() == owner.data());
  static_assert(!std::is_constructible_v<view<double, 2, 2>, const tensor<double, 2, 2>&>);
  static_assert(!std::is_constructible_v<view<const double, 4>, const tensor<double, 2, 2>&>);
  const view<const double, dyn, dyn> less = owner;
  CHECK(ebb::all_equal(less, seen));
  CHECK(ebb::all_equal(tensor<double, dyn, 2>(less), owner));

  const view from_span{std::span<const double, 4>(memory)};
  static_assert(std::is_same_v<decltype(from_span), const view<const double, 4>>);
}

TEST_CASE("a view of a tensor copies nothing, and a mutable one leaves the tensor's copies alone") {
  tensor<int, dyn, 2> x{{1, 2}, {3, 4}};
  const auto kept = x;
  auto writer = x.mutable_view();
  writer(0, 0) = 9;
  CHECK(x(0, 0) == 9);
  CHECK(kept(0, 0) == 1);
  CHECK(kept.row(1).data() == kept.data() + 2);
  CHECK(ebb::all_equal(kept.row(1), view(tensor<int, 2>{3, 4})));
}

TEST_CASE("views of rank 0 and without elements work") {
  double number = 3;
  const view<double> x(&number);
  CHECK(x() == 3);
  x() = 4;
  CHECK(number == 4);
  const view<const float, dyn, 2> none(nullptr, 0);
  CHECK(none.size() == 0);
  CHECK(none.begin() == none.end());
  CHECK(ebb::all_equal(none, view<const float, 0, 2>(nullptr)));
}

TEST_CASE("a view checks extents and indices") {
  std::vector<float> memory(6);
  CHECK(test::raised([&] { view<float, 5> x{std::span<float>(memory)}; }) == "ebb::view: shape [6] was given for extents [5]");
  CHECK(test::raised([&] { view<float, dyn, 4> x(std::span<float>(memory), 2); }) == "ebb::view: 6 elements were given for shape [2, 4]");
  const view<float, dyn, 3> x(memory.data(), 2);
  CHECK(test::raised([&] { (void)x(2, 0); }) == "ebb::view::operator(): index [2, 0] is out of range for shape [2, 3]");
  CHECK(test::raised([&] { (void)x.row(2); }) == "ebb::view::row: index [2] is out of range for shape [2]");
  CHECK(test::raised([&] { (void)view<float, 3, 3>(x); }) == "ebb::view: shape [2, 3] was given for extents [3, 3]");
}
