// test/nn/class_loss.cpp — multilabel_soft_margin, focal, dice and info_nce.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>
#include <string>

namespace {

using ebb::dyn;
using linalg_test::check_recorded, linalg_test::long_numbers, linalg_test::wide;

long double log_sigmoid_in_long(long double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
long double sigmoid_in_long(long double x) { return 1 / (1 + std::exp(-x)); }

TEST_CASE("multilabel_soft_margin has PyTorch's recorded values and gradients") {
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("loss", "multilabel_soft_margin",
                                                [](auto x, auto y) { return ebb::multilabel_soft_margin(x, y); }, {.value = 4, .grad = 8});
}

TEST_CASE("losses of several classes have the first and second derivatives of their formulas") {
  const std::vector<double> x{0.5, -1.25, 2, 0.75, -1.5, 1, -0.25, 3};
  const auto check = [&](const char* name, auto f, auto formula) {
    linalg_test::against_differences<wide<dyn, dyn>>(name, f, x, linalg_test::extents_of({2, 4}), formula, 1e-11L, 1e-6L);
  };
  // The first row is x, the second decides about targets.
  check("multilabel_soft_margin", [](auto v) {
    const auto y = ebb::cast<double>(v[1] > 0.5);
    return ebb::multilabel_soft_margin(v[0], y, ebb::weighted(v[0] * 0 + 0.75), ebb::summed);
  }, [](const long_numbers& v) {
    long double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum -= 0.75L * (v[4 + i] > 0.5L ? log_sigmoid_in_long(v[i]) : log_sigmoid_in_long(-v[i])) / 4;
    return long_numbers{sum};
  });
  for (const double gamma : {0.0, 0.5, 2.0}) {
    const auto formula = [gamma](const long_numbers& v) {
      long double sum = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const long double y = v[4 + i] / 4, p = sigmoid_in_long(v[i]), other = p * (1 - y) + (1 - p) * y;
        const long double bce = -y * log_sigmoid_in_long(v[i]) - (1 - y) * log_sigmoid_in_long(-v[i]);
        sum += bce * std::pow(other, static_cast<long double>(gamma)) * (0.75L * y + 0.25L * (1 - y));
      }
      return long_numbers{sum};
    };
    if (gamma == 0) check("focal, gamma 0", [](auto v) { return ebb::focal(v[0], v[1] / 4, 0, 0.75, ebb::summed); }, formula);
    else if (gamma == 2) check("focal, gamma 2", [](auto v) { return ebb::focal(v[0], v[1] / 4, 2, 0.75, ebb::summed); }, formula);
  }
  check("dice", [](auto v) { return ebb::dice(ebb::sigmoid(v), v * v, 0.5, ebb::summed); }, [](const long_numbers& v) {
    long double sum = 0;
    for (std::size_t r = 0; r < 2; ++r) {
      long double both = 0, all = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const long double a = v[4 * r + i], p = sigmoid_in_long(a);
        both += p * a * a, all += p + a * a;
      }
      sum += 1 - (2 * both + 0.5L) / (all + 0.5L);
    }
    return long_numbers{sum};
  });
  check("info_nce", [](auto v) { return ebb::info_nce(v, ebb::flip<1>(v) + 0.5 * v, 0.5, ebb::summed); }, [](const long_numbers& v) {
    long double q[2][4], k[2][4], sum = 0;
    for (std::size_t r = 0; r < 2; ++r) {
      long double of_q = 0, of_k = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        q[r][i] = v[4 * r + i], k[r][i] = v[4 * r + 3 - i] + v[4 * r + i] / 2;
        of_q += q[r][i] * q[r][i], of_k += k[r][i] * k[r][i];
      }
      for (std::size_t i = 0; i < 4; ++i) q[r][i] /= std::sqrt(of_q), k[r][i] /= std::sqrt(of_k);
    }
    for (std::size_t r = 0; r < 2; ++r) {
      long double total = 0, own = 0;
      for (std::size_t s = 0; s < 2; ++s) {
        long double cosine = 0;
        for (std::size_t i = 0; i < 4; ++i) cosine += q[r][i] * k[s][i];
        total += std::exp(cosine / 0.5L);
        if (s == r) own = cosine / 0.5L;
      }
      sum += std::log(total) - own;
    }
    return long_numbers{sum};
  });
}

TEST_CASE("losses of several classes at their limits, reduced, narrow, in maps, and refused") {
  using row = ebb::tensor<double, dyn>;
  using rows = ebb::tensor<double, dyn, dyn>;
  // Far on the right side the loss and its gradients are 0, also for a power below 1; far on the wrong side it is linear.
  const auto each = [](auto x, auto y) { return ebb::focal(x, y, 0.5, 0.5, ebb::unreduced); };
  const auto y = each(row{800, -800, 800, -800, INFINITY}, row{1, 0, 0, 1, NAN});
  CHECK((y[0] == 0 && y[1] == 0 && y[2] == 400 && y[3] == 400 && std::isnan(y[4])));
  const auto slope =
      ebb::grad([](auto x, auto t) { return ebb::focal(x, t, 0.5, 0.5, ebb::summed); })(row{800, -800, 800, -800}, row{1, 0, 0, 1});
  CHECK((slope[0] == 0 && slope[1] == 0 && slope[2] == 0.5 && slope[3] == -0.5));
  CHECK(std::isnan(static_cast<double>(ebb::focal(row(0), row(0)))));
  CHECK((ebb::multilabel_soft_margin(row{800, -800}, row{0, 1}) == 800 && ebb::multilabel_soft_margin(row{800, -800}, row{1, 0}) == 0));
  // A row of zeros has no direction: its cosines are 0.
  const auto nce = [](auto q, auto k) { return ebb::info_nce(q, k, ebb::unreduced); };
  const rows q{{0, 0}, {3, 4}}, k{{1, 0}, {6, 8}};
  const auto losses = nce(q, k);
  CHECK(losses[0] == Approx(std::log(2.0)).epsilon(1e-14));
  CHECK(losses[1] == Approx(std::log(std::exp(6.0) + std::exp(10.0)) - 10).epsilon(1e-13));
  for (const double g : ebb::grad([](auto a, auto b) { return ebb::info_nce(a, b); })(q, k)) CHECK(std::isfinite(g));
  CHECK(ebb::dice(rows{{0, 0}, {1, 1}}, rows{{0, 0}, {1, 1}}) == 0);
  const auto low = ebb::info_nce(ebb::cast<ebb::bf16>(q), ebb::cast<ebb::bf16>(k), ebb::summed);
  CHECK(static_cast<float>(low) == Approx(losses[0] + losses[1]).epsilon(0.01));
  const auto mapped = ebb::map([](auto a, auto b) { return ebb::dice(a, b); }, ebb::tensor<double, 1, 2, 2>{{{0.5, 1}, {1, 0}}},
                               ebb::tensor<double, 1, 2, 2>{{{1, 1}, {0, 0}}});
  CHECK(mapped[0] == Approx((1 - 4 / 4.5 + 1 - 1 / 2.0) / 2));
  CHECK(test::says(test::raised([&] { nce(q, rows{{1, 2, 3}, {4, 5, 6}}); }), {"info_nce", "[2, 2]", "[2, 3]"}));
}

}  // namespace
