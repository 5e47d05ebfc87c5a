// bench/ops/pairs.peer.cpp — integrals, products, distances and statistics of rows, masks, segments, and moves by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <algorithm>
#include <limits>

namespace {

using ops::place, ops::read, ops::write;

constexpr std::size_t side = 64, all = side * side;

/// One number for each row, of the row.
template <class F>
void add_rows(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) out[i] = F{}(x + i * side);
  });
}
template <class F>
void add_pairs(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i) out[i] = F{}(x + i * side, y + i * side);
  });
}
/// A number for each pair of rows of 16.
template <class F>
void add_all_pairs(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = F{}(x + i * 16, y + j * 16);
  });
}
/// Element (i, j) of a matrix.
template <class F>
void add_elements(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = F{}(x, i, j);
  });
}
/// Element (i, j, k) of 16 x 16 x 16.
template <class F>
void add_cube(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 16; ++j)
        for (std::size_t k = 0; k < 16; ++k) out[(i * 16 + j) * 16 + k] = F{}(x, i, j, k);
  });
}

float mean_of(read x) {
  float sum = 0;
  for (std::size_t j = 0; j < side; ++j) sum += x[j];
  return sum / side;
}
/// The moment of an order divided by that power of the standard deviation.
template <int Order>
float standardized(read x) {
  const float mean = mean_of(x);
  float second = 0, sum = 0;
  for (std::size_t j = 0; j < side; ++j) {
    const float d = x[j] - mean;
    second += d * d;
    sum += Order == 3 ? d * d * d : d * d * d * d;
  }
  second /= side;
  return sum / side / (Order == 3 ? second * std::sqrt(second) : second * second);
}
void covariances(read x, write out) {
  float centred[all];
  for (std::size_t i = 0; i < side; ++i) {
    const float mean = mean_of(x + i * side);
    for (std::size_t j = 0; j < side; ++j) centred[j * side + i] = x[i * side + j] - mean;
  }
  std::fill_n(out, all, 0.0f);
  for (std::size_t k = 0; k < side; ++k)
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] += centred[k * side + i] * centred[k * side + j] / (side - 1);
}

constexpr float infinite = std::numeric_limits<float>::infinity();

void statistics(ops::table& t) {
  ops::add_loop(t, "diff", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j + 1 < side; ++j) out[i * 63 + j] = x[i * side + j + 1] - x[i * side + j];
  });
  add_rows(t, "trapezoid", [](read x) {
    float sum = 0;
    for (std::size_t j = 0; j + 1 < side; ++j) sum += (x[j] + x[j + 1]) / 2;
    return sum;
  });
  ops::add_loop(t, "cumulative_trapezoid", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      float sum = 0;
      for (std::size_t j = 0; j + 1 < side; ++j) out[i * 63 + j] = sum += (x[i * side + j] + x[i * side + j + 1]) / 2;
    }
  });
  ops::add_loop(t, "simpson", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      float sum = 0;
      for (std::size_t j = 0; j + 2 < 63; j += 2) sum += x[i * 63 + j] + 4 * x[i * 63 + j + 1] + x[i * 63 + j + 2];
      out[i] = sum / 3;
    }
  });
  add_rows(t, "norm_squared", [](read x) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += x[j] * x[j];
    return sum;
  });
  add_rows(t, "log_mean_exp", [](read x) {
    const float most = *std::max_element(x, x + side);
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += std::exp(x[j] - most);
    return most + std::log(sum / side);
  });
  add_pairs(t, "weighted_mean", [](read x, read w) {
    float sum = 0, weights = 0;
    for (std::size_t j = 0; j < side; ++j) sum += w[j] * x[j], weights += w[j];
    return sum / weights;
  });
  add_rows(t, "skew", [](read x) { return standardized<3>(x); });
  add_rows(t, "kurtosis", [](read x) { return standardized<4>(x) - 3; });
  ops::add_loop(t, "cov", [](read x, write out) { covariances(x, out); });
  ops::add_loop(t, "corrcoef", [](read x, write out) {
    covariances(x, out);
    float deviation[side];
    for (std::size_t i = 0; i < side; ++i) deviation[i] = std::sqrt(out[i * side + i]);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] /= deviation[i] * deviation[j];
  });
  ops::add_loop(t, "softmin", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += side) {
      const float least = *std::min_element(x + i, x + i + side);
      float sum = 0;
      for (std::size_t j = i; j < i + side; ++j) sum += out[j] = std::exp(least - x[j]);
      for (std::size_t j = i; j < i + side; ++j) out[j] /= sum;
    }
  });
  ops::add_loop(t, "linear_scan", [](read a, read b, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = i % side == 0 ? b[i] : a[i] * out[i - 1] + b[i];
  });
}

