// test/autocast/under.cpp — chains of ops that PyTorch ran under autocast, under each backward policy: dtypes, values, gradients.
// SPDX-License-Identifier: BSL-1.0
//
// A chain is traced inside its context and pulled back at run time, in the context of the policy; the reference evaluator runs it. The test
// compares all named values, and the gradients that arrive at them and at the arguments: dtypes exactly, and all bits of `*_exact` chains.
// In other chains PyTorch may have summed a product in another order, and a difference in the last bits of a float may change how a number
// is rounded to low precision. So the error may be one unit of the low precision if all numbers of an array have it, and else 8 units of
// float: the longest path has 4 products, and each adds one unit, or two after a cancellation. Units are those of an array's largest
// number.
#include "../op/golden.hpp"

#include <ebb/autocast/policy.hpp>

namespace {

using ebb::autocast, ebb::dtype, ebb::bf16, ebb::f16, ebb::off, ebb::term;
using ebb::as_recorded, ebb::backward_pass_autocast, ebb::same_as_forward;

struct chain_a {
  constexpr auto operator()(auto x, auto w1, auto b1, auto w2, auto t) const {
    const auto h = ebb::linear(x, w1, b1);
    const auto r = ebb::relu(h);
    const auto z = ebb::linear(r, w2);
    return std::tuple(h, r, z, ebb::cross_entropy(z, t));
  }
};
struct chain_b {
  constexpr auto operator()(auto x, auto w1, auto w2) const {
    const auto y = ebb::matmul(x, w1);
    const auto [f, z] = ebb::no_autocast([](auto inner, auto w) {
      const auto wide = ebb::cast<float>(inner);
      return std::tuple(wide, ebb::linear(wide, w));
    })(y, w2);
    return std::tuple(y, f, z, ebb::sum(z * z));
  }
};
struct chain_c {
  constexpr auto operator()(auto x, auto w1) const {
    const auto h = ebb::linear(x, w1);
    const auto s = ebb::sin(h);
    return std::tuple(h, s, ebb::sum(s));
  }
};
struct chain_d {
  constexpr auto operator()(auto a) const {
    const auto b = ebb::inverse(a);
    return std::tuple(b, ebb::sum(b * b));
  }
};
template <class Inner>
struct nested {
  constexpr auto operator()(auto x, auto w1, auto w2) const {
    const auto y = ebb::matmul(x, w1);
    const auto [z, u] = ebb::no_autocast([](auto inner, auto a, auto b) {
      const auto product = ebb::matmul(ebb::cast<float>(inner), b);
      return std::tuple(product, ebb::under<autocast<Inner>>([](auto p, auto q) { return ebb::matmul(p, q); })(product, a));
    })(y, w1, w2);
    return std::tuple(y, z, u, ebb::sum(u * u));
  }
};
struct shared_weight {
  constexpr auto operator()(auto x, auto w1) const {
    const auto y = ebb::matmul(x, w1);
    const auto z = ebb::matmul(ebb::relu(y), w1);
    return std::tuple(y, z, ebb::sum(z * x));
  }
};
struct bias_broadcast {
  constexpr auto operator()(auto x, auto w1, auto b1) const {
    const auto y = ebb::matmul(x, w1);
    const auto z = y + b1;
    return std::tuple(y, z, ebb::mse(z, x));
  }
};
template <bool Half>
struct issue_153044 {
  constexpr auto operator()(auto x, auto e, auto w1) const {
    const auto y = ebb::matmul(x, e);
    const auto z = ebb::no_autocast([](auto inner, auto w) { return ebb::linear(ebb::cast<float>(inner), w); })(y, w1);
    return std::tuple(y, z, ebb::sum((Half ? 16384.0 : 16384.3) * z));
  }
};
struct disabled_block {
  constexpr auto operator()(auto x, auto w1) const {
    const auto z = ebb::no_autocast([](auto p, auto q) { return ebb::matmul(p, ebb::transpose(q)); })(x, w1);
    return std::tuple(z, ebb::sum(z * z));
  }
};
struct many_uses {
  constexpr auto operator()(auto w, auto first, auto... x) const {
    auto total = ebb::sum(ebb::matmul(first, w));
    ((total += ebb::sum(ebb::matmul(x, w))), ...);
    return std::tuple(total);
  }
};

/// The context in which pulls run, for a chain that is entered in Entry.
template <class Entry>
const ebb::cast_context& pulls_in(const std::string& policy) {
  const auto context = []<class Policy>(std::type_identity<Policy>) {
    return &ebb::detail::context_of_pulls<ebb::detail::resolved_policy<Policy, Entry>>;
  };
  const auto list = [&]<class... C>(std::type_identity<C>...) { return context(std::type_identity<backward_pass_autocast<C...>>{}); };
  const std::type_identity<autocast<bf16>> in_bf16;
  const std::type_identity<autocast<f16>> in_f16;
  const std::type_identity<off> disabled;
  const std::map<std::string, const ebb::cast_context*> all = {
      {"same_as_forward", context(std::type_identity<same_as_forward>{})}, {"off", context(disabled)},
      {"as_recorded", context(std::type_identity<as_recorded>{})}, {"list", list()},
      {"list bfloat16", list(in_bf16)}, {"list float16", list(in_f16)},
      {"list bfloat16 off", list(in_bf16, disabled)}, {"list float16 off", list(in_f16, disabled)},
  };
  INFO(policy);
  REQUIRE(all.count(policy) == 1);
  return *all.at(policy);
}

/// Allowed errors, in units of an array's largest number: units of the low precision if all numbers of the array fit it (they were rounded
/// to it on the way), else of float.
struct bounds {
  double low = 1, full = 8;
};
inline constexpr bounds exact{0, 0};

/// The digits that all numbers of an array fit in: 8 of bfloat16, 11 of float16, or 24.
int digits_of(const std::vector<long double>& values) {
  for (const int digits : {8, 11}) {
    bool fit = true;
    for (const long double x : values) {
      int exponent = 0;
      const long double scaled = std::isfinite(x) ? std::ldexp(std::frexp(x, &exponent), digits) : 0;
      fit = fit && scaled == std::floor(scaled);
    }
    if (fit) return digits;
  }
  return 24;
}

/// Compares got with one line: the dtype exactly, the numbers within bounds.
void compare(const golden::line& want, const ebb::graph& g, int k, const ebb::cell_array& got, bounds allowed) {
  const dtype type = g.op(k).result;
  INFO(want.kind << " of " << want.name);
  CHECK(ebb::name_of(type) == ebb::name_of(want.type));
  REQUIRE(static_cast<std::size_t>(got.size()) == want.values.size());
  long double largest = 0;
  std::vector<long double> values;
  for (int i = 0; i < got.size(); ++i) {
    const long double theirs = want.values[static_cast<std::size_t>(i)];
    values.push_back(golden::from_cell(type, got[i]));
    if (std::isfinite(theirs)) largest = std::max(largest, std::fabs(theirs));
  }
  const int digits = digits_of(want.values);
  CHECK(digits_of(values) <= digits);
  const long double unit = largest > 0 ? std::ldexp(1.0L, std::ilogb(largest) - digits + 1) : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double x = values[i], theirs = want.values[i];
    if (golden::same(x, theirs) || (x == 0 && theirs == 0)) continue;
    CAPTURE(i, static_cast<double>(x), static_cast<double>(theirs));
    CHECK(std::fabs(x - theirs) <= (digits < 24 ? allowed.low : allowed.full) * unit);
  }
}

