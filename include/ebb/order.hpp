// ebb/order.hpp — sorting, quantiles, searches and histograms. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "order/sorting.hpp"
#include "order/sort.hpp"
#include "order/quantile.hpp"
#include "order/search.hpp"
