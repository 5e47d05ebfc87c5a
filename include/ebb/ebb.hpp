// ebb/ebb.hpp — everything. For users; no header of the library includes it.
// SPDX-License-Identifier: BSL-1.0
//
// A header for each folder, in the order of the floors: no header is first included from deep inside, so that a diagnostic begins with few
// lines of includes.
#pragma once

#include "version.hpp"

#include "base.hpp"
#include "num.hpp"
#include "tensor.hpp"
#include "kernel.hpp"
#include "random.hpp"
#include "graph.hpp"
#include "op.hpp"
#include "pass.hpp"
#include "plan.hpp"
#include "trace.hpp"
#include "io.hpp"
#include "autocast.hpp"
#include "exec.hpp"
#include "autograd.hpp"
#include "hooks.hpp"
#include "train.hpp"
#include "capture.hpp"