template <class Entry, class F, class... A>
void check_block(const golden::block& b, const std::string& policy, bounds allowed) {
  using golden::cells;
  ebb::graph g = ebb::trace_of<ebb::detail::entered<Entry, F>, A...>::make();
  const auto inputs = b.all("input"), named = b.all("value");
  REQUIRE(static_cast<int>(inputs.size()) == g.inputs);
  REQUIRE(static_cast<int>(named.size()) == g.out.size());
  ebb::vec<ebb::cell_array> arguments;
  ebb::vec<ebb::extent_list> extents;
  ebb::vec<int> at = g.out;
  std::vector<std::string> names;
  for (const auto* value : named) names.push_back(value->name);
  for (int i = 0; i < g.inputs; ++i) {
    const golden::line& in = *inputs[static_cast<std::size_t>(i)];
    arguments.push(cells(in, in.type));
    extents.push(in.extents);
    if (!ebb::is_real(in.type)) continue;
    at.push(g.input(i));
    names.push_back(in.name);
  }
  const int values = g.out.size(), loss = g.out[values - 1];
  const ebb::vec<int> nodes = at;
  const ebb::vec<int> gradients =
      ebb::pull_back(g, nodes, {loss}, {g.op(loss).kit->literal(g, g.eq[loss].shape, 1)}, pulls_in<Entry>(policy));
  for (int i = 0; i < nodes.size(); ++i) g.out.push(ebb::or_zeros(g, gradients[i], nodes[i]));
  const auto all = ebb::evaluate(g, arguments, ebb::symbol_values(g, extents));
  for (int i = 0; i < values; ++i) compare(*named[static_cast<std::size_t>(i)], g, g.out[i], all[i], allowed);
  for (int i = 0; i < nodes.size(); ++i)
    if (const auto* want = b.find("grad", names[static_cast<std::size_t>(i)]))
      compare(*want, g, g.out[values + i], all[values + i], allowed);
}

/// Runs the chain under all recorded policies; as_recorded gives the backward outside of all contexts.
template <class Entry, class F, class... A>
int check(const std::string& chain, bounds allowed = {}) {
  int blocks = 0;
  for (const auto& [name, b] : golden::family("autocast")) {
    if (name.rfind(chain, 0) != 0 || (name.size() > chain.size() && name[chain.size()] != '/')) continue;
    INFO(name);
    const std::string& policy = b.set.at("policy");
    check_block<Entry, F, A...>(b, policy, allowed);
    if (policy == "off") check_block<Entry, F, A...>(b, "as_recorded", allowed);
    ++blocks;
  }
  return blocks;
}

