// bench/gradbench/ht.cpp — ht: distances from points to a hand of bones and skin, and their derivatives by the 26 numbers of its pose;
// with triangles ("complicated") also by the place of each point within its triangle.
// SPDX-License-Identifier: BSL-1.0
//
// `shaped` uses what is known of a hand: a finger moves by its own four angles only, so four directions do for all five; and a point is
// linear in the transforms of bones, so only these are differentiated. It writes columns of fingers as [5, c, 3, 4]. `sparse` writes the
// elements that may differ from zero for these weights; their places are found once.
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, sparse, shaped
#include <ebb/functional.hpp>
#include <ebb/geometry.hpp>
#include <ebb/sparse.hpp>
// only: end

#include <array>
#include <bit>
#include <cstring>

namespace gradbench {
namespace {

// Of 22 bones and the world, which stands still: the wrist, five fingers of four bones, the forearm, the world.
constexpr std::size_t bones = 23, poses = 26;

// lines: natural
/// A pose is a rotation and a translation of the hand, and for each finger two angles of its second bone, one of the third and the fourth.
constexpr auto transforms = [](auto pose, auto relative, auto inverse, auto parents) {
  const auto f = ebb::reshape<5, 4>(ebb::slice<0, 6>(pose));
  const auto still = ebb::zeros_like(ebb::select<1, 0>(f));
  const auto bend = ebb::flatten(ebb::stack<1>(still, ebb::select<1, 0>(f), ebb::select<1, 2>(f), ebb::select<1, 3>(f)));
  const auto spread = ebb::flatten(ebb::stack<1>(still, ebb::select<1, 1>(f), still, still));
  const auto x = ebb::pad<0, 1, 2>(bend, 0.0), z = ebb::pad<0, 1, 2>(spread, 0.0);
  const auto cx = ebb::cos(x), sx = ebb::sin(x), cz = ebb::cos(z), sz = ebb::sin(z), o = ebb::zeros_like(x);
  const auto turn = ebb::stack<1>(ebb::stack<1>(cz, -sz * cx, sz * sx, o), ebb::stack<1>(sz, cz * cx, -cz * sx, o),
                                  ebb::stack<1>(o, sx, cx, o), ebb::stack<1>(o, o, o, ebb::ones_like(x)));
  auto absolute = ebb::matmul(relative, turn);
  for (int depth = 1; depth < 8; depth *= 2) {  // products along 2, 4 and 8 bones
    absolute = ebb::matmul(ebb::take(absolute, parents), absolute);
    parents = ebb::take(parents, parents);
  }
  const auto rotation = ebb::so3_exp(ebb::slice<0, 0, 3>(pose));
  return ebb::matmul(rotation, ebb::slice<1, 0, 3>(ebb::matmul(absolute, inverse)));
};
constexpr auto skin = [](auto pose, auto relative, auto inverse, auto parents, auto weights, auto base) {
  const auto of_bones = ebb::reshape<bones, 12>(transforms(pose, relative, inverse, parents));
  const auto blended = ebb::reshape<ebb::dyn, 3, 4>(ebb::matmul(weights, of_bones));
  return ebb::sum<2>(blended * ebb::unsqueeze<1>(base)) + ebb::slice<0, 3, 6>(pose);
};
constexpr auto errors = [](auto pose, auto relative, auto inverse, auto parents, auto weights, auto base, auto points, auto which) {
  return points - ebb::take(skin(pose, relative, inverse, parents, weights, base), which);
};
constexpr auto simple = ebb::compile(errors);
constexpr auto simple_jacobian = ebb::jacfwd<0>(errors);

/// The same with points of triangles: u, v and 1 - u - v are the weights of the corners.
constexpr auto error = [](auto u, auto corners, auto point) {
  return point - (u[0] * corners[0] + u[1] * corners[1] + (1 - u[0] - u[1]) * corners[2]);
};
constexpr auto errors_in_triangles = [](auto pose, auto us, auto relative, auto inverse, auto parents, auto weights, auto base, auto points,
                                        auto triangles) {
  return ebb::map(error, us, ebb::take(skin(pose, relative, inverse, parents, weights, base), triangles), points);
};
constexpr auto complicated = ebb::compile(errors_in_triangles);
/// By u and v: a point depends on its own two numbers only, so two directions do for all points.
constexpr auto columns_by_place = [](auto pose, auto us, auto... rest) {
  const auto one = ebb::ones_like(ebb::select<1, 0>(us)), zero = ebb::zeros_like(one);
  const auto along = [&](auto u, auto v) {
    return std::get<1>(ebb::jvp<1>(errors_in_triangles)(pose, us, rest..., ebb::stack<1>(u, v)));
  };
  return ebb::stack<2>(along(one, zero), along(zero, one));
};
constexpr auto complicated_jacobian = ebb::compile([](auto... a) {
  return std::tuple(ebb::jacfwd<0>(errors_in_triangles)(a...), columns_by_place(a...));
});
// lines: end

// lines: sparse
/// The elements that the weights leave: a point depends on the hand and on one finger, or on two.
constexpr auto sparse_simple = ebb::sparse_jacobian<0>(errors);
constexpr auto sparse_complicated = ebb::sparse_jacobian<0>(errors_in_triangles);
constexpr auto by_place = ebb::compile(columns_by_place);
// lines: end

// lines: shaped
/// The bones of one finger in the columns of [16, 3]: `hand` is the wrist's transform without its last row.
constexpr auto bones_of_finger = [](auto angles, auto relative, auto inverse, auto hand) {
  const auto c = ebb::cos(angles), s = ebb::sin(angles);
  const auto turned = [](auto from, auto to, auto cosine, auto sine) {
    return std::tuple(from * cosine + to * sine, to * cosine - from * sine);
  };
  std::array<decltype(hand), 4> m{ebb::matmul(hand, relative[0]), hand, hand, hand};
  for (std::size_t joint = 1; joint < 4; ++joint) {
    const auto before = ebb::transpose(ebb::matmul(m[joint - 1], relative[joint]));
    auto x = before[0], y = before[1], z = before[2];
    if (joint == 1) std::tie(x, y) = turned(x, y, c[1], s[1]);
    const std::size_t bend = joint == 1 ? 0 : joint;
    std::tie(y, z) = turned(y, z, c[bend], s[bend]);
    m[joint] = ebb::stack<1>(x, y, z, before[3]);
  }
  return ebb::concat<0>(ebb::transpose(ebb::matmul(m[0], inverse[0])), ebb::transpose(ebb::matmul(m[1], inverse[1])),
                        ebb::transpose(ebb::matmul(m[2], inverse[2])), ebb::transpose(ebb::matmul(m[3], inverse[3])));
};
constexpr auto placed = [](auto hand, auto points) {
  return ebb::matmul(points, ebb::transpose(ebb::so3_exp(ebb::slice<0, 0, 3>(hand)))) + ebb::slice<0, 3>(hand);
};
/// Derivatives by the six numbers of the hand, [c, 3, 6], and by the four angles of each finger, [5, c, 3, 4]. A point is a sum of bones:
/// `shares` are [c, bones, 4].
constexpr auto shaped_jacobian = [](auto pose, auto relative, auto inverse, auto parents, auto shares) {
  const auto hand = ebb::slice<0, 0, 6>(pose);
  const auto turn = ebb::so3_exp(ebb::slice<0, 0, 3>(pose));
  const auto of_angles = ebb::map(ebb::jacfwd<0>(bones_of_finger), ebb::reshape<5, 4>(ebb::slice<0, 6>(pose)),
                                  ebb::reshape<5, 4, 4, 4>(ebb::slice<0, 1, 21>(relative)),
                                  ebb::reshape<5, 4, 4, 4>(ebb::slice<0, 1, 21>(inverse)),
                                  ebb::whole(ebb::matmul(turn, ebb::slice<0, 0, 3>(relative[0]))));
  const auto of_fingers = ebb::transpose<1, 0, 2>(ebb::reshape<ebb::dyn, 5, 16>(ebb::slice<1, 1, 21>(shares)));
  const auto by_angles = -ebb::matmul(of_fingers, ebb::reshape<5, 16, 12>(of_angles));
  const auto all = ebb::reshape<4 * bones, 3>(ebb::transpose(transforms(pose, relative, inverse, parents)));
  const auto local = ebb::matmul(ebb::matmul(ebb::reshape<ebb::dyn, 4 * bones>(shares), all), turn);
  return std::tuple(-ebb::jacfwd<0>(placed)(hand, local), by_angles);
};
constexpr auto shaped_by_pose = ebb::compile(shaped_jacobian);
constexpr auto shares_of_vertices = ebb::compile([](auto weights, auto base, auto which) {
  return ebb::unsqueeze<2>(ebb::take(weights, which)) * ebb::unsqueeze<1>(ebb::take(base, which));
});
constexpr auto shares_of_places = ebb::compile([](auto us, auto weights, auto base, auto triangles) {
  const auto corner = [&](auto k, auto u) {
    return ebb::unsqueeze<2>(ebb::take(weights, k) * ebb::unsqueeze<1>(u)) * ebb::unsqueeze<1>(ebb::take(base, k));
  };
  const auto u = ebb::select<1, 0>(us), v = ebb::select<1, 1>(us);
  return corner(ebb::select<1, 0>(triangles), u) + corner(ebb::select<1, 1>(triangles), v) +
         corner(ebb::select<1, 2>(triangles), 1 - u - v);
});
constexpr auto shaped_by_place = ebb::compile([](auto pose, auto relative, auto inverse, auto parents, auto weights, auto base,
                                                 auto triangles) {
  const auto at = skin(pose, relative, inverse, parents, weights, base);
  const auto corner = [&]<int K>(std::integral_constant<int, K>) { return ebb::take(at, ebb::select<1, K>(triangles)); };
  const auto last = corner(std::integral_constant<int, 2>{});
  return ebb::stack<2>(last - corner(std::integral_constant<int, 0>{}), last - corner(std::integral_constant<int, 1>{}));
});
// lines: end

struct problem {
  std::size_t n, c;  // vertices, points
  std::array<double, poses> pose{};
  vector relative, inverse, weights, base, points, us;  // weights: [n, bones]
  std::vector<int> parents, which, triangles;
};

problem make(std::size_t n, std::size_t c) {
  generator g(37);
  problem p;
  p.n = n;
  p.c = c;
  for (double& e : p.pose) e = g.in(-0.8, 0.8);
  const auto below = [&](std::size_t k) { return static_cast<std::size_t>(g.unit() * static_cast<double>(k)); };
  for (std::size_t b = 0; b < bones; ++b) {
    const bool world = b + 1 == bones;
    p.parents.push_back(world || b == 0 ? bones - 1 : b == 21 || (b - 1) % 4 == 0 ? 0 : static_cast<int>(b) - 1);
    for (vector* m : {&p.relative, &p.inverse})
      for (std::size_t i = 0; i < 16; ++i) {  // a matrix of 3 by 4 numbers, and the row 0, 0, 0, 1
        const double one = i % 5 == 0 ? 1 : 0;
        m->push_back(world || i > 11 ? one : one + g.in(-0.3, 0.3));
      }
  }
  p.weights.assign(n * bones, 0);
  for (std::size_t v = 0; v < n; ++v) {  // a few vertices belong to two fingers, most to some bones of one, or to the palm only
    const double kind = g.unit();
    const std::size_t finger = below(5), next = kind < 0.02 && finger < 4 ? finger + 1 : finger;
    double* const w = &p.weights[v * bones];
    if (kind > 0.84) w[below(2) ? 0 : 21] = 1;
    else {
      w[1 + 4 * finger + below(4)] += g.in(0.2, 1);
      w[1 + 4 * next + below(4)] += g.in(0.2, 1);
      double sum = 0;
      for (std::size_t b = 0; b < bones; ++b) sum += w[b];
      for (std::size_t b = 0; b < bones; ++b) w[b] /= sum;
    }
    for (int i = 0; i < 3; ++i) p.base.push_back(g.in(-1, 1));
    p.base.push_back(1);
  }
  const std::size_t near = std::min<std::size_t>(n, 544);
  for (std::size_t i = 0; i < c; ++i) {
    p.which.push_back(static_cast<int>(below(n)));
    for (int k = 0; k < 3; ++k) {
      p.triangles.push_back(static_cast<int>(below(near)));
      p.points.push_back(g.in(-1, 1));
    }
    for (int k = 0; k < 2; ++k) p.us.push_back(g.in(0, 0.5));
  }
  return p;
}

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
using matrix = std::array<T, 16>;  // by rows
template <class T>
matrix<T> operator*(const matrix<T>& a, const matrix<T>& b) {
  matrix<T> c;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      T sum = 0;
      for (std::size_t k = 0; k < 4; ++k) sum += a[4 * i + k] * b[4 * k + j];
      c[4 * i + j] = sum;
    }
  return c;
}
template <class T>
matrix<T> matrix_of(const double* from) {
  matrix<T> m;
  for (std::size_t i = 0; i < 16; ++i) m[i] = from[i];
  return m;
}
/// The rotation of a rotation vector, and its derivatives by the three numbers.
template <class T>
matrix<T> rotation_of(const T* w, matrix<T>* d) {
  const T angle = std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), c = std::cos(angle), s = std::sin(angle);
  const T u[3] = {w[0] / angle, w[1] / angle, w[2] / angle};
  const T cross[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
  matrix<T> r{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) r[4 * i + j] = (i == j ? c : T(0)) + (1 - c) * u[i] * u[j] + s * cross[3 * i + j];
  for (std::size_t k = 0; d && k < 3; ++k) {
    T e[3];
    for (std::size_t i = 0; i < 3; ++i) e[i] = ((i == k ? T(1) : T(0)) - u[i] * u[k]) / angle;
    const T d_cross[9] = {0, -e[2], e[1], e[2], 0, -e[0], -e[1], e[0], 0};
    d[k] = {};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        d[k][4 * i + j] = (i == j ? -s * u[k] : T(0)) + s * u[k] * u[i] * u[j] + (1 - c) * (e[i] * u[j] + u[i] * e[j]) +
                          c * u[k] * cross[3 * i + j] + s * d_cross[3 * i + j];
  }
  return r;
}
/// The turn of a bone by z after x, or a derivative of it.
template <class T>
matrix<T> turn_of(T cx, T sx, T cz, T sz, T one, T rest) {
  return {cz * one, -sz * cx, sz * sx, 0, sz * one, cz * cx, -cz * sx, 0, 0, sx * rest, cx * rest, 0, 0, 0, 0, one * rest};
}
template <class T>
struct hand {
  matrix<T> rotation, d_rotation[3], of_bone[bones];
  matrix<T> by_angle[bones][4];  // of_bone by the angles of its finger
  int angles[bones];             // how many of them move the bone
  hand(const problem& p, const T* pose, bool with_derivatives) {
    rotation = rotation_of(pose, with_derivatives ? d_rotation : nullptr);
    for (std::size_t b = 0; b + 1 < bones; ++b) {
      const std::size_t joint = b == 0 || b == 21 ? 0 : (b - 1) % 4;
      const T* const a = pose + 6 + (joint ? (b - 1) / 4 * 4 : 0);
      const T x = joint == 0 ? T(0) : joint == 1 ? a[0] : a[joint], z = joint == 1 ? a[1] : T(0);
      const T cx = std::cos(x), sx = std::sin(x), cz = std::cos(z), sz = std::sin(z);
      const matrix<T> relative = matrix_of<T>(&p.relative[16 * b]);
      const bool has_parent = b > 0;
      const std::size_t parent = has_parent ? static_cast<std::size_t>(p.parents[b]) : b;
      const matrix<T> before = has_parent ? of_bone[parent] * relative : relative, turn = turn_of(cx, sx, cz, sz, T(1), T(1));
      of_bone[b] = before * turn;
      angles[b] = with_derivatives && joint ? static_cast<int>(joint) + 1 : 0;
      if (angles[b] == 0) continue;
      for (int k = 0; joint > 1 && k + 1 < angles[b]; ++k) by_angle[b][k] = by_angle[parent][k] * (relative * turn);
      const matrix<T> by_x{0, sz * sx, sz * cx, 0, 0, -cz * sx, -cz * cx, 0, 0, cx, -sx, 0, 0, 0, 0, 0};
      const matrix<T> by_z{-sz, -cz * cx, cz * sx, 0, cz, -sz * cx, sz * sx, 0, 0, 0, 0, 0, 0, 0, 0, 0};
      by_angle[b][joint == 1 ? 0 : joint] = before * by_x;
      if (joint == 1) by_angle[b][1] = before * by_z;
    }
    for (std::size_t b = 0; b + 1 < bones; ++b) {
      const matrix<T> inverse = matrix_of<T>(&p.inverse[16 * b]);
      of_bone[b] = of_bone[b] * inverse;
      for (int k = 0; k < angles[b]; ++k) by_angle[b][k] = by_angle[b][k] * inverse;
    }
  }
};
/// to += w m x
template <class T>
inline void add_moved(const matrix<T>& m, const double* x, double w, T* to) {
  for (std::size_t i = 0; i < 3; ++i)
    to[i] += w * (m[4 * i] * x[0] + m[4 * i + 1] * x[1] + m[4 * i + 2] * x[2] + m[4 * i + 3] * x[3]);
}
/// The vertices before the hand is turned and moved, and their derivatives by the 20 angles of fingers.
template <class T>
void move_skin(const problem& p, const hand<T>& h, std::vector<T>& at, std::vector<T>& by) {
  at.assign(3 * p.n, 0);
  by.assign(by.size(), 0);
  for (std::size_t b = 0; b + 1 < bones; ++b)
    for (std::size_t v = 0; v < p.n; ++v) add_moved(h.of_bone[b], &p.base[4 * v], p.weights[v * bones + b], &at[3 * v]);
  for (std::size_t b = 0; b + 1 < bones && !by.empty(); ++b)
    for (std::size_t k = 0; k < static_cast<std::size_t>(h.angles[b]); ++k) {
      T* const to = &by[((b - 1) / 4 * 4 + k) * 3 * p.n];
      for (std::size_t v = 0; v < p.n; ++v) add_moved(h.by_angle[b][k], &p.base[4 * v], p.weights[v * bones + b], to + 3 * v);
    }
}
/// A vertex, or the point of a triangle.
template <class T>
inline void point_of(const problem& p, const T* us, const T* at, std::size_t i, T* to) {
  if (!us) {
    for (std::size_t k = 0; k < 3; ++k) to[k] = at[3 * static_cast<std::size_t>(p.which[i]) + k];
    return;
  }
  const T u = us[2 * i], v = us[2 * i + 1];
  const int* const corner = &p.triangles[3 * i];
  for (std::size_t k = 0; k < 3; ++k)
    to[k] = u * at[3 * static_cast<std::size_t>(corner[0]) + k] + v * at[3 * static_cast<std::size_t>(corner[1]) + k] +
            (1 - u - v) * at[3 * static_cast<std::size_t>(corner[2]) + k];
}
template <class T>
inline void turned(const matrix<T>& r, const T* x, T* to) {
  for (std::size_t k = 0; k < 3; ++k) to[k] = r[4 * k] * x[0] + r[4 * k + 1] * x[1] + r[4 * k + 2] * x[2];
}
template <class T>
[[gnu::noinline]] void manual(const problem& p, const T* pose, const T* us, T* to) {
  const hand<T> h(p, pose, false);
  std::vector<T> at, none;
  move_skin(p, h, at, none);
  for (std::size_t i = 0; i < p.c; ++i) {
    T x[3], y[3];
    point_of(p, us, at.data(), i, x);
    turned(h.rotation, x, y);
    for (std::size_t k = 0; k < 3; ++k) to[3 * i + k] = p.points[3 * i + k] - (y[k] + pose[3 + k]);
  }
}
/// Columns of 3 c numbers: by the pose, and by u and v if there are triangles.
template <class T>
[[gnu::noinline]] void manual_jacobian(const problem& p, const T* pose, const T* us, T* to, std::vector<T>& at, std::vector<T>& by) {
  const hand<T> h(p, pose, true);
  by.resize(20 * 3 * p.n);
  move_skin(p, h, at, by);
  const std::size_t rows = 3 * p.c;
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t i = 0; i < p.c; ++i) {
      T x[3], y[3];
      point_of(p, us, at.data(), i, x);
      turned(h.d_rotation[j], x, y);
      for (std::size_t k = 0; k < 3; ++k) {
        to[j * rows + 3 * i + k] = -y[k];
        to[(3 + j) * rows + 3 * i + k] = j == k ? -1 : 0;
      }
    }
  for (std::size_t j = 0; j < 20; ++j)
    for (std::size_t i = 0; i < p.c; ++i) {
      T x[3], y[3];
      point_of(p, us, &by[j * 3 * p.n], i, x);
      turned(h.rotation, x, y);
      for (std::size_t k = 0; k < 3; ++k) to[(6 + j) * rows + 3 * i + k] = -y[k];
    }
  for (std::size_t j = 0; j < 2 && us; ++j)
    for (std::size_t i = 0; i < p.c; ++i) {
      const std::size_t own = static_cast<std::size_t>(p.triangles[3 * i + j]), last = static_cast<std::size_t>(p.triangles[3 * i + 2]);
      T x[3], y[3];
      for (std::size_t k = 0; k < 3; ++k) x[k] = at[3 * last + k] - at[3 * own + k];
      turned(h.rotation, x, y);
      for (std::size_t k = 0; k < 3; ++k) to[(poses + j) * rows + 3 * i + k] = y[k];
    }
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;

/// By a bone's columns, one for each of the four numbers of a vertex: the three numbers of its place; with derivatives before, the columns
/// of its finger's four angles, then those of the hand's rotation.
template <bool Derivatives>
struct bone_table {
  static constexpr int count = Derivatives ? 24 : 4, place = Derivatives ? 21 : 0;
  alignas(64) double of[bones - 1][4][count] = {};
  explicit bone_table(const hand<double>& h) {
    const auto set = [](const matrix<double>& turn, const matrix<double>& m, double sign, std::size_t c, double* to) {
      for (std::size_t i = 0; i < 3; ++i)
        to[i] = sign * (turn[4 * i] * m[c] + turn[4 * i + 1] * m[4 + c] + turn[4 * i + 2] * m[8 + c]);
    };
    for (std::size_t b = 0; b + 1 < bones; ++b)
      for (std::size_t c = 0; c < 4; ++c) {
        set(h.rotation, h.of_bone[b], 1, c, of[b][c] + place);
        if constexpr (Derivatives) {
          for (int k = 0; k < h.angles[b]; ++k) set(h.rotation, h.by_angle[b][k], -1, c, of[b][c] + 3 * k);
          for (int k = 0; k < 3; ++k) set(h.d_rotation[k], h.of_bone[b], -1, c, of[b][c] + 12 + 3 * k);
        }
      }
  }
};
using four = ebb::simd::vector<double, 32>;
EBB_INLINE four load_four(const double* p) { return ebb::simd::load_bytes<double, 32>(p); }
EBB_INLINE void store_four(double* p, four x) { std::memcpy(p, &x, sizeof x); }
EBB_INLINE four all_four(double x) { return four{x, x, x, x}; }

/// Calls f(v) for each vertex that a point needs, in the order in which they are in memory.
template <class F>
EBB_INLINE void each_needed(const problem& p, bool has_triangles, std::vector<char>& needed, F f) {
  std::fill(needed.begin(), needed.end(), 0);
  for (const int v : has_triangles ? p.triangles : p.which) needed[static_cast<std::size_t>(v)] = 1;
  for (std::size_t v = 0; v < p.n; ++v)
    if (needed[v]) f(v);
}
struct moved_places {
  vector place;
  std::vector<char> needed;
  explicit moved_places(std::size_t n) : place(4 * n), needed(n) {}
};
/// Most weights are zero, but to find out which takes longer.
four place_of(const problem& p, const bone_table<false>& t, std::size_t v) {
  four m0{}, m1{}, m2{}, m3{};
  for (std::size_t b = 0; b + 1 < bones; ++b) {
    const four weight = all_four(p.weights[v * bones + b]);
    m0 = m0 + weight * load_four(t.of[b][0]);
    m1 = m1 + weight * load_four(t.of[b][1]);
    m2 = m2 + weight * load_four(t.of[b][2]);
    m3 = m3 + weight * load_four(t.of[b][3]);
  }
  const double* const x = &p.base[4 * v];
  return (all_four(x[0]) * m0 + all_four(x[1]) * m1) + (all_four(x[2]) * m2 + all_four(x[3]) * m3);
}
[[gnu::noinline]] void simd(const problem& p, const double* pose, const double* us, double* to, moved_places& moved) {
  const bone_table<false> table(hand<double>(p, pose, false));
  each_needed(p, us, moved.needed, [&](std::size_t v) { store_four(&moved.place[4 * v], place_of(p, table, v)); });
  const auto at = [&](int v) { return load_four(&moved.place[4 * static_cast<std::size_t>(v)]); };
  const four shift{pose[3], pose[4], pose[5], 0};
  for (std::size_t i = 0; i < p.c; ++i) {
    four place = shift;
    if (us) {
      const double u = us[2 * i], v = us[2 * i + 1];
      const int* const corner = &p.triangles[3 * i];
      place = place + all_four(u) * at(corner[0]) + all_four(v) * at(corner[1]) + all_four(1 - u - v) * at(corner[2]);
    } else place = place + at(p.which[i]);
    for (std::size_t k = 0; k < 3; ++k) to[3 * i + k] = p.points[3 * i + k] - place[static_cast<int>(k)];
  }
}

/// Vertices with their derivatives. A row is what the bones of one finger make of a vertex; the palm is with the first finger, the forearm
/// with the last.
struct moved_rows {
  struct row {
    alignas(64) double of[24];
  };
  struct vertex {
    std::uint32_t fingers = 0, more = 0;  // a bit for each row, and where those after the first are
  };
  std::vector<row> rows;
  std::vector<vertex> vertices;
  std::vector<char> needed;
  std::uint32_t used = 0;

