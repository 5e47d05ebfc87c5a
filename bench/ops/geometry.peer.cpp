// bench/ops/geometry.peer.cpp — quaternions, rotations and poses by plain loops over the rows.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

namespace {

using ops::read, ops::write;

constexpr std::size_t rows = 512;

/// f(row, row of the result): the rows of the operand and of the result have so many elements.
template <std::size_t In, std::size_t Out, std::size_t Rows = rows, class F>
void add_each(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < Rows; ++i) F{}(x + i * In, out + i * Out);
  });
}
template <std::size_t First, std::size_t Second, std::size_t Out, class F>
void add_pairs(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    for (std::size_t i = 0; i < rows; ++i) F{}(x + i * First, y + i * Second, out + i * Out);
  });
}

inline void product(const float* a, const float* b, float* out) {
  out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}
/// v + 2 w (u x v) + 2 u x (u x v), where u is the vector of q.
inline void rotate(const float* q, const float* v, float* out) {
  const float a = 2 * (q[2] * v[2] - q[3] * v[1]), b = 2 * (q[3] * v[0] - q[1] * v[2]), c = 2 * (q[1] * v[1] - q[2] * v[0]);
  out[0] = v[0] + q[0] * a + (q[2] * c - q[3] * b);
  out[1] = v[1] + q[0] * b + (q[3] * a - q[1] * c);
  out[2] = v[2] + q[0] * c + (q[1] * b - q[2] * a);
}
inline float squared(const float* w) { return w[0] * w[0] + w[1] * w[1] + w[2] * w[2]; }
inline void quaternion_exp(const float* w, float* out) {
  const float angle = std::sqrt(squared(w)), scale = angle > 0 ? std::sin(angle / 2) / angle : 0.5f;
  out[0] = std::cos(angle / 2);
  for (int k = 0; k < 3; ++k) out[k + 1] = scale * w[k];
}
inline void matrix_of(const float* q, float* out) {
  const float w = q[0], x = q[1], y = q[2], z = q[3];
  out[0] = 1 - 2 * (y * y + z * z);
  out[1] = 2 * (x * y - w * z);
  out[2] = 2 * (x * z + w * y);
  out[3] = 2 * (x * y + w * z);
  out[4] = 1 - 2 * (x * x + z * z);
  out[5] = 2 * (y * z - w * x);
  out[6] = 2 * (x * z - w * y);
  out[7] = 2 * (y * z + w * x);
  out[8] = 1 - 2 * (x * x + y * y);
}
/// 1 + a W + b W^2 for the matrix W of the cross product with w.
inline void polynomial(const float* w, float a, float b, float* out) {
  const float x = w[0], y = w[1], z = w[2];
  out[0] = 1 - b * (y * y + z * z);
  out[1] = b * x * y - a * z;
  out[2] = b * x * z + a * y;
  out[3] = b * x * y + a * z;
  out[4] = 1 - b * (x * x + z * z);
  out[5] = b * y * z - a * x;
  out[6] = b * x * z - a * y;
  out[7] = b * y * z + a * x;
  out[8] = 1 - b * (x * x + y * y);
}
/// Rodrigues' formula.
inline void rotation_of(const float* w, float* out) {
  const float angle = std::sqrt(squared(w)), half = std::sin(angle / 2) / angle;
  polynomial(w, std::sin(angle) / angle, 2 * half * half, out);
}
inline void pose_of(const float* x, float* out) {
  const float* const w = x + 3;
  const float square = squared(w), angle = std::sqrt(square), half = std::sin(angle / 2) / angle;
  const float a = 2 * half * half, b = (angle - std::sin(angle)) / (square * angle);  // J = 1 + a [w] + b [w]^2
  const float p = w[1] * x[2] - w[2] * x[1], q = w[2] * x[0] - w[0] * x[2], r = w[0] * x[1] - w[1] * x[0];
  quaternion_exp(w, out);
  out[4] = x[0] + a * p + b * (w[1] * r - w[2] * q);
  out[5] = x[1] + a * q + b * (w[2] * p - w[0] * r);
  out[6] = x[2] + a * r + b * (w[0] * q - w[1] * p);
}
inline void normalized(const float* q, float* out) {
  const float norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int k = 0; k < 4; ++k) out[k] = q[k] / norm;
}
inline void quaternion_log(const float* q, float* out) {
  const float norm = std::sqrt(squared(q + 1)), sign = q[0] < 0 ? -1.0f : 1.0f;
  const float scale = norm > 0 ? 2 * sign * std::atan2(norm, sign * q[0]) / norm : 2 / q[0];
  for (int k = 0; k < 3; ++k) out[k] = scale * q[k + 1];
}
/// From the largest of the trace and the elements of the diagonal.
inline void quaternion_of(const float* m, float* out) {
  const float t = m[0] + m[4] + m[8];
  if (t > m[0] && t > m[4] && t > m[8]) {
    const float s = std::sqrt(1 + t), r = 0.5f / s;
    out[0] = s / 2, out[1] = (m[7] - m[5]) * r, out[2] = (m[2] - m[6]) * r, out[3] = (m[3] - m[1]) * r;
    return;
  }
  const int i = m[0] >= m[4] && m[0] >= m[8] ? 0 : m[4] >= m[8] ? 1 : 2, j = (i + 1) % 3, k = (i + 2) % 3;
  const float s = std::sqrt(1 + m[4 * i] - m[4 * j] - m[4 * k]), r = 0.5f / s, w = (m[3 * k + j] - m[3 * j + k]) * r,
              sign = w < 0 ? -1.0f : 1.0f;
  out[0] = sign * w;
  out[i + 1] = sign * s / 2, out[j + 1] = sign * (m[3 * j + i] + m[3 * i + j]) * r, out[k + 1] = sign * (m[3 * k + i] + m[3 * i + k]) * r;
}
/// The Jacobian with side 1, that of the other side with -1.
inline void jacobian(const float* w, float side, float* out) {
  const float square = squared(w), angle = std::sqrt(square), half = std::sin(angle / 2) / angle;
  polynomial(w, side * 2 * half * half, (angle - std::sin(angle)) / (square * angle), out);
}
inline void inverse_jacobian(const float* w, float side, float* out) {
  const float square = squared(w), angle = std::sqrt(square);
  polynomial(w, -side / 2, (1 - angle / 2 / std::tan(angle / 2)) / square, out);
}
inline void skew(const float* w, float* out) {
  const float r[] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  for (int k = 0; k < 9; ++k) out[k] = r[k];
}
/// [J Q; 0 J] for a twist of v and w, with the sums of Barfoot's Q as one matrix of a cross product and two symmetric ones.
inline void pose_jacobian(const float* x, float side, float* out) {
  const float *const v = x, *const w = x + 3;
  const float square = squared(w), angle = std::sqrt(square), half = std::sin(angle / 2), fourth = square * square;
  const float a = (angle - std::sin(angle)) / (square * angle);
  const float b = (2 * half * half - square / 2) / fourth;  // (1 - cos - angle^2 / 2) / angle^4
  const float c = (angle - std::sin(angle) - square * angle / 6) / (fourth * angle);
  const float d = v[0] * w[0] + v[1] * w[1] + v[2] * w[2], e = d * (b - 3 * c);
  float j[9], u[3], q[9];
  jacobian(w, side, j);
  for (int i = 0; i < 3; ++i) u[i] = side * ((0.5f + b * square) * v[i] - (a + 2 * b) * d * w[i]);
  skew(u, q);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      out[6 * i + k] = out[6 * (i + 3) + k + 3] = j[3 * i + k];
      out[6 * i + k + 3] = q[3 * i + k] + a * (v[i] * w[k] + w[i] * v[k]) + e * w[i] * w[k];
      out[6 * (i + 3) + k] = 0;
    }
    out[6 * i + i + 3] -= 2 * a * d + e * square;
  }
}

}  // namespace

