// test/op/context.cpp — ops that ask for the autocast context of their call, and of their pull.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/exec/region.hpp>
#include <ebb/exec/show.hpp>

namespace {

/// 1 under autocast, else 0: g * asks(x) is a pull that shows in which context it runs.
struct asks {
  static constexpr auto apply(auto x) { return ebb::literal_like(x, ebb::autocast_dtype(x) ? 1 : 0); }
};
/// Its pull runs where the policy says.
struct follows : ebb::elementwise<1> {
  static constexpr std::string_view name = "follows";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g * asks::apply(x)); }
};
/// Its pull runs where it was called, as PyTorch's custom_fwd and custom_bwd have it.
struct remembers : follows {
  static constexpr std::string_view name = "remembers";
  static constexpr bool pulled_as_called = true;
};

using low = ebb::autocast<ebb::bf16>;
template <class Op>
constexpr auto apply = [](auto x) { return ebb::call<Op>{}(x); };

}  // namespace

TEST_CASE("AMP-14: the pull of an op that says so runs in the context of the op's call, under every policy") {
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
