// test/exec/cond.cpp — regions with cond and switch_: on the tape, captured, in an autocast context.
// SPDX-License-Identifier: BSL-1.0
// covers: trace/cond.hpp
#include <ebb/ebb.hpp>

#include "../trace/branches.hpp"

namespace {

using ebb::tensor;
using test::bent, test::check_bits, test::check_values, test::either, test::given, test::grown, test::loss_of_branch, test::one_of_three,
    test::shrunk;

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

TEST_CASE("a region with switch_ on the tape: its backward, twice, and captured; in an autocast context; an index that is refused") {
  const auto w = given<double, 3, 3>(2);
  const auto x = given<double, 3>(1);
  const auto region = ebb::compile(loss_of_branch<one_of_three>{});
  const auto check = [&]<class F>(int i, F) {
    const auto expected = ebb::grad<1>(loss_of_branch<F>{})(x, w);
    for (const bool captured : {false, true, true}) {
      ebb::variable v(w);
      ebb::backward(region(i, x, v), {.compiled_autograd = captured});
      check_bits(v.grad(), expected);
    }
    ebb::variable v(w);
    const auto dv = ebb::grad(region(i, x, v), ebb::wrt(v), {.create_graph = true});
    ebb::backward(ebb::compile([](auto d) { return ebb::sum(ebb::square(d)); })(dv));
    check_values(v.grad(),
                 ebb::grad<1>([](auto a, auto b) { return ebb::sum(ebb::square(ebb::grad<1>(loss_of_branch<F>{})(a, b))); })(x, w));
    using bf16 = ebb::autocast<ebb::bf16>;
    const auto a = given<float, 3>(1);
    const auto b = given<float, 3, 3>(2);
    check_bits(ebb::compile(ebb::under<bf16>(one_of_three{}))(i, a, b), ebb::compile(ebb::under<bf16>(F{}))(a, b));
  };
  check(0, grown{});
  check(1, shrunk{});
  check(2, bent{});
  ebb::variable v(w);
  CHECK(test::raised([&] { region(3, x, v); }).find("switch_: the index is 3, and there are 3 functions") != std::string::npos);
}
