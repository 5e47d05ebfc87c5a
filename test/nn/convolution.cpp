// test/nn/convolution.cpp — conv1d, conv2d, conv3d and their transposes: recorded values and derivatives, shapes.
// SPDX-License-Identifier: BSL-1.0
// covers: convolution.hpp sliding.hpp exec/own_cells.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::conv, ebb::dyn;
using golden::of, golden::real;
constexpr golden::bounds close{.value = 4, .grad = 16, .second = 32, .spread = true};

/// Compares with a block without a bias, or with one.
template <int Axes, bool Bias, class F>
void recorded(const std::string& name, F f) {
  using line = of<real, dyn, dyn, dyn>;
  using plane = of<real, dyn, dyn, dyn, dyn>;
  using space = of<real, dyn, dyn, dyn, dyn, dyn>;
  using array = std::conditional_t<Axes == 1, line, std::conditional_t<Axes == 2, plane, space>>;
  if constexpr (Bias) golden::check_wide<array, array, of<real, dyn>>("convolution", name, f, close);
  else golden::check_wide<array, array>("convolution", name, f, close);
}
template <conv G>
constexpr auto conv1 = [](auto x, auto... w) { return ebb::conv1d<G>(x, w...); };
template <conv G>
constexpr auto conv2 = [](auto x, auto... w) { return ebb::conv2d<G>(x, w...); };
template <conv G>
constexpr auto back1 = [](auto x, auto... w) { return ebb::conv_transpose1d<G>(x, w...); };
template <conv G>
constexpr auto back2 = [](auto x, auto... w) { return ebb::conv_transpose2d<G>(x, w...); };

TEST_CASE("convolutions have PyTorch's recorded values and derivatives") {
  recorded<1, true>("conv1d_plain", conv1<conv{}>);
  recorded<2, true>("conv2d_plain", conv2<conv{}>);
  recorded<1, true>("conv1d_stride_3", conv1<conv{.stride = 3}>);
  recorded<2, true>("conv2d_stride_3", conv2<conv{.stride = 3}>);
  recorded<1, true>("conv1d_pad_2", conv1<conv{.padding = 2}>);
  recorded<2, true>("conv2d_pad_2", conv2<conv{.padding = 2}>);
  recorded<1, true>("conv1d_dilation_3", conv1<conv{.dilation = 3}>);
  recorded<2, true>("conv2d_dilation_3", conv2<conv{.dilation = 3}>);
  recorded<1, true>("conv1d_all", conv1<conv{.stride = 2, .padding = 3, .dilation = 2}>);
  recorded<2, true>("conv2d_all", conv2<conv{.stride = 2, .padding = 3, .dilation = 2}>);
  recorded<2, false>("conv2d_groups", conv2<conv{.stride = 2, .padding = 1, .groups = 2}>);
  recorded<2, false>("conv2d_pairs", conv2<conv{.stride = {1, 2}, .padding = {1, 0}, .groups = 2}>);
  recorded<2, false>("conv2d_depthwise", conv2<conv{.padding = 1, .groups = 3}>);
  recorded<2, false>("conv2d_1x1", conv2<conv{}>);
  golden::check_wide<of<real, 2, 2, 8>, of<real, 3, 2, 3>, of<real, 3>>("convolution", "conv1d_plain", conv1<conv{}>, close);
  golden::check_wide<of<real, 1, 2, 8, 7>, of<real, 2, 2, 2, 3>, of<real, 2>>("convolution", "conv2d_all",
                                                                             conv2<conv{.stride = 2, .padding = 3, .dilation = 2}>, close);
}

constexpr conv all_options{.stride = {2, 1, 2}, .padding = {1, 0, 2}, .dilation = {1, 2, 1}, .groups = 2};
constexpr conv back_options{.stride = {2, 1, 2}, .padding = {1, 0, 1}, .groups = 2, .output_padding = {1, 0, 0}};

