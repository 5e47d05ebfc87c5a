// test/nn/attention_masks.cpp — attention with masks, shared heads and dropout: recorded values, the reference's bits, long double, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: attention.hpp attention_op.hpp attend.hpp
#include "../op/golden.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <optional>

namespace {

using ebb::dyn;
constexpr ebb::attention shares{.group = 2};

TEST_CASE("attention with masks and with shared heads has PyTorch's recorded values and gradients") {
  using any = golden::of<golden::real, dyn, dyn, dyn, dyn>;
  constexpr golden::bounds attended{.value = 16, .grad = 32, .second = 64, .grad_floor = 1, .second_floor = 1, .spread = true};
  const auto masked = [](auto q, auto k, auto v, auto m) { return ebb::scaled_dot_product_attention(q, k, v, m); };
  using seen = golden::of<bool, dyn, dyn>;
  golden::check_wide<any, any, any, seen>("attention", "attention_mask", masked, attended);
  golden::check_wide<any, any, any, seen>("attention", "attention_empty_row", masked, attended);
  golden::check_wide<any, any, any, golden::of<golden::real, dyn, dyn>>("attention", "attention_additive", masked, attended);
  const auto grouped = [](auto q, auto k, auto v) { return ebb::scaled_dot_product_attention<shares>(q, k, v); };
  golden::check_wide<any, any, any>("attention", "attention_grouped", grouped, attended);
}

/// Arrays of attention, with all that may be left out. The numbers of a key are those of [note: keys in traced functions].
struct masked_call {
  std::size_t heads = 2, l = 5, s = 3, d = 2, e = 4;
  int group = 1;
  bool causal = false;
  std::optional<ebb::extent_list> mask{};  // its extents
  std::optional<double> p{};
  static constexpr std::uint64_t key = 0xfedc'ba98'7654'3210u;

  std::vector<float> values_of(std::uint64_t seed, std::size_t n) const {
    std::vector<float> r(n);
    const auto x = test::random_array<ebb::tensor<float, dyn>>(seed, n);
    std::copy_n(x.data(), n, r.begin());
    return r;
  }
  /// Of each row, some columns cannot be seen; the first head's row 1 sees none of the first block, and row 2 nothing.
  std::vector<float> mask_values() const {
    std::vector<float> m = values_of(9, mask->volume());
    const std::size_t columns = mask->e[2];
    for (std::size_t i = 0; i < m.size(); ++i) {
      const std::size_t row = i / columns, column = i % columns;
      if (i % 7 == 3 || (row == 1 && column < 64) || row == 2) m[i] = -HUGE_VALF;
      else if (row == 1) m[i] -= 128;  // e^-128 is 0 in float, and the rounding of such scores 8e-6
    }
    return m;
  }
  std::vector<float> noise() const {
    std::vector<float> n;
    for (int i = 0; i < 4; ++i) n.push_back(static_cast<float>(key >> 16 * i & 65535));
    n.push_back(static_cast<float>(*p));
    return n;
  }

  /// The result of Op, whose bits are compared with its reference.
  template <class Op>
  std::vector<float> run(int by, const std::vector<std::vector<float>>& in, const std::vector<ebb::extent_list>& shapes,
                         const ebb::extent_list& out, bool together = false) const {
    const auto attr = ebb::detail::attention_attributes{causal, mask.has_value(), p.has_value(), by, group, 0, together}.packed();
    const std::int64_t packed[] = {attr.a, attr.b};
    std::vector<const void*> data;
    std::vector<std::vector<ebb::cell>> cells;
    std::vector<const ebb::cell*> given;
    for (const auto& x : in) {
      data.push_back(x.data());
      cells.emplace_back();
      for (const float v : x) cells.back().push_back(ebb::to_cell(v));
    }
    for (const auto& x : cells) given.push_back(x.data());
    std::vector<float> r(out.volume(), -77), wanted(out.volume());
    ebb::whole_call c;
    c.attr = packed;
    c.count = static_cast<int>(in.size());
    c.in = data.data();
    c.shapes = shapes.data();
    c.out = r.data();
    c.result = out;
    ebb::info<Op, float>.kernels.whole(c);
    std::vector<ebb::cell> result(out.volume());
    ebb::info<Op, float>.reference({shapes.data(), out, packed}, given.data(), result.data());
    for (std::size_t i = 0; i < result.size(); ++i) wanted[i] = ebb::from_cell<float>(result[i]);
    INFO("gradient by " << by);
    CHECK(test::same_bits(r, wanted));
    return r;
  }

