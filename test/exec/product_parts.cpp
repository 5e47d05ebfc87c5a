// test/exec/product_parts.cpp — products of parts of arrays as users write them: the bits of one function after the other.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/view.hpp plan/fuse.hpp plan/plan.hpp op/strided_product.hpp op/whole.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <algorithm>

namespace {

template <std::size_t... E>
ebb::tensor<float, E...> numbers(std::uint64_t key) {
  return ebb::normal<float, E...>(key);
}

constexpr auto attention = [](auto x) {
  const auto [q, k, v] = ebb::chunk<1, 3>(x);
  const auto heads = [](auto y) { return ebb::transpose<1, 0, 2>(ebb::reshape<19, 3, 17>(y)); };
  const auto p = ebb::softmax<-1>(ebb::matmul(heads(q), ebb::transpose(heads(k))));
  return ebb::reshape<19, 51>(ebb::transpose<1, 0, 2>(ebb::matmul(p, heads(v))));
};
constexpr auto beside = [](auto x, auto w) {
  const auto [a, b] = ebb::chunk<-1, 2>(x);
  const auto left = ebb::matmul(a, w);
  const auto right = ebb::matmul(b, ebb::slice<1, 1>(w));
  return ebb::concat<-1>(left, right, ebb::tanh(right));
};

}  // namespace

TEST_CASE("compiled products of parts have the bits of one function after the other") {
  const auto x = numbers<19, 153>(1);
  const auto [q, k, v] = ebb::chunk<1, 3>(x);
  const auto heads = [](const auto& y) { return ebb::transpose<1, 0, 2>(ebb::reshape<19, 3, 17>(y)); };
  const auto scores = ebb::matmul(heads(q), ebb::transpose(heads(k)));
  const auto p = ebb::softmax<-1>(scores);
  const auto mixed = ebb::matmul(p, heads(v));
  CHECK(ebb::all_equal(ebb::compile(attention)(x), ebb::reshape<19, 51>(ebb::transpose<1, 0, 2>(mixed))));

  const auto y = numbers<13, 22>(2);
  const auto w = numbers<11, 20>(3);
  CHECK(ebb::all_equal(ebb::compile(beside)(y, w), beside(y, w)));
}

TEST_CASE("products of parts under autocast and over rows have the bits of one call after the other") {
  const auto y = numbers<13, 22>(2);
  const auto w = numbers<11, 20>(3);
  const auto small = ebb::cast<ebb::bf16>(w);
  using low = ebb::autocast<ebb::bf16>;
  constexpr auto product = ebb::under<low>([](auto a, auto b) { return ebb::matmul(a, b); });
  const auto [a, b] = ebb::chunk<-1, 2>(y);
  const auto left = product(a, w);
  const auto right = product(b, ebb::slice<1, 1>(w));
  const auto joined = ebb::under<low>([](auto l, auto r) { return ebb::concat<-1>(l, r, ebb::tanh(r)); })(left, right);
  CHECK(ebb::all_equal(ebb::cast<float>(ebb::under<low>(beside)(y, w)), ebb::cast<float>(joined)));
  const auto narrow = ebb::cast<ebb::bf16>(y);
  CHECK(ebb::all_equal(ebb::cast<float>(ebb::compile(beside)(narrow, small)), ebb::cast<float>(beside(narrow, small))));

  const auto rows = numbers<200, 13, 22>(4);  // several blocks of rows
  const auto all = ebb::compile([](auto r, auto weights) { return ebb::map([](auto one, auto of) { return beside(one, of); }, r, ebb::whole(weights)); })(rows, w);
  for (const std::size_t i : {0u, 77u, 199u}) {
    ebb::tensor<float, 13, 22> one;
    std::copy_n(rows.data() + i * one.size(), one.size(), one.mutable_data());
    const auto expected = beside(one, w);
    CHECK(std::equal(expected.begin(), expected.end(), all.data() + i * expected.size()));
  }
}

TEST_CASE("a later loop reads a piece where another one has written it") {
  constexpr auto f = [](auto x, auto w) {
    const auto y = -x;
    return std::tuple(ebb::concat<1>(y, ebb::tanh(x)), y * ebb::matmul(x, w));
  };
  const auto x = numbers<50, 20>(1);
  const auto w = numbers<20, 20>(2);
  const auto [joined, scaled] = ebb::compile(f)(x, w);
  CHECK(ebb::all_equal(joined, ebb::concat<1>(-x, ebb::tanh(x))));
  CHECK(ebb::all_equal(scaled, -x * ebb::matmul(x, w)));
}
