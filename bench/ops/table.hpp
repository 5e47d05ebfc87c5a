// bench/ops/table.hpp — the list of candidates that are timed, to which all files add theirs: kernels of an op on arrays, by author.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ops {

/// The elements of each operand, in the first caches.
inline constexpr std::size_t elements = 4096;

/// One call: reads the operands, writes a result for the value, or one array for each operand for the gradient of the result's sum.
template <class T>
using kernel = void (*)(const T* const* in, void* const* out, std::size_t n);

struct range {
  double low, high;
};

/// A row, as ebb's file declares it. Operands are uniform in their ranges.
struct op {
  std::string name;
  std::vector<range> operands;
  bool truth = false;  // the result is bool
  kernel<float> value_f = nullptr, gradient_f = nullptr;
  kernel<double> value_d = nullptr, gradient_d = nullptr;
};

/// A kernel to compare with: `who` is plain, mvec, sleef or Eigen.
struct peer {
  std::string name, who;
  bool gradient = false;
  kernel<float> f = nullptr;
  kernel<double> d = nullptr;
};

/// All of them. The files' functions below fill it.
struct table {
  std::vector<op> ops;
  std::vector<peer> peers;
};

void arithmetic(table&);
void rounding(table&);
void exponential(table&);
void logarithmic(table&);
void trigonometric(table&);
void activation(table&);
void shrinking(table&);
void normal(table&);
void bessel(table&);
void gamma(table&);
void incomplete(table&);
void reductions(table&);
void moments(table&);
void normalizations(table&);
void images(table&);
void moves(table&);
void densities(table&);
void order(table&);
void indexing(table&);
void geometry(table&);
void fourier(table&);
void pairs(table&);
void layers(table&);
void networks(table&);
void resampling(table&);
void sliding(table&);
void constructions(table&);
void peers_of_arithmetic(table&);
void peers_of_exponential(table&);
void peers_of_trigonometric(table&);
void peers_of_activation(table&);
void peers_of_special(table&);
void peers_of_densities(table&);
void peers_of_matrices(table&);
void peers_by_eigen(table&);
void peers_of_order(table&);
void peers_of_indexing(table&);
void peers_of_geometry(table&);
void peers_of_fourier(table&);
void peers_of_pairs(table&);
void peers_of_layers(table&);
void peers_of_networks(table&);
void peers_of_resampling(table&);
void peers_of_sliding(table&);
void peers_of_constructions(table&);

}  // namespace ops
