// ebb/train.hpp — optimizers, gradient scaling and clipping, learning rates, state files.
// SPDX-License-Identifier: BSL-1.0
//
// In reading order: of its own folder, a header includes only those above it in this list.
#pragma once

#include "train/sgd.hpp"
#include "train/adaptive.hpp"
#include "train/layerwise.hpp"
#include "train/adam.hpp"
#include "train/moments.hpp"
#include "train/clip.hpp"
#include "train/state_file.hpp"
#include "train/optimizer.hpp"
#include "train/wrapped.hpp"
#include "train/averaged.hpp"
#include "train/manifold.hpp"
#include "train/unscale.hpp"
#include "train/grad_scaler.hpp"
#include "train/schedule.hpp"
#include "train/lbfgs.hpp"
