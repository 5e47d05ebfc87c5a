// bench/ops/indexing.peer.cpp — rows and elements by index, scatters, segments and embeddings by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <algorithm>

namespace {

using ops::place, ops::read, ops::write;

constexpr std::size_t side = 64;

/// Rows of a table with so many columns, and the gradient of the sum of their squares: a row that is taken twice gets both, the row of
/// the padding none.
template <std::size_t Count, std::size_t Columns, int Padding = -1>
void add_rows_of(ops::table& t, const char* name) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < Count; ++i) std::copy_n(x + place(i) * Columns, Columns, out + i * Columns);
  });
  ops::add_slope(t, name, [](read x, write out) {
    std::fill_n(out, side * Columns, 0.0f);
    for (std::size_t i = 0; i < Count; ++i) {
      if (ops::places()[i] == Padding) continue;
      for (std::size_t j = 0; j < Columns; ++j) out[place(i) * Columns + j] += 2 * x[place(i) * Columns + j];
    }
  });
}

template <std::size_t Count, std::size_t Columns>
void add_sums_of(ops::table& t, const char* name) {
  constexpr auto sum = [](read x, write out) {
    std::fill_n(out, side * Columns, 0.0f);
    for (std::size_t i = 0; i < Count; ++i)
      for (std::size_t j = 0; j < Columns; ++j) out[place(i) * Columns + j] += x[i * Columns + j];
  };
  ops::add_loop(t, name, sum);
  ops::add_slope(t, name, [](read x, write out) {
    float sums[side * Columns];
    decltype(sum){}(x, sums);
    for (std::size_t i = 0; i < Count; ++i)
      for (std::size_t j = 0; j < Columns; ++j) out[i * Columns + j] = 2 * sums[place(i) * Columns + j];
  });
}

}  // namespace

void ops::peers_of_indexing(table& t) {
  add_rows_of<64, 64>(t, "take");
  add_rows_of<64, 64, 0>(t, "embedding");
  add_rows_of<512, 8, 0>(t, "embedding <8>");
  add_loop(t, "take_along_axis", [](read x, write out) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + j] = x[i * side + place(i * side + j)];
  });
  add_slope(t, "take_along_axis", [](read x, write out) {
    std::fill_n(out, elements, 0.0f);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + place(i * side + j)] += 2 * x[i * side + place(i * side + j)];
  });
  add_loop(t, "scatter", [](read x, read u, write out) {
    std::copy_n(x, elements, out);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + place(i * side + j)] = u[i * side + j];
  });
  add_loop(t, "scatter_add", [](read x, read u, write out) {
    std::copy_n(x, elements, out);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[i * side + place(i * side + j)] += u[i * side + j];
  });
  add_slope(t, "scatter_add", [](read x, read u, write dx, write du) {
    std::copy_n(x, elements, dx);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) dx[i * side + place(i * side + j)] += u[i * side + j];
    for (std::size_t k = 0; k < elements; ++k) dx[k] *= 2;
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) du[i * side + j] = dx[i * side + place(i * side + j)];
  });
  add_loop(t, "index_add", [](read x, read u, write out) {
    std::copy_n(x, elements, out);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) out[place(i) * side + j] += u[i * side + j];
  });
  add_slope(t, "index_add", [](read x, read u, write dx, write du) {
    std::copy_n(x, elements, dx);
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j) dx[place(i) * side + j] += u[i * side + j];
    for (std::size_t k = 0; k < elements; ++k) dx[k] *= 2;
    for (std::size_t i = 0; i < side; ++i) std::copy_n(dx + place(i) * side, side, du + i * side);
  });
  add_loop(t, "index_copy", [](read x, read u, write out) {
    std::copy_n(x, elements, out);
    for (std::size_t i = 0; i < side; ++i) std::copy_n(u + i * side, side, out + place(i) * side);
  });
  add_sums_of<4096, 1>(t, "segment_sum");
  add_sums_of<512, 8>(t, "segment_sum <8>");
  add_loop(t, "segment_max", [](read x, write out) {
    std::fill_n(out, side, -HUGE_VALF);
    for (std::size_t i = 0; i < elements; ++i) out[place(i)] = larger(out[place(i)], x[i]);
  });
  add_loop(t, "one_hot", [](read, write out) {
    std::fill_n(out, elements, 0.0f);
    for (std::size_t i = 0; i < side; ++i) out[i * side + place(i)] = 1;
  });
}
