// test/nn/pool.cpp — pools: recorded values, sums over windows written out, ties, second derivatives, maps, narrow floats, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: pool.hpp pool_call.hpp pool_op.hpp sliding.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/nn.hpp>

namespace {

using ebb::dyn, ebb::pool;
using golden::of, golden::real;
constexpr golden::bounds pooled{.value = 2, .grad = 4, .second = 4, .spread = true};

template <int Axes, class F>
void recorded_pool(const std::string& name, F f) {
  using image = std::conditional_t<Axes == 2, of<real, dyn, dyn, dyn, dyn>, of<real, dyn, dyn, dyn, dyn, dyn>>;
  using array = std::conditional_t<Axes == 1, of<real, dyn, dyn, dyn>, image>;
  golden::check_wide<array>("pool", name, f, pooled);
}
template <pool G>
constexpr auto max1 = [](auto x) { return ebb::max_pool1d<G>(x); };
template <pool G>
constexpr auto max2 = [](auto x) { return ebb::max_pool2d<G>(x); };
template <pool G>
constexpr auto avg1 = [](auto x) { return ebb::avg_pool1d<G>(x); };
template <pool G>
constexpr auto avg2 = [](auto x) { return ebb::avg_pool2d<G>(x); };
constexpr pool half{.size = 3, .stride = 2, .padding = 1};
constexpr pool bare{.size = 3, .stride = 2, .padding = 1, .count_padding = false};

TEST_CASE("pools have PyTorch's recorded values and derivatives") {
  recorded_pool<1>("max_pool1d", max1<pool{}>);
  recorded_pool<1>("max_pool1d_stride_padding", max1<half>);
  recorded_pool<1>("max_pool1d_ties", max1<pool{}>);
  recorded_pool<1>("max_pool1d_nan", max1<pool{}>);
  recorded_pool<2>("max_pool2d", max2<pool{}>);
  recorded_pool<2>("max_pool2d_stride_padding", max2<half>);
  recorded_pool<2>("max_pool2d_ties", max2<pool{}>);
  recorded_pool<2>("max_pool2d_overlap", max2<pool{.size = 3, .stride = 1}>);
  recorded_pool<2>("max_pool2d_dilated", max2<pool{.stride = 1, .dilation = 2}>);
  recorded_pool<1>("avg_pool1d", avg1<pool{}>);
  recorded_pool<1>("avg_pool1d_stride_padding", avg1<half>);
  recorded_pool<2>("avg_pool2d", avg2<pool{}>);
  recorded_pool<2>("avg_pool2d_stride_padding", avg2<half>);
  recorded_pool<2>("avg_pool2d_exclude_padding", avg2<bare>);
  recorded_pool<1>("adaptive_avg_pool1d", [](auto x) { return ebb::adaptive_avg_pool1d<3>(x); });
  recorded_pool<2>("adaptive_avg_pool2d", [](auto x) { return ebb::adaptive_avg_pool2d<3, 1>(x); });
  recorded_pool<2>("adaptive_avg", [](auto x) { return ebb::adaptive_avg_pool2d<3, 4>(x); });
  recorded_pool<1>("adaptive_max_pool1d", [](auto x) { return ebb::adaptive_max_pool1d<3>(x); });
  recorded_pool<2>("adaptive_max", [](auto x) { return ebb::adaptive_max_pool2d<3, 4>(x); });
  golden::check_wide<of<real, 1, 2, 6, 6>>("pool", "max_pool2d_stride_padding", max2<half>, pooled);
  golden::check_wide<of<real, 1, 2, 6, 6>>("pool", "avg_pool2d_exclude_padding", avg2<bare>, pooled);
}

constexpr pool uneven_volumes{.size = {2, 3, 2}, .stride = {2, 1, 1}, .padding = {1, 1, 0}};
constexpr pool bare_volumes{.size = {2, 3, 2}, .stride = {2, 1, 1}, .padding = {1, 1, 0}, .count_padding = false};

TEST_CASE("pools along three axes have PyTorch's recorded values and derivatives, and compute in float in an autocast scope") {
  recorded_pool<3>("max_pool3d", [](auto x) { return ebb::max_pool3d<uneven_volumes>(x); });
  recorded_pool<3>("max_pool3d_dilated", [](auto x) { return ebb::max_pool3d<pool{.stride = 1, .dilation = {2, 3, 1}}>(x); });
  recorded_pool<3>("avg_pool3d", [](auto x) { return ebb::avg_pool3d<uneven_volumes>(x); });
  recorded_pool<3>("avg_pool3d_exclude_padding", [](auto x) { return ebb::avg_pool3d<bare_volumes>(x); });
  recorded_pool<3>("adaptive_avg_pool3d", [](auto x) { return ebb::adaptive_avg_pool3d<3, 2, 2>(x); });
  recorded_pool<3>("adaptive_max_pool3d", [](auto x) { return ebb::adaptive_max_pool3d<3, 2, 2>(x); });
  // The second derivative of sum(y^2) / 2 in direction v is what y's pull makes of y(v): here for one window, of all elements.
  const auto v = test::random_array<ebb::tensor<double, 2, 2, 2>>(1);
  const auto x = test::random_array<ebb::tensor<double, 2, 2, 2>>(2);
  const auto bend = ebb::hvp([](auto a) { return ebb::sum(ebb::square(ebb::avg_pool3d(a) + ebb::max_pool3d(a))) * 0.5; })(x, v);
  const std::size_t top = static_cast<std::size_t>(static_cast<std::int64_t>(ebb::argmax(ebb::flatten(x))));
  const double moved = static_cast<double>(ebb::mean(v)) + v.data()[top];
  for (std::size_t i = 0; i < 8; ++i) CHECK(bend.data()[i] == Approx(moved * (i == top ? 1.125 : 0.125)));
  const ebb::tensor<ebb::bfloat16, 2, 2, 2> low{};
  const auto autocast = ebb::under<ebb::autocast<ebb::bf16>>([](auto a) { return ebb::avg_pool3d(a); })(low);
  STATIC_REQUIRE(std::is_same_v<decltype(autocast), const ebb::tensor<float, 1, 1, 1>>);
}

using image = ebb::tensor<float, dyn, dyn, dyn>;
constexpr pool uneven_windows{.size = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .count_padding = false};

TEST_CASE("pools with a cut-off last window, places and divisors have PyTorch's recorded values and derivatives") {
  static constexpr pool up{.size = 3, .stride = 2, .padding = 1, .ceil_mode = true};
  recorded_pool<1>("max_pool1d_ceil_index", [](auto x) { return ebb::max_pool1d_with_index<up>(x); });
  recorded_pool<1>("avg_pool1d_ceil", avg1<up>);
  recorded_pool<2>("max_pool2d_ceil_index", [](auto x) { return ebb::max_pool2d_with_index<pool{.stride = 3, .ceil_mode = true}>(x); });
  recorded_pool<2>("max_pool2d_index", [](auto x) { return ebb::max_pool2d_with_index<uneven_windows>(x); });
  recorded_pool<2>("avg_pool2d_ceil", avg2<pool{.size = {3, 2}, .stride = {2, 3}, .padding = {1, 0}, .ceil_mode = true}>);
  recorded_pool<2>("avg_pool2d_ceil_exclude_padding",
                   avg2<pool{.size = 3, .stride = 2, .padding = 1, .count_padding = false, .ceil_mode = true}>);
  recorded_pool<2>("avg_pool2d_ceil_skips", avg2<pool{.size = 3, .padding = 1, .ceil_mode = true}>);
  recorded_pool<2>("avg_pool2d_divisor", avg2<pool{.size = 3, .stride = 2, .padding = 1, .ceil_mode = true, .divisor = 7}>);
  recorded_pool<3>("max_pool3d_ceil_index", [](auto x) {
    return ebb::max_pool3d_with_index<pool{.size = {2, 3, 2}, .stride = {2, 2, 3}, .padding = {1, 1, 0}, .ceil_mode = true}>(x);
  });
  recorded_pool<3>("avg_pool3d_divisor", [](auto x) {
    return ebb::avg_pool3d<pool{.size = {2, 3, 2}, .stride = {2, 1, 1}, .padding = {1, 1, 0}, .divisor = 5}>(x);
  });
}

/// The elements of three pools, added, and their places.
constexpr auto by_all_pools = [](auto a) {
  const auto line = ebb::max_pool1d_with_index<pool{.ceil_mode = true}>(a);
  const auto plane = ebb::max_pool2d_with_index<pool{.size = {1, 2}, .ceil_mode = true}>(a);
  const auto volume = ebb::max_pool3d_with_index<pool{.size = {1, 1, 2}, .ceil_mode = true}>(a);
  return std::tuple(std::get<0>(line) + std::get<0>(plane) + std::get<0>(volume), std::get<1>(line), std::get<1>(plane),
                    std::get<1>(volume));
};

TEST_CASE("places of largest elements count in their line, plane or volume; derivatives of every order go there") {
  // Windows of two elements along the last axis: the same ones for pools along one, two and three axes.
  const ebb::tensor<float, dyn, dyn, dyn> x{{{1, 2, 4, 4, 5}, {NAN, 1, -HUGE_VALF, -HUGE_VALF, 0}},
                                            {{6, 5, 0, -0.0f, -1}, {7, 8, 8, 7, 1}}};
  const auto [values, line, plane, volume] = ebb::compile(by_all_pools)(x);
  const std::size_t places[2][2][3] = {{{1, 2, 4}, {0, 2, 4}}, {{0, 2, 4}, {1, 2, 4}}};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = static_cast<std::int64_t>(places[i][j][k]), row = static_cast<std::int64_t>(j);
        const float largest = x(i, j, places[i][j][k]);
        CHECK((values(i, j, k) == 3 * largest || (std::isnan(largest) && std::isnan(values(i, j, k)))));
        CHECK(line(i, j, k) == at);
        CHECK(plane(i, j, k) == 5 * row + at);
        CHECK(volume(i, j, k) == 10 * static_cast<std::int64_t>(i) + 5 * row + at);
      }
  // The second derivative of half the sum of squares is what the pool takes from v, at the same places.
  const auto y = test::random_array<image>(1, 2, 2, 5), v = test::random_array<image>(2, 2, 2, 5);
  const auto bend = ebb::hvp([](auto a) { return ebb::sum(ebb::square(std::get<0>(by_all_pools(a)))) * 0.5f; })(y, v);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 5; ++k) {
      const float* row = y.data() + 5 * i;
      const bool largest = k == 4 || row[k] > row[k ^ 1];
      CHECK(bend.data()[5 * i + k] == (largest ? Approx(9 * v.data()[5 * i + k]) : Approx(0)));
    }
  const ebb::tensor<float, dyn> one{1};  // taps at -1 and 1: no place
  CHECK(std::get<1>(ebb::max_pool1d_with_index<pool{.padding = 1, .dilation = 2}>(one))(0) == -1);
  CHECK(test::says(test::raised([] { ebb::max_pool2d_with_index(image(2, 1, 5)); }), {"ebb::max_pool2d", "[2, 1, 5]"}));
}

