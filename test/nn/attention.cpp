// test/nn/attention.cpp — attention: recorded values and second derivatives, the reference's bits across blocks, memory, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: attention.hpp attend.hpp
#include "../op/golden.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::attention, ebb::dyn;
using golden::of, golden::real;
// Some second derivatives vanish: what PyTorch recorded there is rounding.
constexpr golden::bounds attended{.value = 16, .grad = 32, .second = 64, .grad_floor = 1, .second_floor = 1, .spread = true};
template <attention A>
constexpr auto attend = [](auto q, auto k, auto v) { return ebb::scaled_dot_product_attention<A>(q, k, v); };
constexpr attention causal{.causal = true};

TEST_CASE("attention has PyTorch's recorded values, gradients and second derivatives") {
  using any = of<real, dyn, dyn, dyn, dyn>;
  golden::check_wide<any, any, any>("attention", "attention_plain", attend<attention{}>, attended);
  golden::check_wide<any, any, any>("attention", "attention_causal", attend<causal>, attended);
  golden::check_wide<any, any, any>("attention", "attention_scale", attend<attention{.scale = 0.7}>, attended);
  golden::check_wide<any, any, any>("attention", "attention_long", attend<causal>, attended);
  // Each row sees one column alone: its gradient is the rounding of a difference, times a key of several hundred.
  golden::bounds large = attended;
  large.grad_floor = 1000;
  golden::check_wide<any, any, any>("attention", "attention_large_logits", attend<attention{}>, large);
  using keys = of<real, 1, 2, 6, 3>;
  golden::check_wide<of<real, 1, 2, 4, 3>, keys, of<real, 1, 2, 6, 5>>("attention", "attention_plain", attend<attention{}>, attended);
}

using rows = ebb::tensor<float, dyn, dyn, dyn>;

/// Runs Op and its reference on the same arrays, and compares all bits.
template <class Op, int N>
std::vector<float> run_attention(const rows* const (&in)[N], const ebb::extent_list& out, std::int64_t flags) {
  const std::int64_t attr[] = {flags, 0};
  const void* data[N];
  ebb::extent_list shapes[N];
  std::vector<ebb::cell> cells[N];
  const ebb::cell* given[N];
  for (int j = 0; j < N; ++j) {
    data[j] = in[j]->data();
    shapes[j].rank = 3;
    for (int i = 0; i < 3; ++i) shapes[j].e[i] = in[j]->extent(i);
    for (std::size_t i = 0; i < in[j]->size(); ++i) cells[j].push_back(ebb::to_cell(in[j]->data()[i]));
    given[j] = cells[j].data();
  }
  std::vector<float> r(out.volume(), -77), wanted(out.volume());
  ebb::whole_call c;
  c.attr = attr;
  c.count = N;
  c.in = data;
  c.shapes = shapes;
  c.out = r.data();
  c.result = out;
  ebb::info<Op, float>.kernels.whole(c);
  std::vector<ebb::cell> result(out.volume());
  ebb::info<Op, float>.reference({shapes, out, attr}, given, result.data());
  for (std::size_t i = 0; i < result.size(); ++i) wanted[i] = ebb::from_cell<float>(result[i]);
  CHECK(test::same_bits(r, wanted));
  return r;
}

TEST_CASE("attention across blocks has the reference's bits, and the values of all scores in long double") {
  const std::size_t sizes[][4] = {{1, 1, 1, 1}, {5, 3, 2, 4}, {64, 64, 8, 8}, {65, 130, 33, 7}, {130, 70, 3, 40}, {3, 0, 2, 2},
                                 {130, 130, 16, 16}, {70, 70, 3, 5}};
  for (const auto& [l, s, d, e] : sizes)
    for (const bool sees_less : {false, true}) {
      INFO(l << " rows, " << s << " columns, causal " << sees_less);
      const rows q = test::random_array<rows>(1, 2u, l, d), k = test::random_array<rows>(2, 2u, s, d);
      const rows v = test::random_array<rows>(3, 2u, s, e), g = test::random_array<rows>(4, 2u, l, e + 2);
      const auto y = run_attention<ebb::op::attend, 3>({&q, &k, &v}, {3, {2, l, e + 1}}, sees_less);
      const auto by_q = run_attention<ebb::op::attend_back, 4>({&q, &k, &v, &g}, {3, {2, l, d}}, sees_less + 0);
      const auto by_k = run_attention<ebb::op::attend_back, 4>({&q, &k, &v, &g}, {3, {2, s, d}}, sees_less + 2);
      const auto by_v = run_attention<ebb::op::attend_back, 4>({&q, &k, &v, &g}, {3, {2, s, e}}, sees_less + 4);
      if (l == s) {
        const std::vector<float> three = run_attention<ebb::op::attend_back, 4>({&q, &k, &v, &g}, {3, {2, l, 2 * d + e}}, sees_less + 32);
        std::vector<float> joined;
        for (std::size_t i = 0; i < 2 * l; ++i)
          for (const auto& [x, width] : {std::pair(&by_q, d), std::pair(&by_k, d), std::pair(&by_v, e)})
            joined.insert(joined.end(), x->data() + i * width, x->data() + (i + 1) * width);
        CHECK(test::same_bits(three, joined));
      }
      std::size_t wrong = 0;
      for (std::size_t b = 0; b < 2; ++b)
        for (std::size_t i = 0; i < l; ++i) {
          std::vector<long double> sums(e);
          long double total = 0;
          for (std::size_t j = 0; j < (sees_less ? std::min(s, i + 1) : s); ++j) {
            long double score = 0;
            for (std::size_t p = 0; p < d; ++p) score += static_cast<long double>(q(b, i, p)) * k(b, j, p);
            const long double weight = std::exp(score / std::sqrt(static_cast<long double>(d)));
            total += weight;
            for (std::size_t p = 0; p < e; ++p) sums[p] += weight * v(b, j, p);
          }
          const float* const row = y.data() + (b * l + i) * (e + 1);
          for (std::size_t p = 0; p < e; ++p) wrong += !(std::fabs(row[p] - (total > 0 ? sums[p] / total : 0)) <= 2e-6L);
          wrong += s > 0 ? !(std::fabs(row[e] - std::log(total)) <= 2e-6L) : row[e] != -HUGE_VALF;
        }
      CHECK(wrong == 0);
    }
}

