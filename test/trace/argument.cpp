// test/trace/argument.cpp — std::array of arrays, tuples and structs as arguments, members, results and destinations.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace {

using std::get;
using vector = ebb::tensor<double, 3>;
using square = ebb::tensor<double, 3, 3>;
using low = ebb::autocast<ebb::bf16>;

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<double, 3, 3>;
  using list = Array<double, 3>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (list, b));
};
template <template <class, std::size_t...> class Array>
struct net {
  using layers = std::array<layer<Array>, 2>;
  using scales = std::array<Array<double>, 2>;
  using counts = std::array<Array<int>, 1>;
  BOOST_HANA_DEFINE_STRUCT(net, (layers, hidden), (scales, scale), (counts, seen));
};

template <template <class, std::size_t...> class Array, std::size_t In, std::size_t Out>
struct dense {
  using matrix = Array<double, Out, In>;
  using list = Array<double, Out>;
  BOOST_HANA_DEFINE_STRUCT(dense, (matrix, w), (list, b));
};
template <template <class, std::size_t...> class Array, std::size_t Wide>
struct two_dense {
  using first = dense<Array, 3, Wide>;
  using second = dense<Array, Wide, 3>;
  BOOST_HANA_DEFINE_STRUCT(two_dense, (first, one), (second, two));
};

const vector x{0.5, -1, 0.25};
const std::array<layer<ebb::tensor>, 2> layers{layer<ebb::tensor>{{{0.5, -1, 0.25}, {1, 0, -0.5}, {0.125, 2, 1}}, {0.1, 0.2, -0.3}},
                                               layer<ebb::tensor>{{{1, 0.5, -0.25}, {0, 1, 0.5}, {-1, 0.75, 0.5}}, {-0.2, 0, 0.4}}};
const net<ebb::tensor> whole{layers, {ebb::tensor<double>(1.5), ebb::tensor<double>(-0.5)}, {ebb::tensor<int>(3)}};

/// The loop is unrolled during tracing.
constexpr auto model = [](const auto& of, auto at) {
  for (const auto& l : of) at = ebb::tanh(ebb::matmul(l.w, at) + l.b);
  return at;
};
constexpr auto loss = [](auto of, auto at) { return ebb::sum(ebb::square(model(of, at))); };
/// The same function with one argument for each layer.
constexpr auto apart = [](auto one, auto two, auto at) { return loss(std::array{one, two}, at); };
constexpr auto net_loss = [](auto n, auto at) { return loss(n.hidden, at) * get<0>(n.scale) + get<1>(n.scale) * get<1>(n.scale); };

constexpr auto sum_of = [](auto list) {
  auto s = list[0];
  for (std::size_t i = 1; i < list.size(); ++i) s = s + list[i];
  return s;
};

constexpr auto product = [](auto l) { return l[0] * l[1] * l[1]; };

void same_layer(const auto& a, const auto& b) {
  CHECK(ebb::all_equal(a.w, b.w));
  CHECK(ebb::all_equal(a.b, b.b));
}

}  // namespace

TEST_CASE("a std::array of structs gives the results of separate structs") {
  const auto [value, d] = ebb::value_and_grad(loss)(layers, x);
  static_assert(std::is_same_v<decltype(d), const std::array<layer<ebb::tensor>, 2>>);
  const auto [wanted, first, second] = ebb::value_and_grad<0, 1>(apart)(layers[0], layers[1], x);
  CHECK(value == wanted);
  same_layer(d[0], first);
  same_layer(d[1], second);

  // The last bias is also compared with a sum computed by hand: 2 y (1 - y^2).
  const auto y = ebb::compile(model)(layers, x);
  for (std::size_t i = 0; i < 3; ++i) CHECK(d[1].b(i) == Approx(2 * y(i) * (1 - y(i) * y(i))).epsilon(1e-14));

  double at = 0;
  std::array<layer<ebb::tensor>, 2> to;
  ebb::value_and_grad(loss)(ebb::into(at, to), layers, x);
  CHECK(at == value);
  same_layer(to[0], first);
  same_layer(to[1], second);
  auto moved = layers;  // arguments are destinations
  ebb::grad(loss)(ebb::into(moved), moved, x);
  same_layer(moved[0], first);
  same_layer(moved[1], second);
}