/// Sizes 3 x 2, strides 2 x 1, padding 1 x 0: the largest element and the sum of each window of x, and how many elements it has.
void each_window(const image& x, auto&& f) {
  for (std::size_t c = 0; c < x.extent(0); ++c)
    for (std::size_t y = 0; y < (x.extent(1) + 2 - 3) / 2 + 1; ++y)
      for (std::size_t z = 0; z + 1 < x.extent(2); ++z) {
        std::size_t best[2] = {}, count = 0;
        long double sum = 0;
        for (std::size_t i = 2 * y; i < 2 * y + 3; ++i)
          for (std::size_t j = z; j < z + 2; ++j) {
            if (i < 1 || i > x.extent(1)) continue;
            sum += x(c, i - 1, j);
            if (count++ == 0 || x(c, i - 1, j) > x(c, best[0], best[1])) best[0] = i - 1, best[1] = j;
          }
        f(c, y, z, best, sum, count);
      }
}

TEST_CASE("pools that are called have the values of loops, and so have their gradients and second derivatives") {
  const auto x = test::random_array<image>(1, 3, 8, 7);
  const auto largest = ebb::max_pool2d<uneven_windows>(x), mean = ebb::avg_pool2d<uneven_windows>(x);
  // The gradients of sum(max_pool(x)^2 / 2) and of sum(avg_pool(x)^2 / 2): each window adds its value.
  const auto of_largest = ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::max_pool2d<uneven_windows>(a))) * 0.5f; })(x);
  const auto of_mean = ebb::grad([](auto a) { return ebb::sum(ebb::square(ebb::avg_pool2d<uneven_windows>(a))) * 0.5f; })(x);
  // The second derivatives in the direction v: pools of v, picked where x is largest, and spread again.
  const auto v = test::random_array<image>(2, 3, 8, 7);
  const auto bend = ebb::hvp([](auto a) { return ebb::sum(ebb::square(ebb::max_pool2d<uneven_windows>(a))) * 0.5f; })(x, v);
  std::vector<long double> sums[3];
  for (auto& s : sums) s.resize(x.size());
  std::vector<long double> counts(x.size());
  const auto at = [&](std::size_t c, std::size_t i, std::size_t j) { return (c * 8 + i) * 7 + j; };
  each_window(x, [&](std::size_t c, std::size_t y, std::size_t z, const std::size_t* best, long double sum, std::size_t count) {
    const float top = x(c, best[0], best[1]);
    const long double average = sum / static_cast<long double>(count);
    CHECK(largest(c, y, z) == top);
    CHECK(std::fabs(mean(c, y, z) - average) <= 1e-6L);
    sums[0][at(c, best[0], best[1])] += top;
    sums[2][at(c, best[0], best[1])] += v(c, best[0], best[1]);
    for (std::size_t i = 2 * y; i < 2 * y + 3; ++i)
      for (std::size_t j = z; j < z + 2; ++j)
        if (i >= 1 && i <= 8) sums[1][at(c, i - 1, j)] += average / static_cast<long double>(count);
  });
  std::size_t wrong = 0;
  const float* results[] = {of_largest.data(), of_mean.data(), bend.data()};
  for (int k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < x.size(); ++i) wrong += std::fabs(results[k][i] - sums[k][i]) > 1e-5L;
  CHECK(wrong == 0);
}

