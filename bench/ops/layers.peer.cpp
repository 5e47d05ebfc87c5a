// bench/ops/layers.peer.cpp — gates, norms, losses, pools and images by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <algorithm>

namespace {

using ops::place, ops::read, ops::write;

constexpr std::size_t side = 64, all = side * side;

float logistic(float x) { return 1 / (1 + std::exp(-x)); }
/// log(1 + e^x)
float softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }
float dot(read x, read y) {
  float sum = 0;
  for (std::size_t j = 0; j < side; ++j) sum += x[j] * y[j];
  return sum;
}

/// gate(a, b) for the halves of each row.
template <class F>
void add_gate(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < 32; ++j) out[i * 32 + j] = F{}(x[i * side + j], x[i * side + 32 + j]);
  });
}
/// `count` elements at a distance, without their mean and divided by their deviation.
void standardize(read x, write out, std::size_t count, std::size_t distance) {
  const float size = static_cast<float>(count);
  float sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) sum += x[i * distance];
  const float mean = sum / size;
  for (std::size_t i = 0; i < count; ++i) squares += (x[i * distance] - mean) * (x[i * distance] - mean);
  const float deviation = std::sqrt(squares / size + 1e-5f);
  for (std::size_t i = 0; i < count; ++i) out[i * distance] = (x[i * distance] - mean) / deviation;
}
/// The mean of f over all elements of two operands.
template <class F>
void add_mean(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < all; ++i) sum += F{}(x[i], y[i]);
    out[0] = sum / all;
  });
}
/// The mean of f over the rows.
template <class F>
void add_mean_of_rows(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < all; i += side) sum += F{}(x + i, y + i);
    out[0] = sum / side;
  });
}
template <class F>
void add_classes(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < side; ++i) sum += F{}(x + i * side, place(i));
    out[0] = sum / side;
  });
}
float distance(read x, read y) {
  float sum = 0;
  for (std::size_t j = 0; j < side; ++j) {
    const float d = x[j] - y[j] + 1e-6f;
    sum += d * d;
  }
  return std::sqrt(sum);
}
float log_of_sum(read x) {
  const float most = *std::max_element(x, x + side);
  float sum = 0;
  for (std::size_t j = 0; j < side; ++j) sum += std::exp(x[j] - most);
  return most + std::log(sum);
}

void gates_and_norms(ops::table& t) {
  add_gate(t, "glu", [](float a, float b) { return a * logistic(b); });
  add_gate(t, "swiglu", [](float a, float b) { return a * logistic(a) * b; });
  add_gate(t, "geglu", [](float a, float b) { return a * std::erfc(-a * 0.70710678f) / 2 * b; });
  ops::add_loop(t, "rms_norm", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += side) {
      const float root = std::sqrt(dot(x + i, x + i) / side + 1e-5f);
      for (std::size_t j = i; j < i + side; ++j) out[j] = x[j] / root;
    }
  });
  ops::add_loop(t, "batch_norm", [](read x, write out) {
    for (std::size_t j = 0; j < side; ++j) standardize(x + j, out + j, side, side);
  });
  ops::add_loop(t, "group_norm", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += 8) standardize(x + i, out + i, 8, 1);
  });
  ops::add_loop(t, "instance_norm", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += side) standardize(x + i, out + i, side, 1);
  });
  ops::add_loop(t, "rotary", [](read x, read c, read s, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < 32; ++j) {
        const float a = x[i * side + j], b = x[i * side + 32 + j];
        out[i * side + j] = a * c[i * 32 + j] - b * s[i * 32 + j];
        out[i * side + 32 + j] = b * c[i * 32 + j] + a * s[i * 32 + j];
      }
  });
}

