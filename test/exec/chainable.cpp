// test/exec/chainable.cpp — arguments of a compiled program that are masks or single elements, and the one that arrives in registers.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/chainable.hpp>

#include <ebb/functional.hpp>

#include "../catch.hpp"

namespace {

using ebb::detail::compile_spec;
template <class F, class... Argument>
using chainable_program = ebb::executable<typename compile_spec<F>::template program<Argument...>>;
template <class T>
using row = ebb::term<T, ebb::dyn>;

struct chosen {
  constexpr auto operator()(auto x, auto is_kept, auto y, auto also_kept, auto s) const {
    return ebb::where(is_kept, x * s, ebb::where(also_kept, y, x));
  }
};
struct summed {
  constexpr auto operator()(auto x, auto y) const { return ebb::sum(x * y); }
};
struct halved {
  constexpr auto operator()(auto x) const { return x * 0.5; }
};

}  // namespace

TEST_CASE("a chainable program tells arrays from masks and from single elements by the numbers of its arguments") {
  constexpr auto c = ebb::as_chainable<chainable_program<chosen, row<float>, row<bool>, row<float>, row<bool>, ebb::term<float>>, 0>();
  STATIC_REQUIRE(c.link != nullptr);
  STATIC_REQUIRE(c.type == ebb::dtype::f32);
  STATIC_REQUIRE(c.arguments == 5);
  STATIC_REQUIRE(c.results == 1);
  STATIC_REQUIRE(c.masks == 0b01010);
  STATIC_REQUIRE(c.elements == 0b10000);
  STATIC_REQUIRE(c.primary == 0);
  STATIC_REQUIRE(c.length == -1);
}

TEST_CASE("a mask cannot arrive in registers") {
  constexpr auto c = ebb::as_chainable<chainable_program<chosen, row<float>, row<bool>, row<float>, row<bool>, ebb::term<float>>, 1>();
  STATIC_REQUIRE(c.link != nullptr);
  STATIC_REQUIRE(c.primary == -1);
  STATIC_REQUIRE(c.masks == 0b01010);
}

TEST_CASE("a static length is known, and a program with a reduction is no link") {
  constexpr auto c = ebb::as_chainable<chainable_program<halved, ebb::term<double, 12>>, 0>();
  STATIC_REQUIRE(c.link != nullptr);
  STATIC_REQUIRE(c.type == ebb::dtype::f64);
  STATIC_REQUIRE(c.length == 12);
  STATIC_REQUIRE(ebb::as_chainable<chainable_program<summed, row<float>, row<float>>, 0>().link == nullptr);
}
