// test/nn/convolve.cpp — the kernels of convolutions: bits of the reference for every geometry, and long double sums written out.
// SPDX-License-Identifier: BSL-1.0
// covers: convolve.hpp padded.hpp slid.hpp convolution_op.hpp
#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <ebb/nn/convolution.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

namespace {

using ebb::extent_list;

/// A convolution of [lead, n, channels, planes, rows, columns], or without planes, or without rows.
struct geometry {
  ebb::detail::conv_attributes attr;
  std::size_t lead = 0, n = 1, from = 1, to = 1;  // channels in a group
  std::size_t size[3] = {1, 1, 1}, taps[3] = {1, 1, 1};

  std::size_t windows(int i) const {
    const auto& a = attr.axis[i];
    const auto all = static_cast<int>(size[i]) + a.before + a.after, reach = a.dilation * (static_cast<int>(taps[i]) - 1) + 1;
    return all < reach ? 0 : static_cast<std::size_t>((all - reach) / a.stride + 1);
  }
  extent_list extents(std::size_t first, std::size_t second, auto&& of_axis) const {
    extent_list r;
    if (lead > 0) r.e[r.rank++] = lead;
    r.e[r.rank++] = first;
    r.e[r.rank++] = second;
    for (int i = 0; i < attr.axes; ++i) r.e[r.rank++] = of_axis(i);
    return r;
  }
  std::size_t groups() const { return static_cast<std::size_t>(attr.groups); }
  extent_list x() const { return extents(n, from * groups(), [&](int i) { return size[i]; }); }
  extent_list w() const { return extents(to * groups(), from, [&](int i) { return taps[i]; }); }
  extent_list r() const { return extents(n, to * groups(), [&](int i) { return windows(i); }); }
};

/// Geometries of all kinds, and some larger than the blocks of the kernels.
std::vector<geometry> geometries() {
  std::mt19937_64 next(7);
  const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(next); };
  const auto size = [&](int least, int most) { return static_cast<std::size_t>(pick(least, most)); };
  std::vector<geometry> r;
  for (int k = 0; k < 150; ++k) {
    geometry g;
    g.attr.axes = k < 120 ? 1 + k % 2 : 3;
    g.attr.groups = pick(0, 2) ? 1 : pick(2, 4);
    g.lead = pick(0, 3) ? 0 : size(1, 2);
    g.n = size(1, 3);
    g.from = size(1, 5);
    g.to = size(1, 9);
    for (int i = 0; i < g.attr.axes; ++i) {
      g.attr.axis[i] = {pick(1, 3), pick(1, 3), pick(0, 3), pick(0, 3)};
      g.taps[i] = size(1, 4);
      g.size[i] = size(1, g.attr.axes == 3 ? 8 : g.attr.axes == 2 ? 14 : 60);
    }
    bool fits = true;
    for (int i = 0; i < g.attr.axes; ++i) fits = fits && g.windows(i) > 0;
    if (fits) r.push_back(g);
  }
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 1, 2}, 0, 1, 20, 6, {70, 70}, {3, 3}});      // bands of rows
  r.push_back({{{{1, 1, 1, 1}, {}, {}}, 1, 3}, 0, 1, 12, 9, {12, 30, 30}, {2, 1, 2}});    // bands of planes
  r.push_back({{{{2, 1, 1, 0}, {}}, 1, 1}, 0, 1, 300, 2, {701, 1}, {3, 1}});              // bands of columns
  r.push_back({{{{2, 1, 2, 2}, {}}, 1, 1}, 0, 2, 3, 2, {2503, 1}, {5, 1}});  // and of two sets of places, one of which ends first
  r.push_back({{{{10, 1, 3, 0}, {}}, 1, 1}, 0, 2, 2, 3, {90, 1}, {4, 1}});                // strides that are too large for bands
  r.push_back({{{{9, 1, 0, 4}, {}}, 1, 1}, 0, 1, 12, 3, {100, 1}, {11, 1}});
  r.push_back({{{{5, 2, 3, 4}, {8, 1, 7, 0}}, 1, 2}, 0, 1, 3, 4, {31, 67}, {3, 9}});      // large strides
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 1, 2}, 0, 2, 5, 20, {8, 8}, {3, 3}});       // rows that leave lanes between them
  r.push_back({{{{1, 1, 0, 0}, {}}, 1, 1}, 0, 1, 1, 2, {2600, 1}, {2100, 1}});            // too many taps for bands
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 1, 2}, 0, 2, 40, 20, {19, 23}, {3, 3}});    // links and windows in several blocks
  r.push_back({{{{2, 1, 3, 3}, {2, 1, 3, 3}}, 1, 2}, 0, 1, 3, 40, {37, 33}, {7, 7}});      // the first layer of many networks
  r.push_back({{{{1, 1, 0, 0}, {1, 1, 0, 0}}, 1, 2}, 0, 1, 300, 270, {3, 5}, {1, 1}});    // one tap; gradients by weights in blocks
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 30, 2}, 0, 2, 1, 1, {20, 20}, {3, 3}});     // each channel for itself
  r.push_back({{{{1, 70, 90, 0}, {}}, 2, 1}, 0, 2, 2, 3, {700, 1}, {4, 1}});               // few rows, in several blocks
  r.push_back({{{{2, 1, 3, 3}, {2, 3, 3, 3}}, 3, 2}, 0, 1, 4, 2, {11, 13}, {3, 3}});       // few rows each way, and every other window
  r.push_back({{{{5, 1, 0, 0}, {}}, 1, 1}, 0, 2, 4, 3, {1400, 1}, {5, 1}});               // windows side by side
  r.push_back({{{{3, 2, 0, 0}, {}}, 1, 1}, 0, 1, 2, 3, {9, 1}, {1, 1}});                  // places that no window reads
  // Small arrays in panels, whose rows are shorter than registers; taps that reach beyond them; and more taps than packing has masks for.
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 1, 2}, 0, 66, 9, 10, {4, 4}, {3, 3}});
  r.push_back({{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 2, 2}, 0, 70, 3, 9, {5, 3}, {3, 3}});
  r.push_back({{{{1, 2, 2, 2}, {1, 3, 3, 3}}, 1, 2}, 0, 200, 2, 10, {3, 2}, {3, 3}});
  r.push_back({{{{1, 1, 1, 0}, {1, 1, 0, 1}}, 1, 2}, 0, 3, 10, 10, {19, 17}, {2, 2}});
  r.push_back({{{{1, 1, 5, 6}, {1, 1, 5, 6}}, 1, 2}, 0, 2, 2, 66, {13, 13}, {12, 12}});
  // Few rows each way and a small array: rows of windows end in the middle of a register.
  r.push_back({{{{1, 1, 1, 1}, {2, 1, 0, 1}, {1, 2, 2, 2}}, 1, 3}, 0, 2, 7, 8, {4, 5, 37}, {3, 2, 3}});
  r.push_back({{{{1, 1, 0, 0}, {1, 1, 0, 0}}, 1, 2}, 0, 1, 5, 6, {3, 70}, {2, 2}});
  return r;
}

