// test/op/context.cpp — ops that ask for the autocast context of their call or of their pull.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/exec/region.hpp>
#include <ebb/exec/show.hpp>
#include <ebb/exec/vjp.hpp>
#include <ebb/trace/functions.hpp>

namespace {

/// 1 under autocast, else 0: the pull g * asks(x) shows the context that it runs in.
struct asks {
  static constexpr auto apply(auto x) { return ebb::literal_like(x, ebb::autocast_dtype(x) ? 1 : 0); }
};
/// An op whose pull runs in the context that the policy names.
struct follows : ebb::elementwise<1> {
  static constexpr std::string_view name = "follows";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g * asks::apply(x)); }
};
/// An op whose pull runs in the context of the call, as with PyTorch's custom_fwd and custom_bwd.
struct remembers : follows {
  static constexpr std::string_view name = "remembers";
  static constexpr bool pulled_as_called = true;
};

/// A user's ops: an elementwise product of class `low` and a cube of class `full`.
struct weighted : ebb::elementwise<2> {
  static constexpr std::string_view name = "weighted";
  static constexpr ebb::precision autocast = ebb::precision::low;
  static constexpr auto value(auto x, auto y) { return x * y; }
  static constexpr auto pull(auto g, auto x, auto y, auto) { return ebb::grads(g * y, g * x); }
};
struct cubed {
  static constexpr ebb::precision autocast = ebb::precision::full;
  static constexpr auto apply(auto x) { return x * x * x; }
};
/// Ops whose pulls call the user's ops.
struct pulls_low : ebb::elementwise<1> {
  static constexpr std::string_view name = "pulls_low";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(ebb::call<weighted>{}(g, x)); }
};
struct pulls_full : ebb::elementwise<1> {
  static constexpr std::string_view name = "pulls_full";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g * ebb::call<cubed>{}(x)); }
};
struct twice_weighted {
  static constexpr auto apply(auto x) { return ebb::call<weighted>{}(x, x) + x; }
};

using low = ebb::autocast<ebb::bf16>;
using half = ebb::autocast<ebb::f16>;
constexpr float more = 1 + 0x1p-9f, little_more = 1 + 0x1p-13f;  // bfloat16 rounds both to 1, float16 the second
template <class Op>
constexpr auto apply = [](auto x) { return ebb::call<Op>{}(x); };

}  // namespace

TEST_CASE("AMP-14: an op can ask that its pull runs in the context of the op's call, under every policy") {
  constexpr auto inside = ebb::under<low>(apply<remembers>);
  CHECK(ebb::grad(inside)(0.f) == 1);
  CHECK(ebb::grad(ebb::patch<ebb::off>(inside))(0.f) == 1);
  CHECK(ebb::grad(ebb::patch<ebb::as_recorded>(inside))(0.f) == 1);
  CHECK(ebb::grad(apply<remembers>)(0.f) == 0);
  CHECK(ebb::grad(ebb::patch<low>(apply<remembers>))(0.f) == 0);
  CHECK(ebb::grad(ebb::under<low>(ebb::no_autocast(apply<remembers>)))(0.f) == 0);
}

TEST_CASE("the pull of any other op runs in the context of the policy") {
  constexpr auto inside = ebb::under<low>(apply<follows>);
  CHECK(ebb::grad(inside)(0.f) == 1);
  CHECK(ebb::grad(ebb::patch<ebb::off>(inside))(0.f) == 0);
  CHECK(ebb::grad(ebb::patch<ebb::as_recorded>(inside))(0.f) == 0);
  CHECK(ebb::grad(ebb::patch<low>(apply<follows>))(0.f) == 1);
}

