// test/op/reduce.cpp — reductions over axes: sums, means, extrema and their positions, logsumexp.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/graph/print.hpp>

namespace {

using golden::of;
using golden::real;
using matrix = of<real, 3, 4>;

/// Checks f on the recorded matrix, with static and with dyn extents.
const auto both = [](const char* name, auto f, golden::bounds b = {}) {
  golden::check<matrix>("reductions", name, f, b);
  golden::check<of<real, ebb::dyn, ebb::dyn>>("reductions", name, f, b);
};
// Elements that are not the largest get 0, where PyTorch multiplies by 0: the sign is not compared.
const golden::bounds exact{.value = 0, .grad = 0, .sign_is_open = true}, summed{.value = 2, .grad = 2, .spread = true};

TEST_CASE("sums and means give PyTorch's recorded values") {
  both("sum_all", [](auto x) { return ebb::sum(x); }, summed);
  both("sum_axis_0", [](auto x) { return ebb::sum<0>(x); }, summed);
  both("sum_axis_1", [](auto x) { return ebb::sum<1>(x); }, summed);
  both("sum_axis_0_1", [](auto x) { return ebb::sum<0, 1>(x); }, summed);
  both("sum_keepdim", [](auto x) { return ebb::sum<1>(x, ebb::keep_dims); }, summed);
  both("sum_negative_axis", [](auto x) { return ebb::sum<-1>(x); }, summed);
  both("mean_all", [](auto x) { return ebb::mean(x); }, summed);
  both("mean_axis_0", [](auto x) { return ebb::mean<0>(x); }, summed);
  both("mean_axis_1", [](auto x) { return ebb::mean<1>(x); }, summed);
  both("mean_axis_0_1", [](auto x) { return ebb::mean<0, 1>(x); }, summed);
  both("mean_keepdim", [](auto x) { return ebb::mean<1>(x, ebb::keep_dims); }, summed);
  both("mean_negative_axis", [](auto x) { return ebb::mean<-1>(x); }, summed);
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    using any_matrix = of<real, ebb::dyn, 4>;
    golden::check<any_matrix>("reductions", std::string("sum_") + points, [](auto x) { return ebb::sum<1>(x); }, summed);
    golden::check<any_matrix>("reductions", std::string("mean_") + points, [](auto x) { return ebb::mean<1>(x); }, summed);
  }
  golden::check<of<real, 4>>("reductions", "sum_cancel", [](auto x) { return ebb::sum(x); }, exact);
  golden::check<of<real, 257>>("reductions", "sum_long", [](auto x) { return ebb::sum(x); }, {.value = 16, .grad = 0});
  golden::check<of<real, ebb::dyn>>("reductions", "mean_long", [](auto x) { return ebb::mean(x); }, {.value = 16, .grad = 1});
}

