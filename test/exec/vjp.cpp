// test/exec/vjp.cpp — vjp, jvp, hvp, jacobian and hessian inside autocast contexts, against functions whose casts are written by hand.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../equal.hpp"

#include <ebb/functional.hpp>

#include <tuple>

namespace {

using ebb::autocast, ebb::backward_pass_autocast, ebb::bf16, ebb::off;
using low = autocast<bf16>;
using matrix = ebb::tensor<float, 2, 2>;
using narrow = ebb::tensor<bf16, 2, 2>;

// bfloat16 rounds 1 + 2^-9 to 1.
constexpr float more = 1 + 0x1p-9f;
const matrix x{{more, 0.3f}, {-1.7f, 2}}, w{{0.6f, more}, {1.1f, -0.45f}}, u{{0.21f, -more}, {0.37f, 1}}, v{{-0.9f, 0.13f}, {more, 0.77f}};

constexpr auto product = [](auto a, auto b) { return ebb::matmul(a, b); };
constexpr auto in_float = ebb::no_autocast(product);  // in float in every context, but its pulls run in the context
constexpr auto squares = [](auto a, auto b) { return ebb::sum(ebb::square(in_float(a, b))); };
constexpr auto bent = [](auto a, auto b) { return ebb::sum(ebb::tanh(ebb::matmul(a, b))); };

/// The product with a cast at each operand.
constexpr auto product_by_hand = [](auto a, auto b) { return ebb::matmul(ebb::cast<bf16>(a), ebb::cast<bf16>(b)); };
constexpr auto bent_by_hand = [](auto a, auto b) { return ebb::sum(ebb::tanh(product_by_hand(a, b))); };
matrix low_product(const matrix& a, const matrix& b) { return ebb::cast<float>(product_by_hand(a, b)); }
matrix turned(const matrix& a) { return ebb::transpose(a); }

}  // namespace

TEST_CASE("vjp in a context has its value and its pull-back in that context") {
  constexpr auto inside = ebb::under<low>([](auto a, auto b, auto s) {
    const auto [y, pull] = ebb::vjp<0, 1>(product)(a, b);
    const auto [da, db] = pull(ebb::cast<bf16>(s));
    return std::tuple(y, da, db, ebb::matmul(da, b));
  });
  const auto [y, dx, dw, next] = inside(x, w, u);
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(y)>, narrow>);
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(dx)>, matrix>);
  CHECK(ebb::all_equal(y, product_by_hand(x, w)));
  CHECK(ebb::all_equal(dx, low_product(u, turned(w))));
  CHECK(ebb::all_equal(dw, low_product(turned(x), u)));
  CHECK(ebb::all_equal(next, product_by_hand(dx, w)));

  // In a block without autocast the value is in float and the pull in the context of the call; under the policy off both are in float.
  constexpr auto block = ebb::under<low>([](auto a, auto b, auto s) {
    const auto [both, pull] = ebb::vjp<1>([](auto p, auto q) { return std::tuple(in_float(p, q), ebb::sum(p * q)); })(a, b);
    return std::tuple(std::get<0>(both), std::get<1>(both), pull(s, 0));
  });
  const auto [z, total, of_w] = block(x, w, u);
  CHECK(ebb::all_equal(z, ebb::matmul(x, w)));
  CHECK(total == ebb::sum(x * w));
  CHECK(ebb::all_equal(of_w, low_product(turned(x), u)));
  constexpr auto as_off = ebb::under<low>([](auto a, auto b, auto s) {
    return ebb::vjp<1>(ebb::compile<backward_pass_autocast<off>>(in_float))(a, b).second(s);
  });
  CHECK(ebb::all_equal(as_off(x, w, u), ebb::matmul(turned(x), u)));
}

TEST_CASE("jvp in a context has the tangents of the casts and products in it") {
  const auto check = [](auto function, const auto& value, const auto& tangent) {
    constexpr auto inside = ebb::under<low>([](auto a, auto b, auto c, auto d) { return ebb::jvp(decltype(function){})(a, b, c, d); });
    for (const auto& [y, t] : {inside(x, w, u, v), ebb::jvp(ebb::under<low>(function))(x, w, u, v)}) {
      CHECK(ebb::all_equal(y, value));
      CHECK(ebb::all_equal(t, tangent));
    }
  };
  const auto [y, t] = ebb::jvp(product_by_hand)(x, w, u, v);
  check(product, y, t);
  CHECK(ebb::all_equal(t, product_by_hand(u, w) + product_by_hand(x, v)));
  check(in_float, ebb::matmul(x, w), low_product(u, w) + low_product(x, v));
  check(bent, bent_by_hand(x, w), std::get<1>(ebb::jvp(bent_by_hand)(x, w, u, v)));
}

