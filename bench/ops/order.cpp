// bench/ops/order.cpp — reductions with places, order, scans, and counts by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/order.hpp>
#include <ebb/reductions.hpp>

namespace {

constexpr auto number = [](auto x) { return ebb::cast<float>(x); };

}  // namespace

void ops::order(table& t) {
  using matrix = of<64, 64>;
  using row = of<64>;
  constexpr range signs[] = {{-1, 1}};
  add_shaped<row, matrix>(t, "amax", signs, [](auto x) { return ebb::amax<1>(x); });
  add_shaped<row, matrix>(t, "amin", signs, [](auto x) { return ebb::amin<1>(x); });
  add_shaped<row, matrix>(t, "aminmax", signs, [](auto x) {
    const auto r = ebb::aminmax<1>(x);
    return std::get<0>(r) + 2 * std::get<1>(r);
  });
  add_shaped_value<row, matrix>(t, "argmax", signs, [](auto x) { return number(ebb::argmax<1>(x)); });
  add_shaped_value<row, matrix>(t, "argmin", signs, [](auto x) { return number(ebb::argmin<1>(x)); });
  add_shaped_value<row, matrix>(t, "argmax<0>", signs, [](auto x) { return number(ebb::argmax<0>(x)); });
  add_shaped<row, matrix>(t, "max_with_index", signs, [](auto x) { return added(ebb::max_with_index(x)); });
  add_shaped<row, matrix>(t, "min_with_index", signs, [](auto x) { return added(ebb::min_with_index(x)); });
  add_shaped_value<of<>, matrix>(t, "all", signs, [](auto x) { return number(ebb::all(x < 2)); });
  add_shaped_value<row, matrix>(t, "any", signs, [](auto x) { return number(ebb::any<1>(x > 2)); });
  add_shaped_value<row, matrix>(t, "count_nonzero", signs, [](auto x) { return number(ebb::count_nonzero<1>(x > 0)); });
  add_shaped<row, matrix>(t, "nansum", signs, [](auto x) { return ebb::nansum<1>(x); });
  add_shaped<row, matrix>(t, "nanmean", signs, [](auto x) { return ebb::nanmean<1>(x); });
  add_shaped<row, matrix>(t, "nanmax", signs, [](auto x) { return ebb::nanmax<1>(x); });
  add_shaped<row, matrix>(t, "nanmin", signs, [](auto x) { return ebb::nanmin<1>(x); });

  add_shaped<row, matrix>(t, "median", signs, [](auto x) { return added(ebb::median(x)); });
  add_shaped<row, matrix>(t, "nanmedian", signs, [](auto x) { return added(ebb::nanmedian(x)); });
  add_shaped<row, matrix>(t, "kthvalue", signs, [](auto x) { return added(ebb::kthvalue<-1, 8>(x)); });
  add_shaped<row, matrix>(t, "quantile", signs, [](auto x) { return ebb::quantile(x, 0.3); });
  add_shaped<row, matrix>(t, "nanquantile", signs, [](auto x) { return ebb::nanquantile(x, 0.3); });
  add_shaped<of<64, 8>, matrix>(t, "topk", signs, [](auto x) { return added(ebb::topk<-1, 8>(x)); });
  add_shaped<matrix, matrix>(t, "sort", signs, [](auto x) { return added(ebb::sort(x)); });
  add_shaped_value<matrix, matrix>(t, "argsort", signs, [](auto x) { return number(ebb::argsort(x)); });

  add_shaped<matrix, matrix>(t, "cummax", signs, [](auto x) { return added(ebb::cummax(x)); });
  add_shaped<matrix, matrix>(t, "cummin", signs, [](auto x) { return added(ebb::cummin(x)); });
  add_shaped<matrix, matrix>(t, "logcumsumexp", {{-5, 5}}, [](auto x) { return ebb::logcumsumexp(x); });

  add_shaped_value<of<4096>, of<4096>, in_order>(t, "searchsorted", signs, [](auto x, auto e) { return number(ebb::searchsorted(e, x)); });
  add_shaped_value<of<4096>, of<4096>, in_order>(t, "bucketize", signs, [](auto x, auto e) { return number(ebb::bucketize(x, e)); });
  add_shaped_value<of<64>, of<4096>>(t, "histogram", signs, [](auto x) { return number(ebb::histogram<64>(x, -1.0, 1.0)); });
  add_shaped<of<64>, of<4096>, at<4096>>(t, "bincount", signs, [](auto x, auto i) { return ebb::bincount<64>(i, x); });
}