  explicit moved_rows(std::size_t n) : rows(5 * n), vertices(n), needed(n) {}
  void move_all(const problem& p, const bone_table<true>& t, bool has_triangles) {
    used = static_cast<std::uint32_t>(p.n);
    each_needed(p, has_triangles, needed, [&](std::size_t v) { move(p, t, v); });
  }
  static unsigned finger_of(std::uint32_t bits) {
    const unsigned bone = static_cast<unsigned>(std::countr_zero(bits));
    return bone == 0 ? 0 : std::min((bone - 1) / 4, 4u);
  }
  [[gnu::noinline]] void move(const problem& p, const bone_table<true>& t, std::size_t v) {
    const double *const w = &p.weights[v * bones], *const x = &p.base[4 * v];
    std::uint32_t bits = 0;
    for (int b = 0; b + 1 < static_cast<int>(bones); b += ebb::lane_count) {
      const V part = V::load(w + b, std::min(ebb::lane_count, static_cast<int>(bones) - 1 - b));
      bits |= ebb::lanes<bool>(part != V::all(0)).to_bits() << b;
    }
    if (!bits) bits = 1;
    vertices[v] = {0, used};
    for (row* to = &rows[v];; to = &rows[used++]) {
      const unsigned finger = finger_of(bits);
      constexpr int parts = 24 / lanes;
      R sum[4 * parts];
      const auto each_part = [&](auto f) EBB_LAMBDA {
        const std::size_t b = static_cast<std::size_t>(std::countr_zero(bits));
        const R weight = all(w[b]);
        unrolled<4 * parts>([&](auto r) EBB_LAMBDA { f(r, weight, load(t.of[b][0] + r * lanes)); });
        bits &= bits - 1;
      };
      each_part([&](auto r, R weight, R at) EBB_LAMBDA { sum[r] = weight * at; });
      while (bits && finger_of(bits) == finger)
        each_part([&](auto r, R weight, R at) EBB_LAMBDA { sum[r] = fma(weight, at, sum[r]); });
      unrolled<parts>([&](auto r) EBB_LAMBDA {
        const R low = fma(all(x[1]), sum[parts + r], all(x[0]) * sum[r]), high = all(x[2]) * sum[2 * parts + r];
        store(to->of + r * lanes, low + fma(all(x[3]), sum[3 * parts + r], high));
      });
      vertices[v].fingers |= 1u << finger;
      if (!bits) break;
    }
  }
  /// Calls f(finger, numbers) for each row of a vertex.
  template <class F>
  EBB_INLINE void each(int number, F f) const {
    const std::size_t v = static_cast<std::size_t>(number);
    std::uint32_t fingers = vertices[v].fingers;
    const auto next = [&] { return static_cast<std::size_t>(std::countr_zero(fingers)); };
    f(next(), rows[v].of);
    for (std::uint32_t at = vertices[v].more; fingers &= fingers - 1; ++at) f(next(), rows[at].of);
  }
  /// They are all over the memory.
  EBB_INLINE void fetch_ahead(const problem& p, std::size_t i, std::size_t end, bool has_triangles) const {
    const int* const from = has_triangles ? p.triangles.data() : p.which.data();
    const std::size_t corners = has_triangles ? 3 : 1;
    for (const int* at = from + corners * i; at < from + corners * end; ++at)
      for (std::size_t b = 0; b < 24; b += 8) __builtin_prefetch(rows[static_cast<std::size_t>(*at)].of + b);
  }
};
/// One point: its derivatives by the angles of each finger, and the rest of its row.
struct moved_point {
  double by_finger[5][13], rest[13] = {}, place[3][3] = {};
  const double* finger[5];
  EBB_INLINE moved_point(const problem& p, const double* us, std::size_t i, const moved_rows& moved) {
    static constexpr double zeros[13] = {};
    std::fill_n(finger, 5, zeros);
    if (!us) {
      moved.each(p.which[i], [&](std::size_t f, const double* row) EBB_LAMBDA {
        finger[f] = row;
        for (int k = 0; k < 12; k += 4) store_four(rest + k, load_four(rest + k) + load_four(row + 12 + k));
      });
      return;
    }
    const double shares[] = {us[2 * i], us[2 * i + 1], 1 - us[2 * i] - us[2 * i + 1]};
    for (std::size_t corner = 0; corner < 3; ++corner)
      moved.each(p.triangles[3 * i + corner], [&](std::size_t f, const double* row) EBB_LAMBDA {
        const four share = all_four(shares[corner]);
        for (int k = 0; k < 12; k += 4) {
          store_four(by_finger[f] + k, load_four(finger[f] + k) + share * load_four(row + k));
          store_four(rest + k, load_four(rest + k) + share * load_four(row + 12 + k));
        }
        finger[f] = by_finger[f];
        for (int k = 0; k < 3; ++k) place[corner][k] += row[21 + k];
      });
  }
};
/// The columns of some points at a time are made in the cache: whole columns may be a multiple of 4096 bytes apart.
[[gnu::noinline]] void simd_jacobian(const problem& p, const double* pose, const double* us, double* to, moved_rows& moved) {
  constexpr std::size_t block = 16, stride = 3 * block + 8;
  const bone_table<true> table(hand<double>(p, pose, true));
  moved.move_all(p, table, us);
  const std::size_t rows = 3 * p.c, width = us ? poses + 2 : poses;
  alignas(64) double columns[poses + 2][stride] = {};
  for (std::size_t r = 0; r < 3 * block; ++r) columns[3 + r % 3][r] = -1;
  for (std::size_t i = 0; i < p.c; i += block) {
    const std::size_t count = std::min(block, p.c - i);
    moved.fetch_ahead(p, i + count, std::min(i + count + block, p.c), us != nullptr);
    for (std::size_t k = 0; k < count; ++k) {  // four numbers are copied for three: the next point writes over the fourth
      const moved_point point(p, us, i + k, moved);
      for (std::size_t j = 0; j < 20; ++j) store_four(&columns[6 + j][3 * k], load_four(point.finger[j / 4] + 3 * (j % 4)));
      for (std::size_t j = 0; j < 3; ++j) store_four(&columns[j][3 * k], load_four(point.rest + 3 * j));
      for (std::size_t j = 0; us && j < 2; ++j)
        for (std::size_t c = 0; c < 3; ++c) columns[poses + j][3 * k + c] = point.place[2][c] - point.place[j][c];
    }
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t r = 0; r < 3 * count; r += lanes)
        store(to + j * rows + 3 * i + r, load(columns[j] + r), static_cast<int>(std::min<std::size_t>(lanes, 3 * count - r)));
  }
}
// lines: end

