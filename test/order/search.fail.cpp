// test/order/search.fail.cpp — operands and tags that quantiles, searches and histograms refuse.
// SPDX-License-Identifier: BSL-1.0
// covers: search.hpp quantile.hpp
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <ebb/order.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, 4>;
using matrix = ebb::term<float, 3, 4>;
using bins = ebb::term<int, 4>;

[[maybe_unused]] constexpr int fits =
    traced_on<matrix, vector>([](auto x, auto v) { return ebb::quantile(x, v) + ebb::transpose(ebb::searchsorted(v, x)); });

#if EBB_CASE == 1  // a matrix of q
// EXPECT: E0365 quantile: q has more than one axis
constexpr int refused = traced_on<vector, matrix>([](auto x, auto q) {
  return ebb::quantile(x, q);  // LINE
});
#elif EBB_CASE == 2  // no elements
// EXPECT: E0366 quantile, median: the axis has no elements
constexpr int refused = traced_on<ebb::term<float, 0>>([](auto x) {
  return ebb::quantile(x, 0.5);  // LINE
});
#elif EBB_CASE == 3  // the rule as an argument
// EXPECT: E0367 quantile, nanquantile: after x and q comes nothing, or the tag ebb::keep_dims
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::quantile(x, 0.5, ebb::between::lower);  // LINE
});
#elif EBB_CASE == 4  // a vector of values among edges in batches
// EXPECT: E0368 searchsorted, bucketize: edges are a vector, or have the batches of the values
constexpr int refused = traced_on<matrix, vector>([](auto e, auto v) {
  return ebb::searchsorted(e, v);  // LINE
});
#elif EBB_CASE == 5  // numbers of bins that are no integers
// EXPECT: E0369 bincount: numbers of bins are int32 or int64
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::bincount<3>(x);  // LINE
});
#elif EBB_CASE == 6  // weights of another shape
// EXPECT: E0370 bincount, histogram: the weights do not have the shape of the elements
constexpr int refused = traced_on<bins, matrix>([](auto i, auto w) {
  return ebb::bincount<3>(i, w);  // LINE
});
#elif EBB_CASE == 7  // a vector as a bound
// EXPECT: E0371 histogram: the bounds are numbers or scalars
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::histogram<3>(x, x, 1.0f);  // LINE
});
#elif EBB_CASE == 8  // PyTorch's flag
// EXPECT: E0372 searchsorted, bucketize: after edges and values comes nothing, or the tag ebb::after_equal
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::searchsorted(x, x, true);  // LINE
});
#elif EBB_CASE == 9  // no bins
// EXPECT: E0373 bincount, histogram: there is at least one bin
constexpr int refused = traced_on<bins>([](auto i) {
  return ebb::bincount<0>(i);  // LINE
});
#endif
