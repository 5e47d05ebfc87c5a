// test/exec/region.cpp — regions with a policy and with declared contexts, on arrays; a user's op that asks for the context.
// SPDX-License-Identifier: BSL-1.0
// covers: region.hpp autocast/scope.hpp
#include "../op/golden.hpp"

#include <ebb/ebb.hpp>

#include <initializer_list>
#include <string>
#include <thread>

namespace user {

/// x, or x + 1 under autocast.
struct probe {
  template <class T>
  static constexpr ebb::operand<T> apply(ebb::operand<T> x) {
    return ebb::autocast_dtype(x) ? x + 1 : x;
  }
};
/// As probe, with the pull g * probe(x).
struct probed : ebb::elementwise<1> {
  static constexpr std::string_view name = "probed";
  static constexpr auto value(auto x) { return x; }
  static constexpr auto pull(auto g, auto x, auto) { return ebb::grads(g * probe::apply(x)); }
};

}  // namespace user

namespace {

using ebb::ambient, ebb::autocast, ebb::autocast_scope, ebb::backward_pass_autocast, ebb::bf16, ebb::f16, ebb::no_autocast_scope, ebb::off;
using ebb::as_recorded, ebb::same_as_forward;

template <std::size_t... E>
using array = ebb::tensor<float, E...>;

template <std::size_t... E>
array<E...> read(const golden::block& b, const char* kind, const char* name) {
  array<E...> r;
  const golden::line* const l = b.find(kind, name);
  REQUIRE(l);
  REQUIRE(l->values.size() == r.size());
  for (std::size_t i = 0; i < r.size(); ++i) r.mutable_data()[i] = static_cast<float>(l->values[i]);
  return r;
}

// bfloat16 rounds `more` to 1 and float16 does not; both round `little_more` to 1.
constexpr float more = 1 + 0x1p-9f, little_more = 1 + 0x1p-13f;
const array<2, 2> x_more{{more, more}, {0, 0}}, x_little_more{{little_more, little_more}, {0, 0}}, ones{{1, 1}, {1, 1}};
constexpr auto product = [](auto x, auto w) { return ebb::sum(ebb::matmul(x, w)); };

/// The gradient of `product` by w is x's first row in each column: it shows the dtype in which the pull multiplied.
float seen(const array<2, 2>& of_w) { return of_w(0, 0); }

}  // namespace

TEST_CASE("AMP-1, AMP-2, AMP-3, AMP-8: an op asks for the context in its call and again in its pull") {
  constexpr auto apply = [](auto a) { return ebb::call<user::probed>{}(ebb::call<user::probe>{}(a)); };
  constexpr auto inner = [](auto x) { return ebb::no_autocast(decltype(apply){})(x); };
  const auto check = [](const char* row, auto region) {
    INFO(row);
    const golden::block& b = golden::family("autocast").at(row);
    const auto x = static_cast<float>(b.find("input", "x")->values[0]);
    const auto [y, of_x] = ebb::value_and_grad(region)(x);
    CHECK(y == static_cast<float>(b.find("value", "y")->values[0]));
    CHECK(of_x == static_cast<float>(b.find("grad", "x")->values[0]));
  };
  constexpr auto in_bf16 = ebb::compile<backward_pass_autocast<same_as_forward>>(ebb::under<autocast<bf16>>(inner));
  constexpr auto outside = ebb::compile<backward_pass_autocast<off>>(inner);
  check("probe/AMP-1", in_bf16);
  check("probe/AMP-2", ebb::patch<backward_pass_autocast<off>>(in_bf16));
  check("probe/AMP-3", ebb::patch<backward_pass_autocast<autocast<bf16>>>(outside));
  check("probe/list_inside_ambient", ebb::patch<backward_pass_autocast<autocast<bf16>>>(in_bf16));
  check("probe/empty_list", ebb::patch<backward_pass_autocast<>>(in_bf16));
  check("probe/same_without_ambient", ebb::patch<backward_pass_autocast<same_as_forward>>(outside));
  check("probe/AMP-8_on_then_off", ebb::patch<backward_pass_autocast<autocast<bf16>, off>>(in_bf16));
  check("probe/AMP-8_off_then_on", ebb::patch<backward_pass_autocast<off, autocast<bf16>>>(in_bf16));

  // The op gets the context: the program depends on it, forward and backward.
  STATIC_REQUIRE(ebb::policy_matters<decltype(inner), off, autocast<bf16>, float>);
  constexpr auto asks = [](auto x) { return ebb::call<user::probe>{}(x); };
  CHECK(ebb::under<autocast<f16>>(asks)(2.f) == 3.f);
  CHECK(ebb::compile(asks)(2.f) == 2.f);
}

