// ebb/svg.hpp — graphs, plans and captured backwards as SVG pictures. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "svg/layers.hpp"
#include "svg/drawing.hpp"
#include "svg/curves.hpp"
#include "svg/graph.hpp"
#include "svg/function.hpp"
#include "svg/captured.hpp"
