// ebb/op/strided_product.hpp — products of matrices that lie in other arrays: see [note: operands of products].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/contract.hpp"
#include "../tensor/nest.hpp"
#include "../tensor/strided.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI::detail {

/// The elements of the sum of a batch of products along the axes `summed`.
constexpr std::size_t volume_of_sum(const extent_list& products, part summed) {
  return products.volume(0, summed.first) * products.volume(summed.first + summed.count, products.rank);
}
/// Has the call sum its batch along these axes, if there are any. The result then has the strides `along`: 0 along these axes.
constexpr void sum_batch(auto& call, part summed, std::ptrdiff_t* along, const std::ptrdiff_t*& strides) {
  if (summed.count == 0) return;
  extent_list x = call.result;
  for (int a = summed.first; a < summed.first + summed.count; ++a) x.e[a] = 1;
  row_major_strides(x, along);
  for (int a = summed.first; a < summed.first + summed.count; ++a) along[a] = 0;
  call.summed = summed;
  strides = along;
}

/// The matrices of a product, also of one whose operands or result lie in other arrays: p gets their strides. Batches that follow one
/// another with one stride run as one.
class strided_product {
 public:
  strided_product(const auto& c, kernel::product& p) {
    if (c.strides) find_strides(c, p);
  }
  /// f(offsets) for each run of matrices: the elements before the first one, of operands and result.
  void each(auto&& f) const {
    std::ptrdiff_t at[max_rank] = {}, offset[3] = {};
    for (;;) {
      f(offset);
      int axis = 1;
      for (; axis < axes_; ++axis) {
        for (int j = 0; j < 3; ++j) offset[j] += stride_[axis][j];
        if (++at[axis] < count_[axis]) break;
        for (int j = 0; j < 3; ++j) offset[j] -= stride_[axis][j] * count_[axis];
        at[axis] = 0;
      }
      if (axis >= axes_) return;
    }
  }

 private:
  void find_strides(const auto& c, kernel::product& p) {
    const extent_list* const lists[] = {&c.shapes[0], &c.shapes[1], &c.result};
    std::ptrdiff_t own[3][max_rank] = {};
    const std::ptrdiff_t* along[3];
    for (int j = 0; j < 3; ++j) {
      row_major_strides(*lists[j], own[j]);
      along[j] = c.strides[j] ? c.strides[j] : own[j];
    }
    const int last = c.result.rank - 1;
    const auto place = [&](int j, std::ptrdiff_t& ld, bool& transposed) {
      const auto rows = static_cast<std::ptrdiff_t>(lists[j]->e[last - 1]), columns = static_cast<std::ptrdiff_t>(lists[j]->e[last]);
      const bool turned = columns != 1 && along[j][last] != 1 && along[j][last - 1] <= 1;  // its columns are rows in memory
      if (turned) transposed = !transposed;
      ld = turned ? (columns > 1 ? along[j][last] : rows) : (rows > 1 ? along[j][last - 1] : columns);
    };
    bool no = false;
    place(0, p.lda, p.transpose_a);
    place(1, p.ldb, p.transpose_b);
    place(2, p.ldc, no);
    for (int axis = last - 2; axis >= 0; --axis) {
      const auto count = static_cast<std::ptrdiff_t>(c.result.e[axis]);
      if (count == 1) continue;
      const auto follows = [&](int j) { return along[j][axis] == stride_[axes_ - 1][j] * count_[axes_ - 1]; };
      if (axes_ > 0 && follows(0) && follows(1) && follows(2)) {
        count_[axes_ - 1] *= count;
        continue;
      }
      count_[axes_] = count;
      for (int j = 0; j < 3; ++j) stride_[axes_][j] = along[j][axis];
      ++axes_;
    }
    const auto stride = [&](int j) { return axes_ > 0 ? stride_[0][j] : 0; };
    p.batch = axes_ > 0 ? count_[0] : 1;
    p.stride_a = stride(0);
    p.stride_b = stride(1);
    p.stride_c = stride(2);
  }

  int axes_ = 0;
  std::ptrdiff_t count_[max_rank], stride_[max_rank][3];  // of `axes_` axes
};

}  // namespace ebb::inline EBB_ABI::detail
