// bench/gradbench/kmeans.cpp — kmeans: the sum of squared distances to the nearest centroid, and Newton's direction, which is the gradient
// over the diagonal of the Hessian.
// SPDX-License-Identifier: BSL-1.0
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, shaped
#include <ebb/functional.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural, shaped
constexpr auto distances = [](auto centroids, auto points) { return ebb::sum<2>(ebb::square(ebb::unsqueeze<1>(points) - centroids)); };
constexpr auto cost = [](auto centroids, auto points) { return ebb::sum(ebb::min<1>(distances(centroids, points))); };
constexpr auto value = ebb::compile(cost);
// lines: end

// lines: natural
constexpr auto direction = ebb::compile([](auto centroids, auto points) {
  return ebb::grad(cost)(centroids, points) / ebb::hvp<0>(cost)(centroids, points, ebb::ones_like(centroids));
});
// lines: end

// lines: shaped
constexpr auto cost_of = [](auto centroids, auto points, auto nearest) {
  return ebb::sum(ebb::square(points - ebb::take(centroids, nearest)));
};
constexpr auto shaped_direction = ebb::compile([](auto centroids, auto points) {
  const auto nearest = ebb::argmin<1>(distances(centroids, points));
  return ebb::grad(cost_of)(centroids, points, nearest) / ebb::hvp<0>(cost_of)(centroids, points, nearest, ebb::ones_like(centroids));
});
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
T distance(const T* a, const T* b, std::size_t d) {
  T sum = 0;
  for (std::size_t i = 0; i < d; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}
template <class T>
[[gnu::noinline]] T manual(const T* centroids, const T* points, std::size_t k, std::size_t n, std::size_t d) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    T least = distance(centroids, points + i * d, d);
    for (std::size_t j = 1; j < k; ++j) least = std::min(least, distance(centroids + j * d, points + i * d, d));
    sum += least;
  }
  return sum;
}
template <class T>
[[gnu::noinline]] void manual_direction(const T* centroids, const T* points, T* to, T* second, std::size_t k, std::size_t n,
                                        std::size_t d) {
  for (std::size_t j = 0; j < k * d; ++j) to[j] = second[j] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T* const p = points + i * d;
    std::size_t nearest = 0;
    T least = distance(centroids, p, d);
    for (std::size_t j = 1; j < k; ++j) {
      const T here = distance(centroids + j * d, p, d);
      if (here < least) {
        least = here;
        nearest = j;
      }
    }
    for (std::size_t c = 0; c < d; ++c) {
      to[nearest * d + c] += 2 * (centroids[nearest * d + c] - p[c]);
      second[nearest * d + c] += 2;
    }
  }
  for (std::size_t j = 0; j < k * d; ++j) to[j] /= second[j];
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;

/// As many points of D coordinates as a step takes, in lanes: at[g][c] has coordinate c of the points of group g.
template <int D>
struct some_points {
  static constexpr int groups = many_registers && D <= 8 ? 2 : 1, count = groups * lanes;
  R at[groups][D], least[groups], nearest[groups];

  /// Takes n of them, the last one more than once if there are fewer.
  EBB_INLINE some_points(const double* p, int n) {
    unrolled<groups>([&](auto g) EBB_LAMBDA {
      load_columns<D>([&](int r) EBB_LAMBDA { return p + std::min(g * lanes + r, n - 1) * D; }, at[g]);
    });
  }
  /// Finds the least squared distance of each, and which centroid it is to.
  EBB_INLINE void search(const double* centroids, std::size_t k) {
    unrolled<groups>([&](auto g) EBB_LAMBDA {
      least[g] = all(std::numeric_limits<double>::infinity());
      nearest[g] = all(0);
    });
    for (std::size_t j = 0; j < k; ++j, centroids += D) {
      R even[groups], odd[groups];
      unrolled<D / 2>([&](auto c) EBB_LAMBDA {
        unrolled<groups>([&](auto g) EBB_LAMBDA {
          const R a = at[g][2 * c] - all(centroids[2 * c]), b = at[g][2 * c + 1] - all(centroids[2 * c + 1]);
          even[g] = c ? fma(a, a, even[g]) : a * a;
          odd[g] = c ? fma(b, b, odd[g]) : b * b;
        });
      });
      unrolled<groups>([&](auto g) EBB_LAMBDA {
        const R here = even[g] + odd[g];
        nearest[g] = ebb::simd::select<double>(ebb::simd::less<double>(here, least[g]), all(static_cast<double>(j)), nearest[g]);
        least[g] = ebb::simd::smaller(here, least[g]);
      });
    }
  }
};
template <int D>
[[gnu::noinline]] double simd(const double* centroids, const double* points, std::size_t k, std::size_t n) {
  constexpr std::size_t step = some_points<D>::count;
  R sum[some_points<D>::groups] = {};
  for (std::size_t i = 0; i < n; i += step) {
    some_points<D> p(points + i * D, static_cast<int>(std::min(step, n - i)));
    p.search(centroids, k);
    unrolled<some_points<D>::groups>([&](auto g) EBB_LAMBDA {
      const std::size_t first = i + g * lanes;
      if (first + lanes <= n) sum[g] = sum[g] + p.least[g];
      else
        for (std::size_t r = 0; first + r < n; ++r) sum[g][r] += p.least[g][r];
    });
  }
  for (const R& other : sum)
    if (&other != sum) sum[0] = sum[0] + other;
  return sum_of(sum[0]);
}
template <int D>
[[gnu::noinline]] void simd_direction(const double* centroids, const double* points, double* to, double* count, std::size_t k,
                                      std::size_t n) {
  constexpr std::size_t step = some_points<D>::count;
  std::fill_n(to, k * D, 0.0);
  std::fill_n(count, k, 0.0);
  for (std::size_t i = 0; i < n; i += step) {
    some_points<D> p(points + i * D, static_cast<int>(std::min(step, n - i)));
    p.search(centroids, k);
    double nearest[step];
    for (int g = 0; g < some_points<D>::groups; ++g) store(nearest + g * lanes, p.nearest[g]);
    for (std::size_t r = 0; r < step && i + r < n; ++r) {
      const std::size_t j = static_cast<std::size_t>(nearest[r]);
      count[j] += 1;
      for (std::size_t c = 0; c < D; c += lanes)
        store(to + j * D + c, load(to + j * D + c) + (load(centroids + j * D + c) - load(points + (i + r) * D + c)));
    }
  }
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t c = 0; c < D; c += lanes) store(to + j * D + c, load(to + j * D + c) / all(count[j]));
}
// lines: end