/// Each window by itself: elements in rising order, from the first one on or from 0.
template <int Rows, int Columns, int Stride, int Padding, int Dilation>
void check_side_by_side(const image& x) {
  static constexpr pool largest{.size = {Rows, Columns}, .stride = Stride, .padding = Padding, .dilation = Dilation};
  static constexpr pool mean{.size = {Rows, Columns}, .stride = Stride, .padding = Padding, .count_padding = false};
  const auto each = [&x](const image& of_pool, int dilation, auto initial, auto take, auto finish) {
    std::size_t wrong = 0;
    for (std::size_t c = 0; c < of_pool.extent(0); ++c)
      for (std::size_t y = 0; y < of_pool.extent(1); ++y)
        for (std::size_t z = 0; z < of_pool.extent(2); ++z) {
          float so_far = initial, count = 0;
          for (int i = 0; i < Rows; ++i)
            for (int j = 0; j < Columns; ++j) {
              const int row = static_cast<int>(y) * Stride - Padding + i * dilation;
              const int column = static_cast<int>(z) * Stride - Padding + j * dilation;
              if (row < 0 || column < 0 || row >= static_cast<int>(x.extent(1)) || column >= static_cast<int>(x.extent(2))) continue;
              so_far = take(so_far, x(c, static_cast<std::size_t>(row), static_cast<std::size_t>(column)));
              ++count;
            }
          const float want = finish(so_far, count), got = of_pool(c, y, z);
          wrong += std::isnan(want) ? !std::isnan(got) : std::memcmp(&want, &got, sizeof got) != 0;
        }
    CHECK(wrong == 0);
  };
  each(ebb::max_pool2d<largest>(x), Dilation, -HUGE_VALF, [](float a, float b) { return b > a || std::isnan(b) ? b : a; },
       [](float a, float) { return a; });
  each(ebb::avg_pool2d<mean>(x), 1, 0.0f, [](float a, float b) { return a + b; }, [](float a, float count) { return a / count; });
}

