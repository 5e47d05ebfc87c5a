// bench/ops/networks.peer.cpp — layers of networks and their losses by plain loops, with OpenBLAS's products and libmvec's functions.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"
#include "peer.hpp"

#include <vector>

#ifdef OPS_BLAS
#include <cblas.h>
#endif

namespace {

using ops::place, ops::read, ops::write;

constexpr std::size_t side = 64, all = side * side;

/// Elements by libmvec, where it is installed: registers of them. Each file of plain loops has the C library's functions too.
#ifdef OPS_MVEC
using library = ops::mvec;
constexpr const char* who = "mvec";
#else
using library = ops::plain;
constexpr const char* who = "plain";
#endif
using some = ops::num<float, library>;
constexpr std::size_t width = sizeof(some::held) / sizeof(float);
some load(const float* from) {
  some::held r;
  __builtin_memcpy(&r, from, sizeof r);
  return some::of(r);
}
void store(float* to, some x) { __builtin_memcpy(to, &x.v, sizeof x.v); }
some logistic(some x) { return 1.0 / (1.0 + exp(-x)); }
float total(some x) {
  float parts[width], sum = 0;
  store(parts, x);
  for (const float part : parts) sum += part;
  return sum;
}

/// out[m x n] = x[m x k] w[n x k]^T, to which out is added if `more`.
void multiply(const float* x, const float* w, float* out, std::size_t m, std::size_t n, std::size_t k, bool more, float scale = 1) {
#ifdef OPS_BLAS
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, inner, scale, x, inner, w, inner, more ? 1.0f : 0.0f, out, columns);
#else
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += x[i * k + l] * w[j * k + l];
      out[i * n + j] = scale * sum + (more ? out[i * n + j] : 0);
    }
#endif
}
/// out[m x n] = x[m x k] y[k x n].
void multiply_rows(const float* x, const float* y, float* out, std::size_t m, std::size_t n, std::size_t k) {
#ifdef OPS_BLAS
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1, x, inner, y, columns, 0, out, columns);
#else
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = 0;
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += x[i * k + l] * y[l * n + j];
  }
#endif
}
#ifdef OPS_BLAS
constexpr const char* with_products = "BLAS";
#else
constexpr const char* with_products = "plain";
#endif

void cells(ops::table& t) {
  ops::add_loop(t, "linear", [](read x, read w, read b, write out) {
    for (std::size_t i = 0; i < side; ++i) std::copy(b, b + side, out + i * side);
    multiply(x, w, out, side, side, side, true);
  }, with_products);
  ops::add_loop(t, "rnn_cell", [](read x, read h, read w, write out) {
    multiply(x, w, out, side, side, side, false);
    multiply(h, x, out, side, side, side, true);
    for (std::size_t i = 0; i < all; i += width) store(out + i, tanh(load(out + i)));
  }, with_products);
  // 128 rows of 32 numbers, and three or four gates.
  ops::add_loop(t, "gru_cell", [](read x, read h, read w, write out) {
    static std::vector<float> of_x(128 * 96), of_h(128 * 96);
    multiply(x, w, of_x.data(), 128, 96, 32, false);
    multiply(h, x, of_h.data(), 128, 96, 32, false);
    for (std::size_t i = 0; i < 128; ++i)
      for (std::size_t j = 0; j < 32; j += width) {
        const float *const a = of_x.data() + 96 * i + j, *const b = of_h.data() + 96 * i + j;
        const some reset = logistic(load(a) + load(b)), update = logistic(load(a + 32) + load(b + 32));
        const some next = tanh(load(a + 64) + reset * load(b + 64));
        store(out + 32 * i + j, next + update * (load(h + 32 * i + j) - next));
      }
  }, with_products);
  ops::add_loop(t, "lstm_cell", [](read x, read h, read c, write out) {
    static std::vector<float> gates(128 * 128);
    multiply(x, x, gates.data(), 128, 128, 32, false);
    multiply(h, x, gates.data(), 128, 128, 32, true);
    for (std::size_t i = 0; i < 128; ++i)
      for (std::size_t j = 0; j < 32; j += width) {
        const float* const g = gates.data() + 128 * i + j;
        const some next = logistic(load(g + 32)) * load(c + 32 * i + j) + logistic(load(g)) * tanh(load(g + 64));
        store(out + 32 * i + j, logistic(load(g + 96)) * tanh(next) + next);
      }
  }, with_products);
  // 4 heads of 64 rows of 16 numbers.
  ops::add_loop(t, "scaled_dot_product_attention", [](read q, read k, read v, write out) {
    static std::vector<float> scores(all);
    for (std::size_t head = 0; head < 4 * 1024; head += 1024) {
      multiply(q + head, k + head, scores.data(), side, side, 16, false, 0.25f);
      for (std::size_t i = 0; i < all; i += side) {
        float* const row = scores.data() + i;
        const float most = ops::reduced(row, side, ops::larger, ops::itself);
        some sum = some::of(typename some::held{});
        for (std::size_t j = 0; j < side; j += width) {
          const some e = exp(load(row + j) - static_cast<double>(most));
          sum = sum + e;
          store(row + j, e);
        }
        const float share = 1 / total(sum);
        for (std::size_t j = 0; j < side; ++j) row[j] *= share;
      }
      multiply_rows(scores.data(), v + head, out + head, side, 16, side);
    }
  }, with_products);
}