TEST_CASE("a std::array may hold arrays of any library, and tuples") {
  const std::array<std::vector<float>, 3> lists{std::vector<float>{1, 2}, {3, 4}, {5, 6}};
  const auto d = ebb::grad([](auto l) { return ebb::sum(sum_of(l) * l[2]); })(lists);
  static_assert(std::is_same_v<decltype(d), const std::array<ebb::tensor<float, ebb::dyn>, 3>>);
  CHECK(ebb::all_equal(d[0], ebb::tensor<float, 2>{5, 6}));
  CHECK(ebb::all_equal(d[2], ebb::tensor<float, 2>{14, 18}));
  const std::array<std::span<const float>, 3> spans{lists[0], lists[1], lists[2]};
  CHECK(ebb::all_equal(ebb::compile(sum_of)(spans), ebb::tensor<float, 2>{9, 12}));
  const auto text = test::raised([&] { ebb::compile(sum_of)(std::array{lists[0], lists[1], std::vector<float>{1}}); });
  CHECK(text == "ebb::compile: add: the extents of the arguments do not fit: argument 0 is [2], argument 1 is [2], argument 2 is [1]");

  const std::array<std::tuple<vector, double>, 2> pairs{std::tuple{x, 2.0}, std::tuple{x, 3.0}};
  const auto both = ebb::grad([](auto p) { return ebb::sum(get<0>(p[0]) * get<1>(p[1])) + get<1>(p[0]); })(pairs);
  CHECK(ebb::all_equal(get<0>(both[0]), vector{3, 3, 3}));
  CHECK(get<1>(both[0]) == 1);
  CHECK(get<1>(both[1]) == -0.25);
  // A std::array of numbers is one array, as before; a std::array of those is an array of arrays.
  CHECK(ebb::all_equal(ebb::grad([](auto l) { return ebb::sum(l * l); })(std::array{1.0, 2.0}), ebb::tensor<double, 2>{2, 4}));
  const std::array<std::array<double, 2>, 2> rows{std::array{1.0, 2.0}, {3.0, 4.0}};
  CHECK(ebb::all_equal(ebb::grad([](auto r) { return ebb::sum(r[0] * r[1]); })(rows)[0], ebb::tensor<double, 2>{3, 4}));
}

