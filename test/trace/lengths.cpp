// test/trace/lengths.cpp — std::vector of arrays and structs: one program for each declared length, compared with std::array.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <array>
#include <vector>

namespace {

using std::get;
using vector = ebb::tensor<double, 3>;

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<double, 3, 3>;
  using list = Array<double, 3>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (list, b));
};

const vector x{0.5, -1, 0.25};
const std::array<layer<ebb::tensor>, 3> layers{layer<ebb::tensor>{{{0.5, -1, 0.25}, {1, 0, -0.5}, {0.125, 2, 1}}, {0.1, 0.2, -0.3}},
                                               layer<ebb::tensor>{{{1, 0.5, -0.25}, {0, 1, 0.5}, {-1, 0.75, 0.5}}, {-0.2, 0, 0.4}},
                                               layer<ebb::tensor>{{{0, 1, 0.5}, {0.25, -1, 1}, {1, 0.5, 0.25}}, {0.3, -0.1, 0}}};
std::vector<layer<ebb::tensor>> first(std::size_t n) { return {layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(n)}; }
template <std::size_t N>
std::array<layer<ebb::tensor>, N> fixed() {
  std::array<layer<ebb::tensor>, N> r;
  for (std::size_t i = 0; i < N; ++i) r[i] = layers[i];
  return r;
}

constexpr auto model = [](const auto& of, auto at) {
  for (const auto& l : of) at = ebb::tanh(ebb::matmul(l.w, at) + l.b);
  return at;
};
constexpr auto loss = [](auto of, auto at) { return ebb::sum(ebb::square(model(of, at))); };

void same(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(ebb::all_equal(a[i].w, b[i].w));
    CHECK(ebb::all_equal(a[i].b, b[i].b));
  }
}

}  // namespace

TEST_CASE("a call runs the program of its length") {
  const auto check = [](const auto& array) {
    const std::vector<layer<ebb::tensor>> v = first(array.size());
    const std::tuple<double, std::vector<layer<ebb::tensor>>> both = ebb::value_and_grad(loss)(ebb::lengths<1, 2, 3>(v), x);
    const auto& [value, d] = both;
    const auto [wanted, slope] = ebb::value_and_grad(loss)(array, x);
    CHECK(value == wanted);
    same(d, slope);
    double at = 0;
    std::vector<layer<ebb::tensor>> to(array.size());
    ebb::value_and_grad(loss)(ebb::into(at, ebb::lengths<1, 2, 3>(to)), ebb::lengths<1, 2, 3>(v), x);
    CHECK(at == wanted);
    same(to, slope);
    CHECK(ebb::all_equal(ebb::compile(model)(ebb::lengths<1, 2, 3>(v), x), ebb::compile(model)(array, x)));
  };
  check(fixed<1>());
  check(fixed<2>());
  check(fixed<3>());
  const std::vector<layer<ebb::tensor>> none;
  CHECK(ebb::all_equal(ebb::compile(model)(ebb::lengths<0, 2>(none), x), x));
}

TEST_CASE("a length that is not declared throws before anything changes") {
  const auto v = first(3);
  CHECK(test::raised([&] { ebb::value_and_grad(loss)(ebb::lengths<1, 2>(v), x); }) ==
        "ebb::value_and_grad: a vector of 3, but it is compiled for vectors of 1, 2");
  CHECK(test::raised([&] { ebb::vjp(loss)(ebb::lengths<4>(v), x); }) == "ebb::vjp: a vector of 3, but it is compiled for vectors of 4");
  std::vector<layer<ebb::tensor>> to(2);
  CHECK(test::raised([&] { ebb::grad(loss)(ebb::into(ebb::lengths<2, 3>(to)), ebb::lengths<2, 3>(v), x); }) ==
        "ebb::grad: vectors with the same list of lengths have one length in a call, but there is one of 2 and one of 3");
}

