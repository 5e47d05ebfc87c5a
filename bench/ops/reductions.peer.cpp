// bench/ops/reductions.peer.cpp — functions of a matrix by plain loops, and by Eigen where it has them.
// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#include <algorithm>
#include <cmath>

#ifdef OPS_EIGEN
#include <Eigen/Core>
#endif

namespace {

constexpr std::size_t rows = 64;

/// A function of rows: F(x, out, columns) for each of them; Step results a row.
template <class T, class F>
[[gnu::noinline]] void each_row(const T* const* in, void* const* out, std::size_t n) {
  const std::size_t columns = n / rows;
  for (std::size_t i = 0; i < rows; ++i) F{}(in[0] + i * columns, static_cast<T*>(out[0]), i, columns);
}
template <class T, class F>
[[gnu::noinline]] void whole(const T* const* in, void* const* out, std::size_t n) {
  F{}(in[0], static_cast<T*>(out[0]), n);
}
template <class F>
void by_rows(ops::table& t, const char* name, F) {
  t.peers.push_back({name, "plain", false, &each_row<float, F>, &each_row<double, F>});
}
template <class F>
void at_once(ops::table& t, const char* name, F, const char* who = "plain") {
  t.peers.push_back({name, who, false, &whole<float, F>, &whole<double, F>});
}
template <class T>
T sum(const T* x, std::size_t n) {
  T s = 0;
  for (std::size_t j = 0; j < n; ++j) s += x[j];
  return s;
}
template <class T>
T variance(const T* x, std::size_t n) {
  const T mean = sum(x, n) / static_cast<T>(n);
  T s = 0;
  for (std::size_t j = 0; j < n; ++j) s += (x[j] - mean) * (x[j] - mean);
  return s / static_cast<T>(n - 1);
}
template <class T>
T sum_of_squares(const T* x, std::size_t n) {
  T s = 0;
  for (std::size_t j = 0; j < n; ++j) s += x[j] * x[j];
  return s;
}
template <class T>
T sum_of_exp(const T* x, T top, std::size_t n) {
  T s = 0;
  for (std::size_t j = 0; j < n; ++j) s += std::exp(x[j] - top);
  return s;
}

}  // namespace

void ops::peers_of_matrices(table& t) {
  at_once(t, "sum", [](auto x, auto out, std::size_t n) { *out = sum(x, n); });
  at_once(t, "mean", [](auto x, auto out, std::size_t n) { *out = sum(x, n) / static_cast<std::remove_pointer_t<decltype(out)>>(n); });
  at_once(t, "max", [](auto x, auto out, std::size_t n) { *out = *std::max_element(x, x + n); });
  at_once(t, "norm", [](auto x, auto out, std::size_t n) { *out = std::sqrt(sum_of_squares(x, n)); });
  at_once(t, "sum<0>", [](auto x, auto out, std::size_t n) {
    std::fill(out, out + n / rows, 0);
    for (std::size_t i = 0; i < n; i += n / rows)
      for (std::size_t j = 0; j < n / rows; ++j) out[j] += x[i + j];
  });
  at_once(t, "min<0>", [](auto x, auto out, std::size_t n) {
    std::copy(x, x + n / rows, out);
    for (std::size_t i = 0; i < n; i += n / rows)
      for (std::size_t j = 0; j < n / rows; ++j) out[j] = x[i + j] < out[j] ? x[i + j] : out[j];
  });
  by_rows(t, "sum<1>", [](auto x, auto out, std::size_t i, std::size_t n) { out[i] = sum(x, n); });
  by_rows(t, "prod<1>", [](auto x, auto out, std::size_t i, std::size_t n) {
    out[i] = 1;
    auto r = out[i];
    for (std::size_t j = 0; j < n; ++j) r *= x[j];
    out[i] = r;
  });
  by_rows(t, "max<1>", [](auto x, auto out, std::size_t i, std::size_t n) { out[i] = *std::max_element(x, x + n); });
  by_rows(t, "norm<1>", [](auto x, auto out, std::size_t i, std::size_t n) { out[i] = std::sqrt(sum_of_squares(x, n)); });
  by_rows(t, "var<1>", [](auto x, auto out, std::size_t i, std::size_t n) { out[i] = variance(x, n); });
  by_rows(t, "stddev<1>", [](auto x, auto out, std::size_t i, std::size_t n) { out[i] = std::sqrt(variance(x, n)); });
  by_rows(t, "logsumexp<1>", [](auto x, auto out, std::size_t i, std::size_t n) {
    const auto top = *std::max_element(x, x + n);
    out[i] = top + std::log(sum_of_exp(x, top, n));
  });
  by_rows(t, "softmax", [](auto x, auto out, std::size_t i, std::size_t n) {
    const auto top = *std::max_element(x, x + n), scale = 1 / sum_of_exp(x, top, n);
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = std::exp(x[j] - top) * scale;
  });
  by_rows(t, "log_softmax", [](auto x, auto out, std::size_t i, std::size_t n) {
    const auto top = *std::max_element(x, x + n), shift = top + std::log(sum_of_exp(x, top, n));
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = x[j] - shift;
  });
  by_rows(t, "layer_norm", [](auto x, auto out, std::size_t i, std::size_t n) {
    using T = std::remove_pointer_t<decltype(out)>;
    const T m = static_cast<T>(n), mean = sum(x, n) / m, scale = 1 / std::sqrt(variance(x, n) * (m - 1) / m + T(1e-5));
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = (x[j] - mean) * scale;
  });
  by_rows(t, "cumsum", [](auto x, auto out, std::size_t i, std::size_t n) {
    out[i * n] = x[0];
    for (std::size_t j = 1; j < n; ++j) out[i * n + j] = out[i * n + j - 1] + x[j];
  });
  by_rows(t, "cumprod", [](auto x, auto out, std::size_t i, std::size_t n) {
    out[i * n] = x[0];
    for (std::size_t j = 1; j < n; ++j) out[i * n + j] = out[i * n + j - 1] * x[j];
  });

  at_once(t, "transpose", [](auto x, auto out, std::size_t n) {
    const std::size_t columns = n / rows;
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t i = 0; i < rows; ++i) out[j * rows + i] = x[i * columns + j];
  });
  by_rows(t, "slice<0>", [](auto x, auto out, std::size_t i, std::size_t n) {
    if (i % 2 == 0) std::copy(x, x + n, out + i / 2 * n);
  });
  by_rows(t, "flip<0>", [](auto x, auto out, std::size_t i, std::size_t n) { std::copy(x, x + n, out + (rows - 1 - i) * n); });
  by_rows(t, "flip<1>", [](auto x, auto out, std::size_t i, std::size_t n) { std::reverse_copy(x, x + n, out + i * n); });
  by_rows(t, "roll<0>", [](auto x, auto out, std::size_t i, std::size_t n) { std::copy(x, x + n, out + (i + 5) % rows * n); });
  at_once(t, "concat<0>", [](auto x, auto out, std::size_t n) { std::copy(x, x + n, std::copy(x, x + n, out)); });
  by_rows(t, "repeat_interleave<0, 2>",
          [](auto x, auto out, std::size_t i, std::size_t n) { std::copy(x, x + n, std::copy(x, x + n, out + 2 * i * n)); });
  at_once(t, "pad<0, 1, 1>", [](auto x, auto out, std::size_t n) {
    const std::size_t columns = n / rows;
    std::fill(out, out + columns, 0);
    std::fill(out + columns + n, out + 2 * columns + n, 0);
    std::copy(x, x + n, out + columns);
  });

