// test/nn/resample.cpp — the kernels of images of another size: bits of the reference for every extent, and long double sums written out.
// SPDX-License-Identifier: BSL-1.0
// covers: resample.hpp resample_back.hpp resize_op.hpp
#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/nn/resize.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

namespace {

using ebb::extent_list;
using ebb::functions::sampling;

struct sizes {
  std::size_t batch;
  std::vector<std::size_t> from, to;

  extent_list extents(const std::vector<std::size_t>& places) const {
    extent_list r;
    r.e[r.rank++] = batch;
    for (const std::size_t e : places) r.e[r.rank++] = e;
    return r;
  }
};

/// Rows of fewer elements than a register has, of as many, of one more; ends of rows; more and fewer elements; whole factors.
std::vector<sizes> all_sizes() {
  std::vector<sizes> r{{0, {3}, {5}},
                       {1, {1}, {1}},
                       {1, {1}, {40}},
                       {2, {40}, {1}},
                       {19, {7}, {7}},
                       {2, {16, 32}, {32, 64}},
                       {1, {16, 17}, {20, 33}},
                       {1, {5, 50}, {7, 9}},
                       {3, {2, 3}, {9, 16}},
                       {1, {33, 8}, {2, 24}},
                       {2, {2, 3, 4}, {4, 2, 9}},
                       {1, {3, 1, 18}, {3, 5, 54}},
                       {1, {2, 2, 2, 2}, {3, 1, 4, 5}}};
  for (const std::size_t m : {2u, 15u, 16u, 17u, 31u})
    for (const std::size_t n : {3u, 16u, 33u, 47u}) r.push_back({2, {m}, {n}});
  return r;
}

/// Row i has the weights of the elements of an axis in element i of the resized one.
std::vector<std::vector<long double>> weights(sampling how, std::size_t from, std::size_t to) {
  const auto m = static_cast<long double>(from), n = static_cast<long double>(to);
  std::vector<std::vector<long double>> r(to, std::vector<long double>(from));
  for (std::size_t i = 0; i < to; ++i) {
    const auto t = static_cast<long double>(i);
    const auto add = [&](long double place, long double weight) {
      r[i][static_cast<std::size_t>(std::fmax(0.0L, std::fmin(m - 1, place)))] += weight;
    };
    long double at = (t + 0.5L) * m / n - 0.5L;
    if (how == sampling::corners || how == sampling::cubic_corners) at = to > 1 ? t * (m - 1) / (n - 1) : 0;
    if (how == sampling::linear) at = std::fmax(0.0L, at);
    if (how == sampling::nearest) r[i][i * from / to] = 1;
    else if (how == sampling::exact) r[i][(2 * i + 1) * from / (2 * to)] = 1;
    else if (how == sampling::linear || how == sampling::corners) {
      const long double low = std::floor(at + 1e-12L), share = at - low;
      add(low, 1 - share), add(low + 1, share);
    } else
      for (int k = -1; k <= 2; ++k) {
        const long double place = std::floor(at + 1e-12L) + k, d = std::fabs(at - place), a = -0.75L;
        add(place, d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0);
      }
  }
  return r;
}

/// x with axis number `axis` multiplied by the matrix, or by its transpose.
void apply(std::vector<long double>& x, extent_list& e, int axis, const std::vector<std::vector<long double>>& by, bool transposed) {
  const std::size_t before = e.volume(0, axis), after = e.volume(axis + 1, e.rank), m = e.e[axis];
  const std::size_t n = transposed ? by[0].size() : by.size();
  std::vector<long double> y(before * n * after);
  for (std::size_t o = 0; o < before; ++o)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j)
        for (std::size_t k = 0; k < after; ++k)
          y[(o * n + i) * after + k] += (transposed ? by[j][i] : by[i][j]) * x[(o * m + j) * after + k];
  e.e[axis] = n;
  x = y;
}

template <class Op, class T>
std::vector<T> run(sampling how, const std::vector<T>& x, const extent_list& of_x, const extent_list& out) {
  const std::int64_t attr[] = {static_cast<std::int64_t>(how), out.rank - 1};
  // The elements around the result belong to others.
  constexpr std::size_t margin = 32;
  std::vector<T> room(out.volume() + 2 * margin, T(1)), wanted(out.volume(), T(0));
  const void* in[] = {x.data()};
  ebb::whole_call c;
  c.attr = attr;
  c.count = 1;
  c.in = in;
  c.shapes = &of_x;
  c.out = room.data() + margin;
  c.result = out;
  ebb::info<Op, T>.kernels.whole(c);
  const auto first = room.begin() + margin, last = first + static_cast<std::ptrdiff_t>(out.volume());
  CHECK(std::vector<T>(room.begin(), first) == std::vector<T>(margin, T(1)));
  CHECK(std::vector<T>(last, room.end()) == std::vector<T>(margin, T(1)));
  std::vector<ebb::cell> cells, results(out.volume());
  for (const T& e : x) cells.push_back(ebb::to_cell(e));
  const ebb::cell* given[] = {cells.data()};
  ebb::info<Op, T>.reference({&of_x, out, attr}, given, results.data());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = ebb::from_cell<T>(results[i]);
  const std::vector<T> r(first, last);
  CHECK(test::same_bits(r, wanted));
  return r;
}

