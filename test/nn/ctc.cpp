// test/nn/ctc.cpp — ctc: recorded values, all paths counted one by one, lengths, derivatives, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>

namespace {

using ebb::dyn;
using linalg_test::check_recorded, linalg_test::long_numbers, linalg_test::wide;
using log_p_array = ebb::tensor<double, dyn, dyn, dyn>;
using label_rows = ebb::tensor<std::int64_t, dyn, dyn>;
using label_counts = ebb::tensor<std::int64_t, dyn>;

TEST_CASE("ctc of log_softmax has PyTorch's recorded values and gradients") {
  const golden::bounds b{.value = 16, .grad = 64, .grad_floor = 1};
  using labels = ebb::term<std::int64_t, dyn, dyn>;
  check_recorded<wide<dyn, dyn, dyn>, labels>("loss", "ctc", [](auto x, auto y) {
    const auto i = ebb::iota<0>(y);
    return ebb::ctc(ebb::log_softmax(x), y, 7 - 2 * i, 3 - i, ebb::unreduced);
  }, b);
  check_recorded<wide<dyn, dyn, dyn>, labels>("loss", "ctc_impossible", [](auto x, auto y) {
    const auto i = ebb::iota<0>(y);
    return ebb::ctc(ebb::log_softmax(x), y, 2 + 5 * i, 3 - i, ebb::unreduced, ebb::zero_infinity);
  }, b);
}

/// The sum over all paths of `steps` classes that are these labels once repetitions and then blanks are left out.
long double sum_over_paths(const std::vector<long double>& p, std::size_t classes, std::size_t steps,
                           const std::vector<std::int64_t>& labels) {
  std::size_t count = 1;
  for (std::size_t t = 0; t < steps; ++t) count *= classes;
  long double sum = 0;
  for (std::size_t path = 0; path < count; ++path) {
    std::vector<std::int64_t> seen;
    std::int64_t last = 0;
    long double product = 1;
    for (std::size_t t = 0, rest = path; t < steps; ++t, rest /= classes) {
      const std::size_t c = rest % classes;
      product *= p[t * classes + c];
      if (static_cast<std::int64_t>(c) != last && c != 0) seen.push_back(static_cast<std::int64_t>(c));
      last = static_cast<std::int64_t>(c);
    }
    if (seen == labels) sum += product;
  }
  return sum;
}

TEST_CASE("ctc is the sum over all paths, for each length; what lies after the lengths does not count") {
  constexpr std::size_t steps = 5, classes = 3;
  const std::vector<std::vector<std::int64_t>> labels{{1, 2}, {1, 1}, {2}, {}, {1, 2, 1}, {1, 1, 1}};
  const std::vector<std::int64_t> lengths{5, 4, 1, 3, 3, 4};
  const std::size_t n = labels.size();
  log_p_array p(steps, n, classes);
  for (std::size_t i = 0; i < p.size(); ++i) p.mutable_data()[i] = -0.5 - std::fabs(std::sin(1.0 + static_cast<double>(i * i)));
  label_rows targets(n, 3);
  label_counts counts(n), times(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < 3; ++j) targets.mutable_data()[3 * i + j] = j < labels[i].size() ? labels[i][j] : -7;
    counts.mutable_data()[i] = static_cast<std::int64_t>(labels[i].size());
    times.mutable_data()[i] = lengths[i];
  }
  const auto losses = ebb::ctc(p, targets, times, counts, ebb::unreduced);
  long double sum = 0, mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<long double> own;
    for (std::size_t t = 0; t < steps; ++t)
      for (std::size_t c = 0; c < classes; ++c) own.push_back(std::exp(static_cast<long double>(p(t, i, c))));
    const long double want = -std::log(sum_over_paths(own, classes, static_cast<std::size_t>(lengths[i]), labels[i]));
    INFO("example " << i);
    if (i == 5) CHECK(std::isinf(losses[i]));  // three equal labels need five steps
    else CHECK(std::fabs(losses[i] - want) <= 1e-14L * std::max(1.0L, want));
    if (i < 5) sum += want, mean += want / static_cast<long double>(std::max<std::size_t>(labels[i].size(), 1));
  }
  CHECK(ebb::ctc(p, targets, times, counts, ebb::summed, ebb::zero_infinity) == Approx(static_cast<double>(sum)).epsilon(1e-14));
  CHECK(ebb::ctc(p, targets, times, counts, ebb::zero_infinity) == Approx(static_cast<double>(mean / 6)).epsilon(1e-14));
  // Nothing depends on what lies after the lengths, and the example without a path has no gradient.
  const auto g = ebb::grad([](auto q, auto t, auto s, auto c) { return ebb::ctc(q, t, s, c, ebb::summed); })(p, targets, times, counts);
  for (std::size_t t = 0; t < steps; ++t)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < classes; ++c) {
        CHECK(std::isfinite(g(t, i, c)));
        if (t >= static_cast<std::size_t>(lengths[i]) || i == 5) CHECK(g(t, i, c) == 0);
      }
  // No labels, and no steps.
  const auto empty = ebb::ctc(p, label_rows(n, 0), times, label_counts(n), ebb::unreduced);
  CHECK(empty[2] == Approx(-p(0, 2, 0)));
  CHECK(ebb::ctc(log_p_array(0, 1, 3), label_rows(1, 0), label_counts(1), label_counts(1), ebb::unreduced)[0] == 0);
  CHECK(test::says(test::raised([&] { ebb::ctc(p, label_rows(2, 3), times, counts); }), {"ctc", "[2, 3]"}));
}

TEST_CASE("ctc has the first and second derivatives of the sum over all paths") {
  const std::vector<double> x{-0.5, -1.25, -2, -0.75, -1.5, -1, -0.25, -3, -0.6, -0.9, -1.1, -0.4};
  linalg_test::against_differences<wide<dyn, dyn>>("ctc", [](auto v) {
    const auto i = ebb::iota<0>(v);  // 0 to 3: the labels are 1 and 2, of 4 steps
    return ebb::ctc(ebb::unsqueeze<1>(v), ebb::unsqueeze<0>(ebb::slice<0, 1, 3>(i)), ebb::slice<0, 3, 4>(i) + 1, ebb::slice<0, 2, 3>(i),
                    ebb::summed);
  }, x, linalg_test::extents_of({4, 3}), [](const long_numbers& v) {
    std::vector<long double> p;
    for (const long double e : v) p.push_back(std::exp(e));
    return long_numbers{-std::log(sum_over_paths(p, 3, 4, {1, 2}))};
  }, 1e-11L, 1e-6L);
}

}  // namespace
