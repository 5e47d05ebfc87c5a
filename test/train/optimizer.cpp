// test/train/optimizer.cpp — update rules against PyTorch and plain loops; steps, hooks, structures of parameters, saved states.
// SPDX-License-Identifier: BSL-1.0
// covers: optimizer.hpp adam.hpp sgd.hpp state_file.hpp autograd/parameters.hpp hooks/update.hpp exec/in_place.hpp
#include "../autograd/allocations.hpp"
#include "../autograd/recorded.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using ebb::dyn, ebb::tensor, ebb::variable;
using row = tensor<float, dyn>;
using weights = variable<float, dyn>;

std::string text_of_error(auto&& f) { return test::raised(f); }
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Five parameters with a quadratic loss: sum of a * (p - c)^2 / 2.
constexpr double steep[] = {0.5, 1, 2, 4, 0.01}, lowest[] = {1, -2, 3, 0.25, 100}, start[] = {3, 2, -1, 0.125, -7};

/// The gradient in the order of operations of PyTorch's backward.
template <class T>
tensor<T, 5> slope(const T* p) {
  tensor<T, 5> g{};
  for (int i = 0; i < 5; ++i) {
    const T a = static_cast<T>(steep[i]), c = static_cast<T>(lowest[i]);
    g.mutable_data()[i] = static_cast<T>(0.5) * a * (2 * (p[i] - c));
  }
  return g;
}
template <class T>
variable<T, 5> at_start() {
  tensor<T, 5> p{};
  for (int i = 0; i < 5; ++i) p.mutable_data()[i] = static_cast<T>(start[i]);
  return variable<T, 5>(p);
}

/// Checks 20 steps: all elements are within `ulps` units of the largest magnitude in their row of PyTorch's recorded steps.
template <class T, class Rule>
void follows(const std::string& name, const Rule& rule, double ulps) {
  const std::string dtype = std::is_same_v<T, float> ? "float32" : "float64";
  const auto& want = recorded::find(name, dtype);
  const variable<T, 5> p = at_start<T>();
  ebb::optimizer opt(rule, p);
  double worst = 0;
  for (int step = 1; step <= 20; ++step) {
    variable<T, 5>(p).set_grad(slope(p.data()));
    opt.step();
    const auto there = want.find(std::to_string(step));
    if (there == want.end()) continue;
    for (std::size_t i = 0; i < 5; ++i) {
      const double size = std::max(std::fabs(start[i]), std::fabs(there->second[i]));
      const double ulp = std::ldexp(1.0, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
      worst = std::max(worst, std::fabs(static_cast<double>(p.data()[i]) - there->second[i]) / ulp);
    }
  }
  INFO(name << " " << dtype << ": " << worst << " units");
  CHECK(worst <= ulps);
}
template <class Rule>
void follows(const std::string& name, const Rule& rule, double ulps) {
  follows<float>(name, rule, ulps);
  follows<double>(name, rule, ulps);
}

}  // namespace

TEST_CASE("sgd, adam and adamw make PyTorch's steps") {
  follows("sgd", ebb::sgd{.lr = 0.1}, 4);
  follows("sgd_decay", ebb::sgd{.lr = 0.1, .weight_decay = 0.05}, 4);
  follows("sgd_momentum", ebb::sgd{.lr = 0.05, .momentum = 0.9}, 4);
  follows("sgd_dampening", ebb::sgd{.lr = 0.05, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.01}, 4);
  follows("sgd_nesterov", ebb::sgd{.lr = 0.05, .momentum = 0.8, .nesterov = true}, 4);
  follows("sgd_nesterov_decay", ebb::sgd{.lr = 0.05, .momentum = 0.8, .weight_decay = 0.02, .nesterov = true}, 4);
  follows("adam", ebb::adam{.lr = 0.1}, 4);
  follows("adam_decay", ebb::adam{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .weight_decay = 0.1}, 4);
  follows("adamw", ebb::adamw{.lr = 0.1}, 4);
  follows("adamw_decay", ebb::adamw{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.2}, 4);
}

