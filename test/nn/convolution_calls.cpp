// test/nn/convolution_calls.cpp — convolutions called: maps, the tape, narrow floats, autocast, and extents that do not fit.
// SPDX-License-Identifier: BSL-1.0
// covers: convolution.hpp sliding.hpp
#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::conv, ebb::dyn;
template <class T, std::size_t... E>
using array = ebb::tensor<T, E...>;
using planes = array<float, dyn, dyn, dyn, dyn>;
using vector = array<float, dyn>;

constexpr conv uneven{.stride = {2, 1}, .padding = 1, .groups = 2};

TEST_CASE("a map over arrays, over kernels, or over both has the bits of single calls") {
  const auto x = test::random_array<array<float, dyn, dyn, dyn, dyn, dyn>>(1, 3, 2, 4, 7, 6);
  const auto w = test::random_array<array<float, dyn, dyn, dyn, dyn, dyn>>(2, 3, 6, 2, 3, 2);
  const auto f = [](auto a, auto b) { return ebb::conv2d<uneven>(a, b); };
  const auto energy = [](auto y, auto v) { return ebb::sum(ebb::square(ebb::conv2d<uneven>(y, v))); };
  const auto slopes = [](auto a, auto b) { return ebb::grad<0, 1>(std::remove_const_t<decltype(energy)>())(a, b); };
  const auto part = [](const auto& all, std::size_t i) {
    const std::size_t size = all.size() / all.extent(0);
    planes r = planes::generate([&](std::size_t k) { return all.data()[i * size + k]; }, all.extent(1), all.extent(2), all.extent(3),
                                all.extent(4));
    return r;
  };
  const auto both = ebb::map(f, x, w), one_kernel = ebb::map(f, x, ebb::whole(part(w, 1)));
  const auto one_array = ebb::map(f, ebb::whole(part(x, 1)), w);
  const auto gradients = ebb::map(slopes, x, w);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(test::same_bits(part(both, i), f(part(x, i), part(w, i))));
    CHECK(test::same_bits(part(one_kernel, i), f(part(x, i), part(w, 1))));
    CHECK(test::same_bits(part(one_array, i), f(part(x, 1), part(w, i))));
    const auto [of_x, of_w] = slopes(part(x, i), part(w, i));
    CHECK(test::same_bits(part(std::get<0>(gradients), i), of_x));
    CHECK(test::same_bits(part(std::get<1>(gradients), i), of_w));
  }
}

constexpr auto norm = [](auto x, auto w, auto b) { return ebb::sum(ebb::square(ebb::conv1d<conv{.stride = 2, .padding = 1}>(x, w, b))); };

TEST_CASE("the gradients of a convolution on the tape are the same captured, and there is a second one") {
  const auto x = test::random_array<array<double, 2, 3, 9>>(1);
  const auto w = test::random_array<array<double, 4, 3, 3>>(2);
  const auto b = test::random_array<array<double, 4>>(3);
  const auto [of_x, of_w, of_b] = ebb::grad<0, 1, 2>(norm)(x, w, b);
  for (const bool captured : {false, true}) {
    ebb::variable vx(x);
    ebb::variable vw(w);
    ebb::variable vb(b);
    ebb::backward(norm(vx, vw, vb), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(vx.grad().value(), of_x));
    CHECK(ebb::all_equal(vw.grad().value(), of_w));
    CHECK(ebb::all_equal(vb.grad().value(), of_b));
  }
  // d/dw of sum(gradient by x): the same by create_graph and by grad of grad.
  ebb::variable vx(x);
  ebb::variable vw(w);
  ebb::variable vb(b);
  const auto g = ebb::grad(norm(vx, vw, vb), ebb::wrt(vx), {.create_graph = true});
  ebb::backward(ebb::sum(g));
  const auto second = ebb::grad<1>([](auto a, auto c, auto d) { return ebb::sum(ebb::grad<0>(norm)(a, c, d)); })(x, w, b);
  for (std::size_t i = 0; i < second.size(); ++i) CHECK(vw.grad().value().data()[i] == Approx(second.data()[i]).epsilon(1e-12));
}