void products(ops::table& t) {
  ops::add_loop(t, "dot", [](read x, read y, write out) {
    float sum = 0;
    for (std::size_t i = 0; i < all; ++i) sum += x[i] * y[i];
    out[0] = sum;
  });
  add_pairs(t, "vecdot", [](read x, read y) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += x[j] * y[j];
    return sum;
  });
  ops::add_loop(t, "outer", [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = x[i] * y[j];
  });
  ops::add_loop(t, "kron", [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = x[i / 8 * 8 + j / 8] * y[i % 8 * 8 + j % 8];
  });
  ops::add_loop(t, "matmul 3 x 3 by 3", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 448; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const float* const row = x + i * 9 + j * 3;
        out[i * 3 + j] = row[0] * y[i * 3] + row[1] * y[i * 3 + 1] + row[2] * y[i * 3 + 2];
      }
  });
  ops::add_loop(t, "matmul 3 x 3", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 448; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 3; ++k) {
          const float *const row = x + i * 9 + j * 3, *const column = y + i * 9 + k;
          out[i * 9 + j * 3 + k] = row[0] * column[0] + row[1] * column[3] + row[2] * column[6];
        }
  });
  ops::add_loop(t, "matmul rows of 3", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 1344; ++i)
      for (std::size_t k = 0; k < 3; ++k) out[i * 3 + k] = x[i * 3] * y[k] + x[i * 3 + 1] * y[3 + k] + x[i * 3 + 2] * y[6 + k];
  });
  ops::add_loop(t, "cross", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 3 * 512; i += 3) {
      out[i] = x[i + 1] * y[i + 2] - x[i + 2] * y[i + 1];
      out[i + 1] = x[i + 2] * y[i] - x[i] * y[i + 2];
      out[i + 2] = x[i] * y[i + 1] - x[i + 1] * y[i];
    }
  });
  add_all_pairs(t, "inner", [](read x, read y) {
    float sum = 0;
    for (std::size_t k = 0; k < 16; ++k) sum += x[k] * y[k];
    return sum;
  });
  add_all_pairs(t, "cdist", [](read x, read y) {
    float sum = 0;
    for (std::size_t k = 0; k < 16; ++k) sum += (x[k] - y[k]) * (x[k] - y[k]);
    return std::sqrt(sum);
  });
  add_pairs(t, "pairwise_distance", [](read x, read y) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) {
      const float d = x[j] - y[j] + 1e-6f;
      sum += d * d;
    }
    return std::sqrt(sum);
  });
  add_pairs(t, "cosine_similarity", [](read x, read y) {
    float sum = 0, first = 0, second = 0;
    for (std::size_t j = 0; j < side; ++j) sum += x[j] * y[j], first += x[j] * x[j], second += y[j] * y[j];
    return sum / std::max(1e-8f, std::sqrt(first)) / std::max(1e-8f, std::sqrt(second));
  });
  ops::add_loop(t, "normalize", [](read x, write out) {
    for (std::size_t i = 0; i < all; i += side) {
      float sum = 0;
      for (std::size_t j = i; j < i + side; ++j) sum += x[j] * x[j];
      const float norm = std::max(1e-12f, std::sqrt(sum));
      for (std::size_t j = i; j < i + side; ++j) out[j] = x[j] / norm;
    }
  });
}

void masks_and_segments(ops::table& t) {
  add_pairs(t, "masked_sum", [](read x, read y) {
    float sum = 0;
    for (std::size_t j = 0; j < side; ++j) sum += y[j] > 0 ? x[j] : 0;
    return sum;
  });
  add_pairs(t, "masked_mean", [](read x, read y) {
    float sum = 0, count = 0;
    for (std::size_t j = 0; j < side; ++j) sum += y[j] > 0 ? x[j] : 0, count += y[j] > 0 ? 1.0f : 0.0f;
    return sum / count;
  });
  add_pairs(t, "masked_max", [](read x, read y) {
    float most = -infinite;
    for (std::size_t j = 0; j < side; ++j) most = y[j] > 0 && x[j] > most ? x[j] : most;
    return most;
  });
  add_pairs(t, "masked_min", [](read x, read y) {
    float least = infinite;
    for (std::size_t j = 0; j < side; ++j) least = y[j] > 0 && x[j] < least ? x[j] : least;
    return least;
  });
  ops::add_loop(t, "masked_fill", [](read x, read y, write out) {
    for (std::size_t i = 0; i < all; ++i) out[i] = y[i] > 0 ? 0.5f : x[i];
  });
  ops::add_loop(t, "segment_mean", [](read x, write out) {
    float count[side] = {};
    std::fill_n(out, side, 0.0f);
    for (std::size_t i = 0; i < all; ++i) out[place(i)] += x[i], ++count[place(i)];
    for (std::size_t k = 0; k < side; ++k) out[k] /= count[k];
  });
  ops::add_loop(t, "segment_min", [](read x, write out) {
    std::fill_n(out, side, infinite);
    for (std::size_t i = 0; i < all; ++i) out[place(i)] = std::min(out[place(i)], x[i]);
  });
  ops::add_loop(t, "segment_softmax", [](read x, write out) {
    float most[side], sum[side] = {};
    std::fill_n(most, side, -infinite);
    for (std::size_t i = 0; i < all; ++i) most[place(i)] = std::max(most[place(i)], x[i]);
    for (std::size_t i = 0; i < all; ++i) sum[place(i)] += out[i] = std::exp(x[i] - most[place(i)]);
    for (std::size_t i = 0; i < all; ++i) out[i] /= sum[place(i)];
  });
  ops::add_loop(t, "index_fill", [](read x, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < side; ++i) std::fill_n(out + place(i) * side, side, 0.5f);
  });
  ops::add_loop(t, "index_put", [](read x, read u, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < side; ++i) std::copy_n(u + i * side, side, out + place(i) * side);
  });
  ops::add_loop(t, "index_put_add", [](read x, read u, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[place(i) * side + j] += u[i * side + j];
  });
  ops::add_loop(t, "scatter_reduce", [](read x, read u, write out) {
    std::copy_n(x, all, out);
    for (std::size_t i = 0; i < all; ++i) {
      float& to = out[i / side * side + place(i)];
      to = std::max(to, u[i]);
    }
  });
}