TEST_CASE("adam and adamw follow their papers' formulas") {
  // Algorithm 1 of arXiv:1412.6980 and algorithm 2 of arXiv:1711.05101 in long double, with the bias corrected where the papers correct it.
  const auto check = [](auto rule, bool decoupled) {
    const variable<double, 5> p = at_start<double>();
    ebb::optimizer opt(rule, p);
    std::array<long double, 5> q{}, m{}, v{};
    for (std::size_t i = 0; i < 5; ++i) q[i] = start[i];
    for (int t = 1; t <= 30; ++t) {
      rule.lr = opt.rule().lr = 0.1 / t;
      variable<double, 5>(p).set_grad(slope(p.data()));
      for (std::size_t i = 0; i < 5; ++i) {
        long double g = steep[i] * (q[i] - lowest[i]);
        if (decoupled) q[i] -= rule.lr * rule.weight_decay * q[i];
        else g += rule.weight_decay * q[i];
        m[i] = rule.beta1 * m[i] + (1 - rule.beta1) * g;
        v[i] = rule.beta2 * v[i] + (1 - rule.beta2) * g * g;
        const long double mean = m[i] / (1 - std::pow(static_cast<long double>(rule.beta1), t));
        const long double spread = v[i] / (1 - std::pow(static_cast<long double>(rule.beta2), t));
        q[i] -= rule.lr * mean / (std::sqrt(spread) + rule.eps);
      }
      opt.step();
      for (std::size_t i = 0; i < 5; ++i) CHECK(std::fabs(static_cast<double>(p.data()[i] - q[i])) <= 1e-13);
    }
  };
  check(ebb::adam{.weight_decay = 0.1}, false);
  check(ebb::adamw{.weight_decay = 0.1}, true);
}

namespace {

/// A user's rule with two states and a mean over the whole parameter: the step's length is the mean size of the estimated slope.
struct mean_step_update {
  static constexpr int states = 2;
  constexpr auto operator()(auto p, auto g, auto m, auto size, auto lr, auto t) const {
    const auto next = m + g;
    const auto sizes = size + ebb::abs(g);
    return std::tuple(p - lr * ebb::mean(sizes) * next / t, next, sizes);
  }
};
struct mean_step {
  double lr = 0.1;
  using update = mean_step_update;
  auto values(std::uint64_t step) const { return std::array{lr, static_cast<double>(step)}; }
};

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<float, 3, 2>;
  using vector = Array<float, 2>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (vector, b));
};
struct block {
  BOOST_HANA_DEFINE_STRUCT(block, (layer<variable>, inner), (std::vector<weights>, more));
};
using pair = std::array<weights, 2>;
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (weights, w), (pair, two), (block, last));
};
struct holds_a_number {
  BOOST_HANA_DEFINE_STRUCT(holds_a_number, (weights, w), (int, steps));
};
static_assert(ebb::parameters<model> && !ebb::parameters<holds_a_number> && !ebb::parameters<row>);

}  // namespace

TEST_CASE("a user's rule works as the library's rules do") {
  variable<float, 2, 2> p(tensor<float, 2, 2>{{1, 2}, {3, 4}});
  ebb::optimizer opt(mean_step{.lr = 0.5}, p);
  double q[] = {1, 2, 3, 4}, m[4] = {}, size[4] = {};
  const float g[3][4] = {{1, -2, 3, -4}, {0.5f, 0.5f, -0.5f, 1}, {2, 0, 1, -1}};
  for (int t = 1; t <= 3; ++t) {
    double mean = 0;
    for (int i = 0; i < 4; ++i) m[i] += g[t - 1][i], size[i] += std::fabs(g[t - 1][i]), mean += size[i] / 4;
    for (int i = 0; i < 4; ++i) q[i] -= 0.5 * mean * m[i] / t;
    p.set_grad(tensor<float, 2, 2>{{g[t - 1][0], g[t - 1][1]}, {g[t - 1][2], g[t - 1][3]}});
    opt.step();
    for (int i = 0; i < 4; ++i) CHECK(std::fabs(p.data()[i] - q[i]) <= 1e-6 * std::fabs(q[i]) + 1e-6);
  }
}

