// test/nn/weight_norm.cpp — local_response_norm, weight_norm and spectral_norm: recorded values, lengths, singular values, special points.
// SPDX-License-Identifier: BSL-1.0
#include "../op/golden.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn;
using golden::of, golden::real;
using rescaled_matrix = ebb::tensor<double, dyn, dyn>;
using rescaled_vector = ebb::tensor<double, dyn>;

template <int Steps>
constexpr auto spectral = [](auto w, auto u, auto v) { return ebb::spectral_norm<Steps>(w, u, v); };

TEST_CASE("local_response_norm, weight_norm and spectral_norm have PyTorch's recorded values, gradients and second derivatives") {
  const golden::bounds b{.value = 16, .grad = 64, .second = 128, .spread = true};
  using line = of<real, dyn>;
  using matrix = of<real, dyn, dyn>;
  using images = of<real, dyn, dyn, dyn>;
  golden::check_wide<images>("norm", "local_response_norm", [](auto x) { return ebb::local_response_norm<3>(x, 0.5, 0.75, 1.5); }, b);
  golden::check_wide<of<real, 1, 3, 2, 2>>("norm", "local_response_norm_even", [](auto x) { return ebb::local_response_norm<4>(x); }, b);
  golden::check_wide<images, line>("norm", "weight_norm", [](auto v, auto g) { return ebb::weight_norm(v, g); }, b);
  golden::check_wide<of<real, 4, 2, 3>, line>("norm", "weight_norm", [](auto v, auto g) { return ebb::weight_norm(v, g); }, b);
  golden::check_wide<matrix, line>("norm", "weight_norm_last", [](auto v, auto g) { return ebb::weight_norm<-1>(v, g); }, b);
  golden::check_wide<images, line, line>("norm", "spectral_norm", spectral<1>, b);
  golden::check_wide<images, line, line>("norm", "spectral_norm_steps", spectral<3>, b);
  golden::check_wide<images, line, line>("norm", "spectral_norm_eval", spectral<0>, b);
}

TEST_CASE("called: weight_norm gives parts their lengths, spectral_norm the largest singular value 1; parts of zeros give NaN") {
  const auto v = test::random_array<rescaled_matrix>(1, 4, 3);
  const rescaled_vector g{2, -3, 0, 0.5};
  const auto w = ebb::weight_norm(v, g);
  for (std::size_t i = 0; i < 4; ++i) {
    long double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += static_cast<long double>(v(i, j)) * v(i, j);
    for (std::size_t j = 0; j < 3; ++j) CHECK(std::fabs(w(i, j) - g(i) * v(i, j) / std::sqrt(sum)) <= 1e-15L * std::fabs(g(i)));
  }
  CHECK(std::isnan(ebb::weight_norm(rescaled_matrix(1, 2), rescaled_vector{1})(0, 0)));
  CHECK(ebb::weight_norm(rescaled_matrix(0, 2), rescaled_vector(0)).size() == 0);
  CHECK(test::says(test::raised([&] { ebb::weight_norm(v, rescaled_vector(3)); }), {"weight_norm", "[4, 3]"}));

  // A matrix with the singular values 3, of its first column, and 1, of its second.
  const rescaled_matrix a{{3 * 0.6, -0.8}, {3 * 0.8, 0.6}, {0, 0}};
  const auto [scaled, left, right] = ebb::spectral_norm(a, rescaled_vector(3), rescaled_vector{1, 0});
  for (std::size_t i = 0; i < 3; ++i) CHECK(scaled(i, 0) == Approx(a(i, 0) / 3).margin(1e-12));
  CHECK(left(1) == Approx(0.8));
  CHECK(right(0) == Approx(1));
  const auto [kept, same_left, same_right] = ebb::spectral_norm<0>(a, left, right);
  CHECK(test::same_bits(kept, scaled));
  CHECK((test::same_bits(same_left, left) && test::same_bits(same_right, right)));
  CHECK(test::says(test::raised([&] { ebb::spectral_norm(a, rescaled_vector(2), right); }), {"spectral_norm", "[3, 2]"}));
}

TEST_CASE("called: local_response_norm has the values of a loop; no channels, infinities") {
  using images = ebb::tensor<float, dyn, dyn, dyn, dyn>;
  const auto x = test::random_array<images>(1, 2, 5, 2, 3);
  const auto f = [](auto a) { return ebb::local_response_norm<3>(a, 0.5); };
  const auto y = ebb::compile(f)(x);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t i = 0; i < 6; ++i) {
        const auto at = [&](std::size_t channel) { return static_cast<long double>(x(n, channel, i / 3, i % 3)); };
        long double sum = at(c) * at(c);
        if (c > 0) sum += at(c - 1) * at(c - 1);
        if (c < 4) sum += at(c + 1) * at(c + 1);
        const long double want = at(c) / std::pow(1 + 0.5L * sum / 3, 0.75L);
        CHECK(std::fabs(y(n, c, i / 3, i % 3) - want) <= 3e-7L * std::fabs(want));
      }
  CHECK(ebb::compile(f)(images(2, 0, 2, 3)).size() == 0);
  CHECK(std::isnan(ebb::compile(f)(images{{{{INFINITY}}}})(0, 0, 0, 0)));
  CHECK(ebb::compile(f)(images{{{{1e30f}}}})(0, 0, 0, 0) == 0);  // the square is infinite
}

}  // namespace
