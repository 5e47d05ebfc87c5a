// test/nn/norm.cpp — rms_norm, batch_norm, group_norm, instance_norm: recorded derivatives, long double values, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: norm.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn;
using golden::of, golden::real;
// Second derivatives of a normalized sum vanish: what PyTorch recorded there is rounding, of the size of the terms.
constexpr golden::bounds normed{.value = 8, .grad = 32, .second = 64, .grad_floor = 1, .second_floor = 1, .spread = true};

TEST_CASE("norms have PyTorch's recorded values, gradients and second derivatives") {
  const auto rms = [](auto x, auto w) { return ebb::rms_norm(x, w, 1e-5); };
  const auto batch = [](auto x, auto w, auto b) { return ebb::batch_norm(x, w, b); };
  const auto group = [](auto x, auto w, auto b) { return ebb::group_norm<2>(x, w, b); };
  const auto instance = [](auto x, auto w, auto b) { return ebb::instance_norm(x, w, b); };
  using channels = of<real, dyn>;
  using planes = of<real, dyn, dyn, dyn, dyn>;
  golden::check_wide<of<real, dyn, dyn>, channels>("norm", "rms_norm_second", rms, normed);
  golden::check_wide<of<real, 3, 6>, of<real, 6>>("norm", "rms_norm_second", rms, normed);
  golden::check_wide<of<real, dyn, dyn>, channels, channels>("norm", "batch_norm_second", batch, normed);
  golden::check_wide<of<real, 5, 3>, of<real, 3>, of<real, 3>>("norm", "batch_norm_second", batch, normed);
  golden::check_wide<planes, channels, channels>("norm", "group_norm_2d", group, normed);
  golden::check_wide<of<real, 2, 4, 3, 2>, of<real, 4>, of<real, 4>>("norm", "group_norm_2d", group, normed);
  golden::check_wide<planes, channels, channels>("norm", "instance_norm_2d", instance, normed);
}

using planes = ebb::tensor<float, 3, 4, 5>;
using channels = ebb::tensor<float, 4>;

/// (x - mean) / sqrt(var + epsilon) over the elements for which same(c, other) holds, times w plus b, in long double.
void check_norm(const planes& y, const planes& x, const channels& w, const channels& b, long double epsilon, auto&& same) {
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t p = 0; p < 5; ++p) {
        long double count = 0, sum = 0, squares = 0;
        const auto each = [&](auto&& f) {
          for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 4; ++j)
              for (std::size_t k = 0; k < 5; ++k)
                if (same(n, c, i, j)) f(static_cast<long double>(x(i, j, k)));
        };
        each([&](long double e) { ++count, sum += e; });
        each([&](long double e) { squares += (e - sum / count) * (e - sum / count); });
        const long double want = (x(n, c, p) - sum / count) / std::sqrt(squares / count + epsilon) * w(c) + b(c);
        CHECK(std::fabs(y(n, c, p) - want) <= 2e-6L);
      }
}

TEST_CASE("norms that are called have the values of long double, with default and given epsilons") {
  const auto x = test::random_array<planes>(1);
  const auto w = test::random_array<channels>(2), b = test::random_array<channels>(3);
  const channels one{1, 1, 1, 1}, zero{};
  check_norm(ebb::batch_norm(x, w, b), x, w, b, 1e-5L, [](auto, auto c, auto, auto j) { return c == j; });
  check_norm(ebb::batch_norm(x, w, b, 0.5), x, w, b, 0.5L, [](auto, auto c, auto, auto j) { return c == j; });
  check_norm(ebb::batch_norm(x), x, one, zero, 1e-5L, [](auto, auto c, auto, auto j) { return c == j; });
  check_norm(ebb::instance_norm(x, w, b), x, w, b, 1e-5L, [](auto n, auto c, auto i, auto j) { return c == j && n == i; });
  check_norm(ebb::group_norm<2>(x, w, b), x, w, b, 1e-5L, [](auto n, auto c, auto i, auto j) { return c / 2 == j / 2 && n == i; });
  const channels variance{1, 2, 0.5, 4};
  const auto y = ebb::batch_norm_by(x, w, variance, b, w, 0.25);
  for (std::size_t c = 0; c < 4; ++c)
    CHECK(y(1, c, 2) == Approx((x(1, c, 2) - w(c)) / std::sqrt(variance(c) + 0.25) * b(c) + w(c)).epsilon(1e-5));
  // rms_norm: the default epsilon is the dtype's, which shows beside squares of its size.
  const ebb::tensor<float, 2> small{0x1p-12f, 0x1p-12f};
  CHECK(ebb::rms_norm(small)(0) == Approx(0x1p-12 / std::sqrt(0x1p-24 + 0x1p-23)).epsilon(1e-6));
  const ebb::tensor<double, 2> tiny{0x1p-26, 0x1p-26};
  CHECK(ebb::rms_norm(tiny)(0) == Approx(0x1p-26 / std::sqrt(0x1p-52 + 0x1p-52)).epsilon(1e-12));
  const auto low = ebb::cast<ebb::bfloat16>(x);
  CHECK(test::same_bits(ebb::rms_norm(low), ebb::cast<ebb::bfloat16>(ebb::rms_norm(ebb::cast<float>(low), 0x1p-7))));
}

