// bench/gradbench/ba.cpp — ba: bundle adjustment: reprojection errors of points seen by cameras, and their sparse Jacobian in CSR form.
// SPDX-License-Identifier: BSL-1.0
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, sparse
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural
constexpr auto cross = [](auto a, auto b) {
  return ebb::stack<0>(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
};
constexpr auto rotate = [](auto rotation, auto point) {
  const auto square = ebb::sum(ebb::square(rotation));
  const auto angle = ebb::sqrt(ebb::where(square == 0, 1.0, square)), c = ebb::cos(angle);
  const auto axis = rotation / angle;
  const auto turned = point * c + cross(axis, point) * ebb::sin(angle) + axis * (ebb::sum(axis * point) * (1 - c));
  return ebb::where(square == 0, point + cross(rotation, point), turned);
};
/// A camera is its rotation, centre, focal length, principal point and two radial coefficients.
constexpr auto error = [](auto camera, auto point, auto w, auto seen) {
  const auto p = rotate(ebb::slice<0, 0, 3>(camera), point - ebb::slice<0, 3, 6>(camera));
  const auto plane = ebb::slice<0, 0, 2>(p) / p[2];
  const auto r = ebb::sum(ebb::square(plane));
  const auto radial = 1 + camera[9] * r + camera[10] * r * r;
  return w * (plane * radial * camera[6] + ebb::slice<0, 7, 9>(camera) - seen);
};
constexpr auto block = [](auto camera, auto point, auto w, auto seen) {
  const auto [by_camera, by_point, by_weight] = ebb::jacobian<0, 1, 2>(error)(camera, point, w, seen);
  return ebb::concat<1>(by_camera, by_point, ebb::unsqueeze<1>(by_weight));
};
constexpr auto objective = ebb::compile([](auto cameras, auto points, auto w, auto seen, auto who) {
  const auto camera = ebb::take(cameras, ebb::select<1, 0>(who));
  const auto point = ebb::take(points, ebb::select<1, 1>(who));
  return std::tuple(ebb::map(error, camera, point, w, seen), 1 - w * w);
});
constexpr auto values = ebb::compile([](auto cameras, auto points, auto w, auto seen, auto who) {
  const auto camera = ebb::take(cameras, ebb::select<1, 0>(who));
  const auto point = ebb::take(points, ebb::select<1, 1>(who));
  return std::tuple(ebb::map(block, camera, point, w, seen), -2 * w);
});
// lines: end

// lines: sparse
/// All cameras, points and weights are the unknown.
constexpr auto sparse = ebb::sparse_jacobian<0>([](auto x, auto seen, auto who) {
  const auto [cameras, points, w] = x;
  const auto camera = ebb::take(cameras, ebb::select<1, 0>(who));
  const auto point = ebb::take(points, ebb::select<1, 1>(who));
  return std::tuple(ebb::map(error, camera, point, w, seen), 1 - w * w);
});
// lines: end

struct problem {
  std::size_t n, m, p;
  vector cameras, points, w, seen;
  std::vector<int> who;  // camera and point of each observation
  problem(std::size_t cameras_, std::size_t points_, std::size_t observations) : n(cameras_), m(points_), p(observations), who(2 * p) {
    generator g(35);
    cameras = uniform(g, 11 * n, -0.5, 0.5);
    for (std::size_t i = 0; i < n; ++i) cameras[11 * i + 6] = g.in(1, 3);
    if (n > 2) std::fill_n(cameras.begin() + 22, 3, 0.0);  // one is not rotated
    points = uniform(g, 3 * m, -1, 1);
    for (std::size_t i = 0; i < m; ++i) points[3 * i + 2] += 7;
    w = uniform(g, p, 0.2, 2);
    seen = uniform(g, 2 * p, -1, 1);
    for (std::size_t i = 0; i < p; ++i) {
      who[2 * i] = static_cast<int>(i % n);
      who[2 * i + 1] = static_cast<int>(i % m);
    }
  }
};

// lines: manual, natural
/// The places of the elements of the Jacobian: rows of 15 elements for each of the 2 p errors, rows of one for the weights.
[[gnu::noinline]] void structure(const problem& in, int* rows, int* columns) {
  const int n = static_cast<int>(in.n), m = static_cast<int>(in.m), p = static_cast<int>(in.p);
  for (int i = 0; i < 2 * p; ++i) rows[i] = 15 * i;
  for (int i = 0; i <= p; ++i) rows[2 * p + i] = 30 * p + i;
  for (int i = 0; i < 2 * p; ++i, columns += 15) {
    const int camera = in.who[2 * static_cast<std::size_t>(i / 2)], point = in.who[2 * static_cast<std::size_t>(i / 2) + 1];
    for (int c = 0; c < 11; ++c) columns[c] = 11 * camera + c;
    for (int c = 0; c < 3; ++c) columns[11 + c] = 11 * n + 3 * point + c;
    columns[14] = 11 * n + 3 * m + i / 2;
  }
  for (int i = 0; i < p; ++i) columns[i] = 11 * n + 3 * m + i;
}
// lines: end

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
void cross_of(const T* a, const T* b, T* to) {
  to[0] = a[1] * b[2] - a[2] * b[1];
  to[1] = a[2] * b[0] - a[0] * b[2];
  to[2] = a[0] * b[1] - a[1] * b[0];
}
template <class T>
void error_of(const T* camera, const T* point, T w, const T* seen, T* to) {
  T x[3], p[3], a[3], turned[3];
  for (int i = 0; i < 3; ++i) x[i] = point[i] - camera[3 + i];
  const T square = camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2];
  if (square == 0) {
    cross_of(camera, x, turned);
    for (int i = 0; i < 3; ++i) p[i] = x[i] + turned[i];
  } else {
    const T angle = std::sqrt(square), c = std::cos(angle), s = std::sin(angle);
    for (int i = 0; i < 3; ++i) a[i] = camera[i] / angle;
    cross_of(a, x, turned);
    const T along = (a[0] * x[0] + a[1] * x[1] + a[2] * x[2]) * (1 - c);
    for (int i = 0; i < 3; ++i) p[i] = x[i] * c + turned[i] * s + a[i] * along;
  }
  const T u = p[0] / p[2], v = p[1] / p[2], r = u * u + v * v, radial = 1 + camera[9] * r + camera[10] * r * r;
  to[0] = w * (u * radial * camera[6] + camera[7] - seen[0]);
  to[1] = w * (v * radial * camera[6] + camera[8] - seen[1]);
}
/// One block of 2 x 15.
void block_of(const double* camera, const double* point, double w, const double* seen, double* to) {
  double x[3], p[3], by_rotation[3][3], by_point[3][3];  // [of p][by]
  for (int i = 0; i < 3; ++i) x[i] = point[i] - camera[3 + i];
  const double square = camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2];
  if (square == 0) {
    for (int k = 0; k < 3; ++k) {
      const double e[3] = {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0};
      double turned[3];
      cross_of(e, x, turned);
      p[k] = x[k];
      for (int i = 0; i < 3; ++i) {
        by_rotation[i][k] = turned[i];
        by_point[i][k] = e[i];
      }
    }
  } else {
    const double angle = std::sqrt(square), c = std::cos(angle), s = std::sin(angle), over = 1 / angle;
    double a[3], turned[3];
    for (int i = 0; i < 3; ++i) a[i] = camera[i] * over;
    cross_of(a, x, turned);
    const double along = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
    for (int i = 0; i < 3; ++i) p[i] = x[i] * c + turned[i] * s + a[i] * along * (1 - c);
    for (int k = 0; k < 3; ++k) {
      double da[3], by[3];
      for (int i = 0; i < 3; ++i) da[i] = ((i == k ? 1.0 : 0.0) - a[i] * a[k]) * over;
      cross_of(da, x, by);
      const double d_along = da[0] * x[0] + da[1] * x[1] + da[2] * x[2];
      for (int i = 0; i < 3; ++i) {
        by_rotation[i][k] =
            a[k] * (turned[i] * c - x[i] * s + a[i] * along * s) + by[i] * s + (da[i] * along + a[i] * d_along) * (1 - c);
        by_point[i][k] = a[i] * a[k] * (1 - c) + (i == k ? c : 0.0);
      }
    }
    const double sa[3] = {s * a[0], s * a[1], s * a[2]};
    by_point[0][1] -= sa[2], by_point[0][2] += sa[1], by_point[1][0] += sa[2];
    by_point[1][2] -= sa[0], by_point[2][0] -= sa[1], by_point[2][1] += sa[0];
  }
  const double over = 1 / p[2], u = p[0] * over, v = p[1] * over, r = u * u + v * v, f = camera[6];
  const double radial = 1 + camera[9] * r + camera[10] * r * r, slope = 2 * (camera[9] + 2 * camera[10] * r), wf = w * f;
  const double uu = wf * (radial + slope * u * u), uv = wf * slope * u * v, vv = wf * (radial + slope * v * v);
  for (int k = 0; k < 3; ++k) {
    const double du = (by_rotation[0][k] - u * by_rotation[2][k]) * over, dv = (by_rotation[1][k] - v * by_rotation[2][k]) * over;
    to[k] = uu * du + uv * dv;
    to[15 + k] = uv * du + vv * dv;
    const double eu = (by_point[0][k] - u * by_point[2][k]) * over, ev = (by_point[1][k] - v * by_point[2][k]) * over;
    to[11 + k] = uu * eu + uv * ev;
    to[26 + k] = uv * eu + vv * ev;
    to[3 + k] = -to[11 + k];
    to[18 + k] = -to[26 + k];
  }
  to[6] = w * u * radial, to[21] = w * v * radial;
  to[7] = w, to[8] = 0, to[22] = 0, to[23] = w;
  to[9] = wf * u * r, to[24] = wf * v * r;
  to[10] = to[9] * r, to[25] = to[24] * r;
  to[14] = u * radial * f + camera[7] - seen[0], to[29] = v * radial * f + camera[8] - seen[1];
}
[[gnu::noinline]] void manual(const problem& in, double* errors, double* weights) {
  for (std::size_t i = 0; i < in.p; ++i) {
    const std::size_t camera = static_cast<std::size_t>(in.who[2 * i]), point = static_cast<std::size_t>(in.who[2 * i + 1]);
    error_of(&in.cameras[11 * camera], &in.points[3 * point], in.w[i], &in.seen[2 * i], errors + 2 * i);
  }
  for (std::size_t i = 0; i < in.p; ++i) weights[i] = 1 - in.w[i] * in.w[i];
}
[[gnu::noinline]] void manual_values(const problem& in, double* to) {
  for (std::size_t i = 0; i < in.p; ++i) {
    const std::size_t camera = static_cast<std::size_t>(in.who[2 * i]), point = static_cast<std::size_t>(in.who[2 * i + 1]);
    block_of(&in.cameras[11 * camera], &in.points[3 * point], in.w[i], &in.seen[2 * i], to + 30 * i);
  }
  for (std::size_t i = 0; i < in.p; ++i) to[30 * in.p + i] = -2 * in.w[i];
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;

/// Shared by all observations of a camera: of its numbers all but the rotation, whose axis follows, the cosine and the sine of its angle,
/// 1 - cosine, and the sine and 1 - cosine over the angle. Without a rotation there is no axis, and sine over angle is 1.
struct seen_from {
  double center[3], focal, principal[2], radial[2], axis[3], cosine, sine, versine, sine_over, versine_over;
  explicit seen_from(const double* camera) {
    const double square = camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2], angle = std::sqrt(square);
    std::copy_n(camera + 3, 8, center);
    for (int i = 0; i < 3; ++i) axis[i] = square == 0 ? 0 : camera[i] / angle;
    cosine = std::cos(angle);
    sine = std::sin(angle);
    versine = 1 - cosine;
    sine_over = square == 0 ? 1 : sine / angle;
    versine_over = square == 0 ? 0 : versine / angle;
  }
};
static_assert(sizeof(seen_from) == 16 * sizeof(double));