TEST_CASE("extrema over axes give PyTorch's recorded values, and ties share the gradient") {
  both("amax_axis_0", [](auto x) { return ebb::max<0>(x); }, exact);
  both("amax_axis_1", [](auto x) { return ebb::max<1>(x); }, exact);
  both("amax_axis_0_1", [](auto x) { return ebb::max<0, 1>(x); }, exact);
  both("amax_keepdim", [](auto x) { return ebb::max<1>(x, ebb::keep_dims); }, exact);
  both("amax_negative_axis", [](auto x) { return ebb::max<-1>(x); }, exact);
  both("amin_axis_0", [](auto x) { return ebb::min<0>(x); }, exact);
  both("amin_axis_1", [](auto x) { return ebb::min<1>(x); }, exact);
  both("amin_axis_0_1", [](auto x) { return ebb::min<0, 1>(x); }, exact);
  both("amin_keepdim", [](auto x) { return ebb::min<1>(x, ebb::keep_dims); }, exact);
  both("amin_negative_axis", [](auto x) { return ebb::min<-1>(x); }, exact);
  both("max_axis_0", [](auto x) { return ebb::max<0>(x); }, exact);
  both("max_axis_1", [](auto x) { return ebb::max<1>(x); }, exact);
  both("min_axis_0", [](auto x) { return ebb::min<0>(x); }, exact);
  both("min_axis_1", [](auto x) { return ebb::min<1>(x); }, exact);
  both("max_all", [](auto x) { return ebb::max(x); }, exact);
  both("min_all", [](auto x) { return ebb::min(x); }, exact);

  // If the largest is NaN, PyTorch's gradient of amax is NaN and that of max goes to the NaN: ours goes to the NaN in both. In the third
  // row of "ties" both 0 and -0 are the largest: the order of the reduction decides which of them is the result.
  const golden::bounds open{.value = 0, .grad = 1, .sign_is_open = true, .nan_is_open = "grad"};
  const golden::bounds of_ties{.value = 0, .grad = 1, .sign_is_open = true, .value_sign_is_open = true};
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    using any_matrix = of<real, ebb::dyn, 4>;
    const std::string name = points;
    const bool ties = name == "ties";
    golden::check<any_matrix>("reductions", "amax_" + name, [](auto x) { return ebb::max<1>(x); }, ties ? of_ties : open);
    golden::check<any_matrix>("reductions", "amin_" + name, [](auto x) { return ebb::min<1>(x); }, open);
    golden::check<any_matrix>("reductions", "max_all_" + name, [](auto x) { return ebb::max(x); }, {.grad = 1});
    golden::check<any_matrix>("reductions", "min_all_" + name, [](auto x) { return ebb::min(x); }, {.grad = 1});
    golden::check<any_matrix>("reductions", "argmax_" + name, [](auto x) { return std::tuple(ebb::argmax<1>(x), ebb::argmin<1>(x)); });
    // Values and positions. The gradient of torch.max along an axis goes to the position it returns, that of ebb::max to all ties.
    golden::check<any_matrix>("reductions", "max_" + name, [](auto x) { return std::tuple(ebb::max<1>(x), ebb::argmax<1>(x)); },
                              {.grad = -1, .value_sign_is_open = ties});
    golden::check<any_matrix>("reductions", "min_" + name, [](auto x) { return std::tuple(ebb::min<1>(x), ebb::argmin<1>(x)); },
                              {.grad = -1});
  }
}

TEST_CASE("ties in several axes share evenly, also in axes that are not neighbours") {
  // 2 x 2 x 2 elements, the largest three times: twice in the first plane along axis 0, once in the second.
  const auto f = [](auto x) { return ebb::max<0, 2>(x); };
  ebb::graph g = ebb::joint(ebb::trace_of<decltype(f), ebb::term<float, 2, 2, 2>>::make(), {0});
  ebb::cell_array x, seed;
  for (float v : {5.f, 5.f, 1.f, 2.f, 5.f, 3.f, 0.f, 4.f}) x.push(ebb::to_cell(v));
  for (float v : {3.f, 7.f}) seed.push(ebb::to_cell(v));
  const auto out = ebb::evaluate(g, {x, seed}, {});
  const float largest[] = {5, 4}, gradient[] = {1, 1, 0, 0, 1, 0, 0, 7};
  for (int i = 0; i < 2; ++i) CHECK(ebb::from_cell<float>(out[0][i]) == largest[i]);
  for (int i = 0; i < 8; ++i) CHECK(ebb::from_cell<float>(out[1][i]) == gradient[i]);
}