/// Random words by Philox4x32-10, for eight numbers side by side: those of the block i are words[0][i] to words[3][i].
void random_words(std::uint32_t first, std::uint32_t seed, std::uint32_t (&words)[4][8]) {
  std::uint32_t c[4][8], key[2] = {seed, 0};
  for (std::uint32_t i = 0; i < 8; ++i) c[0][i] = first + i, c[1][i] = c[2][i] = c[3][i] = 0;
  for (int turn = 0; turn < 10; ++turn) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0][i], b = std::uint64_t{0xCD9E8D57u} * c[2][i];
      c[0][i] = static_cast<std::uint32_t>(b >> 32) ^ c[1][i] ^ key[0];
      c[2][i] = static_cast<std::uint32_t>(a >> 32) ^ c[3][i] ^ key[1];
      c[1][i] = static_cast<std::uint32_t>(b);
      c[3][i] = static_cast<std::uint32_t>(a);
    }
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t i = 0; i < 8; ++i) words[k][i] = c[k][i];
}

void norms_and_bags(ops::table& t) {
  ops::add_loop(t, "dropout", [](read x, write out) {
    std::uint32_t words[4][8];
    for (std::size_t i = 0; i < all; i += 32) {
      random_words(static_cast<std::uint32_t>(i / 4), 7, words);
      for (std::size_t j = 0; j < 32; ++j) out[i + j] = words[j % 4][j / 4] < 0x40000000u ? 0 : x[i + j] * (4.0f / 3);
    }
  });
  ops::add_loop(t, "embedding_bag", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      float sum[side] = {};
      for (std::size_t k = 0; k < 16; ++k)
        for (std::size_t j = 0; j < side; ++j) sum[j] += x[place(i * 16 + k) * side + j];
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = sum[j] / 16;
    }
  });
  ops::add_loop(t, "batch_norm_by", [](read x, read mean, read variance, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      const float m = mean[i % 8], scale = 1 / std::sqrt(variance[i % 8] + 1e-5f);
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = (x[i * side + j] - m) * scale;
    }
  });
  ops::add_loop(t, "running_statistics", [](read x, read mean, read variance, write out) {
    float sum[side] = {}, squares[side] = {};
    for (std::size_t i = 0; i < all; i += side)
      for (std::size_t j = 0; j < side; ++j) sum[j] += x[i + j];
    for (std::size_t j = 0; j < side; ++j) sum[j] /= side;
    for (std::size_t i = 0; i < all; i += side)
      for (std::size_t j = 0; j < side; ++j) squares[j] += (x[i + j] - sum[j]) * (x[i + j] - sum[j]);
    for (std::size_t j = 0; j < side; ++j) out[j] = 0.9f * (mean[j] + variance[j]) + 0.1f * (sum[j] + squares[j] / (side - 1));
  });
}