/// Pools along one axis have the bits of those along two whose windows have one row.
template <int Columns, int Stride, int Padding>
void check_lines(const image& x) {
  constexpr pool line{.size = Columns, .stride = Stride, .padding = Padding};
  constexpr pool plane{.size = {1, Columns}, .stride = {1, Stride}, .padding = {0, Padding}};
  CHECK(test::same_bits(ebb::max_pool1d<line>(x), ebb::max_pool2d<plane>(x)));
  CHECK(test::same_bits(ebb::avg_pool1d<line>(x), ebb::avg_pool2d<plane>(x)));
}

template <class T>
void check_that_nan_is_found() {
  for (std::size_t size = 0; size < 140; ++size) {
    std::vector<T> x(size, std::numeric_limits<T>::infinity());
    for (std::size_t i = 0; i < size; i += 3) x[i] = static_cast<T>(i) - std::numeric_limits<T>::infinity();
    CHECK(!ebb::detail::has_nan(x.data(), size));
    std::size_t found = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const T before = std::exchange(x[i], std::copysign(std::numeric_limits<T>::quiet_NaN(), i % 2 ? T(-1) : T(1)));
      found += ebb::detail::has_nan(x.data(), size);
      x[i] = before;
    }
    CHECK(found == size);
  }
}

TEST_CASE("a NaN is found wherever it is") {
  check_that_nan_is_found<float>();
  check_that_nan_is_found<double>();
}

