// test/trace/sized.cpp — structs with std::vectors in them: as arguments, results and destinations of programs of known lengths.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <string>
#include <vector>

namespace sized_test {

using ebb::lengths;
using vector = ebb::tensor<double, 3>;

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<double, 3, 3>;
  using list = Array<double, 3>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (list, b));
};
/// Vectors before and after other members, of structs and of arrays.
template <template <class, std::size_t...> class Array>
struct network {
  using layers = std::vector<layer<Array>>;
  using list = Array<double, 3>;
  using lists = std::vector<Array<double, 3>>;
  BOOST_HANA_DEFINE_STRUCT(network, (layers, hidden), (list, scale), (lists, shifts));
};
template <template <class, std::size_t...> class Array>
struct pair {
  using inner = network<Array>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(pair, (inner, net), (number, weight));
};

const vector x{0.5, -1, 0.25};

network<ebb::tensor> make(std::size_t n) {
  network<ebb::tensor> m;
  double next = 0.125;
  const auto number = [&](auto...) { return next = next < 1 ? next + 0.3125 : next - 1.9375; };
  for (std::size_t i = 0; i < n; ++i) {
    m.hidden.push_back({ebb::tensor<double, 3, 3>::generate(number), vector::generate(number)});
    m.shifts.push_back(vector::generate(number));
  }
  m.scale = vector::generate(number);
  return m;
}
constexpr auto run = [](const auto& m, auto at) {
  for (std::size_t i = 0; i < m.hidden.size(); ++i) at = ebb::tanh(ebb::matmul(m.hidden[i].w, at) + m.hidden[i].b) - m.shifts[i];
  return at * m.scale;
};
constexpr auto loss = [](const auto& m, auto at) { return ebb::sum(ebb::square(run(m, at))); };

/// The same program on vectors by themselves, which the function gets as std::arrays.
constexpr auto loss_of_parts = [](const auto& hidden, auto scale, const auto& shifts, auto at) {
  for (std::size_t i = 0; i < hidden.size(); ++i) at = ebb::tanh(ebb::matmul(hidden[i].w, at) + hidden[i].b) - shifts[i];
  return ebb::sum(ebb::square(at * scale));
};

void same(const network<ebb::tensor>& a, const network<ebb::tensor>& b) {
  REQUIRE((a.hidden.size() == b.hidden.size() && a.shifts.size() == b.shifts.size()));
  for (std::size_t i = 0; i < a.hidden.size(); ++i) {
    CHECK(ebb::all_equal(a.hidden[i].w, b.hidden[i].w));
    CHECK(ebb::all_equal(a.hidden[i].b, b.hidden[i].b));
    CHECK(ebb::all_equal(a.shifts[i], b.shifts[i]));
  }
  CHECK(ebb::all_equal(a.scale, b.scale));
}

}  // namespace sized_test

using namespace sized_test;

TEST_CASE("a struct with vectors is an argument, and its gradient is such a struct") {
  for (const std::size_t n : {1u, 2u, 3u}) {
    const network<ebb::tensor> m = make(n);
    const auto [value, d] = ebb::value_and_grad(loss)(lengths<1, 2, 3>(m), x);
    static_assert(std::is_same_v<decltype(d), const network<ebb::tensor>>);
    const auto parts = ebb::value_and_grad<0, 1, 2>(loss_of_parts)(lengths<1, 2, 3>(m.hidden), m.scale, lengths<1, 2, 3>(m.shifts), x);
    const double wanted = std::get<0>(parts);
    CHECK(value == wanted);
    same(d, {std::get<1>(parts), std::get<2>(parts), std::get<3>(parts)});
    CHECK(ebb::compile(loss)(lengths<1, 2, 3>(m), x) == wanted);

    network<ebb::tensor> to = make(n);
    double at = 0;
    ebb::value_and_grad(loss)(ebb::into(at, lengths<1, 2, 3>(to)), lengths<1, 2, 3>(m), x);
    CHECK(at == wanted);
    same(to, d);
    network<ebb::tensor> over = m;  // the gradient in place of the argument
    ebb::grad(loss)(ebb::into(lengths<1, 2, 3>(over)), lengths<1, 2, 3>(over), x);
    same(over, d);
  }
}

TEST_CASE("a traced function returns the struct that it got, with other terms in it") {
  constexpr auto step = [](auto m, const auto& d) {
    ebb::each_leaf([](auto& p, const auto& g) { p = p - 0.5 * g; }, m, d);
    return m;
  };
  const network<ebb::tensor> m = make(2), d = make(2);
  const network<ebb::tensor> next = ebb::compile(step)(lengths<1, 2>(m), lengths<1, 2>(d));
  network<ebb::tensor> wanted = m;
  ebb::each_leaf([](auto& p, const auto& g) { p = p - 0.5 * g; }, wanted, d);
  same(next, wanted);
}