TEST_CASE("elements may be arrays of any library, and two lists of lengths are independent") {
  const std::vector<std::vector<float>> lists{{1, 2}, {3, 4}, {5, 6}}, scales{{2, 2}, {3, 3}};
  constexpr auto f = [](auto l, auto s) {
    auto r = l[0] * s[0];
    for (std::size_t i = 1; i < l.size(); ++i) r = r + l[i] * s[i % s.size()];
    return ebb::sum(r);
  };
  const auto [dl, ds] = ebb::grad<0, 1>(f)(ebb::lengths<1, 3>(lists), ebb::lengths<2>(scales));
  static_assert(std::is_same_v<decltype(dl), const std::vector<ebb::tensor<float, ebb::dyn>>>);
  CHECK(ebb::all_equal(dl[1], ebb::tensor<float, 2>{3, 3}));
  CHECK(ebb::all_equal(ds[0], ebb::tensor<float, 2>{6, 8}));
  CHECK(ebb::all_equal(ds[1], ebb::tensor<float, 2>{3, 4}));
  const std::vector<ebb::tensor<double>> numbers{ebb::tensor<double>(2), ebb::tensor<double>(3)};
  const auto d = ebb::grad([](auto n) { return n[0] * n[1]; })(ebb::lengths<2>(numbers));
  CHECK(d[0] == 3);
}

TEST_CASE("jvp, vjp, jacobian, contexts and variables take lengths") {
  const auto v = first(2);
  const auto two = fixed<2>();
  CHECK(get<1>(ebb::jvp<0>(loss)(ebb::lengths<1, 2>(v), x, ebb::lengths<1, 2>(v))) == get<1>(ebb::jvp<0>(loss)(two, x, two)));
  same(ebb::hvp<0>(loss)(ebb::lengths<1, 2>(v), x, ebb::lengths<1, 2>(v)), ebb::hvp<0>(loss)(two, x, two));
  const auto [y, pull] = ebb::vjp(model)(ebb::lengths<2>(v), x);
  same(pull(x), ebb::vjp(model)(two, x).second(x));
  CHECK(ebb::all_equal(ebb::jacobian<1>(model)(ebb::lengths<1, 2>(v), x), ebb::jacobian<1>(model)(two, x)));
  same(ebb::jacobian(model)(ebb::lengths<2>(v), x), ebb::jacobian(model)(two, x));

  using low = ebb::autocast<ebb::bf16>;
  const std::vector<ebb::tensor<float, 2, 2>> ms{{{1.01f, 2}, {3, 0.99f}}, {{1, 0.123f}, {0.5f, 1}}};
  constexpr auto product = [](auto m) { return ebb::matmul(m[0], m[m.size() - 1]); };
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(product);
  const auto outside = region(ebb::lengths<1, 2>(ms));
  CHECK(ebb::all_equal(outside, ebb::matmul(ms[0], ms[1])));
  {
    const ebb::autocast_scope<ebb::bf16> scope;
    const auto inside = region(ebb::lengths<1, 2>(ms));
    CHECK(ebb::all_equal(inside, region(std::array{ms[0], ms[1]})));
    CHECK_FALSE(ebb::all_equal(inside, outside));
    ebb::tensor<float, 2, 2> to;
    region(ebb::into(to), ebb::lengths<1, 2>(ms));
    CHECK(ebb::all_equal(to, inside));
    CHECK(ebb::all_equal(ebb::vjp(region)(ebb::lengths<2>(ms)).first, inside));
  }
  std::vector<layer<ebb::variable>> tracked;
  for (const auto& l : v) tracked.push_back({ebb::variable(l.w), ebb::variable(l.b)});
  ebb::compile(loss)(ebb::lengths<1, 2>(tracked), x).backward();
  const auto d = ebb::grad(loss)(two, x);
  for (std::size_t i = 0; i < 2; ++i) CHECK(ebb::all_equal(tracked[i].w.grad().value(), d[i].w));
}
