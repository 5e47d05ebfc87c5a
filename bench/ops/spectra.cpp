// bench/ops/spectra.cpp — eigenvalues, singular values and functions of them, and least squares by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "systems.hpp"

void ops::spectra(session& s) {
  const matrix_table rows(s, peers_of_spectra());
  rows.add<vector, square>("eigvalsh", [](auto a) { return ebb::eigvalsh(a); });
  rows.add<square, square>("matrix_sqrt", [](auto a) { return ebb::matrix_sqrt(a); });
  rows.add<vector, square>("svdvals", [](auto a) { return ebb::svdvals(a); });
  rows.add<number, square>("condition_number", [](auto a) { return ebb::condition_number(a); });
  rows.add<number, square>("matrix_rank", [](auto a) { return ebb::cast<float>(ebb::matrix_rank(a)); });
  rows.add<square, square>("pinv", [](auto a) { return ebb::pinv(a); });
  rows.add<square, square, square>("matrix_exp", [](auto, auto b) { return ebb::matrix_exp(b); });
  rows.add<half, tall, vector>("lstsq", [](auto a, auto b) { return ebb::lstsq(a, b); });
}
