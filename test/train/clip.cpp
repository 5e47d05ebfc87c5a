// test/train/clip.cpp — gradient clipping against PyTorch, noise on gradients, and arrays that share a gradient's elements.
// SPDX-License-Identifier: BSL-1.0
#include "../autograd/recorded.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <limits>

namespace {

template <class T>
struct pair {
  ebb::variable<T, 3> first{ebb::tensor<T, 3>{}};
  ebb::variable<T, ebb::dyn> second{ebb::tensor<T, ebb::dyn>{0, 0}};
  pair() {
    first.set_grad(ebb::tensor<T, 3>{3, -4, static_cast<T>(0.1)});
    second.set_grad(ebb::tensor<T, ebb::dyn>{static_cast<T>(1e-3), 12});
  }
  auto all() const { return std::tie(first, second); }
};

template <class T>
void check_norm(const std::string& dtype, const std::string& name, double max) {
  INFO(name << " " << dtype);
  const auto& want = recorded::find(name, dtype);
  const pair<T> p;
  const double eps = std::numeric_limits<T>::epsilon();
  CHECK(std::fabs(ebb::clip_grad_norm(p.all(), max) - want.at("norm")[0]) <= 13 * eps);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::fabs(p.first.grad().data()[i] - want.at("first")[i]) <= 3 * eps * std::fabs(want.at("first")[i]));
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(std::fabs(p.second.grad().data()[i] - want.at("second")[i]) <= 3 * eps * std::fabs(want.at("second")[i]));
}

}  // namespace

TEST_CASE("clip_grad_norm gives PyTorch's values") {
  check_norm<float>("float32", "clip_norm_2", 2);
  check_norm<float>("float32", "clip_norm_100", 100);
  check_norm<double>("float64", "clip_norm_2", 2);
  check_norm<double>("float64", "clip_norm_100", 100);
}

TEST_CASE("clipping does not change arrays that share a gradient's elements, and skips undefined gradients") {
  const pair<float> p;
  const ebb::variable<float, 3> none{ebb::tensor<float, 3>{1, 2, 3}};
  const auto kept = p.first.grad().value();
  CHECK(std::fabs(ebb::clip_grad_norm(std::tie(p.first, none, p.second), 1e-3) - 13.0003850) < 1e-6);
  CHECK(ebb::all_equal(kept, ebb::tensor<float, 3>{3, -4, 0.1f}));
  CHECK(std::fabs(p.first.grad().data()[1] + 4e-3f / 13.0003850f) < 1e-9f);
  CHECK_FALSE(none.grad().defined());
  const auto scaled = p.first.grad().value();
  ebb::clip_grad_value(p.all(), 1e-4);
  CHECK(scaled.data()[1] < -2e-4f);
  CHECK(ebb::all_equal(p.first.grad().value(), ebb::tensor<float, 3>{1e-4f, -1e-4f, scaled.data()[2]}));
}

TEST_CASE("clipping handles norms that are not finite as PyTorch does") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  pair<float> p;
  p.first.set_grad(ebb::tensor<float, 3>{1, inf, 2});
  CHECK(test::raised([&] { ebb::clip_grad_norm(p.all(), 1, {.error_if_nonfinite = true}); }).find("not finite") != std::string::npos);
  CHECK(ebb::all_equal(p.first.grad().value(), ebb::tensor<float, 3>{1, inf, 2}));
  CHECK(ebb::clip_grad_norm(p.first, 1) == inf);
  CHECK(p.first.grad().data()[0] == 0);
  CHECK(std::isnan(p.first.grad().data()[1]));
  p.first.set_grad(ebb::tensor<float, 3>{1, nan, 2e30f});
  CHECK(std::isnan(ebb::clip_grad_norm(p.first, 1)));
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(p.first.grad().data()[i]));
  p.first.set_grad(ebb::tensor<float, 3>{3e30f, 4e30f, 0});  // the squares overflow float
  CHECK(std::fabs(ebb::clip_grad_norm(p.first, 1) / 5e30 - 1) < 1e-6);
  CHECK(std::fabs(p.first.grad().data()[0] - 0.6f) < 1e-6f);
  p.first.set_grad(ebb::tensor<float, 3>{nan, -inf, 0.5f});
  ebb::clip_grad_value(p.first, 1);
  CHECK(std::isnan(p.first.grad().data()[0]));
  CHECK(p.first.grad().data()[1] == -1);
  CHECK(p.first.grad().data()[2] == 0.5f);
  CHECK(test::raised([] { ebb::clip_grad_norm(ebb::variable<float, 3>(), 1); }).find("no leaf") != std::string::npos);
}

