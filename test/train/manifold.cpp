// test/train/manifold.cpp — parameters that stay on manifolds: steps against exponentials in long double, a pose that is fitted, backwards.
// SPDX-License-Identifier: BSL-1.0
// covers: manifold.hpp geometry/manifold.hpp
#include "rules.hpp"

#include "../geometry/oracle.hpp"

namespace {

using namespace geometry_test;

template <class A>
duals constants(const A& x) {
  duals r;
  for (const auto e : x) r.push_back({e});
  return r;
}
void near(const auto& x, const duals& want) {
  REQUIRE(x.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(x.data()[i] - want[i].v) <= 4e-16L * std::max(1.0L, std::fabs(want[i].v)));
}

TEST_CASE("a step on a manifold is the exponential of a step along the gradient in its tangent space") {
  // The gradient by the step at 0, from hyper-dual numbers: of the sum of weights times the element.
  const ebb::tensor<double, 4> at{0.5, -0.5, 0.5, 0.5}, weights{0.3, -1.0, 0.7, 0.2};
  ebb::variable<double, 4> q(at);
  ebb::optimizer turn(ebb::on_manifold{ebb::sgd{.lr = 0.25}, ebb::unit_quaternions{}}, q);
  q.set_grad(weights);
  turn.step();
  duals step;
  for (std::size_t i = 0; i < 3; ++i) {
    duals d(3);
    d[i].a = 1;
    step.push_back({-0.25L * dot(product(constants(at), quaternion_exp(d)), constants(weights)).a});
  }
  near(q.value(), product(constants(at), quaternion_exp(step)));

  const ebb::tensor<double, 3, 3> start{{0, -1, 0}, {0, 0, -1}, {1, 0, 0}}, slope{{0.3, -1, 0.7}, {0.2, 0.5, 0.1}, {-0.4, 0.6, 0.9}};
  ebb::variable<double, 3, 3> m(start);
  ebb::optimizer rotate(ebb::on_manifold{ebb::sgd{.lr = 0.25}, ebb::rotation_matrices{}}, m);
  m.set_grad(slope);
  rotate.step();
  for (std::size_t i = 0; i < 3; ++i) {
    duals d(3);
    d[i].a = 1;
    step[i] = {-0.25L * dot(matmul(constants(start), power_series(hat(d), 3, 0), 3), constants(slope)).a};
  }
  near(m.value(), matmul(constants(start), power_series(hat(step), 3, 0), 3));

  const ebb::tensor<double, 2> positive{2, 0.5}, by{1, -3};
  ebb::variable<double, 2> p(positive);
  ebb::optimizer grow(ebb::on_manifold{ebb::sgd{.lr = 0.5}, ebb::positive_numbers{}}, p);
  p.set_grad(by);
  grow.step();
  near(p.value(), {{2 * std::exp(-1.0L)}, {0.5L * std::exp(0.75L)}});

  const ebb::tensor<double, 2> unit{0.6, 0.8};
  ebb::variable<double, 2> u(unit);
  ebb::optimizer slide(ebb::on_manifold{ebb::sgd{.lr = 0.5}, ebb::unit_vectors{}}, u);
  u.set_grad(ebb::tensor<double, 2>{1, 0});
  slide.step();
  const long double x = 0.6L - 0.5L * 0.64L, y = 0.8L + 0.5L * 0.48L, size = std::sqrt(x * x + y * y);
  near(u.value(), {{x / size}, {y / size}});
}

TEST_CASE("a pose is fitted to points: steps stay on unit quaternions, in every kind of step with the same bits") {
  const auto points = random_rows<double>(12, 3, 7);
  ebb::tensor<double, 4> turned(ebb::quaternion_exp(ebb::tensor<double, 3>{1.0, -2.0, 0.5}));
  const ebb::tensor<double, 3> moved{0.5, 2.0, -1.0};
  const ebb::tensor<double, dyn, 3> seen(ebb::quaternion_rotate(turned, points) + moved);
  constexpr auto loss = ebb::compile([](auto q, auto t, auto x, auto y) { return ebb::mse(ebb::quaternion_rotate(q, x) + t, y); });
  std::array<ebb::tensor<double, 4>, 3> ends;
  for (std::size_t way = 0; way < 3; ++way) {
    ebb::variable<double, 4> q(ebb::tensor<double, 4>{1.0, 0.0, 0.0, 0.0});
    ebb::variable<double, 3> t(ebb::tensor<double, 3>{0.0, 0.0, 0.0});
    ebb::optimizer turns(ebb::on_manifold{ebb::adam{.lr = 0.1}, ebb::unit_quaternions{}}, q);
    ebb::optimizer moves(ebb::adam{.lr = 0.1}, t);
    std::vector<ebb::hook_handle> handles;
    if (way < 2) handles = turns.step_in_backward();
    double off = 0, error = 1;
    for (int step = 0; step < 400; ++step) {
      const auto e = loss(q, t, points, seen);
      error = e.item();
      ebb::backward(e, {.compiled_autograd = way == 1});
      if (way == 2) turns.step(), turns.zero_grad();
      moves.step(), moves.zero_grad();
      double square = 0;
      for (const double x : q.value()) square += x * x;
      off = std::max(off, std::fabs(square - 1));
    }
    CHECK(error < 1e-8);
    CHECK(off < 1e-15);
    ends[way] = q.value();
    const auto rest = ebb::quaternion_log(ebb::quaternion_product(ebb::quaternion_conjugate(turned), q.value()));
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::fabs(rest(i)) < 1e-4);
  }
  CHECK(test::same_bits(ends[0], ends[1]));
  CHECK(test::same_bits(ends[1], ends[2]));
}

TEST_CASE("rules on manifolds are the same in steps, hooks and captured backwards, and after loading") {
  rules::is_the_same_everywhere("unit vectors", ebb::on_manifold{ebb::adam{.lr = 0.1}, ebb::unit_vectors{}});
  rules::is_the_same_everywhere("positive", ebb::on_manifold{ebb::sgd{.lr = 0.1, .momentum = 0.5}, ebb::positive_numbers{}});
  CHECK(test::says(rules::refusal_of(ebb::on_manifold{ebb::adam{.lr = -1}, ebb::unit_vectors{}}), {"lr must not be negative"}));
}

}  // namespace
