// test/train/layerwise.cpp — lars, adafactor and muon: recorded steps, formulas in long double, captured backwards, what they refuse.
// SPDX-License-Identifier: BSL-1.0
#include "rules.hpp"

namespace {

using ebb::dyn;
using any_matrix = ebb::variable<double, dyn, dyn>;
using tall_matrix = ebb::variable<double, 3, 2>;
using wide_numbers = std::array<long double, 6>;

constexpr double first_weights[] = {0.5, -1.25, 2, 3, -0.75, 1.5};
double gradient_at(std::size_t t, std::size_t i) {
  return i == 3 ? 0 : 2 * std::sin(1.7 * static_cast<double>(t) + static_cast<double>(i * i));
}

template <class Variable>
Variable matrix_of(std::size_t rows, std::size_t columns, auto number) {
  using array = typename Variable::tensor_type;
  if constexpr (array::extents_type::is_static) return Variable(array::generate(number));
  else return Variable(array::generate(number, rows, columns));
}

/// 8 steps on sum(w (p - a)^2) + sum(sin(p)) for a matrix [3, 2] are PyTorch's.
void follows_recorded_matrix(const std::string& name, const auto& rule, long double bound) {
  const auto& block = golden::family("training").at("train_" + name);
  const auto &x = block.find("input", "x")->values, &a = block.find("input", "a")->values, &want = block.find("value", "out")->values;
  REQUIRE((x.size() == 6 && want.size() == 48));
  auto p = matrix_of<any_matrix>(3, 2, [&](std::size_t i) { return static_cast<double>(x[i]); });
  ebb::optimizer opt(rule, p);
  for (std::size_t t = 0; t < 8; ++t) {
    p.set_grad(matrix_of<any_matrix>(3, 2, [&](std::size_t i) {
      return 2 * (i % 2 ? 3.0 : 1.0) * (p.data()[i] - static_cast<double>(a[i])) + std::cos(p.data()[i]);
    }).value());
    opt.step();
    for (std::size_t i = 0; i < 6; ++i) {
      INFO(name << ", step " << t + 1 << ", element " << i);
      CHECK(std::fabs(p.data()[i] - want[t * 6 + i]) <= bound);
    }
  }
}

/// 10 steps of a matrix compared with `formula(t, p, g, state)` in long double.
template <class Variable>
void matrix_follows_formula(std::size_t rows, std::size_t columns, const auto& rule, auto&& formula) {
  auto p = matrix_of<Variable>(rows, columns, [](std::size_t i) { return first_weights[i]; });
  ebb::optimizer opt(rule, p);
  wide_numbers q{}, state{};
  for (std::size_t i = 0; i < 6; ++i) q[i] = first_weights[i];
  for (std::size_t t = 1; t <= 10; ++t) {
    wide_numbers g;
    for (std::size_t i = 0; i < 6; ++i) g[i] = gradient_at(t, i);
    p.set_grad(matrix_of<Variable>(rows, columns, [t](std::size_t i) { return gradient_at(t, i); }).value());
    opt.step();
    formula(static_cast<long double>(t), q, g, state);
    for (std::size_t i = 0; i < 6; ++i) {
      INFO(rows << " rows, step " << t << ", element " << i);
      CHECK(std::fabs(p.data()[i] - q[i]) <= 1e-12L);
    }
  }
}

/// x made orthogonal as muon does it, with the singular values of x x^T in place of a product of matrices: f is a polynomial.
void orthogonalize(wide_numbers& x, std::size_t rows, std::size_t columns) {
  long double square = 0;
  for (const long double v : x) square += v * v;
  for (long double& v : x) v /= std::max(std::sqrt(square), 1e-7L);
  for (int turn = 0; turn < 5; ++turn) {
    // s = x x^T [rows, rows], whatever the shape is.
    std::vector<long double> s(rows * rows), factor(rows * rows);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t k = 0; k < columns; ++k) s[i * rows + j] += x[i * columns + k] * x[j * columns + k];
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) {
        long double twice = 0;
        for (std::size_t k = 0; k < rows; ++k) twice += s[i * rows + k] * s[k * rows + j];
        factor[i * rows + j] = -4.775L * s[i * rows + j] + 2.0315L * twice + (i == j ? 3.4445L : 0);
      }
    wide_numbers next{};
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t k = 0; k < rows; ++k) next[i * columns + j] += factor[i * rows + k] * x[k * columns + j];
    x = next;
  }
}