TEST_CASE("windows that are pooled side by side have the bits of windows by themselves, with NaN and with zeros of both signs") {
  for (const std::size_t width : {7u, 11u, 16u, 37u, 83u, 150u}) {
    const std::size_t height = width < 80 ? 9 : 21;
    const auto numbers = test::random_array<image>(5, 2, height, width);
    std::vector<float> elements(numbers.data(), numbers.data() + numbers.size());
    for (std::size_t i = 0; i < elements.size(); i += 3) elements[i] = i % 2 ? 0.0f : -0.0f;
    for (int turn = 0; turn < 2; ++turn) {
      const image x(ebb::view<const float, dyn, dyn, dyn>(elements.data(), 2, height, width));
      check_side_by_side<2, 2, 2, 0, 1>(x);
      check_side_by_side<3, 3, 1, 1, 1>(x);
      check_side_by_side<2, 3, 2, 1, 2>(x);
      check_side_by_side<1, 4, 3, 0, 2>(x);
      check_side_by_side<3, 3, 3, 1, 1>(x);
      check_side_by_side<4, 4, 4, 0, 1>(x);
      check_side_by_side<2, 5, 4, 1, 1>(x);
      check_side_by_side<3, 2, 5, 0, 1>(x);
      check_lines<2, 2, 0>(x);
      check_lines<3, 1, 1>(x);
      check_lines<4, 4, 0>(x);
      check_lines<5, 3, 2>(x);
      for (const std::size_t at : {width, 3 * width + 4, 12 * width - 1}) elements[at] = NAN;
    }
  }
  // Sums of whole numbers, divided by a power of two, are the same in double.
  const image whole(ebb::floor(100 * test::random_array<image>(8, 2, 24, 96)));
  const auto wide = ebb::cast<double>(whole);
  const auto same = [&](auto f) { return test::same_bits(ebb::cast<double>(f(whole)), f(wide)); };
  CHECK(same([](auto a) { return ebb::avg_pool2d<pool{.size = 4}>(a); }));
  CHECK(same([](auto a) { return ebb::avg_pool2d<pool{.size = 2}>(a); }));
  CHECK(same([](auto a) { return ebb::max_pool2d<pool{.size = 3}>(a); }));
  CHECK(same([](auto a) { return ebb::max_pool2d<pool{.size = 4}>(a); }));
  CHECK(same([](auto a) { return ebb::max_pool2d<pool{.size = 3, .stride = 1, .padding = 1}>(a); }));
  // 9 and 12 windows of 4 and 3 columns each, and 5 that overlap.
  const auto x = test::random_array<image>(6, 2, 4, 36);
  CHECK(test::same_bits(ebb::adaptive_avg_pool2d<2, 9>(x), ebb::avg_pool2d<pool{.size = {2, 4}}>(x)));
  CHECK(test::same_bits(ebb::adaptive_max_pool2d<2, 12>(x), ebb::max_pool2d<pool{.size = {2, 3}}>(x)));
  CHECK(test::same_bits(ebb::adaptive_avg_pool1d<9>(x), ebb::avg_pool1d<pool{.size = 4}>(x)));
  const auto five = ebb::adaptive_max_pool1d<5>(x);
  const float* const last = x.data() + 7 * 36;
  for (std::size_t k = 0; k < 5; ++k) CHECK(five(1, 3, k) == *std::max_element(last + k * 36 / 5, last + ((k + 1) * 36 + 4) / 5));
}