TEST_CASE("NaNs share the gradient if the result is NaN") {
  // torch.max over all elements: 1/2, 0, 1/2. torch.amax: NaN in all three. Infinities count as ordinary numbers.
  const auto check = [](auto f, std::vector<float> x, std::vector<float> want) {
    ebb::graph g = ebb::joint(ebb::trace_of<decltype(f), ebb::term<float, ebb::dyn>>::make(), {0});
    ebb::extent_list n;
    n.rank = 1;
    n.e[0] = x.size();
    ebb::cell_array cells;
    for (float v : x) cells.push(ebb::to_cell(v));
    const auto out = ebb::evaluate(g, {cells, {ebb::to_cell(1.f)}}, ebb::symbol_values(g, {n}));
    for (int i = 0; i < cells.size(); ++i) CHECK(ebb::from_cell<float>(out[1][i]) == want[static_cast<std::size_t>(i)]);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto largest = [](auto x) { return ebb::max<0>(x); };
  const auto smallest = [](auto x) { return ebb::min<0>(x); };
  check(largest, {nan, 3, nan}, {0.5f, 0, 0.5f});
  check(smallest, {nan, 3, nan}, {0.5f, 0, 0.5f});
  check(largest, {-inf, nan, inf, 1}, {0, 1, 0, 0});
  check(smallest, {-inf, nan, inf, 1}, {0, 1, 0, 0});
  check(largest, {inf, -inf, inf, 1}, {0.5f, 0, 0.5f, 0});
  check(smallest, {-inf, -inf, inf, 1}, {0.5f, 0.5f, 0, 0});
}

TEST_CASE("products give PyTorch's recorded values, at and beside zeros, infinities and NaNs too") {
  const golden::bounds b{.value = 4, .grad = 8, .sign_is_open = true, .value_sign_is_open = true};
  both("prod_axis_0", [](auto x) { return ebb::prod<0>(x); }, b);
  both("prod_axis_1", [](auto x) { return ebb::prod<1>(x); }, b);
  both("prod_all", [](auto x) { return ebb::prod(x); }, {.value = 16, .grad = 16});
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    using any_matrix = of<real, ebb::dyn, 4>;
    golden::check<any_matrix>("reductions", std::string("prod_") + points, [](auto x) { return ebb::prod<1>(x); }, b);
    golden::check<any_matrix>("reductions", std::string("prod_all_") + points, [](auto x) { return ebb::prod(x); }, b);
  }
  golden::check<of<real, 3, 0>>("reductions", "empty_prod", [](auto x) { return ebb::prod<1>(x); });
}

TEST_CASE("the gradient of a product with respect to an element is the product of the others") {
  // By definition, in long double, for all rows of three of these numbers; at finite points also a second derivative without infinities.
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.f, -0.f, 1.5f, -2.f, inf, -inf, nan};
  constexpr int count = 7;
  const auto f = [](auto x) { return ebb::prod<1>(x); };
  const ebb::graph g = ebb::joint(ebb::trace_of<decltype(f), ebb::term<float, ebb::dyn, 3>>::make(), {0});
  ebb::cell_array x, seed;
  for (int i = 0; i < count * count * count; ++i) {
    for (int j : {i % count, i / count % count, i / count / count}) x.push(ebb::to_cell(values[j]));
    seed.push(ebb::to_cell(1.f));
  }
  ebb::extent_list n;
  n.rank = 2;
  n.e[0] = count * count * count;
  n.e[1] = 3;
  const auto out = ebb::evaluate(g, {x, seed}, ebb::symbol_values(g, {n}));
  for (int i = 0; i < x.size(); ++i) {
    const auto at = [&](int k) { return ebb::from_cell<float>(x[i / 3 * 3 + k % 3]); };
    const float own = at(i), got = ebb::from_cell<float>(out[1][i]);
    const float want = static_cast<float>(static_cast<long double>(at(i + 1)) * at(i + 2));
    INFO(own << " beside " << at(i + 1) << ", " << at(i + 2) << ": " << got << ", not " << want);
    const bool left_out = std::isnan(own) && (std::isinf(at(i + 1)) || std::isinf(at(i + 2)));
    CHECK((got == want || (std::isnan(got) && (std::isnan(want) || left_out))));
  }

  ebb::graph h = ebb::joint(ebb::trace_of<decltype(f), ebb::term<double, ebb::dyn, 3>>::make(), {0});
  const int ones = h.op(h.out[1]).kit->literal(h, h.eq[h.out[1]].shape, 1);
  h.out = {ebb::or_zeros(h, ebb::pull_back(h, {h.input(0)}, {h.out[1]}, {ones})[0], h.input(0))};
  const double rows[] = {1.5, -2, 3, 0, -2, 3, 0, -0., 3, 0, 0, 0};
  ebb::cell_array points, seeds(4, ebb::to_cell(1.));
  for (double v : rows) points.push(ebb::to_cell(v));
  n.e[0] = 4;
  const auto second = ebb::evaluate(ebb::prune(h), {points, seeds}, ebb::symbol_values(h, {n}));
  for (int i = 0; i < 12; ++i)  // ab + bc + ca with respect to a: b + c
    CHECK(ebb::from_cell<double>(second[0][i]) == rows[i / 3 * 3 + (i + 1) % 3] + rows[i / 3 * 3 + (i + 2) % 3]);
}