TEST_CASE("an array without an axis of the batch, integers, narrow floats and autocast") {
  const auto x = test::random_array<array<float, 3, 5, 6>>(1);
  const auto w = test::random_array<array<float, 2, 3, 3, 3>>(2);
  const auto b = test::random_array<array<float, 2>>(3);
  const auto y = ebb::conv2d(x, w, b);
  STATIC_REQUIRE(std::is_same_v<decltype(y), const array<float, 2, 3, 4>>);
  CHECK(test::same_bits(y, ebb::conv2d(ebb::reshape<1, 3, 5, 6>(x), w, b)));
  const array<int, 1, 1, 3> whole{{{1, 2, 3}}};
  const auto sums = ebb::conv1d(whole, array<int, 1, 1, 2>{{{1, 10}}});
  STATIC_REQUIRE(std::is_same_v<decltype(sums), const array<float, 1, 1, 2>>);
  CHECK(sums(0, 0, 1) == 32);
  const auto low_x = ebb::cast<ebb::bfloat16>(x);
  const auto low_w = ebb::cast<ebb::bfloat16>(w);
  const auto low = ebb::conv2d(low_x, low_w);
  STATIC_REQUIRE(std::is_same_v<decltype(low), const array<ebb::bfloat16, 2, 3, 4>>);
  CHECK(ebb::all_equal(low, ebb::cast<ebb::bfloat16>(ebb::conv2d(ebb::cast<float>(low_x), ebb::cast<float>(low_w)))));
  const auto f = [](auto a, auto c) { return ebb::conv2d(a, c); };
  const auto t = [](auto a, auto c) { return ebb::conv_transpose2d(a, c); };
  CHECK(ebb::all_equal(ebb::under<ebb::autocast<ebb::bf16>>(f)(x, w), low));
  using half = decltype(ebb::under<ebb::autocast<ebb::f16>>(t)(array<float, 2, 5, 6>(), w));
  STATIC_REQUIRE(std::is_same_v<half, array<ebb::float16, 3, 7, 8>>);
}

TEST_CASE("a call whose extents do not fit names the function and all shapes") {
  const planes x(2, 4, 5, 5), w(6, 4, 3, 3);
  const auto fails = [](auto f, std::initializer_list<const char*> parts) { return test::says(test::raised(f), parts); };
  CHECK(fails([&] { ebb::conv2d(x, planes(6, 3, 3, 3)); }, {"ebb::conv2d", "[2, 4, 5, 5]", "[6, 3, 3, 3]"}));
  CHECK(fails([&] { ebb::conv2d<conv{.groups = 4}>(x, planes(6, 1, 3, 3)); }, {"ebb::conv2d", "[2, 4, 5, 5]", "[6, 1, 3, 3]"}));
  CHECK(fails([&] { ebb::conv2d(x, planes(6, 4, 6, 3)); }, {"ebb::conv2d", "[2, 4, 5, 5]", "[6, 4, 6, 3]"}));
  CHECK(fails([&] { ebb::conv2d(x, w, vector(5)); }, {"ebb::conv2d", "[6, 4, 3, 3]", "[5]"}));
  CHECK(fails([&] { ebb::conv_transpose2d(x, w); }, {"ebb::conv_transpose2d", "[2, 4, 5, 5]", "[6, 4, 3, 3]"}));
  CHECK(ebb::conv2d(x, planes(6, 4, 5, 5)).size() == 12);
  CHECK(ebb::conv2d(planes(0, 4, 5, 5), w).size() == 0);
  CHECK(ebb::all_equal(ebb::conv2d(planes(1, 0, 5, 5), planes(2, 0, 3, 3), vector{1.0f, 2.0f}),
                       ebb::broadcast_to<1, 2, 3, 3>(array<float, 2, 1, 1>{{{1.0f}}, {{2.0f}}})));
}

}  // namespace
