// ebb/capture.hpp — compiled autograd: recordings, their cache, chains.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "capture/recording.hpp"
#include "capture/progress.hpp"
#include "capture/captured_walk.hpp"
#include "capture/chain_code.hpp"
#include "capture/chain_sink.hpp"
#include "capture/group.hpp"
#include "capture/chain_group.hpp"
#include "capture/pruned_backward.hpp"
#include "capture/plan.hpp"
#include "capture/cache.hpp"
#include "capture/graph_sink.hpp"
#include "capture/show.hpp"
#include "capture/explain.hpp"
#include "capture/switch.hpp"