  void check() const {
    const std::size_t shared = heads / static_cast<std::size_t>(group);
    std::vector<ebb::extent_list> shapes{{3, {heads, l, d}}, {3, {shared, s, d}}, {3, {shared, s, e}}};
    std::vector<std::vector<float>> in;
    for (const auto& x : shapes) in.push_back(values_of(in.size() + 1, x.volume()));
    const auto q = in[0], k = in[1], v = in[2], m = mask ? mask_values() : std::vector<float>();
    const auto with_changes = [&] {
      if (mask) in.push_back(m), shapes.push_back(*mask);
      if (p) in.push_back(noise()), shapes.push_back({1, {5}});
    };
    with_changes();
    const auto y = run<ebb::op::attend>(0, in, shapes, {3, {heads, l, e + 1}});
    const auto kept = p ? ebb::bernoulli<dyn>(ebb::random_key(key), heads * l * s, *p) : ebb::tensor<bool, dyn>(heads * l * s);
    const auto mask_of = [&](std::size_t h, std::size_t i, std::size_t j) -> long double {
      if (!mask) return 0;
      const auto& n = mask->e;
      return m[((n[0] == 1 ? 0 : h) * n[1] + (n[1] == 1 ? 0 : i)) * n[2] + (n[2] == 1 ? 0 : j)];
    };
    // Gradients: g has the gradient of the result, the logarithms, and the sums of gradient times result.
    auto g = values_of(4, heads * l * (e + 2));
    std::vector<long double> by_v(v.size());
    std::vector<long double> by_mask(m.size());
    std::size_t wrong = 0;
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < l; ++i) {
        const std::size_t of_k = h / static_cast<std::size_t>(group);
        std::vector<long double> scores, sums(e);
        long double total = 0;
        for (std::size_t j = 0; j < (causal ? std::min(s, i + 1) : s); ++j) {
          long double score = 0;
          for (std::size_t t = 0; t < d; ++t) score += static_cast<long double>(q[(h * l + i) * d + t]) * k[(of_k * s + j) * d + t];
          scores.push_back(score / std::sqrt(static_cast<long double>(d)) + mask_of(h, i, j));
          total += std::exp(scores.back());
        }
        const auto scale_of = [&](std::size_t j) -> long double {
          return !p ? 1 : kept.data()[(h * l + i) * s + j] ? 0 : 1 / (1 - static_cast<long double>(static_cast<float>(*p)));
        };
        float* const row = g.data() + (h * l + i) * (e + 2);
        row[e] = y[(h * l + i) * (e + 1) + e];
        long double less = 0;
        for (std::size_t j = 0; j < scores.size() && total > 0; ++j)
          for (std::size_t t = 0; t < e; ++t) {
            const long double part = std::exp(scores[j]) / total * scale_of(j);
            sums[t] += part * v[(of_k * s + j) * e + t];
            by_v[(of_k * s + j) * e + t] += part * row[t];
          }
        for (std::size_t t = 0; t < e; ++t) {
          const float got = y[(h * l + i) * (e + 1) + t];
          wrong += !(std::fabs(got - sums[t]) <= (mask ? 6e-5L : 4e-6L));
          less += row[t] * sums[t];
        }
        row[e + 1] = static_cast<float>(less);
        const long double sum = std::log(total);
        wrong += total > 0 ? !(std::fabs(row[e] - sum) <= 1e-6L * std::max(1.0L, std::fabs(sum))) : row[e] != -HUGE_VALF;
        for (std::size_t j = 0; j < scores.size() && total > 0 && mask; ++j) {
          long double slope = 0;
          for (std::size_t t = 0; t < e; ++t) slope += static_cast<long double>(row[t]) * v[(of_k * s + j) * e + t];
          const auto& n = mask->e;
          const std::size_t at = ((n[0] == 1 ? 0 : h) * n[1] + (n[1] == 1 ? 0 : i)) * n[2] + (n[2] == 1 ? 0 : j);
          by_mask[at] += std::exp(scores[j]) / total * (slope * scale_of(j) - less);
        }
      }
    CHECK(wrong == 0);
    in.resize(3), shapes.resize(3);
    in.push_back(g), shapes.push_back({3, {heads, l, e + 2}});
    with_changes();
    const auto of_q = run<ebb::op::attend_back>(0, in, shapes, shapes[0]);
    const auto of_k = run<ebb::op::attend_back>(1, in, shapes, shapes[1]);
    const auto of_v = run<ebb::op::attend_back>(2, in, shapes, shapes[2]);
    if (l == s && group == 1) {
      std::vector<float> joined;
      for (std::size_t i = 0; i < heads * l; ++i)
        for (const auto& [x, width] : {std::pair(&of_q, d), std::pair(&of_k, d), std::pair(&of_v, e)})
          joined.insert(joined.end(), x->data() + i * width, x->data() + (i + 1) * width);
      CHECK(test::same_bits(run<ebb::op::attend_back>(0, in, shapes, {3, {heads, l, 2 * d + e}}, true), joined));
    }
    std::size_t wrong_gradients = 0;
    for (std::size_t i = 0; i < of_v.size(); ++i) wrong_gradients += !(std::fabs(of_v[i] - by_v[i]) <= 1e-4L);
    if (mask) {
      const auto of_mask = run<ebb::op::attend_back>(3, in, shapes, *mask);
      for (std::size_t i = 0; i < m.size(); ++i) wrong_gradients += !(std::fabs(of_mask[i] - by_mask[i]) <= 1e-3L);
    }
    CHECK(wrong_gradients == 0);
  }
};