void moves_of_elements(ops::table& t) {
  add_elements(t, "tril", [](read x, std::size_t i, std::size_t j) { return j > i ? 0 : x[i * side + j]; });
  add_elements(t, "triu", [](read x, std::size_t i, std::size_t j) { return j > i ? x[i * side + j] : 0; });
  ops::add_loop(t, "trace", [](read x, write out) {
    for (std::size_t i = 0; i < 16; ++i) {
      out[i] = 0;
      for (std::size_t j = 0; j < 16; ++j) out[i] += x[i * 256 + j * 17];
    }
  });
  ops::add_loop(t, "diagonal", [](read x, write out) {
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 16; ++j) out[i * 16 + j] = x[i * 256 + j * 17];
  });
  ops::add_loop(t, "diag_embed", [](read x, write out) {
    std::fill_n(out, all, 0.0f);
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t j = 0; j < 8; ++j) out[i * 64 + j * 9] = x[i * 8 + j];
  });
  ops::add_loop(t, "tile", [](read x, write out) {
    std::copy_n(x, all, out);
    std::copy_n(x, all, out + all);
  });
  add_elements(t, "rot90", [](read x, std::size_t i, std::size_t j) { return x[j * side + side - 1 - i]; });
  add_cube(t, "swap_axes", [](read x, std::size_t i, std::size_t j, std::size_t k) { return x[(k * 16 + j) * 16 + i]; });
  add_cube(t, "movedim", [](read x, std::size_t i, std::size_t j, std::size_t k) { return x[(k * 16 + i) * 16 + j]; });
  add_cube(t, "permute", [](read x, std::size_t i, std::size_t j, std::size_t k) { return x[(j * 16 + i) * 16 + k]; });
  ops::add_loop(t, "stack", [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      std::copy_n(x + i * side, side, out + 2 * i * side);
      std::copy_n(y + i * side, side, out + (2 * i + 1) * side);
    }
  });
  ops::add_loop(t, "stack of computed columns", [](read x, read y, write out) {
    for (std::size_t i = 0; i < 2048; ++i) {
      out[2 * i] = x[i] + y[i];
      out[2 * i + 1] = x[i] * y[i];
    }
  });
  ops::add_loop(t, "relu of a padded matrix", [](read x, write out) {
    constexpr std::size_t wide = side + 2;
    std::fill_n(out, wide, 0.f);
    std::fill_n(out + (side + 1) * wide, wide, 0.f);
    for (std::size_t i = 0; i < side; ++i) {
      float* const row = out + (i + 1) * wide;
      row[0] = row[side + 1] = 0;
      for (std::size_t j = 0; j < side; ++j) row[j + 1] = x[i * side + j] > 0 ? x[i * side + j] : 0;
    }
  });
  ops::add_loop(t, "sum with its transpose", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = x[i * side + j] + x[j * side + i];
  });
  ops::add_loop(t, "unfold", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t w = 0; w < 15; ++w) std::copy_n(x + i * side + 4 * w, 8, out + (i * 15 + w) * 8);
  });
  ops::add_loop(t, "toeplitz", [](read x, read y, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = i >= j ? x[i - j] : y[j - i];
  });
  ops::add_loop(t, "vander", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      float power = 1;
      for (std::size_t j = 0; j < side; ++j, power *= x[i]) out[i * side + j] = power;
    }
  });
}

}  // namespace

void ops::peers_of_pairs(table& t) {
  statistics(t);
  products(t);
  masks_and_segments(t);
  moves_of_elements(t);
}