TEST_CASE("convolutions along three axes have PyTorch's recorded values, first and second derivatives") {
  recorded<3, true>("conv3d_plain", [](auto x, auto... w) { return ebb::conv3d(x, w...); });
  recorded<3, true>("conv3d_all", [](auto x, auto... w) { return ebb::conv3d<all_options>(x, w...); });
  recorded<3, false>("conv_transpose3d_all", [](auto x, auto w) { return ebb::conv_transpose3d<back_options>(x, w); });
  // Called with static extents: a plane that does not move is a conv2d.
  const auto x = test::random_array<ebb::tensor<float, 2, 1, 4, 5>>(1);
  const auto w = test::random_array<ebb::tensor<float, 3, 2, 1, 2, 3>>(2);
  const auto y = ebb::conv3d<conv{.padding = {0, 1, 1}}>(x, w);
  const auto plane = ebb::conv2d<conv{.padding = {1, 1}}>(ebb::reshape<1, 2, 4, 5>(x), ebb::reshape<3, 2, 2, 3>(w));
  CHECK(test::same_bits(y, ebb::reshape<3, 1, 5, 5>(plane)));
  CHECK(test::says(test::raised([] { ebb::conv3d(ebb::tensor<float, dyn, 1, 1, 1, 3>(1), ebb::tensor<float, 1, 1, 1, 1, dyn>(4)); }),
                   {"ebb::conv3d", "[1, 1, 1, 1, 4]"}));
}

TEST_CASE("padding that keeps the extents has PyTorch's recorded values: the odd one comes after the elements") {
  golden::check_wide<of<real, dyn, dyn, dyn>, of<real, dyn, dyn, 4>, of<real, dyn>>("convolution", "conv1d_same_even",
                                                                                 conv1<conv{.padding = ebb::same_padding}>, close);
  golden::check_wide<of<real, dyn, dyn, dyn, dyn>, of<real, dyn, dyn, 4, 3>, of<real, dyn>>(
      "convolution", "conv2d_same_even", conv2<conv{.padding = ebb::same_padding}>, close);
}

TEST_CASE("transposed convolutions have PyTorch's recorded values and derivatives") {
  recorded<1, true>("conv_transpose1d_plain", back1<conv{}>);
  recorded<2, false>("conv_transpose2d_plain", back2<conv{}>);
  recorded<1, true>("conv_transpose1d_stride", back1<conv{.stride = 2}>);
  recorded<2, false>("conv_transpose2d_stride", back2<conv{.stride = 2}>);
  recorded<1, true>("conv_transpose1d_output_padding", back1<conv{.stride = 3, .padding = 1, .output_padding = 2}>);
  recorded<2, false>("conv_transpose2d_output_padding", back2<conv{.stride = 3, .padding = 1, .output_padding = 2}>);
  recorded<1, true>("conv_transpose1d_odd", back1<conv{.stride = 2, .padding = 1, .output_padding = 1}>);
  recorded<1, true>("conv_transpose1d_dilation", back1<conv{.padding = 1, .dilation = 2}>);
  recorded<2, false>("conv_transpose2d_dilation", back2<conv{.padding = 1, .dilation = 2}>);
  recorded<1, true>("conv_transpose1d_groups", back1<conv{.stride = 2, .groups = 2}>);
  recorded<2, false>("conv_transpose2d_groups", back2<conv{.stride = 2, .groups = 2}>);
}

/// The graph of F on terms, its gradient by all arguments, and theirs again, are valid graphs.
template <class... Term>
void check_graphs(auto f) {
  const ebb::graph g = ebb::trace_of<decltype(f), Term...>::make();
  ebb::vec<int> all;
  for (int i = 0; i < g.inputs; ++i) all.push(i);
  const ebb::graph d = ebb::joint(g, all);
  CHECK_FALSE(ebb::first_error(g));
  CHECK_FALSE(ebb::first_error(d));
  CHECK_FALSE(ebb::first_error(ebb::prune(ebb::joint(d, all))));
}