TEST_CASE("running_statistics move towards those of the batch, and have no gradient") {
  using channel_row = ebb::tensor<double, dyn>;
  using batch_rows = ebb::tensor<double, dyn, dyn, dyn>;
  const auto x = test::random_array<batch_rows>(7, 4, 2, 5);
  const channel_row old_mean{0.5, -1}, old_variance{2, 3};
  const auto check = [&](const auto& got, long double momentum) {
    for (std::size_t c = 0; c < 2; ++c) {
      long double sum = 0, squares = 0;
      for (std::size_t i = 0; i < 20; ++i) sum += x(i / 5, c, i % 5);
      for (std::size_t i = 0; i < 20; ++i) squares += (x(i / 5, c, i % 5) - sum / 20) * (x(i / 5, c, i % 5) - sum / 20);
      CHECK(std::fabs(std::get<0>(got)[c] - ((1 - momentum) * old_mean[c] + momentum * sum / 20)) <= 1e-15L);
      CHECK(std::fabs(std::get<1>(got)[c] - ((1 - momentum) * old_variance[c] + momentum * squares / 19)) <= 1e-15L);
    }
  };
  check(ebb::running_statistics(x, old_mean, old_variance), 0.1L);
  check(ebb::running_statistics(x, old_mean, old_variance, 0.75), 0.75L);
  const auto gradient = ebb::grad([](auto a, auto m, auto v) {
    const auto [mean, variance] = ebb::running_statistics(a, m, v);
    return ebb::sum(mean) + ebb::sum(variance);
  })(x, old_mean, old_variance);
  for (const double g : gradient) CHECK(g == 0);
  // One element for each channel has a mean, but no variance.
  const auto [mean, variance] = ebb::running_statistics(ebb::tensor<double, dyn, dyn>{{2, 4}}, channel_row{0, 0}, channel_row{1, 1}, 0.5);
  CHECK((mean[0] == 1 && mean[1] == 2 && std::isnan(variance[0])));
  CHECK(test::says(test::raised([&] { ebb::running_statistics(x, channel_row(3), old_variance); }),
                   {"running_statistics", "[4, 2, 5]", "[3]"}));
}

TEST_CASE("norms of extents that do not fit name the function and the shapes; a norm on the tape is the same captured") {
  const ebb::tensor<float, dyn, dyn, dyn> x(2, 6, 3);
  const ebb::tensor<float, dyn> w(4);
  CHECK(test::says(test::raised([&] { ebb::batch_norm(x, w); }), {"ebb::batch_norm", "[2, 6, 3]", "[4]"}));
  CHECK(test::says(test::raised([&] { ebb::group_norm<4>(x); }), {"ebb::group_norm<4>", "[2, 6, 3]"}));
  CHECK(test::says(test::raised([&] { ebb::rms_norm(x, w); }), {"ebb::rms_norm", "[2, 6, 3]", "[4]"}));
  const auto start = test::random_array<planes>(4);
  const auto f = [](auto a) { return ebb::sum(ebb::square(ebb::square(ebb::group_norm<2>(a)))); };
  const auto gradient = ebb::grad(f)(start);
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    ebb::backward(f(v), {.compiled_autograd = captured});
    for (std::size_t i = 0; i < start.size(); ++i) CHECK(v.grad().value().data()[i] == Approx(gradient.data()[i]).margin(1e-4));
  }
}

TEST_CASE("batch_norm_by has the first and second derivatives of its formula, by all arguments") {
  // Rows 0 to 3 are the mean, the root of the variance, the weight and the bias of two channels.
  const auto f = [](auto v) { return ebb::batch_norm_by(v, v[0], v[1] * v[1], v[2], v[3], 0.25); };
  const auto oracle = [](const linalg_test::long_numbers& v) {
    linalg_test::long_numbers r;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t c = i % 2;
      r.push_back((v[i] - v[c]) / std::sqrt(v[2 + c] * v[2 + c] + 0.25L) * v[4 + c] + v[6 + c]);
    }
    return r;
  };
  const auto x = linalg_test::random_numbers(8, 5);
  linalg_test::against_differences<ebb::term<double, 4, 2>>("static", f, x, linalg_test::extents_of({4, 2}), oracle, 1e-10L, 1e-6L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", f, x, linalg_test::extents_of({4, 2}), oracle, 1e-10L, 1e-6L);
}

}  // namespace