TEST_CASE("adafactor and muon make PyTorch's steps on a matrix") {
  follows_recorded_matrix("adafactor", ebb::adafactor{.lr = 0.05}, 2e-14L);
  follows_recorded_matrix("muon", ebb::muon{.lr = 0.05}, 1e-2L);  // PyTorch makes matrices orthogonal in bf16
}

TEST_CASE("muon follows its formula for tall and wide matrices, of static and dynamic extents") {
  const auto formula = [](std::size_t rows, std::size_t columns, bool nesterov, bool as_adam) {
    return [=](long double, wide_numbers& p, const wide_numbers& g, wide_numbers& m) {
      wide_numbers u;
      for (std::size_t i = 0; i < 6; ++i) {
        m[i] += (1 - 0.95L) * (g[i] - m[i]);
        u[i] = nesterov ? 0.95L * m[i] + (1 - 0.95L) * g[i] : m[i];
      }
      orthogonalize(u, rows, columns);
      const long double r = static_cast<long double>(rows), c = static_cast<long double>(columns);
      const long double scale = as_adam ? 0.2L * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0L, r / c));
      for (std::size_t i = 0; i < 6; ++i) p[i] = p[i] * (1 - 0.05L * 0.1L) - 0.05L * scale * u[i];
    };
  };
  matrix_follows_formula<tall_matrix>(3, 2, ebb::muon{.lr = 0.05}, formula(3, 2, true, false));
  matrix_follows_formula<any_matrix>(3, 2, ebb::muon{.lr = 0.05}, formula(3, 2, true, false));
  matrix_follows_formula<any_matrix>(2, 3, ebb::muon{.lr = 0.05, .nesterov = false, .as_adam = true}, formula(2, 3, false, true));
  // A gradient of zeros moves nothing but by decay.
  auto p = matrix_of<any_matrix>(2, 3, [](std::size_t i) { return first_weights[i]; });
  ebb::optimizer opt(ebb::muon{.lr = 0.5, .weight_decay = 0.5}, p);
  p.set_grad(matrix_of<any_matrix>(2, 3, [](std::size_t) { return 0.0; }).value());
  opt.step();
  for (std::size_t i = 0; i < 6; ++i) CHECK(p.data()[i] == 0.75 * first_weights[i]);
}

TEST_CASE("adafactor follows its formula with weight decay, for matrices and vectors") {
  const ebb::adafactor rule{.lr = 0.25, .decay = -0.5, .least_size = 0.01, .most = 0.5, .weight_decay = 0.125};
  constexpr long double eps = 0x1p-52L;
  const auto move = [](long double t, auto& p, const auto& g, const auto& v) {
    long double size = 0, moved = 0;
    const auto n = static_cast<long double>(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      size += p[i] * p[i] / n;
      moved += g[i] * g[i] / std::max(v[i], eps * eps) / n;
    }
    const long double rate = std::min(0.25L, 1 / std::sqrt(t)) * std::max(0.01L, std::sqrt(size)) / std::max(1.0L, std::sqrt(moved) / 0.5L);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = p[i] * (1 - 0.25L * 0.125L) - rate * g[i] / std::sqrt(std::max(v[i], eps * eps));
  };
  // Row and column means are kept apart here, as the paper has them.
  std::array<long double, 3> rows{};
  std::array<long double, 2> columns{};
  matrix_follows_formula<any_matrix>(3, 2, rule, [&](long double t, wide_numbers& p, const wide_numbers& g, wide_numbers& v) {
    const long double share = 1 / std::sqrt(t);
    for (std::size_t i = 0; i < 3; ++i) rows[i] += share * ((g[2 * i] * g[2 * i] + g[2 * i + 1] * g[2 * i + 1]) / 2 - rows[i]);
    for (std::size_t j = 0; j < 2; ++j) columns[j] += share * ((g[j] * g[j] + g[2 + j] * g[2 + j] + g[4 + j] * g[4 + j]) / 3 - columns[j]);
    for (std::size_t i = 0; i < 6; ++i) v[i] = rows[i / 2] * columns[i % 2] / std::max((rows[0] + rows[1] + rows[2]) / 3, eps);
    move(t, p, g, v);
  });
  rules::follows_formula("adafactor", rule, [&](long double t, auto& p, auto& g, auto& state) {
    for (std::size_t i = 0; i < 5; ++i) state[0][i] += 1 / std::sqrt(t) * (g[i] * g[i] - state[0][i]);
    move(t, p, g, state[0]);
  });
}

