// ebb/kernel.hpp — loops over lanes: nests, matrix products, solves, chains.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "kernel/workspace.hpp"
#include "kernel/batch.hpp"
#include "kernel/instructions.hpp"
#include "kernel/lanes.hpp"
#include "kernel/chain.hpp"
#include "kernel/narrow.hpp"
#include "kernel/part.hpp"
#include "kernel/convert.hpp"
#include "kernel/slots.hpp"
#include "kernel/nest_step.hpp"
#include "kernel/chain_link.hpp"
#include "kernel/fold.hpp"
#include "kernel/transpose.hpp"
#include "kernel/tile.hpp"
#include "kernel/matvec.hpp"
#include "kernel/product.hpp"
#include "kernel/fours.hpp"
#include "kernel/contract_bf16.hpp"
#include "kernel/thin.hpp"
#include "kernel/contract.hpp"
#include "kernel/move.hpp"
#include "kernel/run_state.hpp"
#include "kernel/nest.hpp"
#include "kernel/scan.hpp"
#include "kernel/recurrence.hpp"
#include "kernel/solve.hpp"
#include "kernel/triangle.hpp"
#include "kernel/small.hpp"
