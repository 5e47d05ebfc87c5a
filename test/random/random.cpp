// test/random/random.cpp — random arrays: recorded bits, distributions, ranges.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/random/random.hpp>
#include <ebb/tensor/equal.hpp>

#include "../catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

using namespace ebb;

namespace {

/// The Kolmogorov-Smirnov statistic times sqrt(n): above 1.95 with a probability of 0.001.
template <class T, class F>
double distance_to(std::vector<T> sample, F distribution) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double worst = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double expected = distribution(static_cast<double>(sample[i]));
    worst = std::max({worst, std::abs(expected - static_cast<double>(i) / n), std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}
template <class Array>
std::vector<double> doubles(const Array& x) {
  return {x.begin(), x.end()};
}
double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// The moments of order 1 to 4.
std::array<double, 4> moments(const std::vector<double>& sample) {
  std::array<double, 4> sums{};
  for (double x : sample) {
    double power = 1;
    for (double& sum : sums) sum += power *= x;
  }
  for (double& sum : sums) sum /= static_cast<double>(sample.size());
  return sums;
}

}  // namespace

// The expected bits come from a second implementation of the papers' formulas, in Python.
TEST_CASE("random numbers have the same bits on every machine") {
  const auto bits32 = [](const auto& x) {
    std::string text;
    char item[16];
    for (float f : x) {
      std::snprintf(item, sizeof item, "%08x ", std::bit_cast<std::uint32_t>(f));
      text += item;
    }
    return text;
  };
  const auto bits64 = [](const auto& x) {
    std::string text;
    char item[24];
    for (double f : x) {
      std::snprintf(item, sizeof item, "%016llx ", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(f)));
      text += item;
    }
    return text;
  };
  CHECK(bits32(uniform<float, 6>(42, -1.f, 1.f)) == "3e675780 bd80ab70 bf5a8160 bea2f534 3f79b642 beb11650 ");
  CHECK(bits64(uniform<double, 3>(42, -1.0, 1.0)) == "bfb0156d88c62a20 bfd45ea61476a058 bfd622c981019270 ");
  CHECK(bits32(normal<float, 6>(42, 1.f, 0.5f)) == "3f925ee5 3f75e91d 3e8c40bd 3f4b816b 4007f15a 3f46a6bc ");
  CHECK(bits64(normal<double, 4>(42)) == "bfb42dc65ce0ff81 bfda3f4a5b3e5025 bfdcaca1d20ed483 bfbd61412d6e26ac ");
  CHECK(ebb::all_equal(permutation(42, 10), tensor<std::int64_t, dyn>{2, 3, 9, 7, 6, 0, 5, 8, 4, 1}));
  CHECK(ebb::all_equal(uniform<std::int64_t, 4>(42, -1000, 1000), tensor<std::int64_t, 4>{-63, -319, -346, -92}));

  // A hash of a long array, tails included (FNV-1a over the words).
  std::uint64_t hash = 14695981039346656037u;
  for (double x : normal<double, dyn>(7, 20000)) hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 1099511628211u;
  CHECK(hash == 0x52aa6d5294032048u);
}

TEST_CASE("uniform numbers are in range and evenly spread") {
  const auto x = uniform<float, dyn, dyn>(1, {200, 100}, 2.f, 5.f);
  CHECK(x.shape() == std::array<std::size_t, 2>{200, 100});
  CHECK(*std::min_element(x.begin(), x.end()) >= 2);
  CHECK(*std::max_element(x.begin(), x.end()) < 5);
  CHECK(distance_to(doubles(x), [](double v) { return (v - 2) / 3; }) < 1.95);
  CHECK(distance_to(doubles(uniform<double, dyn>(2, 20000)), [](double v) { return v; }) < 1.95);

  for (float hi : {std::nextafter(1.f, 2.f), 1.f + 0x1p-22f}) {
    const auto narrow = uniform<float, 1000>(3, 1.f, hi);
    CHECK(std::count_if(narrow.begin(), narrow.end(), [=](float v) { return v >= 1 && v < hi; }) == 1000);
  }
  for (bfloat16 v : uniform<bfloat16, dyn>(4, 5000)) CHECK_FALSE(static_cast<float>(v) >= 1);
  for (float16 v : uniform<float16, dyn>(4, 5000, float16(-2.f), float16(1.f))) {
    CHECK_FALSE(static_cast<float>(v) >= 1);
    CHECK(static_cast<float>(v) >= -2);
  }
}

