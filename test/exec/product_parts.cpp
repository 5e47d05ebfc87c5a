// test/exec/product_parts.cpp — products of parts of arrays as users write them: the bits of one function after the other.
// SPDX-License-Identifier: BSL-1.0
// covers: plan/view.hpp plan/fuse.hpp plan/plan.hpp plan/onto.hpp op/strided_product.hpp op/whole.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <algorithm>
#include <tuple>

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
  const auto all = ebb::compile(
      [](auto r, auto weights) { return ebb::map([](auto one, auto of) { return beside(one, of); }, r, ebb::whole(weights)); })(rows, w);
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

TEST_CASE("products with an operand that repeats along batches have the bits of products with copies") {
  constexpr auto product = [](auto w, auto x) { return ebb::matmul(w, x); };
  const auto check = [&](const auto& w, const auto& x, const auto& copies) {
    CHECK(ebb::all_equal(ebb::compile(product)(w, x), ebb::matmul(copies, x)));
  };
  const auto w = numbers<17, 20>(5);
  check(w, numbers<6, 20, 1>(6), ebb::broadcast_to<6, 17, 20>(w));
  check(w, numbers<6, 20, 9>(7), ebb::broadcast_to<6, 17, 20>(w));
  check(w, numbers<3, 2, 20, 9>(8), ebb::broadcast_to<3, 2, 17, 20>(w));
  const auto heads = numbers<3, 1, 17, 20>(9);
  check(heads, numbers<3, 4, 20, 9>(10), ebb::broadcast_to<3, 4, 17, 20>(heads));
  const auto [q, k] = std::tuple(numbers<4, 13, 16>(11), numbers<1, 11, 16>(12));
  const auto scores = ebb::compile([](auto a, auto b) { return ebb::matmul(a, ebb::transpose(b)); })(q, k);
  CHECK(ebb::all_equal(scores, ebb::matmul(q, ebb::transpose(ebb::broadcast_to<4, 11, 16>(k)))));
}

TEST_CASE("a batch of products that is summed has the bits of the batch and its sum, also of no products") {
  constexpr auto f = [](auto a, auto b) { return ebb::sum<0, 1>(ebb::matmul(a, b)); };
  const auto check = [&](const auto& a, const auto& b) { CHECK(ebb::all_equal(ebb::compile(f)(a, b), ebb::sum<0, 1>(ebb::matmul(a, b)))); };
  check(numbers<3, 2, 17, 5>(1), numbers<3, 2, 5, 20>(2));
  for (const std::size_t n : {0u, 1u, 4u})
    check(ebb::normal<float, 3, ebb::dyn, 17, 5>(3, n), ebb::normal<float, 3, ebb::dyn, 5, 20>(4, n));
  constexpr auto loss = [](auto w, auto x) { return ebb::sum(ebb::square(ebb::matmul(w, x))); };
  const auto w = numbers<17, 20>(5);
  const auto x = numbers<6, 20, 9>(6);
  const auto g = 2 * ebb::matmul(ebb::broadcast_to<6, 17, 20>(w), x);
  CHECK(ebb::all_equal(ebb::grad(loss)(w, x), ebb::sum<0>(ebb::matmul(g, ebb::transpose(x)))));
}

namespace {

constexpr auto sum_of_products = [](auto a, auto b) { return ebb::sum(ebb::matmul(a, b)); };

/// The gradients of a sum of products have the bits of products with whole matrices of ones.
template <class T>
void check_gradients_of_sum(std::size_t m, std::size_t k, std::size_t n) {
  CAPTURE(m, k, n);
  using ebb::dyn;
  const auto check = [](const auto& a, const auto& b, const auto& ones) {
    const auto [value, of_a, of_b] = ebb::value_and_grad<0, 1>(sum_of_products)(a, b);
    CHECK(value == ebb::sum(ebb::matmul(a, b)));
    CHECK(ebb::all_equal(of_a, ebb::matmul(ones, ebb::transpose(b))));
    CHECK(ebb::all_equal(of_b, ebb::matmul(ebb::transpose(a), ones)));
  };
  check(ebb::normal<T, dyn, dyn>(7, {m, k}), ebb::normal<T, dyn, dyn>(8, {k, n}), ebb::tensor<T, dyn, dyn>::ones(m, n));
  check(ebb::normal<T, 3, dyn, dyn>(7, {m, k}), ebb::normal<T, 3, dyn, dyn>(8, {k, n}), ebb::tensor<T, 3, dyn, dyn>::ones(m, n));
}

}  // namespace

TEST_CASE("gradients of sums of products have the bits of products with matrices of ones") {
  for (const auto [m, k, n] : {std::array{1, 1, 1}, {5, 3, 7}, {17, 33, 20}, {300, 3, 2}, {2, 5, 300}, {40, 500, 9}}) {
    check_gradients_of_sum<float>(static_cast<std::size_t>(m), static_cast<std::size_t>(k), static_cast<std::size_t>(n));
    check_gradients_of_sum<double>(static_cast<std::size_t>(m), static_cast<std::size_t>(k), static_cast<std::size_t>(n));
  }
  // One row of weights for all rows, and a batch of equal matrices.
  constexpr auto product = [](auto row, auto w) { return ebb::matmul(ebb::broadcast_to<12, 20>(row), w); };
  const auto row = numbers<20>(1);
  const auto w = numbers<20, 21>(2);
  CHECK(ebb::all_equal(ebb::compile(product)(row, w), ebb::matmul(ebb::broadcast_to<12, 20>(row), w)));
  constexpr auto batch = [](auto x, auto y) { return ebb::matmul(ebb::broadcast_to<4, 12, 20>(x), ebb::broadcast_to<4, 20, 21>(y)); };
  const auto x = numbers<12, 20>(3);
  CHECK(ebb::all_equal(ebb::compile(batch)(x, w), ebb::broadcast_to<4, 12, 21>(ebb::matmul(x, w))));
}