TEST_CASE("structs with vectors in structs, second derivatives and directions") {
  constexpr auto weighted = [](const auto& p, auto at) { return p.weight * loss(p.net, at); };
  const pair<ebb::tensor> p{make(2), ebb::tensor<double>(1.5)};
  const pair<ebb::tensor> d = ebb::grad(weighted)(lengths<2>(p), x);
  const network<ebb::tensor> of_net = ebb::grad(loss)(lengths<2>(p.net), x);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(d.net.scale(i) == Approx(1.5 * of_net.scale(i)).epsilon(1e-14));
    CHECK(d.net.hidden[1].b(i) == Approx(1.5 * of_net.hidden[1].b(i)).epsilon(1e-14));
  }
  CHECK(d.weight() == Approx(ebb::compile(loss)(lengths<2>(p.net), x)).epsilon(1e-15));

  // The derivative along a direction against a difference of values.
  const network<ebb::tensor> m = make(2), along = make(2);
  const auto at = [&](double t) {
    network<ebb::tensor> moved = m;
    ebb::each_leaf([&](auto& a, const auto& b) { a = a + t * b; }, moved, along);
    return ebb::compile(loss)(lengths<2>(moved), x);
  };
  double slope = 0;
  const network<ebb::tensor> g = ebb::grad(loss)(lengths<2>(m), x);
  ebb::each_leaf([&](const auto& a, const auto& b) { slope += ebb::sum(a * b); }, g, along);
  CHECK(slope == Approx((at(1e-6) - at(-1e-6)) / 2e-6).epsilon(1e-7));
}

TEST_CASE("lengths that are not declared, or that differ, are refused") {
  const network<ebb::tensor> m = make(2);
  CHECK(test::raised([&] { ebb::compile(loss)(lengths<1, 3>(m), x); }).find("a vector of 2, but it is compiled for vectors of 1, 3") !=
        std::string::npos);
  network<ebb::tensor> uneven = m, to = make(1);
  uneven.shifts.pop_back();
  CHECK(test::raised([&] { ebb::compile(loss)(lengths<1, 2>(uneven), x); }).find("there is one of 2 and one of 1") != std::string::npos);
  CHECK(test::raised([&] { ebb::grad(loss)(ebb::into(lengths<1, 2>(to)), lengths<1, 2>(m), x); }).find("one length in a call") !=
        std::string::npos);
}

TEST_CASE("structs with vectors: directions, jacobians, and on the tape") {
  const network<ebb::tensor> m = make(2), along = make(2);
  const vector rest{0, 0, 0};
  const network<ebb::tensor> d = ebb::grad(loss)(lengths<1, 2>(m), x);
  double slope = 0;
  ebb::each_leaf([&](const auto& a, const auto& b) { slope += ebb::sum(a * b); }, d, along);
  const auto pushed = ebb::jvp(loss)(lengths<1, 2>(m), x, lengths<1, 2>(along), rest);
  CHECK(std::get<0>(pushed) == ebb::compile(loss)(lengths<1, 2>(m), x));
  CHECK(std::get<1>(pushed) == Approx(slope).epsilon(1e-13));

  const auto rows = ebb::jacobian(run)(lengths<2>(m), x);
  const vector out = ebb::compile(run)(lengths<2>(m), x);
  REQUIRE(rows.hidden.size() == 2);
  for (std::size_t j = 0; j < 3; ++j) {  // the gradient of the sum of squares by rows
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += 2 * out(i) * rows.hidden[1].b(i, j);
    CHECK(sum == Approx(d.hidden[1].b(j)).epsilon(1e-13));
  }

  network<ebb::variable> v;
  for (std::size_t i = 0; i < 2; ++i) {
    v.hidden.push_back({ebb::variable(m.hidden[i].w), ebb::variable(m.hidden[i].b)});
    v.shifts.push_back(ebb::variable(m.shifts[i]));
  }
  v.scale = ebb::variable(m.scale);
  const ebb::variable<double> y = ebb::compile(loss)(lengths<1, 2>(v), x);
  y.backward();
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(ebb::all_equal(v.hidden[i].w.grad().value(), d.hidden[i].w));
    CHECK(ebb::all_equal(v.shifts[i].grad().value(), d.shifts[i]));
  }
  CHECK(ebb::all_equal(v.scale.grad().value(), d.scale));
}