template <int Taps, class T>
void check(sampling how, const sizes& s, long double bound) {
  const extent_list x = s.extents(s.from), y = s.extents(s.to);
  INFO("sampling " << static_cast<int>(how) << ", " << x.volume() << " elements to " << y.volume() << ", last axis " << s.from.back()
                   << " to " << s.to.back());
  for (const bool back : {false, true}) {
    const extent_list &in = back ? y : x, &out = back ? x : y;
    const auto given = test::random_elements<T>(in.volume(), 1 + back);
    const auto got =
        back ? run<ebb::op::resample_back<Taps>, T>(how, given, in, out) : run<ebb::op::resample<Taps>, T>(how, given, in, out);
    std::vector<long double> sums(given.begin(), given.end());
    extent_list e = in;
    long double most = 1;
    for (std::size_t i = 0; i < s.from.size(); ++i) {
      const auto by = weights(how, s.from[i], s.to[i]);
      apply(sums, e, static_cast<int>(i) + 1, by, back);
      for (std::size_t j = 0; back && j < s.from[i]; ++j) {
        long double sum = 0;
        for (const auto& line : by) sum += std::fabs(line[j]);
        most = std::fmax(most, 4 * sum);
      }
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += std::fabs(got[i] - sums[i]) > bound * most * most;
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("resized images and their gradients are weighted sums along each axis, with the reference's bits", "", float, double) {
  const long double bound = std::is_same_v<TestType, float> ? 2e-6L : 5e-15L;
  for (const sizes& s : all_sizes()) {
    check<1, TestType>(sampling::nearest, s, bound);
    check<1, TestType>(sampling::exact, s, bound);
    check<2, TestType>(sampling::linear, s, bound);
    check<2, TestType>(sampling::corners, s, bound);
    check<4, TestType>(sampling::cubic, s, bound);
    check<4, TestType>(sampling::cubic_corners, s, bound);
  }
}

TEMPLATE_TEST_CASE("elements of each size are taken from the nearest place", "", std::int32_t, std::int64_t, ebb::bf16, ebb::f16) {
  for (const sizes& s : all_sizes()) {
    std::vector<TestType> x;
    for (std::size_t i = 0; i < s.extents(s.from).volume(); ++i) x.push_back(static_cast<TestType>(static_cast<float>(i % 1000)));
    for (const sampling how : {sampling::nearest, sampling::exact})
      run<ebb::op::resample<1>, TestType>(how, x, s.extents(s.from), s.extents(s.to));
  }
}

TEMPLATE_TEST_CASE("narrow floats are summed in float and rounded once, with the reference's bits", "", ebb::bf16, ebb::f16) {
  for (const sizes& s : all_sizes()) {
    const extent_list x = s.extents(s.from), y = s.extents(s.to);
    const auto given = test::random_elements<TestType>(x.volume(), 1), back = test::random_elements<TestType>(y.volume(), 2);
    run<ebb::op::resample<2>, TestType>(sampling::linear, given, x, y);
    run<ebb::op::resample<4>, TestType>(sampling::cubic, given, x, y);
    run<ebb::op::resample_back<1>, TestType>(sampling::exact, back, y, x);
    run<ebb::op::resample_back<2>, TestType>(sampling::corners, back, y, x);
    run<ebb::op::resample_back<4>, TestType>(sampling::cubic, back, y, x);
  }
}

TEST_CASE("a NaN or an infinity meets the weights of its taps only, and also those that are 0") {
  const extent_list three = sizes{1, {3}, {}}.extents({3}), five = sizes{1, {}, {5}}.extents({5});
  const std::vector<float> x{1, 2, INFINITY};
  const auto corners = run<ebb::op::resample<2>, float>(sampling::corners, x, three, five);
  CHECK((corners[0] == 1 && corners[1] == 1.5f && std::isnan(corners[2]) && std::isinf(corners[3]) && std::isnan(corners[4])));
  const std::vector<float> y{1, INFINITY, 2};
  const auto linear = run<ebb::op::resample<2>, float>(sampling::linear, y, three, five);
  CHECK((std::isnan(linear[0]) && std::isinf(linear[1]) && std::fabs(linear[4] - 2) <= 1e-6f));
}

TEST_CASE("lanes of a register are permuted") {
  const auto check_of = []<class T>(T) {
    constexpr int n = ebb::simd::count_of<T>;
    ebb::simd::vector<T> x{};
    ebb::simd::vector<ebb::simd::int_of<T>> at{};
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(i + 1), at[i] = (5 * i + 3) % n;
    const auto y = ebb::simd::permuted<T>(x, at);
    for (int i = 0; i < n; ++i) CHECK(y[i] == static_cast<T>((5 * i + 3) % n + 1));
  };
  check_of(1.0f), check_of(1.0), check_of(std::int32_t{1}), check_of(std::int64_t{1});
}

}  // namespace