TEST_CASE("parameters are variables, tuples, vectors and structs, and those without a gradient are skipped") {
  weights a(row{1, 2}), b(row{3});
  std::vector<weights> many{weights(row{4}), weights(row{5, 6, 7})};
  layer<variable> l{variable<float, 3, 2>(tensor<float, 3, 2>{{1, 2}, {3, 4}, {5, 6}}), variable<float, 2>(tensor<float, 2>{1, 1})};
  ebb::optimizer opt(ebb::sgd{.lr = 0.5f, .momentum = 0.5}, a, std::tie(b), many, l);
  CHECK(opt.size() == 6);
  a.set_grad(row{1, 1});
  many[1].set_grad(row{2, 2, 2});
  l.b.set_grad(tensor<float, 2>{-1, 1});
  const std::uint64_t version = a.version(), untouched = b.version();
  opt.step();
  CHECK(ebb::all_equal(a.value(), row{0.5f, 1.5f}));
  CHECK(ebb::all_equal(b.value(), row{3}));
  CHECK(ebb::all_equal(many[1].value(), row{4, 5, 6}));
  CHECK(ebb::all_equal(l.b.value(), tensor<float, 2>{1.5f, 0.5f}));
  CHECK(ebb::all_equal(l.w.value(), tensor<float, 3, 2>{{1, 2}, {3, 4}, {5, 6}}));
  CHECK(a.version() == version + 1);
  CHECK(b.version() == untouched);
  CHECK(opt.state(0).step == 1);
  CHECK(opt.state(0).arrays.size() == 1);
  CHECK(opt.state(1).step == 0);
  CHECK(opt.state(1).arrays.empty());
  opt.zero_grad();
  CHECK_FALSE(a.grad().defined());

  weights empty(row(0));
  empty.set_grad(row(0));
  ebb::optimizer(ebb::adam{}, empty).step();
  CHECK(empty.version() == 1);

  opt.step();
  CHECK(ebb::all_equal(a.value(), row{0.5f, 1.5f}));
}

TEST_CASE("parameters may be members of a struct that is not a template, and arrays of variables") {
  model m{weights(row{1, 2}), {weights(row{3}), weights(row{4})}, {layer<variable>{}, {weights(row{5})}}};
  m.last.inner.w = variable<float, 3, 2>(tensor<float, 3, 2>{});
  m.last.inner.b = variable<float, 2>(tensor<float, 2>{1, 1});
  const auto loss = [&] { return ebb::sum(m.w) + ebb::sum(m.two[1] * m.last.more[0]) + ebb::sum(m.last.inner.b); };

  const model g = ebb::grad(loss(), ebb::wrt(m), {.allow_unused = true});
  CHECK(ebb::all_equal(g.w.value(), row{1, 1}));
  CHECK_FALSE(g.two[0].defined());
  CHECK(ebb::all_equal(g.two[1].value(), row{5}));
  CHECK(ebb::all_equal(g.last.more[0].value(), row{4}));
  CHECK_FALSE(m.w.grad().defined());

  ebb::optimizer opt(ebb::sgd{.lr = 1}, m);
  CHECK(opt.size() == 6);
  ebb::backward(loss(), {.inputs = ebb::wrt(m.w, m.two)});
  CHECK_FALSE(m.last.more[0].grad().defined());
  CHECK(ebb::clip_grad_norm(m, 100) == std::sqrt(27.));
  opt.step();
  CHECK(ebb::all_equal(m.w.value(), row{0, 1}));
  CHECK(ebb::all_equal(m.two[1].value(), row{-1}));
  ebb::zero_grad(m);
  CHECK_FALSE(m.two[1].grad().defined());
}

TEST_CASE("a step writes in place, allocates nothing, and does not change arrays that share the elements") {
  weights p(row(1000));
  row g(1000);
  for (std::size_t i = 0; i < 1000; ++i) g.mutable_data()[i] = static_cast<float>(i);
  p.set_grad(g);
  ebb::optimizer opt(ebb::adam{.lr = 1}, p);
  ebb::optimizer plain(ebb::sgd{.lr = 1}, p);
  CHECK(allocations::in([&] { opt.step(); }) > 0);  // the states
  const float* const at = p.data();
  CHECK(allocations::in([&] {
          for (int i = 0; i < 5; ++i) {
            opt.rule().lr = 1.0 / (i + 1);
            opt.step();
            plain.step();
          }
        }) == 0);
  CHECK(p.data() == at);
  CHECK(ebb::all_equal(p.grad().value(), g));

  const row kept = p.value();
  const float before = kept.data()[7];
  opt.step();
  CHECK(p.data() != at);
  CHECK(kept.data()[7] == before);
  CHECK(p.data()[7] != before);

  // The gradient may be the parameter's own array.
  weights q(row{1, 2, 3});
  q.set_grad(q.value());
  plain = ebb::optimizer(ebb::sgd{.lr = 0.5}, q);
  plain.step();
  CHECK(ebb::all_equal(q.value(), row{0.5f, 1, 1.5f}));
  CHECK(ebb::all_equal(q.grad().value(), row{1, 2, 3}));
}