template <std::size_t... E>
using array = term<float, E...>;

}  // namespace

TEST_CASE("AMP-4: chain A, for which the policy does not matter, has the gradients of each policy") {
  using t = term<std::int64_t, 3>;
  // PyTorch rounds a linear layer with a bias once. Ours is a product and a sum, each rounded, as they would be outside of linear.
  constexpr bounds fused{1, 0x1p13};
  CHECK(check<autocast<bf16>, chain_a, array<3, 4>, array<4, 4>, array<4>, array<2, 4>, t>("A/bfloat16", fused) == 6);
  CHECK(check<autocast<f16>, chain_a, array<3, 4>, array<4, 4>, array<4>, array<2, 4>, t>("A/float16", fused) == 6);
}

TEST_CASE("AMP-5: chain B, a block without autocast inside one with it, has the gradients of each policy") {
  CHECK(check<autocast<bf16>, chain_b, array<3, 4>, array<4, 4>, array<2, 4>>("B/bfloat16") == 6);
  CHECK(check<autocast<f16>, chain_b, array<3, 4>, array<4, 4>, array<2, 4>>("B/float16") == 6);
  CHECK(check<autocast<bf16>, chain_b, array<3, 4>, array<4, 4>, array<2, 4>>("B_exact/bfloat16", exact) == 3);
  CHECK(check<autocast<f16>, chain_b, array<3, 4>, array<4, 4>, array<2, 4>>("B_exact/float16", exact) == 3);
}

TEST_CASE("AMP-6: chain C, called in no context, has the gradients of a list of contexts") {
  CHECK(check<off, chain_c, array<3, 4>, array<2, 4>>("C/none") == 7);
  CHECK(check<autocast<bf16>, chain_c, array<3, 4>, array<2, 4>>("C/bfloat16") == 3);
  CHECK(check<autocast<f16>, chain_c, array<3, 4>, array<2, 4>>("C/float16") == 3);
}

TEST_CASE("AMP-7: chain D, an op in float whose derivative multiplies, has the gradients of each policy") {
  CHECK(check<autocast<bf16>, chain_d, array<4, 4>>("D/bfloat16") == 3);
  CHECK(check<autocast<f16>, chain_d, array<4, 4>>("D/float16") == 3);
}

TEST_CASE("contexts nest: bfloat16, none and float16, in both orders") {
  CHECK(check<autocast<bf16>, nested<f16>, array<3, 4>, array<4, 4>, array<4, 4>>("nested/bfloat16") == 3);
  CHECK(check<autocast<f16>, nested<bf16>, array<3, 4>, array<4, 4>, array<4, 4>>("nested/float16") == 3);
}

TEST_CASE("a weight used twice, a broadcast bias and a block without autocast have the recorded gradients") {
  CHECK(check<autocast<bf16>, shared_weight, array<3, 4>, array<4, 4>>("shared_weight/bfloat16") == 3);
  CHECK(check<autocast<f16>, shared_weight, array<3, 4>, array<4, 4>>("shared_weight/float16") == 3);
  CHECK(check<autocast<bf16>, bias_broadcast, array<3, 4>, array<4, 4>, array<4>>("bias_broadcast/bfloat16") == 3);
  CHECK(check<autocast<f16>, bias_broadcast, array<3, 4>, array<4, 4>, array<4>>("bias_broadcast/float16") == 3);
  CHECK(check<autocast<bf16>, disabled_block, array<4, 8>, array<8, 8>>("disabled_block/bfloat16") == 2);
  CHECK(check<autocast<f16>, disabled_block, array<4, 8>, array<8, 8>>("disabled_block/float16") == 2);
}

TEST_CASE("SW-3: the scaled loss after a block without autocast is infinite under the wrong policy, and 65536 as recorded") {
  CHECK(check<autocast<bf16>, issue_153044<false>, array<1, 4>, array<4, 4>, array<4, 4>>("issue_153044/bfloat16", exact) == 2);
  CHECK(check<autocast<f16>, issue_153044<true>, array<1, 4>, array<4, 4>, array<4, 4>>("issue_153044/float16", exact) == 2);
}

TEST_CASE("AMP-12: gradients of a weight used eight times are summed in float; with shared_casts in low precision") {
  using x = array<2, 4>;
  CHECK(check<autocast<bf16>, many_uses, array<4, 4>, x, x, x, x, x, x, x, x>("cast_cache_off/bfloat16") == 1);
  CHECK(check<autocast<f16>, many_uses, array<4, 4>, x, x, x, x, x, x, x, x>("cast_cache_off/float16") == 1);
  CHECK(check<autocast<bf16, ebb::shared_casts>, many_uses, array<4, 4>, x, x, x, x, x, x, x, x>("cast_cache_on/bfloat16") == 1);
  CHECK(check<autocast<f16, ebb::shared_casts>, many_uses, array<4, 4>, x, x, x, x, x, x, x, x>("cast_cache_on/float16") == 1);
}