namespace {

constexpr auto of_attention = [](auto a, auto b, auto c) { return ebb::sum(ebb::square(ebb::scaled_dot_product_attention(a, b, c))); };
constexpr auto of_scores = [](auto a, auto b, auto c) {
  return ebb::sum(ebb::square(ebb::matmul(ebb::softmax(ebb::matmul(a, ebb::transpose<0, 2, 1>(b)) * 0.4472135954999579), c)));
};
constexpr auto slopes_of_attention = [](auto a, auto b, auto c) {
  const auto [x, y, z] = ebb::grad<0, 1, 2>(of_attention)(a, b, c);
  return ebb::sum(ebb::square(x)) + ebb::sum(x * y) + ebb::sum(ebb::exp(0.01 * z));
};
constexpr auto slopes_of_scores = [](auto a, auto b, auto c) {
  const auto [x, y, z] = ebb::grad<0, 1, 2>(of_scores)(a, b, c);
  return ebb::sum(ebb::square(x)) + ebb::sum(x * y) + ebb::sum(ebb::exp(0.01 * z));
};

/// The gradients of two functions by three arrays differ by at most that, relatively to the largest element.
void agree(auto f, auto wanted, float most, const auto&... x) {
  const auto got = ebb::grad<0, 1, 2>(f)(x...), want = ebb::grad<0, 1, 2>(wanted)(x...);
  const auto check = [&](const auto& g, const auto& w) {
    float largest = 1, differs = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      largest = std::max(largest, std::fabs(w.data()[i]));
      differs = std::max(differs, std::fabs(g.data()[i] - w.data()[i]));
    }
    CHECK(differs <= most * largest);
  };
  check(std::get<0>(got), std::get<0>(want));
  check(std::get<1>(got), std::get<1>(want));
  check(std::get<2>(got), std::get<2>(want));
}

}  // namespace

TEST_CASE("attention that is called: gradients of the composed form, maps, the tape, narrow floats, memory, errors") {
  const auto q = test::random_array<rows>(1, 2, 70, 5), k = test::random_array<rows>(2, 2, 90, 5);
  const auto v = test::random_array<rows>(3, 2, 90, 6);
  agree(of_attention, of_scores, 1e-5f, q, k, v);
  // Of equal shapes the gradients are one step.
  using equal = ebb::tensor<float, 2, 70, 5>;
  const auto a = test::random_array<equal>(4), b = test::random_array<equal>(5), c = test::random_array<equal>(6);
  const auto steps_of = [](auto f) {
    const ebb::graph g = ebb::joint(ebb::trace_of<decltype(f), equal, equal, equal>::make(), {0, 1, 2});
    int steps = 0;
    for (int e = 0; e < g.size(); ++e) steps += g.op(e).name == "attend_back";
    return steps;
  };
  CHECK(steps_of(of_attention) == 1);
  agree(of_attention, of_scores, 1e-5f, a, b, c);
  agree(slopes_of_attention, slopes_of_scores, 1e-4f, a, b, c);
  const auto [of_q, of_k, of_v] = ebb::grad<0, 1, 2>(of_attention)(q, k, v);
  for (const bool captured : {false, true}) {
    ebb::variable x(q), y(k), z(v);
    ebb::backward(of_attention(x, y, z), {.compiled_autograd = captured});
    CHECK(test::same_bits(x.grad().value(), of_q));
    CHECK(test::same_bits(y.grad().value(), of_k));
    CHECK(test::same_bits(z.grad().value(), of_v));
  }
  const auto y = ebb::scaled_dot_product_attention(q, k, v);
  CHECK(test::same_bits(ebb::map([](auto x, auto z, auto w) { return ebb::scaled_dot_product_attention(x, z, w); }, q, k, v), y));
  const auto low = ebb::scaled_dot_product_attention(ebb::cast<ebb::bfloat16>(q), ebb::cast<ebb::bfloat16>(k), ebb::cast<ebb::bfloat16>(v));
  CHECK(std::fabs(static_cast<float>(low(1, 2, 3)) - y(1, 2, 3)) < 0.01f);
  // 1 GB of scores: scratch stays below 200 kB, and no array of the gradient's program has a square.
  CHECK(ebb::kernel::attention_extents{16384, 16384, 64, 64}.scratch() * 4 < 200000);
  using long_rows = ebb::term<float, 16384, 64>;
  using function = std::remove_const_t<decltype(of_attention)>;
  const ebb::graph g = ebb::joint(ebb::trace_of<function, long_rows, long_rows, long_rows>::make(), {0, 1, 2});
  std::size_t largest = 0;
  for (int e = 0; e < g.size(); ++e) largest = std::max(largest, ebb::extents_at(g.shape_of(e), nullptr).volume() * 4);
  CHECK(largest == 16384 * 3 * 64 * 4);
  CHECK(test::says(test::raised([&] { ebb::scaled_dot_product_attention(q, v, v); }),
                   {"ebb::scaled_dot_product_attention", "[2, 70, 5]", "[2, 90, 6]"}));
}

}  // namespace