void ops::peers_of_geometry(table& t) {
  add_pairs<4, 4, 4>(t, "quaternion_product", [](read a, read b, write out) { product(a, b, out); });
  add_pairs<4, 3, 3>(t, "quaternion_rotate", [](read q, read v, write out) { rotate(q, v, out); });
  add_each<4, 4>(t, "quaternion_normalize", [](read q, write out) { normalized(q, out); });
  add_each<4, 9>(t, "quaternion_to_matrix", [](read q, write out) { matrix_of(q, out); });
  add_each<3, 4>(t, "quaternion_exp", [](read w, write out) { quaternion_exp(w, out); });
  add_each<3, 9>(t, "so3_exp", [](read w, write out) { rotation_of(w, out); });
  add_each<3, 9>(t, "so3_hat", [](read w, write out) { skew(w, out); });
  add_each<6, 7>(t, "se3_exp", [](read x, write out) { pose_of(x, out); });
  add_pairs<7, 7, 7>(t, "se3_compose", [](read a, read b, write out) {
    product(a, b, out);
    rotate(a, b + 4, out + 4);
    for (int k = 4; k < 7; ++k) out[k] += a[k];
  });
  add_pairs<7, 3, 3>(t, "se3_act", [](read a, read p, write out) {
    rotate(a, p, out);
    for (int k = 0; k < 3; ++k) out[k] += a[k + 4];
  });

  add_each<4, 4>(t, "quaternion_conjugate", [](read q, write out) {
    out[0] = q[0];
    for (int k = 1; k < 4; ++k) out[k] = -q[k];
  });
  add_each<4, 4>(t, "quaternion_inverse", [](read q, write out) {
    const float square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    out[0] = q[0] / square;
    for (int k = 1; k < 4; ++k) out[k] = -q[k] / square;
  });
  add_each<4, 3>(t, "quaternion_log", [](read q, write out) { quaternion_log(q, out); });
  add_pairs<3, 1, 4>(t, "quaternion_from_axis_angle", [](read v, read angle, write out) {
    const float s = std::sin(angle[0] / 2);
    out[0] = std::cos(angle[0] / 2);
    for (int k = 0; k < 3; ++k) out[k + 1] = s * v[k];
  });
  add_each<3, 4>(t, "quaternion_from_euler", [](read a, write out) {
    const float c = std::cos(a[0] / 2), s = std::sin(a[0] / 2), d = std::cos(a[1] / 2), u = std::sin(a[1] / 2), e = std::cos(a[2] / 2),
                v = std::sin(a[2] / 2);
    out[0] = c * d * e + s * u * v;
    out[1] = c * d * v - s * u * e;
    out[2] = c * u * e + s * d * v;
    out[3] = s * d * e - c * u * v;
  });
  add_each<4, 4>(t, "quaternion_from_matrix", [](read q, write out) {
    float unit[4], m[9];
    normalized(q, unit);
    matrix_of(unit, m);
    quaternion_of(m, out);
  });
  add_each<3, 3>(t, "so3_log", [](read w, write out) {
    float m[9];
    rotation_of(w, m);
    const float v[] = {(m[7] - m[5]) / 2, (m[2] - m[6]) / 2, (m[3] - m[1]) / 2}, sine = std::sqrt(squared(v));
    const float scale = std::atan2(sine, (m[0] + m[4] + m[8] - 1) / 2) / sine;
    for (int k = 0; k < 3; ++k) out[k] = scale * v[k];
  });
  add_loop(t, "slerp", [](read x, read y, read u, write out) {
    for (std::size_t i = 0; i < rows; ++i) {
      float a[4], b[4];
      normalized(x + 4 * i, a);
      normalized(y + 4 * i, b);
      const float d = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = d < 0 ? -1.0f : 1.0f;
      const float angle = std::acos(std::min(1.0f, sign * d)), sine = std::sin(angle);
      const float p = std::sin((1 - u[i]) * angle) / sine, q = sign * std::sin(u[i] * angle) / sine;
      for (std::size_t k = 0; k < 4; ++k) out[4 * i + k] = p * a[k] + q * b[k];
    }
  });
  add_each<9, 3, 448>(t, "so3_vee", [](read m, write out) {
    out[0] = (m[7] - m[5]) / 2;
    out[1] = (m[2] - m[6]) / 2;
    out[2] = (m[3] - m[1]) / 2;
  });
  add_each<3, 9>(t, "skew_matrix", [](read w, write out) { skew(w, out); });
  add_each<3, 9>(t, "so3_left_jacobian", [](read w, write out) { jacobian(w, 1, out); });
  add_each<3, 9>(t, "so3_right_jacobian", [](read w, write out) { jacobian(w, -1, out); });
  add_each<3, 9>(t, "so3_left_jacobian_inverse", [](read w, write out) { inverse_jacobian(w, 1, out); });
  add_each<3, 9>(t, "so3_right_jacobian_inverse", [](read w, write out) { inverse_jacobian(w, -1, out); });

  add_each<7, 7>(t, "se3_inverse", [](read a, write out) {
    out[0] = a[0];
    for (int k = 1; k < 4; ++k) out[k] = -a[k];
    const float back[] = {-a[4], -a[5], -a[6]};
    rotate(out, back, out + 4);
  });
  add_each<6, 6>(t, "se3_log", [](read x, write out) {
    float pose[7], m[9];
    pose_of(x, pose);
    quaternion_log(pose, out + 3);
    inverse_jacobian(out + 3, 1, m);
    for (int i = 0; i < 3; ++i) out[i] = m[3 * i] * pose[4] + m[3 * i + 1] * pose[5] + m[3 * i + 2] * pose[6];
  });
  add_each<7, 16>(t, "se3_matrix", [](read a, write out) {
    float m[9];
    matrix_of(a, m);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) out[4 * i + j] = m[3 * i + j];
      out[4 * i + 3] = a[4 + i];
      out[12 + i] = 0;
    }
    out[15] = 1;
  });
  add_each<7, 36, 224>(t, "se3_adjoint", [](read a, write out) {
    float m[9], p[9];
    matrix_of(a, m);
    skew(a + 4, p);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        out[6 * i + j] = out[6 * (i + 3) + j + 3] = m[3 * i + j];
        out[6 * i + j + 3] = p[3 * i] * m[j] + p[3 * i + 1] * m[3 + j] + p[3 * i + 2] * m[6 + j];
        out[6 * (i + 3) + j] = 0;
      }
  });
  add_each<6, 36, 224>(t, "se3_left_jacobian", [](read x, write out) { pose_jacobian(x, 1, out); });
  add_each<6, 36, 224>(t, "se3_right_jacobian", [](read x, write out) { pose_jacobian(x, -1, out); });

  add_each<1, 2>(t, "so2_exp", [](read a, write out) { out[0] = std::cos(a[0]), out[1] = std::sin(a[0]); });
  add_each<2, 1>(t, "so2_log", [](read r, write out) { out[0] = std::atan2(r[1], r[0]); });
  const auto turned = [](read r, read v, write out) { out[0] = r[0] * v[0] - r[1] * v[1], out[1] = r[1] * v[0] + r[0] * v[1]; };
  add_pairs<2, 2, 2>(t, "so2_rotate", turned);
  add_each<3, 4>(t, "se2_exp", [](read x, write out) {
    const float half = std::sin(x[2] / 2), a = std::sin(x[2]) / x[2], b = 2 * half * half / x[2];
    out[0] = std::cos(x[2]), out[1] = std::sin(x[2]);
    out[2] = a * x[0] - b * x[1], out[3] = b * x[0] + a * x[1];
  });
  add_each<4, 3>(t, "se2_log", [](read a, write out) {
    const float angle = std::atan2(a[1], a[0]), half = angle / 2, h = half / std::tan(half);
    out[0] = h * a[2] + half * a[3], out[1] = h * a[3] - half * a[2], out[2] = angle;
  });
  add_pairs<4, 4, 4>(t, "se2_compose", [](read a, read b, write out) {
    out[0] = a[0] * b[0] - a[1] * b[1], out[1] = a[1] * b[0] + a[0] * b[1];
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2], out[3] = a[1] * b[2] + a[0] * b[3] + a[3];
  });
  add_each<4, 4>(t, "se2_inverse", [](read a, write out) {
    out[0] = a[0], out[1] = -a[1];
    out[2] = -(a[0] * a[2] + a[1] * a[3]), out[3] = a[1] * a[2] - a[0] * a[3];
  });
  add_pairs<4, 2, 2>(t, "se2_act", [](read a, read v, write out) {
    out[0] = a[0] * v[0] - a[1] * v[1] + a[2], out[1] = a[1] * v[0] + a[0] * v[1] + a[3];
  });
}
