// test/exec/map_batches.cpp — map on some rows at a time: the bits of map, its derivatives, and memory for one batch in the backward.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <tuple>

namespace {

using ebb::batch_size, ebb::dyn, ebb::tensor;
using rows = tensor<double, dyn, 3>;

template <class A>
A filled_with(A x, std::uint64_t seed) {
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<typename A::value_type>(r.between(-1, 1));
  return x;
}

constexpr auto f = [](auto x, auto y, auto w) { return std::tuple(ebb::tanh(ebb::matmul(w, x)) * y, ebb::sum(x) * y); };
constexpr auto by_four = [](auto x, auto y, auto w) { return ebb::map<batch_size<4>>(f, x, y, ebb::whole(w)); };
constexpr auto at_once = [](auto x, auto y, auto w) { return ebb::map(f, x, y, ebb::whole(w)); };
template <auto Map>
constexpr auto loss = [](auto x, auto y, auto w) {
  const auto [a, b] = Map(x, y, w);
  return ebb::sum(ebb::sin(a)) + ebb::sum(b * b * b);
};

/// The bytes of what the forward half saves beside its arguments, where dyn extents are n.
template <class F>
std::size_t saved_bytes(F, std::size_t n) {
  const ebb::graph g = ebb::trace_of<F, ebb::term<double, dyn, 3>, ebb::term<double, dyn>, ebb::term<double, 2, 3>>::make();
  const ebb::halves h = ebb::split(ebb::joint(g, {0, 1, 2}), g.inputs, g.out.size());
  const test::call c = test::random_call(h.forward, 1, n, false);
  std::size_t bytes = 0;
  for (int o = g.out.size(); o < h.forward.out.size(); ++o)
    bytes += ebb::volume(h.forward.shape_of(h.forward.out[o]), c.symbols.data()) * ebb::size_of(h.forward.op(h.forward.out[o]).result);
  return bytes;
}
void check_near(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(1e-13).margin(1e-13));
}

}  // namespace

TEST_CASE("map in batches has the bits of map, for every number of rows") {
  const auto w = filled_with(tensor<double, 2, 3>(), 1);
  const auto batches = ebb::compile(by_four);
  const auto whole = ebb::compile(at_once);
  for (std::size_t n = 0; n < 12; ++n) {
    const rows x = filled_with(rows(n), 2);
    const tensor<double, dyn> y = filled_with(tensor<double, dyn>(n), 3);
    const auto [a, b] = batches(x, y, w);
    const auto [c, d] = whole(x, y, w);
    CHECK(ebb::all_equal(a, c));
    CHECK(ebb::all_equal(b, d));
  }
  const auto x = filled_with(tensor<double, 10, 3>(), 4);
  const auto y = filled_with(tensor<double, 10>(), 5);
  const auto [a, b] = ebb::map<batch_size<4>>(f, x, y, ebb::whole(w));
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(a)>, tensor<double, 10, 2>>);
  CHECK(ebb::all_equal(a, std::get<0>(at_once(x, y, w))));
  CHECK(ebb::all_equal(b, std::get<1>(at_once(x, y, w))));
  constexpr auto doubled = [](auto v, auto k) { return v * k; };
  const auto scaled = ebb::map<batch_size<5>>(doubled, x, ebb::whole(2.0));
  CHECK(scaled(9, 2) == 2 * x(9, 2));
  const auto all = ebb::map<batch_size<64>>(doubled, x, ebb::whole(2.0));
  CHECK(ebb::all_equal(all, scaled));
  static_assert(ebb::map<batch_size<2>>([](auto v) { return v + v; }, tensor<double, 3>{1, 2, 3})(2) == 6);
}

TEST_CASE("map in batches has the derivatives of map, of both orders") {
  const auto w = filled_with(tensor<double, 2, 3>(), 1);
  for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{9}}) {
    const rows x = filled_with(rows(n), 2);
    const tensor<double, dyn> y = filled_with(tensor<double, dyn>(n), 3);
    const auto [value, dx, dy, dw] = ebb::value_and_grad<0, 1, 2>(loss<by_four>)(x, y, w);
    const auto [same, ex, ey, ew] = ebb::value_and_grad<0, 1, 2>(loss<at_once>)(x, y, w);
    CHECK(value == same);
    CHECK(ebb::all_equal(dx, ex));
    CHECK(ebb::all_equal(dy, ey));
    check_near(dw, ew);
    constexpr auto cubes = [](auto a, auto b) {
      return ebb::sum(ebb::map<batch_size<4>>([](auto r, auto u) { return r * u * u * u; }, a, ebb::whole(b)));
    };
    const tensor<double> u(0.5), v(2);
    CHECK(ebb::hvp<1>(cubes)(y, u, v)() == Approx(6 * 0.5 * 2 * ebb::sum(y)).margin(1e-14));
  }
}

TEST_CASE("map in batches saves nothing beside its arguments, and takes structs, variables and contexts") {
  CHECK(saved_bytes(by_four, 40) == 0);
  CHECK(saved_bytes(at_once, 40) > 0);

  const auto w = filled_with(tensor<double, 2, 3>(), 1);
  const rows x = filled_with(rows(7), 2);
  const tensor<double, dyn> y = filled_with(tensor<double, dyn>(7), 3);
  const ebb::variable<double, 2, 3> v(w);
  const auto l = ebb::compile(loss<by_four>)(x, y, v);
  l.backward();
  CHECK(ebb::all_equal(v.grad().value(), std::get<3>(ebb::value_and_grad<0, 1, 2>(loss<by_four>)(x, y, w))));

  constexpr auto low = [](auto a, auto b) {
    return ebb::map<batch_size<2>>([](auto r, auto u) { return ebb::matmul(u, r); }, a, ebb::whole(b));
  };
  constexpr auto plain = [](auto a, auto b) { return ebb::map([](auto r, auto u) { return ebb::matmul(u, r); }, a, ebb::whole(b)); };
  const auto a = filled_with(tensor<float, 5, 3>(), 4);
  const auto b = filled_with(tensor<float, 2, 3>(), 5);
  const auto narrow = ebb::under<ebb::autocast<ebb::bf16>>(low)(a, b);
  const auto same = ebb::under<ebb::autocast<ebb::bf16>>(plain)(a, b);
  STATIC_REQUIRE(std::is_same_v<decltype(narrow), decltype(same)>);
  CHECK(ebb::all_equal(narrow, same));
}