/// The gradient of a sum of a pool's windows times g: of Rows x 2 windows that are side by side, each adds its g to the place of the first
/// largest element, or of the last NaN.
template <int Rows, class T, class Pool>
void check_pairs(const ebb::tensor<T, dyn, dyn, dyn>& x, const ebb::tensor<T, dyn, dyn, dyn>& g, Pool) {
  const ebb::tensor<T, dyn, dyn, dyn> got = ebb::grad([](auto a, auto b) { return ebb::sum(Pool{}(a) * b); })(x, g);
  std::size_t wrong = 0;
  std::vector<T> want(x.size(), T(0));
  for (std::size_t c = 0; c < g.extent(0); ++c)
    for (std::size_t y = 0; y < g.extent(1); ++y)
      for (std::size_t z = 0; z < g.extent(2); ++z) {
        std::size_t at = 0;
        for (std::size_t k = 0; k < 2 * Rows; ++k) {
          const std::size_t i = (c * x.extent(1) + Rows * y + k / 2) * x.extent(2) + 2 * z + k % 2;
          if (k == 0 || x.data()[i] > x.data()[at] || std::isnan(x.data()[i])) at = i;
        }
        want[at] += g(c, y, z);
      }
  for (std::size_t i = 0; i < want.size(); ++i) wrong += std::memcmp(&want[i], got.data() + i, sizeof(T)) != 0;
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("gradients of the largest of pairs have the bits of windows by themselves", "", float, double) {
  using T = TestType;
  using array = ebb::tensor<T, dyn, dyn, dyn>;
  for (const std::size_t width : {2u, 3u, 8u, 15u, 30u, 64u, 67u}) {
    array x = test::random_array<array>(1, 2, 7, width);
    T* const at = x.mutable_data();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % 5 == 0) at[i] = i % 2 ? T(0) : -T(0);
      else if (i % 17 == 3) at[i] = std::numeric_limits<T>::quiet_NaN();
      else if (i % 7 == 2) at[i] = -std::numeric_limits<T>::infinity();
    const auto given = [&](std::size_t rows) {
      array g = test::random_array<array>(2, 2, rows, width / 2);
      for (std::size_t i = 0; i < g.size(); i += 4) g.mutable_data()[i] = -T(0);
      return g;
    };
    check_pairs<2, T>(x, given(3), [](auto a) { return ebb::max_pool2d<pool{.size = 2}>(a); });
    check_pairs<3, T>(x, given(2), [](auto a) { return ebb::max_pool2d<pool{.size = {3, 2}}>(a); });
    check_pairs<1, T>(x, given(7), [](auto a) { return ebb::max_pool1d<pool{.size = 2}>(a); });
  }
  const array x = test::random_array<array>(3, 2, 6, 40), g = test::random_array<array>(4, 2, 3, 20);
  check_pairs<2, T>(x, g, [](auto a) { return ebb::adaptive_max_pool2d<3, 20>(a); });
  // Cubes of eight: two planes of windows.
  const auto cubes = test::random_array<ebb::tensor<T, 3, 5, 4, 18>>(5);
  const auto of_cubes = ebb::grad([](auto a) { return ebb::sum(ebb::max_pool3d<pool{.size = 2}>(a)); })(cubes);
  T total = 0;
  std::size_t ones = 0;
  for (std::size_t i = 0; i < of_cubes.size(); ++i) total += of_cubes.data()[i], ones += of_cubes.data()[i] == 1;
  CHECK((total == 3 * 2 * 2 * 9 && ones == 3 * 2 * 2 * 9));
}