template <class Op, class T>
std::vector<T> run(const geometry& g, const std::vector<T>& a, const extent_list& of_a, const std::vector<T>& b, const extent_list& of_b,
                   const extent_list& out) {
  const ebb::attributes attr = g.attr.packed();
  const std::int64_t packed[] = {attr.a, attr.b};
  const void* in[] = {a.data(), b.data()};
  const extent_list shapes[] = {of_a, of_b};
  std::vector<T> r(out.volume(), T(-77.0f)), wanted(out.volume(), T(0.0f));
  ebb::whole_call c;
  c.attr = packed;
  c.count = 2;
  c.in = in;
  c.shapes = shapes;
  c.out = r.data();
  c.result = out;
  ebb::info<Op, T>.kernels.whole(c);
  std::vector<ebb::cell> cells[3];
  for (const T& x : a) cells[0].push_back(ebb::to_cell(x));
  for (const T& x : b) cells[1].push_back(ebb::to_cell(x));
  cells[2].resize(out.volume());
  const ebb::cell* given[] = {cells[0].data(), cells[1].data()};
  ebb::info<Op, T>.reference({shapes, out, packed}, given, cells[2].data());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = ebb::from_cell<T>(cells[2][i]);
  CHECK(test::same_bits(r, wanted));
  return r;
}

template <class T>
long double as_long(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return static_cast<float>(x);
}

