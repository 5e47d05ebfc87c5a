// bench/suite/plain.cpp — the rows as plain loops.
// SPDX-License-Identifier: BSL-1.0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // as in the table
#endif

#include "rows.hpp"

#include <cmath>

namespace suite::plain {

template <class T>
T tanh_exp(const T* x, T* dx, std::size_t n) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T t = std::tanh(T(0.7) * x[i] + T(0.1)), e = std::exp(-x[i] * x[i]);
    sum += t * e;
    dx[i] = (1 - t * t) * T(0.7) * e - 2 * x[i] * t * e;
  }
  return sum;
}

template <class T>
T logsumexp(const T* x, T* dx, std::size_t n) {
  T m = x[0], sum = 0;
  for (std::size_t i = 1; i < n; ++i) m = m < x[i] ? x[i] : m;
  for (std::size_t i = 0; i < n; ++i) {
    dx[i] = std::exp(x[i] - m);
    sum += dx[i];
  }
  for (std::size_t i = 0; i < n; ++i) dx[i] /= sum;
  return std::log(sum) + m;
}

template <class T>
T gaussian(T mu, T sigma, const T* x, std::size_t n, T* by_mu, T* by_sigma) {
  T sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T z = (x[i] - mu) / sigma;
    squares += z * z;
    sum += z;
  }
  *by_mu = sum / sigma;
  *by_sigma = (squares - static_cast<T>(n)) / sigma;
  return -squares / 2 - static_cast<T>(n) * std::log(sigma);
}
template <class T>
T gaussian(T mu, T sigma, const T* x, std::size_t n, T* dx) {
  T squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T z = (x[i] - mu) / sigma;
    squares += z * z;
    dx[i] = -z / sigma;
  }
  return -squares / 2 - static_cast<T>(n) * std::log(sigma);
}

template <class T>
T logistic(const T* x, const T* t, const T* w, T b, T* dw, T* db) {
  constexpr int rows = 1000, columns = 50;
  T loss = 0;
  *db = 0;
  for (int j = 0; j < columns; ++j) dw[j] = 0;
  for (int i = 0; i < rows; ++i) {
    T z = b;
    for (int j = 0; j < columns; ++j) z += x[i * columns + j] * w[j];
    const T e = std::exp(z);
    loss += std::log(1 + e) - t[i] * z;
    const T r = (e / (1 + e) - t[i]) / rows;
    for (int j = 0; j < columns; ++j) dw[j] += r * x[i * columns + j];
    *db += r;
  }
  return loss / rows;
}

template <class T>
T mlp(const T* x, const int* label, const T* w1, const T* b1, const T* w2, const T* b2, T* dw1, T* db1, T* dw2, T* db2) {
  constexpr int batch = 32, in = 64, hidden = 128, out = 10;
  static T h[batch][hidden], dh[batch][hidden], z[batch][out];
  T loss = 0;
  for (int i = 0; i < batch; ++i) {
    for (int k = 0; k < hidden; ++k) h[i][k] = b1[k];
    for (int j = 0; j < in; ++j)
      for (int k = 0; k < hidden; ++k) h[i][k] += x[i * in + j] * w1[j * hidden + k];
    for (int k = 0; k < hidden; ++k) h[i][k] = std::tanh(h[i][k]);
    for (int l = 0; l < out; ++l) z[i][l] = b2[l];
    for (int k = 0; k < hidden; ++k)
      for (int l = 0; l < out; ++l) z[i][l] += h[i][k] * w2[k * out + l];
    T m = z[i][0], sum = 0;
    for (int l = 1; l < out; ++l) m = m < z[i][l] ? z[i][l] : m;
    for (int l = 0; l < out; ++l) sum += std::exp(z[i][l] - m);
    loss += std::log(sum) + m - z[i][label[i]];
    for (int l = 0; l < out; ++l) z[i][l] = (std::exp(z[i][l] - m) / sum - T(l == label[i])) / batch;
  }
  for (int i = 0; i < in * hidden; ++i) dw1[i] = 0;
  for (int i = 0; i < hidden; ++i) db1[i] = 0;
  for (int i = 0; i < hidden * out; ++i) dw2[i] = 0;
  for (int i = 0; i < out; ++i) db2[i] = 0;
  for (int i = 0; i < batch; ++i) {
    for (int l = 0; l < out; ++l) db2[l] += z[i][l];
    for (int k = 0; k < hidden; ++k) {
      T g = 0;
      for (int l = 0; l < out; ++l) {
        dw2[k * out + l] += h[i][k] * z[i][l];
        g += w2[k * out + l] * z[i][l];
      }
      dh[i][k] = g * (1 - h[i][k] * h[i][k]);
      db1[k] += dh[i][k];
    }
    for (int j = 0; j < in; ++j)
      for (int k = 0; k < hidden; ++k) dw1[j * hidden + k] += x[i * in + j] * dh[i][k];
  }
  return loss / batch;
}

template <class T>
T product(const T* a, const T* b, T* da, T* db, T* memory, std::size_t n) {
  T *const c = memory, *const g = memory + n * n;
  T sum = 0;
  for (std::size_t i = 0; i < n * n; ++i) c[i] = da[i] = db[i] = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  for (std::size_t i = 0; i < n * n; ++i) {
    sum += c[i];
    g[i] = 1;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < n; ++p) {
      T line = 0;
      for (std::size_t j = 0; j < n; ++j) {
        line += g[i * n + j] * b[p * n + j];
        db[p * n + j] += a[i * n + p] * g[i * n + j];
      }
      da[i * n + p] = line;
    }
  return sum;
}

template <class T>
T cheap(const T* x, const T* w, T* dx, T* dw, std::size_t n) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T a = x[i] * w[i] + x[i], b = w[i] - x[i];
    sum += a * b * w[i];
    dx[i] = (w[i] + 1) * b * w[i] - a * w[i];
    dw[i] = x[i] * b * w[i] + a * w[i] + a * b;
  }
  return sum;
}

double mixed(const float* x, const double* y, float* dx, double* dy, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = x[i], e = std::exp(d * y[i]);
    sum += e * d;
    dx[i] = static_cast<float>(e + d * e * y[i]);
    dy[i] = d * d * e;
  }
  return sum;
}

void twice(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * 2;
}

template float tanh_exp(const float*, float*, std::size_t);
template double tanh_exp(const double*, double*, std::size_t);
template float logsumexp(const float*, float*, std::size_t);
template double logsumexp(const double*, double*, std::size_t);
template float gaussian(float, float, const float*, std::size_t, float*, float*);
template double gaussian(double, double, const double*, std::size_t, double*, double*);
template float gaussian(float, float, const float*, std::size_t, float*);
template double gaussian(double, double, const double*, std::size_t, double*);
template float logistic(const float*, const float*, const float*, float, float*, float*);
template double logistic(const double*, const double*, const double*, double, double*, double*);
template long double logistic(const long double*, const long double*, const long double*, long double, long double*, long double*);
template float mlp(const float*, const int*, const float*, const float*, const float*, const float*, float*, float*, float*, float*);
template double mlp(const double*, const int*, const double*, const double*, const double*, const double*, double*, double*, double*,
                    double*);
template long double mlp(const long double*, const int*, const long double*, const long double*, const long double*, const long double*,
                         long double*, long double*, long double*, long double*);
template float product(const float*, const float*, float*, float*, float*, std::size_t);
template double product(const double*, const double*, double*, double*, double*, std::size_t);
template float cheap(const float*, const float*, float*, float*, std::size_t);
template double cheap(const double*, const double*, double*, double*, std::size_t);

}  // namespace suite::plain
