// ebb/plan.hpp — a graph becomes steps, loop nests and buffers.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "plan/step.hpp"
#include "plan/view.hpp"
#include "plan/joined.hpp"
#include "plan/band.hpp"
#include "plan/columns.hpp"
#include "plan/readers.hpp"
#include "plan/grouping.hpp"
#include "plan/later.hpp"
#include "plan/fuse.hpp"
#include "plan/memory.hpp"
#include "plan/onto.hpp"
#include "plan/quotients.hpp"
#include "plan/repeats.hpp"
#include "plan/rows.hpp"
#include "plan/sums_apart.hpp"
#include "plan/plan.hpp"
#include "plan/frozen.hpp"
#include "plan/print.hpp"
#include "plan/work.hpp"