TEST_CASE("AMP-5: chain B compiled, with exact sums, has PyTorch's bits under each policy") {
  constexpr auto chain = ebb::compile(ebb::under<autocast<bf16>>([](auto x, auto w1, auto w2) {
    const auto z = ebb::no_autocast([](auto y, auto w) { return ebb::linear(ebb::cast<float>(y), w); })(ebb::matmul(x, w1), w2);
    return ebb::sum(z * z);
  }));
  const auto check = [](const std::string& policy, auto region) {
    INFO(policy);
    const golden::block& b = golden::family("autocast").at("B_exact/bfloat16/" + policy);
    const auto [loss, x, w1, w2] =
        ebb::value_and_grad<0, 1, 2>(region)(read<3, 4>(b, "input", "x"), read<4, 4>(b, "input", "w1"), read<2, 4>(b, "input", "w2"));
    CHECK(loss == static_cast<float>(b.find("value", "loss")->values[0]));
    CHECK(ebb::all_equal(x, read<3, 4>(b, "grad", "x")));
    CHECK(ebb::all_equal(w1, read<4, 4>(b, "grad", "w1")));
    CHECK(ebb::all_equal(w2, read<2, 4>(b, "grad", "w2")));
  };
  check("same_as_forward", chain);
  check("off", ebb::patch<backward_pass_autocast<off>>(chain));
  check("off", ebb::patch<backward_pass_autocast<as_recorded>>(chain));
}

TEST_CASE("AMP-10: a region inside a region keeps its policy, and so does the outer one") {
  static constexpr auto inner = ebb::compile<backward_pass_autocast<autocast<bf16>>>(product);
  constexpr auto outer = ebb::compile<backward_pass_autocast<off>>([](auto x, auto v, auto w) { return product(x, v) + inner(x, w); });
  const auto [of_v, of_w] = ebb::grad<1, 2>(outer)(x_more, ones, ones);
  CHECK(seen(of_v) == more);
  CHECK(seen(of_w) == 1);
  const auto [v, w] = ebb::grad<1, 2>(ebb::patch<backward_pass_autocast<autocast<f16>>>(outer))(x_little_more, ones, ones);
  CHECK(seen(v) == 1);
  CHECK(seen(w) == 1);
  const auto [v16, w16] = ebb::grad<1, 2>(ebb::patch<backward_pass_autocast<autocast<f16>>>(outer))(x_more, ones, ones);
  CHECK(seen(v16) == more);  // float16 holds it
  CHECK(seen(w16) == 1);     // the inner region's bfloat16 does not
  // The same two products side by side are not merged, although both are pulled back.
  constexpr auto twice = ebb::compile<backward_pass_autocast<off>>([](auto x, auto u) { return product(x, u) + inner(x, u); });
  CHECK(seen(ebb::grad<1>(twice)(x_more, ones)) == more + 1);
}

TEST_CASE("a scope selects among the contexts that a region declares, and results keep their type") {
  constexpr auto region = ebb::compile<ambient<off, autocast<bf16>>>([](auto x, auto w) { return ebb::matmul(x, w); });
  const auto in_float = region(x_more, ones);
  STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(in_float)>, array<2, 2>>);
  CHECK(in_float(0, 0) == more + more);
  {
    const autocast_scope<bf16> scope;
    const auto narrow = region(x_more, ones);
    STATIC_REQUIRE(std::is_same_v<decltype(narrow), decltype(in_float)>);
    CHECK(narrow(0, 0) == 2);
    array<2, 2> into;
    region(ebb::into(into), x_more, ones);
    CHECK(into(0, 0) == 2);
    {
      const no_autocast_scope suspended;
      CHECK(region(x_more, ones)(0, 0) == more + more);
    }
    CHECK(region(x_more, ones)(0, 0) == 2);
  }
  CHECK(region(x_more, ones)(0, 0) == more + more);
}

TEST_CASE("a scope selects the derivatives of a region as it selects the region") {
  constexpr auto region = ebb::compile<ambient<off, autocast<bf16>>>([](auto x, auto w) { return ebb::no_autocast(product)(x, w); });
  constexpr auto both = ebb::value_and_grad<1>(region);
  constexpr auto recorded = ebb::grad<1>(ebb::patch<backward_pass_autocast<as_recorded>>(region));
  CHECK(seen(std::get<1>(both(x_more, ones))) == more);
  const autocast_scope<bf16> scope;
  const auto [value, of_w] = both(x_more, ones);
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(value)>, float>);
  CHECK(value == 4 * more);
  CHECK(seen(of_w) == 1);  // same_as_forward: pulled back in the scope's context
  CHECK(seen(recorded(x_more, ones)) == more);
}