TEST_CASE("hyperparameters may change between steps, and with them the rule's function") {
  weights p(row{0});
  p.set_grad(row{1});
  ebb::optimizer opt(ebb::sgd{.lr = 1}, p);
  opt.step();
  CHECK(ebb::all_equal(p.value(), row{-1}));
  CHECK(opt.state(0).arrays.empty());
  opt.rule() = {.lr = 1, .momentum = 0.5, .dampening = 0.5};
  opt.step();  // the first with a momentum: v = g
  CHECK(ebb::all_equal(p.value(), row{-2}));
  opt.step();  // v = 0.5 + 0.5
  CHECK(ebb::all_equal(p.value(), row{-3}));
  opt.rule().momentum = 0;
  opt.step();
  CHECK(ebb::all_equal(p.value(), row{-4}));
  CHECK(opt.state(0).arrays.size() == 1);
  const float inf = std::numeric_limits<float>::infinity();
  p.assign(row{-inf});
  opt.step();
  CHECK(ebb::all_equal(p.value(), row{-inf}));  // a weight decay of 0 does not read the parameter
}

TEST_CASE("refused steps change nothing") {
  weights p(row{1, 2}), undefined;
  p.set_grad(row{1, 1});
  const weights result = p * 2.f;
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::sgd{}, p, p); }), "parameter 1 (leaf) is there twice"));
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::sgd{}, p, undefined); }), "parameter 1 has no history"));
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::sgd{}, result); }), "parameter 0 is the result of mul"));
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::sgd{.lr = -1}, p); }), "lr must not be negative"));
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::sgd{.nesterov = true}, p); }), "nesterov needs a momentum"));
  CHECK(says(text_of_error([&] { ebb::optimizer(ebb::adam{.beta2 = 1}, p); }), "beta1 and beta2"));
  CHECK(says(text_of_error([&] { p.register_post_accumulate_grad_hook(ebb::adamw{.eps = -1}); }), "eps must not be negative"));
  ebb::optimizer opt(ebb::sgd{}, p);
  opt.rule().lr = std::numeric_limits<double>::quiet_NaN();
  CHECK(says(text_of_error([&] { opt.step(); }), "ebb::optimizer::step"));
  CHECK(ebb::all_equal(p.value(), row{1, 2}));
}

TEST_CASE("bfloat16 parameters are updated in float and rounded once") {
  using ebb::bfloat16;
  const variable<bfloat16, 2> p(tensor<bfloat16, 2>{bfloat16(1.f), bfloat16(-3.f)});
  variable<bfloat16, 2>(p).set_grad(tensor<bfloat16, 2>{bfloat16(1e-3f), bfloat16(2.f)});
  ebb::optimizer opt(ebb::adam{.lr = 0.1}, p);
  double q[] = {1, -3};
  for (int t = 1; t <= 3; ++t) {
    opt.step();  // the gradient is constant, so both bias-corrected moments are the gradient and its square
    for (int i = 0; i < 2; ++i) {
      const float g = static_cast<float>(p.grad().data()[i]);
      q[i] = static_cast<float>(bfloat16(static_cast<float>(q[i] - 0.1 * g / (std::fabs(g) + 1e-8))));
      CHECK(std::fabs(static_cast<float>(p.data()[i]) - q[i]) <= 0.008 * std::fabs(q[i]));
    }
  }
  CHECK(opt.state(0).arrays[0].bytes() == 2 * sizeof(float));
}

TEST_CASE("a rule as a hook updates in the backward and frees the gradient") {
  const auto loss = [](const weights& a, const weights& b) { return weights(a * a * b); };
  weights a(row{1, 2}), b(row{3, 4}), a2(a.value()), b2(b.value());
  ebb::optimizer step(ebb::adam{.lr = 0.1}, a2, b2);
  auto [opt, handles] = ebb::optimize_in_backward(ebb::adam{.lr = 0.1}, a, b);
  int seen = 0;
  a.register_post_accumulate_grad_hook([&](const weights& w) { seen += w.grad().defined() ? 100 : 1; });
  for (int i = 0; i < 3; ++i) {
    opt.rule().lr = step.rule().lr = 0.1 / (i + 1);
    loss(a, b).backward(row{1, 1});
    loss(a2, b2).backward(row{1, 1});
    step.step();
    step.zero_grad();
    CHECK(ebb::all_equal(a.value(), a2.value()));
    CHECK(ebb::all_equal(b.value(), b2.value()));
    CHECK_FALSE(a.grad().defined());
  }
  CHECK(seen == 3);
  CHECK(opt.state(1).step == 3);

  handles[0].remove();
  loss(a, b).backward(row{1, 1});
  CHECK(ebb::all_equal(a.value(), a2.value()));
  CHECK(a.grad().defined());
  CHECK(!ebb::all_equal(b.value(), b2.value()));

  weights c(row{1, 1}), d(row{1, 1});
  c.register_post_accumulate_grad_hook(ebb::sgd{.lr = 0.5f});
  const auto y = loss(c, d);
  y.backward({.seeds = {row{1, 2}}, .retain_graph = true});
  CHECK(ebb::all_equal(c.value(), row{0, -1}));
  y.backward({.seeds = {row{1, 2}}});  // the saved value of c does not change
  CHECK(ebb::all_equal(c.value(), row{-1, -3}));
  CHECK(ebb::all_equal(d.grad().value(), row{2, 4}));

#if EBB_EXCEPTIONS
  opt.rule().lr = -1;  // noticed once the gradient of b is added: it stays, and nothing else has changed
  const row before = b.value();
  CHECK(says(text_of_error([&] { loss(a, b).backward(row{1, 1}); }), "lr must not be negative"));
  CHECK(ebb::all_equal(b.value(), before));
  CHECK(b.grad().defined());
  CHECK(opt.state(1).step == 4);
#endif
}