void losses(ops::table& t) {
  add_classes(t, "cross_entropy", [](read x, std::size_t k) { return log_of_sum(x) - x[k]; });
  add_classes(t, "nll", [](read x, std::size_t k) { return -x[k]; });
  add_classes(t, "multi_margin", [](read x, std::size_t k) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += j == k ? 0 : std::max(0.0f, 1 - x[k] + x[j]);
    return sum / side;
  });
  ops::add_loop(t, "gaussian_nll", [](read x, read y, read v, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < all; ++i) sum += (std::log(v[i]) + (x[i] - y[i]) * (x[i] - y[i]) / v[i]) / 2;
    out[0] = sum / all;
  });
  add_mean(t, "margin_ranking", [](float x, float y) { return std::max(0.0f, 0.1f - (x - y)); });
  add_mean(t, "hinge_embedding", [](float x, float y) { return y > 0 ? x : std::max(0.0f, 1 - x); });
  add_mean_of_rows(t, "cosine_embedding",
                   [](read x, read y) { return 1 - dot(x, y) / std::sqrt((dot(x, x) + 1e-12f) * (dot(y, y) + 1e-12f)); });
  ops::add_loop(t, "triplet", [](read a, read p, read n, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < all; i += side) sum += std::max(0.0f, distance(a + i, p + i) - distance(a + i, n + i) + 1);
    out[0] = sum / side;
  });
  add_mean(t, "multilabel_soft_margin", [](float x, float y) { return y * softplus(-x) + (1 - y) * softplus(x); });
  add_mean(t, "focal", [](float x, float y) {
    const float z = y > 0.5f ? x : -x, rest = logistic(-z);
    return softplus(-z) * rest * rest * (y > 0.5f ? 0.25f : 0.75f);
  });
  add_mean_of_rows(t, "dice", [](read p, read y) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += p[j] + y[j];
    return 1 - (2 * dot(p, y) + 1) / (sum + 1);
  });
  ops::add_loop(t, "info_nce", [](read q, read k, write out) {
    float norms[side], sum = 0;
    for (std::size_t j = 0; j < side; ++j) norms[j] = std::sqrt(dot(k + j * side, k + j * side));
    for (std::size_t i = 0; i < side; ++i) {
      float row[side];
      const float norm = std::sqrt(dot(q + i * side, q + i * side));
      for (std::size_t j = 0; j < side; ++j) row[j] = dot(q + i * side, k + j * side) / (norm * norms[j] * 0.1f);
      sum += log_of_sum(row) - row[i];
    }
    out[0] = sum / side;
  });
  ops::add_loop(t, "normal_kl", [](read m, read s, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = std::log(2 / s[i]) + (s[i] * s[i] + (m[i] - 0.5f) * (m[i] - 0.5f)) / 8 - 0.5f;
  });
}

void pools_and_images(ops::table& t) {
  ops::add_loop(t, "adaptive_avg_pool1d", [](read x, write out) {
    for (std::size_t i = 0; i < side * 16; ++i) out[i] = (x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3]) / 4;
  });
  ops::add_loop(t, "adaptive_max_pool1d", [](read x, write out) {
    for (std::size_t i = 0; i < side * 16; ++i) out[i] = std::max(std::max(x[4 * i], x[4 * i + 1]), std::max(x[4 * i + 2], x[4 * i + 3]));
  });
  // Channel 4 c + 2 p + q at (i, j) is channel c at (2 i + p, 2 j + q).
  ops::add_loop(t, "pixel_shuffle", [](read x, write out) {
    for (std::size_t c = 0; c < 16; ++c)
      for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < 16; ++j) out[(c * 16 + i) * 16 + j] = x[((4 * c + i % 2 * 2 + j % 2) * 8 + i / 2) * 8 + j / 2];
  });
  ops::add_loop(t, "pixel_unshuffle", [](read x, write out) {
    for (std::size_t c = 0; c < 64; ++c)
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) out[(c * 8 + i) * 8 + j] = x[(c / 4 * 16 + 2 * i + c % 4 / 2) * 16 + 2 * j + c % 2];
  });
  ops::add_loop(t, "upsample_nearest", [](read x, write out) {
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t i = 0; i < 32; ++i)
        for (std::size_t j = 0; j < 64; ++j) out[(c * 32 + i) * 64 + j] = x[(c * 16 + i / 2) * 32 + j / 2];
  });
}

}  // namespace

void ops::peers_of_layers(table& t) {
  gates_and_norms(t);
  losses(t);
  pools_and_images(t);
}
