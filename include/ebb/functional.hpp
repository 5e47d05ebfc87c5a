// ebb/functional.hpp — everything but the tape: for programs without variables, which then compile faster.
// SPDX-License-Identifier: BSL-1.0
//
// The includes of ebb.hpp up to the floor exec, in the same order.
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