TEST_CASE("an undeclared context that matters is an error that names the declaration") {
  constexpr auto region = ebb::compile<ambient<off, autocast<bf16>>>(product);
  array<2, 2> of_w{{7, 7}, {7, 7}};
  float value = 7;
  const autocast_scope<f16> scope;
  CHECK(test::says(test::raised([&] { region(x_more, ones); }),
             {"ebb::compile of matmul+sum: called in ebb::autocast<ebb::f16>, which the function does not declare",
              "matmul would compute in f16, not in f32",
              "ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>>(f)"}));
  CHECK(test::says(test::raised([&] { ebb::value_and_grad<1>(region)(x_more, ones); }),
             {"ebb::value_and_grad of matmul+sum", "ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>"}));
  CHECK(test::says(test::raised([&] { ebb::value_and_grad<1>(region)(ebb::into(value, of_w), x_more, ones); }),
             {"ebb::value_and_grad of matmul+sum", "ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>"}));
  CHECK(test::says(test::raised([&] { ebb::compile<ambient<autocast<bf16, ebb::shared_casts>>>(product)(x_more, ones); }),
             {"ebb::ambient<ebb::autocast<ebb::bf16, ebb::shared_casts>, ebb::autocast<ebb::f16>>"}));
  CHECK(test::says(test::raised([&] { ebb::compile(product)(x_more, ones); }),
                   {"ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::f16>>>(f)"}));
  CHECK(test::says(test::raised([&] { ebb::value_and_grad<1>(product)(ebb::into(value, of_w), x_more, ones); }),
             {"ebb::value_and_grad of matmul+sum: called in"}));
  CHECK(test::says(test::raised([&] { ebb::vjp<1>(product)(x_more, ones); }), {"ebb::vjp of matmul+sum: called in"}));
  CHECK(value == 7);
  CHECK(seen(of_w) == 7);

  // Functions that no context changes may be called in all: elementwise functions, double, and functions with a context of their own.
  CHECK(ebb::compile([](auto a) { return ebb::sum(a * a); })(ones) == 4);
  CHECK(ebb::compile(product)(ebb::tensor<double, 2, 2>{{1, 1}, {1, 1}}, ebb::tensor<double, 2, 2>{{1, 1}, {1, 1}}) == 8);
  CHECK(ebb::under<off>(product)(x_more, ones) == 4 * more);
  CHECK(static_cast<float>(ebb::under<autocast<bf16>>(product)(x_more, ones)) == 4);

  // off must be declared too.
  constexpr auto only_inside = ebb::compile<ambient<autocast<f16>>>(product);
  CHECK(only_inside(x_more, ones) == 4 * more);
  const no_autocast_scope suspended;
  CHECK(test::says(test::raised([&] { only_inside(x_more, ones); }),
                   {"ebb::compile of matmul+sum: called outside of autocast, which the region does not "
                    "declare; declare it, ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::f16>>>(f), or call it in a scope of "
                    "ebb::autocast<ebb::f16>"}));
}

TEST_CASE("SW-2: a derivative compiled with its function is in the context of its call, which must be declared") {
  static constexpr auto block = ebb::no_autocast(product);  // computes in float, except its pulls
  const auto of_w = [](auto f) { return seen(std::get<1>(ebb::value_and_grad<1>(f)(x_more, ones))); };
  CHECK(of_w(block) == more);
  const autocast_scope<bf16> scope;
  CHECK(test::says(test::raised([&] { of_w(block); }),
                   {"ebb::value_and_grad of matmul+sum: called in ebb::autocast<ebb::bf16>, which the function does not declare: matmul "
                    "would compute in bf16, not in f32",
                    "ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>", "ebb::no_autocast(ebb::value_and_grad(f))"}));
  CHECK_FALSE(test::raised([&] { ebb::grad<1>(ebb::patch<same_as_forward>(block))(x_more, ones); }).empty());
  CHECK_FALSE(test::raised([] { ebb::hvp([](auto w) { return block(w, w); })(ones, ones); }).empty());
  CHECK_FALSE(
      test::raised([] { ebb::jacobian<1>(ebb::no_autocast([](auto x, auto w) { return ebb::matmul(x, w); }))(x_more, ones); }).empty());
  CHECK_FALSE(test::raised([] { ebb::compile([](auto x, auto w) { return ebb::grad<1>(block)(x, w); })(x_more, ones); }).empty());
  CHECK_FALSE(
      test::raised([] { ebb::compile([](auto x, auto w) { return ebb::vjp<1>(block)(x, w).second(1.f); })(x_more, ones); }).empty());

  // Ways to declare it: ambient; off around everything; another policy, which is no assumption here; a context of its own.
  CHECK(of_w(ebb::compile<ambient<off, autocast<bf16>>>(block)) == 1);
  CHECK(seen(ebb::no_autocast(ebb::grad<1>(product))(x_more, ones)) == more);
  CHECK(of_w(ebb::patch<as_recorded>(block)) == more);
  CHECK(of_w(ebb::patch<off>(block)) == more);
  CHECK(of_w(ebb::patch<autocast<bf16>>(block)) == 1);
  CHECK(of_w(ebb::under<autocast<f16>>(block)) == more);
  CHECK(seen(ebb::under<autocast<bf16>>(ebb::grad<1>(block))(x_more, ones)) == 1);
  constexpr auto inner = ebb::compile<ambient<off, autocast<bf16>>>([](auto x, auto w) { return ebb::vjp<1>(block)(x, w).second(1.f); });
  CHECK(seen(inner(x_more, ones)) == 1);
}

