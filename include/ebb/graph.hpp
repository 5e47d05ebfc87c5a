// ebb/graph.hpp — equations and graphs: built, copied, printed, checked.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "graph/equation.hpp"
#include "graph/graph.hpp"
#include "graph/copy.hpp"
#include "graph/splice.hpp"
#include "graph/loop.hpp"
#include "graph/custom.hpp"
#include "graph/box.hpp"
#include "graph/batch.hpp"
#include "graph/print.hpp"
#include "graph/dot.hpp"
#include "graph/frozen.hpp"
#include "graph/program.hpp"
#include "graph/valid.hpp"
