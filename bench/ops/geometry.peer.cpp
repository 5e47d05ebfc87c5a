// bench/ops/geometry.peer.cpp — quaternions, rotations and poses by plain loops over the rows.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

namespace {

using ops::read, ops::write;

constexpr std::size_t rows = 512;

/// f(row, row of the result): the rows of the operand and of the result have so many elements.
template <std::size_t In, std::size_t Out, class F>
void add_each(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < rows; ++i) F{}(x + i * In, out + i * Out);
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

}  // namespace

void ops::peers_of_geometry(table& t) {
  add_pairs<4, 4, 4>(t, "quaternion_product", [](read a, read b, write out) { product(a, b, out); });
  add_pairs<4, 3, 3>(t, "quaternion_rotate", [](read q, read v, write out) { rotate(q, v, out); });
  add_each<4, 4>(t, "quaternion_normalize", [](read q, write out) {
    const float norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; ++k) out[k] = q[k] / norm;
  });
  add_each<4, 9>(t, "quaternion_to_matrix", [](read q, write out) {
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
  });
  add_each<3, 4>(t, "quaternion_exp", [](read w, write out) { quaternion_exp(w, out); });
  add_each<3, 9>(t, "so3_exp", [](read w, write out) {  // Rodrigues' formula
    const float angle = std::sqrt(squared(w)), half = std::sin(angle / 2) / angle;
    const float a = std::sin(angle) / angle, b = 2 * half * half, x = w[0], y = w[1], z = w[2];
    out[0] = 1 - b * (y * y + z * z);
    out[1] = b * x * y - a * z;
    out[2] = b * x * z + a * y;
    out[3] = b * x * y + a * z;
    out[4] = 1 - b * (x * x + z * z);
    out[5] = b * y * z - a * x;
    out[6] = b * x * z - a * y;
    out[7] = b * y * z + a * x;
    out[8] = 1 - b * (x * x + y * y);
  });
  add_each<3, 9>(t, "so3_hat", [](read w, write out) {
    const float r[] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
    for (int k = 0; k < 9; ++k) out[k] = r[k];
  });
  add_each<6, 7>(t, "se3_exp", [](read x, write out) {
    const float* const w = x + 3;
    const float square = squared(w), angle = std::sqrt(square), half = std::sin(angle / 2) / angle;
    const float a = 2 * half * half, b = (angle - std::sin(angle)) / (square * angle);  // J = 1 + a [w] + b [w]^2
    const float p = w[1] * x[2] - w[2] * x[1], q = w[2] * x[0] - w[0] * x[2], r = w[0] * x[1] - w[1] * x[0];
    quaternion_exp(w, out);
    out[4] = x[0] + a * p + b * (w[1] * r - w[2] * q);
    out[5] = x[1] + a * q + b * (w[2] * p - w[0] * r);
    out[6] = x[2] + a * r + b * (w[0] * q - w[1] * p);
  });
  add_pairs<7, 7, 7>(t, "se3_compose", [](read a, read b, write out) {
    product(a, b, out);
    rotate(a, b + 4, out + 4);
    for (int k = 4; k < 7; ++k) out[k] += a[k];
  });
  add_pairs<7, 3, 3>(t, "se3_act", [](read a, read p, write out) {
    rotate(a, p, out);
    for (int k = 0; k < 3; ++k) out[k] += a[k + 4];
  });
}
