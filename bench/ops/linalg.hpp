// bench/ops/linalg.hpp — peers of products, solutions and factors, and of convolutions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ops {

/// `batch` matrices a and b of n x n, or vectors b, row by row. a is symmetric and positive definite: its rows are its columns.
template <class T>
using matrix_kernel = void (*)(const T* a, const T* b, T* out, std::size_t n, std::size_t batch);

struct matrix_peer {
  std::string name, who;
  matrix_kernel<float> f;
  matrix_kernel<double> d;
};
std::vector<matrix_peer> peers_of_linalg();
std::vector<matrix_peer> peers_of_systems();
std::vector<matrix_peer> peers_of_spectra();

/// A function of one or two matrices of n x n, of which it writes up to three results.
struct factor_row {
  std::string name;
  std::vector<std::size_t> sizes;
  bool values_only;
  matrix_kernel<float> f;
  matrix_kernel<double> d;
};
/// The same functions with the target ebb::lapack; none if LAPACK is not installed.
std::vector<factor_row> factors_by_lapack();

/// A convolution of `batch` images of `channels` planes with 3 x 3 taps, padded by 1: its call is `run`.
struct image_size {
  std::size_t batch, channels, filters, side;
};
class convolution_peer {
 public:
  convolution_peer(const image_size&, const float* x, const float* w, float* y);
  ~convolution_peer();
  convolution_peer(const convolution_peer&) = delete;
  convolution_peer& operator=(const convolution_peer&) = delete;
  static bool exists();
  void run();

 private:
  struct parts;
  parts* parts_;
};

}  // namespace ops