/// log(e^a + e^b + e^c), for numbers that are -1e30 if there is no path.
float logarithm_of_sum(float a, float b, float c) {
  const float most = std::max(a, std::max(b, c));
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}
/// The sum of f(register) over a row of 64.
some sum_of(auto f) {
  some sum = f(0u);
  for (std::size_t j = width; j < side; j += width) sum = sum + f(j);
  return sum;
}
/// The logarithms of the Gamma function: SLEEF has them for registers, libmvec has not.
#if defined(OPS_SLEEF) && defined(OPS_MVEC)
some log_gamma(some x) { return some::of(lgamma(ops::num<float, ops::sleef>::of(x.v)).v); }
#else
some log_gamma(some x) {
  float parts[width];
  store(parts, x);
  for (float& part : parts) part = std::lgamma(part);
  return load(parts);
}
#endif

void likelihoods(ops::table& t) {
  // 16 steps, 8 texts, 32 classes, of which 0 is the blank; 6 labels for each text, so 13 places with the blanks between them.
  ops::add_loop(t, "ctc", [](read p, write out) {
    constexpr std::size_t places = 13;
    for (std::size_t text = 0; text < 8; ++text) {
      std::size_t of[places];
      bool skips[places];
      for (std::size_t j = 0; j < places; ++j) {
        of[j] = j % 2 ? static_cast<std::size_t>(ops::labels()[text * 6 + j / 2]) : 0;
        skips[j] = j % 2 && j > 1 && of[j] != of[j - 2];
      }
      float paths[places + 2];  // two without a path are before the first one
      std::fill(paths, paths + places + 2, -1e30f);
      paths[2] = p[text * 32], paths[3] = p[text * 32 + of[1]];
      for (std::size_t step = 1; step < 16; ++step) {
        const float* const now = p + (step * 8 + text) * 32;
        for (std::size_t j = places; j-- > 0;) {
          const float skipped = skips[j] ? paths[j] : -1e30f;
          paths[j + 2] = now[of[j]] + logarithm_of_sum(paths[j + 2], paths[j + 1], skipped);
        }
      }
      out[text] = -logarithm_of_sum(paths[places + 1], paths[places], -1e30f);
    }
  });
  ops::add_loop(t, "categorical_lpmf", [](read p, write out) {
    for (std::size_t i = 0; i < side; ++i) out[i] = std::log(p[i * side + place(i)]);
  });
  ops::add_loop(t, "categorical_logit_lpmf", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      const float* const row = x + i * side;
      const float most = ops::reduced(row, side, ops::larger, ops::itself);
      const some sum = sum_of([&](std::size_t j) { return exp(load(row + j) - static_cast<double>(most)); });
      out[i] = row[place(i)] - most - std::log(total(sum));
    }
  }, who);
  ops::add_loop(t, "dirichlet_lpdf", [](read x, read alpha, write out) {
    for (std::size_t i = 0; i < side; ++i) {
      const auto a = [&](std::size_t j) { return load(alpha + i * side + j); };
      const some sum = sum_of([&](std::size_t j) { return (a(j) - 1.0) * log(load(x + i * side + j)) - log_gamma(a(j)); });
      out[i] = std::lgamma(total(sum_of(a))) + total(sum);
    }
  }, who);
  ops::add_loop(t, "multinomial_lpmf", [](read counts, read p, write out) {
    for (std::size_t i = 0; i < all; i += side) {
      float whole[side], n = 0;
      for (std::size_t j = 0; j < side; ++j) n += whole[j] = std::floor(counts[i + j]);
      const some sum = sum_of([&](std::size_t j) { return load(whole + j) * log(load(p + i + j)) - log_gamma(load(whole + j) + 1.0); });
      out[i / side] = std::lgamma(n + 1) + total(sum);
    }
  }, who);
}

}  // namespace

void ops::peers_of_networks(table& t) {
  cells(t);
  norms_and_bags(t);
  likelihoods(t);
}
