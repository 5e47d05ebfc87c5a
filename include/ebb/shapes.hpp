// ebb/shapes.hpp — einsum, arrays made of numbers, borders, segments, windows, Fourier transforms. Optional: ebb.hpp leaves it out.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "shapes/construct.hpp"
#include "shapes/distance.hpp"
#include "shapes/einsum_text.hpp"
#include "shapes/einsum_order.hpp"
#include "shapes/einsum.hpp"
#include "shapes/fourier.hpp"
#include "shapes/fft.hpp"
#include "shapes/frequencies.hpp"
#include "shapes/indices.hpp"
#include "shapes/pad.hpp"
#include "shapes/segment.hpp"
#include "shapes/scatter.hpp"
#include "shapes/window.hpp"