/// All three forms of one convolution: each is the reference's bit for bit, and within a bound of the sum of all products that belong to
/// an element, which is written out here for each triple of elements.
template <class T>
void check_forms(const geometry& g, long double bound) {
  INFO("stride " << g.attr.axis[0].stride << ", dilation " << g.attr.axis[0].dilation << ", groups " << g.attr.groups << ", x "
                 << g.x().volume() << ", w " << g.w().volume());
  const auto x = test::random_elements<T>(g.x().volume(), 1), w = test::random_elements<T>(g.w().volume(), 2);
  const auto r = test::random_elements<T>(g.r().volume(), 3);
  const auto forward = run<ebb::op::conv, T>(g, x, g.x(), w, g.w(), g.r());
  const auto back = run<ebb::op::conv_back, T>(g, r, g.r(), w, g.w(), g.x());
  const auto weights = run<ebb::op::conv_weights, T>(g, x, g.x(), r, g.r(), g.w());
  std::vector<long double> sums[3], sizes[3];
  const std::size_t volumes[] = {x.size(), w.size(), r.size()};
  for (int i = 0; i < 3; ++i) sums[i].resize(volumes[i]), sizes[i].resize(volumes[i]);
  // Axes that are not there have one place, one tap and one window.
  const int axes = g.attr.axes;
  const std::size_t lead = std::max<std::size_t>(g.lead, 1);
  std::size_t places[3] = {1, 1, 1}, taps[3] = {1, 1, 1}, windows[3] = {1, 1, 1};
  ebb::sliding_axis by[3];
  for (int i = 0; i < axes; ++i) {
    const int to = 3 - axes + i;
    places[to] = g.size[i], taps[to] = g.taps[i], windows[to] = g.windows(i), by[to] = g.attr.axis[i];
  }
  const auto all = [](const std::size_t* e) { return e[0] * e[1] * e[2]; };
  /// The place that a tap of a window reads, or `none`.
  constexpr std::size_t none = std::size_t(-1);
  const auto place = [&](std::size_t window, std::size_t tap) {
    std::size_t at = 0, run = 1;
    for (int i = 2; i >= 0; --i) {
      const long p =
          static_cast<long>(window % windows[i]) * by[i].stride + static_cast<long>(tap % taps[i]) * by[i].dilation - by[i].before;
      if (p < 0 || p >= static_cast<long>(places[i])) return none;
      at += static_cast<std::size_t>(p) * run;
      run *= places[i], window /= windows[i], tap /= taps[i];
    }
    return at;
  };
  for (std::size_t l = 0; l < lead; ++l)
    for (std::size_t n = 0; n < g.n; ++n)
      for (std::size_t o = 0; o < g.to * g.groups(); ++o)
        for (std::size_t c = 0; c < g.from; ++c)
          for (std::size_t p = 0; p < all(windows); ++p)
            for (std::size_t k = 0; k < all(taps); ++k) {
              const std::size_t read = place(p, k);
              if (read == none) continue;
              const std::size_t channel = (l * g.n + n) * g.from * g.groups() + o / g.to * g.from + c;
              const std::size_t at[] = {channel * all(places) + read, ((l * g.to * g.groups() + o) * g.from + c) * all(taps) + k,
                                        ((l * g.n + n) * g.to * g.groups() + o) * all(windows) + p};
              const long double factor[] = {as_long(x[at[0]]), as_long(w[at[1]]), as_long(r[at[2]])};
              for (int i = 0; i < 3; ++i) {
                const long double product = factor[(i + 1) % 3] * factor[(i + 2) % 3];
                sums[i][at[i]] += product;
                sizes[i][at[i]] += std::fabs(product);
              }
            }
  std::size_t wrong = 0;
  const std::vector<T>* results[] = {&back, &weights, &forward};
  for (int i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < volumes[i]; ++j) wrong += std::fabs(as_long((*results[i])[j]) - sums[i][j]) > bound * sizes[i][j];
  CHECK(wrong == 0);
}

TEST_CASE("all forms of a convolution are the sums of their products, with the reference's bits, for every geometry") {
  const auto all = geometries();
  CHECK(all.size() > 100);
  for (const geometry& g : all) check_forms<float>(g, 1e-5L);
}

TEST_CASE("convolutions of doubles and of narrow floats are summed in the same order") {
  const auto all = geometries();
  for (std::size_t i = 0; i < all.size(); i += 5) {
    check_forms<double>(all[i], 1e-13L);
    check_forms<ebb::bfloat16>(all[i], 1.0L / 256);
    check_forms<ebb::float16>(all[i], 1.0L / 2048);
  }
  check_forms<ebb::bfloat16>(all[all.size() - 8], 1.0L / 256);
}

TEST_CASE("without a batch or without channels a convolution is empty, or zeros") {
  geometry g{{{{1, 1, 1, 1}, {1, 1, 1, 1}}, 1, 2}, 0, 0, 2, 3, {4, 5}, {3, 3}};
  check_forms<float>(g, 0);
  g.n = 2;
  g.from = 0;
  check_forms<float>(g, 0);
  g.from = 2;
  g.size[0] = 0;
  g.attr.axis[0].before = 3;
  check_forms<float>(g, 0);
}

TEST_CASE("a place beyond the edge is a link with 0: an infinite weight makes it NaN") {
  geometry g{{{{1, 1, 1, 0}, {}}, 1, 1}, 0, 1, 1, 1, {3, 1}, {2, 1}};
  const std::vector<float> x{1, 2, 3}, w{HUGE_VALF, 1};
  const auto r = run<ebb::op::conv, float>(g, x, g.x(), w, g.w(), g.r());
  CHECK(std::isnan(r[0]));
  CHECK(std::isinf(r[1]));
  const auto back = run<ebb::op::conv_back, float>(g, x, g.r(), w, g.w(), g.x());
  CHECK(std::isinf(back[0]));
  CHECK(std::isnan(back[2]));
}

}  // namespace
