// ebb/trace.hpp — terms: a lambda becomes a graph; structures of arguments become leaves.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "trace/form.hpp"
#include "trace/term.hpp"
#include "trace/kinds.hpp"
#include "trace/argument.hpp"
#include "trace/context_in.hpp"
#include "trace/refused.hpp"
#include "trace/lift.hpp"
#include "trace/operators.hpp"
#include "trace/trace.hpp"
#include "trace/map.hpp"
#include "trace/kept_carries.hpp"
#include "trace/numbers_among_terms.hpp"
#include "trace/scan.hpp"
#include "trace/custom.hpp"
#include "trace/cond.hpp"
#include "trace/once.hpp"
#include "trace/subscript.hpp"
#include "trace/functions.hpp"
#include "trace/line_search.hpp"
#include "trace/sized.hpp"
#include "trace/lengths.hpp"