TEST_CASE("states are saved and loaded") {
  weights p(row{1, 2, 3}), q(row{1, 2, 3}), none(row{1});
  variable<double> s(tensor<double>(1.0));
  ebb::optimizer opt(ebb::adam{.lr = 0.1}, p, none, s);
  const auto give = [&](weights w) {
    w.set_grad(row{1, -2, 3});
    s.set_grad(tensor<double>(2.0));
  };
  for (int i = 0; i < 3; ++i) {
    give(p);
    opt.step();
  }
  std::stringstream file;
  opt.save(file);
  q.assign(p.value());
  ebb::optimizer same(ebb::adam{.lr = 0.1}, q, none, s);
  same.load(file);
  CHECK(same.state(0).step == 3);
  CHECK(same.state(1).arrays.empty());
  CHECK(same.state(2).arrays.size() == 2);
  give(p), opt.step();
  give(q), same.step();
  CHECK(ebb::all_equal(p.value(), q.value()));

  // Every prefix is refused, and nothing has changed.
  const std::string bytes = file.str();
  const auto load = [&](auto& into, const std::string& text) {
    std::istringstream in(text);
    return text_of_error([&] { into.load(in); });
  };
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE_FALSE(load(same, bytes.substr(0, n)).empty());
  CHECK(same.state(0).step == 4);
  CHECK(says(load(same, bytes.substr(0, 70)), "parameter 0: the file ends here"));
  CHECK(says(load(same, "x" + bytes), "not what an ebb::optimizer has saved"));
  CHECK(says(load(same, bytes.substr(0, 8) + "\2" + bytes.substr(9)), "version 2"));
  ebb::optimizer fewer(ebb::adam{}, q), longer(ebb::adam{}, weights(row(4)), none, s);
  ebb::optimizer other(ebb::sgd{}, q, none, s);
  ebb::optimizer matrix(ebb::adam{}, variable<float, 1, 3>(tensor<float, 1, 3>{}), none, s);
  ebb::optimizer wide(ebb::adam{}, variable<double>(tensor<double>(1.0)), none, s);
  CHECK(says(load(fewer, bytes), "the number of parameters is 1, in the file 3"));
  CHECK(says(load(longer, bytes), "parameter 0: it is f32[4], that in the file f32[3]"));
  CHECK(says(load(matrix, bytes), "its rank is 2, that in the file 1"));
  CHECK(says(load(wide, bytes), "the states here are f64"));
  CHECK(says(load(other, bytes), "2 arrays for it, which another rule has kept"));

  const std::string path = "ebb_optimizer_test.state";
  opt.save(path);
  ebb::optimizer again(ebb::adam{}, p, none, s);
  again.load(path);
  CHECK(again.state(2).step == 4);
  const std::string link = path + ".link";
  REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
  again.save(link);  // writes the file that the link names, and leaves the link
  CHECK(unlink(link.c_str()) == 0);
  again.load(path);
  if (std::FILE* f = std::fopen(path.c_str(), "ab")) {
    std::fputc(0, f);
    std::fclose(f);
  }
  CHECK(says(text_of_error([&] { again.load(path); }), "there are bytes after the last parameter"));
  std::remove(path.c_str());
  CHECK(says(text_of_error([&] { again.load(path); }), "No such file"));
  CHECK(says(text_of_error([&] { again.save("no/such/directory/x"); }), "No such file"));
}
