// ebb/nn.hpp — layers of neural networks and their losses. Optional: ebb.hpp does not include it.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "functional.hpp"

#include "nn/sliding.hpp"
#include "nn/slid.hpp"
#include "nn/padded.hpp"
#include "nn/convolve.hpp"
#include "nn/convolution_op.hpp"
#include "nn/convolution.hpp"
#include "nn/attend.hpp"
#include "nn/dropout.hpp"
#include "nn/attention_op.hpp"
#include "nn/attention.hpp"
#include "nn/loss.hpp"
#include "nn/margin.hpp"
#include "nn/class_loss.hpp"
#include "nn/ctc.hpp"
#include "nn/norm.hpp"
#include "nn/cell.hpp"
#include "nn/recurrent.hpp"
#include "nn/position.hpp"
#include "nn/embedding.hpp"
#include "nn/patches.hpp"
#include "nn/pool_call.hpp"
#include "nn/pool_op.hpp"
#include "nn/pool.hpp"
#include "nn/weight_norm.hpp"
#include "nn/resample.hpp"
#include "nn/resample_back.hpp"
#include "nn/resize_op.hpp"
#include "nn/resize.hpp"
#include "nn/grid.hpp"