template <int D>
void size_of(session& s, std::size_t k, std::size_t n) {
  generator g(33);
  const vector points = uniform(g, n * D, 0, 1);
  vector centroids(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(k * D));  // each is nearest to a point
  for (double& c : centroids) c += g.in(-1e-3, 1e-3);
  vector to(k * D), second(k * D);
  // only: natural, shaped
  const ebb::view<const double, ebb::dyn, D> c(centroids.data(), k), p(points.data(), n);
  const ebb::view<double, ebb::dyn, D> out(to.data(), k);
  // only: end
  double y = 0;
  const std::vector<candidate> all = {
      {"manual", [&] { y = manual(centroids.data(), points.data(), k, n, D); },
       [&] { manual_direction(centroids.data(), points.data(), to.data(), second.data(), k, n, D); }},
      {"natural", [&] { value(ebb::into(y), c, p); }, [&] { direction(ebb::into(out), c, p); }},
      {"shaped", [&] { value(ebb::into(y), c, p); }, [&] { shaped_direction(ebb::into(out), c, p); }},
      {"simd", [&] { y = simd<D>(centroids.data(), points.data(), k, n); },
       [&] { simd_direction<D>(centroids.data(), points.data(), to.data(), second.data(), k, n); }},
  };
  const std::vector<long double> exact_c(centroids.begin(), centroids.end()), exact_p(points.begin(), points.end());
  std::vector<long double> want(k * D), exact_second(k * D);
  const long double exact = manual(exact_c.data(), exact_p.data(), k, n, D);
  manual_direction(exact_c.data(), exact_p.data(), want.data(), exact_second.data(), k, n, D);
  for (const std::size_t j : {std::size_t{0}, k * D - 1}) {  // the cost is quadratic within these differences, unless a nearest one changes
    const long double h = 1e-7L;
    std::vector<long double> low = exact_c, high = exact_c;
    low[j] -= h;
    high[j] += h;
    const long double slope = (manual(high.data(), exact_p.data(), k, n, D) - manual(low.data(), exact_p.data(), k, n, D)) / (2 * h);
    session::check("kmeans differences", vector{static_cast<double>(slope)}, std::vector<long double>{want[j] * exact_second[j]}, 1e-6);
  }
  const std::string size = "k = " + std::to_string(k) + ", n = " + std::to_string(n) + ", d = " + std::to_string(D);
  for (const candidate& e : all) {
    y = 0;
    std::fill(to.begin(), to.end(), 0);
    e.primal();
    e.derivative();
    s.check("kmeans " + size + ", " + e.name + ", cost", vector{y}, std::vector<long double>{exact}, 1e-11);
    s.check("kmeans " + size + ", " + e.name + ", direction", to, want, 1e-9);
  }
  // only: peer
  if (s.has_peers()) s.add_peer("kmeans", size, {{n, k, D}, {points, centroids}, {}}, std::vector<long double>{exact}, want);
  // only: end
  s.time(size, all);
}

}  // namespace

void kmeans(session& s) {
  if (s.smoke) {
    size_of<8>(s, 1, 1);
    size_of<8>(s, 3, 17);
    size_of<16>(s, 10, 301);
    size_of<8>(s, 33, 100);
  } else
    for (const std::size_t k : {10u, 100u, 1000u})
      for (const std::size_t n : {1000u, 10000u}) {
        size_of<8>(s, k, n);
        size_of<16>(s, k, n);
      }
  s.total("kmeans");
}

}  // namespace gradbench