/// Columns as the ones of manual_jacobian, from arrays [c, 3, width].
void columns_of(const vector& from, std::size_t width, std::size_t rows, vector& to) {
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t i = 0; i < rows; ++i) to.push_back(from[i * width + j]);
}

void size_of(session& s, std::size_t n, std::size_t c, bool has_triangles) {
  const problem p = make(n, c);
  const std::size_t rows = 3 * c, width = has_triangles ? poses + 2 : poses;
  vector out(rows), columns(rows * width), by_pose(rows * poses), by_us(has_triangles ? 2 * rows : 0), at, by;
  const double* const us = has_triangles ? p.us.data() : nullptr;
  // only: natural, sparse, shaped
  const ebb::view<const double, poses> pose(p.pose.data());
  const ebb::view<const double, bones, 4, 4> relative(p.relative.data()), inverse(p.inverse.data());
  const ebb::view<const int, bones> parents(p.parents.data());
  const ebb::view<const double, ebb::dyn, bones> weights(p.weights.data(), n);
  const ebb::view<const double, ebb::dyn, 4> base(p.base.data(), n);
  const ebb::view<const double, ebb::dyn, 3> points(p.points.data(), c);
  const ebb::view<const double, ebb::dyn, 2> in_triangles(p.us.data(), c);
  const ebb::view<const int, ebb::dyn, 3> triangles(p.triangles.data(), c);
  const std::span<const int> which(p.which);
  const ebb::view<double, ebb::dyn, 3> errors_out(out.data(), c);
  const ebb::view<double, ebb::dyn, 3, poses> by_pose_out(by_pose.data(), c);
  const ebb::view<double, ebb::dyn, 3, 2> by_us_out(by_us.data(), has_triangles ? c : 0);
  vector by_six(6 * rows), by_angles(20 * rows);
  const ebb::view<double, ebb::dyn, 3, 6> by_six_out(by_six.data(), c);
  const ebb::view<double, 5, ebb::dyn, 12> by_angles_out(by_angles.data(), c);
  vector shares(4 * bones * c);
  const ebb::view<double, ebb::dyn, bones, 4> shares_out(shares.data(), c);
  // only: end
  // only: sparse
  const ebb::sparse_pattern pattern =
      us ? sparse_complicated.pattern(pose, in_triangles, relative, inverse, parents, ebb::fixed(weights), base, points, triangles)
         : sparse_simple.pattern(pose, relative, inverse, parents, ebb::fixed(weights), base, points, which);
  vector elements(pattern.size());
  // only: end
  // only: simd
  moved_places moved(n);
  moved_rows moved_with_derivatives(n);
  // only: end
  // only: natural, sparse, shaped
  const auto natural_primal = [&] {
    if (us) complicated(ebb::into(errors_out), pose, in_triangles, relative, inverse, parents, weights, base, points, triangles);
    else simple(ebb::into(errors_out), pose, relative, inverse, parents, weights, base, points, which);
  };
  // only: end
  const std::vector<candidate> all = {
      {"manual", [&] { manual(p, p.pose.data(), us, out.data()); },
       [&] { manual_jacobian(p, p.pose.data(), us, columns.data(), at, by); }},
      {"natural", natural_primal,
       [&] {
         if (us) complicated_jacobian(ebb::into(by_pose_out, by_us_out), pose, in_triangles, relative, inverse, parents, weights, base,
                                      points, triangles);
         else simple_jacobian(ebb::into(by_pose_out), pose, relative, inverse, parents, weights, base, points, which);
       }},
      {"sparse", natural_primal,
       [&] {
         if (us) {
           sparse_complicated(ebb::into(elements), pattern, pose, in_triangles, relative, inverse, parents, weights, base, points,
                              triangles);
           by_place(ebb::into(by_us_out), pose, in_triangles, relative, inverse, parents, weights, base, points, triangles);
         } else sparse_simple(ebb::into(elements), pattern, pose, relative, inverse, parents, weights, base, points, which);
       }},
      {"shaped", natural_primal,
       [&] {
         if (us) {
           shares_of_places(ebb::into(shares_out), in_triangles, weights, base, triangles);
           shaped_by_place(ebb::into(by_us_out), pose, relative, inverse, parents, weights, base, triangles);
         } else shares_of_vertices(ebb::into(shares_out), weights, base, which);
         shaped_by_pose(ebb::into(by_six_out, by_angles_out), pose, relative, inverse, parents, shares_out);
       }},
      {"simd", [&] { simd(p, p.pose.data(), us, out.data(), moved); },
       [&] { simd_jacobian(p, p.pose.data(), us, columns.data(), moved_with_derivatives); }},
  };
  std::array<long double, poses> exact;
  std::copy(p.pose.begin(), p.pose.end(), exact.begin());
  std::vector<long double> exact_us(p.us.begin(), p.us.end()), want_out(rows), high(rows), low(rows), want(rows * width);
  std::vector<long double> exact_at, exact_by;
  const long double* const exact_places = has_triangles ? exact_us.data() : nullptr;
  manual(p, exact.data(), exact_places, want_out.data());
  manual_jacobian(p, exact.data(), exact_places, want.data(), exact_at, exact_by);
  const std::string kind = has_triangles ? "complicated" : "simple";
  const std::string size = kind + ", n = " + std::to_string(n) + ", c = " + std::to_string(c);
  if (c < 1000) {
    std::vector<long double> differences;
    const long double h = 1e-7L;
    for (std::size_t j = 0; j < width; ++j) {
      const auto move = [&](long double amount) {
        if (j < poses) exact[j] += amount;
        else
          for (std::size_t i = 0; i < c; ++i) exact_us[2 * i + j - poses] += amount;
      };
      move(h);
      manual(p, exact.data(), exact_places, high.data());
      move(-2 * h);
      manual(p, exact.data(), exact_places, low.data());
      move(h);
      for (std::size_t i = 0; i < rows; ++i) differences.push_back((high[i] - low[i]) / (2 * h));
    }
    session::check("ht " + size + ", manual against differences", vector(want.begin(), want.end()), differences, 1e-8);
  }
  for (const candidate& e : all) {
    std::fill(out.begin(), out.end(), 99);
    std::fill(columns.begin(), columns.end(), 99);
    std::fill(by_us.begin(), by_us.end(), 99);
    e.primal();
    e.derivative();
    vector got = columns;
    if (e.name == std::string("natural")) {
      got.clear();
      columns_of(by_pose, poses, rows, got);
      if (us) columns_of(by_us, 2, rows, got);
    }
    // only: sparse
    if (e.name == std::string("sparse")) {
      got.assign(poses * rows, 0);
      const std::vector<std::size_t> row = pattern.row();
      for (std::size_t k = 0; k < elements.size(); ++k) got[pattern.column[k] * rows + row[k]] = elements[k];
      if (us) columns_of(by_us, 2, rows, got);
    }
    // only: end
    // only: shaped
    if (e.name == std::string("shaped")) {
      got.clear();
      columns_of(by_six, 6, rows, got);
      for (std::size_t f = 0; f < 5; ++f)
        columns_of(vector(by_angles.begin() + static_cast<std::ptrdiff_t>(4 * f * rows),
                          by_angles.begin() + static_cast<std::ptrdiff_t>(4 * (f + 1) * rows)), 4, rows, got);
      if (us) columns_of(by_us, 2, rows, got);
    }
    // only: end
    session::check("ht " + size + ", " + e.name + ", errors", out, want_out, 1e-11);
    session::check("ht " + size + ", " + e.name + ", Jacobian", got, want);
  }
  // only: peer
  if (s.has_peers()) {
    const vector numbers(p.pose.begin(), p.pose.end());
    s.add_peer("ht", size, {{n, c, bones}, {numbers, p.relative, p.inverse, p.weights, p.base, p.points, us ? p.us : vector()},
                            {p.parents, p.which, p.triangles}}, want_out, want);
  }
  // only: end
  s.time(size, all);
}

}  // namespace

void ht(session& s) {
  for (const bool has_triangles : {false, true})
    if (s.smoke) {
      size_of(s, 1, 1, has_triangles);
      size_of(s, 3, 17, has_triangles);
      size_of(s, 544, 100, has_triangles);
      size_of(s, 101, 1001, has_triangles);
    } else {
      for (const std::size_t c : {100u, 800u, 12800u, 51200u}) size_of(s, 10000, c, has_triangles);
      size_of(s, 544, 800, has_triangles);
    }
  s.total("ht");
}

}  // namespace gradbench