TEST_CASE("an extent that a convolution keeps is the same extent, and a second one fits") {
  using plane = ebb::term<float, dyn, 3, dyn, dyn>;
  using kernel = ebb::term<float, 3, 3, 3, 3>;
  const auto block = [](auto x, auto w) {
    return x + ebb::conv2d<conv{.padding = 1}>(ebb::relu(ebb::conv2d<conv{.padding = ebb::same_padding}>(x, w)), w);
  };
  const ebb::graph g = ebb::trace_of<decltype(block), plane, kernel>::make();
  CHECK(ebb::same_shape(g.syms, g.shape_of(g.out[0]), g.shape_of(g.input(0))));
  check_graphs<plane, kernel>(block);
  check_graphs<ebb::term<float, 2, 3, 9, 8>, kernel>(conv2<conv{.stride = 2, .padding = 1}>);
  check_graphs<ebb::term<float, dyn, dyn, dyn>, ebb::term<float, dyn, dyn, dyn>>(back1<conv{.stride = 2, .padding = 1}>);
  const std::string text = ebb::to_string(ebb::trace_of<decltype(conv2<conv{.stride = 2}>), plane, kernel>::make());
  CHECK(text.find("conv") != std::string::npos);
}

TEST_CASE("conv_transpose2d has the first and second derivatives of sums over windows and taps") {
  // 2 x 2 windows, 3 x 3 taps, stride 2: of 5 x 5 places the padding takes the border away.
  const auto f = [](auto v) {
    return ebb::conv_transpose2d<conv{.stride = 2, .padding = 1}>(ebb::reshape<1, 1, 2, 2>(ebb::slice<0, 0, 4>(v)),
                                                                  ebb::reshape<1, 1, 3, 3>(ebb::square(ebb::slice<0, 4, 13>(v))));
  };
  const auto oracle = [](const linalg_test::long_numbers& v) {
    linalg_test::long_numbers r(9);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t p = 0; p < 3; ++p)
          for (std::size_t q = 0; q < 3; ++q) {
            const std::size_t row = 2 * i + p, column = 2 * j + q;
            if (row < 1 || row > 3 || column < 1 || column > 3) continue;
            r[3 * (row - 1) + column - 1] += v[2 * i + j] * v[4 + 3 * p + q] * v[4 + 3 * p + q];
          }
    return r;
  };
  linalg_test::against_differences<ebb::term<double, 13>>("taps", f, linalg_test::random_numbers(13, 7), linalg_test::extents_of({13}),
                                                          oracle, 1e-10L, 1e-6L);
}

// im2col would have nine elements for each of x: see [note: order of a convolution].
TEST_CASE("memory of a convolution and its gradients: no array is larger than arguments and results, scratch does not grow with images") {
  const auto f = [](auto x, auto w) { return ebb::sum(ebb::square(ebb::conv2d<conv{.padding = 1}>(x, w))); };
  const ebb::graph g =
      ebb::joint(ebb::trace_of<decltype(f), ebb::term<float, 2, 8, 512, 512>, ebb::term<float, 16, 8, 3, 3>>::make(), {0, 1});
  std::size_t largest = 0;
  for (int e = 0; e < g.size(); ++e) largest = std::max(largest, ebb::extents_at(g.shape_of(e), nullptr).volume());
  CHECK(largest == std::size_t{2} * 16 * 512 * 512);
  for (const std::ptrdiff_t channels : {3, 64, 2048}) {
    const auto scratch = [&](std::ptrdiff_t side) {
      const ebb::kernel::conv_axis axis{side, 3, side, 1, 1, 1};
      return ebb::kernel::convolve_scratch_bytes<float>({2, 1, channels, channels, {}, axis, axis});
    };
    CHECK(scratch(4096) == scratch(32));
    CHECK(scratch(4096) < 8 << 20);
  }
}

}  // namespace
