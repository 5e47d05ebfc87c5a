// test/order/contexts.static.cpp — the autocast class of each function of order.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: quantile.hpp search.hpp sort.hpp sorting.hpp
#include <ebb/order.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class;
using enum test::context_class;

static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::sort(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::topk<1, 2>(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::kthvalue<1, 2>(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::median(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::nanmedian(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::histogram<3>(x, 0, 1, x); }));
static_assert(has_class<full>([](auto x) { return ebb::quantile(x, 0.5); }));
static_assert(has_class<full>([](auto x) { return ebb::nanquantile(x, 0.5); }));
static_assert(has_class<fixed>([](auto x) { return ebb::argsort(x); }));
static_assert(has_class<fixed>([](auto x) { return ebb::searchsorted(x, x); }));
static_assert(has_class<fixed>([](auto x) { return ebb::bucketize(x, ebb::sum<0>(x)); }));
static_assert(has_class<fixed>([](auto x) { return ebb::bincount<4>(ebb::argsort(x)); }));

}  // namespace
