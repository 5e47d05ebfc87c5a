// ebb/exec.hpp — what users call: compile, grad and their relatives; and what runs programs.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "exec/check.hpp"
#include "exec/program.hpp"
#include "exec/alias.hpp"
#include "exec/symbol_values.hpp"
#include "exec/evaluate.hpp"
#include "exec/band.hpp"
#include "exec/one_step.hpp"
#include "exec/loop.hpp"
#include "exec/run.hpp"
#include "exec/bind.hpp"
#include "exec/apart.hpp"
#include "exec/block_run.hpp"
#include "exec/block_nest.hpp"
#include "exec/blocks.hpp"
#include "exec/chainable.hpp"
#include "exec/in_rows.hpp"
#include "exec/refusal.hpp"
#include "exec/function.hpp"
#include "exec/gradient.hpp"
#include "exec/direction.hpp"
#include "exec/eager.hpp"
#include "exec/halves.hpp"
#include "exec/in_place.hpp"
#include "exec/region.hpp"
#include "exec/jacobian.hpp"
#include "exec/stage_texts.hpp"
#include "exec/show.hpp"
#include "exec/vjp.hpp"