struct three {
  R x, y, z;
  friend EBB_INLINE three operator*(R a, three b) { return {a * b.x, a * b.y, a * b.z}; }
};
EBB_INLINE R dot(three a, three b) { return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z)); }
EBB_INLINE three cross_of(three a, three b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
EBB_INLINE three plus(three a, R b, three c) { return {fma(b, c.x, a.x), fma(b, c.y, a.y), fma(b, c.z, a.z)}; }

/// As many observations as a register has lanes: errors are `first` and `second` times the weight.
struct observations {
  R camera[16], w, u, v, r, over, radial, first, second;
  three x, axis;
  EBB_INLINE observations(const problem& in, const double* table, std::size_t i) {
    const int rest = static_cast<int>(std::min<std::size_t>(lanes, in.p - i));
    const auto index = [&](int k, std::size_t column) EBB_LAMBDA {
      return static_cast<std::size_t>(in.who[2 * (i + static_cast<std::size_t>(std::min(k, rest - 1))) + column]);
    };
    R point[3];
    load_columns<16>([&](int k) EBB_LAMBDA { return table + 16 * index(k, 0); }, camera);
    load_columns<3>([&](int k) EBB_LAMBDA { return &in.points[3 * index(k, 1)]; }, point);
    const R low = load(&in.seen[2 * i], 2 * rest), high = 2 * rest > lanes ? load(&in.seen[2 * i + lanes], 2 * rest - lanes) : R{};
    w = load(&in.w[i], rest);
    x = {point[0] - camera[0], point[1] - camera[1], point[2] - camera[2]};
    axis = {camera[8], camera[9], camera[10]};
    const three p = plus(plus(camera[11] * x, camera[12], cross_of(axis, x)), camera[13] * dot(axis, x), axis);
    over = all(1) / p.z;
    u = p.x * over;
    v = p.y * over;
    r = fma(u, u, v * v);
    radial = fma(fma(camera[7], r, camera[6]), r, all(1));
    const R size = radial * camera[3];
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      first = fma(u, size, camera[4] - __builtin_shufflevector(low, high, 2 * I...));
      second = fma(v, size, camera[5] - __builtin_shufflevector(low, high, (2 * I + 1)...));
    }(std::make_integer_sequence<int, lanes>{});
  }
  /// Columns of the blocks.
  EBB_INLINE void derivatives(R (&to)[30]) const {
    const R f = camera[3], cosine = camera[11], sine = camera[12], wf = w * f, zero = all(0);
    const R slope = fma(camera[7] * r, all(4), camera[6] + camera[6]), common = wf * slope;
    const R uu = wf * fma(slope * u, u, radial), uv = common * u * v, vv = wf * fma(slope * v, v, radial);
    const R along = dot(axis, x), turned = cosine - camera[14], around = along * fma(all(-2), camera[15], sine);
    const auto row = [&](R by_u, R by_v, R* at) EBB_LAMBDA {
      const three g{by_u * over, by_v * over, zero - fma(by_u, u, by_v * v) * over}, moment = cross_of(x, g);
      const R on_axis = dot(g, axis), by_angle = fma(turned, dot(axis, moment), fma(around, on_axis, zero - sine * dot(g, x)));
      const R a = camera[15] * along, b = camera[15] * on_axis;
      const three rotation = plus(plus(plus(by_angle * axis, camera[14], moment), a, g), b, x);
      const three point = plus(plus(cosine * g, sine, cross_of(g, axis)), camera[13] * on_axis, axis);
      at[0] = rotation.x, at[1] = rotation.y, at[2] = rotation.z;
      at[3] = zero - point.x, at[4] = zero - point.y, at[5] = zero - point.z;
      at[11] = point.x, at[12] = point.y, at[13] = point.z;
    };
    row(uu, uv, to);
    row(uv, vv, to + 15);
    to[6] = w * u * radial, to[21] = w * v * radial;
    to[7] = w, to[8] = zero, to[22] = zero, to[23] = w;
    to[9] = wf * u * r, to[24] = wf * v * r;
    to[10] = to[9] * r, to[25] = to[24] * r;
    to[14] = first, to[29] = second;
  }
};
void table_of(const problem& in, std::vector<seen_from>& table) {
  table.clear();
  for (std::size_t i = 0; i < in.n; ++i) table.emplace_back(&in.cameras[11 * i]);
}
[[gnu::noinline]] void simd(const problem& in, std::vector<seen_from>& table, double* errors, double* weights) {
  table_of(in, table);
  for (std::size_t i = 0; i < in.p; i += lanes) {
    const observations o(in, table[0].center, i);
    const int rest = static_cast<int>(std::min<std::size_t>(lanes, in.p - i));
    const R first = o.w * o.first, second = o.w * o.second;
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      store(errors + 2 * i, __builtin_shufflevector(first, second, (I / 2 + I % 2 * lanes)...), 2 * rest);
      if (2 * rest > lanes)
        store(errors + 2 * i + lanes, __builtin_shufflevector(first, second, (I / 2 + lanes / 2 + I % 2 * lanes)...), 2 * rest - lanes);
    }(std::make_integer_sequence<int, lanes>{});
    store(weights + i, all(1) - o.w * o.w, rest);
  }
}
[[gnu::noinline]] void simd_values(const problem& in, std::vector<seen_from>& table, double* to) {
  table_of(in, table);
  for (std::size_t i = 0; i < in.p; i += lanes) {
    const observations o(in, table[0].center, i);
    const std::size_t rest = std::min<std::size_t>(lanes, in.p - i);
    R columns[30];
    o.derivatives(columns);
    if (rest == lanes) store_columns<30>([&](int k) EBB_LAMBDA { return to + 30 * (i + static_cast<std::size_t>(k)); }, columns);
    else
      for (std::size_t k = 0; k < rest; ++k)
        for (std::size_t c = 0; c < 30; ++c) to[30 * (i + k) + c] = columns[c][k];
    store(to + 30 * in.p + i, all(-2) * o.w, static_cast<int>(rest));
  }
}
/// Both rows of an observation have the same columns.
[[gnu::noinline]] void simd_structure(const problem& in, int* rows, int* columns) {
  using I = ebb::lanes<int>;
  constexpr int width = ebb::lane_count;
  const int n = static_cast<int>(in.n), m = static_cast<int>(in.m), p = static_cast<int>(in.p);
  const I count = ebb::lane_index<int>();
  for (int i = 0; i < 3 * p; i += width) {
    const I at = count + I::all(i);
    const auto last = at > I::all(2 * p);
    I::select(last, at + I::all(28 * p), at * I::all(15)).store(rows + i, std::min(width, 3 * p - i));
  }
  rows[3 * p] = 31 * p;
  for (int i = 0; i < p; ++i, columns += 30)
    unrolled<16 / width>([&](auto part) EBB_LAMBDA {
      constexpr int first = part * width, number = std::min(width, 15 - first);
      const I at = count + I::all(first), camera = at + I::all(11 * in.who[2 * static_cast<std::size_t>(i)]);
      const I point = at + I::all(11 * n - 11 + 3 * in.who[2 * static_cast<std::size_t>(i) + 1]);
      const I other = I::select(at < I::all(14), point, I::all(11 * n + 3 * m + i)), column = I::select(at < I::all(11), camera, other);
      column.store(columns + first, number);
      column.store(columns + 15 + first, number);
    });
  for (int i = 0; i < p; i += width) (count + I::all(11 * n + 3 * m + i)).store(columns + i, std::min(width, p - i));
}
// lines: end

