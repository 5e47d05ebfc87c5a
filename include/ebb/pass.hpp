// ebb/pass.hpp — functions from graph to graph.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "pass/pattern.hpp"
#include "pass/live.hpp"
#include "pass/prune.hpp"
#include "pass/simplify.hpp"
#include "pass/factor.hpp"
#include "pass/relax.hpp"
#include "pass/partition.hpp"
#include "pass/cuts.hpp"
#include "pass/pull_back.hpp"
#include "pass/custom.hpp"
#include "pass/loop.hpp"
#include "pass/differentiate.hpp"
#include "pass/lower.hpp"
#include "pass/hoist.hpp"
#include "pass/outputs.hpp"
#include "pass/push_forward.hpp"
#include "pass/components.hpp"
#include "pass/zeros.hpp"
#include "pass/unpack.hpp"
#include "pass/windows.hpp"
#include "pass/pipeline.hpp"
#include "pass/jacobian.hpp"
