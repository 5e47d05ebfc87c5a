// test/exec/cond.cpp — regions with cond: on the tape, captured, in an autocast context.
// SPDX-License-Identifier: BSL-1.0
// covers: trace/cond.hpp
#include <ebb/ebb.hpp>

#include "../build.hpp"
#include "../catch.hpp"

namespace {

using ebb::tensor;

struct grown {
  constexpr auto operator()(auto x, auto w) const { return ebb::tanh(ebb::matmul(w, x)) * ebb::exp(x); }
};
struct shrunk {
  constexpr auto operator()(auto x, auto w) const { return ebb::sin(x) + ebb::matmul(w * w, x); }
};
struct either {
  constexpr auto operator()(auto x, auto w) const { return ebb::cond(ebb::sum(x) > 0, grown{}, shrunk{}, x, w); }
};
template <class F>
struct loss_of_branch {
  constexpr auto operator()(auto x, auto w) const { return ebb::sum(ebb::square(F{}(x, w))); }
};

template <class T, std::size_t... E>
tensor<T, E...> given(std::uint64_t seed, double low = -1, double high = 1) {
  tensor<T, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(low, high));
  return x;
}
void check_bits(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(ebb::to_cell(a.data()[i]) == ebb::to_cell(b.data()[i]));
}
void check_values(const auto& a, const auto& b, double relative = 1e-12) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(relative).margin(relative));
}

}  // namespace

TEST_CASE("a region with cond on the tape: its backward, twice, and captured; in an autocast context") {
  const auto w = given<double, 3, 3>(2);
  for (const auto& x : {given<double, 3>(1, 0, 1), given<double, 3>(1, -1, 0)}) {
    const auto expected = ebb::grad<1>(loss_of_branch<either>{})(x, w);
    const auto region = ebb::compile(loss_of_branch<either>{});
    for (const bool captured : {false, true, true}) {
      ebb::variable v(w);
      ebb::backward(region(x, v), {.compiled_autograd = captured});
      check_bits(v.grad(), expected);
    }
    ebb::variable v(w);
    const auto dv = ebb::grad(region(x, v), ebb::wrt(v), {.create_graph = true});
    ebb::backward(ebb::compile([](auto d) { return ebb::sum(ebb::square(d)); })(dv));
    check_values(v.grad(), ebb::grad<1>([](auto a, auto b) {
      return ebb::sum(ebb::square(ebb::grad<1>(loss_of_branch<either>{})(a, b)));
    })(x, w));
  }
  using bf16 = ebb::autocast<ebb::bf16>;
  const tensor<float, 3> a{1, 2, 0.5f};
  const auto b = given<float, 3, 3>(2);
  check_bits(ebb::compile(ebb::under<bf16>(either{}))(a, b), ebb::compile(ebb::under<bf16>(grown{}))(a, b));
  check_bits(ebb::compile(ebb::under<bf16>(either{}))(-a, b), ebb::compile(ebb::under<bf16>(shrunk{}))(-a, b));
}
