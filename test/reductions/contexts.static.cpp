// test/reductions/contexts.static.cpp — the autocast class of each function of reductions.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: differences.hpp moments.hpp sums.hpp
#include <ebb/reductions.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class;
using enum test::context_class;

static_assert(has_class<own>([](auto x) { return ebb::diff(x); }));
static_assert(has_class<own>([](auto x) { return ebb::trapezoid(x); }));
static_assert(has_class<own>([](auto x) { return ebb::cumulative_trapezoid(x); }));
static_assert(has_class<own>([](auto x) { return ebb::simpson(x); }));
static_assert(has_class<own>([](auto x) { return ebb::skew(x); }));
static_assert(has_class<own>([](auto x) { return ebb::moment<3>(x); }));
static_assert(has_class<own>([](auto x) { return ebb::kurtosis(x); }));
static_assert(has_class<own>([](auto x) { return ebb::nansum(x); }));
static_assert(has_class<own>([](auto x) { return ebb::nanmean(x); }));
static_assert(has_class<own>([](auto x) { return ebb::nanmax(x); }));
static_assert(has_class<own>([](auto x) { return ebb::nanmin(x); }));
static_assert(has_class<own>([](auto x) { return ebb::norm_squared(x); }));
static_assert(has_class<own>([](auto x) { return ebb::log_mean_exp(x); }));
static_assert(has_class<own>([](auto x) { return ebb::amax(x); }));
static_assert(has_class<own>([](auto x) { return ebb::amin(x); }));
static_assert(has_class<own>([](auto x) { return ebb::weighted_mean(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::masked_sum(x, x > 0); }));
static_assert(has_class<own>([](auto x) { return ebb::masked_mean(x, x > 0); }));
static_assert(has_class<own>([](auto x) { return ebb::masked_max(x, x > 0); }));
static_assert(has_class<own>([](auto x) { return ebb::masked_min(x, x > 0); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::weighted_logsumexp(x, x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::aminmax(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::max_with_index(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::min_with_index(x)); }));
static_assert(has_class<fixed>([](auto x) { return ebb::count_nonzero(x); }));
static_assert(has_class<low>([](auto x) { return ebb::cov(x); }));
static_assert(has_class<low>([](auto x) { return ebb::cov(x, 1, 1); }));
static_assert(has_class<low>([](auto x) { return ebb::corrcoef(x); }));
static_assert(has_class<low>([](auto x) { return ebb::vecdot(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::softmin(x); }));

}  // namespace