TEST_CASE("argmax, argmin, any and all give PyTorch's recorded values") {
  both("argmax_axis_0", [](auto x) { return ebb::argmax<0>(x); });
  both("argmax_axis_1", [](auto x) { return ebb::argmax<1>(x); });
  both("argmin_axis_0", [](auto x) { return ebb::argmin<0>(x); });
  both("argmin_axis_1", [](auto x) { return ebb::argmin<1>(x); });
  both("any_all", [](auto x) { return std::tuple(ebb::any<0>(x > 1), ebb::all<0>(x > -2)); });
}

TEST_CASE("logsumexp gives PyTorch's recorded values") {
  const golden::bounds b{.value = 4, .grad = 4, .spread = true};
  both("logsumexp_axis_0", [](auto x) { return ebb::logsumexp<0>(x); }, b);
  both("logsumexp_axis_1", [](auto x) { return ebb::logsumexp<1>(x); }, b);
  both("logsumexp_axis_0_1", [](auto x) { return ebb::logsumexp<0, 1>(x); }, b);
  both("logsumexp_keepdim", [](auto x) { return ebb::logsumexp<1>(x, ebb::keep_dims); }, b);
  both("logsumexp_negative_axis", [](auto x) { return ebb::logsumexp<-1>(x); }, b);
  for (const char* points : {"zeros", "ties", "nonfinite"})
    golden::check<of<real, ebb::dyn, 4>>("reductions", std::string("logsumexp_") + points, [](auto x) { return ebb::logsumexp<1>(x); }, b);
  // PyTorch's gradient is exp(x - out): the rounding of out, 1001, is in its argument. Ours is exp(x - max) over its sum.
  golden::check<of<real, 4>>("reductions", "logsumexp_large", [](auto x) { return ebb::logsumexp<0>(x); }, {.value = 1, .grad = 1024});
  golden::check<golden::any_vector>("composite", "gradient_logsumexp", [](auto x) { return ebb::logsumexp<0>(2 * x); }, b);
}

TEST_CASE("a mean counts the elements of each dyn axis, not all elements") {
  const auto f = [](auto x) { return ebb::mean(x); };
  CHECK(ebb::to_string(ebb::trace_of<decltype(f), ebb::term<float, ebb::dyn, 50, ebb::dyn>>::make()) ==
        "a = input 0 : f32[n, 50, m]\nb = sum a over 0 1 2 : f32\nc = sum 1.0 over 0 : f32\nd = mul 50.0 c : f32\n"
        "e = sum 1.0 over 0 : f32\nf = mul d e : f32\ng = div b f : f32\nreturn g\n");
}

TEST_CASE("reductions take arrays without elements") {
  using none = of<real, 3, 0>;
  golden::check<none>("reductions", "empty_sum", [](auto x) { return ebb::sum<1>(x); });
  golden::check<none>("reductions", "empty_mean", [](auto x) { return ebb::mean<1>(x); });
  golden::check<none>("reductions", "empty_logsumexp", [](auto x) { return ebb::logsumexp<1>(x); });
  golden::check<of<real, 3, ebb::dyn>>("reductions", "empty_mean", [](auto x) { return ebb::mean<1>(x); });
}

}  // namespace