TEST_CASE("SW-2: a pull-back must be called in the context that its policy assumes") {
  const auto [y, pull] = ebb::vjp<1>(product)(x_more, ones);
  {
    const autocast_scope<bf16> scope;
    CHECK(test::says(test::raised([&p = pull] { p(1.f); }),
               {"the backward of matmul+sum was compiled for a call in ebb::off, but is called in ebb::autocast<ebb::bf16>"}));
    ebb::config().autocast_mismatch = ebb::on_mismatch::ignore;
    CHECK(seen(pull(1.f)) == more);
    ebb::config().autocast_mismatch = ebb::on_mismatch::error;
  }
  CHECK(seen(pull(1.f)) == more);
  const auto [z, free] = ebb::vjp<1>(ebb::compile<backward_pass_autocast<as_recorded>>(product))(x_more, ones);
  const autocast_scope<bf16> scope;
  CHECK(seen(free(1.f)) == more);
  CHECK(y == z);
}

TEST_CASE("AMP-16, AMP-T1 to T9: the state of a thread can be read, and is restored at each level, by exceptions too") {
  const auto now = [] { return ebb::current_autocast(); };
  CHECK_FALSE(now());
  {
    const autocast_scope<bf16> outer;
    CHECK(now() == ebb::dtype::bf16);
    {
      const no_autocast_scope suspended;
      CHECK_FALSE(now());
      const autocast_scope<f16> inner;
      CHECK(now() == ebb::dtype::f16);
    }
    CHECK(now() == ebb::dtype::bf16);
#if EBB_EXCEPTIONS
    const auto call = [&] {
      const no_autocast_scope suspended;
      const autocast_scope<f16> inner;
      ebb::compile(product)(x_more, ones);
    };
    CHECK_THROWS_AS(call(), ebb::error);
    CHECK(now() == ebb::dtype::bf16);
#endif
  }
  CHECK_FALSE(now());
}

TEST_CASE("AMP-17: each thread has its own autocast state") {
  static constexpr auto region = ebb::compile<ambient<off, autocast<bf16>, autocast<f16>>>(product);
  const autocast_scope<bf16> scope;
  float in_none = 0, in_f16 = 0;
  std::thread([&] { in_none = region(x_more, ones); }).join();
  std::thread([&] {
    const autocast_scope<f16> own;
    in_f16 = region(x_little_more, ones);
  }).join();
  CHECK(in_none == 4 * more);
  CHECK(in_f16 == 4);
  CHECK(region(x_more, ones) == 4);
}

TEST_CASE("AMP-19, SW-4: one weight in two contexts has one cast for each, and a changed weight is cast again") {
  constexpr auto both = ebb::under<autocast<bf16>>([](auto x, auto w) {
    return std::tuple(ebb::sum(ebb::matmul(x, w)), ebb::under<autocast<f16>>(product)(x, w));
  });
  array<2, 2> w = ones;
  const auto [first, second] = both(x_more, w);
  CHECK(static_cast<float>(first) == 4);
  CHECK(static_cast<float>(second) == 4 * more);
  w *= 2;
  CHECK(static_cast<float>(std::get<0>(both(x_more, w))) == 8);

  constexpr auto updated = ebb::under<autocast<bf16>>([](auto x, auto v) {  // in one program
    const auto before = product(x, v);
    v *= 2;
    return std::tuple(before, product(x, v));
  });
  const auto [before, after] = updated(x_more, ones);
  CHECK(static_cast<float>(before) == 4);
  CHECK(static_cast<float>(after) == 8);
}