#ifdef OPS_EIGEN
  const auto matrix = [](auto x, std::size_t n) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(x)>>;
    using held = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(x)>>, const held, held>>(
        x, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(n / rows));
  };
  const auto vector = [](auto x, std::size_t n) {
    using T = std::remove_pointer_t<decltype(x)>;
    return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(x, static_cast<Eigen::Index>(n));
  };
  using m = decltype(matrix);
  using v = decltype(vector);
  at_once(t, "sum", [](auto x, auto out, std::size_t n) { *out = m{}(x, n).sum(); }, "Eigen");
  at_once(t, "mean", [](auto x, auto out, std::size_t n) { *out = m{}(x, n).mean(); }, "Eigen");
  at_once(t, "max", [](auto x, auto out, std::size_t n) { *out = m{}(x, n).maxCoeff(); }, "Eigen");
  at_once(t, "norm", [](auto x, auto out, std::size_t n) { *out = m{}(x, n).matrix().norm(); }, "Eigen");
  at_once(t, "sum<0>", [](auto x, auto out, std::size_t n) { v{}(out, n / rows) = m{}(x, n).colwise().sum().transpose(); }, "Eigen");
  at_once(t, "min<0>", [](auto x, auto out, std::size_t n) { v{}(out, n / rows) = m{}(x, n).colwise().minCoeff().transpose(); }, "Eigen");
  at_once(t, "sum<1>", [](auto x, auto out, std::size_t n) { v{}(out, rows) = m{}(x, n).rowwise().sum(); }, "Eigen");
  at_once(t, "prod<1>", [](auto x, auto out, std::size_t n) { v{}(out, rows) = m{}(x, n).rowwise().prod(); }, "Eigen");
  at_once(t, "max<1>", [](auto x, auto out, std::size_t n) { v{}(out, rows) = m{}(x, n).rowwise().maxCoeff(); }, "Eigen");
  at_once(t, "norm<1>", [](auto x, auto out, std::size_t n) { v{}(out, rows) = m{}(x, n).square().rowwise().sum().sqrt(); }, "Eigen");
  at_once(t, "softmax", [](auto x, auto out, std::size_t n) {
    auto to = m{}(out, n);
    const auto from = m{}(x, n);
    for (Eigen::Index i = 0; i < from.rows(); ++i) {
      to.row(i) = (from.row(i) - from.row(i).maxCoeff()).exp();
      to.row(i) *= 1 / to.row(i).sum();
    }
  }, "Eigen");
  at_once(t, "transpose", [](auto x, auto out, std::size_t n) { m{}(out, n) = m{}(x, n).transpose(); }, "Eigen");
  at_once(t, "flip<1>", [](auto x, auto out, std::size_t n) { m{}(out, n) = m{}(x, n).rowwise().reverse(); }, "Eigen");
#endif
}
