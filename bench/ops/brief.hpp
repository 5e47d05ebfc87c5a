// bench/ops/brief.hpp — rows of values of floats only: many functions in little time of the compiler.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "by_ebb.hpp"
#include "matrix.hpp"

namespace ops {

/// A row of an elementwise function.
template <int Arity = 1, class F>
void add_brief(table& t, const char* name, range first, F, range second = {0, 0}) {
  op o{name, {first}, false, nullptr, nullptr, nullptr, nullptr};
  if (Arity > 1) o.operands.push_back(second);
  o.value_f = [](const float* const* in, void* const* out, std::size_t n) {
    by_ebb<F>::template value<float, float>(in, out, n, std::make_index_sequence<Arity>{});
  };
  t.ops.push_back(o);
}

/// A row of a function of a matrix of 64 x 64: Rank and Rows say what the result is, as for add_matrix.
template <int Rank, std::size_t Rows = rows_of_matrix, class F>
void add_brief_matrix(table& t, const char* name, range first, F) {
  t.ops.push_back({name, {first}, false, &on_matrix<Rank, Rows, F>::template value<float>, nullptr, nullptr, nullptr});
}

}  // namespace ops