TEST_CASE("hvp in a context differentiates its casts, and in a block without autocast its pulls multiply in the context") {
  const auto check = [](auto function, const matrix& of_x, const matrix& of_w) {
    constexpr auto inside = ebb::under<low>([](auto a, auto b, auto c, auto d) { return ebb::hvp(decltype(function){})(a, b, c, d); });
    for (const auto& [hx, hw] : {inside(x, w, u, v), ebb::hvp(ebb::under<low>(function))(x, w, u, v)}) {
      CHECK(ebb::all_equal(hx, of_x));
      CHECK(ebb::all_equal(hw, of_w));
    }
  };
  // A gradient of two uses of x is added in float, so writing one cast of x would not be the same.
  const auto cast = [](const matrix& a) { return narrow(ebb::cast<bf16>(a)); };
  const auto wide = [](const narrow& a, const narrow& b) { return matrix(ebb::cast<float>(ebb::matmul(a, b))); };
  const narrow h = ebb::tanh(product_by_hand(x, w)), slope = 1 - h * h;
  const narrow along = product_by_hand(u, w) + product_by_hand(x, v), bend = -(along * h + along * h) * slope;
  check(bent, wide(slope, cast(turned(v))) + wide(bend, cast(turned(w))), wide(cast(turned(u)), slope) + wide(cast(turned(x)), bend));

  // The gradient is g w^T and x^T g with g = 2 x w, each product in bfloat16; this is its change along u and v:
  const matrix g = 2 * ebb::matmul(x, w), change = 2 * (low_product(u, w) + low_product(x, v));
  check(squares, low_product(g, turned(v)) + low_product(change, turned(w)), low_product(turned(u), g) + low_product(turned(x), change));
}

TEST_CASE("jacobian and hessian in a context have the derivatives of its casts") {
  const auto check = [](auto function, const auto& want) {
    constexpr auto inside = ebb::under<low>([](auto a, auto b) { return ebb::jacobian(decltype(function){})(a, b); });
    CHECK(ebb::all_equal(inside(x, w), want));
    CHECK(ebb::all_equal(ebb::jacobian(ebb::under<low>(function))(x, w), want));
  };
  const auto by_hand = ebb::jacobian(product_by_hand)(x, w);
  check(product, by_hand);
  check(in_float, by_hand);  // unit seeds times w, which is rounded
  CHECK(by_hand(0, 1, 0, 0) == 1);
  CHECK(ebb::jacobian(product)(x, w)(0, 1, 0, 0) == more);

  // 2 w w^T, where the elements of w and twice them are rounded.
  const matrix block = 2 * low_product(w, turned(w));
  const auto of = [&](const auto& h) { return matrix{{h(0, 0, 0, 0), h(0, 0, 0, 1)}, {h(0, 1, 0, 0), h(0, 1, 0, 1)}}; };
  const auto inside = ebb::under<low>([](auto a, auto b) { return ebb::hessian(squares)(a, b); })(x, w);
  CHECK(ebb::all_equal(of(inside), block));
  CHECK(inside(0, 0, 1, 0) == 0);
  CHECK(ebb::all_equal(of(ebb::hessian(ebb::under<low>(squares))(x, w)), block));
  CHECK_FALSE(ebb::all_equal(of(ebb::hessian(squares)(x, w)), block));
}

TEST_CASE("derivatives of a region follow the context that a scope selects") {
  constexpr auto region = ebb::compile<ebb::ambient<off, low>>(squares);
  const auto all = [](auto function) {
    const auto [y, pull] = ebb::vjp<0, 1>(function)(x, w);
    const auto [dx, dw] = pull(1.f);
    return std::tuple(y, dx, dw, ebb::jvp(function)(x, w, u, v), ebb::hvp(function)(x, w, u, v), ebb::hessian(function)(x, w));
  };
  const auto outside = all(squares);
  CHECK(test::equal(all(region), outside));
  const auto kept = [&] {
    const ebb::autocast_scope<bf16> scope;
    const auto inside = all(ebb::under<low>(squares));
    CHECK_FALSE(test::equal(inside, outside));
    CHECK(test::equal(all(region), inside));
    return ebb::vjp<1>(region)(x, w);
  }();
  CHECK(test::says(test::raised([&] { kept.second(1.f); }),
                   {"was compiled for a call in ebb::autocast<ebb::bf16>, but is called in ebb::off"}));
  const ebb::autocast_scope<ebb::f16> scope;
  CHECK(test::says(test::raised([&] { ebb::vjp<1>(ebb::compile<ebb::ambient<off, low>>(bent))(x, w); }),
                   {"ebb::vjp of ", ": called in ebb::autocast<ebb::f16>, which the function does not declare",
                    "ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>>(f)"}));
  CHECK(test::says(test::raised([&] {
    const ebb::no_autocast_scope none;
    ebb::vjp<1>(ebb::compile<ebb::ambient<low>>(bent))(x, w);
  }), {"ebb::vjp of ", "ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>"}));
  static_assert(ebb::vjp(ebb::compile<ebb::ambient<off, low>>([](auto a) { return a * a; }))(3.0).second(1.0) == 6.0);
}
