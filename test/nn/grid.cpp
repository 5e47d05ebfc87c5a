// test/nn/grid.cpp — grid_sample and affine_grid: recorded values, loops in long double, places that are no numbers, maps, narrow floats.
// SPDX-License-Identifier: BSL-1.0
#include "../op/golden.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn, ebb::grid_sampling;
using golden::of, golden::real;
using planes = ebb::tensor<float, dyn, dyn, dyn, dyn>;

template <grid_sampling How>
constexpr auto sampled = [](auto x, auto g) { return ebb::grid_sample<How>(x, g); };
constexpr grid_sampling usual{}, corners{.align_corners = true}, nearest{.nearest = true};
constexpr grid_sampling border{.border = true}, both{.border = true, .align_corners = true};
constexpr grid_sampling nearest_border{.nearest = true, .border = true, .align_corners = true};

TEST_CASE("grid_sample and affine_grid have PyTorch's recorded values, gradients and second derivatives") {
  const golden::bounds b{.value = 16, .grad = 64, .second = 128, .spread = true};
  const auto check = [&](const std::string& name, auto f) {
    golden::check_wide<of<real, dyn, dyn, dyn, dyn>, of<real, dyn, dyn, dyn, dyn>>("grid", name, f, b);
  };
  check("grid_sample", sampled<usual>);
  check("grid_sample_corners", sampled<corners>);
  check("grid_sample_border", sampled<border>);
  check("grid_sample_border_corners", sampled<both>);
  check("grid_sample_nearest", sampled<nearest>);
  check("grid_sample_nearest_border", sampled<nearest_border>);
  golden::check_wide<of<real, dyn, dyn, dyn, dyn, dyn>, of<real, dyn, dyn, dyn, dyn, dyn>>("grid", "grid_sample_volume", sampled<usual>, b);
  golden::check_wide<of<real, 2, 2, 3, 4>, of<real, 2, 3, 2, 2>>("grid", "grid_sample", sampled<usual>, b);
  golden::check_wide<of<real, dyn, dyn, dyn>>("grid", "affine_grid", [](auto t) { return ebb::affine_grid<3, 4>(t); }, b);
  golden::check_wide<of<real, dyn, dyn, dyn>>(
      "grid", "affine_grid_corners", [](auto t) { return ebb::affine_grid<1, 4>(t, ebb::align_corners); }, b);
  golden::check_wide<of<real, 1, 3, 4>>("grid", "affine_grid_volume", [](auto t) { return ebb::affine_grid<2, 3, 4>(t); }, b);
}

/// Element (i, j) of plane c, zeros around it.
long double at_place(const planes& x, std::size_t n, std::size_t c, long double i, long double j) {
  if (!(i >= 0 && j >= 0 && i < static_cast<long double>(x.extent(2)) && j < static_cast<long double>(x.extent(3)))) return 0;
  return x(n, c, static_cast<std::size_t>(i), static_cast<std::size_t>(j));
}

TEST_CASE("grid_sample that is called has the values of a loop; a map over it and autocast have its bits") {
  const auto x = test::random_array<planes>(1, 2, 3, 5, 4), g = test::random_array<planes>(2, 2, 3, 6, 2);
  const auto y = ebb::grid_sample(x, g);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 6; ++j) {
          const long double v = ((g(n, i, j, 0) + 1.0L) * 4 - 1) / 2, u = ((g(n, i, j, 1) + 1.0L) * 5 - 1) / 2;
          long double sum = 0;
          for (const int up : {0, 1})
            for (const int right : {0, 1}) {
              const long double row = std::floor(u) + up, column = std::floor(v) + right;
              sum += (1 - std::fabs(u - row)) * (1 - std::fabs(v - column)) * at_place(x, n, c, row, column);
            }
          CHECK(std::fabs(y(n, c, i, j) - sum) <= 2e-6L);
        }
  const auto many = ebb::tensor<float, 2, dyn, dyn, dyn, dyn>::generate([&](std::size_t i) { return x.data()[i % x.size()]; }, 2, 3, 5, 4);
  const auto grids = ebb::tensor<float, 2, dyn, dyn, dyn, dyn>::generate([&](std::size_t i) { return g.data()[i % g.size()]; }, 2, 3, 6, 2);
  const auto mapped = ebb::map(sampled<usual>, many, grids);
  for (std::size_t i = 0; i < mapped.size(); ++i) CHECK(mapped.data()[i] == y.data()[i % y.size()]);
  const auto low = ebb::cast<ebb::bfloat16>(x), low_grid = ebb::cast<ebb::bfloat16>(g);
  const auto wide = ebb::grid_sample(ebb::cast<float>(low), ebb::cast<float>(low_grid));
  CHECK(test::same_bits(ebb::under<ebb::autocast<ebb::bf16>>(sampled<usual>)(low, low_grid), wide));
}

TEST_CASE("places that are NaN, infinite, far away, on the edge or on an element, and images with infinities") {
  const planes x{{{{1, 2, INFINITY}}}};
  const float places[] = {NAN, INFINITY, -INFINITY, 1e30f, -1, 0, -0.5f};
  const auto g = planes::generate([&](std::size_t i) { return i % 2 == 0 ? places[i / 2] : 0; }, 1, 1, 7, 2);
  const auto zeros = ebb::grid_sample<corners>(x, g), edges = ebb::grid_sample<both>(x, g);
  const float with_zeros[] = {1, 0, 0, 0, 1, NAN, 1.5f}, with_edges[] = {1, INFINITY, 1, INFINITY, 1, NAN, 1.5f};
  for (std::size_t i = 0; i < 7; ++i) {
    INFO("place " << i);
    // 0 times the infinite neighbour of element 1 is NaN, as in PyTorch.
    CHECK((zeros(0, 0, 0, i) == with_zeros[i] || (i == 5 && std::isnan(zeros(0, 0, 0, i)))));
    CHECK((edges(0, 0, 0, i) == with_edges[i] || (i == 5 && std::isnan(edges(0, 0, 0, i)))));
  }
  // The gradient by the grid: that on the right side of an element, and 0 for what is far away, beyond the border or no number.
  const planes steps{{{{1, 2, 4}}}};
  const auto by_grid = ebb::grad<1>([](auto a, auto b) { return ebb::sum(ebb::grid_sample<corners>(a, b)); })(steps, g);
  const float rising[] = {1, 0, 0, 0, 1, 2, 1};
  for (std::size_t i = 1; i < 7; ++i) CHECK(by_grid(0, 0, i, 0) == rising[i]);
  CHECK(by_grid(0, 0, 0, 0) == 0);
  CHECK(ebb::grid_sample(planes(0, 2, 3, 3), planes(0, 4, 4, 2)).size() == 0);
  CHECK(test::says(test::raised([] { ebb::grid_sample(planes(1, 2, 3, 3), planes(2, 4, 4, 2)); }), {"grid_sample", "[1, 2, 3, 3]"}));
  CHECK(test::says(test::raised([] { ebb::grid_sample(planes(1, 2, 0, 3), planes(1, 4, 4, 2)); }), {"grid_sample"}));
  CHECK(test::says(test::raised([] { ebb::affine_grid<2, 2>(ebb::tensor<float, dyn, dyn, dyn>(1, 3, 3)); }), {"affine_grid"}));
}

}  // namespace