TEST_CASE("a std::array may be a member and a result") {
  const auto [value, d] = ebb::value_and_grad(net_loss)(whole, x);
  static_assert(std::is_same_v<decltype(d), const net<ebb::tensor>>);
  const auto inner = ebb::value_and_grad(loss)(layers, x);
  CHECK(value == Approx(1.5 * get<0>(inner) + 0.25).epsilon(1e-14));
  CHECK(d.scale[0] == get<0>(inner));
  CHECK(d.scale[1] == -1);
  CHECK(d.seen[0] == 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(d.hidden[1].b(i) == Approx(1.5 * get<1>(inner)[1].b(i)).epsilon(1e-14));

  auto p = whole;
  ebb::each_leaf([](auto& a, const auto& g) {
    if constexpr (ebb::real_element<typename std::remove_cvref_t<decltype(a)>::value_type>) a -= 0.5 * g;
  }, p, d);
  CHECK(ebb::all_equal(p.hidden[0].w, layers[0].w - 0.5 * d.hidden[0].w));

  const auto parts = ebb::compile([](auto a) { return std::array{ebb::sum(a), ebb::sum(a * a)}; })(x);
  static_assert(std::is_same_v<decltype(parts), const std::array<ebb::tensor<double>, 2>>);
  CHECK(parts[1] == 1.3125);
  const auto none = ebb::compile([](auto, auto a) { return a; })(std::array<vector, 0>{}, x);
  CHECK(ebb::all_equal(none, x));
  constexpr auto doubled = [](auto l) {
    for (auto& one : l) one = one * 2;
    return l;
  };
  CHECK(ebb::all_equal(ebb::compile(doubled)(std::array{x, 2. * x})[1], 4. * x));
  static_assert(ebb::grad([](auto l) { return get<0>(l[0]) * get<0>(l[1]); })(std::array{std::tuple(2.0), std::tuple(5.0)})[0] ==
                std::tuple(5.0));
}

TEST_CASE("jvp, vjp, jacobian and hessian take a std::array") {
  const std::array<vector, 2> p{x, vector{2, 3, 4}}, v{vector{1, 0, 2}, vector{0.5, 1, -1}};
  const vector wanted = v[0] * p[1] * p[1] + 2. * p[0] * p[1] * v[1];
  CHECK(ebb::all_equal(get<1>(ebb::jvp(product)(p, v)), wanted));
  const auto [y, pull] = ebb::vjp(product)(p);
  CHECK(ebb::all_equal(pull(x)[0], x * p[1] * p[1]));
  using borrowed_vector = std::span<const double, 3>;
  const std::array<borrowed_vector, 2> borrowed{borrowed_vector(p[0].span()), borrowed_vector(p[1].span())};
  CHECK(ebb::all_equal(ebb::vjp(product)(borrowed).second(x)[0], x * p[1] * p[1]));
  for (const auto& j : {ebb::jacrev(product)(p), ebb::jacfwd(product)(p)}) {
    static_assert(std::is_same_v<decltype(j), const std::array<square, 2>&>);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(j[0](i, k) == (i == k ? p[1](i) * p[1](i) : 0));
        CHECK(j[1](i, k) == (i == k ? 2 * p[0](i) * p[1](i) : 0));
      }
  }
  const auto h = ebb::hessian([](auto l) { return ebb::sum(product(l)); })(p);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(h[0][1](i, i) == 2 * p[1](i));
    CHECK(h[1][1](i, i) == 2 * p[0](i));
  }
  CHECK(ebb::all_equal(ebb::hvp([](auto l) { return ebb::sum(product(l)); })(p, v)[0], 2. * p[1] * v[1]));
  // The jacobian by a struct with arrays in it.
  const auto by_net = ebb::jacobian(net_loss)(whole, x);
  same_layer(by_net.hidden[1], get<1>(ebb::value_and_grad(net_loss)(whole, x)).hidden[1]);
  const auto of_net = ebb::hessian(net_loss)(whole, x);
  CHECK(of_net.scale[1].scale[1] == 2);
  const auto of_layers = ebb::grad(loss)(layers, x);
  for (std::size_t i = 0; i < 3; ++i) CHECK(of_net.scale[0].hidden[1].b(i) == Approx(of_layers[1].b(i)).epsilon(1e-14));
}

TEST_CASE("map, regions and contexts take a std::array") {
  const ebb::tensor<double, 2, 3> rows{{0.5, -1, 0.25}, {1, 2, 3}};
  const auto each = ebb::map(ebb::grad(loss), ebb::whole(layers), rows);
  for (std::size_t r = 0; r < 2; ++r) {
    const auto d = ebb::grad(loss)(layers, vector{rows(r, 0), rows(r, 1), rows(r, 2)});
    for (std::size_t i = 0; i < 3; ++i) CHECK(each[1].b(r, i) == d[1].b(i));
  }
  const auto summed = ebb::map(sum_of, std::array{rows, rows + 1.});
  CHECK(ebb::all_equal(summed, 2. * rows + 1.));

  constexpr auto products = [](auto l) { return ebb::matmul(l[0], l[1]); };
  using m = ebb::tensor<float, 2, 2>;
  const std::array<m, 2> two{m{{1.01f, 2}, {3, 0.99f}}, m{{1, 0.123f}, {0.5f, 1}}};
  const auto inside = ebb::under<low>(products)(two);
  CHECK(ebb::all_equal(inside, ebb::matmul(ebb::cast<ebb::bf16>(two[0]), ebb::cast<ebb::bf16>(two[1]))));
  constexpr auto changed = [](auto l) { return std::array{ebb::matmul(l[0], l[1]), ebb::matmul(l[1], l[0])}; };
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(changed);
  CHECK(ebb::all_equal(region(two)[1], ebb::matmul(two[1], two[0])));
  const ebb::autocast_scope<ebb::bf16> scope;
  CHECK(ebb::all_equal(region(two)[0], ebb::cast<float>(inside)));
}