TEST_CASE("a user's op of class low is cast in pulls as a product is, and returns the dtype of the pull") {
  constexpr auto f = apply<pulls_low>;
  CHECK(ebb::grad(f)(more) == more);
  CHECK(ebb::grad(ebb::patch<low>(f))(more) == 1);
  CHECK(ebb::grad(ebb::patch<half>(f))(more) == more);
  CHECK(ebb::grad(ebb::patch<half>(f))(little_more) == 1);
  CHECK(ebb::grad(ebb::under<low>(f))(more) == 1);
  CHECK(ebb::grad(ebb::patch<ebb::off>(ebb::under<low>(f)))(more) == more);
  CHECK(ebb::grad(ebb::patch<ebb::as_recorded>(ebb::under<low>(f)))(more) == more);
  CHECK(ebb::grad(ebb::patch<low>(f))(double{more}) == double{more});  // double is never cast
  STATIC_REQUIRE(ebb::policy_matters<decltype(f), ebb::off, low, float>);
  STATIC_REQUIRE(!ebb::policy_matters<decltype(f), ebb::off, low, double>);
  STATIC_REQUIRE(!ebb::policy_matters<decltype(f), ebb::off, low, ebb::bf16>);
  STATIC_REQUIRE(ebb::policy_matters<decltype(f), ebb::off, half, ebb::bf16>);

  // Called alone: the op is cast by its class, and its pull runs in the dtype of the call.
  constexpr auto product = [](auto x, auto y) { return ebb::cast<float>(ebb::call<weighted>{}(x, y)); };
  CHECK(ebb::under<low>(product)(more, more) == 1);
  CHECK(ebb::grad<1>(ebb::under<low>(product))(more, 1.f) == 1);
  CHECK(ebb::grad<1>(product)(more, 1.f) == more);
}

TEST_CASE("a user's function of class full computes in float in pulls and is rounded once") {
  const ebb::bf16 x(1.1171875f);
  const float wide = static_cast<float>(x), once = static_cast<float>(ebb::bf16(wide * wide * wide)),
              twice = static_cast<float>(ebb::bf16(static_cast<float>(ebb::bf16(wide * wide)) * wide));
  REQUIRE(once != twice);
  constexpr auto f = [](auto a) { return ebb::cast<float>(ebb::call<pulls_full>{}(a)); };
  const auto slope = [&](auto of) { return static_cast<float>(ebb::grad(of)(x)); };
  CHECK(slope(f) == twice);
  CHECK(slope(ebb::patch<low>(f)) == once);
  CHECK(slope(ebb::patch<half>(f)) == once);
  CHECK(slope(ebb::patch<ebb::as_recorded>(ebb::under<low>(f))) == twice);
  STATIC_REQUIRE(ebb::policy_matters<decltype(f), ebb::off, low, ebb::bf16>);
  STATIC_REQUIRE(!ebb::policy_matters<decltype(f), ebb::off, low, float>);
}

TEST_CASE("calls inside a function without a class are cast in its context too") {
  constexpr auto f = [](auto x) { return ebb::call<twice_weighted>{}(x); };
  CHECK(ebb::compile(f)(more) == more * more + more);
  CHECK(ebb::under<low>(f)(more) == 1 + more);
  CHECK(ebb::under<low>(ebb::no_autocast(f))(more) == more * more + more);
}

TEST_CASE("the error of a context mismatch names the first equation that is cast or asks for the context") {
  const auto said_of = [](const auto& half, auto seed) {
    const ebb::autocast_scope<ebb::bf16> scope;
    return test::raised([&] { half.second(seed); });
  };
  CHECK(test::says(said_of(ebb::vjp(apply<pulls_full>)(ebb::bf16(2)), ebb::bf16(1)),
                   {"the first equation to differ is `c = mul a a : bf16`, which computes in bf16, and would in f32."}));
  CHECK(test::says(said_of(ebb::vjp(apply<follows>)(0.f), 1.f),
                   {"the first equation to differ is `c = mul b 0.0 : f32`, of a pull that asks for the context."}));
}

TEST_CASE("the error of a context mismatch names the op that asks") {
  const auto [y, pull] = ebb::vjp(apply<pulls_low>)(more);
  const ebb::autocast_scope<ebb::bf16> scope;
  CHECK(test::says(
      test::raised([&p = pull] { p(1.f); }),
      {"ebb::vjp: the backward of pulls_low was compiled for a call in ebb::off, but is called in ebb::autocast<ebb::bf16>: there "
       "the first equation to differ is `c = weighted b a : f32`, which computes in f32, and would in bf16."}));
  CHECK(y == more);
}