TEST_CASE("attention with masks, shared heads and dropout has the reference's bits, and the values of all scores in long double") {
  using ebb::extent_list;
  const masked_call calls[] = {
      {.mask = extent_list{3, {2, 5, 3}}},
      {.l = 70, .s = 130, .d = 5, .e = 7, .mask = extent_list{3, {2, 70, 130}}},
      {.l = 70, .s = 130, .d = 5, .e = 7, .mask = extent_list{3, {1, 70, 130}}, .p = 0.25},
      {.l = 70, .s = 130, .mask = extent_list{3, {2, 1, 130}}, .p = 0.5},
      {.l = 66, .s = 67, .causal = true, .mask = extent_list{3, {1, 66, 1}}},
      {.l = 66, .s = 67, .mask = extent_list{3, {1, 1, 1}}},
      {.heads = 6, .l = 66, .s = 67, .group = 3, .causal = true, .mask = extent_list{3, {6, 66, 67}}, .p = 0.125},
      {.heads = 4, .l = 3, .s = 70, .group = 2},
      {.l = 66, .s = 70, .p = 0.75},
      {.l = 70, .s = 70, .d = 5, .e = 5, .causal = true, .mask = extent_list{3, {2, 70, 70}}, .p = 0.25},
      {.heads = 3, .l = 130, .s = 130, .d = 4, .e = 4, .p = 0.5},
      {.l = 3, .s = 0, .mask = extent_list{3, {2, 3, 0}}, .p = 0.5},
      {.l = 2, .s = 3, .p = 1},
  };
  for (const masked_call& c : calls) {
    INFO(c.heads << " heads, " << c.l << " rows, " << c.s << " columns, group " << c.group);
    c.check();
  }
}