TEST_CASE("a std::array of variables is an argument and a result") {
  const auto track = [](const layer<ebb::tensor>& l) { return layer<ebb::variable>{ebb::variable(l.w), ebb::variable(l.b)}; };
  const std::array<layer<ebb::variable>, 2> v{track(layers[0]), track(layers[1])};
  const auto value = ebb::compile(loss)(v, x);
  value.backward();
  const auto d = ebb::grad(loss)(layers, x);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(ebb::all_equal(v[i].w.grad().value(), d[i].w));
    CHECK(ebb::all_equal(v[i].b.grad().value(), d[i].b));
  }
  // A result has one type for all elements: a variable even where no gradient flows.
  const ebb::variable s(x);
  const auto both = ebb::compile([](auto a, auto c) { return std::array{a * c, c * 2}; })(s, 2. * x);
  static_assert(std::is_same_v<decltype(both), const std::array<ebb::variable<double, 3>, 2>>);
  CHECK(both[0].requires_grad());
  CHECK_FALSE(both[1].requires_grad());
  ebb::backward(ebb::sum(both[0]));
  CHECK(ebb::all_equal(s.grad().value(), 2. * x));
}

TEST_CASE("a struct may have numbers besides the kind of its arrays") {
  using dense3 = dense<ebb::tensor, 3, 3>;
  constexpr auto one = [](auto l, auto at) { return ebb::sum(ebb::square(ebb::tanh(ebb::matmul(l.w, at) + l.b))); };
  const layer<ebb::tensor>& same = layers[0];
  const dense3 d{same.w, same.b};
  same_layer(ebb::grad(one)(d, x), ebb::grad(one)(same, x));
  const auto h = ebb::hessian(one)(d, x);
  const auto k = ebb::hessian(one)(same, x);
  same_layer(h.w, k.w);
  same_layer(h.b, k.b);

  const two_dense<ebb::tensor, 2> net2{{{{1, 2, 3}, {-1, 0.5, 0}}, {0.1, -0.2}}, {{{1, 0}, {0.5, -1}, {2, 0.25}}, {0, 0.1, 0.2}}};
  constexpr auto value = [](auto n, auto at) {
    const auto y = ebb::tanh(ebb::matmul(n.one.w, at) + n.one.b);
    return ebb::sum(ebb::square(ebb::matmul(n.two.w, y) + n.two.b));
  };
  constexpr auto parts = [](auto a, auto b, auto c, auto e, auto at) {
    return ebb::sum(ebb::square(ebb::matmul(c, ebb::tanh(ebb::matmul(a, at) + b)) + e));
  };
  const auto g = ebb::grad(value)(net2, x);
  const auto [ga, gb, gc, ge] = ebb::grad<0, 1, 2, 3>(parts)(net2.one.w, net2.one.b, net2.two.w, net2.two.b, x);
  CHECK(ebb::all_equal(g.one.w, ga));
  CHECK(ebb::all_equal(g.one.b, gb));
  CHECK(ebb::all_equal(g.two.w, gc));
  CHECK(ebb::all_equal(g.two.b, ge));

  // A region takes it and gives it back, as a part of a tuple too.
  const two_dense<ebb::variable, 2> v{{ebb::variable(net2.one.w), ebb::variable(net2.one.b)},
                                      {ebb::variable(net2.two.w), ebb::variable(net2.two.b)}};
  const auto [loss_of, doubled] = ebb::compile([](auto n, auto at) {
    ebb::each_leaf([](auto& leaf) { leaf = 2. * leaf; }, n);
    return std::tuple(ebb::sum(n.one.w) + ebb::sum(at), n);
  })(v, x);
  CHECK(ebb::all_equal(doubled.two.w.value(), 2. * net2.two.w));
  (loss_of + ebb::sum(doubled.two.b)).backward();
  CHECK(ebb::all_equal(v.one.w.grad().value(), ebb::tensor<double, 2, 3>::full(2)));
  CHECK(ebb::all_equal(v.two.b.grad().value(), vector::full(2)));

  // So does a function in an autocast context.
  constexpr auto in_low = ebb::under<low>([](auto l, auto at) {
    l.b = ebb::matmul(l.w, at);
    return l;
  });
  same_layer(in_low(d, x), in_low(same, x));
}