TEST_CASE("a map over pools, a pool on the tape, and a pool of narrow floats have the bits of single calls") {
  const auto x = test::random_array<ebb::tensor<float, dyn, dyn, dyn, dyn>>(3, 2, 3, 8, 7);
  const auto f = [](auto a) { return ebb::max_pool2d<uneven_windows>(a) + ebb::avg_pool2d<uneven_windows>(a); };
  const auto slope = [](auto a) { return ebb::grad([](auto b) { return ebb::sum(ebb::square(ebb::max_pool2d<uneven_windows>(b))); })(a); };
  CHECK(test::same_bits(ebb::map(f, x), f(x)));
  CHECK(test::same_bits(ebb::map(slope, x), slope(x)));
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(ebb::sum(ebb::square(ebb::max_pool2d<uneven_windows>(v))), {.compiled_autograd = captured});
    CHECK(test::same_bits(v.grad().value(), slope(x)));
  }
  const auto low = ebb::cast<ebb::bfloat16>(x);
  const auto wide = ebb::cast<float>(low);
  CHECK(test::same_bits(ebb::avg_pool2d<uneven_windows>(low), ebb::cast<ebb::bfloat16>(ebb::avg_pool2d<uneven_windows>(wide))));
  CHECK(test::same_bits(ebb::max_pool2d<uneven_windows>(low), ebb::cast<ebb::bfloat16>(ebb::max_pool2d<uneven_windows>(wide))));
  const auto autocast = ebb::under<ebb::autocast<ebb::bf16>>([](auto a) { return ebb::max_pool2d<half>(a); })(x);
  STATIC_REQUIRE(std::is_same_v<decltype(autocast)::value_type, float>);
}

TEST_CASE("pools at the edges: infinities, no planes, whole numbers, windows that do not fit") {
  const float least = -HUGE_VALF;
  const ebb::tensor<float, 1, 4> low{{least, least, least, 1}};
  CHECK(ebb::max_pool1d(low)(0, 0) == least);
  CHECK(ebb::grad([](auto a) { return ebb::sum(ebb::max_pool1d(a)); })(low)(0, 0) == 1);
  CHECK(ebb::max_pool2d(image(0, 4, 4)).size() == 0);
  CHECK(std::isnan(ebb::adaptive_avg_pool1d<1>(ebb::tensor<float, dyn, dyn>(1, 0))(0, 0)));
  CHECK(ebb::adaptive_max_pool1d<1>(ebb::tensor<float, dyn, dyn>(1, 0))(0, 0) == least);
  CHECK(ebb::avg_pool1d(ebb::tensor<int, 4>{1, 2, 3, 4})(1) == 3.5f);
  CHECK(test::says(test::raised([] { ebb::max_pool2d(image(2, 1, 5)); }), {"ebb::max_pool2d", "[2, 1, 5]"}));
  using plane = ebb::term<float, dyn, dyn, dyn>;
  for (const ebb::graph& g : {ebb::trace_of<decltype(max2<half>), plane>::make(), ebb::trace_of<decltype(avg2<half>), plane>::make()}) {
    const ebb::graph d = ebb::joint(g, {0});
    CHECK_FALSE(ebb::first_error(d));
    CHECK_FALSE(ebb::first_error(ebb::prune(ebb::joint(d, {0}))));
  }
}

TEST_CASE("adaptive pools of x^3 have the first and second derivatives of the elements of their windows") {
  // Two windows along three places share the middle one.
  const auto windows = [](const linalg_test::long_numbers& x, auto of_window) {
    linalg_test::long_numbers r;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        linalg_test::long_numbers window;
        for (std::size_t p = i; p < i + 2; ++p)
          for (std::size_t q = 2 * j; q < 2 * j + 2; ++q) window.push_back(std::pow(x[4 * p + q], 3.0L));
        r.push_back(std::pow(of_window(window), 2.0L));
      }
    return r;
  };
  const auto mean = [&](const linalg_test::long_numbers& x) {
    return windows(x, [](const auto& w) { return (w[0] + w[1] + w[2] + w[3]) / 4; });
  };
  const auto most = [&](const linalg_test::long_numbers& x) {
    return windows(x, [](const auto& w) { return *std::max_element(w.begin(), w.end()); });
  };
  using plane = ebb::term<double, 1, 1, 3, 4>;
  const auto x = linalg_test::random_numbers(12, 2);
  const auto extents = linalg_test::extents_of({1, 1, 3, 4});
  linalg_test::against_differences<plane>(
      "avg", [](auto a) { return ebb::square(ebb::adaptive_avg_pool2d<2, 2>(a * a * a)); }, x, extents, mean, 1e-10L, 1e-6L);
  linalg_test::against_differences<plane>(
      "max", [](auto a) { return ebb::square(ebb::adaptive_max_pool2d<2, 2>(a * a * a)); }, x, extents, most, 1e-10L, 1e-6L);
}

}  // namespace
