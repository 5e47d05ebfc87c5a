// test/trace/once.cpp — once: the bits and the derivatives of the function itself, forms, one body for all calls.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "branches.hpp"

#include <tuple>

namespace {

using ebb::dyn;
using ebb::tensor;
using test::check_bits, test::check_values, test::given, test::grown;

using grown_once = decltype(ebb::once(grown{}));

/// Layers that share a matrix.
template <class Layer, int Layers>
struct stacked {
  constexpr auto operator()(auto x, auto w) const {
    if constexpr (Layers == 0) return ebb::sum(ebb::square(x));
    else return stacked<Layer, Layers - 1>{}(Layer{}(x, w), w);
  }
};
template <class Layer>
struct layer_of_rows {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::sum(ebb::map([](auto row, auto u) { return Layer{}(Layer{}(row, u), u); }, x, ebb::whole(w)));
  }
};
template <class Layer>
struct layer_of_steps {
  constexpr auto operator()(auto x, auto w) const {
    const auto h = ebb::fori(3, [](auto, auto carry, auto u) { return Layer{}(carry, u); }, x, ebb::whole(w));
    return ebb::sum(h * h);
  }
};
template <class Layer>
struct layer_in_bf16 {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::under<ebb::autocast<ebb::bf16>>([](auto v, auto u) { return ebb::sum(ebb::cast<float>(Layer{}(Layer{}(v, u), u))); })(x, w);
  }
};
template <template <class> class Loss>
void check_both(const auto& x, const auto& w, double sums = 0) {
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(Loss<grown_once>{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(Loss<grown>{})(x, w);
  CHECK(ebb::to_cell(value) == ebb::to_cell(plain));
  check_bits(dx, px);
  if (sums == 0) check_bits(dw, pw);
  else check_values(dw, pw, sums);
}
template <class Layer>
using two_layers = stacked<Layer, 2>;

template <template <class, std::size_t...> class Array>
struct layer_state {
  using vector = Array<double, dyn>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(layer_state, (vector, place), (count, steps));
};
constexpr auto powers = ebb::once([](auto s, auto n, auto factor) {
  auto next = s;
  next.place = ebb::fori(n, [](auto, auto p, auto f) { return p * f; }, s.place, ebb::whole(factor));
  next.steps = s.steps + n;
  return std::tuple(next, ebb::sum(s.place));
});

/// The numbers of sub-graphs of a trace, and of its value and gradient.
template <int Layers>
std::string bodies() {
  const ebb::graph g = ebb::trace_of<stacked<grown_once, Layers>, ebb::term<double, 3>, ebb::term<double, 3, 3>>::make();
  return std::to_string(g.subs.size()) + " " + std::to_string(ebb::lowered(ebb::exact(ebb::value_and_gradient(g, {1}))).subs.size());
}

}  // namespace

TEST_CASE("a function called once has its own bits and derivatives, in maps, loops and contexts") {
  const auto x = given<double, 3>(1);
  const auto w = given<double, 3, 3>(2);
  check_both<two_layers>(x, w);
  check_both<layer_of_rows>(given<double, 5, 3>(3), w, 1e-14);  // products of two layers are one sum there
  check_both<layer_of_steps>(x, w);
  check_both<layer_in_bf16>(given<float, 3>(1), given<float, 3, 3>(2));
  CHECK(std::get<1>(ebb::jvp<1>(two_layers<grown_once>{})(x, w, w)) == std::get<1>(ebb::jvp<1>(two_layers<grown>{})(x, w, w)));
}

TEST_CASE("equal calls have one body, and their pull-backs have one") {
  CHECK(bodies<2>() == "1 4");  // the first layer has no gradient of x: its halves are others
  CHECK(bodies<6>() == "1 4");
  constexpr auto twice = [](auto x, auto w) { return grown_once{}(x, w) - grown_once{}(x, w); };
  const ebb::graph g = ebb::trace_of<std::remove_const_t<decltype(twice)>, ebb::term<double, 3>, ebb::term<double, 3, 3>>::make();
  CHECK(ebb::to_string(g).find("loop") == ebb::to_string(g).rfind("loop"));  // the same call is computed once
}

TEST_CASE("once takes structs, tuples, numbers, extents of the call and a number of steps, in a constant expression too") {
  layer_state<tensor> s;
  s.place = tensor<double, dyn>{1, 2, 3};
  s.steps = tensor<int>(2);
  const auto run = ebb::compile([](auto state, auto n) {
    const auto [first, sum] = powers(state, n, 2.0);
    const auto [second, other] = powers(first, n, 3);
    return std::tuple(second, sum, other);
  });
  const auto [end, sum, other] = run(s, 2);
  CHECK(end.place(2) == 3 * 4 * 9);
  CHECK(end.steps() == 6);
  CHECK(sum == 6);
  CHECK(other == 24);
  s.place = tensor<double, dyn>(0);
  CHECK(std::get<2>(run(s, 2)) == 0);
  static constexpr auto square = ebb::once([](auto v) { return v * v; });
  static constexpr auto slope = ebb::grad([](auto v) { return ebb::sum(square(square(v))); });
  static_assert(slope(tensor<double, 2>{1, 2})(1) == 32);
  constexpr auto bend = ebb::grad([](auto v) { return ebb::sum(slope(v)); });
  CHECK(bend(tensor<double, 2>{1, 2})(1) == 48);
}

TEST_CASE("on arrays and variables it is the function itself; in a region it is one node with the rest") {
  const auto x = given<double, 3>(5);
  const auto w = given<double, 3, 3>(6);
  const tensor<double, 3> h = grown_once{}(x, w), plain = grown{}(x, w);
  check_bits(h, plain);
  ebb::variable<double, 3, 3> v(w);
  ebb::compile(two_layers<grown_once>{})(x, v).backward();
  check_bits(v.grad(), ebb::grad<1>(two_layers<grown_once>{})(x, w));
}