TEST_CASE("clip_grad_adaptive bounds the norm of each gradient by that of its parameter") {
  const auto near = [](double got, long double want) { return std::fabs(got - want) <= 1e-6L * std::fabs(want); };
  ebb::variable<float, 3> first{ebb::tensor<float, 3>{2, 3, 6}}, none{ebb::tensor<float, 3>{1, 2, 3}};
  ebb::variable<float, ebb::dyn> second{ebb::tensor<float, ebb::dyn>{0, 0}}, third{ebb::tensor<float, ebb::dyn>{30, 40}};
  const auto all = std::tie(first, none, second, third);
  const ebb::tensor<float, 3> steep{3, -4, 12};
  const ebb::tensor<float, ebb::dyn> flat{0.3f, 0.4f};
  first.set_grad(steep);
  second.set_grad(flat);
  third.set_grad(flat);
  ebb::clip_grad_adaptive(all, 0.02, 0.5);
  // norm(p) = 7 and norm(g) = 13; norm(p) = 0, below eps, and norm(g) = 0.5; norm(p) = 50, which admits 1.
  for (std::size_t i = 0; i < 3; ++i) CHECK(near(first.grad().data()[i], steep.data()[i] * (0.02L * 7 / 13)));
  for (std::size_t i = 0; i < 2; ++i) CHECK(near(second.grad().data()[i], flat.data()[i] * (0.02L * 0.5L / 0.5L)));
  CHECK(ebb::all_equal(third.grad().value(), flat));
  CHECK(ebb::all_equal(steep, ebb::tensor<float, 3>{3, -4, 12}));
  CHECK_FALSE(none.grad().defined());
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  first.set_grad(ebb::tensor<float, 3>{1, nan, 2});
  second.set_grad(ebb::tensor<float, ebb::dyn>{1, inf});
  ebb::clip_grad_adaptive(all);
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(first.grad().data()[i]));
  CHECK((second.grad().data()[0] == 0 && std::isnan(second.grad().data()[1])));
  CHECK(ebb::all_equal(third.grad().value(), flat));
  CHECK(test::raised([&] { ebb::clip_grad_adaptive(all, 0); }).find("above 0") != std::string::npos);
  CHECK(test::raised([&] { ebb::clip_grad_adaptive(all, 0.1, -1); }).find("above 0") != std::string::npos);
  CHECK(test::raised([] { ebb::clip_grad_adaptive(ebb::variable<float, 3>()); }).find("no leaf") != std::string::npos);
}

TEST_CASE("add_grad_noise adds the numbers of a key to each gradient, which makes Langevin steps of descent") {
  const ebb::random_key key(7);
  ebb::variable<float, 3> first{ebb::tensor<float, 3>{1, 2, 3}}, none{ebb::tensor<float, 3>{1, 2, 3}};
  ebb::variable<float, ebb::dyn> second{ebb::tensor<float, ebb::dyn>{5, -5}};
  const auto all = std::tie(first, none, second);
  const ebb::tensor<float, 3> g{3, -4, 0.1f};
  const ebb::tensor<float, ebb::dyn> h{0, 12};
  first.set_grad(g);
  second.set_grad(h);
  const double lr = 0.125, temperature = 0.5, deviation = std::sqrt(2 * temperature / lr);
  ebb::add_grad_noise(all, key, deviation);
  const auto noise = ebb::normal<double, 3>(key.part(0));
  const auto other = ebb::normal<double, ebb::dyn>(key.part(1), 2);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(first.grad().data()[i] == static_cast<float>(static_cast<double>(g.data()[i]) + deviation * noise.data()[i]));
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(second.grad().data()[i] == static_cast<float>(static_cast<double>(h.data()[i]) + deviation * other.data()[i]));
  CHECK(ebb::all_equal(g, ebb::tensor<float, 3>{3, -4, 0.1f}));
  CHECK_FALSE(none.grad().defined());
  ebb::optimizer(ebb::sgd{.lr = lr}, first).step();
  for (std::size_t i = 0; i < 3; ++i) {
    const double want =
        static_cast<double>(i + 1) - lr * static_cast<double>(g.data()[i]) - std::sqrt(2 * lr * temperature) * noise.data()[i];
    CHECK(std::fabs(first.data()[i] - want) <= 1e-6);
  }
  second.set_grad(h);
  ebb::add_grad_noise(second, key, 0);
  CHECK(ebb::all_equal(second.grad().value(), h));
  CHECK(test::raised([&] { ebb::add_grad_noise(all, key, -1); }).find("standard deviation") != std::string::npos);
  CHECK(test::raised([&] { ebb::add_grad_noise(ebb::variable<float, 3>(), key, 1); }).find("no leaf") != std::string::npos);
}