TEST_CASE("lars follows its paper's formula, and is momentum where a norm is 0") {
  rules::follows_formula("lars", ebb::lars{.lr = 2, .weight_decay = 0.25, .trust = 0.125}, [](long double, auto& p, auto& g, auto& state) {
    long double length = 0, steepness = 0;
    for (std::size_t i = 0; i < 5; ++i) length += p[i] * p[i], steepness += g[i] * g[i];
    const long double ratio = 0.125L * std::sqrt(length) / (std::sqrt(steepness) + 0.25L * std::sqrt(length));
    for (std::size_t i = 0; i < 5; ++i) {
      state[0][i] = 0.9L * state[0][i] + 2 * ratio * (g[i] + 0.25L * p[i]);
      p[i] -= state[0][i];
    }
  });
  rules::weights p(rules::row{0, 0});
  ebb::optimizer opt(ebb::lars{.lr = 0.5}, p);
  p.set_grad(rules::row{2, -1});
  opt.step();
  CHECK((p.data()[0] == -1 && p.data()[1] == 0.5));
}

TEST_CASE("rules of whole parameters are the same in steps, hooks and captured backwards, and after loading") {
  rules::is_the_same_everywhere("lars", ebb::lars{});
  rules::is_the_same_everywhere("adafactor", ebb::adafactor{});
  std::array<any_matrix::tensor_type, 2> ends;
  for (const bool captured : {false, true}) {
    auto p = matrix_of<any_matrix>(3, 2, [](std::size_t i) { return first_weights[i]; });
    ebb::optimizer opt(ebb::muon{}, p);
    const auto handles = opt.step_in_backward();
    for (std::size_t t = 1; t <= 4; ++t) {
      const auto g = matrix_of<any_matrix>(3, 2, [t](std::size_t i) { return gradient_at(t, i); }).value();
      ebb::backward(ebb::sum(p * g), {.compiled_autograd = captured});
    }
    ends[captured] = p.value();
  }
  CHECK(ebb::same_bits(ends[0], ends[1]));
}

TEST_CASE("hyperparameters of lars, adafactor and muon are checked") {
  const auto says = [](const auto& rule, const char* part) { return test::says(rules::refusal_of(rule), {part}); };
  CHECK(says(ebb::lars{.lr = -1}, "lars: lr and trust must not be negative"));
  CHECK(says(ebb::lars{.momentum = -1}, "lars: momentum and weight_decay must not be negative"));
  CHECK(says(ebb::adafactor{.weight_decay = -1}, "adafactor: lr, weight_decay and least_size must not be negative"));
  CHECK(says(ebb::adafactor{.decay = 0.5}, "adafactor: decay must not be positive"));
  CHECK(says(ebb::adafactor{.most = 0}, "adafactor: most must be positive"));
  auto p = matrix_of<any_matrix>(3, 2, [](std::size_t) { return 0.0; });
  const auto refusal = [&](const ebb::muon& rule) { return test::raised([&] { ebb::optimizer(rule, p); }); };
  CHECK(test::says(refusal({.lr = -1}), {"muon: lr and weight_decay must not be negative"}));
  CHECK(test::says(refusal({.momentum = 1}), {"muon: momentum must be at least 0 and below 1"}));
  CHECK(test::says(refusal({.eps = 0}), {"muon: eps must be positive"}));
}

}  // namespace