TEST_CASE("uniform integers hit each value equally often") {
  std::array<int, 7> hits{};
  for (int v : uniform<std::int32_t, dyn>(5, 70000, -3, 4)) ++hits.at(static_cast<std::size_t>(v + 3));
  double chi = 0;
  for (int h : hits) chi += (h - 10000.0) * (h - 10000.0) / 10000;
  CHECK(chi < 22.5);  // 6 degrees of freedom, probability 0.001
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const auto wide = uniform<std::int64_t, 1000>(6, least, most);
  CHECK(std::count_if(wide.begin(), wide.end(), [](std::int64_t v) { return v < 0; }) > 430);
  CHECK(std::count_if(wide.begin(), wide.end(), [](std::int64_t v) { return v > 0; }) > 430);
}

TEST_CASE("normal numbers have the moments and the distribution of the normal distribution") {
  const std::vector<double> samples[] = {doubles(normal<float, dyn>(8, 40000)), doubles(normal<double, dyn>(9, 40000)),
                                         doubles(normal<float, 200, 200>(10))};
  for (const auto& sample : samples) {
    const auto m = moments(sample);  // each bound is 4 standard errors
    CHECK(std::abs(m[0]) < 4 / 200.0);
    CHECK(std::abs(m[1] - 1) < 4 * std::sqrt(2.0) / 200);
    CHECK(std::abs(m[2]) < 4 * std::sqrt(15.0) / 200);
    CHECK(std::abs(m[3] - 3) < 4 * std::sqrt(96.0) / 200);
    CHECK(distance_to(sample, normal_cdf) < 1.95);
  }
  const auto scaled = moments(doubles(normal<double, dyn>(11, 40000, 3.0, 0.5)));
  CHECK(std::abs(scaled[0] - 3) < 4 * 0.5 / 200);
  CHECK(std::abs(scaled[1] - 9.25) < 0.1);
  CHECK(normal<bfloat16, 4>(12)(1) == bfloat16(normal<float, 4>(12)(1)));
}

TEST_CASE("neighbours, keys and split keys are uncorrelated") {
  const auto correlation = [](const auto& a, const auto& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a.data()[i] * b.data()[i];
    return sum / std::sqrt(static_cast<double>(a.size()));  // normal with deviation 1
  };
  const auto draw = [](random_key key) { return normal<double, dyn>(key, 10000); };
  const auto x = draw(1);
  CHECK(std::abs(correlation(view<const double, dyn>(x.data(), 9999), view<const double, dyn>(x.data() + 1, 9999))) < 4);
  CHECK(std::abs(correlation(x, draw(2))) < 4);
  const auto [a, b] = random_key(1).split<2>();
  CHECK(std::abs(correlation(x, draw(a))) < 4);
  CHECK(std::abs(correlation(draw(a), draw(b))) < 4);
  CHECK(std::abs(correlation(draw(a), draw(random_key(1).fold_in(0)))) < 4);
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 1000; ++i) seeds.insert(random_key(1).fold_in(i).seed());
  CHECK(seeds.size() == 1000);
}

TEST_CASE("bernoulli is true with its probability") {
  const auto x = bernoulli<dyn>(13, 40000, 0.3);
  CHECK(std::abs(static_cast<double>(std::count(x.begin(), x.end(), true)) - 12000) < 4 * std::sqrt(40000 * 0.21));
  const auto never = bernoulli<1000>(14, 0), always = bernoulli<1000>(14, 1);
  CHECK(std::count(never.begin(), never.end(), true) == 0);
  CHECK(std::count(always.begin(), always.end(), true) == 1000);
}