template <auto F>
constexpr auto squares_of_gradients = [](auto a, auto b, auto c, auto d, auto n) {
  const auto [x, y, z, w] = ebb::grad<0, 1, 2, 3>(F)(a, b, c, d, n);
  return ebb::sum(ebb::square(x)) + ebb::sum(ebb::square(y)) + ebb::sum(ebb::square(z)) + ebb::sum(ebb::square(w));
};

TEST_CASE("derivatives of attention with all options are those of the composed form, twice") {
  using array = ebb::tensor<double, dyn, dyn, dyn>;
  const auto q = test::random_array<array>(1, 4, 3, 2), k = test::random_array<array>(2, 2, 5, 2),
             v = test::random_array<array>(3, 2, 5, 3);
  const auto m = test::random_array<ebb::tensor<double, 1, dyn, dyn>>(4, 3, 5);
  const ebb::tensor<std::int64_t> key(-12345678901);
  constexpr auto f = [](auto a, auto b, auto c, auto d, auto n) {
    constexpr ebb::attention all{.causal = true, .scale = 0.5, .group = 2, .dropout = 0.25};
    return ebb::sum(ebb::square(ebb::scaled_dot_product_attention<all>(a, b, c, d, n)));
  };
  constexpr auto composed = [](auto a, auto b, auto c, auto d, auto n) {
    const auto scores = ebb::matmul(a, ebb::transpose<0, 2, 1>(ebb::repeat_interleave<0, 2>(b))) * 0.5 + d;
    const auto seen = ebb::where(ebb::arange_like<-1>(scores) <= ebb::arange_like<-2>(scores), scores, -HUGE_VAL);
    return ebb::sum(ebb::square(ebb::matmul(ebb::dropout(ebb::softmax(seen), 0.25, n), ebb::repeat_interleave<0, 2>(c))));
  };
  const auto same = [](const auto& x, const auto& y) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += !(std::fabs(x.data()[i] - y.data()[i]) <= 1e-12);
    CHECK(wrong == 0);
  };
  const auto first = ebb::grad<0, 1, 2, 3>(f)(q, k, v, m, key), want = ebb::grad<0, 1, 2, 3>(composed)(q, k, v, m, key);
  const auto second = ebb::grad<0, 1, 2, 3>(squares_of_gradients<f>)(q, k, v, m, key);
  const auto want_second = ebb::grad<0, 1, 2, 3>(squares_of_gradients<composed>)(q, k, v, m, key);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (same(std::get<I>(first), std::get<I>(want)), ...);
    (same(std::get<I>(second), std::get<I>(want_second)), ...);
  }(std::make_index_sequence<4>{});
}

TEST_CASE("attention with masks in maps, with narrow floats, and refused") {
  using array = ebb::tensor<float, dyn, dyn, dyn>;
  const auto q = test::random_array<array>(1, 2, 4, 3), k = test::random_array<array>(2, 2, 5, 3),
             v = test::random_array<array>(3, 2, 5, 6);
  const auto m = test::random_array<ebb::tensor<float, 1, dyn>>(4, 5);
  const auto seen = m > -0.5f;
  const auto f = [](auto a, auto b, auto c, auto d) { return ebb::scaled_dot_product_attention(a, b, c, d); };
  const auto y = f(q, k, v, seen);
  CHECK(test::same_bits(ebb::map(f, q, k, v, ebb::whole(seen)), y));
  const auto low = f(ebb::cast<ebb::bf16>(q), ebb::cast<ebb::bf16>(k), ebb::cast<ebb::bf16>(v), seen);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(low.data()[0])>, ebb::bf16>);
  CHECK(std::fabs(static_cast<float>(low(1, 2, 3)) - y(1, 2, 3)) < 0.02f);
  CHECK(test::says(test::raised([&] { f(q, k, v, ebb::tensor<float, dyn, dyn>(4, 6)); }), {"ebb::scaled_dot_product_attention", "[4, 6]"}));
}

}  // namespace