/// The blocks of the first observations by differences in long double, and -2 w.
std::vector<long double> differences(const problem& in, std::size_t count) {
  const long double h = 1e-6L;
  std::vector<long double> to;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t parameter, long double by) {
      long double x[15], e[2], seen[2] = {in.seen[2 * i], in.seen[2 * i + 1]};
      for (std::size_t c = 0; c < 11; ++c) x[c] = in.cameras[11 * static_cast<std::size_t>(in.who[2 * i]) + c];
      for (std::size_t c = 0; c < 3; ++c) x[11 + c] = in.points[3 * static_cast<std::size_t>(in.who[2 * i + 1]) + c];
      x[14] = in.w[i];
      x[parameter] += by;
      error_of(x, x + 11, x[14], seen, e);
      return std::pair(e[0], e[1]);
    };
    for (int row = 0; row < 2; ++row)
      for (std::size_t c = 0; c < 15; ++c) {
        const auto high = at(c, h), low = at(c, -h);
        to.push_back(row ? (high.second - low.second) / (2 * h) : (high.first - low.first) / (2 * h));
      }
  }
  return to;
}

void size_of(session& s, std::size_t n, std::size_t m, std::size_t p) {
  const problem in(n, m, p);
  vector errors(2 * p), weights(p), to(31 * p), want(31 * p), want_errors(2 * p), want_weights(p);
  std::vector<int> rows(3 * p + 1), columns(31 * p);
  // only: natural, sparse
  const ebb::view<const double, ebb::dyn, 11> cameras(in.cameras.data(), n);
  const ebb::view<const double, ebb::dyn, 3> points(in.points.data(), m);
  const ebb::view<const double, ebb::dyn, 2> seen(in.seen.data(), p);
  const ebb::view<const int, ebb::dyn, 2> who(in.who.data(), p);
  const std::span<const double> w(in.w);
  const ebb::view<double, ebb::dyn, 2> errors_out(errors.data(), p);
  const ebb::view<double, ebb::dyn, 2, 15> blocks(to.data(), p);
  const std::span<double> weights_out(weights), last(to.data() + 30 * p, p);
  const std::tuple unknown(cameras, points, w);
  // only: end
  // only: sparse
  const ebb::sparse_pattern pattern = sparse.pattern(unknown, seen, who);  // a little less than `structure`, which has blocks
  vector elements(pattern.size());
  // only: end
  // only: simd
  std::vector<seen_from> table;
  // only: end
  std::vector<int> want_rows(rows.size()), want_columns(columns.size());
  structure(in, want_rows.data(), want_columns.data());
  const std::vector<candidate> all = {
      {"manual", [&] { manual(in, errors.data(), weights.data()); },
       [&] {
         structure(in, rows.data(), columns.data());
         manual_values(in, to.data());
       }},
      {"natural", [&] { objective(ebb::into(errors_out, weights_out), cameras, points, w, seen, who); },
       [&] {
         structure(in, rows.data(), columns.data());
         values(ebb::into(blocks, last), cameras, points, w, seen, who);
       }},
      {"sparse", [&] { objective(ebb::into(errors_out, weights_out), cameras, points, w, seen, who); },
       [&] { sparse(ebb::into(elements), pattern, unknown, seen, who); }},
      {"simd", [&] { simd(in, table, errors.data(), weights.data()); },
       [&] {
         simd_structure(in, rows.data(), columns.data());
         simd_values(in, table, to.data());
       }},
  };
  all[0].primal();
  all[0].derivative();
  want = to;
  want_errors = errors;
  want_weights = weights;
  const std::size_t count = std::min<std::size_t>(p, 200);
  session::check("ba, manual against differences", vector(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(30 * count)),
                 differences(in, count), 1e-8);
  const std::string size = "p = " + std::to_string(p);
  for (const candidate& c : all) {
    std::fill(to.begin(), to.end(), 99);
    std::fill(errors.begin(), errors.end(), 99);
    std::fill(weights.begin(), weights.end(), 99);
    std::fill(rows.begin(), rows.end(), 0);
    std::fill(columns.begin(), columns.end(), 0);
    c.primal();
    c.derivative();
    // only: sparse
    if (c.name == std::string("sparse")) {
      std::fill(to.begin(), to.end(), 0);
      structure(in, rows.data(), columns.data());
      for (std::size_t i = 0; i < pattern.rows; ++i)
        for (std::size_t k = pattern.starts[i]; k < pattern.starts[i + 1]; ++k) {
          const int* const first = columns.data() + rows[i];
          const auto at = std::find(first, first + (i < 2 * p ? 15 : 1), static_cast<int>(pattern.column[k]));
          to[static_cast<std::size_t>(at - columns.data())] = elements[k];
        }
    }
    // only: end
    if (rows != want_rows || columns != want_columns) {
      std::printf("WRONG: ba %s, %s, places\n", size.c_str(), c.name);
      std::exit(1);
    }
    session::check("ba " + size + ", " + c.name + ", errors", errors, want_errors);
    session::check("ba " + size + ", " + c.name + ", weights", weights, want_weights);
    session::check("ba " + size + ", " + c.name + ", Jacobian", to, want);
  }
  // only: peer
  if (s.has_peers()) {
    vector value = want_errors;
    std::vector<int> places = want_rows;
    value.insert(value.end(), want_weights.begin(), want_weights.end());
    places.insert(places.end(), want_columns.begin(), want_columns.end());
    s.add_peer("ba", size, {{n, m, p}, {in.cameras, in.points, in.w, in.seen}, {in.who}}, value, want, 1e-9, places);
  }
  // only: end
  s.time(size, all);
}

}  // namespace

void ba(session& s) {
  if (s.smoke) {
    size_of(s, 1, 1, 1);
    size_of(s, 3, 5, 17);
    size_of(s, 4, 7, 1001);
  } else {
    size_of(s, 49, 7776, 31843);
    size_of(s, 161, 48126, 182072);
    size_of(s, 93, 61203, 287451);
  }
  s.total("ba");
}

}  // namespace gradbench