TEST_CASE("a permutation holds each number once, and each order is equally likely") {
  auto x = permutation(15, 1000);
  CHECK(!ebb::all_equal(x, tensor<std::int64_t, dyn>::iota(1000)));
  std::sort(x.mutable_span().begin(), x.mutable_span().end());
  CHECK(ebb::all_equal(x, tensor<std::int64_t, dyn>::iota(1000)));
  CHECK(permutation(15, 0).size() == 0);
  CHECK(permutation(15, 1)(0) == 0);

  std::array<int, 24> hits{};
  for (int i = 0; i < 24000; ++i) {
    const auto p = permutation(random_key(16).fold_in(i), 4);
    std::array<std::int64_t, 4> order{p(0), p(1), p(2), p(3)}, each{0, 1, 2, 3};
    std::size_t number = 0;
    while (each != order) ++number, std::next_permutation(each.begin(), each.end());
    ++hits.at(number);
  }
  double chi = 0;
  for (int h : hits) chi += (h - 1000.0) * (h - 1000.0) / 1000;
  CHECK(chi < 49.8);  // 23 degrees of freedom, probability 0.001
}

TEST_CASE("bad arguments of random functions are errors") {
  CHECK(test::raised([] { uniform<std::int32_t, 3>(1, 4, 4); }) == "ebb::uniform: no integer from 4 up to but without 4");
  CHECK(test::raised([] { uniform<float, 3>(1, 2.f, 1.f); }) == "ebb::uniform: there is no range from 2 to 1");
  CHECK(test::raised([] { uniform<ebb::bfloat16>(1, ebb::bfloat16(0.5f), ebb::bfloat16(0.25f)); }).find("0.5") != std::string::npos);
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    CHECK_FALSE(test::raised([=] { uniform<double, dyn>(1, 2, 0., bad); }).empty());
    CHECK_FALSE(test::raised([=] { uniform<double, dyn>(1, 2, -bad, 0.); }).empty());
  }
  CHECK_FALSE(test::raised([] { uniform<float>(1, -3e38f, 3e38f); }).empty());  // as PyTorch: their difference is not a float
  CHECK(uniform<float>(1, 4.f, 4.f) == 4);                                      // as PyTorch
  CHECK(test::raised([] { bernoulli<3>(1, 1.5); }) == "ebb::bernoulli: 1.5 is no probability");
  CHECK(test::raised([] { bernoulli<3>(1, std::nan("")); }).find("is no probability") != std::string::npos);
  CHECK(test::raised([] { normal<float, dyn>(1, 2, 0.f, -1.f); }) == "ebb::normal: -1 is no standard deviation");
  CHECK(test::raised([] { normal<double, 2>(1, 0.0, -1e-10); }) == "ebb::normal: -1e-10 is no standard deviation");
  CHECK(test::raised([] { bernoulli<2>(1, 1.0000000001); }) == "ebb::bernoulli: 1.0000000001 is no probability");
  CHECK(test::raised([] { normal<double, 2>(1, 0., std::nan("")); }).find("is no standard deviation") != std::string::npos);
  CHECK(ebb::all_equal(normal<float, 2>(1, 3.f, 0.f), tensor<float, 2>{3.f, 3.f}));  // as PyTorch
  CHECK(test::raised([] { normal<float, dyn>(1, -2); }) == "ebb::normal: negative extent in [-2]");
  CHECK(test::raised([] { uniform<float, dyn, 3>(1, -2); }) == "ebb::uniform: negative extent in [-2, 3]");
  CHECK(test::raised([] { bernoulli<dyn, dyn>(1, {0, -1}); }) == "ebb::bernoulli: negative extent in [0, -1]");
  CHECK(test::raised([] { permutation(1, -1); }) == "ebb::permutation: negative extent in [-1]");
}
