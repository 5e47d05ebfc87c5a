// bench/ops/systems.hpp — rows of values of functions of matrices in float, from ebb's function alone.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "matrices.hpp"
#include "rows.hpp"

#include <ebb/linalg.hpp>

#include <utility>

namespace ops {

/// Operands and results for each matrix of n x n: a number, n of them, a square, n x n / 2 and n / 2.
enum class form { number, vector, square, tall, half };
using enum form;

/// One for each matrix of the batch. The extents 4 are known.
template <form Form, std::size_t N, class T>
auto shaped(T* data, std::size_t n, std::size_t batch) {
  constexpr std::size_t half_of = N == ebb::dyn ? N : N / 2;
  if constexpr (Form == number) return ebb::view<T, ebb::dyn>(data, batch);
  else if constexpr (Form == vector) return of<vectors, N>(data, n, batch);
  else if constexpr (Form == square) return of<matrices, N>(data, n, batch);
  else if constexpr (N != ebb::dyn && Form == tall) return ebb::view<T, ebb::dyn, N, half_of>(data, batch);
  else if constexpr (N != ebb::dyn) return ebb::view<T, ebb::dyn, half_of>(data, batch);
  else if constexpr (Form == tall) return ebb::view<T, ebb::dyn, N, N>(data, batch, n, n / 2);
  else return ebb::view<T, ebb::dyn, N>(data, batch, n / 2);
}

/// The first operand is a, the second b.
template <class F, form Out, form... In>
void by_matrix(const float* a, const float* b, float* out, std::size_t n, std::size_t batch) {
  [[maybe_unused]] static constexpr auto f = ebb::compile(F{});
  with_extent(n, [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    if constexpr (sizeof...(In) == 1) f(ebb::into(shaped<Out, N>(out, n, batch)), shaped<In, N>(a, n, batch)...);
    else [&]<form First, form Second>(std::integer_sequence<form, First, Second>) {
      f(ebb::into(shaped<Out, N>(out, n, batch)), shaped<First, N>(a, n, batch), shaped<Second, N>(b, n, batch));
    }(std::integer_sequence<form, In...>{});
  });
}

class matrix_table {
 public:
  matrix_table(session& s, std::vector<matrix_peer> peers) : s_(s), peers_(std::move(peers)) {}

  /// `most` is the largest n. Without --smoke a batch has 100 matrices of 64 x 64, too.
  void add(const char* name, matrix_kernel<float> f, std::size_t most = 64) const {
    if (!s_.wanted(name)) return;
    for (const std::size_t n : {4u, 16u, 64u})
      for (const std::size_t batch : {1u, 100u})
        if (n <= most && !(s_.smoke && n == 64 && batch > 1)) matrix_rows<float>(s_, peers_, name, f, &matrix_peer::f, n, batch);
  }
  template <form Out, form... In, class F>
  void add(const char* name, F, std::size_t most = 64) const {
    add(name, &by_matrix<F, Out, In...>, most);
  }

 private:
  session& s_;
  std::vector<matrix_peer> peers_;
};

}  // namespace ops
